/* SPDX-License-Identifier: MIT
   The literal token pools, kept as the readable reference of `hybrid`.

       time -> active (up to pool) -> waiting -> burst (pool .. over), a share of it for each refill -> callers

   Tokens are neither made nor lost: every refill ends up in active or waiting, every take comes out of active.  The
   arithmetic is the original's, in doubles and truncated, because its sizes are part of its answers; what is beyond 64
   bits saturates, as it does there. */
#include "peers/pools.h"

enum { POOL_NS_MIN = 1000000, POOL_OPS_MIN = 2, SECOND_NS = 1000000000 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t truncated(double value)
{
    if (value >= 0x1p63) return INT64_MAX;
    if (value < -0x1p63) return INT64_MIN;
    return value == value ? (int64_t)value : 0; /* 0 times infinity is no number */
}

void pools_set_size(struct pools *pools, int64_t pool, double burst_ratio)
{
    pools->pool = pool;
    pools->over = truncated((double)pool * burst_ratio);
}

void pools_set_rate(struct pools *pools, double rate_per_s, double burst_ratio)
{
    pools->per_op = truncated(SECOND_NS / rate_per_s);
    pools_set_size(pools, most(POOL_NS_MIN, truncated((double)pools->per_op * POOL_OPS_MIN)), burst_ratio);
}

int64_t pools_refill(struct pools *pools, int64_t tokens)
{
    const int64_t fits = least(tokens, most(pools->pool - pools->active, 0));
    pools->active += fits;
    pools->waiting += tokens - fits;

    /* The burst pool is filled in proportion: a whole pool of time moves a whole burst pool, ten tenths as much. */
    double share = (double)tokens / (double)pools->pool;
    if (share > 1) share = 1;
    const int64_t paid_back = truncated(share * (double)(pools->over - pools->pool));
    /* Negative after the pools shrank: what is over the top goes back to waiting. */
    const int64_t moved = least(least(pools->over - pools->active, paid_back), pools->waiting);
    pools->waiting -= moved;
    pools->active += moved;
    return pools->active + pools->waiting;
}

int64_t pools_take_up_to(struct pools *pools, int64_t tokens)
{
    const int64_t taken = least(tokens, pools->active);
    pools->active -= taken;
    return taken;
}

bool pools_take(struct pools *pools, int64_t tokens)
{
    if (pools->active < tokens) return false;
    pools->active -= tokens;
    return true;
}

int64_t pools_restart(struct pools *pools)
{
    const int64_t dropped = pools->active + pools->waiting;
    pools->active = 0;
    pools->waiting = 0;
    return dropped;
}
