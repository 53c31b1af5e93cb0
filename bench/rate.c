/* SPDX-License-Identifier: MIT
   Does a limit hold its rate, how late is what it lets start, and what does that cost: by threads, leases, event loops
   and `weir pace`, beside bare sleeps; on an idle machine, and next to as many busy loops as there are processors.

   Error, lateness and burst are of actual starts (harness/pacing.c): 100 ppm are a millisecond in 10 s, at 100/s a
   tenth of a start.  The burst is the most that any window held above the rate, in ms of the rate.  Bare is what wrk2
   and vegeta do: a thread sleeps to the time of each start, and starts all that is due.  `weir pace` is read through a
   pipe, so its starts are when they were read: that is late at times, and makes bursts.  Event loops that take and,
   when refused, come back after retry_ns all come back at the same moment: one has the permit and the others asked in
   vain; those that reserve have a start each.

       bench-rate [OPTION]... [OPTIONS OF A LIMIT]...       for example bench-rate 'burst=100ms' 'catchup=1.1'
           --wait          ways to wait, by rates and threads          --loops  ways of event loops
           --pools         without catch-up, and without a pool
           --for SECONDS   of each run      --rounds N  their median   --small  in a blink: a test that it still works
           --rate RATE     only this one    --threads N  only so many  --way NAME  only this one
           --idle, --busy  only the one of the two
       bench-rate --lines weir|floor RATE THREADS SECONDS   for bench/rivals/run */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/loops.h"
#include "harness/pacing.h"

enum { BUSY_MAX = 64, LIMIT_SIZE = 160, LINE_SIZE = 8, BLOCK = 65536, AGAIN_NS = 1000, AT_ONCE = 64 };

enum table { HOLD, WAIT, LOOPS, POOLS, WEIR_LINES, FLOOR_LINES, TABLES };

struct way {
    enum table table;
    const char *name;
    void (*open)(void *pacer); /* may be NULL, as close */
    unsigned (*acquire)(void *pacer, uint64_t *due_ns);
    void (*close)(void *pacer);
    uint64_t grain_ns, spin_ns;
    unsigned long slack_ns;
    bool single, bare; /* one thread only; no limiter */
};

/* What the threads of a run share. */
struct subject {
    const struct way *way;
    char limit[LIMIT_SIZE];
    weir_limiter *limiter;
    double interval_ns;
    int threads;
    struct atom begin_ns, asks;
};

struct pacer {
    alignas(BENCH_CACHE_LINE) weir_lease lease;
    struct subject *subject;
    uint64_t place; /* bare: of its next start in the schedule */
    uint64_t asks;
    int events, timer, in, out;
    pid_t child;
    pthread_t feeder;
};

/* ---- threads ---- */

static unsigned started(weir_decision decision, uint64_t *due_ns)
{
    *due_ns = decision.start.ns;
    return (unsigned)decision.charged;
}

static unsigned wait_take(void *own, uint64_t *due_ns)
{
    struct pacer *pacer = own;
    pacer->asks++;
    return started(weir_take_wait(pacer->subject->limiter, 1, WEIR_FOREVER), due_ns);
}

static unsigned wait_lease(void *own, uint64_t *due_ns)
{
    struct pacer *pacer = own;
    pacer->asks++;
    return started(weir_lease_take_wait(&pacer->lease, 1, WEIR_FOREVER), due_ns);
}

static void open_lease(void *own)
{
    struct pacer *pacer = own;
    weir_error error;
    if (weir_lease_open(&pacer->lease, pacer->subject->limiter, &error) != 0) bench_fail("%s", error.message);
}

static void close_lease(void *own)
{
    weir_lease_close(&((struct pacer *)own)->lease);
}

/* ---- bare sleeps: each thread has its share of the schedule ---- */

static unsigned sleep_bare(void *own, uint64_t *due_ns)
{
    struct pacer *pacer = own;
    struct subject *subject = pacer->subject;
    const uint64_t now_ns = host_now_ns();
    uint64_t begin_ns = 0;
    const bool is_first = pacer->place < (uint64_t)subject->threads;
    if (is_first) prctl(PR_SET_TIMERSLACK, subject->way->slack_ns, 0UL, 0UL, 0UL); /* the harness has slept with 1 */
    if (atom_swap(&subject->begin_ns, &begin_ns, now_ns)) begin_ns = now_ns;
    *due_ns = begin_ns + (uint64_t)((double)pacer->place * subject->interval_ns);
    pacer->place += (uint64_t)subject->threads;
    const struct timespec due = {(time_t)(*due_ns / HOST_SECOND_NS), (long)(*due_ns % HOST_SECOND_NS)};
    while (host_now_ns() < *due_ns) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    return 1;
}

