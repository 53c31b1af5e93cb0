/* SPDX-License-Identifier: MIT
   The three pools of nosqlbench's design note without a filler: active, burst and waiting, in closed form.

   The original pours the time that has passed into an active pool; what does not fit waits; and while something
   waits, the active pool fills `ratio` times as fast, up to a burst pool on top.  Between two takes each pool is a
   straight line, so nothing has to be poured:

       active                                         schedule: the time given out so far, it forgets nothing
        over |            .-------  ratio - 1         now - schedule: active and waiting together,
        pool |       .-'                                              how far behind the callers are
             |    /   ratio                           active(t) = min(line(t), t - schedule, over)
           0 |  /                                     a call starts when active reaches its cost, or a full pool
             +--since-------------------> t

   The line is kept as one point of it, (since, active).  A take lowers the point, leaves `since` alone and rounds
   nothing, however often it happens; only where a cap was reached the point is set anew.  At ratio 1 what does not fit
   into the pool is never made up for, and is still measured: that is its wait time.

       | schedule | active | since, 0 = untouched | begun |      four words, all but the third signed

   The schedule is also the clock by which calls are late: by the rate alone the last permit given was due when it
   ended, whatever the pools gave up.  It began with the first call.

   A cost above the pool starts when the pool is full, and is paid back from below zero.

   Arrivals at random are one change to this: a permit moves the position not by one permit but by the gap in front of
   the next (arrivals.h).  The first permit of a call needs one permit in the pool, as ever, and each other one the gap
   in front of it.  So the next permit is due one permit behind the position, and the pool holds what may be made up
   for.  Instead of its beginning the state keeps how many permits were given, from which the gaps come.

   At most rate * (over + max(0, largest cost - pool)) + ratio * rate * t permits pass in any window t, and it is never
   further from the literal pools (test/peers/pools.c) than two fills. */
#include <string.h>

#include "core/algorithm.h"
#include "core/arrivals.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { SCHEDULE, ACTIVE, SINCE, BEGUN, HYBRID_WORDS, GIVEN = BEGUN /* with arrivals: permits given so far */ };
enum { RATIO_BITS = 32, POOL_OPS = 2, POOL_NS = 10000000, CALM_NS = 200000000 };
static const struct decimal CATCHUP = {11, 1};
static const uint64_t OVER_TICKS_MAX = UINT64_C(1) << 60; /* they are added and doubled */

_Static_assert((int)HYBRID_WORDS <= (int)STATE_WORDS_MAX, "hybrid fits the state");

static int64_t clamp(int64_t value)
{
    return value > TICKS_FAR ? TICKS_FAR : value < -TICKS_FAR ? -TICKS_FAR : value;
}

static int64_t as_signed(uint64_t ticks)
{
    return ticks > TICKS_FAR ? TICKS_FAR : (int64_t)ticks;
}

/* The state in numbers of which two can be added, whatever the words held. */
struct pools_now {
    int64_t schedule, active, since;
};

static struct pools_now pools_of(const uint64_t *state)
{
    return (struct pools_now){clamp((int64_t)state[SCHEDULE]), clamp((int64_t)state[ACTIVE]), as_signed(state[SINCE])};
}

/* A limit that starts with a full pool gives it ahead of the schedule: the first permit of it is due, the others are
   not. */
static int64_t hybrid_ahead_of(const struct rule *rule)
{
    return rule->flags & RULE_STARTS_FULL ? as_signed(rule->burst) - as_signed(ticks_of(rule, 1)) : 0;
}

static bool has_gaps(const struct rule *rule)
{
    return (rule->flags & RULE_ARRIVALS) != 0;
}

/* By how much the gap behind the last permit is longer than a permit. */
static int64_t gap_ahead(const struct rule *rule, const uint64_t *state)
{
    if (!has_gaps(rule) || state[GIVEN] == 0) return 0;
    return clamp(as_signed(arrivals_gap(rule, state[GIVEN])) - as_signed(ticks_of(rule, 1)));
}

