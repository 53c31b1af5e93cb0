/* SPDX-License-Identifier: MIT
   change.c - another limit while the limiter is in use, and what that does to those who wait.

   A waiter has taken his permits already and knows where his slot ends.  He stands in a line, so that whoever changes
   the limit can move every slot in one step, under the mutex that is also around every reservation with a delay: no
   slot is given between the change and the moving.

   May touch: the limiter.  Promises: a change reaches every waiter; order is kept.  Leaves to others: where the slots
   are (share), waking (wait.c sleeps on the limiter's event). */
#include "api/limiter.h"
#include "core/clock.h"
#include "core/num.h"

void limiter_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context), void *context)
{
    struct cell_content of_word = {.count = 1};
    uint64_t value;
    word_read(&limiter->word, &of_word.rule[0], &value);
    of_word.state = &value;
    if (of_word.rule[0].algorithm != ALGORITHM_ELSEWHERE) look(&of_word, context);
    else cell_look(&limiter->cell, look, context);
}

static uint64_t start_of(const struct cell_content *content, int limit, uint64_t end, uint64_t cost)
{
    const struct rules rules = {content->rule, content->count};
    const struct rule *rule = &content->rule[limit];
    const struct algorithm *algorithm = algorithm_of(rule);
    if (algorithm->words == 0) return 0;
    const uint64_t *state = content->state + words_before(rules, limit);
    return ns_ceil(rule, algorithm->start_of(rule, state, end, ticks_of(rule, cost)));
}

/* What a change has left to do: those who wait are moved, and the end of the new clock is noted. */
struct moving {
    weir_limiter *limiter;
    const struct change *change;
};

static void move_waiters(const struct moving *moving, const struct cell_content *content)
{
    weir_limiter *limiter = moving->limiter;
    const struct change *change = moving->change;
    if (change->count == 0) return;
    for (struct waiter *waiter = limiter->first; waiter != NULL; waiter = waiter->after) {
        if ((uint32_t)waiter->decision.reserved != limiter->generation - 1) continue; /* kept its start before */
        uint64_t start_ns = 0;
        for (int i = 0; i < change->count; i++) {
            waiter->end[i] = change_end(change, i, &content->rule[i], waiter->end[i]);
            start_ns = most(start_ns, start_of(content, i, waiter->end[i], waiter->cost[i]));
        }
        waiter->decision.start.ns = start_ns;
        waiter->decision.end = waiter->end[waiter->decision.limit];
        waiter->decision.reserved = limiter->generation;
    }
}

static void after_change(const struct cell_content *content, void *context)
{
    const struct moving *moving = context;
    const uint64_t quarter = UINT64_C(1) << 61;
    uint64_t earliest = UINT64_MAX;
    bool counts = false;
    for (int i = 0; i < content->count; i++) {
        earliest = least(earliest, ns_ceil(&content->rule[i], quarter));
        counts = counts || algorithm_of(&content->rule[i])->refused != NULL;
    }
    atom_store(&moving->limiter->clock_ends_ns, earliest);
    atom_store(&moving->limiter->counts_refused, counts);
    move_waiters(moving, content);
}

/* One limit whose state is a word, or nothing at all. */
static bool fits_word(const struct plan *plan)
{
    const struct algorithm *algorithm = algorithm_of(&plan->rule[0]);
    return plan->count == 1 && state_words(&plan->rule[0], algorithm) <= 1 && algorithm->refused == NULL;
}

/* Only the rules in force. */
static void copy_rules(const struct cell_content *content, void *context)
{
    *(struct cell_content *)context = *content;
}

static bool carries(const struct cell_content *content, const struct plan *plan)
{
    bool same = (uint64_t)content->count == plan->count;
    bool stateless = plan->count == 1 && content->count == 1 &&
                     (algorithm_of(&plan->rule[0])->words == 0 || algorithm_of(&content->rule[0])->words == 0);
    for (int i = 0; same && i < content->count; i++) same = content->rule[i].algorithm == plan->rule[i].algorithm;
    return same || stateless;
}

