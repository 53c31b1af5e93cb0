/* SPDX-License-Identifier: MIT
   Tables at the ends of their ranges: sizes, costs, times, keys, options; and where the system has
   no more room. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/weir.h>

#include "api/limiter.h"
#include "api/table/keyed.h"
#include "core/stamps.h"
#include "size.h"
#include "unit/plans.h"
#include "unit/sized.h"
#include "unit/skip.h"
#include "unit/table_rig.h"

static const uint64_t HOUR = 3600 * S;

/* The child's answer to `ask`, within a minute. */
static bool in_a_child(bool (*ask)(weir_table *), weir_table *table)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(ask(table) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
}

/* ---- sizes ---- */

static void what_cannot_be_had_is_refused_at_once(void **unused)
{
    (void)unused;
    const weir_plan log = plan_of("1000000/h algorithm=sliding-log"),
                    huge = plan_of("268435456/h algorithm=sliding-log");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = UINT64_C(1) << 34;
    refused(options, WEIR_ENOMEM, "350.6 GiB of memory are needed, and ");
    options.path = path;
    refused(options, WEIR_ENOMEM, " are available (");
    struct stat file;
    if (stat(path, &file) == 0) assert_int_equal(file.st_size, 0);
    options.keys_max++;
    refused(options, WEIR_EINVAL, "keys_max");
    options.keys_max--;
    options.plan = &log;
    refused(options, WEIR_EINVAL, "keys_max");
    const weir_plan most = plan_of("268435446/h algorithm=sliding-log"),
                    more = plan_of("268435447/h algorithm=sliding-log"); /* by 8 bytes in each of two copies */
    options.plan = &most;
    refused(options, WEIR_EINVAL, "options.keys_max: so many keys");
    options.plan = &more;
    refused(options, WEIR_EINVAL, "options.plan: its state takes more than 4 GiB a key");
    options.keys_max = 1;
    options.plan = &huge;
    refused(options, WEIR_EINVAL, "options.plan");
    /* And what is left there is a table to come. */
    options.plan = NULL;
    weir_table_close(open_with(options));
}

static void the_smallest_table(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/h"), log = plan_of("1/h algorithm=sliding-log");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 1;
    weir_table *table = open_with(options);
    assert_true(weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1)));
    assert_false(weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1)));
    weir_table_close(table);
    options.plan = &log;
    options.sharing = WEIR_PRIVATE;
    table = open_with(options);
    assert_true(weir_allowed(weir_table_take(table, &log, weir_key_text("k"), 1)));
    assert_false(weir_allowed(weir_table_take(table, &log, weir_key_text("k"), 1)));
    weir_table_close(table);
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *own = opendir("/proc/self/fd");
    if (own == NULL) return 0;
    while (readdir(own) != NULL) count++;
    closedir(own);
    return count;
}

static void nothing_stays_open(void **unused)
{
    (void)unused;
    const weir_plan log = plan_of("3/h algorithm=sliding-log");
    const unsigned before = open_descriptors();
    for (int i = 0; i < 1000; i++) {
        weir_table_options options = WEIR_TABLE_OPTIONS;
        weir_table *table = NULL;
        options.keys_max = 10;
        options.path = i % 3 != 0 ? path : NULL;
        options.plan = i % 3 == 2 ? &log : NULL;
        options.top = 3;
        if (i % 5 == 0) unlink(path);
        if (weir_table_open(&table, &options, NULL) == 0 && i % 3 != 2) weir_table_grow(table, 1000, NULL);
        weir_table_close(table);
        if (i % 3 == 1) unlink(path);
    }
    assert_int_equal(open_descriptors(), before);
    weir_table_close(NULL);
}

/* ---- growing ---- */

/* That all have rested is noted when the last slot has been looked at, as of when the first was; not sooner. */
static void a_round_of_sweeps(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 100000;
    weir_table *table = open_with(options);
    const uint64_t buckets = 2 * keyed_slots(table)->area[0].half, opened_ns = atom_load(table->rested);
    uint64_t sweeps = 0, rounds = 0;
    assert_true(buckets > 10000);
    for (uint64_t rested_ns = opened_ns; rounds < 2 && sweeps < 3 * buckets; sweeps++) {
        keyed_maintain(table);
        const uint64_t now_ns = atom_load(table->rested);
        assert_true(now_ns >= rested_ns && now_ns <= weir_now().ns + table->offset_ns);
        rounds += now_ns != rested_ns;
        rested_ns = now_ns;
        if (sweeps < 10) assert_int_equal(now_ns, opened_ns);
    }
    assert_int_equal(rounds, 2);
    weir_table_close(table);
}

