/* SPDX-License-Identifier: MIT
   Large tables: what a key takes, how long filling lasts, how long a call does at random, and what growing costs those
   who call meanwhile.

       bench-grow [--keys N] [--file PATH | --shared] [--full | --growth]
       bench-grow --small    the same in a blink: a test that it still works

   --full     a table of N keys is opened, filled and asked at random
   --growth   one of N / 2 keys is filled and grown to N while two threads ask it, and then they fill the rest

   Both unless one is named; of this process alone unless it has a file or is shared with children.  The floors need the
   same memory, and are measured before the table has it: all pages of plain memory of that size touched in order, and
   swaps in random lines there.

   Resident: all of this process, above what it had before; at its peak by the kernel (VmHWM).  A call that takes over a
   ms may have lost its processor to somebody else, so each is timed by the processor's time of its thread, too; its own
   time has the page faults, and not what it waits for a lock: that is counted as sleeps.  Before the growth the same
   calls are timed without one.

   Every call was answered as expected, or it fails. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#include "harness/harness.h"
#include "host/clock.h"
#include "host/map.h"
#include "share/atomic.h"

enum { THREADS = 2, BATCH = 32, FILL_COST = 10000, PERCENT = 100, LINE = 256 };
static const uint64_t KEYS_USUAL = 10000000, KEYS_SMALL = 800000, CALLS_USUAL = 2000000, CALLS_SMALL = 20000;
static const uint64_t LINE_BYTES = 64, SLOT_BYTES = 16, LOADED_PERCENT = 73, LONG_NS = 1000000;
static const double MIB = 1048576, MS = 1e6, SECOND = 1e9;

static struct wish {
    uint64_t keys, calls;
    const char *path;
    bool shared, full, growth;
} wish;

static weir_table *table;
static weir_plan plan;

/* ---- what the kernel says ---- */

/* In KiB; 0: it does not say. */
static uint64_t kib_in(const char *path, const char *name)
{
    char line[LINE];
    uint64_t kib = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) kib = strtoull(line + strlen(name), NULL, 10);
    }
    if (file != NULL) fclose(file);
    return kib;
}

static double resident_mib(void)
{
    return (double)kib_in("/proc/self/smaps_rollup", "Rss:") * 1024 / MIB;
}

/* From now on the peak is of what comes. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL) return;
    fputs("5", file);
    fclose(file);
}

static double peak_mib(void)
{
    return (double)kib_in("/proc/self/status", "VmHWM:") * 1024 / MIB;
}

static double huge_percent(void)
{
    const uint64_t all = kib_in("/proc/self/smaps_rollup", "Rss:");
    const uint64_t huge =
        kib_in("/proc/self/smaps_rollup", "AnonHugePages:") + kib_in("/proc/self/smaps_rollup", "ShmemPmdMapped:");
    return all == 0 ? 0 : PERCENT * (double)huge / (double)all;
}

static uint64_t own_time_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static uint64_t sleeps(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nvcsw : 0;
}

/* ---- threads ---- */

struct caller {
    pthread_t thread;
    unsigned number;
    uint64_t from, to; /* keys */
    uint64_t calls;    /* 0: until told to stop */
    uint32_t *ns;      /* of each call */
    uint64_t done, longest_ns, longest_own_ns, over, over_own, sleeps;
    struct atom *lines; /* NULL: the table */
    uint64_t line_count, wrong;
};

static atomic_bool stop;

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
    return *seed;
}

static void *fill(void *argument)
{
    struct caller *caller = argument;
    weir_ask ask[BATCH];
    uint64_t number[BATCH];
    for (uint64_t key = caller->from + caller->number; key < caller->to;) {
        size_t count = 0;
        for (; count < BATCH && key < caller->to; count++, key += THREADS) {
            number[count] = key;
            ask[count] = (weir_ask){&plan, {&number[count], sizeof number[count]}, FILL_COST, {0}};
        }
        weir_table_take_batch(table, ask, count, weir_now());
        for (size_t i = 0; i < count; i++) caller->wrong += !weir_allowed(ask[i].decision);
        caller->done += count;
    }
    return NULL;
}

/* One call at random, or one swap in a random line. */
static void ask_one(struct caller *caller, uint64_t random)
{
    if (caller->lines != NULL) {
        struct atom *line = &caller->lines[random % caller->line_count * (LINE_BYTES / sizeof *line)];
        uint64_t seen = atom_load(line);
        while (!atom_swap(line, &seen, seen + 1)) continue;
        return;
    }
    const uint64_t number = caller->from + random % (caller->to - caller->from);
    caller->wrong += !weir_allowed(weir_table_take_at(table, &plan, (weir_key){&number, sizeof number}, weir_now(), 1));
}

/* Times each call by the clock alone. */
static void *ask_at_random(void *argument)
{
    struct caller *caller = argument;
    uint64_t seed = UINT64_C(88172645463325252) + caller->number;
    for (; caller->done < caller->calls; caller->done++) {
        const uint64_t random = next_random(&seed), begin_ns = host_now_ns();
        ask_one(caller, random);
        const uint64_t ns = host_now_ns() - begin_ns;
        caller->ns[caller->done] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
    }
    return NULL;
}

