/* SPDX-License-Identifier: MIT
   One call on a table in shared memory, dead after each of its instructions in turn.

       steps_stress [SEED]         how many deaths there are is said by WEIR_SIZE (size.h)

   A child makes one call and is stopped after every instruction.  Whenever the memory has changed, others, for whom it
   might as well be dead, find

       conservation    a key has what it had before the call, or what it has after it, or something between
       nobody waits    whoever asks gets an answer
       no slot lost    after a rest as many new keys are kept as there are slots

   and then the memory is put back, and the child goes on.  So each state that a death could leave is looked at, for a
   charge, a new key, a key that takes over another's slot, several limits and keys at once, corrections, a key that
   moves after growth, and growth itself.

   Making, joining and growing a file takes the file's lock, which only a real death lets go of.  There a child is
   killed at each call of the system, or some instructions behind it, and others open the file after it.

   No timed assertion. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/weir.h>

#include "api/table/keyed.h"
#include "size.h"
#include "stress/crowd.h"
#include "unit/random.h"

enum {
    KEYS = 6,
    OTHERS = 200,
    SLOTS = 256, /* of a table of one page */
    FILL = 6000,
    SECONDS_MAX = 500,
    CALLS_MAX = 1000,
    WRITES_IN = 1500, /* instructions: all that is written between two calls of the system */
    BURST = 5
};
/* With the thread sanitizer a call has so many instructions that going through them shows next to nothing. */
#if defined(__SANITIZE_THREAD__)
enum { STEPPED = 0, STEPS_MAX = 500 };
#else
enum { STEPPED = 1, STEPS_MAX = 20000 };
#endif

static const uint64_t HOUR_NS = UINT64_C(3600) * 1000000000;

static weir_plan one, two;
static weir_instant now;

static weir_key key_of(const uint64_t *number)
{
    return (weir_key){number, sizeof *number};
}

static weir_table *open_table(weir_when_full when_full, const char *path, const weir_plan *wide)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    weir_table *table;
    options.keys_max = 1;
    options.when_full = when_full;
    options.path = path;
    options.plan = wide;
    if (weir_table_open(&table, &options, &error) != 0) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return table;
}

static bool takes(weir_table *table, const weir_plan *plan, uint64_t number, weir_instant at)
{
    return weir_allowed(weir_table_take_at(table, plan, key_of(&number), at, 1));
}

static unsigned takes_all(weir_table *table, uint64_t number)
{
    unsigned passed = 0;
    while (passed < 1000 && takes(table, &one, number, now)) passed++;
    return passed;
}

/* ---- what is stepped through ---- */

static void use_some(weir_table *table)
{
    for (uint64_t number = 0; number < 3; number++) takes(table, &two, number, now);
}

static void use_and_fill(weir_table *table)
{
    for (uint64_t number = 1000; number < 1000 + SLOTS + SLOTS / 2; number++) takes(table, &one, number, now);
    use_some(table);
}

/* Its slots have been used, and have rested. */
static void use_and_rest(weir_table *table)
{
    for (uint64_t number = 1000; number < 1000 + FILL; number++) takes(table, &one, number, now);
    now.ns += 4 * HOUR_NS;
    use_some(table);
}

static void use_and_grow(weir_table *table)
{
    use_some(table);
    crowd_check(weir_table_grow(table, 2 * SLOTS, NULL) == 0, "it does not grow");
}

static void charge_it(weir_table *table)
{
    takes(table, &one, 1, now);
}

static void enter_it(weir_table *table)
{
    takes(table, &one, 4, now);
}

static void charge_a_list(weir_table *table)
{
    takes(table, &two, 1, now);
}

static void enter_a_list(weir_table *table)
{
    takes(table, &two, 4, now);
}

static void take_all_of_them(weir_table *table)
{
    const uint64_t number[] = {1, 4, 2};
    weir_ask asks[] = {
        {&one, key_of(&number[0]), 2, {0}}, {&two, key_of(&number[1]), 1, {0}}, {&one, key_of(&number[2]), 1, {0}}};
    weir_table_take_all(table, asks, 3, now);
}

