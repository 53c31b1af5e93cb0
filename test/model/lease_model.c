/* SPDX-License-Identifier: MIT
   Src/share/word.c and lease.c with permits in leases, in all interleavings.

   The oracle knows neither states nor leases, only starts: who spent how many permits when the clock said what.  At the
   end of each execution all that is still to be had is spent, what is in leases and then what the word gives, and over
   every window of starts

       excess = permits - burst - rate * window

   must not be above 0.  Each scene says whether 0 is reached, so that a check that sees nothing is seen.  All limits
   here have a permit each ns, so ticks, ns and permits are the same numbers, and time is an atom that scripts move on:
   between reading it and using it anything may happen.  Who settles a call down changes the history: only what he used
   has started.  After a change only what starts after it is looked at, and the new burst counts, or what was out then
   and one more.

   Where nothing is in use at the end, what is saved up is held against a bucket that had the starts and nothing else.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"
#include "planted_lease.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm.h"
#include "change_word.h"
#include "core/clock.h"
#include "plan/plan.h"

enum { THREADS = 3, ACTIONS = 7, STARTS_MAX = 24, BEGIN_NS = 100, ALL = 1000 };
enum limit_name { BURST_4, BURST_16, BURST_18, BURST_24, BURST_32, LIMITS };
static const char *const texts[LIMITS] = {"1000000000/s burst=4", "1000000000/s burst=16", "1000000000/s burst=18",
                                          "1000000000/s burst=24", "1000000000/s burst=32"};

enum verb {
    NOTHING,
    LATER,  /* the clock moves on */
    LOOK,   /* reads the clock, for the calls that follow */
    FRESH,  /* ... which read it themselves again */
    LEASE,  /* gives back what is left and takes up to so many; 0 ends the lease */
    SPEND,  /* up to so many out of the lease */
    TAKE,   /* decides alone */
    SOME,   /* the same, as many as there are */
    WAIT,   /* the same, and waits for the start */
    PEEK,   /* the same, and takes nothing */
    SETTLE, /* of the last one taken alone so many were used */
    CHANGE  /* another limit */
};

struct action {
    enum verb verb;
    uint64_t amount; /* permits; LATER: ns */
    enum limit_name to;
    weir_carry carry;
};

struct scene {
    const char *name;
    enum limit_name limit;
    struct action before[ACTIONS]; /* by thread 0, before all begin: what it takes along stays its own */
    struct action script[THREADS][ACTIONS];
    bool not_reached;  /* it is always less than may pass */
    bool conserves;    /* nothing is lost */
    int preemptions;   /* all orders with so many, where there are too many without */
    int late;          /* [with weak orders] the same for loads that do not find the newest */
    uint64_t out_most; /* in leases at the change; so many and one may pass after it, or a burst if that is more */
    word_trade_function *trade;
    word_decide_function *decide;
    word_grant_function *grant; /* not NULL: takes go the fast path first */
    word_settle_function *settle;
};

struct use {
    uint64_t at_ns, permits;
    bool after; /* the change */
};

struct actor {
    struct lease_slice slice;
    uint64_t held, left;
    weir_decision decision;
    int decided; /* where its start is noted */
    uint64_t seen_ns;
    bool looks; /* uses what he saw */
    struct use start[STARTS_MAX];
    int starts;
};

static const struct scene *scene;
static bool changes; /* somebody changes the limit */
static struct rule limits[LIMITS];
static struct word word;
static struct atom clock_ns;
static struct actor actors[THREADS];
static struct note notes[THREADS];
static struct rule changed_to;
static weir_carry changed_how;

/* Over all executions of the scene. */
static int64_t worst, lost_most;
static bool stops; /* at the first excess */

static bool decide_clock_last(struct word *at, const struct ask *ask, weir_decision *decision)
{
    return planted_decide_clock_last(at, &clock_ns, ask, decision);
}

/* ---- what threads do ---- */

static uint64_t read_clock(const struct actor *actor)
{
    return actor->looks ? actor->seen_ns : atom_load(&clock_ns);
}

