/* SPDX-License-Identifier: MIT
   change.h - what a change of limit did to the positions on the limit's clock.

   Someone who waits knows his slot by its end.  A change moves all ends alike: the distance to the last slot stays
   the same number of permits.

   May touch: its arguments.  Promises: order is kept.  Leaves to others: who waits (api). */
#ifndef WEIR_SHARE_CHANGE_H
#define WEIR_SHARE_CHANGE_H

#include "core/algorithm.h"
#include "core/decide.h"
#include "core/num.h"

struct change {
    struct rule rule[WEIR_LIMITS_MAX]; /* as they were before */
    uint64_t mark_from[WEIR_LIMITS_MAX], mark_to[WEIR_LIMITS_MAX];
    int count; /* 0: the algorithms changed too, and slots given before keep their start */
};

static inline uint64_t change_end(const struct change *change, int limit, const struct rule *to, uint64_t end)
{
    const uint64_t after = change->mark_from[limit] - end;
    const uint64_t carried = least(carry_waiting(&change->rule[limit], to, after), INT64_MAX / 2);
    /* Below zero where a slot lay before the new clock was set: ends are read as signed. */
    return change->mark_to[limit] - carried;
}

#endif
