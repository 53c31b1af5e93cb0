/* SPDX-License-Identifier: MIT
   Slots that are held: renewing and releasing them. */
#include "api/limiter.h"

/* Slots are in the cell, but while a change has it in its hands.  A pause does not stop what runs, nor the leases. */
static bool limiter_hold(weir_limiter *limiter, uint64_t id, enum hold hold)
{
    const uint64_t now_ns = limiter_now_ns(limiter);
    uint64_t count = 0;
    if (cell_hold_slots(&limiter->cell, now_ns, id, hold, &count)) return count != 0;
    host_lock(&limiter->mutex);
    cell_hold_slots(&limiter->cell, now_ns, id, hold, &count);
    host_unlock(&limiter->mutex);
    return count != 0;
}

bool weir_renew(weir_limiter *limiter, uint64_t id)
{
    return limiter_hold(limiter, id, HOLD_RENEW);
}

bool weir_release(weir_limiter *limiter, uint64_t id)
{
    const bool released = limiter_hold(limiter, id, HOLD_RELEASE);
    if (released) turns_wake(&limiter->turns, 0);
    return released;
}
