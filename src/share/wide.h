/* SPDX-License-Identifier: MIT
   wide.h - states of any size, one for each key, for algorithms that do not fit a 16-byte slot.

   See wide.c. */
#ifndef WEIR_SHARE_WIDE_H
#define WEIR_SHARE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

#include "core/decide.h"
#include "share/ask.h"
#include "share/atomic.h"
#include "share/table.h"

/* How many plans a table remembers, so that a key whose limit was changed meanwhile is carried over and not forgotten. */
enum { WIDE_PLANS = 16, WIDE_STRIPES = 64 };

/* Where they live: a page of plans, then the slots.  Nothing in there is believed. */
struct wide {
    void *memory;
    uint64_t slots, slot_words;
    bool kept; /* in a file: a process may die half-way, so each slot has two copies of its state */
    enum table_when_full when_full;
    /* Excludes all others from the slots of one stripe of hashes, threads and processes alike. */
    void (*lock)(void *context, unsigned stripe);
    void (*unlock)(void *context, unsigned stripe);
    void *context;
};

/* Bytes of memory for so many keys with so many words of state; the words of a slot with its own. */
uint64_t wide_bytes(uint64_t keys_max, uint64_t state_words, bool kept, uint64_t *slots, uint64_t *slot_words);

/* How many slots there are in so much memory; has a slot room for so many words of state? */
uint64_t wide_slots_in(uint64_t bytes, uint64_t slot_words);
bool wide_fits(const struct wide *wide, uint64_t state_words);

/* Which lock covers this hash. */
unsigned wide_stripe(uint64_t hash);

/* now_ns of ask and decision is the region's time; every answer is what decide() gives with this key's state.  events:
   as those of a table.  False: these rules need more words than a slot has. */
bool wide_ask(struct wide *wide, uint64_t hash, struct rules rules, const struct ask *ask, weir_decision *decision,
              uint32_t *events);
/* One limit of them alone. */
void wide_peek_limit(struct wide *wide, uint64_t hash, struct rules rules, int limit, const struct ask *ask,
                     weir_decision *decision);
void wide_settle(struct wide *wide, uint64_t hash, struct rules rules, uint64_t now_ns, const weir_decision *decision,
                 const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);
void wide_forget(struct wide *wide, uint64_t hash);
uint64_t wide_live(struct wide *wide, uint64_t now_ns);

#endif