static int note(struct actor *actor, uint64_t at_ns, uint64_t permits, bool after)
{
    model_check(actor->starts < STARTS_MAX, "more starts than STARTS_MAX");
    actor->start[actor->starts] = (struct use){at_ns, permits, after};
    return actor->starts++;
}

static void lease(struct actor *actor, uint64_t want)
{
    struct trade trade = {.now_ns = read_clock(actor),
                          .held = actor->held,
                          .unused = actor->left,
                          .end = actor->slice.end,
                          .generation = actor->slice.generation,
                          .want = want};
    if (actor->held == 0 && want == 0) return;
    while (!scene->trade(&word, &trade, &actor->slice)) atom_pause(); /* a change is under way */
    model_check(actor->slice.permits <= want, "more than was wanted");
    actor->held = actor->left = actor->slice.permits;
}

/* Was the change in force when it was spent?  Only asked where there is one, as it is one more step. */
static bool is_after(void)
{
    if (!changes) return false;
    const uint64_t raw = atom_load(&word.value);
    return changed_to.anchor_tick != 0 && !word_is_closed(raw) && raw >= changed_to.anchor_tick;
}

static void spend(struct actor *actor, uint64_t permits)
{
    permits = least(permits, actor->left);
    if (permits == 0) return;
    actor->left -= permits;
    const uint64_t now_ns = atom_load(&clock_ns);
    note(actor, now_ns, permits, is_after());
}

/* As weir_take_at. */
static bool take_fast(const struct ask *ask, weir_decision *decision)
{
    struct note *note_of_one = &notes[model_thread()];
    struct granted granted;
    const uint64_t raw = word_see(&word);
    if (ask->cost == 1 && word_denies(&word, raw, ask->now_ns, note_of_one)) {
        *decision = word_denied(note_of_one, ask->now_ns);
        return true;
    }
    if (scene->grant(&word, raw, ask->now_ns, ask->cost, &granted)) {
        *decision = word_granted(&granted, ask->now_ns, ask->cost);
        return true;
    }
    const bool here = scene->decide(&word, ask, decision);
    if (here && ask->cost == 1) word_note(note_of_one, decision, ask->now_ns);
    return here;
}

static void decide_alone(struct actor *actor, const struct action *action)
{
    const struct ask ask = {.now_ns = read_clock(actor),
                            .wait_max_ns = action->verb == WAIT ? WEIR_FOREVER : 0,
                            .cost = action->amount,
                            .some = action->verb == SOME,
                            .peek = action->verb == PEEK};
    weir_decision decision;
    const bool fast = scene->grant != NULL && action->verb == TAKE;
    while (!(fast ? take_fast(&ask, &decision) : scene->decide(&word, &ask, &decision))) atom_pause();
    if (decision.verdict != WEIR_ALLOW || ask.peek) return;
    actor->decision = decision;
    actor->decided = note(actor, decision.start.ns, decision.charged, (uint32_t)decision.reserved != 0);
}

static void settle_last(struct actor *actor, uint64_t actual)
{
    const uint64_t charged = actor->decision.charged;
    if (actor->decision.verdict != WEIR_ALLOW) return;
    const uint64_t now_ns = read_clock(actor);
    if (actual <= charged) actor->start[actor->decided].permits = actual;
    else note(actor, now_ns, actual - charged, false);
    while (!scene->settle(&word, now_ns, &actor->decision, actual)) atom_pause();
    actor->decision = (weir_decision){0};
}

static void change_limit(const struct actor *actor, const struct action *action)
{
    struct rule from, to = limits[action->to];
    uint64_t value;
    to.generation = 1;
    changed_to = to;
    changed_to.anchor_tick = 0; /* not in force */
    changed_how = action->carry;
    to.anchor_ns = read_clock(actor);
    word_close(&word, &from, &value);
    value = carried_word(&word, &from, &to, value, to.anchor_ns, action->carry);
    changed_to = to; /* which is seen with the word that it is in force for, and not before */
    word_open_with(&word, &to, value);
}

