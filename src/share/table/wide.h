/* SPDX-License-Identifier: MIT
   States of any size, one for each key, for algorithms that do not fit a 16-byte slot. */
#ifndef WEIR_SHARE_TABLE_WIDE_H
#define WEIR_SHARE_TABLE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

#include <weir/weir.h>

#include "core/decide.h"
#include "share/ask.h"
#include "share/table/table.h"
#include "share/table/wide_plans.h"

/* Locks: one for each stripe of buckets, one for the plans, and one for the scratch words, which belong to the
   process. */
enum { WIDE_STRIPES = 64, WIDE_PLANS = WIDE_STRIPES, WIDE_PAPER, WIDE_LOCKS };

/* The memory: the plans, then the slots; zeroed memory is empty.  Nothing in it is trusted. */
struct wide {
    void *memory;    /* borrowed, aligned to 64 bytes, of the size that wide_bytes returns */
    uint64_t *paper; /* borrowed, of this process: scratch words for a state that is too long for the stack */
    /* For a limit's part: its slots, which other limits' keys do not fill, of the size that wide_part_bytes returns,
       and the table beside it, which has the memory.  NULL: the slots are in `memory` too. */
    void *part;
    struct wide *beside;
    uint64_t slots, slot_words;
    uint64_t plan_sets; /* by wide_sets_in, for all the bytes */
    bool kept;          /* in a file: a process may die half-way, so each slot has two copies of its state */
    enum table_when_full when_full;
    /* Excludes all other threads and processes from one stripe; false: its holder does not release it.  WIDE_PLANS and
       WIDE_PAPER are also taken while others are held, never the other way round. */
    bool (*lock)(void *context, unsigned stripe);
    /* Who takes slots that are held, 0: not known; and does such an owner live still?  Called under locks. */
    uint64_t (*owner)(void *owners);
    bool (*owner_lives)(void *owners, uint64_t owner);
    void *owners;
    void (*unlock)(void *context, unsigned stripe);
    void *context;
};

/* The bytes for this many keys with this many words of state, UINT64_MAX if they do not fit 64 bits; also the number of
   slots, and the words of a slot with its header. */
uint64_t wide_bytes(uint64_t keys_max, uint64_t state_words, bool kept, uint64_t *slots, uint64_t *slot_words);

/* The slots of a part for this many keys, and the bytes for that many slots; 0: no part has so many. */
uint64_t wide_part_slots(uint64_t keys);
uint64_t wide_part_bytes(const struct wide *table, uint64_t slots);

/* The number of slots in this much memory, 0 if such slots are impossible; whether a slot has room for this many words
   of state; the lock that covers a hash. */
uint64_t wide_slots_in(uint64_t bytes, uint64_t slot_words, bool kept);
bool wide_fits(const struct wide *table, uint64_t state_words);
unsigned wide_stripe(const struct wide *table, uint64_t hash);

/* For a part: the key has its slot there or in the table, and all calls for it name the part.  A lock of a part is
   taken while one of the table is held, never the other way round.

   now_ns of ask and decision is the table's time, and the rules' clocks are set to tick 1 at 0 ns.  The decision is
   that of ask_rules with this key's state, or wide_stuck's.  events: of enum table_event.  False: these rules need more
   words than a slot has. */
bool wide_ask(struct wide *table, uint64_t hash, struct rules rules, const struct ask *ask, weir_decision *decision,
              uint32_t *events);

/* The decision when a lock could not be had: nothing is known, and a retry may succeed soon. */
void wide_stuck(weir_decision *decision, uint64_t now_ns);

/* A peek at one of the limits alone. */
bool wide_peek_limit(struct wide *table, uint64_t hash, struct rules rules, int limit, const struct ask *ask,
                     weir_decision *decision);

/* As decide_settle() in core/decide.h.  If the limit was changed since, or the key has lost its slot, nothing is given
   back; but a key that was forgotten and came again looks like one that was not.  false: a lock could not be had, and
   nothing is settled. */
bool wide_settle(struct wide *table, uint64_t hash, struct rules rules, uint64_t now_ns, const weir_decision *decision,
                 const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);

/* decide_hold for this key, in *count.  false: a lock could not be had, and nothing is done. */
bool wide_hold(struct wide *table, uint64_t hash, struct rules rules, uint64_t now_ns, uint64_t id, enum hold hold,
               uint64_t *count);

/* Makes this key fresh again. */
void wide_forget(struct wide *table, uint64_t hash);

/* The number of keys whose state is not fresh. */
uint64_t wide_live(struct wide *table, uint64_t now_ns);

#endif
