/* SPDX-License-Identifier: MIT
   One limit and one subject's state through weir's public interface.

   A limit by gcra whose burst no text says is compiled as the nearest one and set right inside.

   A refused limit, an answer outside the enumeration and a start later than asked for are mismatches, never passes.
   Leaves: what the peer calls the answers to the families. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm/sliding_log.h"
#include "inside.h"
#include "runner.h"

/* The words of a fixed window, as src/core/algorithm/fixed_window.c has them. */
enum { WINDOW_END, WINDOW_COUNT, WINDOW_BEFORE_END, WINDOW_BEFORE_COUNT };

/* core/clock.h: so far from its anchor its rounding cannot be seen. */
static const double SPAN_EXACT = 0x1p44;

static void make_state(struct limiter *limiter)
{
    limiter->state_size = weir_state_size(&limiter->plan);
    limiter->state = calloc(1, limiter->state_size > 0 ? limiter->state_size : 1);
    if (limiter->state == NULL) {
        fprintf(stderr, "weir-vectors: no memory\n");
        exit(EXIT_TROUBLE);
    }
    limiter->capacity = weir_decide(&limiter->plan, limiter->state, (weir_instant){0}, 0).remaining;
    limiter_forget(limiter);
}

void limiter_open(struct limiter *limiter, const char *text)
{
    limiter->accepted = weir_plan_parse(&limiter->plan, text, WEIR_ADMIT, &limiter->error) == 0;
    if (limiter->accepted) make_state(limiter);
}

/* ---- windows ----------------------------------------------------------------------------------------------- */

void limiter_open_window(struct limiter *limiter, uint64_t count, uint64_t window_ns, const char *options)
{
    char text[128];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns algorithm=fixed-window %s", most(count, 1), window_ns,
             options);
    limiter_open(limiter, text);
    if (limiter->accepted) inside_rule(&limiter->plan)->burst = count;
}

/* To weir a clock that goes back into a window that it has left finds what was counted there and since. */
void limiter_forget_left(struct limiter *limiter, struct step *step)
{
    uint64_t *state = limiter->state;
    if (tick_at(inside_rule(&limiter->plan), step->now.ns) >= state[WINDOW_BEFORE_END]) return;
    state[WINDOW_BEFORE_END] = state[WINDOW_BEFORE_COUNT] = 0;
    judge_adapted(step);
}

void limiter_begin_window(struct limiter *limiter, weir_instant now)
{
    const struct rule *rule = inside_rule(&limiter->plan);
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t tick = tick_at(rule, now.ns);
    uint64_t *state = limiter->state;
    if (tick < state[WINDOW_END]) return;
    const struct taken taken = algorithm->commit(rule, state, (struct offer){tick, tick}, 1);
    /* As a part: all of it would not have opened the window. */
    algorithm->give_back(rule, state, tick, &(struct slot){.start = tick, .end = taken.end, .cost = 2}, 1);
}

bool limiter_ask_window(struct limiter *limiter, struct step *step, weir_decision *decision)
{
    const struct rule *rule = inside_rule(&limiter->plan);
    uint64_t cost = 0;
    if (field_u64(step->json, "n", &cost)) {
        const bool passes = weir_allowed(inside_peek(rule, limiter->state, step->now, cost));
        if (passes ? cost == 0 : !(rule->flags & RULE_COUNTS_REFUSED)) limiter_begin_window(limiter, step->now);
    }
    return limiter_step(limiter, step, 0, decision);
}

/* ---- logs -------------------------------------------------------------------------------------------------- */

/* Permits of all calls together, each at most what the limit holds. */
static uint64_t calls_of(const struct scene *scene, uint64_t burst)
{
    uint64_t sum = 1;
    for (size_t i = 0; i < json_object_array_length(scene->steps); i++) {
        uint64_t n = 1;
        field_u64(json_object_array_get_idx(scene->steps, i), "n", &n);
        sum += least(n, burst);
    }
    return sum;
}

