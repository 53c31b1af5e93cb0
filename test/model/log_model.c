/* SPDX-License-Identifier: MIT
   Src/share/log.c with callers that help, die, hold, correct and change, in all interleavings.

   The oracle is a list of stamps that nobody shares, searched from end to end: a call passes at the first time at which
   few enough of them count.  Each call is held against it at the very step at which it took effect: the swap of a slot
   for one permit, the last look or the letting go for all else.  The answer has to be the list's, to the last field.
   The swap is seen by compiling log.c in here with that one name announced.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"
#include "planted_log.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm.h"

static bool noted_swap(struct atom *atom, uint64_t *expected, uint64_t desired, const char *site);
#undef atom_swap_release
#define atom_swap_release(atom, expected, desired) noted_swap(atom, expected, desired, ATOM_SITE)
#include "share/log.c" /* NOLINT(bugprone-suspicious-include) */

enum { THREADS = 3, ACTIONS = 6, LARGE = 8, ENTRIES = 64, HISTORY = 64, W = 10, BEGIN = 1000 };
enum verb { NOTHING, TAKE, SOME, PEEK, CHARGE, SETTLE, CHANGE, CLOSE, MOVE, LAST };

struct action {
    enum verb verb;
    uint64_t now, cost; /* SETTLE: the cost as it turned out; CHANGE: N */
    uint64_t wait_max;  /* CHANGE: W */
    weir_carry carry;
    bool moves; /* CHANGE: who changes it has reserved, and waits */
};

struct scene {
    const char *name;
    uint64_t count, capacity;   /* N, and C: 0 for LARGE */
    uint64_t taken, taken_late; /* before the threads begin: at time 0, and at W */
    struct action script[THREADS][ACTIONS];
    bool dies;       /* thread 0 may, between its two swaps */
    int preemptions; /* all orders with so many, where the order of steps at different words is what matters */
    bool forgotten;  /* a reset between what was taken before */
    bool closed;     /* the edge */
    log_decide_function *decide;
    const char *mistake; /* the message that has to come; NULL: none may */
};

static const struct scene *scene;
static _Alignas(64) uint64_t memory[2][(sizeof(struct log) / sizeof(uint64_t)) + 2 * LARGE];
static struct atom current; /* which of the two */
static weir_decision last[THREADS];
static jmp_buf death[THREADS];

struct list {
    uint64_t stamp[ENTRIES];
    bool ahead[ENTRIES];
    uint64_t call[ENTRIES]; /* which call it belongs to */
    uint64_t entries, calls, count, span, positions;
    uint32_t generation;
    bool closed;
};

static struct list model;

/* All that it has been, with the newest last, and which of these a thread knows of at least. */
static struct list was[HISTORY];
static int moments, knows[THREADS];

/* The call that a thread is in, and what it has to be told if it took effect already. */
static struct {
    const struct ask *ask;
    weir_decision expected;
    bool taken;
} doing[THREADS];

static struct log *log_number(uint64_t number)
{
    return (struct log *)(void *)memory[number];
}

static void yield(void)
{
    atom_pause();
}

/* ---- the model ---- */

static uint64_t counting(uint64_t now)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < model.entries; i++) sum += model.stamp[i] + model.span > now;
    return sum;
}

/* Somebody waits only if the last one does. */
static bool waits(uint64_t now)
{
    return model.entries > 0 && model.ahead[model.entries - 1] && model.stamp[model.entries - 1] > now;
}

/* The first time, from now on, at which so many more may pass. */
static uint64_t earliest(uint64_t now, uint64_t cost)
{
    uint64_t start = now;
    while (counting(start) + cost > model.count && cost != 0) start++;
    return start;
}

static uint64_t room(uint64_t now)
{
    return subtract_to_zero(model.count, counting(now));
}

