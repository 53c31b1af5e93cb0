/* SPDX-License-Identifier: MIT
   Keys for a table, and how many of them find room.

   See table_fill.c. */
#ifndef WEIR_BENCH_TABLE_FILL_H
#define WEIR_BENCH_TABLE_FILL_H

#include <stdint.h>

#include <weir/weir.h>

enum { TABLE_KEY_MOST = 17 }; /* bytes to make one in */

/* Another number for each number. */
uint64_t table_mix(uint64_t number);

/* 8 to 16 bytes, of which the first 8 are no other key's. */
weir_key table_make_key(uint64_t number, unsigned char bytes[TABLE_KEY_MOST]);

weir_table_stats table_stats(weir_table *table);

/* A table that is filled: up to where did 999 of 1,000 find room, of each hundredth and of all together? */
struct filling {
    weir_table *table;
    const weir_plan *plan;
    uint64_t keys, filled, full; /* full: those without room, of those filled in */
    uint64_t fitting, fitting_in_all;
};

/* All keys, each with much used; the last tenth by the hundredth, as long as they find room. */
void table_fill(struct filling *filling);

/* More of them, if all found room, until 1 in 1,000 of all finds none. */
void table_overfill(struct filling *filling);

#endif
