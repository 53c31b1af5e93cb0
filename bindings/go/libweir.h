/* SPDX-License-Identifier: MIT
   weir's functions in the form that cgo calls cheaply: plain arguments, and the answer in memory of the caller.
   No void *: cgo looks up at each call what one points to. */
#ifndef LIBWEIR_H
#define LIBWEIR_H

#if defined(__has_include) && !__has_include("weir.h")
#error "libweir: weir.c and weir.h are not here; in a checkout of weir, run: go generate  (in bindings/go)"
#endif
#include "weir.h"

static inline void libweir_decide(const weir_plan *plan, uint64_t *state, uint64_t now_ns, uint64_t cost,
                                  uint64_t wait_max_ns, weir_decision *out)
{
    *out = weir_decide_within(plan, state, (weir_instant){now_ns}, cost, wait_max_ns);
}

static inline void libweir_settle(const weir_plan *plan, uint64_t *state, uint64_t now_ns, weir_decision *decision,
                                  uint64_t actual)
{
    weir_decide_settle(plan, state, (weir_instant){now_ns}, decision, actual);
}

enum { LIBWEIR_TAKE, LIBWEIR_RESERVE, LIBWEIR_CHARGE, LIBWEIR_PEEK, LIBWEIR_SETTLE, LIBWEIR_FORGET };

static inline void libweir_table_call(weir_table *table, int call, const weir_plan *plan, const unsigned char *bytes,
                                      size_t size, uint64_t cost, uint64_t wait_max_ns, weir_decision *decision)
{
    const weir_key key = {bytes, size};
    switch (call) {
    case LIBWEIR_TAKE:
        *decision = weir_table_take(table, plan, key, cost);
        break;
    case LIBWEIR_RESERVE:
        *decision = weir_table_reserve(table, plan, key, cost, wait_max_ns);
        break;
    case LIBWEIR_CHARGE:
        *decision = weir_table_charge(table, plan, key, cost);
        break;
    case LIBWEIR_PEEK:
        *decision = weir_table_peek(table, plan, key, -1, cost);
        break;
    case LIBWEIR_SETTLE:
        weir_table_settle(table, plan, key, decision, cost);
        break;
    default:
        weir_table_forget(table, plan, key);
    }
}

static inline bool libweir_table_hold(weir_table *table, const weir_plan *plan, const unsigned char *bytes, size_t size,
                                      uint64_t id, bool renew)
{
    const weir_key key = {bytes, size};
    return renew ? weir_table_renew(table, plan, key, id) : weir_table_release(table, plan, key, id);
}

/* cost and end: WEIR_LIMITS_MAX each. */
static inline void libweir_table_reserve_each(weir_table *table, const weir_plan *plan, const unsigned char *bytes,
                                              size_t size, const uint64_t *cost, uint64_t *end, uint64_t wait_max_ns,
                                              weir_decision *decision)
{
    *decision = weir_table_reserve_each(table, plan, (weir_key){bytes, size}, cost, end, wait_max_ns);
}

static inline void libweir_table_settle_each(weir_table *table, const weir_plan *plan, const unsigned char *bytes,
                                             size_t size, const uint64_t *cost, const uint64_t *actual,
                                             const uint64_t *end, weir_decision *decision)
{
    weir_table_settle_each(table, plan, (weir_key){bytes, size}, decision, cost, actual, end);
}

/* A tenant's ask and its parent's: plans, keys that follow each other in bytes, decisions; count is 1 or 2. */
static inline void libweir_table_take_all(weir_table *table, const weir_plan *first, const weir_plan *second,
                                          const unsigned char *bytes, const size_t *size, size_t count, uint64_t cost,
                                          weir_decision *decisions)
{
    weir_ask asks[2] = {{.plan = first, .key = {bytes, size[0]}, .cost = cost},
                        {.plan = second, .key = {bytes + size[0], size[1]}, .cost = cost}};
    weir_table_take_all(table, asks, count, weir_now());
    for (size_t i = 0; i < count; i++) decisions[i] = asks[i].decision;
}

/* The keys follow each other in bytes. */
static inline void libweir_table_take_batch(weir_table *table, const weir_plan *plan, const unsigned char *bytes,
                                            const size_t *size, size_t count, uint64_t cost, weir_decision *decisions)
{
    enum { PART = 64 };
    weir_ask asks[PART];
    const weir_instant now = weir_now();
    for (size_t done = 0; done < count;) {
        const size_t part = count - done < PART ? count - done : PART;
        for (size_t i = 0; i < part; i++) {
            asks[i] = (weir_ask){.plan = plan, .key = {bytes, size[done + i]}, .cost = cost};
            bytes += size[done + i];
        }
        weir_table_take_batch(table, asks, part, now);
        for (size_t i = 0; i < part; i++) decisions[done + i] = asks[i].decision;
        done += part;
    }
}

#endif
