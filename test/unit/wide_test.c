/* SPDX-License-Identifier: MIT
   The table of wide slots: how large it is, what it does when full, and what it says of it.

   Expected answers are worked out by hand; the hashes come from a generator whose seed is in here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/random.h"
#include "unit/wide_rig.h"

enum { MANY = 100000, LIMITS = 200 };

/* ---- sizes ---- */

static void bytes_of_sliding_windows(void **unused)
{
    (void)unused;
    uint64_t slots, words;
    const uint64_t bytes = wide_bytes(MANY, 3, false, &slots, &words);
    assert_int_equal(words, 6); /* tag, fingerprint, idle_at and the state */
    assert_true(slots >= MANY && bytes / MANY < 90);
    assert_true(wide_bytes(MANY, 3, true, &slots, &words) / MANY < 150);
    assert_int_equal(words, 11);
}

static void sizes_at_the_edges(void **unused)
{
    (void)unused;
    uint64_t slots, words;
    assert_true(wide_bytes(0, 3, false, &slots, &words) > 0);
    assert_int_equal(slots, 1);
    wide_bytes(64, 3, false, &slots, &words);
    assert_int_equal(slots, 64);
    wide_bytes(65, 3, false, &slots, &words);
    assert_int_equal(slots, 128); /* 25 for 16 keys, in whole buckets */
    /* Just one bucket, with room left in its last line. */
    const uint64_t bytes = wide_bytes(64, 1, false, &slots, &words);
    assert_int_equal(wide_slots_in(bytes, words, false), 64);
    assert_true(wide_bytes(UINT64_MAX, 3, true, &slots, &words) == UINT64_MAX);
    assert_true(wide_bytes(1, UINT64_MAX, true, &slots, &words) == UINT64_MAX);
    assert_true(wide_bytes(UINT64_C(1) << 40, UINT64_C(1) << 40, false, &slots, &words) == UINT64_MAX);
}

/* A slot for each key of one bucket; for more keys two, in whole buckets. */
static void slots_of_a_part(void **unused)
{
    (void)unused;
    assert_int_equal(wide_part_slots(0), 1);
    for (uint64_t keys = 1; keys <= 64; keys++) assert_int_equal(wide_part_slots(keys), keys);
    assert_int_equal(wide_part_slots(65), 192);
    assert_int_equal(wide_part_slots(96), 192);
    assert_int_equal(wide_part_slots(97), 256);
}

static void too_many_words(void **unused)
{
    (void)unused;
    const weir_plan small = plan_of("2/s algorithm=sliding-window"), large = plan_of("100/s algorithm=sliding-log");
    struct home home;
    open_table(&home, 10, &small, false, TABLE_DENY);
    weir_decision decision;
    const struct ask ask = {.now_ns = S, .cost = 1};
    assert_false(wide_ask(&home.wide, 1, rules_of(&large), &ask, &decision, &home.events));
    const weir_plan slots = plan_of("100 concurrent lease=1min");
    uint64_t count = 1;
    assert_true(wide_hold(&home.wide, 1, rules_of(&slots), S, 1, HOLD_RENEW, &count));
    assert_int_equal(count, 0);
    close_table(&home);
}

static void impossible_sizes(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/s algorithm=sliding-window");
    struct home home;
    open_table(&home, 200, &plan, true, TABLE_DENY);
    assert_int_equal(wide_part_bytes(&home.wide, 0), 0);
    assert_int_equal(wide_part_bytes(&home.wide, 65), 0);
    assert_int_equal(wide_part_bytes(&home.wide, 128), 2 * wide_part_bytes(&home.wide, 64));
    assert_int_equal(wide_slots_in(home.bytes, 0, true), 0);
    assert_int_equal(wide_slots_in(home.bytes, 6, true), 0); /* two copies of a word of state take 7 */
    assert_int_equal(wide_slots_in(8 * 100, 101, true), 0);
    assert_int_equal(wide_slots_in(home.bytes, home.bytes, true), 0);
    assert_int_equal(wide_slots_in(home.bytes, UINT64_MAX, true), 0);
    assert_int_equal(wide_slots_in(UINT64_MAX, UINT64_MAX, false), 0);
    assert_true(wide_slots_in(home.bytes, 7, true) != 0);
    close_table(&home);
}

