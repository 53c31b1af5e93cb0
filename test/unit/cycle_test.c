/* SPDX-License-Identifier: MIT
   Permits anew each period: what the rule says at its edges, what a person may say, what a limiter does.

   Expected answers are worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "unit/plans.h"
#include "unit/standing.h"

/* ---- what one caller after the other is told ---- */

static void each_cycle_anew(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {S / 2, 3, 0, WEIR_ALLOW, 0, 0, 2},      {S / 2, 3, 0, WEIR_DENY, 0, S / 2, 2},
        {S - 1, 2, 0, WEIR_ALLOW, 0, 0, 0},      {S - 1, 0, 0, WEIR_ALLOW, 0, 0, 0},
        {S - 1, 1, 0, WEIR_DENY, 0, 1, 0},       {S, 5, 0, WEIR_ALLOW, 0, 0, 0},
        {2 * S - 1, 1, 0, WEIR_DENY, 0, 1, 0},   {90 * S + 1, 1, 0, WEIR_ALLOW, 0, 0, 4}, /* what was left is lost */
        {290 * YEAR, 5, 0, WEIR_ALLOW, 0, 0, 0}, {290 * YEAR, 1, 0, WEIR_DENY, 0, S, 0},
    };
    CHECK_STEPS("5/s algorithm=cycle", steps);
}