/* The last of them refuses, so whatever the others were charged goes back. */
static void take_none_of_them(weir_table *table)
{
    const uint64_t number[] = {1, 4, 2};
    weir_ask asks[] = {
        {&one, key_of(&number[0]), 2, {0}}, {&one, key_of(&number[1]), 1, {0}}, {&one, key_of(&number[2]), 3, {0}}};
    asks[2].key = asks[0].key;
    weir_table_take_all(table, asks, 3, now);
}

static void settle_it(weir_table *table)
{
    const uint64_t number = 1;
    weir_decision taken = weir_table_take_at(table, &one, key_of(&number), now, 2);
    weir_table_settle(table, &one, key_of(&number), &taken, 1);
}

static void forget_it(weir_table *table)
{
    const uint64_t number = 1;
    weir_table_forget(table, &two, key_of(&number));
}

static void owe_it(weir_table *table)
{
    const uint64_t number = 1;
    weir_table_charge(table, &one, key_of(&number), 2);
}

static void grow_it(weir_table *table)
{
    weir_table_grow(table, 2 * SLOTS, NULL);
}

static const struct scene {
    const char *name;
    weir_when_full when_full;
    void (*prepare)(weir_table *), (*call)(weir_table *);
    bool looks_only;   /* in the end it has changed nothing that anybody sees */
    uint64_t too_much; /* permits of a key that who dies may have charged before he gave them back */
} scenes[] = {
    {"charge", WEIR_FULL_DENY, use_some, charge_it, false, 0},
    {"new key", WEIR_FULL_DENY, use_some, enter_it, false, 0},
    {"new key in a used slot", WEIR_FULL_DENY, use_and_rest, enter_it, false, 0},
    {"new key in another's slot", WEIR_FULL_INHERIT, use_and_fill, enter_it, false, 0},
    {"new key, another forgotten", WEIR_FULL_EVICT, use_and_fill, enter_it, false, 0},
    {"list", WEIR_FULL_DENY, use_some, charge_a_list, false, 0},
    {"new key with a list", WEIR_FULL_DENY, use_some, enter_a_list, false, 0},
    {"several keys", WEIR_FULL_DENY, use_some, take_all_of_them, false, 0},
    {"several keys, refused", WEIR_FULL_DENY, use_some, take_none_of_them, true, 2},
    {"settle", WEIR_FULL_DENY, use_some, settle_it, false, 2},
    {"forget", WEIR_FULL_DENY, use_some, forget_it, false, 0},
    {"charge whatever the balance", WEIR_FULL_DENY, use_some, owe_it, false, 0},
    {"moved after growth", WEIR_FULL_DENY, use_and_grow, charge_it, false, 0},
    {"list moved after growth", WEIR_FULL_INHERIT, use_and_grow, charge_a_list, false, 0},
    {"forgotten after growth", WEIR_FULL_DENY, use_and_grow, forget_it, false, 0},
    {"growth", WEIR_FULL_DENY, use_some, grow_it, true, 0},
};

/* ---- the memory, as the file without a name that it is ---- */

struct memory {
    char *bytes;
    size_t size;
};

static size_t size_of(const weir_table *table)
{
    struct stat file;
    crowd_check(fstat(table->region.fd, &file) == 0, "no file");
    return (size_t)file.st_size;
}

static void keep(const weir_table *table, struct memory *memory)
{
    memory->size = size_of(table);
    memory->bytes = realloc(memory->bytes, memory->size);
    crowd_check(memory->bytes != NULL, "no memory");
    crowd_check(pread(table->region.fd, memory->bytes, memory->size, 0) == (ssize_t)memory->size, "it cannot be read");
}

static void put_back(const weir_table *table, const struct memory *memory)
{
    /* What it has grown by is not mapped in here. */
    crowd_check(ftruncate(table->region.fd, (off_t)memory->size) == 0, "it cannot be cut off");
    crowd_check(pwrite(table->region.fd, memory->bytes, memory->size, 0) == (ssize_t)memory->size, "not put back");
}

static bool differs(const struct memory *a, const struct memory *b)
{
    return a->size != b->size || memcmp(a->bytes, b->bytes, a->size) != 0;
}

/* ---- others ---- */

struct standing {
    uint64_t remaining[KEYS];
};

static uint64_t remaining(weir_table *table, const weir_plan *plan, uint64_t number)
{
    return weir_table_take_at(table, plan, key_of(&number), now, 0).remaining;
}