/* What a call needs in the pool, and how far it moves the position. */
struct move {
    uint64_t need, by;
};

/* Out of the way of the others. */
static __attribute__((noinline)) struct move move_by_gaps(const struct rule *rule, const uint64_t *state, uint64_t cost)
{
    const uint64_t permits = permits_floor(rule, cost), by = arrivals_span(rule, state[GIVEN], permits);
    if (permits == 0) return (struct move){0, 0};
    const uint64_t others = subtract_to_zero(by, arrivals_gap(rule, state[GIVEN] + permits));
    return (struct move){least(add_saturating(ticks_of(rule, 1), others), rule->burst), by};
}

static inline struct move move_of(const struct rule *rule, const uint64_t *state, uint64_t cost)
{
    return has_gaps(rule) ? move_by_gaps(rule, state, cost) : (struct move){least(cost, rule->burst), cost};
}

/* Untouched, the schedule begins at the first call, which has what it needs. */
static struct pools_now hybrid_begin(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t need)
{
    if (state[SINCE] != 0) return pools_of(state);
    const int64_t active = as_signed(rule->flags & RULE_STARTS_FULL ? rule->burst : need);
    return (struct pools_now){as_signed(now) - active, active, as_signed(now)};
}

static inline int64_t grown(uint64_t ticks, uint64_t ratio)
{
    return as_signed(multiply_shift_floor(ticks, ratio, RATIO_BITS));
}

static int64_t time_to_grow(int64_t by, uint64_t ratio)
{
    return as_signed(shift_divide_ceil(positive(by), RATIO_BITS, ratio));
}

/* The line without its knee at `pool`. */
static inline int64_t straight(const struct rule *rule, const struct pools_now *pools, int64_t t)
{
    if (t >= pools->since) return clamp(pools->active + grown((uint64_t)(t - pools->since), rule->ratio));
    return clamp(pools->active - grown((uint64_t)(pools->since - t), rule->ratio));
}

/* Does the line, which is at `uncapped` without its knee, have it behind it? */
static inline bool is_above(const struct rule *rule, const struct pools_now *pools, int64_t t, int64_t uncapped)
{
    return uncapped > as_signed(rule->burst) && t > pools->since;
}

/* The line above its knee, which it reaches so long after `since`: the burst pool fills from when the pool is full, on
   the line, and with time that has passed. */
static inline int64_t burst_pool(const struct rule *rule, const struct pools_now *pools, int64_t t, int64_t after)
{
    const int64_t pool = as_signed(rule->burst), above = pools->active > pool ? pools->active : pool;
    const int64_t on_line = pools->since + after, in_time = pools->schedule + pool;
    const int64_t knee = on_line > in_time ? on_line : in_time;
    return clamp(above + grown(positive(t - knee), subtract_to_zero(rule->ratio, UINT64_C(1) << RATIO_BITS)));
}

static __attribute__((noinline)) int64_t exact_burst_pool(const struct rule *rule, const struct pools_now *pools,
                                                          int64_t t)
{
    return burst_pool(rule, pools, t, time_to_grow(as_signed(rule->burst) - pools->active, rule->ratio));
}

/* The line has its knee at the latest where it would be at ratio 1, which needs no division; mostly a cap is lower even
   so. */
static inline int64_t capped(const struct rule *rule, const struct pools_now *pools, int64_t t, int64_t uncapped)
{
    const int64_t over = as_signed(rule->over), waited = t - pools->schedule, pool = as_signed(rule->burst);
    const int64_t cap = waited < over ? waited : over;
    if (!is_above(rule, pools, t, uncapped)) return uncapped < cap ? uncapped : cap;
    const int64_t latest = (int64_t)positive(pool - pools->active); /* at ratio 1 */
    if (cap <= pool) return cap;
    int64_t line = burst_pool(rule, pools, t, latest);
    if (line < cap && latest != 0) line = exact_burst_pool(rule, pools, t);
    return line < cap ? line : cap;
}

