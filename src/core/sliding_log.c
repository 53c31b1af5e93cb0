/* SPDX-License-Identifier: MIT
   sliding_log.c - the time of each permit is kept, so no window of the period ever holds more than the count.

              |<------------ period ------------>|
       ---x-------x-----------x----x-------------|--> now        burst = 4: one more fits;
                  `-- burst - n + 1 entries back                 n fit once this is a period old

   A ring of as many times as permits are allowed is enough: the one that is overwritten is out of the window by then.
   edge=open: an entry exactly a period old is out; closed: it counts for that ns, which makes the period a ns longer.
   gap: so long after the last call the next one is refused.  count-refused: a refused call is entered like any other.

   A call may be taken ahead of its time.  Then its entries lie in the future, and the rule between an entry and the
   one `burst` before it is all that decides; a line of any length needs no more memory, since

       entry[i - burst] + period <= entry[i]              also says when an entry was at the latest that the ring lost

   The same holds for a change of limit: entries stay when they were, and any two calls a new count apart are a new
   period apart from then on, the older of them granted before the change or not.  Those who wait are entered anew in
   their order, permit by permit.  Where one waiting call has up to w permits, that is done with w - 1 less at a time
   and w - 1 entries ahead of the line: each permit is then entered no earlier than its call starts.

   Form: cell; words as in stamps.h.  Seed 002 (rolling log with gap, refused calls logged), seed 004 (ring of times).

   May touch: its arguments.  Promises: any count + 1 calls that were asked for span the period.  Leaves to others: the
   ring itself (stamps.c), the lock around it (share). */
#include "core/sliding_log.h"

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"

enum { ENTRIES_MAX = 1 << 28 };
enum {
    WIDEST = STAMPS_OWNER, /* the most permits of one call among those who wait */
    STARTED,               /* entries that had started at the last change */
    SPARE,                 /* so many behind them belong to nobody: the change put them ahead of the line */
    UNCOUNTED_UNTIL        /* until this ns refusals are not entered: they would push out who waits since a change */
};
static const uint64_t BRIEF_NS_MAX = INT32_MAX;

/* As long an entry counts. */
static uint64_t span_of(const struct rule *rule)
{
    return add_saturating(rule->period_ns, (rule->flags & SLIDING_LOG_CLOSED) != 0);
}

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
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
    if (longest_ns <= BRIEF_NS_MAX) rule->flags |= STAMPS_BRIEF;
    return limit_fine();
}

static void defaults(struct limit *limit)
{
    if (limit->edge == EDGE_DEFAULT) limit->edge = EDGE_OPEN;
}

static bool possible(const struct rule *rule, uint64_t permits)
{
    return permits <= rule->burst;
}

/* ---- asking ---- */

/* From when on so many more fit. */
static uint64_t fits_at(const struct rule *rule, const uint64_t *state, uint64_t permits)
{
    const uint64_t back = rule->burst - permits + 1;
    if (back > stamps_known(rule, state)) return 0;
    return add_saturating(stamps_get(rule, state, back), span_of(rule));
}

static uint64_t gap_ends_at(const struct rule *rule, const uint64_t *state)
{
    const bool none = rule->gap_ns == 0 || state[STAMPS_HEAD] == 0;
    return none ? 0 : add_saturating(state[STAMPS_NEWEST], rule->gap_ns);
}

/* Entered in order: where the clock has gone back, or somebody waits for a later start, as if at that time. */
static uint64_t entered_at(const struct rule *rule, const uint64_t *state, uint64_t ns)
{
    return rule->flags & RULE_FOLLOWS_CLOCK ? ns : most(ns, state[STAMPS_NEWEST]);
}

