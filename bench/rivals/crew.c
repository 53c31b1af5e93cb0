/* SPDX-License-Identifier: MIT
   Threads that all ask one limiter (crew.h).

   What is printed was measured. */
#include "crew.h"

#include "../bench.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum { THREADS_MAX = 1024, RATE_MAX = 1000000000, SECONDS_MAX = 3600 };

static const int THREADS[] = {1, 2, 8, 64};
static const uint64_t RUN_NS = 100000000, RUN_SMALL_NS = 500000;

static void fail(const char *what)
{
    fprintf(stderr, "bench/rivals: %s\n", what);
    exit(1);
}

static void start_thread(pthread_t *thread, void *(*run)(void *), void *argument)
{
    if (pthread_create(thread, NULL, run, argument) != 0) fail("no more threads");
}

/* ---- how many a second ---- */

struct askers {
    const struct crew_asking *asking;
    pthread_barrier_t start;
    _Atomic bool stop;
};

struct asker {
    struct askers *askers;
    pthread_t thread;
    uint64_t right, calls, begin_ns, end_ns;
};

static void *ask_until_stopped(void *argument)
{
    struct asker *asker = argument;
    struct askers *askers = asker->askers;
    const struct crew_asking *asking = askers->asking;
    asking->ask(asking->limiter); /* warm */
    pthread_barrier_wait(&askers->start);
    asker->begin_ns = bench_now_ns();
    do {
        asker->right += asking->ask(asking->limiter);
        asker->calls += CREW_CALLS;
    } while (!atomic_load_explicit(&askers->stop, memory_order_relaxed));
    asker->end_ns = bench_now_ns();
    return NULL;
}

static void nap(uint64_t ns)
{
    const struct timespec length = {(time_t)(ns / BENCH_SECOND_NS), (long)(ns % BENCH_SECOND_NS)};
    nanosleep(&length, NULL);
}

/* Million a second, all threads together. */
static double measure_rate(const struct crew_asking *asking, int threads, uint64_t run_ns)
{
    struct askers askers = {.asking = asking};
    struct asker *asker = calloc((size_t)threads, sizeof *asker);
    uint64_t right = 0, calls = 0, begin_ns = UINT64_MAX, end_ns = 0;
    if (asker == NULL) fail("no memory");
    pthread_barrier_init(&askers.start, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        asker[i].askers = &askers;
        start_thread(&asker[i].thread, ask_until_stopped, &asker[i]);
    }
    pthread_barrier_wait(&askers.start);
    nap(run_ns);
    atomic_store_explicit(&askers.stop, true, memory_order_relaxed);
    for (int i = 0; i < threads; i++) {
        pthread_join(asker[i].thread, NULL);
        right += asker[i].right;
        calls += asker[i].calls;
        if (asker[i].begin_ns < begin_ns) begin_ns = asker[i].begin_ns;
        if (asker[i].end_ns > end_ns) end_ns = asker[i].end_ns;
    }
    pthread_barrier_destroy(&askers.start);
    free(asker);
    if (right != calls) {
        fprintf(stderr, "bench/rivals: %s: %" PRIu64 " of %" PRIu64 "\n", asking->who, right, calls);
        exit(1);
    }
    return (double)calls * 1e3 / (double)(end_ns - begin_ns);
}

void crew_print_rates(const struct crew_asking *asking, bool small)
{
    for (size_t i = 0; i < sizeof THREADS / sizeof THREADS[0]; i++) {
        const double rate = measure_rate(asking, THREADS[i], small ? RUN_SMALL_NS : RUN_NS);
        printf("%s\t%s\t%d\t%.3f\n", asking->who, asking->work, THREADS[i], rate);
    }
    fflush(stdout);
}

/* ---- how late: buckets of which each is at most 1/64 of its value wide, on both sides of 0 ---- */

enum { STEP_BITS = 6, STEPS = 1 << STEP_BITS, BUCKETS = (64 - STEP_BITS + 1) * STEPS };

struct lateness {
    uint64_t early[BUCKETS], late[BUCKETS], count;
};

static unsigned bucket_of(uint64_t ns)
{
    unsigned shift = 0;
    while (ns >> shift >= 2 * STEPS) shift++;
    return shift * STEPS + (unsigned)(ns >> shift);
}

/* The middle of a bucket. */
static double bucket_ns(unsigned bucket)
{
    if (bucket < 2 * STEPS) return bucket;
    const unsigned shift = bucket / STEPS - 1;
    return ((double)(bucket - shift * STEPS) + 0.5) * (double)(UINT64_C(1) << shift) - 0.5;
}

static void note(struct lateness *lateness, int64_t late_ns)
{
    if (late_ns < 0) lateness->early[bucket_of((uint64_t)-late_ns)]++;
    else lateness->late[bucket_of((uint64_t)late_ns)]++;
    lateness->count++;
}

static void add(struct lateness *sum, const struct lateness *part)
{
    for (int i = 0; i < BUCKETS; i++) {
        sum->early[i] += part->early[i];
        sum->late[i] += part->late[i];
    }
    sum->count += part->count;
}