static int64_t active_at(const struct rule *rule, const struct pools_now *pools, int64_t t)
{
    return capped(rule, pools, t, straight(rule, pools, t));
}

/* Where a cap was reached the line goes on from here; elsewhere it stays, and nothing is rounded. */
static void move_to(const struct rule *rule, struct pools_now *pools, int64_t t)
{
    const int64_t uncapped = straight(rule, pools, t), active = capped(rule, pools, t, uncapped);
    if (active == uncapped) return;
    pools->active = active;
    pools->since = t;
}

/* When does a call start that needs `need` while `behind` ticks of schedule have been given out after it? */
static uint64_t start_with(const struct rule *rule, const struct pools_now *pools, int64_t behind, uint64_t need)
{
    const int64_t missing = clamp(as_signed(need) - pools->active) - behind;
    const int64_t by_line = missing >= 0 ? pools->since + time_to_grow(missing, rule->ratio)
                                         : pools->since - (time_to_grow(1 - missing, rule->ratio) - 1);
    const int64_t by_schedule = clamp(pools->schedule - behind) + as_signed(need);
    return positive(by_line > by_schedule ? by_line : by_schedule);
}

/* The original's pool is two operations, and a millisecond at least.  But where others want the processor a thread
   wakes some milliseconds late, by a time slice or two of the scheduler's, and now and then by more.  The pool lasts
   for the former; catching up at the original's own ratio returns the latter (bench-rate).  Where two operations last
   longer than any of that, nothing is lost that would have to be returned. */
static void defaults(struct limit *limit)
{
    uint64_t permits, period_ns;
    const bool rated = limit_rate(limit, &permits, &period_ns), said = limit->burst_kind != AMOUNT_NONE;
    const bool calm = !rated || multiply_divide_floor(POOL_OPS, period_ns, permits) >= CALM_NS;
    const bool fast = rated && multiply_divide_ceil(POOL_OPS, period_ns, permits) <= POOL_NS;
    if (limit->factor.digits == 0) limit->factor = said || calm ? (struct decimal){1, 0} : CATCHUP;
    if (said) return;
    limit->burst_kind = fast ? AMOUNT_TIME : AMOUNT_COUNT;
    limit->burst = fast ? POOL_NS : POOL_OPS;
}

/* Said or not: what is as if nothing had been said. */
static void hybrid_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    struct limit usual = {.count = limit->count, .period_ns = limit->period_ns};
    defaults(&usual);
    const bool same = limit->burst_kind == usual.burst_kind && limit->burst == usual.burst &&
                      limit_factor(limit->factor) == limit_factor(usual.factor);
    (void)rule;
    if (!same || usual.factor.places == 0) return;
    facts->note = "burst and catchup are the defaults of pacing: they hold the average on a busy machine";
}

/* The seed is where a debt would be. */
static struct limit_problem compile_arrivals(const struct limit *limit, struct rule *rule)
{
    if (limit->arrivals != ARRIVALS_POISSON) {
        if (!limit->has_seed) return limit_fine();
        return limit_wrong(OPTION_SEED, "seed= goes with arrivals=poisson; for example arrivals=poisson seed=7");
    }
    if (!limit->has_seed) {
        return limit_wrong(OPTION_ARRIVALS,
                           "arrivals=poisson needs a seed: any number, another one for each generator; "
                           "for example arrivals=poisson seed=7");
    }
    if (limit->has_debt) {
        return limit_wrong(OPTION_DEBT,
                           "debt= does not go with arrivals=poisson, where a charge is never cut; leave it "
                           "out");
    }
    if (strcmp(limit->unit, "bytes") == 0) {
        return limit_wrong(OPTION_ARRIVALS, "arrivals=poisson is for operations, not for bytes, which leave evenly; "
                                            "for example 1000/s arrivals=poisson seed=7");
    }
    if (rule->scale > ARRIVALS_SCALE_MAX) {
        return limit_wrong(OPTION_RATE, "arrivals=poisson has rates from one a year; for example 1/d");
    }
    rule->flags |= RULE_ARRIVALS;
    rule->seed = limit->seed;
    return limit_fine();
}

