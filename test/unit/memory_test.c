/* SPDX-License-Identifier: MIT
   How much memory is available, of systems that are folders here.

   Every figure is worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/memory.h"

enum { MIB = 1 << 20 };

static char root[] = "/tmp/weir-memory-XXXXXX";

/* Writes a file of the system, and the folders on the way. */
static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        mkdir(whole, 0700);
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **unused)
{
    (void)unused;
    memcpy(strrchr(root, '-') + 1, "XXXXXX", 6);
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int remove_root(void **unused)
{
    char command[64];
    (void)unused;
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void says(uint64_t bytes, const char *source)
{
    const struct host_memory memory = host_memory_available_in(root);
    assert_int_equal(memory.available, bytes);
    assert_string_equal(memory.source, source);
}

static void nothing_said(void **unused)
{
    (void)unused;
    says(UINT64_MAX, "");
    put("/proc/self/cgroup", "nonsense\n0::/gone\n");
    put("/proc/meminfo", "MemTotal: 100 kB\n");
    says(UINT64_MAX, "");
}

static void the_machine(void **unused)
{
    (void)unused;
    put("/proc/meminfo", "MemTotal:       4096 kB\nMemFree:        10 kB\nMemAvailable:   2048 kB\n");
    says(2 * MIB, "MemAvailable of /proc/meminfo");
    put("/proc/meminfo", "MemAvailable: 18014398509481983 kB\n");
    says(UINT64_C(18446744073709550592), "MemAvailable of /proc/meminfo");
    put("/proc/meminfo", "MemAvailable: 18014398509481984 kB\n"); /* more than can be */
    says(UINT64_MAX, "");
}

/* What is asked often keeps nothing open. */
static void nothing_stays_open(void **unused)
{
    (void)unused;
    put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
    put("/proc/self/cgroup", "4:memory:/a\n0::/a\n");
    put("/sys/fs/cgroup/a/memory.max", "268435456\n");
    const int before = dup(0);
    close(before);
    says(UINT64_C(256) * MIB, "/sys/fs/cgroup/a/memory.max"); /* and what is used is not said */
    const int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

/* Of two that say the same the first is named, and of one with a long name its beginning. */
static void the_source(void **unused)
{
    (void)unused;
    char name[200], path[256];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    put("/proc/meminfo", "MemAvailable: 262144 kB\n");
    snprintf(path, sizeof path, "0::/%s\n", name);
    put("/proc/self/cgroup", path);
    snprintf(path, sizeof path, "/sys/fs/cgroup/%s/memory.max", name);
    put(path, "268435456\n");
    says(UINT64_C(256) * MIB, "MemAvailable of /proc/meminfo");
    put(path, "268435455\n");
    path[sizeof((struct host_memory *)0)->source - 1] = '\0';
    says(UINT64_C(256) * MIB - 1, path);
}

static void version_2(void **unused)
{
    (void)unused;
    put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
    put("/proc/self/cgroup", "0::/system.slice/weir.service\n");
    put("/sys/fs/cgroup/system.slice/weir.service/memory.max", "max\n");
    put("/sys/fs/cgroup/system.slice/weir.service/memory.current", "1000000\n");
    says(UINT64_C(1024) * MIB, "MemAvailable of /proc/meminfo");
    put("/sys/fs/cgroup/system.slice/memory.max", "67108864\n"); /* the one above says less: 64 - 16 + 4 */
    put("/sys/fs/cgroup/system.slice/memory.current", "16777216\n");
    put("/sys/fs/cgroup/system.slice/memory.stat", "anon 1\ninactive_file 4194304\n");
    says(UINT64_C(52) * MIB, "/sys/fs/cgroup/system.slice/memory.max");
    put("/sys/fs/cgroup/system.slice/weir.service/memory.max", "1000000\n"); /* all is used */
    says(0, "/sys/fs/cgroup/system.slice/weir.service/memory.max");
}

static void in_a_container(void **unused)
{
    (void)unused;
    put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
    put("/proc/self/cgroup", "0::/docker/0123456789\n"); /* what is mounted is this one's own */
    put("/sys/fs/cgroup/memory.max", "268435456\n");
    put("/sys/fs/cgroup/memory.current", "1048576\n");
    says(UINT64_C(255) * MIB, "/sys/fs/cgroup/memory.max");
    put("/proc/self/cgroup", "0::/\n");
    says(UINT64_C(255) * MIB, "/sys/fs/cgroup/memory.max");
}

static void version_1(void **unused)
{
    (void)unused;
    put("/proc/meminfo", "MemAvailable: 1048576 kB\n");
    put("/proc/self/cgroup", "5:devices:/\n4:cpu,memory:/a/b\n0::/\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "33554432\n");
    put("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "8388608\n");
    put("/sys/fs/cgroup/memory/a/b/memory.stat", "total_inactive_file 1048576\n");
    says(UINT64_C(25) * MIB, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_said, make_root, remove_root),
        cmocka_unit_test_setup_teardown(the_machine, make_root, remove_root),
        cmocka_unit_test_setup_teardown(nothing_stays_open, make_root, remove_root),
        cmocka_unit_test_setup_teardown(the_source, make_root, remove_root),
        cmocka_unit_test_setup_teardown(version_2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(in_a_container, make_root, remove_root),
        cmocka_unit_test_setup_teardown(version_1, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
