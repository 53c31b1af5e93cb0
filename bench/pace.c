/* SPDX-License-Identifier: MIT
   Does `weir pace` hold the rate, how late is each line, and what happens after the reader has stopped?

   The command itself runs as a child: lines go in through a pipe, its summary comes back as JSON.  Beside it, in the
   same run: how late the machine wakes a thread that does nothing but sleep to absolute times, and how fast the same
   pipe is with a consumer that only copies.

   The stall is measured at the far end of the pipe, not by weir.

       bench-pace [--small] [PATH OF weir]       exit status 77: there is no weir, or it has no pace */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { LINE_SIZE = 8, BLOCK_SIZE = 65536, TEXT_SIZE = 8192, PATH_SIZE = 4096, SLEEPS_MAX = 40000 };
enum { LONG_LINE = 1024, PIPE_LINES = 4, WINDOW_NS = 100000000, SLACK_USUAL_NS = 50000 };

static const uint64_t PIPE_FLOOR_LINES = 100000000;
static const double SLEEPS_PER_S_MAX = 12345; /* above it a sleep is longer than the interval */

/* ---- a child between two pipes ---- */

struct child {
    pid_t pid;
    int in, out, error; /* ours: to write to, to read from */
    double processor_s;
    int status;
    char text[TEXT_SIZE]; /* what it said on stderr */
};

struct feed {
    int to;
    uint64_t lines, line_size;
    pthread_t thread;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench-pace: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
}

static void copy_to_null(void)
{
    static char block[BLOCK_SIZE];
    for (ssize_t size = 1; size > 0;) {
        size = read(STDIN_FILENO, block, sizeof block);
        if (size > 0) size = write(STDOUT_FILENO, block, (size_t)size);
    }
    _exit(0);
}

/* weir NULL: a consumer that only copies.  Without want_output what it prints goes to /dev/null. */
static struct child start(const char *weir, const char *limit, bool want_output)
{
    struct child child = {0};
    int in[2], out[2] = {-1, -1}, error[2];
    open_pipe(in);
    open_pipe(error);
    if (want_output) open_pipe(out);
    child.pid = fork();
    if (child.pid < 0) fail("fork");
    if (child.pid == 0) {
        const int to = want_output ? out[1] : open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(in[0], STDIN_FILENO);
        dup2(to, STDOUT_FILENO);
        dup2(error[1], STDERR_FILENO);
        close(in[1]);
        signal(SIGPIPE, SIG_DFL);
        if (weir == NULL) copy_to_null();
        execl(weir, weir, "pace", limit, "--json", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(error[1]);
    if (want_output) close(out[1]);
    child.in = in[1];
    child.out = out[0];
    child.error = error[0];
    return child;
}

/* The summary is short: it fits in the pipe, so nobody has to read it before the end. */
static void finish(struct child *child)
{
    struct rusage usage;
    size_t length = 0;
    for (ssize_t got = 1; got > 0 && length + 1 < sizeof child->text;) {
        got = read(child->error, child->text + length, sizeof child->text - 1 - length);
        if (got > 0) length += (size_t)got;
    }
    child->text[length] = '\0';
    if (wait4(child->pid, &child->status, 0, &usage) != child->pid) fail("wait4");
    child->processor_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    close(child->error);
    if (child->out >= 0) close(child->out);
}

/* Writes whole blocks of lines, the last one cut; closes the pipe. */
static void *feed_lines(void *argument)
{
    struct feed *feed = argument;
    static char block[BLOCK_SIZE];
    for (uint64_t i = 0; i < BLOCK_SIZE; i++) block[i] = (i + 1) % feed->line_size == 0 ? '\n' : '7';
    for (uint64_t left = feed->lines * feed->line_size; left > 0;) {
        const ssize_t written = write(feed->to, block, left < BLOCK_SIZE ? left : BLOCK_SIZE);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 || (uint64_t)written % feed->line_size != 0) break; /* a blocking pipe takes all, or is gone */
        left -= (uint64_t)written;
    }
    close(feed->to);
    return NULL;
}

static struct feed start_feed(const struct child *child, uint64_t lines, uint64_t line_size)
{
    return (struct feed){.to = child->in, .lines = lines, .line_size = line_size};
}

static void run_feed(struct feed *feed)
{
    if (pthread_create(&feed->thread, NULL, feed_lines, feed) != 0) fail("pthread_create");
}

/* ---- the summary ---- */

/* The number after "key": in the JSON line, looked for behind "group" where one is given; false when not there. */
static bool number_of(const char *text, const char *group, const char *key, double *value)
{
    char quoted[64];
    const char *at = strchr(text, '{');
    if (at != NULL && group != NULL) {
        snprintf(quoted, sizeof quoted, "\"%s\"", group);
        at = strstr(at, quoted);
    }
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    if (at != NULL) at = strstr(at, quoted);
    if (at == NULL) return false;
    at += strlen(quoted);
    at += strspn(at, " :");
    char *end;
    *value = strtod(at, &end);
    return end != at;
}

static double number_or_fail(const struct child *child, const char *group, const char *key)
{
    double value;
    if (number_of(child->text, group, key, &value)) return value;
    fprintf(stderr, "bench-pace: the summary has no %s:\n%s\n", key, child->text);
    exit(1);
}

static bool has_pace(const char *weir)
{
    double rate;
    struct child child = start(weir, "1000/s", false);
    struct feed feed = start_feed(&child, 2, LINE_SIZE);
    run_feed(&feed);
    pthread_join(feed.thread, NULL);
    finish(&child);
    if (child.status == 0 && number_of(child.text, NULL, "achieved_per_s", &rate)) return true;
    fprintf(stderr, "bench-pace: \"%s pace 1000/s --json\" gave no summary, so nothing can be measured%s%s\n", weir,
            child.text[0] != '\0' ? "; it said:\n" : "", child.text);
    return false;
}

/* ---- floors ---- */

struct lateness {
    double p50_us, p99_us;
};

/* Sleeps to every 1/rate of a second; returns how late it woke. */
static struct lateness sleep_floor(double rate, double seconds, unsigned long slack_ns)
{
    static double late_us[SLEEPS_MAX];
    const int wanted = (int)(rate * seconds) + 2;
    const int count = wanted < SLEEPS_MAX ? wanted : SLEEPS_MAX;
    prctl(PR_SET_TIMERSLACK, slack_ns, 0UL, 0UL, 0UL);
    const uint64_t begin_ns = bench_now_ns() + 1000000;
    for (int i = 0; i < count; i++) {
        const uint64_t when_ns = begin_ns + (uint64_t)(i / rate * 1e9);
        const struct timespec when = {(time_t)(when_ns / BENCH_SECOND_NS), (long)(when_ns % BENCH_SECOND_NS)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR) continue;
        late_us[i] = (double)(bench_now_ns() - when_ns) / 1e3;
    }
    prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); /* a child starts with what its parent has */
    return (struct lateness){bench_quantile(late_us, count, 0.5), bench_quantile(late_us, count, 0.99)};
}

