/* SPDX-License-Identifier: MIT
   From the name of an algorithm to what it answers, and what is asked of all of them alike. */
#include "core/algorithm.h"

#include "core/algorithm/concurrent.h"
#include "core/clock.h"
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

uint64_t algorithm_growth(const struct rule *rule, const struct algorithm *algorithm)
{
    return algorithm->grows == GROWS_STAMPS ? stamps_words(rule) : concurrent_words(rule);
}

void algorithm_align(struct rule *rule, uint64_t now_ns, uint64_t unix_ns)
{
    if (!algorithm_of(rule)->has_epoch) return;
    const uint64_t period_ns = most(rule->period_ns, 1), ours_ns = now_ns % period_ns, unix_at_ns = unix_ns % period_ns;
    rule->offset_ns = unix_at_ns >= ours_ns ? unix_at_ns - ours_ns : period_ns - (ours_ns - unix_at_ns);
}

/* Of a fresh state, with all the time there is. */
bool algorithm_may_pass(const struct rule *rule, uint64_t permits)
{
    static const uint64_t fresh[STATE_WORDS_MAX];
    const uint64_t cost = ticks_of(rule, permits);
    return algorithm_of(rule)->offer(rule, fresh, rule->anchor_tick, cost, WEIR_FOREVER).start != UINT64_MAX;
}

struct taken algorithm_charge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t *extra)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    const struct balance balance = algorithm->balance(rule, state, now);
    const bool has_debt = algorithm->options & WITH(DEBT) && !algorithm_arrives(rule, algorithm);
    const uint64_t debt = has_debt ? rule->debt : algorithm->grows == GROWS_SLOTS ? 0 : UINT64_MAX;
    const uint64_t may_owe = debt == UINT64_MAX ? debt : subtract_to_zero(debt, balance.owed);
    *extra = least(*extra, add_saturating(balance.left, may_owe));
    return algorithm->commit(rule, state, (struct offer){now, now}, *extra);
}

void algorithm_skip(const struct rule *rule, uint64_t *state, uint64_t permits, bool back)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t ticks = least(ticks_of(rule, permits), INT64_MAX);
    if (algorithm->lateness == NULL) return;
    if (algorithm_arrives(rule, algorithm)) {
        const uint64_t end = algorithm_at(rule, algorithm, state, 0).end;
        algorithm->place(rule, state, back ? subtract_to_zero(end, ticks) : add_saturating(end, ticks), true);
    } else {
        algorithm->lateness(rule, state, 0, back ? -(int64_t)ticks : (int64_t)ticks);
    }
}