/* Whoever finds neither word nor cell live asks again, so the new home opens only after the old one has closed. */
static void move_over(weir_limiter *limiter, struct rule rule[], int count, uint64_t *state, uint64_t now_ns,
                      weir_carry carry, struct change *change)
{
    const bool to_word = state == NULL;
    struct rule elsewhere = {.algorithm = ALGORITHM_ELSEWHERE};
    struct change unused;
    struct rule in_force;
    uint64_t value;
    word_read(&limiter->word, &in_force, &value);
    const bool from_word = in_force.algorithm != ALGORITHM_ELSEWHERE;
    if (from_word && !to_word) word_change(&limiter->word, &elsewhere, now_ns, WEIR_RESET, &unused, &value);
    if (!from_word && to_word) host_free(cell_change(&limiter->cell, NULL, 0, NULL, now_ns, WEIR_RESET, &unused));
    if (to_word) word_change(&limiter->word, &rule[0], now_ns, carry, change, &value);
    else host_free(cell_change(&limiter->cell, rule, count, state, now_ns, carry, change));
}

static int refuse(weir_error *error, int code, const char *message)
{
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = code};
        write_text(&writer, message);
    }
    return code;
}

int limiter_change(weir_limiter *limiter, const struct plan *plan, uint64_t now_ns, weir_carry carry, weir_error *error)
{
    struct cell_content content;
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t *state = NULL;
    limiter_look(limiter, copy_rules, &content);
    if (carry != WEIR_RESET && !carries(&content, plan)) {
        return refuse(error, WEIR_EUNSUPPORTED,
                      "what is used cannot be carried to other algorithms; change with WEIR_RESET");
    }
    if (!fits_word(plan)) {
        state = host_allocate(words_before(plan_rules(plan), (int)plan->count) * sizeof *state);
        if (state == NULL) return refuse(error, WEIR_ENOMEM, "no memory for the state of these limits");
    }
    limiter->generation++;
    for (uint64_t i = 0; i < plan->count; i++) {
        rule[i] = plan->rule[i];
        rule[i].generation = limiter->generation;
        const struct algorithm *algorithm = algorithm_of(&rule[i]);
        /* A manual clock is its own epoch. */
        const uint64_t unix_ns = limiter->clock == WEIR_CLOCK_MANUAL ? now_ns : host_unix_ns();
        if (algorithm->align != NULL) algorithm->align(&rule[i], now_ns, unix_ns);
    }
    struct change *change = &limiter->change[limiter->generation % CHANGES_KEPT];
    move_over(limiter, rule, (int)plan->count, state, now_ns, carry, change);
    atom_store(&limiter->knows, plan->count == 1 && algorithm_of(&rule[0])->knows != NULL);
    if (plan != plan_inside_const(&limiter->plan)) *plan_inside(&limiter->plan) = *plan;
    struct moving moving = {limiter, change};
    limiter_look(limiter, after_change, &moving);
    return 0;
}

/* The same limit once more. */
void limiter_renew(weir_limiter *limiter, uint64_t now_ns)
{
    if (now_ns < atom_load(&limiter->clock_ends_ns)) return;
    host_lock(&limiter->mutex);
    if (now_ns >= atom_load(&limiter->clock_ends_ns)) {
        limiter_change(limiter, plan_inside_const(&limiter->plan), now_ns, WEIR_KEEP, NULL);
    }
    host_unlock(&limiter->mutex);
}

int weir_set_limit(weir_limiter *limiter, const char *limits, weir_carry carry, weir_error *error)
{
    weir_plan plan;
    int failed = weir_plan_parse(&plan, limits, limiter->use, error);
    if (failed != 0) return failed;
    host_lock(&limiter->mutex);
    failed = limiter_change(limiter, plan_inside_const(&plan), limiter_now_ns(limiter), carry, error);
    host_unlock(&limiter->mutex);
    if (failed == 0) host_event_signal(&limiter->event);
    return failed;
}