static struct limit_problem hybrid_compile(struct limit *limit, struct rule *rule)
{
    defaults(limit);
    struct limit_problem problem = limit_line(limit, rule);
    if (problem.message != NULL) return problem;
    if (limit->start == START_FULL) rule->flags |= RULE_STARTS_FULL;
    if (rule->burst >> rule->scale == 0) {
        return limit_wrong(OPTION_BURST, "burst is at least 1, or nothing could ever pass; for example burst=1");
    }
    rule->ratio = limit_factor(limit->factor);
    rule->over = multiply_divide_floor(rule->burst, limit->factor.digits, power_of_ten(limit->factor.places));
    problem = limit_catchup(limit);
    if (problem.message == NULL) problem = compile_arrivals(limit, rule);
    if (problem.message != NULL) return problem;
    if (rule->over <= OVER_TICKS_MAX) return limit_fine();
    return limit_wrong(OPTION_BURST, "burst times catchup is longer than 18 years; choose a smaller burst, for example "
                                     "burst=2, or for a slower rate algorithm=gcra");
}

static struct offer hybrid_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                 uint64_t wait_ns)
{
    (void)wait_ns;
    if (cost > TICKS_FAR) return (struct offer){now, UINT64_MAX};
    if (has_gaps(rule) && permits_floor(rule, cost) > ARRIVALS_MOST) return (struct offer){now, UINT64_MAX};
    if (state[SINCE] == 0) return (struct offer){now, now};
    const struct move move = move_of(rule, state, cost);
    const struct pools_now pools = pools_of(state);
    const uint64_t start = start_with(rule, &pools, 0, move.need);
    const bool beyond = start >= TICKS_FAR || pools.schedule > TICKS_FAR - as_signed(move.by) ||
                        pools.active < as_signed(move.by) - TICKS_FAR;
    return (struct offer){now, beyond ? UINT64_MAX : start};
}

/* Untouched, it has what a call of one permit needs. */
static uint64_t hybrid_room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const struct pools_now pools = hybrid_begin(rule, state, at, UINT64_C(1) << (rule->scale & 63));
    return positive(active_at(rule, &pools, as_signed(at)));
}

/* Does the last call start later than at a time when the pool holds this? */
static bool hybrid_waits(const struct rule *rule, const uint64_t *state, int64_t active)
{
    return clamp(active) + gap_ahead(rule, state) < 0;
}

static struct balance hybrid_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct pools_now pools = hybrid_begin(rule, state, now, rule->burst); /* untouched, it has what is charged */
    const int64_t active = active_at(rule, &pools, as_signed(now));
    return (struct balance){positive(active), positive(-active), hybrid_waits(rule, state, active)};
}

/* They are bounded where they are read. */
static void hybrid_store(uint64_t *state, const struct pools_now *pools)
{
    state[SCHEDULE] = (uint64_t)pools->schedule;
    state[ACTIVE] = (uint64_t)pools->active;
    state[SINCE] = most(positive(pools->since), 1);
}

static void store_begun(const struct rule *rule, uint64_t *state, const struct pools_now *pools)
{
    const bool begins = state[SINCE] == 0 && !has_gaps(rule);
    if (begins) state[BEGUN] = (uint64_t)clamp(pools->schedule + hybrid_ahead_of(rule));
}

/* The end of a slot is where the schedule is behind it; with gaps, how many permits were given then. */
static uint64_t hybrid_end(const struct rule *rule, const uint64_t *state, const struct pools_now *pools)
{
    return has_gaps(rule) ? state[GIVEN] << (rule->scale & 63) : (uint64_t)pools->schedule;
}

