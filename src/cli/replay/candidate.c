/* SPDX-License-Identifier: MIT
   One limit that is tried on a log: a state for each client, and what came of it.

   Beside the limit's own states runs a bucket that leaks at the same rate and has no brim:

       drained = max(drained, now) + cost          level = drained - now

   It is gcra that never refuses, so gcra with a burst of the highest level would have refused nothing either.

   The same answers as the limiter gives. */
#include "cli/replay/candidate.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/decide_inline.h"
#include "core/num.h"
#include "plan/plan.h"

enum { SECOND_NS = 1000000000 };

/* nginx without nodelay lets requests wait, and that is its verdict; other limits are asked for now or not. */
static bool lets_wait(const struct plan *plan)
{
    bool delays = false;
    for (uint64_t i = 0; i < plan->count; i++) {
        if (plan->limit[i].algorithm != ALGORITHM_LEAKY) return false;
        delays = delays || !plan->limit[i].nodelay;
    }
    return delays;
}

/* The clock of gcra at the same rate. */
static bool rate_of(const struct limit *limit, struct rule *rule)
{
    struct limit rate = {.count = limit->count, .period_ns = limit->period_ns, .algorithm = ALGORITHM_GCRA};
    rate.burst_kind = AMOUNT_COUNT;
    rate.burst = 1;
    return limit->period_ns != 0 && limit->count.digits != 0 && limit_compile(&rate, rule).message == NULL;
}

int candidate_open(struct candidate *candidate, const char *text, weir_error *error)
{
    memset(candidate, 0, sizeof *candidate);
    candidate->text = text;
    const int code = weir_plan_parse(&candidate->plan, text, WEIR_ADMIT, error);
    if (code != 0) return code;
    const struct plan *plan = plan_inside_const(&candidate->plan);
    candidate->wait_max_ns = lets_wait(plan) ? WEIR_FOREVER : 0;
    candidate->has_rate = rate_of(&plan->limit[0], &candidate->rate);
    if (states_open(&candidate->states, &candidate->plan)) return 0;
    *error = (weir_error){.message = "no memory"};
    return ENOMEM;
}

void candidate_begin(struct candidate *candidate, bool spread)
{
    const size_t words = candidate->states.words * (spread ? 2 : 1);
    candidate->spread = spread;
    rows_open(&candidate->rows, sizeof(struct candidate_row) + words * sizeof(uint64_t));
}

void candidate_close(struct candidate *candidate)
{
    const struct states *states = &candidate->states;
    for (uint32_t i = 0; states->logs != 0 && i < candidate->clients; i++) {
        struct candidate_row *row = rows_at(&candidate->rows, i);
        states_forget(states, row->state);
        if (candidate->spread) states_forget(states, row->state + states->words);
    }
    rows_close(&candidate->rows);
    states_close(&candidate->states);
}

static void fill_bucket(const struct candidate *candidate, struct candidate_row *row, uint64_t now_ns, uint64_t cost)
{
    const uint64_t now = tick_at(&candidate->rate, now_ns);
    row->drained = add_saturating(most(row->drained, now), ticks_of(&candidate->rate, cost));
    row->highest = most(row->highest, row->drained - now);
}

static inline weir_decision decide_at(struct candidate *candidate, uint64_t *state, uint64_t now_ns,
                                      uint64_t settled_ns, uint64_t cost)
{
    const struct states *states = &candidate->states;
    const struct rules rules = plan_rules(plan_inside_const(&candidate->plan));
    if (states->logs == 0 && rules.count == 1) {
        weir_decision decision = {.verdict = WEIR_DENY};
        const struct question question = {.now_ns = now_ns, .wait_max_ns = candidate->wait_max_ns, .cost = &cost};
        decide_inline((struct rules){rules.rule, 1}, state, &question, NULL, &decision);
        return decision;
    }
    if (states->logs == 0) {
        const weir_instant now = {now_ns};
        return weir_decide_within(&candidate->plan, state, now, cost, candidate->wait_max_ns);
    }
    const struct states_question question = {now_ns, settled_ns, cost, candidate->wait_max_ns};
    weir_decision decision = {.verdict = WEIR_DENY};
    if (!states_decide(states, state, &question, &decision)) candidate->no_memory = true;
    return decision;
}

struct candidate_verdict candidate_ask(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t cost)
{
    struct candidate_row *row = rows_at(&candidate->rows, client);
    struct candidate_verdict verdict = {.allowed = true};
    if (candidate->has_rate) fill_bucket(candidate, row, now_ns, cost);
    if (cost != 0) {
        const weir_decision decision = decide_at(candidate, row->state, now_ns, now_ns, cost);
        verdict = (struct candidate_verdict){decision.delay_ns, decision_retry_ns(&decision), weir_allowed(decision)};
    }
    candidate->allowed += verdict.allowed;
    candidate->denied += !verdict.allowed;
    row->denied += !verdict.allowed;
    if (verdict.delay_ns != 0) {
        candidate->delayed++;
        row->delayed++;
        histogram_add(&candidate->delays_ns, verdict.delay_ns);
    }
    return verdict;
}

void candidate_spread(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t cost)
{
    struct candidate_row *row = rows_at(&candidate->rows, client);
    if (cost == 0) return;
    const weir_decision decision =
        decide_at(candidate, row->state + candidate->states.words, now_ns, now_ns - now_ns % SECOND_NS, cost);
    candidate->denied_spread += !weir_allowed(decision);
}

uint64_t candidate_burst(const struct candidate *candidate, uint64_t highest)
{
    const uint64_t permit = ticks_of(&candidate->rate, 1);
    return highest / permit + (highest % permit != 0);
}
