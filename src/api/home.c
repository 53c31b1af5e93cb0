/* SPDX-License-Identifier: MIT
   Where the state of a limiter is stored: in its word, its log or its cell.

   At most one of them is open.  A caller does not know which: it tries each of them, and if none is open, all of them
   again.  That is the gate that a change closes: then the state is plain memory of the setter, which may change it
   without synchronization until it opens a home again, the same or another one. */
#include "api/limiter.h"
#include "core/clock.h"
#include "core/num.h"

/* The most waiting calls that a log can hold: 32 MB of them. */
enum { WAITING_MAX = 1 << 22 };

/* ---- reading ---- */

static bool word_is_open(const weir_limiter *limiter)
{
    return !word_is_closed(atom_load_acquire(&limiter->word.value));
}

static bool log_is_home(const weir_limiter *limiter)
{
    const struct log *log = limiter_log(limiter);
    return log != NULL && log_is_open(log);
}

bool home_is_open(const weir_limiter *limiter)
{
    return word_is_open(limiter) || log_is_home(limiter) || cell_is_filled(&limiter->cell);
}

void limiter_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context), void *context)
{
    for (;;) {
        struct cell_content of_word = {.count = 1};
        uint64_t value;
        const bool here = word_read(&limiter->word, &of_word.rule[0], &value);
        of_word.state = &value;
        if (here) look(&of_word, context);
        if (here || cell_look(&limiter->cell, look, context) || log_is_home(limiter)) return;
        host_yield();
    }
}

void home_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context), void *context)
{
    struct cell_content of_log = {.rule = {plan_inside_const(&limiter->plan)->rule[0]}, .count = 1};
    if (limiter->home == HOME_LOG) look(&of_log, context);
    else limiter_look(limiter, look, context);
}

void limiter_shift(weir_limiter *limiter, uint64_t permits, const uint64_t each[], bool back)
{
    while (!cell_shift(&limiter->cell, permits, each, back) && !word_is_open(limiter) && !log_is_home(limiter))
        host_yield();
}

/* ---- memory ---- */

/* True for one limit whose state is a word or nothing. */
static bool fits_word(const struct plan *plan)
{
    const struct algorithm *algorithm = algorithm_of(&plan->rule[0]);
    return plan->count == 1 && state_words(&plan->rule[0], algorithm) <= 1 && algorithm->refused == NULL;
}

enum home home_of(const struct plan *plan)
{
    if (plan->count == 1 && log_fits(&plan->rule[0])) return HOME_LOG;
    if (plan_has_profile(plan)) return HOME_CELL; /* which is read under its lock only */
    return fits_word(plan) ? HOME_WORD : HOME_CELL;
}

/* Makes a closed log with this capacity.  Each is at least twice as large as the one before, or made months after it:
   so the ones that a caller may still be reading are kept until the limiter is closed, chained to the next one. */
static struct log *make_log(const weir_limiter *limiter, uint64_t capacity, uint64_t now_ns)
{
    struct log *log = host_allocate(log_size(capacity));
    if (log == NULL) return NULL;
    log_make(log, capacity, now_ns, host_yield);
    log->older = limiter_log(limiter);
    return log;
}

static uint64_t cell_state_bytes(const struct plan *plan)
{
    return (uint64_t)decide_words_before(plan_rules(plan), (int)plan->count) * sizeof(uint64_t);
}

/* A profile is behind the state. */
static uint64_t cell_bytes(const struct plan *plan)
{
    return cell_state_bytes(plan) + (plan_has_profile(plan) ? sizeof(struct profile) : 0);
}

uint64_t limiter_bytes(const struct plan *plan)
{
    const enum home home = home_of(plan);
    const uint64_t log = home == HOME_LOG ? log_size(log_capacity(plan->rule[0].burst)) : 0;
    return sizeof(weir_limiter) + (home == HOME_CELL ? cell_bytes(plan) : log);
}

struct home_room home_make_room(const weir_limiter *limiter, const struct plan *plan, uint64_t now_ns)
{
    const enum home home = home_of(plan);
    struct home_room room = {.home = home};
    if (home == HOME_CELL) {
        room.state = host_allocate(cell_bytes(plan));
        room.failed = room.state == NULL;
        if (!room.failed && plan_has_profile(plan)) {
            room.profile = (struct profile *)(void *)((char *)room.state + cell_state_bytes(plan));
            plan_make_profile(plan, room.profile);
        }
    }
    if (home == HOME_LOG) {
        const struct log *log = limiter_log(limiter);
        const uint64_t capacity = log_capacity(plan->rule[0].burst);
        const bool small = log == NULL || log->mask + 1 < capacity, old = log != NULL && now_ns >= log_ends_ns(log);
        if (small || old) room.log = make_log(limiter, most(capacity, log == NULL ? 0 : log->mask + 1), now_ns);
        room.failed = (small || old) && room.log == NULL;
    }
    return room;
}

/* ---- closed ---- */

