/* SPDX-License-Identifier: MIT
   Slots that are held, in a cell and in wide slots of a file, in all interleavings: who takes, renews, releases, comes
   late, and dies.

   A thread of the wide scenes is a process: it holds a mark that the kernel takes away when it dies, together with the
   lock that it may hold.  It may die when it has asked and not yet written, when it has written and still has the lock,
   and after each call.  A slot has two copies of the state, and which one counts is the tag's last bit.

   The oracle is what each thread believes: that it holds so many slots until an end.  So many as there are may be
   believed in at once by those that live.  A call is refused only if, when it got the lock, those that lived then left
   it no room: the slots of the dead are free at once.  Who holds can renew and release, and who does not is told so.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm/concurrent.h"
#include "core/clock.h"
#include "plan/plan.h"
#include "share/cell.h"
#include "share/lock.h"
#include "share/table/wide.c" /* NOLINT(bugprone-suspicious-include) */

enum { THREADS = 3, ACTIONS = 3, BELIEFS_MAX = THREADS * ACTIONS, WORDS_MAX = 4096, STATE_MAX = 32, KEY = 2 };

/* LATE: releases what it has released before.  LOOK: as for another key, whether the first process lives. */
enum verb { NOTHING, TAKE, RENEW, RELEASE, LATE, LOOK };
enum mistake { NONE, OWNS_LATER, OWNS_NOT, LIVES_BY_LOCKING, DEAD_UNLESS_ASKING, ANY_ID, NO_LOCK };

struct action {
    enum verb verb;
    uint64_t now_ns, cost;
};

struct scene {
    const char *name, *text, *finds; /* finds: of what a failure speaks, where a mistake was planted */
    bool wide, dies;
    enum mistake mistake;
    int preemptions;
    struct action script[THREADS][ACTIONS];
};

static const struct scene *scene;
static struct plan plan;
static struct rules rules;

/* The homes. */
static struct cell cell;
static struct atom in_leases;
static uint64_t cell_state[STATE_MAX];
static _Alignas(64) uint64_t memory[WORDS_MAX], paper[WORDS_MAX];
static struct wide wide;
static struct atom stripe, mark[THREADS + 1]; /* mark: 1 while the process lives, 2 while another looks at it */

/* ---- what is believed ---- */

static struct belief {
    uint64_t id, end_ns, slots;
    int thread;
} belief[BELIEFS_MAX];
static int beliefs;
static uint64_t latest_ns; /* of all calls so far */
static bool dead[THREADS];
static struct {
    uint64_t id, released; /* of its last take, and of what it holds no more */
    uint64_t room;         /* when it got the lock, by what those believed that lived */
    jmp_buf end;
} thread[THREADS];

static uint64_t believed(uint64_t now_ns)
{
    uint64_t slots = 0;
    for (int i = 0; i < beliefs; i++) {
        if (!dead[belief[i].thread] && belief[i].end_ns > now_ns) slots += belief[i].slots;
    }
    return slots;
}

static struct belief *belief_in(uint64_t id)
{
    struct belief *found = NULL;
    for (int i = 0; i < beliefs; i++) {
        if (belief[i].id == id) found = &belief[i];
    }
    return found;
}

/* ---- dying ---- */

static void may_die(void)
{
    const int me = model_thread();
    if (me < 0 || !scene->dies || me == THREADS - 1 || model_choose(2) == 0) return;
    atom_store_release(&mark[me + 1], 0);
    dead[me] = true;
    if (atom_load(&stripe) == (uint64_t)me + 1) atom_store_release(&stripe, 0);
    longjmp(thread[me].end, 1);
}

/* ---- what a table asks for ---- */

static uint64_t now_of_call[THREADS];

static bool lock_stripe(void *context, unsigned number)
{
    const int me = model_thread();
    uint64_t expected = 0;
    (void)context;
    if (number != 0 || me < 0) return true;
    if (scene->mistake != NO_LOCK) {
        for (; !atom_swap(&stripe, &expected, (uint64_t)me + 1); expected = 0) atom_pause();
    }
    thread[me].room = subtract_to_zero(rules.rule[0].burst, believed(now_of_call[me]));
    model_touch(memory);
    return true;
}

static void unlock_stripe(void *context, unsigned number)
{
    (void)context;
    if (number != 0 || model_thread() < 0) return;
    model_touch(memory);
    may_die();
    atom_store_release(&stripe, 0);
}

static uint64_t owner_of(void *context)
{
    (void)context;
    may_die();
    return scene->mistake == OWNS_NOT ? 0 : (uint64_t)model_thread() + 1;
}

