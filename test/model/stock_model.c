/* SPDX-License-Identifier: MIT
   Src/share/stock.c in front of a cell, in all orders with few preemptions.

   Threads fill it, give it back and spend it, and take permits beside it, while the clock moves on.  The oracle knows
   only starts, each at the time of the clock when its permit was spent.  At the end all that is still to be had is
   spent, and over every window of starts

       excess = permits - burst - rate * window

   must not be above 0, and 0 is reached.  Each permit is given once: no two starts have the same end, since nothing
   that was taken is given back but by the stock; and none is told a start that is still to come.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "plan/plan.h"
#include "share/cell.h"
#include "share/lock.h"
#include "share/stock.h"

enum { THREADS = 3, ACTIONS = 4, STARTS_MAX = 40, BEGIN_NS = 100, ALL = 1000 };

/* A permit each ns, as in lease_model.c.  An eighth of what is saved up fits the stock. */
static const char LIMIT[] = "1000000000/s burst=48";

enum verb {
    NOTHING,
    LATER,  /* the clock moves on */
    FILL,   /* takes up to so many into the empty stock */
    RETURN, /* what is left goes back */
    SPEND,  /* out of the stock */
    TAKE,   /* beside it */
};

struct action {
    enum verb verb;
    uint64_t amount; /* permits; LATER: ns */
};

struct scene {
    const char *name;
    struct action before[ACTIONS], script[THREADS][ACTIONS];
    int preemptions;
    bool enough;                   /* each permit that a thread asks for is there */
    bool clock_first, same_serial; /* planted */
    const char *mistake;
};

struct made {
    uint64_t at_ns, permits, end;
};

static const struct scene *scene;
static struct rule rule;
static struct cell cell;
static struct stock stock;
static struct atom out, clock_ns;
static uint64_t state;
static struct made starts[THREADS][STARTS_MAX];
static int counts[THREADS];
static bool reached; /* in some order */

static void yield(void)
{
    atom_pause();
}

static int me(void)
{
    return model_thread() < 0 ? 0 : model_thread();
}

/* Right after the swap, without a step in between. */
static void note(const weir_decision *decision, uint64_t at_ns)
{
    model_check(decision->start.ns <= at_ns, "a start before its time");
    starts[me()][counts[me()]++] = (struct made){at_ns, decision->charged, decision->end};
}

/* Planted: a spender that has read the batch before finds its serial again. */
static struct trade empty(void)
{
    struct trade trade = stock_empty(&stock);
    if (scene->same_serial) atom_store(&stock.left, 0);
    return trade;
}

static void trade(uint64_t want)
{
    struct lease_slice slice;
    lock_take(&stock.lock, yield);
    const uint64_t first_ns = scene->clock_first ? atom_load(&clock_ns) : 0;
    struct trade trade = empty();
    trade.now_ns = scene->clock_first ? first_ns : atom_load(&clock_ns);
    trade.want = want;
    cell_trade(&cell, &trade, &slice);
    stock_fill(&stock, &slice, trade.now_ns);
    lock_release(&stock.lock);
}

static bool spend(uint64_t cost, weir_decision *decision)
{
    enum stock_answer answer;
    while ((answer = stock_spend(&stock, 0, cost, decision)) == STOCK_MET) continue;
    model_check(!scene->enough || answer == STOCK_SPENT, "too few of what is there");
    return answer == STOCK_SPENT;
}

static void act(const struct action *action)
{
    weir_decision decision;
    if (action->verb == LATER) atom_add(&clock_ns, action->amount);
    if (action->verb == FILL && !stock_has(&stock, 0)) trade(action->amount);
    if (action->verb == RETURN) trade(0);
    if (action->verb == SPEND && spend(action->amount, &decision)) note(&decision, clock_ns.value);
    if (action->verb != TAKE) return;
    const struct ask ask = {.now_ns = atom_load(&clock_ns), .cost = action->amount, .some = action->amount == ALL};
    cell_decide(&cell, &ask, &decision);
    if (decision.verdict == WEIR_ALLOW) note(&decision, decision.start.ns);
}

static void run_script(void)
{
    for (int i = 0; i < ACTIONS; i++) act(&scene->script[model_thread()][i]);
}

static void begin(void)
{
    memset(&stock, 0, sizeof stock);
    memset(&out, 0, sizeof out);
    memset(counts, 0, sizeof counts);
    atom_store(&clock_ns, BEGIN_NS);
    cell_open(&cell, &out, yield);
    state = 0;
    cell_open_with(&cell, &(struct cell_content){.rule = {rule}, .state = &state, .count = 1});
    for (int i = 0; i < ACTIONS; i++) act(&scene->before[i]);
}

