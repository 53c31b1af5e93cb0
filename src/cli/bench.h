/* SPDX-License-Identifier: MIT
   bench.h - how fast this machine is at what weir does, beside what the machine itself charges.

   See bench_table.c. */
#ifndef WEIR_CLI_BENCH_H
#define WEIR_CLI_BENCH_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_THREADS_MAX = 64, BENCH_COUNTS_MAX = 8, BENCH_ROUNDS = 15, BENCH_BATCH = 32 };

/* What takes turns.  A floor is one swap in a random cache line of as much memory, mapped alike.  One by one each place
   depends on the answer before; in a loop all places are known, and the processor may be at several at once; in batches
   they are asked for beforehand. */
enum bench_work {
    BENCH_FLOOR,
    BENCH_TAKE,
    BENCH_FLOOR_LOOP,
    BENCH_TAKE_LOOP,
    BENCH_FLOOR_BATCH,
    BENCH_TAKE_BATCH,
    BENCH_WORKS
};

struct bench_wish {
    uint64_t keys, round_ns; /* round_ns: of one work with so many threads */
    unsigned threads[BENCH_COUNTS_MAX];
    int counts;
};

struct bench_table {
    uint64_t bytes;               /* of the table */
    uint64_t keys_fitting;        /* so many were in when over 1 in 1,000 of those that came just then found no room */
    uint64_t keys_fitting_in_all; /* ... over 1 in 1,000 of all that had come since the table was empty */
    double rate[BENCH_COUNTS_MAX][BENCH_WORKS][BENCH_ROUNDS]; /* a second, all threads together */
};

/* Prints what is wrong and returns false. */
bool bench_table_measure(const struct bench_wish *wish, struct bench_table *table);

#endif
