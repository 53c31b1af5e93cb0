/* SPDX-License-Identifier: MIT
   Tables through their public calls: every answer is the one that the pure core gives for that key. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#include "unit/plans.h"
#include "unit/random.h"
#include "unit/table_rig.h"

static void assert_same(const weir_decision *table, const weir_decision *core)
{
    assert_int_equal(table->verdict, core->verdict);
    assert_int_equal(table->limit, core->limit);
    assert_int_equal(table->delay_ns, core->delay_ns);
    assert_int_equal(table->retry_ns, core->retry_ns);
    assert_int_equal(table->remaining, core->remaining);
    assert_int_equal(table->charged, core->charged);
    assert_int_equal(table->start.ns, core->start.ns);
}

/* ---- against the core ---- */

enum { STEPS = 20000 };

/* Limits whose permits are whole units of the table, so both clocks agree to the ns. */
static const char *const exact[] = {"10/s burst=20", "1000/s",
                                    "3/min burst=2", "10/s burst=5; 100/min",
                                    "1/s burst=1",   "5/s burst=10; 8/s burst=3; 1000/h burst=40"};

static void answers_as_the_core(const char *text, weir_table *table, uint64_t seed)
{
    const weir_plan plan = plan_of(text);
    uint64_t state[256] = {0};
    weir_instant now = weir_now();
    assert_true(weir_state_size(&plan) <= sizeof state);
    for (int i = 0; i < STEPS; i++) {
        now.ns += random_below(&seed, 4) == 0 ? random_below(&seed, 2 * S) : random_below(&seed, S / 8);
        const uint64_t cost = random_below(&seed, 4) == 0 ? random_below(&seed, 12) : 1;
        weir_decision own = weir_table_take_at(table, &plan, weir_key_text("key"), now, cost);
        weir_decision core = weir_decide(&plan, state, now, cost);
        assert_same(&own, &core);
        if (own.verdict != WEIR_NEVER) {
            assert_int_equal(weir_table_full_ns(table, &plan, &own), weir_decide_full_ns(&plan, &core));
        }
    }
}

static void slots_answer_as_the_core(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < LENGTH(exact); i++) {
        weir_table *table = open_default();
        answers_as_the_core(exact[i], table, i + 1);
        weir_table_close(table);
    }
}

static void wide_slots_answer_as_the_core(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"10/s burst=20 algorithm=leaky nodelay",
                                        "10/s algorithm=sliding-log",
                                        "10/s algorithm=warmup warmup=1s",
                                        "10/s algorithm=fixed-window align=first",
                                        "10/s burst=20; 100/min algorithm=sliding-log",
                                        "10/s burst=20"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const weir_plan plan = plan_of(texts[i]);
        weir_table *table = open_wide(&plan);
        assert_int_equal(weir_table_fits(table, &plan, NULL), 0);
        answers_as_the_core(texts[i], table, i + 1);
        weir_table_close(table);
    }
}

static void algorithms_do_not_forget_each_other(void **unused)
{
    (void)unused;
    const weir_plan log = plan_of("1/h algorithm=sliding-log"), leaky = plan_of("1/h algorithm=leaky nodelay");
    weir_table *table = open_wide(&log);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(weir_allowed(weir_table_take(table, &log, weir_key_text("k"), 1)), round == 0);
        assert_int_equal(weir_allowed(weir_table_take(table, &leaky, weir_key_text("k"), 1)), round == 0);
    }
    weir_table_forget(table, &log, weir_key_text("k"));
    assert_true(weir_allowed(weir_table_take(table, &log, weir_key_text("k"), 1)));
    weir_table_close(table);
}

/* Who is refused may come back when an hour begins on the clock on the wall, give or take what the clocks differ. */
static void aligned_windows_begin_with_the_hour(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/h algorithm=fixed-window align=clock");
    weir_table *table = open_wide(&plan);
    struct timespec wall;
    weir_table_take(table, &plan, weir_key_text("k"), 1);
    const weir_decision refused = weir_table_take(table, &plan, weir_key_text("k"), 1);
    clock_gettime(CLOCK_REALTIME, &wall);
    if (refused.verdict == WEIR_DENY) {
        const uint64_t unix_ns = (uint64_t)wall.tv_sec * S + (uint64_t)wall.tv_nsec;
        const uint64_t past_hour_ns = (unix_ns + refused.retry_ns + 60 * S) % (3600 * S);
        assert_in_range(past_hour_ns, 0, 120 * S);
    }
    weir_table_close(table);
}

