/* SPDX-License-Identifier: MIT
   Processes that charge one file are killed at any instruction, again and again.

       kill_stress [KILLS [SEED]]

   Some processes take from a few keys as fast as they can, some of them with several threads, from one key or from
   several at once, and note in memory of their own what they were given; the parent kills one of them with SIGKILL,
   starts another in its place, and so on, so that some die while they open the file, make it or make it grow.  Nothing
   is repaired.  Afterwards

       conservation    of no key more was given than burst + rate * time (what was given and not yet noted is missing,
                       which errs the right way)
       nobody waits    a process that comes then gets its answers, and every key passes again once it has rested
       no slot lost    after all have rested, as many keys as there are slots find one

   How often a process died inside a call that writes is counted: it says so in its notes before and after.

   No timed assertion. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
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

#include "size.h"
#include "unit/random.h"

enum { PROCESSES = 4, KEYS = 24, KEYS_MAX = 40, PAUSE_MAX_NS = 1500000, AWAIT_NS = 50000, FILL = 20000 };
enum { THREADS = 3, TOGETHER = 3, GROWN_MAX = 8 * KEYS_MAX * 7, SLOTS_IN_PAGE = 256, LOADED_PERCENT = 73 };
static const uint64_t SECOND_NS = 1000000000;

struct kind {
    const char *name, *limit, *widest;
    double burst, per_second;
    weir_when_full when_full;
    int threads;
    bool together; /* several keys at once */
    bool grows;
    bool makes; /* nobody has made the file when they begin */
};

static const struct kind kinds[] = {
    {"slots", "20000/s burst=50", NULL, 50, 20000, WEIR_FULL_DENY, 1, false, false, false},
    {"slots, made", "20000/s burst=50", NULL, 50, 20000, WEIR_FULL_DENY, 1, false, false, true},
    {"slots, threads", "20000/s burst=50", NULL, 50, 20000, WEIR_FULL_DENY, THREADS, false, false, false},
    {"slots, inherited", "2000/s burst=50", NULL, 50, 2000, WEIR_FULL_INHERIT, 1, false, false, false},
    {"slots, growing", "20000/s burst=50", NULL, 50, 20000, WEIR_FULL_DENY, 2, false, true, false},
    {"list of slots", "20000/s burst=50; 100000/s burst=100", NULL, 50, 20000, WEIR_FULL_DENY, 1, false, false, false},
    {"several keys", "20000/s burst=50", NULL, 50, 20000, WEIR_FULL_DENY, 1, true, false, false},
    {"sliding-log", "400/s algorithm=sliding-log", "400/s algorithm=sliding-log", 400, 400, WEIR_FULL_DENY, 1, false,
     false, false},
    {"sliding-window", "20000/s algorithm=sliding-window", "20000/s algorithm=sliding-window", 40000, 20000,
     WEIR_FULL_DENY, THREADS, false, false, true},
    {"several wide keys", "400/s algorithm=sliding-log", "400/s algorithm=sliding-log", 400, 400, WEIR_FULL_DENY, 1,
     true, false, false},
};

/* Noted by one process after the other, so what a killed one noted stays. */
struct note {
    atomic_uint_fast64_t given[KEYS];
    atomic_uint_fast64_t calls[THREADS]; /* odd: inside one */
    atomic_bool opened;
};

struct notes {
    struct note of[PROCESSES];
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
    options.when_full = kind->when_full;
    if (weir_table_open(&table, &options, &error) != 0) {
        printf("%s: %s\n", kind->name, error.message);
        exit(2);
    }
    return table;
}

struct worker {
    const struct kind *kind;
    const weir_plan *plan;
    weir_table *table;
    struct note *note;
    uint64_t seed;
    int number;
};

/* A few keys are always busy, the others come and go, so their slots are taken and given up. */
static uint64_t pick_key(uint64_t *seed)
{
    return random_below(seed, 2) == 0 ? random_below(seed, 4) : random_below(seed, KEYS);
}

