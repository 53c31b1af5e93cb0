/* SPDX-License-Identifier: MIT
   Permits that are due, taken by one thread for all that wait.

   At ten million operations a second there are 100 ns for each, two readings of a clock and a decision.  A thread that
   has slept finds many permits due.  It takes all of them with one reading and one decision, and the calls that come
   next spend them, each with one compare-and-swap.

   The stock is a lease (lease.c) that threads share: what it was filled with counts as out until it is traded again.
   The serial makes that safe, since a lease must not be spent while it is traded, and a batch that was read is only
   good for a permit of that batch:

       spend     (s, n) := left;  read the batch;  swap (s, n) -> (s, n - cost)
       trade     swap (s, n) -> (s + 1, 0): nothing is spent any more;  read the clock;  trade, with n unused
       fill      write the batch, which nobody can spend;  left := (s + 1, permits) */
#include "share/stock.h"

#include "core/num.h"

enum { STOCK_LEFT_BITS = 24, STOCK_STEP_BITS = 16 };
static const uint64_t STOCK_LEFT = (UINT64_C(1) << STOCK_LEFT_BITS) - 1;

enum stock_answer stock_spend(struct stock *stock, uint64_t fresh_ns, uint64_t cost, weir_decision *decision)
{
    uint64_t seen = atom_load_acquire(&stock->left);
    const uint64_t left = (seen & STOCK_LEFT) - cost, filled_ns = atom_load(&stock->filled_ns);
    if (cost - 1 >= (seen & STOCK_LEFT) || filled_ns < fresh_ns) return STOCK_TOO_FEW; /* of cost 0, too */
    const uint64_t due_ns = atom_load(&stock->due_ns), step = atom_load(&stock->step);
    const uint64_t end = atom_load(&stock->end), kind = atom_load(&stock->kind);
    if (!atom_swap_release(&stock->left, &seen, seen - cost)) return STOCK_MET; /* the batch was read before it */
    decision->verdict = WEIR_ALLOW;
    decision->limit = 0;
    decision->start.ns = filled_ns;
    decision->delay_ns = 0;
    decision->due.ns = due_ns - ((left + cost - 1) * step >> STOCK_STEP_BITS);
    decision->end = end - (left << (kind >> 32));
    decision->remaining = left;
    decision->charged = cost;
    decision->reserved = (uint32_t)kind;
    return STOCK_SPENT;
}

bool stock_has(const struct stock *stock, uint64_t fresh_ns)
{
    return (atom_load(&stock->left) & STOCK_LEFT) != 0 && atom_load(&stock->filled_ns) >= fresh_ns;
}

struct trade stock_empty(struct stock *stock)
{
    uint64_t seen = atom_load(&stock->left);
    while (!atom_swap_acquire(&stock->left, &seen, (seen | STOCK_LEFT) + 1)) continue;
    return (struct trade){.held = atom_load(&stock->held),
                          .unused = seen & STOCK_LEFT,
                          .end = atom_load(&stock->end),
                          .generation = (uint32_t)atom_load(&stock->kind)};
}

void stock_fill(struct stock *stock, const struct lease_slice *slice, uint64_t now_ns)
{
    const uint64_t permits = slice->permits;
    atom_store(&stock->held, permits);
    if (permits == 0) return;
    atom_store(&stock->filled_ns, now_ns);
    atom_store(&stock->due_ns, slice->last_due_ns);
    atom_store(&stock->step, ((slice->last_due_ns - slice->due_ns) << STOCK_STEP_BITS) / most(permits - 1, 1));
    atom_store(&stock->end, slice->end);
    atom_store(&stock->kind, (uint64_t)slice->scale << 32 | slice->generation);
    atom_store_release(&stock->left, atom_load(&stock->left) + permits);
}