static void act(struct actor *actor, const struct action *action)
{
    switch (action->verb) {
    case LATER:
        atom_add(&clock_ns, action->amount);
        break;
    case LOOK:
        actor->seen_ns = atom_load(&clock_ns);
        actor->looks = true;
        break;
    case FRESH:
        actor->looks = false;
        break;
    case LEASE:
        lease(actor, action->amount);
        break;
    case SPEND:
        spend(actor, action->amount);
        break;
    case SETTLE:
        settle_last(actor, action->amount);
        break;
    case CHANGE:
        change_limit(actor, action);
        break;
    case NOTHING:
        break;
    default:
        decide_alone(actor, action);
    }
}

static void run_script(void)
{
    const int thread = model_thread();
    for (int i = 0; i < ACTIONS; i++) act(&actors[thread], &scene->script[thread][i]);
}

static void begin(void)
{
    memset(actors, 0, sizeof actors);
    memset(notes, 0, sizeof notes);
    memset(&changed_to, 0, sizeof changed_to);
    memset(&word, 0, sizeof word);
    open_word(&word, &limits[scene->limit]);
    atom_store(&clock_ns, BEGIN_NS);
    for (int i = 0; i < ACTIONS; i++) act(&actors[0], &scene->before[i]);
}

/* ---- the oracle ---- */

static int all_starts(struct use sorted[THREADS * STARTS_MAX])
{
    int count = 0;
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < actors[i].starts; j++) {
            int at = count++;
            for (; at > 0 && sorted[at - 1].at_ns > actors[i].start[j].at_ns; at--) sorted[at] = sorted[at - 1];
            sorted[at] = actors[i].start[j];
        }
    }
    return count;
}

static uint64_t sum_out(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < THREADS; i++) sum += actors[i].held;
    return sum;
}

/* Over windows of starts before the change, or of starts after it. */
static int64_t most_excess(const struct use sorted[], int count, bool after, uint64_t burst)
{
    int64_t excess_most = INT64_MIN;
    for (int from = 0; from < count; from++) {
        int64_t permits = 0;
        for (int to = from; to < count; to++) {
            if (sorted[to].after != after || sorted[from].after != after) continue;
            permits += (int64_t)sorted[to].permits;
            const int64_t excess = permits - (int64_t)burst - (int64_t)(sorted[to].at_ns - sorted[from].at_ns);
            if (excess > excess_most) excess_most = excess;
        }
    }
    return excess_most;
}

/* How much a bucket that knew the starts would have saved up by now, beyond what the word says. */
static int64_t lost(const struct use sorted[], int count, uint64_t now_ns)
{
    const struct rule *rule = &limits[scene->limit];
    struct rule copy;
    uint64_t drained = 0, value;
    for (int i = 0; i < count; i++) drained = most(drained, sorted[i].at_ns) + sorted[i].permits;
    word_read(&word, &copy, &value);
    const uint64_t ideal = rule->burst - subtract_to_zero(drained, now_ns);
    return (int64_t)ideal - (int64_t)algorithm_at(rule, algorithm_of(rule), &value, tick_at(rule, now_ns)).room;
}

static void look_at(int64_t excess)
{
    if (excess > worst) worst = excess;
    model_check(!stops || excess <= 0, "more starts than may be");
}

static void end(void)
{
    struct use sorted[THREADS * STARTS_MAX];
    const uint64_t now_ns = atom_load(&clock_ns);
    model_check(word.out.value == sum_out(), "not as many are out as are held");
    if (changed_to.burst == 0 && sum_out() == 0) {
        const int64_t less = lost(sorted, all_starts(sorted), now_ns);
        if (less > lost_most) lost_most = less;
        model_check(!scene->conserves || less <= 0, "permits were lost");
    }
    for (int i = 0; i < THREADS; i++) {
        actors[i].looks = false;
        spend(&actors[i], ALL);
    }
    act(&actors[0], &(struct action){.verb = SOME, .amount = ALL});
    const int count = all_starts(sorted);
    const uint64_t burst = limits[scene->limit].burst;
    int64_t excess = most_excess(sorted, count, false, burst);
    if (changed_to.burst != 0) {
        const uint64_t allowed = most(changed_to.burst, scene->out_most + 1);
        const int64_t after = most_excess(sorted, count, true, allowed);
        if (after > excess) excess = after;
        for (int i = 0; i < count; i++) sorted[i].after = true;
        const int64_t across = most_excess(sorted, count, true, most(burst, allowed));
        if (changed_how != WEIR_RESET && across > excess) excess = across;
    }
    look_at(excess);
}
/* ---- scenes ---- */

