/* SPDX-License-Identifier: MIT
   Threads that wait their turn: how late, at what price, in what order, beside a bare loop of sleeps.

   The bare loop is what a careful programmer writes by hand: the next number from a shared counter, an absolute sleep
   to its time with the least timer slack, nothing merged.  It and ours take turns, round by round.

   What started early is counted, and fails it.

       bench-wait                          the table
       bench-wait --small                  the same in a blink: a test that it still works
       bench-wait RATE THREADS SECONDS     one row of it, for each way of waiting */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <weir/weir.h>

enum { THREADS_MAX = 64, ROUNDS = 3, SAMPLE_AT_HIGH_RATES = 16, RECORDS_MAX = 1 << 22 };

static const double CATCH_UP = 1.1, POOL_S = 0.010, EVERY_CALL_BELOW_PER_S = 2e6;

/* When a call was to start, and when it did; as returned by one thread. */
struct start {
    uint64_t due_ns, at_ns;
};

struct run;

/* Returns when the next call is due to have started; it has been waited for. */
typedef uint64_t wait_function(struct run *run, void *inside);

struct way {
    const char *name;
    wait_function *wait;
    bool leased;
    uint64_t min_sleep_ns, spin_ns;
};

struct worker {
    alignas(BENCH_CACHE_LINE) struct run *run;
    pthread_t thread;
    struct start *starts;
    uint64_t count, calls, sleeps, last_ns;
};

struct run {
    const struct way *way;
    double rate_per_s;
    uint64_t begin_ns, end_ns, sample;
    int threads;
    weir_limiter *limiter;
    struct worker worker[THREADS_MAX];
    alignas(BENCH_CACHE_LINE) _Atomic uint64_t counter;
};

struct figures {
    double error_ppm, p50_us, p99_us, p999_us, processors, sleeps_per_s, inverted, excess;
};

/* ---- ways of waiting ---- */

static uint64_t wait_bare(struct run *run, void *inside)
{
    const uint64_t index = atomic_fetch_add_explicit(&run->counter, 1, memory_order_relaxed);
    const uint64_t due_ns = run->begin_ns + (uint64_t)((double)index * 1e9 / run->rate_per_s);
    const struct timespec due = {(time_t)(due_ns / BENCH_SECOND_NS), (long)(due_ns % BENCH_SECOND_NS)};
    (void)inside;
    if (bench_now_ns() >= due_ns) return due_ns;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) continue;
    return due_ns;
}

static uint64_t wait_take(struct run *run, void *inside)
{
    (void)inside;
    return weir_take_wait(run->limiter, 1, WEIR_FOREVER).start.ns;
}

static uint64_t wait_lease(struct run *run, void *inside)
{
    (void)run;
    return weir_lease_take_wait(inside, 1, WEIR_FOREVER).start.ns;
}

static const struct way WAYS[] = {
    {"bare", wait_bare, false, 0, 0},
    {"take", wait_take, false, 0, 0},
    {"lease", wait_lease, true, 0, 0},
    {"lease 10us", wait_lease, true, 10000, 0},
    {"lease 1ms", wait_lease, true, 1000000, 0},
    {"lease spin", wait_lease, true, 0, 20000},
};

enum { WAY_COUNT = sizeof WAYS / sizeof WAYS[0] };

/* ---- a run ---- */

static void work_every_call(struct worker *worker, weir_lease *lease)
{
    struct run *run = worker->run;
    uint64_t now_ns;
    do {
        const uint64_t due_ns = run->way->wait(run, lease);
        now_ns = bench_now_ns();
        if (worker->count < RECORDS_MAX) worker->starts[worker->count++] = (struct start){due_ns, now_ns};
        worker->calls++;
    } while (now_ns < run->end_ns);
    worker->last_ns = now_ns;
}

