/* SPDX-License-Identifier: MIT
   Calls of one limit, or of a list of them, by all threads of a process.

   A call takes no lock except a cell's, or that of a log for more than one permit.  It allocates nothing, unless more
   calls wait than a log can hold, and writes nothing shared but the state itself. */
#include "api/limiter.h"
#include "core/num.h"

__attribute__((noinline)) void limiter_note_late(weir_limiter *limiter, uint64_t late_ns)
{
    limiter_raise(&limiter->late_max_ns, late_ns);
}

static __attribute__((noinline)) void note_begin(weir_limiter *limiter, const weir_decision *decision)
{
    uint64_t none = 0;
    atom_swap(&limiter->begun_ns, &none, most(decision->start.ns - decision->delay_ns, 1));
}

void limiter_count(weir_limiter *limiter, const weir_decision *decision)
{
    const unsigned slot = host_slot();
    struct tally *tally = &limiter->tally[slot];
    const bool mine = slot < HOST_SLOTS;
    if (decision->verdict == WEIR_ALLOW) {
        tally_add(&tally->allowed, mine, 1);
        tally_add(&tally->more, mine, decision->charged - 1);
        if (decision->delay_ns != 0) {
            tally_add(&tally->delayed, mine, 1);
            tally_add(&tally->waiting_ns, mine, decision->delay_ns);
        }
        if (atom_load(&limiter->begun_ns) == 0) note_begin(limiter, decision);
        const int64_t late_ns = (int64_t)(decision->start.ns - decision->due.ns);
        const bool latest = decision->due.ns != 0 && late_ns > (int64_t)atom_load(&limiter->late_max_ns);
        if (latest) limiter_note_late(limiter, (uint64_t)late_ns);
    } else if (decision->verdict != WEIR_STOPPED) {
        tally_add(&tally->denied, mine, 1);
    }
}

void limiter_count_leased(weir_limiter *limiter, uint64_t calls, uint64_t permits)
{
    const unsigned slot = host_slot();
    tally_add(&limiter->tally[slot].allowed, slot < HOST_SLOTS, calls);
    tally_add(&limiter->tally[slot].more, slot < HOST_SLOTS, permits - calls);
}

static weir_decision stopped(uint64_t now_ns)
{
    return (weir_decision){.verdict = WEIR_STOPPED, .start = {now_ns}};
}

static ATOM_INLINE enum limiter_asked ask_homes_once(weir_limiter *limiter, const struct ask *ask,
                                                     weir_decision *decision)
{
    struct log *log = limiter_log(limiter);
    const enum log_answer answer = log == NULL ? LOG_ELSEWHERE : log_decide(log, ask, decision);
    if (answer != LOG_ELSEWHERE) return answer == LOG_HERE ? ASKED : ASKED_FULL;
    const bool here = word_decide(&limiter->word, ask, decision) || cell_decide(&limiter->cell, ask, decision);
    return here ? ASKED : ASKED_CLOSED;
}

/* False if the log is full, see log.h. */
static bool ask_homes(weir_limiter *limiter, const struct ask *ask, weir_decision *decision)
{
    if (limiter_stopped(limiter)) {
        *decision = stopped(ask->now_ns);
        return true;
    }
    for (;;) {
        const enum limiter_asked asked = ask_homes_once(limiter, ask, decision);
        if (asked != ASKED_CLOSED) return asked == ASKED;
        host_yield();
    }
}

/* [under the mutex] Retries with a larger log than the full one, as long as there is memory. */
static void ask_larger(weir_limiter *limiter, const struct log *full, const struct ask *ask, weir_decision *decision)
{
    struct ask rest = *ask;
    uint64_t charged = 0;
    for (bool all = false; !all && limiter_grow_log(limiter, full, ask->now_ns) == 0;) {
        if (ask->charge) charged += decision->charged;
        rest.cost = ask->cost - charged;
        full = limiter_log(limiter);
        all = ask_homes(limiter, &rest, decision);
    }
    decision->charged += charged;
}

static ATOM_INLINE void ask_growing(weir_limiter *limiter, const struct ask *ask, weir_decision *decision)
{
    const struct log *log = limiter_log(limiter); /* may be older than the one that is full */
    if (ask_homes(limiter, ask, decision)) return;
    host_lock(&limiter->mutex);
    ask_larger(limiter, log, ask, decision);
    host_unlock(&limiter->mutex);
}