static void reserved_ahead(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {100, 4, 0, WEIR_ALLOW, 0, 0, 1},
        {100, 2, S - 101, WEIR_DENY, 0, 1, 1},
        {100, 2, S - 100, WEIR_ALLOW, S - 100, 0, 4}, /* one of this cycle, one of the next, where 4 are left */
        {100, 0, 0, WEIR_DENY, 0, S - 100, 0},        /* n = 0 waits while permits are owed */
        {100, 0, S, WEIR_ALLOW, S - 100, 0, 4},
        {100, 9, WEIR_FOREVER, WEIR_ALLOW, 2 * S - 100, 0, 0},
        {S + 1, 1, 0, WEIR_DENY, 0, 2 * S - 1, 0},
        {2 * S, 1, 0, WEIR_DENY, 0, S, 0},
        {3 * S, 5, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("5/s algorithm=cycle", steps);
}

/* 12 of 5 a cycle take all of this one, the next, and two of the one after. */
static void above_the_count(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {S / 4, 12, 0, WEIR_DENY, 0, WEIR_FOREVER, 5}, /* not at once, whenever it asks */
        {S / 4, 12, S, WEIR_DENY, 0, WEIR_FOREVER, 5}, /* a cycle is never so near its end */
        {S / 4, 12, S + 1, WEIR_DENY, 0, 3 * S / 4 - 1, 5},
        {S - 1, 12, S + 1, WEIR_ALLOW, S + 1, 0, 3},
        {S, 12, 3 * S, WEIR_ALLOW, 3 * S, 0, 1}, /* the line ends at 12 + 12 */
        {S, 12, 3 * S, WEIR_DENY, 0, 3 * S, 0},
        {4 * S, 1, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("5/s algorithm=cycle", steps);
}

static void nobody_ahead(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {0, 6, WEIR_FOREVER, WEIR_NEVER, 0, 0, 5},
        {0, 3, 0, WEIR_ALLOW, 0, 0, 2},
        {10, 3, WEIR_FOREVER, WEIR_DENY, 0, S - 10, 2},
        {10, 2, 0, WEIR_ALLOW, 0, 0, 0},
        {10, 0, 0, WEIR_ALLOW, 0, 0, 0},
        {S, 5, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("5/s algorithm=cycle debt=0", steps);
}

static void a_few_ahead(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {0, 8, WEIR_FOREVER, WEIR_NEVER, 0, 0, 5},     {0, 7, WEIR_FOREVER, WEIR_ALLOW, S, 0, 3},
        {0, 1, WEIR_FOREVER, WEIR_DENY, 0, S, 0}, /* nothing more before the next cycle */
        {S, 5, WEIR_FOREVER, WEIR_ALLOW, S, 0, 3},     {S, 7, WEIR_FOREVER, WEIR_DENY, 0, 2 * S, 0},
        {3 * S, 7, WEIR_FOREVER, WEIR_ALLOW, S, 0, 3},
    };
    CHECK_STEPS("5/s algorithm=cycle debt=2", steps);
}

static void time_that_goes_back(void **unused)
{
    (void)unused;
    const struct step steps[] = {
        {5 * S, 1, 0, WEIR_ALLOW, 0, 0, 2}, {4 * S, 1, 0, WEIR_DENY, 0, S, 0},
        {4 * S, 1, S, WEIR_ALLOW, S, 0, 1}, {0, 1, WEIR_FOREVER, WEIR_ALLOW, 5 * S, 0, 0},
        {5 * S, 1, 0, WEIR_DENY, 0, S, 0},  {6 * S, 3, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("3/s algorithm=cycle", steps);
}

static void huge(void **unused)
{
    (void)unused;
    const uint64_t most = (UINT64_C(1) << 62) - 1;
    const struct step steps[] = {
        {0, most, 0, WEIR_ALLOW, 0, 0, 0},
        {0, most, WEIR_FOREVER, WEIR_ALLOW, 1, 0, 0},
        {0, most, WEIR_FOREVER, WEIR_DENY, 0, WEIR_FOREVER, 0}, /* more than can be counted */
        {1, 1, 0, WEIR_DENY, 0, 1, 0},
        {UINT64_MAX / 2, most, 0, WEIR_ALLOW, 0, 0, 0},
        {0, 1, WEIR_FOREVER, WEIR_DENY, 0, WEIR_FOREVER, 0},
        {UINT64_MAX / 2 + 1, most, 0, WEIR_ALLOW, 0, 0, 0},
    };
    CHECK_STEPS("4611686018427387903/ns algorithm=cycle", steps);
    const weir_plan slow = plan_of("1/292year algorithm=cycle");
    uint64_t state[STATE_WORDS_MAX] = {0};
    assert_true(weir_allowed(weir_decide_within(&slow, state, at(0), 2, WEIR_FOREVER)));
    assert_int_equal(weir_decide_within(&slow, state, at(0), 9, WEIR_FOREVER).verdict,
                     WEIR_NEVER); /* beyond the clock */
}

static weir_limiter *open_at(const char *text, uint64_t now_ns)
{
    weir_limiter *limiter = open_manual("1/s");
    set_ns(limiter, now_ns);
    change(limiter, text, WEIR_RESET);
    return limiter;
}

/* ---- giving back ---- */

static weir_decision granted(struct subject *subject, uint64_t now_ns, uint64_t cost)
{
    const weir_decision decision = reserve(subject, now_ns, cost);
    assert_true(weir_allowed(decision));
    return decision;
}

static uint64_t remaining(const struct subject *subject, uint64_t now_ns)
{
    struct subject copy = *subject;
    return take(&copy, now_ns, 0).remaining;
}

static void cancel(struct subject *subject, uint64_t now_ns, weir_decision decision)
{
    settle_at(subject, now_ns, &decision, 0);
}

static void given_back(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s algorithm=cycle");
    const weir_decision first = granted(&subject, 0, 2);
    cancel(&subject, S - 1, first);
    assert_int_equal(remaining(&subject, S - 1), 3);
    const weir_decision second = granted(&subject, S - 1, 2);
    cancel(&subject, S, second); /* its cycle is over */
    assert_int_equal(remaining(&subject, S), 3);
    granted(&subject, S, 2);
    const weir_decision ahead = granted(&subject, S, 3); /* one of this cycle */
    assert_int_equal(ahead.delay_ns, S);
    cancel(&subject, S, ahead);
    assert_int_equal(remaining(&subject, S), 1);
}

/* Of a call that took permits of two cycles, and of what was bought after it, only its own of now come back. */
static void only_its_own(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s algorithm=cycle");
    granted(&subject, 0, 2);
    const weir_decision spans = granted(&subject, 0, 3); /* one of cycle 0, two of cycle 1 */
    granted(&subject, S, 1);
    cancel(&subject, S, spans);
    assert_int_equal(remaining(&subject, S), 2);
}

/* What one got back must not be taken for what another, of a cycle that is over, still has. */
static void not_of_a_cycle_that_is_over(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s algorithm=cycle");
    const weir_decision first = granted(&subject, 0, 1), second = granted(&subject, 0, 1);
    cancel(&subject, 0, first);
    assert_int_equal(remaining(&subject, 0), 2);
    granted(&subject, S, 1);
    cancel(&subject, S, second);
    assert_int_equal(remaining(&subject, S), 2);
}

/* Of a list also the limit that is not named: it goes by the start. */
static void given_back_in_a_list(void **unused)
{
    (void)unused;
    const uint64_t cost[] = {2, 2}, none[] = {0, 0};
    uint64_t end[2];
    weir_limiter *limiter = open_at("3/s algorithm=cycle; 2/s burst=2", 100 * S);
    weir_decision decision = weir_take(limiter, 2);
    assert_int_equal(decision.limit, 1);
    weir_cancel(limiter, &decision);
    assert_int_equal(weir_peek_limit(limiter, 0, 0).remaining, 3);
    assert_int_equal(weir_peek_limit(limiter, 1, 0).remaining, 2);
    set_ns(limiter, 101 * S);
    decision = weir_take_each(limiter, cost, end);
    weir_settle_each(limiter, &decision, cost, none, end);
    assert_int_equal(weir_peek_limit(limiter, 0, 0).remaining, 3);
    weir_close(limiter);
}

static void owed(void **unused)
{
    (void)unused;
    struct subject subject = fresh("3/s algorithm=cycle"), strict = fresh("3/s algorithm=cycle debt=1");
    weir_decision decision = granted(&subject, 0, 1);
    settle_at(&subject, 0, &decision, 8);
    assert_int_equal(take(&subject, 0, 1).retry_ns, 2 * S);
    decision = granted(&strict, 0, 1);
    settle_at(&strict, 0, &decision, 8);
    assert_int_equal(remaining(&strict, S), 2);
}

/* ---- in the words of a state ---- */

enum { ENDS, USED, WORDS };

static const struct rule *rule_of(const weir_plan *plan)
{
    return &plan_inside_const(plan)->rule[0];
}

static void more_than_can_be_counted_stays(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("5/s algorithm=cycle");
    const struct rule *rule = rule_of(&plan);
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t now = tick_at(rule, S / 2);
    uint64_t state[WORDS] = {S, INT64_MAX - 5};
    const struct taken taken = algorithm->commit(rule, state, (struct offer){now, now}, 10);
    assert_int_equal(state[USED], INT64_MAX);
    algorithm->give_back(rule, state, now, &(struct slot){now, taken.end, 10, false}, 10);
    assert_int_equal(state[USED], INT64_MAX);
}

/* In the cycle from 1 to 2 s, whose slots end behind 2 * 5 of the line.  Nothing comes back of what lies before it, or
   where nothing is used, and nothing is written then. */
static void what_is_not_used_does_not_come_back(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t ends;
        int64_t used, used_then;
        uint64_t end;
    } rows[] = {
        {2 * S, 3, 1, 13}, {2 * S, 3, 3, 10}, {2 * S, 0, 0, 13}, {2 * S, -2, -2, 13}, {0, 0, 0, 10},
        {0, 0, 0, 13},     {S, 0, 0, 13},     {S, 3, 3, 10},     {S, 8, 8, 10},
    };
    const weir_plan plan = plan_of("5/s algorithm=cycle");
    const struct rule *rule = rule_of(&plan);
    const uint64_t now = tick_at(rule, 3 * S / 2);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t state[WORDS] = {rows[i].ends, (uint64_t)rows[i].used};
        algorithm_of(rule)->give_back(rule, state, now, &(struct slot){now, rows[i].end, 2, false}, 2);
        assert_int_equal(state[ENDS], rows[i].ends);
        assert_int_equal((int64_t)state[USED], rows[i].used_then);
    }
}

/* The clock was set at 300 ms.  All of a slot lies in the cycle in which it starts, but where it starts with it, and
   there is one before: it may lie in that. */
static void a_slot_is_known_by_its_start(void **unused)
{
    (void)unused;
    static const struct {
        uint64_t begins_ms, start_ms, used;
    } rows[] = {
        {1300, 1299, 3}, {1300, 1300, 3}, {1300, 1301, 1}, {1300, 2299, 1}, {1300, 2300, 3},
        {1300, 2301, 1}, {300, 300, 1},   {300, 1299, 1},  {300, 1300, 3},
    };
    const weir_plan plan = plan_of("5/s algorithm=cycle");
    struct rule rule = *rule_of(&plan);
    rule.anchor_ns = 300 * MS;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint64_t state[WORDS] = {(rows[i].begins_ms + 1000) * MS, 3};
        const struct slot slot = {tick_at(&rule, rows[i].start_ms * MS), 0, 2, true};
        algorithm_of(&rule)->give_back(&rule, state, tick_at(&rule, (rows[i].begins_ms + 10) * MS), &slot, 2);
        assert_int_equal(state[USED], rows[i].used);
    }
}

/* At 1.5 s of the cycle that ends at 2 s: what was used of it is forgotten, and what is owed beyond it stays. */
static void what_a_reset_leaves(void **unused)
{
    (void)unused;
    static const uint64_t rows[][3] = {{4, 0, 0}, {5, 0, 0}, {6, 2 * S, 1}, {9, 2 * S, 4}}; /* used, ends and used */
    const weir_plan plan = plan_of("5/s algorithm=cycle");
    const struct rule *rule = rule_of(&plan);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const uint64_t state[WORDS] = {2 * S, rows[i][0]};
        uint64_t next[WORDS] = {0};
        algorithm_of(rule)->carry(rule, rule, state, next, tick_at(rule, 3 * S / 2), WEIR_RESET);
        assert_int_equal(next[ENDS], rows[i][1]);
        assert_int_equal(next[USED], rows[i][2]);
    }
}

