/* SPDX-License-Identifier: MIT
   Does a limit hold its rate, by threads, in an event loop, by leases and as `weir pace`; on an idle machine,
   and next to as many busy loops as there are processors?

   The nth start is due n / rate after the first.  A start that wakes late is no loss, as the next is on time again;
   what of the schedule is lost shows in the one that came least after it was due: of the last tenth, against the first.
   The error is that loss over the time of the run: 100 ppm are a millisecond in 10 s, at 100/s a tenth of a start.
   The burst is the most that any window held above the rate, in ms of the rate.  Bare is what wrk2 and vegeta do.

   `weir pace` is read through a pipe, so its starts are when they were read: that is late at times, and makes bursts.

   Times are of actual starts, measured here.

       bench-rate [OPTION]... [OPTIONS OF A LIMIT]...       for example bench-rate 'burst=100ms' 'catchup=1.1'
           --for SECONDS   of each run (3)           --rate RATE     only this one
           --idle, --busy  only the one of the two   --way NAME      only this one
           --small         in a blink: a test that it still works
       bench-rate --pools [OPTION]...                       rows with catchup=1 and with burst=1, by rate and threads */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include <weir/weir.h>

enum { THREADS_MAX = 64, THREADS = 4, RATES_MAX = 8, BUSY_MAX = 64, LIMIT_SIZE = 160, LINE_SIZE = 8, BLOCK = 65536 };
enum { AGAIN_NS = 1000 };

struct run;
typedef void way_function(struct run *run);

struct run {
    char limit[LIMIT_SIZE];
    double rate, seconds;
    int threads;
    uint64_t min_sleep_ns, until_ns;
    weir_limiter *limiter;
    bool leased;
    const char *weir;
    pthread_mutex_t mutex;
    uint64_t *start_ns, count, size;
};

