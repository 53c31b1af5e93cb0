/* SPDX-License-Identifier: MIT
   The sets of rules that a table of wide slots remembers: where they are, which is evicted, and their fingerprints.
   Files keep them; so fingerprints and sets stay what they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "share/table/wide_plans.h"
#include "unit/plans.h"

static struct wide_plans make_plans(uint64_t sets)
{
    const uint64_t bytes = wide_plans_bytes(sets);
    void *memory = aligned_alloc(sizeof(struct wide_set), bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    return wide_plans_at(memory, sets);
}

static void free_plans(struct wide_plans plans)
{
    free(plans.set);
}

/* ---- sizes ---- */

static void whole_lines(void **unused)
{
    (void)unused;
    for (uint64_t sets = WIDE_SETS_FEW; sets <= WIDE_SETS_MANY; sets *= 2) {
        const uint64_t needed = sets * (sizeof(struct wide_set) + WIDE_WAYS * sizeof(struct wide_plan));
        const uint64_t bytes = wide_plans_bytes(sets), line = sizeof(struct wide_set);
        assert_true(bytes % line == 0 && bytes >= needed && bytes - needed < line);
    }
}

/* Some from 16 KiB of slots on; more where they take an eighth of what the slots take, and not a byte more. */
static void how_many_sets(void **unused)
{
    (void)unused;
    assert_int_equal(wide_sets_beside(0), WIDE_SETS_FEW);
    assert_int_equal(wide_sets_beside((16 << 10) - 1), WIDE_SETS_FEW);
    assert_int_equal(wide_sets_beside(16 << 10), WIDE_SETS_SOME);
    for (uint64_t sets = 2 * (uint64_t)WIDE_SETS_SOME; sets <= WIDE_SETS_MANY; sets *= 2) {
        assert_int_equal(wide_sets_beside(8 * wide_plans_bytes(sets) - 1), sets / 2);
        assert_int_equal(wide_sets_beside(8 * wide_plans_bytes(sets)), sets);
    }
    assert_int_equal(wide_sets_beside(UINT64_MAX), WIDE_SETS_MANY);
    assert_int_equal(wide_sets_in(0), WIDE_SETS_FEW);
}

/* ---- where a plan is ---- */

/* The first by the lower half; the second is one of the others, by the upper half. */
static void homes_of(uint64_t fingerprint, uint64_t sets, uint64_t home[2])
{
    const uint64_t upper = fingerprint >> 32, halves = UINT64_C(1) << 32;
    home[0] = fingerprint % sets;
    home[1] = (home[0] + 1 + upper * (sets - 1) / halves) % sets;
}

/* True if the plans look for this fingerprint in that set. */
static bool looks_in(struct wide_plans plans, uint64_t set, uint64_t fingerprint)
{
    struct atom *word = &plans.set[set].fingerprint[fingerprint % WIDE_WAYS];
    atom_store(word, fingerprint);
    const bool known = wide_plans_know(plans, fingerprint);
    atom_store(word, 0);
    return known;
}

static void check_homes(struct wide_plans plans, uint64_t fingerprint, uint64_t first, uint64_t second)
{
    uint64_t home[2];
    homes_of(fingerprint, plans.sets, home);
    assert_int_equal(home[0], first);
    assert_int_equal(home[1], second);
    for (uint64_t set = 0; set < plans.sets; set++)
        assert_int_equal(looks_in(plans, set, fingerprint), set == first || set == second);
}

/* Each other set has the same share of the upper halves, here with its lowest and its highest. */
static void two_sets_for_each(void **unused)
{
    (void)unused;
    const uint64_t halves = UINT64_C(1) << 32;
    for (uint64_t sets = WIDE_SETS_FEW; sets <= WIDE_SETS_MANY; sets *= 2) {
        const struct wide_plans plans = make_plans(sets);
        for (uint64_t other = 0; other < sets - 1; other++) {
            const uint64_t first = other * 5 % sets, second = (first + 1 + other) % sets;
            const uint64_t lower = 7 * sets + first, lowest = multiply_divide_ceil(other, halves, sets - 1),
                           highest = multiply_divide_ceil(other + 1, halves, sets - 1) - 1;
            check_homes(plans, lowest << 32 | lower, first, second);
            check_homes(plans, highest << 32 | lower, first, second);
        }
        free_plans(plans);
    }
}

/* ---- eviction ---- */

enum { FIRST_SET = 2, SECOND_SET = 3, BOTH = 2 * WIDE_WAYS, PLANS = 2 * BOTH };
enum { ALL_USED = (1 << BOTH) - 1, STEP = 11 };

static struct rule rule_of(uint64_t burst)
{
    return (struct rule){.algorithm = ALGORITHM_GCRA, .burst = burst};
}