/* At 250 ms, with cycles of a second.  A refused call looks from the time at which it may come again. */
static void when_all_is_back(void **unused)
{
    (void)unused;
    static const uint64_t rows[][3] = {
        {5, 0, 250 * MS}, {4, 0, S}, {0, 750 * MS, S}, {0, 1750 * MS, 2 * S}, {0, WEIR_FOREVER, S}}; /* left, retry */
    const weir_plan plan = plan_of("5/s algorithm=cycle");
    const struct rule *rule = rule_of(&plan);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_decision decision = {.remaining = rows[i][0], .retry_ns = rows[i][1]};
        assert_int_equal(algorithm_full(rule, algorithm_of(rule), &decision, tick_at(rule, 250 * MS)),
                         tick_at(rule, rows[i][2]));
    }
}

/* One is owed, and two more may be. */
static void what_is_owed_counts(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("5/s algorithm=cycle debt=3");
    assert_int_equal(weir_charge(limiter, 6).charged, 6);
    assert_int_equal(weir_charge(limiter, 100).charged, 2);
    weir_close(limiter);
}

/* ---- what a person may say ---- */

static void mistakes(void **unused)
{
    (void)unused;
    static const struct mistake rows[] = {
        {"0.5/s algorithm=cycle", 1, "a window holds whole permits; write 1/2s for half a permit a second"},
        {"4611686018427387904/s algorithm=cycle", 1,
         "this rate is too high: a cycle holds fewer than 2^62 permits; for example 1G/s"},
        {"5/s algorithm=cycle burst=3", 21,
         "burst does not belong to algorithm=cycle; it goes with gcra, hybrid, bursty, leaky"},
        {"5/s algorithm=cycle align=noon", 27, "expected align=clock or align=first"},
        {"5/s algorithm=cycle debt=1s", 26, "expected a count; for example debt=1000"},
    };
    CHECK_MISTAKES(rows);
}