struct result {
    double error_ppm, p50_us, p99_us, burst_ms, per_s;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench-rate: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void keep(struct run *run, const uint64_t start_ns[], uint64_t count)
{
    pthread_mutex_lock(&run->mutex);
    for (uint64_t i = 0; i < count && run->count < run->size; i++) run->start_ns[run->count++] = start_ns[i];
    pthread_mutex_unlock(&run->mutex);
}

static void open_limiter(struct run *run)
{
    weir_options options = WEIR_OPTIONS;
    weir_error error;
    options.use = WEIR_PACE;
    options.min_sleep_ns = run->min_sleep_ns;
    if (weir_open(&run->limiter, run->limit, &options, &error) == 0) return;
    fprintf(stderr, "bench-rate: %s: %s\n", run->limit, error.message);
    exit(1);
}

/* ---- threads, each with a lease or without ---- */

static void *wait_turns(void *argument)
{
    struct run *run = argument;
    weir_lease lease;
    uint64_t *own = malloc(run->size * sizeof *own), count = 0;
    memset(&lease, 0, sizeof lease);
    if (own == NULL || (run->leased && weir_lease_open(&lease, run->limiter, NULL) != 0)) fail("a thread");
    while (count < run->size) {
        const weir_decision decision =
            run->leased ? weir_lease_take_wait(&lease, 1, WEIR_FOREVER) : weir_take_wait(run->limiter, 1, WEIR_FOREVER);
        const uint64_t now_ns = bench_now_ns();
        if (!weir_allowed(decision) || now_ns >= run->until_ns) break;
        own[count++] = now_ns;
    }
    weir_stop(run->limiter); /* the time is over for all */
    if (run->leased) weir_lease_close(&lease);
    keep(run, own, count);
    free(own);
    return NULL;
}

static void by_threads(struct run *run)
{
    pthread_t thread[THREADS_MAX];
    open_limiter(run);
    for (int i = 0; i < run->threads; i++) {
        if (pthread_create(&thread[i], NULL, wait_turns, run) != 0) fail("pthread_create");
    }
    for (int i = 0; i < run->threads; i++) pthread_join(thread[i], NULL);
    weir_close(run->limiter);
}

static void by_leases(struct run *run)
{
    run->leased = true;
    by_threads(run);
}

/* ---- one event loop: takes all that may start, and comes back when the next one does ---- */

static void by_epoll(struct run *run)
{
    const int events = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    open_limiter(run);
    if (events < 0 || timer < 0 || epoll_ctl(events, EPOLL_CTL_ADD, timer, &event) != 0) fail("epoll");
    while (bench_now_ns() < run->until_ns) {
        weir_decision decision;
        while (weir_allowed(decision = weir_take(run->limiter, 1))) {
            const uint64_t now_ns = bench_now_ns();
            if (now_ns < run->until_ns) keep(run, &now_ns, 1);
        }
        const uint64_t retry_ns = decision.retry_ns != 0 ? decision.retry_ns : AGAIN_NS;
        const struct itimerspec due = {
            .it_value = {(time_t)(retry_ns / BENCH_SECOND_NS), (long)(retry_ns % BENCH_SECOND_NS)}};
        if (timerfd_settime(timer, 0, &due, NULL) != 0) fail("timerfd_settime");
        uint64_t times;
        if (epoll_wait(events, &event, 1, -1) == 1 && read(timer, &times, sizeof times) < 0) fail("timerfd");
    }
    close(timer);
    close(events);
    weir_close(run->limiter);
}

/* ---- no limiter: sleeps to first + n / rate and starts all that is due, as wrk2 and vegeta do ---- */

static void by_schedule(struct run *run)
{
    const uint64_t begin_ns = bench_now_ns();
    for (uint64_t n = 0;; n++) {
        const uint64_t due_ns = begin_ns + (uint64_t)((double)n * 1e9 / run->rate);
        const struct timespec due = {(time_t)(due_ns / BENCH_SECOND_NS), (long)(due_ns % BENCH_SECOND_NS)};
        while (bench_now_ns() < due_ns) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        const uint64_t now_ns = bench_now_ns();
        if (now_ns >= run->until_ns) return;
        keep(run, &now_ns, 1);
    }
}

/* ---- weir pace, between two pipes ---- */

static void *feed(void *argument)
{
    static char block[BLOCK];
    for (int i = 0; i < BLOCK; i++) block[i] = (i + 1) % LINE_SIZE == 0 ? '\n' : '7';
    while (write(*(int *)argument, block, sizeof block) > 0) continue; /* until nobody reads */
    return NULL;
}

static pid_t start_pace(const struct run *run, int *in, int *out)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) fail("pipe");
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(run->weir, run->weir, "pace", run->limit, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    *in = to[1];
    *out = from[0];
    return child;
}

static void by_pace(struct run *run)
{
    static char block[BLOCK];
    int in, out;
    pthread_t feeder;
    const pid_t child = start_pace(run, &in, &out);
    if (pthread_create(&feeder, NULL, feed, &in) != 0) fail("pthread_create");
    for (ssize_t size; (size = read(out, block, sizeof block)) > 0;) {
        const uint64_t now_ns = bench_now_ns();
        if (now_ns >= run->until_ns) break;
        for (ssize_t i = 0; i < size / LINE_SIZE; i++) keep(run, &now_ns, 1);
    }
    kill(child, SIGKILL);
    close(out);
    pthread_join(feeder, NULL);
    close(in);
    waitpid(child, NULL, 0);
}

static const struct way {
    const char *name;
    way_function *run;
} WAYS[] = {
    {"threads", by_threads}, {"epoll", by_epoll}, {"leases", by_leases}, {"weir pace", by_pace}, {"bare", by_schedule}};

enum { WAY_COUNT = sizeof WAYS / sizeof WAYS[0] };

/* ---- what came of it ---- */