static void take_one(struct worker *worker)
{
    const uint64_t number = pick_key(&worker->seed);
    const weir_key key = {&number, sizeof number};
    weir_decision decision = weir_table_take(worker->table, worker->plan, key, 1);
    if (!weir_allowed(decision)) return;
    if (random_below(&worker->seed, 8) == 0) weir_table_settle(worker->table, worker->plan, key, &decision, 0);
    else atomic_fetch_add(&worker->note->given[number], 1);
}

static void take_together(struct worker *worker)
{
    uint64_t number[TOGETHER];
    weir_ask asks[TOGETHER];
    const uint64_t first = pick_key(&worker->seed);
    for (uint64_t i = 0; i < TOGETHER; i++) {
        number[i] = (first + i * 5) % KEYS;
        asks[i] = (weir_ask){worker->plan, {&number[i], sizeof number[i]}, 1, {0}};
    }
    if (!weir_table_take_all(worker->table, asks, TOGETHER, weir_now())) return;
    for (int i = 0; i < TOGETHER; i++) atomic_fetch_add(&worker->note->given[number[i]], 1);
}

/* Until it is killed. */
static void *charge_for_ever(void *argument)
{
    struct worker *worker = argument;
    for (;;) {
        const bool grows = worker->kind->grows && random_below(&worker->seed, 2000) == 0;
        atomic_fetch_add(&worker->note->calls[worker->number], 1);
        if (grows) weir_table_grow(worker->table, random_below(&worker->seed, GROWN_MAX), NULL);
        else if (worker->kind->together) take_together(worker);
        else take_one(worker);
        atomic_fetch_add(&worker->note->calls[worker->number], 1);
    }
    return NULL;
}

static void work(const struct kind *kind, const weir_plan *plan, const char *path, struct note *note, uint64_t seed)
{
    static struct worker worker[THREADS];
    pthread_t thread;
    weir_table *table = open_table(kind, plan, path);
    atomic_store(&note->opened, true);
    for (int i = kind->threads - 1; i >= 0; i--) {
        worker[i] = (struct worker){kind, plan, table, note, random_word(&seed) | 1, i};
        if (i == 0) charge_for_ever(&worker[i]);
        else if (pthread_create(&thread, NULL, charge_for_ever, &worker[i]) != 0) exit(2);
    }
}

static pid_t start(const struct kind *kind, const weir_plan *plan, const char *path, struct note *note, uint64_t seed)
{
    atomic_store(&note->opened, false);
    for (int i = 0; i < THREADS; i++) atomic_store(&note->calls[i], 0);
    const pid_t child = fork();
    if (child == 0) work(kind, plan, path, note, seed);
    if (child < 0) {
        perror("fork");
        exit(2);
    }
    return child;
}

static void stop(pid_t child)
{
    int status = 0;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return;
    printf("FAILED: a process ended by itself, status %d\n", status);
    failures++;
}

/* A new process needs as long as it needs until it calls; a minute is too long. */
static void await_call(const struct kind *kind, const struct note *note)
{
    const struct timespec pause = {0, AWAIT_NS};
    const uint64_t begin_ns = weir_now().ns;
    while (atomic_load(&note->calls[0]) == 0 && weir_now().ns - begin_ns < 60 * SECOND_NS) nanosleep(&pause, NULL);
    check(atomic_load(&note->calls[0]) != 0, kind, "calls in a minute", 0, 1);
}

/* Where they died. */
struct deaths {
    unsigned opening, inside;
};

static void count_death(struct deaths *deaths, const struct note *note)
{
    bool inside = false;
    for (int i = 0; i < THREADS; i++) inside = inside || atomic_load(&note->calls[i]) % 2 != 0;
    if (!atomic_load(&note->opened)) deaths->opening++;
    else if (inside) deaths->inside++;
}

