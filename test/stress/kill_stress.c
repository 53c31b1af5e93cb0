/* SPDX-License-Identifier: MIT
   kill_stress.c - processes that charge one file are killed at any instruction, again and again.

       kill_stress [KILLS [SEED]]

   Some processes take from a few keys as fast as they can, and note in memory of their own what they were given; the
   parent kills one of them with SIGKILL, starts another in its place, and so on.  Nothing is repaired.  Afterwards

       conservation    of no key more was given than burst + rate * time (what was given and not yet noted is missing,
                       which errs the right way)
       nobody waits    a process that comes then gets its answers, and every key passes again once it has rested
       no slot lost    after all have rested, as many keys as there are slots find one

   May touch: a file in a folder of its own.  Promises: no timed assertion.  Leaves to others: all interleavings of
   a few steps (explore/table_explore.c). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#include "unit/random.h"

enum { PROCESSES = 4, KEYS = 24, KILLS = 300, KEYS_MAX = 40, PAUSE_MAX_NS = 1500000, FILL = 20000 };
static const uint64_t SECOND_NS = 1000000000;

struct kind {
    const char *name, *limit, *widest;
    double burst, per_second;
};

static const struct kind kinds[] = {
    {"slots", "20000/s burst=50", NULL, 50, 20000},
    {"list of slots", "20000/s burst=50; 100000/s burst=100", NULL, 50, 20000},
    {"sliding-log", "400/s algorithm=sliding-log", "400/s algorithm=sliding-log", 400, 400},
    {"sliding-window", "20000/s algorithm=sliding-window", "20000/s algorithm=sliding-window", 40000, 20000},
};

/* Noted by one process after the other, so what a killed one noted stays. */
struct notes {
    uint64_t given[PROCESSES][KEYS];
};

static int failures;

static void check(bool holds, const struct kind *kind, const char *what, double seen, double allowed)
{
    if (holds) return;
    printf("FAILED %s: %s: %.0f, expected %.0f\n", kind->name, what, seen, allowed);
    failures++;
}

static weir_table *open_table(const struct kind *kind, const weir_plan *plan, const char *path)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    weir_table *table;
    options.path = path;
    options.keys_max = KEYS_MAX;
    options.plan = kind->widest != NULL ? plan : NULL;
    options.when_full = WEIR_FULL_DENY;
    if (weir_table_open(&table, &options, &error) != 0) {
        printf("%s: %s\n", kind->name, error.message);
        exit(2);
    }
    return table;
}

/* Until it is killed. */
static void charge_for_ever(const struct kind *kind, const weir_plan *plan, const char *path, uint64_t *given,
                            uint64_t seed)
{
    weir_table *table = open_table(kind, plan, path);
    for (;;) {
        /* A few keys are always busy, the others come and go, so their slots are taken and given up. */
        const uint64_t number = random_below(&seed, 2) == 0 ? random_below(&seed, 4) : random_below(&seed, KEYS);
        const weir_key key = {&number, sizeof number};
        weir_decision decision = weir_table_take(table, plan, key, 1);
        if (weir_allowed(decision) && random_below(&seed, 8) == 0) weir_table_settle(table, plan, key, &decision, 0);
        else if (weir_allowed(decision)) given[number]++;
    }
}

static pid_t start(const struct kind *kind, const weir_plan *plan, const char *path, uint64_t *given, uint64_t seed)
{
    const pid_t child = fork();
    if (child == 0) charge_for_ever(kind, plan, path, given, seed);
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    return child;
}

static void stop(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
}

static void kill_often(const struct kind *kind, const weir_plan *plan, const char *path, struct notes *notes,
                       unsigned kills, uint64_t *seed)
{
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) child[i] = start(kind, plan, path, notes->given[i], random_word(seed) | 1);
    for (unsigned i = 0; i < kills; i++) {
        const struct timespec pause = {0, (long)random_below(seed, PAUSE_MAX_NS)};
        nanosleep(&pause, NULL);
        const uint64_t who = random_below(seed, PROCESSES);
        stop(child[who]);
        child[who] = start(kind, plan, path, notes->given[who], random_word(seed) | 1);
    }
    for (int i = 0; i < PROCESSES; i++) stop(child[i]);
}

static void check_conservation(const struct kind *kind, const struct notes *notes, double seconds)
{
    uint64_t all = 0;
    for (int k = 0; k < KEYS; k++) {
        uint64_t given = 0;
        for (int i = 0; i < PROCESSES; i++) given += notes->given[i][k];
        const double allowed = kind->burst + kind->per_second * seconds;
        check((double)given <= allowed, kind, "given to one key", (double)given, allowed);
        all += given;
    }
    check(all > 0, kind, "given to all", 0, 1);
    printf("%s: %llu given in %.1f s\n", kind->name, (unsigned long long)all, seconds);
}

/* An hour later, every key passes; and an hour later again, all slots are there for others. */
static void check_nothing_is_stuck(const struct kind *kind, const weir_plan *plan, const char *path)
{
    weir_table *table = open_table(kind, plan, path);
    weir_instant later = {weir_now().ns + 3600 * SECOND_NS};
    weir_table_stats stats;
    unsigned passed = 0, slots = 0;
    for (uint64_t k = 0; k < KEYS; k++) {
        passed += weir_allowed(weir_table_take_at(table, plan, (weir_key){&k, sizeof k}, later, 1));
    }
    check(passed == KEYS, kind, "keys that pass after a rest", passed, KEYS);
    later.ns += 3600 * SECOND_NS;
    for (uint64_t k = KEYS; k < KEYS + FILL; k++) {
        slots += weir_allowed(weir_table_take_at(table, plan, (weir_key){&k, sizeof k}, later, 1));
    }
    weir_table_read_stats(table, &stats, sizeof stats);
    const uint64_t keys = kind->widest != NULL ? stats.keys_max : (stats.bytes - 4096) / 16;
    const int limits = weir_plan_limits(plan);
    if (limits == 1) check(slots == keys, kind, "slots that new keys got", slots, (double)keys);
    weir_table_close(table);
}

static void torment(const struct kind *kind, const char *folder, unsigned kills, uint64_t *seed)
{
    char path[4200];
    weir_plan plan;
    snprintf(path, sizeof path, "%s/%s", folder, kind->name);
    struct notes *notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED || weir_plan_parse(&plan, kind->limit, WEIR_ADMIT, NULL) != 0) exit(2);
    weir_table_close(open_table(kind, &plan, path));
    const uint64_t begin_ns = weir_now().ns;
    kill_often(kind, &plan, path, notes, kills, seed);
    check_conservation(kind, notes, (double)(weir_now().ns - begin_ns) / (double)SECOND_NS);
    check_nothing_is_stuck(kind, &plan, path);
    munmap(notes, sizeof *notes);
    unlink(path);
}

int main(int argc, char **argv)
{
    const unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : KILLS;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : 20261121;
    char folder[] = "/tmp/weir-kill-XXXXXX";
    if (mkdtemp(folder) == NULL) return 2;
    printf("%u kills a kind, seed %llu\n", kills, (unsigned long long)seed);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) torment(&kinds[i], folder, kills, &seed);
    rmdir(folder);
    return failures != 0;
}
