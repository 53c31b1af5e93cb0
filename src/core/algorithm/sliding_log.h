/* SPDX-License-Identifier: MIT
   What the flags of a log's rule mean, and for how long its entries count.

   In the rule: burst = permits per period_ns, gap_ns, and where the log must keep more than burst entries, the fourth
   number says how many. */
#ifndef WEIR_CORE_ALGORITHM_SLIDING_LOG_H
#define WEIR_CORE_ALGORITHM_SLIDING_LOG_H

#include "core/num.h"
#include "core/stamps.h"

enum {
    SLIDING_LOG_CLOSED = RULE_A,                     /* an entry exactly one period old still counts */
    SLIDING_LOG_COUNTS_REFUSED = RULE_COUNTS_REFUSED /* refused calls are entered, too */
};

/* For so long an entry counts. */
static inline uint64_t sliding_log_span_ns(const struct rule *rule)
{
    return add_saturating(rule->period_ns, (rule->flags & SLIDING_LOG_CLOSED) != 0);
}

#endif
