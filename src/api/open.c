/* SPDX-License-Identifier: MIT
   Opening, stopping and closing a limiter, and the time. */
#include <string.h>

#include "api/error.h"
#include "api/limiter.h"
#include "api/sized.h"
#include "core/clock.h"
#include "core/num.h"

/* A shorter sleep costs more than it lasts; the schedule makes up for the lateness. */
enum { TICK_NS = 1000000, TICK_NS_MIN = 1000 };

static int check_limiter_options(const weir_options *options, weir_error *error)
{
    if (options->use != WEIR_ADMIT && options->use != WEIR_PACE) {
        return api_fail(error, WEIR_EINVAL, "options.use: expected WEIR_ADMIT or WEIR_PACE");
    }
    if ((unsigned)options->clock > WEIR_CLOCK_TSC) {
        return api_fail(error, WEIR_EINVAL, "options.clock: expected one of the five WEIR_CLOCK_*");
    }
    if (options->tick_ns != 0 && options->tick_ns < TICK_NS_MIN) {
        return api_fail(error, WEIR_EINVAL, "options.tick_ns: expected 1000 (a microsecond) or more, or 0 for 1 ms");
    }
    return 0;
}

static int start_clock(weir_limiter *limiter, const weir_options *options, weir_error *error)
{
    if (options->clock != WEIR_CLOCK_TICKER) return 0;
    if (host_ticker_start(&limiter->ticker, options->tick_ns != 0 ? options->tick_ns : TICK_NS) == 0) return 0;
    return api_fail(error, WEIR_ESYSTEM, "the ticker's thread could not be started");
}

int weir_open(weir_limiter **owned, const char *limits, const weir_options *options, weir_error *error)
{
    weir_options chosen = WEIR_OPTIONS;
    weir_plan plan;
    *owned = NULL;
    int failed = api_read_options(&chosen, sizeof chosen, options, "WEIR_OPTIONS", error);
    if (failed == 0) failed = check_limiter_options(&chosen, error);
    if (failed == 0) failed = api_prepare(error);
    if (failed == 0) failed = weir_plan_parse(&plan, limits, chosen.use, error);
    if (failed != 0) return failed;
    weir_limiter *limiter = host_allocate(sizeof *limiter);
    if (limiter == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for a limiter");
    limiter->clock = chosen.clock;
    limiter->use = chosen.use;
    limiter->ahead_ns = most(chosen.min_sleep_ns, AHEAD_NS);
    limiter->min_sleep_ns = chosen.min_sleep_ns == 0 ? MIN_SLEEP_USUAL_NS : chosen.min_sleep_ns;
    limiter->naps_least = chosen.min_sleep_ns == 0;
    limiter->spin_ns = chosen.spin_ns;
    limiter->spin_processors = chosen.spin_processors != 0 ? chosen.spin_processors : most(host_processors() / 2, 1);
    failed = start_clock(limiter, &chosen, error);
    if (failed != 0) {
        host_free(limiter);
        return failed;
    }
    host_mutex_open(&limiter->mutex);
    word_make(&limiter->word);
    cell_open(&limiter->cell, &limiter->word.out, host_yield);
    limiter->home = HOME_CELL; /* which is empty */
    host_lock(&limiter->mutex);
    failed = limiter_change(limiter, plan_inside_const(&plan), limiter_now_ns(limiter), WEIR_RESET, error);
    host_unlock(&limiter->mutex);
    if (failed == 0) {
        limiter_watch_forks(limiter);
        *owned = limiter;
    } else {
        weir_close(limiter);
    }
    return failed;
}

void weir_close(weir_limiter *limiter)
{
    if (limiter == NULL) return;
    struct cell_content content;
    if (limiter->fork_watch.hold != NULL) host_fork_watch_close(&limiter->fork_watch);
    limiter_leave_leases(limiter);
    host_ticker_stop(limiter->ticker);
    cell_close(&limiter->cell, &content);
    host_free(content.state);
    for (struct log *log = limiter_log(limiter), *older; log != NULL; log = older) {
        older = log->older;
        host_free(log);
    }
    limiter_free_latency(limiter);
    host_mutex_close(&limiter->mutex);
    host_free(limiter);
}

void weir_stop(weir_limiter *limiter)
{
    atom_store_release(&limiter->stopped, 1);
    atom_fence_full(); /* a change that does not see the stop opens the word before it is slowed down, see home_open */
    word_slow_down(&limiter->word);
    limiter_wake(limiter);
}

void weir_manual_set(weir_limiter *limiter, weir_instant now)
{
    if (limiter->clock != WEIR_CLOCK_MANUAL) return;
    atom_store(&limiter->manual_ns, now.ns);
    limiter_wake(limiter);
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