static struct taken hybrid_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    if (cost == 0) {
        const struct pools_now pools = hybrid_begin(rule, state, when.start, 0);
        return (struct taken){hybrid_end(rule, state, &pools), hybrid_room(rule, state, when.start)};
    }
    const struct move move = move_of(rule, state, cost);
    struct pools_now pools = hybrid_begin(rule, state, when.start, move.need);
    const int64_t t = as_signed(when.start);
    store_begun(rule, state, &pools);
    move_to(rule, &pools, t);
    pools.active = clamp(pools.active - as_signed(move.by)); /* what is charged may be more than anybody waits for */
    pools.schedule = clamp(pools.schedule + as_signed(move.by));
    hybrid_store(state, &pools);
    if (has_gaps(rule)) state[GIVEN] += permits_floor(rule, cost);
    return (struct taken){hybrid_end(rule, state, &pools), positive(active_at(rule, &pools, t))};
}

/* A call that passes now needs no start, so this hardly ever divides. */
static bool hybrid_pass(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost, struct taken *taken)
{
    struct pools_now pools = pools_of(state);
    const int64_t t = as_signed(now), need = as_signed(cost); /* without gaps, see share/cell.c */
    if (state[SINCE] == 0 || t < pools.since || t >= TICKS_FAR || cost - 1 >= rule->burst) return false;
    if (t - pools.schedule < need) return false;
    const int64_t uncapped = straight(rule, &pools, t);
    if (uncapped < need) return false;
    const int64_t active = capped(rule, &pools, t, uncapped);
    const bool on_line = active == uncapped; /* before its knee: behind it the line is lower than it would be without */
    pools.active = (on_line ? pools.active : active) - need;
    pools.since = on_line ? pools.since : t;
    pools.schedule += need;
    hybrid_store(state, &pools);
    *taken = (struct taken){state[SCHEDULE], (uint64_t)(active - need)};
    return true;
}

/* Puts `back` ticks into the pools as they are at t. */
static void correct(const struct rule *rule, uint64_t *state, struct pools_now *pools, int64_t t, int64_t back)
{
    move_to(rule, pools, t);
    pools->schedule = clamp(pools->schedule - back);
    pools->active = clamp(pools->active + back);
    hybrid_store(state, pools);
}

/* With gaps it is the last permits that come back, and those that come next have their gaps again.  So the starts are
   those without the call if it was the last one, and never any that are not of this seed. */
static void hybrid_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                             uint64_t unused)
{
    if (state[SINCE] == 0) return; /* begun anew since: none of its permits are in it */
    struct pools_now pools = pools_of(state);
    const int64_t t = as_signed(now);
    uint64_t whole = slot->cost;
    /* At the fastest, this much of the slot has drained since its start. */
    const int64_t gone = grown(subtract_to_zero(now, slot->start), rule->ratio);
    if (has_gaps(rule)) {
        const uint64_t given = state[GIVEN], permits = least(permits_floor(rule, slot->cost), given);
        const uint64_t last = least(permits_floor(rule, unused), permits);
        whole = arrivals_span(rule, given - permits, permits);
        unused = arrivals_span(rule, given - last, last);
        if (gone != 0 && gone >= as_signed(whole)) return; /* all of it is used up */
        state[GIVEN] = given - last;
    }
    const int64_t back = as_signed(least(unused, positive(as_signed(whole) - gone)));
    correct(rule, state, &pools, t, back);
}

/* Begun anew, as after a change, the state may have permits out before its first call. */
static void hybrid_hold(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t out)
{
    struct pools_now pools = hybrid_begin(rule, state, now, ticks_of(rule, 1));
    const int64_t t = as_signed(now), active_most = clamp(as_signed(rule->over) - as_signed(out));
    const int64_t active = active_at(rule, &pools, t);
    if (state[SINCE] != 0 && active <= active_most) return;
    store_begun(rule, state, &pools);
    pools.active = active < active_most ? active : active_most;
    pools.since = t;
    hybrid_store(state, &pools);
}

