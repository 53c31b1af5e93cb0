/* SPDX-License-Identifier: MIT
   What a decision costs, beside what the machine itself charges for its parts.

   One limiter is shared by all threads.  Floors and ours take turns, round by round, so that a machine that is slower
   for a second is slower for all; every ratio is of two figures of the same round.

   All that was counted was granted (or, in the row of refusals, refused), or it fails.

       bench-take            the table
       bench-take --small    the same in a blink: a test that it still works
       bench-take --lines    one round, a line each: who, work, threads, M/s (for bench/rivals/run) */
#include "bench.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weir/weir.h>

enum { CALLS = 1024, MANY = 64, ROUNDS = 5, THREADS_MAX = 64, THREAD_COUNTS = 4, STEPS = 20000 };

static const int THREADS[THREAD_COUNTS] = {1, 2, 8, THREADS_MAX};
static const uint64_t RUN_NS = 100000000, RUN_SMALL_NS = 500000;

/* What the threads share, each on a cache line of its own. */
struct shared {
    alignas(BENCH_CACHE_LINE) _Atomic uint64_t counter;
    alignas(BENCH_CACHE_LINE) pthread_mutex_t mutex;
    uint64_t guarded;
    weir_limiter *gcra, *coarse, *ticker, *tsc, *hybrid, *log, *wide, *leased;
    weir_limiter *shut, *shut_coarse, *shut_ticker, *shut_tsc;
};

/* CALLS calls; returns how many units of work were done, or refused where that is the work. */
typedef uint64_t work_function(struct shared *shared);

/* ---- floors ---- */

static uint64_t run_local(struct shared *shared)
{
    static _Thread_local _Atomic uint64_t counter; /* atomic, so that no compiler folds the loop */
    (void)shared;
    for (int i = 0; i < CALLS; i++) {
        atomic_store_explicit(&counter, atomic_load_explicit(&counter, memory_order_relaxed) + 1, memory_order_relaxed);
    }
    return CALLS;
}

/* What a lease cannot be cheaper than: is there enough, and then less. */
static uint64_t run_subtract(struct shared *shared)
{
    static _Thread_local _Atomic uint64_t left;
    uint64_t taken = 0;
    (void)shared;
    atomic_store_explicit(&left, CALLS, memory_order_relaxed);
    for (int i = 0; i < CALLS; i++) {
        const uint64_t seen = atomic_load_explicit(&left, memory_order_relaxed);
        if (seen < 1) continue;
        atomic_store_explicit(&left, seen - 1, memory_order_relaxed);
        taken++;
    }
    return taken;
}

static uint64_t run_add(struct shared *shared)
{
    for (int i = 0; i < CALLS; i++) atomic_fetch_add_explicit(&shared->counter, 1, memory_order_acq_rel);
    return CALLS;
}

static uint64_t run_swap(struct shared *shared)
{
    for (int i = 0; i < CALLS; i++) {
        uint64_t seen = atomic_load_explicit(&shared->counter, memory_order_acquire);
        while (!atomic_compare_exchange_weak_explicit(&shared->counter, &seen, seen + 1, memory_order_acq_rel,
                                                      memory_order_acquire)) {
            continue;
        }
    }
    return CALLS;
}

static uint64_t run_mutex(struct shared *shared)
{
    for (int i = 0; i < CALLS; i++) {
        pthread_mutex_lock(&shared->mutex);
        shared->guarded++;
        pthread_mutex_unlock(&shared->mutex);
    }
    return CALLS;
}

static uint64_t run_clock(struct shared *shared)
{
    uint64_t advanced = 0;
    (void)shared;
    for (int i = 0; i < CALLS; i++) advanced += bench_read_ns(CLOCK_MONOTONIC) != 0;
    return advanced;
}

static uint64_t run_coarse_clock(struct shared *shared)
{
    uint64_t advanced = 0;
    (void)shared;
    for (int i = 0; i < CALLS; i++) advanced += bench_read_ns(CLOCK_MONOTONIC_COARSE) != 0;
    return advanced;
}

/* ---- ours ---- */

static uint64_t take_all(weir_limiter *limiter)
{
    uint64_t granted = 0;
    for (int i = 0; i < CALLS; i++) granted += weir_take(limiter, 1).charged;
    return granted;
}

