/* SPDX-License-Identifier: MIT
   Changing the limit while the limiter is in use.

   A change closes the homes, takes the waiters out, the last one first, carries over what is left, lets the waiters in
   again, the first one first, and opens a home.  So usage is carried over without the calls that have not started, each
   of these gets the start that the new limit gives it, and no call has to find out later what became of its slot.  A
   start that weir_reserve has promised stays promised, and what it uses stays used. */
#include <string.h>

#include "api/error.h"
#include "api/limiter.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"
#include "core/algorithm/sliding_log.h"

static const char PAUSE[] = "pause";

/* The time until the next try if a clock could not be set again. */
enum { RENEW_AGAIN_NS = 1000000000 };

static bool carries(const struct plan *from, const struct plan *to)
{
    bool same = from->count == to->count;
    const bool stateless = from->count == 1 && to->count == 1 &&
                           (algorithm_of(&from->rule[0])->words == 0 || algorithm_of(&to->rule[0])->words == 0);
    for (uint64_t i = 0; same && i < to->count; i++) same = from->rule[i].algorithm == to->rule[i].algorithm;
    return same || stateless;
}

/* The slowest of several limits determines the spacing, the smallest the room. */
static void note_spacing(weir_limiter *limiter, const struct plan *plan)
{
    uint64_t spacing_ns = 0, room_ns = UINT64_MAX;
    for (uint64_t i = 0; i < plan->count; i++) {
        if (algorithm_of(&plan->rule[i])->words == 0) continue; /* all calls pass, or none */
        const uint64_t each_ns = limit_spacing_ns(&plan->limit[i]);
        const uint64_t at_once = facts_at_once(&plan->limit[i], &plan->rule[i]);
        spacing_ns = most(spacing_ns, each_ns);
        room_ns = least(room_ns, multiply_saturating(at_once, each_ns));
    }
    atom_store(&limiter->spacing_ns, spacing_ns);
    atom_store(&limiter->room_ns, room_ns);
}

static int check_carry(const weir_limiter *limiter, const struct plan *to, weir_carry carry, weir_error *error)
{
    const struct plan *from = plan_inside_const(&limiter->plan);
    if (carry == WEIR_RESET) return 0;
    if (!carries(from, to)) {
        return api_fail(error, WEIR_EUNSUPPORTED,
                        "usage cannot be carried over to another algorithm; change with WEIR_RESET");
    }
    const bool logs = (limiter->home == HOME_LOG) != (home_of(to) == HOME_LOG);
    if (from->rule[0].algorithm == to->rule[0].algorithm && logs) {
        return api_fail(
            error, WEIR_EUNSUPPORTED,
            "usage cannot be carried over to or from a log with gap= or count-refused; change with WEIR_RESET");
    }
    return 0;
}

/* The values that calls read beside the state. */
static void note_plan(weir_limiter *limiter, const struct plan *plan, const struct rule rule[], enum home home)
{
    const uint64_t quarter = UINT64_C(1) << 61;
    uint64_t earliest = UINT64_MAX;
    bool counts = false, schedule = false;
    for (uint64_t i = 0; i < plan->count; i++) {
        schedule = schedule || algorithm_of(&rule[i])->lateness != NULL;
        earliest = least(earliest, ns_ceil(&rule[i], quarter));
        counts = counts || rule[i].flags & RULE_COUNTS_REFUSED;
    }
    if (home == HOME_LOG) earliest = log_ends_ns(limiter_log(limiter));
    if (plan_has_profile(plan)) earliest = UINT64_MAX; /* set again it would begin anew */
    atom_store(&limiter->ends, plan_has_profile(plan));
    atom_store(&limiter->clock_ends_ns, earliest);
    atom_store(&limiter->counts_refused, counts);
    atom_store(&limiter->has_schedule, schedule);
    atom_store(&limiter->holds, (uint64_t)decide_holder(plan_rules(plan)) + 1);
    const bool knows = plan->count == 1 && algorithm_of(&rule[0])->knows != NULL;
    atom_store(&limiter->way, knows ? (uint64_t)WAY_UNREAD : (uint64_t)limiter->clock);
    note_spacing(limiter, plan);
    if (plan != plan_inside_const(&limiter->plan)) *plan_inside(&limiter->plan) = *plan;
}

