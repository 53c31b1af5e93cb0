/* SPDX-License-Identifier: MIT
   One property is a test and a fuzz target.

   A property makes all its choices through prop_pick, from bytes: random ones, printed when it fails, or the fuzzer's.
   A choice of 0 is the simplest, so a failing run is made smaller by cutting its bytes off and zeroing them.

       property-NAME [runs [seed]]      property-NAME replay HEX      property-NAME file PATH...

   Without arguments there are as many runs as PROPERTY says, a tenth or five times as many, from seed 1 or another
   (size.h).

   The same bytes make the same choices. */
#ifndef TEST_PROPERTY_PROPERTY_H
#define TEST_PROPERTY_PROPERTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

struct prop;

typedef void prop_function(struct prop *prop);

/* ---- choices ---- */

/* 0 to n - 1; n is 1 or more. */
uint64_t prop_pick(struct prop *prop, uint64_t n);

/* 0 to max, small ones as often as large ones. */
uint64_t prop_pick_size(struct prop *prop, uint64_t max);

/* True once in n times; n is 2 or more. */
bool prop_chance(struct prop *prop, uint64_t n);

/* Another step?  True `mean` times on average. */
bool prop_more(struct prop *prop, uint64_t mean);

enum prop_kind {
    PROP_GCRA = 1,
    PROP_HYBRID = 2,
    PROP_RATED = PROP_GCRA | PROP_HYBRID,
    PROP_LISTS = 4,      /* up to four limits of those kinds */
    PROP_UNRATED = 8,    /* unlimited and none in lists, too */
    PROP_TINY_BURST = 16 /* bursts of 1 to 20 permits, so that a few calls reach every corner */
};

enum { PROP_TEXT_SIZE = 512 };

/* A text of limits from 1/year to 10^12/s that weir_plan_parse takes. */
void prop_pick_plan(struct prop *prop, unsigned kinds, weir_plan *plan);

/* One of any algorithm, or with one chance in three up to limits_max of them, whose state is not larger than this. */
void prop_pick_any_plan(struct prop *prop, uint64_t limits_max, size_t bytes_max, weir_plan *plan);

/* A time in ns, from 0 to tens of years, at which the ticks of every limit of the plan are far from their end. */
uint64_t prop_pick_time(struct prop *prop, const weir_plan *plan);

/* Is this time far from the end of every limit's ticks?  Behind it a clock stands still and nothing passes. */
bool prop_in_clock(const weir_plan *plan, uint64_t now_ns);

/* How much later the next call comes: 0, a ns, around a permit, around a burst, or long enough to rest. */
uint64_t prop_pick_gap(struct prop *prop, const weir_plan *plan);

/* Permits from 1 up, around what the plan holds. */
uint64_t prop_pick_cost(struct prop *prop, const weir_plan *plan);

/* A wait: none, around a permit or a burst, or WEIR_FOREVER. */
uint64_t prop_pick_wait(struct prop *prop, const weir_plan *plan);

/* ---- what happened ---- */

/* Ends the run unless the condition holds. */
void prop_check(struct prop *prop, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Printed only when a failure is told. */
void prop_note(struct prop *prop, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts what was tried. */
void prop_step(struct prop *prop);

/* Keeps the largest value that was ever seen, to be printed at the end of the test. */
void prop_largest(struct prop *prop, const char *what, double value);

/* ---- programs ---- */

int prop_main(int argc, char **argv, const char *name, prop_function *property, uint64_t runs);
int prop_fuzz_one(prop_function *property, const uint8_t *bytes, size_t size);

#ifdef WEIR_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
#define PROPERTY(name, property, runs)                                                                                 \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)                                                      \
    {                                                                                                                  \
        return prop_fuzz_one(property, bytes, size);                                                                   \
    }                                                                                                                  \
    _Static_assert((runs) > 0, "the test of the same name runs it")
#else
#define PROPERTY(name, property, runs)                                                                                 \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        return prop_main(argc, argv, name, property, runs);                                                            \
    }                                                                                                                  \
    _Static_assert((runs) > 0, "at least once")
#endif

#endif
