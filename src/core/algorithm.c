/* SPDX-License-Identifier: MIT
   algorithm.c - from a name to what it answers, and the answers that several give.

   May touch: its arguments.  Promises: an answer for every value.  Leaves to others: all other answers. */
#include "core/algorithm.h"

#include "core/num.h"

const struct algorithm *algorithm_named(unsigned name)
{
    switch (name) {
#define ALGORITHM_CASE(name, file, number)                                                                             \
    case ALGORITHM_##name:                                                                                             \
        return file##_algorithm();
        ALGORITHMS(ALGORITHM_CASE)
#undef ALGORITHM_CASE
    default:
        return NULL;
    }
}

const struct algorithm *algorithm_of(const struct rule *rule)
{
    const struct algorithm *algorithm = algorithm_named(rule->algorithm);
    return algorithm != NULL ? algorithm : none_algorithm();
}

void align_to_epoch(struct rule *rule, uint64_t now_ns, uint64_t unix_ns)
{
    const uint64_t period_ns = most(rule->period_ns, 1), ours_ns = now_ns % period_ns, unix_at_ns = unix_ns % period_ns;
    rule->offset_ns = unix_at_ns >= ours_ns ? unix_at_ns - ours_ns : period_ns - (ours_ns - unix_at_ns);
}

uint64_t full_at_end(const struct rule *rule, const weir_decision *decision, uint64_t now)
{
    (void)rule;
    return most(decision->end, now);
}

uint64_t started(const struct rule *rule, const uint64_t *state, uint64_t end, uint64_t cost)
{
    (void)rule;
    (void)state;
    (void)end;
    (void)cost;
    return 0;
}

bool nobody_waits(const struct rule *rule, const uint64_t *state, uint64_t now)
{
    (void)rule;
    (void)state;
    (void)now;
    return false;
}