static uint64_t run_take(struct shared *shared)
{
    return take_all(shared->gcra);
}

static uint64_t run_take_coarse(struct shared *shared)
{
    return take_all(shared->coarse);
}

static uint64_t run_take_ticker(struct shared *shared)
{
    return take_all(shared->ticker);
}

static uint64_t run_take_tsc(struct shared *shared)
{
    return take_all(shared->tsc);
}

static uint64_t run_take_hybrid(struct shared *shared)
{
    return take_all(shared->hybrid);
}

static uint64_t run_take_log(struct shared *shared)
{
    return take_all(shared->log);
}

static uint64_t run_take_at(struct shared *shared)
{
    const weir_instant now = weir_now();
    uint64_t granted = 0;
    for (int i = 0; i < CALLS; i++) granted += weir_take_at(shared->gcra, now, 1).charged;
    return granted;
}

static uint64_t run_take_some(struct shared *shared)
{
    uint64_t granted = 0;
    for (int i = 0; i < CALLS; i++) granted += weir_take_some(shared->wide, MANY).charged;
    return granted;
}

/* Each thread has a lease, which it gives back when it ends. */
static uint64_t run_lease(struct shared *shared)
{
    static _Thread_local weir_lease lease;
    uint64_t granted = 0;
    if (lease.inside == NULL && weir_lease_open(&lease, shared->leased, NULL) != 0) abort();
    for (int i = 0; i < CALLS; i++) granted += weir_lease_take(&lease, 1).charged;
    return granted;
}

static uint64_t refuse_all(weir_limiter *limiter)
{
    uint64_t refused = 0;
    for (int i = 0; i < CALLS; i++) refused += weir_take(limiter, 1).verdict == WEIR_DENY;
    return refused;
}

static uint64_t run_refused(struct shared *shared)
{
    return refuse_all(shared->shut);
}

static uint64_t run_refused_coarse(struct shared *shared)
{
    return refuse_all(shared->shut_coarse);
}

static uint64_t run_refused_ticker(struct shared *shared)
{
    return refuse_all(shared->shut_ticker);
}

static uint64_t run_refused_tsc(struct shared *shared)
{
    return refuse_all(shared->shut_tsc);
}

/* Holds nothing, as there is nothing to hold. */
static uint64_t run_lease_refused(struct shared *shared)
{
    static _Thread_local weir_lease lease;
    uint64_t refused = 0;
    if (lease.inside == NULL && weir_lease_open(&lease, shared->shut_ticker, NULL) != 0) abort();
    for (int i = 0; i < CALLS; i++) refused += weir_lease_take(&lease, 1).verdict == WEIR_DENY;
    return refused;
}

static uint64_t run_refused_at(struct shared *shared)
{
    const weir_instant now = weir_now();
    uint64_t refused = 0;
    for (int i = 0; i < CALLS; i++) refused += weir_take_at(shared->shut, now, 1).verdict == WEIR_DENY;
    return refused;
}

enum { LOCAL, SUBTRACT, ADD, SWAP, MUTEX, CLOCK, COARSE, FLOORS, NO_FLOOR = FLOORS };

