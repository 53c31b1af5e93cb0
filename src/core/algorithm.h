/* SPDX-License-Identifier: MIT
   algorithm.h - what each algorithm answers, and the table of them.

   Times and costs are ticks of the rule's clock.  A state is a few words; zeroed, it is fresh.  A slot is
   the stretch of schedule that one call was given; it is known by its end, a position that only grows.

   May touch: its arguments.  Promises: functions are total, so a torn rule or a foreign state gives some answer and
   never a fault.  Leaves to others: several limits at once (decide.c), where the state lives (share). */
#ifndef WEIR_CORE_ALGORITHM_H
#define WEIR_CORE_ALGORITHM_H

#include <stdbool.h>

#include <weir/weir.h>

#include "core/rule.h"

enum algorithm_name {
    ALGORITHM_ELSEWHERE, /* no limit: a word says so whose state lives in a cell */
    ALGORITHM_GCRA,
    ALGORITHM_HYBRID,
    ALGORITHM_UNLIMITED,
    ALGORITHM_NONE,
    ALGORITHMS_BUILT, /* those from here on have a name, and no code yet */
    ALGORITHM_TIMELINE = ALGORITHMS_BUILT,
    ALGORITHM_BURSTY,
    ALGORITHM_WARMUP,
    ALGORITHM_LEAKY,
    ALGORITHM_CYCLE,
    ALGORITHM_FIXED_WINDOW,
    ALGORITHM_SLIDING_WINDOW,
    ALGORITHM_SLIDING_LOG,
    ALGORITHM_SIMRATE,
    ALGORITHM_NAMES
};

struct slot {
    uint64_t start, end, cost;
};

/* What a take leaves: the end of its slot, and the ticks that could be taken at once after it. */
struct taken {
    uint64_t end, room;
};

struct algorithm {
    uint8_t words;       /* of state; without any, `possible` is all there is to ask */
    bool keeps_schedule; /* a start may lie in the past, and `behind` says how far the work is behind */

    /* May this cost ever pass? */
    bool (*possible)(const struct rule *, uint64_t permits);
    /* The first tick at which it passes; UINT64_MAX when it never may, or only beyond the clock. */
    uint64_t (*earliest)(const struct rule *, const uint64_t *state, uint64_t now, uint64_t cost);
    /* Takes it at a tick not before the earliest.  A cost of 0 changes nothing. */
    struct taken (*commit)(const struct rule *, uint64_t *state, uint64_t at, uint64_t cost);
    /* Ticks that could be taken at once. */
    uint64_t (*room)(const struct rule *, const uint64_t *state, uint64_t at);
    /* End of the last slot given. */
    uint64_t (*mark)(const struct rule *, const uint64_t *state, uint64_t now);
    /* Start of the slot that ends there, with what is known now; an end is signed. */
    uint64_t (*start_of)(const struct rule *, const uint64_t *state, uint64_t end, uint64_t cost);
    /* Does somebody wait for a start after now? */
    bool (*waited_for)(const struct rule *, const uint64_t *state, uint64_t now);
    /* Gives back of `unused` what has not drained. */
    void (*give_back)(const struct rule *, uint64_t *state, uint64_t now, const struct slot *, uint64_t unused);
    /* Takes more than was asked for, whatever the balance. */
    void (*overcharge)(const struct rule *, uint64_t *state, uint64_t now, uint64_t extra);
    /* Translates the state to another rule of the same algorithm whose clock is set to `now` (in the old ticks). */
    void (*carry)(const struct rule *from, const struct rule *to, uint64_t *state, uint64_t now, weir_carry);
    /* How far behind its schedule the work is, and the most that it ever was when a call was granted; may be NULL. */
    uint64_t (*behind)(const struct rule *, const uint64_t *state, uint64_t now);
    uint64_t (*behind_max)(const uint64_t *state);
    /* The tick at which all is back, after this decision made at `now`. */
    uint64_t (*full)(const struct rule *, const weir_decision *, uint64_t now);
};

/* Never NULL: what is not built is as `none`. */
const struct algorithm *algorithm_of(const struct rule *rule);

/* The rows of the table, a file each. */
const struct algorithm *gcra_algorithm(void);
const struct algorithm *hybrid_algorithm(void);
const struct algorithm *unlimited_algorithm(void);
const struct algorithm *none_algorithm(void);

/* Old ticks to new, rounded up against the caller.  Used permits as `carry` says; waiting ones stay permits. */
uint64_t carry_used(const struct rule *from, const struct rule *to, uint64_t ticks, weir_carry carry);
uint64_t carry_waiting(const struct rule *from, const struct rule *to, uint64_t ticks);

#endif
