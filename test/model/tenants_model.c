/* SPDX-License-Identifier: MIT
   Tenants with guarantees and their parent in 16-byte slots, in all interleavings.

   The steps are src/api/table/slots.c's, compiled in here with its swaps announced, over the table that table_model.c
   explores.  All keys have their slots.  A permit is 10 units of each limit but where a scene says otherwise.  At the
   end of each execution

       bound          of every window no more passed than B + the sum of B_i + R t, and where the clock moves one call
                      more: it may have read its time, and not be charged yet, when a call of a later time borrowed
       guarantee      a tenant that asks for no more than it is guaranteed was never refused and never borrowed
       conservation   where the clock stands still and nobody dies, every limit is as far ahead as the calls that passed
                      have moved it: nothing stays charged for a call that was refused

   Each scene says whether the bound is reached.  Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"
#include "share/atomic.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static bool mortal_swap_full(struct atom *atom, uint64_t *expected, uint64_t desired, const char *site);
#undef atom_swap_full
#define atom_swap_full(atom, expected, desired) mortal_swap_full(atom, expected, desired, ATOM_SITE)
#include "api/table/slots.c" /* NOLINT(bugprone-suspicious-include) */
#include "planted_tenants.h"

enum { THREADS = 3, CALLS = 3, NAMES = 4, LIMITS = 2, BEGIN = 1000, PERMIT = 10, LOG = THREADS * CALLS };
enum who { NOBODY, ONE, TWO, LENT, ALL }; /* LENT has no guarantee */

struct action {
    enum who who;   /* NOBODY: the clock moves on by */
    uint64_t later; /* so much */
};

struct scene {
    const char *name;
    const char *one, *two, *all; /* texts; LENT has 100000000/s burst=9 */
    struct action script[THREADS][CALLS];
    bool calm_one; /* it asks for no more than it is guaranteed */
    bool dies;     /* thread 0 may, behind each swap */
    bool not_reached;
    int preemptions;
    tenants_take_function *take;
    const char *mistake;
};

struct passed {
    uint64_t at;
    enum who who;
    bool borrowed;
};

static const struct scene *scene;
static _Alignas(64) struct table_bucket memory[4];
static struct atom newest, rested, clock_now;
static struct table view;
static weir_table table;
static weir_plan plan[NAMES + 1];
static jmp_buf death[THREADS];
static struct passed passed[LOG];
static int count;
static bool moves, died, refused_one;
static int64_t worst; /* of all executions: beyond the bound */

void keyed_map_more(weir_table *unused)
{
    (void)unused;
}

void keyed_rest(weir_table *unused, uint64_t ns)
{
    (void)unused;
    (void)ns;
}

static void perhaps_die(void)
{
    const int thread = model_thread();
    if (thread != 0 || !scene->dies || model_choose(2) == 0) return;
    died = true;
    longjmp(death[thread], 1);
}

static bool mortal_swap_full(struct atom *atom, uint64_t *expected, uint64_t desired, const char *site)
{
    const bool swapped = model_swap(&atom->value, expected, desired, ATOM_FULL, site);
    if (swapped) perhaps_die();
    return swapped;
}

/* ---- the beginning ---- */

/* Each limit of each name has a place of its own. */
static uint64_t hash_of(enum who who, int limit)
{
    return ((uint64_t)who * LIMITS + (uint64_t)limit) * UINT64_C(0x1000000000000001) + 1;
}

static void put(enum who who, int limit, uint64_t at)
{
    const struct table_question question = {
        .hash = hash_of(who, limit), .now = at, .cost = 1, .burst = 1, .how = TABLE_TAKE};
    struct table_answer answer;
    table_ask(&view, &question, &answer);
    table_ask(&view, &question, &answer); /* commits */
}

static void begin(void)
{
    memset(memory, 0, sizeof memory);
    memset(&table, 0, sizeof table);
    newest.value = 1;
    rested.value = 1;
    clock_now.value = BEGIN;
    view = (struct table){.newest = &newest, .count = 1, .when_full = TABLE_DENY, .longest = 1 << 20};
    view.area[0] = (struct table_area){.bucket = memory, .half = 2};
    table_divide(&view, false);
    table.areas.value = (uint64_t)(uintptr_t)&view;
    table.rested = &rested;
    table.rest_ns = UINT64_C(1) << 40;
    table.longest = view.longest;
    count = 0;
    died = refused_one = false;
    /* Long ago, so that all have slots, and all is back. */
    for (int who = ONE; who <= ALL; who++)
        for (int i = 0; i < weir_plan_limits(&plan[who]); i++) put((enum who)who, i, BEGIN - 100);
}

/* ---- calls ---- */

static weir_ask ask_of(enum who who)
{
    return (weir_ask){.plan = &plan[who], .key = {NULL, 0}, .cost = 1};
}

static int limits_of(enum who who, struct keyed_limit limits[])
{
    const struct plan *inside = plan_inside_const(&plan[who]);
    for (int i = 0; i < (int)inside->count; i++)
        limits[i] = (struct keyed_limit){&inside->rule[i], inside->interval[i], hash_of(who, i), 1, i, NULL};
    return (int)inside->count;
}