static void canonical(void **unused)
{
    (void)unused;
    static const struct spelling rows[] = {
        {"5/s algorithm=cycle", "5/s algorithm=cycle align=first"},
        {"60 per min algorithm=cycle debt=0 align=clock", "60/min algorithm=cycle debt=0 align=clock"},
    };
    CHECK_SPELLINGS(rows);
}

static void in_numbers(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("5/s algorithm=cycle debt=2");
    check_facts(&plan, (struct facts){.at_once = 5,
                                      .fresh = 5,
                                      .largest = 7,
                                      .group = 5,
                                      .spacing_ns = S,
                                      .full_ns = S,
                                      .state_bytes = weir_state_size(&plan)});
    static const uint64_t windows[][2] = {{0, 5}, {1, 5}, {2, 10}, {S, 10}, {S + 1, 10}, {S + 2, 15}, {10 * S, 55}};
    CHECK_MOST_IN(&plan, windows);
}

static void in_words(void **unused)
{
    (void)unused;
    char words[2048];
    const weir_plan plan = plan_of("5/s algorithm=cycle");
    weir_plan_explain(&plan, words, sizeof words);
    assert_non_null(strstr(words, "after idling    5 pass at once, then 5 every 1 s\n"));
    assert_non_null(strstr(words, "in any second   at most 10."));
    assert_non_null(strstr(words, "any; one above 5 has to wait, for the permits of several periods\n"));
}

