/* SPDX-License-Identifier: MIT
   The ring of times that a log keeps, 4, 6 or 8 bytes each; drawn in stamps.c.  An entry is named by how far back it
   lies: 1 is the newest. */
#ifndef WEIR_CORE_STAMPS_H
#define WEIR_CORE_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rule.h"

enum {
    STAMPS_AT,     /* the slot that is written next */
    STAMPS_KEPT,   /* so many before it hold an entry */
    STAMPS_EVER,   /* entries there were; of those that are not kept ... */
    STAMPS_LOST,   /* ... the last was at this ns */
    STAMPS_NEWEST, /* ns of the last entry; 0 without one */
    STAMPS_OWNER,  /* two words of the owner */
    STAMPS_HEADER = STAMPS_OWNER + 2
};

/* A rule's flags: 4 or 6 bytes each; then entries come in order. */
enum { STAMPS_4_BYTES = RULE_B, STAMPS_6_BYTES = RULE_C, STAMPS_BRIEF = STAMPS_4_BYTES | STAMPS_6_BYTES };

/* The flag for so many entries that lie so far apart, and a clock that goes back by as much: nothing of it is lost. */
uint8_t stamps_flag(uint64_t longest_ns, uint64_t count);

/* For how long before the newest an entry is known. */
uint64_t stamps_reach_ns(const struct rule *rule);

/* Entries that the ring has room for: burst, or the rule's fourth number where that is more. */
uint64_t stamps_capacity(const struct rule *rule);

/* Words behind the header. */
uint64_t stamps_words(const struct rule *rule);

uint64_t stamps_kept(const struct rule *rule, const uint64_t *state);

/* Was there ever an entry so far back? */
bool stamps_has(const struct rule *rule, const uint64_t *state, uint64_t back);

/* When it was made; of one that is not kept, when at the latest. */
uint64_t stamps_get(const struct rule *rule, const uint64_t *state, uint64_t back);

void stamps_append(const struct rule *rule, uint64_t *state, uint64_t ns);

/* Takes out `count` entries behind the `newer` newest; so many are kept. */
void stamps_remove(const struct rule *rule, uint64_t *state, uint64_t newer, uint64_t count);

/* So many slots as the ring has them, from the one that is written next. */
void stamps_save(const struct rule *rule, const uint64_t *state, uint64_t count, uint64_t saved[]);
void stamps_put_back(const struct rule *rule, uint64_t *state, uint64_t count, const uint64_t saved[]);

/* As if `entries` more had been appended, each by_ns after the one that stood in its place. */
void stamps_advance(const struct rule *rule, uint64_t *state, uint64_t entries, uint64_t by_ns);

#endif