/* clang-format off */
#define LATER(ns)      {LATER, ns, 0, WEIR_KEEP}
#define LOOK           {LOOK, 0, 0, WEIR_KEEP}
#define FRESH          {FRESH, 0, 0, WEIR_KEEP}
#define LEASE(want)    {LEASE, want, 0, WEIR_KEEP}
#define SPEND(permits) {SPEND, permits, 0, WEIR_KEEP}
#define TAKE(permits)  {TAKE, permits, 0, WEIR_KEEP}
#define SOME           {SOME, ALL, 0, WEIR_KEEP}
#define WAIT(permits)  {WAIT, permits, 0, WEIR_KEEP}
#define PEEK(permits)  {PEEK, permits, 0, WEIR_KEEP}
#define SETTLE(actual) {SETTLE, actual, 0, WEIR_KEEP}
#define CHANGE(to, carry) {CHANGE, 0, to, carry}
/* clang-format on */

static const struct scene planted[] = {
    {.name = "planted: released without the hold first",
     .limit = BURST_18,
     .before = {LEASE(2), LATER(20)},
     .script = {{SPEND(1), LEASE(0)}, {TAKE(1)}},
     .trade = planted_trade_without_hold},
    {.name = "planted: own permits not counted at renewal",
     .limit = BURST_18,
     .before = {LEASE(2), LATER(20)},
     .script = {{SPEND(2), LEASE(2)}, {TAKE(1)}},
     .trade = planted_trade_own_not_out},
    {.name = "planted: out lowered before the swap",
     .limit = BURST_18,
     .before = {LEASE(2), LATER(20)},
     .script = {{SPEND(2), LEASE(0)}, {TAKE(18)}},
     .trade = planted_trade_lowered_early},
    {.name = "planted: out raised after the swap",
     .limit = BURST_18,
     .script = {{LEASE(2)}, {LATER(20), TAKE(18)}},
     .trade = planted_trade_raised_late},
    {.name = "planted: out raised before the swap, but the state is not read again",
     .limit = BURST_18,
     .before = {TAKE(1)},
     .script = {{TAKE(2), SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}},
     .trade = planted_trade_raised_last},
    {.name = "planted: a lease from a state that was higher",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}},
     .trade = planted_trade_any_height},
    {.name = "planted: a lease from a state that was higher, singles read the clock last",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(0), LEASE(2)}, {LATER(20)}, {TAKE(17)}},
     .trade = planted_trade_any_height,
     .decide = decide_clock_last},
    {.name = "planted: trades read out first",
     .limit = BURST_24,
     .before = {LEASE(2)},
     .script = {{LATER(20), SPEND(2), LEASE(0)}, {LEASE(2)}},
     .trade = planted_trade_out_first},
    {.name = "planted: singles ignore leases",
     .limit = BURST_18,
     .before = {LEASE(2)},
     .script = {{SPEND(2)}, {LATER(20), TAKE(17)}},
     .decide = planted_decide_without_hold},
    {.name = "planted: singles read out first",
     .limit = BURST_18,
     .script = {{LEASE(2)}, {LATER(20), TAKE(17)}},
     .decide = planted_decide_out_first},
    {.name = "planted: short grants ignore leases",
     .limit = BURST_18,
     .before = {LEASE(2)},
     .script = {{SPEND(2)}, {LATER(20), TAKE(17)}},
     .grant = planted_grant_beside_leases},
    {.name = "planted: short grants read out first",
     .limit = BURST_18,
     .before = {TAKE(1)},
     .script = {{LEASE(2)}, {LATER(20), TAKE(17)}},
     .grant = planted_grant_out_first},
    {.name = "planted: a waiter is promised what is out",
     .limit = BURST_18,
     .before = {LEASE(2)},
     .script = {{LATER(2), SPEND(2)}, {WAIT(18)}},
     .decide = planted_decide_promises},
    {.name = "planted: settling up ignores leases",
     .limit = BURST_18,
     .before = {LEASE(2), TAKE(1), LATER(20)},
     .script = {{SETTLE(5)}, {LATER(1)}},
     .settle = planted_settle_without_hold},
    {.name = "planted: settling gives back beside leases",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}},
     .settle = planted_settle_beside_leases},
    {.name = "planted: renewed with a time before the last permit was spent",
     .limit = BURST_18,
     .before = {LEASE(2), LOOK},
     .script = {{LATER(20), SPEND(2), LEASE(2)}, {TAKE(1)}}},
};

