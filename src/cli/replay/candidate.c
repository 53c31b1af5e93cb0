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
#include "core/algorithm/concurrent.h"
#include "core/decide_inline.h"
#include "core/num.h"
#include "plan/plan.h"
#include "plan/words.h"

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
    return limit->algorithm != ALGORITHM_CONCURRENT && limit->period_ns != 0 && limit->count.digits != 0 &&
           limit_compile(&rate, rule).message == NULL;
}

int candidate_open(struct candidate *candidate, const char *text, weir_error *error)
{
    memset(candidate, 0, sizeof *candidate);
    candidate->text = text;
    const int code = weir_plan_parse(&candidate->plan, text, WEIR_ADMIT, error);
    if (code != 0) return code;
    const struct plan *plan = plan_inside_const(&candidate->plan);
    candidate->wait_max_ns = lets_wait(plan) ? WEIR_FOREVER : 0;
    candidate->costs = (UINT32_C(1) << plan->count) - 1;
    candidate->holder = decide_holder(plan_rules(plan));
    candidate->rate_limit = candidate->holder == 0 && plan->count > 1;
    candidate->has_rate = rate_of(&plan->limit[candidate->rate_limit], &candidate->rate);
    if (states_open(&candidate->states, &candidate->plan)) return 0;
    *error = (weir_error){.message = "no memory"};
    return ENOMEM;
}

/* limits count requests and tokens: write --cost tokens=FIELD */
static bool fail_unit(const struct plan *plan, const char *unit, const char *field, weir_error *error)
{
    struct writer writer = {error->message, sizeof error->message, 0};
    *error = (weir_error){.code = WEIR_EINVAL};
    write_text(&writer, "limits count ");
    write_text(&writer, plan->limit[0].unit);
    for (uint64_t i = 1; i < plan->count; i++) {
        if (strcmp(plan->limit[i].unit, plan->limit[0].unit) == 0) continue;
        write_text(&writer, " and ");
        write_text(&writer, plan->limit[i].unit);
        break;
    }
    write_text(&writer, ": write --cost ");
    write_text(&writer, unit);
    write_text(&writer, "=");
    write_text(&writer, field);
    return false;
}

bool candidate_unit(struct candidate *candidate, const char *unit, size_t size, const char *field, weir_error *error)
{
    const struct plan *plan = plan_inside_const(&candidate->plan);
    char named[WEIR_UNIT_SIZE] = "";
    const char *other = NULL; /* that costs neither */
    if (unit != NULL) words_unit(unit, size, named);
    candidate->costs = 0;
    for (uint64_t i = 0; i < plan->count; i++) {
        const bool charged = unit == NULL || strcmp(plan->limit[i].unit, named) == 0;
        const bool requests = strcmp(plan->limit[i].unit, "requests") == 0 || (!charged && (int)i == candidate->holder);
        candidate->costs |= charged ? UINT32_C(1) << i : 0;
        if (unit == NULL ? !requests && plan_has_units(plan) : !charged && !requests) other = plan->limit[i].unit;
    }
    return other == NULL || fail_unit(plan, other, field, error);
}

