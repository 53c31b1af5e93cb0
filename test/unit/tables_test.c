/* SPDX-License-Identifier: MIT
   Which table a plan is given, how large it is, and that all of them are told as one.

   Numbers are worked out by hand. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/policy/tables.h"
#include "unit/plans.h"

static struct tables *open_with(struct tables_options options)
{
    struct tables *tables;
    weir_error error = {0};
    const int failed = tables_open(&tables, &options, &error);
    if (failed != 0) fail_msg("%s", error.message);
    return tables;
}

static weir_table *table_for(struct tables *tables, const char *text)
{
    const weir_plan plan = plan_of(text);
    weir_error error = {0};
    weir_table *table = tables_for(tables, &plan, &error);
    if (table == NULL) fail_msg("%s: %s", text, error.message);
    assert_int_equal(weir_table_fits(table, &plan, NULL), 0);
    return table;
}

static void by_size(void **state)
{
    (void)state;
    struct tables *tables = open_with((struct tables_options){.keys_max = 1000});
    weir_table *slots = table_for(tables, "10/s");
    assert_ptr_equal(table_for(tables, "60 requests/min; 100k tokens/min"), slots);
    assert_ptr_equal(table_for(tables, "unlimited"), slots);
    assert_ptr_equal(table_for(tables, "none; 3/h"), slots);
    weir_table *small = table_for(tables, "5/15min algorithm=sliding-window");
    assert_ptr_not_equal(small, slots);
    assert_ptr_equal(table_for(tables, "10/s algorithm=leaky"), small);
    assert_ptr_equal(table_for(tables, "10/s; 5/15min algorithm=sliding-window"), small);
    assert_ptr_equal(table_for(tables, "1/60d"), small); /* gcra, but longer than a slot can say */
    weir_table *large = table_for(tables, "1000/h algorithm=sliding-log");
    assert_ptr_not_equal(large, small);
    assert_ptr_equal(table_for(tables, "900/h algorithm=sliding-log"), large);
    tables_close(tables);
}

/* Each size holds exactly what it says: the longest log in it, and not one word more. */
static void every_size(void **state)
{
    (void)state;
    struct tables *tables = open_with((struct tables_options){.wide_bytes = UINT64_C(1) << 30});
    weir_table *before = NULL;
    for (size_t bytes = TABLES_WIDE_MIN; bytes <= TABLES_WIDE_MAX; bytes *= 2) {
        weir_plan plan;
        char text[64];
        size_t events = 0;
        for (size_t step = bytes; step != 0; step /= 2) {
            snprintf(text, sizeof text, "%zu/h algorithm=sliding-log", events + step);
            plan = plan_of(text);
            if (weir_state_size(&plan) <= bytes) events += step;
        }
        snprintf(text, sizeof text, "%zu/h algorithm=sliding-log", events);
        weir_table *table = table_for(tables, text);
        assert_ptr_not_equal(table, before);
        snprintf(text, sizeof text, "%zu/h algorithm=sliding-log", events + 1);
        plan = plan_of(text);
        assert_int_equal(weir_table_fits(table, &plan, NULL), WEIR_EUNSUPPORTED);
        before = table;
    }
    tables_close(tables);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    struct tables *tables = open_with((struct tables_options){.keys_max = 100000, .wide_bytes = 1 << 20});
    weir_table_stats stats;
    weir_table_read_stats(table_for(tables, "5/min algorithm=sliding-window"), &stats, sizeof stats);
    assert_true(stats.bytes <= (1 << 20) + (1 << 18)); /* with the part of limits without a name */
    assert_in_range(stats.keys_max, 9000, 10000);      /* slots, of 11 words; plans take a fifth */
    weir_table_read_stats(table_for(tables, "4000/h algorithm=sliding-log"), &stats, sizeof stats);
    assert_true(stats.bytes <= (1 << 20) + (1 << 18) && stats.keys_max >= 10);
    tables_close(tables);
    tables = open_with((struct tables_options){.keys_max = 10});
    weir_table_read_stats(table_for(tables, "5/min algorithm=sliding-window"), &stats, sizeof stats);
    assert_in_range(stats.keys_max, 10, 64); /* a page has room for more */
    tables_close(tables);
}

/* Each size of state has a table: fifteen texts are enough for all of them. */
static void fifteen_texts_are_bounded(void **state)
{
    (void)state;
    const uint64_t most = 64 << 20;
    struct tables *tables = open_with((struct tables_options){.keys_max = 100000, .memory = most});
    uint64_t refused = 0;
    for (size_t bytes = TABLES_WIDE_MIN; bytes <= TABLES_WIDE_MAX; bytes *= 2) {
        char text[64];
        weir_error error = {0};
        weir_table_stats stats;
        snprintf(text, sizeof text, "%zu/h algorithm=sliding-log", bytes / sizeof(uint64_t) - 7);
        const weir_plan plan = plan_of(text);
        if (tables_for(tables, &plan, &error) == NULL) {
            refused++;
            assert_int_equal(error.code, WEIR_ENOMEM);
            assert_non_null(strstr(error.message, "the memory of the tables is full: of 64 MiB (table: memory"));
        }
        stats = tables_read_counters(tables);
        assert_true(stats.bytes <= most);
        assert_int_equal(stats.bytes, tables_read_memory(tables).used);
    }
    assert_in_range(refused, 1, 8); /* the largest */
    assert_int_equal(tables_read_memory(tables).refused, refused);
    assert_int_equal(tables_read_memory(tables).most, most);
    tables_close(tables);
}