static void end_pause(weir_limiter *limiter, uint64_t now_ns, weir_carry carry)
{
    if (limiter_paused(limiter)) atom_add(&limiter->paused_ns, now_ns - limiter_stands_ns(limiter, now_ns));
    if (carry == WEIR_RESET) atom_store(&limiter->begun_ns, 0);
    if (carry == WEIR_RESET) atom_store(&limiter->paused_ns, 0);
    atom_store(&limiter->paused_at_ns, 0);
}

/* A profile begins with the first call, or at the change that brings it. */
static void make_rules(const weir_limiter *limiter, const struct plan *plan, const struct home_room *room,
                       uint64_t now_ns, struct rule rule[])
{
    for (uint64_t i = 0; i < plan->count; i++) {
        rule[i] = plan->rule[i];
        rule[i].generation = limiter->generation + 1;
        rule[i].anchor_ns = now_ns;
        /* A manual clock is its own epoch. */
        const uint64_t unix_ns = limiter->clock == WEIR_CLOCK_MANUAL ? now_ns : host_unix_ns();
        algorithm_align(&rule[i], now_ns, unix_ns);
    }
    if (room->profile == NULL) return;
    profile_pace(room->profile, &rule[0]);
    if (limiter->generation == 0) rule[0].anchor_ns = RULE_NOT_BEGUN;
}

int limiter_change(weir_limiter *limiter, const struct plan *plan, uint64_t now_ns, weir_carry carry, weir_error *error)
{
    struct home_held held;
    struct rule rule[WEIR_LIMITS_MAX];
    const int failed = check_carry(limiter, plan, carry, error);
    if (failed != 0) return failed;
    const struct home_room room = home_make_room(limiter, plan, now_ns);
    if (room.failed) return api_fail(error, WEIR_ENOMEM, "no memory for the state of these limits");
    limiter_close_stock(limiter);
    home_close(limiter, &held);
    queue_lock_all(limiter);
    now_ns = most(now_ns, limiter_now_ns(limiter)); /* a waiter that has left its queue by now has started */
    make_rules(limiter, plan, &room, now_ns, rule);
    /* The timestamps of a log are times, and go on during a pause. */
    const uint64_t stood_ns = held.home == HOME_LOG ? now_ns : limiter_stands_ns(limiter, now_ns);
    struct waiter *last = queue_collect(limiter, held.home, stood_ns);
    struct waiter *first = queue_take_out(&held, last, stood_ns);
    home_carry(limiter, &held, rule, (int)plan->count, &room, stood_ns, now_ns, carry);
    queue_let_in(limiter, &held, first, now_ns);
    limiter->generation++;
    note_plan(limiter, plan, rule, held.home);
    end_pause(limiter, now_ns, carry);
    queue_unlock_all(limiter);
    home_open(limiter, &held);
    limiter_open_stock(limiter);
    return 0;
}

/* Sets the same limit again. */
void limiter_renew(weir_limiter *limiter, uint64_t now_ns)
{
    if (now_ns < atom_load(&limiter->clock_ends_ns) || limiter_paused(limiter)) return;
    host_lock(&limiter->mutex);
    if (now_ns >= atom_load(&limiter->clock_ends_ns) && !limiter_paused(limiter)) {
        const int failed = limiter_change(limiter, plan_inside_const(&limiter->plan), now_ns, WEIR_KEEP, NULL);
        /* Without memory the old clock goes on: it lasts at least twice as long. */
        if (failed != 0) atom_store(&limiter->clock_ends_ns, add_saturating(now_ns, RENEW_AGAIN_NS));
        else limiter_wake(limiter);
    }
    host_unlock(&limiter->mutex);
}

bool limiter_is_pause(const char *text)
{
    text += strspn(text, " \t");
    if (strncmp(text, PAUSE, sizeof PAUSE - 1) != 0) return false;
    text += sizeof PAUSE - 1;
    return text[strspn(text, " \t")] == '\0';
}

