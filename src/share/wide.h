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
#include "share/table.h"
#include "share/wide_plans.h"

/* Locks: one for each stripe of buckets, one for the plans, and one for the paper, which is this process's. */
enum { WIDE_STRIPES = 64, WIDE_PLANS = WIDE_STRIPES, WIDE_PAPER, WIDE_LOCKS };

/* Where they live: the plans, then the slots; zeroed memory is empty.  Nothing in there is believed. */
struct wide {
    void *memory;    /* borrowed, aligned to 64 bytes, as many as wide_bytes says */
    uint64_t *paper; /* borrowed, of this process: words of a slot, to try on what is too long for the stack */
    /* Of a limit's part: its slots, which no other limit's keys fill, as many bytes as wide_part_bytes says, and the
       table beside it, whose memory it has.  NULL: the slots are in memory, too. */
    void *part;
    struct wide *beside;
    uint64_t slots, slot_words;
    uint64_t plan_sets; /* as wide_sets_in says for all the bytes */
    bool kept;          /* in a file: a process may die half-way, so each slot has two copies of its state */
    enum table_when_full when_full;
    /* Excludes all others from one stripe, threads and processes alike; false: whoever has it does not let go of it.
       WIDE_PLANS and WIDE_PAPER are also taken while others are held, never the other way round. */
    bool (*lock)(void *context, unsigned stripe);
    void (*unlock)(void *context, unsigned stripe);
    void *context;
};

/* Bytes of memory for so many keys with so many words of state, UINT64_MAX where 64 bits do not hold them; how many
   slots these are, and the words of a slot with its own. */
uint64_t wide_bytes(uint64_t keys_max, uint64_t state_words, bool kept, uint64_t *slots, uint64_t *slot_words);

/* How many slots a part for so many keys has, and the bytes of so many; 0: no part has so many. */
uint64_t wide_part_slots(uint64_t keys);
uint64_t wide_part_bytes(const struct wide *table, uint64_t slots);

/* How many slots there are in so much memory, 0 when there cannot be such slots; has a slot room for so many words of
   state?  Which lock covers a hash? */
uint64_t wide_slots_in(uint64_t bytes, uint64_t slot_words, bool kept);
bool wide_fits(const struct wide *table, uint64_t state_words);
unsigned wide_stripe(const struct wide *table, uint64_t hash);

/* Of a part: the key has its slot there or in the table, and is always asked for by the part.  A lock of a part is
   taken while one of the table is held, never the other way round.

   now_ns of ask and decision is the table's time, and the rules' clocks are set to tick 1 at 0 ns; every answer is what
   ask_rules gives with this key's state, or wide_stuck's.  events: of enum table_event.  False: these rules need more
   words than a slot has. */
bool wide_ask(struct wide *table, uint64_t hash, struct rules rules, const struct ask *ask, weir_decision *decision,
              uint32_t *events);

/* What is answered where a lock could not be had: nothing is known, and it may be had soon. */
void wide_stuck(weir_decision *decision, uint64_t now_ns);

/* What one of the limits would answer alone. */
bool wide_peek_limit(struct wide *table, uint64_t hash, struct rules rules, int limit, const struct ask *ask,
                     weir_decision *decision);

/* As settle() in core/decide.h.  Where the limit was changed since, or the key forgotten, nothing is given back.
   false: a lock could not be had, and nothing is corrected. */
bool wide_settle(struct wide *table, uint64_t hash, struct rules rules, uint64_t now_ns, const weir_decision *decision,
                 const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);

/* This key is fresh again. */
void wide_forget(struct wide *table, uint64_t hash);

/* How many keys are not as fresh ones. */
uint64_t wide_live(struct wide *table, uint64_t now_ns);

#endif