static void no_more_than_there_is(void **state)
{
    (void)state;
    struct tables *tables;
    weir_error error = {0};
    const struct tables_options huge = {.memory = UINT64_C(1) << 50}, keys = {.keys_max = UINT64_C(1) << 34};
    assert_int_equal(tables_open(&tables, &huge, &error), WEIR_ENOMEM);
    assert_non_null(strstr(error.message, "table: memory: 1.0 PiB of memory are needed, and "));
    assert_int_equal(tables_open(&tables, &keys, &error), WEIR_ENOMEM);
    assert_non_null(strstr(error.message, "options.keys_max: 350.6 GiB of memory are needed, and "));
}

static void refused(struct tables *tables, const char *text, const char *words)
{
    const weir_plan plan = plan_of(text);
    weir_error error = {0};
    assert_null(tables_for(tables, &plan, &error));
    assert_int_equal(error.code, WEIR_EUNSUPPORTED);
    assert_non_null(strstr(error.message, words));
}

static void too_large(void **state)
{
    (void)state;
    struct tables *tables = open_with((struct tables_options){.keys_max = 1000, .wide_bytes = 1 << 16});
    refused(tables, "1000000/h algorithm=sliding-log", "more than 1 MiB a key");
    refused(tables, "100000/h algorithm=sliding-log", "wide_memory");
    table_for(tables, "100/h algorithm=sliding-log");
    tables_close(tables);
}

/* ---- told together ---- */

static void take_from(weir_table *table, const char *text, const char *key, int times)
{
    const weir_plan plan = plan_of(text);
    for (int i = 0; i < times; i++) weir_table_take(table, &plan, weir_key_text(key), 1);
}

static void told_as_one(void **state)
{
    (void)state;
    static const char gcra[] = "1/h", window[] = "1/h algorithm=sliding-window";
    struct tables *tables = open_with((struct tables_options){.keys_max = 1000, .top = 10});
    take_from(table_for(tables, gcra), gcra, "ann", 4);
    take_from(table_for(tables, window), window, "bob", 6);
    take_from(table_for(tables, gcra), gcra, "cid", 6);
    take_from(table_for(tables, window), window, "cid", 4);
    const weir_table_stats stats = tables_read_counters(tables);
    assert_int_equal(stats.granted, 4);
    assert_int_equal(stats.denied, 16);
    assert_int_equal(tables_live(tables), 4);
    weir_top top[10];
    assert_int_equal(tables_read_top(tables, top, 10), 3);
    assert_memory_equal(top[0].key, "cid", 3);
    assert_int_equal(top[0].denied, 8);
    assert_memory_equal(top[1].key, "bob", 3);
    assert_int_equal(top[1].denied, 5);
    assert_memory_equal(top[2].key, "ann", 3);
    assert_int_equal(tables_read_top(tables, top, 1), 1);
    assert_memory_equal(top[0].key, "cid", 3);
    tables_close(tables);
}

/* ---- files ---- */

static void kept(void **state)
{
    (void)state;
    static const char window[] = "1/h algorithm=sliding-window";
    char folder[] = "/tmp/weir-tables-XXXXXX", path[64], wide[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/table", folder);
    snprintf(wide, sizeof wide, "%s.wide-64", path);
    for (int run = 0; run < 2; run++) {
        struct tables *tables = open_with((struct tables_options){.keys_max = 100, .state = path});
        const weir_plan slot = plan_of("1/h"), log = plan_of(window);
        const weir_verdict expected = run == 0 ? WEIR_ALLOW : WEIR_DENY;
        weir_table *narrow = table_for(tables, "1/h"), *broad = table_for(tables, window);
        assert_int_equal(weir_table_take(narrow, &slot, weir_key_text("ann"), 1).verdict, expected);
        assert_int_equal(weir_table_take(broad, &log, weir_key_text("ann"), 1).verdict, expected);
        tables_close(tables);
    }
    for (int file = 0; file < 4; file++) {
        char kept[96];
        snprintf(kept, sizeof kept, "%s%s", file < 2 ? path : wide, file % 2 == 1 ? ".parts" : "");
        assert_int_equal(unlink(kept), 0);
    }
    snprintf(wide, sizeof wide, "%s.receipts", path);
    assert_int_equal(unlink(wide), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void no_such_folder(void **state)
{
    (void)state;
    struct tables *tables;
    weir_error error = {0};
    const struct tables_options options = {.state = "/nowhere/at/all"};
    assert_int_equal(tables_open(&tables, &options, &error), WEIR_ESYSTEM);
    assert_null(tables);
    assert_non_null(strstr(error.message, "/nowhere/at/all"));
}

/* ---- threads ---- */

enum { THREADS = 8 };

struct race {
    struct tables *tables;
    weir_table *found[TABLES_WIDE_SIZES];
};

static void *find_all(void *context)
{
    struct race *race = context;
    for (int i = 0; i < 8; i++) {
        weir_plan plan;
        char text[64];
        snprintf(text, sizeof text, "%d/h algorithm=sliding-log", 1 << i);
        if (weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) == 0) race->found[i] = tables_for(race->tables, &plan, NULL);
    }
    return NULL;
}

static void made_once(void **state)
{
    (void)state;
    struct tables *tables = open_with((struct tables_options){.keys_max = 100});
    struct race race[THREADS];
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        race[i] = (struct race){.tables = tables};
        assert_int_equal(pthread_create(&thread[i], NULL, find_all, &race[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 1; i < THREADS; i++) assert_memory_equal(race[i].found, race[0].found, sizeof race[0].found);
    assert_non_null(race[0].found[7]);
    tables_close(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_size),
        cmocka_unit_test(every_size),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(fifteen_texts_are_bounded),
        cmocka_unit_test(no_more_than_there_is),
        cmocka_unit_test(too_large),
        cmocka_unit_test(told_as_one),
        cmocka_unit_test(kept),
        cmocka_unit_test(no_such_folder),
        cmocka_unit_test(made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