/* Million lines a second through a pipe. */
static double pipe_rate(const char *weir, const char *limit, uint64_t lines)
{
    const uint64_t begin_ns = bench_now_ns();
    struct child child = start(weir, limit, false);
    struct feed feed = start_feed(&child, lines, LINE_SIZE);
    run_feed(&feed);
    pthread_join(feed.thread, NULL);
    finish(&child);
    return child.status == 0 ? (double)lines * 1e3 / (double)(bench_now_ns() - begin_ns) : 0;
}

static void print_pipe_floor(const char *weir, bool small)
{
    const uint64_t lines = small ? PIPE_FLOOR_LINES / 1000 : PIPE_FLOOR_LINES;
    const double copied = pipe_rate(NULL, NULL, lines), free_run = pipe_rate(weir, "unlimited", lines / 4);
    printf("\npipe, lines of %d bytes: to a plain copy %.1f M lines/s", LINE_SIZE, copied);
    if (free_run > 0) printf("; to weir pace unlimited %.1f M/s, %.2f of it", free_run, free_run / copied);
    printf("\n");
}

/* ---- accuracy ---- */

static void print_microseconds(double microseconds)
{
    if (microseconds < 1000) printf(" %5.1fus", microseconds);
    else printf(" %5.2fms", microseconds / 1e3);
}