/* The permits that are in leases, as far as these limits care. */
static uint64_t leased_of(const weir_limiter *limiter, const struct home_held *held)
{
    const struct rules rules = {held->content.rule, held->content.count};
    return held->home != HOME_LOG && lease_may(rules) ? atom_load_acquire(&limiter->word.out) : 0;
}

void home_close(weir_limiter *limiter, struct home_held *held)
{
    *held = (struct home_held){.home = limiter->home, .content.count = 1};
    if (held->home == HOME_WORD) word_close(&limiter->word, held->content.rule, &held->value);
    if (held->home == HOME_LOG) log_close(limiter_log(limiter), &held->log);
    if (held->home == HOME_CELL) cell_close(&limiter->cell, &held->content);
    else held->content.state = &held->value;
    /* After closing, so that the count of permits out is complete. */
    held->out = leased_of(limiter, held);
}

void home_open(weir_limiter *limiter, struct home_held *held)
{
    limiter->home = held->home;
    if (held->home == HOME_WORD) word_open_with(&limiter->word, held->content.rule, held->value);
    if (atom_load(&limiter->begun_ns) != 0) word_begin(&limiter->word);
    atom_fence_full(); /* as in weir_stop */
    if (limiter_stopped(limiter)) word_slow_down(&limiter->word);
    if (held->home == HOME_LOG) log_open(&held->log);
    if (held->home == HOME_CELL) cell_open_with(&limiter->cell, &held->content);
}

static void carry_log(weir_limiter *limiter, struct home_held *held, const struct rule *rule, struct log *larger,
                      uint64_t now_ns, weir_carry carry)
{
    const bool stays = held->home == HOME_LOG;
    if (!stays) log_close(larger != NULL ? larger : limiter_log(limiter), &held->log);
    else if (larger != NULL) log_move(&held->log, larger, now_ns);
    if (larger != NULL) atom_store_release(&limiter->log, (uintptr_t)larger);
    if (!stays || carry == WEIR_RESET) log_forget(&held->log, stays ? now_ns : WEIR_FOREVER);
    log_change(&held->log, rule);
}

void home_carry(weir_limiter *limiter, struct home_held *held, struct rule rule[], int count,
                const struct home_room *room, uint64_t stood_ns, uint64_t now_ns, weir_carry carry)
{
    const struct cell_content before = held->content;
    const enum home home = room->home;
    uint64_t value = 0, *state = home == HOME_CELL ? room->state : &value;
    /* Otherwise the permits that leases spend would be forgotten. */
    lease_hold_all((struct rules){before.rule, before.count}, before.state, stood_ns, held->out);
    held->content = (struct cell_content){.state = state, .count = count};
    for (int i = 0; i < count; i++) {
        rule[i].anchor_tick = home == HOME_WORD ? word_anchor(&limiter->word) : 1;
        held->content.rule[i] = rule[i];
    }
    if (home == HOME_LOG) carry_log(limiter, held, rule, room->log, now_ns, carry);
    else if (held->home != HOME_LOG) cell_carry(&before, &held->content, stood_ns, carry);
    if (held->home == HOME_CELL) host_free(before.state);
    held->value = value;
    held->content.state = home == HOME_CELL ? room->state : &held->value;
    held->home = home;
    held->out = leased_of(limiter, held);
}

/* A ring twice as large as the one in use; NULL if there is none to be had. */
static struct log *make_wider(const weir_limiter *limiter, uint64_t count, uint64_t now_ns)
{
    const uint64_t capacity = limiter_log(limiter)->mask + 1;
    const bool wide = capacity >= WAITING_MAX && capacity / 4 >= count;
    return wide ? NULL : make_log(limiter, 2 * capacity, now_ns);
}

static void widen(weir_limiter *limiter, struct home_held *held, struct log *log, uint64_t now_ns)
{
    log_move(&held->log, log, now_ns);
    atom_store_release(&limiter->log, (uintptr_t)log);
    /* A pause has set it, so that calls take the slow path. */
    if (!limiter_paused(limiter)) atom_store(&limiter->clock_ends_ns, log_ends_ns(log));
}

bool home_widen(weir_limiter *limiter, struct home_held *held, uint64_t now_ns)
{
    struct log *log = make_wider(limiter, held->content.rule[0].burst, now_ns);
    if (log != NULL) widen(limiter, held, log, now_ns);
    return log != NULL;
}

int limiter_grow_log(weir_limiter *limiter, const struct log *full, uint64_t now_ns)
{
    struct home_held held;
    if (limiter->home != HOME_LOG || limiter_log(limiter) != full) return 0; /* it was moved meanwhile */
    struct log *log = make_wider(limiter, plan_inside_const(&limiter->plan)->rule[0].burst, now_ns);
    if (log == NULL) return WEIR_ENOMEM;
    home_close(limiter, &held);
    widen(limiter, &held, log, now_ns);
    home_open(limiter, &held);
    return 0;
}
