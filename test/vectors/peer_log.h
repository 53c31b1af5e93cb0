/* SPDX-License-Identifier: MIT
   peer_log.h - a sliding log as peers keep theirs: by their clock, and with room for every call of the case. */
#ifndef VECTORS_PEER_LOG_H
#define VECTORS_PEER_LOG_H

#include "core/rule.h"
#include "runner.h"

/* As limit_open; entries come as the clock says, back or not, and none is lost until the peer forgets it. */
const char *peer_log_open(struct limit *limit, const char *text, const struct scene *scene);

/* What the log would answer now under a rule of the same size; takes nothing. */
weir_decision peer_log_peek(const struct limit *limit, const struct rule *rule, weir_instant now, uint64_t n);

struct rule peer_log_rule(const struct limit *limit);
uint64_t peer_log_entries(const struct limit *limit);
uint64_t peer_log_entry_ns(const struct limit *limit, uint64_t back); /* 1 is the newest */

/* Forgets what is this old.  All that are, or those before the first that is not. */
void peer_log_forget(struct limit *limit, uint64_t now_ns, uint64_t age_ns, bool all);

#endif
