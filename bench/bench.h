/* SPDX-License-Identifier: MIT
   What every bench needs: the time, the middle of several rounds, and what machine this was.

   No figure without its spread. */
#ifndef WEIR_BENCH_H
#define WEIR_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define BENCH_SECOND_NS UINT64_C(1000000000)

enum { BENCH_CACHE_LINE = 64, BENCH_LACKING = 77 };

struct spread {
    double median, least, most;
};

static inline uint64_t bench_read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * BENCH_SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline uint64_t bench_now_ns(void)
{
    return bench_read_ns(CLOCK_MONOTONIC);
}

static inline int bench_compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts the values. */
static inline struct spread bench_spread(double values[], int count)
{
    qsort(values, (size_t)count, sizeof values[0], bench_compare);
    const double middle = (values[(count - 1) / 2] + values[count / 2]) / 2;
    return (struct spread){middle, values[0], values[count - 1]};
}

/* The value that `quantile` of all do not exceed.  Sorts the values. */
static inline double bench_quantile(double values[], int count, double quantile)
{
    qsort(values, (size_t)count, sizeof values[0], bench_compare);
    const int index = (int)(quantile * count);
    return values[index < count ? index : count - 1];
}

/* The first line of what a command says, or "unknown". */
static inline void bench_ask(const char *command, char *out, int size)
{
    FILE *pipe = popen(command, "r");
    const char *line = pipe != NULL ? fgets(out, size, pipe) : NULL;
    if (pipe != NULL) pclose(pipe);
    if (line == NULL) snprintf(out, (size_t)size, "unknown");
    out[strcspn(out, "\n")] = '\0';
}

static inline void bench_print_machine(void)
{
    struct utsname system;
    char model[128], commit[64], changed[8];
    uname(&system);
    bench_ask("sed -n 's/^model name.*: //p' /proc/cpuinfo 2>/dev/null", model, sizeof model);
    bench_ask("git rev-parse --short HEAD 2>/dev/null", commit, sizeof commit);
    bench_ask("git status --porcelain -- src include 2>/dev/null", changed, sizeof changed);
    printf("machine: %s, %ld cores, %s %s, compiler %s\n", model, sysconf(_SC_NPROCESSORS_ONLN), system.sysname,
           system.release, __VERSION__);
    printf("commit:  %s%s\n", commit, strcmp(changed, "unknown") == 0 ? "" : ", with changes to src");
}

#endif
