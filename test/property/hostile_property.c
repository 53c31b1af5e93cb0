/* SPDX-License-Identifier: MIT
   A table's file may hold any bytes, before it is opened and while it is used: whatever is asked of it
   then is answered, in bounded time, and nothing outside of it is touched.

   A file of either kind is made through the public calls; then bytes and words of it are overwritten, records of its
   header and its remembered plans forged with checks that fit, its end cut off or moved; and it is opened, asked, grown
   and closed, with more damage in between.  What is wrong shows as a fault, as a finding of a sanitizer, as an answer
   that is none, or as a run that does not end.

   The file is never cut off while somebody has it open: that is the one thing that src/host/map.h excludes.

   The source of the header is included, so that what is forged has checks that fit. */
#include "share/table/region.c"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/weir.h>

#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"
#include "share/table/wide_plans.h"

enum {
    KEYS = 12,
    KEYS_MAX = 40,
    GROWN_MAX = 400,
    LONG_KEY = 1 << 16,
    STATE_BYTES_MAX = 2048,
    ASKS_MAX = 40,
    BYTES_MAX = 1 << 20,
    RUN_SECONDS_MAX = 60
};

static const uint64_t DAY_NS = 24 * 3600 * REGION_SECOND_NS;

/* ---- a folder of its own ---- */

static char folder[64], path[sizeof folder + 8];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    if (folder[0] != '\0') return;
    snprintf(folder, sizeof folder, "/dev/shm/weir-hostile-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        snprintf(folder, sizeof folder, "/tmp/weir-hostile-XXXXXX");
        if (mkdtemp(folder) == NULL) abort();
    }
    snprintf(path, sizeof path, "%s/table", folder);
    atexit(remove_folder);
}

static void does_not_end(int signal)
{
    static const char said[] = "hostile: a run does not end\n";
    (void)signal;
    if (write(STDERR_FILENO, said, sizeof said - 1) < 0) _exit(2);
    abort();
}

/* ---- one run ---- */

struct run {
    struct prop *prop;
    weir_table *table; /* NULL while none is open */
    weir_table_options options;
    weir_plan longest;
    weir_plan plan[3]; /* to ask with; one of them is the longest */
    bool wide;
};

static uint64_t pick_word(struct prop *prop)
{
    switch (prop_pick(prop, 5)) {
    case 0:
        return prop_pick_size(prop, UINT64_MAX);
    case 1:
        return UINT64_MAX - prop_pick(prop, 3);
    case 2:
        return (UINT64_C(1) << prop_pick(prop, 64)) - 1 + prop_pick(prop, 3);
    case 3:
        return weir_now().ns + prop_pick_size(prop, 100 * DAY_NS);
    default:
        return prop_pick(prop, 2);
    }
}

static uint64_t pick_count(struct prop *prop)
{
    return prop_chance(prop, 4) ? pick_word(prop) : prop_pick(prop, 10);
}

static weir_key pick_key(struct prop *prop)
{
    static const char names[KEYS][4] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    static const char zeros[LONG_KEY];
    if (prop_chance(prop, 50)) return (weir_key){NULL, 0};
    if (prop_chance(prop, 50)) return (weir_key){zeros, LONG_KEY - prop_pick(prop, 9)};
    return weir_key_text(names[prop_pick(prop, KEYS)]);
}

static weir_instant pick_instant(struct prop *prop)
{
    if (prop_chance(prop, 8)) return (weir_instant){pick_word(prop)};
    return (weir_instant){weir_now().ns + prop_pick_size(prop, DAY_NS) - prop_pick_size(prop, 1000 * REGION_SECOND_NS)};
}

static const weir_plan *pick_plan(struct run *run)
{
    return &run->plan[prop_pick(run->prop, 3)];
}

static void pick_some_plan(struct run *run, weir_plan *plan)
{
    if (run->wide) prop_pick_any_plan(run->prop, 3, STATE_BYTES_MAX, plan);
    else prop_pick_plan(run->prop, PROP_GCRA | PROP_LISTS | PROP_UNRATED, plan);
}

