/* SPDX-License-Identifier: MIT
   The cache of texts, against a list that is searched from its end.

       unit-recent [seed] */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "share/recent.h"
#include "unit/random.h"

enum { TEXTS = 600, CALLS = 200000, TEXT_SIZE = 24 };

static uint64_t first_seed = 1;

struct entry {
    struct recent_entry recent;
    unsigned meaning;
};

struct world {
    struct recent recent;
    struct entry entry[RECENT_ENTRIES], behind;
};

static struct world *world_open(void)
{
    const struct secret secret = {{first_seed, 42}};
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    recent_open(&world->recent, &secret, world->entry, sizeof world->entry[0]);
    return world;
}

static struct recent_key key_of(char text[TEXT_SIZE], unsigned number, unsigned kind)
{
    const int size = snprintf(text, TEXT_SIZE, "%u/s", number);
    return (struct recent_key){.bytes = text, .size = (size_t)size, .kind = kind};
}

/* Finds or adds; true: it was there. */
static bool ask(struct world *world, unsigned number, unsigned kind)
{
    char text[TEXT_SIZE];
    struct recent_key key = key_of(text, number, kind);
    struct entry *entry = recent_find(&world->recent, &key);
    const unsigned meaning = number * RECENT_KINDS + kind;
    if (entry != NULL) {
        assert_int_equal(entry->meaning, meaning);
        return true;
    }
    entry = recent_room(&world->recent, &key);
    recent_put(&world->recent, entry, &key);
    entry->meaning = meaning;
    return false;
}

static void an_entry_means_what_its_key_says(void **state)
{
    (void)state;
    struct world *world = world_open();
    uint64_t seed = first_seed, found = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        const unsigned text = (unsigned)random_below(&seed, random_one_in(&seed, 2) ? 8 : TEXTS);
        const unsigned kind = (unsigned)random_below(&seed, RECENT_KINDS);
        found += ask(world, text, kind);
        assert_true(ask(world, text, kind));
    }
    /* The few that are asked for often stay: they are half of what is asked. */
    assert_true(found > CALLS * 2 / 5);
    free(world);
}

static void the_one_that_goes_was_not_asked_for_the_longest(void **state)
{
    (void)state;
    struct world *world = world_open();
    char text[TEXT_SIZE];
    unsigned same[RECENT_WAYS + 1], count = 0;
    uint64_t set = 0;
    for (unsigned number = 0; count <= RECENT_WAYS; number++) {
        struct recent_key key = key_of(text, number, 0);
        assert_null(recent_find(&world->recent, &key));
        if (count == 0) set = key.hash % RECENT_SETS;
        if (key.hash % RECENT_SETS == set) same[count++] = number;
    }
    for (unsigned i = 0; i < RECENT_WAYS; i++) assert_false(ask(world, same[i], 0));
    assert_true(ask(world, same[0], 0));
    assert_false(ask(world, same[RECENT_WAYS], 0));
    assert_true(ask(world, same[0], 0));
    for (unsigned i = 2; i < RECENT_WAYS; i++) assert_true(ask(world, same[i], 0));
    assert_false(ask(world, same[1], 0));
    free(world);
}

static void all_can_be_forgotten(void **state)
{
    (void)state;
    struct world *world = world_open();
    for (unsigned kind = 0; kind < RECENT_KINDS; kind++) assert_false(ask(world, 1, kind));
    recent_forget(&world->recent);
    for (unsigned kind = 0; kind < RECENT_KINDS; kind++) assert_false(ask(world, 1, kind));
    /* And so when each entry has been used. */
    for (unsigned number = 0; number < 10 * RECENT_ENTRIES; number++) ask(world, number, 0);
    for (unsigned i = 0; i < RECENT_ENTRIES; i++) assert_int_not_equal(world->entry[i].recent.used, 0);
    recent_forget(&world->recent);
    for (unsigned i = 0; i < RECENT_ENTRIES; i++) assert_int_equal(world->entry[i].recent.used, 0);
    free(world);
}

/* An entry is searched for in its set: what lies behind the last set is not looked at. */
static void no_entry_behind_the_last(void **state)
{
    (void)state;
    struct world *world = world_open();
    char text[TEXT_SIZE];
    struct recent_key key = {.hash = 0};
    for (unsigned number = 0; key.hash % RECENT_SETS != RECENT_SETS - 1; number++) {
        key = key_of(text, number, 0);
        assert_null(recent_find(&world->recent, &key));
    }
    recent_put(&world->recent, &world->behind, &key);
    memset(world->recent.last, 0, sizeof world->recent.last);
    assert_null(recent_find(&world->recent, &key));
    free(world);
}

/* Keys whose hashes are the same: of another kind, of another size, of other bytes. */
static void only_the_key_itself_is_found(void **state)
{
    (void)state;
    struct world *world = world_open();
    const struct recent_key others[] = {
        {.bytes = "10/s", .size = 4, .kind = 1}, {.bytes = "10/s ", .size = 5}, {.bytes = "11/s", .size = 4}};
    struct recent_key asked = {.bytes = "10/s", .size = 4};
    assert_null(recent_find(&world->recent, &asked));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct recent_key other = others[i];
        other.hash = asked.hash;
        recent_put(&world->recent, recent_room(&world->recent, &asked), &other);
        assert_null(recent_find(&world->recent, &asked));
    }
    void *room = recent_room(&world->recent, &asked);
    recent_put(&world->recent, room, &asked);
    recent_put(&world->recent, recent_room(&world->recent, &asked), &(struct recent_key){.bytes = "9/s", .size = 3});
    assert_ptr_equal(recent_find(&world->recent, &asked), room);
    free(world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_means_what_its_key_says),
        cmocka_unit_test(the_one_that_goes_was_not_asked_for_the_longest),
        cmocka_unit_test(all_can_be_forgotten),
        cmocka_unit_test(no_entry_behind_the_last),
        cmocka_unit_test(only_the_key_itself_is_found),
    };
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
