/* SPDX-License-Identifier: MIT
   However many keys all other limits have, each limit gets in keys / 2k new ones; and what was used is
   found again when limits come and go.

   Floods are ten times what a table has room for. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/table/keyed.h"
#include "serve/config/config.h"
#include "unit/plans.h"

enum { KEYS = 20000, FLOOD = 10 * KEYS, MANY = 200, YAML_MAX = 64 * MANY };

struct world {
    struct tables *tables;
    struct policy *policy;
    uint64_t first; /* the number of a key that nobody has used */
};

static struct world open_world(struct tables_options options, const char *yaml)
{
    struct world world = {.first = 1};
    struct config_problem problem = {0};
    weir_error error = {0};
    if (options.keys_max == 0) options.keys_max = KEYS;
    if (tables_open(&world.tables, &options, &error) != 0) fail_msg("%s", error.message);
    world.policy = config_policy(slice_of(yaml), world.tables, NULL, NULL, NULL, &problem);
    if (world.policy == NULL) fail_msg("%s", problem.message);
    return world;
}

static void read_again(struct world *world, const char *yaml)
{
    struct config_problem problem = {0};
    struct policy *policy = config_policy(slice_of(yaml), world->tables, NULL, NULL, NULL, &problem);
    if (policy == NULL) fail_msg("%s", problem.message);
    policy_free(world->policy);
    world->policy = policy;
}

static void close_world(struct world *world)
{
    policy_free(world->policy);
    tables_close(world->tables);
}

static const struct policy_limit *limit_of(const struct world *world, const char *name)
{
    const struct policy_limit *limit = policy_find(world->policy, slice_of(name));
    assert_non_null(limit);
    return limit;
}

static bool take_key(weir_table *table, const weir_plan *plan, uint64_t key)
{
    return weir_allowed(weir_table_take(table, plan, (weir_key){&key, sizeof key}, 1));
}

/* So many new keys; returns how many of them pass. */
static uint64_t new_keys(struct world *world, const char *name, uint64_t count)
{
    const struct policy_limit *limit = limit_of(world, name);
    uint64_t passed = 0;
    for (uint64_t i = 0; i < count; i++) passed += take_key(limit->table, &limit->plan, world->first++);
    return passed;
}

static uint64_t new_keys_of_text(struct world *world, const char *text, uint64_t count)
{
    weir_plan plan = plan_of(text);
    struct policy_backend place;
    uint64_t passed = 0;
    assert_true(backend_for(&place, world->tables, NULL, WEIR_AWAY_DEFAULT, &plan, NULL));
    for (uint64_t i = 0; i < count; i++) passed += take_key(place.table, &plan, world->first++);
    return passed;
}

static void flood(struct world *world, const char *name)
{
    assert_true(new_keys(world, name, FLOOD) < FLOOD); /* it is full */
}

/* ---- two limits ---- */

static void two_limits_by(weir_when_full when_full)
{
    struct world world =
        open_world((struct tables_options){.when_full = when_full}, "limits: {victim: 1/d, loud: 3/d}");
    assert_true(new_keys_of_text(&world, "3/d", FLOOD) < FLOOD);
    flood(&world, "loud");
    assert_int_equal(new_keys(&world, "victim", KEYS / 4), KEYS / 4);
    close_world(&world);
    world = open_world((struct tables_options){.when_full = when_full}, "limits: {quiet: 1/d, loud: 3/d}");
    flood(&world, "loud");
    assert_true(new_keys_of_text(&world, "1/d", KEYS / 8) == KEYS / 8);
    close_world(&world);
}

static void two_limits(void **unused)
{
    (void)unused;
    two_limits_by(WEIR_FULL_INHERIT);
    two_limits_by(WEIR_FULL_DENY);
}

static void two_limits_in_wide_slots(void **unused)
{
    (void)unused;
    struct world world =
        open_world((struct tables_options){.keys_max = KEYS / 4},
                   "limits: {victim: 1/d algorithm=sliding-window, loud: 3/d algorithm=sliding-window}");
    const struct policy_limit *victim = limit_of(&world, "victim");
    assert_ptr_equal(victim->table, limit_of(&world, "loud")->table);
    flood(&world, "loud");
    const uint64_t keys = KEYS / 4 / 4;
    assert_int_equal(new_keys(&world, "victim", keys), keys);
    close_world(&world);
}

/* ---- two hundred ---- */

