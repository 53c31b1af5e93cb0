/* SPDX-License-Identifier: MIT
   Weir-bench: what this machine makes of limits, beside what it charges for their parts.

   No figure without the floor that was measured in turns with it; ratios are of figures of the same round. */
#include "weir-bench/sections.h"

#include <getopt.h>

#include "cli/common/arguments.h"
#include "cli/common/streams.h"
#include "harness/loops.h"

enum { SECTION_GRANT, SECTION_DENY, SECTION_CLOCK, SECTION_PACE, SECTION_TABLE, SECTIONS };
enum { OPTION_THREADS, OPTION_RATE, OPTION_GRAIN, OPTION_KEYS, OPTION_FOR, OPTION_ROUNDS, OPTION_JSON, OPTION_COUNT };
enum { KEYS_LEAST = 1000, KEYS_MOST = 1000000000, KEYS_USUAL = 1000000, RATE_MOST = 1000000000, ITEM_SIZE = 32 };

static const uint64_t FOR_MOST_NS = 3600000000000, GRAIN_MOST_NS = 1000000000;

static const struct option_help option_rows[OPTION_COUNT] = {
    [OPTION_THREADS] = {"threads", 0, "N", "numbers of threads, measured one after another: 1,2,8"},
    [OPTION_RATE] = {"rate", 0, "RATE", "pace: starts a second, one or more rates: 1k,1M,50M"},
    [OPTION_GRAIN] = {"grain", 0, "TIME", "pace: minimum sleep; grain_ns of weir_limiter(3)"},
    [OPTION_KEYS] = {"keys", 0, "N", "table: number of keys (1000000)"},
    [OPTION_FOR] = {"for", 0, "TIME", "total time of measurement, for example 10s, without filling the table"},
    [OPTION_ROUNDS] = {"rounds", 0, "N", "number of rounds (5; pace 1, table 15)"},
    [OPTION_JSON] = {"json", 0, NULL, "print one JSON object instead of text"},
};

struct bench {
    struct bench_wish wish;                /* as said */
    struct bench_wish filled_in[SECTIONS]; /* ... and as each section takes it */
    void *measured[SECTIONS];
    bool named[SECTIONS], given[OPTION_COUNT], json;
    uint64_t for_ns; /* 0: as long as it usually takes */
};

static const struct bench_section SECTION_ROWS[SECTIONS] = {
    [SECTION_GRANT] = {"grant", bench_fill_in_loops, grant_runs, grant_measure, grant_words, grant_json},
    [SECTION_DENY] = {"deny", bench_fill_in_loops, deny_runs, deny_measure, deny_words, deny_json},
    [SECTION_CLOCK] = {"clock", clock_fill_in, clock_runs, clock_measure, clock_words, clock_json},
    [SECTION_PACE] = {"pace", pace_fill_in, pace_runs, pace_measure, pace_words, pace_json},
    [SECTION_TABLE] = {"table", table_fill_in, table_runs, table_measure, table_words, table_json},
};

/* ---- arguments ---- */

/* Up to `room` whole numbers with commas between them. */
static bool read_list(const char *text, uint64_t *list, int room, int *count)
{
    *count = 0;
    for (const char *at = text; *count < room; at++) {
        char item[ITEM_SIZE];
        const size_t size = strcspn(at, ",");
        if (size == 0 || size >= sizeof item) return false;
        memcpy(item, at, size);
        item[size] = '\0';
        if (!read_count(item, &list[*count])) return false;
        (*count)++;
        at += size;
        if (*at == '\0') return true;
    }
    return false;
}

static bool within(const uint64_t *list, int count, uint64_t most)
{
    for (int i = 0; i < count; i++) {
        if (list[i] == 0 || list[i] > most) return false;
    }
    return true;
}

static bool read_threads(const char *text, struct bench_wish *wish)
{
    uint64_t list[BENCH_COUNTS_MAX];
    if (!read_list(text, list, BENCH_COUNTS_MAX, &wish->counts) || !within(list, wish->counts, BENCH_THREADS_MAX)) {
        trouble("--threads \"%s\": expected up to %d numbers from 1 to %d; for example 1,2,8", text, BENCH_COUNTS_MAX,
                BENCH_THREADS_MAX);
        return false;
    }
    for (int i = 0; i < wish->counts; i++) wish->threads[i] = (unsigned)list[i];
    return true;
}

