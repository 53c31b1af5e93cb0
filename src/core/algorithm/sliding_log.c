/* SPDX-License-Identifier: MIT
   The time of each permit is kept, so no window of the period ever holds more than the count.

              |<------------ period ------------>|
       ---x-------x-----------x----x-------------|--> now        burst = 4: one more fits;
                  `-- burst - n + 1 entries back                 n fit once this is a period old

   A ring of as many times as permits are allowed is enough: the one that is overwritten is out of the window by then.
   edge=open: an entry exactly a period old is out; closed: it counts for that ns, which makes the period a ns longer.
   gap: so long after the last call the next one is refused.  count-refused: a refused call is entered like any other.

   A call taken ahead of its time is entered at its start, and the same rule decides about those behind it; a queue of
   any length needs no more memory.

   Form: cell; words as in stamps.h.  Peers: rolling-rate-limiter (gap, refused calls logged), khenidak's ring of times.
   Any count + 1 calls that were asked for span the period. */
#include "core/algorithm/sliding_log.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

enum { ENTRIES_MAX = 1 << 28 };
enum {
    LOG_END =
        STAMPS_OWNER /* permits entered since the last change: where the last slot ends; a word behind it is free */
};

static struct limit_problem sliding_log_compile(struct limit *limit, struct rule *rule)
{
    if (limit->edge == EDGE_DEFAULT) limit->edge = EDGE_OPEN;
    const struct limit_problem problem = limit_window(limit, rule);
    if (problem.message != NULL) return problem;
    if (rule->burst > ENTRIES_MAX) {
        return limit_wrong(OPTION_RATE,
                           "a log keeps a time for each permit, for at most 268435456 of them; shorten the "
                           "period, for example 1000/s for 60000/min, or write algorithm=sliding-window");
    }
    if (limit->has_time) rule->gap_ns = limit->time_ns;
    if (limit->edge == EDGE_CLOSED) rule->flags |= SLIDING_LOG_CLOSED;
    if (limit->count_refused) rule->flags |= SLIDING_LOG_COUNTS_REFUSED;
    /* So long are those in the ring apart while they come one on the other. */
    const uint64_t longest_ns = most(rule->period_ns, multiply_saturating(rule->burst, rule->gap_ns));
    rule->flags |= stamps_flag(longest_ns, rule->burst);
    return limit_fine();
}

/* ---- asking ---- */

/* So long after the entry so far back; 0 when there was none. */
static uint64_t sliding_log_after(const struct rule *rule, const uint64_t *state, uint64_t back, uint64_t ns)
{
    return stamps_has(rule, state, back) ? add_saturating(stamps_get(rule, state, back), ns) : 0;
}

/* The rule: when so many more pass, unless others come first. */
static uint64_t sliding_log_passes_at(const struct rule *rule, const uint64_t *state, uint64_t permits)
{
    const uint64_t back = rule->burst - permits + 1;
    if (permits == 0 && back > stamps_kept(rule, state)) return 0;
    const uint64_t fits_ns = sliding_log_after(rule, state, back, sliding_log_span_ns(rule));
    return rule->gap_ns == 0 || permits == 0 ? fits_ns : most(fits_ns, sliding_log_after(rule, state, 1, rule->gap_ns));
}

static struct offer sliding_log_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                                      uint64_t wait_ns)
{
    (void)wait_ns;
    if (cost > rule->burst) return (struct offer){now, UINT64_MAX};
    const uint64_t passes_ns = sliding_log_passes_at(rule, state, cost);
    if (passes_ns <= plain_ns(rule, now)) return (struct offer){now, now};
    const uint64_t start = plain_tick(rule, passes_ns);
    return (struct offer){rule->flags & SLIDING_LOG_COUNTS_REFUSED ? start : now, start};
}

/* Found by halves.  With a gap one call passes, and a caller that asks for as many as pass means calls. */
static uint64_t sliding_log_room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t at_ns = plain_ns(rule, at);
    uint64_t passes = 0, too_many = (rule->gap_ns != 0 ? least(rule->burst, 1) : rule->burst) + 1;
    while (passes + 1 < too_many) {
        const uint64_t middle = passes + (too_many - passes) / 2;
        if (sliding_log_passes_at(rule, state, middle) <= at_ns) passes = middle;
        else too_many = middle;
    }
    return passes;
}

static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return state[STAMPS_NEWEST] > plain_ns(rule, now);
}

/* Entered in order: where the clock has gone back, or a call waits for a later start, as if at that time. */
static void sliding_log_enter(const struct rule *rule, uint64_t *state, uint64_t ns, uint64_t permits)
{
    const uint64_t entered_ns = most(ns, state[STAMPS_NEWEST]);
    for (uint64_t i = least(permits, stamps_capacity(rule)); i > 0; i--) {
        stamps_append(rule, state, entered_ns);
        state[LOG_END] = add_saturating(state[LOG_END], 1);
    }
}

static struct balance sliding_log_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return (struct balance){sliding_log_room(rule, state, now), 0, waited_for(rule, state, now)};
}

static void book_each(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t permits)
{
    for (uint64_t i = 0; i < permits; i++)
        sliding_log_enter(rule, state, most(now_ns, sliding_log_passes_at(rule, state, 1)), 1);
}

