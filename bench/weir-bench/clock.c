/* SPDX-License-Identifier: MIT
   What the machine charges for knowing the time and for waking somebody up.

   Clocks are read as a limiter reads the one that it was opened with.  A ticker's floor is a load of shared memory.

   Sleeps are to absolute times, with the timer slack that weir sets: bare ones of 100 us each, and waits of a limiter
   that lets one pass every 100 us.  How often a thread gave up its processor in a wait is counted by the system
   (ru_nvcsw): 1 is one sleep, by one system call.

   Bare sleeps and waits take turns. */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "harness/loops.h"
#include "share/histogram.h"
#include "weir-bench/sections.h"

enum { LOOP_LOAD, LOOP_SYSTEM, LOOP_COARSE, LOOP_TICKER, LOOP_TSC, LOOPS };
enum { SLEEP_BARE, SLEEP_WAIT, SLEEPS };
enum { SLEEP_NS = 100000 };

static const enum bench_work WORKS_OF_CLOCK[LOOPS] = {[LOOP_LOAD] = WORK_LOAD,
                                                      [LOOP_SYSTEM] = WORK_READ_SYSTEM,
                                                      [LOOP_COARSE] = WORK_READ_COARSE,
                                                      [LOOP_TICKER] = WORK_READ_TICKER,
                                                      [LOOP_TSC] = WORK_READ_TSC};

static const char ONE_IN_SLEEP_NS[] = "10000/s algorithm=hybrid";
static const uint64_t RUN_USUAL_NS = 60000000;

#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD RUSAGE_SELF
#endif

struct slept {
    struct histogram late;
    uint64_t sleeps, switches, switches_before;
};

struct sleep {
    weir_limiter *limiter; /* NULL: bare */
    struct slept *slept;
};

struct clocks {
    struct bench_rates rates;
    struct slept slept[SLEEPS]; /* all rounds together */
};

/* ---- sleeps ---- */

static uint64_t switches_of_thread(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nvcsw : 0;
}

static void sleep_once(struct bench_member *member)
{
    const struct sleep *sleep = member->crew->job;
    struct slept *slept = sleep->slept;
    if (member->units++ == 0) slept->switches_before = switches_of_thread();
    uint64_t start_ns = host_now_ns() + SLEEP_NS;
    if (sleep->limiter == NULL) {
        host_sleep_until(start_ns);
    } else {
        const weir_decision decision = weir_take_wait(sleep->limiter, 1, WEIR_FOREVER);
        member->wrong += !weir_allowed(decision);
        start_ns = decision.start.ns;
    }
    const uint64_t now_ns = host_now_ns();
    histogram_add(&slept->late, now_ns > start_ns ? now_ns - start_ns : 0);
}

static void leave(struct bench_member *member)
{
    struct slept *slept = ((const struct sleep *)member->crew->job)->slept;
    slept->sleeps += member->units;
    slept->switches += switches_of_thread() - slept->switches_before;
}

static void measure_sleep(const struct bench_wish *wish, struct slept *slept, bool bare)
{
    struct sleep sleep = {bare ? NULL : bench_open(ONE_IN_SLEEP_NS, WEIR_PACE, WEIR_CLOCK_SYSTEM, 0), slept};
    struct bench_crew crew = {
        .name = "sleep", .threads = 1, .run_ns = wish->run_ns, .job = &sleep, .turn = sleep_once, .leave = leave};
    bench_crew_run(&crew);
    bench_crew_close(&crew);
    weir_close(sleep.limiter);
}

/* ---- both ---- */

void clock_fill_in(struct bench_wish *wish)
{
    bench_fill_in_loops(wish);
    wish->counts = 1;
    wish->threads[0] = 1;
    wish->run_ns = RUN_USUAL_NS;
}

uint64_t clock_runs(const struct bench_wish *wish)
{
    return (uint64_t)wish->rounds * (LOOPS + SLEEPS);
}

