/* SPDX-License-Identifier: MIT
   Wide slots where one thing just begins or ends: the last slot of a bucket, the first ns at which a slot may be given
   away, the last limit of a list; and calls for a key that has lost its slot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/algorithm/concurrent.h"
#include "unit/wide_rig.h"

static void *memory_of(const struct home *home)
{
    void *copy = malloc(home->bytes);
    assert_non_null(copy);
    return memcpy(copy, home->wide.memory, home->bytes);
}

static void assert_unchanged(const struct home *home, void *before)
{
    assert_memory_equal(home->wide.memory, before, home->bytes);
    free(before);
}

static weir_decision peek_at(struct home *home, uint64_t hash, const weir_plan *plan, uint64_t cost)
{
    weir_decision decision;
    const struct ask peek = {.now_ns = home->now_ns, .cost = cost, .peek = true};
    void *before = memory_of(home);
    assert_true(wide_ask(&home->wide, hash, rules_of(plan), &peek, &decision, &home->events));
    assert_unchanged(home, before);
    return decision;
}

/* ---- the slots of a bucket ---- */

/* The first of the words behind the tags is a fingerprint: no tag, even if a key has it as its hash. */
static void a_fingerprint_is_no_tag(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    open_table(&home, 2, &plan, false, TABLE_DENY);
    take_from(&home, 10, &plan, 2);
    assert_int_equal(take_from(&home, wide_fingerprint(rules_of(&plan)), &plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(home.events, TABLE_NEW);
    assert_int_equal(take_from(&home, 10, &plan, 2).verdict, WEIR_DENY);
    assert_int_equal(wide_live(&home.wide, S), 2);
    close_table(&home);
}

/* There is no slot, whatever is there. */
static void words_behind_the_last_slot(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    fill_two(&home, &plan, TABLE_DENY, false);
    uint64_t *word = floor_of(&home) + TAGS + home.wide.slots * home.wide.slot_words;
    const uint64_t *const end = (const uint64_t *)home.wide.memory + home.bytes / sizeof *word;
    assert_true(end - word > STATE);
    while (word < end) *word++ = 2 * S;
    assert_retry(take_from(&home, 30, &plan, 1), 9 * S);
    close_table(&home);
}

/* A key may have any hash. */
static void a_key_of_the_highest_bit(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    for (int kept = 0; kept < 2; kept++) {
        open_table(&home, 2, &plan, kept != 0, TABLE_DENY);
        take_from(&home, UINT64_C(1) << 63, &plan, 2);
        assert_int_equal(wide_live(&home.wide, S), 1);
        wide_forget(&home.wide, UINT64_C(1) << 63);
        assert_int_equal(wide_live(&home.wide, S), 0);
        close_table(&home);
    }
}

/* In whichever slot it is. */
static void evicts_the_second(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    open_table(&home, 2, &plan, false, TABLE_EVICT);
    take_from(&home, 10, &plan, 2);
    take_from(&home, 20, &plan, 1);
    take_from(&home, 30, &plan, 1);
    assert_int_equal(home.events, TABLE_FULL | TABLE_DISPLACED);
    assert_int_equal(take_from(&home, 10, &plan, 1).verdict, WEIR_DENY);
    close_table(&home);
}

/* ---- full: when, and for whom ---- */

/* Not before the floor, and once that is over not before the first slot is idle. */
static void deny_says_when_to_the_ns(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    fill_two(&home, &plan, TABLE_DENY, false);
    *floor_of(&home) = 30 * S;
    assert_retry(take_from(&home, 30, &plan, 1), 29 * S);
    *floor_of(&home) = home.now_ns;
    assert_retry(take_from(&home, 30, &plan, 1), 9 * S);
    home.now_ns = 10 * S - 1;
    assert_retry(take_from(&home, 30, &plan, 1), 1);
    home.now_ns++;
    assert_int_equal(take_from(&home, 30, &plan, 1).verdict, WEIR_ALLOW);
    close_table(&home);
}

/* At the floor itself a key begins in the table, as it would with no floor. */
static void the_table_before_the_part(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home, part;
    open_table(&home, 2, &plan, false, TABLE_DENY);
    open_part(&part, &home);
    *(uint64_t *)part.wide.part = part.now_ns;
    assert_int_equal(take_from(&part, 10, &plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(wide_live(&home.wide, S), 1);
    assert_int_equal(wide_live(&part.wide, S), 0);
    free(part.wide.part);
    close_table(&home);
}

/* Two that are idle together lose their slots one after the other: the second is idle no sooner than the first was. */
static void two_heirs_of_the_same_time(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    open_table(&home, 2, &plan, true, TABLE_INHERIT);
    home.now_ns = 0;
    take_from(&home, 10, &plan, 2);
    take_from(&home, 20, &plan, 2);
    home.now_ns = 5 * S;
    for (uint64_t key = 30; key <= 40; key += 10) {
        assert_int_equal(peek_at(&home, key, &plan, 1).verdict, WEIR_ALLOW); /* as it will */
        assert_int_equal(take_from(&home, key, &plan, 1).verdict, WEIR_ALLOW);
        assert_int_equal(home.events, TABLE_FULL | TABLE_DISPLACED);
    }
    assert_int_equal(take_from(&home, 50, &plan, 1).verdict, WEIR_DENY);
    close_table(&home);
}

/* What leaves nothing behind needs no slot, and is no event; a refusal that is counted does. */
static void who_needs_no_slot(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/h algorithm=sliding-log"),
                    counts = plan_of("2/h algorithm=sliding-log count-refused");
    struct home home;
    open_table(&home, 1, &plan, false, TABLE_EVICT);
    assert_int_equal(take_from(&home, 10, &plan, 0).verdict, WEIR_ALLOW);
    assert_int_equal(home.events, 0);
    assert_int_equal(take_from(&home, 10, &plan, 3).verdict, WEIR_NEVER);
    assert_int_equal(home.events, 0);
    take_from(&home, 10, &plan, 2);
    assert_int_equal(home.events, TABLE_NEW);
    assert_int_equal(take_from(&home, 20, &plan, 3).verdict, WEIR_NEVER);
    assert_int_equal(home.events, 0);
    assert_int_not_equal(take_from(&home, 20, &counts, 3).verdict, WEIR_ALLOW);
    assert_int_equal(home.events, TABLE_FULL | TABLE_DISPLACED);
    assert_int_equal(take_from(&home, 20, &counts, 1).verdict, WEIR_DENY);
    close_table(&home);
}

/* ---- in a file ---- */

/* But to the copy that does not count. */
static void a_refusal_writes_nothing(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    open_table(&home, 2, &plan, true, TABLE_DENY);
    take_from(&home, 10, &plan, 2);
    assert_retry(take_from(&home, 10, &plan, 1), 5 * S);
    void *before = memory_of(&home);
    home.now_ns += S;
    assert_retry(take_from(&home, 10, &plan, 1), 4 * S);
    assert_unchanged(&home, before);
    close_table(&home);
}

/* A state that refuses for ever does so until it is idle, and not a ns longer. */
static void a_damaged_state_until_it_is_idle(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    open_table(&home, 2, &plan, true, TABLE_DENY);
    take_from(&home, 10, &plan, 2);
    uint64_t *seat = seat_of(&home, &plan);
    assert_true(seat[IDLE_AT] == 11 * S);
    seat[STATE] = UINT64_MAX / 2;
    home.now_ns = 11 * S - 1;
    assert_int_equal(take_from(&home, 10, &plan, 1).verdict, WEIR_DENY);
    home.now_ns++;
    assert_int_equal(take_from(&home, 10, &plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(take_from(&home, 10, &plan, 1).verdict, WEIR_DENY);
    close_table(&home);
}

/* A time that is wrong gives as much once more, and is right from then on. */
static void a_damaged_time(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    open_table(&home, 2, &plan, true, TABLE_DENY);
    take_from(&home, 10, &plan, 2);
    seat_of(&home, &plan)[IDLE_AT] = 0;
    assert_int_equal(take_from(&home, 10, &plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(take_from(&home, 10, &plan, 1).verdict, WEIR_DENY);
    close_table(&home);
}

/* ---- corrections ---- */

/* How the state is not that of the call any more. */
enum lost { FORGOTTEN, CHANGED, DISPLACED, WAYS };

static const char *const written[][2] = {{"10/s burst=9 algorithm=bursty; 20/s burst=9 algorithm=bursty",
                                          "10/s burst=9 algorithm=bursty; 20/s burst=8 algorithm=bursty"},
                                         {"10/s burst=9; 20/s burst=9", "10/s burst=9; 20/s burst=8"}};

/* A call that cost 2 of each limit used 3 of the first, and so much of the second. */
static void settle_what_was_lost(struct home *home, enum lost lost, size_t text, uint64_t used_of_second)
{
    const weir_plan plan = plan_of(written[text][0]), other = plan_of(written[text][1]);
    const uint64_t cost[] = {2, 2}, actual[] = {3, used_of_second};
    open_table(home, 1, &plan, false, TABLE_INHERIT);
    home->now_ns = 10 * S;
    const weir_decision decision = take_from(home, 10, &plan, 2);
    if (lost == FORGOTTEN) wide_forget(&home->wide, 10);
    if (lost == CHANGED) take_from(home, 10, &other, 1);
    if (lost == DISPLACED) take_from(home, 20, &plan, 1);
    assert_int_equal(home->events, lost == FORGOTTEN ? TABLE_NEW : lost == CHANGED ? 0 : TABLE_FULL | TABLE_DISPLACED);
    assert_true(wide_settle(&home->wide, 10, rules_of(&plan), 10 * S, &decision, cost, actual, NULL));
}

/* What was used beyond the cost counts, and nothing is given back. */
static void nothing_back_of_what_was_lost(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < WAYS * LENGTH(written); i++) {
        const enum lost lost = (enum lost)(i % WAYS);
        struct home less, same;
        settle_what_was_lost(&less, lost, i / WAYS, 0);
        settle_what_was_lost(&same, lost, i / WAYS, 2);
        assert_memory_equal(less.wide.memory, same.wide.memory, less.bytes);
        close_table(&less);
        close_table(&same);
    }
}

/* Without more to count the state stays that of the other limit.  What is behind the costs is of no limit. */
static void no_more_under_another_limit(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("90/h algorithm=sliding-log"), other = plan_of("100/h algorithm=sliding-log");
    const uint64_t cost[] = {5, 0}, less[] = {3, 9}, same[] = {5, 9};
    struct home home;
    open_table(&home, 2, &other, false, TABLE_DENY);
    const weir_decision decision = take_from(&home, 10, &plan, 5);
    take_from(&home, 10, &other, 1);
    void *before = memory_of(&home);
    assert_true(wide_settle(&home.wide, 10, rules_of(&plan), S, &decision, cost, less, NULL));
    assert_true(wide_settle(&home.wide, 10, rules_of(&plan), S, &decision, cost, same, NULL));
    assert_unchanged(&home, before);
    close_table(&home);
}

/* They end where their page does: a word read behind one of them ends the program. */
static void a_cost_for_each_limit(void **unused)
{
    (void)unused;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    uint64_t *const actual = (uint64_t *)(void *)(pages + page) - 1, cost[] = {2};
    const weir_plan plan = plan_of("5/h algorithm=sliding-log");
    struct home home;
    open_table(&home, 2, &plan, false, TABLE_DENY);
    const weir_decision decision = take_from(&home, 10, &plan, 2);
    *actual = 1;
    assert_true(wide_settle(&home.wide, 10, rules_of(&plan), S, &decision, cost, actual, NULL));
    assert_int_equal(take_from(&home, 10, &plan, 1).remaining, 3);
    assert_int_equal(munmap(pages, 2 * page), 0);
    close_table(&home);
}

/* There can be no such state, and so no lock is missing. */
static void settles_too_many_words(void **unused)
{
    (void)unused;
    const weir_plan small = plan_of("1/s"), large = plan_of("100/h algorithm=sliding-log");
    const uint64_t cost[] = {1}, actual[] = {2};
    const weir_decision decision = {.verdict = WEIR_ALLOW, .start = {S}, .charged = 1};
    struct home home;
    open_table(&home, 2, &small, false, TABLE_DENY);
    void *before = memory_of(&home);
    assert_true(wide_settle(&home.wide, 10, rules_of(&large), S, &decision, cost, actual, NULL));
    assert_unchanged(&home, before);
    close_table(&home);
}

/* ---- slots that are held, beside a rate ---- */

struct owners {
    uint64_t asks, died;
};

static uint64_t owner_of(void *owners)
{
    return ((const struct owners *)owners)->asks;
}

static bool owner_lives(void *owners, uint64_t owner)
{
    return ((const struct owners *)owners)->died != owner;
}

/* Each take is noted under its owner, whose slots are free when it has died; a refusal is nobody's. */
static void slots_behind_a_rate(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/min burst=3; 2 concurrent lease=1h");
    for (int kept = 0; kept < 2; kept++) {
        struct owners owners = {.asks = 7};
        struct home home;
        open_table(&home, 2, &plan, kept != 0, TABLE_DENY);
        home.wide.owner = owner_of;
        home.wide.owner_lives = owner_lives;
        home.wide.owners = &owners;
        assert_int_equal(take_from(&home, 10, &plan, 2).end & CONCURRENT_OWNERS, 7);
        owners.asks = CONCURRENT_OWNERS;
        const weir_decision full = take_from(&home, 10, &plan, 1);
        assert_int_equal(full.verdict, WEIR_DENY);
        assert_int_equal(full.limit, 1);
        owners.died = 7;
        const weir_decision third = take_from(&home, 10, &plan, 1);
        assert_int_equal(third.verdict, WEIR_ALLOW);
        assert_int_equal(third.end & CONCURRENT_OWNERS, CONCURRENT_OWNERS);
        const weir_decision by_rate = take_from(&home, 10, &plan, 1);
        assert_int_equal(by_rate.verdict, WEIR_DENY);
        assert_int_equal(by_rate.limit, 0);
        home.wide.owner = NULL;
        assert_true(by_rate.end == take_from(&home, 10, &plan, 1).end);
        close_table(&home);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fingerprint_is_no_tag),
        cmocka_unit_test(words_behind_the_last_slot),
        cmocka_unit_test(a_key_of_the_highest_bit),
        cmocka_unit_test(evicts_the_second),
        cmocka_unit_test(deny_says_when_to_the_ns),
        cmocka_unit_test(the_table_before_the_part),
        cmocka_unit_test(two_heirs_of_the_same_time),
        cmocka_unit_test(who_needs_no_slot),
        cmocka_unit_test(a_refusal_writes_nothing),
        cmocka_unit_test(a_damaged_state_until_it_is_idle),
        cmocka_unit_test(a_damaged_time),
        cmocka_unit_test(nothing_back_of_what_was_lost),
        cmocka_unit_test(no_more_under_another_limit),
        cmocka_unit_test(a_cost_for_each_limit),
        cmocka_unit_test(settles_too_many_words),
        cmocka_unit_test(slots_behind_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
