/* SPDX-License-Identifier: MIT
   A client that is over its limit stays limited while a flood of other keys fills the table.

       flood_stress [KEYS]         how many keys the flood has, in place of what WEIR_SIZE says (size.h); 10^8 take half
                                   a minute

   The table is far too small, so nearly all find it full and INHERIT decides.  The keys of every other wave want
   a whole burst: who got it would owe more than the client, whose slot would then be the first to be lost.  The client
   asks between each few of them.

   Time is passed in, so the numbers are exact. */
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

#include "size.h"

enum { KEYS_MAX = 10000, BATCH = 32, BURST = 20, STEP_NS = 1000, WAVE = 1 << 16 };
static const uint64_t PER_SECOND = 10, SECOND_NS = 1000000000;

/* So many as may pass after idling in this time. */
static uint64_t bound(uint64_t elapsed_ns)
{
    return BURST + elapsed_ns * PER_SECOND / SECOND_NS;
}

static void flood(weir_table *table, const weir_plan *plan, uint64_t first, weir_instant now)
{
    weir_ask asks[BATCH];
    uint64_t number[BATCH];
    for (int i = 0; i < BATCH; i++) {
        number[i] = first + (uint64_t)i;
        asks[i] =
            (weir_ask){.plan = plan, .key = {&number[i], sizeof number[i]}, .cost = first / WAVE % 2 == 0 ? 1 : BURST};
    }
    weir_table_take_batch(table, asks, BATCH, now);
}

int main(int argc, char **argv)
{
    const uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : size_pick(200000, 500000, 2000000);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table_stats stats;
    weir_table *table;
    weir_plan plan;
    options.keys_max = KEYS_MAX;
    if (weir_table_open(&table, &options, NULL) != 0) return 2;
    if (weir_plan_parse(&plan, "10/s burst=20", WEIR_ADMIT, NULL) != 0) return 2;
    const weir_instant begin = weir_now();
    uint64_t granted = 0, over = 0;
    for (uint64_t key = 0; key < keys; key += BATCH) {
        const weir_instant now = {begin.ns + key * STEP_NS};
        granted += weir_allowed(weir_table_take_at(table, &plan, weir_key_text("the client"), now, 1));
        over += granted > bound(now.ns - begin.ns);
        flood(table, &plan, key, now);
    }
    weir_table_read_stats(table, &stats, sizeof stats);
    printf("%llu keys, %llu of them found no room, %llu lost their slot; the client got %llu, at most %llu\n",
           (unsigned long long)keys, (unsigned long long)stats.full, (unsigned long long)stats.displaced,
           (unsigned long long)granted, (unsigned long long)bound(keys * STEP_NS));
    weir_table_close(table);
    if (over != 0) printf("FAILED: %llu times more than the limit\n", (unsigned long long)over);
    if (stats.displaced == 0) printf("FAILED: the table was never full\n");
    return over != 0 || stats.displaced == 0;
}
