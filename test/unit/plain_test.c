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

#include "plan/plan.h"
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
        {"10 a-calls/s", "10 a-calls/s burst=10 algorithm=gcra"},
        {"10/s debt=7", "10/s burst=10 algorithm=gcra debt=7"},
        {"unlimited weight=2; 3/s", "unlimited weight=2; 3/s burst=3 algorithm=gcra"},
        {"1_000/year burst=1", "1000/year burst=1 algorithm=gcra"},
        {"4503599627370496/1251h burst=1", "4503599627370496/1251h burst=1 algorithm=gcra"},
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
        {"4503599627371/4503599632812500ns algorithm=leaky burst=1",
         "9007199254742/9007199265625us burst=1 algorithm=leaky"},
        {"1/36028797018963960ns burst=1", "25/900719925474099us burst=1 algorithm=gcra"},
        {"1/4503599627370496ns algorithm=fixed-window", "1/4503599627370496ns algorithm=fixed-window align=first"},
        {"1/4503599627370497ns algorithm=fixed-window", "1/4503599627371us algorithm=fixed-window align=first"},
        {"1/4503599627370497ns algorithm=sliding-log edge=closed",
         "1/4503599627370us algorithm=sliding-log edge=closed"},
        {"5/s algorithm=sliding-log gap=4503599627370497ns", "5/s algorithm=sliding-log gap=4503599627371us edge=open"},
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
        assert_int_equal(read.weights.weight, micro.weights.weight);
    }
}

