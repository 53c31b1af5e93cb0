/* SPDX-License-Identifier: MIT
   A state for each of very many keys.

   See table.c; table_fill.c puts keys into it, table_print.c prints what came of it. */
#ifndef WEIR_BENCH_TABLE_H
#define WEIR_BENCH_TABLE_H

#include "weir-bench/sections.h"

enum { TABLE_BATCH = 32, TABLE_AHEAD = 24 };

/* What takes turns.  A floor is one swap in a random cache line of as much memory, mapped alike.  One by one each place
   depends on the answer before; in a loop all places are known, and the processor may be at several at once; in batches
   they are asked for beforehand. */
enum table_work {
    TABLE_FLOOR,
    TABLE_TAKE,
    TABLE_FLOOR_LOOP,
    TABLE_TAKE_LOOP,
    TABLE_FLOOR_BATCH,
    TABLE_TAKE_BATCH,
    TABLE_TAKE_AHEAD,  /* as in a loop, and each key is prefetched some calls before; its floor is that of the loop */
    TABLE_TAKE_CLOCK,  /* as in a loop, and each call reads the clock, as other limiters do */
    TABLE_TAKE_BOTH,   /* as in a loop, and after each key the one that all have in common */
    TABLE_TAKE_TENANT, /* the same keys together, a tenant within its guarantee and its parent; its floor is both */
    TABLE_WORKS
};

struct bench_table {
    uint64_t bytes;               /* of the table */
    uint64_t keys_fitting;        /* so many were in when over 1 in 1,000 of those that came just then found no room */
    uint64_t keys_fitting_in_all; /* ... over 1 in 1,000 of all that had come since the table was empty */
    struct bench_series rate[BENCH_COUNTS_MAX][TABLE_WORKS]; /* a second, all threads together */
};

#endif
