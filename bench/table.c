/* SPDX-License-Identifier: MIT
   What a table costs, in time and memory, with more and more keys: `weir-bench`, which does the measuring.

   Nothing that `weir-bench` does not say.

       bench-table [--huge]    10^6 and 10^7 keys; --huge: 10^8, too, which takes 5 GB
       bench-table --small     the same in a blink: a test that it still works
       bench-table --lines     one short run of 10^6 keys, a line each: who, work, threads, M/s (for rivals/run) */
#include "bench.h"

#include <limits.h>

enum { JSON_SIZE = 1 << 14, COMMAND_SIZE = PATH_MAX + 128, THREADS_MAX = 2 };

static char weir[PATH_MAX];

static void fail(const char *what)
{
    fprintf(stderr, "bench-table: %s\n", what);
    exit(1);
}

static void find_weir(void)
{
    const ssize_t size = readlink("/proc/self/exe", weir, sizeof weir - sizeof "/weir-bench");
    if (size < 0) fail("where am I?");
    weir[size] = '\0';
    strcpy(strrchr(weir, '/'), "/weir-bench");
}

static void run(const char *arguments)
{
    char command[COMMAND_SIZE];
    snprintf(command, sizeof command, "'%s' %s", weir, arguments);
    fflush(stdout);
    if (system(command) != 0) fail("weir-bench failed");
    printf("\n");
}

/* The number behind "name": in what stands behind "threads":N. */
static double rate_of(const char *json, int threads, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"threads\":%d,", threads);
    const char *at = strstr(json, key);
    snprintf(key, sizeof key, "\"%s\":", name);
    if (at != NULL) at = strstr(at, key);
    if (at == NULL) fail("weir-bench --json says something else");
    return strtod(at + strlen(key), NULL);
}

static void print_lines(void)
{
    static const struct {
        const char *who, *work, *name;
    } rows[] = {
        {"bare swap, one by one", "keyed floor", "floor_per_s"},
        {"bare swap, in a loop", "keyed floor", "floor_loop_per_s"},
        {"bare swap, batches of 32", "keyed floor", "floor_batch_per_s"},
        {"weir_table, one by one", "keyed", "single_per_s"},
        {"weir_table", "keyed", "loop_per_s"},
        {"weir_table, batches of 32", "keyed", "batch_per_s"},
    };
    char command[COMMAND_SIZE], json[JSON_SIZE];
    snprintf(command, sizeof command, "'%s' table --for 2s --threads 1,2 --json", weir);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL || fgets(json, sizeof json, pipe) == NULL || pclose(pipe) != 0) fail("weir-bench failed");
    for (int threads = 1; threads <= THREADS_MAX; threads++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            printf("%s\t%s\t%d\t%.3f\n", rows[i].who, rows[i].work, threads,
                   rate_of(json, threads, rows[i].name) / 1e6);
        }
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    find_weir();
    if (strcmp(mode, "--lines") == 0) {
        print_lines();
        return 0;
    }
    bench_print_machine();
    if (strcmp(mode, "--small") == 0) {
        run("table --keys 2000 --for 1ms");
        return 0;
    }
    run("table");
    run("table --keys 10000000");
    if (strcmp(mode, "--huge") == 0) run("table --keys 100000000");
    return 0;
}
