/* SPDX-License-Identifier: MIT
   calls.c - so many calls of one kind and nothing else, for bench/instructions to count.

   Time is given (the manual clock), so that every run takes the same steps.

   May touch: the public functions of weir.  Promises: all was granted, or all refused, or it fails.  Leaves to others:
   counting.

       bench-calls             the kinds of calls
       bench-calls KIND COUNT  so many of one kind
       bench-calls --small     some of each: a test that it still works */
#include "bench.h"

#include <stdbool.h>

#include <weir/weir.h>

enum { SMALL = 1000 };

struct limiters {
    weir_limiter *open, *shut, *leased;
    weir_lease lease;
};

static uint64_t nothing(struct limiters *limiters, uint64_t count)
{
    uint64_t done = 0;
    (void)limiters;
    for (volatile uint64_t i = 0; i < count; i = i + 1) done++;
    return done;
}

static uint64_t take(struct limiters *limiters, uint64_t count)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_take(limiters->open, 1).charged;
    return done;
}

static uint64_t take_at(struct limiters *limiters, uint64_t count)
{
    uint64_t done = 0;
    const weir_instant now = {BENCH_SECOND_NS};
    for (uint64_t i = 0; i < count; i++) done += weir_take_at(limiters->open, now, 1).charged;
    return done;
}

static uint64_t reserve(struct limiters *limiters, uint64_t count)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_reserve(limiters->open, 1, 1).charged;
    return done;
}

/* What a first refusal costs: one of two permits is not noted. */
static uint64_t refuse_first(struct limiters *limiters, uint64_t count)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_take(limiters->shut, 2).verdict == WEIR_DENY;
    return done;
}

static uint64_t refuse_again(struct limiters *limiters, uint64_t count)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_take(limiters->shut, 1).verdict == WEIR_DENY;
    return done;
}

static uint64_t lease_take(struct limiters *limiters, uint64_t count)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < count; i++) done += weir_lease_take(&limiters->lease, 1).charged;
    return done;
}

static const struct kind {
    const char *name;
    uint64_t (*run)(struct limiters *limiters, uint64_t count);
} KINDS[] = {
    {"nothing", nothing},
    {"weir_lease_take", lease_take},
    {"weir_take_at", take_at},
    {"weir_take", take},
    {"weir_reserve", reserve},
    {"weir_take_refused_again", refuse_again},
    {"weir_take_refused_first", refuse_first},
};

enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

static weir_limiter *open_limiter(const char *limits)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter;
    weir_error error;
    options.clock = WEIR_CLOCK_MANUAL;
    if (weir_open(&limiter, limits, &options, &error) != 0) {
        fprintf(stderr, "bench-calls: %s: %s\n", limits, error.message);
        exit(1);
    }
    weir_manual_set(limiter, (weir_instant){BENCH_SECOND_NS});
    return limiter;
}

static void run(const struct kind *kind, uint64_t count)
{
    struct limiters limiters = {.open = open_limiter("1000000000/s burst=4294967295"),
                                .shut = open_limiter("1/d burst=2"),
                                .leased = open_limiter("1000000000/s burst=4294967295")};
    weir_take(limiters.shut, 2);
    if (weir_lease_open(&limiters.lease, limiters.leased, NULL) != 0) abort();
    const uint64_t done = kind->run(&limiters, count);
    weir_lease_close(&limiters.lease);
    weir_close(limiters.leased);
    weir_close(limiters.shut);
    weir_close(limiters.open);
    if (done == count) return;
    fprintf(stderr, "bench-calls: %s did %llu of %llu\n", kind->name, (unsigned long long)done,
            (unsigned long long)count);
    exit(1);
}

int main(int argc, char **argv)
{
    const bool small = argc == 2 && strcmp(argv[1], "--small") == 0;
    for (int i = 0; i < KIND_COUNT; i++) {
        if (argc == 1) puts(KINDS[i].name);
        else if (small) run(&KINDS[i], SMALL);
        else if (argc == 3 && strcmp(argv[1], KINDS[i].name) == 0) run(&KINDS[i], strtoull(argv[2], NULL, 10));
    }
    return 0;
}
