/* SPDX-License-Identifier: MIT
   Event loops that start operations at the rate of one limiter: how many takes does a start cost?

   Each loop is a thread with an epoll and a timerfd.  Loops that take and, when refused, come back after retry_ns all
   come back at the same moment: one has the permit and the others asked in vain.  Loops that reserve have a start each.

   What started early fails it; lateness is measured from weir_due.

       bench-loop                          20,000/s: one loop and four, each way 5 s in turns, medians of three rounds
       bench-loop --small                  the same in a blink: a test that it still works
       bench-loop LIMIT LOOPS SECONDS      as many loops on this limit */
#include "bench.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include <weir/weir.h>

enum { LOOPS_MAX = 16, ROUNDS = 3, STARTS_MAX = 1 << 21, AT_ONCE = 64 };

/* Holds its rate on a busy machine, so that the lateness is the loops' own. */
static const char LIMIT[] = "20000/s burst=10ms catchup=1.1";

struct loop {
    const struct way *way;
    weir_limiter *limiter;
    weir_lease *lease;
    uint64_t end_ns, takes, starts, wakes;
    pthread_t thread;
    float *late_us;
};

/* Starts what may start now; returns when to come back, in ns of CLOCK_MONOTONIC. */
typedef uint64_t turn_function(struct loop *loop, weir_decision *reserved);

struct way {
    const char *name;
    turn_function *turn;
};

struct figures {
    double takes, rate, p50_us, p99_us, wakes, processors;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Here a program sends its request. */
static void start(struct loop *loop, const weir_decision *decision)
{
    const uint64_t now_ns = bench_now_ns();
    if (now_ns < decision->start.ns) {
        fprintf(stderr, "bench-loop: %s: an operation started early\n", loop->way->name);
        exit(1);
    }
    for (uint64_t nth = 1; nth <= decision->charged && loop->starts < STARTS_MAX; nth++) {
        const double late_ns = (double)now_ns - (double)weir_due(loop->limiter, decision, nth).ns;
        loop->late_us[loop->starts++] = (float)(late_ns / 1e3);
    }
}

static uint64_t turn_take(struct loop *loop, weir_decision *reserved)
{
    (void)reserved;
    for (;;) {
        const weir_instant now = weir_now();
        const weir_decision decision = weir_take_at(loop->limiter, now, 1);
        loop->takes++;
        if (!weir_allowed(decision) || now.ns >= loop->end_ns) return now.ns + decision.retry_ns;
        start(loop, &decision);
    }
}

static uint64_t turn_some(struct loop *loop, weir_decision *reserved)
{
    (void)reserved;
    for (;;) {
        const uint64_t now_ns = bench_now_ns();
        const weir_decision decision = weir_take_some(loop->limiter, AT_ONCE);
        loop->takes++;
        if (!weir_allowed(decision) || now_ns >= loop->end_ns) return now_ns + decision.retry_ns;
        start(loop, &decision);
    }
}

static uint64_t turn_lease(struct loop *loop, weir_decision *reserved)
{
    (void)reserved;
    for (;;) {
        const uint64_t now_ns = bench_now_ns();
        const weir_decision decision = weir_lease_take(loop->lease, 1);
        loop->takes++;
        if (!weir_allowed(decision) || now_ns >= loop->end_ns) return now_ns + decision.retry_ns;
        start(loop, &decision);
    }
}

static uint64_t turn_reserve(struct loop *loop, weir_decision *reserved)
{
    for (;;) {
        if (weir_allowed(*reserved)) {
            const uint64_t now_ns = bench_now_ns();
            if (now_ns < reserved->start.ns || now_ns >= loop->end_ns) return reserved->start.ns;
            start(loop, reserved);
        }
        *reserved = weir_reserve(loop->limiter, 1, WEIR_FOREVER);
        loop->takes++;
        if (!weir_allowed(*reserved)) return bench_now_ns() + reserved->retry_ns;
    }
}

static const struct way WAYS[] = {
    {"take", turn_take}, {"take_some", turn_some}, {"lease", turn_lease}, {"reserve", turn_reserve}};

enum { WAY_COUNT = sizeof WAYS / sizeof WAYS[0] };

/* ---- a run ---- */

static void *run_loop(void *argument)
{
    struct loop *loop = argument;
    weir_decision reserved = {0};
    struct epoll_event event = {.events = EPOLLIN};
    const int events = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (events < 0 || timer < 0 || epoll_ctl(events, EPOLL_CTL_ADD, timer, &event) != 0) fail("bench-loop: epoll");
    if (weir_lease_open(loop->lease, loop->limiter, NULL) != 0) fail("bench-loop: lease");
    while (bench_now_ns() < loop->end_ns) {
        const uint64_t back_ns = loop->way->turn(loop, &reserved);
        const struct itimerspec when = {
            .it_value = {(time_t)(back_ns / BENCH_SECOND_NS), (long)(back_ns % BENCH_SECOND_NS)}};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL); /* clears what had fired: nothing to read */
        epoll_wait(events, &event, 1, 1000);
        loop->wakes++;
    }
    weir_cancel(loop->limiter, &reserved);
    weir_lease_close(loop->lease);
    close(timer);
    close(events);
    return NULL;
}

