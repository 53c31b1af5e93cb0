/* SPDX-License-Identifier: MIT
   What a decision for one of many keys costs, and how much memory a key needs.

   What a table cannot do without is one access to memory that is in no cache, and one atomic write there.  So the floor
   is just that: a swap in a random cache line, one by one, or 32 lines asked for before the first is touched.  Floors
   and ours take turns, round by round, so that a machine that is slower for a second is slower for all.

   One by one means that an answer is there before the next question is known, as for who answers one request after the
   other: each place depends on what was found at the last.  Of a loop over keys that are all known, a processor looks
   at several at once where it can; how many depends on what it has to guess meanwhile, so a bare swap gains most.

   Keys are made, and lines chosen, a few at a time between two readings of the clock, and that is not measured: a
   service has its keys in the cache when it asks.

   All keys are filled in before, with so much that none is idle again meanwhile; so a call finds its key and writes its
   time, and no call is refused.

   Every call was answered as expected, or it fails. */
#include "weir-bench/table.h"

#include <unistd.h>

#include "harness/crew.h"
#include "host/map.h"
#include "host/thread.h"
#include "weir-bench/table_fill.h"

enum { CHUNK = 4 * TABLE_BATCH, PAGE = 4096 };
enum { CHAIN_SHIFT = 63, AWAY_NS = 1000000, AWAY_FEW = 100 };
enum { ROUNDS_USUAL = 15, RUN_USUAL_NS = 22000000 };
enum { KEY_BYTES = 22, COPIES = 2, MEGA = 1000000 }; /* about so many for each key, in the table and in the floor */

#define SECOND_NS 1e9
#define CACHES_MOST (UINT64_C(1) << 28) /* bytes: no cache holds more */
#define LIMIT "1000000/d burst=1000000"
#define PARENT "1000000/s burst=1000000000"

struct line {
    struct atom counter;
    uint64_t rest[7];
};

/* What a thread asks for; it goes on there in the next round. */
struct askee {
    alignas(BENCH_CACHE_LINE) uint64_t first;
    uint64_t threads, place; /* keys first, first + threads, ... are its own */
    uint64_t units, ns;
    uint64_t away; /* so often the processor was somebody else's for long: that is not counted, unless it is the rule */
};

struct bench {
    const struct bench_wish *wish;
    weir_table *table;
    weir_plan plan, tenant, parent;
    struct host_region region;
    struct line *line;
    uint64_t lines;
    struct askee *askee[BENCH_COUNTS_MAX][TABLE_WORKS]; /* of each thread */
};

/* What is worked on between two readings of the clock. */
struct chunk {
    weir_ask ask[CHUNK];
    struct atom *counter[CHUNK];
    unsigned char bytes[CHUNK][TABLE_KEY_MOST];
    weir_instant now;
};

struct job {
    const struct bench *bench;
    enum table_work work;
    struct askee *askee;
};

/* ---- keys and lines ---- */

static uint64_t next_number(const struct bench *bench, struct askee *askee)
{
    return askee->first + askee->place++ % (bench->wish->keys / askee->threads) * askee->threads;
}

static void prepare_keys(const struct bench *bench, struct askee *askee, struct chunk *chunk)
{
    for (int i = 0; i < CHUNK; i++) {
        chunk->ask[i].plan = &bench->plan;
        chunk->ask[i].key = table_make_key(next_number(bench, askee), chunk->bytes[i]);
        chunk->ask[i].cost = 1;
    }
    chunk->now = weir_now();
}

static void prepare_lines(const struct bench *bench, struct askee *askee, struct chunk *chunk)
{
    for (int i = 0; i < CHUNK; i++) {
        chunk->counter[i] = &bench->line[table_mix(next_number(bench, askee)) % bench->lines].counter;
    }
}

/* ---- what is measured ---- */

/* What takes turns pushes each other out of the caches.  So all of it is read once before, in order: then both find as
   much there as a machine that does nothing else would have. */
static void warm_table(const struct bench *bench)
{
    if (bench->lines * sizeof *bench->line <= CACHES_MOST) table_stats(bench->table);
}