/* During a pause nothing passes, and its end is unknown; charges were used before it. */
static __attribute__((noinline)) void ask_paused(weir_limiter *limiter, const struct ask *asked,
                                                 weir_decision *decision)
{
    struct ask before = *asked;
    before.now_ns = limiter_stands_ns(limiter, asked->now_ns);
    *decision = (weir_decision){.verdict = WEIR_DENY, .start = {asked->now_ns}, .retry_ns = WEIR_FOREVER};
    if (asked->charge || limiter_stopped(limiter)) ask_growing(limiter, &before, decision);
}

/* The clock is paused.  Only calls on the slow path ask: clock_ends_ns, which every call reads, sends them there. */
static bool stands(const weir_limiter *limiter, uint64_t now_ns)
{
    return now_ns >= atom_load(&limiter->clock_ends_ns) && limiter_paused(limiter);
}

/* Others wait for slots, and this call is behind them: not even what is free is its own.  It is refused as if each of
   them had got a slot before it. */
static __attribute__((noinline)) void ask_behind(weir_limiter *limiter, const struct ask *ask, weir_decision *decision)
{
    *decision = (weir_decision){.verdict = WEIR_DENY, .start = {ask->now_ns}, .retry_ns = 1};
    if (limiter_stopped(limiter)) *decision = stopped(ask->now_ns);
    else cell_refuse_behind(&limiter->cell, ask, turns_waiting(&limiter->turns), decision);
}

static bool is_behind(const weir_limiter *limiter, const struct ask *ask)
{
    return limiter_has_turns(limiter) && !ask->turn && !ask->charge;
}

void limiter_ask(weir_limiter *limiter, const struct ask *asked, weir_decision *decision)
{
    limiter_return_stock(limiter);
    if (stands(limiter, asked->now_ns)) ask_paused(limiter, asked, decision);
    else if (is_behind(limiter, asked)) ask_behind(limiter, asked, decision);
    else ask_growing(limiter, asked, decision);
}

enum limiter_asked limiter_ask_once(weir_limiter *limiter, const struct ask *ask, weir_decision *decision)
{
    if (limiter_stopped(limiter)) *decision = stopped(ask->now_ns);
    else if (stands(limiter, ask->now_ns)) ask_paused(limiter, ask, decision);
    else if (is_behind(limiter, ask)) ask_behind(limiter, ask, decision);
    else return ask_homes_once(limiter, ask, decision);
    return ASKED;
}

static weir_decision ask_and_count(weir_limiter *limiter, const struct ask *ask)
{
    weir_decision decision;
    limiter_renew(limiter, ask->now_ns);
    limiter_ask(limiter, ask, &decision);
    limiter_count(limiter, &decision);
    return decision;
}

/* If an earlier reading of the clock decides the call, the clock is not read again. */
static weir_decision ask_at_last_reading(weir_limiter *limiter, struct ask *ask)
{
    weir_decision decision;
    const bool may = atom_load(&limiter->way) == WAY_UNREAD && !limiter_stopped(limiter);
    if (may && cell_decide_unread(&limiter->cell, ask, &decision)) {
        limiter_count(limiter, &decision);
        return decision;
    }
    ask->now_ns = limiter_now_ns(limiter);
    return ask_and_count(limiter, ask);
}

static __attribute__((noinline)) void begin(weir_limiter *limiter)
{
    host_lock(&limiter->mutex);
    if (atom_load(&limiter->begun_ns) != 0) word_begin(&limiter->word);
    host_unlock(&limiter->mutex);
}

/* False: nothing is done, ask all homes. */
static ATOM_INLINE bool take_from_cell(weir_limiter *limiter, uint64_t now_ns, uint64_t cost, weir_decision *decision)
{
    const bool usual = cell_is_filled(&limiter->cell) && now_ns < atom_load(&limiter->clock_ends_ns);
    if (!usual || limiter_stopped(limiter) || limiter_stocked(limiter) || limiter_has_turns(limiter) ||
        !cell_take(&limiter->cell, now_ns, cost, decision))
        return false;
    limiter_count(limiter, decision);
    return true;
}