/* ---- event loops, each with an epoll and a timerfd ---- */

static void open_loop(void *own)
{
    struct pacer *pacer = own;
    struct epoll_event event = {.events = EPOLLIN};
    open_lease(own);
    pacer->events = epoll_create1(EPOLL_CLOEXEC);
    pacer->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (epoll_ctl(pacer->events, EPOLL_CTL_ADD, pacer->timer, &event) != 0) bench_fail("epoll: %s", strerror(errno));
}

static void close_loop(void *own)
{
    struct pacer *pacer = own;
    close_lease(own);
    close(pacer->timer);
    close(pacer->events);
}

static void come_back(const struct pacer *pacer, uint64_t at_ns)
{
    const struct itimerspec when = {.it_value = {(time_t)(at_ns / HOST_SECOND_NS), (long)(at_ns % HOST_SECOND_NS)}};
    struct epoll_event event;
    timerfd_settime(pacer->timer, TFD_TIMER_ABSTIME, &when, NULL); /* clears what had fired: nothing to read */
    epoll_wait(pacer->events, &event, 1, 1000);
}

static weir_decision take(struct pacer *pacer)
{
    return weir_take(pacer->subject->limiter, 1);
}

static weir_decision take_some(struct pacer *pacer)
{
    return weir_take_some(pacer->subject->limiter, AT_ONCE);
}

static weir_decision take_lease(struct pacer *pacer)
{
    return weir_lease_take(&pacer->lease, 1);
}

static unsigned loop(struct pacer *pacer, weir_decision (*ask)(struct pacer *pacer), uint64_t *due_ns)
{
    for (;;) {
        const weir_decision decision = ask(pacer);
        pacer->asks++;
        if (decision.verdict != WEIR_DENY) return started(decision, due_ns);
        come_back(pacer, host_now_ns() + (decision.retry_ns != 0 ? decision.retry_ns : AGAIN_NS));
    }
}

static unsigned loop_take(void *own, uint64_t *due_ns)
{
    return loop(own, take, due_ns);
}

static unsigned loop_some(void *own, uint64_t *due_ns)
{
    return loop(own, take_some, due_ns);
}

static unsigned loop_lease(void *own, uint64_t *due_ns)
{
    return loop(own, take_lease, due_ns);
}

static unsigned loop_reserve(void *own, uint64_t *due_ns)
{
    struct pacer *pacer = own;
    const weir_decision reserved = weir_reserve(pacer->subject->limiter, 1, WEIR_FOREVER);
    pacer->asks++;
    while (host_now_ns() < reserved.start.ns) come_back(pacer, reserved.start.ns);
    return started(reserved, due_ns);
}

/* ---- weir pace, between two pipes ---- */

static void *feed(void *argument)
{
    static char block[BLOCK];
    for (int i = 0; i < BLOCK; i++) block[i] = (i + 1) % LINE_SIZE == 0 ? '\n' : '7';
    while (write(*(int *)argument, block, sizeof block) > 0) continue; /* until nobody reads */
    return NULL;
}