static void kill_often(const struct kind *kind, const weir_plan *plan, const char *path, struct notes *notes,
                       unsigned kills, uint64_t *seed)
{
    struct deaths deaths = {0, 0};
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) child[i] = start(kind, plan, path, &notes->of[i], random_word(seed) | 1);
    for (unsigned i = 0; i < kills; i++) {
        const struct timespec pause = {0, (long)random_below(seed, PAUSE_MAX_NS)};
        nanosleep(&pause, NULL);
        const uint64_t who = random_below(seed, PROCESSES);
        if (i % 2 == 0) await_call(kind, &notes->of[who]); /* the others may die before they call */
        stop(child[who]);
        count_death(&deaths, &notes->of[who]);
        child[who] = start(kind, plan, path, &notes->of[who], random_word(seed) | 1);
    }
    for (int i = 0; i < PROCESSES; i++) stop(child[i]);
    printf("%s: %u kills, %u while opening, %u inside a call\n", kind->name, kills, deaths.opening, deaths.inside);
    check(kills < 100 || deaths.inside > kills / 20, kind, "deaths inside a call", deaths.inside, kills / 20);
}

static void check_conservation(const struct kind *kind, const struct notes *notes, double seconds)
{
    uint64_t all = 0;
    for (int k = 0; k < KEYS; k++) {
        uint64_t given = 0;
        for (int i = 0; i < PROCESSES; i++) given += atomic_load(&notes->of[i].given[k]);
        const double allowed = kind->burst + kind->per_second * seconds;
        check((double)given <= allowed, kind, "given to one key", (double)given, allowed);
        all += given;
    }
    check(all > 0, kind, "given to all", 0, 1);
    printf("%s: %llu given in %.1f s\n", kind->name, (unsigned long long)all, seconds);
}

/* In whole pages, of which 64 in 100 are for keys. */
static uint64_t slots_for(uint64_t keys_max)
{
    return (keys_max * 100 / LOADED_PERCENT / SLOTS_IN_PAGE + 1) * SLOTS_IN_PAGE;
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
    const uint64_t keys = kind->widest != NULL ? stats.keys_max : slots_for(stats.keys_max);
    const int limits = weir_plan_limits(plan);
    /* Of a table that has grown, those of its newest part. */
    const bool counts = limits == 1 && kind->when_full == WEIR_FULL_DENY;
    if (counts) check(slots >= keys, kind, "slots that new keys got", slots, (double)keys);
    if (counts && !kind->grows) check(slots <= keys, kind, "slots that new keys got", slots, (double)keys);
    weir_table_close(table);
}

static void torment(const struct kind *kind, const char *folder, unsigned kills, uint64_t *seed)
{
    char path[4200];
    weir_plan plan;
    snprintf(path, sizeof path, "%s/%s", folder, kind->name);
    struct notes *notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED || weir_plan_parse(&plan, kind->limit, WEIR_ADMIT, NULL) != 0) exit(2);
    if (!kind->makes) weir_table_close(open_table(kind, &plan, path));
    const uint64_t begin_ns = weir_now().ns;
    kill_often(kind, &plan, path, notes, kills, seed);
    check_conservation(kind, notes, (double)(weir_now().ns - begin_ns) / (double)SECOND_NS);
    check_nothing_is_stuck(kind, &plan, path);
    munmap(notes, sizeof *notes);
    unlink(path);
}

int main(int argc, char **argv)
{
    const unsigned kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : (unsigned)size_pick(5, 15, 100);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : size_seed("kill_stress", 20261121) | 1;
    char folder[] = "/tmp/weir-kill-XXXXXX";
    if (mkdtemp(folder) == NULL) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0); /* children begin with nothing to print */
    printf("%u kills a kind, seed %llu\n", kills, (unsigned long long)seed);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) torment(&kinds[i], folder, kills, &seed);
    rmdir(folder);
    return failures != 0;
}