/* A limit that is no whole number of units is a little slower, never faster, and its burst is the same. */
static void other_rates_are_never_faster(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    const weir_plan plan = plan_of("3/s burst=3");
    weir_instant now = weir_now();
    for (int i = 0; i < 3; i++) {
        assert_true(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("k"), now, 1)));
    }
    const weir_decision refused = weir_table_take_at(table, &plan, weir_key_text("k"), now, 1);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_in_range(refused.retry_ns, 333333334, 333333335);
    now.ns += refused.retry_ns - 1;
    assert_false(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("k"), now, 1)));
    now.ns += 1;
    assert_true(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("k"), now, 1)));
    weir_table_close(table);
}

static void keys_and_limits_have_states_of_their_own(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    const weir_plan plan = plan_of("1/h"), other = plan_of("2/h");
    const weir_instant now = weir_now();
    assert_true(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("a"), now, 1)));
    assert_true(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("b"), now, 1)));
    assert_true(weir_allowed(weir_table_take_at(table, &plan, weir_key_text(""), now, 1)));
    assert_false(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("a"), now, 1)));
    /* Another plan finds what was used: an hour, of which 2/h burst=2 allows one. */
    assert_false(weir_allowed(weir_table_take_at(table, &other, weir_key_text("a"), now, 1)));
    weir_table_forget(table, &plan, weir_key_text("a"));
    assert_true(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("a"), now, 1)));
    assert_false(weir_allowed(weir_table_take_at(table, &plan, weir_key_text("b"), now, 1)));
    weir_table_close(table);
}

static void unlimited_and_none_need_no_slot(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    const weir_plan all = plan_of("unlimited"), nothing = plan_of("none"), list = plan_of("unlimited; 2/h");
    assert_int_equal(weir_table_take(table, &all, weir_key_text("a"), 1).verdict, WEIR_ALLOW);
    const weir_decision none = weir_table_take(table, &nothing, weir_key_text("a"), 1);
    assert_int_equal(none.verdict, WEIR_NEVER);
    assert_int_equal(none.remaining, 0);
    const weir_decision one = weir_table_take(table, &list, weir_key_text("a"), 1);
    assert_int_equal(one.verdict, WEIR_ALLOW);
    assert_int_equal(one.limit, 1);
    assert_int_equal(one.remaining, 1);
    weir_table_close(table);
}

/* ---- the other calls, beside a limiter ---- */

static void settling_charging_and_reserving_are_those_of_a_limiter(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    const weir_plan plan = plan_of("10/h burst=10 debt=5");
    const weir_key key = weir_key_text("k");
    weir_decision taken = weir_table_take(table, &plan, key, 8);
    assert_int_equal(taken.remaining, 2);
    weir_table_settle(table, &plan, key, &taken, 3);
    weir_table_settle(table, &plan, key, &taken, 0);
    assert_int_equal(weir_table_peek(table, &plan, key, -1, 1).remaining, 6);
    assert_int_equal(weir_table_peek(table, &plan, key, 0, 1).remaining, 6);
    assert_int_equal(weir_table_peek(table, &plan, key, 1, 1).verdict, WEIR_NEVER);
    assert_int_equal(weir_table_charge(table, &plan, key, 10).charged, 10);
    assert_int_equal(weir_table_charge(table, &plan, key, 10).charged, 2); /* 7 left, 10 + 2 reach the debt of 5 */
    const weir_decision refused = weir_table_take(table, &plan, key, 1);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_int_equal(refused.remaining, 0);
    weir_table_forget(table, &plan, key);
    assert_true(weir_allowed(weir_table_take(table, &plan, key, 10)));
    weir_decision later = weir_table_reserve(table, &plan, key, 1, WEIR_FOREVER);
    assert_true(weir_allowed(later));
    assert_true(later.delay_ns > 0 && later.delay_ns <= 360 * S);
    assert_int_equal(weir_table_reserve(table, &plan, key, 1, later.delay_ns).verdict, WEIR_DENY);
    weir_table_settle(table, &plan, key, &later, 0);
    assert_true(weir_table_reserve(table, &plan, key, 1, WEIR_FOREVER).delay_ns <= later.delay_ns);
    weir_table_close(table);
}