static void plain_texts_are_read(void **state)
{
    static const char *const texts[] = {"10 quizzes/s",
                                        "10 ops/s",
                                        "10 api-calls/s",
                                        "10/s debt=0",
                                        "10/3min  burst=2 ;  3/s ",
                                        "1000/year burst=1",
                                        "1/4503599627s burst=1",
                                        "1/s burst=4503599627s",
                                        "12/s algorithm=hybrid catchup=1.5 burst=2",
                                        "10/s algorithm=leaky delay=4503599627370496",
                                        "3 concurrent lease=10s",
                                        "3 concurrent  lease=10s",
                                        "3 concurrent jobs lease=10s",
                                        "3 concurrent  ops lease=10s",
                                        "10 concurrents/s"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct micro_plan plan;
        weir_error error;
        if (micro_text_read(&plan, texts[i], &error) != 0) fail_msg("%s: %s", texts[i], error.message);
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
    char plain[TEXT_SIZE];
    weir_plan plan = plan_of("5/s algorithm=fixed-window block=1h");
    plan_inside(&plan)->limit[0].count_refused = false; /* as no text says it: with a block refusals are counted */
    assert_int_equal(micro_text_write(&plan, plain, sizeof plain), 0);
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
                {"05/s", 1, "write '5/s"},
                {"10/01s", 4, "write '10/s"},
                {"10 op/s", 4, "write '10/s"},
                {"10 tokens /s", 10, "write '10 tokens/s"},
                {"10/s burst=2sec", 13, "write '10/s burst=2s"},
                {"3 concurrent job lease=10s", 14, "write '3 concurrent lease=10s"},
                {"3 concurrent  job lease=10s", 15, "write '3 concurrent lease=10s"},
                {"3 concurrent j lease=10s", 14, "write '3 concurrent lease=10s"},
                {"3  concurrent lease=10s", 3, "write '3 concurrent lease=10s"},
                {"10/s algorithm=leaky delay=4503599627370497", 28, "write '10/s"},
                {"10/1.5s", 5, "write '10/1500ms"},
                {"10/s burst=1k", 13, "write '10/s burst=1000"},
                {"10/s algorithm=token-bucket", 16, "write '10/s burst=10 algorithm=gcra'"},
                {"1.5/s", 2, "write '3/2s burst=1 algorithm=gcra'"},
                {"10/s algorithm=cycle", 0, "algorithm=cycle is not kept in an engine"},
                {"10.001/18446744s algorithm=leaky burst=5", 3, "weir explain prints this limit so"},
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

/* Levels of tenants; what is behind the plan and the error stays as it is. */
static void levels(void **state)
{
    static const struct {
        const char *text;
        unsigned levels, first, weight, level, limit; /* first: of the last level */
        bool many_units;
    } rows[] = {{"1/s under 2/s", 2, 1, 0, 1, 0, false},
                {"1/s; 2/s; 3/s; 4/s under 1/s; 2/s; 3/s; 4/s", 2, 4, 0, 1, 0, false},
                {"1/s under 2/s under 3/s; 4/s under 5/s", 4, 4, 0, 3, 0, false},
                {"1/s; 5 tokens/s under 2/s", 2, 2, 0, 1, 0, true},
                {"1/s under 2/s; 5 tokens/s", 2, 1, 0, 1, 0, true},
                {"unlimited weight=2 under 400/s", 2, 1, 2, 0, 1, false},
                {"unlimited weight=3 under unlimited weight=5 under 400/s", 3, 2, 3, 0, 2, false},
                {"unlimited under unlimited weight=2 under unlimited; 400/s; 9/s", 3, 2, 2, 1, 3, false},
                {"unlimited under 400/s weight=2", 2, 1, 0, 1, 0, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct {
            struct micro_plan plan;
            unsigned char behind[sizeof(struct micro_rule)];
        } read;
        weir_error error;
        memset(&read, 0x5a, sizeof read);
        if (micro_text_read(&read.plan, rows[i].text, &error) != 0) fail_msg("%s: %s", rows[i].text, error.message);
        assert_int_equal(read.plan.levels, rows[i].levels);
        assert_int_equal(read.plan.first[rows[i].levels - 1], rows[i].first);
        assert_int_equal(read.plan.first[rows[i].levels], read.plan.count);
        assert_int_equal(read.plan.weights.weight, rows[i].weight);
        assert_int_equal(read.plan.weights.level, rows[i].level);
        assert_int_equal(read.plan.weights.limit, rows[i].limit);
        assert_int_equal(read.plan.many_units, rows[i].many_units);
        for (size_t k = 0; k < sizeof read.behind; k++) assert_int_equal(read.behind[k], 0x5a);
    }
    struct micro_plan plan;
    assert_int_equal(micro_text_read(&plan, "5/s debt=3 under 10/s debt=3 under 10/s debt=3", NULL), 0);
    assert_int_equal(plan.rule[0].debt, 3 * plan.rule[0].permit);
    for (int i = 1; i < 3; i++)
        assert_int_equal(plan.rule[i].debt, MICRO_MOST - plan.rule[i].top); /* whatever is owed */
    assert_int_equal(micro_text_read(&plan, "unlimited weight=2 under 400/s burst=100", NULL), 0);
    assert_int_equal(plan.weights.per, 1 << 27); /* as fine as 2^45 parts of a burst let it be */
    assert_int_equal(plan.weights.permit, UINT64_C(2500) << 27);
    assert_int_equal(micro_text_read(&plan, "unlimited weight=2 under 1/s burst=35184372", NULL), 0);
    assert_int_equal(plan.weights.per, 1);
    assert_int_equal(micro_text_read(&plan, "unlimited weight=2 under 1000/s burst=35184372088", NULL), 0);
    assert_int_equal(plan.weights.permit, 1000); /* as few as the weights go up to */
}

static void levels_that_are_not_kept(void **state)
{
    char longest[1100], longer[1100];
    const struct {
        const char *text;
        int code, column;
        const char *says;
    } rows[] = {
        {"1/s under 2/s under 3/s under 4/s under 5/s", WEIR_EUNSUPPORTED, 41, "up to 4 levels"},
        {"1/s; 2/s; 3/s; 4/s under 1/s; 2/s; 3/s; 4/s; 5/s", WEIR_EUNSUPPORTED, 26, "at most 8 limits"},
        {"1/s under 5/s algorithm=sliding-log", WEIR_EUNSUPPORTED, 11, "keys of their own"},
        {"1/s under 3 concurrent lease=10s", WEIR_EUNSUPPORTED, 11, "keys of their own"},
        {"unlimited weight=2 under unlimited", WEIR_EUNSUPPORTED, 26, "weights share a rate"},
        {"unlimited weight=2 under 1/s burst=35184373", WEIR_EUNSUPPORTED, 26, "this burst is too large"},
        {"unlimited weight=2 under 1/999us burst=35184372088", WEIR_EUNSUPPORTED, 26, "this burst is too large"},
        {"1/s under 05/s", WEIR_EINVAL, 11, "write '5/s"},
        {"1/s under 10/s algorithm=cycle", WEIR_EUNSUPPORTED, 0, "algorithm=cycle"},
        {longer, WEIR_EUNSUPPORTED, 1, "at most 1024 bytes"}};
    struct {
        weir_error error;
        unsigned char behind[8];
    } told;
    struct micro_plan plan;
    (void)state;
    snprintf(longest, sizeof longest, "1/s%1021s under 2/s", "");
    snprintf(longer, sizeof longer, "1/s%1022s under 2/s", "");
    assert_int_equal(micro_text_read(&plan, longest, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&told, 0x5a, sizeof told);
        assert_int_equal(micro_text_read(&plan, rows[i].text, &told.error), rows[i].code);
        assert_int_equal(told.error.code, rows[i].code);
        if (told.error.column != rows[i].column || strstr(told.error.message, rows[i].says) == NULL)
            fail_msg("%s: column %d: %s", rows[i].text, told.error.column, told.error.message);
        for (size_t k = 0; k < sizeof told.behind; k++) assert_int_equal(told.behind[k], 0x5a);
    }
}

/* A plain text is said if there is room for it, to the last byte. */
static void what_to_write_is_said_as_a_whole(void **state)
{
    static const char says[] = "an engine reads plain numbers and one spelling of each unit; ";
    int said[2] = {0, 0};
    (void)state;
    for (int length = 1; length < 100; length++) {
        char text[TEXT_SIZE], plain[TEXT_SIZE], expected[2 * TEXT_SIZE];
        weir_plan plan;
        weir_error error;
        struct micro_plan micro;
        const int before = length / 20, last = length % 20 + 3;
        int at = 0;
        for (int i = 0; i < before; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, "1 %.14ss/s; ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        snprintf(text + at, sizeof text - (size_t)at, "1k %.*ss/s", last, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        assert_int_equal(weir_plan_parse(&plan, text, WEIR_ADMIT, NULL), 0);
        const size_t size = micro_text_write(&plan, plain, sizeof plain);
        assert_in_range(size, 1, sizeof plain - 1);
        const bool fits = strlen(says) + strlen("write ''") + size < sizeof error.message;
        snprintf(expected, sizeof expected, fits ? "%swrite '%s'" : "%sweir explain prints this limit so", says, plain);
        assert_int_equal(micro_text_read(&micro, text, &error), WEIR_EINVAL);
        assert_string_equal(error.message, expected);
        said[fits]++;
    }
    assert_true(said[0] > 0 && said[1] > 0);
}

static void a_short_buffer_is_told_the_length(void **state)
{
    static const char text[] = "10/s burst=10 algorithm=gcra";
    const weir_plan plan = plan_of("10/s");
    char plain[5], all[sizeof text];
    (void)state;
    assert_int_equal(micro_text_write(&plan, plain, sizeof plain), strlen(text));
    assert_string_equal(plain, "10/s");
    assert_int_equal(micro_text_write(&plan, all, sizeof all), strlen(text));
    assert_string_equal(all, text);
    assert_int_equal(micro_text_write(&plan, all, strlen(text)), strlen(text)); /* a byte too few */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_limit_is_written_plainly),
        cmocka_unit_test(plain_texts_are_read),
        cmocka_unit_test(what_no_plain_text_says_is_not_written),
        cmocka_unit_test(a_text_that_is_not_plain_is_told_where_and_how),
        cmocka_unit_test(levels),
        cmocka_unit_test(levels_that_are_not_kept),
        cmocka_unit_test(what_to_write_is_said_as_a_whole),
        cmocka_unit_test(a_short_buffer_is_told_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
