/* SPDX-License-Identifier: MIT
   weir.c - weir at the pacing that the rivals do: weir_take_wait on one limiter that makes up what it lost.

   May touch: the public functions of weir.  Promises: every permit was granted, or it fails.  Leaves to others:
   measuring (crew.c); decisions and keys, which bench-take and bench-table measure. */
#include "../crew.h"

#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

static weir_limiter *open_limiter(const struct crew_pace *pace, uint64_t grain_ns)
{
    char limit[64];
    weir_limiter *limiter;
    weir_error error;
    weir_options options = WEIR_OPTIONS;
    options.use = WEIR_PACE;
    options.grain_ns = grain_ns;
    snprintf(limit, sizeof limit, "%llu/s catchup=1.1", (unsigned long long)pace->rate_per_s);
    if (weir_open(&limiter, limit, &options, &error) == 0) return limiter;
    fprintf(stderr, "bench/rivals/weir: %s: %s\n", limit, error.message);
    exit(1);
}

static void *join(void *limiter, int index)
{
    (void)index;
    return limiter;
}

static void acquire(void *own)
{
    if (!weir_allowed(weir_take_wait(own, 1, WEIR_FOREVER))) abort();
}

static void leave(void *own)
{
    (void)own;
}

static void print_lines(bool small)
{
    (void)small;
}

static void print_pace(const struct crew_pace *pace)
{
    weir_limiter *limiter = open_limiter(pace, 0);
    crew_print_pace(&(struct crew_pacing){"weir_take_wait", join, acquire, leave, limiter}, pace);
    weir_close(limiter);
}

int main(int argc, char **argv)
{
    return crew_main(argc, argv, print_lines, print_pace);
}