static void others_growth_is_known(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    const weir_plan plan = plan_of("1/h");
    weir_table_stats stats;
    weir_error error;
    options.path = path;
    options.keys_max = 100;
    weir_table *one = open_with(options), *other = open_with(options);
    assert_int_equal(weir_table_grow(one, 100000, &error), 0);
    /* Fewer than that is no growth, for whoever has not noticed it yet, too. */
    assert_int_equal(weir_table_grow(other, 5000, &error), WEIR_EINVAL);
    for (unsigned i = 0; i < 50000; i++) weir_table_take(other, &plan, (weir_key){&i, sizeof i}, 1);
    weir_table_read_stats(other, &stats, sizeof stats);
    assert_true(stats.keys_max >= 100000);
    assert_true(stats.bytes >= 100000 * 16);
    assert_true(stats.full < 10);
    /* Lists are few: a thread that comes second finds that there is nothing to add to them. */
    const struct table *known = keyed_slots(other);
    assert_int_equal(known->count, 2);
    assert_int_equal(known->first, 1);
    keyed_map_more(other);
    keyed_leave_areas(other, 0);
    keyed_leave_areas(other, 1);
    assert_ptr_equal(keyed_slots(other), known);
    weir_table_close(one);
    weir_table_close(other);
}

/* All the memory that this process may have is what it has and a little more. */
static bool goes_on_without_room(weir_table *table)
{
    const weir_plan plan = plan_of("2/h");
    const struct rlimit little = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_AS, &little) != 0) return false;
    const bool first = weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1));
    const bool second = weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1));
    const bool third = weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1));
    weir_table_stats stats;
    weir_table_read_stats(table, &stats, sizeof stats);
    return first && second && !third && stats.keys_live == 1;
}

static bool grows_twice(weir_table *table)
{
    return weir_table_grow(table, 1000000, NULL) == 0 && weir_table_grow(table, 2000000, NULL) == 0;
}

static void growth_that_cannot_be_mapped(void **unused)
{
    (void)unused;
    if (SANITIZED) skip_because("unit/keyed_edges: no room", "sanitizers map terabytes", SKIP_CURE_PLAIN);
    weir_table *table = open_default();
    assert_true(in_a_child(grows_twice, table));
    assert_true(in_a_child(goes_on_without_room, table));
    weir_table_close(table);
}

