/* SPDX-License-Identifier: MIT
   micro_test.c - the engine's unit by hand: each kind, changed limits, a clock that is set back, receipts, leases.

   May touch: its own states.  Promises: every number was worked out with pencil.  Leaves to others: random calls
   (test/law/micro*_law.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "micro/micro.h"
#include "unit/plans.h"

enum { LOG_MAX = 16 };

#define NOW UINT64_C(1763836800000000)
#define SECOND UINT64_C(1000000)

/* One key, as a module has it: what was not changed is not written. */
struct key {
    struct micro_plan plan;
    struct micro_state state;
    uint64_t stamp[LOG_MAX];
    uint64_t stamps;
};

static struct micro_plan micro_of(const char *text)
{
    const weir_plan plan = plan_of(text);
    struct micro_plan micro;
    weir_error error;
    assert_int_equal(micro_plan_make(&micro, &plan, &error), 0);
    return micro;
}

static struct key key_of(const char *text)
{
    return (struct key){.plan = micro_of(text)};
}

static uint64_t stamp_of(struct micro_log *log, uint64_t index)
{
    return ((const uint64_t *)log->where)[index];
}

static void apply(struct key *key, const struct micro_state *state, const struct micro_log *log)
{
    const uint64_t from = log->drop_from + log->drop;
    memmove(key->stamp + log->drop_from, key->stamp + from, (key->stamps - from) * sizeof key->stamp[0]);
    key->stamps -= log->drop;
    for (uint64_t i = 0; i < log->add; i++) key->stamp[key->stamps++] = log->add_at;
    key->state = *state;
}

static struct micro_answer key_ask(struct key *key, const struct micro_ask *ask)
{
    struct micro_state state = key->state;
    struct micro_log log[WEIR_LIMITS_MAX] = {{.size = key->stamps, .stamp = stamp_of, .where = key->stamp}};
    struct micro_answer answer;
    micro_take(&key->plan, &state, log, ask, &answer);
    if (answer.changed) apply(key, &state, &log[0]);
    return answer;
}

static struct micro_answer key_take(struct key *key, uint64_t now, uint64_t cost)
{
    return key_ask(key, &(struct micro_ask){.now = now, .cost = {cost, cost, cost}});
}

static struct micro_answer key_settle(struct key *key, uint64_t now, uint64_t taken, uint64_t charged, uint64_t actual)
{
    struct micro_state state = key->state;
    struct micro_log log[WEIR_LIMITS_MAX] = {{.size = key->stamps, .stamp = stamp_of, .where = key->stamp}};
    const uint64_t was[] = {charged, charged}, is[] = {actual, actual};
    struct micro_answer answer;
    micro_settle(&key->plan, &state, log, now, taken, was, is, &answer);
    if (answer.changed) apply(key, &state, &log[0]);
    return answer;
}

static struct micro_answer key_charge(struct key *key, uint64_t now, uint64_t cost)
{
    struct micro_answer answer;
    micro_charge(&key->plan, &key->state, NULL, &(struct micro_ask){.now = now, .cost = {cost, cost}}, &answer);
    return answer;
}

static void key_change(struct key *key, const char *text)
{
    key->plan = micro_of(text);
}

static void assert_allowed(struct micro_answer answer, uint64_t remaining)
{
    assert_int_equal(answer.verdict, WEIR_ALLOW);
    assert_int_equal(answer.remaining, remaining);
    assert_int_equal(answer.retry, 0);
}

static void assert_refused(struct micro_answer answer, uint64_t retry)
{
    assert_int_equal(answer.verdict, WEIR_DENY);
    assert_int_equal(answer.retry, retry);
}

/* ---- plans ---- */