static void call(enum who who)
{
    struct keyed_limit limits[2 * LIMITS];
    weir_ask asks[] = {ask_of(who), ask_of(ALL)};
    int first[3] = {0};
    uint32_t events = 0;
    first[1] = limits_of(who, limits);
    first[2] = first[1] + limits_of(ALL, limits + first[1]);
    static const struct keyed_lent no_weights = {.limit = -1};
    const weir_instant now = {atom_load(&clock_now)};
    const bool taken = scene->take(&table, limits, first, asks, 2, now, &no_weights, &events);
    if (taken) passed[count++] = (struct passed){now.ns, who, weir_borrowed(&asks[0].decision)};
    if (who == ONE && (!taken || weir_borrowed(&asks[0].decision))) refused_one = true;
}

static void act(void)
{
    const int thread = model_thread();
    if (setjmp(death[thread]) != 0) return;
    for (int i = 0; i < CALLS; i++) {
        const struct action action = scene->script[thread][i];
        if (action.who != NOBODY) call(action.who);
        else if (action.later != 0) atom_add(&clock_now, action.later);
    }
}

/* ---- the end ---- */

static uint64_t burst_of(enum who who, int limit)
{
    const struct plan *inside = plan_inside_const(&plan[who]);
    return slot_rule_of(&inside->rule[limit], inside->interval[limit], 0).burst;
}

static uint64_t permit_of(enum who who, int limit)
{
    const struct plan *inside = plan_inside_const(&plan[who]);
    return slot_rule_of(&inside->rule[limit], inside->interval[limit], 0).interval;
}

static bool guarantees(enum who who)
{
    return (plan_inside_const(&plan[who])->rule[0].flags & RULE_GUARANTEED) != 0;
}

/* In the parent's units: more than its bursts and what its rate adds. */
static void check_bound(void)
{
    const uint64_t permit = permit_of(ALL, 0);
    uint64_t bursts = burst_of(ALL, 0) / permit;
    for (int who = ONE; who <= TWO; who++)
        if (guarantees((enum who)who)) bursts += burst_of((enum who)who, 0) / permit_of((enum who)who, 0);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++) {
            uint64_t sum = 0;
            for (int k = 0; k < count; k++) sum += passed[k].at >= passed[i].at && passed[k].at <= passed[j].at;
            const uint64_t may = bursts * permit + subtract_to_zero(passed[j].at, passed[i].at);
            const int64_t beyond = (int64_t)(sum * permit) - (int64_t)may;
            if (passed[j].at < passed[i].at) continue;
            if (beyond > worst) worst = beyond;
            model_check(beyond <= (moves ? (int64_t)permit : 0), "more than the bound passed");
        }
    }
}

static uint64_t ahead_of(enum who who, int limit)
{
    const struct table_question question = {
        .hash = hash_of(who, limit), .now = BEGIN, .burst = 1 << 19, .how = TABLE_PEEK};
    struct table_answer answer;
    table_ask_slowly(&view, &question, &answer);
    return answer.drained - BEGIN;
}

static void check_limit(enum who who, int limit)
{
    uint64_t charged = 0;
    for (int i = 0; i < count; i++) {
        const bool own = passed[i].who == who && !(limit == 0 && passed[i].borrowed);
        charged += who == ALL || own ? permit_of(who, limit) : 0;
    }
    model_check(ahead_of(who, limit) == charged, "a limit is not where the calls that passed have moved it");
}

static void end(void)
{
    check_bound();
    model_check(!scene->calm_one || died || !refused_one, "a tenant within its guarantee was refused, or borrowed");
    for (int who = ONE; who <= ALL && !moves && !died; who++)
        for (int i = 0; i < weir_plan_limits(&plan[who]); i++) check_limit((enum who)who, i);
}

/* ---- scenes ---- */

#define RATE "100000000/s" /* a permit each 10 units */
#define OWED "50000000/s"
#define LATER(units)                                                                                                   \
    {                                                                                                                  \
        NOBODY, units                                                                                                  \
    }
#define TAKES(who)                                                                                                     \
    {                                                                                                                  \
        who, 0                                                                                                         \
    }

