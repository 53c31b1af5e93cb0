/* SPDX-License-Identifier: MIT
   bench.c - weir bench: how fast this machine decides, beside what it charges for the parts of a decision.

   May touch: argv, stdout.  Promises: no figure without the floor that was measured in turns with it; ratios are of
   figures of the same round.  Leaves to others: measuring (bench_table.c). */
#include "cli/bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "plan/writer.h"

enum { OPTION_THREADS, OPTION_KEYS, OPTION_FOR, OPTION_JSON, OPTION_COUNT };
#define MILLION 1e6
enum { KEYS_LEAST = 1000, KEYS_MOST = 1000000000, KEYS_USUAL = 1000000 };

static const uint64_t FOR_USUAL_NS = 4000000000, FOR_MOST_NS = 3600000000000;

static const struct option_help option_rows[OPTION_COUNT] = {
    [OPTION_THREADS] = {"threads", 0, "N", "with so many threads, one after the other when several: 1,2,4 (1,2)"},
    [OPTION_KEYS] = {"keys", 0, "N", "so many keys in the table (1000000)"},
    [OPTION_FOR] = {"for", 0, "TIME", "measure so long in all, without filling the table (4s)"},
    [OPTION_JSON] = {"json", 0, NULL, "one JSON object instead of words"},
};

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(const double values[BENCH_ROUNDS])
{
    double sorted[BENCH_ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, BENCH_ROUNDS, sizeof sorted[0], compare);
    return sorted[BENCH_ROUNDS / 2];
}

/* The middle of the ratios, not the ratio of the middles: both of a ratio had the same machine. */
static double median_ratio(const double above[BENCH_ROUNDS], const double below[BENCH_ROUNDS])
{
    double ratio[BENCH_ROUNDS];
    for (int i = 0; i < BENCH_ROUNDS; i++) ratio[i] = above[i] / below[i];
    return median(ratio);
}

static double per_key(const struct bench_table *table, uint64_t keys)
{
    return keys > 0 ? (double)table->bytes / (double)keys : 0;
}

/* ---- JSON ---- */

static void print_rates(const struct bench_table *table, int count)
{
    static const char *const names[BENCH_WORKS] = {
        [BENCH_FLOOR] = "floor_per_s",
        [BENCH_TAKE] = "single_per_s",
        [BENCH_FLOOR_LOOP] = "floor_loop_per_s",
        [BENCH_TAKE_LOOP] = "loop_per_s",
        [BENCH_FLOOR_BATCH] = "floor_batch_per_s",
        [BENCH_TAKE_BATCH] = "batch_per_s",
    };
    for (int work = 0; work < BENCH_WORKS; work++) {
        printf("\"%s\":%.0f,", names[work], median(table->rate[count][work]));
    }
    printf("\"single_of_floor\":%.3f,\"loop_of_floor\":%.3f,\"batch_of_floor\":%.3f",
           median_ratio(table->rate[count][BENCH_TAKE], table->rate[count][BENCH_FLOOR]),
           median_ratio(table->rate[count][BENCH_TAKE_LOOP], table->rate[count][BENCH_FLOOR_LOOP]),
           median_ratio(table->rate[count][BENCH_TAKE_BATCH], table->rate[count][BENCH_FLOOR_BATCH]));
}

static void print_json(const struct bench_wish *wish, const struct bench_table *table)
{
    printf("{\"table\":{\"keys\":%llu,", (unsigned long long)wish->keys);
    print_rates(table, 0);
    printf(",\"bytes_per_key\":%.2f,\"bytes_per_key_at_last\":%.2f,\"bytes\":%llu,\"rounds\":%d,\"batch\":%d,"
           "\"threads\":[",
           per_key(table, table->keys_fitting_in_all), per_key(table, table->keys_fitting),
           (unsigned long long)table->bytes, BENCH_ROUNDS, BENCH_BATCH);
    for (int i = 0; i < wish->counts; i++) {
        printf("%s{\"threads\":%u,", i > 0 ? "," : "", wish->threads[i]);
        print_rates(table, i);
        printf(",\"single_of_first\":%.3f,\"loop_of_first\":%.3f,\"batch_of_first\":%.3f}",
               median_ratio(table->rate[i][BENCH_TAKE], table->rate[0][BENCH_TAKE]),
               median_ratio(table->rate[i][BENCH_TAKE_LOOP], table->rate[0][BENCH_TAKE_LOOP]),
               median_ratio(table->rate[i][BENCH_TAKE_BATCH], table->rate[0][BENCH_TAKE_BATCH]));
    }
    printf("]}}\n");
}

/* ---- words ---- */

/* floor + 1 is ours. */
static void print_row(const struct bench_wish *wish, const struct bench_table *table, int count, const char *name,
                      enum bench_work floor)
{
    const double *ours = table->rate[count][floor + 1], *bare = table->rate[count][floor];
    printf("  %7u  %-14s %9.2f %9.2f %8.2f", wish->threads[count], name, median(ours) / MILLION, median(bare) / MILLION,
           median_ratio(ours, bare));
    if (count > 0) printf(" %9.2f", median_ratio(ours, table->rate[0][floor + 1]));
    printf("\n");
}