static void open_pace(void *own)
{
    struct pacer *pacer = own;
    char weir[BENCH_PATH_SIZE];
    int to[2], from[2];
    bench_beside("weir", weir);
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) bench_fail("pipe: %s", strerror(errno));
    pacer->child = fork();
    if (pacer->child < 0) bench_fail("fork: %s", strerror(errno));
    if (pacer->child == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(weir, weir, "pace", pacer->subject->limit, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    pacer->in = to[1];
    pacer->out = from[0];
    if (pthread_create(&pacer->feeder, NULL, feed, &pacer->in) != 0) bench_fail("no thread");
}

static unsigned read_lines(void *own, uint64_t *due_ns)
{
    static char block[BLOCK];
    const ssize_t size = read(((struct pacer *)own)->out, block, sizeof block);
    (void)due_ns;
    if (size <= 0) bench_fail("weir pace has ended");
    return (unsigned)size / LINE_SIZE;
}

static void close_pace(void *own)
{
    struct pacer *pacer = own;
    kill(pacer->child, SIGKILL);
    close(pacer->out);
    pthread_join(pacer->feeder, NULL);
    close(pacer->in);
    waitpid(pacer->child, NULL, 0);
}

#define BARE NULL, sleep_bare, NULL
#define LEASE open_lease, wait_lease, close_lease
#define LOOP(acquire) open_loop, acquire, close_loop

static const struct way WAYS[] = {
    {HOLD, "threads", NULL, wait_take, NULL, 0, 0, 0, false, false},
    {HOLD, "epoll", LOOP(loop_take), 0, 0, 0, true, false},
    {HOLD, "leases", LEASE, 0, 0, 0, false, false},
    {HOLD, "weir pace", open_pace, read_lines, close_pace, 0, 0, 0, true, true},
    {HOLD, "bare", BARE, 0, 0, 1, true, true},
    {WAIT, "bare", BARE, 0, 0, 1, false, true},
    {WAIT, "take", NULL, wait_take, NULL, 0, 0, 0, false, false},
    {WAIT, "lease", LEASE, 0, 0, 0, false, false},
    {WAIT, "lease 10us", LEASE, 10000, 0, 0, false, false},
    {WAIT, "lease 1ms", LEASE, 1000000, 0, 0, false, false},
    {WAIT, "lease spin", LEASE, 0, 20000, 0, false, false},
    {LOOPS, "take", LOOP(loop_take), 0, 0, 0, false, false},
    {LOOPS, "take_some", LOOP(loop_some), 0, 0, 0, false, false},
    {LOOPS, "lease", LOOP(loop_lease), 0, 0, 0, false, false},
    {LOOPS, "reserve", LOOP(loop_reserve), 0, 0, 0, false, false},
    {POOLS, "grain 50us", NULL, wait_take, NULL, 50000, 0, 0, false, false},
    {POOLS, "grain 1ms", NULL, wait_take, NULL, 1000000, 0, 0, false, false},
    {WEIR_LINES, "weir_take_wait", NULL, wait_take, NULL, 0, 0, 0, false, false},
    {WEIR_LINES, "weir_lease", LEASE, 0, 0, 0, false, false},
    {WEIR_LINES, "weir_lease, grain 1 ms", LEASE, 1000000, 0, 0, false, false},
    {FLOOR_LINES, "bare sleep, slack 50 us", BARE, 0, 0, 50000, false, true},
    {FLOOR_LINES, "bare sleep, slack 1 ns", BARE, 0, 0, 1, false, true},
};

enum { WAY_COUNT = sizeof WAYS / sizeof WAYS[0] };

/* ---- a run ---- */

static void *join(void *argument, int index)
{
    struct subject *subject = argument;
    struct pacer *pacer = aligned_alloc(BENCH_CACHE_LINE, sizeof *pacer);
    if (pacer == NULL) bench_fail("no memory");
    memset(pacer, 0, sizeof *pacer);
    pacer->subject = subject;
    pacer->place = (uint64_t)index;
    if (subject->way->open != NULL) subject->way->open(pacer);
    return pacer;
}

static void leave(void *own)
{
    struct pacer *pacer = own;
    if (pacer->subject->way->close != NULL) pacer->subject->way->close(pacer);
    atom_add(&pacer->subject->asks, pacer->asks);
    free(pacer);
}

static void halt(void *argument)
{
    const struct subject *subject = argument;
    if (subject->limiter != NULL) weir_stop(subject->limiter);
}

static void open_limiter(struct subject *subject)
{
    weir_options options = WEIR_OPTIONS;
    weir_error error;
    options.use = WEIR_PACE;
    options.grain_ns = subject->way->grain_ns;
    options.spin_ns = subject->way->spin_ns;
    if (weir_open(&subject->limiter, subject->limit, &options, &error) != 0)
        bench_fail("%s: %s", subject->limit, error.message);
}

static struct pacing open_subject(struct subject *subject, const struct way *way, const char *options,
                                  const struct pace *pace)
{
    *subject = (struct subject){.way = way, .interval_ns = HOST_SECOND_NS / pace->rate_per_s, .threads = pace->threads};
    snprintf(subject->limit, LIMIT_SIZE, "%.0f/s %s", pace->rate_per_s, options);
    if (!way->bare) open_limiter(subject);
    return (struct pacing){way->name, join, way->acquire, leave, halt, subject};
}

static int start_busy(pid_t busy[])
{
    const int count = host_processors() < BUSY_MAX ? (int)host_processors() : BUSY_MAX;
    for (int i = 0; i < count; i++) {
        busy[i] = fork();
        if (busy[i] < 0) bench_fail("fork: %s", strerror(errno));
        if (busy[i] != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned turn = 0;; turn++) continue;
    }
    return count;
}

enum { ASKS = PACING_FIGURES, FIGURES };

static void measure(const struct way *way, const char *options, const struct pace *pace, bool noisy,
                    double figure[FIGURES])
{
    struct subject subject;
    pid_t busy[BUSY_MAX];
    const struct pacing pacing = open_subject(&subject, way, options, pace);
    const int loops = noisy ? start_busy(busy) : 0;
    pacing_run(&pacing, pace, figure);
    figure[ASKS] = (double)atom_load(&subject.asks) / figure[PACING_STARTS];
    for (int i = 0; i < loops; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    weir_close(subject.limiter);
}

/* ---- tables ---- */

struct wish {
    enum table table;
    double rate[BENCH_RATES_MAX], seconds;
    int threads[BENCH_COUNTS_MAX], rounds;
    const char *options[BENCH_COUNTS_MAX];
    const char *way;
    bool idle, busy;
};

static const struct wish USUAL[] = {
    [HOLD] = {HOLD, {100, 5000, 12000, 20000}, 3, {4}, 1, {""}, NULL, true, true},
    [WAIT] = {WAIT, {1e3, 1e4, 1e5, 1e6, 1e7}, 0.5, {1, 8, 64}, 3, {"catchup=1.1"}, NULL, true, false},
    [LOOPS] = {LOOPS, {20000}, 5, {1, 4}, 3, {"burst=10ms catchup=1.1"}, NULL, true, false},
    [POOLS] = {POOLS, {1e3, 1e4, 1e5}, 1, {1, 2, 8}, 1, {"catchup=1", "burst=1 catchup=1"}, NULL, true, false},
};

static void print_row(const struct wish *wish, const struct way *way, const char *options, struct pace pace, bool noisy)
{
    const struct {
        int figure, width, places;
        double scale;
    } columns[] = {{PACING_PER_S, 10, 0, 1},     {PACING_ERROR_PPM, 9, 0, 1},
                   {PACING_P50_NS, 9, 1, 1e-3},  {PACING_P99_NS, 9, 1, 1e-3},
                   {PACING_P999_NS, 9, 1, 1e-3}, {PACING_BURST, 8, 1, 1e3 / pace.rate_per_s},
                   {PACING_PROCESSOR, 6, 2, 1},  {ASKS, 7, 3, 1},
                   {PACING_SLEEPS, 7, 3, 1},     {PACING_INVERTED, 8, 4, 1}};
    struct bench_series series[FIGURES];
    double figure[FIGURES];
    if (way->single) pace.threads = 1;
    for (int round = 0; round < wish->rounds; round++) {
        measure(way, options, &pace, noisy, figure);
        for (int i = PACING_P50_NS; i <= PACING_P999_NS; i++) figure[i] -= figure[PACING_FIRST_NS];
        for (int i = 0; i < FIGURES; i++) series[i].round[round] = figure[i];
    }
    for (int i = 0; i < FIGURES; i++) figure[i] = bench_spread(&series[i], wish->rounds).median;
    printf("%8.0f %7d %-10s %-4s", pace.rate_per_s, pace.threads, way->name, noisy ? "busy" : "idle");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        bench_print_number(figure[columns[i].figure] * columns[i].scale, columns[i].width, columns[i].places);
    printf("\n");
    fflush(stdout);
}

static void print_rows(const struct wish *wish, const char *options, struct pace pace)
{
    for (int way = 0; way < WAY_COUNT; way++) {
        if (WAYS[way].table != wish->table) continue;
        if (wish->way != NULL && strcmp(wish->way, WAYS[way].name) != 0) continue;
        for (int noisy = !wish->idle; noisy <= wish->busy; noisy++)
            print_row(wish, &WAYS[way], options, pace, noisy != 0);
    }
}

static void print_table(const struct wish *wish)
{
    for (int i = 0; i < BENCH_COUNTS_MAX && wish->options[i] != NULL; i++) {
        printf("\nRATE/s %s\n%8s %7s %-15s %10s %9s %9s %9s %9s %8s %6s %7s %7s %8s\n", wish->options[i], "rate",
               "threads", "way", "starts/s", "error ppm", "p50 us", "p99 us", "p99.9 us", "burst ms", "cpu/s", "asks",
               "sleeps", "inverted");
        for (int count = 0; count < BENCH_COUNTS_MAX && wish->threads[count] != 0; count++) {
            for (int rate = 0; rate < BENCH_RATES_MAX && wish->rate[rate] > 0; rate++) {
                print_rows(wish, wish->options[i],
                           (struct pace){wish->rate[rate], wish->seconds, wish->threads[count]});
            }
        }
    }
    printf("\nasks, sleeps: for each start.  inverted: share of starts behind one that was due later.  -: not "
           "measured.\n");
}

static int print_lines(int argc, char **argv)
{
    if (argc != 6) bench_fail("--lines weir|floor RATE THREADS SECONDS");
    const enum table table = strcmp(argv[2], "floor") == 0 ? FLOOR_LINES : WEIR_LINES;
    const struct pace pace = pacing_read(argv + 3);
    for (int way = 0; way < WAY_COUNT; way++) {
        struct subject subject;
        if (WAYS[way].table != table) continue;
        const struct pacing pacing = open_subject(&subject, &WAYS[way], "catchup=1.1", &pace);
        pacing_print_line(&pacing, &pace);
        weir_close(subject.limiter);
    }
    return 0;
}

static void read_option(struct wish *wish, const char *name, const char *value)
{
    const double number = value != NULL ? atof(value) : 0;
    if (strcmp(name, "--way") == 0 && value != NULL) wish->way = value;
    else if (!(number > 0)) bench_fail("%s: expected an option and its value", name);
    else if (strcmp(name, "--for") == 0) wish->seconds = number;
    else if (strcmp(name, "--rounds") == 0 && number <= BENCH_ROUNDS_MAX) wish->rounds = (int)number;
    else if (strcmp(name, "--rate") == 0) memcpy(wish->rate, (double[BENCH_RATES_MAX]){number}, sizeof wish->rate);
    else if (strcmp(name, "--threads") == 0 && number <= PACING_THREADS_MAX)
        memcpy(wish->threads, (int[BENCH_COUNTS_MAX]){(int)number}, sizeof wish->threads);
    else bench_fail("%s %s: there is no such option", name, value);
}

static enum table table_of(int argc, char **argv)
{
    static const char *const NAMES[] = {[WAIT] = "--wait", [LOOPS] = "--loops", [POOLS] = "--pools"};
    for (int table = WAIT; table <= POOLS; table++) {
        for (int i = 1; i < argc; i++) {
            if (strcmp(argv[i], NAMES[table]) == 0) return (enum table)table;
        }
    }
    return HOLD;
}

static struct wish read_wish(int argc, char **argv)
{
    struct wish wish = USUAL[table_of(argc, argv)];
    int i = 1, given = 0;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--idle") == 0) wish.busy = false;
        else if (strcmp(argv[i], "--busy") == 0) wish.idle = false;
        else if (strcmp(argv[i], "--small") == 0) wish.seconds = 0.02, wish.rounds = 1;
        else if (strcmp(argv[i], "--wait") != 0 && strcmp(argv[i], "--loops") != 0 && strcmp(argv[i], "--pools") != 0)
            read_option(&wish, argv[i], argv[i + 1]), i++;
    }
    for (; i < argc && given < BENCH_COUNTS_MAX; i++) wish.options[given++] = argv[i];
    return wish;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && strcmp(argv[1], "--lines") == 0) return print_lines(argc, argv);
    const struct wish wish = read_wish(argc, argv);
    bench_print_machine();
    print_table(&wish);
    return 0;
}