static void full_again(void **unused)
{
    (void)unused;
    struct subject subject = fresh("5/s algorithm=cycle");
    weir_decision decision = take(&subject, S / 4, 0);
    assert_int_equal(weir_decide_full_ns(&subject.plan, &decision), 0);
    decision = take(&subject, S / 4, 1);
    assert_int_equal(weir_decide_full_ns(&subject.plan, &decision), 3 * S / 4);
    decision = take(&subject, S / 4, 5);
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_int_equal(weir_decide_full_ns(&subject.plan, &decision), 3 * S / 4);
    decision = take_within(&subject, S / 4, 5, S);
    assert_int_equal(weir_decide_full_ns(&subject.plan, &decision), 7 * S / 4);
}

/* ---- a limiter ---- */

/* Once a limit was changed only its state knows where its cycles are: a period at most. */
static void full_again_after_a_change(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_manual("5/s algorithm=cycle");
    weir_decision decision = weir_take_at(limiter, at(900), 1);
    assert_int_equal(weir_full_ns(limiter, &decision), S - 900);
    change(limiter, "7/s algorithm=cycle", WEIR_KEEP);
    decision = weir_take_at(limiter, at(1000), 1);
    assert_int_equal(weir_full_ns(limiter, &decision), S);
    weir_close(limiter);
}

static void begins_when_it_is_made(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_at("5/s algorithm=cycle", 700);
    assert_true(weir_allowed(weir_take_at(limiter, at(900), 5)));
    assert_int_equal(weir_take_at(limiter, at(900), 1).retry_ns, S - 200);
    weir_close(limiter);
    limiter = open_at("5/s algorithm=cycle align=clock", 700);
    assert_true(weir_allowed(weir_take_at(limiter, at(900), 5)));
    assert_int_equal(weir_take_at(limiter, at(900), 1).retry_ns, S - 900);
    weir_close(limiter);
}

/* Whatever the limit becomes, the present cycle goes on with what is left of it. */
static void changed(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_at("5/s algorithm=cycle", 700);
    assert_true(weir_allowed(weir_take_at(limiter, at(900), 2)));
    set_ns(limiter, 1000);
    change(limiter, "9/s algorithm=cycle", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 3);
    change(limiter, "2/s algorithm=cycle", WEIR_KEEP);
    assert_int_equal(weir_peek(limiter, 0).remaining, 3);
    assert_true(weir_allowed(weir_take(limiter, 3)));
    assert_int_equal(weir_take(limiter, 1).retry_ns, S - 300);
    set_ns(limiter, S + 700);
    assert_int_equal(weir_peek(limiter, 0).remaining, 2);
    change(limiter, "6/s algorithm=cycle", WEIR_SCALE);
    assert_int_equal(weir_peek(limiter, 0).remaining, 6);
    assert_true(weir_allowed(weir_take(limiter, 5)));
    change(limiter, "3/s algorithm=cycle", WEIR_SCALE);
    assert_int_equal(weir_peek(limiter, 0).remaining, 0);
    assert_int_equal(weir_take(limiter, 1).retry_ns, S);
    change(limiter, "3/s algorithm=cycle", WEIR_RESET);
    assert_int_equal(weir_peek(limiter, 0).remaining, 3);
    weir_close(limiter);
}

