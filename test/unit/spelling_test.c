/* SPDX-License-Identifier: MIT
   Limits in the words of nosqlbench, EngineBlock and load generators: what to write here, and that
   it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

enum { TEXT_SIZE = 256 };

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

struct spelling {
    const char *text;
    int column;
    const char *write; /* behind the last "write " of the message */
};

static const struct spelling spellings[] = {
    {"rate=12000", 1, "12000/s"},
    {"rate=12000,1.1", 1, "12000,1.1"},
    {"  rate=12000, 1.1 burst=5", 3, "12000,1.1"},
    {"rate=12000,1.1,restart", 1, "12000,1.1"},
    {"rate=1E6,1.15", 1, "1000000,1.15"},
    {"rate=2000,0.25", 1, "2000/s strictness=0.25"},
    {"rate=2000,0.0", 1, "2000/s strictness=0"},
    {"rate=2000,1.0D", 1, "2000,1"},
    {"targetrate=500_000", 1, "500000/s"},
    {"limit=10/min burst=5", 1, "10/min"},
    {"rate=10/\n5 min", 1, "10/5min"},
    {"rate=10/fortnight", 1, "10/s"},
    {"10/s; rate=5", 7, "5/s"},
    {"1E6", 2, "1000000/s"},
    {"1e6", 2, "1000000/s"},
    {"1E+6", 2, "1000000/s"},
    {"1.5E3", 4, "1500/s"},
    {"5E-1", 2, "0.5/s"},
    {"1E6/s", 2, "1000000/s"},
    {"1E6/min", 2, "1000000/min"},
    {"1E6,1.1", 2, "1000000,1.1"},
    {"1E3,11E-1,restart", 2, "1000,1.1"},
    {"1E6,10/s", 2, "1000000/s"},
    {"100rps", 4, "100/s"},
    {"100 rps", 5, "100/s"},
    {"1.5k rps", 6, "1500/s"},
    {"10kqps", 3, "10000/s"},
    {"100rps burst=5", 4, "100/s"},
    {"100rps,1.1", 4, "100,1.1"},
    {"100 ops", 5, "100 ops/s"},
    {"100rpm", 4, "100/min"},
    {"12000,1.1,restart", 11, "12000,1.1"},
    {"12000, 1.1 , start", 14, "12000, 1.1"},
    {"12000,stop", 7, "12000"},
    {"10/s\nburst=5;configure", 14, "10/s burst=5"},
    {"2000,0.5", 6, "2000/s strictness=0.5"},
    {"2000,0.0", 6, "2000/s strictness=0"},
};

static void check(const struct spelling *row, weir_use use)
{
    static weir_plan plan;
    weir_error error, other;
    const int code = weir_plan_parse(&plan, row->text, use, &error);
    if (code != WEIR_EINVAL || error.column != row->column) {
        fail_msg("\"%s\": code %d, column %d: %s", row->text, code, error.column, error.message);
    }
    const char *write = strstr(error.message, " write ");
    if (write == NULL || strcmp(write + strlen(" write "), row->write) != 0) {
        fail_msg("\"%s\": \"%s\", expected \"%s\"", row->text, error.message, row->write);
    }
    if (weir_plan_parse(&plan, row->write, WEIR_PACE, &other) != 0) {
        fail_msg("\"%s\" is told to write \"%s\": %s", row->text, row->write, other.message);
    }
}

static void each_is_told_what_to_write(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(spellings); i++) {
        check(&spellings[i], WEIR_ADMIT);
        check(&spellings[i], WEIR_PACE);
    }
}

/* Near to those above, and not one of them: nothing is made up for these. */
static void others_are_told_what_was_expected(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"rate=",     "rate",           "rate=x",       "rate=0",   "burst=5",
                                        "restart",   "100E",           "1E99",         "1E18E",    "1E-19",
                                        "100rpss",   "rate=1E20",      "5,begin",      "10/s 1E6", "20E1.5/s",
                                        "1E6000000", "99999999999E18", "12000;startle"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        weir_plan plan;
        weir_error error;
        assert_int_equal(weir_plan_parse(&plan, texts[i], WEIR_PACE, &error), WEIR_EINVAL);
        if (strstr(error.message, " write ") != NULL) fail_msg("\"%s\": %s", texts[i], error.message);
    }
}

/* A limit as long as one likes is not repeated; the message stays whole. */
static void long_limits_are_not_repeated(void **unused)
{
    (void)unused;
    char text[TEXT_SIZE];
    weir_plan plan;
    weir_error error;
    snprintf(text, sizeof text, "10/s%*sburst=5,restart", TEXT_SIZE / 2, "");
    assert_int_equal(weir_plan_parse(&plan, text, WEIR_PACE, &error), WEIR_EINVAL);
    assert_non_null(strstr(error.message, "expected a rate"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told_what_to_write),
        cmocka_unit_test(others_are_told_what_was_expected),
        cmocka_unit_test(long_limits_are_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
