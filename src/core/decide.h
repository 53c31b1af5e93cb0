/* SPDX-License-Identifier: MIT
   One question to all limits of a plan.  A state is the words of each limit, one after the other. */
#ifndef WEIR_CORE_DECIDE_H
#define WEIR_CORE_DECIDE_H

#include <weir/weir.h>

#include "core/rule.h"

enum { LIST_WORDS_MAX = WEIR_LIMITS_MAX * STATE_WORDS_MAX };

/* In decision.reserved, above the generation of the rules that it was made under. */
#define DECISION_SETTLED (UINT64_C(1) << 32)
#define DECISION_EACH (UINT64_C(1) << 33) /* the costs differ: only settle with each of them */
#define DECISION_BORROWED                                                                                              \
    (UINT64_C(1) << 34) /* not charged to the first limit, a guaranteed one; weir_borrowed reads it */

/* How long until it passes, of a decision that may be of any kind. */
static inline uint64_t decision_retry_ns(const weir_decision *decision)
{
    return decision->verdict == WEIR_ALLOW ? 0 : decision->retry_ns;
}

/* By how much it was granted after it was due; 0 without a schedule. */
static inline uint64_t decision_late_ns(const weir_decision *decision)
{
    const bool late = decision->verdict == WEIR_ALLOW && decision->due.ns != 0 && decision->start.ns > decision->due.ns;
    return late ? decision->start.ns - decision->due.ns : 0;
}

struct rules {
    const struct rule *rule;
    int count;
};

struct question {
    uint64_t now_ns, wait_max_ns; /* a start up to so far away will do */
    const uint64_t *cost;         /* one for each limit */
    bool peek;                    /* changes nothing */
};

/* One cost for so many limits. */
static inline void cost_alike(uint64_t each[], int count, uint64_t cost)
{
    for (int i = 0; i < count; i++) each[i] = cost;
}

/* Passes all or charges none.  end: one for each limit, or NULL. */
void decide(struct rules rules, uint64_t *state, const struct question *question, uint64_t end[],
            weir_decision *decision);

/* Takes whatever the balance, from each limit as far as its debt may go.  charged says how much the first took. */
void decide_charge(struct rules rules, uint64_t *state, uint64_t now_ns, const uint64_t cost[],
                   weir_decision *decision);

/* The same in full, whatever debt= says; the decision can be settled. */
void decide_owe(struct rules rules, uint64_t *state, uint64_t now_ns, const uint64_t cost[], uint64_t end[],
                weir_decision *decision);

/* How many permits pass now, up to cost_max; 1 when none do, so that asking for it says why. */
uint64_t decide_passing(struct rules rules, const uint64_t *state, uint64_t now_ns, uint64_t cost_max);

/* Corrects what each limit was charged.  end as decide filled it, or NULL when only decision->end is known. */
void decide_settle(struct rules rules, uint64_t *state, uint64_t now_ns, const weir_decision *decision,
                   const uint64_t cost[], const uint64_t actual[], const uint64_t end[]);

/* The limit that holds slots, if one does: of a text at most one.  -1: none. */
int decide_holder(struct rules rules);

/* What becomes of slots that are held: free a lease from now on, or at once. */
enum hold { HOLD_RENEW, HOLD_RELEASE };

/* Returns how many slots are held under this id; 0: none any more, and nothing is done. */
uint64_t decide_hold(struct rules rules, uint64_t *state, uint64_t now_ns, uint64_t id, enum hold hold);

/* Words of state in front of one limit; for limit == count, of the whole state. */
size_t decide_words_before(struct rules rules, int limit);

#endif
