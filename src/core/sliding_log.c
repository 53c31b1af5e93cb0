/* SPDX-License-Identifier: MIT
   sliding_log.c - the time of each permit is kept, so no window of the period ever holds more than the count.

              |<------------ period ------------>|
       ---x-------x-----------x----x-------------|--> now        burst = 4: one more fits;
                  `-- burst - n + 1 entries back                 n fit once this is a period old

   A ring of as many times as permits are allowed is enough: the one that is overwritten is out of the window by then.
   edge=open: an entry exactly a period old is out; closed: it counts for that ns, which makes the period a ns longer.
   gap: so long after the last call the next one is refused.  count-refused: a refused call is entered like any other.

   A call taken ahead of its time is entered at its start, and the same rule decides who follows; a line of any length
   needs no more memory.  A change of limit enters those who wait anew in their order, permit by permit; where the line
   is longer than the ring, one that the ring has lost lies a period before the one in its place.

   Form: cell; words as in stamps.h.  Peers: rolling-rate-limiter (gap, refused calls logged), khenidak's ring of times.

   May touch: its arguments.  Promises: any count + 1 calls that were asked for span the period.  Leaves to others: the
   ring itself (stamps.c), the lock around it (share). */
#include "core/sliding_log.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

enum { ENTRIES_MAX = 1 << 28 };
enum {
    END = STAMPS_OWNER, /* permits entered since the last change: where the last slot ends */
    WIDEST              /* the most permits of one call among those who wait */
};

/* As long an entry counts. */
static uint64_t span_of(const struct rule *rule)
{
    return add_saturating(rule->period_ns, (rule->flags & SLIDING_LOG_CLOSED) != 0);
}

static struct limit_problem compile(struct limit *limit, struct rule *rule)
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
    const uint64_t longest_ns = most(rule->period_ns, multiply_divide_floor(rule->burst, rule->gap_ns, 1));
    rule->flags |= stamps_flag(longest_ns, rule->burst);
    return limit_fine();
}

/* ---- asking ---- */

/* So long after the entry so far back; 0 when there was none. */
static uint64_t after(const struct rule *rule, const uint64_t *state, uint64_t back, uint64_t ns)
{
    return stamps_has(rule, state, back) ? add_saturating(stamps_get(rule, state, back), ns) : 0;
}

/* The rule: when so many more pass, unless others come first. */
static uint64_t passes_at(const struct rule *rule, const uint64_t *state, uint64_t permits)
{
    const uint64_t back = rule->burst - permits + 1;
    if (permits == 0 && back > stamps_kept(rule, state)) return 0;
    const uint64_t fits_ns = after(rule, state, back, span_of(rule));
    return rule->gap_ns == 0 || permits == 0 ? fits_ns : most(fits_ns, after(rule, state, 1, rule->gap_ns));
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    (void)wait_ns;
    if (cost > rule->burst) return (struct offer){now, UINT64_MAX};
    const uint64_t passes_ns = passes_at(rule, state, cost);
    if (passes_ns <= plain_ns(rule, now)) return (struct offer){now, now};
    const uint64_t start = plain_tick(rule, passes_ns);
    return (struct offer){rule->flags & SLIDING_LOG_COUNTS_REFUSED ? start : now, start};
}

/* Found by halves.  With a gap one call passes, and whoever asks for as many as pass means calls. */
static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t at_ns = plain_ns(rule, at);
    uint64_t passes = 0, too_many = (rule->gap_ns != 0 ? least(rule->burst, 1) : rule->burst) + 1;
    while (passes + 1 < too_many) {
        const uint64_t middle = passes + (too_many - passes) / 2;
        if (passes_at(rule, state, middle) <= at_ns) passes = middle;
        else too_many = middle;
    }
    return passes;
}

static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return state[STAMPS_NEWEST] > plain_ns(rule, now);
}

/* Entered in order: where the clock has gone back, or somebody waits for a later start, as if at that time. */
static void enter(const struct rule *rule, uint64_t *state, uint64_t ns, uint64_t permits)
{
    const uint64_t entered_ns = most(ns, state[STAMPS_NEWEST]);
    for (uint64_t i = least(permits, stamps_capacity(rule)); i > 0; i--) {
        stamps_append(rule, state, entered_ns);
        state[END] = add_saturating(state[END], 1);
    }
}

static struct balance balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return (struct balance){room(rule, state, now), 0, waited_for(rule, state, now)};
}

static void note_width(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t permits)
{
    state[WIDEST] = waited_for(rule, state, now) ? most(state[WIDEST], permits) : permits;
}

