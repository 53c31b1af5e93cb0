/* SPDX-License-Identifier: MIT
   That the model checker finds known bugs, passes known good code, and misses nothing by its reduction.

   A line for each property; status 1 if one fails. */
#include "model.h"
#include "share/atomic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "size.h"

static struct atom words[4];
static struct atom lock;
static uint64_t plain;
static int failures;

static void begin(void)
{
    memset(words, 0, sizeof words);
    memset(&lock, 0, sizeof lock);
    plain = 0;
}

static void report(bool holds, const struct model_result *result, const char *expected)
{
    printf("%s %s: %" PRIu64 " executions\n", holds ? "ok" : "FAILED", result->name, result->executions);
    if (holds) return;
    failures++;
    printf("  expected: %s\n", expected);
    model_print(result, stdout);
}

static void expect_ok(struct model_scenario scenario)
{
    const struct model_result result = model_run(&scenario);
    report(result.complete && !result.failed, &result, "no failure");
}

static void expect_count(struct model_scenario scenario, uint64_t count)
{
    const struct model_result result = model_run(&scenario);
    char expected[64];
    snprintf(expected, sizeof expected, "%" PRIu64 " executions", count);
    report(result.complete && result.executions == count, &result, expected);
}

/* Found with the reduction and without. */
static void expect_failure(struct model_scenario scenario, const char *message)
{
    for (int i = 0; i < 2; i++) {
        scenario.plain = i == 1;
        const struct model_result result = model_run(&scenario);
        const bool found = result.failed && !result.complete && strstr(result.message, message);
        report(found && result.trace_count > 0, &result, message);
    }
}

/* Counters. */

static void add_by_store(void)
{
    const uint64_t old = atom_load(&words[0]);
    atom_store(&words[0], old + 1);
}

static void add_by_swap(void)
{
    uint64_t old = atom_load(&words[0]);
    while (!atom_swap(&words[0], &old, old + 1)) {
    }
}

/* With a pause after each miss, which must not wait for a change that has been seen already. */
static void add_by_patient_swap(void)
{
    uint64_t old = atom_load(&words[0]);
    while (!atom_swap(&words[0], &old, old + 1)) atom_pause();
}

static void end_two(void)
{
    model_check(atom_load(&words[0]) == 2, "lost update");
}

static void end_three(void)
{
    model_check(atom_load(&words[0]) == 3, "lost update");
}

/* A value that recurs: words[0] names the state that words[1] belongs to. */

static uint64_t recurring;

static void commit_on_state(void)
{
    uint64_t state = atom_load(&words[0]);
    if (state != 0) return;
    const uint64_t payload = atom_load(&words[1]);
    if (!atom_swap(&words[0], &state, 7)) return;
    model_check(atom_load(&words[1]) == payload, "committed on what had changed");
}

static void change_state(void)
{
    uint64_t state = 0;
    if (!atom_swap(&words[0], &state, 1)) return;
    atom_store(&words[1], 99);
    atom_store(&words[0], recurring);
}

/* Locks. */

static void take_lock(void)
{
    uint64_t open = 0;
    while (atom_load(&lock) != 0 || !atom_swap(&lock, &open, 1)) {
        open = 0;
        atom_pause();
    }
}

static void take_lock_by_store(void)
{
    while (atom_load(&lock) != 0) atom_pause();
    atom_store(&lock, 1);
}

static void add_plain(void)
{
    model_touch(&plain);
    const uint64_t old = plain;
    model_touch(&plain);
    plain = old + 1;
}

static void add_locked(void)
{
    take_lock();
    add_plain();
    atom_store_release(&lock, 0);
}

static void add_badly_locked(void)
{
    take_lock_by_store();
    add_plain();
    atom_store_release(&lock, 0);
}

static void end_plain(void)
{
    model_check(plain == (uint64_t)3 || plain == (uint64_t)2, "lost update");
}

static void lock_word(struct atom *word)
{
    uint64_t open = 0;
    while (!atom_swap(word, &open, 1)) {
        open = 0;
        atom_pause();
    }
}

static void lock_in_order(void)
{
    lock_word(&words[0]);
    lock_word(&words[1]);
    atom_store(&words[1], 0);
    atom_store(&words[0], 0);
}

static void lock_against_order(void)
{
    lock_word(&words[1]);
    lock_word(&words[0]);
    atom_store(&words[0], 0);
    atom_store(&words[1], 0);
}

/* Messages. */