static void print_words(const struct bench_wish *wish, const struct bench_table *table)
{
    char batches[32];
    snprintf(batches, sizeof batches, "batches of %d", BENCH_BATCH);
    char keys[32];
    struct writer writer = {keys, sizeof keys, 0};
    write_grouped(&writer, wish->keys);
    printf("table of %s keys of 8 to 16 bytes: %.1f MB\n"
           "  %.1f bytes a key when 1 in 1,000 of all has found no room, %.1f when 1 in 1,000 of the last does\n",
           keys, (double)table->bytes / MILLION, per_key(table, table->keys_fitting_in_all),
           per_key(table, table->keys_fitting));
    printf("  threads                  million/s     floor    ratio  to %u thread%s\n", wish->threads[0],
           wish->threads[0] == 1 ? "" : "s");
    for (int i = 0; i < wish->counts; i++) {
        print_row(wish, table, i, "one by one", BENCH_FLOOR);
        print_row(wish, table, i, "in a loop", BENCH_FLOOR_LOOP);
        print_row(wish, table, i, batches, BENCH_FLOOR_BATCH);
    }
    printf(
        "  medians of %d rounds in which all took turns; floor: a bare swap in a random cache line of as much memory\n"
        "  one by one: the next key depends on the last answer; in a loop: the processor may be at several at once\n",
        BENCH_ROUNDS);
}

/* ---- the command ---- */

static bool read_threads(const char *text, struct bench_wish *wish)
{
    wish->counts = 0;
    for (const char *at = text; wish->counts < BENCH_COUNTS_MAX; at++) {
        char *end;
        const unsigned long count = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (count == 0 || count > BENCH_THREADS_MAX) break;
        wish->threads[wish->counts++] = (unsigned)count;
        at = end;
        if (*at == '\0') return true;
        if (*at != ',') break;
    }
    trouble("--threads \"%s\": expected up to %d numbers from 1 to %d; for example 1,2,4", text, BENCH_COUNTS_MAX,
            BENCH_THREADS_MAX);
    return false;
}

static bool read_keys(const char *text, uint64_t *keys)
{
    if (!read_count_argument("keys", text, KEYS_MOST, keys)) return false;
    if (*keys < KEYS_LEAST) trouble("--keys \"%s\": expected at least %d keys", text, KEYS_LEAST);
    return *keys >= KEYS_LEAST;
}

static bool read_for(const char *text, uint64_t *for_ns)
{
    if (!read_time_argument("for", text, for_ns)) return false;
    if (*for_ns > FOR_MOST_NS) trouble("--for \"%s\": expected at most 1h", text);
    return *for_ns <= FOR_MOST_NS;
}

static int run(int argc, char **argv)
{
    struct bench_wish wish = {.keys = KEYS_USUAL, .threads = {1, 2}, .counts = 2};
    uint64_t for_ns = FOR_USUAL_NS;
    bool json = false;
    const char *value;
    for (int option; (option = next_option(bench_command(), argc, argv, &value)) != ARGUMENTS_END;) {
        if (option == ARGUMENTS_HELP) return STATUS_DONE;
        if (option == ARGUMENTS_WRONG) return STATUS_TROUBLE;
        if (option == OPTION_JSON) json = true;
        if (option == OPTION_THREADS && !read_threads(value, &wish)) return STATUS_TROUBLE;
        if (option == OPTION_KEYS && !read_keys(value, &wish.keys)) return STATUS_TROUBLE;
        if (option == OPTION_FOR && !read_for(value, &for_ns)) return STATUS_TROUBLE;
    }
    if (optind < argc) return trouble("bench: what is \"%s\"? see weir bench --help", argv[optind]);
    wish.round_ns = for_ns / (uint64_t)(BENCH_ROUNDS * BENCH_WORKS * wish.counts);
    struct bench_table *table = calloc(1, sizeof *table);
    if (table == NULL) return trouble("no memory");
    const bool done = bench_table_measure(&wish, table);
    if (done && json) print_json(&wish, table);
    else if (done) print_words(&wish, table);
    free(table);
    return done ? STATUS_DONE : STATUS_TROUBLE;
}

const struct command *bench_command(void)
{
    static const struct command command = {
        .name = "bench",
        .synopsis = "[--threads N,...] [--keys N] [--for TIME] [--json]",
        .summary = "measure decisions on this machine, beside what the machine charges for their parts",
        .details = "Fills a table with keys, and asks for all of them in turn, one by one and in batches.\n"
                   "Beside it the floor: a bare atomic write at a random place of as much memory.  Compare\n"
                   "ratios: absolute figures tell about the machine and whoever shares it.\n"
                   "\n"
                   "  weir bench --json | jq '.table.batch_of_floor'\n",
        .options = option_rows,
        .option_count = OPTION_COUNT,
        .run = run,
    };
    return &command;
}