static void append(uint64_t start, uint64_t cost, bool ahead)
{
    const uint64_t before = model.entries > 0 ? model.stamp[model.entries - 1] : 0;
    model_check(model.entries + cost <= ENTRIES, "more entries than ENTRIES");
    for (uint64_t i = 0; i < cost; i++) {
        model.stamp[model.entries] = most(start, before);
        model.ahead[model.entries] = ahead;
        model.call[model.entries++] = model.calls;
    }
    model.calls++;
    model.positions += cost;
}

static uint64_t overcharge(uint64_t now, uint64_t extra)
{
    for (uint64_t i = 0; i < extra; i++) {
        const uint64_t start = earliest(now, 1);
        append(start, 1, start > now);
    }
    return extra;
}

static weir_decision decide_by_list(const struct ask *ask)
{
    const uint64_t now = ask->now_ns;
    weir_decision decision = {.verdict = WEIR_ALLOW, .start = {now}, .reserved = model.generation};
    if (ask->charge) {
        decision.charged = overcharge(now, ask->cost);
        decision.remaining = room(now);
        decision.reserved |= DECISION_SETTLED;
        return decision;
    }
    const uint64_t cost = ask->some ? least(most(room(now), 1), ask->cost) : ask->cost;
    const bool never = cost > model.count;
    const uint64_t start = never ? UINT64_MAX : earliest(now, cost);
    const uint64_t wait = start - now;
    decision.end = model.positions;
    decision.remaining = room(now);
    if (never || wait > ask->wait_max_ns) {
        decision.verdict = never ? WEIR_NEVER : WEIR_DENY;
        decision.retry_ns = never ? 0 : wait - ask->wait_max_ns;
        return decision;
    }
    decision.start.ns = start;
    decision.delay_ns = wait;
    decision.charged = cost;
    decision.remaining = subtract_to_zero(room(ask->peek ? now : start), cost);
    if (ask->peek) return decision;
    append(start, cost, wait != 0);
    decision.end = model.positions;
    return decision;
}

static void settle_list(uint64_t now, const weir_decision *decision, uint64_t actual)
{
    const bool foreign = (uint32_t)decision->reserved != model.generation;
    const bool kept = waits(now) && decision->end != model.positions;
    const bool part = actual != 0 && now < decision->start.ns;
    if (actual > decision->charged) overcharge(now, actual - decision->charged);
    if (foreign || kept || part) return;
    for (uint64_t left = subtract_to_zero(decision->charged, actual), i = model.entries; left > 0 && i > 0; i--) {
        if (model.stamp[i - 1] != decision->start.ns) continue;
        memmove(&model.stamp[i - 1], &model.stamp[i], (model.entries - i) * sizeof model.stamp[0]);
        memmove(&model.ahead[i - 1], &model.ahead[i], (model.entries - i) * sizeof model.ahead[0]);
        memmove(&model.call[i - 1], &model.call[i], (model.entries - i) * sizeof model.call[0]);
        model.entries--;
        model.positions--;
        left--;
    }
}

/* Of what is forgotten those are left that start later. */
static void change_list(const struct rule *to, uint64_t now, bool forget)
{
    uint64_t first = model.entries;
    while (first > 0 && model.stamp[first - 1] > now) first--;
    if (forget) model.entries -= first;
    for (uint64_t i = 0; forget && i < model.entries; i++) {
        model.stamp[i] = model.stamp[first + i];
        model.ahead[i] = model.ahead[first + i];
        model.call[i] = model.call[first + i];
    }
    model.count = to->burst;
    model.span = to->period_ns + ((to->flags & RULE_A) != 0);
    model.generation = to->generation;
}

static void take_out_of_list(uint64_t cost)
{
    model.entries -= cost;
    model.positions -= cost;
}

static void let_into_list(uint64_t now, uint64_t cost)
{
    const uint64_t start = earliest(now, least(cost, model.count));
    append(start, cost, start > now);
}

/* ---- what threads do ---- */

/* Another moment begins, of which the thread that made it knows. */
static void go_on(void)
{
    model_check(moments < HISTORY, "more moments than HISTORY");
    was[moments] = model;
    if (model_thread() >= 0) knows[model_thread()] = moments;
    moments++;
}

