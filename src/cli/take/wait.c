/* SPDX-License-Identifier: MIT
   Takes now, or waits for it.

   What can be taken ahead is, so that those who wait start in the order in which they came.  Of a window nothing can
   be, nor where refusals are counted, because asking would be one: then it is asked again when it should pass.

   An engine has no wait queue, either.

   Never returns before the start; if the wait is interrupted, what was taken is given back. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "cli/take/take.h"
#include "core/num.h"
#include "host/sleep.h"
#include "plan/plan.h"

/* What ends a wait; of these none that the parent process has set to be ignored. */
static void ending_signals(sigset_t *set)
{
    static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        struct sigaction action;
        if (sigaction(endings[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(set, endings[i]);
    }
}

/* [with these signals blocked] 0 when the time has come, or the signal that came first. */
static int sleep_until(const sigset_t *endings, uint64_t when_ns)
{
    for (uint64_t now_ns; (now_ns = weir_now().ns) < when_ns;) {
        const uint64_t left_ns = when_ns - now_ns;
        const struct timespec nap = {(time_t)(left_ns / HOST_SECOND_NS), (long)(left_ns % HOST_SECOND_NS)};
        const int number = sigtimedwait(endings, NULL, &nap);
        if (number > 0) return number;
    }
    return 0;
}

static int already_here(const sigset_t *endings)
{
    const int number = sigtimedwait(endings, NULL, &(struct timespec){0, 0});
    return number > 0 ? number : 0;
}

static bool counts_refused(const struct plan *plan)
{
    for (uint64_t i = 0; i < plan->count; i++) {
        if (plan->limit[i].count_refused) return true;
    }
    return false;
}

static void look(struct take *take)
{
    if (take->engine != NULL) take_engine_ask(take, true);
    else take->decision = weir_table_peek(take->table, &take->plan, take->key, -1, take->cost);
}

static void take_one(struct take *take)
{
    if (take->engine != NULL) take_engine_ask(take, false);
    else take->decision = weir_table_take(take->table, &take->plan, take->key, take->cost);
}

void take_give_back(struct take *take)
{
    if (take->engine != NULL) take_engine_give_back(take);
    else if (take->table != NULL) weir_table_settle(take->table, &take->plan, take->key, &take->decision, 0);
}

/* Asks without leaving a trace, unless it passes. */
static void try_now(struct take *take)
{
    look(take);
    if (weir_allowed(take->decision)) take_one(take);
}

static int wait_for_it(struct take *take, const sigset_t *endings)
{
    const bool counted = counts_refused(plan_inside_const(&take->plan));
    const uint64_t until_ns = add_saturating(take->asked_ns, take->wait_ns);
    for (;;) {
        const uint64_t now_ns = weir_now().ns;
        const uint64_t left_ns = take->wait_ns == WEIR_FOREVER ? WEIR_FOREVER : subtract_to_zero(until_ns, now_ns);
        try_now(take);
        if (take->decision.verdict != WEIR_DENY) return 0; /* lost too */
        take->waited = true;
        uint64_t passes_in_ns = take->decision.retry_ns;
        if (passes_in_ns > left_ns) {
            if (counted) take_one(take); /* refused for good: what counts refusals counts this one */
            return 0;
        }
        if (!counted && take->engine == NULL) {
            weir_decision ahead = weir_table_reserve(take->table, &take->plan, take->key, take->cost, left_ns);
            if (weir_allowed(ahead)) {
                take->decision = ahead;
                return sleep_until(endings, ahead.start.ns);
            }
            /* With no end of the wait it is enough that it can be taken ahead by then. */
            if (left_ns == WEIR_FOREVER && ahead.verdict == WEIR_DENY) passes_in_ns = ahead.retry_ns;
        }
        const int number = sleep_until(endings, add_saturating(now_ns, passes_in_ns));
        if (number != 0) return number;
    }
}

/* A limit without a state answers every time the same. */
static weir_decision decide_stateless(const struct take *take)
{
    weir_state none = {{0, 0}};
    return weir_decide(&take->plan, &none, (weir_instant){take->asked_ns}, take->cost);
}

/* Nothing was decided about the key: another process held the lock of its part of the file. */
static void note_stuck(struct take *take)
{
    weir_table_stats stats = {0};
    if (take->table == NULL || take->decision.verdict != WEIR_DENY) return;
    weir_table_read_stats(take->table, &stats, sizeof stats);
    take->lost = stats.stuck != 0;
    if (take->lost)
        trouble("nothing was taken: %s: another process holds its lock and may be stopped; fuser %s shows "
                "which ones have it open",
                take->path, take->path);
}

int take_decide(struct take *take)
{
    take->asked_ns = weir_now().ns;
    const bool kept = take->table != NULL || take->engine != NULL;
    if (!kept) take->decision = decide_stateless(take);
    else if (take->peek) look(take);
    else if (take->wait_ns == 0) take_one(take);
    if (!kept || take->peek || take->wait_ns == 0) {
        note_stuck(take);
        return 0;
    }
    sigset_t endings, before;
    ending_signals(&endings);
    pthread_sigmask(SIG_BLOCK, &endings, &before);
    int number = wait_for_it(take, &endings);
    if (number == 0) note_stuck(take);
    if (number == 0) number = already_here(&endings);
    if (number != 0 && weir_allowed(take->decision)) take_give_back(take);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return number;
}
