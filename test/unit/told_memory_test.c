/* SPDX-License-Identifier: MIT
   What weir explain says that a limit takes is what is allocated, mapped and written to a file.

   Limiters to the byte, but for whole cache lines; tables but for their header, whole pages and the rules that they
   remember. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/memory.h"
#include "core/num.h"
#include "share/table/region.h"
#include "share/table/wide_plans.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

enum { LINE = 64, KEYS = 1024 /* whole buckets */, TABLE_MAX = 64 << 20, WORDS = 4096 };

static const char *const limits[] = {
    "1/s algorithm=sliding-log",
    "7/s algorithm=sliding-log edge=closed",
    "1000/s algorithm=sliding-log",
    "10000/s algorithm=sliding-log",
    "10/min algorithm=sliding-log",
    "63/min algorithm=sliding-log",
    "1000/min algorithm=sliding-log",
    "8192/min algorithm=sliding-log",
    "10000/min algorithm=sliding-log",
    "10000/min gap=1ms",
    "500/min count-refused algorithm=sliding-log",
    "10000/h algorithm=sliding-log",
    "1001/d algorithm=sliding-log",
    "1000/w algorithm=sliding-log",
    "1000/year algorithm=sliding-log",
    "100/min algorithm=sliding-log; 1000/d algorithm=sliding-log",
    "10/s; 1000/min algorithm=sliding-log",
    "10/min algorithm=fixed-window",
    "10/min algorithm=sliding-window",
    "12000,1.1",
    "10/min",
    "10/s burst=20; 1000/h",
};

static uint64_t allocated;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    allocated += size;
    return __real_aligned_alloc(alignment, size);
}

static weir_plan plan_of(const char *text)
{
    weir_plan plan;
    assert_int_equal(weir_plan_parse(&plan, text, WEIR_ADMIT, NULL), 0);
    return plan;
}

/* The words have this number, behind these words. */
static void says(const weir_plan *plan, const char *before, uint64_t bytes)
{
    char words[WORDS], wanted[64], digits[32];
    snprintf(digits, sizeof digits, "%ju", (uintmax_t)bytes);
    snprintf(wanted, sizeof wanted, "%s", before);
    for (size_t i = 0, length = strlen(wanted); digits[i] != '\0'; i++) {
        if (i != 0 && (strlen(digits) - i) % 3 == 0) wanted[length++] = ',';
        wanted[length++] = digits[i];
        wanted[length] = '\0';
    }
    weir_plan_explain(plan, words, sizeof words);
    const char *found = strstr(words, wanted);
    if (found == NULL || strchr("0123456789,", found[strlen(wanted)]) != NULL) fail_msg("not '%s':\n%s", wanted, words);
}

static void a_state(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(limits); i++) {
        const weir_plan plan = plan_of(limits[i]);
        assert_int_equal(api_memory(&plan).state_bytes, weir_state_size(&plan));
        says(&plan, "memory          ", weir_state_size(&plan));
    }
}

static void a_limiter(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(limits); i++) {
        const weir_plan plan = plan_of(limits[i]);
        const uint64_t told = api_memory(&plan).limiter_bytes;
        weir_limiter *limiter;
        allocated = 0;
        assert_int_equal(weir_open(&limiter, limits[i], NULL, NULL), 0);
        if (allocated < told || allocated - told >= LINE)
            fail_msg("%s: %ju, not %ju", limits[i], (uintmax_t)allocated, (uintmax_t)told);
        if (strstr(limits[i], "sliding-log") != NULL) says(&plan, "; in a limiter ", told);
        weir_close(limiter);
    }
}

/* told: for each of very many keys, of which a million share the rules that are remembered. */
static void check_table(const char *limit, uint64_t bytes, uint64_t told)
{
    const uint64_t beside = 2 * REGION_PAGE + wide_plans_bytes(wide_sets_in(bytes)) + bytes / KEYS;
    const uint64_t shared = wide_plans_bytes(WIDE_SETS_MANY) / 1000000 + 2;
    if (bytes > told * KEYS + beside || bytes < (told - shared) * KEYS)
        fail_msg("%s: %ju bytes, not %d times %ju", limit, (uintmax_t)bytes, KEYS, (uintmax_t)told);
}

static uint64_t table_bytes(const weir_plan *plan, const char *path)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    weir_table_stats stats;
    struct stat status;
    options.keys_max = KEYS;
    options.sharing = path != NULL ? WEIR_CREATE : WEIR_PRIVATE;
    options.path = path;
    options.plan = plan;
    assert_int_equal(weir_table_open(&table, &options, NULL), 0);
    assert_int_equal(weir_table_fits(table, plan, NULL), 0);
    weir_table_read_stats(table, &stats, sizeof stats);
    weir_table_close(table);
    if (path == NULL) return stats.bytes;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(stats.bytes, status.st_size);
    unlink(path);
    return stats.bytes;
}

static bool in_slots(const char *limit)
{
    const weir_plan plan = plan_of(limit);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    options.sharing = WEIR_PRIVATE;
    options.keys_max = 1;
    assert_int_equal(weir_table_open(&table, &options, NULL), 0);
    const bool fits = weir_table_fits(table, &plan, NULL) == 0;
    weir_table_close(table);
    return fits;
}

static void a_table(void **unused)
{
    (void)unused;
    char path[64];
    snprintf(path, sizeof path, "/tmp/weir-told-%d", (int)getpid());
    for (size_t i = 0; i < LENGTH(limits); i++) {
        const weir_plan plan = plan_of(limits[i]);
        const struct plan_memory told = api_memory(&plan);
        says(&plan, "; in a table ", told.table_key_bytes);
        if (in_slots(limits[i])) continue;
        check_table(limits[i], table_bytes(&plan, NULL), told.table_key_bytes);
        says(&plan, "; in a file ", told.file_key_bytes);
        if (told.file_key_bytes * KEYS <= TABLE_MAX)
            check_table(limits[i], table_bytes(&plan, path), told.file_key_bytes);
    }
}

/* Limits by gcra have 16-byte slots, of one length for all. */
static void slots(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    weir_table_stats stats;
    const weir_plan plan = plan_of("10/min");
    options.sharing = WEIR_PRIVATE;
    options.keys_max = 100000;
    assert_int_equal(weir_table_open(&table, &options, NULL), 0);
    weir_table_read_stats(table, &stats, sizeof stats);
    assert_int_equal(multiply_divide_ceil(stats.bytes - 2 * REGION_PAGE, 1, options.keys_max),
                     api_memory(&plan).table_key_bytes);
    weir_table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state),
        cmocka_unit_test(a_limiter),
        cmocka_unit_test(a_table),
        cmocka_unit_test(slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
