/* SPDX-License-Identifier: MIT
   limit.c - one limit and one subject's state through weir's public interface.

   May touch: the limit, the tally through judge.  Promises: a refused limit, an answer outside the enumeration and a
   start later than asked for are mismatches, never passes.  Leaves: what the peer calls the answers to the families. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

/* DESIGN.md 4: a limit whose burst is worth more is refused when it is made. */
static const int64_t SPAN_MAX = INT64_C(1) << 62;

const char *limit_open(struct limit *limit, const char *text, int64_t interval_ns, int64_t burst)
{
    limit->accepted = weir_plan_parse(&limit->plan, text, WEIR_ADMIT, &limit->error) == 0;
    if (!limit->accepted) {
        const bool over_span = interval_ns > 0 && burst > SPAN_MAX / interval_ns;
        return over_span ? "beyond weir (burst x interval over 2^62 ns: refused when made)" : NULL;
    }
    limit->state_size = weir_state_size(&limit->plan);
    limit->state = calloc(1, limit->state_size > 0 ? limit->state_size : 1);
    if (limit->state == NULL) {
        fprintf(stderr, "weir-vectors: no memory\n");
        exit(EXIT_TROUBLE);
    }
    limit->capacity = weir_decide(&limit->plan, limit->state, (weir_instant){0}, 0).remaining;
    limit_forget(limit);
    return NULL;
}

void limit_close(struct limit *limit)
{
    free(limit->state);
}

void limit_forget(struct limit *limit)
{
    if (limit->state != NULL) memset(limit->state, 0, limit->state_size);
}

bool limit_refused(struct limit *limit, struct step *step)
{
    if (!judge_has(step, "error")) return false;
    if (limit->accepted) judge_mismatch(step, "error", "a refusal of the limit", "none: weir_plan_parse accepts it");
    return true;
}

static const char *verdict_name(uint32_t verdict)
{
    switch (verdict) {
    case WEIR_ALLOW:
        return "WEIR_ALLOW";
    case WEIR_DENY:
        return "WEIR_DENY";
    case WEIR_NEVER:
        return "WEIR_NEVER";
    default:
        return "another";
    }
}

static bool answer_is_sound(struct step *step, const weir_decision *decision, uint64_t wait_max_ns)
{
    if (decision->verdict != WEIR_ALLOW && decision->verdict != WEIR_DENY && decision->verdict != WEIR_NEVER) {
        judge_stop(step, "verdict", "WEIR_ALLOW, WEIR_DENY or WEIR_NEVER", verdict_name(decision->verdict));
        return false;
    }
    if (weir_allowed(*decision) && decision->delay_ns > wait_max_ns)
        judge_mismatch(step, "delay_ns", "no more than was asked for", "more");
    return true;
}

bool limit_ask(struct limit *limit, struct step *step, uint64_t wait_max_ns, weir_decision *decision)
{
    uint64_t cost = 0;
    if (!limit->accepted) {
        judge_stop(step, "limiter", "an accepted limit", limit->error.message);
        return false;
    }
    if (!field_u64(step->json, "n", &cost)) {
        judge_stop(step, "n", "a whole number from 0 to 2^64 - 2", "another value");
        return false;
    }
    *decision = wait_max_ns == 0 ? weir_decide(&limit->plan, limit->state, step->now, cost)
                                 : weir_decide_within(&limit->plan, limit->state, step->now, cost, wait_max_ns);
    return answer_is_sound(step, decision, wait_max_ns);
}
