/* SPDX-License-Identifier: MIT
   Rolling-rate-limiter in weir's words: a log of us that counts refused calls, with a minimum gap.

   Decisions and their reasons, what is left and the next time equal to the us.  Leaves: the log to weir.  Only here:
   the clock in us, the figure in whole ms, and that the peer clears what is old at every call, also where its clock
   then goes back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm/sliding_log.h"
#include "inside.h"
#include "runner.h"

enum { US_NS = 1000, MS_NS = 1000000 };

struct rolling {
    struct limiter limiter;
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
    char options[64];
    snprintf(options, sizeof options, "gap=%" PRId64 "ns edge=open count-refused", gap_ns);
    limiter_open_log(&rolling->limiter, scene, count, rolling->interval_ns, options);
    return NULL;
}

/* Would the rule refuse, without its gap or without its count? */
static bool refused_by(const struct rolling *rolling, weir_instant now, bool by_count)
{
    struct rule rule = *inside_rule_const(&rolling->limiter.plan);
    if (by_count) rule.gap_ns = 0;
    else rule.burst = rule.fourth;
    return !weir_allowed(inside_peek(&rule, rolling->limiter.state, now, 1));
}

static uint64_t left(const struct rolling *rolling, weir_instant now)
{
    struct rule rule = *inside_rule_const(&rolling->limiter.plan);
    rule.gap_ns = 0;
    return inside_peek(&rule, rolling->limiter.state, now, 0).remaining;
}

/* When another call would pass; nobody tries until then. */
static uint64_t next_in_ns(const struct rolling *rolling, weir_instant now)
{
    struct rule rule = *inside_rule_const(&rolling->limiter.plan);
    rule.flags &= (uint8_t)~SLIDING_LOG_COUNTS_REFUSED;
    return inside_peek(&rule, rolling->limiter.state, now, 1).retry_ns;
}

static void try_now(struct rolling *rolling, struct step *step)
{
    const bool by_count = refused_by(rolling, step->now, true), by_gap = refused_by(rolling, step->now, false);
    const weir_decision decision = limiter_decide_log(&rolling->limiter, step, 1);
    const uint64_t next_ns = next_in_ns(rolling, step->now);
    if (!weir_allowed(decision) && decision.retry_ns != next_ns)
        judge_mismatch(step, "retry_ns", "when another call would pass", "another time");
    judge_from_core(step, true);
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "denied_by_count", by_count);
    judge_bool(step, "denied_by_min_gap", by_gap);
    judge_u64(step, "remaining", left(rolling, step->now));
    judge_wait(step, "next_allowed_in_ns", next_ns / MS_NS * MS_NS + (next_ns % MS_NS != 0 ? MS_NS : 0));
}

/* As if tried, on a copy of the log. */
static void peek(struct rolling *rolling, struct step *step)
{
    void *state = rolling->limiter.state;
    rolling->limiter.state = malloc(rolling->limiter.state_size);
    if (rolling->limiter.state == NULL) exit(EXIT_TROUBLE);
    memcpy(rolling->limiter.state, state, rolling->limiter.state_size);
    try_now(rolling, step);
    free(rolling->limiter.state);
    rolling->limiter.state = state;
}

static void step_case(void *subject, struct step *step)
{
    struct rolling *rolling = subject;
    if (limiter_answered(&rolling->limiter, step)) return;
    step->now.ns = step->now.ns / US_NS * US_NS;
    limiter_clear_log(&rolling->limiter, step->now.ns, rolling->interval_ns, true);
    if (strcmp(step->op, "peek") == 0) peek(rolling, step);
    else try_now(rolling, step);
}

static void close_case(void *subject)
{
    struct rolling *rolling = subject;
    limiter_close(&rolling->limiter);
}

const struct family *family_rolling_log(void)
{
    static const char *const limiter_key[] = {"algorithm", "interval_ns", "max_in_interval", "min_gap_ns", NULL};
    static const char *const op[] = {"create", "try", "peek", NULL};
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