/* The slow path.  It notes the decision for one permit: a thread that is refused twice is refused from the note. */
static __attribute__((noinline)) weir_decision take_at(weir_limiter *limiter, uint64_t now_ns, uint64_t cost)
{
    weir_decision decision;
    if (take_from_cell(limiter, now_ns, cost, &decision)) return decision;
    decision = ask_and_count(limiter, &(struct ask){.now_ns = now_ns, .cost = cost});
    if (decision.verdict == WEIR_ALLOW && word_waits_to_begin(&limiter->word)) begin(limiter);
    const unsigned slot = host_slot();
    if (cost == 1 && slot < HOST_SLOTS) word_note(&limiter->tally[slot].note, &decision, now_ns);
    return decision;
}

/* One call in so many notices that the processor's counter has stopped. */
enum { COMPARED_ONCE_IN = 1024 };

static ATOM_INLINE void count_call(struct atom *calls, bool by_counter)
{
    const uint64_t before = tally_add(calls, true, 1);
    if (by_counter && before % COMPARED_ONCE_IN == 0) host_tsc_compare_next();
}

static ATOM_INLINE weir_decision granted_by(struct tally *tally, const struct granted *granted, uint64_t now_ns,
                                            uint64_t cost, bool by_counter)
{
    count_call(&tally->allowed, by_counter);
    tally_add(&tally->more, true, cost - 1);
    return word_granted(granted, now_ns, cost);
}

enum { TAKE_TRIES = 3 };

/* Another thread took the word in between.  Where each call reads a slow clock, threads that try again at once get a
   quarter more.  But only a few times: where calls follow each other closely that would halve it, and the slow path, by
   its length, leaves the line to the other thread for a while. */
static __attribute__((noinline)) weir_decision take_again(weir_limiter *limiter, unsigned slot, uint64_t now_ns,
                                                          uint64_t cost)
{
    struct granted granted;
    for (int i = 0; i < TAKE_TRIES; i++) {
        const uint64_t raw = word_see(&limiter->word);
        if (word_grant(&limiter->word, raw, now_ns, cost, &granted))
            return granted_by(&limiter->tally[slot], &granted, now_ns, cost, false);
        if (word_see(&limiter->word) == raw) break;
    }
    return take_at(limiter, now_ns, cost);
}

/* The fast path.  It builds the decision in the caller's memory: to copy it there would cost as much as the
   compare-and-swap.  A thread that has no index yet takes the slow path, which assigns one. */
static ATOM_INLINE weir_decision take_fast(weir_limiter *limiter, uint64_t now_ns, uint64_t cost, bool by_counter)
{
    const unsigned slot = host_slot_known();
    struct granted granted;
    if (slot >= HOST_SLOTS) return take_at(limiter, now_ns, cost);
    struct tally *tally = &limiter->tally[slot];
    const uint64_t raw = word_see(&limiter->word);
    if (cost == 1 && word_denies(&limiter->word, raw, now_ns, &tally->note)) {
        count_call(&tally->denied, by_counter);
        return word_denied(&tally->note, now_ns);
    }
    if (word_grant(&limiter->word, raw, now_ns, cost, &granted))
        return granted_by(tally, &granted, now_ns, cost, by_counter);
    return word_see(&limiter->word) != raw ? take_again(limiter, slot, now_ns, cost) : take_at(limiter, now_ns, cost);
}

weir_decision weir_take_at(weir_limiter *limiter, weir_instant now, uint64_t cost)
{
    return take_fast(limiter, now.ns, cost, false);
}

/* A function of its own, so that the others need no room for a question. */
static __attribute__((noinline)) weir_decision take_unread(weir_limiter *limiter, uint64_t cost)
{
    return ask_at_last_reading(limiter, &(struct ask){.cost = cost});
}

weir_decision weir_take(weir_limiter *limiter, uint64_t cost)
{
    const uint64_t way = atom_load(&limiter->way);
    uint64_t now_ns;
    if (way == WEIR_CLOCK_TSC && host_tsc_fresh(&now_ns)) return take_fast(limiter, now_ns, cost, true);
    if (way == WAY_UNREAD) return take_unread(limiter, cost);
    return take_fast(limiter, limiter_now_ns(limiter), cost, false);
}

weir_decision weir_take_some(weir_limiter *limiter, uint64_t cost_max)
{
    return ask_and_count(limiter, &(struct ask){.now_ns = limiter_now_ns(limiter), .cost = cost_max, .some = true});
}

weir_decision weir_take_each(weir_limiter *limiter, const uint64_t cost[], uint64_t end[])
{
    return ask_and_count(limiter, &(struct ask){.now_ns = limiter_now_ns(limiter), .each = cost, .end = end});
}