static void send(void)
{
    atom_store(&words[0], 42);
    atom_store_release(&words[1], 1);
}

static void send_flag_first(void)
{
    atom_store_release(&words[1], 1);
    atom_store(&words[0], 42);
}

static void receive(void)
{
    while (atom_load_acquire(&words[1]) == 0) atom_pause();
    model_check(atom_load(&words[0]) == 42, "flag without data");
}

static void send_data(void)
{
    atom_store(&words[0], 42);
}

static void send_flag(void)
{
    atom_store(&words[1], 1);
}

static void receive_once(void)
{
    if (atom_load(&words[1]) == 1) model_check(atom_load(&words[0]) == 42, "flag without data");
}

static void wait_for_ever(void)
{
    while (atom_load(&words[0]) == 0) {
    }
}

/* Sizes of known sets of interleavings. */

static void store_own_twice(void)
{
    atom_store(&words[model_thread()], 1);
    atom_store(&words[model_thread()], 2);
}

static void store_shared_twice(void)
{
    atom_store(&words[0], 1);
    atom_store(&words[0], 2);
}

static void store_own_thrice(void)
{
    store_own_twice();
    atom_store(&words[model_thread()], 3);
}

static void store_once(void)
{
    atom_store(&words[0], 1);
}

static void load_once(void)
{
    (void)atom_load(&words[0]);
}

static void choose_twice(void)
{
    const uint64_t first = model_choose(3);
    atom_add(&words[0], first);
    atom_add(&words[0], model_choose(first + 1));
}

static void begin_choosing(void)
{
    begin();
    atom_store(&words[0], model_choose(2));
}

static void end_choosing(void)
{
    model_check(model_choose(2) + atom_load(&words[0]) < 6, "the highest of all choices");
}

static void begin_without_reset(void)
{
}

/* Random small programs, with the reduction and without: the same final states, the same deadlocks. */

enum { PROGRAM_THREADS = 3, PROGRAM_STEPS = 4, STATES_MAX = 8192 };
enum verb { LOAD, STORE, STORE_LOADED, ADD, SWAP, SWAP_LOADED, CHOOSE, TOUCH, SPIN, SKIP, VERBS };

struct program {
    int threads;
    int steps[PROGRAM_THREADS];
    struct {
        enum verb verb;
        int word;
        uint64_t a, b;
    } step[PROGRAM_THREADS][PROGRAM_STEPS];
};

struct states {
    uint64_t hash[STATES_MAX];
    int count;
};

static struct program program;
static struct states *states;
static struct states by_reduction, by_plain, by_bound;
static uint64_t loaded[PROGRAM_THREADS];
static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

static void make_program(uint64_t seed)
{
    random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    program.threads = 2 + (int)random_below(2);
    const uint64_t words_used = 1 + random_below(3);
    for (int t = 0; t < program.threads; t++) {
        program.steps[t] = 1 + (int)random_below(program.threads == 2 ? PROGRAM_STEPS : PROGRAM_STEPS - 1);
        for (int i = 0; i < program.steps[t]; i++) {
            program.step[t][i].verb = (enum verb)random_below(VERBS);
            program.step[t][i].word = (int)random_below(words_used);
            program.step[t][i].a = random_below(3);
            program.step[t][i].b = random_below(3);
        }
    }
}

static void begin_program(void)
{
    begin();
    memset(loaded, 0, sizeof loaded);
}

static void spin_on(struct atom *word)
{
    while (atom_load(word) == 0) atom_pause();
}

static uint64_t swap_seen(struct atom *word, uint64_t expected, uint64_t desired)
{
    const uint64_t hit = atom_swap(word, &expected, desired);
    return hit + 2 * expected;
}

static void run_program(void)
{
    const int t = model_thread();
    for (int i = 0; i < program.steps[t]; i++) {
        struct atom *word = &words[program.step[t][i].word];
        const uint64_t a = program.step[t][i].a, b = program.step[t][i].b;
        const uint64_t expected = program.step[t][i].verb == SWAP ? a : loaded[t] % 3;
        switch (program.step[t][i].verb) {
        case LOAD:
            loaded[t] = loaded[t] * 31 + atom_load(word);
            break;
        case STORE:
            atom_store(word, a);
            break;
        case STORE_LOADED:
            atom_store(word, loaded[t]);
            break;
        case ADD:
            loaded[t] = loaded[t] * 31 + atom_add(word, 1 + a);
            break;
        case SWAP:
        case SWAP_LOADED:
            loaded[t] = loaded[t] * 31 + swap_seen(word, expected, b);
            break;
        case CHOOSE:
            loaded[t] = loaded[t] * 31 + model_choose(2);
            break;
        case TOUCH:
            model_touch(word);
            word->value = word->value * 2 + b;
            break;
        case SPIN:
            spin_on(word);
            break;
        case SKIP:
            i += loaded[t] % 2 == 0;
            break;
        case VERBS:
            break;
        }
    }
}

