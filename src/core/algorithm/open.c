/* SPDX-License-Identifier: MIT
   The two limits without a rate: `unlimited` lets everything through, `none` lets nothing.  They have no state. */
#include "core/algorithm.h"

#include "core/num.h"

static bool lets_all(const struct rule *rule)
{
    return rule->algorithm == ALGORITHM_UNLIMITED;
}

static struct limit_problem open_compile(struct limit *limit, struct rule *rule)
{
    limit_plain_clock(rule);
    return limit_check_weight(limit);
}

static struct offer open_offer(const struct rule *rule, const uint64_t *state, uint64_t now, uint64_t cost,
                               uint64_t wait_ns)
{
    (void)state;
    (void)wait_ns;
    return (struct offer){now, cost == 0 || lets_all(rule) ? now : UINT64_MAX};
}

static struct taken open_commit(const struct rule *rule, uint64_t *state, struct offer when, uint64_t cost)
{
    (void)state;
    (void)cost;
    return (struct taken){when.start, lets_all(rule) ? UINT64_MAX : 0};
}

static struct balance open_balance(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)state;
    (void)now;
    return (struct balance){lets_all(rule) ? UINT64_MAX : 0, 0, false};
}

static uint64_t open_idle(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)state;
    return now;
}

#define OPEN_ANSWERS                                                                                                   \
    .compile = open_compile, .offer = open_offer, .commit = open_commit, .balance = open_balance, .idle = open_idle

const struct algorithm *unlimited_algorithm(void)
{
    static const struct algorithm unlimited = {.name = "unlimited", .options = WITH(WEIGHT), OPEN_ANSWERS};
    return &unlimited;
}

const struct algorithm *none_algorithm(void)
{
    static const struct algorithm none = {.name = "none", OPEN_ANSWERS};
    return &none;
}