static void choose(struct run *run)
{
    static const uint64_t longest_ns[] = {0, 1, UINT64_C(1000000000), UINT64_C(1) << 60, UINT64_C(1) << 54};
    struct prop *prop = run->prop;
    run->wide = prop_pick(prop, 2) != 0;
    for (int i = 0; i < 3; i++) pick_some_plan(run, &run->plan[i]);
    run->longest = run->plan[0];
    run->options = (weir_table_options)WEIR_TABLE_OPTIONS;
    run->options.path = path;
    run->options.keys_max = 1 + prop_pick(prop, KEYS_MAX);
    run->options.when_full = (weir_when_full)prop_pick(prop, 4);
    run->options.clock = prop_chance(prop, 4) ? WEIR_CLOCK_COARSE : WEIR_CLOCK_SYSTEM;
    run->options.refill_max_ns = longest_ns[prop_pick(prop, 5)];
    run->options.top = prop_chance(prop, 2) ? 3 : 0;
    run->options.plan = run->wide ? &run->longest : NULL;
}

/* ---- damage ---- */

static off_t size_of(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 ? file.st_size : 0;
}

static void overwrite(int fd, const void *bytes, size_t size, uint64_t at)
{
    if (pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size) abort();
}

static void forge_record(struct prop *prop, int fd, unsigned word, unsigned count)
{
    uint64_t page[PAGE_WORDS];
    uint64_t words[RECORD_WORDS_MAX];
    if (pread(fd, page, sizeof page, 0) != (ssize_t)sizeof page) return;
    for (unsigned i = 0; i < count; i++) words[i] = prop_pick(prop, 3) == 0 ? pick_word(prop) : page[word + i];
    if (word == WORD_ONCE && prop_pick(prop, 4) != 0) {
        /* Another unit, slot or kind, and what else there is fits. */
        memcpy(words, page + word, sizeof words[0] * count);
        if (prop_pick(prop, 2) == 0) words[0] = words[0] >> 32 << 32 | (uint32_t)((int)prop_pick(prop, 140) - 70);
        else if (prop_pick(prop, 2) == 0) words[1] = words[1] >> 32 << 32 | prop_pick(prop, 600) * WORD_BYTES;
        else words[0] ^= (uint64_t)(REGION_SLOTS ^ REGION_WIDE) << 32;
    }
    if (word >= WORD_AREAS && word < WORD_BOOTS && prop_pick(prop, 2) == 0) {
        words[0] = prop_pick(prop, 20) * REGION_PAGE;
        words[1] = prop_pick(prop, 20) * REGION_PAGE;
    }
    write_record(page, word, words, count, word);
    overwrite(fd, page + word, (count + 1) * WORD_BYTES, word * WORD_BYTES);
}

static void forge_header(struct prop *prop, int fd)
{
    const unsigned index = (unsigned)prop_pick(prop, REGION_AREAS_MAX);
    uint64_t newest = prop_pick(prop, REGION_AREAS_MAX + 2);
    switch (prop_pick(prop, 4)) {
    case 0:
        forge_record(prop, fd, WORD_ONCE, ONCE_WORDS);
        break;
    case 1:
        forge_record(prop, fd, area_word(index), AREA_WORDS);
        break;
    case 2:
        forge_record(prop, fd, boot_word(index), BOOT_WORDS);
        break;
    default:
        overwrite(fd, &newest, sizeof newest, WORD_NEWEST * WORD_BYTES);
        break;
    }
}

/* States that say they were written under something else than they were. */
static void forge_fingerprints(int fd, uint64_t from, uint64_t known, uint64_t fingerprint)
{
    const uint64_t size = (uint64_t)size_of(fd);
    for (uint64_t at = from; at + 16 <= size; at += WORD_BYTES) {
        uint64_t words[2];
        if (pread(fd, words, sizeof words, (off_t)at) != (ssize_t)sizeof words || words[0] != known) continue;
        words[0] = fingerprint;
        words[1] = UINT64_MAX;
        overwrite(fd, words, sizeof words, at);
    }
}

static void make_up(struct prop *prop, struct wide_plan *plan)
{
    while (prop_more(prop, 2)) {
        const size_t at = prop_pick(prop, plan->count * sizeof(struct rule));
        if (prop_pick(prop, 2) != 0) ((unsigned char *)plan->rule)[at] = (unsigned char)prop_pick(prop, 256);
        else ((uint64_t *)(void *)plan->rule)[at / WORD_BYTES] = pick_word(prop);
    }
}

