/* SPDX-License-Identifier: MIT
   limiter.c - one limit, or a list of them, for all threads of a process.

   May touch: the limiter, host.  Promises: asking takes no lock but a cell's, allocates nothing and writes nothing
   shared but the state itself.  Leaves to others: waiting and changing (waiting.c), arithmetic (core). */
#include "api/limiter.h"

#include <string.h>

#include "core/num.h"

enum { TICK_NS = 1000000, TICK_NS_MIN = 1000 };

/* ---- opening ---- */

static int fail(weir_error *error, int code, const char *message)
{
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = code};
        write_text(&writer, message);
    }
    return code;
}

static int check_options(const weir_options *options, weir_error *error)
{
    if (options->use != WEIR_ADMIT && options->use != WEIR_PACE) {
        return fail(error, WEIR_EINVAL, "options.use: expected WEIR_ADMIT or WEIR_PACE");
    }
    if ((unsigned)options->clock > WEIR_CLOCK_MANUAL) {
        return fail(error, WEIR_EINVAL, "options.clock: expected one of the four WEIR_CLOCK_*");
    }
    if (options->tick_ns != 0 && options->tick_ns < TICK_NS_MIN) {
        return fail(error, WEIR_EINVAL, "options.tick_ns: expected 1000 (a microsecond) or more, or 0 for 1 ms");
    }
    return 0;
}

/* A caller built with another version knows a shorter or a longer struct; what he does not say is its default. */
static weir_options options_of(const weir_options *options)
{
    weir_options known = WEIR_OPTIONS;
    if (options != NULL) memcpy(&known, options, least(options->size, sizeof known));
    known.size = sizeof known;
    return known;
}

static int start_clock(weir_limiter *limiter, const weir_options *options, weir_error *error)
{
    if (options->clock != WEIR_CLOCK_TICKER) return 0;
    if (host_ticker_start(&limiter->ticker, options->tick_ns != 0 ? options->tick_ns : TICK_NS) == 0) return 0;
    return fail(error, WEIR_ESYSTEM, "the ticker's thread could not be started");
}

int weir_open(weir_limiter **owned, const char *limits, const weir_options *options, weir_error *error)
{
    const weir_options chosen = options_of(options);
    weir_plan plan;
    *owned = NULL;
    int failed = check_options(&chosen, error);
    if (failed == 0) failed = weir_plan_parse(&plan, limits, chosen.use, error);
    if (failed != 0) return failed;
    weir_limiter *limiter = host_allocate(sizeof *limiter);
    if (limiter == NULL) return fail(error, WEIR_ENOMEM, "no memory for a limiter");
    limiter->clock = chosen.clock;
    limiter->use = chosen.use;
    limiter->grain_ns = chosen.grain_ns;
    limiter->spin_ns = chosen.spin_ns;
    failed = start_clock(limiter, &chosen, error);
    if (failed != 0) {
        host_free(limiter);
        return failed;
    }
    host_mutex_open(&limiter->mutex);
    word_open(&limiter->word, &(struct rule){.algorithm = ALGORITHM_ELSEWHERE});
    cell_open(&limiter->cell, NULL, 0, host_yield);
    host_lock(&limiter->mutex);
    limiter_change(limiter, plan_inside_const(&plan), limiter_now_ns(limiter), WEIR_RESET, NULL);
    host_unlock(&limiter->mutex);
    *owned = limiter;
    return 0;
}

void weir_close(weir_limiter *limiter)
{
    if (limiter == NULL) return;
    host_ticker_stop(limiter->ticker);
    host_mutex_close(&limiter->mutex);
    host_free(limiter);
}

void weir_stop(weir_limiter *limiter)
{
    atom_store_release(&limiter->stopped, 1);
    host_event_signal(&limiter->event);
}

bool limiter_stopped(const weir_limiter *limiter)
{
    return atom_load(&limiter->stopped) != 0;
}

/* ---- time ---- */

uint64_t limiter_now_ns(const weir_limiter *limiter)
{
    switch (limiter->clock) {
    case WEIR_CLOCK_COARSE:
        return host_now_coarse_ns();
    case WEIR_CLOCK_TICKER:
        return host_ticker_now_ns(limiter->ticker);
    case WEIR_CLOCK_MANUAL:
        return atom_load(&limiter->manual_ns);
    default:
        return host_now_ns();
    }
}

void weir_manual_set(weir_limiter *limiter, weir_instant now)
{
    if (limiter->clock != WEIR_CLOCK_MANUAL) return;
    atom_store(&limiter->manual_ns, now.ns);
    host_event_signal(&limiter->event);
}

weir_instant weir_now(void)
{
    return (weir_instant){host_now_ns()};
}

void weir_sleep_until(weir_instant when)
{
    host_sleep_until(when.ns);
}