static void look(weir_table *table, struct standing *standing)
{
    for (uint64_t number = 0; number < KEYS; number++) {
        standing->remaining[number] = remaining(table, &two, number);
    }
}

static bool between(uint64_t value, uint64_t a, uint64_t b)
{
    return a < b ? value >= a && value <= b : value >= b && value <= a;
}

/* In a process of its own, which ends with it.  before and after: of the call. */
static void find_all_well(weir_table *table, const struct scene *scene, const struct standing *before,
                          const struct standing *after)
{
    struct standing seen;
    const bool all = scene->when_full == WEIR_FULL_DENY;
    uint64_t kept = 0;
    struct region_view view;
    crowd_check(region_read(table->header, size_of(table), &view) == REGION_SOUND, "who opens it now finds no table");
    look(table, &seen);
    for (uint64_t number = 0; number < KEYS; number++) {
        const uint64_t had = before->remaining[number] - scene->too_much;
        crowd_check(between(seen.remaining[number], before->remaining[number], after->remaining[number]) ||
                        between(seen.remaining[number], had, before->remaining[number]),
                    "a key has more, or less, than before and after a call");
        const uint64_t has = remaining(table, &one, number);
        const unsigned passed = takes_all(table, number);
        /* In a full table the one may take another's slot. */
        crowd_check(passed <= most(has, seen.remaining[number]), "a key gets more than it has");
        crowd_check(!all || (has >= seen.remaining[number] && passed == has), "a key gets another number than it has");
    }
    const weir_instant later = {now.ns + 8 * HOUR_NS};
    for (uint64_t number = 100000; all && number < 100000 + 4 * FILL && kept < SLOTS; number++) {
        kept += takes(table, &one, number, later);
    }
    crowd_check(!all || kept >= SLOTS, "a slot is lost");
}

static void ask_others(weir_table *table, const struct scene *scene, const struct standing *before,
                       const struct standing *after)
{
    int status = 1;
    const pid_t other = fork();
    crowd_check(other >= 0, "no other process");
    if (other == 0) {
        find_all_well(table, scene, before, after);
        _exit(0);
    }
    waitpid(other, &status, 0);
    crowd_check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "others did not find all well");
}

/* ---- one instruction after the other ---- */

static pid_t stopped_child(weir_table *table, void (*call)(weir_table *))
{
    int status = 0;
    const pid_t child = fork();
    crowd_check(child >= 0, "no child");
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(2);
        raise(SIGSTOP);
        call(table);
        _exit(0);
    }
    waitpid(child, &status, 0);
    crowd_check(WIFSTOPPED(status), "a child cannot be traced");
    return child;
}

static bool goes_on(pid_t child, bool to_system)
{
    int status = 0;
    if (ptrace(to_system ? PTRACE_SYSCALL : PTRACE_SINGLESTEP, child, NULL, NULL) != 0) return false;
    waitpid(child, &status, 0);
    return WIFSTOPPED(status);
}

/* In a process of its own: what the call leaves. */
static void look_after(weir_table *table, const struct scene *scene, struct standing *after)
{
    int status = 1, ends[2];
    crowd_check(pipe(ends) == 0, "no pipe");
    const pid_t child = fork();
    crowd_check(child >= 0, "no child");
    if (child == 0) {
        scene->call(table);
        look(table, after);
        _exit(write(ends[1], after, sizeof *after) == (ssize_t)sizeof *after ? 0 : 1);
    }
    waitpid(child, &status, 0);
    crowd_check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the call cannot be made");
    crowd_check(read(ends[0], after, sizeof *after) == (ssize_t)sizeof *after, "nothing is told");
    close(ends[0]);
    close(ends[1]);
}

