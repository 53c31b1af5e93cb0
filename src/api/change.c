/* SPDX-License-Identifier: MIT
   change.c - another limit while the limiter is in use, and what that does to those who wait.

   A waiter has taken his permits already and knows where his slot ends.  He stands in the line of his thread, where
   whoever changes the limit finds him and moves his slot.  Taking a slot and standing in line are two steps, and a
   change may come between them; but a line says which change has been there last, so he who comes too late sees it and
   follows the change himself.

   May touch: the limiter.  Promises: a change reaches every waiter; order is kept.  Leaves to others: where the slots
   are (share), waking (wait.c sleeps on the limiter's event). */
#include <string.h>

#include "api/limiter.h"
#include "core/clock.h"
#include "core/facts.h"
#include "core/num.h"

static const char PAUSE[] = "pause";

/* A log remembers no more calls than about so many that wait for their start: 32 MB of them. */
enum { WAITING_MAX = 1 << 22 };

/* When a clock could not be set anew, until that is tried once more. */
enum { RENEW_AGAIN_NS = 1000000000 };

void limiter_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context), void *context)
{
    struct cell_content of_word = {.count = 1};
    uint64_t value;
    word_read(&limiter->word, &of_word.rule[0], &value);
    of_word.state = &value;
    if (of_word.rule[0].algorithm != ALGORITHM_ELSEWHERE) look(&of_word, context);
    else cell_look(&limiter->cell, look, context);
}

/* [under the mutex] Also of a log: then without a state, which only its own functions can read. */
static void look_inside(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context),
                        void *context)
{
    struct cell_content of_log = {.rule = {plan_inside_const(&limiter->plan)->rule[0]}, .count = 1};
    if (limiter->home == HOME_LOG) look(&of_log, context);
    else limiter_look(limiter, look, context);
}

/* False when nobody knows any more, as it has long come. */
static bool start_of(weir_limiter *limiter, const struct cell_content *content, int limit, uint64_t end, uint64_t cost,
                     uint64_t *start_ns)
{
    const struct rules rules = {content->rule, content->count};
    const struct rule *rule = &content->rule[limit];
    const struct algorithm *algorithm = algorithm_of(rule);
    *start_ns = 0;
    if (limiter->home == HOME_LOG) return log_start_ns(limiter_log(limiter), end, start_ns);
    if (algorithm->words == 0) return true;
    const uint64_t *state = content->state + words_before(rules, limit);
    *start_ns = ns_ceil(rule, algorithm->start_of(rule, state, end, ticks_of(rule, cost)));
    return true;
}

/* When it is due by this limit; 0 where there is no schedule. */
static uint64_t due_ns(const struct rule *rule, uint64_t end, uint64_t cost)
{
    const struct algorithm *algorithm = algorithm_of(rule);
    return algorithm->due == NULL ? 0 : ns_ceil_signed(rule, algorithm->due(rule, end, ticks_of(rule, cost)));
}

/* What a change has left to do: those who wait are moved, and the end of the new clock is noted. */
struct moving {
    weir_limiter *limiter;
    const struct change *change;
};

/* Follows one slot of one limit through the changes since; false when its start stays as it was. */
static bool follow(const weir_limiter *limiter, const struct cell_content *content, uint32_t since, int limit,
                   uint64_t *end)
{
    for (uint32_t made = since + 1; made != limiter->generation + 1; made++) {
        const struct change *change = &limiter->change[made % CHANGES_KEPT];
        const struct change *next = &limiter->change[(made + 1) % CHANGES_KEPT];
        if (limit >= change->count) return false;
        *end =
            change_end(change, limit, made == limiter->generation ? &content->rule[limit] : &next->rule[limit], *end);
    }
    return true;
}

/* The end of the last slot given: for a reservation from before everything that is still known. */
static uint64_t last_end(weir_limiter *limiter, const struct cell_content *content, int limit, uint64_t now_ns)
{
    if (limiter->home == HOME_LOG) return log_mark(limiter_log(limiter));
    const struct rules rules = {content->rule, content->count};
    const struct rule *rule = &content->rule[limit];
    const uint64_t *state = content->state + words_before(rules, limit);
    return algorithm_at(rule, algorithm_of(rule), state, tick_at(rule, now_ns)).end;
}