static void rates_are_reduced(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        uint64_t permit, per, top;
    } rows[] = {{"3/s burst=5", 1000000, 3, 5000000},
                {"10/s", 100000, 1, 1000000},
                {"7/3ns", 3, 7000, 21},
                {"1/1ns burst=2", 1, 1000, 2},
                {"0.5/s burst=1", 2000000, 1, 2000000},
                {"3/s burst=2s", 1000000, 3, 6000000},
                {"1/s burst=1500000001ns", 1000000, 1, 1500000}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct micro_plan plan = micro_of(rows[i].text);
        assert_int_equal(plan.rule[0].permit, rows[i].permit);
        assert_int_equal(plan.rule[0].per, rows[i].per);
        assert_int_equal(plan.rule[0].top, rows[i].top);
    }
    const struct micro_plan hybrid = micro_of("3/s algorithm=hybrid catchup=1.1 burst=2");
    assert_int_equal(hybrid.rule[0].permit, 10000000);
    assert_int_equal(hybrid.rule[0].per, 30);
    assert_int_equal(hybrid.rule[0].per_fast, 33);
    assert_int_equal(hybrid.rule[0].top, 20000000);
}

static void what_is_not_kept_is_refused(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *says;
    } rows[] = {{"10/s algorithm=timeline", "write algorithm=hybrid"},
                {"10/s algorithm=bursty", "write algorithm=gcra"},
                {"10/s algorithm=warmup warmup=3s", "write algorithm=gcra"},
                {"10/s algorithm=cycle", "write algorithm=fixed-window"},
                {"10/s algorithm=simrate", "write algorithm=hybrid"},
                {"10/s start=empty", "leave it out"},
                {"10/s; 10/s algorithm=cycle", "algorithm=cycle"},
                {"100001/s algorithm=sliding-log", "algorithm=sliding-window"},
                {"5/1500ns algorithm=sliding-window", "whole us"},
                {"5/1500ns algorithm=fixed-window align=clock", "whole us"},
                {"5/40year algorithm=fixed-window", "35 years"},
                {"1/year burst=200", "2^52"},
                {"10/s debt=100000000000", "smaller debt"},
                {"999999999989/999999s", "rounder rate"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan plan = plan_of(rows[i].text);
        struct micro_plan micro;
        weir_error error;
        assert_int_equal(micro_plan_make(&micro, &plan, &error), WEIR_EUNSUPPORTED);
        assert_int_equal(error.code, WEIR_EUNSUPPORTED);
        if (strstr(error.message, rows[i].says) == NULL) fail_msg("%s: %s", rows[i].text, error.message);
    }
}

/* ---- lines ---- */

static void gcra(void **unused)
{
    (void)unused;
    struct key key = key_of("3/s burst=2");
    assert_int_equal(key_take(&key, NOW, 1).full, 333334);
    assert_allowed(key_take(&key, NOW, 1), 0);
    const struct micro_answer refused = key_take(&key, NOW, 1);
    assert_refused(refused, 333334);
    assert_false(refused.changed);
    assert_int_equal(refused.idle, NOW + 666667);
    assert_refused(key_take(&key, NOW + 333333, 1), 1);
    assert_allowed(key_take(&key, NOW + 333334, 1), 0);
    assert_int_equal(key_take(&key, NOW + 333334, 3).verdict, WEIR_NEVER);
    assert_int_equal(key.state.cell[0].word[1], 2000000 - 2); /* nothing was rounded: 3 * 333334 drained */
}

static void waits_and_peeks(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=1");
    key_take(&key, NOW, 1);
    const struct micro_answer peeked = key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .peek = true});
    assert_refused(peeked, 100000);
    assert_refused(key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = 99999}), 1);
    const struct micro_answer waits = key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = 100000});
    assert_int_equal(waits.verdict, WEIR_ALLOW);
    assert_int_equal(waits.delay, 100000);
    assert_refused(key_take(&key, NOW + 100000, 1), 100000);
    assert_false(key_ask(&key, &(struct micro_ask){.now = NOW + 200000, .cost = {1}, .peek = true}).changed);
    assert_allowed(key_take(&key, NOW + 200000, 1), 0);
}