/* Whoever looks by trying the lock has it for a moment, and another who looks then sees it locked. */
static bool lives_by_locking(uint64_t owner)
{
    uint64_t expected = 0;
    if (!atom_swap(&mark[owner], &expected, 2)) return true;
    model_touch(&mark[owner]);
    atom_store_release(&mark[owner], 0);
    return false;
}

static bool owner_lives(void *context, uint64_t owner)
{
    (void)context;
    if (scene->mistake == DEAD_UNLESS_ASKING) return (int)owner == model_thread() + 1;
    if (scene->mistake == LIVES_BY_LOCKING) return lives_by_locking(owner);
    return atom_add(&mark[owner], 0) != 0; /* the kernel knows the newest */
}

/* ---- mistakes ---- */

/* Notes the owner once the state counts. */
static void own_later(weir_decision *decision)
{
    struct wide_bucket bucket;
    if (decision->verdict != WEIR_ALLOW || !open_bucket(&bucket, &wide, KEY)) return;
    const struct seat seat = find(&bucket);
    decision->end = concurrent_own(&rules.rule[0], seat.now + STATE, decision->end, (uint64_t)model_thread() + 1);
    close_bucket(&bucket);
}

/* The id of the first slot, whoever has it. */
static uint64_t any_id(uint64_t id)
{
    model_touch(cell_state);
    return id != 0 ? cell_state[5] : id;
}

/* ---- calls ---- */

static void ask(uint64_t now_ns, uint64_t cost, weir_decision *decision)
{
    const struct ask asked = {.now_ns = now_ns, .cost = cost};
    const int me = model_thread();
    uint32_t events;
    if (scene->wide) {
        wide.owner = scene->mistake == OWNS_LATER ? NULL : owner_of;
        wide_ask(&wide, KEY, rules, &asked, decision, &events);
        if (scene->mistake == OWNS_LATER) own_later(decision);
        return;
    }
    thread[me].room = 0; /* a cell has no callback; nobody dies there */
    cell_take(&cell, now_ns, cost, decision);
}

static void take(const struct action *action)
{
    const int me = model_thread();
    const uint64_t latest_before_ns = latest_ns;
    weir_decision decision;
    now_of_call[me] = action->now_ns;
    ask(action->now_ns, action->cost, &decision);
    latest_ns = most(latest_ns, action->now_ns);
    if (decision.verdict == WEIR_ALLOW) {
        model_check(belief_in(decision.end) == NULL, "an id comes again");
        thread[me].id = decision.end;
        belief[beliefs++] = (struct belief){decision.end, action->now_ns + rules.rule[0].period_ns, action->cost, me};
        model_check(believed(action->now_ns) <= rules.rule[0].burst, "more run than may");
        return;
    }
    if (!scene->wide) thread[me].room = subtract_to_zero(rules.rule[0].burst, believed(action->now_ns));
    /* By a clock behind that of an earlier call, slots may be taken that it saw free. */
    const bool behind = action->now_ns < latest_before_ns;
    model_check(behind || rules.count > 1 || thread[me].room < action->cost, "refused, and there was room");
}

static bool hold(uint64_t now_ns, uint64_t id, enum hold how)
{
    uint64_t count = 0;
    now_of_call[model_thread()] = now_ns;
    if (scene->mistake == ANY_ID) id = any_id(id);
    if (scene->wide) wide_hold(&wide, KEY, rules, now_ns, id, how, &count);
    else cell_hold_slots(&cell, now_ns, id, how, &count);
    return count != 0;
}

static void renew_or_release(const struct action *action)
{
    const int me = model_thread();
    const enum hold how = action->verb == RENEW ? HOLD_RENEW : HOLD_RELEASE;
    const uint64_t id = action->verb == LATE ? thread[me].released : thread[me].id;
    struct belief *held = belief_in(id);
    if (id == 0) return;
    const bool done = hold(action->now_ns, id, how);
    latest_ns = most(latest_ns, action->now_ns);
    const bool holds = held != NULL && held->end_ns > action->now_ns;
    model_check(holds || !done, "done for one that held nothing");
    model_check(!holds || done || held->end_ns <= latest_ns, "not done for one that held");
    if (!done) return;
    held->end_ns = how == HOLD_RENEW ? most(held->end_ns, action->now_ns + rules.rule[0].period_ns) : 0;
    if (how == HOLD_RELEASE) thread[me].released = id;
    model_check(believed(action->now_ns) <= rules.rule[0].burst, "more run than may");
}

