/* SPDX-License-Identifier: MIT
   lease.c - permits that nodes take along, kept beside the level of a gcra cell.

   A lease is charged at once: level += L, and its L permits count as out.  While they are out the level does not drain
   below them: who holds them may spend them all at once, at any time, as if he had just taken them.  Without that hold
   a bucket would fill up beside a lease and let a whole burst through, and the lease besides.

   When is a lease over?  Its node stops before sent + lifetime on its own clock; the engine got the request after it
   was sent, so from granted + lifetime on nothing of it is spent.  Leases are not remembered one by one, but by turns:

       turn t            turn t+1          turn t+2
       |---- lifetime ---|---- lifetime ---|
          ^ granted: new | old             | taken back

   so each is taken back between one and two lifetimes after it was granted, never before.  At the end of a turn the
   hold comes first, as of that moment: what was spent just before still drains.  That works later all the same, so a
   key that nobody touches needs no timer.

   Turns have names that never come again, not even after the key was forgotten: the first is the time.  A return of a
   turn that is over is a node's that was slow; what it gives back has been taken back.

   The bound, B + r * t over any window: let F be a bucket that knows only what was really spent.  Then at all times
   F + what may still be spent of leases <= level: a lease adds L to both sides, spending moves a permit within the left
   side, drains take the same from both until F is empty, and from then on the left side is not more than out, which is
   held.  And a level above top is granted to nobody.  test/explore/nodes_explore.c has it in all orders.

   May touch: its arguments.  Promises: what is out is never granted twice.  Leaves to others: the node (src/engine). */
#include "micro/lease.h"

#include "core/num.h"

enum {
    PART = 8, /* of what is to be had now goes into one lease: several nodes, and calls without any, come first */
    LEAST = 2 /* permits; below that a lease is not worth its return */
};

uint64_t lease_out(const struct micro_cell *cell)
{
    return cell->words == GCRA_WORDS ? cell->word[GCRA_NEW] + cell->word[GCRA_OLD] : 0;
}

