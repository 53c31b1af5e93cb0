/* weir/lease.h - the fast path of a lease, compiled into its callers.  Part of weir.h, which includes it.
   SPDX-License-Identifier: MIT */
#ifndef WEIR_LEASE_H
#define WEIR_LEASE_H

#include <weir/weir.h>

struct weir_lease {    /* 64 bytes, a cache line; this layout is frozen: programs have it compiled in */
    uint64_t left;     /* permits that may start now */
    uint64_t last_ns;  /* scheduled start of the last of them */
    uint64_t step;     /* from one start to the next, in 2^-16 ns */
    uint64_t end;      /* as in a decision, of the last of them */
    uint64_t scale;    /* each permit adds 2^scale to end */
    uint64_t calls;    /* since the last refill; not beside left, or compilers merge the two stores into one */
    uint64_t reserved; /* internal */
    void *inside;
};

/* For a cost of at most left.  Assigns each field: no initializer is valid in C and in C++ without a warning. */
static inline weir_decision weir_lease_spend(weir_lease *lease, uint64_t cost)
{
    weir_decision decision;
    const uint64_t left = lease->left - cost;
    lease->left = left;
    lease->calls++;
    decision.verdict = WEIR_ALLOW;
    decision.limit = 0;
    decision.start.ns = lease->last_ns - (left * lease->step >> 16);
    decision.delay_ns = 0;
    decision.retry_ns = 0;
    decision.end = lease->end - (left << lease->scale);
    decision.remaining = left;
    decision.charged = cost;
    decision.reserved = lease->reserved;
    return decision;
}

/* A cost of 0 wraps to the largest number, so it goes to the limiter. */
static inline weir_decision weir_lease_take(weir_lease *lease, uint64_t cost)
{
    return cost - 1 < lease->left ? weir_lease_spend(lease, cost) : weir_lease_renew(lease, cost);
}

static inline weir_decision weir_lease_take_wait(weir_lease *lease, uint64_t cost, uint64_t wait_max_ns)
{
    return cost - 1 < lease->left ? weir_lease_spend(lease, cost) : weir_lease_renew_wait(lease, cost, wait_max_ns);
}

#endif