static void warm_lines(const struct bench *bench)
{
    const uint64_t lines = bench->lines * sizeof *bench->line <= CACHES_MOST ? bench->lines : 0;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < lines; i++) sum += atom_load(&bench->line[i].counter);
    if (sum == 1) host_yield(); /* so that the sum is needed; it is not 1 */
}

/* Returns what was there: far below 2^63. */
static uint64_t swap(struct atom *counter)
{
    uint64_t seen = atom_load(counter);
    while (!atom_swap(counter, &seen, seen + 1)) continue;
    return seen;
}

static uint64_t run_floor(const struct bench *bench, struct chunk *chunk)
{
    uint64_t seen = 0;
    (void)bench;
    for (uint64_t i = 0; i < CHUNK; i++) seen = swap(chunk->counter[i ^ (seen >> CHAIN_SHIFT)]);
    return CHUNK;
}

static uint64_t run_floor_loop(const struct bench *bench, struct chunk *chunk)
{
    (void)bench;
    for (int i = 0; i < CHUNK; i++) swap(chunk->counter[i]);
    return CHUNK;
}

static uint64_t run_floor_batch(const struct bench *bench, struct chunk *chunk)
{
    (void)bench;
    for (int first = 0; first < CHUNK; first += TABLE_BATCH) {
        for (int i = first; i < first + TABLE_BATCH; i++) __builtin_prefetch(chunk->counter[i], 1);
        for (int i = first; i < first + TABLE_BATCH; i++) swap(chunk->counter[i]);
    }
    return CHUNK;
}

static uint64_t run_take(const struct bench *bench, struct chunk *chunk)
{
    uint64_t done = 0, left = 0;
    for (uint64_t i = 0; i < CHUNK; i++) {
        const weir_key key = chunk->ask[i ^ (left >> CHAIN_SHIFT)].key;
        const weir_decision decision = weir_table_take_at(bench->table, &bench->plan, key, chunk->now, 1);
        left = decision.remaining;
        done += weir_allowed(decision);
    }
    return done;
}

static uint64_t run_take_loop(const struct bench *bench, struct chunk *chunk)
{
    uint64_t done = 0;
    for (int i = 0; i < CHUNK; i++) {
        done += weir_allowed(weir_table_take_at(bench->table, &bench->plan, chunk->ask[i].key, chunk->now, 1));
    }
    return done;
}

/* The same loop, with the lines of the keys to come on their way. */
static uint64_t run_take_ahead(const struct bench *bench, struct chunk *chunk)
{
    uint64_t done = 0, word[CHUNK];
    for (int i = 0; i < CHUNK + TABLE_AHEAD; i++) {
        if (i < CHUNK) word[i] = weir_table_prefetch(bench->table, &bench->plan, chunk->ask[i].key);
        if (i < TABLE_AHEAD) continue;
        const int at = i - TABLE_AHEAD;
        done += weir_allowed(
            weir_table_take_prefetched(bench->table, &bench->plan, chunk->ask[at].key, word[at], chunk->now, 1));
    }
    return done;
}

static uint64_t run_take_clock(const struct bench *bench, struct chunk *chunk)
{
    uint64_t done = 0;
    for (int i = 0; i < CHUNK; i++)
        done += weir_allowed(weir_table_take(bench->table, &bench->plan, chunk->ask[i].key, 1));
    return done;
}

static uint64_t run_take_batch(const struct bench *bench, struct chunk *chunk)
{
    uint64_t done = 0;
    for (int first = 0; first < CHUNK; first += TABLE_BATCH) {
        weir_table_take_batch(bench->table, &chunk->ask[first], TABLE_BATCH, chunk->now);
        for (int i = first; i < first + TABLE_BATCH; i++) done += weir_allowed(chunk->ask[i].decision);
    }
    return done;
}

static uint64_t run_take_both(const struct bench *bench, struct chunk *chunk)
{
    const weir_key all = weir_key_text("all");
    uint64_t done = 0;
    for (int i = 0; i < CHUNK; i++) {
        const weir_decision one = weir_table_take_at(bench->table, &bench->plan, chunk->ask[i].key, chunk->now, 1);
        done += weir_allowed(one) && weir_allowed(weir_table_take_at(bench->table, &bench->parent, all, chunk->now, 1));
    }
    return done;
}

