/* SPDX-License-Identifier: MIT
   Tables large enough to grow beside what they have: nothing is granted twice, no memory is needed twice, and a process
   that is killed while it grows one loses nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#include "unit/plans.h"
#include "unit/table_rig.h"

/* KEYED_BESIDE_FROM is 8 MiB. */
enum { FIRST = 400000, SECOND = 800000, SOME = 100000, PAGE = 4096, SLOT = 16, STEP = 1 << 26, KILLS = 20 };
static const uint64_t DAY_NS = UINT64_C(86400) * 1000000000;

static weir_table *open_large(weir_sharing sharing, const char *file)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = FIRST;
    options.sharing = sharing;
    options.path = file;
    return open_with(options);
}

/* Takes for keys first to first + count: how many passed. */
static unsigned take_keys(weir_table *table, const weir_plan *plan, unsigned first, unsigned count, weir_instant now)
{
    unsigned passed = 0;
    for (unsigned i = first; i < first + count; i++) {
        const weir_key key = {&i, sizeof i};
        passed += weir_allowed(weir_table_take_at(table, plan, key, now, 1));
    }
    return passed;
}

static weir_table_stats stats_of(weir_table *table)
{
    weir_table_stats stats;
    weir_table_read_stats(table, &stats, sizeof stats);
    return stats;
}

static void grows_beside(weir_sharing sharing, const char *file)
{
    const weir_plan plan = plan_of("1/d"), twice = plan_of("2/d");
    weir_table *table = open_large(sharing, file);
    const weir_instant now = weir_now();
    const unsigned first = take_keys(table, &twice, 0, FIRST, now);
    assert_in_range(first, FIRST - FIRST / 1000, FIRST);
    assert_int_equal(weir_table_grow(table, SECOND, NULL), 0);
    const weir_table_stats grown = stats_of(table);
    assert_in_range(grown.keys_max, SECOND - SECOND / 1000, SECOND + SECOND / 1000);
    assert_in_range(grown.bytes, grown.keys_max * SLOT, grown.keys_max * SLOT * 3 / 2); /* of 73 % load */
    assert_in_range(take_keys(table, &twice, 0, SOME, now), SOME - SOME / 1000, SOME);
    assert_in_range(take_keys(table, &twice, 0, SOME, now), 0, SOME / 1000);
    assert_in_range(stats_of(table).moved, SOME / 2 - SOME / 20, SOME / 2 + SOME / 20);
    const unsigned second = take_keys(table, &plan, FIRST, SECOND - FIRST, now);
    assert_in_range(second, SECOND - FIRST - (SECOND - FIRST) / 100, SECOND - FIRST);
    assert_true(take_keys(table, &plan, 0, SECOND, now) <= SECOND / 250);
    weir_table_close(table);
}

static void nothing_is_granted_twice(void **unused)
{
    (void)unused;
    grows_beside(WEIR_PRIVATE, NULL);
    grows_beside(WEIR_JOIN_OR_CREATE, NULL);
    grows_beside(WEIR_JOIN_OR_CREATE, path);
}

/* Keys that are strangers again, after a time in which there were none. */
static void it_grows_once_more(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/h");
    weir_table *table = open_large(WEIR_PRIVATE, NULL);
    weir_instant now = weir_now();
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), SOME);
    assert_int_equal(weir_table_grow(table, SECOND, NULL), 0);
    now.ns += DAY_NS;
    stats_of(table);
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), SOME);
    assert_int_equal(weir_table_grow(table, SECOND + FIRST, NULL), 0);
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), 0);
    assert_int_equal(weir_table_grow(table, SECOND + FIRST + 1000, NULL), 0);
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), 0);
    weir_table_close(table);
}

static void wait_for_child(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
}

/* At any time: while space is added, in between, behind it. */
static void killed_while_it_grows(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/d");
    weir_table *table = open_large(WEIR_JOIN_OR_CREATE, path);
    const weir_instant now = weir_now();
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), SOME);
    uint64_t keys = FIRST;
    for (int i = 0; i < KILLS; i++) {
        const struct timespec pause = {0, i * 400000};
        const pid_t child = fork();
        if (child == 0) _exit(weir_table_grow(table, FIRST + (uint64_t)STEP / SLOT, NULL) == 0 ? 0 : 1);
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        wait_for_child(child);
        assert_int_equal(take_keys(table, &plan, 0, SOME / KILLS, now), 0);
        keys = stats_of(table).keys_max;
    }
    assert_true(keys >= FIRST - 1000);
    weir_table_close(table);
    table = open_large(WEIR_JOIN, path);
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), 0);
    assert_int_equal(weir_table_grow(table, FIRST + (uint64_t)STEP / SLOT + SECOND, NULL), 0);
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), 0);
    weir_table_close(table);
}

/* As one leaves it who is killed between two steps. */
static void space_that_was_added_is_used(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/d");
    struct stat before, after;
    weir_table *table = open_large(WEIR_JOIN_OR_CREATE, path);
    const weir_instant now = weir_now();
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), SOME);
    weir_table_close(table);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(truncate(path, before.st_size + PAGE), 0);
    table = open_large(WEIR_JOIN, path);
    assert_int_equal(weir_table_grow(table, SECOND, NULL), 0);
    assert_int_equal(take_keys(table, &plan, 0, SOME, now), 0);
    const uint64_t bytes = stats_of(table).bytes;
    weir_table_close(table);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(nothing_is_granted_twice),
        cmocka_unit_test(it_grows_once_more),
        IN_A_FOLDER(killed_while_it_grows),
        IN_A_FOLDER(space_that_was_added_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