/* Enters permits one by one, each when it passes at the earliest; once they fill the ring, whole turns at once. */
static void book(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t permits)
{
    const uint64_t burst = most(rule->burst, 1), singly = least(permits, stamps_capacity(rule));
    const uint64_t turns = (permits - singly) / burst;
    book_each(rule, state, now_ns, singly);
    if (turns != 0) {
        const uint64_t turn_ns = sliding_log_passes_at(rule, state, 1) - stamps_get(rule, state, burst);
        stamps_advance(rule, state, turns * burst, multiply_saturating(turns, turn_ns));
        state[LOG_END] = add_saturating(state[LOG_END], turns * burst);
    }
    book_each(rule, state, now_ns, (permits - singly) % burst);
}

/* What is charged and does not fit is entered as if each permit of it had waited. */
static struct taken sliding_log_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    const uint64_t start_ns = plain_ns(rule, when.start);
    const bool fits = cost <= rule->burst && sliding_log_passes_at(rule, state, cost) <= start_ns;
    if (fits) sliding_log_enter(rule, state, start_ns, cost);
    else book(rule, state, start_ns, cost);
    return (struct taken){state[LOG_END], sliding_log_room(rule, state, when.start)};
}

/* Not while a call waits: it would be pushed out of the ring. */
static void sliding_log_refused(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost)
{
    if (!(rule->flags & SLIDING_LOG_COUNTS_REFUSED) || waited_for(rule, state, now)) return;
    sliding_log_enter(rule, state, plain_ns(rule, now), cost);
}

static uint64_t sliding_log_full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    if (decision->remaining >= rule->burst) return now;
    return add_saturating(most(now, plain_tick(rule, decision->start.ns)),
                          most(sliding_log_span_ns(rule), rule->gap_ns));
}

static uint64_t sliding_log_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return most(plain_tick(rule, sliding_log_after(rule, state, 1, most(sliding_log_span_ns(rule), rule->gap_ns))),
                now);
}

/* ---- correcting ---- */

/* Not where a call waits behind it: that one is known by its place. */
static void sliding_log_give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot,
                                  uint64_t unused)
{
    const uint64_t start_ns = plain_ns(rule, slot->start), kept = stamps_kept(rule, state);
    uint64_t newer = 0, count = 0;
    while (newer < kept && stamps_get(rule, state, newer + 1) > start_ns) newer++;
    while (count < least(unused, kept - newer) && stamps_get(rule, state, newer + count + 1) == start_ns) count++;
    if (newer != 0 && waited_for(rule, state, now)) return;
    stamps_remove(rule, state, newer, count);
    state[LOG_END] = subtract_to_zero(state[LOG_END], count);
}

/* ---- changing the limit ---- */

/* Entries stay, as many as the new ring holds and the last that it loses.  What has been forgotten (RESET) is what has
   started. */
static void sliding_log_carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                              uint64_t now, weir_carry how)
{
    const uint64_t kept = stamps_kept(from, state), now_ns = plain_ns(from, now);
    for (uint64_t back = stamps_capacity(to) + 1; back > 0; back--) {
        const uint64_t ns = least(stamps_get(from, state, back), stamps_get(from, state, least(back, most(kept, 1))));
        if (stamps_has(from, state, back) && (how != WEIR_RESET || ns > now_ns)) sliding_log_enter(to, next, ns, 1);
    }
    if (how != WEIR_RESET) next[STAMPS_EVER] = state[STAMPS_EVER];
    next[LOG_END] = 0;
}

static void sliding_log_facts(const struct limit *limit, const struct rule *rule, struct facts *facts)
{
    const bool by_gap = multiply_saturating(limit->count.digits, rule->gap_ns) >= sliding_log_span_ns(rule);
    facts->group = by_gap ? 1 : limit->count.digits;
    facts->spacing_ns = by_gap ? rule->gap_ns : sliding_log_span_ns(rule);
    facts->full_ns = most(sliding_log_span_ns(rule), rule->gap_ns);
}

/* The calls i, each as early as it can be: max(i * gap, ...) within a period, and so again a period later. */
static uint64_t sliding_log_most_in(const struct limit *limit, uint64_t window_ns)
{
    const uint64_t span = add_saturating(limit->period_ns, limit->edge == EDGE_CLOSED), count = limit->count.digits;
    const uint64_t gap = limit->has_time ? limit->time_ns : 0, last = most(window_ns, 1) - 1;
    if (gap != 0 && multiply_saturating(count, gap) >= span) return last / gap + 1;
    const uint64_t of_rest = gap == 0 ? count : least(count, last % span / gap + 1);
    return add_saturating(multiply_saturating(last / span, count), of_rest);
}

const struct algorithm *sliding_log_algorithm(void)
{
    static const struct algorithm sliding_log = {
        .name = "sliding-log",
        .options = WITH(GAP) | WITH(EDGE) | WITH(COUNT_REFUSED),
        .note = "exact: no window of the period holds more, wherever it begins; memory grows with the count",
        .words = STAMPS_HEADER,
        .grows = GROWS_STAMPS,
        ALGORITHM_ANSWERS(sliding_log),
        .facts = sliding_log_facts,
        .refused = sliding_log_refused,
        .full = sliding_log_full,
    };
    return &sliding_log;
}
