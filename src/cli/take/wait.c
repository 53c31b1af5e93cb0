/* SPDX-License-Identifier: MIT
   Takes now, or waits for it.

   What can be taken ahead is, so that those who wait start in the order in which they came.  Of a window nothing can
   be, nor where refusals are counted, because asking would be one: then it is asked again when it should pass.

   An engine has no wait queue, either.  A slot that is held is free when it is released, which nobody knows before: an
   engine is asked again and again; in a file the call waits for the release, and looks up for a signal now and then.

   Never returns before the start; if the wait is interrupted, what was taken is given back. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "api/table/keyed.h"
#include "cli/take/take.h"
#include "core/num.h"
#include "host/sleep.h"
#include "plan/plan.h"

/* How often an engine is asked for a slot, and how long a signal may have to wait. */
enum { ASK_ENGINE_AGAIN_NS = 250000000, SIGNAL_LOOK_NS = 100000000 };

void take_ending_signals(sigset_t *set)
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

static void ask(struct take *take, bool peek, uint64_t wait_max_ns)
{
    take->taken_ns = weir_now().ns;
    if (take->engine != NULL) {
        take_engine_ask(take, peek);
        return;
    }
    const struct ask one = {.now_ns = keyed_now_ns(take->table),
                            .wait_max_ns = wait_max_ns,
                            .each = take->each,
                            .end = take->end,
                            .peek = peek};
    take->decision = keyed_ask(take->table, &take->plan, take->key, &one);
}

void take_give_back(struct take *take)
{
    static const uint64_t nothing[WEIR_LIMITS_MAX];
    if (take->engine != NULL) take_engine_give_back(take);
    else if (take->table != NULL)
        weir_table_settle_each(take->table, &take->plan, take->key, &take->decision, take->each, nothing, take->end);
}

/* Asks without leaving a trace, unless it passes. */
static void try_now(struct take *take)
{
    ask(take, true, 0);
    if (weir_allowed(take->decision)) ask(take, false, 0);
}

/* Refused because all slots are held, for so long at most. */
static bool waits_for_slot(const struct take *take)
{
    return take->lease_ns != 0 &&
           plan_inside_const(&take->plan)->limit[take->decision.limit].algorithm == ALGORITHM_CONCURRENT;
}

/* Waits for slots in a file; true when it is over.  *number as sleep_until. */
static bool wait_for_release(struct take *take, uint64_t left_ns, const sigset_t *endings, int *number)
{
    take->taken_ns = weir_now().ns;
    take->decision = weir_table_take_each_wait(take->table, &take->plan, take->key, take->each, take->end,
                                               least(left_ns, SIGNAL_LOOK_NS));
    *number = already_here(endings);
    return *number != 0 || take->decision.verdict != WEIR_DENY;
}

/* Takes it ahead, and sleeps until then; *number as sleep_until.  False: nothing was taken. */
static bool reserve(struct take *take, uint64_t left_ns, const sigset_t *endings, int *number)
{
    const weir_decision refused = take->decision;
    ask(take, false, left_ns);
    if (weir_allowed(take->decision)) {
        *number = sleep_until(endings, take->decision.start.ns);
        return true;
    }
    const weir_decision ahead = take->decision;
    take->decision = refused;
    /* With no end of the wait it is enough that it can be taken ahead by then. */
    if (left_ns == WEIR_FOREVER && ahead.verdict == WEIR_DENY) take->decision.retry_ns = ahead.retry_ns;
    return false;
}

static int wait_for_it(struct take *take, const sigset_t *endings)
{
    const bool counted = counts_refused(plan_inside_const(&take->plan));
    const bool ahead = !counted && take->engine == NULL && take->lease_ns == 0;
    const uint64_t until_ns = add_saturating(take->asked_ns, take->wait_ns);
    for (int number = 0;;) {
        const uint64_t now_ns = weir_now().ns;
        const uint64_t left_ns = take->wait_ns == WEIR_FOREVER ? WEIR_FOREVER : subtract_to_zero(until_ns, now_ns);
        try_now(take);
        if (take->decision.verdict != WEIR_DENY) return 0; /* lost too */
        take->waited = true;
        const bool slot = waits_for_slot(take);
        if (slot ? left_ns == 0 : take->decision.retry_ns > left_ns) {
            if (counted) ask(take, false, 0); /* refused for good: what counts refusals counts this one */
            return 0;
        }
        if (ahead && reserve(take, left_ns, endings, &number)) return number;
        if (slot && take->engine == NULL) {
            if (wait_for_release(take, left_ns, endings, &number)) return number;
            continue;
        }
        const uint64_t sleep_ns = slot ? least(take->decision.retry_ns, ASK_ENGINE_AGAIN_NS) : take->decision.retry_ns;
        number = sleep_until(endings, add_saturating(now_ns, least(sleep_ns, left_ns)));
        if (number != 0) return number;
    }
}

/* A limit without a state answers every time the same. */
static weir_decision decide_stateless(const struct take *take)
{
    weir_state none = {{0, 0}};
    return weir_decide(&take->plan, &none, (weir_instant){take->asked_ns}, take->each[0]);
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
    else if (take->peek || take->wait_ns == 0) ask(take, take->peek, 0);
    if (!kept || take->peek || take->wait_ns == 0) {
        note_stuck(take);
        return 0;
    }
    sigset_t endings, before;
    take_ending_signals(&endings);
    pthread_sigmask(SIG_BLOCK, &endings, &before);
    int number = wait_for_it(take, &endings);
    if (number == 0) note_stuck(take);
    if (number == 0) number = already_here(&endings);
    if (number != 0 && weir_allowed(take->decision)) take_give_back(take);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return number;
}