weir_decision weir_reserve(weir_limiter *limiter, uint64_t cost, uint64_t delay_max_ns)
{
    return ask_at_last_reading(limiter, &(struct ask){.wait_max_ns = delay_max_ns, .cost = cost});
}

weir_decision weir_reserve_each(weir_limiter *limiter, const uint64_t cost[], uint64_t end[], uint64_t delay_max_ns)
{
    return ask_and_count(
        limiter,
        &(struct ask){.now_ns = limiter_now_ns(limiter), .wait_max_ns = delay_max_ns, .each = cost, .end = end});
}

weir_decision weir_charge(weir_limiter *limiter, uint64_t cost)
{
    return ask_and_count(limiter, &(struct ask){.now_ns = limiter_now_ns(limiter), .cost = cost, .charge = true});
}

weir_decision weir_peek(weir_limiter *limiter, uint64_t cost)
{
    const struct ask ask = {.now_ns = limiter_now_ns(limiter), .cost = cost, .peek = true};
    weir_decision decision;
    limiter_renew(limiter, ask.now_ns);
    limiter_ask(limiter, &ask, &decision);
    decision.charged = 0;
    return decision;
}

weir_decision weir_peek_limit(weir_limiter *limiter, int limit, uint64_t cost)
{
    const struct ask ask = {.now_ns = limiter_now_ns(limiter), .cost = cost, .peek = true};
    weir_decision decision = {.verdict = WEIR_NEVER, .limit = (uint32_t)limit, .start = {ask.now_ns}};
    if (limit < 0) return decision;
    if (limiter_stopped(limiter)) return stopped(ask.now_ns);
    if (limiter_paused(limiter)) return weir_peek(limiter, cost);
    limiter_renew(limiter, ask.now_ns);
    while (!cell_peek_limit(&limiter->cell, limit, &ask, &decision)) {
        struct log *log = limiter_log(limiter);
        weir_decision of_one;
        const bool in_log = log != NULL && log_decide(log, &ask, &of_one) != LOG_ELSEWHERE;
        const bool here = in_log || word_decide(&limiter->word, &ask, &of_one);
        if (here && limit == 0) decision = of_one;
        if (here) break;
        host_yield();
    }
    decision.charged = 0;
    return decision;
}

/* False if the state is stored elsewhere. */
static bool settle_log(weir_limiter *limiter, uint64_t now_ns, weir_decision *decision, uint64_t actual)
{
    for (bool larger = true; larger;) {
        struct log *log = limiter_log(limiter);
        const enum log_answer answer = log == NULL ? LOG_ELSEWHERE : log_settle(log, now_ns, decision, actual);
        if (answer != LOG_FULL) return answer == LOG_HERE;
        host_lock(&limiter->mutex);
        larger = limiter_grow_log(limiter, log, now_ns) == 0;
        host_unlock(&limiter->mutex);
    }
    return true;
}

void weir_settle_each(weir_limiter *limiter, weir_decision *decision, const uint64_t cost[], const uint64_t actual[],
                      const uint64_t end[])
{
    /* During a pause, as of its beginning: the limit's clock stands. */
    const uint64_t now_ns = limiter_stands_ns(limiter, limiter_now_ns(limiter));
    if (decision->verdict != WEIR_ALLOW || decision->reserved & DECISION_SETTLED) return;
    limiter_return_stock(limiter);
    weir_decision of_one = *decision;
    of_one.charged = cost[0];
    while (!settle_log(limiter, now_ns, &of_one, actual[0]) &&
           !word_settle(&limiter->word, now_ns, &of_one, actual[0]) &&
           !cell_settle(&limiter->cell, now_ns, decision, cost, actual, end)) {
        host_yield();
    }
    turns_wake(&limiter->turns, 0);
    decision->charged = 0;
    decision->reserved |= DECISION_SETTLED;
}

void weir_settle(weir_limiter *limiter, weir_decision *decision, uint64_t actual)
{
    uint64_t charged[WEIR_LIMITS_MAX], used[WEIR_LIMITS_MAX];
    if (decision->reserved & DECISION_EACH) return;
    cost_alike(charged, WEIR_LIMITS_MAX, decision->charged);
    cost_alike(used, WEIR_LIMITS_MAX, actual);
    weir_settle_each(limiter, decision, charged, used, NULL);
}

void weir_cancel(weir_limiter *limiter, weir_decision *decision)
{
    weir_settle(limiter, decision, 0);
}
