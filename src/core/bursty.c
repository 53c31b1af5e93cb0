/* SPDX-License-Identifier: MIT
   bursty.c - time that nobody used is stored, and who takes more than the store holds leaves a debt to the next caller.

   A pacer that forgets makes a caller who was away pay like one who never left.  So keep what was not used, up to
   `burst`, and give it out for nothing; only permits above it cost time.  And since a caller can say nothing of what
   comes after him, he need not wait for his own cost: he starts when what was taken before is paid, and the next one
   waits for him.

       stored = burst .-------                    next: all that was taken is paid from here on
              |     .'                            now <= next: nothing is stored, so time that stands or goes
              |   .'                              back earns nothing and loses nothing
            0 +-next---------now---> ticks
                                                  take c:  start = max(now, next)        (or pay=self, see below)
       a tick of time stores a tick of permit              next  = start + max(0, c - stored)

       | next, 0 = untouched | stored | last: start of the last call |      a cell of three words on a line's clock

   With pay=self a caller waits for his own cost: he starts at next + max(0, c - stored), which does not move while he
   asks again, so time in which nothing is taken pays for him, be he larger than the store.

   Guava's SmoothBursty and what an article on it ("Rate Limiting Part 2") wants of it.

   May touch: its arguments.  Promises: in any window t at most burst + largest cost + rate * t permits, and with
   pay=self max(burst, largest cost) + rate * t.  Leaves to others: the lock around the words. */
#include "core/algorithm.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

enum { NEXT, STORED, LAST, WORDS };
enum { PAYS_ITSELF = RULE_A };
enum { SECOND_NS = 1000000000 };

_Static_assert((int)WORDS <= (int)STATE_WORDS_MAX, "bursty fits the state");

struct store {
    uint64_t next, stored;
};

/* As it was left behind.  Fresh, it begins when the clock was set. */
static struct store left(const struct rule *rule, const uint64_t *state)
{
    if (state[NEXT] != 0) return (struct store){state[NEXT], least(state[STORED], rule->burst)};
    return (struct store){rule->anchor_tick, rule->flags & RULE_STARTS_FULL ? rule->burst : 0};
}

/* Nobody came until then. */
static struct store rested(const struct rule *rule, struct store store, uint64_t until)
{
    if (until <= store.next) return store;
    return (struct store){until, least(add_saturating(store.stored, until - store.next), rule->burst)};
}

/* What is stored goes first, for nothing; the rest takes its time. */
static struct store drawn(struct store store, uint64_t cost)
{
    const uint64_t rest = subtract_to_zero(store.stored, cost), fresh = subtract_to_zero(cost, store.stored);
    return (struct store){add_saturating(store.next, fresh), rest};
}

static bool pays_itself(const struct rule *rule)
{
    return (rule->flags & PAYS_ITSELF) != 0;
}

static void defaults(struct limit *limit)
{
    if (limit->pay == PAY_DEFAULT) limit->pay = PAY_NEXT;
    if (limit->start == START_DEFAULT) limit->start = START_EMPTY;
    if (limit->burst_kind != AMOUNT_NONE) return;
    limit->burst_kind = AMOUNT_TIME;
    limit->burst = SECOND_NS;
}

static struct limit_problem compile(const struct limit *limit, struct rule *rule)
{
    if (limit->start == START_FULL) rule->flags |= RULE_STARTS_FULL;
    if (limit->pay == PAY_SELF) rule->flags |= PAYS_ITSELF;
    return limit_line(limit, rule);
}

static struct offer offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns)
{
    (void)wait_ns;
    const struct store store = left(rule, state);
    if (pays_itself(rule) && cost == UINT64_MAX) return (struct offer){now, UINT64_MAX};
    return (struct offer){now, most(now, pays_itself(rule) ? drawn(store, cost).next : store.next)};
}

/* What calls of one permit could take: where the next one pays, one more than is stored.  Who pays himself may bring a
   permit that the store is too small for. */
static uint64_t room(const struct rule *rule, const uint64_t *state, uint64_t at)
{
    const uint64_t permit = ticks_of(rule, 1), stored = rested(rule, left(rule, state), at).stored;
    if (offer(rule, state, at, permit, 0).start > at) return 0;
    return pays_itself(rule) ? most(stored, permit) : add_saturating(stored, permit);
}

static struct taken commit(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    const bool self = pays_itself(rule);
    const struct store before = self ? left(rule, state) : rested(rule, left(rule, state), at);
    struct store after = drawn(before, cost);
    if (self) {
        /* Time that was not needed is stored again, beside the call: together they are no more than burst. */
        after = rested(rule, after, at);
        after.stored = least(after.stored, subtract_to_zero(rule->burst, cost));
    }
    const uint64_t last = least(self ? after.next : before.next, start); /* what is charged starts at once */
    const uint64_t words[WORDS] = {after.next, after.stored, last};
    for (int i = 0; i < WORDS && cost != 0; i++) state[i] = words[i];
    return (struct taken){after.next, room(rule, state, start)};
}

static struct balance balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct store store = rested(rule, left(rule, state), now);
    return (struct balance){store.stored, store.next - now, state[LAST] > now};
}