static int by_time(const void *a, const void *b)
{
    const struct made *one = a, *other = b;
    return (one->at_ns > other->at_ns) - (one->at_ns < other->at_ns);
}

static int all_starts(struct made sorted[THREADS * STARTS_MAX])
{
    int count = 0;
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < counts[i]; j++) sorted[count++] = starts[i][j];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_time);
    return count;
}

static void end(void)
{
    struct made sorted[THREADS * STARTS_MAX];
    while (stock_has(&stock, 0)) act(&(struct action){SPEND, 1});
    act(&(struct action){TAKE, ALL});
    const int count = all_starts(sorted);
    for (int from = 0; from < count; from++) {
        uint64_t permits = 0;
        for (int to = from; to < count; to++) {
            const uint64_t most = rule.burst + sorted[to].at_ns - sorted[from].at_ns;
            permits += sorted[to].permits;
            model_check(permits <= most, "more starts than may be");
            reached = reached || permits == most;
            model_check(to == from || sorted[to].end != sorted[from].end, "a permit was given twice");
        }
    }
}

static const struct scene scenes[] = {
    {.name = "planted: the clock is read before the stock is emptied",
     .before = {{FILL, 4}},
     .script = {{{LATER, 9}, {SPEND, 4}}, {{RETURN, 0}}},
     .preemptions = 3,
     .clock_first = true,
     .mistake = "more starts"},
    {.name = "planted: a stock that is filled anew has the serial that it had",
     .before = {{FILL, 2}, {SPEND, 1}},
     .script = {{{SPEND, 1}}, {{SPEND, 1}, {LATER, 9}, {FILL, 2}, {SPEND, 1}}},
     .preemptions = 3,
     .same_serial = true,
     .mistake = "given twice"},
    {.name = "two that spend and fill",
     .script = {{{FILL, 3}, {SPEND, 1}, {FILL, 2}, {SPEND, 1}}, {{SPEND, 1}, {LATER, 5}, {FILL, 3}, {SPEND, 2}}},
     .preemptions = 2},
    {.name = "spent and filled again beside a thread that spends",
     .before = {{TAKE, 20}, {FILL, 2}},
     .script = {{{SPEND, 1}, {SPEND, 1}}, {{SPEND, 2}, {LATER, 9}, {FILL, 2}}},
     .preemptions = 4},
    {.name = "spent by two where there is enough for both",
     .before = {{FILL, 4}},
     .script = {{{SPEND, 1}, {SPEND, 1}}, {{SPEND, 1}}},
     .preemptions = 3,
     .enough = true},
    {.name = "given back while it is spent, a long time later",
     .before = {{FILL, 4}},
     .script = {{{LATER, 9}, {SPEND, 4}}, {{RETURN, 0}}},
     .preemptions = 4},
    {.name = "given back and taken, beside one that spends",
     .before = {{FILL, 5}},
     .script = {{{RETURN, 0}, {TAKE, 46}}, {{SPEND, 2}, {LATER, 3}, {SPEND, 1}}},
     .preemptions = 3},
    {.name = "three: one fills, one gives back, one spends",
     .script = {{{FILL, 4}, {FILL, 4}}, {{LATER, 6}, {RETURN, 0}, {TAKE, 2}}, {{SPEND, 2}, {SPEND, 1}}},
     .preemptions = 2},
    {.name = "left for a long time, then spent beside takes",
     .before = {{FILL, 4}, {LATER, 50}},
     .script = {{{TAKE, 43}, {SPEND, 2}}, {{SPEND, 2}, {RETURN, 0}, {TAKE, 1}}},
     .preemptions = 3},
};

static void explore(const struct scene *chosen)
{
    int threads = 0;
    while (threads < THREADS && chosen->script[threads][0].verb != NOTHING) threads++;
    scene = chosen;
    reached = false;
    const struct model_scenario scenario = {.name = scene->name,
                                            .threads = threads,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end,
                                            .preemptions_max = scene->preemptions,
                                            .steps_max = model_steps_max()};
    const enum model_end end_of = model_judge(&scenario, scene->mistake);
    if (scene->mistake != NULL || reached || end_of == MODEL_LEFT || model_leaves_out(scene->name)) return;
    printf("%s: never as much as may be\n", scene->name);
    model_counted(MODEL_FAILED);
}

int main(void)
{
    weir_plan plan;
    if (weir_plan_parse(&plan, LIMIT, WEIR_ADMIT, NULL) != 0) abort();
    rule = plan_inside_const(&plan)->rule[0];
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) explore(&scenes[i]);
    return model_status();
}