/* A plan that nobody asked with, made up but for its fingerprint; now and then in a set that is said to be full. */
static void forge_plan(struct run *run, int fd)
{
    struct prop *prop = run->prop;
    const struct plan *some = plan_inside_const(pick_plan(run));
    const uint64_t size = (uint64_t)size_of(fd), sets = wide_sets_in(subtract_to_zero(size, REGION_PAGE));
    const uint64_t bytes = wide_plans_bytes(sets);
    struct wide_plan plan;
    void *memory = malloc(bytes);
    if (memory == NULL) abort();
    if (pread(fd, memory, bytes, REGION_PAGE) == (ssize_t)bytes) {
        memcpy(plan.rule, some->rule, sizeof plan.rule);
        plan.count = some->count;
        make_up(prop, &plan);
        const struct rules made_up = {plan.rule, (int)plan.count};
        const struct wide_plans plans = wide_plans_at(memory, sets);
        if (prop_pick(prop, 2) == 0) {
            uint64_t *words = memory;
            for (uint64_t at = 0; at < sets * sizeof *plans.set / WORD_BYTES; at++) words[at] |= pick_word(prop);
        }
        wide_plans_remember(plans, wide_fingerprint(made_up), made_up);
        overwrite(fd, memory, bytes, REGION_PAGE);
        forge_fingerprints(fd, REGION_PAGE + bytes, wide_fingerprint(plan_rules(some)), wide_fingerprint(made_up));
    }
    free(memory);
}

static void change_size(struct prop *prop, int fd)
{
    const uint64_t size = prop_pick(prop, 2) == 0 ? prop_pick_size(prop, BYTES_MAX) : prop_pick(prop, 30) * REGION_PAGE;
    const bool longer = size > (uint64_t)size_of(fd);
    if ((longer || prop_pick(prop, 2) == 0) && ftruncate(fd, (off_t)size) != 0) abort();
}

/* ahead: nobody has it open. */
static void spoil(struct run *run, bool ahead)
{
    struct prop *prop = run->prop;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    const uint64_t size = (uint64_t)size_of(fd), words = size / WORD_BYTES;
    const uint64_t word = pick_word(prop);
    const unsigned char byte = (unsigned char)prop_pick(prop, 256);
    switch (prop_pick(prop, ahead ? 7 : 6)) {
    case 0:
        if (size > 0) overwrite(fd, &byte, 1, prop_pick(prop, size));
        break;
    case 1:
        if (words > 0) overwrite(fd, &word, WORD_BYTES, prop_pick(prop, words) * WORD_BYTES);
        break;
    case 2: /* a stretch of the slots */
        for (uint64_t i = prop_pick(prop, 64), at = prop_pick(prop, words + 1); i > 0 && at < words; i--, at++) {
            const uint64_t other = pick_word(prop);
            if (at >= PAGE_WORDS) overwrite(fd, &other, WORD_BYTES, at * WORD_BYTES);
        }
        break;
    case 3:
    case 4:
        forge_header(prop, fd);
        break;
    case 5:
        if (run->wide) forge_plan(run, fd);
        break;
    default:
        change_size(prop, fd);
        break;
    }
    close(fd);
}

/* ---- use ---- */

static void check(struct run *run, const char *what, weir_decision decision)
{
    prop_step(run->prop);
    prop_check(run->prop, decision.verdict >= WEIR_ALLOW && decision.verdict <= WEIR_NEVER, "%s: verdict %" PRIu32,
               what, decision.verdict);
    prop_check(run->prop, decision.limit < WEIR_LIMITS_MAX, "%s: limit %" PRIu32, what, decision.limit);
    prop_check(run->prop, decision.verdict != WEIR_DENY || decision.retry_ns > 0, "%s: DENY for 0 ns", what);
    weir_table_full_ns(run->table, &run->plan[0], &decision);
}

static void take_one(struct run *run)
{
    struct prop *prop = run->prop;
    const weir_plan *plan = pick_plan(run);
    const weir_key key = pick_key(prop);
    const uint64_t cost = pick_count(prop);
    weir_decision decision;
    switch (prop_pick(prop, 4)) {
    case 0:
        decision = weir_table_take(run->table, plan, key, cost);
        break;
    case 1:
        decision = weir_table_take_at(run->table, plan, key, pick_instant(prop), cost);
        break;
    case 2:
        decision = weir_table_reserve(run->table, plan, key, cost, pick_word(prop));
        break;
    default:
        decision = weir_table_charge(run->table, plan, key, cost);
        break;
    }
    check(run, "take", decision);
    if (prop_pick(prop, 3) == 0) weir_table_settle(run->table, pick_plan(run), key, &decision, pick_count(prop));
}

