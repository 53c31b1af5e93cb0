/* SPDX-License-Identifier: MIT
   Tables in words, and as JSON.

   Ratios are of figures of the same round. */
#include "plan/write.h"
#include "weir-bench/table.h"

#define MILLION 1e6

static double median(const struct bench_series *series, const struct bench_wish *wish)
{
    return bench_spread(series, wish->rounds).median;
}

static double median_ratio(const struct bench_series *above, const struct bench_series *below,
                           const struct bench_wish *wish)
{
    return bench_ratio(above, below, wish->rounds).median;
}

static double per_key(const struct bench_table *table, uint64_t keys)
{
    return keys > 0 ? (double)table->bytes / (double)keys : 0;
}

/* ---- JSON ---- */

static void print_rates(const struct bench_wish *wish, const struct bench_table *table, int count)
{
    static const char *const names[TABLE_WORKS] = {
        [TABLE_FLOOR] = "floor_per_s",
        [TABLE_TAKE] = "single_per_s",
        [TABLE_FLOOR_LOOP] = "floor_loop_per_s",
        [TABLE_TAKE_LOOP] = "loop_per_s",
        [TABLE_FLOOR_BATCH] = "floor_batch_per_s",
        [TABLE_TAKE_BATCH] = "batch_per_s",
        [TABLE_TAKE_AHEAD] = "ahead_per_s",
        [TABLE_TAKE_CLOCK] = "clock_per_s",
        [TABLE_TAKE_BOTH] = "both_per_s",
        [TABLE_TAKE_TENANT] = "tenant_per_s",
    };
    for (int work = 0; work < TABLE_WORKS; work++) {
        printf("\"%s\":%.0f,", names[work], median(&table->rate[count][work], wish));
    }
    printf("\"single_of_floor\":%.3f,\"loop_of_floor\":%.3f,\"ahead_of_floor\":%.3f,\"batch_of_floor\":%.3f,"
           "\"tenant_of_both\":%.3f",
           median_ratio(&table->rate[count][TABLE_TAKE], &table->rate[count][TABLE_FLOOR], wish),
           median_ratio(&table->rate[count][TABLE_TAKE_LOOP], &table->rate[count][TABLE_FLOOR_LOOP], wish),
           median_ratio(&table->rate[count][TABLE_TAKE_AHEAD], &table->rate[count][TABLE_FLOOR_LOOP], wish),
           median_ratio(&table->rate[count][TABLE_TAKE_BATCH], &table->rate[count][TABLE_FLOOR_BATCH], wish),
           median_ratio(&table->rate[count][TABLE_TAKE_TENANT], &table->rate[count][TABLE_TAKE_BOTH], wish));
}

void table_json(const struct bench_wish *wish, const void *measured)
{
    const struct bench_table *table = measured;
    printf("\"table\":{\"keys\":%llu,", (unsigned long long)wish->keys);
    print_rates(wish, table, 0);
    printf(",\"bytes_per_key\":%.2f,\"bytes_per_key_at_last\":%.2f,\"bytes\":%llu,\"rounds\":%d,\"batch\":%d,"
           "\"threads\":[",
           per_key(table, table->keys_fitting_in_all), per_key(table, table->keys_fitting),
           (unsigned long long)table->bytes, wish->rounds, TABLE_BATCH);
    for (int i = 0; i < wish->counts; i++) {
        printf("%s{\"threads\":%u,", i > 0 ? "," : "", wish->threads[i]);
        print_rates(wish, table, i);
        printf(",\"single_of_first\":%.3f,\"loop_of_first\":%.3f,\"batch_of_first\":%.3f}",
               median_ratio(&table->rate[i][TABLE_TAKE], &table->rate[0][TABLE_TAKE], wish),
               median_ratio(&table->rate[i][TABLE_TAKE_LOOP], &table->rate[0][TABLE_TAKE_LOOP], wish),
               median_ratio(&table->rate[i][TABLE_TAKE_BATCH], &table->rate[0][TABLE_TAKE_BATCH], wish));
    }
    printf("]}");
}

/* ---- words ---- */

static void print_row(const struct bench_wish *wish, const struct bench_table *table, int count, const char *name,
                      enum table_work floor, enum table_work work)
{
    const struct bench_series *ours = &table->rate[count][work], *bare = &table->rate[count][floor];
    printf("  %7u  %-14s %9.2f %9.2f %8.2f", wish->threads[count], name, median(ours, wish) / MILLION,
           median(bare, wish) / MILLION, median_ratio(ours, bare, wish));
    if (count > 0) printf(" %9.2f", median_ratio(ours, &table->rate[0][work], wish));
    printf("\n");
}

void table_words(const struct bench_wish *wish, const void *measured)
{
    const struct bench_table *table = measured;
    char batches[32];
    snprintf(batches, sizeof batches, "batches of %d", TABLE_BATCH);
    char keys[32];
    struct writer writer = {keys, sizeof keys, 0};
    write_grouped(&writer, wish->keys);
    printf("table of %s keys of 8 to 16 bytes: %.1f MB\n"
           "  %.1f bytes a key when 1 in 1,000 of all has found no slot, %.1f when 1 in 1,000 of the last does\n",
           keys, (double)table->bytes / MILLION, per_key(table, table->keys_fitting_in_all),
           per_key(table, table->keys_fitting));
    printf("  threads                  million/s     floor    ratio  to %u thread%s\n", wish->threads[0],
           wish->threads[0] == 1 ? "" : "s");
    for (int i = 0; i < wish->counts; i++) {
        print_row(wish, table, i, "one by one", TABLE_FLOOR, TABLE_TAKE);
        print_row(wish, table, i, "in a loop", TABLE_FLOOR_LOOP, TABLE_TAKE_LOOP);
        print_row(wish, table, i, "prefetched", TABLE_FLOOR_LOOP, TABLE_TAKE_AHEAD);
        print_row(wish, table, i, batches, TABLE_FLOOR_BATCH, TABLE_TAKE_BATCH);
        print_row(wish, table, i, "tenants", TABLE_TAKE_BOTH, TABLE_TAKE_TENANT);
    }
    printf("  Medians of %d rounds in which all took turns.  Floor: a bare swap in a random cache line of as much\n"
           "  memory.  One by one: the next key depends on the last answer.  In a loop: the processor may be at\n"
           "  several at once.  Prefetched: in a loop, each key %d calls before.  Tenants: in a loop, each key\n"
           "  together with the parent of all; their floor is a take of the one, and one of the other.\n\n",
           wish->rounds, TABLE_AHEAD);
}
