/* SPDX-License-Identifier: MIT
   The same limit in other systems' words: the edges of what each can say, and the reasons.

   Each refusal is met just beyond a limit that is still printed. */
#include "plan/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/text.h"

enum { TEXT_SIZE = 4096 };

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* Compiles nothing: what is said of a limit hangs on nothing else. */
static const char *say(const char *system, const char *text, char out[TEXT_SIZE])
{
    struct plan plan;
    weir_error error = {0};
    struct writer writer = {out, TEXT_SIZE, 0};
    const int count = text_read(text, WEIR_ADMIT, plan.limit, NULL, &error), dialect = dialect_find(system);
    if (count < 0) fail_msg("\"%s\": %s", text, error.message);
    assert_true(dialect >= 0);
    plan.count = (uint64_t)count;
    const char *reason = dialect_write(&writer, dialect, &plan);
    assert_true(writer.length < TEXT_SIZE);
    return reason;
}

static void names(void **unused)
{
    (void)unused;
    assert_true(dialect_find("nginx") >= 0);
    assert_true(dialect_find("redis-cell") >= 0);
    assert_true(dialect_find("redis") < 0);
    assert_true(dialect_find("") < 0);
}

struct row {
    const char *system, *text, *part; /* of the text that is printed */
};

static void said(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {"nginx", "1000000/s burst=1", "rate=1000000r/s;\nlimit_req zone=weir;\n"},
        {"nginx", "10/s burst=2147483647", "burst=2147483646 nodelay;"},
        {"nginx", "10/s burst=2s", "burst=19 nodelay;"},
        {"nginx", "0.5/s burst=1", "rate=30r/m;"},
        {"nginx", "600/h burst=1", "rate=10r/m;"},
        {"nginx", "0.016/s burst=1 algorithm=leaky", "rate=1r/m;\nlimit_req zone=weir;\n"},
        {"nginx", "10/min algorithm=leaky burst=1", "# 10r/m is 0.166 a second to nginx"},
        {"nginx", "10/s burst=5 algorithm=leaky delay=2", "burst=4 delay=2;"},
        {"nginx", "10/s burst=5 algorithm=leaky", "burst=4;"},
        {"haproxy", "1/1073741823ms algorithm=sliding-window", "expire 2147483646ms store"},
        {"haproxy", "2147483647/12d algorithm=sliding-window", "expire 24d store http_req_rate(12d)"},
        {"haproxy", "1/1ms algorithm=sliding-window", "expire 2ms store http_req_rate(1ms)"},
        {"haproxy", "1/90s algorithm=sliding-window", "expire 3m store http_req_rate(90s)"},
        {"envoy", "10/s burst=4294967295", "max_tokens: 4294967295, tokens_per_fill: 1, fill_interval: 0.1s"},
        {"envoy", "1/h burst=1", "tokens_per_fill: 1, fill_interval: 3600s"},
        {"envoy", "7/3s burst=7", "tokens_per_fill: 7, fill_interval: 3s"},
        {"envoy", "1000/s burst=50", "tokens_per_fill: 50, fill_interval: 0.05s"},
        {"envoy", "10/h algorithm=fixed-window align=clock count-refused",
         "descriptors:\n  - key: remote_address\n    rate_limit:\n      unit: hour\n      requests_per_unit: 10\n"},
        {"envoy", "4294967295/s algorithm=fixed-window", "requests_per_unit: 4294967295"},
        {"envoy", "10/30d algorithm=fixed-window align=clock count-refused", "unit: month"},
        {"envoy", "10/s algorithm=fixed-window count-refused", "as align=clock does"},
        {"envoy", "10/s algorithm=fixed-window align=clock", "as with count-refused"},
        {"haproxy", "10/s algorithm=fixed-window", "# haproxy has no fixed windows"},
        {"haproxy", "10/s algorithm=fixed-window", "{ src_http_req_rate ge 10 }\nhttp-request track-sc0 src"},
        {"haproxy", "10/s algorithm=fixed-window count-refused",
         "http-request track-sc0 src\nhttp-request deny deny_status 429 if { sc_http_req_rate(0) gt 10 }\n"},
        {"redis-cell", "1/s burst=1", "CL.THROTTLE key 0 1 1\n"},
        {"redis-cell", "1/500ms burst=3", "CL.THROTTLE key 2 2 1\n"},
        {"redis-cell", "1.5/min burst=2", "CL.THROTTLE key 1 1 40\n"},
        {"redis-cell", "10 tokens/s burst=2s", "CL.THROTTLE key 19 10 1\n"},
        {"redis-cell", "3/s burst=1", "# redis-cell truncates the interval to 333333333 ns"},
        {"redis-cell", "1000000/s burst=2", "# redis forgets a key"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char out[TEXT_SIZE] = "";
        const char *reason = say(rows[i].system, rows[i].text, out);
        if (reason != NULL) fail_msg("%s, %s: %s", rows[i].system, rows[i].text, reason);
        if (strstr(out, rows[i].part) == NULL)
            fail_msg("%s, %s: no \"%s\" in\n%s", rows[i].system, rows[i].text, rows[i].part, out);
    }
}