/* What is shared needs a descriptor: the error says what does not. */
static void no_descriptor_is_left(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    weir_error error = {0};
    struct rlimit usual;
    options.keys_max = 10;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const struct rlimit none = {0, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const int shared = weir_table_open(&table, &options, &error);
    if (shared == 0) weir_table_close(table);
    options.sharing = WEIR_PRIVATE;
    const int alone = weir_table_open(&table, &options, NULL);
    if (alone == 0) weir_table_close(table);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(shared, WEIR_ESYSTEM);
    assert_ptr_equal(strstr(error.message, "shared memory: cannot be allocated: "), error.message);
    assert_non_null(strstr(error.message, "; WEIR_PRIVATE needs none"));
    if (ON_LINUX) assert_int_equal(alone, 0); /* elsewhere its secret is read from a device */
}

/* ---- costs, times, keys ---- */

static void costs_of_all_sizes(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("10/h"), list = plan_of("10/h; 20/h"), log = plan_of("10/h algorithm=sliding-log");
    const struct {
        weir_table *table;
        const weir_plan *plan;
    } rows[] = {{open_default(), &plan}, {open_default(), &list}, {open_wide(&log), &log}, {open_wide(&list), &list}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        weir_table *table = rows[i].table;
        const weir_plan *asked = rows[i].plan;
        const weir_key key = weir_key_text("k");
        assert_int_equal(weir_table_take(table, asked, key, UINT64_MAX).verdict, WEIR_NEVER);
        assert_int_equal(weir_table_take(table, asked, key, 11).verdict, WEIR_NEVER);
        assert_int_equal(weir_table_reserve(table, asked, key, UINT64_MAX, WEIR_FOREVER).verdict, WEIR_NEVER);
        const weir_decision nothing = weir_table_take(table, asked, key, 0);
        assert_int_equal(nothing.verdict, WEIR_ALLOW);
        assert_int_equal(nothing.remaining, 10);
        weir_decision all = weir_table_take(table, asked, key, 10);
        assert_int_equal(all.verdict, WEIR_ALLOW);
        assert_int_equal(weir_table_take(table, asked, key, 0).verdict, WEIR_ALLOW);
        weir_table_settle(table, asked, key, &all, UINT64_MAX);
        const weir_decision owed = weir_table_take(table, asked, key, 1);
        assert_int_equal(owed.verdict, WEIR_DENY);
        assert_true(owed.retry_ns > 0);
        weir_table_forget(table, asked, key);
        assert_int_equal(weir_table_take(table, asked, key, 10).verdict, WEIR_ALLOW);
        weir_table_close(table);
    }
}

static void keys_of_all_sizes(void **unused)
{
    (void)unused;
    enum { LONG = 1 << 16 };
    static char zeros[LONG];
    const weir_plan plan = plan_of("1/h"), log = plan_of("1/h algorithm=sliding-log");
    for (int wide = 0; wide < 2; wide++) {
        const weir_plan *asked = wide ? &log : &plan;
        weir_table_options options = WEIR_TABLE_OPTIONS;
        options.keys_max = 100;
        options.plan = wide ? &log : NULL;
        options.sharing = WEIR_PRIVATE;
        options.top = 10;
        weir_table *table = open_with(options);
        const weir_key keys[] = {{NULL, 0}, {zeros, 1}, {zeros, 7}, {zeros, 8}, {zeros, LONG - 1}, {zeros, LONG}};
        for (size_t i = 0; i < LENGTH(keys); i++) {
            assert_true(weir_allowed(weir_table_take(table, asked, keys[i], 1)));
            assert_false(weir_allowed(weir_table_take(table, asked, keys[i], 1)));
        }
        assert_false(weir_allowed(weir_table_take(table, asked, weir_key_text(""), 1)));
        weir_top top[10];
        assert_int_equal(weir_table_read_top(table, top, 10), LENGTH(keys));
        weir_table_close(table);
    }
}

static void the_most_refused_are_no_more_than_wanted(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("none");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_top top[20];
    options.keys_max = 100;
    options.top = 3;
    weir_table *table = open_with(options);
    for (unsigned i = 0; i < 20; i++) weir_table_take(table, &plan, (weir_key){&i, sizeof i}, 1);
    assert_int_equal(weir_table_read_top(table, top, 20), 3);
    assert_int_equal(weir_table_read_top(table, top, 2), 2);
    assert_int_equal(weir_table_read_top(table, top, 0), 0);
    weir_table_close(table);
}

/* Time goes back by days, and comes again: it earns nothing and loses nothing. */
static void time_may_go_back(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3/h"), log = plan_of("3/h algorithm=sliding-log");
    for (int wide = 0; wide < 2; wide++) {
        weir_table *table = wide ? open_wide(&log) : open_default();
        const weir_plan *asked = wide ? &log : &plan;
        const weir_key key = weir_key_text("k");
        const weir_instant now = {weir_now().ns + 40 * 24 * HOUR};
        for (int i = 0; i < 3; i++) assert_true(weir_allowed(weir_table_take_at(table, asked, key, now, 1)));
        assert_false(weir_allowed(weir_table_take_at(table, asked, key, at(now.ns - 10 * 24 * HOUR), 1)));
        assert_false(weir_allowed(weir_table_take_at(table, asked, key, at(now.ns - 1), 1)));
        assert_false(weir_allowed(weir_table_take_at(table, asked, key, now, 1)));
        assert_true(weir_allowed(weir_table_take_at(table, asked, key, at(now.ns + HOUR + 1), 1)));
        weir_table_close(table);
    }
}

/* From a unit of 1/16 ns to one of many ns. */
static void units_of_all_sizes(void **unused)
{
    (void)unused;
    static const uint64_t longest_ns[] = {1, UINT64_C(1) << 40, 0, UINT64_C(1) << 54, UINT64_C(1) << 60};
    static const char *const texts[] = {"1/ns burst=1", "10/s burst=20", "3/h", "3/h", "3/30d"};
    for (size_t i = 0; i < LENGTH(longest_ns); i++) {
        weir_table_options options = WEIR_TABLE_OPTIONS;
        const weir_plan plan = plan_of(i == 0 ? "1000000000/s burst=1" : texts[i]);
        options.keys_max = 10;
        options.refill_max_ns = longest_ns[i];
        weir_table *table = open_with(options);
        weir_instant now = weir_now();
        weir_decision decision;
        assert_int_equal(weir_table_fits(table, &plan, NULL), 0);
        for (int passed = 0; passed < 3000; passed++) {
            now.ns += i;
            decision = weir_table_take_at(table, &plan, weir_key_text("k"), now, 1);
            if (weir_allowed(decision)) continue;
            assert_true(decision.retry_ns > 0 && decision.retry_ns < 40 * 24 * HOUR);
            assert_false(weir_allowed(
                weir_table_take_at(table, &plan, weir_key_text("k"), at(now.ns + decision.retry_ns - 1), 1)));
            now.ns += decision.retry_ns;
            assert_true(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("k"), now, 1)));
        }
        weir_table_close(table);
    }
}