/* Without a lease too: who settles with a reading older than what others took since gives back what has drained. */
static const struct scene known[] = {
    {.name = "known: cancelled with an old reading of the clock",
     .limit = BURST_18,
     .before = {TAKE(4)},
     .script = {{SETTLE(0)}, {LATER(10), TAKE(4)}}},
};

static const struct scene scenes[] = {
    {.name = "a lease beside a single", .limit = BURST_18, .script = {{LEASE(2), LATER(20)}, {TAKE(17)}}},
    {.name = "a lease spent and renewed beside a single, time moves on",
     .limit = BURST_18,
     .before = {LEASE(2)},
     .script = {{LATER(10), SPEND(2), LEASE(2)}, {TAKE(16), LATER(10), TAKE(3)}}},
    {.name = "renewed to other sizes",
     .limit = BURST_32,
     .before = {LEASE(2)},
     .script = {{LATER(5), SPEND(1), LEASE(4), SPEND(2), LEASE(2)}, {TAKE(20), LATER(10)}}},
    {.name = "two leases, spent, released partly",
     .limit = BURST_24,
     .script = {{LEASE(2), SPEND(1), LEASE(0)}, {LEASE(3), LATER(9), SPEND(2), LEASE(0)}}},
    {.name = "three leases",
     .limit = BURST_32,
     .before = {LATER(7)},
     .script = {{LEASE(2), SPEND(2)}, {LEASE(3), LATER(40)}, {LEASE(4)}}},
    {.name = "two leases and a single",
     .limit = BURST_24,
     .script = {{LEASE(3), SPEND(3), LEASE(0)}, {LEASE(2), LATER(30)}, {TAKE(20)}}},
    {.name = "one after the other, nothing lost",
     .limit = BURST_24,
     .script = {{LEASE(3), LATER(2), LEASE(2), LATER(40), LEASE(0)}, {LATER(1), PEEK(3)}},
     .conserves = true},
    {.name = "two that spend nothing",
     .limit = BURST_24,
     .script = {{LEASE(2), LEASE(0)}, {LEASE(3), LATER(9), LEASE(0)}}},
    {.name = "releases beside old readings of the clock",
     .limit = BURST_18,
     .before = {LEASE(2), LATER(20)},
     .script = {{SPEND(2), LEASE(0)}, {LOOK, LATER(5), TAKE(9), TAKE(9)}, {LATER(5), TAKE(2)}}},
    {.name = "beside waiters",
     .limit = BURST_18,
     .before = {LEASE(2)},
     .script = {{LEASE(0), LATER(18)}, {TAKE(16), WAIT(18)}, {WAIT(2)}}},
    {.name = "beside a waiter for all that is not out",
     .limit = BURST_18,
     .before = {LEASE(2), TAKE(10)},
     .script = {{LATER(5), SPEND(1), LATER(5), LEASE(0)}, {WAIT(16), LATER(9)}, {WAIT(2)}}},
    {.name = "beside a waiter for more",
     .limit = BURST_18,
     .before = {LEASE(2)},
     .script = {{LATER(2), SPEND(2), LEASE(0)}, {WAIT(18), WAIT(18)}}},
    {.name = "a waiter who cancels",
     .limit = BURST_18,
     .before = {TAKE(14)},
     .script = {{WAIT(9), SETTLE(0)}, {LATER(16), LEASE(2), SPEND(1), LEASE(0)}}},
    {.name = "releases that write nothing",
     .limit = BURST_18,
     .before = {LEASE(2), TAKE(16)},
     .script = {{SPEND(2), LEASE(0)}, {LATER(3), TAKE(3)}, {PEEK(1), TAKE(2)}}},
    {.name = "settled beside a lease",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{LATER(1), SETTLE(1), TAKE(1)}, {LEASE(2), SPEND(1), LEASE(0)}}},
    {.name = "settled up beside a lease",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(5)}, {LEASE(2), LATER(20), SPEND(1), LEASE(0)}}},
    {.name = "cancelled, a lease of as many, a single",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}}},
    {.name = "cancelled, a lease of as many, a single that reads the clock last",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(0), LEASE(2)}, {LATER(20)}, {TAKE(17)}},
     .decide = decide_clock_last},
    {.name = "taken and cancelled, a lease of as many, a single",
     .limit = BURST_18,
     .before = {TAKE(1)},
     .script = {{TAKE(2), SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}}},
    {.name = "taken and cancelled, a lease of as many, a single, few loads late",
     .preemptions = 1,
     .late = 2,
     .limit = BURST_18,
     .before = {TAKE(1)},
     .script = {{TAKE(2), SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}}},
    {.name = "two cancel, a lease of as many, a single",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(0)}, {TAKE(2), SETTLE(0), LEASE(2)}, {LATER(20), TAKE(17)}}},
    {.name = "released and cancelled, another lease, a single",
     .limit = BURST_24,
     .before = {LEASE(2), TAKE(2)},
     .script = {{LEASE(0), SETTLE(0)}, {LEASE(2), SPEND(1)}, {LATER(20), TAKE(22)}}},
    {.name = "made smaller beside another lease and a single",
     .limit = BURST_32,
     .before = {LEASE(4)},
     .script = {{LEASE(2), SPEND(2), LEASE(0)}, {LEASE(3)}, {LATER(20), TAKE(27)}}},
    {.name = "leases released in the other order, a single",
     .limit = BURST_32,
     .before = {TAKE(2), LEASE(3)},
     .script = {{LEASE(0), TAKE(1)}, {LEASE(2)}, {LATER(20), TAKE(29)}}},
    {.name = "short: a lease beside a single",
     .limit = BURST_18,
     .before = {TAKE(1)},
     .script = {{LEASE(2), LATER(20)}, {TAKE(16), TAKE(17)}},
     .grant = word_grant},
    {.name = "short: a lease spent and renewed beside a single, time moves on",
     .limit = BURST_18,
     .before = {LEASE(2)},
     .script = {{LATER(10), SPEND(2), LEASE(0), LEASE(2)}, {TAKE(16), LATER(10), TAKE(3)}},
     .grant = word_grant},
    {.name = "short: refused, noted, permits come back, another lease",
     .limit = BURST_18,
     .before = {LEASE(2), TAKE(16)},
     .script = {{LEASE(0), LATER(4), LEASE(2)}, {TAKE(1), TAKE(1), TAKE(2)}},
     .grant = word_grant},
    {.name = "short: releases beside old readings of the clock",
     .limit = BURST_18,
     .before = {LEASE(2), LATER(20)},
     .script = {{SPEND(2), LEASE(0)}, {LOOK, LATER(5), TAKE(9), TAKE(9)}, {LATER(5), TAKE(2)}},
     .grant = word_grant},
    {.name = "short: cancelled, a lease of as many, a single",
     .limit = BURST_18,
     .before = {TAKE(2)},
     .script = {{SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}},
     .grant = word_grant},
    {.name = "short: taken and cancelled, a lease of as many, a single",
     .limit = BURST_18,
     .before = {TAKE(1)},
     .script = {{TAKE(2), SETTLE(0)}, {LEASE(2)}, {LATER(20), TAKE(17)}},
     .grant = word_grant},
    {.name = "short: leases released in the other order, a single",
     .limit = BURST_32,
     .before = {TAKE(2), LEASE(3)},
     .script = {{LEASE(0), TAKE(1)}, {LEASE(2)}, {LATER(20), TAKE(29)}},
     .grant = word_grant},
    {.name = "short: changed, keep",
     .preemptions = 2,
     .limit = BURST_24,
     .before = {LEASE(3), LATER(20)},
     .script = {{SPEND(2), LEASE(0)}, {CHANGE(BURST_18, WEIR_KEEP)}, {TAKE(3), LATER(9)}},
     .grant = word_grant},
    {.name = "changed, keep",
     .preemptions = 3,
     .limit = BURST_24,
     .before = {LEASE(3), LATER(20)},
     .script = {{SPEND(2), LEASE(0)}, {CHANGE(BURST_18, WEIR_KEEP)}, {TAKE(3), LATER(9)}}},
    {.name = "changed, scale, what is out does not fit",
     .limit = BURST_32,
     .before = {LEASE(4), LATER(20)},
     .script = {{CHANGE(BURST_4, WEIR_SCALE)}, {TAKE(3), LATER(2)}},
     .out_most = 4},
    {.name = "changed, scale, what is out does not fit and is spent",
     .preemptions = 3,
     .limit = BURST_32,
     .before = {LEASE(4), LATER(20)},
     .script = {{SPEND(2), LEASE(0)}, {CHANGE(BURST_4, WEIR_SCALE), TAKE(1)}, {LATER(2)}},
     .out_most = 4,
     .not_reached = true},
    {.name = "changed, reset",
     .preemptions = 3,
     .limit = BURST_18,
     .before = {LEASE(2), LATER(20)},
     .script = {{SPEND(1), LEASE(2)}, {CHANGE(BURST_24, WEIR_RESET)}, {LATER(4), TAKE(3)}}},
    {.name = "changed, a lease begun beside it",
     .limit = BURST_24,
     .script = {{LEASE(2), SPEND(1), LEASE(3)}, {LATER(9), CHANGE(BURST_18, WEIR_KEEP)}}},
};