/* The present cycle ends as it would have, or a new period from now. */
static void another_period(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_at("5/s algorithm=cycle", 0);
    assert_true(weir_allowed(weir_take_at(limiter, at(0), 5)));
    set_ns(limiter, S / 2);
    change(limiter, "5/100s algorithm=cycle", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, S / 2);
    assert_true(weir_allowed(weir_take_at(limiter, at(S), 5)));
    assert_int_equal(weir_take_at(limiter, at(S), 1).retry_ns, 100 * S);
    set_ns(limiter, 2 * S);
    change(limiter, "5/s algorithm=cycle", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, S);
    weir_close(limiter);
    /* On the wall's clock with the first boundary after that. */
    limiter = open_at("5/7s algorithm=cycle align=clock", 0);
    assert_true(weir_allowed(weir_take_at(limiter, at(0), 5)));
    set_ns(limiter, 4 * S);
    change(limiter, "5/5s algorithm=cycle align=clock", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 6 * S);
    set_ns(limiter, 10 * S);
    assert_true(weir_allowed(weir_take(limiter, 5)));
    set_ns(limiter, 13 * S);
    change(limiter, "5/7s algorithm=cycle align=clock", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 8 * S);
    weir_close(limiter);
    /* A second from now is no boundary. */
    limiter = open_at("5/min algorithm=cycle align=clock", 0);
    assert_true(weir_allowed(weir_take_at(limiter, at(0), 5)));
    set_ns(limiter, 61 * S / 2);
    change(limiter, "5/s algorithm=cycle align=clock", WEIR_KEEP);
    assert_int_equal(weir_take(limiter, 1).retry_ns, 3 * S / 2);
    weir_close(limiter);
}

/* Waiters keep their place in line. */
static void retimed(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_at("2/s algorithm=cycle", 0);
    weir_take(limiter, 2);
    struct waiter first, second;
    assert_int_equal(stand(limiter, &first, 2).delay_ns, S);
    assert_int_equal(stand(limiter, &second, 3).delay_ns, 3 * S);
    weir_decision third = weir_reserve(limiter, 4, WEIR_FOREVER);
    assert_int_equal(third.delay_ns, 5 * S);
    weir_cancel(limiter, &third);
    change(limiter, "4/s algorithm=cycle", WEIR_KEEP);
    assert_int_equal(first.decision.start.ns, S);
    assert_int_equal(second.decision.start.ns, 2 * S);
    change(limiter, "1/s algorithm=cycle", WEIR_KEEP);
    assert_int_equal(second.decision.start.ns, 5 * S);
    change(limiter, "3/s algorithm=cycle", WEIR_RESET);
    assert_int_equal(first.decision.start.ns, 0);
    assert_int_equal(second.decision.start.ns, S);
    weir_close(limiter);
}

/* Lowered to 2 with 3 left, 4 may be taken in this cycle only. */
static void lowered_and_too_far(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_at("3/s algorithm=cycle debt=1", 0);
    change(limiter, "2/s algorithm=cycle debt=1", WEIR_KEEP);
    assert_int_equal(weir_reserve(limiter, 4, 0).verdict, WEIR_NEVER);
    assert_int_equal(weir_reserve(limiter, 4, S / 4).retry_ns, 3 * S / 4);
    assert_int_equal(weir_reserve(limiter, 4, S).delay_ns, S);
    weir_close(limiter);
}

static void waits(void **unused)
{
    (void)unused;
    weir_limiter *limiter = open_limiter("2/20ms algorithm=cycle; 1000/s", WEIR_CLOCK_SYSTEM, WEIR_ADMIT);
    const uint64_t begin_ns = weir_now().ns;
    assert_true(weir_allowed(weir_take_wait(limiter, 5, S))); /* with a later cycle's permits */
    const uint64_t waited_ns = weir_now().ns - begin_ns;
    assert_true(waited_ns > 15000000);
    assert_int_equal(weir_take_wait(limiter, 9, 20000000).verdict, WEIR_DENY);
    change(limiter, "2/20ms algorithm=cycle debt=0", WEIR_RESET);
    weir_take(limiter, 2);
    assert_true(weir_allowed(weir_take_wait(limiter, 2, S))); /* comes back when the cycle begins */
    change(limiter, "2/20ms algorithm=cycle debt=2", WEIR_RESET);
    weir_reserve(limiter, 4, WEIR_FOREVER);
    assert_true(weir_allowed(weir_take_wait(limiter, 4, WEIR_FOREVER))); /* comes back, and takes ahead then */
    weir_close(limiter);
}