static uint64_t divide_ceil(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t ticks_of(const struct micro_rule *rule, uint64_t permits)
{
    return permits > MICRO_MOST / rule->permit ? MICRO_MOST : permits * rule->permit;
}

static uint64_t drained(const struct micro_rule *rule, uint64_t level, uint64_t elapsed)
{
    return elapsed >= divide_ceil(level, rule->per) ? 0 : level - elapsed * rule->per;
}

static void drain_to(const struct micro_rule *rule, struct micro_cell *cell, uint64_t at)
{
    const uint64_t elapsed = subtract_to_zero(at, cell->word[GCRA_SEEN]);
    const uint64_t held = ticks_of(rule, lease_out(cell));
    cell->word[GCRA_LEVEL] = most(drained(rule, cell->word[GCRA_LEVEL], elapsed), held);
    cell->word[GCRA_SEEN] = at;
}

static void end_turn(const struct micro_rule *rule, struct micro_cell *cell)
{
    drain_to(rule, cell, cell->word[GCRA_TURN_END]);
    cell->word[GCRA_TURN]++;
    cell->word[GCRA_TURN_END] += cell->word[GCRA_LIFETIME];
    cell->word[GCRA_OLD] = cell->word[GCRA_NEW];
    cell->word[GCRA_NEW] = 0;
}

void lease_pass(const struct micro_rule *rule, struct micro_cell *cell, uint64_t now)
{
    while (lease_out(cell) > 0 && cell->word[GCRA_TURN_END] <= now) end_turn(rule, cell); /* twice at most */
    drain_to(rule, cell, now);
}

uint64_t lease_wait(const struct micro_rule *rule, const struct micro_cell *cell, uint64_t goal)
{
    struct micro_cell later = *cell;
    while (ticks_of(rule, lease_out(&later)) > goal) end_turn(rule, &later);
    const uint64_t above = subtract_to_zero(later.word[GCRA_LEVEL], goal);
    return later.word[GCRA_SEEN] - cell->word[GCRA_SEEN] + divide_ceil(above, rule->per);
}

void lease_set_back(struct micro_cell *cell, uint64_t now)
{
    if (cell->words != GCRA_WORDS) return;
    const uint64_t back = subtract_to_zero(cell->word[GCRA_SEEN], now);
    cell->word[GCRA_TURN_END] = subtract_to_zero(cell->word[GCRA_TURN_END], back);
}

bool micro_leases(const struct micro_plan *plan)
{
    const struct micro_rule *rule = &plan->rule[0];
    return plan->count == 1 && rule->kind == MICRO_GCRA && rule->top / rule->permit >= PART * LEAST;
}

/* At the time of the call, and as micro_prepare leaves it. */
static struct micro_cell *cell_now(const struct micro_plan *plan, struct micro_state *state, uint64_t now)
{
    micro_prepare(plan, state, now);
    lease_pass(&plan->rule[0], &state->cell[0], now);
    return &state->cell[0];
}

/* For a lease beside others the longer lifetime holds: they end in this turn or the next, so none ends too early. */
static void enter_turn(struct micro_cell *cell, uint64_t lifetime)
{
    const uint64_t now = cell->word[GCRA_SEEN];
    if (lease_out(cell) > 0) {
        cell->word[GCRA_LIFETIME] = most(cell->word[GCRA_LIFETIME], lifetime);
        return;
    }
    const uint64_t before = cell->words == GCRA_WORDS ? cell->word[GCRA_TURN] : 0;
    cell->words = GCRA_WORDS;
    cell->word[GCRA_TURN] = most(before + 1, now);
    cell->word[GCRA_TURN_END] = now + lifetime;
    cell->word[GCRA_LIFETIME] = lifetime;
    cell->word[GCRA_NEW] = cell->word[GCRA_OLD] = 0;
}

static void answer_with(const struct micro_rule *rule, const struct micro_cell *cell, struct micro_lease *lease)
{
    lease->remaining = subtract_to_zero(rule->top, cell->word[GCRA_LEVEL]) / rule->permit;
    lease->idle = cell->word[GCRA_SEEN] + lease_wait(rule, cell, 0);
}

void micro_lease_take(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t want,
                      uint64_t lifetime, struct micro_lease *lease)
{
    *lease = (struct micro_lease){0};
    if (!micro_leases(plan) || lifetime == 0 || lifetime > MICRO_LIFETIME_MAX) return;
    const struct micro_rule *rule = &plan->rule[0];
    struct micro_cell *cell = cell_now(plan, state, now);
    const uint64_t credit = subtract_to_zero(rule->top, cell->word[GCRA_LEVEL]) / rule->permit;
    const uint64_t permits = least(want, credit / PART);
    if (permits >= LEAST) {
        enter_turn(cell, lifetime);
        cell->word[GCRA_NEW] += permits;
        cell->word[GCRA_LEVEL] += permits * rule->permit;
        lease->permits = permits;
        lease->turn = cell->word[GCRA_TURN];
        lease->changed = true;
    } else {
        lease->retry = lease_wait(rule, cell, rule->top - PART * LEAST * rule->permit);
    }
    answer_with(rule, cell, lease);
}

/* Which of the two turns that may have permits out; NULL: its time is over, or it never was. */
static uint64_t *out_of_turn(struct micro_cell *cell, uint64_t turn, uint64_t permits)
{
    if (cell->words != GCRA_WORDS || permits == 0) return NULL;
    const uint64_t turn_now = cell->word[GCRA_TURN];
    uint64_t *out = turn == turn_now ? &cell->word[GCRA_NEW] : turn + 1 == turn_now ? &cell->word[GCRA_OLD] : NULL;
    return out != NULL && permits <= *out ? out : NULL;
}

void micro_lease_return(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t turn,
                        uint64_t permits, uint64_t unused, struct micro_lease *lease)
{
    *lease = (struct micro_lease){.turn = turn};
    if (!micro_leases(plan)) return;
    const struct micro_rule *rule = &plan->rule[0];
    struct micro_cell *cell = cell_now(plan, state, now);
    uint64_t *out = out_of_turn(cell, turn, permits);
    lease->changed = out != NULL;
    if (lease->changed) {
        *out -= permits;
        cell->word[GCRA_LEVEL] = subtract_to_zero(cell->word[GCRA_LEVEL], ticks_of(rule, least(unused, permits)));
    }
    answer_with(rule, cell, lease);
}
