/* SPDX-License-Identifier: MIT
   Mistakes that one could make with permits that are out, kept so that the model checker has to find them.

   Each function is right when nobody else is at the word, or nothing is out.  Of gcra only.

   One mistake each, named in the header. */
#include "planted_lease.h"

#include "core/algorithm.h"
#include "core/algorithm/gcra_inline.h"
#include "core/clock.h"
#include "core/decide.h"

struct mistake {
    bool without_hold, own_not_out, lowered_early, raised_late, raised_last, out_first, any_height, promises;
};

static void give_back(const struct rule *rule, uint64_t *state, const struct trade *trade)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t now = tick_at(rule, trade->now_ns), unused = ticks_of(rule, trade->unused);
    const bool waited = algorithm->balance(rule, state, now).waits;
    if (rule->generation != trade->generation) return;
    if (waited && algorithm_at(rule, algorithm, state, now).end != trade->end) return;
    algorithm->give_back(rule, state, now, &(struct slot){now, UINT64_MAX, unused, false}, unused);
}

static struct lease_slice traded(struct mistake mistake, const struct rule *rule, uint64_t *state,
                                 const struct trade *trade, uint64_t out)
{
    const uint64_t others = subtract_to_zero(out, trade->held), burst = permits_floor(rule, rule->burst);
    const uint64_t most = least(trade->want, subtract_to_zero(burst, others + 1)), now = tick_at(rule, trade->now_ns);
    if (!mistake.without_hold) lease_hold(rule, state, trade->now_ns, mistake.own_not_out ? others : out);
    if (trade->unused != 0) give_back(rule, state, trade);
    if (most < SLICE_LEAST) return (struct lease_slice){.generation = rule->generation};
    const struct stretch slice = algorithm_of(rule)->slice(rule, state, now, now, most);
    return (struct lease_slice){.permits = slice.permits,
                                .first_ns = trade->now_ns,
                                .last_ns = trade->now_ns,
                                .end = slice.end,
                                .generation = rule->generation,
                                .scale = rule->scale};
}

static bool trade_with(struct mistake mistake, struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    const uint64_t read_first = mistake.out_first ? atom_load(&word->out) : 0;
    uint64_t told = trade->held, raw = atom_load_acquire(&word->value);
    for (bool done = false; !done;) {
        const struct rule rule = planted_rule(word->rule);
        uint64_t value = word_value(raw);
        const uint64_t out = mistake.out_first ? read_first : atom_load(&word->out) - (told - trade->held);
        const uint64_t highest = mistake.any_height ? 0 : atom_load(&word->high);
        struct trade may = *trade;
        if (most(value, tick_at(&rule, trade->now_ns)) < highest) may.want = least(trade->want, trade->held);
        *slice = traded(mistake, &rule, &value, &may, out);
        if (slice->permits > told && !mistake.raised_late) {
            lease_more(&word->out, slice->permits - told);
            told = slice->permits;
            if (!mistake.raised_last) {
                raw = atom_load_acquire(&word->value);
                continue;
            }
        }
        if (slice->permits < told && mistake.lowered_early) {
            lease_fewer(&word->out, told - slice->permits);
            told = slice->permits;
        }
        if (value < word_value(raw)) planted_raise_high(word, word_value(raw));
        done = atom_swap(&word->value, &raw, value);
    }
    if (told < slice->permits) lease_more(&word->out, slice->permits - told);
    if (told > slice->permits) lease_fewer(&word->out, told - slice->permits);
    return true;
}

bool planted_trade_without_hold(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    return trade_with((struct mistake){.without_hold = true}, word, trade, slice);
}

bool planted_trade_own_not_out(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    return trade_with((struct mistake){.own_not_out = true}, word, trade, slice);
}

bool planted_trade_lowered_early(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    return trade_with((struct mistake){.lowered_early = true}, word, trade, slice);
}

bool planted_trade_raised_late(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    return trade_with((struct mistake){.raised_late = true}, word, trade, slice);
}

bool planted_trade_out_first(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    return trade_with((struct mistake){.out_first = true}, word, trade, slice);
}