/* A limit that fills the table's longest, 2^53 - 1 units, and one of a permit more. */
static void the_longest_passes(void **unused)
{
    (void)unused;
    enum { DIVISOR = 6361 };
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 10;
    options.refill_max_ns = UINT64_C(1) << 60;
    weir_table *table = open_with(options);
    assert_true(table->unit < 0 && table->longest % DIVISOR == 0);
    for (unsigned more = 0; more < 2; more++) {
        char text[64];
        snprintf(text, sizeof text, "1/%juns burst=%u; 1/s", (uintmax_t)(table->longest / DIVISOR << -table->unit),
                 DIVISOR + more);
        const weir_plan plan = plan_of(text);
        assert_int_equal(weir_table_fits(table, &plan, NULL), more == 0 ? 0 : WEIR_EUNSUPPORTED);
        assert_int_equal(weir_table_take(table, &plan, weir_key_text("k"), 1).verdict,
                         more == 0 ? WEIR_ALLOW : WEIR_NEVER);
    }
    weir_table_close(table);
}

/* What does not fit is never admitted, and never told to come again at once. */
static void what_lasts_too_long_never_passes(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("100/600d"), list = plan_of("1/h; 100/600d");
    weir_table *table = open_default();
    const weir_plan other = plan_of("100/h"); /* the key has a slot by it */
    assert_int_equal(weir_table_fits(table, &plan, NULL), WEIR_EUNSUPPORTED);
    assert_true(weir_allowed(weir_table_take(table, &other, weir_key_text("k"), 1)));
    for (int i = 0; i < 100; i++) {
        const weir_decision decision = weir_table_take(table, &plan, weir_key_text("k"), 1);
        assert_int_equal(decision.verdict, WEIR_NEVER);
        assert_int_equal(decision.remaining, 0);
    }
    const weir_decision second = weir_table_take(table, &list, weir_key_text("k"), 1);
    assert_int_equal(second.verdict, WEIR_NEVER);
    assert_int_equal(second.limit, 1);
    assert_int_equal(weir_table_charge(table, &plan, weir_key_text("k"), 1).verdict, WEIR_NEVER);
    assert_int_equal(weir_table_peek(table, &plan, weir_key_text("k"), 0, 1).verdict, WEIR_NEVER);
    const weir_plan both = plan_of("100/600d; 5/h");
    weir_ask asks[] = {{&both, weir_key_text("k"), 6, {0}}, {&other, weir_key_text("other"), 6, {0}}};
    assert_false(weir_table_take_all(table, asks, 2, weir_now()));
    assert_int_equal(asks[0].decision.verdict, WEIR_NEVER);
    assert_int_equal(asks[0].decision.limit, 0);
    assert_int_equal(asks[1].decision.verdict, WEIR_ALLOW);
    weir_table_close(table);
}

/* ---- several at once ---- */

