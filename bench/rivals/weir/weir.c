/* SPDX-License-Identifier: MIT
   weir at the pacing that the rivals do: one limiter that makes up what it lost, asked by weir_take_wait, and
   through a lease for each thread, once with a minimum sleep that trades lateness for processor time.

   Every permit was granted, or it fails. */
#include "../crew.h"

#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

static weir_limiter *open_limiter(const struct crew_pace *pace, uint64_t min_sleep_ns)
{
    char limit[64];
    weir_limiter *limiter;
    weir_error error;
    weir_options options = WEIR_OPTIONS;
    options.use = WEIR_PACE;
    options.min_sleep_ns = min_sleep_ns;
    snprintf(limit, sizeof limit, "%llu/s catchup=1.1", (unsigned long long)pace->rate_per_s);
    if (weir_open(&limiter, limit, &options, &error) == 0) return limiter;
    fprintf(stderr, "bench/rivals/weir: %s: %s\n", limit, error.message);
    exit(1);
}

static void check(weir_decision decision)
{
    if (weir_allowed(decision)) return;
    fprintf(stderr, "bench/rivals/weir: a permit was refused, verdict %u\n", decision.verdict);
    exit(1);
}

static void *join(void *limiter, int index)
{
    (void)index;
    return limiter;
}

static void acquire(void *own)
{
    check(weir_take_wait(own, 1, WEIR_FOREVER));
}

static void leave(void *own)
{
    (void)own;
}

static void *join_leased(void *limiter, int index)
{
    weir_lease *lease = malloc(sizeof *lease);
    weir_error error;
    (void)index;
    if (lease != NULL && weir_lease_open(lease, limiter, &error) == 0) return lease;
    fprintf(stderr, "bench/rivals/weir: %s\n", lease == NULL ? "no memory" : error.message);
    exit(1);
}

static void acquire_leased(void *own)
{
    check(weir_lease_take_wait(own, 1, WEIR_FOREVER));
}

static void leave_leased(void *own)
{
    weir_lease_close(own);
    free(own);
}

static void print_lines(bool small)
{
    (void)small;
}

static void print_pace(const struct crew_pace *pace)
{
    static const struct {
        uint64_t min_sleep_ns;
        struct crew_pacing pacing;
    } rows[] = {
        {0, {"weir_take_wait", join, acquire, leave, NULL}},
        {0, {"weir_lease", join_leased, acquire_leased, leave_leased, NULL}},
        {1000000, {"weir_lease, sleeps of 1 ms", join_leased, acquire_leased, leave_leased, NULL}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct crew_pacing pacing = rows[i].pacing;
        weir_limiter *limiter = open_limiter(pace, rows[i].min_sleep_ns);
        pacing.limiter = limiter;
        crew_print_pace(&pacing, pace);
        weir_close(limiter);
    }
}

int main(int argc, char **argv)
{
    return crew_main(argc, argv, print_lines, print_pace);
}