bool planted_trade_raised_last(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    return trade_with((struct mistake){.raised_last = true}, word, trade, slice);
}

bool planted_trade_any_height(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    return trade_with((struct mistake){.any_height = true}, word, trade, slice);
}

/* now_ns NULL: as asked. */
static bool decide_with(struct mistake mistake, const struct atom *now_ns, struct word *word, const struct ask *ask,
                        weir_decision *decision)
{
    uint64_t out = mistake.out_first ? atom_load(&word->out) : 0;
    uint64_t raw = atom_load_acquire(&word->value);
    for (;;) {
        const struct rule rule = planted_rule(word->rule);
        uint64_t value = word_value(raw);
        if (!mistake.out_first && !mistake.without_hold) out = atom_load(&word->out);
        const uint64_t at_ns = now_ns == NULL ? ask->now_ns : atom_load(now_ns);
        lease_hold(&rule, &value, at_ns, out);
        const uint64_t cost =
            ask->some ? decide_passing((struct rules){&rule, 1}, &value, at_ns, ask->cost) : ask->cost;
        const uint64_t wait_max_ns = mistake.promises ? ask->wait_max_ns : lease_wait_max_ns(&rule, out, ask);
        const struct question question = {at_ns, wait_max_ns, &cost, false};
        decide((struct rules){&rule, 1}, &value, &question, NULL, decision);
        if (decision->verdict != WEIR_ALLOW) return true;
        if (atom_swap(&word->value, &raw, value)) return true;
    }
}

bool planted_decide_without_hold(struct word *word, const struct ask *ask, weir_decision *decision)
{
    return decide_with((struct mistake){.without_hold = true}, NULL, word, ask, decision);
}

bool planted_decide_out_first(struct word *word, const struct ask *ask, weir_decision *decision)
{
    return decide_with((struct mistake){.out_first = true}, NULL, word, ask, decision);
}

bool planted_decide_promises(struct word *word, const struct ask *ask, weir_decision *decision)
{
    return decide_with((struct mistake){.promises = true}, NULL, word, ask, decision);
}

bool planted_decide_clock_last(struct word *word, const struct atom *now_ns, const struct ask *ask,
                               weir_decision *decision)
{
    return decide_with((struct mistake){.without_hold = false}, now_ns, word, ask, decision);
}

bool planted_grant_beside_leases(struct word *word, uint64_t raw, uint64_t now_ns, uint64_t cost,
                                 struct granted *granted)
{
    const struct rule rule = planted_rule(word->rule);
    const uint64_t now = tick_at(&rule, now_ns);
    if (word_value(raw) == 0) return false;
    const uint64_t drained = gcra_drained_after(&rule, word_value(raw), now, ticks_of(&rule, cost));
    if (!gcra_passes(&rule, now, drained)) return false;
    *granted = (struct granted){drained, gcra_room(&rule, now, drained), (uint64_t)rule.scale << 32 | rule.generation};
    return atom_swap(&word->value, &raw, drained);
}

bool planted_grant_out_first(struct word *word, uint64_t seen, uint64_t now_ns, uint64_t cost, struct granted *granted)
{
    if (atom_load(&word->out) != 0) return false;
    return seen != 0 && planted_grant_beside_leases(word, word_see(word), now_ns, cost, granted);
}

static bool settle_with(bool holds, struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (;;) {
        const struct rule rule = planted_rule(word->rule);
        uint64_t value = word_value(raw);
        const bool foreign = rule.generation != (uint32_t)decision->reserved;
        if (holds) lease_hold(&rule, &value, now_ns, atom_load(&word->out));
        decide_settle((struct rules){&rule, !foreign}, &value, now_ns, decision, &decision->charged, &actual,
                      &decision->end);
        planted_raise_high(word, word_value(raw));
        if (atom_swap(&word->value, &raw, value)) return true;
    }
}

bool planted_settle_without_hold(struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual)
{
    return settle_with(false, word, now_ns, decision, actual);
}

bool planted_settle_beside_leases(struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual)
{
    return settle_with(true, word, now_ns, decision, actual);
}