/* Taken one after the other, each permit would start on the later of the same two lines: by the pools, by the schedule.
   So the first and the last start can be said without those between. */
static struct stretch hybrid_slice(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t until,
                                   uint64_t most_permits)
{
    struct pools_now pools = pools_of(state);
    const int64_t t = as_signed(now), end = as_signed(until), permit = as_signed(ticks_of(rule, 1));
    if (state[SINCE] == 0) return (struct stretch){.permits = 0}; /* the first call begins the schedule */
    if (t >= pools.since) move_to(rule, &pools, t);
    const int64_t by_pools = straight(rule, &pools, end), by_schedule = end - pools.schedule;
    const uint64_t started = permits_floor(rule, positive(by_pools < by_schedule ? by_pools : by_schedule));
    const uint64_t permits = least(started, most_permits);
    if (permits < SLICE_LEAST) return (struct stretch){.permits = 0};
    const int64_t ticks = as_signed(ticks_of(rule, permits));
    const struct stretch slice = {permits, start_with(rule, &pools, 0, (uint64_t)permit),
                                  start_with(rule, &pools, 0, (uint64_t)ticks), (uint64_t)(pools.schedule + ticks)};
    pools.active = clamp(pools.active - ticks + permit);
    pools.schedule = clamp(pools.schedule + ticks - permit);
    if (slice.last > now) move_to(rule, &pools, as_signed(slice.last));
    pools.active -= permit;
    pools.schedule += permit;
    hybrid_store(state, &pools);
    return slice;
}

/* A signed amount: what is there is used time or permits, what is missing is waited for. */
static int64_t hybrid_carried(const struct rule *from, const struct rule *to, int64_t amount, weir_carry how)
{
    if (amount < 0) return -as_signed(carry_waiting(from, to, (uint64_t)-amount));
    return as_signed(carry_used(from, to, (uint64_t)amount, how));
}

/* The permits given so far, in ticks, when the next one is due a permit behind this tick. */
static int64_t given_by(const struct rule *rule, const uint64_t *state, int64_t next_due)
{
    if (has_gaps(rule)) return clamp(as_signed(ticks_of(rule, state[GIVEN])));
    return clamp(next_due - clamp((int64_t)state[BEGUN]));
}

/* The schedule is carried over as permits, those that are missing and those that were given.  So what may start at once
   is never more than what is missing. */
static void hybrid_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                         uint64_t now, weir_carry how)
{
    if (state[SINCE] == 0) return;
    const struct pools_now pools = pools_of(state);
    const int64_t t = as_signed(now), anchor = as_signed(to->anchor_tick);
    const int64_t now_held = active_at(from, &pools, t);
    if (how == WEIR_RESET && !hybrid_waits(from, state, now_held)) return;
    /* Without gaps the next permit is due one after the last. */
    const int64_t longer = has_gaps(to) ? 0 : gap_ahead(from, state), held = clamp(now_held + longer);
    const int64_t next_due = clamp(clamp(pools.schedule - longer) + hybrid_ahead_of(from));
    const int64_t lag = clamp(hybrid_carried(from, to, t - next_due, WEIR_SCALE));
    const int64_t given = clamp(hybrid_carried(from, to, given_by(from, state, next_due), WEIR_SCALE));
    const int64_t active = hybrid_carried(from, to, held, how), missing = clamp(lag + hybrid_ahead_of(to));
    next[SCHEDULE] = (uint64_t)clamp(anchor - missing);
    next[ACTIVE] = (uint64_t)(active < missing ? active : missing);
    next[SINCE] = most(positive(anchor), 1);
    next[BEGUN] = (uint64_t)clamp(clamp(anchor - lag) - given);
    if (has_gaps(to)) next[GIVEN] = permits_floor(to, positive(given));
}