/* A waiter from before a change to other algorithms keeps his start, and his generation. */
static void move_waiter(weir_limiter *limiter, const struct cell_content *content, struct waiter *waiter)
{
    const uint32_t since = (uint32_t)waiter->decision.reserved;
    const bool known = limiter->generation - since <= CHANGES_KEPT;
    uint64_t start_ns = 0, due = 0, of_limit_ns;
    for (int i = 0; i < content->count; i++) {
        if (!known) waiter->end[i] = last_end(limiter, content, i, limiter_now_ns(limiter));
        else if (!follow(limiter, content, since, i, &waiter->end[i])) return;
        if (start_of(limiter, content, i, waiter->end[i], waiter->cost, &of_limit_ns))
            start_ns = most(start_ns, of_limit_ns);
        due = most(due, due_ns(&content->rule[i], waiter->end[i], waiter->cost));
    }
    waiter->decision.start.ns = start_ns;
    waiter->decision.due.ns = due;
    waiter->decision.end = waiter->end[waiter->decision.limit];
    waiter->decision.reserved = limiter->generation;
}

static void move_waiters(const struct moving *moving, const struct cell_content *content)
{
    weir_limiter *limiter = moving->limiter;
    for (int i = 0; i <= HOST_SLOTS; i++) {
        struct line *line = &limiter->line[i];
        line_lock(line);
        line->generation = limiter->generation;
        for (struct waiter *waiter = line->first; waiter != NULL; waiter = waiter->after) {
            /* Others have kept their start before, or have it under the new limit. */
            if ((uint32_t)waiter->decision.reserved != limiter->generation - 1) continue;
            move_waiter(limiter, content, waiter);
        }
        line_unlock(line);
    }
}

struct following {
    weir_limiter *limiter;
    struct waiter *waiter;
};

static void follow_waiter(const struct cell_content *content, void *context)
{
    const struct following *following = context;
    move_waiter(following->limiter, content, following->waiter);
}

void limiter_follow(weir_limiter *limiter, struct waiter *waiter)
{
    host_lock(&limiter->mutex);
    if ((uint32_t)waiter->decision.reserved != limiter->generation) {
        look_inside(limiter, follow_waiter, &(struct following){limiter, waiter});
    }
    host_unlock(&limiter->mutex);
}

static void after_change(const struct cell_content *content, void *context)
{
    const struct moving *moving = context;
    const uint64_t quarter = UINT64_C(1) << 61;
    uint64_t earliest = UINT64_MAX;
    bool counts = false;
    for (int i = 0; i < content->count; i++) {
        earliest = least(earliest, ns_ceil(&content->rule[i], quarter));
        counts = counts || content->rule[i].flags & RULE_COUNTS_REFUSED;
    }
    if (moving->limiter->home == HOME_LOG) earliest = log_ends_ns(limiter_log(moving->limiter));
    atom_store(&moving->limiter->clock_ends_ns, earliest);
    atom_store(&moving->limiter->counts_refused, counts);
    move_waiters(moving, content);
}

/* One limit whose state is a word, or nothing at all. */
static bool fits_word(const struct plan *plan)
{
    const struct algorithm *algorithm = algorithm_of(&plan->rule[0]);
    return plan->count == 1 && state_words(&plan->rule[0], algorithm) <= 1 && algorithm->refused == NULL;
}

/* Only the rules in force. */
static void copy_rules(const struct cell_content *content, void *context)
{
    *(struct cell_content *)context = *content;
}

static bool carries(const struct cell_content *content, const struct plan *plan)
{
    bool same = (uint64_t)content->count == plan->count;
    bool stateless = plan->count == 1 && content->count == 1 &&
                     (algorithm_of(&plan->rule[0])->words == 0 || algorithm_of(&content->rule[0])->words == 0);
    for (int i = 0; same && i < content->count; i++) same = content->rule[i].algorithm == plan->rule[i].algorithm;
    return same || stateless;
}

/* Of several limits the slowest sets the one, the smallest the other. */
static void note_spacing(weir_limiter *limiter, const struct plan *plan)
{
    uint64_t spacing_ns = 0, room_ns = UINT64_MAX;
    for (uint64_t i = 0; i < plan->count; i++) {
        if (algorithm_of(&plan->rule[i])->facts == NULL) continue; /* all pass, or none */
        const uint64_t each_ns = limit_spacing_ns(&plan->limit[i]);
        const uint64_t at_once = facts_of(&plan->limit[i], &plan->rule[i]).at_once;
        spacing_ns = most(spacing_ns, each_ns);
        room_ns = least(room_ns, multiply_divide_floor(at_once, each_ns, 1));
    }
    atom_store(&limiter->spacing_ns, spacing_ns);
    atom_store(&limiter->room_ns, room_ns);
}

