/* SPDX-License-Identifier: MIT
   What was used under another rule.

   Nobody tells the cells of a changed limit; each says under which rule it was written, and is brought over when it is
   asked for.  What was used stays as many permits, but no more than the new burst:

       100/d, 60 used      10/s burst=20: 20 used, so all is back in 2 s
       10/s, 5 used        100/d: 5 used

   Kept as time, as before, 60 of 100/d are 14 h, in which 10/s lets nothing through.  What has drained since the cell
   was written drains by the new rate, as if the rule had changed right then; nobody came since, so the bound is that
   of a change at that time.

   Format 1 does not say how long a permit was: there the level stays the same time, if the rate is another one.

   Rounds up by less than a tick. */
#include "redis/micro/kinds.h"

void rerule_mark(const struct micro_rule *rule, struct micro_cell *cell)
{
    cell->burst = rule->fits;
    cell->permit = rule->permit;
    cell->per = 0;
}

bool rerule_needed(const struct micro_rule *rule, const struct micro_cell *cell)
{
    if (cell->per != 0) return cell->per != rule->per;
    if (cell->permit == 0 || cell->burst == 0) return false; /* format 1, without ticks; or never ours */
    return cell->permit != rule->permit || cell->burst != rule->fits;
}

uint64_t rerule_used(const struct micro_rule *rule, const struct micro_cell *cell, uint64_t ticks)
{
    if (cell->per != 0) return multiply_capped(divide_ceil(ticks, cell->per), rule->per);
    const uint64_t used = least(ticks, multiply_capped(cell->burst, cell->permit));
    const uint64_t kept = least(share_ceil(used, rule->permit, cell->permit), rule->top);
    return add_capped(kept, share_ceil(ticks - used, rule->permit, cell->permit));
}
