/* SPDX-License-Identifier: MIT
   The ring of times of a log, in exact numbers: what each size reaches, and what stays where nothing is to be kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/stamps.h"
#include "unit/plans.h"

enum { COUNT = 5, RING_WORDS = STAMPS_HEADER + COUNT };

static const uint64_t FOUR_NS = UINT32_MAX, SIX_NS = (UINT64_C(1) << 48) - 1;

/* So that a clock may go back by as much as the entries lie apart. */
static void half_of_the_reach(void **unused)
{
    (void)unused;
    assert_int_equal(stamps_flag(FOUR_NS / 2, 1), STAMPS_4_BYTES);
    assert_int_equal(stamps_flag(FOUR_NS / 2 + 1, 4), STAMPS_6_BYTES);
    assert_int_equal(stamps_flag(SIX_NS / 2, 4), STAMPS_6_BYTES);
    assert_int_equal(stamps_flag(SIX_NS / 2 + 1, 4), 0);
    assert_int_equal(stamps_flag(FOUR_NS / 2 + 1, 3), 0); /* as many words */
}

/* Of 6 bytes each four are in three words, and of the next ones the first takes two. */
static void words_of_a_ring(void **unused)
{
    (void)unused;
    static const uint64_t words_of_six[] = {[4] = 3, 5, 5, 6, 6, 8, 8, 9, 9};
    for (uint64_t count = 4; count < LENGTH(words_of_six); count++) {
        const struct rule eight = {.burst = count}, six = {.burst = count, .flags = STAMPS_6_BYTES},
                          four = {.burst = count, .flags = STAMPS_4_BYTES};
        assert_int_equal(stamps_words(&eight), count);
        assert_int_equal(stamps_words(&six), words_of_six[count]);
        assert_int_equal(stamps_words(&four), (count + 1) / 2);
    }
}

/* A torn rule may say that there is none. */
static void a_ring_has_a_place(void **unused)
{
    (void)unused;
    const struct rule torn = {.burst = 0};
    uint64_t state[STAMPS_HEADER + 1] = {0}, saved[1] = {0};
    assert_int_equal(stamps_capacity(&torn), 1);
    stamps_append(&torn, state, 7);
    stamps_save(&torn, state, 1, saved);
    assert_int_equal(saved[0], 7);
    assert_int_equal(stamps_get(&torn, state, 1), 7);
}

/* An entry is known for as long as its bytes reach, and a ns later is lost. */
static void known_as_far_as_they_reach(void **unused)
{
    (void)unused;
    const struct {
        uint8_t flag;
        uint64_t reach_ns;
    } sizes[] = {{STAMPS_4_BYTES, FOUR_NS}, {STAMPS_6_BYTES, SIX_NS}};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        const struct rule rule = {.burst = COUNT, .flags = sizes[i].flag};
        uint64_t state[RING_WORDS] = {0};
        stamps_append(&rule, state, 9);
        stamps_append(&rule, state, 9 + sizes[i].reach_ns);
        assert_int_equal(stamps_kept(&rule, state), 2);
        assert_int_equal(stamps_get(&rule, state, 2), 9);
        stamps_append(&rule, state, 9 + sizes[i].reach_ns + 1);
        assert_int_equal(stamps_kept(&rule, state), 2);
        assert_int_equal(state[STAMPS_LOST], 9);
        assert_true(stamps_has(&rule, state, 3));
    }
}

static void saved_are_so_many(void **unused)
{
    (void)unused;
    const struct rule rule = {.burst = COUNT};
    uint64_t state[RING_WORDS] = {0}, saved[COUNT] = {77, 77, 77, 77, 77};
    for (uint64_t i = 0; i < COUNT; i++) stamps_append(&rule, state, 10 + i);
    stamps_save(&rule, state, 2, saved);
    assert_int_equal(saved[0], 10);
    assert_int_equal(saved[1], 11);
    for (uint64_t i = 2; i < COUNT; i++) assert_int_equal(saved[i], 77);
}

/* To the last ns of all; beyond that nothing is kept, and all is as late as can be. */
static void moved_to_the_end_of_time(void **unused)
{
    (void)unused;
    for (uint64_t beyond = 0; beyond < 2; beyond++) {
        const struct rule rule = {.burst = COUNT};
        uint64_t state[RING_WORDS] = {0};
        stamps_append(&rule, state, 5);
        stamps_append(&rule, state, 7);
        stamps_advance(&rule, state, 3, UINT64_MAX - 7 + beyond);
        assert_int_equal(state[STAMPS_EVER], 5);
        assert_true(state[STAMPS_NEWEST] == UINT64_MAX);
        assert_int_equal(stamps_kept(&rule, state), beyond ? 0 : 2);
        assert_true(stamps_get(&rule, state, 1) == UINT64_MAX);
        assert_true(stamps_get(&rule, state, 2) == (beyond ? UINT64_MAX : UINT64_MAX - 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_reach),  cmocka_unit_test(words_of_a_ring),
        cmocka_unit_test(a_ring_has_a_place), cmocka_unit_test(known_as_far_as_they_reach),
        cmocka_unit_test(saved_are_so_many),  cmocka_unit_test(moved_to_the_end_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