static int by_time(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The least that any of so many starts came after it was due. */
static double least_late_us(const double late_us[], uint64_t from, uint64_t count)
{
    double least = late_us[from];
    for (uint64_t i = from; i < from + count; i++) least = late_us[i] < least ? late_us[i] : least;
    return least;
}

/* The most starts that any window held above the rate. */
static double highest_of(const struct run *run)
{
    double level = 0, highest = 0;
    for (uint64_t i = 0; i < run->count; i++) {
        const double passed_s = i == 0 ? 0 : (double)(run->start_ns[i] - run->start_ns[i - 1]) / 1e9;
        level = level > run->rate * passed_s ? level - run->rate * passed_s + 1 : 1;
        if (level > highest) highest = level;
    }
    return highest;
}

static struct result result_of(struct run *run)
{
    const uint64_t count = run->count, tenth = count / 10 + 1;
    if (count < 2) return (struct result){.error_ppm = -1e6};
    double *late_us = malloc(count * sizeof *late_us);
    if (late_us == NULL) fail("malloc");
    qsort(run->start_ns, count, sizeof *run->start_ns, by_time);
    const double elapsed_s = (double)(run->start_ns[count - 1] - run->start_ns[0]) / 1e9;
    for (uint64_t i = 0; i < count; i++) {
        late_us[i] = (double)(run->start_ns[i] - run->start_ns[0]) / 1e3 - (double)i * 1e6 / run->rate;
    }
    /* The first of all may have been late itself. */
    const double first_us = least_late_us(late_us, 0, tenth), last_us = least_late_us(late_us, count - tenth, tenth);
    for (uint64_t i = 0; i < count; i++) late_us[i] -= first_us;
    const struct result result = {.error_ppm = (first_us - last_us) / elapsed_s,
                                  .p50_us = bench_quantile(late_us, (int)count, 0.5),
                                  .p99_us = bench_quantile(late_us, (int)count, 0.99),
                                  .burst_ms = highest_of(run) / run->rate * 1e3,
                                  .per_s = (double)(count - 1) / elapsed_s};
    free(late_us);
    return result;
}

static int start_busy(pid_t busy[])
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int count = processors < BUSY_MAX ? (int)processors : BUSY_MAX;
    for (int i = 0; i < count; i++) {
        busy[i] = fork();
        if (busy[i] < 0) fail("fork");
        if (busy[i] != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned turn = 0;; turn++) continue;
    }
    return count;
}