static void costs_may_differ(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    const weir_plan plan = plan_of("60 requests/h; 1000 tokens/h");
    const uint64_t cost[] = {1, 700}, used[] = {1, 200};
    uint64_t end[WEIR_LIMITS_MAX];
    weir_decision first = weir_table_take_each(table, &plan, weir_key_text("k"), cost, end);
    assert_true(weir_allowed(first));
    weir_decision second = weir_table_take_each(table, &plan, weir_key_text("k"), cost, NULL);
    assert_int_equal(second.verdict, WEIR_DENY);
    assert_int_equal(second.limit, 1);
    /* One number for both would be wrong for one of them. */
    weir_decision same = first;
    weir_table_settle(table, &plan, weir_key_text("k"), &same, 0);
    assert_int_equal(weir_table_take_each(table, &plan, weir_key_text("k"), cost, NULL).verdict, WEIR_DENY);
    weir_table_settle_each(table, &plan, weir_key_text("k"), &first, cost, used, end);
    weir_table_settle_each(table, &plan, weir_key_text("k"), &first, cost, (const uint64_t[]){1, 1000},
                           end); /* not again */
    assert_true(weir_allowed(weir_table_take_each(table, &plan, weir_key_text("k"), cost, NULL)));
    /* What was refused has charged neither. */
    assert_int_equal(weir_table_peek(table, &plan, weir_key_text("k"), 0, 1).remaining, 57);
    weir_table_close(table);
}

static void a_list_is_reserved_at_its_latest_start(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    const weir_plan plan = plan_of("10/s burst=10; 6/min burst=1");
    const weir_key key = weir_key_text("k");
    assert_true(weir_allowed(weir_table_take(table, &plan, key, 1)));
    const weir_decision later = weir_table_reserve(table, &plan, key, 1, WEIR_FOREVER);
    assert_in_range(later.delay_ns, 9 * S, 10 * S);
    assert_int_equal(later.limit, 1);
    /* The first limit is charged at that start, too, so ten that start then are one too many. */
    const weir_plan first = plan_of("10/s burst=10");
    weir_instant then = later.start;
    assert_false(weir_allowed(weir_table_take_at(table, &first, key, then, 10)));
    assert_true(weir_allowed(weir_table_take_at(table, &first, key, then, 9)));
    const weir_plan turned = plan_of("6/min burst=1; 10/s burst=10");
    assert_true(weir_allowed(weir_table_take(table, &turned, weir_key_text("other"), 1)));
    assert_int_equal(weir_table_reserve(table, &turned, weir_key_text("other"), 1, WEIR_FOREVER).limit, 0);
    weir_table_close(table);
}

static void a_batch_answers_as_one_by_one(void **unused)
{
    (void)unused;
    enum { ASKS = 100 };
    weir_table *batched = open_default(), *single = open_default();
    const weir_plan plans[] = {plan_of("1/h burst=3"), plan_of("1/s burst=2; 3/h"), plan_of("unlimited")};
    char names[ASKS][8];
    weir_ask asks[ASKS];
    weir_instant now = weir_now();
    uint64_t seed = 5;
    for (int round = 0; round < 50; round++) {
        now.ns += S / 3;
        for (int i = 0; i < ASKS; i++) {
            snprintf(names[i], sizeof names[i], "%d", (int)random_below(&seed, 40));
            asks[i] = (weir_ask){&plans[random_below(&seed, 3)], weir_key_text(names[i]), 1, {0}};
        }
        weir_table_take_batch(batched, asks, ASKS, now);
        for (int i = 0; i < ASKS; i++) {
            const weir_decision one = weir_table_take_at(single, asks[i].plan, asks[i].key, now, 1);
            assert_same(&asks[i].decision, &one);
        }
    }
    weir_table_close(batched);
    weir_table_close(single);
}