/* So many keys as it is made for: at most 1 in 1000 finds no slot. */
static void nearly_all_find_a_slot(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/h algorithm=sliding-window");
    uint64_t seed = 20261121;
    struct home home;
    open_table(&home, MANY, &plan, false, TABLE_DENY);
    uint64_t full = 0;
    for (int i = 0; i < MANY; i++) {
        take_from(&home, random_word(&seed), &plan, 1);
        full += (home.events & TABLE_FULL) != 0;
    }
    printf("%d keys: %.1f bytes each, %d of 100000 found no slot\n", MANY, (double)home.bytes / MANY, (int)full);
    assert_true(full <= MANY / 1000);
    assert_int_equal(wide_live(&home.wide, S), MANY - full);
    assert_int_equal(wide_live(&home.wide, S * 7200), 0);
    close_table(&home);
}

/* ---- full ---- */

static void deny_says_when(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    fill_two(&home, &plan, TABLE_DENY, false);
    const weir_decision decision = take_from(&home, 30, &plan, 1);
    assert_retry(decision, 9 * S);
    assert_int_equal(home.events, TABLE_FULL);
    home.now_ns += decision.retry_ns;
    assert_int_equal(take_from(&home, 30, &plan, 1).verdict, WEIR_ALLOW);
    assert_int_equal(home.events, TABLE_NEW);
    close_table(&home);
}

static void allow_leaves_no_trace(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    fill_two(&home, &plan, TABLE_ALLOW, false);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(take_from(&home, 30, &plan, 2).verdict, WEIR_ALLOW);
        assert_int_equal(home.events, TABLE_FULL);
    }
    assert_int_equal(take_from(&home, 30, &plan, 3).verdict, WEIR_NEVER);
    assert_int_equal(take_from(&home, 10, &plan, 2).verdict, WEIR_DENY);
    close_table(&home);
}