/* Rules whose fingerprints all have the same two sets. */
struct rivals {
    struct rule rule[PLANS];
    uint64_t fingerprint[PLANS];
};

static void find_rivals(struct rivals *rivals)
{
    uint64_t burst = 0;
    for (int i = 0; i < PLANS; burst++) {
        uint64_t home[2];
        rivals->rule[i] = rule_of(burst);
        rivals->fingerprint[i] = wide_fingerprint((struct rules){&rivals->rule[i], 1});
        homes_of(rivals->fingerprint[i], WIDE_SETS_FEW, home);
        i += least(home[0], home[1]) == FIRST_SET && most(home[0], home[1]) == SECOND_SET;
    }
}

static void remember(struct wide_plans plans, const struct rivals *rivals, int i)
{
    struct rule rule = rivals->rule[i];
    wide_plans_remember(plans, rivals->fingerprint[i], (struct rules){&rule, 1});
}

/* Without marking it as used. */
static bool is_there(struct wide_plans plans, uint64_t fingerprint)
{
    bool there = false;
    for (uint64_t set = FIRST_SET; set <= SECOND_SET; set++)
        for (int way = 0; way < WIDE_WAYS; way++)
            there = there || atom_load(&plans.set[set].fingerprint[way]) == fingerprint;
    return there;
}

static int how_many_there(struct wide_plans plans, const struct rivals *rivals, int from, int to)
{
    int there = 0;
    for (int i = from; i < to; i++) there += is_there(plans, rivals->fingerprint[i]);
    return there;
}

/* Those that are used, by bits; also the last two to come, one in each set.  Returns how many are not. */
static int use_some(struct wide_plans plans, const struct rivals *rivals, unsigned used, bool by_find)
{
    int unused = 0;
    struct wide_plan found;
    for (int i = 0; i < BOTH; i++) {
        const uint64_t fingerprint = rivals->fingerprint[i];
        unused += (used >> i & 1) == 0 && i < BOTH - 2;
        if ((used >> i & 1) == 0) continue;
        assert_true(by_find ? wide_plans_find(plans, fingerprint, &found) : wide_plans_know(plans, fingerprint));
    }
    return unused;
}

static void newcomers(struct wide_plans plans, const struct rivals *rivals, unsigned used, bool by_find)
{
    for (int i = 0; i < BOTH; i++) remember(plans, rivals, i);
    assert_int_equal(how_many_there(plans, rivals, 0, BOTH), BOTH); /* the free ways of both sets first */
    const int unused = use_some(plans, rivals, used, by_find);
    /* With the last unused one a set is full of used plans, and then all but the newcomer count as unused again. */
    const int count = unused > 1 ? unused - 1 : 1;
    for (int i = 0; i < count; i++) {
        remember(plans, rivals, BOTH + i);
        assert_int_equal(how_many_there(plans, rivals, BOTH, PLANS), i + 1);
        assert_int_equal(how_many_there(plans, rivals, 0, BOTH), BOTH - i - 1);
    }
    for (int i = 0; i < BOTH && unused > 0; i++)
        assert_true(is_there(plans, rivals->fingerprint[i]) || ((used >> i & 1) == 0 && i < BOTH - 2));
}

/* A plan that was used since, whichever and however many were, stays while one that was not can be evicted.  Where all
   were used one of them is; the newcomer is known in any case. */
static void the_unused_are_evicted_first(void **unused)
{
    (void)unused;
    struct rivals rivals;
    find_rivals(&rivals);
    for (unsigned i = 0; i < 2 * (ALL_USED / STEP + 2); i++) {
        const struct wide_plans plans = make_plans(WIDE_SETS_FEW);
        newcomers(plans, &rivals, i / 2 * STEP < ALL_USED ? i / 2 * STEP : ALL_USED, i % 2 != 0);
        free_plans(plans);
    }
}

/* ---- the rules that are found ---- */

/* As many as a list may have, and not one word of the plan beside it. */
static void every_length_is_found(void **unused)
{
    (void)unused;
    enum { MOST = WEIR_LIMITS_MAX };
    const struct wide_plans plans = make_plans(WIDE_SETS_SOME);
    struct rule rule[MOST + 1];
    for (int i = 0; i <= MOST; i++) {
        rule[i] = rule_of((uint64_t)i);
        rule[i].anchor_ns = UINT64_MAX;
    }
    for (int count = 1; count <= MOST; count++) {
        const struct rules rules = {rule, count};
        wide_plans_remember(plans, wide_fingerprint(rules), rules);
    }
    for (int count = 1; count <= MOST; count++) {
        struct wide_plan found;
        assert_true(wide_plans_find(plans, wide_fingerprint((struct rules){rule, count}), &found));
        assert_int_equal(found.count, count);
        assert_memory_equal(found.rule, rule, (size_t)count * sizeof *rule);
    }
    free_plans(plans);
}

