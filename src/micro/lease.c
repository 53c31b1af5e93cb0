/* SPDX-License-Identifier: MIT
   lease.c - permits that a node takes along: what the engine remembers of them.

       grants    a b       c              d
             |-----turn 7------|-----turn 8------|-----turn 9------|
                           turn_end              ^ a, b, c are taken back, d's turn is the old one

   A lease is counted under its turn, and taken back when the turn after it ends: never before its lifetime is over, and
   at most two lifetimes after it was granted.  Until then the bucket is at least as full as what is out, so it does not
   matter when the node spends a permit; what is given back lowers it.

   A turn's name is never used again, not even when the key was forgotten in between: the first is the time.

   May touch: its arguments.  Promises: at most burst + rate * t permits in any window t, spent by nodes or taken here,
   if no node spends a permit later than a lifetime after its grant.  Leaves to others: that (the client), the turns
   themselves (gcra.c). */
#include "micro/kinds.h"

enum { SHARE = 8, LEAST = 2 }; /* a lease has at most this part of what is there, and at least so many */

bool micro_leases(const struct micro_plan *plan)
{
    return plan->count == 1 && plan->rule[0].kind == MICRO_GCRA;
}

/* The longer lifetime holds while anything is out; with nothing out a turn of the new one begins. */
static void note_lifetime(struct micro_cell *cell, uint64_t now, uint64_t lifetime)
{
    uint64_t *word = cell->word;
    if (cell->words == GCRA_WORDS) {
        const uint64_t lease[] = {now, now + lifetime, lifetime, 0, 0};
        for (int i = 0; i < GCRA_LEASE_WORDS - GCRA_WORDS; i++) word[GCRA_WORDS + i] = lease[i];
        cell->words = GCRA_LEASE_WORDS;
    } else if (gcra_out(cell) != 0) {
        word[GCRA_LIFETIME] = most(word[GCRA_LIFETIME], lifetime);
    } else if (word[GCRA_LIFETIME] != lifetime) {
        word[GCRA_TURN] = word[GCRA_TURN] + 1;
        word[GCRA_TURN_END] = now + lifetime;
        word[GCRA_LIFETIME] = lifetime;
    }
}

static void tell(const struct micro_rule *rule, const struct micro_cell *cell, uint64_t now, struct micro_lease *lease)
{
    lease->remaining = subtract_to_zero(rule->top, cell->word[GCRA_LEVEL]) / rule->permit;
    lease->retry = gcra_time_to(rule, cell, rule->top - rule->permit);
    lease->idle = now + gcra_time_to(rule, cell, 0);
}

void micro_lease_take(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t want,
                      uint64_t lifetime, struct micro_lease *lease)
{
    const struct micro_rule *rule = &plan->rule[0];
    struct micro_cell *cell = &state->cell[0];
    const uint64_t at = least(now, MICRO_MOST);
    *lease = (struct micro_lease){.idle = at};
    if (!micro_leases(plan)) return;
    lease->changed = micro_prepare(plan, state, at);
    const uint64_t there = subtract_to_zero(rule->top, cell->word[GCRA_LEVEL]) / rule->permit;
    const uint64_t permits = least(want, there / SHARE);
    if (permits >= LEAST) {
        note_lifetime(cell, at, least(most(lifetime, 1), MICRO_LIFETIME_MAX));
        cell->word[GCRA_LEVEL] = cell->word[GCRA_LEVEL] + permits * rule->permit;
        cell->word[GCRA_OUT_NEW] = cell->word[GCRA_OUT_NEW] + permits;
        lease->permits = permits;
        lease->turn = cell->word[GCRA_TURN];
        lease->changed = true;
    }
    tell(rule, cell, at, lease);
}

void micro_lease_return(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t turn,
                        uint64_t permits, uint64_t unused, struct micro_lease *lease)
{
    const struct micro_rule *rule = &plan->rule[0];
    struct micro_cell *cell = &state->cell[0];
    const uint64_t at = least(now, MICRO_MOST);
    *lease = (struct micro_lease){.idle = at};
    if (!micro_leases(plan)) return;
    lease->changed = micro_prepare(plan, state, at);
    const bool leased = cell->words == GCRA_LEASE_WORDS;
    const bool is_new = leased && turn == cell->word[GCRA_TURN];
    const bool is_old = leased && turn + 1 == cell->word[GCRA_TURN];
    if (is_new || is_old) {
        uint64_t *out = &cell->word[is_new ? GCRA_OUT_NEW : GCRA_OUT_OLD];
        lease->permits = least(permits, *out);
        const uint64_t back = multiply_capped(least(unused, lease->permits), rule->permit);
        cell->word[GCRA_LEVEL] = subtract_to_zero(cell->word[GCRA_LEVEL], back);
        *out = *out - lease->permits;
        lease->changed = lease->changed || lease->permits != 0;
    }
    tell(rule, cell, at, lease);
}