/* First the debt, then the store.  Since its start a call may have been stored again, tick for tick.  Nothing where a
   call waits and this one has started: the two may end at the same tick, as an earlier call that was given back moves
   the end of the last slot, and not the ends that decisions remember. */
static void give_back(const struct rule *rule, uint64_t *state, uint64_t now, const struct slot *slot, uint64_t unused)
{
    if (state[LAST] > now && slot->start <= now) return;
    const struct store store = rested(rule, left(rule, state), now);
    /* Whoever has waited for more than the store holds has it no longer. */
    const bool lost = pays_itself(rule) && slot->start <= now;
    const uint64_t held = lost ? least(slot->cost, rule->burst) : slot->cost, used = slot->cost - unused;
    const uint64_t undrained = subtract_to_zero(add_saturating(slot->start, held), now);
    const uint64_t back = least(subtract_to_zero(held, used), undrained), owed = least(back, store.next - now);
    if (back == 0) return;
    state[NEXT] = store.next - owed;
    state[STORED] = least(add_saturating(store.stored, back - owed), rule->burst);
}

/* The store stays as full as it was. */
static uint64_t carried_store(const struct rule *from, const struct rule *to, uint64_t stored, weir_carry how)
{
    if (how == WEIR_RESET) return to->flags & RULE_STARTS_FULL ? to->burst : 0;
    if (how == WEIR_SCALE) return subtract_to_zero(to->burst, carry_waiting(from, to, from->burst - stored));
    return from->burst == 0 ? 0 : multiply_divide_floor(stored, to->burst, from->burst);
}

/* What is owed stays the same time, to the ns; but where somebody waits behind it, all of it is permits. */
static void carry(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry how)
{
    const struct store store = rested(from, left(from, state), now);
    const uint64_t owed = store.next - now, behind = subtract_to_zero(state[LAST], now), anchor = to->anchor_tick;
    const bool waits = behind != 0;
    next[NEXT] = anchor;
    if (waits || how == WEIR_SCALE) next[NEXT] = add_saturating(anchor, carry_waiting(from, to, owed));
    else if (how == WEIR_KEEP) next[NEXT] = carry_moment(from, to, store.next, now);
    next[STORED] = carried_store(from, to, store.stored, how);
    next[LAST] = least(add_saturating(anchor, carry_waiting(from, to, behind)), next[NEXT]);
}

static uint64_t full(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    const uint64_t stored = subtract_to_zero(decision->remaining, !pays_itself(rule));
    return add_saturating(most(decision->end, now), subtract_to_zero(rule->burst, ticks_of(rule, stored)));
}

/* A fresh store may be full.  Who pays himself is paid for by all the time since the last call, and a fresh one has had
   all there ever was. */
static uint64_t idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    const struct store store = left(rule, state);
    if (state[NEXT] == 0) return now;
    if (pays_itself(rule)) return UINT64_MAX;
    return most(add_saturating(store.next, rule->burst - store.stored), now);
}

/* Where the next one pays it is one more than is stored; who pays himself has one at least. */
static uint64_t at_once(const struct limit *limit)
{
    uint64_t permits = 1, period_ns = 1, stored = limit->burst;
    limit_rate(limit, &permits, &period_ns);
    if (limit->burst_kind == AMOUNT_TIME) stored = multiply_divide_floor(limit->burst, permits, period_ns);
    return limit->pay == PAY_SELF ? most(stored, 1) : add_saturating(stored, 1);
}

static struct facts facts(const struct limit *limit, const struct rule *rule)
{
    (void)rule;
    return (struct facts){.at_once = at_once(limit),
                          .fresh = limit->start == START_FULL ? at_once(limit) : limit->pay != PAY_SELF,
                          .largest = UINT64_MAX,
                          .group = 1,
                          .spacing_ns = limit_spacing_ns(limit),
                          .full_ns = line_full_ns(limit),
                          .state_bytes = WORDS * sizeof(uint64_t)};
}

static uint64_t most_in(const struct limit *limit, uint64_t window_ns)
{
    const struct decimal one = {1, 0};
    const uint64_t paced = line_most_spaced(limit, one, window_ns);
    if (window_ns == 0) return at_once(limit);
    if (limit->pay == PAY_SELF) return most(paced, line_most_in(limit, one, window_ns));
    if (limit->burst_kind == AMOUNT_COUNT) return add_saturating(limit->burst, paced);
    return line_most_spaced(limit, one, add_saturating(window_ns, limit->burst)); /* the store holds a time */
}

const struct algorithm *bursty_algorithm(void)
{
    static const struct algorithm bursty = {
        .name = "bursty",
        .options = WITH(BURST) | WITH(PAY) | WITH(START) | WITH(DEBT),
        .note = "unused time is stored; the store begins empty unless start=full is said",
        .words = WORDS,
        .pays_after = true,
        .defaults = defaults,
        .compile = compile,
        .facts = facts,
        .most_in = most_in,
        .offer = offer,
        .commit = commit,
        .balance = balance,
        .full = full,
        .idle = idle,
        .give_back = give_back,
        .carry = carry,
    };
    return &bursty;
}
