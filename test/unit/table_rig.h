/* SPDX-License-Identifier: MIT
   Tables for the tests of their public calls, and a folder of the test's own for those that are kept. */
#ifndef WEIR_TEST_TABLE_RIG_H
#define WEIR_TEST_TABLE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/weir.h>

static inline weir_table *open_with(weir_table_options options)
{
    weir_table *table;
    weir_error error;
    if (weir_table_open(&table, &options, &error) != 0) fail_msg("%s", error.message);
    return table;
}

static inline weir_table *open_default(void)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 2000; /* for half as many keys, so that chance is no part of it */
    return open_with(options);
}

static inline weir_table *open_wide(const weir_plan *plan)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 100;
    options.plan = plan;
    options.sharing = WEIR_PRIVATE;
    return open_with(options);
}

static inline void refused(weir_table_options options, int code, const char *word)
{
    weir_table *table = NULL;
    weir_error error = {0};
    assert_int_equal(weir_table_open(&table, &options, &error), code);
    assert_null(table);
    assert_int_equal(error.code, code);
    if (strstr(error.message, word) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.message, word);
}

/* ---- a folder, for each test anew ---- */

static char folder[sizeof "/tmp/weir-table-XXXXXX"], path[sizeof folder + 8]; /* path: a table to come */

static inline int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/weir-table-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/table", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

#endif
