/* SPDX-License-Identifier: MIT
   limits_moving.c - limits (Python), moving window, in weir's words: a log of accepted calls with a closed edge.

   May touch: its subject, the tally through judge.  Promises: decisions equal, what is left and the time of its reset
   equal to the ns.
   Leaves: the log to weir.  Only here: the peer's peek and counts leave out an entry exactly a window old, which its
   decisions count, as does a log with an open edge; it finds them by halves, in a list that a clock that went back has
   left out of order; and when nothing counts, its reset is that of the first entry ever. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/sliding_log.h"
#include "peer_log.h"

struct moving {
    struct limit limit;
    uint64_t count, window_ns;
};

static const char *open_case(void *subject, const struct scene *scene)
{
    struct moving *moving = subject;
    int64_t count = 0, window_ns = 0;
    if (!field_i64(scene->limiter, "limit", &count) || !field_i64(scene->limiter, "window_ns", &window_ns))
        return "not yet (limiter: limit or window is no 63-bit number)";
    moving->count = (uint64_t)count;
    moving->window_ns = (uint64_t)window_ns;
    char text[128];
    snprintf(text, sizeof text, "%" PRId64 "/%" PRId64 "ns edge=closed algorithm=sliding-log", count, window_ns);
    return peer_log_open(&moving->limit, text, scene);
}

static struct rule open_edge(const struct moving *moving)
{
    struct rule rule = peer_log_rule(&moving->limit);
    rule.flags &= (uint8_t)~SLIDING_LOG_CLOSED;
    return rule;
}

/* Entered in the order of time, and now not before the last? */
static bool in_order(const struct moving *moving, weir_instant now)
{
    if (peer_log_entries(&moving->limit) != 0 && peer_log_entry_ns(&moving->limit, 1) > now.ns) return false;
    for (uint64_t back = peer_log_entries(&moving->limit); back > 1; back--) {
        if (peer_log_entry_ns(&moving->limit, back) > peer_log_entry_ns(&moving->limit, back - 1)) return false;
    }
    return true;
}

/* Where the search by halves ends, in entries from the newest. */
static uint64_t found_by_halves(const struct moving *moving, uint64_t now_ns)
{
    uint64_t low = 0, high = peer_log_entries(&moving->limit);
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (peer_log_entry_ns(&moving->limit, middle + 1) + moving->window_ns > now_ns) low = middle + 1;
        else high = middle;
    }
    return low;
}

static uint64_t counted(const struct moving *moving, weir_instant now)
{
    const struct rule rule = open_edge(moving);
    if (!in_order(moving, now)) return found_by_halves(moving, now.ns);
    return moving->count - peer_log_peek(&moving->limit, &rule, now, 0).remaining;
}

static bool peeked(const struct moving *moving, weir_instant now, uint64_t n)
{
    const struct rule rule = open_edge(moving);
    if (!in_order(moving, now)) return n <= moving->count && found_by_halves(moving, now.ns) <= moving->count - n;
    return weir_allowed(peer_log_peek(&moving->limit, &rule, now, n));
}

static int64_t reset_in_ns(const struct moving *moving, weir_instant now, uint64_t counting)
{
    const uint64_t entries = peer_log_entries(&moving->limit);
    if (entries == 0) return (int64_t)moving->window_ns;
    const uint64_t entry_ns = peer_log_entry_ns(&moving->limit, counting != 0 ? counting : entries);
    return (int64_t)(entry_ns + moving->window_ns - now.ns);
}

static void step_case(void *subject, struct step *step)
{
    struct moving *moving = subject;
    weir_decision decision;
    uint64_t n = 0;
    if (limit_refused(&moving->limit, step)) return;
    if (!moving->limit.accepted || strcmp(step->op, "try") == 0) {
        if (!limit_ask(&moving->limit, step, 0, &decision)) return;
        judge_bool(step, "allowed", weir_allowed(decision));
    } else {
        if (!field_u64(step->json, "n", &n)) judge_stop(step, "n", "a whole number", "another value");
        judge_bool(step, "allowed", peeked(moving, step->now, n));
    }
    const uint64_t counting = counted(moving, step->now);
    judge_i64(step, "remaining", (int64_t)(moving->count - counting));
    judge_i64(step, "reset_in_ns", reset_in_ns(moving, step->now, counting));
}

static void close_case(void *subject)
{
    struct moving *moving = subject;
    limit_close(&moving->limit);
}

const struct family *family_limits_moving(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", NULL};
    static const char *const op[] = {"try", "peek", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "limits (Python) moving window",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct moving),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
