/* SPDX-License-Identifier: MIT
   What weir_plan_headers writes of a decision.  That numbers say what a limit does is tested with the service's headers
   (http_headers_test.c), which come from the same functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <weir/weir.h>

#define SECOND UINT64_C(1000000000)

/* The headers of the last of some takes of one permit each at second 1. */
static void check(const char *limits, int takes, uint64_t cost, const char *expected)
{
    weir_plan plan;
    weir_error error;
    assert_int_equal(weir_plan_parse(&plan, limits, WEIR_ADMIT, &error), 0);
    uint64_t state[512] = {0};
    assert_in_range(weir_state_size(&plan), 0, sizeof state);
    weir_decision decision = weir_decide(&plan, state, (weir_instant){SECOND}, takes == 1 ? cost : 1);
    for (int take = 1; take < takes; take++) decision = weir_decide(&plan, state, (weir_instant){SECOND}, cost);
    char text[512], cut[8];
    const uint64_t full_ns = weir_decide_full_ns(&plan, &decision);
    assert_int_equal(weir_plan_headers(&plan, &decision, full_ns, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(weir_plan_headers(&plan, &decision, full_ns, cut, sizeof cut), strlen(expected));
    assert_int_equal(strlen(cut), strlen(expected) < 7 ? strlen(expected) : 7);
}

static void test_what_is_left(void **state)
{
    (void)state;
    check("60/min", 1, 1, "RateLimit-Policy: \"default\";q=60;w=60\r\nRateLimit: \"default\";r=59;t=1\r\n");
    check("10/min burst=2", 1, 1,
          "RateLimit-Policy: \"default\";q=10;w=60;weir-burst=2\r\nRateLimit: \"default\";r=1;t=6\r\n");
    check("10/min burst=2", 1, 0,
          "RateLimit-Policy: \"default\";q=10;w=60;weir-burst=2\r\nRateLimit: \"default\";r=2\r\n");
    check("10/min burst=12s", 1, 1, "RateLimit-Policy: \"default\";q=10;w=60\r\nRateLimit: \"default\";r=1;t=6\r\n");
    check("10/min burst=12s", 1, 0, "RateLimit-Policy: \"default\";q=10;w=60\r\nRateLimit: \"default\";r=2\r\n");
    check("5/15min algorithm=sliding-log", 1, 1,
          "RateLimit-Policy: \"default\";q=5;w=900\r\nRateLimit: \"default\";r=4\r\n");
}

/* As while a limiter is paused. */
static void test_a_refusal_without_an_end(void **state)
{
    (void)state;
    weir_plan plan;
    char text[256];
    const weir_decision refused = {.verdict = WEIR_DENY, .retry_ns = WEIR_FOREVER};
    assert_int_equal(weir_plan_parse(&plan, "60/min", WEIR_ADMIT, NULL), 0);
    weir_plan_headers(&plan, &refused, 0, text, sizeof text);
    assert_string_equal(text, "RateLimit-Policy: \"default\";q=60;w=60\r\nRateLimit: \"default\";r=0\r\n");
}

static void test_a_refusal(void **state)
{
    (void)state;
    check(
        "10/min burst=2", 3, 1,
        "RateLimit-Policy: \"default\";q=10;w=60;weir-burst=2\r\nRateLimit: \"default\";r=0;t=6\r\nRetry-After: 6\r\n");
    check("3/10s algorithm=sliding-log", 4, 1,
          "RateLimit-Policy: \"default\";q=3;w=10\r\nRateLimit: \"default\";r=0;t=10\r\nRetry-After: 10\r\n");
    /* never: there is nothing to wait for */
    check("10/min burst=2", 1, 3,
          "RateLimit-Policy: \"default\";q=10;w=60;weir-burst=2\r\nRateLimit: \"default\";r=2\r\n");
    /* less than a second is a second */
    check("1000/s burst=1", 2, 1,
          "RateLimit-Policy: \"default\";q=1000;w=1;weir-burst=1\r\nRateLimit: \"default\";r=0;t=1\r\nRetry-After: "
          "1\r\n");
}

static void test_which_limit(void **state)
{
    (void)state;
    check("60/min; 2 tokens/h burst=2", 3, 1,
          "RateLimit-Policy: \"default-2\";q=2;w=3600;qu=\"tokens\"\r\nRateLimit: \"default-2\";r=0;t=1800\r\n"
          "Retry-After: 1800\r\n");
    check("unlimited", 1, 1, "");
    check("none", 1, 1, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_left),
        cmocka_unit_test(test_a_refusal),
        cmocka_unit_test(test_a_refusal_without_an_end),
        cmocka_unit_test(test_which_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