/* At rates where reading the clock for each call would be most of the work. */
static void work_sampled(struct worker *worker, weir_lease *lease)
{
    struct run *run = worker->run;
    uint64_t now_ns;
    do {
        uint64_t due_ns = 0;
        for (uint64_t i = 0; i < run->sample; i++) due_ns = run->way->wait(run, lease);
        now_ns = bench_now_ns();
        if (worker->count < RECORDS_MAX) worker->starts[worker->count++] = (struct start){due_ns, now_ns};
        worker->calls += run->sample;
    } while (now_ns < run->end_ns);
    worker->last_ns = now_ns;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct rusage before, after;
    weir_lease *lease = aligned_alloc(BENCH_CACHE_LINE, BENCH_CACHE_LINE);
    memset(lease, 0, sizeof *lease);
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    if (worker->run->way->leased) weir_lease_open(lease, worker->run->limiter, NULL);
    getrusage(RUSAGE_THREAD, &before);
    if (worker->run->sample == 1) work_every_call(worker, lease);
    else work_sampled(worker, lease);
    getrusage(RUSAGE_THREAD, &after);
    worker->sleeps = (uint64_t)(after.ru_nvcsw - before.ru_nvcsw);
    weir_lease_close(lease);
    free(lease);
    return NULL;
}

static double processor_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int by_time(const void *a, const void *b)
{
    const uint64_t left = ((const struct start *)a)->at_ns, right = ((const struct start *)b)->at_ns;
    return (left > right) - (left < right);
}

/* Of all calls in the order in which they returned: the share that returned behind one that was due later, and the most
   permits in any window above what it may hold. */
static void look_at_order(const struct run *run, struct start *starts, uint64_t count, struct figures *figures)
{
    const double per_ns = CATCH_UP * run->rate_per_s / 1e9;
    uint64_t latest_ns = 0, inverted = 0;
    double least = 0, most = -1e18;
    qsort(starts, count, sizeof *starts, by_time);
    for (uint64_t i = 0; i < count; i++) {
        const double drained = (double)i - per_ns * (double)(starts[i].at_ns - starts[0].at_ns);
        if (i == 0 || drained < least) least = drained;
        if (drained + 1 - least > most) most = drained + 1 - least;
        inverted += starts[i].due_ns < latest_ns;
        if (starts[i].due_ns > latest_ns) latest_ns = starts[i].due_ns;
    }
    const double pool = POOL_S * run->rate_per_s < 2 ? 2 : POOL_S * run->rate_per_s;
    figures->inverted = (double)inverted / (double)count;
    figures->excess = most - CATCH_UP * pool;
}

static void look_at(const struct run *run, double used_s, struct figures *figures)
{
    uint64_t count = 0, calls = 0, sleeps = 0, last_ns = 0, at = 0, due_ns = UINT64_MAX, last_due_ns = 0;
    for (int i = 0; i < run->threads; i++) {
        const struct worker *worker = &run->worker[i];
        count += worker->count;
        calls += worker->calls;
        sleeps += worker->sleeps;
        if (worker->last_ns > last_ns) last_ns = worker->last_ns;
    }
    const double seconds = (double)(last_ns - run->begin_ns) / 1e9;
    double *late_us = malloc(count * sizeof *late_us);
    struct start *all = malloc(count * sizeof *all);
    for (int i = 0; i < run->threads; i++) {
        const struct worker *worker = &run->worker[i];
        memcpy(all + at, worker->starts, worker->count * sizeof *all);
        at += worker->count;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (all[i].due_ns < due_ns) due_ns = all[i].due_ns;
        if (all[i].due_ns > last_due_ns && all[i].at_ns < run->end_ns) last_due_ns = all[i].due_ns;
        late_us[i] = ((double)all[i].at_ns - (double)all[i].due_ns) / 1e3;
        if (late_us[i] >= 0) continue;
        fprintf(stderr, "bench-wait: %s: a call started %f us early\n", run->way->name, -late_us[i]);
        exit(1);
    }
    const double of_schedule = run->rate_per_s * (double)(last_due_ns - due_ns) / 1e9;
    const double given = (double)calls - (double)run->sample * run->threads - 1; /* without the last turn of each */
    *figures = (struct figures){.error_ppm = (given / of_schedule - 1) * 1e6,
                                .p50_us = bench_quantile(late_us, (int)count, 0.5),
                                .p99_us = bench_quantile(late_us, (int)count, 0.99),
                                .p999_us = bench_quantile(late_us, (int)count, 0.999),
                                .processors = used_s / seconds,
                                .sleeps_per_s = (double)sleeps / seconds / run->threads,
                                .inverted = -1,
                                .excess = -1};
    if (run->sample == 1) look_at_order(run, all, count, figures);
    free(late_us);
    free(all);
}

