/* SPDX-License-Identifier: MIT
   A cost by unit: what people write, what each limit is charged then, and what is said of a mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "plan/cost.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

enum { EACH_MAX = 3 };

static const char requests_tokens[] = "60 requests/min; 100k tokens/min";
static const char jobs_tokens[] = "8 concurrent jobs lease=1h; 100k tokens/min";

static weir_plan plan_of(const char *limits)
{
    weir_plan plan;
    weir_error error;
    if (weir_plan_parse(&plan, limits, WEIR_ADMIT, &error) != 0) fail_msg("%s: %s", limits, error.message);
    return plan;
}

static void test_read(void **state)
{
    (void)state;
    static const struct {
        const char *limits, *text;
        uint64_t each[EACH_MAX];
    } rows[] = {
        {"10/s", "1", {1}},
        {"10/s", "0", {0}},
        {"10/s", "812", {812}},
        {"10/s", "10_000", {10000}},
        {"10/s", "1.5k", {1500}},
        {"10/s", "2Mi", {2 << 20}},
        {"10/s", "18446744073709551615", {UINT64_MAX}},
        {"10/s", "requests=3", {3}},
        {"10/s", "request=3", {3}},
        {"10/s; 1000/h", "3", {3, 3}},
        {"10/s; 1000/h", "requests=3", {3, 3}},
        {"10MB/s", "64KiB", {65536}},
        {"10MB/s", "64Ki", {65536}},
        {"10MB/s", "bytes=64KiB", {65536}},
        {"10MB/s", "B=2MB", {2000000}},
        {"100k tokens/min", "812", {812}},
        {"100k tokens/min", "tokens=1k", {1000}},
        {requests_tokens, "tokens=812", {1, 812}},
        {requests_tokens, "tokens=812,requests=2", {2, 812}},
        {requests_tokens, "requests=0,tokens=5", {0, 5}},
        {"100k tokens/min; 5/s; 1M tokens/d", "tokens=7", {7, 1, 7}},
        {"5/s; 1MB/s; 100 tokens/min", "tokens=7,bytes=1.5kB", {1, 1500, 7}},
        {"20 concurrent lease=30s; 100 tokens/s", "tokens=9", {1, 9}},
        {"20 concurrent lease=30s; 100/s", "2", {2, 2}},
        {jobs_tokens, "tokens=9,jobs=1", {1, 9}},
        {"unlimited", "tokens=812", {1}},
        {"none", "5", {5}},
        {"unlimited; 10 tokens/s", "5", {5, 5}},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].limits);
        uint64_t each[WEIR_LIMITS_MAX];
        weir_error error;
        if (!plan_costs(plan_inside_const(&plan), COST_OPTION, rows[i].text, each, &error))
            fail_msg("%s, %s: %s", rows[i].limits, rows[i].text, error.message);
        for (int limit = 0; limit < weir_plan_limits(&plan); limit++)
            assert_int_equal(each[limit], rows[i].each[limit]);
    }
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *limits, *text;
        enum cost_spelling spelling;
        int column;
        const char *message;
    } rows[] = {
        {requests_tokens, "812", COST_OPTION, 0, "limits count requests and tokens: write --cost tokens=812"},
        {requests_tokens, "812", COST_COMMAND, 0, "limits count requests and tokens: write COST tokens 812"},
        {requests_tokens, "812", COST_JSON, 0, "limits count requests and tokens: write \"cost\": {\"tokens\": 812}"},
        {requests_tokens, "812", COST_FIELD, 0, "limits count requests and tokens: write cost=tokens=812"},
        {"5/s; 1MB/s; 10 tokens/s", "2k", COST_JSON, 0,
         "limits count requests, bytes and tokens: write \"cost\": {\"bytes\": 2000, \"tokens\": 2000}"},
        {jobs_tokens, "5", COST_COMMAND, 0, "limits count jobs and tokens: write COST jobs 5 tokens 5"},
        {jobs_tokens, "tokens=5", COST_OPTION, 0,
         "\"jobs\" has no cost; limits count jobs and tokens: write --cost jobs=1,tokens=5"},
        {requests_tokens, "requests=2", COST_OPTION, 0,
         "\"tokens\" has no cost; limits count requests and tokens: write --cost requests=2,tokens=1"},
        {requests_tokens, "token=812", COST_OPTION, 1,
         "\"token\" is no unit here; limits count requests and tokens: write --cost tokens=812"},
        {requests_tokens, "requests=2,token=812", COST_OPTION, 12,
         "\"token\" is no unit here; limits count requests and tokens: write --cost requests=2,tokens=812"},
        {"10/s", "tokens=812", COST_OPTION, 1,
         "\"tokens\" is no unit here; the limit counts requests: write --cost requests=812"},
        {"10/s; 5/min", "abcdefghijklmnopqrstuvwxyzabcdef=1", COST_OPTION, 1,
         "\"abcdefghijklmnopqrstuvwx\" is no unit here; limits count requests: write --cost requests=1"},
        {"5 abcdefghijklmnopqrstuvw/s", "abcdefghijklmnopqrstuvwx=1", COST_OPTION, 1,
         "\"abcdefghijklmnopqrstuvwx\" is no unit here; the limit counts abcdefghijklmnopqrstuvw: write "
         "--cost abcdefghijklmnopqrstuvw=1"},
        {requests_tokens, "tokens=1,tokens=2", COST_OPTION, 10,
         "\"tokens\" has two costs; limits count requests and tokens: write --cost tokens=1"},
        {"5/s; 10 tokens/s; 100 tokens/min", "bytes=1", COST_OPTION, 1,
         "\"bytes\" is no unit here; limits count requests and tokens: write --cost tokens=1"},
        {"10/s", "", COST_OPTION, 1, "expected a whole number; for example --cost 5"},
        {"10/s", "-1", COST_OPTION, 1, "expected a whole number; for example --cost 5"},
        {"10/s", "1.5", COST_JSON, 1, "expected a whole number; for example \"cost\": 5"},
        {"10/s", "1,500", COST_OPTION, 1, "expected a whole number; for example --cost 5"},
        {"10/s", "requests=", COST_OPTION, 10, "expected a whole number; for example --cost 5"},
        {"10/s", "=5", COST_OPTION, 2, "expected a whole number; for example --cost 5"},
        {"10/s", "18446744073709551616", COST_OPTION, 1, "expected a whole number; for example --cost 5"},
        {"unlimited", "many", COST_COMMAND, 1, "expected a whole number; for example COST 5"},
        {requests_tokens, "tokens=8,", COST_OPTION, 10,
         "expected a whole number for each unit; limits count requests and tokens: write --cost tokens=8"},
        {requests_tokens, "tokens=8KiB", COST_OPTION, 8,
         "expected a whole number for each unit; limits count requests and tokens: write --cost tokens=1"},
        {requests_tokens, "tokens 812", COST_OPTION, 1,
         "expected a whole number for each unit; limits count requests and tokens: write --cost tokens=1"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].limits);
        uint64_t each[WEIR_LIMITS_MAX] = {77, 77};
        weir_error error;
        assert_false(plan_costs(plan_inside_const(&plan), rows[i].spelling, rows[i].text, each, &error));
        assert_string_equal(error.message, rows[i].message);
        assert_int_equal(error.code, WEIR_EINVAL);
        assert_int_equal(error.column, rows[i].column);
        assert_true(each[0] == 77 && each[1] == 77);
        assert_false(plan_costs(plan_inside_const(&plan), rows[i].spelling, rows[i].text, each, NULL));
    }
}

/* As a protocol reads it: units that are not NUL-terminated, one after another. */
static void test_by_unit(void **state)
{
    (void)state;
    const weir_plan plan = plan_of(requests_tokens);
    struct plan_cost cost = {.plan = plan_inside_const(&plan), .spelling = COST_COMMAND};
    weir_error error;
    assert_true(plan_cost_of(&cost, "tokensX", 6, UINT64_MAX, &error));
    assert_false(plan_cost_of(&cost, "tok", 3, 1, &error));
    assert_string_equal(error.message, "\"tok\" is no unit here; limits count requests and tokens: write "
                                       "COST tokens 18446744073709551615");
    assert_true(plan_cost_end(&cost, &error));
    assert_true(cost.each[0] == 1 && cost.each[1] == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_by_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
