/* SPDX-License-Identifier: MIT
   What CL.THROTTLE's arguments say of a limit, and what is said of those that are wrong.

   Expected texts are written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/throttle.h"

enum { TEXT_SIZE = 128, WORDS_MAX = 8 };

/* The words behind CL.THROTTLE, each behind a space. */
static bool read_words(const char *words, int64_t number[THROTTLE_ARGUMENTS], struct throttle_problem *problem)
{
    struct throttle_argument argument[WORDS_MAX] = {{"CL.THROTTLE", 11}};
    unsigned count = 1;
    for (const char *word = words; *word != '\0'; count++) {
        const size_t size = strcspn(++word, " ");
        argument[count] = (struct throttle_argument){word, size};
        word += size;
    }
    return throttle_read(argument, count, number, problem);
}

static void three_numbers_are_a_limit(void **state)
{
    static const struct {
        const char *words, *limit;
        int64_t quantity;
    } rows[] = {{" k 15 30 60", "1/2000000000ns burst=16 algorithm=gcra", 1},
                {" k 0015 +30 00000000000000000000000060 0", "1/2000000000ns burst=16 algorithm=gcra", 0},
                {" k 0 3 1 7", "1/333333333ns burst=1 algorithm=gcra", 7},
                {" k 0 1000000000 1", "1/1ns burst=1 algorithm=gcra", 1},
                {" k 0 1000000000 9223372036854775807", "1000000000/9223372036854775807s burst=1 algorithm=gcra", 1},
                {" k 0 2000000000 1", "2000000000/1s burst=1 algorithm=gcra", 1},
                {" k 9223372036854775806 1 1", "1/1000000000ns burst=9223372036854775807 algorithm=gcra", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t number[THROTTLE_ARGUMENTS];
        struct throttle_problem problem;
        char text[TEXT_SIZE];
        assert_true(read_words(rows[i].words, number, &problem));
        throttle_write(&(struct writer){text, sizeof text, 0}, &number[THROTTLE_MAX_BURST]);
        assert_string_equal(text, rows[i].limit);
        assert_int_equal(number[THROTTLE_QUANTITY], rows[i].quantity);
    }
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *words;
        unsigned argument;
        const char *before, *after;
    } rows[] = {{" k 15 30", 0, "Usage: CL.THROTTLE", ""},
                {" k 15 30 60 1 1", 0, "Usage: CL.THROTTLE", ""},
                {" k 1.5 30 60", THROTTLE_MAX_BURST, "Couldn't parse as integer: ", " (max_burst; "},
                {" k 15  60", THROTTLE_COUNT, "Couldn't parse as integer: ", " (count; "},
                {" k 15 30 9223372036854775808", THROTTLE_PERIOD, "Couldn't parse as integer: ", " (period; "},
                {" k 15 30 60 -", THROTTLE_QUANTITY, "Couldn't parse as integer: ", " (quantity; "},
                {" k 15 0 60", 0, "Zero rates are not supported", ""},
                {" k 15 30 -1", 0, "Zero rates are not supported", ""},
                {" k -1 30 60", 0, "max_burst is 0 to 2^63 - 2", ""},
                {" k 9223372036854775807 30 60", 0, "max_burst is 0 to 2^63 - 2", ""},
                {" k 15 30 60 -1", 0, "quantity is 0 to 2^63 - 2", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t number[THROTTLE_ARGUMENTS];
        struct throttle_problem problem;
        if (read_words(rows[i].words, number, &problem)) fail_msg("%s is read", rows[i].words);
        assert_int_equal(problem.argument, rows[i].argument);
        if (strstr(problem.before, rows[i].before) != problem.before) fail_msg("%s", problem.before);
        if (strstr(problem.after, rows[i].after) != problem.after) fail_msg("%s", problem.after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_numbers_are_a_limit),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
