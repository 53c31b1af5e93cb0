/* SPDX-License-Identifier: MIT
   How fast `weir replay` reads a log, beside what only counts its lines and what only parses them.

   A log by bench-loggen; then, taking turns: `wc -l`, the parser of src/format alone in a loop, and the command with
   one limit and with two.  Each is a process of its own, measured by the clock and by the processor time it took: the
   latter says what one core can do where others share the machine.

   Each saw every line, or it fails.

       bench-replay [--lines N]     10 M lines of combined log, and a tenth of that in the other formats
       bench-replay --small         the same in a blink: a test that it still works */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "format/log/accesslog.h"

enum {
    ROUNDS = 3,
    BLOCK_SIZE = 1 << 20,
    OUTPUT_SIZE = 1 << 16,
    LINES_USUAL = 10000000,
    LINES_SMALL = 3000,
    SHARE = 10
};

enum who { COUNTER, PARSER, REPLAY_ONE, REPLAY_TWO, WHOS };
static const char *const NAMES[WHOS] = {"wc -l", "bare parser", "weir replay", "weir replay, two limits"};

#define WITH_TIME                                                                                                      \
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" "               \
    "\"$http_user_agent\" $request_time"

static const struct kind {
    const char *generated, *format;
} KINDS[] = {{"combined", "combined"}, {"combined_time", WITH_TIME}, {"json", "json"}, {"csv", "csv"}};

enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

struct figures {
    double seconds, processor_s;
};

struct job {
    const struct kind *kind;
    uint64_t lines;
    char file[PATH_MAX];
    const char *weir, *loggen;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-replay: %s: %s\n", what, why);
    exit(1);
}

/* Beside this program. */
static const char *find(const char *name, char path[PATH_MAX])
{
    const ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 64);
    if (size < 0) fail("/proc/self/exe", strerror(errno));
    path[size] = '\0';
    strcpy(strrchr(path, '/') + 1, name);
    return path;
}

/* ---- the bare parser ---- */

struct parsing {
    struct accesslog log;
    uint64_t entries;
    bool open;
};

static bool parse_line(struct parsing *parsing, const char *format, struct slice line)
{
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    if (!parsing->open) {
        parsing->open = accesslog_open(&parsing->log, format, line, &problem);
        if (!parsing->open || accesslog_want(&parsing->log, "client", &problem) < 0) return false;
        if (accesslog_is_header(&parsing->log, line)) return true;
    }
    if (!accesslog_read(&parsing->log, line, &entry, &problem) || entry.field[0].size == 0) return false;
    parsing->entries++;
    return true;
}

/* Exit status 0 when each line was an entry. */
static int parse(const struct job *job)
{
    static char block[BLOCK_SIZE];
    static struct parsing parsing;
    const int from = open(job->file, O_RDONLY | O_CLOEXEC);
    size_t held = 0;
    for (ssize_t got; (got = read(from, block + held, sizeof block - held)) > 0;) {
        char *line = block, *end = block + held + got;
        for (char *newline; (newline = memchr(line, '\n', (size_t)(end - line))) != NULL; line = newline + 1) {
            if (!parse_line(&parsing, job->kind->format, slice_between(line, newline))) return 1;
        }
        held = (size_t)(end - line);
        memmove(block, line, held);
    }
    return parsing.entries == job->lines ? 0 : 1;
}

/* ---- processes ---- */

static void be(const struct job *job, enum who who)
{
    const char *weir = job->weir, *format = job->kind->format, *file = job->file;
    if (who == COUNTER) execlp("wc", "wc", "-l", file, (char *)NULL);
    if (who == PARSER) _exit(parse(job));
    if (who == REPLAY_ONE) {
        execl(weir, weir, "replay", "10/s burst=20", "--format", format, "--json", file, (char *)NULL);
    }
    if (who == REPLAY_TWO) {
        execl(weir, weir, "replay", "10/s burst=20", "--or", "5/s burst=10", "--format", format, "--json", file,
              (char *)NULL);
    }
    _exit(127);
}