static void two_hundred_limits(void **unused)
{
    (void)unused;
    static char yaml[YAML_MAX];
    char name[16];
    size_t size = (size_t)snprintf(yaml, sizeof yaml, "limits:\n");
    for (int i = 0; i < MANY; i++)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "  l%d: %d/d\n", i, i % 100 == 99 ? 1 : 3);
    struct world world = open_world((struct tables_options){0}, yaml);
    assert_true(new_keys_of_text(&world, "3/d", FLOOD) < FLOOD);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "l%d", i);
        if (i % 100 != 99) new_keys(&world, name, FLOOD / MANY);
    }
    assert_int_equal(new_keys(&world, "l99", KEYS / 2 / MANY), KEYS / 2 / MANY);
    assert_int_equal(new_keys(&world, "l199", KEYS / 2 / MANY), KEYS / 2 / MANY);
    close_world(&world);
}

/* Tables smaller than their limits are many: each has room for one. */
static void a_small_table(void **unused)
{
    (void)unused;
    struct world world = open_world((struct tables_options){.keys_max = 10},
                                    "limits: {a: 1/d, b: 1/d, c: 1/d, d: 1/d, e: 1/d, f: 1/d, g: 1/d, h: 1/d}");
    flood(&world, "a");
    for (char name[] = "b"; name[0] <= 'h'; name[0]++) assert_int_equal(new_keys(&world, name, 1), 1);
    close_world(&world);
}

/* ---- keys: ---- */

static void a_part_of_ones_own_size(void **unused)
{
    (void)unused;
    struct world world =
        open_world((struct tables_options){0}, "limits: {victim: {limit: 1/d, keys: 15000}, loud: 3/d}");
    flood(&world, "loud");
    assert_int_equal(new_keys(&world, "victim", 15000), 15000);
    close_world(&world);
}

static void more_than_there_is(void **unused)
{
    (void)unused;
    const struct tables_options options = {.keys_max = KEYS, .memory = 4 << 20};
    struct config_problem problem = {0};
    struct tables *tables;
    assert_int_equal(tables_open(&tables, &options, NULL), 0);
    assert_null(
        config_policy(slice_of("limits: {a: {limit: 1/d, keys: 1000000}}"), tables, NULL, NULL, NULL, &problem));
    assert_non_null(strstr(problem.message, "limits.a: the memory of the tables is full: of 4 MiB (table: memory"));
    assert_int_equal(problem.line, 0); /* no line of the file is wrong */
    assert_int_equal(tables_read_memory(tables).refused, 1);
    tables_close(tables);
}

/* ---- limits come and go ---- */

/* The last of the keys that came are in the part: is what they have used still known? */
static uint64_t known_of(const struct world *world, const char *name, uint64_t last, uint64_t count)
{
    const struct policy_limit *limit = limit_of(world, name);
    uint64_t known = 0;
    for (uint64_t key = last - count; key < last; key++) known += !take_key(limit->table, &limit->plan, key);
    return known;
}

static void what_was_used_is_found_again(void **unused)
{
    (void)unused;
    struct world world = open_world((struct tables_options){0}, "limits: {a: 1/d, loud: 3/d}");
    flood(&world, "loud");
    assert_int_equal(new_keys(&world, "a", 1000), 1000);
    const uint64_t last = world.first;
    read_again(&world, "limits: {b: 1/d, loud: 3/d, a: 1/d}"); /* one more */
    assert_int_equal(known_of(&world, "a", last, 1000), 1000);
    assert_int_equal(new_keys(&world, "b", KEYS / 6), KEYS / 6);
    read_again(&world, "limits: {a: {limit: 2/2d burst=1, keys: 15000}}"); /* others go, and it is to have more room */
    assert_int_equal(known_of(&world, "a", last, 1000), 1000);
    read_again(&world, "limits: {c: 1/d}"); /* it goes */
    read_again(&world, "limits: {a: 1/d}"); /* and comes back */
    assert_int_equal(known_of(&world, "a", last, 1000), 1000);
    const struct policy_limit *limit = limit_of(&world, "a");
    weir_table_forget(limit->table, &limit->plan, (weir_key){&(uint64_t){last - 1}, sizeof last});
    assert_int_equal(known_of(&world, "a", last, 1000), 999);
    close_world(&world);
}