void *clock_measure(const struct bench_wish *wish)
{
    struct clocks *clocks = bench_allocate(1, sizeof *clocks);
    bench_works_measure("clock", WORKS_OF_CLOCK, LOOPS, wish, &clocks->rates);
    for (int round = 0; round < wish->rounds; round++) {
        bench_progress("sleep", "us", SLEEP_NS / 1000, round, wish->rounds);
        for (int kind = 0; kind < SLEEPS; kind++) measure_sleep(wish, &clocks->slept[kind], kind == SLEEP_BARE);
    }
    return clocks;
}

/* ---- printing ---- */

static struct bench_spread cost_ns(const struct bench_wish *wish, const struct clocks *clocks, int loop)
{
    struct bench_series ns;
    for (int i = 0; i < wish->rounds; i++) ns.round[i] = HOST_SECOND_NS / clocks->rates.rate[loop].round[i];
    return bench_spread(&ns, wish->rounds);
}

static double per_sleep(const struct slept *slept)
{
    return slept->sleeps > 0 ? (double)slept->switches / (double)slept->sleeps : NAN;
}

static void print_clock(const struct bench_wish *wish, const struct clocks *clocks, int loop, const char *name)
{
    const struct bench_spread ns = cost_ns(wish, clocks, loop);
    if (isfinite(ns.median)) printf("  %-28s %8.2f %8.2f %8.2f\n", name, ns.median, ns.least, ns.most);
}

static void print_sleep(const struct slept *slept, const char *name)
{
    printf("  %-28s", name);
    for (unsigned parts = 500, i = 0; i < 3; parts = i++ == 0 ? 990 : 999) {
        printf(" %8.1f", (double)histogram_quantile(&slept->late, parts) / 1e3);
    }
    printf(" %16.2f\n", per_sleep(slept));
}

void clock_words(const struct bench_wish *wish, const void *measured)
{
    const struct clocks *clocks = measured;
    printf("clock: a reading, ns             median      min      max\n");
    print_clock(wish, clocks, LOOP_LOAD, "floor: a load");
    print_clock(wish, clocks, LOOP_SYSTEM, "WEIR_CLOCK_SYSTEM");
    print_clock(wish, clocks, LOOP_COARSE, "WEIR_CLOCK_COARSE");
    print_clock(wish, clocks, LOOP_TICKER, "WEIR_CLOCK_TICKER");
    print_clock(wish, clocks, LOOP_TSC, "WEIR_CLOCK_TSC");
    printf("sleep: late after %3d us, us        p50      p99    p99.9   sleeps in each\n", SLEEP_NS / 1000);
    print_sleep(&clocks->slept[SLEEP_BARE], "floor: a bare absolute sleep");
    print_sleep(&clocks->slept[SLEEP_WAIT], "weir_take_wait");
    printf("  Sleeps in each: how often the thread gave its processor away, by the system's count.\n\n");
}

static void print_json_sleep(bool first, const char *name, const struct slept *slept)
{
    printf("%s\"%s\":{\"late_ns\":{\"p50\":%llu,\"p99\":%llu,\"p999\":%llu}", first ? "" : ",", name,
           (unsigned long long)histogram_quantile(&slept->late, 500),
           (unsigned long long)histogram_quantile(&slept->late, 990),
           (unsigned long long)histogram_quantile(&slept->late, 999));
    bench_json_number(false, "sleeps_per_wait", per_sleep(slept), 3);
    printf("}");
}

void clock_json(const struct bench_wish *wish, const void *measured)
{
    static const char *const names[LOOPS] = {[LOOP_LOAD] = "floor_load_ns",
                                             [LOOP_SYSTEM] = "system_ns",
                                             [LOOP_COARSE] = "coarse_ns",
                                             [LOOP_TICKER] = "ticker_ns",
                                             [LOOP_TSC] = "tsc_ns"};
    const struct clocks *clocks = measured;
    printf("\"clock\":{");
    for (int loop = 0; loop < LOOPS; loop++) {
        bench_json_spread(loop == 0, names[loop], cost_ns(wish, clocks, loop), 3);
    }
    printf("},\"sleep\":{\"sleep_ns\":%d", SLEEP_NS);
    print_json_sleep(false, "floor", &clocks->slept[SLEEP_BARE]);
    print_json_sleep(false, "take_wait", &clocks->slept[SLEEP_WAIT]);
    printf("}");
}