static struct result measure(struct run run, way_function *way, bool noisy)
{
    pid_t busy[BUSY_MAX];
    const int loops = noisy ? start_busy(busy) : 0;
    run.size = (uint64_t)(run.rate * run.seconds * 1.2) + 1000;
    run.start_ns = malloc(run.size * sizeof *run.start_ns);
    if (run.start_ns == NULL) fail("malloc");
    pthread_mutex_init(&run.mutex, NULL);
    run.until_ns = bench_now_ns() + (uint64_t)(run.seconds * 1e9);
    way(&run);
    for (int i = 0; i < loops; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    const struct result result = result_of(&run);
    pthread_mutex_destroy(&run.mutex);
    free(run.start_ns);
    return result;
}

/* ---- tables ---- */

struct wish {
    double rate[RATES_MAX], seconds;
    int rates;
    bool idle, busy, pools;
    const char *weir, *way;
};

static void print_result(const struct result *result)
{
    printf(" | %9.0f %8.2f %8.2f %8.1f", result->error_ppm, result->p50_us / 1e3, result->p99_us / 1e3,
           result->burst_ms);
}

static void print_rates(const struct wish *wish, const char *options)
{
    printf("\nRATE/s %s\n%18s", options, "");
    if (wish->idle) printf(" | %-36s", "idle");
    if (wish->busy) printf(" | %-36s", "next to busy loops");
    printf("\n%8s %-9s", "rate", "way");
    for (int i = 0; i < wish->idle + wish->busy; i++) printf(" | error ppm  p50, ms  p99, ms burst ms");
    printf("\n");
    for (int rate = 0; rate < wish->rates; rate++) {
        for (int way = 0; way < WAY_COUNT; way++) {
            struct run run = {
                .rate = wish->rate[rate], .seconds = wish->seconds, .threads = THREADS, .weir = wish->weir};
            if (WAYS[way].run == by_pace && access(wish->weir, X_OK) != 0) continue;
            if (wish->way != NULL && strcmp(wish->way, WAYS[way].name) != 0) continue;
            snprintf(run.limit, sizeof run.limit, "%.0f/s %s", run.rate, options);
            printf("%8.0f %-9s", run.rate, WAYS[way].name);
            for (int noisy = !wish->idle; noisy <= wish->busy; noisy++) {
                const struct result result = measure(run, WAYS[way].run, noisy);
                print_result(&result);
                fflush(stdout);
            }
            printf("\n");
        }
    }
}

static void print_pools(const struct wish *wish)
{
    static const char *const OPTIONS[] = {"catchup=1", "burst=1 catchup=1"};
    static const int COUNTS[] = {1, 2, 8};
    static const uint64_t MIN_SLEEPS_NS[] = {50000, 1000000};
    printf("\nstarts a second by weir_take_wait\n%-20s %8s %8s", "options", "rate", "sleep us");
    for (int i = 0; i < 3; i++) printf(" %3d thread%s", COUNTS[i], COUNTS[i] == 1 ? " " : "s");
    printf("\n");
    for (int i = 0; i < 2 * 2 * wish->rates; i++) {
        struct run run = {.rate = wish->rate[i % wish->rates], .seconds = wish->seconds};
        run.min_sleep_ns = MIN_SLEEPS_NS[i / wish->rates % 2];
        snprintf(run.limit, sizeof run.limit, "%.0f/s %s", run.rate, OPTIONS[i / wish->rates / 2]);
        printf("%-20s %8.0f %8.0f", OPTIONS[i / wish->rates / 2], run.rate, (double)run.min_sleep_ns / 1e3);
        for (int count = 0; count < 3; count++) {
            run.threads = COUNTS[count];
            printf(" %11.0f", measure(run, by_threads, false).per_s);
            fflush(stdout);
        }
        printf("\n");
    }
}

static void fill_in(struct wish *wish, const double rates[], int count, double seconds)
{
    if (wish->seconds == 0) wish->seconds = seconds;
    for (int i = 0; wish->rates < 1 && i < count; i++) wish->rate[i] = rates[i];
    if (wish->rates == 0) wish->rates = count;
}

static int read_options(struct wish *wish, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "--pools") == 0) wish->pools = true;
        else if (strcmp(argv[i], "--idle") == 0) wish->busy = false;
        else if (strcmp(argv[i], "--busy") == 0) wish->idle = false;
        else if (strcmp(argv[i], "--way") == 0) wish->way = value, i++;
        else if (strcmp(argv[i], "--small") == 0) wish->seconds = 0.02;
        else if (strcmp(argv[i], "--for") == 0) wish->seconds = atof(value), i++;
        else if (strcmp(argv[i], "--rate") == 0 && wish->rates < RATES_MAX)
            wish->rate[wish->rates++] = atof(value), i++;
        else fail(argv[i]);
    }
    return i;
}

int main(int argc, char **argv)
{
    static const double RATES[] = {100, 5000, 12000, 20000}, POOL_RATES[] = {1000, 10000, 100000};
    char weir[4096];
    struct wish wish = {.idle = true, .busy = true, .weir = weir};
    snprintf(weir, sizeof weir, "%.*sweir",
             (int)(strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 - argv[0] : 0), argv[0]);
    const int first = read_options(&wish, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    bench_print_machine();
    if (wish.pools) {
        fill_in(&wish, POOL_RATES, 3, 1);
        print_pools(&wish);
        return 0;
    }
    fill_in(&wish, RATES, 4, 3);
    if (first == argc) print_rates(&wish, "");
    for (int i = first; i < argc; i++) print_rates(&wish, argv[i]);
    return 0;
}
