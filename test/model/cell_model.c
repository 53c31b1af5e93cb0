/* SPDX-License-Identifier: MIT
   Src/share/cell.c under two and three threads, in all interleavings.

   What the lock guards is plain memory, which the model checker does not see, and the plain code after a step belongs
   to that step.  So the source is compiled in here with three of the core's functions announced: each reads the states
   at one step and writes them at the next, and whoever gets between them is seen.

   The oracle is a model that nobody shares.  Each call is held against it at its last step, where the lock is opened:
   the answer and all states have to be what the calls before it, one after the other, leave.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"
#include "planted_cell.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/decide_inline.h"
#include "plan/plan.h"
#include "share/ask.h"
#include "share/cell.h"

static struct cell shared;
static struct atom in_leases; /* no permit is in a lease here */

/* What is not the shared states is somebody's copy. */
static void announce(const uint64_t *state)
{
    if (state == shared.content.state) model_touch(state);
}

static void announced_ask_rules(struct rules rules, uint64_t *state, const struct ask *ask, weir_decision *decision)
{
    uint64_t copy[LIST_WORDS_MAX];
    announce(state);
    memcpy(copy, state, sizeof copy);
    ask_rules(rules, copy, ask, decision);
    announce(state);
    memcpy(state, copy, sizeof copy);
}

static void announced_settle(struct rules rules, uint64_t *state, uint64_t now_ns, const weir_decision *decision,
                             const uint64_t cost[], const uint64_t actual[], const uint64_t end[])
{
    uint64_t copy[LIST_WORDS_MAX];
    announce(state);
    memcpy(copy, state, sizeof copy);
    decide_settle(rules, copy, now_ns, decision, cost, actual, end);
    announce(state);
    memcpy(state, copy, sizeof copy);
}

static bool announced_pass(const struct rule *rule, const struct algorithm *algorithm, uint64_t *state, uint64_t now_ns,
                           uint64_t permits, weir_decision *decision)
{
    uint64_t copy[LIST_WORDS_MAX];
    announce(state);
    memcpy(copy, state, sizeof copy);
    const bool passed = decide_pass(rule, algorithm, copy, now_ns, permits, decision);
    announce(state);
    memcpy(state, copy, sizeof copy);
    return passed;
}

#define ask_rules announced_ask_rules
#define decide_pass announced_pass
#define decide_settle announced_settle
#include "share/cell.c" /* NOLINT(bugprone-suspicious-include) */
#undef ask_rules
#undef decide_pass
#undef decide_settle

enum { THREADS = 3, ACTIONS = 3 };
enum plan_name { PAIR, FASTER_PAIR, TRIPLE, HYBRID, EMPTY, PLANS };
enum verb { NOTHING, TAKE, SOME, EACH, PEEK, READ, SETTLE, CHANGE };

struct action {
    enum verb verb;
    uint64_t now_ns, cost;
    uint64_t wait_max_ns;
    enum plan_name to;
    weir_carry carry;
};

struct scene {
    const char *name;
    int preemptions; /* all orders with so many, where there are too many without */
    enum plan_name plan;
    uint64_t taken; /* before the threads begin */
    struct action script[THREADS][ACTIONS];
    cell_decide_function *decide;
    bool fails;
};

static const struct scene *scene;
static struct plan plans[PLANS];
static struct {
    struct rule rule[WEIR_LIMITS_MAX];
    uint64_t state[LIST_WORDS_MAX];
    int count;
} model;
static uint64_t memory[THREADS * ACTIONS + 1][LIST_WORDS_MAX]; /* one for the beginning and for each change */
static uint32_t generation;
static bool closed;     /* or about to be, by a change: nobody has the states but who changes them */
static bool was_closed; /* once; with weak orders a thread may still be told so */
static struct {
    weir_decision decision;
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
} last[THREADS];

static void yield(void)
{
    atom_pause();
}

static struct rules model_rules(void)
{
    return (struct rules){model.rule, model.count};
}

