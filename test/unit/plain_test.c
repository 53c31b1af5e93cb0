/* SPDX-License-Identifier: MIT
   The texts of an engine: what limits become in them, and what is said of texts that are not plain.

   Expected texts are written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "redis/micro/micro.h"

enum { TEXT_SIZE = 512 };

static weir_plan plan_of(const char *text)
{
    weir_plan plan;
    weir_error error;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, &error) != 0) fail_msg("%s: %s", text, error.message);
    return plan;
}

static void any_limit_is_written_plainly(void **state)
{
    static const char *const texts[][2] = {
        {"10/s", "10/s burst=10 algorithm=gcra"},
        {"1.5M/s burst=2M", "1500000/s burst=2000000 algorithm=gcra"},
        {"100k tokens per minute", "100000 tokens/min burst=100000 algorithm=gcra"},
        {"10 Things/s", "10/s burst=10 algorithm=gcra"},
        {"10 token/s", "10/s burst=10 algorithm=gcra"},
        {"10KiB/s", "10240 bytes/s burst=10240 algorithm=gcra"},
        {"0.5/s", "1/2s burst=1 algorithm=gcra"},
        {"2.5/min burst=5", "1/24s burst=5 algorithm=gcra"},
        {"5/2 weeks", "5/2w burst=5 algorithm=gcra"},
        {"10r/m burst=5 nodelay", "83/500s burst=6 algorithm=leaky nodelay"},
        {"12000,1.1", "12000/s burst=10ms catchup=1.1 algorithm=hybrid"},
        {"10/s, 1_000/h", "10/s burst=10 algorithm=gcra; 1000/h burst=1000 algorithm=gcra"},
        {"10/s algorithm=leaky-bucket delay=18446744073709551615",
         "10/s burst=10 algorithm=leaky delay=4503599627370496"},
        {"8/36028797018963960ns algorithm=leaky", "1/4503599627370495ns burst=8 algorithm=leaky"},
        {"1/36028797018963960ns burst=1", "25/900719925474099us burst=1 algorithm=gcra"},
        {"1/4503599627370497ns algorithm=fixed-window", "1/4503599627371us algorithm=fixed-window align=first"},
        {"1/4503599627370497ns algorithm=sliding-log edge=closed",
         "1/4503599627370us algorithm=sliding-log edge=closed"},
        {"5/15min block=1hour", "5/15min algorithm=fixed-window block=1h align=first count-refused"},
        {"unlimited; none", "unlimited; none"}};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char plain[TEXT_SIZE];
        const weir_plan plan = plan_of(texts[i][0]);
        struct micro_plan micro, read;
        weir_error error;
        const size_t size = micro_text_write(&plan, plain, sizeof plain);
        assert_string_equal(size != 0 ? plain : texts[i][0], texts[i][1]);
        assert_int_equal(size, strlen(plain));
        assert_int_equal(micro_plan_make(&micro, &plan, NULL), 0);
        assert_int_equal(micro_text_read(&read, plain, &error), 0);
        assert_int_equal(read.count, micro.count);
        assert_memory_equal(read.rule, micro.rule, micro.count * sizeof micro.rule[0]);
    }
}

static void what_no_plain_text_says_is_not_written(void **state)
{
    static const char *const texts[] = {"10/s algorithm=cycle", "10.001/18446744s algorithm=leaky burst=5",
                                        "1/s burst=90071992547409931ns"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char plain[TEXT_SIZE];
        const weir_plan plan = plan_of(texts[i]);
        assert_int_equal(micro_text_write(&plan, plain, sizeof plain), 0);
    }
}

static void a_text_that_is_not_plain_is_told_where_and_how(void **state)
{
    static const struct {
        const char *text;
        int column;
        const char *says;
    } rows[] = {{"100k tokens/min", 4, "write '100000 tokens/min burst=100000 algorithm=gcra'"},
                {"10/s; 30 per h", 10, "write '10/s burst=10 algorithm=gcra; 30/h burst=30 algorithm=gcra'"},
                {"10/m", 4, "write '10/min burst=10 algorithm=gcra'"},
                {"10 /s", 4, "write '10/s"},
                {"10/s\tburst=20", 5, "write '10/s burst=20"},
                {"010/s", 1, "write '10/s"},
                {"10/s burst=1k", 13, "write '10/s burst=1000"},
                {"10/s algorithm=token-bucket", 16, "write '10/s burst=10 algorithm=gcra'"},
                {"1.5/s", 2, "write '3/2s burst=1 algorithm=gcra'"},
                {"10/s algorithm=cycle", 0, "algorithm=cycle is not kept in an engine"},
                {"10/s burst=", 12, "expected a count or a time"},
                {"1k/s; 2k/s; 3k/s; 4k/s; 5k/s; 6k/s; 7k/s; 8k/s", 2, "weir explain prints this limit so"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct micro_plan plan;
        weir_error error;
        assert_int_not_equal(micro_text_read(&plan, rows[i].text, &error), 0);
        if (error.column != rows[i].column || strstr(error.message, rows[i].says) == NULL)
            fail_msg("%s: column %d: %s", rows[i].text, error.column, error.message);
    }
}

static void a_short_buffer_is_told_the_length(void **state)
{
    const weir_plan plan = plan_of("10/s");
    char plain[5];
    (void)state;
    assert_int_equal(micro_text_write(&plan, plain, sizeof plain), strlen("10/s burst=10 algorithm=gcra"));
    assert_string_equal(plain, "10/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_limit_is_written_plainly),
        cmocka_unit_test(what_no_plain_text_says_is_not_written),
        cmocka_unit_test(a_text_that_is_not_plain_is_told_where_and_how),
        cmocka_unit_test(a_short_buffer_is_told_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
