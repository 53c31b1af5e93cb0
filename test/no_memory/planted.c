/* SPDX-License-Identifier: MIT
   What may be done where there is no memory, and what may not, for each.py to find.

   Passes when no allocation fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

static char *volatile kept; /* no compiler does without it */

static void checks(void **state)
{
    (void)state;
    kept = malloc(1);
    if (kept != NULL) kept[0] = 'x';
    free(kept);
}

static void asserts(void **state)
{
    (void)state;
    kept = malloc(1);
    assert_non_null(kept);
    free(kept);
}

static void checks_not(void **state)
{
    (void)state;
    kept = calloc(1, 1);
    kept[0] = 'x';
    free(kept);
}

static void checks_not_the_second(void **state)
{
    (void)state;
    kept = malloc(1);
    if (kept == NULL) return;
    kept = realloc(kept, 100);
    kept[0] = 'x';
    free(kept);
}

static void dies(void **state)
{
    (void)state;
    kept = aligned_alloc(16, 16);
    if (kept == NULL) abort();
    free(kept);
}

static void waits(void **state)
{
    (void)state;
    kept = malloc(1);
    if (kept == NULL) pause();
    free(kept);
}

static void leaks(void **state)
{
    (void)state;
    char *const first = malloc(1);
    if (first == NULL) return;
    kept = malloc(1);
    if (kept == NULL) return; /* and what of the first one? */
    free(kept);
    free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(checks),     cmocka_unit_test(asserts),
                                       cmocka_unit_test(checks_not), cmocka_unit_test(checks_not_the_second),
                                       cmocka_unit_test(dies),       cmocka_unit_test(waits),
                                       cmocka_unit_test(leaks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