static bool counts_refused(const struct rule *rule, const uint64_t *state, uint64_t now_ns)
{
    return rule->flags & SLIDING_LOG_COUNTS_REFUSED && now_ns >= state[UNCOUNTED_UNTIL];
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    (void)wait_ns;
    if (cost > rule->burst) return (struct offer){now, UINT64_MAX};
    const uint64_t now_ns = plain_ns(rule, now);
    const uint64_t passes_ns = most(fits_at(rule, state, cost), cost != 0 ? gap_ends_at(rule, state) : 0);
    if (passes_ns <= now_ns) return (struct offer){now, now};
    if (!(rule->flags & SLIDING_LOG_COUNTS_REFUSED)) return (struct offer){now, plain_tick(rule, passes_ns)};
    return (struct offer){plain_tick(rule, passes_ns), plain_tick(rule, passes_ns)};
}

/* With a gap one call passes, and whoever asks for as many as pass means calls. */
static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t at_ns = plain_ns(rule, at), span = span_of(rule);
    if (gap_ends_at(rule, state) > at_ns) return 0;
    const uint64_t counting = at_ns < span ? stamps_known(rule, state) : stamps_after(rule, state, at_ns - span);
    const uint64_t left = subtract_to_zero(rule->burst, counting);
    return rule->gap_ns != 0 ? least(left, 1) : left;
}

static void enter(const struct rule *rule, uint64_t *state, uint64_t ns, uint64_t permits)
{
    const uint64_t entered_ns = entered_at(rule, state, ns);
    for (uint64_t i = least(permits, stamps_capacity(rule)); i > 0; i--) stamps_append(rule, state, entered_ns);
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    const bool behind_others = state[STAMPS_NEWEST] > plain_ns(rule, at);
    if (cost != 0) state[WIDEST] = behind_others ? most(state[WIDEST], cost) : cost;
    enter(rule, state, plain_ns(rule, start), cost);
    return (struct taken){state[STAMPS_HEAD], room(rule, state, start)};
}

static void refused(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t cost)
{
    const uint64_t now_ns = plain_ns(rule, now);
    if (counts_refused(rule, state, now_ns)) enter(rule, state, now_ns, cost);
}

static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    if (decision->remaining >= rule->burst) return now;
    return add_saturating(most(now, plain_tick(rule, decision->start.ns)), most(span_of(rule), rule->gap_ns));
}

/* ---- what is known of entries that the ring has lost ---- */

/* How entries are apart at least: so many of them by a time, and one from the next. */
struct apart {
    uint64_t entries, ns, next_ns;
};

/* Those whose own time is kept. */
static uint64_t kept(const struct rule *rule, const uint64_t *state)
{
    return least(stamps_known(rule, state), subtract_to_zero(state[STAMPS_HEAD], state[STAMPS_FROM]));
}

/* What lies beyond the clock stays there. */
static uint64_t earlier(uint64_t ns, uint64_t by_ns)
{
    return ns == UINT64_MAX ? UINT64_MAX : subtract_to_zero(ns, by_ns);
}

/* When an entry was made at the latest that lies so far before the oldest whose time is kept: whole turns before one
   that is kept; or one by one to the oldest, and the other turns from there. */
static uint64_t before_kept(const struct rule *rule, const uint64_t *state, uint64_t distance, struct apart apart)
{
    const uint64_t oldest = kept(rule, state), turns = (distance - 1) / apart.entries;
    if (oldest == 0) return state[STAMPS_FLOOR];
    const uint64_t steps = distance - turns * apart.entries, behind_oldest = apart.entries - steps;
    const uint64_t turns_ns = multiply_divide_floor(turns, apart.ns, 1);
    const uint64_t steps_ns = add_saturating(turns_ns, multiply_divide_floor(steps, apart.next_ns, 1));
    const uint64_t by_steps = earlier(stamps_get(rule, state, oldest), steps_ns);
    if (behind_oldest >= oldest) return by_steps;
    const uint64_t same = stamps_get(rule, state, oldest - behind_oldest);
    return least(by_steps, earlier(same, add_saturating(turns_ns, apart.ns)));
}

