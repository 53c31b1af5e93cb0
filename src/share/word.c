/* SPDX-License-Identifier: MIT
   Load, decide, compare and swap: one loop for every limit whose state is one word.

   A caller copies the rule without a lock.  A change may tear the copy, but then the word has moved on, and because no
   value ever comes back the swap fails.  So a change needs no freeze, no epoch and no memory reclamation.  It takes two
   steps, and between them the state belongs to the setter:

       close    swap v -> closed, above all;          again if it moved
       open     rule := to, clock above all;          store v'
       caller   v := word, or elsewhere if closed;  copy rule;  decide;   ALLOW: swap v -> v'     else again
                                                                          DENY:  counts if the word is still v

   A thread that lowers the value first raises `high`; otherwise a later change could set its clock below a value that
   was there.  Numbering starts again only when clocks have run through 2^61 ticks, which takes decades. */
#include "share/word.h"

#include "core/clock.h"
#include "core/decide_inline.h"

enum { WORD_BACK_OFF_AFTER = 2, WORD_BACK_OFF_MAX = 32 };

static const uint64_t CLOCK_MAX = UINT64_C(1) << 61;

/* Word by word, without a loop: this is the hot path, and wider loads would wait for these stores. */
static union rule_words copy_rule(const struct word *word)
{
    const struct atom *from = word->rule;
    union rule_words copy;
    copy.word[0] = atom_load(&from[0]);
    copy.word[1] = atom_load(&from[1]);
    copy.word[2] = atom_load(&from[2]);
    copy.word[3] = atom_load(&from[3]);
    copy.word[4] = atom_load(&from[4]);
    copy.word[5] = atom_load(&from[5]);
    copy.word[6] = atom_load(&from[6]);
    copy.word[7] = atom_load(&from[7]);
    return copy;
}

/* Released, so that a thread that still copies the rule that was here, and meets one of these words, sees at its second
   look that the value has moved: a denial is not followed by a swap, which would fail. */
static void store_rule(struct word *word, const struct rule *rule)
{
    const union rule_words from = {.rule = *rule};
    for (int i = 0; i < RULE_WORDS; i++) atom_store_release(&word->rule[i], from.word[i]);
}

/* What passes so soon after the anchor fits a word, burst and all, before the limit's clock has to be set again. */
static uint64_t near_ns_of(const struct rule *rule)
{
    const uint64_t last = least(CLOCK_MAX, subtract_to_zero(WORD_VALUE_MAX, rule->burst));
    return subtract_to_zero(ns_ceil(rule, last), rule->anchor_ns);
}

/* A grant under these fails at its swap if the word has moved on; a denial is right for the moment when the word was
   read. */
static void store_fast(struct word *word, const struct rule *rule)
{
    struct word_fast *fast = &word->fast;
    const bool gcra = rule->algorithm == ALGORITHM_GCRA;
    const unsigned up = (64 - rule->shift) & 63;
    atom_store(&fast->kind, (uint64_t)(rule->scale & 63) << 32 | rule->generation);
    atom_store(&fast->anchor_ns, rule->anchor_ns);
    atom_store(&fast->anchor_tick, rule->anchor_tick);
    atom_store(&fast->whole, up == 0 ? 0 : rule->multiplier >> (64 - up));
    atom_store(&fast->fraction, rule->multiplier << up);
    atom_store(&fast->burst, rule->burst);
    atom_store(&fast->permits, 0);
    atom_store(&fast->near_ns, gcra ? subtract_to_zero(near_ns_of(rule), 1) : 0);
}

/* Contention costs less when losers back off; the first failure is often chance.  On two cores this gains a factor of
   two, which does not depend much on the constants. */
static void word_back_off(unsigned failures)
{
    if (failures < WORD_BACK_OFF_AFTER) return;
    const unsigned pauses = failures < 6 ? 1U << (failures - 1) : WORD_BACK_OFF_MAX;
    for (unsigned i = 0; i < pauses; i++) atom_pause();
}

void word_make(struct word *word)
{
    *word = (struct word){.value = {WORD_CLOSED}};
}

bool word_read(struct word *word, struct rule *rule, uint64_t *value)
{
    uint64_t raw;
    do {
        raw = atom_load_acquire(&word->value);
        *rule = copy_rule(word).rule;
    } while (!word_unchanged(word, raw));
    *value = word_value(raw);
    return !word_is_closed(raw);
}

static void decide_one(const struct rule *rule, uint64_t *value, const struct ask *ask, uint64_t wait_max_ns,
                       weir_decision *decision)
{
    const struct rules rules = {rule, 1};
    uint64_t cost = ask->each != NULL ? ask->each[0] : ask->cost;
    if (ask->some) cost = decide_passing(rules, value, ask->now_ns, cost);
    const struct question question = {ask->now_ns, wait_max_ns, &cost, ask->peek};
    if (ask->charge) decide_charge(rules, value, ask->now_ns, &cost, decision);
    else decide_inline(rules, value, &question, ask->end, decision);
    if (*value > WORD_VALUE_MAX) *decision = (weir_decision){.verdict = WEIR_DENY, .retry_ns = WEIR_FOREVER};
}