/* Times each call by both clocks, and keeps the longest. */
static void *ask_and_watch(void *argument)
{
    struct caller *caller = argument;
    uint64_t seed = UINT64_C(88172645463325252) + caller->number;
    const uint64_t slept = sleeps();
    while (caller->calls != 0 ? caller->done < caller->calls : !atomic_load(&stop)) {
        const uint64_t random = next_random(&seed), own_ns = own_time_ns(), begin_ns = host_now_ns();
        ask_one(caller, random);
        const uint64_t ns = host_now_ns() - begin_ns, own = own_time_ns() - own_ns;
        if (ns > caller->longest_ns) caller->longest_ns = ns;
        if (own > caller->longest_own_ns) caller->longest_own_ns = own;
        caller->over += ns > LONG_NS;
        caller->over_own += own > LONG_NS;
        caller->done++;
    }
    caller->sleeps = sleeps() - slept;
    return NULL;
}

static void start(struct caller callers[THREADS], const struct caller *like, void *(*body)(void *))
{
    atomic_store(&stop, false);
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i] = *like;
        callers[i].number = i;
        if (like->ns != NULL) callers[i].ns = like->ns + i * like->calls;
        if (pthread_create(&callers[i].thread, NULL, body, &callers[i]) != 0) bench_fail("no thread");
    }
}

static void join(struct caller callers[THREADS])
{
    uint64_t wrong = 0, done = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        wrong += callers[i].wrong;
        done += callers[i].done;
    }
    /* A table at its load: 1 in 1,000 finds no room. */
    if (wrong > done / 1000 + 1) bench_fail("calls were refused");
}

/* ---- printing ---- */

static void print(const char *what, double value, const char *unit, const char *floor)
{
    printf("  %-52s %10.2f %-8s %s\n", what, value, unit, floor);
}

static void print_floor(const char *what, double value, const char *unit, double floor)
{
    char text[LINE];
    snprintf(text, sizeof text, "floor %.2f, %.2f times", floor, value / floor);
    print(what, value, unit, text);
}

static int by_size(const void *a, const void *b)
{
    const uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return (first > second) - (first < second);
}

struct quantiles {
    double half, p99, p999;
};

static struct quantiles timed(const struct caller *like)
{
    struct caller callers[THREADS];
    struct caller chosen = *like;
    const size_t count = THREADS * wish.calls;
    chosen.calls = wish.calls;
    chosen.ns = malloc(count * sizeof *chosen.ns);
    if (chosen.ns == NULL) bench_fail("no memory");
    start(callers, &chosen, ask_at_random);
    join(callers);
    qsort(chosen.ns, count, sizeof *chosen.ns, by_size);
    const struct quantiles quantiles = {chosen.ns[count / 2], chosen.ns[count / PERCENT * 99],
                                        chosen.ns[count / 1000 * 999]};
    free(chosen.ns);
    return quantiles;
}

static double fill_seconds(uint64_t from, uint64_t to)
{
    struct caller callers[THREADS];
    const uint64_t begin_ns = host_now_ns();
    start(callers, &(struct caller){.from = from, .to = to}, fill);
    join(callers);
    return (double)(host_now_ns() - begin_ns) / SECOND;
}

/* ---- the two parts ---- */

static void open_table(uint64_t keys)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    options.keys_max = keys;
    options.path = wish.path;
    options.sharing = wish.path != NULL ? WEIR_CREATE : wish.shared ? WEIR_JOIN_OR_CREATE : WEIR_PRIVATE;
    if (weir_table_open(&table, &options, &error) != 0) bench_fail("%s", error.message);
}

static void close_table(void)
{
    weir_table_close(table);
    if (wish.path != NULL) unlink(wish.path);
}

static uint64_t bytes_for(uint64_t keys)
{
    return keys * PERCENT / LOADED_PERCENT * SLOT_BYTES;
}

/* What a table of that size cannot do without. */
static struct quantiles floor_of(uint64_t bytes, double *touch_seconds)
{
    struct host_region region;
    void *memory;
    if (host_region_anonymous(&region, bytes, true) != 0 || host_region_map(&region, 0, bytes, &memory) != 0)
        bench_fail("no memory");
    const uint64_t begin_ns = host_now_ns();
    host_region_touch(memory, bytes);
    *touch_seconds = (double)(host_now_ns() - begin_ns) / SECOND;
    const struct quantiles quantiles = timed(&(struct caller){.lines = memory, .line_count = bytes / LINE_BYTES});
    host_region_unmap(memory, bytes);
    return quantiles;
}

