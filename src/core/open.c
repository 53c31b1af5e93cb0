/* SPDX-License-Identifier: MIT
   The two limits without a rate: `unlimited` lets everything through, `none` lets nothing.  They have no state. */
#include "core/algorithm.h"

#include "core/num.h"

static struct limit_problem open_compile(struct limit *limit, struct rule *rule)
{
    (void)limit;
    limit_plain_clock(rule);
    return limit_fine();
}

static uint64_t at_any_time(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)state;
    return now;
}

static struct offer offer_all(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                              uint64_t wait_ns)
{
    (void)rule;
    (void)state;
    (void)cost;
    (void)wait_ns;
    return (struct offer){now, now};
}

static struct taken commit_all(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    (void)rule;
    (void)state;
    (void)at;
    (void)cost;
    return (struct taken){start, UINT64_MAX};
}

static struct balance balance_all(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)state;
    (void)now;
    return (struct balance){UINT64_MAX, 0, false};
}

static struct offer offer_none(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                               uint64_t wait_ns)
{
    return cost == 0 ? offer_all(rule, state, now, cost, wait_ns) : (struct offer){now, UINT64_MAX};
}

static struct taken commit_none(const struct rule *rule, uint64_t *state, uint64_t at, uint64_t start, uint64_t cost)
{
    return (struct taken){commit_all(rule, state, at, start, cost).end, 0};
}

static struct balance balance_none(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)state;
    (void)now;
    return (struct balance){0, 0, false};
}

const struct algorithm *unlimited_algorithm(void)
{
    static const struct algorithm unlimited = {.name = "unlimited",
                                               .compile = open_compile,
                                               .offer = offer_all,
                                               .commit = commit_all,
                                               .balance = balance_all,
                                               .idle = at_any_time};
    return &unlimited;
}

const struct algorithm *none_algorithm(void)
{
    static const struct algorithm none = {.name = "none",
                                          .compile = open_compile,
                                          .offer = offer_none,
                                          .commit = commit_none,
                                          .balance = balance_none,
                                          .idle = at_any_time};
    return &none;
}