/* What it printed first is in output. */
static struct figures run(const struct job *job, enum who who, char output[OUTPUT_SIZE])
{
    int ends[2], status;
    struct rusage usage;
    size_t size = 0;
    fflush(stdout);
    if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe", strerror(errno));
    const uint64_t begin_ns = bench_now_ns();
    const pid_t child = fork();
    if (child < 0) fail("fork", strerror(errno));
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        be(job, who);
    }
    close(ends[1]);
    for (ssize_t got = 1; got > 0 && size + 1 < OUTPUT_SIZE; size += got > 0 ? (size_t)got : 0) {
        got = read(ends[0], output + size, OUTPUT_SIZE - 1 - size);
    }
    output[size] = '\0';
    close(ends[0]);
    if (wait4(child, &status, 0, &usage) != child) fail("wait4", strerror(errno));
    if (status != 0) fail(NAMES[who], "did not go well");
    return (struct figures){(double)(bench_now_ns() - begin_ns) / (double)BENCH_SECOND_NS,
                            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6};
}

/* Did it see all lines? */
static void check(const struct job *job, enum who who, const char *output)
{
    char expected[64];
    if (who == PARSER) return;
    const bool header = strcmp(job->kind->generated, "csv") == 0;
    if (who == COUNTER) snprintf(expected, sizeof expected, "%llu ", (unsigned long long)job->lines + header);
    else snprintf(expected, sizeof expected, "\"requests\":%llu,", (unsigned long long)job->lines);
    if (strstr(output, expected) == NULL) fail(NAMES[who], "did not see all lines");
}

/* A file without a name is gone when this process is, however it ends; others find it by the descriptor. */
static void open_file(char path[PATH_MAX])
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/weir-bench-XXXXXX", folder != NULL ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file < 0 || unlink(path) != 0) fail(path, strerror(errno));
    snprintf(path, PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), file);
}

static void generate(const struct job *job)
{
    char command[2 * PATH_MAX + 128];
    snprintf(command, sizeof command, "'%s' --lines %llu --format %s > '%s'", job->loggen,
             (unsigned long long)job->lines, job->kind->generated, job->file);
    if (system(command) != 0) fail(job->file, "could not be written");
}

static bool has_replay(const char *weir)
{
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "'%s' replay --help > /dev/null 2>&1", weir);
    return system(command) == 0;
}

/* ---- printing ---- */

static double median(const double values[ROUNDS])
{
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    return bench_spread(sorted, ROUNDS).median;
}

static void measure(const struct job *job, bool replay)
{
    static char output[OUTPUT_SIZE];
    double rate[WHOS][ROUNDS], of_processor[WHOS][ROUNDS], ratio[ROUNDS];
    const int whos = replay ? WHOS : REPLAY_ONE;
    generate(job);
    for (int round = 0; round < ROUNDS; round++) {
        for (int who = 0; who < whos; who++) {
            const struct figures figures = run(job, (enum who)who, output);
            check(job, (enum who)who, output);
            rate[who][round] = (double)job->lines / 1e6 / (figures.seconds > 0 ? figures.seconds : 1e-9);
            of_processor[who][round] =
                (double)job->lines / 1e6 / (figures.processor_s > 0 ? figures.processor_s : 1e-9);
        }
    }
    printf("\n%s, %llu lines\n%-26s %10s %18s %10s %12s\n", job->kind->generated, (unsigned long long)job->lines, "",
           "M lines/s", "a processor second", "of wc -l", "of a parser");
    for (int who = 0; who < whos; who++) {
        printf("%-26s %10.2f %18.2f", NAMES[who], median(rate[who]), median(of_processor[who]));
        for (int floor = COUNTER; floor <= PARSER; floor++) {
            for (int i = 0; i < ROUNDS; i++) ratio[i] = of_processor[who][i] / of_processor[floor][i];
            printf(" %*.2f", floor == COUNTER ? 10 : 12, median(ratio));
        }
        printf("\n");
    }
    fflush(stdout);
}

static uint64_t lines_of(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--small") == 0) return LINES_SMALL;
    if (argc == 1) return LINES_USUAL;
    const uint64_t lines = argc > 2 && strcmp(argv[1], "--lines") == 0 ? strtoull(argv[2], NULL, 10) : 0;
    if (lines < SHARE) fail("usage", "bench-replay [--small | --lines N], N at least 10");
    return lines;
}

int main(int argc, char **argv)
{
    static char weir[PATH_MAX], loggen[PATH_MAX];
    const uint64_t lines = lines_of(argc, argv);
    struct job job = {.weir = find("weir", weir), .loggen = find("bench-loggen", loggen)};
    const bool replay = has_replay(job.weir);
    open_file(job.file);
    bench_print_machine();
    if (!replay) printf("weir has no replay: its rows are missing\n");
    for (int i = 0; i < KIND_COUNT; i++) {
        job.kind = &KINDS[i];
        job.lines = i == 0 ? lines : lines / SHARE;
        measure(&job, replay);
    }
    return 0;
}
