/* SPDX-License-Identifier: MIT
   The engine's leases once more, each time with one mistake.

   Each is right as long as nobody is slow, or alone.

   One mistake each, named in the header. */
#include "planted_nodes.h"

#include <string.h>

#include "core/num.h"

enum { SEEN, LEVEL, EPOCH, EPOCH_END, LIFETIME, NEW, OLD, WORDS, PART = 8, LEAST = 2 };

static int mistake;

static uint64_t ceiling(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t out_of(const uint64_t word[])
{
    return word[NEW] + word[OLD];
}

static void drain(const struct micro_rule *rule, uint64_t word[], uint64_t at, bool holds)
{
    const uint64_t elapsed = subtract_to_zero(at, word[SEEN]);
    word[LEVEL] = subtract_to_zero(word[LEVEL], elapsed * rule->per);
    if (holds) word[LEVEL] = most(word[LEVEL], out_of(word) * rule->permit);
    word[SEEN] = at;
}

static void end_epoch(const struct micro_rule *rule, uint64_t word[], bool holds)
{
    if (mistake != PLANTED_HOLD_LATE) drain(rule, word, word[EPOCH_END], holds);
    word[OLD] = mistake == PLANTED_ONE_EPOCH ? 0 : word[NEW];
    word[NEW] = 0;
    word[EPOCH]++;
    word[EPOCH_END] += word[LIFETIME];
}

static void set_back(uint64_t word[], uint64_t now)
{
    const uint64_t back = word[SEEN] - now;
    word[SEEN] = now;
    word[EPOCH_END] -= mistake == PLANTED_BACK_SHORTENS ? least(2 * back, word[EPOCH_END]) : back;
    if (mistake == PLANTED_BACK_FORGETS) word[NEW] = word[OLD] = 0;
}

static uint64_t *prepare(const struct micro_plan *plan, struct micro_state *state, uint64_t now, bool holds)
{
    struct micro_cell *cell = &state->cell[0];
    if (state->count == 0) {
        memset(cell, 0, sizeof *cell);
        *cell = (struct micro_cell){.kind = MICRO_GCRA,
                                    .words = WORDS,
                                    .burst = plan->rule[0].fits,
                                    .permit = plan->rule[0].permit,
                                    .word = {now}};
        state->count = 1;
    }
    if (now < cell->word[SEEN]) set_back(cell->word, now);
    while (out_of(cell->word) > 0 && cell->word[EPOCH_END] <= now) end_epoch(&plan->rule[0], cell->word, holds);
    drain(&plan->rule[0], cell->word, now, holds);
    return cell->word;
}

static uint64_t idle(const struct micro_rule *rule, const uint64_t from[])
{
    uint64_t word[WORDS];
    memcpy(word, from, sizeof word);
    while (out_of(word) > 0 && mistake != PLANTED_IDLE_LEVEL) end_epoch(rule, word, true);
    return word[SEEN] + ceiling(word[LEVEL], rule->per);
}

static void take(const struct micro_plan *plan, struct micro_state *kept, struct micro_log log[],
                 const struct micro_ask *ask, struct micro_answer *answer)
{
    (void)log;
    const struct micro_rule *rule = &plan->rule[0];
    struct micro_state state = *kept;
    uint64_t *word = prepare(plan, &state, ask->now, mistake != PLANTED_SINGLES_IGNORE);
    const uint64_t need = ask->cost[0] * rule->permit, after = word[LEVEL] + need;
    const bool may_wait = mistake == PLANTED_WAIT_FOR_OUT || need + out_of(word) * rule->permit <= rule->top;
    const uint64_t delay = ceiling(subtract_to_zero(after, rule->top), rule->per);
    *answer = (struct micro_answer){.verdict = need > rule->top ? WEIR_NEVER : WEIR_DENY};
    if (need > rule->top || delay > (may_wait ? ask->wait : 0)) return;
    word[LEVEL] = after;
    answer->verdict = WEIR_ALLOW;
    answer->delay = delay;
    answer->remaining = (rule->top - least(rule->top, after)) / rule->permit;
    answer->idle = idle(rule, word);
    *kept = state;
}

static void enter_turn(uint64_t word[], uint64_t now, uint64_t lifetime)
{
    if (out_of(word) > 0) {
        if (mistake == PLANTED_SHORTER_WINS) word[LIFETIME] = lifetime;
        else if (mistake != PLANTED_SHORTER_STAYS) word[LIFETIME] = most(word[LIFETIME], lifetime);
        return;
    }
    word[EPOCH] = mistake == PLANTED_TURNS_FROM_1 ? word[EPOCH] + 1 : most(word[EPOCH] + 1, now);
    word[EPOCH_END] = now + lifetime;
    word[LIFETIME] = lifetime;
}

static void lease_take(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t want,
                       uint64_t lifetime, struct micro_lease *lease)
{
    const struct micro_rule *rule = &plan->rule[0];
    uint64_t *word = prepare(plan, state, now, true);
    const uint64_t permits = least(want, subtract_to_zero(rule->top, word[LEVEL]) / rule->permit / PART);
    *lease = (struct micro_lease){0};
    if (permits >= LEAST) {
        enter_turn(word, now, lifetime);
        if (mistake != PLANTED_NO_OUT) word[NEW] += permits;
        word[LEVEL] += permits * rule->permit;
        *lease = (struct micro_lease){.permits = permits, .id = word[EPOCH], .changed = true};
    }
    lease->idle = idle(rule, word);
}

static void lease_return(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t epoch,
                         uint64_t permits, uint64_t unused, struct micro_lease *lease)
{
    const struct micro_rule *rule = &plan->rule[0];
    const bool early =
        mistake != PLANTED_RETURN_NO_HOLD && mistake != PLANTED_RETURN_HOLDS_OWN && mistake != PLANTED_RETURN_OUT_FIRST;
    uint64_t *word = prepare(plan, state, now, early);
    uint64_t *out = epoch + 1 == word[EPOCH] ? &word[OLD] : &word[NEW];
    const bool known = epoch == word[EPOCH] || epoch + 1 == word[EPOCH] || mistake == PLANTED_RETURN_ANY;
    *lease = (struct micro_lease){.changed = known && permits <= *out, .id = epoch};
    if (lease->changed) {
        if (mistake == PLANTED_RETURN_HOLDS_OWN) word[LEVEL] = most(word[LEVEL], permits * rule->permit);
        *out -= permits;
        if (mistake == PLANTED_RETURN_OUT_FIRST) drain(rule, word, now, true);
        word[LEVEL] = subtract_to_zero(word[LEVEL], unused * rule->permit);
    }
    lease->idle = idle(rule, word);
}

struct scene_engine planted_nodes(int planted)
{
    mistake = planted;
    return (struct scene_engine){take, lease_take, lease_return};
}