static void check_states(void)
{
    const bool same = shared.content.count == model.count &&
                      memcmp(shared.content.state, model.state, sizeof model.state) == 0 &&
                      memcmp(shared.content.rule, model.rule, (size_t)model.count * sizeof model.rule[0]) == 0;
    model_check(same, "the cell is not what the calls before leave, one after the other");
}

static void take(const struct action *action, int thread)
{
    weir_decision *decision = &last[thread].decision, expected;
    uint64_t expected_end[WEIR_LIMITS_MAX];
    struct ask ask = {.now_ns = action->now_ns,
                      .wait_max_ns = action->wait_max_ns,
                      .cost = action->cost,
                      .end = last[thread].end,
                      .some = action->verb == SOME,
                      .peek = action->verb == PEEK};
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) last[thread].cost[i] = action->cost + (action->verb == EACH && i == 1);
    if (action->verb == EACH) ask.each = last[thread].cost;
    const bool here =
        action->verb == PEEK ? cell_decide(&shared, &ask, decision) : scene->decide(&shared, &ask, decision);
    const bool elsewhere = closed || model.count == 0 || (model_is_weak() && was_closed);
    model_check(here ? model.count != 0 : elsewhere, "looked for the state in the wrong home");
    if (!here) return;
    ask.end = expected_end;
    uint64_t after[LIST_WORDS_MAX];
    const struct rules rules = model_rules();
    memcpy(after, model.state, sizeof after);
    uint64_t cost[WEIR_LIMITS_MAX];
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) {
        cost[i] =
            action->verb == SOME ? decide_passing(rules, model.state, ask.now_ns, ask.cost) : last[thread].cost[i];
    }
    const struct question question = {ask.now_ns, ask.wait_max_ns, cost, ask.peek};
    decide(rules, after, &question, expected_end, &expected);
    model_check(memcmp(&expected, decision, sizeof expected) == 0, "not the answer after the calls before");
    if (action->verb != PEEK) memcpy(model.state, after, sizeof after);
    if (action->verb != PEEK) check_states();
}

/* The question that weir_take asks. */
static bool take_at_once(struct cell *cell, const struct ask *ask, weir_decision *decision)
{
    return cell_take(cell, ask->now_ns, ask->cost, decision);
}

static void settle_last(const struct action *action, int thread)
{
    uint64_t actual[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX];
    const weir_decision *decision = &last[thread].decision;
    if (decision->verdict != WEIR_ALLOW) return;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) actual[i] = action->cost;
    if (!cell_settle(&shared, action->now_ns, decision, last[thread].cost, actual, last[thread].end)) return;
    const bool foreign = model.rule[0].generation != (uint32_t)decision->reserved;
    for (int i = 0; i < WEIR_LIMITS_MAX; i++) used[i] = foreign ? most(actual[i], last[thread].cost[i]) : actual[i];
    decide_settle(model_rules(), model.state, action->now_ns, decision, last[thread].cost, used, last[thread].end);
    check_states();
}

/* The same change, made where nobody else is. */
static void change_model(const struct rule to[], int count, uint64_t now_ns, weir_carry carry)
{
    bool same = model.count == count;
    for (int i = 0; same && i < count; i++) same = model.rule[i].algorithm == to[i].algorithm;
    uint64_t next[LIST_WORDS_MAX] = {0};
    for (int i = 0, at = 0; same && i < count; i++) {
        const struct algorithm *algorithm = algorithm_of(&to[i]);
        const uint64_t now = tick_at(&model.rule[i], now_ns);
        algorithm->carry(&model.rule[i], &to[i], model.state + at, next + at, now, carry);
        at += algorithm->words;
    }
    memcpy(model.state, next, sizeof next);
    memcpy(model.rule, to, (size_t)count * sizeof to[0]);
    model.count = count;
}