/* When an entry was made, at the latest. */
static uint64_t latest(const struct rule *rule, const uint64_t *state, uint64_t index)
{
    const uint64_t head = state[STAMPS_HEAD], known = stamps_known(rule, state), exact = kept(rule, state);
    if (head - index <= known) return stamps_get(rule, state, head - index);
    const uint64_t oldest_ns = stamps_get(rule, state, known);
    if (rule->flags & SLIDING_LOG_COUNTS_REFUSED) return oldest_ns;
    const struct apart apart = {most(rule->burst, 1), span_of(rule), 0};
    return least(oldest_ns, most(state[STAMPS_FLOOR], before_kept(rule, state, head - exact - index, apart)));
}

/* Permits whose start lies after now. */
static uint64_t waiting_at(const struct rule *rule, const uint64_t *state, uint64_t now_ns)
{
    const uint64_t exact = kept(rule, state), lost = state[STAMPS_HEAD] - exact, widest = most(state[WIDEST], 1);
    uint64_t waiting = least(stamps_after(rule, state, now_ns), exact);
    if (counts_refused(rule, state, now_ns)) return waiting;
    struct apart apart = {most(rule->burst, 1), 0, widest == 1 ? rule->gap_ns : 0};
    apart.ns = most(most(span_of(rule), 1), multiply_divide_floor(apart.entries / widest, rule->gap_ns, 1));
    for (uint64_t distance = 1; distance <= least(apart.entries, lost); distance++) {
        const uint64_t ns = before_kept(rule, state, distance, apart);
        if (ns <= now_ns) break;
        waiting = add_saturating(waiting, ns == UINT64_MAX ? UINT64_MAX : (ns - now_ns - 1) / apart.ns + 1);
    }
    return least(waiting, subtract_to_zero(state[STAMPS_HEAD], state[STARTED]));
}

/* ---- correcting ---- */

static uint64_t mark(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)now;
    return state[STAMPS_HEAD];
}

/* While calls of w permits wait, a change of limit has entered so many at a time. */
static uint64_t burst_beside(const struct rule *rule, uint64_t widest)
{
    return subtract_to_zero(rule->burst, most(widest, 1)) + 1;
}

static uint64_t start_of(const struct rule *rule, const uint64_t *state, uint64_t end, uint64_t cost)
{
    const uint64_t head = state[STAMPS_HEAD], first = end - cost, exact = kept(rule, state);
    if (end > INT64_MAX || end < cost || head == 0) return 0;
    const uint64_t back = head > first ? head - first : 1;
    if (back <= exact) return plain_tick(rule, stamps_get(rule, state, back));
    struct apart apart = {burst_beside(rule, state[WIDEST]), 0, rule->gap_ns};
    apart.ns = most(span_of(rule), multiply_divide_floor(apart.entries, rule->gap_ns, 1));
    return plain_tick(rule, before_kept(rule, state, back - exact, apart));
}

static bool waited_for(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    return state[STAMPS_NEWEST] > plain_ns(rule, now);
}

static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    const uint64_t start_ns = plain_ns(rule, slot->start), newer = stamps_after(rule, state, start_ns);
    const uint64_t exact = kept(rule, state);
    const uint64_t lost_ns = latest(rule, state, state[STAMPS_HEAD] - stamps_known(rule, state) - 1);
    uint64_t count = 0;
    /* Who waits behind it is known by his place. */
    if (newer != 0 && waited_for(rule, state, now)) return;
    while (count < unused && newer + count < exact && stamps_get(rule, state, newer + count + 1) == start_ns) count++;
    stamps_remove(rule, state, newer, count, lost_ns);
    /* The call before came a gap before, and is perhaps lost. */
    const uint64_t call_before_ns = subtract_to_zero(start_ns, rule->gap_ns);
    const bool last = count != 0 && state[STAMPS_NEWEST] < start_ns;
    if (last) state[STAMPS_NEWEST] = least(state[STAMPS_NEWEST], call_before_ns);
}

