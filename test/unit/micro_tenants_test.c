/* SPDX-License-Identifier: MIT
   Tenants of an engine by hand, where property/micro_tenants does not come: other limits than gcra's, debts beyond what
   a number can say, weights; and which limit is named where several are as tight.

   Every number was worked out with pencil. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "redis/micro/kinds.h"
#include "unit/micro_key.h"

static struct key tenant_of(const char *text)
{
    struct key key = {.state = {.count = 0}};
    weir_error error;
    assert_int_equal(micro_text_read(&key.plan, text, &error), 0);
    return key;
}

static struct micro_answer ask(struct key *key, uint64_t now, uint64_t cost)
{
    struct micro_ask ask = {.now = now};
    for (unsigned i = 0; i < key->plan.count; i++) ask.cost[i] = cost;
    return key_ask(key, &ask);
}

/* What a parent by another rule is owed, it keeps as far as it can. */
static void other_parents(void **unused)
{
    (void)unused;
    struct key none = tenant_of("5/s burst=2 guaranteed under none");
    assert_int_equal(ask(&none, NOW, 1).verdict, WEIR_NEVER);
    struct key fixed = tenant_of("5/s burst=2 guaranteed under 3/h algorithm=fixed-window");
    assert_allowed(ask(&fixed, NOW, 1), 2);
    assert_allowed(ask(&fixed, NOW, 1), 1);
    assert_allowed(ask(&fixed, NOW, 1), 0);
    assert_refused(ask(&fixed, NOW, 1), 200000); /* by its guarantee, an hour sooner than by the window */
    assert_allowed(ask(&fixed, NOW + 200000, 1), 0);
    struct key sliding = tenant_of("2/h burst=3 guaranteed under 1/h algorithm=sliding-window debt=1");
    const uint64_t begin = NOW - NOW % (3600 * SECOND);
    for (int i = 0; i < 3; i++) assert_int_equal(ask(&sliding, begin, 1).verdict, WEIR_ALLOW);
    /* Two are used of the window, not three: one, and one that is owed. */
    assert_int_equal(sliding.state.cell[1].word[2], 2);
    struct key leaky = tenant_of("5/s burst=2 guaranteed under 1/s burst=2 algorithm=leaky nodelay");
    for (int i = 0; i < 2; i++) assert_int_equal(ask(&leaky, NOW, 1).verdict, WEIR_ALLOW);
}

/* What a hybrid's first call needs is given to one that borrows, too: it is a take there, and no charge. */
static void a_schedule(void **unused)
{
    (void)unused;
    struct key key = tenant_of("10/s algorithm=hybrid burst=2 under 100/s");
    assert_allowed(ask(&key, NOW, 1), 0);
    assert_refused(ask(&key, NOW, 1), 100000);
}

/* A level is no larger than 2^52 ticks: 142 permits of a year fit, and are waited for before as many again do. */
static void debts(void **unused)
{
    (void)unused;
    const uint64_t year = 365 * 86400 * SECOND;
    struct key key = tenant_of("1000/s guaranteed under 1/year");
    assert_int_equal(ask(&key, NOW, 143).verdict, WEIR_NEVER);
    assert_int_equal(ask(&key, NOW, 142).verdict, WEIR_ALLOW);
    assert_refused(ask(&key, NOW, 142), 284 * year - MICRO_MOST);
    assert_refused(ask(&key, NOW, 1), 143 * year - MICRO_MOST);
    assert_int_equal(ask(&key, NOW + 143 * year - MICRO_MOST, 1).verdict, WEIR_ALLOW);
}

static void the_first_of_several_is_named(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"2/s; 2/s", "2/s under 2/s", "2/s guaranteed under 2/s"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct key key = tenant_of(texts[i]);
        struct micro_answer answer = ask(&key, NOW, 1);
        assert_allowed(answer, 1);
        assert_int_equal(answer.limit, 0);
        ask(&key, NOW, 1);
        answer = ask(&key, NOW, 1);
        assert_refused(answer, SECOND / 2);
        assert_int_equal(answer.limit, 0);
    }
    struct key all = tenant_of("unlimited under unlimited");
    const struct micro_answer answer = ask(&all, NOW, 7);
    assert_allowed(answer, MICRO_ALL);
    assert_int_equal(answer.limit, 0);
}

/* The tenant in the lead leaves (burst - cost) / 2 to others: one permit of 3. */
static void one_permit_is_spared(void **unused)
{
    (void)unused;
    struct key key = tenant_of("unlimited weight=1 under 1/s burst=3");
    assert_int_equal(ask(&key, NOW, 1).verdict, WEIR_ALLOW);
    assert_int_equal(ask(&key, NOW, 1).verdict, WEIR_ALLOW);
    const struct micro_answer refused = ask(&key, NOW, 1);
    assert_refused(refused, SECOND);
    /* The lead is 64 bursts ahead; its tenant was a quarter of a burst behind, and has taken two permits of it. */
    assert_int_equal(refused.idle, NOW + 64 * 3 * SECOND - 750000 + 2 * SECOND);
    assert_int_equal(ask(&key, NOW + SECOND - 1, 1).verdict, WEIR_DENY);
    assert_int_equal(ask(&key, NOW + SECOND, 1).verdict, WEIR_ALLOW);
}