static void charges_make_debt(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=5 debt=10"), any = key_of("10/s burst=5");
    key_charge(&key, NOW, 1000);
    assert_refused(key_take(&key, NOW, 1), 1100000);
    key_charge(&any, NOW, 1000);
    assert_refused(key_take(&any, NOW, 1), 99600000);
    struct key none = key_of("none");
    assert_int_equal(key_charge(&none, NOW, 1).verdict, WEIR_NEVER);
}

/* A line so long that its ticks would be no number is as if it were full. */
static void far_ahead(void **unused)
{
    (void)unused;
    struct key key = key_of("1/s burst=1");
    key_charge(&key, NOW, MICRO_MOST);
    const uint64_t ticks = SECOND; /* of a permit: so many us until there is room for it */
    const struct micro_ask last = {.now = NOW, .cost = {1}, .wait = MICRO_MOST};
    assert_refused(key_ask(&key, &last), ticks);
}

static void settling(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=10");
    key_take(&key, NOW, 10);
    key_settle(&key, NOW + 300000, NOW, 10, 2); /* 3 have drained, of the other 7 all were unused */
    assert_allowed(key_take(&key, NOW + 300000, 10), 0);
    key_settle(&key, NOW + 300000, NOW + 300000, 10, 12);
    assert_refused(key_take(&key, NOW + 300000, 1), 300000);
    key_settle(&key, NOW + 300000, NOW + 300000, 10, 0); /* somebody may wait: over the top nothing comes back */
    assert_refused(key_take(&key, NOW + 300000, 1), 300000);
    struct key early = key_of("10/s burst=10");
    key_take(&early, NOW, 10);
    key_settle(&early, NOW, NOW + 1, 10, 0);
    assert_refused(key_take(&early, NOW, 1), 100000);
}

static void hybrid_keeps_its_schedule(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s algorithm=hybrid burst=2 catchup=2");
    assert_allowed(key_take(&key, NOW, 1), 0); /* the first has what it needs, and not more */
    assert_refused(key_take(&key, NOW, 1), 100000);
    assert_allowed(key_take(&key, NOW + SECOND, 1), 1); /* 9 behind, 2 at once ... */
    assert_allowed(key_take(&key, NOW + SECOND, 1), 0);
    assert_refused(key_take(&key, NOW + SECOND, 1), 50000); /* ... and then twice as fast */
    assert_allowed(key_take(&key, NOW + SECOND + 50000, 1), 0);
    struct key full = key_of("10/s algorithm=hybrid burst=2 start=full"),
               large = key_of("10/s algorithm=hybrid burst=2");
    assert_allowed(key_take(&full, NOW, 1), 1);
    assert_allowed(key_take(&large, NOW, 5), 0); /* above the pool, and paid back from below */
    assert_refused(key_take(&large, NOW, 1), 400000);
}

/* ---- the others ---- */

static void leaky(void **unused)
{
    (void)unused;
    struct key key = key_of("10r/s burst=1 nodelay");
    assert_allowed(key_take(&key, NOW, 1), 1);
    assert_allowed(key_take(&key, NOW, 1), 0);
    assert_refused(key_take(&key, NOW + 999, 1), 99001); /* whole ms */
    assert_allowed(key_take(&key, NOW + 100000, 1), 0);
    struct key delayed = key_of("10r/s burst=5");
    key_take(&delayed, NOW, 1);
    const struct micro_answer waits = key_ask(&delayed, &(struct micro_ask){.now = NOW, .cost = {1}, .wait = SECOND});
    assert_int_equal(waits.delay, 100000);
}