static bool read_rates(const char *text, struct bench_wish *wish)
{
    if (read_list(text, wish->rate, BENCH_RATES_MAX, &wish->rates) && within(wish->rate, wish->rates, RATE_MOST)) {
        return true;
    }
    trouble("--rate \"%s\": expected up to %d whole numbers a second, from 1 to %d; for example 1000,100k,1M", text,
            BENCH_RATES_MAX, RATE_MOST);
    return false;
}

static bool read_keys(const char *text, uint64_t *keys)
{
    if (read_count(text, keys) && *keys >= KEYS_LEAST && *keys <= KEYS_MOST) return true;
    trouble("--keys \"%s\": expected a whole number from %d to %d; for example 10M", text, KEYS_LEAST, KEYS_MOST);
    return false;
}

static bool read_time(const char *option, const char *text, uint64_t most_ns, const char *most, uint64_t *ns)
{
    if (!read_time_argument(option, text, ns)) return false;
    if (*ns > 0 && *ns <= most_ns) return true;
    trouble("--%s \"%s\": expected more than 0 and at most %s", option, text, most);
    return false;
}

static bool read_option(struct bench *bench, int option, const char *value)
{
    uint64_t rounds;
    bench->given[option] = true;
    switch (option) {
    case OPTION_THREADS:
        return read_threads(value, &bench->wish);
    case OPTION_RATE:
        return read_rates(value, &bench->wish);
    case OPTION_GRAIN:
        return read_time("grain", value, GRAIN_MOST_NS, "1s", &bench->wish.grain_ns);
    case OPTION_KEYS:
        return read_keys(value, &bench->wish.keys);
    case OPTION_FOR:
        return read_time("for", value, FOR_MOST_NS, "1h", &bench->for_ns);
    case OPTION_ROUNDS:
        if (!read_count_argument("rounds", value, BENCH_ROUNDS_MAX, &rounds)) return false;
        bench->wish.rounds = (int)rounds;
        return true;
    default:
        bench->json = true;
        return true;
    }
}

static bool read_section(struct bench *bench, const char *name)
{
    for (int section = 0; section < SECTIONS; section++) {
        if (strcmp(SECTION_ROWS[section].name, name) != 0) continue;
        bench->named[section] = true;
        return true;
    }
    trouble("there is no section \"%s\"; expected grant, deny, clock, pace or table", name);
    return false;
}

/* Where sections are named, an option is of one of them. */
static bool check_options(const struct bench *bench)
{
    static const struct {
        int option, section;
    } rows[] = {{OPTION_RATE, SECTION_PACE}, {OPTION_GRAIN, SECTION_PACE}, {OPTION_KEYS, SECTION_TABLE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!bench->given[rows[i].option] || bench->named[rows[i].section]) continue;
        const char *name = SECTION_ROWS[rows[i].section].name;
        trouble("--%s is for the section %s, which is not among those named; add %s", option_rows[rows[i].option].name,
                name, name);
        return false;
    }
    return true;
}

/* Where none are named, those that the options are about; without such options, all. */
static void choose_sections(struct bench *bench)
{
    const bool pace = bench->given[OPTION_RATE] || bench->given[OPTION_GRAIN], table = bench->given[OPTION_KEYS];
    const bool threads = bench->given[OPTION_THREADS] && !pace && !table;
    const bool all = !pace && !table && !threads;
    bench->named[SECTION_GRANT] = bench->named[SECTION_DENY] = all || threads;
    bench->named[SECTION_CLOCK] = all;
    bench->named[SECTION_PACE] = all || pace;
    bench->named[SECTION_TABLE] = all || table;
}

static bool read_sections(struct bench *bench, int argc, char **argv)
{
    for (int i = optind; i < argc; i++) {
        if (!read_section(bench, argv[i])) return false;
    }
    if (optind < argc) return check_options(bench);
    choose_sections(bench);
    return true;
}