static const struct scene scenes[] = {
    {.name = "one within its guarantee, the other borrows",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1 guaranteed",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(LENT), TAKES(LENT)}},
     .calm_one = true,
     .not_reached = true},
    {.name = "two guarantees, and one who borrows",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1 guaranteed",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(TWO)}, {TAKES(LENT), TAKES(LENT)}},
     .calm_one = true,
     .preemptions = 2},
    {.name = "two for one guarantee",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(ONE)}, {TAKES(LENT)}},
     .preemptions = 2},
    {.name = "two for one guarantee, a death",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(ONE)}, {TAKES(LENT)}},
     .dies = true,
     .preemptions = 2},
    {.name = "two for one guarantee below a ceiling",
     .one = OWED " burst=1 guaranteed; " RATE " burst=3",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(LENT), TAKES(ONE)}, {TAKES(ONE)}},
     .preemptions = 2},
    {.name = "two below a ceiling",
     .one = OWED " burst=1 guaranteed; " RATE " burst=3",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE), TAKES(ONE)}, {TAKES(ONE)}},
     .preemptions = 2},
    {.name = "a ceiling, another who borrows",
     .one = OWED " burst=1 guaranteed; " RATE " burst=3",
     .two = OWED " burst=1 guaranteed; " RATE " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE), TAKES(ONE)}, {TAKES(TWO), TAKES(TWO)}},
     .not_reached = true,
     .preemptions = 2},
    {.name = "calm below its ceiling, two who borrow",
     .one = OWED " burst=2 guaranteed; " OWED " burst=2",
     .two = OWED " burst=1; " RATE " burst=3",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE), TAKES(ONE)}, {TAKES(TWO)}, {TAKES(TWO)}},
     .calm_one = true,
     .preemptions = 2},
    {.name = "a clock that moves",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1 guaranteed",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE), TAKES(ONE)}, {LATER(10), TAKES(LENT), TAKES(TWO)}, {LATER(20)}},
     .preemptions = 2},

    /* ---- planted ---- */
    {.name = "planted: none",
     .one = OWED " burst=1 guaranteed; " RATE " burst=3",
     .two = OWED " burst=1 guaranteed",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE), TAKES(ONE)}, {TAKES(TWO), TAKES(TWO)}},
     .preemptions = 2,
     .take = planted_tenants_right},
    {.name = "planted: owed by a look",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(ONE)}, {TAKES(LENT)}},
     .take = planted_tenants_owed_by_look,
     .mistake = "more than the bound"},
    {.name = "planted: lent by a look",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(LENT)}, {TAKES(LENT)}},
     .take = planted_tenants_lent_by_look,
     .mistake = "more than the bound"},
    {.name = "planted: the parent is forgotten",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(LENT)}},
     .take = planted_tenants_parent_forgotten,
     .mistake = "a limit is not where"},
    {.name = "planted: the parent refuses",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(LENT)}},
     .calm_one = true,
     .take = planted_tenants_parent_refuses,
     .mistake = "a tenant within its guarantee"},
    {.name = "planted: the ceiling stays charged",
     .one = OWED " burst=1 guaranteed; " RATE " burst=3",
     .two = OWED " burst=1",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE), TAKES(ONE)}, {TAKES(LENT)}},
     .take = planted_tenants_ceiling_kept,
     .mistake = "a limit is not where"},
    {.name = "planted: the parent stays charged",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1 guaranteed",
     .all = RATE " burst=1",
     .script = {{TAKES(ONE)}, {TAKES(ONE)}, {TAKES(TWO)}},
     .preemptions = 2,
     .take = planted_tenants_parent_kept,
     .mistake = "a limit is not where"},
    {.name = "planted: what is borrowed is charged to the guarantee",
     .one = OWED " burst=1 guaranteed",
     .two = OWED " burst=1",
     .all = RATE " burst=2",
     .script = {{TAKES(ONE)}, {TAKES(ONE)}},
     .take = planted_tenants_borrowed_charged,
     .mistake = "a limit is not where"},
};

static enum model_end ended(const struct model_result *result)
{
    if (result->failed) return MODEL_FAILED;
    if (!result->complete) return MODEL_LEFT;
    return worst >= 0 || scene->not_reached ? MODEL_OK : MODEL_FAILED;
}

static void explore(const struct scene *of)
{
    static struct scene copy;
    if (model_leaves_out(of->name)) return;
    copy = *of;
    if (copy.take == NULL) copy.take = keyed_slots_take_all;
    scene = &copy;
    static const char lent[] = RATE " burst=9";
    const char *const texts[] = {[ONE] = of->one, [TWO] = of->two, [LENT] = lent, [ALL] = of->all};
    for (int who = ONE; who <= ALL; who++) weir_plan_parse(&plan[who], texts[who], WEIR_ADMIT, NULL);
    moves = false;
    worst = INT64_MIN;
    struct model_scenario scenario = {.name = of->name,
                                      .begin = begin,
                                      .end = end,
                                      .preemptions_max = of->preemptions,
                                      .steps_max = model_steps_max()};
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < CALLS; j++) moves = moves || of->script[i][j].later != 0;
        if (of->script[i][0].who != NOBODY || of->script[i][0].later != 0) scenario.thread[scenario.threads++] = act;
    }
    if (of->take != NULL) {
        model_judge(&scenario, of->mistake);
        return;
    }
    const struct model_result result = model_run(&scenario);
    const enum model_end how = ended(&result);
    printf("%s %s: %" PRIu64 " executions, %" PRIu64 " steps, worst %" PRId64 "\n", model_counted(how), result.name,
           result.executions, result.steps, worst);
    if (how == MODEL_FAILED) model_print(&result, stdout);
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) explore(&scenes[i]);
    return model_status();
}