static void run_script(void)
{
    const int me = model_thread();
    if (setjmp(thread[me].end) != 0) return;
    for (int i = 0; i < ACTIONS; i++) {
        const struct action *action = &scene->script[me][i];
        if (action->verb == TAKE) take(action);
        else if (action->verb == LOOK) owner_lives(NULL, 1);
        else if (action->verb != NOTHING) renew_or_release(action);
        if (action->verb != NOTHING && scene->wide) may_die();
    }
}

static void yield(void)
{
    atom_pause();
}

static void begin(void)
{
    struct cell_content content = {.state = cell_state, .count = rules.count};
    memset(belief, 0, sizeof belief);
    memset(thread, 0, sizeof thread);
    memset(dead, 0, sizeof dead);
    memset(cell_state, 0, sizeof cell_state);
    memset(memory, 0, sizeof memory);
    memset(&cell, 0, sizeof cell);
    memset(&wide, 0, sizeof wide);
    beliefs = 0;
    latest_ns = 0;
    stripe.value = 0;
    for (int i = 1; i <= THREADS; i++) mark[i].value = 1;
    memcpy(content.rule, rules.rule, (size_t)rules.count * sizeof content.rule[0]);
    cell_open(&cell, &in_leases, yield);
    cell_open_with(&cell, &content);
    wide = (struct wide){.memory = memory,
                         .paper = paper,
                         .kept = true,
                         .when_full = TABLE_DENY,
                         .lock = lock_stripe,
                         .unlock = unlock_stripe,
                         .owner = owner_of,
                         .owner_lives = owner_lives};
    const uint64_t bytes = wide_bytes(1, wide_state_words(rules), true, &wide.slots, &wide.slot_words);
    if (bytes > sizeof memory || wide_state_words(rules) > STATE_MAX) abort();
    wide.plan_sets = wide_sets_in(bytes);
    /* The plan is known, and the key has its slot. */
    const struct ask asked = {.now_ns = 1, .cost = 1};
    weir_decision decision;
    uint64_t count;
    uint32_t events;
    if (!scene->wide) return;
    wide_ask(&wide, KEY, rules, &asked, &decision, &events);
    wide_hold(&wide, KEY, rules, 1, decision.end, HOLD_RELEASE, &count);
}

/* An hour later nobody holds anything, whoever died where. */
static void end(void)
{
    const struct ask asked = {.now_ns = UINT64_C(3600000000000), .cost = rules.rule[0].burst};
    weir_decision decision;
    uint32_t events;
    model_check(stripe.value == 0 && cell.lock.value == 0, "a lock is left closed");
    if (scene->wide) wide_ask(&wide, KEY, rules, &asked, &decision, &events);
    else cell_take(&cell, asked.now_ns, asked.cost, &decision);
    model_check(decision.verdict == WEIR_ALLOW, "a slot is lost");
}

#define ONE "1 concurrent lease=10ns"
#define TWO "2 concurrent lease=10ns"