static void the_same_key_twice(weir_table *table, const weir_plan *twice)
{
    const weir_instant now = weir_now();
    weir_ask asks[] = {{twice, weir_key_text("k"), 1, {0}},
                       {twice, weir_key_text("other"), 1, {0}},
                       {twice, weir_key_text("k"), 1, {0}}};
    assert_true(weir_table_take_all(table, asks, 3, now));
    assert_int_equal(weir_table_peek(table, twice, weir_key_text("k"), -1, 0).remaining, 1);
    /* One is left: each would pass, both do not.  None is taken, and one of them says that it was refused. */
    assert_false(weir_table_take_all(table, asks, 3, now));
    const weir_decision *refused = &asks[asks[0].decision.verdict != WEIR_ALLOW ? 0 : 2].decision;
    assert_int_equal(refused->verdict, WEIR_DENY);
    assert_true(refused->retry_ns > 0);
    assert_int_equal(asks[1].decision.verdict, WEIR_ALLOW);
    assert_int_equal(weir_table_peek(table, twice, weir_key_text("k"), -1, 0).remaining, 1);
    assert_int_equal(weir_table_peek(table, twice, weir_key_text("other"), -1, 0).remaining, 2);
}

static void all_or_nothing_of_one_key(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3/h"), list = plan_of("3/h; 5/2h"), log = plan_of("3/h algorithm=sliding-log");
    weir_table *table = open_default();
    the_same_key_twice(table, &plan);
    weir_table_close(table);
    table = open_default();
    the_same_key_twice(table, &list);
    weir_table_close(table);
    table = open_wide(&log);
    the_same_key_twice(table, &log);
    weir_table_close(table);
}

static void asks_of_all_counts(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/h"), log = plan_of("2/h algorithm=sliding-log");
    char names[WEIR_ASKS_MAX + 1][16];
    for (int wide = 0; wide < 2; wide++) {
        weir_table *table = wide ? open_wide(&log) : open_default();
        const weir_instant now = weir_now();
        weir_ask asks[WEIR_ASKS_MAX + 1];
        weir_table_take_batch(table, NULL, 0, now);
        assert_true(weir_table_take_all(table, NULL, 0, now));
        for (int i = 0; i <= WEIR_ASKS_MAX; i++) {
            snprintf(names[i], sizeof names[i], "%d", i);
            asks[i] = (weir_ask){wide ? &log : &plan, weir_key_text(names[i]), 1, {0}};
        }
        assert_false(weir_table_take_all(table, asks, WEIR_ASKS_MAX + 1, now));
        assert_int_equal(asks[0].decision.verdict, WEIR_NEVER);
        assert_int_equal(asks[WEIR_ASKS_MAX].decision.verdict, WEIR_NEVER);
        assert_true(weir_table_take_all(table, asks, WEIR_ASKS_MAX, now));
        assert_int_equal(asks[WEIR_ASKS_MAX - 1].decision.remaining, 1);
        asks[3].cost = 2;
        assert_false(weir_table_take_all(table, asks, WEIR_ASKS_MAX, now));
        assert_int_equal(asks[3].decision.verdict, WEIR_DENY);
        asks[3].cost = 3;
        assert_false(weir_table_take_all(table, asks, WEIR_ASKS_MAX, now));
        assert_int_equal(asks[3].decision.verdict, WEIR_NEVER);
        asks[3].cost = 0;
        assert_true(weir_table_take_all(table, asks, WEIR_ASKS_MAX, now));
        assert_int_equal(asks[0].decision.remaining, 0);
        weir_table_close(table);
    }
}

/* ---- options ---- */

static void an_empty_path(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    weir_error error;
    options.path = "";
    assert_int_equal(weir_table_open(&table, &options, &error), WEIR_ESYSTEM);
    assert_non_null(strstr(error.message, "an empty path: cannot be opened"));
}

static void read_stats(void *table, void *stats, size_t size)
{
    weir_table_read_stats(table, stats, size);
}

static void stats_of_other_versions(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/h");
    weir_table *table = open_default();
    for (int i = 0; i < 3; i++) (void)weir_table_take(table, &plan, weir_key_text("k"), 1);
    assert_sized(read_stats, table, sizeof(weir_table_stats));
    weir_table_close(table);
}

