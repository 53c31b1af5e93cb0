/* SPDX-License-Identifier: MIT
   law.h - one property is a test and a fuzz target.

   A property makes all its choices through law_pick, from bytes: random ones, printed when it fails, or the fuzzer's.
   A choice of 0 is the simplest, so a failing run is made smaller by cutting its bytes off and zeroing them.

       law-NAME [runs [seed]]      law-NAME replay HEX      law-NAME file PATH...

   Without arguments there are as many runs as LAW says, a tenth or ten times as many, from seed 1 or another (size.h).

   May touch: stdio.  Promises: the same bytes make the same choices.  Leaves to others: what should hold. */
#ifndef TEST_LAW_LAW_H
#define TEST_LAW_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/weir.h>

struct law;

typedef void law_property(struct law *law);

/* ---- choices ---- */

/* 0 to n - 1; n is 1 or more. */
uint64_t law_pick(struct law *law, uint64_t n);

/* 0 to max, small ones as often as large ones. */
uint64_t law_pick_size(struct law *law, uint64_t max);

/* True once in n times; n is 2 or more. */
bool law_chance(struct law *law, uint64_t n);

/* Another step?  True `mean` times on average. */
bool law_more(struct law *law, uint64_t mean);

enum law_kind {
    LAW_GCRA = 1,
    LAW_HYBRID = 2,
    LAW_RATED = LAW_GCRA | LAW_HYBRID,
    LAW_LISTS = 4,      /* up to four limits of those kinds */
    LAW_UNRATED = 8,    /* unlimited and none in lists, too */
    LAW_TINY_BURST = 16 /* bursts of 1 to 20 permits, so that a few calls reach every corner */
};

enum { LAW_TEXT_SIZE = 512 };

/* A text of limits from 1/year to 10^12/s that weir_plan_parse takes. */
void law_pick_plan(struct law *law, unsigned kinds, weir_plan *plan);

/* One of any algorithm, or with one chance in three up to limits_max of them, whose state is not larger than this. */
void law_pick_any_plan(struct law *law, uint64_t limits_max, size_t bytes_max, weir_plan *plan);

/* A time in ns, from 0 to tens of years, at which the ticks of every limit of the plan are far from their end. */
uint64_t law_pick_time(struct law *law, const weir_plan *plan);

/* Is this time far from the end of every limit's ticks?  Behind it a clock stands still and nothing passes. */
bool law_in_clock(const weir_plan *plan, uint64_t now_ns);

/* How much later the next call comes: 0, a ns, around a permit, around a burst, or long enough to rest. */
uint64_t law_pick_gap(struct law *law, const weir_plan *plan);

/* Permits from 1 up, around what the plan holds. */
uint64_t law_pick_cost(struct law *law, const weir_plan *plan);

/* A wait: none, around a permit or a burst, or WEIR_FOREVER. */
uint64_t law_pick_wait(struct law *law, const weir_plan *plan);

/* ---- what happened ---- */

/* Ends the run unless the condition holds. */
void law_check(struct law *law, bool holds, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Printed only when a failure is told. */
void law_note(struct law *law, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Counts what was tried. */
void law_step(struct law *law);

/* Keeps the largest value that was ever seen, to be printed at the end of the test. */
void law_largest(struct law *law, const char *what, double value);

/* ---- programs ---- */

int law_main(int argc, char **argv, const char *name, law_property *property, uint64_t runs);
int law_fuzz_one(law_property *property, const uint8_t *bytes, size_t size);

#ifdef WEIR_FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
#define LAW(name, property, runs)                                                                                      \
    int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)                                                      \
    {                                                                                                                  \
        return law_fuzz_one(property, bytes, size);                                                                    \
    }                                                                                                                  \
    _Static_assert((runs) > 0, "the test of the same name runs it")
#else
#define LAW(name, property, runs)                                                                                      \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        return law_main(argc, argv, name, property, runs);                                                             \
    }                                                                                                                  \
    _Static_assert((runs) > 0, "at least once")
#endif

#endif