enum expects { NO_EXCESS, EXCESS };

static struct model_result run_once(bool until_excess)
{
    stops = until_excess;
    worst = lost_most = INT64_MIN;
    int threads = 0;
    while (threads < THREADS && scene->script[threads][0].verb != NOTHING) threads++;
    changes = false;
    for (int i = 0; i < THREADS * ACTIONS; i++) changes |= scene->script[i / ACTIONS][i % ACTIONS].verb == CHANGE;
    const struct model_scenario scenario = {.name = scene->name,
                                            .threads = threads,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end,
                                            .preemptions_max = scene->preemptions,
                                            .late_max = scene->late,
                                            .steps_max = model_steps_max()};
    return model_run(&scenario);
}

static enum model_end ended(const struct model_result *result, enum expects expects)
{
    const bool excess = worst > 0;
    if (result->failed || (excess && expects != EXCESS)) return MODEL_FAILED;
    if (!result->complete && !excess) return MODEL_LEFT;
    return excess || worst == 0 || scene->not_reached ? MODEL_OK : MODEL_FAILED;
}

static void run(const struct scene *chosen, const char *part, enum expects expects)
{
    struct scene filled = *chosen;
    if (strstr(filled.name, part) == NULL || model_leaves_out(filled.name)) return;
    if (filled.trade == NULL) filled.trade = word_trade;
    if (filled.decide == NULL) filled.decide = word_decide;
    if (filled.settle == NULL) filled.settle = word_settle;
    scene = &filled;
    struct model_result result = run_once(false);
    const enum model_end end = ended(&result, expects);
    printf("%s %s: %" PRIu64 " executions, %" PRIu64 " cut, %" PRIu64 " steps, worst %" PRId64, model_counted(end),
           result.name, result.executions, result.cut, result.steps, worst);
    if (lost_most != INT64_MIN) printf(", lost %" PRId64, lost_most);
    printf("\n");
    fflush(stdout);
    if (end != MODEL_FAILED) return;
    if (!result.failed && worst > 0) result = run_once(true);
    model_print(&result, stdout);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < LIMITS; i++) {
        weir_plan plan;
        if (weir_plan_parse(&plan, texts[i], WEIR_ADMIT, NULL) != 0) abort();
        limits[i] = plan_inside_const(&plan)->rule[0];
    }
    const char *part = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) run(&planted[i], part, EXCESS);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) run(&known[i], part, EXCESS);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) run(&scenes[i], part, NO_EXCESS);
    return model_status();
}
