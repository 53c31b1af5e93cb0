/* SPDX-License-Identifier: MIT
   When the stock is filled and when it is given back, see share/stock.c.

   The first to fill it is a thread that has napped, or whose call came right after another one; then each waiting call
   that finds it empty, until it lasts for long.  Every other call gives it back first, and so finds the state as if
   there were no stock; a change does, too.  What is left at the next tick of the coarse clock is not spent any more, so
   no decision is older than a tick. */
#include "api/limiter.h"
#include "core/num.h"
#include "share/lock.h"

enum { STOCK_LEAST = 2, ROOM_PART = 8, QUICK_NS = 1000, LASTS_NS = 1000000 };

/* What becomes due from one nap's end to the next one's.  Beside what is out less is saved up (share/lease.c), so it is
   a small part of what the pool holds beyond a sleep. */
static uint64_t permits_most(const weir_limiter *limiter)
{
    if (limiter_stands_still(limiter)) return 0;
    const uint64_t spare_ns = subtract_to_zero(atom_load(&limiter->room_ns), limiter->min_sleep_ns) / ROOM_PART;
    const uint64_t ns = least(limiter->min_sleep_ns / WAKES_IN_A_MIN_SLEEP, spare_ns);
    return least(ns / most(atom_load(&limiter->spacing_ns), 1), STOCK_MOST);
}

uint64_t limiter_stock_lasted_ns(const weir_limiter *limiter, uint64_t now_ns, uint64_t most_ns)
{
    if (!limiter_stocked(limiter)) return 0;
    return least(subtract_to_zero(now_ns, atom_load(&limiter->stock.filled_ns)), most_ns);
}

/* [locked] One that lasted for long is not filled again: calls are too few.  A stock is only held where one of the two
   homes is open. */
static void stock_trade(weir_limiter *limiter, uint64_t want)
{
    struct lease_slice slice;
    struct trade trade = stock_empty(&limiter->stock);
    const uint64_t now_ns = limiter_now_ns(limiter);
    const bool lasted = limiter_stock_lasted_ns(limiter, now_ns, LASTS_NS) == LASTS_NS;
    trade.now_ns = limiter_stands_ns(limiter, now_ns);
    trade.want = lasted ? 0 : want;
    trade.of_one = true; /* a decision of the stock can be cancelled, which takes the limits of a list one by one */
    if (!word_trade(&limiter->word, &trade, &slice)) cell_trade(&limiter->cell, &trade, &slice);
    stock_fill(&limiter->stock, &slice, now_ns);
    if (slice.due_ns != 0) limiter_note_late(limiter, subtract_to_zero(now_ns, slice.due_ns));
}

enum stock_answer limiter_take_stocked(weir_limiter *limiter, uint64_t cost, weir_decision *decision)
{
    if (limiter_stopped(limiter)) return STOCK_TOO_FEW;
    return stock_spend(&limiter->stock, host_now_coarse_ns(), cost, decision);
}

/* A change waits for the lock, and its holder for the state: whoever asks for that meanwhile keeps both waiting. */
static void await_change(const weir_limiter *limiter)
{
    while (atom_load(&limiter->naps.changing) != 0) host_yield();
}

/* True if it held all that was due a moment ago. */
static bool is_gone(const weir_limiter *limiter, uint64_t want)
{
    const uint64_t moment_ns = limiter->min_sleep_ns / WAKES_IN_A_MIN_SLEEP;
    const bool all = atom_load(&limiter->stock.held) < want;
    return all && limiter_stock_lasted_ns(limiter, limiter_now_ns(limiter), moment_ns) < moment_ns;
}

/* A thread that meets another here naps, see take_alone. */
bool limiter_fill_stock(weir_limiter *limiter, bool may_nap)
{
    const uint64_t want = permits_most(limiter);
    if (want < STOCK_LEAST) return true;
    await_change(limiter);
    if (may_nap && (is_gone(limiter, want) || !lock_try(&limiter->stock.lock))) return false;
    if (!may_nap) lock_take(&limiter->stock.lock, host_yield);
    const bool filled = stock_has(&limiter->stock, host_now_coarse_ns()); /* by another thread meanwhile */
    if (!filled && !limiter_paused(limiter)) stock_trade(limiter, want);
    lock_release(&limiter->stock.lock);
    return !filled || !may_nap;
}

void limiter_stock_if_quick(weir_limiter *limiter, uint64_t now_ns)
{
    if (limiter_stands_still(limiter)) return;
    const uint64_t before_ns = atom_load(&limiter->naps.granted_ns);
    atom_store(&limiter->naps.granted_ns, now_ns);
    if (now_ns - before_ns < QUICK_NS) limiter_fill_stock(limiter, false);
}

void limiter_trade_stock_back(weir_limiter *limiter)
{
    await_change(limiter);
    lock_take(&limiter->stock.lock, host_yield);
    stock_trade(limiter, 0);
    lock_release(&limiter->stock.lock);
}

void limiter_close_stock(weir_limiter *limiter)
{
    atom_store(&limiter->naps.changing, 1);
    lock_take(&limiter->stock.lock, host_yield);
    if (limiter_stocked(limiter)) stock_trade(limiter, 0);
}

void limiter_open_stock(weir_limiter *limiter)
{
    atom_store(&limiter->naps.changing, 0);
    lock_release(&limiter->stock.lock);
}