static double quantile(const struct lateness *lateness, double part)
{
    const double rank = part * (double)lateness->count;
    double seen = 0;
    for (unsigned i = BUCKETS; i-- > 0;) {
        seen += (double)lateness->early[i];
        if (seen >= rank && lateness->early[i] > 0) return -bucket_ns(i);
    }
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += (double)lateness->late[i];
        if (seen >= rank && lateness->late[i] > 0) return bucket_ns(i);
    }
    return 0;
}

/* ---- pacing ---- */

struct pacers {
    const struct crew_pacing *pacing;
    const struct crew_pace *pace;
    double interval_ns;
    double processor_s; /* before the start */
    uint64_t start_ns;  /* of the schedule: when the first permit was given */
    pthread_barrier_t ready, start;
    alignas(BENCH_CACHE_LINE) _Atomic uint64_t given;
};

struct pacer {
    struct pacers *pacers;
    pthread_t thread;
    int index;
    uint64_t last_ns;
    struct lateness lateness;
};

static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The first permit's time is where the schedule begins. */
static void take_first(struct pacers *pacers, void *own)
{
    pacers->processor_s = processor_seconds();
    pacers->pacing->acquire(own);
    pacers->start_ns = bench_now_ns();
    atomic_store(&pacers->given, 1);
}

static void *pace_until_over(void *argument)
{
    struct pacer *pacer = argument;
    struct pacers *pacers = pacer->pacers;
    const struct crew_pacing *pacing = pacers->pacing;
    void *own = pacing->join(pacing->limiter, pacer->index);
    pthread_barrier_wait(&pacers->ready);
    if (pacer->index == 0) take_first(pacers, own);
    pthread_barrier_wait(&pacers->start);
    const uint64_t start_ns = pacers->start_ns;
    do {
        pacing->acquire(own);
        const uint64_t place = atomic_fetch_add_explicit(&pacers->given, 1, memory_order_relaxed);
        pacer->last_ns = bench_now_ns();
        note(&pacer->lateness, (int64_t)(pacer->last_ns - start_ns) - (int64_t)((double)place * pacers->interval_ns));
    } while (pacer->last_ns - start_ns < pacers->pace->duration_ns);
    pacing->leave(own);
    return NULL;
}

static void print_pace(const struct pacers *pacers, const struct lateness *lateness, uint64_t last_ns)
{
    const double seconds = (double)(last_ns - pacers->start_ns) / (double)BENCH_SECOND_NS;
    const double achieved = (double)(atomic_load(&pacers->given) - 1) / seconds / (double)pacers->pace->rate_per_s;
    printf("%s\tpace %" PRIu64 "\t%d\t%.6f\t%.0f\t%.0f\t%.4f\n", pacers->pacing->who, pacers->pace->rate_per_s,
           pacers->pace->threads, achieved, quantile(lateness, 0.5), quantile(lateness, 0.99),
           (processor_seconds() - pacers->processor_s) / seconds);
    fflush(stdout);
}

void crew_print_pace(const struct crew_pacing *pacing, const struct crew_pace *pace)
{
    const int threads = pace->threads;
    struct pacers pacers = {.pacing = pacing, .pace = pace, .interval_ns = 1e9 / (double)pace->rate_per_s};
    struct pacer *pacer = calloc((size_t)threads, sizeof *pacer);
    uint64_t last_ns = 0;
    if (pacer == NULL) fail("no memory");
    pthread_barrier_init(&pacers.ready, NULL, (unsigned)threads);
    pthread_barrier_init(&pacers.start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        pacer[i].pacers = &pacers;
        pacer[i].index = i;
        start_thread(&pacer[i].thread, pace_until_over, &pacer[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(pacer[i].thread, NULL);
        if (pacer[i].last_ns > last_ns) last_ns = pacer[i].last_ns;
        if (i > 0) add(&pacer[0].lateness, &pacer[i].lateness);
    }
    print_pace(&pacers, &pacer[0].lateness, last_ns);
    pthread_barrier_destroy(&pacers.ready);
    pthread_barrier_destroy(&pacers.start);
    free(pacer);
}

/* ---- the command line ---- */

static bool read_number(const char *text, double least, double most, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && *number >= least && *number <= most;
}

bool crew_read_pace(char *const text[3], struct crew_pace *pace)
{
    double rate, threads, seconds;
    if (!read_number(text[0], 1, RATE_MAX, &rate) || !read_number(text[1], 1, THREADS_MAX, &threads) ||
        !read_number(text[2], 1e-3, SECONDS_MAX, &seconds)) {
        return false;
    }
    *pace = (struct crew_pace){(uint64_t)rate, (uint64_t)(seconds * (double)BENCH_SECOND_NS), (int)threads};
    return true;
}

int crew_main(int argc, char **argv, void (*lines)(bool small), void (*pace)(const struct crew_pace *pace))
{
    const char *mode = argc > 1 ? argv[1] : "";
    const char *small = getenv("WEIR_SMALL");
    struct crew_pace wanted;
    if (strcmp(mode, "lines") == 0 && argc == 2) {
        lines(small != NULL && strcmp(small, "1") == 0);
    } else if (strcmp(mode, "pace") == 0 && argc == 5 && crew_read_pace(argv + 2, &wanted)) {
        pace(&wanted);
    } else {
        fprintf(stderr, "usage: run lines | pace RATE THREADS SECONDS | version (1 to %d a second, 1 to %d threads)\n",
                RATE_MAX, THREADS_MAX);
        return 2;
    }
    return 0;
}