const char *weir_version(void)
{
    return WEIR_VERSION;
}

/* ---- asking ---- */

static void add(struct atom *counter, bool mine, uint64_t more)
{
    if (more == 0) return;
    if (mine) atom_store(counter, atom_load(counter) + more);
    else atom_add(counter, more);
}

void limiter_count(weir_limiter *limiter, const weir_decision *decision)
{
    const unsigned slot = host_slot();
    struct tally *tally = &limiter->tally[slot];
    const bool mine = slot < HOST_SLOTS;
    add(&tally->calls, mine, 1);
    if (decision->verdict == WEIR_ALLOW) {
        add(&tally->granted, mine, decision->charged);
        add(&tally->delayed, mine, decision->delay_ns != 0);
        add(&tally->waiting_ns, mine, decision->delay_ns);
    } else {
        add(&tally->denied, mine, 1);
    }
}

static weir_decision stopped(uint64_t now_ns)
{
    return (weir_decision){.verdict = WEIR_STOPPED, .start = {now_ns}};
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

void limiter_ask(weir_limiter *limiter, const struct ask *ask, weir_decision *decision)
{
    if (limiter_stopped(limiter)) {
        *decision = stopped(ask->now_ns);
        return;
    }
    /* In neither of the two: a change is under way. */
    while (!word_decide(&limiter->word, ask, decision) && !cell_decide(&limiter->cell, ask, decision)) host_yield();
}

static weir_decision ask_and_count(weir_limiter *limiter, const struct ask *ask)
{
    weir_decision decision;
    limiter_renew(limiter, ask->now_ns);
    limiter_ask(limiter, ask, &decision);
    limiter_count(limiter, &decision);
    return decision;
}

weir_decision weir_take_at(weir_limiter *limiter, weir_instant now, uint64_t cost)
{
    return ask_and_count(limiter, &(struct ask){.now_ns = now.ns, .cost = cost});
}

weir_decision weir_take(weir_limiter *limiter, uint64_t cost)
{
    return weir_take_at(limiter, (weir_instant){limiter_now_ns(limiter)}, cost);
}

weir_decision weir_take_some(weir_limiter *limiter, uint64_t cost_max)
{
    return ask_and_count(limiter, &(struct ask){.now_ns = limiter_now_ns(limiter), .cost = cost_max, .some = true});
}

weir_decision weir_take_each(weir_limiter *limiter, const uint64_t cost[], uint64_t end[])
{
    return ask_and_count(limiter, &(struct ask){.now_ns = limiter_now_ns(limiter), .each = cost, .end = end});
}

weir_decision weir_reserve(weir_limiter *limiter, uint64_t cost, uint64_t delay_max_ns)
{
    const struct ask ask = {.now_ns = limiter_now_ns(limiter), .wait_max_ns = delay_max_ns, .cost = cost};
    return ask_and_count(limiter, &ask);
}

weir_decision weir_peek(weir_limiter *limiter, uint64_t cost)
{
    const struct ask ask = {.now_ns = limiter_now_ns(limiter), .cost = cost};
    weir_decision decision;
    if (limiter_stopped(limiter)) return stopped(ask.now_ns);
    limiter_renew(limiter, ask.now_ns);
    while (!word_peek(&limiter->word, &ask, &decision) && !cell_peek(&limiter->cell, &ask, &decision)) host_yield();
    decision.charged = 0;
    return decision;
}

/* ---- settling ---- */

static void settle_counted(weir_limiter *limiter, weir_decision *decision, const uint64_t cost[],
                           const uint64_t actual[], const uint64_t end[])
{
    const uint64_t now_ns = limiter_now_ns(limiter);
    if (decision->verdict != WEIR_ALLOW || decision->reserved & DECISION_SETTLED) return;
    weir_decision of_word = *decision;
    of_word.charged = cost[0];
    while (!word_settle(&limiter->word, now_ns, &of_word, actual[0]) &&
           !cell_settle(&limiter->cell, now_ns, decision, cost, actual, end)) {
        host_yield();
    }
    decision->charged = 0;
    decision->reserved |= DECISION_SETTLED;
}

void weir_settle_each(weir_limiter *limiter, weir_decision *decision, const uint64_t cost[], const uint64_t actual[],
                      const uint64_t end[])
{
    settle_counted(limiter, decision, cost, actual, end);
}

void weir_settle(weir_limiter *limiter, weir_decision *decision, uint64_t actual)
{
    uint64_t charged[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX];
    if (decision->reserved & DECISION_EACH) return;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        charged[i] = decision->charged;
        used[i] = actual;
    }
    settle_counted(limiter, decision, charged, used, NULL);
}

void weir_cancel(weir_limiter *limiter, weir_decision *decision)
{
    weir_settle(limiter, decision, 0);
}
