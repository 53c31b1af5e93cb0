/* SPDX-License-Identifier: MIT
   Slots that are held in a table, and the processes that hold them.

   A process that has such a table open has a byte of its file locked, which the kernel unlocks when the process ends,
   however it ends.  The byte's number is noted with each slot that it takes; so who finds all slots held can ask the
   kernel whether their holders live, and has the slots of those that died at once.  Numbers go round, so that one that
   a process had is not another's while that one's slots may still be held. */
#include "api/table/keyed.h"
#include "core/algorithm/concurrent.h"
#include "core/num.h"

enum { OWNER_TRIES = 16 };

void keyed_mark_process(weir_table *table)
{
    uint64_t owner = 0;
    /* A lock that belongs to the process would be lost when another table with this file is closed. */
    for (int tries = 0; tries < OWNER_TRIES && owner == 0 && !table->region.by_process; tries++) {
        owner = 1 + atom_add(region_marks(table->header), 1) % CONCURRENT_OWNERS;
        if (host_region_lock(&table->region, LOCK_OWNERS + owner, 0) != 0) owner = 0; /* another process has it */
    }
    table->owner = owner;
}

uint64_t keyed_owner(void *owners)
{
    return ((const weir_table *)owners)->owner;
}

/* Without locking the byte, or one who asks at the same time would be told that the owner lives. */
bool keyed_owner_lives(void *owners, uint64_t owner)
{
    const weir_table *table = owners;
    return table->owner == owner || host_region_is_locked(&table->region, LOCK_OWNERS + owner);
}

bool keyed_hold(weir_table *table, const weir_plan *plan, weir_key key, uint64_t now_ns, uint64_t id, enum hold hold)
{
    const struct plan *inside = plan_inside_const(plan);
    if (!keyed_is_wide(table)) return false;
    const bool held = keyed_wide_hold(table, inside, key, now_ns, id, hold) != 0;
    if (held && hold == HOLD_RELEASE) keyed_wake(table, inside, key);
    return held;
}

bool weir_table_renew(weir_table *table, const weir_plan *plan, weir_key key, uint64_t id)
{
    return keyed_hold(table, plan, key, keyed_now_ns(table), id, HOLD_RENEW);
}

bool weir_table_release(weir_table *table, const weir_plan *plan, weir_key key, uint64_t id)
{
    return keyed_hold(table, plan, key, keyed_now_ns(table), id, HOLD_RELEASE);
}