/* The floor of a work is what it cannot do without: one, or two that are added. */
static const struct work {
    const char *who, *kind;
    work_function *run;
    uint64_t units; /* of one call */
    int floor, and;
} WORKS[] = {
    [LOCAL] = {"thread-local counter", "floor", run_local, 1, NO_FLOOR, NO_FLOOR},
    [SUBTRACT] = {"thread-local subtract", "floor", run_subtract, 1, NO_FLOOR, NO_FLOOR},
    [ADD] = {"fetch-add", "floor", run_add, 1, NO_FLOOR, NO_FLOOR},
    [SWAP] = {"compare-and-swap", "floor", run_swap, 1, NO_FLOOR, NO_FLOOR},
    [MUTEX] = {"mutex", "floor", run_mutex, 1, NO_FLOOR, NO_FLOOR},
    [CLOCK] = {"clock MONOTONIC", "floor", run_clock, 1, NO_FLOOR, NO_FLOOR},
    [COARSE] = {"clock MONOTONIC_COARSE", "floor", run_coarse_clock, 1, NO_FLOOR, NO_FLOOR},
    {"weir_lease_take", "grant", run_lease, 1, SUBTRACT, NO_FLOOR},
    {"weir_take_at, now passed in", "grant", run_take_at, 1, SWAP, NO_FLOOR},
    {"weir_take", "grant", run_take, 1, SWAP, CLOCK},
    {"weir_take, coarse clock", "grant", run_take_coarse, 1, SWAP, COARSE},
    {"weir_take, ticker", "grant", run_take_ticker, 1, SWAP, NO_FLOOR},
    {"weir_take, TSC", "grant", run_take_tsc, 1, SWAP, NO_FLOOR},
    {"weir_take, hybrid (cell)", "grant", run_take_hybrid, 1, MUTEX, CLOCK},
    {"weir_take, sliding log", "grant", run_take_log, 1, SWAP, CLOCK},
    {"weir_take_some(64), a permit", "grant", run_take_some, MANY, NO_FLOOR, NO_FLOOR},
    {"weir_take, refused", "deny", run_refused, 1, CLOCK, NO_FLOOR},
    {"weir_take, refused, coarse", "deny", run_refused_coarse, 1, COARSE, NO_FLOOR},
    {"weir_take, refused, ticker", "deny", run_refused_ticker, 1, NO_FLOOR, NO_FLOOR},
    {"weir_take, refused, TSC", "deny", run_refused_tsc, 1, NO_FLOOR, NO_FLOOR},
    {"weir_lease_take, refused, ticker", "deny", run_lease_refused, 1, NO_FLOOR, NO_FLOOR},
    {"weir_take_at, refused", "deny", run_refused_at, 1, NO_FLOOR, NO_FLOOR},
};

enum { WORK_COUNT = sizeof WORKS / sizeof WORKS[0] };

/* ---- running ---- */

struct crew {
    struct shared *shared;
    const struct work *work;
    pthread_barrier_t start;
    _Atomic bool stop;
};

struct member {
    struct crew *crew;
    pthread_t thread;
    uint64_t units, calls, begin_ns, end_ns;
};

static void *work_until_stopped(void *argument)
{
    struct member *member = argument;
    struct crew *crew = member->crew;
    crew->work->run(crew->shared); /* warm: what the first call of a thread sets up is not what is measured */
    pthread_barrier_wait(&crew->start);
    member->begin_ns = bench_now_ns();
    do {
        member->units += crew->work->run(crew->shared);
        member->calls += CALLS;
    } while (!atomic_load_explicit(&crew->stop, memory_order_relaxed));
    member->end_ns = bench_now_ns();
    return NULL;
}

static void nap(uint64_t ns)
{
    const struct timespec length = {(time_t)(ns / BENCH_SECOND_NS), (long)(ns % BENCH_SECOND_NS)};
    nanosleep(&length, NULL);
}

/* Million units a second, all threads together. */
static double measure(struct shared *shared, const struct work *work, int threads, uint64_t run_ns)
{
    struct crew crew = {.shared = shared, .work = work};
    struct member member[THREADS_MAX] = {{0}};
    uint64_t units = 0, calls = 0, begin_ns = UINT64_MAX, end_ns = 0;
    pthread_barrier_init(&crew.start, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        member[i].crew = &crew;
        if (pthread_create(&member[i].thread, NULL, work_until_stopped, &member[i]) != 0) abort();
    }
    pthread_barrier_wait(&crew.start);
    nap(run_ns);
    atomic_store_explicit(&crew.stop, true, memory_order_relaxed);
    for (int i = 0; i < threads; i++) {
        pthread_join(member[i].thread, NULL);
        units += member[i].units;
        calls += member[i].calls;
        if (member[i].begin_ns < begin_ns) begin_ns = member[i].begin_ns;
        if (member[i].end_ns > end_ns) end_ns = member[i].end_ns;
    }
    pthread_barrier_destroy(&crew.start);
    if (units != calls * work->units) {
        fprintf(stderr, "bench-take: %s did %llu of %llu\n", work->who, (unsigned long long)units,
                (unsigned long long)(calls * work->units));
        exit(1);
    }
    return (double)units * 1e3 / (double)(end_ns - begin_ns);
}