/* A rule with a pointer, at any place of the list; but what is left behind the list is none of its rules. */
static void no_rule_with_a_pointer(void **unused)
{
    (void)unused;
    const struct wide_plans plans = make_plans(WIDE_SETS_FEW);
    const uint64_t all = wide_plans_bytes(WIDE_SETS_FEW);
    struct wide_plan found;
    for (int count = 1; count <= WEIR_LIMITS_MAX; count++) {
        struct rule rule[WEIR_LIMITS_MAX] = {{0}};
        const struct rules rules = {rule, count};
        for (int at = 0; at < count; at++) {
            rule[at].flags = RULE_PROFILE;
            memset(plans.set, 0, all);
            wide_plans_remember(plans, wide_fingerprint(rules), rules);
            assert_false(wide_plans_find(plans, wide_fingerprint(rules), &found));
            rule[at].flags = 0;
        }
        memset(plans.set, 0, all);
        for (int i = 0; i < WIDE_SETS_FEW * WIDE_WAYS && count < WEIR_LIMITS_MAX; i++)
            plans.plan[i].rule[count].flags = RULE_PROFILE;
        wide_plans_remember(plans, wide_fingerprint(rules), rules);
        assert_true(wide_plans_find(plans, wide_fingerprint(rules), &found));
    }
    free_plans(plans);
}

/* ---- fingerprints ---- */

static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t step_by(uint64_t hash, uint64_t word)
{
    const uint64_t product = (hash ^ word) * odd, upper = product / (UINT64_C(1) << 32);
    return product ^ upper;
}

/* Of two rules, word by word as they are. */
static uint64_t fingerprint_of_two(const union rule_words rule[2])
{
    uint64_t hash = step_by(odd, 2);
    for (int i = 0; i < 2 * RULE_WORDS; i++) hash = step_by(hash, rule[i / RULE_WORDS].word[i % RULE_WORDS]);
    return hash;
}

/* Files have them.  The number is another program's. */
static void fingerprints_in_files(void **unused)
{
    (void)unused;
    union rule_words rule[2] = {{.word = {0, 1, 1000, 2000, 3000, 4000, 0, 5000}},
                                {.rule = {.algorithm = ALGORITHM_FIXED_WINDOW, .burst = 7, .period_ns = S}}};
    assert_true(wide_fingerprint((struct rules){&rule[0].rule, 1}) == UINT64_C(0x83d470afc5a6a8f5));
    const uint64_t two = fingerprint_of_two(rule);
    rule[0].rule.generation = 9;
    rule[1].rule.offset_ns = 10;
    const struct rule both[] = {rule[0].rule, rule[1].rule};
    assert_true(wide_fingerprint((struct rules){both, 2}) == two);
}

/* Which change of its limiter a rule is says nothing about its states; where windows begin they say themselves. */
static void what_does_not_count(void **unused)
{
    (void)unused;
    struct rule line = rule_of(7), window = {.algorithm = ALGORITHM_SLIDING_WINDOW, .burst = 7, .period_ns = S};
    const uint64_t of_line = wide_fingerprint((struct rules){&line, 1}),
                   of_window = wide_fingerprint((struct rules){&window, 1});
    line.generation = window.generation = 3;
    window.offset_ns = 5;
    assert_true(wide_fingerprint((struct rules){&line, 1}) == of_line);
    assert_true(wide_fingerprint((struct rules){&window, 1}) == of_window);
    line.third = 5;
    assert_true(wide_fingerprint((struct rules){&line, 1}) != of_line);
}

/* Each step can be undone, so there is a last word that makes it 0, and 0 is a free way: then it is 1. */
static void a_fingerprint_is_never_zero(void **unused)
{
    (void)unused;
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++) inverse *= 2 - odd * inverse;
    assert_true(odd * inverse == 1);
    struct rule rule = rule_of(7);
    const uint64_t with_zero = wide_fingerprint((struct rules){&rule, 1}), product = with_zero ^ with_zero >> 32;
    rule.fourth = product * inverse;
    assert_true(wide_fingerprint((struct rules){&rule, 1}) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines),
        cmocka_unit_test(how_many_sets),
        cmocka_unit_test(two_sets_for_each),
        cmocka_unit_test(the_unused_are_evicted_first),
        cmocka_unit_test(every_length_is_found),
        cmocka_unit_test(no_rule_with_a_pointer),
        cmocka_unit_test(fingerprints_in_files),
        cmocka_unit_test(what_does_not_count),
        cmocka_unit_test(a_fingerprint_is_never_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