static void what_is_kept_in_files(void **unused)
{
    (void)unused;
    static const char yaml[] =
        "limits: {a: 1/d, w: 1/d algorithm=sliding-window, x: 3/d algorithm=sliding-window, loud: 3/d}";
    static const char *const files[] = {"", ".parts", ".receipts", ".wide-64", ".wide-64.parts"};
    char folder[] = "/tmp/weir-quota-XXXXXX", path[64], file[96];
    uint64_t last[2];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/table", folder);
    const struct tables_options options = {.keys_max = 2000, .state = path};
    struct world world = open_world(options, yaml);
    flood(&world, "loud");
    assert_true(new_keys(&world, "x", KEYS) < KEYS);
    assert_int_equal(new_keys(&world, "a", 250), 250);
    last[0] = world.first;
    assert_int_equal(new_keys(&world, "w", 250), 250);
    last[1] = world.first;
    close_world(&world);
    world = open_world(options, yaml);
    world.first = last[1];
    assert_int_equal(known_of(&world, "a", last[0], 250), 250);
    assert_int_equal(known_of(&world, "w", last[1], 250), 250);
    close_world(&world);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(file, sizeof file, "%s%s", path, files[i]);
        assert_int_equal(unlink(file), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* ---- files that are not as they were ---- */

static struct tables_options state_options;
static char state_folder[32], state_path[64], parts_path[80];

static int make_state(void **unused)
{
    (void)unused;
    snprintf(state_folder, sizeof state_folder, "/tmp/weir-quota-XXXXXX");
    if (mkdtemp(state_folder) == NULL) return -1;
    snprintf(state_path, sizeof state_path, "%s/table", state_folder);
    snprintf(parts_path, sizeof parts_path, "%s.parts", state_path);
    state_options = (struct tables_options){.keys_max = 2000, .state = state_path};
    struct world world = open_world(state_options, "limits: {a: 1/d}");
    close_world(&world);
    return 0;
}

static int remove_state(void **unused)
{
    char command[64];
    (void)unused;
    snprintf(command, sizeof command, "rm -r %s", state_folder);
    return system(command);
}

static void refuses(const char *words)
{
    struct tables *tables;
    weir_error error = {0};
    assert_true(tables_open(&tables, &state_options, &error) != 0);
    if (strstr(error.message, words) == NULL) fail_msg("\"%s\" does not say \"%s\"", error.message, words);
}

static void flip(long at)
{
    FILE *file = fopen(parts_path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    fputc(byte ^ 1, file);
    fclose(file);
}

/* Of its first page and of the first record: name, offset, bytes, slots, what is reserved, check. */
static void a_changed_byte(void **unused)
{
    static const long places[] = {0, 9, 16, 24, 32, 64, 128, 4160, 4168, 4176, 4184, 4192, 4208};
    (void)unused;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        flip(places[i]);
        refuses("; to start afresh: mv ");
        refuses(".parts.old");
        flip(places[i]);
    }
    struct world world = open_world(state_options, "limits: {a: 1/d}");
    close_world(&world);
}

static void cut_off(void **unused)
{
    (void)unused;
    assert_int_equal(truncate(parts_path, 140000), 0);
    refuses("parts");
}

/* Whether this process has mapped the file; where there is no such list, no. */
static bool parts_are_mapped(void)
{
    char line[512];
    bool mapped = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) mapped = mapped || strstr(line, parts_path) != NULL;
    if (maps != NULL) fclose(maps);
    return mapped;
}

/* A process that made it has died: it is made anew, and what was mapped of it is not any more. */
static void a_file_that_was_begun(void **unused)
{
    enum { WITH_DIRECTORY = REGION_PAGE + (KEYED_PARTS_MAX + 1) * 64 /* what it grows to before it has a header */ };
    static const off_t sizes[] = {0, 100, REGION_PAGE, 2 * REGION_PAGE, WITH_DIRECTORY};
    (void)unused;
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        assert_int_equal(truncate(parts_path, 0), 0);
        assert_int_equal(truncate(parts_path, sizes[i]), 0);
        struct world world = open_world(state_options, "limits: {a: 1/d}");
        world.first += 10 * i; /* others than those that the table has a slot for */
        assert_int_equal(new_keys(&world, "a", 10), 10);
        close_world(&world);
        assert_false(parts_are_mapped());
    }
}

/* The limit of this process for the size of a file, which the table has reached already. */
static void no_room_for_parts(void **unused)
{
    struct rlimit before, little;
    struct stat file;
    (void)unused;
    assert_int_equal(stat(state_path, &file), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = (rlim_t)file.st_size;
    void (*const usual)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_int_equal(unlink(parts_path), 0);
    refuses("table.parts: no room: ");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, usual);
    struct world world = open_world(state_options, "limits: {a: 1/d}");
    assert_int_equal(new_keys(&world, "a", 10), 10);
    close_world(&world);
}

