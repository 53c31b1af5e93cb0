/* SPDX-License-Identifier: MIT
   What an engine remembers: a clock that is set back, changed limits, values, receipts, leases.

   Every number was worked out with pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/micro_key.h"

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
    key_take(&key, NOW, 4);
    key_change(&key, "3/s burst=6");
    assert_allowed(key_take(&key, NOW, 2), 0); /* 4 were used, and 6 fit */
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
    key_change(&parts, "10/s burst=4");
    assert_allowed(key_take(&parts, NOW, 1), 2);
    struct key window = key_of("1/h algorithm=fixed-window");
    key_take(&window, NOW, 1);
    key_change(&window, "1/s algorithm=fixed-window");
    assert_refused(key_take(&window, NOW, 1), SECOND); /* now a period ahead, and that is written */
    assert_int_equal(key_take(&window, NOW + SECOND, 1).verdict, WEIR_ALLOW);
}

/* Used permits are kept, at most those of the new burst; what is waited for or owed stays on top of them. */
static void used_permits_are_kept(void **unused)
{
    (void)unused;
    static const struct {
        const char *from;
        uint64_t used;
        const char *to;
        uint64_t remaining, retry;
    } rows[] = {{"100/d", 60, "10/s burst=20", 0, 100000},
                {"10/s burst=20", 5, "100/d", 95, 0},
                {"10/d", 10, "100/d", 90, 0},
                {"100/d", 5, "10/s burst=20", 15, 0},
                {"100/d", 90, "100/d burst=10", 0, 864 * SECOND},
                {"10/s burst=20", 20, "10/s burst=50", 30, 0},
                {"7/3s burst=9", 4, "11/13s burst=5", 1, 0},
                {"100/d", 60, "100/d", 40, 0},
                {"30r/m burst=100 nodelay", 60, "10r/s burst=20 nodelay", 0, 100000}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct key key = key_of(rows[i].from);
        assert_int_equal(key_take(&key, NOW, rows[i].used).verdict, WEIR_ALLOW);
        key_change(&key, rows[i].to);
        const struct micro_answer answer = key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1}, .peek = true});
        assert_int_equal(answer.remaining, rows[i].remaining - (answer.verdict == WEIR_ALLOW)); /* after this one */
        assert_int_equal(answer.retry, rows[i].retry);
    }
    struct key owing = key_of("100/d burst=10");
    key_charge(&owing, NOW, 13);
    key_change(&owing, "10/s burst=5");
    assert_refused(key_take(&owing, NOW, 1), 400000); /* all 5, and 3 that are owed */
}

/* Some nodes have burst 10, others still 4: at those no more than 4 counts as used, so each call that passes there lets
   6 more pass at the others. */
static void nodes_with_two_bursts(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=10");
    assert_allowed(key_take(&key, NOW, 10), 0);
    for (uint64_t now = NOW + SECOND / 10; now <= NOW + SECOND; now += SECOND / 10) {
        key_change(&key, "10/s burst=4");
        assert_allowed(key_take(&key, now, 1), 0);
        key_change(&key, "10/s burst=10");
        assert_refused(key_take(&key, now, 7), SECOND / 10);
        assert_allowed(key_take(&key, now, 6), 0);
    }
}

/* A value of format 1 does not say how long a permit was: it is the same under the same rate, and else as long. */
static void values_of_format_1(void **unused)
{
    (void)unused;
    static const unsigned char old[] = {'w', 'e',  'i',  'r',  1,    1,    0, 0, 2,    2,    0, 0, 0, 0, 0, 0,
                                        1,   0,    0,    0,    0,    0,    0, 0, /* gcra, 2 words, per 1 */
                                        0,   0x20, 0x82, 0x77, 0x2f, 0x44, 6, 0, 0xa0, 0x86, 1, 0, 0, 0, 0, 0};
    struct key key = key_of("10/s burst=2");
    assert_true(micro_read(&key.state, old, sizeof old));
    const uint64_t seen = key.state.cell[0].word[0];
    assert_allowed(key_take(&key, seen, 1), 0); /* 100,000 ticks are 1 */
    unsigned char bytes[MICRO_BYTES_MAX];
    assert_int_equal(micro_write(&key.state, bytes), sizeof old);
    assert_int_equal(bytes[4], MICRO_FORMAT);
    assert_true(micro_read(&key.state, old, sizeof old));
    key_change(&key, "3/s burst=2");
    assert_allowed(key_take(&key, seen, 1), 0); /* 100,000 us are 300,000 ticks of 2,000,000 */
}

