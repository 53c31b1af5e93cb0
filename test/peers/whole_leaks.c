/* SPDX-License-Identifier: MIT
   The literal counter of whole leaks, kept as the readable reference of a peer.

       left
      burst |\ a call takes n
            |  \_____      .------ only when a whole permit or more has leaked since it last did, that is added,
            |        |____-|       with its fraction
          0 +-------------------------> t

   The cap is looked at with the whole part, so up to burst and a fraction stay; a call that takes all that is whole
   takes the fraction with it.  A key is forgotten when `duration` has passed since its last call with n above 0, and is
   full then.  The arithmetic is the original's, in doubles, because its rounding is part of its answers. */
#include "peers/whole_leaks.h"

/* Towards zero; what does not fit is the greatest, no number is none. */
static int64_t whole(double value)
{
    if (!(value > -9e18)) return 0;
    return value < 9e18 ? (int64_t)value : INT64_MAX;
}

static double ms_per_permit(const struct whole_leaks_limit *limit)
{
    return (double)limit->duration_ms / (double)limit->limit;
}

static struct whole_leaks_answer answer(const struct whole_leaks_limit *limit, bool allowed, int64_t remaining)
{
    const uint64_t missing = (uint64_t)limit->limit - (uint64_t)remaining;
    const uint64_t reset_ms = missing * (uint64_t)whole(ms_per_permit(limit));
    return (struct whole_leaks_answer){allowed, remaining, (int64_t)reset_ms};
}

static struct whole_leaks_answer begin(struct whole_leaks *leaks, const struct whole_leaks_limit *limit, int64_t now_ms,
                                       int64_t permits)
{
    const bool allowed = permits <= limit->burst;
    const int64_t left = allowed ? limit->burst - permits : 0;
    *leaks = (struct whole_leaks){(double)left, now_ms, now_ms + limit->duration_ms, limit->burst, true};
    return answer(limit, allowed, left);
}

static void change_burst(struct whole_leaks *leaks, int64_t burst)
{
    if (burst == leaks->burst) return;
    if (burst > whole(leaks->left)) leaks->left = (double)burst;
    leaks->burst = burst;
}

static void leak(struct whole_leaks *leaks, const struct whole_leaks_limit *limit, int64_t now_ms)
{
    const double leaked = (double)(now_ms - leaks->leaked_ms) / ms_per_permit(limit);
    if (whole(leaked) > 0) {
        leaks->left += leaked;
        leaks->leaked_ms = now_ms;
    }
    if (whole(leaks->left) > leaks->burst) leaks->left = (double)leaks->burst;
}

struct whole_leaks_answer whole_leaks_take(struct whole_leaks *leaks, const struct whole_leaks_limit *limit,
                                           int64_t now_ms, int64_t permits, enum whole_leaks_mode mode)
{
    if (!leaks->known || now_ms > leaks->last_ms) return begin(leaks, limit, now_ms, permits);
    if (mode == WHOLE_LEAKS_REFILL) leaks->left = (double)limit->burst;
    change_burst(leaks, limit->burst);
    if (permits != 0) leaks->last_ms = now_ms + limit->duration_ms;
    leak(leaks, limit, now_ms);
    const int64_t left = whole(leaks->left);
    if (permits <= left) {
        leaks->left = permits == left ? 0 : leaks->left - (double)permits;
        return answer(limit, true, whole(leaks->left));
    }
    struct whole_leaks_answer refusal = answer(limit, false, left);
    if (mode == WHOLE_LEAKS_DRAIN) {
        leaks->left = 0;
        refusal.remaining = 0; /* and when it would be full is told as before */
    }
    return refusal;
}