static enum home home_of(const struct plan *plan)
{
    if (plan->count == 1 && log_fits(&plan->rule[0])) return HOME_LOG;
    return fits_word(plan) ? HOME_WORD : HOME_CELL;
}

/* A closed log with room for so many, older ones hanging on it. */
static struct log *make_log(const weir_limiter *limiter, uint64_t capacity, uint64_t now_ns)
{
    struct log *log = host_allocate(log_size(capacity));
    if (log == NULL) return NULL;
    log_make(log, capacity, now_ns, host_yield);
    log->older = limiter_log(limiter);
    return log;
}

/* Whoever still looks at the old log finds it closed.  It is kept until the limiter is closed; each is at least twice
   as large as the one before, or comes months after it. */
static void use_log(weir_limiter *limiter, struct log *log, uint64_t now_ns)
{
    const bool moves = limiter->home == HOME_LOG;
    if (moves) log_move(log, log->older, now_ns);
    atom_store_release(&limiter->log, (uintptr_t)log);
    if (moves) log_reopen(log);
}

int limiter_grow_log(weir_limiter *limiter, const struct log *full, uint64_t now_ns)
{
    if (limiter->home != HOME_LOG || limiter_log(limiter) != full) return 0; /* it has moved meanwhile */
    const uint64_t capacity = limiter_log(limiter)->mask + 1;
    if (capacity >= WAITING_MAX && capacity / 4 >= plan_inside_const(&limiter->plan)->rule[0].burst) return WEIR_ENOMEM;
    struct log *log = make_log(limiter, 2 * capacity, now_ns);
    if (log == NULL) return WEIR_ENOMEM;
    use_log(limiter, log, now_ns);
    atom_store(&limiter->clock_ends_ns, log_ends_ns(log));
    return 0;
}

static size_t cell_bytes(const struct plan *plan)
{
    return words_before(plan_rules(plan), (int)plan->count) * sizeof(uint64_t);
}

uint64_t limiter_bytes(const struct plan *plan)
{
    const enum home home = home_of(plan);
    const uint64_t log = home == HOME_LOG ? log_size(log_capacity(plan->rule[0].burst)) : 0;
    return sizeof(weir_limiter) + (home == HOME_CELL ? cell_bytes(plan) : log);
}

/* What the new home needs; NULL where it has all, or on failure. */
struct room {
    uint64_t *state;
    struct log *log;
    bool failed;
};

