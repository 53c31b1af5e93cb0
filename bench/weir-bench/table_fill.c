/* SPDX-License-Identifier: MIT
   Keys for a table, and how many of them find room.

   No key comes twice. */
#include "weir-bench/table_fill.h"

#include <string.h>

#include "weir-bench/table.h"

enum { KEY_SIZE_LEAST = 8, KEY_SIZES = 9, FILL_COST = 10000 };
enum { WINDOWS = 100, WATCHED_FROM = 90, WATCHED_TO = 200, FULL_SHARE = 1000 };

_Static_assert((int)TABLE_KEY_MOST == (int)KEY_SIZE_LEAST + (int)KEY_SIZES, "the longest key fits");

/* The last part of splitmix64. */
uint64_t table_mix(uint64_t number)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

weir_key table_make_key(uint64_t number, unsigned char bytes[TABLE_KEY_MOST])
{
    const uint64_t first = table_mix(number + 1), second = table_mix(~number);
    memcpy(bytes, &first, sizeof first);
    memcpy(bytes + sizeof first, &second, sizeof second);
    return (weir_key){bytes, (size_t)(KEY_SIZE_LEAST + second % KEY_SIZES)};
}

weir_table_stats table_stats(weir_table *table)
{
    weir_table_stats stats;
    weir_table_read_stats(table, &stats, sizeof stats);
    return stats;
}

/* Keys that were not there before, from one number to another. */
static void fill(const struct filling *filling, uint64_t from, uint64_t to)
{
    weir_ask ask[TABLE_BATCH];
    unsigned char bytes[TABLE_BATCH][TABLE_KEY_MOST];
    while (from < to) {
        size_t count = 0;
        for (; count < TABLE_BATCH && from < to; count++, from++) {
            ask[count].plan = filling->plan;
            ask[count].key = table_make_key(from, bytes[count]);
            ask[count].cost = FILL_COST;
        }
        weir_table_take_batch(filling->table, ask, count, weir_now());
    }
}

/* Until `most` are in, or 1 in 1,000 of all found none. */
static void fill_by_hundredths(struct filling *filling, uint64_t most)
{
    const uint64_t window = (filling->keys + WINDOWS - 1) / WINDOWS;
    uint64_t before = table_stats(filling->table).full;
    while (filling->filled < most && filling->full * FULL_SHARE <= filling->filled) {
        const uint64_t from = filling->filled, to = from + window < most ? from + window : most;
        fill(filling, from, to);
        const uint64_t full = table_stats(filling->table).full - before;
        before += full;
        filling->filled = to;
        filling->full += full;
        if (filling->fitting == from && full * FULL_SHARE <= to - from) filling->fitting = to;
        if (filling->full * FULL_SHARE <= to) filling->fitting_in_all = to;
    }
}

void table_fill(struct filling *filling)
{
    filling->filled = filling->keys / WINDOWS * WATCHED_FROM;
    fill(filling, 0, filling->filled);
    filling->full = table_stats(filling->table).full;
    filling->fitting = filling->fitting_in_all = filling->filled;
    fill_by_hundredths(filling, filling->keys);
    if (filling->filled < filling->keys) fill(filling, filling->filled, filling->keys);
}

void table_overfill(struct filling *filling)
{
    if (filling->filled == filling->keys) fill_by_hundredths(filling, filling->keys / WINDOWS * WATCHED_TO);
}
