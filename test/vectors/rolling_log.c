/* SPDX-License-Identifier: MIT
   rolling_log.c - rolling-rate-limiter in weir's words: a log of us that counts refused calls, with a minimum gap.

   May touch: its subject, the tally through judge.  Promises: decisions and their reasons, what is left and the next
   time equal to the us.  Leaves: the log to weir.  Only here: the clock in us, the figure in whole ms, and that the
   peer clears what is old at every call, also where its clock then goes back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sliding_log.h"
#include "peer_log.h"

enum { US_NS = 1000, MS_NS = 1000000 };

struct rolling {
    struct limit limit;
    uint64_t interval_ns, gap_ns;
};

static const char *open_case(void *subject, const struct scene *scene)
{
    struct rolling *rolling = subject;
    int64_t count = 0, interval_ns = 0, gap_ns = 0;
    if (!field_i64(scene->limiter, "max_in_interval", &count) ||
        !field_i64(scene->limiter, "interval_ns", &interval_ns) || !field_i64(scene->limiter, "min_gap_ns", &gap_ns))
        return "not yet (limiter: count, interval or gap is no 63-bit number)";
    rolling->interval_ns = (uint64_t)interval_ns;
    rolling->gap_ns = (uint64_t)gap_ns;
    char text[160];
    snprintf(text, sizeof text,
             "%" PRId64 "/%" PRId64 "ns gap=%" PRId64 "ns edge=open count-refused algorithm=sliding-log", count,
             interval_ns, gap_ns);
    return peer_log_open(&rolling->limit, text, scene);
}

/* Would the rule refuse, without its gap or without its count? */
static bool refused_by(const struct rolling *rolling, weir_instant now, bool by_count)
{
    struct rule rule = peer_log_rule(&rolling->limit);
    if (by_count) rule.gap_ns = 0;
    else rule.burst = rule.fourth;
    return !weir_allowed(peer_log_peek(&rolling->limit, &rule, now, 1));
}

static uint64_t left(const struct rolling *rolling, weir_instant now)
{
    struct rule rule = peer_log_rule(&rolling->limit);
    rule.gap_ns = 0;
    return peer_log_peek(&rolling->limit, &rule, now, 0).remaining;
}

/* When another call would pass; nobody tries until then. */
static uint64_t next_in_ns(const struct rolling *rolling, weir_instant now)
{
    struct rule rule = peer_log_rule(&rolling->limit);
    rule.flags &= (uint8_t)~SLIDING_LOG_COUNTS_REFUSED;
    return peer_log_peek(&rolling->limit, &rule, now, 1).retry_ns;
}

static void try_now(struct rolling *rolling, struct step *step)
{
    const bool by_count = refused_by(rolling, step->now, true), by_gap = refused_by(rolling, step->now, false);
    const weir_decision decision = weir_decide(&rolling->limit.plan, rolling->limit.state, step->now, 1);
    const uint64_t next_ns = next_in_ns(rolling, step->now);
    if (!weir_allowed(decision) && decision.retry_ns != next_ns)
        judge_mismatch(step, "retry_ns", "when another call would pass", "another time");
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "denied_by_count", by_count);
    judge_bool(step, "denied_by_min_gap", by_gap);
    judge_u64(step, "remaining", left(rolling, step->now));
    judge_wait(step, "next_allowed_in_ns", next_ns / MS_NS * MS_NS + (next_ns % MS_NS != 0 ? MS_NS : 0));
}

/* As if tried, on a copy of the log. */
static void peek(struct rolling *rolling, struct step *step)
{
    void *state = rolling->limit.state;
    rolling->limit.state = malloc(rolling->limit.state_size);
    if (rolling->limit.state == NULL) exit(EXIT_TROUBLE);
    memcpy(rolling->limit.state, state, rolling->limit.state_size);
    try_now(rolling, step);
    free(rolling->limit.state);
    rolling->limit.state = state;
}

static void step_case(void *subject, struct step *step)
{
    struct rolling *rolling = subject;
    if (limit_refused(&rolling->limit, step)) return;
    step->now.ns = step->now.ns / US_NS * US_NS;
    if (rolling->limit.accepted) peer_log_forget(&rolling->limit, step->now.ns, rolling->interval_ns, true);
    if (!rolling->limit.accepted) judge_stop(step, "limiter", "an accepted limit", rolling->limit.error.message);
    else if (strcmp(step->op, "peek") == 0) peek(rolling, step);
    else try_now(rolling, step);
}

static void close_case(void *subject)
{
    struct rolling *rolling = subject;
    limit_close(&rolling->limit);
}

const struct family *family_rolling_log(void)
{
    static const char *const limiter_key[] = {"algorithm", "interval_ns", "max_in_interval", "min_gap_ns", NULL};
    static const char *const op[] = {"try", "peek", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "rolling-rate-limiter in memory",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct rolling),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
