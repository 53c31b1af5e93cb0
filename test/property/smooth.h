/* SPDX-License-Identifier: MIT
   What the properties of bursty and of warmup begin with: one limit of them, its state, and the calls that passed.

   Nothing about what passes. */
#ifndef TEST_PROPERTY_SMOOTH_H
#define TEST_PROPERTY_SMOOTH_H

#include "property/property.h"
#include "plan/plan.h"

enum { SMOOTH_USES_MAX = 128 };

struct smooth_use {
    uint64_t start_ns, permits;
    weir_decision decision;
};

struct smooth {
    weir_plan plan;
    const struct limit *limit; /* of the plan */
    const struct rule *rule;
    uint64_t state[STATE_WORDS_MAX], now_ns;
    uint64_t p, q; /* permits in ns */
    struct smooth_use use[SMOOTH_USES_MAX];
    int uses;
};

/* *smooth is zeroed. */
void smooth_open(struct prop *prop, struct smooth *smooth, const char *text);

/* Another limit: what is owed is owed still.  False when that has become longer than the clock. */
bool smooth_change(struct prop *prop, struct smooth *smooth, const char *text, weir_carry how);

bool smooth_pays_itself(const struct smooth *smooth);

/* To the next call: around a permit, around as long as saving up takes, or anything. */
uint64_t smooth_pick_gap(struct prop *prop, const struct smooth *smooth, uint64_t saved_up_ns);
uint64_t smooth_pick_wait(struct prop *prop, const struct smooth *smooth);

/* A ns earlier than it was told it is refused, and then it passes. */
void smooth_check_retry(struct prop *prop, const struct smooth *smooth, uint64_t retry_ns, uint64_t cost,
                        uint64_t wait_ns);

/* Keeps a call that passed; one of those kept is settled to 0, or to less; and in the end they are put in order. */
void smooth_note(struct smooth *smooth, const weir_decision *decision, uint64_t cost);
void smooth_settle_one(struct prop *prop, struct smooth *smooth);
void smooth_sort(struct smooth *smooth);

#endif