static void end_program(void)
{
    uint64_t hash = 1;
    for (int i = 0; i < 3; i++) hash = (hash ^ words[i].value) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
    for (int i = 0; i < PROGRAM_THREADS; i++) hash = (hash ^ loaded[i]) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
    for (int i = 0; i < states->count; i++)
        if (states->hash[i] == hash) return;
    model_check(states->count < STATES_MAX, "more states than STATES_MAX");
    states->hash[states->count++] = hash;
}

static bool contains(const struct states *all, const struct states *some)
{
    for (int i = 0; i < some->count; i++) {
        bool found = false;
        for (int j = 0; !found && j < all->count; j++) found = all->hash[j] == some->hash[i];
        if (!found) return false;
    }
    return true;
}

static struct model_result run_into(struct states *into, bool plain_mode, int preemptions_max)
{
    const struct model_scenario scenario = {.name = "random program",
                                            .threads = program.threads,
                                            .begin = begin_program,
                                            .thread = {run_program, run_program, run_program},
                                            .end = end_program,
                                            .plain = plain_mode,
                                            .preemptions_max = preemptions_max};
    states = into;
    into->count = 0;
    return model_run(&scenario);
}

static void compare_programs(uint64_t first, uint64_t count)
{
    uint64_t executions = 0, plain_executions = 0, deadlocks = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        make_program(seed);
        const struct model_result full = run_into(&by_plain, true, 0);
        const struct model_result reduced = run_into(&by_reduction, false, 0);
        const struct model_result bounded = run_into(&by_bound, false, 1);
        bool same = full.failed == reduced.failed;
        if (full.failed) same = same && strcmp(full.message, reduced.message) == 0;
        else same = same && contains(&by_plain, &by_reduction) && contains(&by_reduction, &by_plain);
        if (!full.failed) same = same && reduced.executions <= full.executions;
        if (!full.failed) same = same && !bounded.failed && contains(&by_plain, &by_bound);
        if (!same) {
            printf("  seed %" PRIu64 ": %d states, reduced to %d\n", seed, by_plain.count, by_reduction.count);
            report(false, &reduced, "the same as without reduction");
            return;
        }
        executions += reduced.executions;
        plain_executions += full.executions;
        deadlocks += full.failed;
    }
    printf("ok random programs: %" PRIu64 " executions, %" PRIu64 " without reduction (%" PRIu64 " programs, %" PRIu64
           " deadlocks)\n",
           executions, plain_executions, count, deadlocks);
}

static void check_bugs(void)
{
    expect_failure((struct model_scenario){.name = "lost update",
                                           .threads = 2,
                                           .begin = begin,
                                           .thread = {add_by_store, add_by_store},
                                           .end = end_two},
                   "lost update");
    recurring = 0;
    expect_failure(
        (struct model_scenario){
            .name = "value recurs", .threads = 2, .begin = begin, .thread = {commit_on_state, change_state}},
        "committed on what had changed");
    expect_failure((struct model_scenario){.name = "lock by load and store",
                                           .threads = 2,
                                           .begin = begin,
                                           .thread = {add_badly_locked, add_badly_locked},
                                           .end = end_plain},
                   "lost update");
    expect_failure((struct model_scenario){.name = "locks against the order",
                                           .threads = 2,
                                           .begin = begin,
                                           .thread = {lock_in_order, lock_against_order}},
                   "deadlock");
    expect_failure(
        (struct model_scenario){
            .name = "wait for nobody", .threads = 2, .begin = begin, .thread = {receive, load_once}},
        "deadlock");
    expect_failure(
        (struct model_scenario){
            .name = "flag before data", .threads = 2, .begin = begin, .thread = {send_flag_first, receive}},
        "flag without data");
    expect_failure((struct model_scenario){.name = "flag and data from two",
                                           .threads = 3,
                                           .begin = begin,
                                           .thread = {send_data, send_flag, receive_once}},
                   "flag without data");
    expect_failure(
        (struct model_scenario){
            .name = "spin without pause", .threads = 2, .begin = begin, .thread = {wait_for_ever, load_once}},
        "livelock");
    expect_failure(
        (struct model_scenario){
            .name = "no reset", .threads = 2, .begin = begin_without_reset, .thread = {add_by_store, add_by_store}},
        "does not repeat");
    expect_failure((struct model_scenario){.name = "worst choice",
                                           .threads = 1,
                                           .begin = begin_choosing,
                                           .thread = {choose_twice},
                                           .end = end_choosing},
                   "the highest of all choices");
}