static void play(const struct scene *scene)
{
    struct standing before, after;
    struct memory seen = {NULL, 0}, is = {NULL, 0};
    uint64_t steps = 0, changes = 0;
    now = weir_now();
    weir_table *table = open_table(scene->when_full, NULL, NULL);
    scene->prepare(table);
    look(table, &before);
    keep(table, &seen);
    look_after(table, scene, &after);
    put_back(table, &seen);
    const bool changed = memcmp(&before, &after, sizeof before) != 0;
    crowd_check(changed != scene->looks_only, "the call does something else than is expected of it");
    const pid_t child = stopped_child(table, scene->call);
    for (; goes_on(child, false) && steps < STEPS_MAX; steps++) {
        keep(table, &is);
        if (!differs(&is, &seen)) continue;
        ask_others(table, scene, &before, &after);
        put_back(table, &is);
        keep(table, &seen);
        changes++;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    printf("  %s: %llu instructions, %llu of them write\n", scene->name, (unsigned long long)steps,
           (unsigned long long)changes);
    crowd_check(changes > 0 || !STEPPED, "nothing was written");
    weir_table_close(table);
    free(seen.bytes);
    free(is.bytes);
}

/* ---- deaths while a file is made, joined and grown ---- */

static char folder[] = "/tmp/weir-steps-XXXXXX", path[sizeof folder + 8];
static const weir_plan *width;

static void open_and_grow(weir_table *unused)
{
    (void)unused;
    weir_table *table = open_table(WEIR_FULL_DENY, path, width);
    if (width == NULL) weir_table_grow(table, 2 * SLOTS, NULL);
    weir_table_close(table);
}

/* Dies on the way into a call of the system or out of it, so many of them behind it, and after some instructions more.
   Returns how many there were. */
static uint64_t die_after(uint64_t calls, uint64_t steps)
{
    uint64_t made = 0;
    const pid_t child = stopped_child(NULL, open_and_grow);
    while (made < calls && goes_on(child, true)) made++;
    while (steps > 0 && goes_on(child, false)) steps--;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return made;
}

static void find_a_table(uint64_t taken)
{
    const uint64_t number = 7;
    weir_table *table = open_table(WEIR_FULL_DENY, path, width);
    const weir_plan *plan = width != NULL ? width : &one;
    for (uint64_t i = 0; i < taken; i++) {
        crowd_check(weir_allowed(weir_table_take(table, plan, key_of(&number), 1)), "a key has less than nobody took");
    }
    crowd_check(!weir_allowed(weir_table_take(table, plan, key_of(&number), 1)), "a key has more than it has");
    weir_table_close(table);
}

static void die_while_opening(const char *what, const weir_plan *plan, bool made, uint64_t *seed)
{
    const uint64_t stride = size_pick(20, 8, 1);
    uint64_t calls = CALLS_MAX, deaths = 0;
    width = plan;
    for (uint64_t death = 0; death <= calls; death += stride, deaths++) {
        if (made) find_a_table(BURST);
        if (death == 0) {
            calls = die_after(CALLS_MAX, 0);
        } else {
            die_after(death, random_below(seed, 2) == 0 ? 0 : random_below(seed, WRITES_IN));
            find_a_table(made ? 0 : BURST);
        }
        unlink(path);
    }
    printf("  %s: %llu deaths\n", what, (unsigned long long)deaths - 1);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) | 1 : size_seed("steps_stress", 20261121) | 1;
    weir_plan log;
    setvbuf(stdout, NULL, _IOLBF, 0);
    crowd_begin("one call, dead after each instruction");
    alarm(SECONDS_MAX);
    now = weir_now();
    crowd_check(weir_plan_parse(&one, "5/h", WEIR_ADMIT, NULL) == 0, "no plan");
    crowd_check(weir_plan_parse(&two, "5/h; 10/2h", WEIR_ADMIT, NULL) == 0, "no plan");
    crowd_check(weir_plan_parse(&log, "5/h algorithm=sliding-log", WEIR_ADMIT, NULL) == 0, "no plan");
    if (!crowd_can_trace("stress/steps")) return 77;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) play(&scenes[i]);
    crowd_begin("dead while a file is opened");
    alarm(SECONDS_MAX);
    printf("  seed %llu\n", (unsigned long long)seed);
    crowd_check(mkdtemp(folder) != NULL, "no folder");
    snprintf(path, sizeof path, "%s/table", folder);
    die_while_opening("made", NULL, false, &seed);
    die_while_opening("joined", NULL, true, &seed);
    die_while_opening("made, wide", &log, false, &seed);
    die_while_opening("joined, wide", &log, true, &seed);
    rmdir(folder);
    printf("ok\n");
    return 0;
}