static void measure(const struct way *way, double rate_per_s, int threads, double seconds, struct figures *figures)
{
    static struct run run;
    char limit[64];
    weir_error error;
    weir_options options = WEIR_OPTIONS;
    memset(&run, 0, sizeof run);
    run.way = way;
    run.rate_per_s = rate_per_s;
    run.sample = rate_per_s < EVERY_CALL_BELOW_PER_S ? 1 : SAMPLE_AT_HIGH_RATES;
    run.threads = threads;
    options.use = WEIR_PACE;
    options.min_sleep_ns = way->min_sleep_ns;
    options.spin_ns = way->spin_ns;
    snprintf(limit, sizeof limit, "%.0f/s catchup=%.1f", rate_per_s, CATCH_UP);
    if (weir_open(&run.limiter, limit, &options, &error) != 0) {
        fprintf(stderr, "bench-wait: %s\n", error.message);
        exit(1);
    }
    for (int i = 0; i < threads; i++) {
        run.worker[i].run = &run;
        run.worker[i].starts = malloc(RECORDS_MAX * sizeof(struct start));
    }
    const double before_s = processor_s();
    run.begin_ns = bench_now_ns();
    run.end_ns = run.begin_ns + (uint64_t)(seconds * 1e9);
    for (int i = 0; i < threads; i++) pthread_create(&run.worker[i].thread, NULL, work, &run.worker[i]);
    for (int i = 0; i < threads; i++) pthread_join(run.worker[i].thread, NULL);
    look_at(&run, processor_s() - before_s, figures);
    for (int i = 0; i < threads; i++) free(run.worker[i].starts);
    weir_close(run.limiter);
}

/* ---- the table ---- */

static double median_of(const struct figures figures[], int rounds, size_t offset)
{
    double values[ROUNDS];
    for (int i = 0; i < rounds; i++) memcpy(&values[i], (const char *)&figures[i] + offset, sizeof values[i]);
    return bench_spread(values, rounds).median;
}

#define MEDIAN(field) median_of(of_way, rounds, offsetof(struct figures, field))

static void print_rows(double rate_per_s, int threads, double seconds, int rounds)
{
    static struct figures figures[WAY_COUNT][ROUNDS];
    for (int round = 0; round < rounds; round++) {
        for (int way = 0; way < WAY_COUNT; way++) {
            measure(&WAYS[way], rate_per_s, threads, seconds, &figures[way][round]);
        }
    }
    for (int way = 0; way < WAY_COUNT; way++) {
        const struct figures *of_way = figures[way];
        printf("%9.0f %7d  %-10s %9.0f %9.1f %9.1f %9.1f %6.2f %9.0f", rate_per_s, threads, WAYS[way].name,
               MEDIAN(error_ppm), MEDIAN(p50_us), MEDIAN(p99_us), MEDIAN(p999_us), MEDIAN(processors),
               MEDIAN(sleeps_per_s));
        if (MEDIAN(inverted) >= 0) printf(" %8.4f %9.1f", MEDIAN(inverted), MEDIAN(excess));
        printf("\n");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const double RATES[] = {1e3, 1e4, 1e5, 1e6, 1e7, 5e7};
    static const int THREADS[] = {1, 8, THREADS_MAX};
    const bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    const bool one = argc == 4;
    bench_print_machine();
    printf(
        "\nerror: of what the schedule had to give, in millionths.  sleeps: a second and thread.  inverted: share of "
        "calls that returned behind one\n"
        "that was due later.  excess: the most in any window above what it may hold; below 0 is well.\n\n"
        "     rate threads  way        error ppm    p50 us    p99 us  p99.9 us  cpu/s    sleeps inverted    excess\n");
    if (one) {
        print_rows(atof(argv[1]), atoi(argv[2]), atof(argv[3]), ROUNDS);
        return 0;
    }
    for (int t = 0; t < 3; t++) {
        for (size_t i = 0; i < sizeof RATES / sizeof RATES[0]; i++) {
            print_rows(RATES[i], THREADS[t], small ? 0.002 : 0.5, small ? 1 : ROUNDS);
        }
    }
    return 0;
}
