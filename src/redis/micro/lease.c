/* SPDX-License-Identifier: MIT
   Permits that nodes take along, kept beside the level of a gcra cell.

   A lease is charged at once, level += L, and its L permits count as out.  While they are out the level does not drain
   below them: their node may spend them all at once, at any time, as if it had just taken them.  Without that hold
   a bucket would fill up beside a lease and let a whole burst through, and the lease besides.

   When is a lease over?  Its node stops before sent + lifetime on its own clock; the engine got the request after it
   was sent, so from granted + lifetime on nothing of it is spent.  Leases are not remembered one by one, but by epochs:

       epoch t           epoch t+1         epoch t+2
       |---- lifetime ---|---- lifetime ---|
          ^ granted: new | old             | taken back

   so each is taken back between one and two lifetimes after it was granted, never before.  At the end of an epoch the
   hold comes first, as of that moment: what was spent just before still drains.  That works later all the same, so a
   key that nobody touches needs no timer.

   The number of an epoch, which is the id of its leases, never comes again, not even after the key was forgotten: the
   first is the time.  A return of an epoch that is over is from a node that was slow; what it returns has been taken
   back.

   The bound, burst + rate * t in any window t: let F be a bucket that knows only what was really spent.  Then at all
   times F + what may still be spent of leases <= level: a lease adds L to both sides, spending moves a permit within
   the left side, time takes the same from both until F is empty, and from then on the left side is not more than what
   is out, which is held.  And a level above top is granted to nobody.  test/model/nodes_model.c has it in all
   orders.

   What is out is never granted twice, if no node spends a permit later than a lifetime after its grant. */
#include "redis/micro/kinds.h"

/* A lease has at most this part of what is there, and at least so many permits. */
enum { SHARE = 8, LEAST = 2, BURST_LEAST = SHARE * LEAST };

bool micro_leases(const struct micro_plan *plan)
{
    return plan->count == 1 && plan->rule[0].kind == MICRO_GCRA && plan->rule[0].burst >= BURST_LEAST;
}

/* The longer lifetime holds while anything is out; with nothing out an epoch of the new one begins. */
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
        word[GCRA_EPOCH] = word[GCRA_EPOCH] + 1;
        word[GCRA_EPOCH_END] = now + lifetime;
        word[GCRA_LIFETIME] = lifetime;
    }
}

static void tell(const struct micro_rule *rule, const struct micro_state *state, uint64_t now,
                 struct micro_lease *lease)
{
    const struct micro_cell *cell = &state->cell[0];
    const uint64_t marks = state->marks != 0 ? weights_idle(state, now) : 0;
    lease->remaining = subtract_to_zero(rule->top, cell->word[GCRA_LEVEL]) / rule->permit;
    lease->retry = gcra_time_to(rule, cell, rule->top - rule->permit);
    lease->idle = now + most(gcra_time_to(rule, cell, 0), marks);
}

void micro_lease_take(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t want,
                      uint64_t lifetime, struct micro_lease *lease)
{
    const struct micro_rule *rule = &plan->rule[0];
    struct micro_cell *cell = &state->cell[0];
    const uint64_t at = least(now, MICRO_MOST);
    *lease = (struct micro_lease){.idle = at};
    if (!micro_leases(plan) || lifetime == 0 || lifetime > MICRO_LIFETIME_MAX) return;
    lease->changed = micro_prepare(plan, state, at);
    const uint64_t there = subtract_to_zero(rule->top, cell->word[GCRA_LEVEL]) / rule->permit;
    const uint64_t permits = least(want, there / SHARE);
    if (permits >= LEAST) {
        note_lifetime(cell, at, lifetime);
        cell->word[GCRA_LEVEL] = cell->word[GCRA_LEVEL] + permits * rule->permit;
        cell->word[GCRA_OUT_NEW] = cell->word[GCRA_OUT_NEW] + permits;
        lease->permits = permits;
        lease->id = cell->word[GCRA_EPOCH];
        lease->changed = true;
    }
    tell(rule, state, at, lease);
}

void micro_lease_return(const struct micro_plan *plan, struct micro_state *state, uint64_t now, uint64_t id,
                        uint64_t permits, uint64_t unused, struct micro_lease *lease)
{
    const struct micro_rule *rule = &plan->rule[0];
    struct micro_cell *cell = &state->cell[0];
    const uint64_t at = least(now, MICRO_MOST);
    *lease = (struct micro_lease){.idle = at};
    if (!micro_leases(plan)) return;
    lease->changed = micro_prepare(plan, state, at);
    const bool leased = cell->words == GCRA_LEASE_WORDS;
    const bool is_new = leased && id == cell->word[GCRA_EPOCH];
    const bool is_old = leased && id + 1 == cell->word[GCRA_EPOCH];
    if (is_new || is_old) {
        uint64_t *out = &cell->word[is_new ? GCRA_OUT_NEW : GCRA_OUT_OLD];
        lease->permits = least(permits, *out);
        const uint64_t back = multiply_capped(least(unused, lease->permits), rule->permit);
        cell->word[GCRA_LEVEL] = subtract_to_zero(cell->word[GCRA_LEVEL], back);
        *out = *out - lease->permits;
        lease->changed = lease->changed || lease->permits != 0;
    }
    tell(rule, state, at, lease);
}
