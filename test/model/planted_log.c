/* SPDX-License-Identifier: MIT
   Mistakes that one could make in log.c, kept so that the model checker has to find them.

   Each function is right when nobody else is at the log.

   One mistake each, named in the header. */
#include "planted_log.h"

#include "share/log_view.h"

/* One permit, now or not: true when it may be taken. */
static bool may_take(const struct log_view *view, const struct ask *ask, weir_decision *decision)
{
    const uint64_t now = log_time(view->log, ask->now_ns), earliest = log_earliest(view, 1);
    const bool allowed = earliest <= now;
    *decision = (weir_decision){.verdict = allowed ? WEIR_ALLOW : WEIR_DENY, .start = {ask->now_ns}};
    decision->end = view->position + allowed;
    decision->retry_ns = allowed ? 0 : view->log->origin_ns + earliest - ask->now_ns;
    decision->remaining = allowed ? log_room(view, now) - 1 : 0;
    decision->charged = allowed;
    decision->reserved = (uint32_t)view->set.generation;
    return allowed;
}

static uint64_t entry_for(const struct log_view *view, const struct ask *ask)
{
    return log_entry(view, view->position, LOG_PLAIN, log_stamp(view, log_time(view->log, ask->now_ns)));
}

static bool advance(struct log *log, uint64_t head)
{
    return atom_swap(&log->head, &head, head + 1);
}

enum log_answer planted_log_head_first(struct log *log, const struct ask *ask, weir_decision *decision)
{
    for (;;) {
        const uint64_t head = atom_load_acquire(&log->head);
        const struct log_view view = log_view_at(log, head);
        if (!may_take(&view, ask, decision)) {
            if (atom_load(&log->head) == head) return LOG_HERE;
            continue;
        }
        const uint64_t entry = entry_for(&view, ask);
        if (!advance(log, head)) continue;
        log_taken();
        atom_store_release(log_slot(&view, view.position), entry);
        return LOG_HERE;
    }
}

/* As one would who does not know whether the slot's owner is still about to move the head on. */
static enum log_answer refuse(const struct log_view *view, const struct ask *ask, weir_decision *decision)
{
    *decision = (weir_decision){.verdict = WEIR_DENY, .start = {ask->now_ns}, .retry_ns = 1, .end = view->position};
    return LOG_HERE;
}

struct mistake {
    bool no_lap, no_second_look, hasty;
};

static enum log_answer decide_with(struct mistake mistake, struct log *log, const struct ask *ask,
                                   weir_decision *decision)
{
    for (;;) {
        const uint64_t head = atom_load_acquire(&log->head);
        const struct log_view view = log_view_at(log, head);
        struct atom *slot = log_slot(&view, view.position);
        uint64_t was = atom_load(slot);
        if (log_written(&view, was)) {
            if (mistake.no_lap) return refuse(&view, ask, decision);
            advance(log, head);
            continue;
        }
        const bool takes = may_take(&view, ask, decision);
        if (!mistake.no_second_look && atom_load(&log->head) != head) continue;
        if (!takes && (mistake.hasty || atom_load(slot) == was)) return LOG_HERE;
        if (!takes || !atom_swap(slot, &was, entry_for(&view, ask))) continue;
        log_taken();
        advance(log, head);
        return LOG_HERE;
    }
}

enum log_answer planted_log_without_lap(struct log *log, const struct ask *ask, weir_decision *decision)
{
    return decide_with((struct mistake){.no_lap = true}, log, ask, decision);
}

enum log_answer planted_log_without_second_look(struct log *log, const struct ask *ask, weir_decision *decision)
{
    return decide_with((struct mistake){.no_second_look = true}, log, ask, decision);
}

enum log_answer planted_log_hasty(struct log *log, const struct ask *ask, weir_decision *decision)
{
    return decide_with((struct mistake){.hasty = true}, log, ask, decision);
}

enum log_answer planted_log_without_seal(struct log *log, const struct ask *ask, weir_decision *decision)
{
    if (ask->cost == 1) return log_decide(log, ask, decision);
    uint64_t head = atom_load_acquire(&log->head);
    while (!atom_swap(&log->head, &head, head | LOG_HELD)) {
        head &= ~LOG_HELD;
        atom_pause();
    }
    struct log_view view = log_view_at(log, head);
    const uint64_t now = log_time(log, ask->now_ns), earliest = log_earliest(&view, ask->cost);
    const bool allowed = earliest <= now;
    *decision = (weir_decision){.verdict = allowed ? WEIR_ALLOW : WEIR_DENY, .start = {ask->now_ns}};
    decision->remaining = allowed ? log_room(&view, now) - ask->cost : log_room(&view, now);
    if (allowed) log_append(&view, ask->cost, now, false);
    decision->end = view.position;
    decision->retry_ns = allowed ? 0 : log->origin_ns + earliest - ask->now_ns;
    decision->charged = allowed ? ask->cost : 0;
    decision->reserved = (uint32_t)view.set.generation;
    log_let_go(&view);
    return LOG_HERE;
}