static const struct scene scenes[] = {
    {.name = "a cell: two take one slot, and release",
     .text = ONE,
     .script = {{{TAKE, 5, 1}, {RELEASE, 6, 0}}, {{TAKE, 5, 1}, {RELEASE, 7, 0}}}},
    {.name = "a cell: released twice beside another's take",
     .text = ONE,
     .script = {{{TAKE, 5, 1}, {RELEASE, 6, 0}, {LATE, 6, 0}}, {{TAKE, 6, 1}, {RENEW, 7, 0}, {RELEASE, 8, 0}}}},
    {.name = "a cell: renewed beside expiry",
     .text = ONE,
     .script = {{{TAKE, 5, 1}, {RENEW, 14, 0}}, {{TAKE, 15, 1}, {RENEW, 16, 0}}, {{TAKE, 24, 1}}}},
    {.name = "a cell: three for two",
     .text = TWO,
     .script = {{{TAKE, 5, 2}, {RELEASE, 6, 0}}, {{TAKE, 5, 1}, {RENEW, 6, 0}}, {{TAKE, 6, 1}, {RELEASE, 16, 0}}}},
    {.name = "a cell: in a list",
     .text = TWO "; 1000000000/s burst=3",
     .script = {{{TAKE, 5, 2}, {RELEASE, 6, 0}}, {{TAKE, 5, 1}, {RENEW, 6, 0}}, {{TAKE, 6, 2}}}},
    {.name = "planted: any id releases",
     .text = ONE,
     .mistake = ANY_ID,
     .finds = "for one that held",
     .script = {{{TAKE, 5, 1}, {RELEASE, 6, 0}, {LATE, 6, 0}}, {{TAKE, 6, 1}, {RENEW, 7, 0}}}},
    {.name = "wide: two take one slot, and release",
     .text = ONE,
     .wide = true,
     .script = {{{TAKE, 5, 1}, {RELEASE, 6, 0}}, {{TAKE, 5, 1}, {RELEASE, 7, 0}}}},
    {.name = "wide: renewed beside expiry",
     .text = ONE,
     .wide = true,
     .preemptions = 3,
     .script = {{{TAKE, 5, 1}, {RENEW, 14, 0}}, {{TAKE, 15, 1}, {RENEW, 16, 0}}, {{TAKE, 24, 1}}}},
    {.name = "wide: a death, and one who waits for the slot",
     .text = ONE,
     .wide = true,
     .dies = true,
     .script = {{{TAKE, 5, 1}, {RENEW, 6, 0}}, {{NOTHING, 0, 0}}, {{TAKE, 6, 1}, {TAKE, 7, 1}}}},
    {.name = "wide: two that may die, and one who waits",
     .text = TWO,
     .wide = true,
     .dies = true,
     .preemptions = 2,
     .script = {{{TAKE, 5, 1}, {RENEW, 6, 0}}, {{TAKE, 5, 1}, {RELEASE, 6, 0}}, {{TAKE, 6, 1}, {TAKE, 6, 1}}}},
    {.name = "wide: two slots of one that may die, two who wait",
     .text = TWO,
     .wide = true,
     .dies = true,
     .preemptions = 2,
     .script = {{{TAKE, 5, 2}, {RENEW, 6, 0}}, {{TAKE, 6, 1}, {RELEASE, 6, 0}}, {{TAKE, 6, 1}, {LATE, 6, 0}}}},
    {.name = "wide: in a list, a death",
     .text = ONE "; 1000000000/s burst=3",
     .wide = true,
     .dies = true,
     .preemptions = 2,
     .script = {{{TAKE, 5, 1}, {RELEASE, 6, 0}}, {{TAKE, 5, 1}}, {{TAKE, 6, 1}, {TAKE, 7, 1}}}},
    {.name = "wide: a death, and two who look",
     .text = ONE,
     .wide = true,
     .dies = true,
     .preemptions = 2,
     .script = {{{TAKE, 5, 1}}, {{LOOK, 6, 0}}, {{TAKE, 6, 1}}}},
    {.name = "planted: who looks locks",
     .text = ONE,
     .wide = true,
     .dies = true,
     .mistake = LIVES_BY_LOCKING,
     .finds = "refused, and there was room",
     .script = {{{TAKE, 5, 1}}, {{LOOK, 6, 0}}, {{TAKE, 6, 1}}}},
    {.name = "planted: no lock",
     .text = ONE,
     .wide = true,
     .mistake = NO_LOCK,
     .finds = "",
     .script = {{{TAKE, 5, 1}}, {{TAKE, 5, 1}}}},
    {.name = "planted: the owner is noted once the state counts",
     .text = ONE,
     .wide = true,
     .dies = true,
     .mistake = OWNS_LATER,
     .finds = "refused, and there was room",
     .script = {{{TAKE, 5, 1}}, {{NOTHING, 0, 0}}, {{TAKE, 6, 1}}}},
    {.name = "planted: no owner",
     .text = ONE,
     .wide = true,
     .dies = true,
     .mistake = OWNS_NOT,
     .finds = "refused, and there was room",
     .script = {{{TAKE, 5, 1}}, {{NOTHING, 0, 0}}, {{TAKE, 6, 1}}}},
    {.name = "planted: one that lives is taken for dead",
     .text = ONE,
     .wide = true,
     .mistake = DEAD_UNLESS_ASKING,
     .finds = "more run than may",
     .script = {{{TAKE, 5, 1}, {RENEW, 6, 0}}, {{TAKE, 5, 1}}}},
};

static void run(const struct scene *chosen)
{
    weir_plan parsed;
    scene = chosen;
    if (weir_plan_parse(&parsed, chosen->text, WEIR_ADMIT, NULL) != 0) abort();
    plan = *plan_inside_const(&parsed);
    rules = plan_rules(&plan);
    const struct model_scenario scenario = {.name = chosen->name,
                                            .threads = chosen->script[2][0].verb != NOTHING ? 3 : 2,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end,
                                            .preemptions_max = chosen->preemptions};
    model_judge(&scenario, chosen->finds);
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) run(&scenes[i]);
    return model_status();
}