/* ---- running ---- */

/* Each run is as much longer or shorter than usual as all together shall be. */
static void share_time(struct bench *bench)
{
    double usual_ns = 0;
    for (int section = 0; section < SECTIONS; section++) {
        struct bench_wish *wish = &bench->filled_in[section];
        *wish = bench->wish;
        SECTION_ROWS[section].fill_in(wish);
        if (bench->named[section]) usual_ns += (double)wish->run_ns * (double)SECTION_ROWS[section].runs(wish);
    }
    if (bench->for_ns == 0) return;
    for (int section = 0; section < SECTIONS; section++) {
        struct bench_wish *wish = &bench->filled_in[section];
        wish->run_ns = (uint64_t)((double)wish->run_ns * (double)bench->for_ns / usual_ns) + 1;
    }
}

static void measure_all(struct bench *bench)
{
    if (!bench->json) printf("weir %s, %u processors\n\n", weir_version(), bench->wish.processors);
    for (int section = 0; section < SECTIONS; section++) {
        if (!bench->named[section]) continue;
        fflush(stdout);
        bench->measured[section] = SECTION_ROWS[section].measure(&bench->filled_in[section]);
        bench_progress_clear();
        if (!bench->json) SECTION_ROWS[section].print_words(&bench->filled_in[section], bench->measured[section]);
    }
}

static void print_json(const struct bench *bench)
{
    printf("{\"weir\":\"%s\",\"processors\":%u", weir_version(), bench->wish.processors);
    for (int section = 0; section < SECTIONS; section++) {
        if (!bench->named[section]) continue;
        printf(",");
        SECTION_ROWS[section].print_json(&bench->filled_in[section], bench->measured[section]);
    }
    printf("}\n");
}

static int measure_and_print(struct bench *bench)
{
    share_time(bench);
    measure_all(bench);
    if (bench->json) print_json(bench);
    for (int section = 0; section < SECTIONS; section++) free(bench->measured[section]);
    return STATUS_DONE;
}

static const struct command *weir_bench(void)
{
    static const struct command command = {
        .synopsis = "[grant] [deny] [clock] [pace] [table] [OPTION]...",
        .summary = "measure limits on this machine, beside baselines of what the machine itself costs",
        .details =
            "Sections, all of them unless some are named:\n"
            "  grant   permits of one limiter for more and more threads: plain calls, and leases\n"
            "  deny    refusals, with different clocks\n"
            "  clock   the cost of reading clocks, and how late threads wake up\n"
            "  pace    how exactly a rate is held, how late, and at what CPU time\n"
            "  table   one limit for each of very many keys\n"
            "--rate or --grain alone selects pace, --keys alone table, --threads alone grant and deny.\n"
            "\n"
            "Every result stands beside a baseline (floor) measured in the same rounds.  Compare ratios: absolute\n"
            "results depend on the machine and on what else runs there.\n"
            "\n"
            "  weir-bench --threads 1,2,64\n"
            "  weir-bench --rate 1000000 --json | jq '.pace[0].error_ppm'\n",
        .options = option_rows,
        .option_count = OPTION_COUNT,
    };
    return &command;
}

static int run(int argc, char **argv)
{
    struct bench bench = {.wish = {.keys = KEYS_USUAL, .processors = (unsigned)host_processors()}};
    const char *value;
    for (int option; (option = next_option(weir_bench(), argc, argv, &value)) != ARGUMENTS_END;) {
        if (option == ARGUMENTS_HELP) return STATUS_DONE;
        if (option == ARGUMENTS_WRONG || !read_option(&bench, option, value)) return STATUS_TROUBLE;
    }
    return read_sections(&bench, argc, argv) ? measure_and_print(&bench) : STATUS_TROUBLE;
}

int main(int argc, char **argv)
{
    streams_keep_numbers();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("weir-bench %s\n", weir_version());
        return streams_written(STATUS_DONE);
    }
    return streams_written(run(argc, argv));
}