/* Calls take the slow path, where they see the pause; waiting threads sleep on. */
static void pause_limiter(weir_limiter *limiter)
{
    host_lock(&limiter->mutex);
    const uint64_t now_ns = most(limiter_now_ns(limiter), 1);
    if (!limiter_paused(limiter)) atom_store(&limiter->paused_at_ns, now_ns);
    atom_store(&limiter->clock_ends_ns, 0);
    word_slow_down(&limiter->word);
    atom_store(&limiter->way, (uint64_t)limiter->clock);
    limiter_close_stock(limiter);
    limiter_open_stock(limiter);
    host_unlock(&limiter->mutex);
    limiter_wake(limiter);
}

int weir_set_limit(weir_limiter *limiter, const char *limits, weir_carry carry, weir_error *error)
{
    weir_plan plan;
    if (limits != NULL && limiter_is_pause(limits)) {
        pause_limiter(limiter);
        return 0;
    }
    int failed = weir_plan_parse(&plan, limits, limiter->use, error);
    if (failed != 0) return failed;
    host_lock(&limiter->mutex);
    failed = limiter_change(limiter, plan_inside_const(&plan), limiter_now_ns(limiter), carry, error);
    host_unlock(&limiter->mutex);
    if (failed == 0) limiter_wake(limiter);
    return failed;
}

size_t weir_limit_text(weir_limiter *limiter, char *out, size_t size)
{
    host_lock(&limiter->mutex);
    struct writer writer = {out, size, 0};
    if (limiter_paused(limiter)) write_text(&writer, PAUSE);
    else writer.length = weir_plan_text(&limiter->plan, out, size);
    host_unlock(&limiter->mutex);
    return writer.length;
}

struct filling {
    weir_limiter *limiter;
    const weir_decision *decision;
    uint64_t now_ns, full_ns;
};

/* The end of the last slot that was given, for a decision from before a change, of which nothing else is known. */
static uint64_t last_end(const struct cell_content *content, int limit, uint64_t now_ns)
{
    const struct rules rules = {content->rule, content->count};
    const struct rule *rule = &content->rule[limit];
    const uint64_t *state = content->state + decide_words_before(rules, limit);
    return algorithm_at(rule, algorithm_of(rule), state, tick_at(rule, now_ns)).end;
}

static void fill_full_ns(const struct cell_content *content, void *context)
{
    struct filling *filling = context;
    weir_decision decision = *filling->decision;
    const int limit = (int)least(decision.limit, WEIR_LIMITS_MAX);
    if (limit >= content->count || algorithm_of(&content->rule[limit])->words == 0) return;
    const struct rule *rule = &content->rule[limit];
    const bool still = (uint32_t)decision.reserved == filling->limiter->generation;
    const uint64_t then_ns = still ? subtract_to_zero(decision.start.ns, decision.delay_ns) : filling->now_ns;
    if (filling->limiter->home == HOME_LOG) {
        uint64_t last_ns;
        const bool known = log_last(limiter_log(filling->limiter), &last_ns);
        if (known) filling->full_ns = subtract_to_zero(add_saturating(last_ns, sliding_log_span_ns(rule)), then_ns);
        return;
    }
    if (!still) decision.end = last_end(content, limit, then_ns);
    const uint64_t full = algorithm_full(rule, algorithm_of(rule), &decision, tick_at(rule, then_ns));
    const uint64_t retry_ns = decision_retry_ns(&decision);
    filling->full_ns = subtract_to_zero(ns_ceil(rule, full), then_ns);
    if (still && retry_ns != WEIR_FOREVER) filling->full_ns = most(filling->full_ns, retry_ns); /* not sooner */
}

uint64_t weir_full_ns(weir_limiter *limiter, const weir_decision *decision)
{
    struct filling filling = {limiter, decision, limiter_now_ns(limiter), 0};
    host_lock(&limiter->mutex);
    home_look(limiter, fill_full_ns, &filling);
    host_unlock(&limiter->mutex);
    return filling.full_ns;
}