void limiter_open_log(struct limiter *limiter, const struct scene *scene, int64_t count, uint64_t window_ns,
                      const char *options)
{
    char text[160];
    snprintf(text, sizeof text, "%" PRId64 "/%" PRIu64 "ns algorithm=sliding-log %s", count != 0 ? count : 1, window_ns,
             options);
    limiter_open(limiter, text);
    if (!limiter->accepted) return;
    struct rule *rule = inside_rule(&limiter->plan);
    if (count == 0) rule->burst = 0; /* which is no rate to weir */
    rule->flags &= (uint8_t)~STAMPS_BRIEF;
    rule->fourth = rule->burst + calls_of(scene, rule->burst);
    free(limiter->state);
    make_state(limiter);
}

void limiter_clear_log(struct limiter *limiter, uint64_t now_ns, uint64_t age_ns, bool all)
{
    const struct rule *rule = inside_rule_const(&limiter->plan);
    for (uint64_t back = stamps_kept(rule, limiter->state); back > 0; back--) {
        const bool old = now_ns >= age_ns && stamps_get(rule, limiter->state, back) <= now_ns - age_ns;
        if (old) stamps_remove(rule, limiter->state, back - 1, 1);
        else if (!all) return;
    }
}

bool limiter_log_in_order(const struct limiter *limiter, weir_instant now)
{
    const struct rule *rule = inside_rule_const(&limiter->plan);
    uint64_t later_ns = now.ns;
    for (uint64_t back = 1; back <= stamps_kept(rule, limiter->state); back++) {
        const uint64_t ns = stamps_get(rule, limiter->state, back);
        if (ns > later_ns) return false;
        later_ns = ns;
    }
    return true;
}

/* What weir has entered at the time of the last entry, and a refused call that it has not, go where the clock is. */
static void enter_back(struct limiter *limiter, weir_instant now, uint64_t cost, weir_decision *decision)
{
    const struct rule *rule = inside_rule_const(&limiter->plan);
    const bool refused = !weir_allowed(*decision), enters = !refused || rule->flags & SLIDING_LOG_COUNTS_REFUSED;
    stamps_remove(rule, limiter->state, 0, decision->charged);
    for (uint64_t i = 0; i < cost && enters; i++) stamps_append(rule, limiter->state, now.ns);
    if (refused) *decision = inside_peek(rule, limiter->state, now, cost);
}

weir_decision limiter_decide_log(struct limiter *limiter, struct step *step, uint64_t cost)
{
    const uint64_t *state = limiter->state;
    const bool back = state[STAMPS_NEWEST] > step->now.ns;
    if (!limiter_log_in_order(limiter, step->now)) judge_adapted(step);
    weir_decision decision = weir_decide(&limiter->plan, limiter->state, step->now, cost);
    if (back) enter_back(limiter, step->now, cost, &decision);
    return decision;
}

/* ---- gcra -------------------------------------------------------------------------------------------------- */

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

void limiter_open_gcra(struct limiter *limiter, const struct scene *scene, uint64_t interval_ns, int64_t burst)
{
    char text[128];
    snprintf(text, sizeof text, "1/%" PRIu64 "ns burst=%" PRId64 " algorithm=gcra", interval_ns, burst);
    limiter->accepted = weir_plan_parse(&limiter->plan, text, WEIR_ADMIT, &limiter->error) == 0;
    const uint64_t span_ns = burst > 0 ? multiply_divide_floor(interval_ns, (uint64_t)burst, 1) : 0;
    const bool fits = span_ns > 0 && span_ns <= INT64_MAX;
    const bool is_long = fits && ((double)span_ns > SPAN_EXACT || longest_step_back_ns(scene) > SPAN_EXACT);
    if (!limiter->accepted && !is_long) return;
    limiter->overruled = !limiter->accepted;
    limiter->accepted = true;
    limiter->permits = is_long ? interval_ns : 1;
    limiter->interval_ns = is_long ? 1 : interval_ns;
    if (is_long) {
        weir_plan_parse(&limiter->plan, "1/ns burst=1 algorithm=gcra", WEIR_ADMIT, &limiter->error);
        inside_rule(&limiter->plan)->burst = span_ns;
    }
    make_state(limiter);
    limiter->capacity /= limiter->permits;
}