static void book_each(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t permits)
{
    for (uint64_t i = 0; i < permits; i++) {
        const uint64_t passes_ns = most(fits_at(rule, state, 1), gap_ends_at(rule, state));
        enter(rule, state, most(now_ns, passes_ns), 1);
    }
}

/* Enters permits one by one, each when it passes at the earliest; whole turns of the ring all at once. */
static void book(const struct rule *rule, uint64_t *state, uint64_t now_ns, uint64_t permits)
{
    const uint64_t burst = most(rule->burst, 1), singly = least(permits, stamps_capacity(rule));
    const uint64_t turns = (permits - singly) / burst;
    book_each(rule, state, now_ns, singly);
    if (turns != 0) {
        const uint64_t first_ns = stamps_get(rule, state, burst);
        const uint64_t turn_ns = most(span_of(rule), subtract_to_zero(gap_ends_at(rule, state), first_ns));
        stamps_advance(rule, state, turns * burst, multiply_divide_floor(turns, turn_ns, 1));
    }
    book_each(rule, state, now_ns, (permits - singly) % burst);
}

static uint64_t overcharge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t extra)
{
    const uint64_t now_ns = plain_ns(rule, now);
    if (state[STAMPS_NEWEST] <= now_ns) state[WIDEST] = 1;
    if (!counts_refused(rule, state, now_ns)) {
        book(rule, state, now_ns, extra);
        return extra;
    }
    enter(rule, state, now_ns, extra);
    return least(extra, stamps_capacity(rule));
}

/* Takes over what has started, as much as the new ring holds. */
static void take_over(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next,
                      uint64_t started, uint64_t now_ns)
{
    const uint64_t first = subtract_to_zero(started, stamps_capacity(to));
    next[STAMPS_HEAD] = next[STAMPS_FROM] = first;
    next[STAMPS_FLOOR] = first == 0 ? 0 : least(now_ns, latest(from, state, first - 1));
    for (uint64_t index = first; index < started; index++) {
        enter(to, next, least(now_ns, latest(from, state, index)), 1);
    }
}

static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    const uint64_t now_ns = plain_ns(from, now), waiting = waiting_at(from, state, now_ns);
    const uint64_t widest = most(state[WIDEST], 1), started = state[STAMPS_HEAD] - waiting;
    const uint64_t spare = least(waiting, subtract_to_zero(add_saturating(state[STARTED], state[SPARE]), started));
    if (how != WEIR_RESET) take_over(from, to, state, next, started, now_ns);
    next[STARTED] = next[STAMPS_HEAD];
    if (waiting == 0) return;
    struct rule narrow = *to;
    narrow.burst = burst_beside(to, widest);
    narrow.fourth = stamps_capacity(to);
    next[WIDEST] = widest;
    next[SPARE] = widest - 1;
    book(&narrow, next, now_ns, add_saturating(waiting - spare, next[SPARE]));
    next[UNCOUNTED_UNTIL] = next[STAMPS_NEWEST];
}

/* ---- for comparing with peers ---- */

uint64_t sliding_log_entries(const struct rule *rule, const uint64_t *state)
{
    return stamps_known(rule, state);
}

uint64_t sliding_log_entry_ns(const struct rule *rule, const uint64_t *state, uint64_t back)
{
    return stamps_get(rule, state, back);
}

void sliding_log_forget(const struct rule *rule, uint64_t *state, uint64_t back)
{
    stamps_remove(rule, state, back - 1, 1, 0);
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
        .defaults = defaults,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .possible = possible,
        .offer = offer,
        .commit = commit,
        .refused = refused,
        .room = room,
        .mark = mark,
        .start_of = start_of,
        .waited_for = waited_for,
        .give_back = give_back,
        .overcharge = overcharge,
        .carry = carry,
        .full = full,
    };
    return &sliding_log;
}
