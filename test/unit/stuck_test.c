/* SPDX-License-Identifier: MIT
   Wide slots in a file, and somebody who keeps their locks: nobody is stopped, nothing passes unlocked.

   Another opening of the file is another process to the kernel (OFD locks). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <weir/weir.h>

#include "api/table/keyed.h"

enum { KEYS = 2000, FIRST_STRIPE = 1, STRIPES = 64 };

static char folder[] = "/tmp/weir_stuck_XXXXXX";
static weir_plan plan;

static weir_table *opened(const char *path, uint64_t lock_wait_ns)
{
    weir_table *table = NULL;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    if (path == NULL) options.sharing = WEIR_PRIVATE;
    options.keys_max = 100000; /* so that each lock has many keys */
    options.plan = &plan;
    options.lock_wait_ns = lock_wait_ns;
    assert_int_equal(weir_plan_parse(&plan, "2/h algorithm=sliding-window", WEIR_ADMIT, NULL), 0);
    assert_int_equal(weir_table_open(&table, &options, NULL), 0);
    return table;
}

static int keep_lock(const char *path, off_t from, off_t count)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = count};
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    return fd;
}

static uint64_t stuck(weir_table *table)
{
    weir_table_stats stats;
    weir_table_read_stats(table, &stats, sizeof stats);
    return stats.stuck;
}

static unsigned passes(weir_table *table)
{
    unsigned passed = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        const weir_decision decision = weir_table_take(table, &plan, (weir_key){&key, sizeof key}, 1);
        passed += decision.verdict == WEIR_ALLOW;
        if (decision.verdict != WEIR_ALLOW) assert_true(decision.verdict == WEIR_DENY && decision.retry_ns != 0);
    }
    return passed;
}

static void path_of(char path[64], const char *name)
{
    snprintf(path, 64, "%s/%s", folder, name);
}

static void test_one_lock_of_all(void **state)
{
    (void)state;
    char path[64];
    path_of(path, "one");
    weir_table *const table = opened(path, 1000000);
    const int holder = keep_lock(path, FIRST_STRIPE + 5, 1);
    const unsigned passed = passes(table);
    assert_in_range(passed, KEYS - 3 * KEYS / STRIPES, KEYS - 1);
    assert_int_equal(stuck(table), KEYS - passed);
    close(holder);
    assert_int_equal(passes(table), KEYS); /* the second permit of some, the first of others */
    assert_int_equal(stuck(table), KEYS - passed);
    weir_table_close(table);
}

/* Of several keys at once: all or none, and no lock stays held. */
static void test_several_keys(void **state)
{
    (void)state;
    char path[64];
    path_of(path, "several");
    weir_table *const table = opened(path, 1000000);
    const int holder = keep_lock(path, FIRST_STRIPE + 5, 1);
    unsigned passed = 0;
    for (uint64_t pair = 0; pair < KEYS; pair += 2) {
        const uint64_t key[2] = {pair, pair + 1};
        weir_ask asks[2] = {{.plan = &plan, .key = {&key[0], sizeof key[0]}, .cost = 1},
                            {.plan = &plan, .key = {&key[1], sizeof key[1]}, .cost = 1}};
        const bool both = weir_table_take_all(table, asks, 2, weir_now());
        for (int i = 0; i < 2; i++) {
            assert_int_equal(asks[i].decision.verdict, both ? WEIR_ALLOW : WEIR_DENY);
            assert_int_equal(asks[i].decision.retry_ns != 0, !both);
        }
        passed += both;
    }
    assert_int_equal(stuck(table), KEYS / 2 - passed);
    assert_in_range(passed, KEYS / 2 - 6 * KEYS / 2 / STRIPES, KEYS / 2 - 1);
    close(holder);
    const unsigned once_more = passes(table);
    assert_int_equal(once_more, KEYS); /* nothing was taken of those that were refused: 2/h have one left, or two */
    assert_int_equal(passes(table), KEYS - 2 * passed);
    weir_table_close(table);
}

/* The lock of the plans: only who brings a plan that nobody had waits for it. */
static void test_the_plans(void **state)
{
    (void)state;
    char path[64];
    path_of(path, "plans");
    weir_table *const table = opened(path, 1000000);
    const uint64_t key = 1;
    assert_true(weir_allowed(weir_table_take(table, &plan, (weir_key){&key, sizeof key}, 1)));
    const int holder = keep_lock(path, FIRST_STRIPE + STRIPES, 1);
    assert_int_equal(passes(table), KEYS);
    weir_plan other;
    assert_int_equal(weir_plan_parse(&other, "5/h algorithm=sliding-window", WEIR_ADMIT, NULL), 0);
    assert_int_equal(weir_table_take(table, &other, (weir_key){&key, sizeof key}, 1).verdict, WEIR_DENY);
    close(holder);
    assert_true(weir_allowed(weir_table_take(table, &other, (weir_key){&key, sizeof key}, 1)));
    weir_table_close(table);
}

/* A daemon closes all descriptors: without locks two processes would let pass more than the limit. */
static void test_a_closed_descriptor(void **state)
{
    (void)state;
    char path[64], link[64], target[256];
    path_of(path, "closed");
    weir_table *const table = opened(path, 1000000);
    DIR *const descriptors = opendir("/proc/self/fd");
    assert_non_null(descriptors);
    for (const struct dirent *entry; (entry = readdir(descriptors)) != NULL;) {
        snprintf(link, sizeof link, "/proc/self/fd/%.20s", entry->d_name);
        const ssize_t size = readlink(link, target, sizeof target - 1);
        if (size < 0) continue;
        target[size] = '\0';
        if (strcmp(target, path) == 0) close(atoi(entry->d_name));
    }
    closedir(descriptors);
    assert_int_equal(passes(table), 0);
    assert_int_equal(stuck(table), KEYS);
    weir_table_close(table);
}

static void test_opening(void **state)
{
    (void)state;
    char path[64];
    weir_table *table = NULL;
    weir_error error;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    path_of(path, "opening");
    weir_table_close(opened(path, 0));
    const int holder = keep_lock(path, 0, 1);
    options.path = path;
    assert_int_equal(weir_table_open(&table, &options, &error), WEIR_ESYSTEM);
    assert_non_null(
        strstr(error.message, "opening: cannot be locked: another process holds its lock; is that process stopped?"));
    close(holder);
}

static void *takes_one(void *table)
{
    const uint64_t key = 1;
    return weir_allowed(weir_table_take(table, &plan, (weir_key){&key, sizeof key}, 1)) ? table : NULL;
}

/* A thread of this process that is preempted while it has the lock: lock_wait_ns is for other processes. */
static void test_a_preempted_thread(void **state)
{
    (void)state;
    pthread_t thread;
    void *passed = NULL;
    weir_table *const table = opened(NULL, 1);
    for (unsigned stripe = 0; stripe < WIDE_STRIPES; stripe++) assert_true(keyed_lock(table, stripe));
    assert_int_equal(pthread_create(&thread, NULL, takes_one, table), 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    for (unsigned stripe = 0; stripe < WIDE_STRIPES; stripe++) keyed_unlock(table, stripe);
    assert_int_equal(pthread_join(thread, &passed), 0);
    assert_ptr_equal(passed, table);
    assert_int_equal(stuck(table), 0);
    weir_table_close(table);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"one", "several", "plans", "closed", "opening"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        path_of(path, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_lock_of_all),    cmocka_unit_test(test_several_keys),
        cmocka_unit_test(test_the_plans),          cmocka_unit_test(test_a_closed_descriptor),
        cmocka_unit_test(test_a_preempted_thread), cmocka_unit_test(test_opening)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