/* Within its guarantee a call has to have room below its ceiling, too. */
static void a_ceiling(void **unused)
{
    (void)unused;
    struct key key = tenant_of("5/s burst=2 guaranteed; 5/s burst=3 under 100/s");
    assert_allowed(ask(&key, NOW, 3), 0); /* more than is guaranteed, so it borrows */
    assert_refused(ask(&key, NOW, 1), 200000);
}

/* As many levels as there may be, and the largest weight. */
static void four_levels(void **unused)
{
    (void)unused;
    struct key key = tenant_of("unlimited weight=1000 under unlimited under unlimited under 4/s");
    const struct micro_answer answer = ask(&key, NOW, 1);
    assert_allowed(answer, 3);
    assert_int_equal(answer.limit, 3);
    assert_int_equal(answer.lent, 0);
}

/* Of one level there is nobody to share with. */
static void alone(void **unused)
{
    (void)unused;
    struct key key = key_of("3/s weight=2");
    ask(&key, NOW, 1);
    assert_int_equal(key.state.marks, 0);
    key.state.marks = 1;
    key.state.mark[0] = (struct micro_mark){NOW, 100 * SECOND, 1};
    assert_int_equal(ask(&key, NOW, 1).idle, NOW + 100 * SECOND);
}

/* As fine as 2^45 parts of a burst allow, rounded down. */
static void parts_of_a_permit(void **unused)
{
    (void)unused;
    const struct key thirds = tenant_of("unlimited weight=2 under 3/s burst=100");
    assert_int_equal(thirds.plan.weights.per, 1 << 20);
    assert_int_equal(thirds.plan.weights.permit, UINT64_C(349525333333));
    const struct key exact = tenant_of("unlimited weight=2 under 1000000/s burst=32768");
    assert_int_equal(exact.plan.weights.per, 1 << 30);
}

static void marks_of_two_keys(void **unused)
{
    (void)unused;
    struct micro_state state = {.count = 2, .marks = 3, .mark = {{NOW, 100, 1}, {NOW, 300, 2}}};
    assert_int_equal(weights_idle(&state, NOW), 150);
    weights_bring(&state, NOW + 100);
    assert_int_equal(state.marks, 2);
    weights_bring(&state, NOW + 150);
    assert_int_equal(state.marks, 0);
    assert_int_equal(weights_idle(&state, NOW), 0);
    state.marks = 1;
    state.mark[0] = (struct micro_mark){NOW, 2 * MICRO_MOST, 1};
    weights_bring(&state, NOW - 5); /* the clock went back, and the mark is none of ours */
    assert_int_equal(state.mark[0].seen, NOW - 5);
    assert_int_equal(state.mark[0].ahead, MICRO_MOST);
    /* One of another rate says nothing, nor does what is no mark. */
    for (unsigned marks = 0; marks <= 3; marks += 3) {
        struct key key = tenant_of("unlimited weight=1 under 1/s burst=3");
        const uint64_t per = key.plan.weights.per / (marks == 0 ? 1 : 2);
        const struct micro_mark mark = {NOW, 90 * SECOND * per, per}; /* in the lead, if it were one */
        key.state.marks = marks;
        key.state.mark[0] = key.state.mark[1] = mark;
        struct key used = key;
        key_charge(&used, NOW, 2);
        assert_allowed(ask(&used, NOW, 1), 0); /* the last one, and none is spared */
        for (int i = 0; i < 2; i++) assert_int_equal(ask(&key, NOW, 1).verdict, WEIR_ALLOW);
        assert_refused(ask(&key, NOW, 1), SECOND);
    }
}

/* A charge is one to all levels, whatever they have. */
static void charged(void **unused)
{
    (void)unused;
    struct key key = tenant_of("5/s burst=2 guaranteed under 10/s burst=9");
    const struct micro_answer answer = key_charge(&key, NOW, 2);
    assert_allowed(answer, 7);
    assert_int_equal(answer.limit, 1);
    assert_int_equal(answer.full, 200000);
    assert_int_equal(answer.idle, NOW + 400000);
    assert_int_equal(key_ask(&key, &(struct micro_ask){.now = NOW, .cost = {1, 1}}).lent, 1);
}

/* Cells and rules that are behind the limits are not looked at. */
static void nothing_behind(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"3/s burst=2", "3/s algorithm=hybrid burst=2"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct key key = key_of(texts[i]), owing = key_of("1/d debt=5"), late = key_of("1/d algorithm=hybrid burst=2");
        key_charge(&owing, NOW, 6);
        key_take(&key, NOW, 1);
        key.plan.rule[1] = i == 0 ? owing.plan.rule[0] : late.plan.rule[0];
        key.state.cell[1] = i == 0 ? owing.state.cell[0] : late.state.cell[0];
        const struct micro_answer answer = key_take(&key, NOW + 5 * SECOND, 1);
        assert_int_equal(answer.verdict, WEIR_ALLOW);
        assert_int_equal(answer.late, i == 0 ? 0 : 4666666);
        assert_int_equal(answer.limit, 0);
        assert_int_equal(answer.idle, answer.taken + answer.full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_parents),
        cmocka_unit_test(parts_of_a_permit),
        cmocka_unit_test(marks_of_two_keys),
        cmocka_unit_test(debts),
        cmocka_unit_test(a_schedule),
        cmocka_unit_test(the_first_of_several_is_named),
        cmocka_unit_test(one_permit_is_spared),
        cmocka_unit_test(nothing_behind),
        cmocka_unit_test(a_ceiling),
        cmocka_unit_test(four_levels),
        cmocka_unit_test(alone),
        cmocka_unit_test(charged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