static void change_limits(const struct action *action)
{
    struct rule to[WEIR_LIMITS_MAX];
    struct cell_content before, after = {.state = memory[generation + 1]};
    const int count = (int)plans[action->to].count;
    generation++;
    for (int i = 0; i < count; i++) {
        to[i] = plans[action->to].rule[i];
        to[i].generation = generation;
        to[i].anchor_ns = action->now_ns;
        to[i].anchor_tick = 1;
        after.rule[i] = to[i];
    }
    after.count = count;
    closed = was_closed = true;
    cell_close(&shared, &before);
    cell_carry(&before, &after, action->now_ns, action->carry);
    change_model(to, count, action->now_ns, action->carry);
    cell_open_with(&shared, &after);
    closed = false;
    check_states();
}

static void look_at(const struct cell_content *content, void *context)
{
    (void)context;
    const bool same =
        !closed && content->count == model.count && memcmp(content->state, model.state, sizeof model.state) == 0;
    model_check(same, "read what never was");
}

static void read_all(void)
{
    cell_look(&shared, look_at, NULL);
}

static void run_script(void)
{
    const int thread = model_thread();
    for (int i = 0; i < ACTIONS; i++) {
        const struct action *action = &scene->script[thread][i];
        if (action->verb == CHANGE) change_limits(action);
        else if (action->verb == SETTLE) settle_last(action, thread);
        else if (action->verb == READ) read_all();
        else if (action->verb != NOTHING) take(action, thread);
    }
}

static void begin(void)
{
    const struct plan *plan = &plans[scene->plan];
    memset(&model, 0, sizeof model);
    memset(&shared, 0, sizeof shared);
    memset(last, 0, sizeof last);
    generation = 0;
    closed = was_closed = false;
    memcpy(model.rule, plan->rule, (size_t)plan->count * sizeof model.rule[0]);
    model.count = (int)plan->count;
    memset(memory, 0, sizeof memory);
    struct cell_content content = {.state = memory[0], .count = (int)plan->count};
    memcpy(content.rule, plan->rule, (size_t)plan->count * sizeof plan->rule[0]);
    cell_open(&shared, &in_leases, yield);
    cell_open_with(&shared, &content);
    const struct action first = {TAKE, 0, scene->taken, 0, PAIR, WEIR_KEEP};
    if (scene->taken != 0) take(&first, 0);
    for (int i = 1; i < THREADS; i++) last[i] = last[0];
}

static void end(void)
{
    check_states();
    model_check(shared.lock.value == 0, "the lock is left closed");
}

/* clang-format off */
#define TAKES(now, cost)      {TAKE, now, cost, 0, PAIR, WEIR_KEEP}
#define RESERVES(now, cost)   {TAKE, now, cost, WEIR_FOREVER, PAIR, WEIR_KEEP}
#define TAKES_SOME(now, cost) {SOME, now, cost, 0, PAIR, WEIR_KEEP}
#define TAKES_EACH(now, cost) {EACH, now, cost, 0, PAIR, WEIR_KEEP}
#define PEEKS(now, cost)      {PEEK, now, cost, 0, PAIR, WEIR_KEEP}
#define READS                 {READ, 0, 0, 0, PAIR, WEIR_KEEP}
#define SETTLES(now, actual)  {SETTLE, now, actual, 0, PAIR, WEIR_KEEP}
#define CHANGES(now, to, carry) {CHANGE, now, 0, 0, to, carry}
/* clang-format on */