static void several_keys_are_all_or_nothing(weir_table *table)
{
    const weir_plan address = plan_of("2/h"), subnet = plan_of("3/h"), all = plan_of("100/h; 50/h");
    const weir_instant now = weir_now();
    weir_ask asks[] = {{&address, weir_key_text("203.0.113.9"), 1, {0}},
                       {&subnet, weir_key_text("203.0.113.0/24"), 1, {0}},
                       {&all, weir_key_text("all"), 1, {0}}};
    assert_true(weir_table_take_all(table, asks, 3, now));
    assert_int_equal(asks[0].decision.remaining, 1);
    assert_int_equal(asks[2].decision.remaining, 49);
    assert_int_equal(asks[2].decision.limit, 1);
    assert_true(weir_table_take_all(table, asks, 3, now));
    assert_false(weir_table_take_all(table, asks, 3, now));
    assert_int_equal(asks[0].decision.verdict, WEIR_DENY);
    assert_int_equal(asks[1].decision.verdict, WEIR_ALLOW);
    assert_int_equal(weir_table_take_at(table, &subnet, asks[1].key, now, 1).remaining, 0);
    assert_int_equal(weir_table_take_at(table, &all, asks[2].key, now, 0).remaining, 48);
}

static void slots_of_several_keys_are_all_or_nothing(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    several_keys_are_all_or_nothing(table);
    const weir_plan once = plan_of("1/h");
    weir_ask same[] = {{&once, weir_key_text("k"), 1, {0}}, {&once, weir_key_text("k"), 1, {0}}};
    assert_false(weir_table_take_all(table, same, 2, weir_now()));
    assert_true(weir_allowed(weir_table_take(table, &once, weir_key_text("k"), 1)));
    weir_table_close(table);
}

static void wide_slots_of_several_keys_are_all_or_nothing(void **unused)
{
    (void)unused;
    const weir_plan longest = plan_of("1/s; 1/s algorithm=sliding-log");
    weir_table *table = open_wide(&longest);
    several_keys_are_all_or_nothing(table);
    weir_table_close(table);
}

/* ---- opening ---- */

#define REFUSED(code, word, ...)                                                                                       \
    do {                                                                                                               \
        weir_table_options options = WEIR_TABLE_OPTIONS;                                                               \
        __VA_ARGS__;                                                                                                   \
        refused(options, code, word);                                                                                  \
    } while (0)

static void options_are_checked(void **unused)
{
    (void)unused;
    const weir_plan log = plan_of("3/s algorithm=sliding-log");
    REFUSED(WEIR_EINVAL, "keys_max", options.keys_max = UINT64_MAX);
    REFUSED(WEIR_EINVAL, "sharing", options.sharing = (weir_sharing)9);
    REFUSED(WEIR_EINVAL, "when_full", options.when_full = (weir_when_full)9);
    REFUSED(WEIR_EINVAL, "clock", options.clock = WEIR_CLOCK_MANUAL);
    REFUSED(WEIR_EINVAL, "refill_max_ns", options.refill_max_ns = UINT64_MAX);
    REFUSED(WEIR_EINVAL, "mode", options.mode = 010000);
    REFUSED(WEIR_EINVAL, "top", options.top = 100000);
    REFUSED(WEIR_EINVAL, "path", options.path = path; options.sharing = WEIR_PRIVATE);
    REFUSED(WEIR_EINVAL, "path", options.sharing = WEIR_JOIN);
    REFUSED(WEIR_EUNSUPPORTED, "WEIR_PRIVATE", options.plan = &log);
    REFUSED(WEIR_ESYSTEM, "/nowhere/table", options.path = "/nowhere/table");
    weir_table *table;
    weir_table_options nothing = {.size = sizeof(size_t)};
    assert_int_equal(weir_table_open(&table, &nothing, NULL), 0);
    weir_table_close(table);
    weir_table_close(NULL);
}

static void does_not_fit(const weir_table *table, const char *text, const char *word)
{
    const weir_plan plan = plan_of(text);
    weir_error error = {0};
    assert_int_equal(weir_table_fits(table, &plan, &error), WEIR_EUNSUPPORTED);
    if (strstr(error.message, word) == NULL) fail_msg("%s: \"%s\" does not say \"%s\"", text, error.message, word);
}