static struct room make_room(const weir_limiter *limiter, const struct plan *plan, uint64_t now_ns)
{
    const enum home home = home_of(plan);
    struct room room = {NULL, NULL, false};
    if (home == HOME_CELL) {
        room.state = host_allocate(cell_bytes(plan));
        room.failed = room.state == NULL;
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

static void leave_home(weir_limiter *limiter, uint64_t now_ns)
{
    struct rule elsewhere = {.algorithm = ALGORITHM_ELSEWHERE};
    struct change unused;
    uint64_t value;
    if (limiter->home == HOME_WORD) word_change(&limiter->word, &elsewhere, now_ns, WEIR_RESET, &unused, &value);
    if (limiter->home == HOME_LOG) log_close(limiter_log(limiter));
    if (limiter->home == HOME_CELL) host_free(cell_change(&limiter->cell, NULL, 0, NULL, now_ns, WEIR_RESET, &unused));
}

/* Whoever finds no home open asks again, so the new one opens only after the old one has closed. */
static void move_over(weir_limiter *limiter, enum home home, struct rule rule[], int count, const struct room *room,
                      uint64_t now_ns, weir_carry carry, struct change *change)
{
    const uint64_t stood_ns = limiter_stands_ns(limiter, now_ns);
    uint64_t value;
    if (home != limiter->home) leave_home(limiter, now_ns);
    if (room->log != NULL) use_log(limiter, room->log, now_ns);
    if (home == HOME_WORD) word_change(&limiter->word, &rule[0], stood_ns, carry, change, &value);
    if (home == HOME_LOG) log_change(limiter_log(limiter), &rule[0], now_ns, carry, change);
    if (home == HOME_CELL) host_free(cell_change(&limiter->cell, rule, count, room->state, stood_ns, carry, change));
    limiter->home = home;
}

static int refuse(weir_error *error, int code, const char *message)
{
    if (error != NULL) {
        struct writer writer = {error->message, sizeof error->message, 0};
        *error = (weir_error){.code = code};
        write_text(&writer, message);
    }
    return code;
}

int limiter_change(weir_limiter *limiter, const struct plan *plan, uint64_t now_ns, weir_carry carry, weir_error *error)
{
    struct cell_content content;
    struct rule rule[WEIR_LIMITS_MAX];
    const enum home home = home_of(plan);
    look_inside(limiter, copy_rules, &content);
    if (carry != WEIR_RESET && !carries(&content, plan)) {
        return refuse(error, WEIR_EUNSUPPORTED,
                      "what is used cannot be carried to other algorithms; change with WEIR_RESET");
    }
    const bool same = content.rule[0].algorithm == plan->rule[0].algorithm;
    if (carry != WEIR_RESET && same && home != limiter->home) {
        return refuse(error, WEIR_EUNSUPPORTED,
                      "a log cannot be carried to or from one with gap= or count-refused; change with WEIR_RESET");
    }
    const struct room room = make_room(limiter, plan, now_ns);
    if (room.failed) return refuse(error, WEIR_ENOMEM, "no memory for the state of these limits");
    limiter->generation++;
    for (uint64_t i = 0; i < plan->count; i++) {
        rule[i] = plan->rule[i];
        rule[i].generation = limiter->generation;
        rule[i].anchor_ns = now_ns;
        /* A manual clock is its own epoch. */
        const uint64_t unix_ns = limiter->clock == WEIR_CLOCK_MANUAL ? now_ns : host_unix_ns();
        algorithm_align(&rule[i], now_ns, unix_ns);
    }
    struct change *change = &limiter->change[limiter->generation % CHANGES_KEPT];
    move_over(limiter, home, rule, (int)plan->count, &room, now_ns, carry, change);
    note_spacing(limiter, plan);
    atom_store(&limiter->knows, plan->count == 1 && algorithm_of(&rule[0])->knows != NULL);
    if (plan != plan_inside_const(&limiter->plan)) *plan_inside(&limiter->plan) = *plan;
    if (limiter_paused(limiter)) atom_add(&limiter->paused_ns, now_ns - limiter_stands_ns(limiter, now_ns));
    if (carry == WEIR_RESET) atom_store(&limiter->begun_ns, 0);
    if (carry == WEIR_RESET) atom_store(&limiter->paused_ns, 0);
    atom_store(&limiter->paused_at_ns, 0);
    struct moving moving = {limiter, change};
    look_inside(limiter, after_change, &moving);
    return 0;
}

/* The same limit once more. */
void limiter_renew(weir_limiter *limiter, uint64_t now_ns)
{
    if (now_ns < atom_load(&limiter->clock_ends_ns) || limiter_paused(limiter)) return;
    host_lock(&limiter->mutex);
    if (now_ns >= atom_load(&limiter->clock_ends_ns) && !limiter_paused(limiter)) {
        const int failed = limiter_change(limiter, plan_inside_const(&limiter->plan), now_ns, WEIR_KEEP, NULL);
        /* Without memory the old clock goes on: it lasts for twice as long, at least. */
        if (failed != 0) atom_store(&limiter->clock_ends_ns, add_saturating(now_ns, RENEW_AGAIN_NS));
    }
    host_unlock(&limiter->mutex);
}

bool limiter_is_pause(const char *text)
{
    text += strspn(text, " \t");
    if (strncmp(text, PAUSE, sizeof PAUSE - 1) != 0) return false;
    text += sizeof PAUSE - 1;
    return text[strspn(text, " \t")] == '\0';
}

/* Calls take the long way, where they see it; those who wait sleep on. */
static void pause_limiter(weir_limiter *limiter)
{
    host_lock(&limiter->mutex);
    const uint64_t now_ns = most(limiter_now_ns(limiter), 1);
    if (!limiter_paused(limiter)) atom_store(&limiter->paused_at_ns, now_ns);
    atom_store(&limiter->clock_ends_ns, 0);
    atom_store(&limiter->knows, 0);
    host_unlock(&limiter->mutex);
    host_event_signal(&limiter->event);
}

int weir_set_limit(weir_limiter *limiter, const char *limits, weir_carry carry, weir_error *error)
{
    weir_plan plan;
    if (limits != NULL && limiter_is_pause(limits)) {
        pause_limiter(limiter);
        return 0;
    }
    int failed = weir_plan_parse(&plan, limits, limiter->use, error);
    if (failed != 0) return failed;
    host_lock(&limiter->mutex);
    failed = limiter_change(limiter, plan_inside_const(&plan), limiter_now_ns(limiter), carry, error);
    host_unlock(&limiter->mutex);
    if (failed == 0) host_event_signal(&limiter->event);
    return failed;
}

size_t weir_limit_text(weir_limiter *limiter, char *out, size_t size)
{
    host_lock(&limiter->mutex);
    struct writer writer = {out, size, 0};
    if (limiter_paused(limiter)) write_text(&writer, PAUSE);
    else writer.length = weir_plan_text(&limiter->plan, out, size);
    host_unlock(&limiter->mutex);
    return writer.length;
}

struct restarting {
    weir_limiter *limiter;
    weir_decision *decision;
    bool moved;
};

static void restart(const struct cell_content *content, void *context)
{
    struct restarting *restarting = context;
    weir_limiter *limiter = restarting->limiter;
    weir_decision *decision = restarting->decision;
    const uint64_t now_ns = limiter_now_ns(limiter);
    const uint32_t since = (uint32_t)decision->reserved, changes = limiter->generation - since;
    const int limit = (int)least(decision->limit, WEIR_LIMITS_MAX);
    bool moved = changes != 0 && limit < content->count;
    uint64_t end = decision->end, start_ns = 0;
    if (moved && changes > CHANGES_KEPT) end = last_end(limiter, content, limit, now_ns);
    else if (moved) moved = follow(limiter, content, since, limit, &end);
    if (moved) moved = start_of(limiter, content, limit, end, decision->charged, &start_ns);
    restarting->moved = moved;
    if (!moved) return;
    decision->end = end;
    decision->reserved = (decision->reserved & ~(uint64_t)UINT32_MAX) | limiter->generation;
    decision->start.ns = start_ns;
    decision->due.ns = due_ns(&content->rule[limit], end, decision->charged);
    decision->delay_ns = subtract_to_zero(decision->start.ns, now_ns);
}

bool weir_restart(weir_limiter *limiter, weir_decision *decision)
{
    struct restarting restarting = {limiter, decision, false};
    if (decision->verdict != WEIR_ALLOW) return false;
    host_lock(&limiter->mutex);
    look_inside(limiter, restart, &restarting);
    host_unlock(&limiter->mutex);
    return restarting.moved;
}

struct filling {
    weir_limiter *limiter;
    const weir_decision *decision;
    uint64_t now_ns, full_ns;
};

static void fill(const struct cell_content *content, void *context)
{
    struct filling *filling = context;
    weir_decision decision = *filling->decision;
    const int limit = (int)least(decision.limit, WEIR_LIMITS_MAX);
    if (limit >= content->count || algorithm_of(&content->rule[limit])->words == 0) return;
    const struct rule *rule = &content->rule[limit];
    uint64_t then_ns = subtract_to_zero(decision.start.ns, decision.delay_ns), last_ns;
    if ((uint32_t)decision.reserved != filling->limiter->generation) then_ns = filling->now_ns;
    if (filling->limiter->home == HOME_LOG) {
        struct log *log = limiter_log(filling->limiter);
        const bool known = log_start_ns(log, log_mark(log), &last_ns);
        if (known) filling->full_ns = subtract_to_zero(add_saturating(last_ns, log_span_ns(rule)), then_ns);
        return;
    }
    if (rule->generation != (uint32_t)decision.reserved)
        decision.end = last_end(filling->limiter, content, limit, then_ns);
    const uint64_t full = algorithm_of(rule)->full(rule, &decision, tick_at(rule, then_ns));
    filling->full_ns = subtract_to_zero(ns_ceil(rule, full), then_ns);
    const uint64_t retry_ns = decision_retry_ns(&decision);
    const bool still = rule->generation == (uint32_t)decision.reserved && retry_ns != WEIR_FOREVER;
    if (still) filling->full_ns = most(filling->full_ns, retry_ns); /* not sooner than it passes */
}

uint64_t weir_limiter_full_ns(weir_limiter *limiter, const weir_decision *decision)
{
    struct filling filling = {limiter, decision, limiter_now_ns(limiter), 0};
    host_lock(&limiter->mutex);
    look_inside(limiter, fill, &filling);
    host_unlock(&limiter->mutex);
    return filling.full_ns;
}
