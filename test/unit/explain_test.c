/* SPDX-License-Identifier: MIT
   What a limit lets through, in words: a row where the words or the numbers change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/memory.h"
#include "plan/plan.h"
#include "unit/plans.h"

enum { WORDS_SIZE = 4096 };

struct row {
    const char *text, *part; /* of what is told */
};

static void check(const struct row *row, weir_use use)
{
    char words[WORDS_SIZE];
    const weir_plan plan = plan_for(row->text, use);
    assert_true(weir_plan_explain(&plan, words, sizeof words) < sizeof words);
    if (strstr(words, row->part) == NULL) fail_msg("no \"%s\" in\n%s", row->part, words);
}

static void admission(void **state)
{
    static const struct row rows[] = {
        {"5/s", "\n  in any second   at most 9.   For never more than 5 in any second: '5/s algorithm=sliding-log'\n"},
        {"5/min", "\n  in any minute   at most 9.   For never more than 5 in any minute: '5/min algorithm"},
        {"7/h", "\n  in any hour     at most 13.   For never more than 7 in any hour: '7/h algorithm"},
        {"5/24h", "\n  in any day      at most 9.   For never more than 5 in any day: '5/d algorithm"},
        {"5/7d", "\n  in any week     at most 9.   For never more than 5 in any week: '5/w algorithm"},
        {"5/365d", "\n  in any year     at most 9.   For never more than 5 in any year: '5/year algorithm"},
        {"5/90s", "\n  in any 1.5 min  at most 9.   For never more than 5 in any 1.5 min: '5/90s algorithm"},
        {"5/s burst=1", "\n  after idling    1 passes, then one every 200 ms\n  in any second   at most 5\n"},
        {"0.5/s burst=3", "at most 3.   For never more than 1 in any second: '0.5/s burst=1 algorithm=gcra'"},
        {"0.5/s burst=6s", "at most 3.   For never more than 1 in any second: '0.5/s burst=1 algorithm=gcra'"},
        {"5/s algorithm=sliding-log", "\n  in any second   at most 5\n"},
        {"5/s guaranteed weight=3", "\n  weight          3: so many shares"},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) check(&rows[i], WEIR_ADMIT);
}

static void pacing(void **state)
{
    static const struct row rows[] = {
        {"10/s", "\n  after a stall   2 at once, then as before; the lost time is reported, not made up\n"},
        {"10/s", "\n  shortest gap    0.   For strict limiting, never less than 100 ms: '10/s burst=1'\n"},
        {"10/s burst=1", "\n  shortest gap    100 ms: strict limiting\n"},
        {"3/s burst=1", "\n  shortest gap    333.333 ms: strict limiting\n"},
        {"10/s burst=1 catchup=1.5", "\n  shortest gap    33.333 ms.   For strict limiting, never less than 100 ms: '"},
        {"1500000000/s", "\n  shortest gap    0\n"},
        {"10/s burst=3 catchup=1.5", "\n  after a stall   4 at once, then 1.5 times as fast until"},
        {"1000000 bytes/s burst=1", "\n  shortest gap    1 \xc2\xb5s: strict limiting\n  in any second"},
        {"100000/s burst=1",
         "\n  by sleeping     at most about 40,000/s in one thread, which sleeps 50 \xc2\xb5s at a time.   To hold "
         "the rate: '100000/s burst=10ms catchup=1.1'\n"},
        {"100000/s burst=1 catchup=1.5", "To hold the rate: '100000/s burst=10ms catchup=1.1'\n"},
        {"2/3s arrivals=poisson seed=7", "\n  in any 3 s      2 on average, more than 8 in one of 1,000\n"},
        {"1/7s arrivals=poisson seed=7", "\n  in any 7 s      1 on average, more than 5 in one of 1,000\n"},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) check(&rows[i], WEIR_PACE);
}

/* Of a window of one's own: the mean in thousandths, rounded. */
static void in_a_window(void **state)
{
    static const struct {
        uint64_t ns;
        const char *part;
    } rows[] = {
        {S, "\n  in any second   0.143 on average, more than 2 in one of 1,000\n"},
        {10 * S, "\n  in any 10 s     1.429 on average, more than 6 in one of 1,000\n"},
    };
    (void)state;
    const weir_plan plan = plan_for("1/7s arrivals=poisson seed=7", WEIR_PACE);
    const struct plan_memory memory = api_memory(&plan);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char words[WORDS_SIZE];
        explain(plan_inside_const(&plan), &memory, rows[i].ns, &(struct writer){words, sizeof words, 0});
        if (strstr(words, rows[i].part) == NULL) fail_msg("no \"%s\" in\n%s", rows[i].part, words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admission),
        cmocka_unit_test(pacing),
        cmocka_unit_test(in_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