/* ---- bytes ---- */

static void values(void **unused)
{
    (void)unused;
    struct key key = key_of("10/s burst=2");
    unsigned char bytes[MICRO_BYTES_MAX];
    struct micro_state state = {0}; /* only the words in use are read */
    key_take(&key, NOW, 1);
    static const unsigned char expected[] = {
        'w',  'e',  'i',  'r',  2,    1,    0, 0, 2,    2,    2, 0, 0, 0, 0, 0,
        0xa0, 0x86, 1,    0,    0,    0,    0, 0, /* gcra, 2 words, burst 2, permit */
        0,    0x20, 0x82, 0x77, 0x2f, 0x44, 6, 0, 0xa0, 0x86, 1, 0, 0, 0, 0, 0};
    assert_int_equal(micro_write(&key.state, bytes), sizeof expected);
    for (size_t i = 8; i < 24; i++) assert_int_equal(bytes[i], expected[i]);
    assert_memory_equal(bytes, expected, 8);
    assert_memory_equal(bytes + 32, expected + 32, 8);
    assert_true(micro_read(&state, bytes, sizeof expected));
    assert_memory_equal(&state, &key.state, sizeof state);
    assert_false(micro_read(&state, bytes, sizeof expected - 1));
    assert_false(micro_read(&state, bytes, sizeof expected + 1));
    assert_false(micro_read(&state, bytes, 0));
    for (size_t i = 0; i < 24; i++) { /* the head, the kind, its size, a permit: each matters */
        unsigned char wrong[sizeof expected];
        memcpy(wrong, bytes, sizeof wrong);
        wrong[i] = (unsigned char)(i == 16 ? 0 : wrong[i] + 9);
        if (i >= 10 && i <= 22) continue; /* another rule */
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
    /* The longer lifetime holds for all while anything is out. */
    struct key two = key_of("10/s burst=80");
    micro_lease_take(&two.plan, &two.state, NOW, 2, SECOND, &lease);
    micro_lease_take(&two.plan, &two.state, NOW, 2, 10 * SECOND, &lease);
    assert_allowed(key_take(&two, NOW + 10 * SECOND, 0), 76); /* the shorter one is of the same turn */
    micro_lease_take(&two.plan, &two.state, NOW + 10 * SECOND, 2, SECOND, &lease);
    assert_allowed(key_take(&two, NOW + 18 * SECOND, 0), 78); /* only the last one is out, and for 10 s as well */
    /* Looked at after 5 s and then set back by 3: it is back 17 s after it was granted, by the clock. */
    struct key later = key_of("10/s burst=80");
    micro_lease_take(&later.plan, &later.state, NOW, 2, 10 * SECOND, &lease);
    key_take(&later, NOW + 5 * SECOND, 1);
    key_take(&later, NOW + 2 * SECOND, 1);
    assert_allowed(key_take(&later, NOW + 17 * SECOND - 1, 0), 78);
    assert_allowed(key_take(&later, NOW + 17 * SECOND + 200000, 0), 80);
    /* Set back by 3 s: the lease still has its 10 s, and is back after 20. */
    assert_allowed(key_take(&key, NOW - 3 * SECOND, 1), 75);
    assert_allowed(key_take(&key, NOW + 17 * SECOND - 1, 0), 78);
    assert_allowed(key_take(&key, NOW + 17 * SECOND + 200000, 0), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_set_back),
        cmocka_unit_test(a_changed_limit),
        cmocka_unit_test(values),
        cmocka_unit_test(used_permits_are_kept),
        cmocka_unit_test(nodes_with_two_bursts),
        cmocka_unit_test(values_of_format_1),
        cmocka_unit_test(receipts),
        cmocka_unit_test(leases),
        cmocka_unit_test(leases_and_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
