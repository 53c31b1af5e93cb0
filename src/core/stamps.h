/* SPDX-License-Identifier: MIT
   stamps.h - the ring of times that a log keeps, 8 or 4 bytes each.

   Entries are named by how far back they lie, 1 is the newest; or by their index, the count of all entries before.
   See stamps.c. */
#ifndef WEIR_CORE_STAMPS_H
#define WEIR_CORE_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rule.h"

enum {
    STAMPS_HEAD,   /* entries ever: the index of the next */
    STAMPS_AT,     /* the slot that it goes to */
    STAMPS_NEWEST, /* ns of the last entry; 0 without one */
    STAMPS_FROM,   /* of entries before this index is only known ... */
    STAMPS_FLOOR,  /* ... that they lie at this ns at the latest */
    STAMPS_OWNER,  /* four words of the owner */
    STAMPS_HEADER = STAMPS_OWNER + 4
};

enum { STAMPS_BRIEF = RULE_C }; /* a rule's flag: 4 bytes each; then entries come in order */

/* Entries that the ring has room for: burst, or the rule's fourth number where that is more. */
uint64_t stamps_capacity(const struct rule *rule);

/* Words behind the header. */
uint64_t stamps_words(const struct rule *rule);

/* How many entries can be asked for: back is 1 to this. */
uint64_t stamps_known(const struct rule *rule, const uint64_t *state);

uint64_t stamps_get(const struct rule *rule, const uint64_t *state, uint64_t back);

/* How many of the newest lie after this ns, where they are in order. */
uint64_t stamps_after(const struct rule *rule, const uint64_t *state, uint64_t ns);

void stamps_append(const struct rule *rule, uint64_t *state, uint64_t ns);

/* Takes out `count` entries behind the `newer` newest.  What the ring has lost lies at lost_ns at the latest. */
void stamps_remove(const struct rule *rule, uint64_t *state, uint64_t newer, uint64_t count, uint64_t lost_ns);

/* As if `entries` more had been appended, each by_ns after the one that stood in its place. */
void stamps_advance(const struct rule *rule, uint64_t *state, uint64_t entries, uint64_t by_ns);

#endif