static void evict_forgets_who_is_idle_first(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    fill_two(&home, &plan, TABLE_EVICT, true);
    assert_int_equal(take_from(&home, 30, &plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(home.events, TABLE_FULL | TABLE_DISPLACED);
    assert_int_equal(take_from(&home, 20, &plan, 1).verdict, WEIR_DENY); /* still there */
    assert_int_equal(take_from(&home, 10, &plan, 2).verdict, WEIR_ALLOW);
    close_table(&home);
}

static void an_heir_owes_what_was_owed(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    fill_two(&home, &plan, TABLE_INHERIT, true);
    assert_retry(take_from(&home, 30, &plan, 1), 4 * S); /* as key 1 would be */
    assert_int_equal(home.events, TABLE_FULL);
    home.now_ns = 5 * S;
    assert_int_equal(take_from(&home, 30, &plan, 1).verdict, WEIR_ALLOW); /* now it is his: all back at 15 s */
    assert_int_equal(home.events, TABLE_FULL | TABLE_DISPLACED);
    assert_retry(take_from(&home, 30, &plan, 1), 5 * S);
    /* Key 1 is without.  Nothing is given away as fresh before 10 s, not even a slot that was forgotten. */
    wide_forget(&home.wide, 20);
    assert_int_not_equal(take_from(&home, 10, &plan, 2).verdict, WEIR_ALLOW);
    home.now_ns = 10 * S;
    assert_int_equal(take_from(&home, 10, &plan, 2).verdict, WEIR_ALLOW);
    assert_int_equal(home.events, TABLE_NEW);
    close_table(&home);
}

/* Nobody inherits from another limit. */
static void no_heir_of_another_limit(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2"), other = plan_of("1/5s burst=3");
    struct home home;
    fill_two(&home, &plan, TABLE_INHERIT, false);
    assert_retry(take_from(&home, 30, &other, 1), 9 * S);
    assert_int_equal(home.events, TABLE_FULL);
    close_table(&home);
}

/* As a damaged file may say: until the end of time no slot is given away as fresh. */
static void no_slot_and_none_in_use(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home;
    for (int i = 0; i < 2; i++) {
        const enum table_when_full when_full = i == 0 ? TABLE_DENY : TABLE_EVICT;
        open_table(&home, 2, &plan, false, when_full);
        take_from(&home, 10, &plan, 1);
        wide_forget(&home.wide, 10);
        floor_of(&home)[0] = UINT64_MAX;
        const weir_decision decision = take_from(&home, 30, &plan, 1);
        assert_int_equal(home.events, TABLE_FULL);
        if (when_full == TABLE_EVICT) assert_int_equal(decision.verdict, WEIR_ALLOW);
        else assert_retry(decision, WEIR_FOREVER);
        assert_int_equal(wide_live(&home.wide, S), 0);
        close_table(&home);
    }
}

/* ---- what leaves no trace ---- */

/* Not even what takes its cost whatever the balance. */
static void a_peek_evicts_nobody(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    const uint64_t each[WEIR_LIMITS_MAX] = {1};
    struct home home;
    weir_decision decision;
    fill_two(&home, &plan, TABLE_EVICT, false);
    const struct ask peek = {.now_ns = S, .each = each, .peek = true, .tenant = ASK_OWES};
    uint64_t *before = malloc(home.bytes);
    memcpy(before, home.wide.memory, home.bytes);
    assert_true(wide_ask(&home.wide, 30, rules_of(&plan), &peek, &decision, &home.events));
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_memory_equal(home.wide.memory, before, home.bytes);
    free(before);
    close_table(&home);
}

static void no_slot_for_nothing(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("2/s algorithm=sliding-log"),
                    counts = plan_of("2/s algorithm=sliding-log count-refused");
    struct home home;
    weir_decision decision;
    open_table(&home, 10, &plan, false, TABLE_DENY);
    const struct ask peek = {.now_ns = S, .cost = 1, .peek = true};
    assert_true(wide_ask(&home.wide, 1, rules_of(&plan), &peek, &decision, &home.events));
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(take_from(&home, 2, &plan, 3).verdict, WEIR_NEVER);
    assert_int_equal(take_from(&home, 3, &plan, 0).verdict, WEIR_ALLOW);
    assert_int_equal(wide_live(&home.wide, S), 0);
    take_from(&home, 4, &counts, 3);
    assert_int_equal(wide_live(&home.wide, S), 1);
    close_table(&home);
}

/* ---- other limits than before ---- */

static void a_large_log_is_carried_over(void **unused)
{
    (void)unused;
    const weir_plan less = plan_of("150/min algorithm=sliding-log"), more = plan_of("200/min algorithm=sliding-log");
    struct home home;
    for (int kept = 0; kept < 2; kept++) {
        open_table(&home, 3, &more, kept != 0, TABLE_DENY);
        assert_int_equal(take_from(&home, 7, &less, 140).verdict, WEIR_ALLOW);
        assert_int_equal(take_from(&home, 7, &less, 11).verdict, WEIR_DENY);
        assert_int_equal(take_from(&home, 7, &more, 61).verdict, WEIR_DENY);
        assert_int_equal(take_from(&home, 7, &more, 60).remaining, 0);
        home.now_ns += 60 * S;
        assert_int_equal(take_from(&home, 7, &less, 150).verdict, WEIR_ALLOW);
        close_table(&home);
    }
}

static weir_plan numbered_plan(int number, const char *more)
{
    char text[80];
    snprintf(text, sizeof text, "1/%dmin algorithm=sliding-log%s", number + 1, more);
    return plan_of(text);
}

static uint64_t own_key(int number)
{
    return ((uint64_t)number + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint32_t take_numbered(struct home *home, int number, const char *more)
{
    const weir_plan plan = numbered_plan(number, more);
    return take_from(home, own_key(number), &plan, 1).verdict;
}

static bool knows(const struct home *home, const weir_plan *plan)
{
    const struct wide_plans plans = wide_plans_at(home->wide.memory, home->wide.plan_sets);
    struct wide_plan found;
    return wide_plans_find(plans, wide_fingerprint(rules_of(plan)), &found);
}

static bool is_remembered(struct wide_plans plans, int number)
{
    const weir_plan plan = numbered_plan(number, "");
    struct wide_plan found;
    return wide_plans_find(plans, wide_fingerprint(rules_of(&plan)), &found);
}

static int known_of(const struct home *home, int count)
{
    int known = 0;
    for (int i = 0; i < count; i++) {
        const weir_plan plan = numbered_plan(i, "");
        known += knows(home, &plan);
    }
    return known;
}

/* As a service does: two hundred limits asked in turn, then all of them changed. */
static void debts_of_many_plans(void **unused)
{
    (void)unused;
    const weir_plan longest = numbered_plan(0, " gap=1s");
    struct home home;
    open_table(&home, MANY, &longest, true, TABLE_DENY);
    for (int i = 0; i < LIMITS; i++) assert_int_equal(take_numbered(&home, i, ""), WEIR_ALLOW);
    for (int i = 0; i < LIMITS; i++) assert_int_equal(take_numbered(&home, i, ""), WEIR_DENY);
    for (int i = 0; i < LIMITS; i++) assert_int_equal(take_numbered(&home, i, " gap=1s"), WEIR_DENY);
    assert_int_equal(known_of(&home, LIMITS), LIMITS);
    close_table(&home);
}

/* All of 256 are remembered in a table for as many keys; of as many as there are ways nearly all. */
static void a_few_hundred_plans_are_known(void **unused)
{
    (void)unused;
    const weir_plan longest = numbered_plan(0, "");
    struct home home;
    open_table(&home, 256, &longest, false, TABLE_DENY);
    assert_int_equal(home.wide.plan_sets, WIDE_SETS_SOME);
    for (int i = 0; i < 256; i++) take_numbered(&home, i, "");
    assert_int_equal(known_of(&home, 256), 256);
    for (int i = 256; i < WIDE_SETS_SOME * WIDE_WAYS; i++) take_numbered(&home, i, "");
    assert_true(known_of(&home, WIDE_SETS_SOME * WIDE_WAYS) >= 420);
    close_table(&home);
}

/* More limits than it remembers: a key whose own was forgotten begins anew, one whose own is asked for does not. */
static void a_forgotten_plan(void **unused)
{
    (void)unused;
    const weir_plan first = plan_of("1/h algorithm=sliding-log"), last = plan_of("1/h algorithm=sliding-log gap=1s");
    struct home home;
    open_table(&home, 40, &first, true, TABLE_DENY);
    assert_int_equal(home.wide.plan_sets, WIDE_SETS_FEW);
    take_from(&home, 2, &first, 1);
    take_from(&home, 4, &first, 1);
    assert_int_equal(take_from(&home, 2, &last, 1).verdict, WEIR_DENY);
    for (int i = 0; i < 59; i++) take_numbered(&home, i, "");
    assert_false(knows(&home, &first));
    assert_int_equal(take_from(&home, 2, &last, 1).verdict, WEIR_DENY); /* written under it */
    assert_int_equal(take_from(&home, 4, &last, 1).verdict, WEIR_ALLOW);
    close_table(&home);
}

/* What is asked for again and again stays while others come once and go. */
static void who_is_asked_for_stays(void **unused)
{
    (void)unused;
    const weir_plan often = plan_of("1/h algorithm=sliding-log");
    struct home home;
    open_table(&home, 1, &often, false, TABLE_DENY);
    for (int i = 0; i < 40 * LIMITS; i++) {
        take_from(&home, 2, &often, 1);
        const weir_plan once = numbered_plan(100 + i, "");
        take_from(&home, 4, &once, 1);
        assert_true(knows(&home, &often));
        assert_true(knows(&home, &once));
    }
    close_table(&home);
}

/* A page more than was asked for is recognised as the same; and the plans take no more than they are said to. */
static void sets_for_every_size(void **unused)
{
    (void)unused;
    uint64_t before = 0, slots, words;
    for (uint64_t keys = 1; keys < 400000; keys += 1 + keys / 50) {
        const uint64_t bytes = wide_bytes(keys, 3, true, &slots, &words), sets = wide_sets_in(bytes);
        assert_true(sets >= before && (sets & (sets - 1)) == 0);
        assert_int_equal(wide_sets_beside(bytes - wide_plans_bytes(sets)), sets);
        assert_int_equal(wide_sets_in(bytes + 4095), sets);
        assert_true(wide_slots_in(bytes, words, true) >= slots);
        assert_true(sets <= WIDE_SETS_SOME || wide_plans_bytes(sets) <= bytes / 8);
        before = sets;
    }
    assert_int_equal(before, WIDE_SETS_MANY);
}

/* Whoever can write to a file can also make a fingerprint fit. */
static void a_plan_that_is_made_up(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("5/h algorithm=sliding-log");
    struct home home;
    open_table(&home, 1, &plan, false, TABLE_DENY);
    take_from(&home, 6, &plan, 5);
    struct rule huge[WEIR_LIMITS_MAX];
    const uint64_t sizes[] = {1000000, UINT64_MAX};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        for (int limit = 0; limit < WEIR_LIMITS_MAX; limit++) huge[limit] = rules_of(&plan).rule[0];
        huge[0].burst = sizes[i];
        const struct rules made_up = {huge, 1};
        const uint64_t before = wide_plans_bytes(home.wide.plan_sets);
        memset(home.wide.memory, 0, before);
        wide_plans_remember(wide_plans_at(home.wide.memory, home.wide.plan_sets), wide_fingerprint(made_up), made_up);
        uint64_t *word = home.wide.memory, own = wide_fingerprint(rules_of(&plan));
        for (uint64_t at = before / sizeof own; at < home.bytes / sizeof own; at++) {
            if (word[at] == own) word[at] = wide_fingerprint(made_up);
        }
        assert_int_equal(take_from(&home, 6, &plan, 5).verdict, WEIR_ALLOW); /* as if nobody knew it */
        assert_int_equal(take_from(&home, 6, &plan, 1).verdict, WEIR_DENY);
    }
    close_table(&home);
}

/* Who died while he wrote it, or a damaged file: any other word, and nobody knows it. */
static void a_damaged_plan(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("5/h algorithm=sliding-log");
    struct home home;
    open_table(&home, 1, &plan, false, TABLE_DENY);
    take_from(&home, 6, &plan, 5);
    uint64_t *first = (void *)wide_plans_at(home.wide.memory, home.wide.plan_sets).plan, damaged = 0;
    const uint64_t words = WIDE_SETS_FEW * WIDE_WAYS * sizeof(struct wide_plan) / sizeof *first;
    for (uint64_t i = 0; i < words; i++) {
        assert_true(knows(&home, &plan));
        first[i] ^= 1;
        damaged += !knows(&home, &plan);
        first[i] ^= 1;
    }
    assert_true(damaged >= RULE_WORDS); /* the count, and all of the rule but which change of it this is */
    close_table(&home);
}

/* Who dies while he writes one in another's place has said first that the other is gone: what is known is whole. */
static void a_plan_that_is_written_over(void **unused)
{
    (void)unused;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = wide_plans_bytes(WIDE_SETS_SOME);
    const int count = 3 * WIDE_SETS_SOME * WIDE_WAYS;
    enum { SURVIVED = 100 };
    int status = 0, before = 0, after = 0, free_ways = 0;
    char *memory = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    /* So that the plans begin at a page. */
    const struct wide_plans plans =
        wide_plans_at(memory + page - WIDE_SETS_SOME * sizeof(struct wide_set), WIDE_SETS_SOME);
    for (int i = 0; i < count; i++) {
        const weir_plan plan = numbered_plan(i, "");
        wide_plans_remember(plans, wide_fingerprint(rules_of(&plan)), rules_of(&plan));
    }
    for (int i = 0; i < count; i++) before += is_remembered(plans, i);
    const pid_t child = fork();
    if (child == 0) {
        const weir_plan plan = numbered_plan(count, "");
        signal(SIGSEGV, SIG_DFL);
        close(STDERR_FILENO); /* a sanitizer that has this signal for itself would tell of it */
        if (mprotect(memory + page, bytes - page, PROT_READ) == 0)
            wide_plans_remember(plans, wide_fingerprint(rules_of(&plan)), rules_of(&plan));
        _exit(SURVIVED);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == SURVIVED);
    for (int i = 0; i <= count; i++) after += is_remembered(plans, i);
    for (uint64_t i = 0; i < WIDE_SETS_SOME * WIDE_WAYS; i++)
        free_ways += atom_load(&plans.set[i / WIDE_WAYS].fingerprint[i % WIDE_WAYS]) == 0;
    assert_int_equal(free_ways, 1); /* for the next */
    assert_int_equal(before, WIDE_SETS_SOME * WIDE_WAYS);
    assert_int_equal(after, before - 1);
    munmap(memory, page + bytes);
}

/* Where the wall's clock is differs in each process, by as much as it takes to look: it is the same limit. */
static void the_wall_may_differ(void **unused)
{
    (void)unused;
    weir_plan plan = plan_of("2/min algorithm=sliding-window"), elsewhere = plan;
    algorithm_align(&plan_inside(&plan)->rule[0], 0, 7);
    algorithm_align(&plan_inside(&elsewhere)->rule[0], 0, 9);
    assert_true(wide_fingerprint(rules_of(&plan)) == wide_fingerprint(rules_of(&elsewhere)));
    assert_true(wide_fingerprint(rules_of(&plan)) != 0);
}

/* ---- corrections ---- */

static void settles(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("5/min algorithm=sliding-log");
    struct home home;
    open_table(&home, 4, &plan, true, TABLE_DENY);
    const uint64_t cost[] = {5}, three[] = {3}, six[] = {6};
    weir_decision decision = take_from(&home, 6, &plan, 5);
    wide_settle(&home.wide, 6, rules_of(&plan), S, &decision, cost, three, NULL);
    assert_int_equal(take_from(&home, 6, &plan, 2).remaining, 0);
    wide_forget(&home.wide, 6);
    wide_settle(&home.wide, 6, rules_of(&plan), S, &decision, cost, three, NULL);
    assert_int_equal(wide_live(&home.wide, S), 0); /* nothing to give back to */
    wide_settle(&home.wide, 6, rules_of(&plan), S, &decision, cost, six, NULL);
    assert_int_equal(take_from(&home, 6, &plan, 1).remaining, 3);                     /* one more than was paid */
    const struct ask charge = {.now_ns = S, .cost = 1, .peek = true, .charge = true}; /* who charges does not peek */
    assert_true(wide_ask(&home.wide, 6, rules_of(&plan), &charge, &decision, &home.events));
    assert_int_equal(take_from(&home, 6, &plan, 1).remaining, 1);
    close_table(&home);
}

/* An idle state that refuses what a fresh one lets wait may be sound; what a fresh one lets through at once shows that
   it is not. */
static void a_damaged_idle_state(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("5/s algorithm=cycle");
    struct home home;
    weir_decision decision;
    open_table(&home, 4, &plan, true, TABLE_DENY);
    take_from(&home, 6, &plan, 5);
    uint64_t *seat = seat_of(&home, &plan);
    seat[STATE + 1] = INT64_MAX; /* sold */
    home.now_ns = seat[IDLE_AT] + S / 2;
    const struct ask waits = {.now_ns = home.now_ns, .cost = 10, .wait_max_ns = 2 * S};
    assert_true(wide_ask(&home.wide, 6, rules_of(&plan), &waits, &decision, &home.events));
    assert_int_equal(decision.verdict, WEIR_DENY);
    assert_true(seat_of(&home, &plan)[STATE + 1] == INT64_MAX);
    assert_int_equal(take_from(&home, 6, &plan, 5).verdict, WEIR_ALLOW);
    assert_int_equal(take_from(&home, 6, &plan, 1).verdict, WEIR_DENY);
    close_table(&home);
}

/* Lists that no text makes: a limit without a state before others, and one whose ticks are longer than a ns. */
static void any_list_is_carried_over(void **unused)
{
    (void)unused;
    static const struct {
        const char *from, *to;
        uint64_t rounded; /* a tick that has begun counts as a permit */
    } rows[] = {{"2/h algorithm=sliding-window", "3/h algorithm=sliding-window", 0},
                {"1/s burst=9000000000", "1/s burst=9000000001", 1}};
    const weir_plan all = plan_of("unlimited");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const weir_plan from = plan_of(rows[i].from), to = plan_of(rows[i].to);
        const struct rule before[] = {rules_of(&all).rule[0], rules_of(&from).rule[0]},
                          after[] = {rules_of(&all).rule[0], rules_of(&to).rule[0]};
        struct home home;
        weir_decision decision;
        open_table(&home, 4, &from, false, TABLE_DENY);
        const struct ask one = {.now_ns = S, .cost = 1};
        for (int take = 0; take < 2; take++)
            assert_true(wide_ask(&home.wide, 6, (struct rules){before, 2}, &one, &decision, &home.events));
        const uint64_t left = decision.remaining;
        assert_true(wide_ask(&home.wide, 6, (struct rules){after, 2}, &one, &decision, &home.events));
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_int_equal(home.events, 0);
        assert_int_equal(decision.remaining, left - rows[i].rounded); /* one more permit, and one less left */
        close_table(&home);
    }
}

/* ---- locks that cannot be had ---- */

static weir_plan log_before, log_after, slots_before, slots_after;

static void take_before(struct home *home)
{
    assert_int_equal(take_from(home, 6, &log_before, 1).verdict, WEIR_ALLOW);
}

static void hold_before(struct home *home)
{
    assert_int_equal(take_from(home, 6, &slots_before, 1).verdict, WEIR_ALLOW);
}

/* True: it says that a lock could not be had. */
static bool ask_stuck(struct home *home, const weir_plan *plan, bool peek)
{
    weir_decision decision;
    const struct ask ask = {.now_ns = home->now_ns, .cost = 1, .peek = peek};
    assert_true(wide_ask(&home->wide, 6, rules_of(plan), &ask, &decision, &home->events));
    const bool stuck = (home->events & TABLE_STUCK) != 0;
    assert_int_equal(decision.verdict, stuck ? WEIR_DENY : WEIR_ALLOW);
    assert_true((decision.retry_ns != 0) == stuck);
    return stuck;
}

static bool takes(struct home *home)
{
    return ask_stuck(home, &log_after, false);
}

static bool peeks_at_slots(struct home *home)
{
    return ask_stuck(home, &slots_before, true);
}

static bool uses_more(struct home *home)
{
    const uint64_t cost[] = {1}, actual[] = {2};
    const weir_decision decision = {.verdict = WEIR_ALLOW, .start = {S}, .charged = 1};
    return !wide_settle(&home->wide, 6, rules_of(&log_after), home->now_ns, &decision, cost, actual, NULL);
}

static bool renews(struct home *home)
{
    uint64_t count = 7;
    const bool done = wide_hold(&home->wide, 6, rules_of(&slots_after), home->now_ns, 1, HOLD_RENEW, &count);
    assert_int_equal(count, 0); /* nobody's id */
    return !done;
}

static bool forgets(struct home *home)
{
    wide_forget(&home->wide, 6);
    return fails_in == 0;
}

/* Each lock of a call in turn: the call says so, keeps no other one, and leaves each state as it was. */
static void a_lock_that_cannot_be_had(void **unused)
{
    (void)unused;
    static const struct {
        void (*before)(struct home *home);
        bool (*act)(struct home *home);
        int locks, in_part; /* how many the call needs, of a table and of a part */
    } rows[] = {{NULL, takes, 3, 4},         {take_before, takes, 4, 4},     {hold_before, peeks_at_slots, 2, 2},
                {NULL, uses_more, 3, 4},     {take_before, uses_more, 4, 4}, {NULL, renews, 1, 2},
                {hold_before, renews, 4, 4}, {take_before, forgets, 1, 1},   {NULL, forgets, 1, 2}};
    log_before = plan_of("90/h algorithm=sliding-log");
    log_after = plan_of("100/h algorithm=sliding-log");
    slots_before = plan_of("90 concurrent lease=1h");
    slots_after = plan_of("100 concurrent lease=1h");
    for (size_t i = 0; i < 2 * LENGTH(rows); i++) {
        const bool in_part = i % 2 != 0;
        const int locks = in_part ? rows[i / 2].in_part : rows[i / 2].locks;
        for (int failing = 1; failing <= locks + 1; failing++) {
            struct home home, part;
            open_table(&home, 40, &slots_after, false, TABLE_DENY);
            if (rows[i / 2].before != NULL) rows[i / 2].before(&home);
            open_part(&part, &home);
            const size_t size = home.bytes - (size_t)((char *)floor_of(&home) - (char *)home.wide.memory);
            void *states = malloc(size);
            memcpy(states, floor_of(&home), size);
            fails_in = failing;
            const bool stuck = rows[i / 2].act(in_part ? &part : &home);
            fails_in = 0;
            assert_int_equal(stuck, failing <= locks);
            if (stuck) assert_memory_equal(floor_of(&home), states, size);
            if (stuck)
                assert_false(wide_state_touched(part.wide.part, wide_part_bytes(&home.wide, home.wide.slots) / 8));
            for (int lock = 0; lock < WIDE_LOCKS; lock++) assert_int_equal(home.held[lock] + part.held[lock], 0);
            free(states);
            free(part.wide.part);
            close_table(&home);
        }
    }
}

/* A key that may have been displaced in the table does not begin anew in its part. */
static void a_part_beside_a_displaced_key(void **unused)
{
    (void)unused;
    const weir_plan plan = plan_of("1/5s burst=2");
    struct home home, part;
    fill_two(&home, &plan, TABLE_INHERIT, false);
    home.now_ns = 5 * S;
    take_from(&home, 30, &plan, 1); /* takes key 10's slot over, which is idle at 10 s */
    assert_int_equal(home.events, TABLE_FULL | TABLE_DISPLACED);
    open_part(&part, &home);
    assert_int_not_equal(take_from(&part, 10, &plan, 2).verdict, WEIR_ALLOW);
    part.now_ns = 10 * S;
    assert_int_equal(take_from(&part, 10, &plan, 2).verdict, WEIR_ALLOW);
    free(part.wide.part);
    close_table(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_sliding_windows),
        cmocka_unit_test(sizes_at_the_edges),
        cmocka_unit_test(slots_of_a_part),
        cmocka_unit_test(too_many_words),
        cmocka_unit_test(impossible_sizes),
        cmocka_unit_test(nearly_all_find_a_slot),
        cmocka_unit_test(deny_says_when),
        cmocka_unit_test(allow_leaves_no_trace),
        cmocka_unit_test(evict_forgets_who_is_idle_first),
        cmocka_unit_test(an_heir_owes_what_was_owed),
        cmocka_unit_test(no_heir_of_another_limit),
        cmocka_unit_test(no_slot_and_none_in_use),
        cmocka_unit_test(a_peek_evicts_nobody),
        cmocka_unit_test(no_slot_for_nothing),
        cmocka_unit_test(a_large_log_is_carried_over),
        cmocka_unit_test(debts_of_many_plans),
        cmocka_unit_test(a_few_hundred_plans_are_known),
        cmocka_unit_test(a_forgotten_plan),
        cmocka_unit_test(who_is_asked_for_stays),
        cmocka_unit_test(sets_for_every_size),
        cmocka_unit_test(a_plan_that_is_made_up),
        cmocka_unit_test(a_damaged_plan),
        cmocka_unit_test(a_plan_that_is_written_over),
        cmocka_unit_test(the_wall_may_differ),
        cmocka_unit_test(settles),
        cmocka_unit_test(a_damaged_idle_state),
        cmocka_unit_test(any_list_is_carried_over),
        cmocka_unit_test(a_lock_that_cannot_be_had),
        cmocka_unit_test(a_part_beside_a_displaced_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