static void fixed_window(void **unused)
{
    (void)unused;
    struct key key = key_of("2/s algorithm=fixed-window"), clock = key_of("2/s algorithm=fixed-window align=clock");
    assert_allowed(key_take(&key, NOW + 400000, 2), 0);
    assert_refused(key_take(&key, NOW + 500000, 1), 900000);
    assert_allowed(key_take(&key, NOW + 1400000, 1), 1);
    assert_allowed(key_take(&clock, NOW + 400000, 2), 0);
    assert_refused(key_take(&clock, NOW + 500000, 1), 500000);
    struct key blocks = key_of("2/s algorithm=fixed-window block=5s");
    key_take(&blocks, NOW, 2);
    const struct micro_answer refused = key_take(&blocks, NOW + 1, 1);
    assert_refused(refused, 5 * SECOND);
    assert_true(refused.changed);
    assert_refused(key_take(&blocks, NOW + 2, 1), 5 * SECOND - 1); /* it does not block again */
}

static void sliding_window(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s algorithm=sliding-window");
    assert_allowed(key_take(&key, NOW + 900000, 10), 0);
    assert_allowed(key_take(&key, NOW + 1250000, 1), 2);      /* 7.5 of the 10 are still seen: 7 */
    assert_refused(key_take(&key, NOW + 1250000, 4), 150001); /* when fewer than 6 are */
}

static void sliding_log(void **unused)
{
    (void)unused;
    struct key key = key_of("3/s algorithm=sliding-log");
    assert_allowed(key_take(&key, NOW, 1), 2);
    assert_allowed(key_take(&key, NOW + 100000, 2), 0);
    assert_refused(key_take(&key, NOW + 200000, 1), 800000);
    assert_refused(key_take(&key, NOW + 200000, 2), 900000);
    assert_allowed(key_take(&key, NOW + SECOND, 1), 0);
    assert_int_equal(key.stamps, 3); /* the first is out of sight, and gone */
    key_settle(&key, NOW + SECOND, NOW + 100000, 2, 1);
    assert_int_equal(key.stamps, 2);
    assert_int_equal(key.stamp[0], NOW + 100000);
    assert_int_equal(key.stamp[1], NOW + SECOND);
    struct key gap = key_of("3/s algorithm=sliding-log gap=100ms count-refused");
    key_take(&gap, NOW, 1);
    assert_refused(key_take(&gap, NOW + 60000, 1), 100000); /* counted: the gap begins anew */
    struct key closed = key_of("1/s algorithm=sliding-log edge=closed");
    key_take(&closed, NOW, 1);
    assert_refused(key_take(&closed, NOW + SECOND, 1), 1);
}

static void lists_take_all_or_nothing(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s; 3/min");
    struct micro_answer answer = key_take(&key, NOW, 3);
    assert_allowed(answer, 0);
    assert_int_equal(answer.limit, 1);
    assert_int_equal(answer.idle, NOW + 60 * SECOND);
    answer = key_take(&key, NOW, 1);
    assert_refused(answer, 20 * SECOND);
    assert_int_equal(answer.limit, 1);
    assert_int_equal(key.state.cell[0].word[1], 300000); /* and the other was not charged */
    answer = key_take(&key, NOW, 4);
    assert_int_equal(answer.verdict, WEIR_NEVER);
    assert_int_equal(answer.limit, 1);
    struct key open = key_of("unlimited; none");
    assert_int_equal(key_take(&open, NOW, 1).verdict, WEIR_NEVER);
    struct key unlimited = key_of("unlimited");
    assert_allowed(key_take(&unlimited, NOW, 5), MICRO_ALL);
}

/* ---- time and limits that change ---- */

static void a_clock_set_back(void **unused)
{
    (void)unused;
    const uint64_t hour = 3600 * SECOND;
    static const char *const texts[] = {"10/s burst=2", "10r/s burst=1 nodelay", "2/200ms algorithm=fixed-window",
                                        "2/200ms algorithm=sliding-window", "10/s algorithm=hybrid burst=2 start=full"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct key key = key_of(texts[i]);
        key_take(&key, NOW, 2);
        const struct micro_answer refused = key_take(&key, NOW - hour, 1);
        assert_int_equal(refused.verdict, WEIR_DENY); /* nothing is earned ... */
        assert_true(refused.changed);                 /* ... it is remembered ... */
        assert_in_range(refused.retry, 1, 300000);    /* ... and nothing waits for the old time */
        assert_int_equal(key_take(&key, NOW - hour + refused.retry, 1).verdict, WEIR_ALLOW);
    }
}