static uint64_t run_take_tenant(const struct bench *bench, struct chunk *chunk)
{
    uint64_t done = 0;
    weir_ask asks[] = {{&bench->tenant, {NULL, 0}, 1, {0}}, {&bench->parent, weir_key_text("all"), 1, {0}}};
    for (int i = 0; i < CHUNK; i++) {
        asks[0].key = chunk->ask[i].key;
        done += weir_table_take_all(bench->table, asks, 2, chunk->now) && !weir_borrowed(&asks[0].decision);
    }
    return done;
}

struct work {
    void (*warm)(const struct bench *bench);
    void (*prepare)(const struct bench *bench, struct askee *askee, struct chunk *chunk);
    uint64_t (*run)(const struct bench *bench, struct chunk *chunk);
};

static struct work work_of(enum table_work work)
{
    switch (work) {
    case TABLE_FLOOR:
        return (struct work){warm_lines, prepare_lines, run_floor};
    case TABLE_TAKE:
        return (struct work){warm_table, prepare_keys, run_take};
    case TABLE_FLOOR_LOOP:
        return (struct work){warm_lines, prepare_lines, run_floor_loop};
    case TABLE_TAKE_LOOP:
        return (struct work){warm_table, prepare_keys, run_take_loop};
    case TABLE_FLOOR_BATCH:
        return (struct work){warm_lines, prepare_lines, run_floor_batch};
    case TABLE_TAKE_BATCH:
        return (struct work){warm_table, prepare_keys, run_take_batch};
    case TABLE_TAKE_AHEAD:
        return (struct work){warm_table, prepare_keys, run_take_ahead};
    case TABLE_TAKE_BOTH:
        return (struct work){warm_table, prepare_keys, run_take_both};
    case TABLE_TAKE_TENANT:
        return (struct work){warm_table, prepare_keys, run_take_tenant};
    default:
        return (struct work){warm_table, prepare_keys, run_take_clock};
    }
}

/* ---- threads ---- */

static void enter(struct bench_member *member)
{
    const struct job *job = member->crew->job;
    struct askee *askee = &job->askee[member->index];
    askee->units = askee->ns = askee->away = 0;
    member->own = askee;
}

static void turn(struct bench_member *member)
{
    const struct job *job = member->crew->job;
    const struct work work = work_of(job->work);
    struct askee *askee = member->own;
    struct chunk chunk;
    do {
        work.prepare(job->bench, askee, &chunk);
        const uint64_t begin_ns = host_now_ns(), done = work.run(job->bench, &chunk);
        const uint64_t ns = host_now_ns() - begin_ns;
        member->wrong += CHUNK - done;
        if (ns > AWAY_NS && askee->away++ < AWAY_FEW + askee->units / CHUNK) continue;
        askee->ns += ns;
        askee->units += CHUNK;
    } while (askee->units == 0);
}

/* Calls a second, all threads together. */
static void measure(struct bench *bench, int count, enum table_work work, double *rate)
{
    const struct job job = {bench, work, bench->askee[count][work]};
    struct bench_crew crew = {.name = "table",
                              .threads = bench->wish->threads[count],
                              .run_ns = bench->wish->run_ns,
                              .job = &job,
                              .enter = enter,
                              .turn = turn};
    *rate = 0;
    work_of(work).warm(bench);
    bench_crew_run(&crew);
    bench_crew_close(&crew);
    for (unsigned i = 0; i < crew.threads; i++) {
        const struct askee *askee = &job.askee[i];
        *rate += (double)askee->units * SECOND_NS / (double)(askee->ns > 0 ? askee->ns : 1);
    }
}

static void measure_all(struct bench *bench, struct bench_table *table)
{
    const struct bench_wish *wish = bench->wish;
    for (int round = 0; round < wish->rounds; round++) {
        for (int count = 0; count < wish->counts; count++) {
            bench_progress("table", wish->threads[count] == 1 ? "thread" : "threads", wish->threads[count], round,
                           wish->rounds);
            for (int work = 0; work < TABLE_WORKS; work++) {
                measure(bench, count, (enum table_work)work, &table->rate[count][work].round[round]);
            }
        }
    }
}