static void book_each(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t permits)
{
    for (uint64_t i = 0; i < permits; i++) enter(rule, state, most(now_ns, passes_at(rule, state, 1)), 1);
}

/* Enters permits one by one, each when it passes at the earliest; once they fill the ring, whole turns at once. */
static void book(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t permits)
{
    const uint64_t burst = most(rule->burst, 1), singly = least(permits, stamps_capacity(rule));
    const uint64_t turns = (permits - singly) / burst;
    book_each(rule, state, now_ns, singly);
    if (turns != 0) {
        const uint64_t turn_ns = passes_at(rule, state, 1) - stamps_get(rule, state, burst);
        stamps_advance(rule, state, turns * burst, multiply_divide_floor(turns, turn_ns, 1));
        state[END] = add_saturating(state[END], turns * burst);
    }
    book_each(rule, state, now_ns, (permits - singly) % burst);
}

/* What is charged and does not fit is entered as if each permit of it had waited. */
static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    const uint64_t start_ns = plain_ns(rule, start);
    const bool fits = cost <= rule->burst && passes_at(rule, state, cost) <= start_ns;
    if (cost != 0) note_width(rule, state, at, fits ? cost : 1);
    if (fits) enter(rule, state, start_ns, cost);
    else book(rule, state, start_ns, cost);
    return (struct taken){state[END], room(rule, state, start)};
}

/* Not while somebody waits: it would push him out of the ring. */
static void refused(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost)
{
    if (!(rule->flags & SLIDING_LOG_COUNTS_REFUSED) || waited_for(rule, state, now)) return;
    enter(rule, state, plain_ns(rule, now), cost);
}

static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    if (decision->remaining >= rule->burst) return now;
    return add_saturating(most(now, plain_tick(rule, decision->start.ns)), most(span_of(rule), rule->gap_ns));
}

static uint64_t idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return most(plain_tick(rule, after(rule, state, 1, most(span_of(rule), rule->gap_ns))), now);
}

/* ---- correcting ---- */

/* Not where somebody waits behind it: he is known by his place. */
static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    const uint64_t start_ns = plain_ns(rule, slot->start), kept = stamps_kept(rule, state);
    uint64_t newer = 0, count = 0;
    while (newer < kept && stamps_get(rule, state, newer + 1) > start_ns) newer++;
    while (count < least(unused, kept - newer) && stamps_get(rule, state, newer + count + 1) == start_ns) count++;
    if (newer != 0 && waited_for(rule, state, now)) return;
    stamps_remove(rule, state, newer, count);
    state[END] = subtract_to_zero(state[END], count);
}

/* ---- changing the limit while others wait ---- */

/* So many entries come in one turn of a line, so long after those of the turn before, each so long after the last. */
struct turn {
    uint64_t permits, ns, next_ns;
};

static struct turn turn_of(const struct rule *rule, uint64_t permits, uint64_t calls)
{
    const uint64_t gaps_ns = multiply_divide_floor(calls, rule->gap_ns, 1);
    return (struct turn){permits, most(most(span_of(rule), gaps_ns), 1), calls == permits ? rule->gap_ns : 0};
}

/* While calls of w permits wait, a change enters so many at a time: then their calls may start with their first. */
static uint64_t burst_beside(const struct rule *rule, uint64_t widest)
{
    return subtract_to_zero(rule->burst, most(widest, 1)) + 1;
}

/* When an entry of a line was made, at the latest.  One that the ring has lost lies a turn before the one in its place,
   and a gap before those that are kept. */
static uint64_t entry_ns(const struct rule *rule, const uint64_t *state, uint64_t back, struct turn turn)
{
    const uint64_t kept = stamps_kept(rule, state);
    if (state[STAMPS_NEWEST] == UINT64_MAX) return UINT64_MAX; /* it ends beyond the clock */
    if (back <= kept) return stamps_get(rule, state, back);
    const uint64_t turns = (back - kept - 1) / turn.permits, first = back - turns * turn.permits;
    uint64_t ns = stamps_get(rule, state, first);
    if (kept != 0) ns = least(ns, subtract_to_zero(stamps_get(rule, state, kept), turn.next_ns));
    ns = subtract_to_zero(ns, multiply_divide_floor(first - kept - 1, turn.next_ns, 1));
    if (first > turn.permits) ns = least(ns, subtract_to_zero(stamps_get(rule, state, first - turn.permits), turn.ns));
    return subtract_to_zero(ns, multiply_divide_floor(turns, turn.ns, 1));
}