/* Follows one slot of one limit through the changes since; false when its start stays as it was. */
static bool follow(const weir_limiter *limiter, const struct cell_content *content, uint32_t since, int limit,
                   uint64_t *end)
{
    for (uint32_t made = since + 1; made != limiter->generation + 1; made++) {
        const struct change *change = &limiter->change[made % CHANGES_KEPT];
        const struct change *next = &limiter->change[(made + 1) % CHANGES_KEPT];
        if (limit >= change->count) return false;
        *end =
            change_end(change, limit, made == limiter->generation ? &content->rule[limit] : &next->rule[limit], *end);
    }
    return true;
}

/* The end of the last slot given: for a reservation from before everything that is still known. */
static uint64_t last_end(const struct cell_content *content, int limit, uint64_t now_ns)
{
    const struct rules rules = {content->rule, content->count};
    const struct rule *rule = &content->rule[limit];
    const uint64_t *state = content->state + words_before(rules, limit);
    return algorithm_of(rule)->words == 0 ? 0 : algorithm_of(rule)->mark(rule, state, tick_at(rule, now_ns));
}

struct restarting {
    weir_limiter *limiter;
    weir_decision *decision;
    bool moved;
};

static void restart(const struct cell_content *content, void *context)
{
    struct restarting *restarting = context;
    weir_limiter *limiter = restarting->limiter;
    weir_decision *decision = restarting->decision;
    const uint64_t now_ns = limiter_now_ns(limiter);
    const uint32_t since = (uint32_t)decision->reserved, changes = limiter->generation - since;
    const int limit = (int)decision->limit;
    bool moved = changes != 0 && limit < content->count;
    if (moved && changes > CHANGES_KEPT) decision->end = last_end(content, limit, now_ns);
    else if (moved) moved = follow(limiter, content, since, limit, &decision->end);
    restarting->moved = moved;
    if (!moved) return;
    decision->reserved = (decision->reserved & ~(uint64_t)UINT32_MAX) | limiter->generation;
    decision->start.ns = start_of(content, limit, decision->end, decision->charged);
    decision->delay_ns = subtract_to_zero(decision->start.ns, now_ns);
}

bool weir_restart(weir_limiter *limiter, weir_decision *decision)
{
    struct restarting restarting = {limiter, decision, false};
    if (decision->verdict != WEIR_ALLOW) return false;
    host_lock(&limiter->mutex);
    limiter_look(limiter, restart, &restarting);
    host_unlock(&limiter->mutex);
    return restarting.moved;
}

struct filling {
    const weir_decision *decision;
    uint64_t now_ns, full_ns;
};

static void fill(const struct cell_content *content, void *context)
{
    struct filling *filling = context;
    weir_decision decision = *filling->decision;
    const int limit = (int)decision.limit;
    if (limit >= content->count || algorithm_of(&content->rule[limit])->words == 0) return;
    const struct rule *rule = &content->rule[limit];
    uint64_t then_ns = subtract_to_zero(decision.start.ns, decision.delay_ns);
    if (rule->generation != (uint32_t)decision.reserved) {
        then_ns = filling->now_ns;
        decision.end = last_end(content, limit, then_ns);
    }
    const uint64_t full = algorithm_of(rule)->full(rule, &decision, tick_at(rule, then_ns));
    filling->full_ns = subtract_to_zero(ns_ceil(rule, full), then_ns);
}

uint64_t weir_limiter_full_ns(weir_limiter *limiter, const weir_decision *decision)
{
    struct filling filling = {.decision = decision, .now_ns = limiter_now_ns(limiter)};
    limiter_look(limiter, fill, &filling);
    return filling.full_ns;
}
