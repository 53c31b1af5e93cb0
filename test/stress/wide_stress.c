/* SPDX-License-Identifier: MIT
   Processes die while they write to a table that is kept, and threads are at one table together.

   A child goes through a call instruction by instruction, and at each at which it has written something, every key
   is as it was before that call or as it is after it, whoever looks, and never again as before once it is as after.

   A child goes through calls that its parent knows, says before each which one it is about to make, and is killed
   some time later.  Then every key is as it was before that call or as it is after it, by a state of its own that
   went through the same calls.  The locks are forgotten, as the kernel's are: nothing is repaired, and the next
   child goes on.

   Threads take from a few keys of one table: each key grants what its limit has, and no more.

   The calls follow from the seed that is printed; when the child dies is up to the machine. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan/plan.h"
#include "share/table/wide.h"
#include "size.h"
#include "stress/crowd.h"
#include "unit/random.h"

enum {
    KEYS = 12,
    KILLS = 100,
    CALLS = 20000000,
    WORDS = 64,
    COSTS = 4,
    LIVES_US = 400,
    SHARED_BYTES = 4096,
    STEPPED = 100,
    LINE = 64
};
enum { THREADS = 4, TAKES = 20000, GRANTED = 1000 };
static const uint64_t SECOND_NS = 1000000000;

/* In memory that parent and child share. */
struct shared {
    atomic_uint_fast64_t begun; /* calls */
    atomic_flag held[WIDE_LOCKS];
};

_Static_assert(sizeof(struct shared) <= SHARED_BYTES, "the table begins behind it");

static weir_plan plan;
static struct shared *shared;
static size_t shared_bytes;
static struct wide table;

static bool lock(void *context, unsigned stripe)
{
    (void)context;
    while (atomic_flag_test_and_set_explicit(&shared->held[stripe], memory_order_acquire)) sched_yield();
    return true;
}

static void unlock(void *context, unsigned stripe)
{
    (void)context;
    atomic_flag_clear_explicit(&shared->held[stripe], memory_order_release);
}

static void forget_locks(void)
{
    for (int i = 0; i < WIDE_LOCKS; i++) atomic_flag_clear(&shared->held[i]);
}

static void open_table(const char *limits, bool kept)
{
    crowd_check(weir_plan_parse(&plan, limits, WEIR_ADMIT, NULL) == 0, limits);
    const uint64_t words = weir_state_size(&plan) / sizeof(uint64_t);
    const uint64_t bytes = wide_bytes(KEYS, words, kept, &table.slots, &table.slot_words);
    shared_bytes = SHARED_BYTES + bytes;
    char *map = mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crowd_check(map != MAP_FAILED, "no memory");
    shared = (void *)map;
    table.memory = map + SHARED_BYTES;
    table.plan_sets = wide_sets_in(bytes);
    table.kept = kept;
    free(table.paper);
    table.paper = malloc(table.slot_words * sizeof(uint64_t)); /* of this process */
    crowd_check(table.paper != NULL, "no memory");
    table.when_full = TABLE_DENY;
    table.lock = lock;
    table.unlock = unlock;
    forget_locks();
}

static struct rules rules(void)
{
    return plan_rules(plan_inside_const(&plan));
}