static weir_limiter *open_limiter(const char *limits, weir_use use, weir_clock clock)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter;
    weir_error error;
    options.use = use;
    options.clock = clock;
    if (weir_open(&limiter, limits, &options, &error) == 0) return limiter;
    fprintf(stderr, "bench-take: %s: %s\n", limits, error.message);
    exit(1);
}

static void open_all(struct shared *shared)
{
    const char *never_refuses = "1000000000/s burst=4294967295";
    atomic_init(&shared->counter, 0);
    pthread_mutex_init(&shared->mutex, NULL);
    shared->gcra = open_limiter(never_refuses, WEIR_ADMIT, WEIR_CLOCK_SYSTEM);
    shared->coarse = open_limiter(never_refuses, WEIR_ADMIT, WEIR_CLOCK_COARSE);
    shared->ticker = open_limiter(never_refuses, WEIR_ADMIT, WEIR_CLOCK_TICKER);
    shared->tsc = open_limiter(never_refuses, WEIR_ADMIT, WEIR_CLOCK_TSC);
    shared->hybrid = open_limiter("1000000000/s burst=1s start=full algorithm=hybrid catchup=1.1", WEIR_PACE, 0);
    shared->log = open_limiter("4000000/10ms algorithm=sliding-log", WEIR_ADMIT, WEIR_CLOCK_SYSTEM);
    shared->wide = open_limiter("10000000000/s burst=4294967295", WEIR_ADMIT, WEIR_CLOCK_SYSTEM);
    shared->leased = open_limiter("1000000000000/s burst=1s", WEIR_ADMIT, WEIR_CLOCK_SYSTEM);
    shared->shut = open_limiter("1/d burst=1", WEIR_ADMIT, WEIR_CLOCK_SYSTEM);
    shared->shut_coarse = open_limiter("1/d burst=1", WEIR_ADMIT, WEIR_CLOCK_COARSE);
    shared->shut_ticker = open_limiter("1/d burst=1", WEIR_ADMIT, WEIR_CLOCK_TICKER);
    shared->shut_tsc = open_limiter("1/d burst=1", WEIR_ADMIT, WEIR_CLOCK_TSC);
    weir_take(shared->shut, 1);
    weir_take(shared->shut_coarse, 1);
    weir_take(shared->shut_ticker, 1);
    weir_take(shared->shut_tsc, 1);
}

static void close_all(struct shared *shared)
{
    weir_limiter *all[] = {shared->gcra,   shared->coarse,      shared->ticker,      shared->tsc,
                           shared->hybrid, shared->log,         shared->wide,        shared->leased,
                           shared->shut,   shared->shut_coarse, shared->shut_ticker, shared->shut_tsc};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) weir_close(all[i]);
    pthread_mutex_destroy(&shared->mutex);
}

/* ---- the answers ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++) hash = (hash ^ (value >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mix_decision(uint64_t hash, const weir_decision *decision)
{
    hash = mix(mix(hash, decision->verdict), decision->limit);
    hash = mix(mix(hash, decision->start.ns), decision->delay_ns);
    hash = mix(mix(hash, decision->retry_ns), decision->remaining);
    return mix(hash, decision->charged);
}

static weir_decision ask_somehow(weir_limiter *limiter, uint64_t random)
{
    const uint64_t cost = 1 + (random >> 8) % 5;
    weir_decision decision = {0};
    switch (random % 4) {
    case 0:
        return weir_take(limiter, cost);
    case 1:
        return weir_take_some(limiter, cost);
    case 2:
        return weir_reserve(limiter, cost, 2000000);
    default:
        decision = weir_reserve(limiter, cost, 1000000);
        if (weir_allowed(decision) && random >> 20 & 1) weir_cancel(limiter, &decision);
        return decision;
    }
}

/* The same calls at the same made-up times give the same answers on every machine and in every version. */
static uint64_t hash_of_answers(void)
{
    static const char *const LIMITS[] = {"1000/s burst=20", "12000,1.1", "1000/s burst=3; 900/s burst=7"};
    uint64_t hash = UINT64_C(0xcbf29ce484222325), random = 88172645463325252U, now_ns = 0;
    for (size_t i = 0; i < sizeof LIMITS / sizeof LIMITS[0]; i++) {
        weir_limiter *limiter = open_limiter(LIMITS[i], WEIR_ADMIT, WEIR_CLOCK_MANUAL);
        now_ns = 0;
        for (int step = 0; step < STEPS; step++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            now_ns += random >> 40 & 0xfffff;
            weir_manual_set(limiter, (weir_instant){now_ns});
            const weir_decision decision = ask_somehow(limiter, random);
            hash = mix_decision(hash, &decision);
        }
        weir_close(limiter);
    }
    return hash;
}