uint64_t candidate_lease_ns(const struct candidate *candidate)
{
    if (candidate->holder < 0) return 0;
    return plan_inside_const(&candidate->plan)->rule[candidate->holder].period_ns;
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

/* What a request of this cost is charged by one limit. */
static inline uint64_t charged(const struct candidate *candidate, int limit, uint64_t cost)
{
    return candidate->costs >> limit & 1 ? cost : 1;
}

static inline weir_decision decide_at(struct candidate *candidate, uint64_t *state, uint64_t now_ns,
                                      uint64_t settled_ns, uint64_t cost)
{
    const struct states *states = &candidate->states;
    const struct rules rules = plan_rules(plan_inside_const(&candidate->plan));
    weir_decision decision = {.verdict = WEIR_DENY};
    uint64_t each[WEIR_LIMITS_MAX];
    for (int i = 0; i < rules.count; i++) each[i] = charged(candidate, i, cost);
    if (states->logs == 0 && rules.count == 1) {
        const struct question question = {.now_ns = now_ns, .wait_max_ns = candidate->wait_max_ns, .cost = each};
        decide_inline((struct rules){rules.rule, 1}, state, &question, NULL, &decision);
        return decision;
    }
    const struct states_question question = {now_ns, settled_ns, each, candidate->wait_max_ns};
    if (!states_decide(states, state, &question, &decision)) candidate->no_memory = true;
    return decision;
}

static bool costs_something(const struct candidate *candidate, uint64_t cost)
{
    return cost != 0 || candidate->costs + 1 != UINT32_C(1) << plan_inside_const(&candidate->plan)->count;
}

/* Nobody renews here, so a lease may end before the request. */
static void hold(struct candidate *candidate, uint64_t *state, const weir_decision *decision, uint64_t end_ns)
{
    if (candidate->holder < 0 || !weir_allowed(*decision)) return;
    const uint64_t start_ns = decision->start.ns;
    const struct rule *rule = &plan_inside_const(&candidate->plan)->rule[candidate->holder];
    uint64_t *slots = states_part(&candidate->states, state, candidate->holder);
    concurrent_until(rule, slots, start_ns, decision->end, least(end_ns, add_saturating(start_ns, rule->period_ns)));
}

/* At its own time, or at the one of the same second for which it has a state of its own, too. */
static weir_decision decide_for(struct candidate *candidate, uint32_t client, bool spread, uint64_t now_ns,
                                uint64_t end_ns, uint64_t cost)
{
    weir_decision decision = {.verdict = WEIR_DENY};
    if (candidate->tenants != NULL) {
        struct slice key;
        key.bytes = clients_key(candidate->keys, client, &key.size);
        const int clock = spread ? TENANTS_SPREAD : TENANTS_STAMPED;
        if (!tenants_take(candidate->tenants, clock, client, key, now_ns, cost, &decision)) candidate->no_memory = true;
        return decision;
    }
    struct candidate_row *row = rows_at(&candidate->rows, candidate->shared ? 0 : client);
    uint64_t *state = row->state + (spread ? candidate->states.words : 0);
    decision = decide_at(candidate, state, now_ns, spread ? now_ns - now_ns % SECOND_NS : now_ns, cost);
    hold(candidate, state, &decision, end_ns);
    return decision;
}

struct candidate_verdict candidate_ask(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t end_ns,
                                       uint64_t cost)
{
    struct candidate_row *row = rows_at(&candidate->rows, client);
    struct candidate_verdict verdict = {.allowed = true};
    if (candidate->has_rate) fill_bucket(candidate, row, now_ns, charged(candidate, candidate->rate_limit, cost));
    if (costs_something(candidate, cost)) {
        const weir_decision decision = decide_for(candidate, client, false, now_ns, end_ns, cost);
        verdict = (struct candidate_verdict){decision.delay_ns, decision_retry_ns(&decision), weir_allowed(decision)};
    }
    const uint64_t lease_ns = candidate_lease_ns(candidate);
    candidate->outlasted += verdict.allowed && lease_ns != 0 && subtract_to_zero(end_ns, now_ns) > lease_ns;
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

void candidate_spread(struct candidate *candidate, uint32_t client, uint64_t now_ns, uint64_t end_ns, uint64_t cost)
{
    if (!costs_something(candidate, cost)) return;
    const weir_decision decision = decide_for(candidate, client, true, now_ns, end_ns, cost);
    candidate->denied_spread += !weir_allowed(decision);
}

uint64_t candidate_burst(const struct candidate *candidate, uint64_t highest)
{
    const uint64_t permit = ticks_of(&candidate->rate, 1);
    return highest / permit + (highest % permit != 0);
}