static const struct scene scenes[] = {
    {.name = "planted: a lock by load and store, two",
     .script = {{TAKES(5, 2)}, {TAKES(5, 2)}},
     .decide = planted_decide_lock_by_store,
     .fails = true},
    {.name = "planted: a lock by load and store, beside a change",
     .script = {{TAKES(5, 2)}, {CHANGES(6, FASTER_PAIR, WEIR_SCALE)}},
     .decide = planted_decide_lock_by_store,
     .fails = true},
    {.name = "planted: unlocked early",
     .script = {{TAKES(5, 2)}, {TAKES(5, 2)}},
     .decide = planted_decide_unlocked_early,
     .fails = true},
    {.name = "planted: a pass without the lock",
     .plan = HYBRID,
     .taken = 1,
     .script = {{TAKES(1000000000, 1)}, {TAKES(2000000000, 1)}},
     .decide = planted_pass_unlocked,
     .fails = true},
    {.name = "two take", .script = {{TAKES(5, 2), TAKES(5, 2)}, {TAKES(5, 2), TAKES(6, 2)}}},
    {.name = "three take, all or nothing", .script = {{TAKES(5, 2)}, {TAKES_EACH(5, 3)}, {TAKES_SOME(5, 9)}}},
    {.name = "three take of three", .plan = TRIPLE, .script = {{TAKES(5, 2)}, {RESERVES(5, 3)}, {TAKES(5, 2)}}},
    {.name = "two reserve and read", .taken = 3, .script = {{RESERVES(5, 2)}, {READS, PEEKS(9, 1)}, {RESERVES(9, 1)}}},
    {.name = "changes between takes, keep",
     .taken = 2,
     .script = {{TAKES(5, 2)}, {TAKES(7, 1)}, {CHANGES(6, FASTER_PAIR, WEIR_KEEP)}}},
    {.name = "changes between takes, scale",
     .taken = 3,
     .script = {{RESERVES(5, 3)}, {PEEKS(7, 1)}, {CHANGES(6, FASTER_PAIR, WEIR_SCALE)}}},
    {.name = "changes of shape between takes",
     .taken = 3,
     .script = {{TAKES(5, 3)}, {TAKES_SOME(7, 9)}, {CHANGES(6, TRIPLE, WEIR_RESET)}}},
    {.name = "settles beside takes and a change",
     .taken = 3,
     .script = {{SETTLES(5, 1), TAKES(5, 1)}, {SETTLES(5, 5)}, {CHANGES(6, FASTER_PAIR, WEIR_KEEP)}}},
    {.name = "hybrid, takes beside a change",
     .plan = HYBRID,
     .taken = 1,
     .script = {{RESERVES(5, 3)}, {RESERVES(7, 1), SETTLES(8, 0)}, {CHANGES(6, HYBRID, WEIR_KEEP)}}},
    {.name = "hybrid, three take at once",
     .plan = HYBRID,
     .taken = 1,
     .script = {{TAKES(1000000000, 1), TAKES(1000000000, 3)}, {TAKES(2000000000, 2)}, {TAKES(1500000000, 1)}},
     .decide = take_at_once},
    {.name = "hybrid, takes at once beside changes to a list and back",
     .plan = HYBRID,
     .taken = 1,
     .preemptions = 5,
     .script = {{TAKES(1000000000, 1)},
                {TAKES(2000000000, 1)},
                {CHANGES(1000000001, TRIPLE, WEIR_RESET), CHANGES(1000000002, HYBRID, WEIR_RESET)}},
     .decide = take_at_once},
    {.name = "emptied and filled again",
     .preemptions = 5,
     .script = {{TAKES(5, 1)}, {PEEKS(7, 1)}, {CHANGES(6, EMPTY, WEIR_RESET), CHANGES(8, PAIR, WEIR_RESET)}}},
};

static void run(const struct scene *chosen)
{
    struct scene filled = *chosen;
    if (filled.decide == NULL) filled.decide = cell_decide;
    scene = &filled;
    const struct model_scenario scenario = {.name = filled.name,
                                            .threads = filled.script[2][0].verb != NOTHING ? 3 : 2,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end,
                                            .preemptions_max = filled.preemptions};
    model_judge(&scenario, filled.fails ? "" : NULL);
}

static void parse(enum plan_name name, const char *text)
{
    weir_plan plan;
    if (weir_plan_parse(&plan, text, WEIR_ADMIT, NULL) != 0) abort();
    plans[name] = *plan_inside_const(&plan);
}

int main(void)
{
    parse(PAIR, "1000000000/s burst=4; 3000/s burst=5");
    parse(FASTER_PAIR, "70/s burst=9; 1000000/s burst=3");
    parse(TRIPLE, "10/s burst=9; 1000/s burst=4 algorithm=hybrid; 1/h burst=6");
    parse(HYBRID, "1000/s burst=3 catchup=1.5 algorithm=hybrid");
    plans[EMPTY].count = 0;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) run(&scenes[i]);
    return model_status();
}