static double processor_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static struct figures look_at(const struct loop loops[], int count, double seconds, double rate_per_s)
{
    struct figures figures = {0};
    uint64_t takes = 0, starts = 0, at = 0, wakes = 0;
    for (int i = 0; i < count; i++) {
        takes += loops[i].takes;
        starts += loops[i].starts;
        wakes += loops[i].wakes;
    }
    if (starts == 0) fail("bench-loop: nothing started");
    double *late_us = malloc(starts * sizeof *late_us);
    if (late_us == NULL) fail("bench-loop: memory");
    for (int i = 0; i < count; i++) {
        for (uint64_t k = 0; k < loops[i].starts; k++) late_us[at++] = (double)loops[i].late_us[k];
    }
    figures.takes = (double)takes / (double)starts;
    figures.rate = (double)starts / seconds / rate_per_s;
    figures.p50_us = bench_quantile(late_us, (int)starts, 0.5);
    figures.p99_us = bench_quantile(late_us, (int)starts, 0.99);
    figures.wakes = (double)wakes / (double)starts;
    free(late_us);
    return figures;
}

static struct figures measure(const struct way *way, const char *limit, int count, double seconds)
{
    struct loop loops[LOOPS_MAX] = {0};
    weir_limiter *limiter;
    weir_error error;
    weir_options options = WEIR_OPTIONS;
    options.use = WEIR_PACE;
    if (weir_open(&limiter, limit, &options, &error) != 0) {
        fprintf(stderr, "bench-loop: %s\n", error.message);
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        weir_lease *lease = aligned_alloc(BENCH_CACHE_LINE, BENCH_CACHE_LINE);
        float *late_us = malloc(STARTS_MAX * sizeof *late_us);
        if (lease == NULL || late_us == NULL) fail("bench-loop: memory");
        memset(lease, 0, sizeof *lease);
        loops[i] = (struct loop){.way = way, .limiter = limiter, .lease = lease, .late_us = late_us};
    }
    const double before_s = processor_s();
    const uint64_t begin_ns = bench_now_ns();
    for (int i = 0; i < count; i++) {
        loops[i].end_ns = begin_ns + (uint64_t)(seconds * 1e9);
        if (pthread_create(&loops[i].thread, NULL, run_loop, &loops[i]) != 0) fail("bench-loop: thread");
    }
    for (int i = 0; i < count; i++) pthread_join(loops[i].thread, NULL);
    const double processors = (processor_s() - before_s) / seconds;
    struct figures figures = look_at(loops, count, seconds, atof(limit));
    figures.processors = processors;
    for (int i = 0; i < count; i++) {
        free(loops[i].lease);
        free(loops[i].late_us);
    }
    weir_close(limiter);
    return figures;
}

/* ---- the table ---- */

static double median_of(const struct figures figures[], int rounds, size_t offset)
{
    double values[ROUNDS];
    for (int i = 0; i < rounds; i++) memcpy(&values[i], (const char *)&figures[i] + offset, sizeof values[i]);
    return bench_spread(values, rounds).median;
}

#define MEDIAN(field) median_of(figures[way], rounds, offsetof(struct figures, field))

static void print_rows(const char *limit, int loops, double seconds, int rounds)
{
    struct figures figures[WAY_COUNT][ROUNDS];
    for (int round = 0; round < rounds; round++) {
        for (int way = 0; way < WAY_COUNT; way++) figures[way][round] = measure(&WAYS[way], limit, loops, seconds);
    }
    for (int way = 0; way < WAY_COUNT; way++) {
        printf("%-30s %5d  %-10s %8.3f %8.3f %8.4f %9.1f %9.1f %7.2f\n", limit, loops, WAYS[way].name, MEDIAN(takes),
               MEDIAN(wakes), MEDIAN(rate), MEDIAN(p50_us), MEDIAN(p99_us), MEDIAN(processors));
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    const int loops = argc == 4 ? atoi(argv[2]) : 0;
    if (argc == 4 ? loops < 1 || loops > LOOPS_MAX : argc > 2 || (argc == 2 && !small)) {
        fprintf(stderr, "usage: bench-loop [--small | LIMIT LOOPS SECONDS]\n");
        return 2;
    }
    bench_print_machine();
    printf("\ntakes, wakes: for each start.  rate: of the one asked for.  late: from weir_due to the start.\n\n"
           "limit                          loops  way           takes    wakes     rate    p50 us    p99 us   cpu/s\n");
    if (argc == 4) {
        print_rows(argv[1], loops, atof(argv[3]), ROUNDS);
        return 0;
    }
    print_rows(LIMIT, 1, small ? 0.02 : 5, small ? 1 : ROUNDS);
    print_rows(LIMIT, 4, small ? 0.02 : 5, small ? 1 : ROUNDS);
    return 0;
}