static void structs_of_other_versions(void **unused)
{
    (void)unused;
    struct {
        weir_table_options known;
        uint64_t later[4];
    } longer = {WEIR_TABLE_OPTIONS, {1, 0, 0, 0}};
    weir_table *table;
    longer.known.size = sizeof longer;
    longer.known.keys_max = 10;
    assert_int_equal(weir_table_open(&table, &longer.known, NULL), WEIR_EVERSION);
    longer.later[0] = 0;
    assert_int_equal(weir_table_open(&table, &longer.known, NULL), 0);
    weir_table_close(table);
    for (size_t size = 0; size <= sizeof(weir_table_options); size++) {
        weir_table_options options = WEIR_TABLE_OPTIONS;
        options.size = size;
        options.keys_max = 10;
        if (size < sizeof(size_t)) refused(options, WEIR_EINVAL, "WEIR_TABLE_OPTIONS");
        if (size < offsetof(weir_table_options, path)) continue; /* half a number */
        if (weir_table_open(&table, &options, NULL) == 0) weir_table_close(table);
    }
}

static void modes(void **unused)
{
    (void)unused;
    static const unsigned good[] = {0, 0600, 0660, 0640, 0644, 0666}, bad[] = {0400, 0200, 060, 0777, 0700, 010600, 1};
    const mode_t before = umask(0077);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    struct stat file;
    options.path = path;
    options.keys_max = 10;
    for (size_t i = 0; i < LENGTH(good); i++) {
        options.mode = good[i];
        weir_table_close(open_with(options));
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal(file.st_mode & 07777, good[i] != 0 ? good[i] : 0600);
        weir_table_close(open_with(options));
        unlink(path);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        options.mode = bad[i];
        refused(options, WEIR_EINVAL, "options.mode");
    }
    umask(before);
}

/* A word of the file's first page with these bits of it turned over. */
static void turn_over(unsigned word, uint64_t bits)
{
    uint64_t value = 0;
    const int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &value, sizeof value, 8 * (off_t)word), sizeof value);
    value ^= bits;
    assert_int_equal(pwrite(fd, &value, sizeof value, 8 * (off_t)word), sizeof value);
    close(fd);
}

/* Whose format this weir does not read, or nobody's. */
static void files_of_other_weirs(void **unused)
{
    (void)unused;
    enum { FORMAT = 1, SHAPE = 2 };
    const weir_plan log = plan_of("10/h algorithm=sliding-log");
    static const struct {
        uint64_t format, shape;
        const char *slots, *wide;
    } rows[] = {
        {UINT64_C(1) << 15, 0, " is of a newer weir: format 327", " is of a newer weir: format 327"},
        {UINT64_C(1) << 15, 1, " is of another weir: format 327", " is of another weir: format 327"},
        {UINT64_C(1) << 15, 0, " of 16-byte slots, and weir " WEIR_VERSION " reads ",
         " of wide slots, and weir " WEIR_VERSION " reads "},
        {UINT64_C(1) << 15, 1, ", and weir " WEIR_VERSION " reads 1 to 4; ",
         ", and weir " WEIR_VERSION " reads 1 to 4; "},
        {UINT64_C(1) << 16, 0, " is of a machine with another word size", " is of a machine with another word size"},
        {UINT64_C(1) << 32, 0, " is of a machine with another byte order", " is of a machine with another byte order"},
    };
    for (size_t i = 0; i < 2 * LENGTH(rows); i++) {
        const bool wide = i % 2 != 0;
        weir_table_options options = WEIR_TABLE_OPTIONS;
        options.path = path;
        options.keys_max = 10;
        options.plan = wide ? &log : NULL;
        weir_table_close(open_with(options));
        turn_over(FORMAT, rows[i / 2].format);
        turn_over(SHAPE, rows[i / 2].shape);
        refused(options, WEIR_EVERSION, wide ? rows[i / 2].wide : rows[i / 2].slots);
        unlink(path);
    }
}

/* Whole, but for the sizes, which do not go together. */
static void a_file_without_room_for_a_slot(void **unused)
{
    (void)unused;
    const weir_plan log = plan_of("10/h algorithm=sliding-log");
    _Alignas(64) static unsigned char page[REGION_PAGE];
    const struct region_times times = {.monotonic_ns = weir_now().ns, .unix_ns = S};
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    options.keys_max = 1;
    options.plan = &log;
    weir_table *table = open_with(options);
    struct region_shape shape = table->view.shape;
    const uint64_t bytes = table->view.area[0].bytes;
    weir_table_close(table);
    shape.slot_bytes = (uint32_t)bytes; /* nothing is left for what stands before it */
    region_make(page, &shape, bytes, &times);
    const int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, page, sizeof page, 0), sizeof page);
    close(fd);
    refused(options, WEIR_EMISMATCH, "damaged or cut off");
}