static void check_good_code(void)
{
    expect_ok((struct model_scenario){
        .name = "swap loop, two", .threads = 2, .begin = begin, .thread = {add_by_swap, add_by_swap}, .end = end_two});
    expect_ok((struct model_scenario){.name = "swap loop, three",
                                      .threads = 3,
                                      .begin = begin,
                                      .thread = {add_by_swap, add_by_swap, add_by_swap},
                                      .end = end_three});
    expect_ok((struct model_scenario){.name = "patient swap loop, three",
                                      .threads = 3,
                                      .begin = begin,
                                      .thread = {add_by_patient_swap, add_by_patient_swap, add_by_patient_swap},
                                      .end = end_three});
    recurring = 2;
    expect_ok((struct model_scenario){
        .name = "value does not recur", .threads = 2, .begin = begin, .thread = {commit_on_state, change_state}});
    expect_ok((struct model_scenario){
        .name = "spin lock, two", .threads = 2, .begin = begin, .thread = {add_locked, add_locked}, .end = end_plain});
    expect_ok((struct model_scenario){.name = "spin lock, three",
                                      .threads = 3,
                                      .begin = begin,
                                      .thread = {add_locked, add_locked, add_locked},
                                      .end = end_plain});
    expect_ok((struct model_scenario){.name = "locks in order, three",
                                      .threads = 3,
                                      .begin = begin,
                                      .thread = {lock_in_order, lock_in_order, lock_in_order}});
    expect_ok((struct model_scenario){
        .name = "data before flag", .threads = 3, .begin = begin, .thread = {send, receive, receive}});
}

static void check_counts(void)
{
    struct model_scenario two = {.name = "2 x 3 steps, plain",
                                 .threads = 2,
                                 .begin = begin,
                                 .thread = {store_own_thrice, store_own_thrice},
                                 .plain = true};
    struct model_scenario three = {.name = "3 x 2 steps, plain",
                                   .threads = 3,
                                   .begin = begin,
                                   .thread = {store_own_twice, store_own_twice, store_own_twice},
                                   .plain = true};
    expect_count(two, 20);
    expect_count(three, 90);
    two.name = "2 x 3 steps apart";
    two.plain = false;
    three.name = "3 x 2 steps apart";
    three.plain = false;
    expect_count(two, 1);
    expect_count(three, 1);
    expect_count((struct model_scenario){.name = "2 x 2 conflicting steps",
                                         .threads = 2,
                                         .begin = begin,
                                         .thread = {store_shared_twice, store_shared_twice}},
                 6);
    expect_count((struct model_scenario){.name = "3 x 2 conflicting steps",
                                         .threads = 3,
                                         .begin = begin,
                                         .thread = {store_shared_twice, store_shared_twice, store_shared_twice}},
                 90);
    expect_count((struct model_scenario){.name = "2 x 2 steps, 1 preemption",
                                         .threads = 2,
                                         .begin = begin,
                                         .thread = {store_own_twice, store_own_twice},
                                         .preemptions_max = 1},
                 4);
    expect_count((struct model_scenario){.name = "a writer, three readers",
                                         .threads = 4,
                                         .begin = begin,
                                         .thread = {store_once, load_once, load_once, load_once}},
                 8);
    expect_count((struct model_scenario){.name = "choices", .threads = 1, .begin = begin, .thread = {choose_twice}}, 6);
    expect_count(
        (struct model_scenario){
            .name = "choices and turns", .threads = 2, .begin = begin, .thread = {choose_twice, store_once}},
        3 * 6);
}

int main(int argc, char **argv)
{
    const uint64_t first = size_seed("self_test", 1);
    check_bugs();
    check_good_code();
    check_counts();
    compare_programs(first, argc > 1 ? strtoull(argv[1], NULL, 10) : size_pick(100, 1000, 10000));
    return failures != 0;
}
