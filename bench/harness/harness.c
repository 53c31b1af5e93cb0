/* SPDX-License-Identifier: MIT
   Figures of several rounds, and how they are printed.  Ratios are of figures of the same round. */
#include "harness/harness.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) || defined(__GLIBC__)

static const char *program(void)
{
    return program_invocation_short_name;
}

#else

static const char *program(void)
{
    return getprogname();
}

#endif

void bench_fail(const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "%s: ", program());
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

void *bench_allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) bench_fail("no memory");
    return memory;
}

double bench_processor_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / HOST_SECOND_NS;
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

struct bench_spread bench_spread(const struct bench_series *series, int rounds)
{
    double sorted[BENCH_ROUNDS_MAX];
    int known = 0;
    for (int i = 0; i < rounds; i++) {
        if (!isnan(series->round[i])) sorted[known++] = series->round[i];
    }
    if (known == 0) return (struct bench_spread){NAN, NAN, NAN};
    qsort(sorted, (size_t)known, sizeof sorted[0], compare);
    const double median = (sorted[(known - 1) / 2] + sorted[known / 2]) / 2;
    return (struct bench_spread){median, sorted[0], sorted[known - 1]};
}

struct bench_spread bench_ratio(const struct bench_series *above, const struct bench_series *below, int rounds)
{
    struct bench_series ratio;
    for (int i = 0; i < rounds; i++) {
        const double under = below->round[i];
        ratio.round[i] = under > 0 ? above->round[i] / under : NAN;
    }
    return bench_spread(&ratio, rounds);
}

struct bench_spread bench_times(const struct bench_series *ours, const struct bench_series *floor,
                                const struct bench_series *second, int rounds)
{
    struct bench_series both = *floor;
    for (int i = 0; second != NULL && i < rounds; i++) both.round[i] = 1 / (1 / floor->round[i] + 1 / second->round[i]);
    return bench_ratio(&both, ours, rounds);
}

double bench_quantile(double values[], size_t count, double part)
{
    qsort(values, count, sizeof values[0], compare);
    const size_t index = (size_t)(part * (double)count);
    return values[index < count ? index : count - 1];
}

/* ---- printing ---- */

void bench_json_number(bool first, const char *key, double value, int places)
{
    if (isfinite(value)) printf("%s\"%s\":%.*f", first ? "" : ",", key, places, value);
    else printf("%s\"%s\":null", first ? "" : ",", key);
}

void bench_json_spread(bool first, const char *key, struct bench_spread spread, int places)
{
    char name[64];
    bench_json_number(first, key, spread.median, places);
    snprintf(name, sizeof name, "%s_min", key);
    bench_json_number(false, name, spread.least, places);
    snprintf(name, sizeof name, "%s_max", key);
    bench_json_number(false, name, spread.most, places);
}

void bench_print_ratio(struct bench_spread spread, int width)
{
    char text[64] = "-";
    if (isfinite(spread.median)) {
        const int places = spread.most < 10 ? 2 : spread.most < 100 ? 1 : 0;
        snprintf(text, sizeof text, "%.*f (%.*f-%.*f)", places, spread.median, places, spread.least, places,
                 spread.most);
    }
    printf(" %*s", width, text);
}

void bench_print_number(double value, int width, int places)
{
    if (isfinite(value)) printf(" %*.*f", width, places, value);
    else printf(" %*s", width, "-");
}

void bench_progress(const char *section, const char *what, uint64_t number, int round, int rounds)
{
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K%s: %llu %s, round %d of %d", section, (unsigned long long)number, what, round + 1,
            rounds);
    fflush(stderr);
}

void bench_progress_clear(void)
{
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

/* ---- the machine ---- */

/* The first line of what a command says, or "unknown". */
static void ask(const char *command, char *out, int size)
{
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the words are ours */
    const char *line = pipe != NULL ? fgets(out, size, pipe) : NULL;
    if (pipe != NULL) pclose(pipe);
    if (line == NULL) snprintf(out, (size_t)size, "unknown");
    out[strcspn(out, "\n")] = '\0';
}

void bench_print_machine(void)
{
    struct utsname system;
    char model[128], commit[64], changed[8];
    uname(&system);
    ask("sed -n 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null", model, sizeof model);
    ask("git rev-parse --short HEAD 2>/dev/null", commit, sizeof commit);
    ask("git status --porcelain -- src include 2>/dev/null", changed, sizeof changed);
    printf("machine: %s, %ld cores, %s %s, compiler %s\n", model, sysconf(_SC_NPROCESSORS_ONLN), system.sysname,
           system.release, __VERSION__);
    printf("commit:  %s%s\n", commit, strcmp(changed, "unknown") == 0 ? "" : ", with changes to src");
}

const char *bench_beside(const char *name, char path[BENCH_PATH_SIZE])
{
    const ssize_t size = readlink("/proc/self/exe", path, BENCH_PATH_SIZE - 64);
    if (size < 0) bench_fail("/proc/self/exe: %s", strerror(errno));
    path[size] = '\0';
    char *slash = strrchr(path, '/');
    snprintf(slash != NULL ? slash + 1 : path, 64, "%s", name);
    return path;
}
