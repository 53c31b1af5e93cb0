/* SPDX-License-Identifier: MIT
   sliding_log.h - what the flags of a log's rule mean, and a look at its entries for comparing with peers.

   In the rule: burst = permits per period_ns, gap_ns, and where the log must keep more than burst entries, the fourth
   number says how many.  See sliding_log.c. */
#ifndef WEIR_CORE_SLIDING_LOG_H
#define WEIR_CORE_SLIDING_LOG_H

#include "core/stamps.h"

enum {
    SLIDING_LOG_CLOSED = RULE_A,                     /* an entry exactly one period old still counts */
    SLIDING_LOG_COUNTS_REFUSED = RULE_COUNTS_REFUSED /* refused calls are entered, too */
};

/* Entries kept, and the time of one: back 1 is the newest, and goes up to that number. */
uint64_t sliding_log_entries(const struct rule *rule, const uint64_t *state);
uint64_t sliding_log_entry_ns(const struct rule *rule, const uint64_t *state, uint64_t back);

/* Forgets it, as peers do that clear on the way; only while the log has lost none. */
void sliding_log_forget(const struct rule *rule, uint64_t *state, uint64_t back);

#endif