/* As after a copy that leaves out zeros: space for what was left out is had before it is needed. */
static void a_file_with_holes(void **unused)
{
    (void)unused;
    if (!ON_LINUX) skip_because("unit/keyed_edges: holes", "POSIX cannot fill them", SKIP_CURE_LINUX);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    struct stat file;
    options.path = path;
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 1 << 22), 0);
    options.keys_max = 1000;
    weir_table_close(open_with(options));
    assert_int_equal(fstat(fd, &file), 0);
    assert_true(file.st_blocks * 512 >= file.st_size);
    close(fd);
}

static void twice_in_one_process(void **unused)
{
    (void)unused;
    const weir_plan log = plan_of("1000/h algorithm=sliding-log"), plan = plan_of("1000/h");
    for (int wide = 0; wide < 2; wide++) {
        weir_table_options options = WEIR_TABLE_OPTIONS;
        options.path = path;
        options.keys_max = 10;
        options.plan = wide ? &log : NULL;
        options.clock = wide ? WEIR_CLOCK_COARSE : WEIR_CLOCK_SYSTEM;
        const weir_plan *asked = wide ? &log : &plan;
        weir_table *one = open_with(options), *other = open_with(options);
        if (wide && !one->region.by_process) assert_int_equal(other->owner, one->owner + 1);
        unsigned passed = 0;
        for (int i = 0; i < 2000; i++) {
            passed += weir_allowed(weir_table_take(i % 2 != 0 ? one : other, asked, weir_key_text("k"), 1));
        }
        assert_in_range(passed, 1000, 1001);
        weir_table_close(one);
        assert_true(weir_allowed(weir_table_take(other, asked, weir_key_text("another"), 1)));
        weir_table_close(other);
        unlink(path);
    }
}

/* ---- fork ---- */

static bool reads_all(weir_table *table)
{
    weir_table_stats stats;
    weir_top top[4];
    weir_table_read_stats(table, &stats, sizeof stats);
    weir_table_read_top(table, top, 4);
    return stats.keys_live == 1;
}

static bool takes_one(weir_table *table)
{
    const weir_plan plan = plan_of("2/h");
    return weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1)) && reads_all(table);
}

static bool grandchild_takes_one(weir_table *table)
{
    return in_a_child(takes_one, table);
}

static void grandchildren_share_it(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 100;
    options.top = 4;
    weir_table *table = open_with(options);
    assert_true(in_a_child(grandchild_takes_one, table));
    assert_true(in_a_child(takes_one, table));
    assert_false(takes_one(table));
    assert_true(reads_all(table));
    weir_table_close(table);
}

static void *reads_for_ever(void *argument)
{
    weir_top top[4];
    for (;;) {
        weir_table_read_top(argument, top, 4);
        pthread_testcancel();
    }
    return NULL;
}

/* What a thread of the parent held when the child was made is nobody's in there. */
static void children_read_while_a_thread_did(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    const weir_plan plan = plan_of("2/h");
    pthread_t thread;
    options.keys_max = 100;
    options.top = 4;
    weir_table *table = open_with(options);
    weir_table_take(table, &plan, weir_key_text("k"), 1);
    assert_int_equal(pthread_create(&thread, NULL, reads_for_ever, table), 0);
    for (int i = 0; i < 20; i++) assert_true(in_a_child(reads_all, table));
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    weir_table_close(table);
}

/* A weir that knows no times of 6 bytes goes on with the same states: what one took, the other gives back. */
static void a_file_beside_an_older_weir(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    const weir_plan newer = plan_of("10/h algorithm=sliding-log"), more = plan_of("11/h algorithm=sliding-log");
    weir_plan older = newer;
    plan_inside(&older)->rule[0].flags &= (uint8_t)~STAMPS_BRIEF;
    options.keys_max = 10;
    options.path = path;
    options.plan = &newer;
    weir_table *table = open_with(options);
    const weir_key key = weir_key_text("key");
    weir_decision decision = weir_table_take(table, &newer, key, 7);
    weir_table_settle(table, &older, key, &decision, 0);
    assert_int_equal(weir_table_peek(table, &newer, key, -1, 10).verdict, WEIR_ALLOW);
    decision = weir_table_take(table, &older, key, 7);
    weir_table_settle(table, &newer, key, &decision, 4);
    assert_int_equal(weir_table_peek(table, &older, key, -1, 1).remaining, 5);
    assert_int_equal(weir_table_fits(table, &more, NULL), WEIR_EUNSUPPORTED);
    weir_table_close(table);
}