static void make_askees(struct bench *bench)
{
    for (int count = 0; count < bench->wish->counts; count++) {
        const unsigned threads = bench->wish->threads[count];
        for (int work = 0; work < TABLE_WORKS; work++) {
            struct askee *askee = host_allocate(threads * sizeof *askee);
            bench->askee[count][work] = askee;
            if (askee == NULL) bench_fail("no memory");
            for (unsigned i = 0; i < threads; i++) {
                askee[i].first = i;
                askee[i].threads = threads;
            }
        }
    }
}

/* ---- memory ---- */

static void free_all(struct bench *bench)
{
    host_region_unmap(bench->line, bench->lines * sizeof *bench->line);
    host_region_close(&bench->region);
    weir_table_close(bench->table);
    for (int count = 0; count < bench->wish->counts; count++) {
        for (int work = 0; work < TABLE_WORKS; work++) host_free(bench->askee[count][work]);
    }
}

/* As the table's memory is: of the same size, with a page before it, and there before it is measured. */
static void map_lines(struct bench *bench, uint64_t bytes)
{
    void *memory = NULL;
    bench->lines = bytes / sizeof *bench->line;
    const uint64_t size = bench->lines * sizeof *bench->line;
    int failed = host_region_anonymous(&bench->region, PAGE + size, false);
    if (failed == 0) failed = host_region_map(&bench->region, PAGE, size, &memory);
    if (failed != 0)
        bench_fail("%llu bytes beside the table: %s; see --keys", (unsigned long long)size, strerror(failed));
    bench->line = memory;
    memset(memory, 1, size);
}

/* A table lies in memory from the start: the system would kill whoever asks for more than there is. */
static void expect_to_fit(uint64_t keys)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t need = keys * KEY_BYTES * COPIES;
    if (pages <= 0 || page <= 0 || need / (uint64_t)page < (uint64_t)pages) return;
    bench_fail("%llu keys need about %llu MB, more than this machine has; see --keys", (unsigned long long)keys,
               (unsigned long long)(need / MEGA));
}

static void open_all(struct bench *bench)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    options.keys_max = bench->wish->keys;
    expect_to_fit(bench->wish->keys);
    if (weir_plan_parse(&bench->plan, LIMIT, WEIR_ADMIT, &error) != 0 ||
        weir_plan_parse(&bench->tenant, LIMIT " guaranteed", WEIR_ADMIT, &error) != 0 ||
        weir_plan_parse(&bench->parent, PARENT, WEIR_ADMIT, &error) != 0 ||
        weir_table_open(&bench->table, &options, &error) != 0)
        bench_fail("%s", error.message);
    map_lines(bench, table_stats(bench->table).bytes);
}

void *table_measure(const struct bench_wish *wish)
{
    struct bench bench = {.wish = wish, .region = {.fd = -1}};
    struct bench_table *table = bench_allocate(1, sizeof *table);
    make_askees(&bench);
    open_all(&bench);
    struct filling filling = {.table = bench.table, .plan = &bench.plan, .keys = wish->keys};
    table_fill(&filling);
    measure_all(&bench, table);
    table_overfill(&filling);
    table->bytes = table_stats(bench.table).bytes;
    table->keys_fitting = filling.fitting;
    table->keys_fitting_in_all = filling.fitting_in_all;
    free_all(&bench);
    return table;
}

void table_fill_in(struct bench_wish *wish)
{
    if (wish->rounds == 0) wish->rounds = ROUNDS_USUAL;
    wish->run_ns = RUN_USUAL_NS;
    if (wish->counts != 0) return;
    wish->counts = 2;
    wish->threads[0] = 1;
    wish->threads[1] = 2;
}

uint64_t table_runs(const struct bench_wish *wish)
{
    return (uint64_t)wish->rounds * (uint64_t)wish->counts * TABLE_WORKS;
}