static void print_accuracy(const char *weir, const char *limit, double rate, double seconds)
{
    static const char *const QUANTILES[] = {"p50", "p90", "p99", "p999", "max"};
    const uint64_t lines = (uint64_t)(rate * seconds) + 1;
    struct child child = start(weir, limit, false);
    struct feed feed = start_feed(&child, lines, LINE_SIZE);
    run_feed(&feed);
    pthread_join(feed.thread, NULL);
    finish(&child);
    const double elapsed_s = number_or_fail(&child, NULL, "elapsed_s");
    const double granted = number_or_fail(&child, NULL, "granted");
    const double target = number_or_fail(&child, NULL, "target_per_s");
    if (child.status != 0 || granted != (double)lines) {
        fprintf(stderr, "bench-pace: weir let %.0f lines of %.0f through\n", granted, (double)lines);
        exit(1);
    }
    const double error_ppm = (number_or_fail(&child, NULL, "achieved_per_s") / target - 1) * 1e6;
    printf("%-13s %10.1f", limit, error_ppm);
    for (int i = 0; i < 5; i++) print_microseconds(number_or_fail(&child, "late_ns", QUANTILES[i]) / 1e3);
    print_microseconds(number_or_fail(&child, "behind_ns", "max") / 1e3);
    printf(" %6.2f", elapsed_s > 0 ? child.processor_s / elapsed_s : 0);
}

static void print_floors(double rate, double seconds)
{
    const double sleeps = rate < SLEEPS_PER_S_MAX ? rate : SLEEPS_PER_S_MAX;
    const struct lateness with_slack = sleep_floor(sleeps, seconds, SLACK_USUAL_NS);
    const struct lateness without = sleep_floor(sleeps, seconds, 1);
    printf(" |");
    print_microseconds(with_slack.p50_us);
    print_microseconds(with_slack.p99_us);
    print_microseconds(without.p50_us);
    print_microseconds(without.p99_us);
    printf("\n");
    fflush(stdout);
}

static void print_accuracies(const char *weir, bool small)
{
    static const double RATES[] = {1, 10, 1000, 12345, 1e6, 1e7};
    const double seconds = small ? 0.05 : 3;
    printf("\n%72s | %s\n%-13s %10s %7s %7s %7s %7s %7s %7s %6s | %7s %7s %7s %7s\n", "late",
           "bare sleep, slack 50us / 1ns", "limit", "error ppm", "p50", "p90", "p99", "p99.9", "max", "behind", "cpu/s",
           "p50", "p99", "p50", "p99");
    for (size_t i = small ? 2 : 0; i < sizeof RATES / sizeof RATES[0]; i++) {
        for (int fast = 0; fast < 2; fast++) {
            char limit[32];
            snprintf(limit, sizeof limit, "%.0f%s", RATES[i], fast ? "" : ",1");
            print_accuracy(weir, limit, RATES[i], seconds);
            print_floors(RATES[i], seconds / 3);
        }
    }
    printf(
        "\nerror: (lines - 1) / (last - first) against the target, in millionths.  behind: the most it was behind its\n"
        "schedule; at catch-up 1 what the machine took away for longer than the pool of 10 ms is not made up.\n"
        "cpu/s: processor seconds of weir in a second.  bare sleep: how late it wakes at the same rate, at most\n"
        "%.0f/s, in the seconds after.\n",
        SLEEPS_PER_S_MAX);
}

/* ---- a stall ---- */

/* lines had come by ns. */
struct arrival {
    uint64_t ns, lines;
};

struct arrivals {
    struct arrival *at;
    size_t count;
};

static void read_all(struct arrivals *arrivals, int from, uint64_t stall_at_ns, uint64_t stall_ns)
{
    static char block[BLOCK_SIZE];
    uint64_t bytes = 0;
    bool stalled = false;
    for (;;) {
        const ssize_t size = read(from, block, sizeof block);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return;
        bytes += (uint64_t)size;
        const uint64_t now_ns = bench_now_ns();
        arrivals->at[arrivals->count++] = (struct arrival){now_ns, bytes / LONG_LINE};
        if (!stalled && now_ns - arrivals->at[0].ns >= stall_at_ns) {
            const struct timespec length = {(time_t)(stall_ns / BENCH_SECOND_NS), (long)(stall_ns % BENCH_SECOND_NS)};
            nanosleep(&length, NULL);
            stalled = true;
        }
    }
}

static uint64_t most_in_window(const struct arrivals *arrivals, uint64_t window_ns)
{
    uint64_t most = 0;
    size_t first = 0;
    for (size_t i = 0; i < arrivals->count; i++) {
        while (arrivals->at[i].ns - arrivals->at[first].ns > window_ns) first++;
        const uint64_t before = first > 0 ? arrivals->at[first - 1].lines : 0;
        const uint64_t lines = arrivals->at[i].lines - before;
        if (lines > most) most = lines;
    }
    return most;
}