static void what_does_not_fit_is_said(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    does_not_fit(table, "10/s algorithm=leaky", "limit 1");
    does_not_fit(table, "10/s; 3/s start=empty", "limit 2");
    does_not_fit(table, "100/60d", "refill_max_ns");
    does_not_fit(table, "300000000/s", "too fast");
    const weir_plan leaky = plan_of("10/s algorithm=leaky");
    assert_int_equal(weir_table_take(table, &leaky, weir_key_text("k"), 1).verdict, WEIR_NEVER);
    const weir_plan too_long = plan_of("100/60d");
    weir_ask ask = {.plan = &too_long, .key = weir_key_text("k"), .cost = 1};
    assert_int_equal(weir_table_take(table, &too_long, weir_key_text("k"), 1).verdict, WEIR_NEVER);
    weir_table_take_batch(table, &ask, 1, weir_now());
    assert_int_equal(ask.decision.verdict, WEIR_NEVER);
    weir_table_close(table);
    const weir_plan window = plan_of("10/s algorithm=warmup warmup=1s"), log = plan_of("100/s algorithm=sliding-log");
    table = open_wide(&window);
    assert_int_equal(weir_table_fits(table, &window, NULL), 0);
    does_not_fit(table, "100/s algorithm=sliding-log", "options.plan");
    assert_int_equal(weir_table_take(table, &log, weir_key_text("k"), 1).verdict, WEIR_NEVER);
    weir_table_close(table);
}

/* ---- files, processes, growth ---- */

static void a_file_is_kept(const char *text, const weir_plan *wide)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    const weir_plan plan = plan_of(text);
    options.path = path;
    options.keys_max = 100;
    options.plan = wide;
    weir_table *table = open_with(options);
    for (int i = 0; i < 3; i++) assert_true(weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1)));
    weir_table_close(table);
    options.sharing = WEIR_JOIN;
    table = open_with(options);
    assert_false(weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1)));
    assert_true(weir_allowed(weir_table_take(table, &plan, weir_key_text("other"), 1)));
    options.sharing = WEIR_CREATE;
    refused(options, WEIR_ESYSTEM, path);
    options.sharing = WEIR_JOIN_OR_CREATE;
    options.when_full = WEIR_FULL_DENY;
    refused(options, WEIR_EMISMATCH, "when_full");
    weir_table_close(table);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void slots_in_a_file_are_kept(void **unused)
{
    (void)unused;
    const weir_plan wide = plan_of("3/h algorithm=sliding-log");
    a_file_is_kept("3/h", NULL);
    REFUSED(WEIR_EMISMATCH, "16-byte", options.path = path; options.plan = &wide);
}

static void wide_slots_in_a_file_are_kept(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("3/h algorithm=sliding-log"), longer = plan_of("3000/h algorithm=sliding-log");
    a_file_is_kept("3/h algorithm=sliding-log", &plan);
    REFUSED(WEIR_EMISMATCH, "wide", options.path = path);
    REFUSED(WEIR_EMISMATCH, "too short", options.path = path; options.plan = &longer);
}

static void a_file_that_is_no_table_is_left_alone(void **unused)
{
    (void)unused;
    char before[] = "important, and longer than a few bytes", after[sizeof before];
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(before, sizeof before, 1, file), 1);
    fclose(file);
    assert_int_equal(chmod(path, 0600), 0);
    REFUSED(WEIR_EMISMATCH, "no table", options.path = path);
    file = fopen(path, "rb");
    assert_int_equal(fread(after, sizeof after, 1, file), 1);
    fclose(file);
    assert_memory_equal(before, after, sizeof before);
}

/* The child's answer to `ask`: did it pass? */
static bool in_a_child(bool (*ask)(weir_table *), weir_table *table)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) _exit(ask(table) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
}

static bool takes_one(weir_table *table)
{
    const weir_plan plan = plan_of("2/h");
    return weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1));
}

static bool takes_one_logged(weir_table *table)
{
    const weir_plan plan = plan_of("2/h algorithm=sliding-log");
    return weir_allowed(weir_table_take(table, &plan, weir_key_text("k"), 1));
}