static void a_changed_limit(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=10");
    key_take(&key, NOW, 10); /* a second */
    key_change(&key, "3/s burst=6");
    assert_allowed(key_take(&key, NOW, 3), 0); /* is a second, of the new rate's two */
    key_change(&key, "3/s algorithm=fixed-window");
    assert_allowed(key_take(&key, NOW, 1), 2);
    key_change(&key, "3/s algorithm=fixed-window; 5/s");
    assert_allowed(key_take(&key, NOW, 1), 1);
    key_change(&key, "3/h algorithm=fixed-window");
    key_take(&key, NOW, 1);
    key_change(&key, "3/s algorithm=fixed-window");
    assert_refused(key_take(&key, NOW + 100000, 1), 900000); /* that window ended at the old time */
    struct key parts = key_of("3/s burst=1");
    key_take(&parts, NOW, 1);
    key_change(&parts, "10/s burst=4"); /* 333,333 us and a part of one */
    assert_refused(key_take(&parts, NOW, 1), 33334);
    struct key window = key_of("1/h algorithm=fixed-window");
    key_take(&window, NOW, 1);
    key_change(&window, "1/s algorithm=fixed-window");
    assert_refused(key_take(&window, NOW, 1), SECOND); /* now a period ahead, and that is written */
    assert_int_equal(key_take(&window, NOW + SECOND, 1).verdict, WEIR_ALLOW);
}

/* ---- bytes ---- */

static void values(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=2");
    unsigned char bytes[MICRO_BYTES_MAX];
    struct micro_state state;
    key_take(&key, NOW, 1);
    static const unsigned char expected[] = {'w', 'e',  'i',  'r',  1,    1,    0, 0, 2,    2,    0, 0, 0, 0, 0, 0,
                                             1,   0,    0,    0,    0,    0,    0, 0, /* gcra, 2 words, per 1 */
                                             0,   0x20, 0x82, 0x77, 0x2f, 0x44, 6, 0, 0xa0, 0x86, 1, 0, 0, 0, 0, 0};
    assert_int_equal(micro_write(&key.state, bytes), sizeof expected);
    for (size_t i = 8; i < 24; i++) assert_int_equal(bytes[i], expected[i]);
    assert_memory_equal(bytes, expected, 8);
    assert_memory_equal(bytes + 32, expected + 32, 8);
    assert_true(micro_read(&state, bytes, sizeof expected));
    assert_memory_equal(&state, &key.state, sizeof state);
    assert_false(micro_read(&state, bytes, sizeof expected - 1));
    assert_false(micro_read(&state, bytes, sizeof expected + 1));
    assert_false(micro_read(&state, bytes, 0));
    for (size_t i = 0; i < 24; i++) { /* the head, the kind, its size, what drains: each matters */
        unsigned char wrong[sizeof expected];
        memcpy(wrong, bytes, sizeof wrong);
        wrong[i] = (unsigned char)(i == 16 ? 0 : wrong[i] + 9);
        if (i >= 17 && i <= 22) continue; /* another rate */
        assert_false(micro_read(&state, wrong, sizeof wrong));
    }
}