/* Is this what the list says, or with weak orders what it said at a moment that is not older than what the thread
   knows?  Of a call that took nothing. */
static bool is_told(const struct ask *ask, const weir_decision *decision, int thread)
{
    const struct list now = model;
    const int oldest = model_is_weak() ? knows[thread] : moments - 1;
    bool same = false;
    for (int i = moments - 1; i >= oldest && !same; i--) {
        model = was[i];
        if (model.closed) continue;
        const weir_decision expected = decide_by_list(ask);
        same = memcmp(&expected, decision, sizeof expected) == 0;
        if (same) knows[thread] = i;
    }
    model = now;
    return same;
}

static void tell_apart(const weir_decision *expected, const weir_decision *decision)
{
    model_check(decision->verdict != WEIR_ALLOW || expected->verdict == WEIR_ALLOW, "over-admits");
    model_check(decision->verdict == WEIR_ALLOW || expected->verdict != WEIR_ALLOW, "refuses falsely");
    model_check(memcmp(expected, decision, sizeof *expected) == 0, "not the answer of the list");
}

void log_taken(void)
{
    const int thread = model_thread();
    if (thread < 0) return;
    doing[thread].expected = decide_by_list(doing[thread].ask);
    doing[thread].taken = true;
    go_on();
    model_check(doing[thread].expected.verdict == WEIR_ALLOW, "over-admits");
    if (scene->dies && thread == 0 && model_choose(2) == 1) longjmp(death[thread], 1);
}

static bool noted_swap(struct atom *atom, uint64_t *expected, uint64_t desired, const char *site)
{
    const bool swapped = model_swap(&atom->value, expected, desired, ATOM_RELEASE, site);
    if (swapped && atom != &log_number(0)->head && atom != &log_number(1)->head) log_taken();
    return swapped;
}

static enum log_answer ask_current(const struct ask *ask, weir_decision *decision)
{
    for (;;) {
        const uint64_t which = atom_load_acquire(&current);
        const enum log_answer answer = scene->decide(log_number(which), ask, decision);
        if (answer != LOG_ELSEWHERE || model.closed) return answer;
        if (atom_load(&current) == which) atom_pause();
    }
}

static void take(const struct action *action, int thread)
{
    const struct ask ask = {.now_ns = BEGIN + action->now,
                            .wait_max_ns = action->wait_max,
                            .cost = action->cost,
                            .some = action->verb == SOME,
                            .peek = action->verb == PEEK,
                            .charge = action->verb == CHARGE};
    doing[thread].ask = &ask;
    doing[thread].taken = false;
    const enum log_answer answer = ask_current(&ask, &last[thread]);
    if (answer == LOG_ELSEWHERE) {
        model_check(model.closed && !doing[thread].taken, "looked for the state in the wrong home");
        return;
    }
    model_check(answer == LOG_HERE, "no room for who waits");
    const bool took = (last[thread].verdict == WEIR_ALLOW && !ask.peek) || ask.charge;
    if (!took && is_told(&ask, &last[thread], thread)) return;
    if (!doing[thread].taken) {
        model_check(!model.closed, "took from a closed log");
        doing[thread].expected = decide_by_list(&ask);
        go_on();
    }
    tell_apart(&doing[thread].expected, &last[thread]);
}

static void settle_last(const struct action *action, int thread)
{
    const uint64_t now = BEGIN + action->now;
    if (last[thread].verdict != WEIR_ALLOW) return;
    weir_decision settled = last[thread];
    enum log_answer answer;
    do {
        answer = log_settle(log_number(atom_load_acquire(&current)), now, &settled, action->cost);
    } while (answer == LOG_ELSEWHERE);
    model_check(answer == LOG_HERE, "no room for what was used");
    settle_list(now, &last[thread], action->cost);
    go_on();
}