static uint64_t hash_of(uint64_t key)
{
    return (key + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- killed ---- */

/* The same for all who know its number. */
struct call {
    uint64_t key, now_ns;
    struct ask ask;
};

static struct call call_of(uint64_t number)
{
    uint64_t seed = (number + 1) * UINT64_C(0x2545f4914f6cdd1d);
    const uint64_t now_ns = SECOND_NS + number * 1000000;
    return (struct call){
        random_below(&seed, KEYS), now_ns,
        (struct ask){.now_ns = now_ns, .cost = 1 + random_below(&seed, COSTS), .charge = random_one_in(&seed, 8)}};
}

static void live(uint64_t from)
{
    for (uint64_t number = from; number < CALLS; number++) {
        weir_decision decision;
        uint32_t events;
        const struct call call = call_of(number);
        atomic_store(&shared->begun, number + 1);
        wide_ask(&table, hash_of(call.key), rules(), &call.ask, &decision, &events);
    }
    _exit(0);
}

static void wait_us(uint64_t us)
{
    const struct timespec time = {0, (long)(us * 1000)};
    nanosleep(&time, NULL);
}

/* What this key would say now, of some costs. */
static bool answers_as(struct wide *in, uint64_t key, const uint64_t *state, uint64_t now_ns)
{
    bool same = true;
    for (uint64_t cost = 1; cost < 64; cost *= 3) {
        const struct ask ask = {.now_ns = now_ns, .cost = cost, .peek = true};
        uint64_t copy[WORDS];
        weir_decision got, own;
        uint32_t events;
        memcpy(copy, state, sizeof copy);
        wide_ask(in, hash_of(key), rules(), &ask, &got, &events);
        ask_rules(rules(), copy, &ask, &own);
        same = same && got.verdict == own.verdict && got.remaining == own.remaining && got.retry_ns == own.retry_ns;
    }
    return same;
}

/* ---- instruction by instruction ---- */

static bool no_lock(void *context, unsigned stripe)
{
    (void)context;
    (void)stripe;
    return true;
}

static void no_unlock(void *context, unsigned stripe)
{
    (void)context;
    (void)stripe;
}

/* A call, or every eighth time a key that is forgotten. */
static void make_call(uint64_t number, uint64_t *own_state)
{
    const struct call call = call_of(number);
    const bool forgets = number % 8 == 7;
    weir_decision decision;
    uint32_t events;
    if (own_state != NULL && forgets) memset(own_state, 0, WORDS * sizeof *own_state);
    else if (own_state != NULL) ask_rules(rules(), own_state, &call.ask, &decision);
    else if (forgets) wide_forget(&table, hash_of(call.key));
    else wide_ask(&table, hash_of(call.key), rules(), &call.ask, &decision, &events);
}

static pid_t stopped_child(uint64_t number)
{
    int status = 0;
    const pid_t child = fork();
    crowd_check(child >= 0, "no child");
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(2);
        raise(SIGSTOP);
        make_call(number, NULL);
        _exit(0);
    }
    waitpid(child, &status, 0);
    crowd_check(WIFSTOPPED(status), "a child cannot be traced");
    return child;
}

static bool steps_on(pid_t child)
{
    int status = 0;
    crowd_check(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0, "a child cannot be stepped through");
    waitpid(child, &status, 0);
    return WIFSTOPPED(status);
}

/* Is it as after the call?  On a copy, as if all locks had been let go. */
static bool is_after(const uint64_t before[KEYS][WORDS], const uint64_t *after, uint64_t number, char *copy)
{
    const struct call call = call_of(number);
    struct wide dead = table;
    dead.memory = copy;
    dead.lock = no_lock;
    dead.unlock = no_unlock;
    for (uint64_t key = 0; key < KEYS; key++) {
        const bool as_before = answers_as(&dead, key, before[key], call.now_ns);
        crowd_check(as_before || key == call.key, "a key has changed that nobody asked for");
    }
    const bool as_after = answers_as(&dead, call.key, after, call.now_ns);
    crowd_check(as_after || answers_as(&dead, call.key, before[call.key], call.now_ns),
                "a key is neither as before nor as after a call");
    return as_after;
}

static void steps(void)
{
    static uint64_t own[KEYS][WORDS];
    const uint64_t steps_max = size_pick(30000, 100000, 300000);
    uint64_t looks = 0, changes = 0, calls = 0;
    if (!crowd_can_trace("stress/wide: instruction by instruction")) return;
    crowd_begin("instruction by instruction");
    open_table("90/100ms algorithm=sliding-log; 400/s algorithm=sliding-window", true);
    const size_t bytes = shared_bytes - SHARED_BYTES;
    char *copy = aligned_alloc(LINE, bytes), *seen = aligned_alloc(LINE, bytes);
    crowd_check(copy != NULL && seen != NULL, "no memory");
    memcpy(seen, table.memory, bytes);
    /* With a sanitizer a call has many more instructions. */
    for (uint64_t stepped = 0, number = 0; number < STEPPED && stepped < steps_max; number++) {
        uint64_t after[WORDS];
        const struct call call = call_of(number);
        memcpy(after, own[call.key], sizeof after);
        make_call(number, after);
        const bool differs = !answers_as(&table, call.key, after, call.now_ns);
        bool was_after = !differs;
        const pid_t child = stopped_child(number);
        for (; steps_on(child); stepped++) {
            if (memcmp(seen, table.memory, bytes) == 0) continue;
            memcpy(seen, table.memory, bytes);
            memcpy(copy, table.memory, bytes); /* looking may write to what does not count */
            const bool now_after = is_after((const uint64_t(*)[WORDS])own, after, number, copy);
            crowd_check(now_after || !was_after, "what was done is undone");
            was_after = now_after;
            looks++;
        }
        crowd_check(was_after, "a call did nothing");
        changes += differs;
        calls++;
        memcpy(own[call.key], after, sizeof after);
    }
    printf("  %d calls, %d of them changed an answer; looked at %d times\n", (int)calls, (int)changes, (int)looks);
    crowd_check(changes > calls / 4 && looks > changes, "next to nothing was written");
    free(copy);
    free(seen);
    munmap(shared, shared_bytes);
}

static void kills(void)
{
    static uint64_t own[KEYS][WORDS];
    uint64_t done = 0, seed = 1, without = 0, with = 0;
    crowd_begin("kills");
    open_table("90/100ms algorithm=sliding-log; 400/s algorithm=sliding-window", true);
    for (int kill_number = 0; kill_number < KILLS && done < CALLS; kill_number++) {
        const pid_t child = fork();
        crowd_check(child >= 0, "no child");
        if (child == 0) live(done);
        while (atomic_load(&shared->begun) <= done && done + 1 < CALLS) sched_yield();
        wait_us(random_below(&seed, LIVES_US));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        forget_locks();
        const uint64_t begun = atomic_load(&shared->begun);
        for (; done + 1 < begun; done++) {
            weir_decision decision;
            const struct call call = call_of(done);
            ask_rules(rules(), own[call.key], &call.ask, &decision);
        }
        const struct call last = call_of(done);
        for (uint64_t key = 0; key < KEYS; key++) {
            weir_decision decision;
            if (answers_as(&table, key, own[key], last.now_ns)) {
                without += key == last.key;
                continue;
            }
            crowd_check(key == last.key, "a key has changed that nobody asked for");
            ask_rules(rules(), own[key], &last.ask, &decision);
            crowd_check(answers_as(&table, key, own[key], last.now_ns),
                        "a key is neither as before nor as after a call");
            with++;
        }
        done = begun;
    }
    printf("  %d calls, %d kills before the last one counted or did anything, %d after\n", (int)done, (int)without,
           (int)with);
    crowd_check(done > KILLS, "next to nothing was done");
    munmap(shared, shared_bytes);
}

/* ---- together ---- */

static uint64_t granted[THREADS][KEYS];

static void take_all(struct member *member)
{
    uint64_t seed = (uint64_t)member->number + 1;
    for (int i = 0; i < TAKES; i++) {
        const uint64_t key = random_below(&seed, KEYS);
        const struct ask ask = {.now_ns = SECOND_NS, .cost = 1};
        weir_decision decision;
        uint32_t events;
        wide_ask(&table, hash_of(key), rules(), &ask, &decision, &events);
        granted[member->number][key] += decision.verdict == WEIR_ALLOW;
    }
}

static void together(void)
{
    static struct crowd crowd;
    crowd_begin("together");
    open_table("1000/h algorithm=sliding-log", false);
    crowd.threads = THREADS;
    crowd.body = take_all;
    crowd_start(&crowd);
    crowd_join(&crowd);
    for (int key = 0; key < KEYS; key++) {
        uint64_t sum = 0;
        for (int i = 0; i < THREADS; i++) sum += granted[i][key];
        crowd_check(sum == GRANTED, "a key does not grant what its limit has");
    }
    munmap(shared, shared_bytes);
}

int main(void)
{
    steps();
    kills();
    together();
    printf("ok\n");
    return 0;
}