static uint64_t start_of(const struct rule *rule, const uint64_t *state, uint64_t end, uint64_t cost)
{
    const uint64_t first = end - cost, permits = burst_beside(rule, state[WIDEST]);
    if (end > INT64_MAX || end < cost || end > state[END]) return 0;
    return plain_tick(rule, entry_ns(rule, state, state[END] - first, turn_of(rule, permits, permits)));
}

/* Permits whose start lies after now, at the most. */
static uint64_t waiting_at(const struct rule *rule, const uint64_t *state, uint64_t now_ns)
{
    const uint64_t kept = stamps_kept(rule, state), burst = most(rule->burst, 1);
    const struct turn turn = turn_of(rule, burst, burst / most(state[WIDEST], 1));
    uint64_t waiting = state[STAMPS_NEWEST] == UINT64_MAX ? UINT64_MAX : 0;
    for (uint64_t back = 1; back <= kept + burst; back++) {
        const uint64_t ns = entry_ns(rule, state, back, turn);
        if (ns <= now_ns) break;
        waiting = add_saturating(waiting, back <= kept ? 1 : (ns - now_ns - 1) / turn.ns + 1);
    }
    return least(waiting, state[END]);
}

/* What has started stays, as many as the new ring holds and the last that it loses.  One that is lost already lies a
   period before him who waits in its place. */
static void take_over(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                      uint64_t waiting, uint64_t now_ns)
{
    const struct turn turn = turn_of(from, most(from->burst, 1), 0);
    for (uint64_t behind = stamps_capacity(to) + 1; behind > 0; behind--) {
        const uint64_t back = add_saturating(waiting, behind);
        const uint64_t in_place = add_saturating(waiting, least(behind, turn.permits));
        uint64_t ns = least(now_ns, stamps_get(from, state, back));
        if (!(from->flags & SLIDING_LOG_COUNTS_REFUSED)) ns = least(ns, entry_ns(from, state, in_place, turn));
        if (stamps_has(from, state, back)) enter(to, next, ns, 1);
    }
    next[STAMPS_EVER] = subtract_to_zero(state[STAMPS_EVER], waiting);
}

/* Who waits is entered anew in his order. */
static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    const uint64_t now_ns = plain_ns(from, now), waiting = waiting_at(from, state, now_ns);
    struct rule narrow = *to;
    narrow.burst = burst_beside(to, state[WIDEST]);
    narrow.fourth = stamps_capacity(to);
    if (how != WEIR_RESET) take_over(from, to, state, next, waiting, now_ns);
    next[END] = 0;
    next[WIDEST] = state[WIDEST];
    book(&narrow, next, now_ns, waiting);
}

/* ---- in numbers ---- */

static struct facts facts(const struct limit *limit, const struct rule *rule)
{
    const uint64_t count = limit->count.digits, gap_ns = limit->has_time ? limit->time_ns : 0;
    const bool by_gap = gap_ns != 0 && multiply_divide_floor(count, gap_ns, 1) >= span_of(rule);
    return (struct facts){.at_once = gap_ns != 0 ? 1 : count,
                          .fresh = gap_ns != 0 ? 1 : count,
                          .largest = count,
                          .group = by_gap ? 1 : count,
                          .spacing_ns = by_gap ? gap_ns : span_of(rule),
                          .full_ns = most(span_of(rule), gap_ns),
                          .state_bytes = (STAMPS_HEADER + stamps_words(rule)) * sizeof(uint64_t)};
}

/* The calls i, each as early as it can be: max(i * gap, ...) within a period, and so again a period later. */
static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    const uint64_t span = add_saturating(limit->period_ns, limit->edge == EDGE_CLOSED), count = limit->count.digits;
    const uint64_t gap = limit->has_time ? limit->time_ns : 0, last = most(window_ns, 1) - 1;
    if (gap != 0 && multiply_divide_floor(count, gap, 1) >= span) return last / gap + 1;
    const uint64_t of_rest = gap == 0 ? count : least(count, last % span / gap + 1);
    return add_saturating(multiply_divide_floor(last / span, count, 1), of_rest);
}

const struct algorithm *sliding_log_algorithm(void)
{
    static const struct algorithm sliding_log = {
        .name = "sliding-log",
        .options = WITH(GAP) | WITH(EDGE) | WITH(COUNT_REFUSED),
        .note = "exact: no window of the period holds more, wherever it begins; memory grows with the count",
        .words = STAMPS_HEADER,
        .more_words = stamps_words,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .offer = offer,
        .commit = commit,
        .refused = refused,
        .start_of = start_of,
        .give_back = give_back,
        .carry = carry,
        .balance = balance,
        .full = full,
        .idle = idle,
    };
    return &sliding_log;
}