static void measure_full(void)
{
    double touch_seconds;
    const struct quantiles floor = floor_of(bytes_for(wish.keys), &touch_seconds);
    const double before = resident_mib();
    const uint64_t begin_ns = host_now_ns();
    open_table(wish.keys);
    printf("\n%llu keys, opened at full size\n", (unsigned long long)wish.keys);
    print("opened in", (double)(host_now_ns() - begin_ns) / MS, "ms", "");
    print("resident when opened", resident_mib() - before, "MiB", "");
    print_floor("filled by 2 threads, batches of 32, in", fill_seconds(0, wish.keys), "s", touch_seconds);
    const double resident = resident_mib() - before;
    print("resident when filled", resident, "MiB", "");
    print_floor("bytes a key", resident * MIB / (double)wish.keys, "bytes", (double)SLOT_BYTES);
    print("huge pages, of all that is resident", huge_percent(), "%", "");
    const struct quantiles at_random = timed(&(struct caller){.from = 0, .to = wish.keys});
    print_floor("a take at random, 2 threads: p50", at_random.half, "ns", floor.half);
    print_floor("                             p99", at_random.p99, "ns", floor.p99);
    print_floor("                           p99.9", at_random.p999, "ns", floor.p999);
    close_table();
}

static void print_longest(const char *when, const struct caller callers[THREADS])
{
    struct caller sum = {0};
    for (int i = 0; i < THREADS; i++) {
        sum.done += callers[i].done;
        sum.over += callers[i].over;
        sum.over_own += callers[i].over_own;
        sum.sleeps += callers[i].sleeps;
        if (callers[i].longest_ns > sum.longest_ns) sum.longest_ns = callers[i].longest_ns;
        if (callers[i].longest_own_ns > sum.longest_own_ns) sum.longest_own_ns = callers[i].longest_own_ns;
    }
    char text[LINE], what[LINE];
    snprintf(what, sizeof what, "longest call %s, by the clock", when);
    snprintf(text, sizeof text, "%llu of %llu calls over 1 ms", (unsigned long long)sum.over,
             (unsigned long long)sum.done);
    print(what, (double)sum.longest_ns / MS, "ms", text);
    snprintf(text, sizeof text, "%llu over 1 ms; threads slept %llu times", (unsigned long long)sum.over_own,
             (unsigned long long)sum.sleeps);
    print("  its own time", (double)sum.longest_own_ns / MS, "ms", text);
}

static void measure_growth(void)
{
    struct caller callers[THREADS];
    weir_error error;
    weir_table_stats stats;
    const uint64_t half = wish.keys / 2;
    const double larger = (double)bytes_for(wish.keys) / MIB, before = resident_mib();
    open_table(half);
    fill_seconds(0, half);
    printf("\n%llu keys, grown from %llu that are all there\n", (unsigned long long)wish.keys,
           (unsigned long long)half);
    print("resident before", resident_mib() - before, "MiB", "");
    start(callers, &(struct caller){.to = half, .calls = wish.calls}, ask_and_watch);
    join(callers);
    print_longest("before it grows", callers);
    forget_peak();
    start(callers, &(struct caller){.to = half}, ask_and_watch);
    const uint64_t begin_ns = host_now_ns();
    if (weir_table_grow(table, wish.keys, &error) != 0) bench_fail("%s", error.message);
    print("grown in", (double)(host_now_ns() - begin_ns) / SECOND, "s", "");
    const uint64_t asked_ns = host_now_ns();
    while (host_now_ns() - asked_ns < host_now_ns() - begin_ns && host_now_ns() - asked_ns < UINT64_C(2000000000))
        usleep(1000);
    atomic_store(&stop, true);
    join(callers);
    print_longest("while it grows, and as long after", callers);
    print("the rest filled in", fill_seconds(half, wish.keys), "s", "");
    start(callers, &(struct caller){.to = wish.keys, .calls = wish.calls}, ask_and_watch);
    join(callers);
    print_longest("after all is filled", callers);
    print_floor("resident at its peak, beside the larger size", peak_mib() - before, "MiB", larger);
    print_floor("resident at the end", resident_mib() - before, "MiB", larger);
    print("huge pages, of all that is resident", huge_percent(), "%", "");
    weir_table_read_stats(table, &stats, sizeof stats);
    printf("  %llu keys live, %llu moved, %llu found no room\n", (unsigned long long)stats.keys_live,
           (unsigned long long)stats.moved, (unsigned long long)stats.full);
    close_table();
}

int main(int argc, char **argv)
{
    wish = (struct wish){.keys = KEYS_USUAL, .calls = CALLS_USUAL, .full = true, .growth = true};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) wish.keys = KEYS_SMALL, wish.calls = CALLS_SMALL;
        else if (strcmp(argv[i], "--shared") == 0) wish.shared = true;
        else if (strcmp(argv[i], "--full") == 0) wish.growth = false;
        else if (strcmp(argv[i], "--growth") == 0) wish.full = false;
        else if (strcmp(argv[i], "--keys") == 0 && i + 1 < argc) wish.keys = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--file") == 0 && i + 1 < argc) wish.path = argv[++i];
        else bench_fail("expected --keys N, --file PATH, --shared, --full, --growth or --small");
    }
    if (wish.keys < 2) bench_fail("--keys: expected 2 or more");
    if (weir_plan_parse(&plan, "1000000/d burst=1000000", WEIR_ADMIT, NULL) != 0) bench_fail("no plan");
    bench_print_machine();
    if (wish.full) measure_full();
    if (wish.growth) measure_growth();
    return 0;
}