static void refused(void **unused)
{
    (void)unused;
    static const struct row rows[] = {
        {"nginx", "1000001/s burst=1", "overflow"},
        {"nginx", "10/s burst=2147483648", "31 bits"},
        {"nginx", "3/s burst=500ms", "whole number of requests"},
        {"nginx", "0.017/s burst=1 algorithm=leaky", "whole requests"},
        {"nginx", "1/h burst=1", "whole requests"},
        {"nginx", "10/s start=empty", "starts full"},
        {"nginx", "10/s; 10/s algorithm=hybrid", "leaky bucket"},
        {"nginx", "10/s; unlimited", "nothing to limit"},
        {"haproxy", "1/999us algorithm=sliding-window", "whole ms"},
        {"haproxy", "1/1073741824ms algorithm=sliding-window", "24 days"},
        {"haproxy", "1/13d algorithm=sliding-window", "24 days"},
        {"haproxy", "2147483648/s algorithm=sliding-window", "31 bits"},
        {"haproxy", "1 bytes/s algorithm=sliding-window", "another unit"},
        {"haproxy", "1/s algorithm=sliding-window; 1/h algorithm=sliding-window", "each limit of the list"},
        {"envoy", "10/s burst=4294967296", "32 bits"},
        {"envoy", "1000/s burst=49", "less than one fill"},
        {"envoy", "3/s burst=500ms", "whole number of requests"},
        {"envoy", "10/s start=empty", "starts full"},
        {"envoy", "10 tokens/s", "another unit"},
        {"envoy", "10/2s algorithm=fixed-window", "knows second, minute"},
        {"envoy", "4294967296/s algorithm=fixed-window", "32 bits"},
        {"envoy", "10/s algorithm=fixed-window block=1min", "does not block"},
        {"haproxy", "10/s algorithm=fixed-window block=1min", "do not block"},
        {"redis-cell", "1000001/s burst=2", "1000000 a second"},
        {"redis-cell", "1/9300000000s burst=1", "63 bits"},
        {"redis-cell", "3/s burst=500ms", "whole number of requests"},
        {"redis-cell", "1/s start=empty", "starts full"},
        {"redis-cell", "1/s algorithm=hybrid", "gcra"},
        {"redis-cell", "none", "lets nothing through"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char out[TEXT_SIZE] = "";
        const char *reason = say(rows[i].system, rows[i].text, out);
        if (reason == NULL) fail_msg("%s, %s is printed:\n%s", rows[i].system, rows[i].text, out);
        if (strstr(reason, rows[i].part) == NULL) fail_msg("%s, %s: %s", rows[i].system, rows[i].text, reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(said),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