static void children_share_it(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    assert_true(in_a_child(takes_one, table));
    assert_true(takes_one(table));
    assert_false(in_a_child(takes_one, table));
    weir_table_close(table);
    const weir_plan log = plan_of("2/h algorithm=sliding-log");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    options.plan = &log;
    options.keys_max = 10;
    table = open_with(options);
    assert_true(in_a_child(takes_one_logged, table));
    assert_true(takes_one_logged(table));
    assert_false(in_a_child(takes_one_logged, table));
    weir_table_close(table);
}

static bool grows(weir_table *table)
{
    return weir_table_grow(table, 50000, NULL) == 0;
}

/* Takes for keys first to first + count: how many passed. */
static unsigned take_keys(weir_table *table, const weir_plan *plan, unsigned first, unsigned count)
{
    unsigned passed = 0;
    for (unsigned i = first; i < first + count; i++) {
        const weir_key key = {&i, sizeof i};
        passed += weir_allowed(weir_table_take(table, plan, key, 1));
    }
    return passed;
}

static void growth(weir_table *table)
{
    const weir_plan plan = plan_of("1/h"), twice = plan_of("2/h");
    weir_table_stats stats;
    assert_int_equal(take_keys(table, &twice, 0, 1000), 1000);
    assert_true(in_a_child(grows, table));
    assert_int_equal(take_keys(table, &twice, 0, 1000), 1000);
    assert_int_equal(take_keys(table, &twice, 0, 1000), 0);
    assert_int_equal(take_keys(table, &plan, 1000, 29000), 29000);
    assert_int_equal(take_keys(table, &plan, 0, 30000), 0);
    weir_table_read_stats(table, &stats, sizeof stats);
    assert_int_equal(stats.keys_live, 30000);
    assert_int_equal(stats.moved, 1000);
    assert_int_equal(stats.granted, 31000);
    assert_int_equal(stats.denied, 31000);
    weir_error error;
    assert_int_equal(weir_table_grow(table, 10, &error), WEIR_EINVAL);
    for (uint64_t keys = 60000, times = 2; times < 8; times++, keys += 10000) {
        assert_int_equal(weir_table_grow(table, keys, &error), 0);
    }
    assert_int_equal(weir_table_grow(table, 1000000, &error), WEIR_EUNSUPPORTED);
    assert_int_equal(take_keys(table, &plan, 0, 30000), 0);
}

static void it_grows_for_all(void **unused)
{
    (void)unused;
    weir_table *table = open_default();
    growth(table);
    weir_table_close(table);
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    options.keys_max = 2000; /* for half as many keys, so that chance is no part of it */
    table = open_with(options);
    growth(table);
    weir_table_close(table);
    table = open_with(options);
    const weir_plan plan = plan_of("1/h");
    assert_int_equal(take_keys(table, &plan, 0, 30000), 0);
    weir_table_close(table);
}

static void a_private_table_grows(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.sharing = WEIR_PRIVATE;
    options.keys_max = 2000; /* for half as many keys, so that chance is no part of it */
    weir_table *table = open_with(options);
    const weir_plan plan = plan_of("1/h");
    assert_int_equal(take_keys(table, &plan, 0, 1000), 1000);
    assert_int_equal(weir_table_grow(table, 20000, NULL), 0);
    assert_int_equal(take_keys(table, &plan, 0, 10000), 9000);
    assert_false(in_a_child(takes_one, table) && !takes_one(table));
    weir_table_close(table);
}

/* ---- full, counted ---- */

static void keys_that_found_room(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/h");
    weir_table_stats stats;
    weir_table *table = open_default();
    assert_int_equal(take_keys(table, &plan, 0, 100) + take_keys(table, &plan, 0, 100), 200);
    weir_table_read_stats(table, &stats, sizeof stats);
    assert_int_equal(stats.granted, 200);
    assert_int_equal(stats.denied, 0);
    assert_int_equal(stats.reclaimed, 100);
    assert_int_equal(stats.full + stats.displaced + stats.moved, 0);
    assert_int_equal(stats.keys_live, 100);
    weir_table_close(table);
}