/* A refusal keeps nothing, also not where the clock was set: it may go back to before that. */
static void keep(struct limiter *limiter)
{
    limiter->kept_word = *(const uint64_t *)limiter->state;
    limiter->kept_anchor_ns = inside_rule(&limiter->plan)->anchor_ns;
}

/* By whole intervals, each of them 2^scale ticks. */
static void set_anchor(struct limiter *limiter, uint64_t now_ns)
{
    struct rule *rule = inside_rule(&limiter->plan);
    uint64_t *word = limiter->state;
    const uint64_t from_ns = limiter->kept_anchor_ns;
    const uint64_t ahead = subtract_to_zero(now_ns, from_ns) / limiter->interval_ns;
    const uint64_t back_ns = subtract_to_zero(from_ns, now_ns);
    const uint64_t back = back_ns / limiter->interval_ns + (back_ns % limiter->interval_ns != 0);
    rule->anchor_ns = from_ns + ahead * limiter->interval_ns - back * limiter->interval_ns;
    *word = limiter->kept_word;
    if (*word != 0)
        *word = most(subtract_to_zero(add_saturating(*word, ticks_of(rule, back)), ticks_of(rule, ahead)), 1);
}

bool limiter_drained(const struct limiter *limiter, uint64_t *drained_ns)
{
    const struct rule *rule = inside_rule_const(&limiter->plan);
    *drained_ns = limiter->kept_anchor_ns + (ns_ceil(rule, limiter->kept_word) - rule->anchor_ns);
    return limiter->kept_word != 0;
}

void limiter_keep_time(struct limiter *limiter, weir_instant now)
{
    uint64_t *word = limiter->state;
    *word = most(*word, tick_at(inside_rule(&limiter->plan), now.ns));
    keep(limiter);
}

/* ---- all --------------------------------------------------------------------------------------------------- */

void limiter_close(struct limiter *limiter)
{
    free(limiter->state);
}

void limiter_forget(struct limiter *limiter)
{
    if (limiter->state != NULL) memset(limiter->state, 0, limiter->state_size);
    limiter->kept_word = 0;
}

bool limiter_answered(struct limiter *limiter, struct step *step)
{
    judge_from_core(step, !limiter->overruled);
    if (judge_has(step, "error")) {
        if (limiter->accepted)
            judge_mismatch(step, "error", "a refusal of the limit", "none: weir_plan_parse accepts it");
        return true;
    }
    if (!limiter->accepted) judge_stop(step, "limiter", "an accepted limit", limiter->error.message);
    else if (strcmp(step->op, "create") == 0) judge_bool(step, "ok", true);
    else {
        judge_from_core(step, false);
        return false;
    }
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

static bool cost_of(struct step *step, uint64_t *cost)
{
    if (field_u64(step->json, "n", cost)) return true;
    judge_stop(step, "n", "a whole number from 0 to 2^64 - 1", "another value");
    return false;
}

bool limiter_ask_log(struct limiter *limiter, struct step *step, weir_decision *decision)
{
    uint64_t cost = 0;
    if (!cost_of(step, &cost)) return false;
    *decision = limiter_decide_log(limiter, step, cost);
    judge_from_core(step, true);
    return answer_is_sound(step, decision, 0);
}

bool limiter_step(struct limiter *limiter, struct step *step, uint64_t wait_max_ns, weir_decision *decision)
{
    uint64_t cost = 0;
    if (!cost_of(step, &cost)) return false;
    if (limiter->permits != 0) {
        set_anchor(limiter, step->now.ns);
        cost = multiply_divide_floor(cost, limiter->permits, 1);
    }
    *decision = wait_max_ns == 0 ? weir_decide(&limiter->plan, limiter->state, step->now, cost)
                                 : weir_decide_within(&limiter->plan, limiter->state, step->now, cost, wait_max_ns);
    if (limiter->permits != 0) {
        decision->remaining /= limiter->permits;
        if (weir_allowed(*decision)) keep(limiter);
    }
    judge_from_core(step, true);
    return answer_is_sound(step, decision, wait_max_ns);
}