/* ---- a table ---- */

static weir_decision ask(weir_table *table, const weir_plan *plan, const char *key, uint64_t now_ns, uint64_t cost)
{
    return weir_table_take_at(table, plan, weir_key_text(key), at(now_ns), cost);
}

/* A fresh key's cycles begin with the whole seconds; those of one whose limit was changed at 3.5 s do not.  Were its
   slot given away with the end of its cycle, at 4.5 s, the key could come back, take all of the second that is then
   half over, and all of the next: three times N within a period. */
static void moved_cycles_in_a_table(void **unused)
{
    (void)unused;
    enum { OTHERS = 10000 };
    const weir_plan before = plan_of("5/10s algorithm=cycle"), plan = plan_of("5/s algorithm=cycle");
    const weir_plan slow = plan_of("1/1000s algorithm=cycle");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table = NULL;
    options.keys_max = 1;
    options.plan = &plan;
    options.sharing = WEIR_PRIVATE;
    options.when_full = WEIR_FULL_DENY;
    assert_int_equal(weir_table_open(&table, &options, NULL), 0);
    assert_true(weir_allowed(ask(table, &before, "moved", 3 * S, 1)));
    for (int other = 0; other < OTHERS; other++)
        weir_table_take_at(table, &slow, (weir_key){&other, sizeof other}, at(3 * S), 1);
    assert_int_equal(ask(table, &plan, "moved", 7 * S / 2, 5).retry_ns, S);
    assert_true(weir_allowed(ask(table, &plan, "moved", 44 * S / 10, 4)));
    const weir_decision new_one = ask(table, &plan, "new", 45 * S / 10, 1);
    for (int other = 0; other < OTHERS; other++) weir_table_forget(table, &slow, (weir_key){&other, sizeof other});
    uint64_t passed = 0;
    for (uint64_t tenth = 45; tenth < 55; tenth++)
        passed += weir_allowed(ask(table, &plan, "moved", tenth * S / 10, 5));
    assert_int_equal(passed, 1);
    assert_int_equal(new_one.verdict, WEIR_DENY);
    assert_int_equal(new_one.retry_ns, S);
    weir_table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cycle_anew),
        cmocka_unit_test(reserved_ahead),
        cmocka_unit_test(above_the_count),
        cmocka_unit_test(nobody_ahead),
        cmocka_unit_test(a_few_ahead),
        cmocka_unit_test(time_that_goes_back),
        cmocka_unit_test(huge),
        cmocka_unit_test(given_back),
        cmocka_unit_test(only_its_own),
        cmocka_unit_test(not_of_a_cycle_that_is_over),
        cmocka_unit_test(given_back_in_a_list),
        cmocka_unit_test(owed),
        cmocka_unit_test(more_than_can_be_counted_stays),
        cmocka_unit_test(what_is_not_used_does_not_come_back),
        cmocka_unit_test(a_slot_is_known_by_its_start),
        cmocka_unit_test(what_a_reset_leaves),
        cmocka_unit_test(when_all_is_back),
        cmocka_unit_test(what_is_owed_counts),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(canonical),
        cmocka_unit_test(in_numbers),
        cmocka_unit_test(in_words),
        cmocka_unit_test(full_again),
        cmocka_unit_test(full_again_after_a_change),
        cmocka_unit_test(begins_when_it_is_made),
        cmocka_unit_test(changed),
        cmocka_unit_test(another_period),
        cmocka_unit_test(retimed),
        cmocka_unit_test(lowered_and_too_far),
        cmocka_unit_test(waits),
        cmocka_unit_test(moved_cycles_in_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