/* What is still to be given, below zero if the last permit was ahead of its time, from how far the schedule is behind.
   With gaps the last permit was due one gap before the next one. */
static int64_t left_at(const struct rule *rule, const uint64_t *state, int64_t behind)
{
    if (!has_gaps(rule) || behind >= as_signed(ticks_of(rule, 1))) return behind;
    const int64_t since_last = behind + gap_ahead(rule, state);
    return since_last < 0 ? since_last : 0;
}

/* The waiting pool is behind: time that has passed, was not used, and is in no pool to be used.  A take moves the
   schedule and the pools alike, so no start changes it, be it now or ahead; but where one ahead has reached a cap, the
   line is known from there on only.  At ratio 1 it is never made up for. */
static struct account hybrid_lateness(const struct rule *rule, uint64_t *state, uint64_t now, int64_t by)
{
    if (state[SINCE] == 0) return (struct account){.due = 0};
    if (by != 0) state[SCHEDULE] = (uint64_t)clamp(pools_of(state).schedule + clamp(by));
    const struct pools_now pools = pools_of(state);
    const int64_t t = as_signed(now), next_due = clamp(pools.schedule + hybrid_ahead_of(rule));
    const int64_t known = t > pools.since ? t : pools.since;
    const uint64_t waiting = positive(clamp(known - pools.schedule) - active_at(rule, &pools, known));
    const bool kept = rule->ratio > UINT64_C(1) << RATIO_BITS;
    const int64_t given = given_by(rule, state, next_due);
    return (struct account){
        .due = given + left_at(rule, state, clamp(t - next_due)),
        .given = given,
        .missed = kept ? 0 : waiting,
        .behind = waiting,
    };
}

static uint64_t hybrid_place(const struct rule *rule, uint64_t *state, uint64_t end, bool go)
{
    const uint64_t to = permits_floor(rule, end), given = state[GIVEN], first = ticks_of(rule, 1);
    int64_t by = 0;
    if (to > given) by = as_signed(arrivals_span(rule, given, to - given));
    if (to < given) by = -as_signed(arrivals_span(rule, to, given - to));
    const uint64_t schedule = (uint64_t)clamp(pools_of(state).schedule + clamp(by));
    if (go && state[SINCE] != 0) {
        state[SCHEDULE] = schedule;
        state[GIVEN] = to;
    }
    return schedule + (rule->flags & RULE_STARTS_FULL ? rule->burst : first);
}

static uint64_t hybrid_full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t start = most(now, tick_at(rule, decision->start.ns));
    return add_saturating(start, subtract_to_zero(rule->burst, ticks_of(rule, decision->remaining)));
}

/* When the pool is full, as a fresh one is for the largest call. */
static uint64_t hybrid_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    if (state[SINCE] == 0) return now;
    const struct pools_now pools = pools_of(state);
    const uint64_t start = start_with(rule, &pools, 0, rule->burst);
    return start >= TICKS_FAR ? UINT64_MAX : most(start + 1, now); /* the line is rounded down by less than a tick */
}

static uint64_t hybrid_most_in(const struct limit *limit, uint64_t window_ns)
{
    if (limit->arrivals == ARRIVALS_POISSON) return UINT64_MAX;
    return facts_linear_most_in(limit, limit->factor, window_ns);
}

const struct algorithm *hybrid_algorithm(void)
{
    static const struct algorithm hybrid = {
        .name = "hybrid",
        .options = WITH(BURST) | WITH(CATCHUP) | WITH(START) | WITH(DEBT) | WITH(ARRIVALS) | WITH(SEED),
        .words = HYBRID_WORDS,
        .due_at_end = true,
        ALGORITHM_ANSWERS(hybrid),
        .facts = hybrid_facts,
        .pass = hybrid_pass,
        .lateness = hybrid_lateness,
        .place = hybrid_place,
        .hold = hybrid_hold,
        .slice = hybrid_slice,
        .full = hybrid_full,
    };
    return &hybrid;
}