static void a_full_table_follows_its_rule(void **unused)
{
    (void)unused;
    enum { KEYS = 5000 };
    const weir_plan plan = plan_of("2/h");
    for (int rule = WEIR_FULL_INHERIT; rule <= WEIR_FULL_ALLOW; rule++) {
        weir_table_options options = WEIR_TABLE_OPTIONS;
        weir_table_stats stats;
        options.keys_max = 100;
        options.when_full = (weir_when_full)rule;
        weir_table *table = open_with(options);
        const unsigned first = take_keys(table, &plan, 0, KEYS), second = take_keys(table, &plan, 0, KEYS);
        weir_table_read_stats(table, &stats, sizeof stats);
        assert_in_range(stats.full, 1, 2 * KEYS);
        assert_true(stats.keys_live <= stats.bytes / 16);
        assert_int_equal(stats.displaced != 0, rule == WEIR_FULL_INHERIT || rule == WEIR_FULL_EVICT);
        if (rule == WEIR_FULL_INHERIT) assert_true(first + second <= stats.bytes / 16 * 2);
        if (rule == WEIR_FULL_DENY) assert_true(first < 400 && second < 400);
        if (rule == WEIR_FULL_EVICT || rule == WEIR_FULL_ALLOW) assert_int_equal(first, KEYS);
        weir_table_close(table);
    }
}

/* Each slot is idle half an hour after it was taken, though the key itself could pass twice. */
static void a_full_table_says_when_it_has_room(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/h");
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.keys_max = 100;
    options.when_full = WEIR_FULL_DENY;
    weir_table *table = open_with(options);
    unsigned refused = 0;
    for (unsigned i = 0; i < 1000; i++) {
        const weir_decision decision = weir_table_take(table, &plan, (weir_key){&i, sizeof i}, 1);
        if (weir_allowed(decision)) continue;
        assert_int_equal(decision.verdict, WEIR_DENY);
        assert_in_range(decision.retry_ns, 1700 * S, 1800 * S);
        refused++;
    }
    assert_true(refused > 0);
    weir_table_close(table);
}

static void the_most_refused_are_told(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    const weir_plan plan = plan_of("1/h");
    weir_top top[4];
    options.keys_max = 100;
    options.top = 2;
    weir_table *table = open_with(options);
    for (int i = 0; i < 31; i++) weir_table_take(table, &plan, weir_key_text("loud"), 1);
    for (int i = 0; i < 11; i++) weir_table_take(table, &plan, weir_key_text("less"), 1);
    weir_table_take(table, &plan, weir_key_text("quiet"), 1);
    assert_int_equal(weir_table_read_top(table, top, 4), 2);
    assert_int_equal(top[0].denied, 30);
    assert_int_equal(top[0].key_size, 4);
    assert_memory_equal(top[0].key, "loud", 4);
    assert_int_equal(top[1].denied, 10);
    weir_table_close(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_answer_as_the_core),
        cmocka_unit_test(wide_slots_answer_as_the_core),
        cmocka_unit_test(algorithms_do_not_forget_each_other),
        cmocka_unit_test(aligned_windows_begin_with_the_hour),
        cmocka_unit_test(other_rates_are_never_faster),
        cmocka_unit_test(keys_and_limits_have_states_of_their_own),
        cmocka_unit_test(unlimited_and_none_need_no_slot),
        cmocka_unit_test(settling_charging_and_reserving_are_those_of_a_limiter),
        cmocka_unit_test(costs_may_differ),
        cmocka_unit_test(a_list_is_reserved_at_its_latest_start),
        cmocka_unit_test(a_batch_answers_as_one_by_one),
        cmocka_unit_test(slots_of_several_keys_are_all_or_nothing),
        cmocka_unit_test(wide_slots_of_several_keys_are_all_or_nothing),
        IN_A_FOLDER(options_are_checked),
        cmocka_unit_test(what_does_not_fit_is_said),
        IN_A_FOLDER(slots_in_a_file_are_kept),
        IN_A_FOLDER(wide_slots_in_a_file_are_kept),
        IN_A_FOLDER(a_file_that_is_no_table_is_left_alone),
        IN_A_FOLDER(children_share_it),
        IN_A_FOLDER(it_grows_for_all),
        cmocka_unit_test(a_private_table_grows),
        cmocka_unit_test(keys_that_found_room),
        cmocka_unit_test(a_full_table_follows_its_rule),
        cmocka_unit_test(a_full_table_says_when_it_has_room),
        cmocka_unit_test(the_most_refused_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