static void take_each(struct run *run)
{
    struct prop *prop = run->prop;
    const weir_plan *plan = pick_plan(run);
    const weir_key key = pick_key(prop);
    uint64_t cost[WEIR_LIMITS_MAX], actual[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX] = {0};
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        cost[i] = pick_count(prop);
        actual[i] = pick_count(prop);
    }
    weir_decision decision = weir_table_take_each(run->table, plan, key, cost, end);
    check(run, "take_each", decision);
    if (prop_chance(prop, 4)) end[prop_pick(prop, WEIR_LIMITS_MAX)] = pick_word(prop);
    weir_table_settle_each(run->table, plan, key, &decision, cost, actual, prop_chance(prop, 3) ? NULL : end);
}

static void take_many(struct run *run)
{
    struct prop *prop = run->prop;
    weir_ask asks[ASKS_MAX];
    const bool all = prop_pick(prop, 2) == 0;
    const size_t count = prop_pick(prop, all ? WEIR_ASKS_MAX + 2 : ASKS_MAX + 1);
    bool refused = count == 0;
    for (size_t i = 0; i < count; i++) {
        asks[i] = (weir_ask){pick_plan(run), pick_key(prop), pick_count(prop), {0}};
    }
    if (!all) weir_table_take_batch(run->table, asks, count, pick_instant(prop));
    const bool taken = all && weir_table_take_all(run->table, asks, count, pick_instant(prop));
    for (size_t i = 0; i < count; i++) {
        check(run, all ? "take_all" : "take_batch", asks[i].decision);
        refused = refused || asks[i].decision.verdict != WEIR_ALLOW;
    }
    prop_check(prop, !all || taken || refused, "not taken, and nobody was refused");
    prop_check(prop, !taken || count == 0 || !refused, "taken, and somebody was refused");
}

static void look(struct run *run)
{
    struct prop *prop = run->prop;
    weir_table_stats stats;
    weir_top top[4];
    weir_error error = {0};
    const weir_plan *plan = pick_plan(run);
    switch (prop_pick(prop, 5)) {
    case 0:
        weir_table_read_stats(run->table, &stats, sizeof stats);
        break;
    case 1:
        prop_check(prop, weir_table_read_top(run->table, top, 4) <= 3, "more than options.top");
        break;
    case 2:
        weir_table_forget(run->table, plan, pick_key(prop));
        break;
    case 3:
        check(run, "peek", weir_table_peek(run->table, plan, pick_key(prop), (int)prop_pick(prop, 9) - 1, 1));
        break;
    default:
        if (weir_table_fits(run->table, plan, &error) != 0) prop_check(prop, error.message[0] != '\0', "no reason");
        break;
    }
}

static void use(struct run *run)
{
    switch (prop_pick(run->prop, 8)) {
    case 0:
    case 1:
    case 2:
        take_one(run);
        break;
    case 3:
        take_each(run);
        break;
    case 4:
        take_many(run);
        break;
    case 5:
        look(run);
        break;
    case 6:
        if (prop_chance(run->prop, 4)) weir_table_grow(run->table, prop_pick(run->prop, GROWN_MAX), NULL);
        break;
    default:
        break;
    }
}

static void open_it(struct run *run)
{
    weir_error error = {0};
    const int failed = weir_table_open(&run->table, &run->options, &error);
    prop_check(run->prop, (failed == 0) == (run->table != NULL), "answer %d and a table", failed);
    prop_check(run->prop, failed == 0 || (error.code == failed && error.message[0] != '\0'), "no reason for %d",
               failed);
    if (failed != 0) prop_note(run->prop, "%s", error.message);
}

static void close_it(struct run *run)
{
    weir_table_close(run->table);
    run->table = NULL;
}

static void hostile(struct prop *prop)
{
    static struct run run; /* what a run that failed has left open */
    close_it(&run);
    run = (struct run){.prop = prop};
    make_folder();
    signal(SIGALRM, does_not_end);
    alarm(RUN_SECONDS_MAX);
    unlink(path);
    choose(&run);
    open_it(&run);
    while (run.table != NULL && prop_more(prop, 6)) use(&run);
    for (uint64_t lives = 1 + prop_pick(prop, 3); lives > 0; lives--) {
        while (run.table != NULL && prop_more(prop, 4)) {
            spoil(&run, false);
            use(&run);
            use(&run);
        }
        close_it(&run);
        while (prop_more(prop, 2)) spoil(&run, true);
        if (prop_chance(prop, 8)) run.options.plan = run.options.plan == NULL ? &run.longest : NULL;
        open_it(&run);
        while (run.table != NULL && prop_more(prop, 8)) use(&run);
    }
    close_it(&run);
    alarm(0);
}

PROPERTY("hostile", hostile, 5000);