/* So is what it held while the table had grown, and the child has not noticed it yet. */
static bool takes_a_new_key(weir_table *table)
{
    const weir_plan plan = plan_of("2/h");
    weir_table_stats stats;
    const bool allowed = weir_allowed(weir_table_take(table, &plan, weir_key_text("another"), 1));
    weir_table_read_stats(table, &stats, sizeof stats);
    return allowed && stats.keys_max >= 100000;
}

static void children_notice_growth_while_a_thread_did(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    options.keys_max = 100;
    weir_table *table = open_with(options), *other = open_with(options);
    assert_int_equal(weir_table_grow(other, 100000, NULL), 0);
    host_lock(&table->mutex);
    assert_true(in_a_child(takes_a_new_key, table));
    host_unlock(&table->mutex);
    assert_true(takes_a_new_key(table));
    weir_table_close(other);
    weir_table_close(table);
}

/* A limiter is its process's own; the child's ticker is the system's clock. */
static void a_ticker_goes_on_in_a_child(void **unused)
{
    (void)unused;
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter;
    int status = 1;
    options.clock = WEIR_CLOCK_TICKER;
    options.tick_ns = 1000000;
    assert_int_equal(weir_open(&limiter, "1000/s burst=1", &options, NULL), 0);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    /* AddressSanitizer has a lock while a thread begins, which a child would find taken for ever. */
    const uint64_t first_ns = host_ticker_now_ns(limiter->ticker);
    while (host_ticker_now_ns(limiter->ticker) == first_ns) sched_yield();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool passes = true;
        for (int i = 0; i < 20; i++) passes = weir_allowed(weir_take_wait(limiter, 1, WEIR_FOREVER)) && passes;
        weir_close(limiter);
        if (weir_open(&limiter, "1000/s burst=1", &options, NULL) != 0) _exit(1);
        for (int i = 0; i < 20; i++) passes = weir_allowed(weir_take_wait(limiter, 1, WEIR_FOREVER)) && passes;
        weir_close(limiter);
        _exit(passes ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(weir_allowed(weir_take_wait(limiter, 1, WEIR_FOREVER)));
    weir_close(limiter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(what_cannot_be_had_is_refused_at_once),
        cmocka_unit_test(the_smallest_table),
        IN_A_FOLDER(nothing_stays_open),
        cmocka_unit_test(a_round_of_sweeps),
        IN_A_FOLDER(others_growth_is_known),
        cmocka_unit_test(growth_that_cannot_be_mapped),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(costs_of_all_sizes),
        cmocka_unit_test(keys_of_all_sizes),
        cmocka_unit_test(the_most_refused_are_no_more_than_wanted),
        cmocka_unit_test(time_may_go_back),
        cmocka_unit_test(units_of_all_sizes),
        cmocka_unit_test(the_longest_passes),
        cmocka_unit_test(what_lasts_too_long_never_passes),
        cmocka_unit_test(all_or_nothing_of_one_key),
        cmocka_unit_test(asks_of_all_counts),
        cmocka_unit_test(an_empty_path),
        cmocka_unit_test(structs_of_other_versions),
        cmocka_unit_test(stats_of_other_versions),
        IN_A_FOLDER(modes),
        IN_A_FOLDER(files_of_other_weirs),
        IN_A_FOLDER(a_file_without_room_for_a_slot),
        IN_A_FOLDER(a_file_with_holes),
        IN_A_FOLDER(twice_in_one_process),
        IN_A_FOLDER(a_file_beside_an_older_weir),
        cmocka_unit_test(grandchildren_share_it),
        cmocka_unit_test(children_read_while_a_thread_did),
        IN_A_FOLDER(children_notice_growth_while_a_thread_did),
        cmocka_unit_test(a_ticker_goes_on_in_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