static struct rule rule_of(uint64_t count, uint64_t period, uint32_t generation)
{
    return (struct rule){.burst = count,
                         .period_ns = period,
                         .algorithm = ALGORITHM_SLIDING_LOG,
                         .flags = scene->closed ? RULE_A : 0,
                         .generation = generation};
}

/* As a limiter does it, with one that waits if the last call was reserved and has not started. */
static void change_limit(const struct action *action, int thread)
{
    const uint64_t now = BEGIN + action->now;
    const struct rule to = rule_of(action->cost, action->wait_max, model.generation + 1);
    struct log_view view;
    const bool open = log_close(log_number(atom_load(&current)), &view);
    model_check(open != model.closed, "opened by somebody else");
    const bool was_closed = model.closed;
    model.closed = true;
    go_on();
    const weir_decision *decision = &last[thread];
    const bool waits = action->moves && decision->verdict == WEIR_ALLOW && decision->start.ns > now;
    const uint64_t cost = decision->charged;
    const bool out = waits && log_take_out(&view, decision, cost);
    model_check(!waits || out == (decision->end == model.positions), "the last one is not the last");
    if (out) take_out_of_list(cost);
    if (!open || action->carry == WEIR_RESET) log_forget(&view, open ? now : WEIR_FOREVER);
    change_list(&to, open ? now : WEIR_FOREVER, was_closed || action->carry == WEIR_RESET);
    log_change(&view, &to);
    if (waits) {
        model_check(log_let_in(&view, now, cost, &last[thread]), "no room for who waits");
        let_into_list(now, cost);
        model_check(last[thread].start.ns == now + last[thread].delay_ns && last[thread].end == model.positions &&
                        last[thread].start.ns == model.stamp[model.entries - 1],
                    "not let in where the list has it");
    }
    log_open(&view);
    model.closed = false;
    go_on();
}

static void move_to_larger(const struct action *action)
{
    struct log_view view;
    log_make(log_number(1), 2 * (log_number(0)->mask + 1), BEGIN + action->now, yield);
    log_close(log_number(0), &view);
    log_move(&view, log_number(1), BEGIN + action->now);
    atom_store_release(&current, 1);
    log_open(&view);
}

static void close_current(void)
{
    struct log_view view;
    log_close(log_number(atom_load(&current)), &view);
    model.closed = true;
    go_on();
}

/* The newest timestamp of a moment that is not older than what the thread knows. */
static void look_for_last(int thread)
{
    uint64_t last_ns = 0;
    const bool known = log_last(log_number(atom_load_acquire(&current)), &last_ns);
    bool same = false;
    for (int i = moments - 1; i >= knows[thread] && !same; i--)
        same = known == (was[i].entries != 0) && (!known || last_ns == was[i].stamp[was[i].entries - 1]);
    model_check(same, "not the last timestamp of any moment");
}

static void act(const struct action *action, int thread)
{
    if (action->verb == LAST) look_for_last(thread);
    if (action->verb == CHANGE) change_limit(action, thread);
    else if (action->verb == SETTLE) settle_last(action, thread);
    else if (action->verb == MOVE) move_to_larger(action);
    else if (action->verb == CLOSE) close_current();
    else if (action->verb != NOTHING && action->verb != LAST) take(action, thread);
}

static void run_script(void)
{
    const int thread = model_thread();
    if (setjmp(death[thread]) != 0) return;
    for (int i = 0; i < ACTIONS; i++) act(&scene->script[thread][i], thread);
}

/* Outside of the threads nothing is noted. */
static void take_before(uint64_t now, uint64_t cost)
{
    const struct ask ask = {.now_ns = BEGIN + now, .cost = 1};
    for (uint64_t i = 0; i < cost; i++) {
        model_check(log_decide(log_number(0), &ask, &last[0]) == LOG_HERE, "not here before it began");
        const weir_decision expected = decide_by_list(&ask);
        tell_apart(&expected, &last[0]);
    }
}

