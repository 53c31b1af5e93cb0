/* SPDX-License-Identifier: MIT
   The literal limiter that nosqlbench has today: its design note's three pools, in ticks that are scaled to
   the rate.

   A tick is 1 ns above a rate of 1/s, 1 us above 0.001/s, 1 ms above 0.000001/s, else 1 s; an operation costs a whole
   number of them, cut off.  A filler pours the ticks that have passed, and what is less than a tick is lost:

       time -> ticks -> active (to 10^9) -> waiting -> active (to over), a share of the burst pool for each fill
                           |
                           an operation takes its ticks when all of them are there

   Of a long time 2^31 - 1 ns are poured at most, and the rest waits at once.  The arithmetic is the original's, in
   doubles and cut, because its sizes are part of its answers; what is beyond 64 bits saturates. */
#include "peers/simrate.h"

enum { SECOND_NS = 1000000000, US_NS = 1000, MS_NS = 1000000 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Cut towards zero; what is no number, or below it, is 0. */
static int64_t cut(double value)
{
    if (!(value > 0)) return 0;
    return value < 0x1p62 ? (int64_t)value : INT64_C(1) << 62;
}

static int64_t add(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

void simrate_set_rate(struct simrate *simrate, double rate_per_s, double burst_ratio)
{
    simrate->tick_ns = SECOND_NS;
    if (rate_per_s > 1) simrate->tick_ns = 1;
    else if (rate_per_s > 0.001) simrate->tick_ns = US_NS;
    else if (rate_per_s > 0.000001) simrate->tick_ns = MS_NS;
    const int64_t per_s = SECOND_NS / simrate->tick_ns;
    simrate->per_op = cut((double)per_s / rate_per_s);
    simrate->over = cut(SIMRATE_POOL * burst_ratio);
    simrate->active = simrate->per_op;
    simrate->waiting = 0;
}

static void pour(struct simrate *simrate, int64_t ticks)
{
    const int64_t fits = least(ticks, most(SIMRATE_POOL - simrate->active, 0));
    simrate->active += fits;
    simrate->waiting = add(simrate->waiting, ticks - fits);
    double share = (double)ticks / SIMRATE_POOL;
    if (share > 1) share = 1;
    const int64_t paid_back = (int64_t)(share * (double)(simrate->over - SIMRATE_POOL));
    const int64_t moved = least(least(simrate->over - simrate->active, paid_back), simrate->waiting);
    simrate->active += most(moved, 0);
    simrate->waiting -= most(moved, 0);
}

void simrate_refill(struct simrate *simrate, uint64_t now_ns)
{
    const uint64_t passed_ns = now_ns > simrate->filled_ns ? now_ns - simrate->filled_ns : 0;
    const uint64_t poured_ns = passed_ns < INT32_MAX ? passed_ns : INT32_MAX;
    simrate->filled_ns = now_ns;
    const uint64_t waits = (passed_ns - poured_ns) / (uint64_t)simrate->tick_ns;
    simrate->waiting = add(simrate->waiting, waits < INT64_MAX ? (int64_t)waits : INT64_MAX);
    pour(simrate, (int64_t)poured_ns / simrate->tick_ns);
}

bool simrate_take(struct simrate *simrate, int64_t operations)
{
    const int64_t room = most(simrate->active, 0);
    const bool fits = simrate->per_op == 0 || operations <= room / simrate->per_op;
    if (fits) simrate->active -= operations * simrate->per_op;
    return fits;
}

int64_t simrate_total(const struct simrate *simrate)
{
    return add(simrate->waiting, simrate->active);
}