/* ---- printing ---- */

struct figures {
    double rate[THREAD_COUNTS][WORK_COUNT][ROUNDS];
};

/* How many times as long as its floor, of the same round. */
static double floor_ratio(const struct figures *figures, int at, const struct work *work, int rounds)
{
    double ratio[ROUNDS];
    for (int i = 0; i < rounds; i++) {
        const double *rate = &figures->rate[at][0][i];
        double floor = 1 / rate[work->floor * ROUNDS];
        if (work->and != NO_FLOOR) floor += 1 / rate[work->and *ROUNDS];
        ratio[i] = 1 / rate[(work - WORKS) * ROUNDS] / floor;
    }
    return bench_spread(ratio, rounds).median;
}

static void print_row(const struct figures *figures, int at, int index, int rounds)
{
    const struct work *work = &WORKS[index];
    double rate[ROUNDS];
    memcpy(rate, figures->rate[at][index], sizeof rate);
    const struct spread spread = bench_spread(rate, rounds);
    char range[32];
    snprintf(range, sizeof range, "%.1f-%.1f", spread.least, spread.most);
    printf("%-32s %8.1f %16s %8.2f", work->who, spread.median, range, 1e3 / spread.median);
    if (work->floor != NO_FLOOR) {
        printf(" %7.2f  %s%s%s", floor_ratio(figures, at, work, rounds), WORKS[work->floor].who,
               work->and != NO_FLOOR ? " + " : "", work->and != NO_FLOOR ? WORKS[work->and ].who : "");
    }
    printf("\n");
}

static void print_table(const struct figures *figures, int rounds)
{
    for (int at = 0; at < THREAD_COUNTS; at++) {
        char title[32];
        snprintf(title, sizeof title, "%d thread%s", THREADS[at], THREADS[at] == 1 ? "" : "s");
        printf("\n%-32s %8s %16s %8s %7s\n", title, "M/s", "min-max", "ns", "/ floor");
        for (int work = 0; work < WORK_COUNT; work++) print_row(figures, at, work, rounds);
    }
}

static void print_lines(const struct figures *figures)
{
    for (int at = 0; at < THREAD_COUNTS; at++) {
        for (int work = 0; work < WORK_COUNT; work++) {
            printf("%s\t%s\t%d\t%.3f\n", WORKS[work].who, WORKS[work].kind, THREADS[at], figures->rate[at][work][0]);
        }
    }
}

int main(int argc, char **argv)
{
    static struct figures figures;
    static struct shared shared;
    const bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    const bool lines = argc > 1 && strcmp(argv[1], "--lines") == 0;
    const int rounds = small || lines ? 1 : ROUNDS;
    open_all(&shared);
    for (int round = 0; round < rounds; round++) {
        for (int at = 0; at < THREAD_COUNTS; at++) {
            for (int work = 0; work < WORK_COUNT; work++) {
                figures.rate[at][work][round] =
                    measure(&shared, &WORKS[work], THREADS[at], small ? RUN_SMALL_NS : RUN_NS);
            }
        }
    }
    close_all(&shared);
    if (lines) {
        print_lines(&figures);
        return 0;
    }
    bench_print_machine();
    printf("answers: %016llx\n", (unsigned long long)hash_of_answers());
    printf("One limiter, shared.  Median of %d rounds of %.1f ms; ns = a second / rate, all threads together;\n"
           "/ floor: how many times as long as what it cannot do without, with as many threads.\n",
           rounds, (double)(small ? RUN_SMALL_NS : RUN_NS) / 1e6);
    print_table(&figures, rounds);
    return 0;
}
