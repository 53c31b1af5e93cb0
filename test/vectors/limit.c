/* SPDX-License-Identifier: MIT
   limit.c - one limit and one subject's state through weir's public interface.

   A limit by gcra whose burst no text says is compiled as the nearest one and set right inside.

   May touch: the limit, the tally through judge.  Promises: a refused limit, an answer outside the enumeration and a
   start later than asked for are mismatches, never passes.  Leaves: what the peer calls the answers to the families. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "runner.h"

/* DESIGN.md 4: a limit whose burst is worth more is refused when it is made. */
static const int64_t SPAN_MAX = INT64_C(1) << 62;
/* core/clock.h: so far from its anchor its rounding cannot be seen. */
static const double SPAN_EXACT = 0x1p44;

static void make_state(struct limit *limit)
{
    limit->state_size = weir_state_size(&limit->plan);
    limit->state = calloc(1, limit->state_size > 0 ? limit->state_size : 1);
    if (limit->state == NULL) {
        fprintf(stderr, "weir-vectors: no memory\n");
        exit(EXIT_TROUBLE);
    }
    limit->capacity = weir_decide(&limit->plan, limit->state, (weir_instant){0}, 0).remaining;
    limit_forget(limit);
}

const char *limit_open(struct limit *limit, const char *text, int64_t interval_ns, int64_t burst)
{
    limit->accepted = weir_plan_parse(&limit->plan, text, WEIR_ADMIT, &limit->error) == 0;
    if (!limit->accepted) {
        const bool over_span = interval_ns > 0 && burst > SPAN_MAX / interval_ns;
        return over_span ? "beyond weir (burst x interval over 2^62 ns: refused when made)" : NULL;
    }
    make_state(limit);
    return NULL;
}

static double longest_step_back_ns(const struct scene *scene)
{
    double longest_ns = 0, latest_ns = -INFINITY;
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        double t_ns = 0;
        field_double(json_object_array_get_idx(scene->steps, i), "t_ns", &t_ns);
        latest_ns = fmax(latest_ns, t_ns);
        longest_ns = fmax(longest_ns, latest_ns - t_ns);
    }
    return longest_ns;
}

void limit_open_gcra(struct limit *limit, const struct scene *scene, uint64_t interval_ns, int64_t burst)
{
    char text[128];
    snprintf(text, sizeof text, "1/%" PRIu64 "ns burst=%" PRId64 " algorithm=gcra", interval_ns, burst);
    limit->accepted = weir_plan_parse(&limit->plan, text, WEIR_ADMIT, &limit->error) == 0;
    const uint64_t span_ns = burst > 0 ? multiply_divide_floor(interval_ns, (uint64_t)burst, 1) : 0;
    const bool fits = span_ns > 0 && span_ns <= INT64_MAX;
    const bool is_long = fits && ((double)span_ns > SPAN_EXACT || longest_step_back_ns(scene) > SPAN_EXACT);
    if (!limit->accepted && !is_long) return;
    limit->accepted = true;
    limit->permits = is_long ? interval_ns : 1;
    limit->interval_ns = is_long ? 1 : interval_ns;
    if (is_long) {
        weir_plan_parse(&limit->plan, "1/ns burst=1 algorithm=gcra", WEIR_ADMIT, &limit->error);
        inside_rule(&limit->plan)->burst = span_ns;
    }
    make_state(limit);
    limit->capacity /= limit->permits;
}

/* A refusal keeps nothing, also not where the clock was set: it may go back to before that. */
static void keep(struct limit *limit)
{
    limit->kept_word = *(const uint64_t *)limit->state;
    limit->kept_anchor_ns = inside_rule(&limit->plan)->anchor_ns;
}

/* By whole intervals, each of them 2^scale ticks. */
static void set_anchor(struct limit *limit, uint64_t now_ns)
{
    struct rule *rule = inside_rule(&limit->plan);
    uint64_t *word = limit->state;
    const uint64_t from_ns = limit->kept_anchor_ns;
    const uint64_t ahead = subtract_to_zero(now_ns, from_ns) / limit->interval_ns;
    const uint64_t back_ns = subtract_to_zero(from_ns, now_ns);
    const uint64_t back = back_ns / limit->interval_ns + (back_ns % limit->interval_ns != 0);
    rule->anchor_ns = from_ns + ahead * limit->interval_ns - back * limit->interval_ns;
    *word = limit->kept_word;
    if (*word != 0)
        *word = most(subtract_to_zero(add_saturating(*word, ticks_of(rule, back)), ticks_of(rule, ahead)), 1);
}

bool limit_drained(const struct limit *limit, uint64_t *drained_ns)
{
    const struct rule *rule = inside_rule_const(&limit->plan);
    *drained_ns = limit->kept_anchor_ns + (ns_ceil(rule, limit->kept_word) - rule->anchor_ns);
    return limit->kept_word != 0;
}

void limit_keep_time(struct limit *limit, weir_instant now)
{
    uint64_t *word = limit->state;
    *word = most(*word, tick_at(inside_rule(&limit->plan), now.ns));
    keep(limit);
}

void limit_close(struct limit *limit)
{
    free(limit->state);
}

void limit_forget(struct limit *limit)
{
    if (limit->state != NULL) memset(limit->state, 0, limit->state_size);
    limit->kept_word = 0;
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
    if (limit->permits != 0) {
        set_anchor(limit, step->now.ns);
        cost = multiply_divide_floor(cost, limit->permits, 1);
    }
    *decision = wait_max_ns == 0 ? weir_decide(&limit->plan, limit->state, step->now, cost)
                                 : weir_decide_within(&limit->plan, limit->state, step->now, cost, wait_max_ns);
    if (limit->permits != 0) {
        decision->remaining /= limit->permits;
        if (weir_allowed(*decision)) keep(limit);
    }
    return answer_is_sound(step, decision, wait_max_ns);
}