/* The first arrival behind the stall that is on schedule again, or the last of all. */
static size_t caught_up(const struct arrivals *arrivals, size_t resumed, double rate)
{
    for (size_t i = resumed; i < arrivals->count; i++) {
        const double due = (double)(arrivals->at[i].ns - arrivals->at[0].ns) / 1e9 * rate;
        if ((double)arrivals->at[i].lines >= due) return i;
    }
    return arrivals->count - 1;
}

static size_t after_longest_gap(const struct arrivals *arrivals)
{
    size_t resumed = 1;
    for (size_t i = 1; i < arrivals->count; i++) {
        const uint64_t gap = arrivals->at[i].ns - arrivals->at[i - 1].ns;
        if (gap > arrivals->at[resumed].ns - arrivals->at[resumed - 1].ns) resumed = i;
    }
    return resumed;
}

/* A pace keeps a pool of 1 ms. */
static void print_stall_row(const struct arrivals *arrivals, const char *limit, double rate, double ratio, double over)
{
    const size_t resumed = after_longest_gap(arrivals), end = caught_up(arrivals, resumed, rate);
    const struct arrival *at = arrivals->at, *last = &at[arrivals->count - 1];
    const double bound = rate * 0.001 * ratio + ratio * rate * (double)WINDOW_NS / 1e9;
    const double behind = (double)(last->ns - at[0].ns) / 1e9 - (double)(last->lines - 1) / rate;
    const double seconds = (double)(at[end].ns - at[resumed].ns) / 1e9;
    printf("%-10s %14llu %8.0f %10.0f %11.2fs %13.1f/s %13.1fs %14.4fs\n", limit,
           (unsigned long long)most_in_window(arrivals, WINDOW_NS), ceil(bound - 1e-6), over,
           (double)(at[resumed].ns - at[resumed - 1].ns) / 1e9,
           seconds > 0 ? (double)(at[end].lines - at[resumed].lines) / seconds : 0,
           end + 1 < arrivals->count ? seconds : -1, behind);
}

/* Long lines and the smallest pipe, so that what waits in the pipe is PIPE_LINES lines and not half a second's. */
static void stall(const char *weir, const char *limit, double rate, double ratio, bool small)
{
    const double stall_s = small ? 0.05 : 1, seconds = stall_s * 14;
    const uint64_t lines = (uint64_t)(rate * seconds);
    struct arrivals arrivals = {calloc(lines * 2 + 16, sizeof(struct arrival)), 0};
    struct child child = start(weir, limit, true);
    struct feed feed = start_feed(&child, lines, LONG_LINE);
    if (arrivals.at == NULL || fcntl(child.out, F_SETPIPE_SZ, PIPE_LINES * LONG_LINE) < 0) fail("pipe size");
    run_feed(&feed);
    read_all(&arrivals, child.out, (uint64_t)(stall_s * 2e9), (uint64_t)(stall_s * 1e9));
    pthread_join(feed.thread, NULL);
    finish(&child);
    if (arrivals.count == 0 || arrivals.at[arrivals.count - 1].lines != lines) {
        fprintf(stderr, "bench-pace: lines were lost\n");
        exit(1);
    }
    print_stall_row(&arrivals, limit, rate, ratio, number_or_fail(&child, NULL, "over"));
    free(arrivals.at);
}

static void print_stalls(const char *weir, bool small)
{
    printf("\nThe reader stops for %s.  Seen at his end, where up to %d lines more have waited in the pipe;\n"
           "over: what weir says of any window.  -1 = not caught up by the end.\n\n"
           "limit      most in 100 ms    bound       over  longest gap  rate after it     caught up   late at end\n",
           small ? "50 ms" : "a second", PIPE_LINES);
    stall(weir, "12000,1.1", 12000, 1.1, small);
    stall(weir, "12000", 12000, 1, small);
}

/* ---- all of it ---- */

static void beside_this_program(char path[PATH_SIZE])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_SIZE - 8);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash + 1 : path, 8, "weir");
}

int main(int argc, char **argv)
{
    char weir[PATH_SIZE];
    bool small = false;
    beside_this_program(weir);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) small = true;
        else snprintf(weir, sizeof weir, "%s", argv[i]);
    }
    signal(SIGPIPE, SIG_IGN);
    if (access(weir, X_OK) != 0) {
        fprintf(stderr, "bench-pace: there is no %s; build it, or give its path\n", weir);
        return BENCH_LACKING;
    }
    if (!has_pace(weir)) return BENCH_LACKING;
    bench_print_machine();
    print_accuracies(weir, small);
    print_pipe_floor(weir, small);
    print_stalls(weir, small);
    return 0;
}