static void receipts(void **unused)
{
    (void)unused;
    char text[MICRO_RECEIPT_MAX];
    uint64_t taken, charged[WEIR_LIMITS_MAX];
    unsigned count;
    const uint64_t cost[] = {1, 250};
    assert_int_equal(micro_receipt_write(NOW, cost, 2, text), 22);
    assert_string_equal(text, "1763836800000000:1:250");
    assert_true(micro_receipt_read(text, 22, &taken, charged, &count));
    assert_int_equal(taken, NOW);
    assert_int_equal(count, 2);
    assert_int_equal(charged[1], 250);
    static const char *const wrong[] = {"",
                                        "1",
                                        "1:",
                                        ":1",
                                        "1:2:",
                                        "1:-2",
                                        "x:1",
                                        "1 :1",
                                        "1:1:1:1:1:1:1:1:1:1",
                                        "9007199254740992:1",
                                        "1:99999999999999999999999"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_false(micro_receipt_read(wrong[i], strlen(wrong[i]), &taken, charged, &count));
    }
    uint64_t most[WEIR_LIMITS_MAX];
    for (size_t i = 0; i < WEIR_LIMITS_MAX; i++) most[i] = UINT64_MAX;
    assert_in_range(micro_receipt_write(UINT64_MAX, most, WEIR_LIMITS_MAX, text), 1, MICRO_RECEIPT_MAX - 1);
}

/* ---- leases ---- */

static void leases(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=80"), list = key_of("10/s; 5/s");
    struct micro_lease lease;
    assert_true(micro_leases(&key.plan));
    assert_false(micro_leases(&list.plan));
    micro_lease_take(&key.plan, &key.state, NOW, 100, 10 * SECOND, &lease);
    assert_int_equal(lease.permits, 10); /* an eighth */
    assert_int_equal(lease.turn, NOW);
    assert_int_equal(lease.remaining, 70);
    assert_int_equal(key_take(&key, NOW + 5 * SECOND, 70).verdict, WEIR_ALLOW); /* those out do not drain */
    assert_refused(key_take(&key, NOW + 5 * SECOND, 71), 15 * SECOND + 100000); /* but once they are taken back */
    micro_lease_take(&key.plan, &key.state, NOW + 5 * SECOND, 100, 10 * SECOND, &lease);
    assert_int_equal(lease.permits, 0);
    assert_int_equal(lease.retry, 100000);
    micro_lease_return(&key.plan, &key.state, NOW + 12 * SECOND, NOW, 10, 4, &lease);
    assert_int_equal(lease.permits, 10); /* of the turn before */
    assert_int_equal(lease.remaining, 74);
    micro_lease_return(&key.plan, &key.state, NOW + 12 * SECOND, NOW, 10, 10, &lease);
    assert_int_equal(lease.permits, 0); /* they were all back */
    micro_lease_return(&key.plan, &key.state, NOW + 40 * SECOND, NOW, 10, 10, &lease);
    assert_int_equal(lease.permits, 0); /* its turn is unknown */
    assert_false(lease.changed);
}

static void leases_and_the_rest(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=80");
    struct micro_lease lease;
    key_take(&key, NOW, 1);
    micro_lease_take(&key.plan, &key.state, NOW, 2, 10 * SECOND, &lease);
    key_settle(&key, NOW, NOW, 1, 0); /* nothing while they are out */
    assert_allowed(key_take(&key, NOW, 1), 76);
    /* Set back by 3 s: the lease still has its 10 s, and is back after 20. */
    assert_allowed(key_take(&key, NOW - 3 * SECOND, 1), 75);
    assert_allowed(key_take(&key, NOW + 17 * SECOND - 1, 0), 78);
    assert_allowed(key_take(&key, NOW + 17 * SECOND + 200000, 0), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_reduced),
        cmocka_unit_test(what_is_not_kept_is_refused),
        cmocka_unit_test(gcra),
        cmocka_unit_test(waits_and_peeks),
        cmocka_unit_test(charges_make_debt),
        cmocka_unit_test(far_ahead),
        cmocka_unit_test(settling),
        cmocka_unit_test(hybrid_keeps_its_schedule),
        cmocka_unit_test(leaky),
        cmocka_unit_test(fixed_window),
        cmocka_unit_test(sliding_window),
        cmocka_unit_test(sliding_log),
        cmocka_unit_test(lists_take_all_or_nothing),
        cmocka_unit_test(a_clock_set_back),
        cmocka_unit_test(a_changed_limit),
        cmocka_unit_test(values),
        cmocka_unit_test(receipts),
        cmocka_unit_test(leases),
        cmocka_unit_test(leases_and_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