static void forget(void)
{
    const struct rule rule = rule_of(scene->count, W, model.generation + 1);
    struct log_view view;
    const bool open = log_close(log_number(0), &view);
    log_forget(&view, open ? BEGIN : WEIR_FOREVER);
    log_change(&view, &rule);
    log_open(&view);
    change_list(&rule, open ? BEGIN : WEIR_FOREVER, true);
}

static void begin(void)
{
    memset(&model, 0, sizeof model);
    memset(memory, 0, sizeof memory);
    memset(last, 0, sizeof last);
    memset(doing, 0, sizeof doing);
    current.value = 0;
    log_make(log_number(0), scene->capacity != 0 ? scene->capacity : LARGE, BEGIN, yield);
    forget();
    take_before(0, scene->taken);
    if (scene->forgotten) forget();
    take_before(scene->forgotten ? 0 : W, scene->taken_late);
    for (int i = 1; i < THREADS; i++) last[i] = last[0];
    memset(knows, 0, sizeof knows);
    moments = 0;
    go_on();
}

/* All that still counts is in the ring, as the list has it. */
static void end(void)
{
    struct log *log = log_number(current.value);
    struct log_view view = log_view_at(log, log->head.value);
    if (log_written(&view, log_read(&view, view.position))) view.position++; /* by somebody who died */
    model_check(view.position == model.positions, "an entry was lost, or is one too many");
    const uint64_t known = least(least(model.entries, model.count), view.position - view.set.base);
    for (uint64_t i = 1; i <= known; i++) {
        const uint64_t stamp = log->origin_ns + log_ns_of(log_read(&view, view.position - i));
        model_check(stamp == model.stamp[model.entries - i], "a stamp is not the list's");
    }
    for (uint64_t i = 1; i <= least(view.position - view.set.base, log->mask); i++) {
        model_check(log_kind_of(log_read(&view, view.position - i)) != LOG_VOID, "what is no entry counts as one");
    }
    model_check(model.closed == ((log->head.value & LOG_HELD) != 0), "the head is left held");
}

/* ---- scenes ---- */

#define DOES(verb, now, cost, wait_max)                                                                                \
    {                                                                                                                  \
        verb, now, cost, wait_max, WEIR_KEEP, false                                                                    \
    }
#define TAKES(now) DOES(TAKE, now, 1, 0)
#define TAKES_MANY(now, cost) DOES(TAKE, now, cost, 0)
#define RESERVES(now, cost) DOES(TAKE, now, cost, WEIR_FOREVER)
#define TAKES_SOME(now, cost) DOES(SOME, now, cost, 0)
#define PEEKS(now, cost) DOES(PEEK, now, cost, 0)
#define CHARGES(now, cost) DOES(CHARGE, now, cost, 0)
#define SETTLES(now, actual) DOES(SETTLE, now, actual, 0)
#define CLOSES DOES(CLOSE, 0, 0, 0)
#define LOOKS_FOR_LAST DOES(LAST, 0, 0, 0)
#define MOVES(now) DOES(MOVE, now, 0, 0)
#define CHANGES(now, to, period, carry)                                                                                \
    {                                                                                                                  \
        CHANGE, now, to, period, carry, false                                                                          \
    }
#define IS_MOVED(now, to, period, carry)                                                                               \
    {                                                                                                                  \
        CHANGE, now, to, period, carry, true                                                                           \
    }