bool word_decide(struct word *word, const struct ask *ask, weir_decision *decision)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (unsigned failures = 0;; word_back_off(++failures)) {
        if (word_is_closed(raw)) return false;
        const union rule_words copy = copy_rule(word);
        uint64_t value = raw;
        const uint64_t out = atom_load(&word->out);
        uint64_t wait_max_ns = ask->wait_max_ns;
        if (out != 0) {
            lease_hold(&copy.rule, &value, ask->now_ns, out);
            wait_max_ns = lease_wait_max_ns(&copy.rule, out, ask);
        }
        if (ask->undo != NULL) ask->undo->before[0][0] = value;
        decide_one(&copy.rule, &value, ask, wait_max_ns, decision);
        if (ask->undo != NULL) ask->undo->after[0][0] = value;
        const bool writes = decision->verdict == WEIR_ALLOW && !ask->peek && value != raw;
        if (writes ? atom_swap(&word->value, &raw, value) : word_unchanged(word, raw)) return true;
        if (!writes) raw = atom_load_acquire(&word->value);
    }
}

static void raise_high(struct word *word, uint64_t value)
{
    uint64_t high = atom_load(&word->high);
    while (high < value && !atom_swap_relaxed(&word->high, &high, value)) continue;
}

bool word_settle(struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual)
{
    uint64_t raw = atom_load_acquire(&word->value);
    for (unsigned failures = 0;; word_back_off(++failures)) {
        if (word_is_closed(raw)) return false;
        const struct rule rule = copy_rule(word).rule;
        uint64_t value = raw;
        if (actual < decision->charged) atom_fence_full(); /* see word_trade's */
        const uint64_t out = atom_load(&word->out);
        /* Decided before the limit was changed: its ticks mean nothing now, so nothing is given back.  Nor is it while
           permits are out, see lease.c. */
        const bool foreign = rule.generation != (uint32_t)decision->reserved;
        const bool keep = (foreign || out != 0) && actual < decision->charged;
        const struct rules rules = {&rule, !keep};
        if (!keep) lease_hold(&rule, &value, now_ns, out);
        decide_settle(rules, &value, now_ns, decision, &decision->charged, &actual, &decision->end);
        if (value > WORD_VALUE_MAX) value = WORD_VALUE_MAX;
        if (value < raw) raise_high(word, raw);
        const bool writes = value != raw;
        if (writes ? atom_swap(&word->value, &raw, value) : word_unchanged(word, raw)) return true;
        if (!writes) raw = atom_load_acquire(&word->value);
    }
}

/* True if the value was never higher.  A thread that read an earlier value, with fewer permits out, must not meet it
   again. */
static bool at_its_highest(const struct word *word, const struct rule *rule, uint64_t value, uint64_t now_ns)
{
    return most(value, tick_at(rule, now_ns)) >= atom_load(&word->high);
}

bool word_trade(struct word *word, const struct trade *trade, struct lease_slice *slice)
{
    uint64_t told = trade->held, raw = atom_load_acquire(&word->value);
    bool here;
    for (unsigned failures = 0;; word_back_off(++failures)) {
        here = !word_is_closed(raw);
        if (!here) break;
        const struct rule rule = copy_rule(word).rule;
        uint64_t value = raw;
        const uint64_t out = subtract_to_zero(atom_load(&word->out), told - trade->held);
        struct trade may = *trade;
        if (!at_its_highest(word, &rule, value, trade->now_ns)) may.want = least(trade->want, trade->held);
        *slice = lease_trade(&rule, &value, &may, out);
        if (value > WORD_VALUE_MAX) {
            slice->permits = 0;
            value = raw;
        }
        if (slice->permits > told) {
            lease_more(&word->out, slice->permits - told);
            told = slice->permits;
            atom_fence_full(); /* a thread that does not see this has read the word before it is read again */
            raw = atom_load_acquire(&word->value);
            continue;
        }
        if (value < raw) raise_high(word, raw);
        const bool writes = value != raw;
        if (writes ? atom_swap(&word->value, &raw, value) : word_unchanged(word, raw)) break;
        if (!writes) raw = atom_load_acquire(&word->value);
    }
    const uint64_t kept = here ? slice->permits : trade->held;
    if (told > kept) lease_fewer(&word->out, told - kept);
    return here;
}

/* No value that the word of this limiter ever had is above this. */
static uint64_t word_highest(const struct word *word, uint64_t value)
{
    return most(value, atom_load(&word->high));
}

void word_close(struct word *word, struct rule *rule, uint64_t *value)
{
    uint64_t raw = atom_load_acquire(&word->value), above;
    *rule = copy_rule(word).rule;
    do {
        above = least(word_highest(word, word_value(raw)) + 1, WORD_VALUE_MAX);
    } while (!atom_swap_acquire(&word->value, &raw, WORD_CLOSED | above));
    *value = word_value(raw);
}

uint64_t word_anchor(const struct word *word)
{
    const uint64_t last = word_highest(word, word_value(atom_load(&word->value)));
    return last >= CLOCK_MAX ? 1 : last + 1;
}

/* As for a zeroed state, but never 0: a value does not come back. */
static uint64_t fresh(const struct rule *rule)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t untouched = 0;
    return algorithm->words == 1 ? algorithm_at(rule, algorithm, &untouched, rule->anchor_tick).end : rule->anchor_tick;
}

void word_open_with(struct word *word, const struct rule *rule, uint64_t value)
{
    const uint64_t begins = value != 0 ? value : fresh(rule);
    store_rule(word, rule);
    store_fast(word, rule);
    atom_store(&word->high, rule->anchor_tick);
    atom_store_release(&word->value, least(begins, WORD_VALUE_MAX));
}

void word_begin(struct word *word)
{
    struct rule rule;
    uint64_t value;
    if (word_read(word, &rule, &value)) atom_store(&word->fast.permits, permits_floor(&rule, rule.burst));
}

void word_slow_down(struct word *word)
{
    atom_store(&word->fast.near_ns, 0);
}