/* Another program's file is not even made longer. */
static void a_file_that_is_no_parts(void **unused)
{
    struct stat file;
    (void)unused;
    FILE *other = fopen(parts_path, "w");
    assert_non_null(other);
    fputs("hello\n", other);
    fclose(other);
    refuses("has no parts of a table");
    assert_int_equal(stat(parts_path, &file), 0);
    assert_int_equal(file.st_size, 6);
}

/* A child that looks at the parts has locks of its own: it does not release those of its parent. */
static void a_child_that_reads_stats(void **unused)
{
    (void)unused;
    weir_table_stats stats;
    int begin[2], status = 1;
    char byte = 0;
    struct world world = open_world(state_options, "limits: {a: 1/d algorithm=sliding-window}");
    weir_table *table = limit_of(&world, "a")->table;
    struct keyed_part *part = table->part[0];
    struct host_region again = {.fd = -1};
    assert_true(keyed_is_wide(table));
    assert_int_equal(pipe(begin), 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool told = read(begin[0], &byte, 1) == 1;
        weir_table_read_stats(table, &stats, sizeof stats);
        _exit(!told);
    }
    assert_true(keyed_lock_part(part, 0));
    assert_int_equal(write(begin[1], "!", 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char path[128];
    bool created;
    snprintf(path, sizeof path, "%s.wide-64.parts", state_path);
    assert_int_equal(host_region_open(&again, path, HOST_JOIN, 0600, &created), 0);
    assert_int_equal(host_region_lock(&again, LOCK_STRIPES + part->number * (uint64_t)WIDE_STRIPES, 0), HOST_HELD);
    host_region_close(&again);
    keyed_unlock_part(part, 0);
    close(begin[0]);
    close(begin[1]);
    close_world(&world);
}

/* The keys of limits without a name have the same part for all who open the file. */
static void other_programs(void **unused)
{
    (void)unused;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_table *table;
    weir_error error = {0};
    const weir_plan plan = plan_of("1/d");
    struct world world = open_world(state_options, "limits: {loud: 3/d}");
    flood(&world, "loud");
    const uint64_t first = world.first;
    assert_int_equal(new_keys_of_text(&world, "1/d", 200), 200);
    options.path = state_path;
    if (weir_table_open(&table, &options, &error) != 0) fail_msg("%s", error.message);
    for (uint64_t key = first; key < first + 200; key++) assert_false(take_key(table, &plan, key));
    weir_ask ask = {.plan = &plan, .key = {&first, sizeof first}, .cost = 1};
    assert_false(weir_table_take_all(table, &ask, 1, weir_now()));
    weir_table_close(table);
    close_world(&world);
}

/* Beside a table that is new it is moved away, beside another it is refused. */
static void of_another_table(void **unused)
{
    (void)unused;
    char old[96], kept[96];
    snprintf(old, sizeof old, "%s.old", parts_path);
    snprintf(kept, sizeof kept, "%s.kept", parts_path);
    assert_int_equal(unlink(state_path), 0);
    struct world world = open_world(state_options, "limits: {a: 1/d}");
    close_world(&world);
    assert_int_equal(rename(old, kept), 0);
    assert_int_equal(rename(kept, parts_path), 0);
    refuses("has the parts of another table; to start afresh: mv ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_limits),
        cmocka_unit_test(two_limits_in_wide_slots),
        cmocka_unit_test(two_hundred_limits),
        cmocka_unit_test(a_small_table),
        cmocka_unit_test(a_part_of_ones_own_size),
        cmocka_unit_test(more_than_there_is),
        cmocka_unit_test(what_was_used_is_found_again),
        cmocka_unit_test(what_is_kept_in_files),
        cmocka_unit_test_setup_teardown(a_changed_byte, make_state, remove_state),
        cmocka_unit_test_setup_teardown(cut_off, make_state, remove_state),
        cmocka_unit_test_setup_teardown(a_file_that_was_begun, make_state, remove_state),
        cmocka_unit_test_setup_teardown(no_room_for_parts, make_state, remove_state),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_parts, make_state, remove_state),
        cmocka_unit_test_setup_teardown(a_child_that_reads_stats, make_state, remove_state),
        cmocka_unit_test_setup_teardown(other_programs, make_state, remove_state),
        cmocka_unit_test_setup_teardown(of_another_table, make_state, remove_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