static const struct scene scenes[] = {
    {.name = "planted: head first",
     .count = 1,
     .script = {{TAKES(0)}, {TAKES(0)}},
     .decide = planted_log_head_first,
     .mistake = "over-admits"},
    {.name = "planted: slot first without the lap, a death",
     .count = 1,
     .script = {{TAKES(0)}, {TAKES(100 * W)}},
     .dies = true,
     .decide = planted_log_without_lap,
     .mistake = "refuses falsely"},
    {.name = "planted: no second look at the head",
     .count = 1,
     .capacity = 2,
     .script = {{TAKES(3 * W)}, {TAKES(W), TAKES(2 * W), TAKES(3 * W)}},
     .decide = planted_log_without_second_look,
     .mistake = "over-admits"},
    {.name = "planted: a hasty denial",
     .count = 1,
     .taken = 1,
     .script = {{TAKES(5)}, {TAKES(W)}},
     .preemptions = 2,
     .decide = planted_log_hasty,
     .mistake = "not the answer"},
    {.name = "a denial beside a take, in two preemptions",
     .count = 1,
     .taken = 1,
     .script = {{TAKES(5)}, {TAKES(W)}},
     .preemptions = 2},
    {.name = "planted: held without a seal",
     .count = 2,
     .script = {{TAKES(5)}, {TAKES_MANY(5, 2)}},
     .decide = planted_log_without_seal,
     .mistake = "over-admits"},
    {.name = "two take twice", .count = 2, .script = {{TAKES(1), TAKES(1)}, {TAKES(1), TAKES(2)}}},
    {.name = "two take through the laps",
     .count = 1,
     .capacity = 2,
     .script = {{TAKES(3 * W)}, {TAKES(W), TAKES(2 * W), TAKES(3 * W)}}},
    {.name = "three take, at times out of order",
     .count = 2,
     .taken = 2,
     .script = {{TAKES(W)}, {TAKES(W + 1)}, {TAKES(W - 1)}}},
    {.name = "three take, the edge closed",
     .count = 1,
     .taken = 1,
     .script = {{TAKES(W)}, {TAKES(W + 1)}},
     .closed = true},
    {.name = "one dies, two take and peek",
     .count = 2,
     .script = {{TAKES(1)}, {TAKES(1)}, {PEEKS(1, 1), TAKES(2)}},
     .dies = true},
    {.name = "one dies, one takes two",
     .count = 2,
     .script = {{TAKES(1)}, {TAKES_MANY(1, 2)}, {TAKES(2)}},
     .dies = true},
    {.name = "one takes, one takes two, one takes some",
     .count = 3,
     .script = {{TAKES(1)}, {TAKES_MANY(1, 2)}, {TAKES_SOME(2, 9)}}},
    {.name = "one takes, two reserve",
     .count = 2,
     .taken = 1,
     .script = {{TAKES(1)}, {RESERVES(1, 2)}, {RESERVES(2, 1)}}},
    {.name = "one charges, two take", .count = 2, .taken = 1, .script = {{CHARGES(1, 3)}, {TAKES(1)}, {TAKES(W)}}},
    {.name = "settled down and up beside a take",
     .count = 2,
     .taken = 2,
     .script = {{SETTLES(1, 0), TAKES(1)}, {TAKES(1)}}},
    {.name = "reserved and cancelled beside a take",
     .count = 1,
     .taken = 1,
     .script = {{RESERVES(1, 1), SETTLES(2, 0)}, {TAKES(W), TAKES(2 * W)}}},
    {.name = "reserved and cancelled beside more used than taken",
     .count = 1,
     .taken = 1,
     .script = {{RESERVES(1, 1), SETTLES(2, 0)}, {SETTLES(3, 2)}}},
    {.name = "taken, given back, taken, through the laps",
     .count = 1,
     .capacity = 4,
     .script = {{TAKES(1), SETTLES(1, 0), TAKES(1)}, {TAKES(1), SETTLES(2, 0)}}},
    {.name = "N up and down beside takes",
     .count = 1,
     .taken = 1,
     .script = {{TAKES(5), TAKES(6)}, {CHANGES(5, 2, W, WEIR_KEEP), CHANGES(5, 1, W, WEIR_SCALE)}}},
    {.name = "N up beside two takes",
     .count = 1,
     .taken = 1,
     .script = {{TAKES(5)}, {TAKES(6)}, {CHANGES(5, 2, W, WEIR_KEEP)}}},
    {.name = "N and W up and down beside a take",
     .count = 2,
     .taken = 2,
     .script = {{TAKES(5), TAKES(6)}, {CHANGES(5, 3, 2 * W, WEIR_KEEP), CHANGES(5, 2, 4, WEIR_KEEP)}}},
    {.name = "forgotten twice beside a take",
     .count = 1,
     .capacity = 4,
     .taken = 1,
     .script = {{TAKES(5)}, {CHANGES(5, 1, W, WEIR_RESET), TAKES(5), CHANGES(5, 1, W, WEIR_RESET), TAKES(5)}}},
    {.name = "forgotten through the laps, within a ns, in two preemptions",
     .count = 1,
     .capacity = 2,
     .taken = 1,
     .taken_late = 1,
     .forgotten = true,
     .preemptions = 2,
     .script = {{TAKES(0)},
                {CHANGES(0, 1, W, WEIR_RESET), TAKES(0), CHANGES(0, 1, W, WEIR_RESET), TAKES(0),
                 CHANGES(0, 1, W, WEIR_RESET), TAKES(0)}}},
    {.name = "reserved and cancelled through the laps",
     .count = 1,
     .capacity = 4,
     .taken = 1,
     .taken_late = 1,
     .script = {{TAKES(2 * W), RESERVES(2 * W, 1), SETTLES(2 * W, 0)}, {TAKES(3 * W)}}},
    {.name = "another limit for one that waits",
     .count = 2,
     .capacity = 16,
     .taken = 2,
     .script = {{RESERVES(5, 2), IS_MOVED(6, 1, 3, WEIR_KEEP)}, {RESERVES(6, 1), TAKES(3 * W)}}},
    {.name = "another limit for one that waits, forgotten, given back",
     .count = 2,
     .taken = 2,
     .script = {{RESERVES(5, 2), IS_MOVED(7, 2, W, WEIR_RESET), SETTLES(8, 0)}, {TAKES(6)}}},
    {.name = "another limit beside a promised start",
     .count = 2,
     .taken = 2,
     .script = {{RESERVES(5, 2), TAKES(3 * W)}, {CHANGES(6, 1, 3, WEIR_KEEP), CHANGES(7, 2, W, WEIR_RESET)}}},
    {.name = "moved to a larger ring beside takes",
     .count = 1,
     .capacity = 4,
     .taken = 1,
     .script = {{TAKES(W), TAKES(W)}, {MOVES(3)}}},
    {.name = "moved to a larger ring beside two permits and a death",
     .count = 3,
     .capacity = 4,
     .taken = 1,
     .script = {{TAKES(1)}, {MOVES(3), TAKES_MANY(3, 2)}},
     .dies = true},
    {.name = "closed and opened again",
     .count = 1,
     .taken = 1,
     .script = {{TAKES(5), TAKES(5)}, {CLOSES, CHANGES(6, 1, W, WEIR_RESET)}}},
    {.name = "a denial beside two changes",
     .count = 1,
     .taken = 1,
     .script = {{TAKES(5)}, {CHANGES(6, 1, 2 * W, WEIR_KEEP), CHANGES(7, 1, 3 * W, WEIR_KEEP)}}},
    {.name = "the last timestamp beside takes through the laps",
     .count = 1,
     .capacity = 2,
     .taken = 1,
     .script = {{LOOKS_FOR_LAST, LOOKS_FOR_LAST}, {TAKES(W), TAKES(2 * W), TAKES(3 * W)}}},
    {.name = "the last timestamp beside one reserved and cancelled",
     .count = 1,
     .taken = 1,
     .script = {{LOOKS_FOR_LAST}, {RESERVES(5, 1), SETTLES(6, 0)}}},
};

static void run(const struct scene *chosen)
{
    struct scene filled = *chosen;
    if (filled.decide == NULL) filled.decide = log_decide;
    scene = &filled;
    const struct model_scenario scenario = {.name = filled.name,
                                            .threads = filled.script[2][0].verb != NOTHING ? 3 : 2,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end,
                                            .preemptions_max = filled.preemptions};
    model_judge(&scenario, filled.mistake);
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) run(&scenes[i]);
    return model_status();
}
