/* SPDX-License-Identifier: MIT
   Limits (Python), moving window, in weir's words: a log of accepted calls with a closed edge.

   Decisions equal, what is left and the time of its reset equal to the ns. Leaves: the log to weir.  Only here: the
   peer's peek and counts leave out an entry exactly a window old, which its decisions count, as does a log with an open
   edge; it finds them by halves, in a list that a clock that went back has left out of order; and when nothing counts,
   its reset is that of the first entry ever. */
#include <string.h>

#include "core/algorithm/sliding_log.h"
#include "inside.h"
#include "runner.h"

struct moving {
    struct limiter limiter;
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
    limiter_open_log(&moving->limiter, scene, count, moving->window_ns, "edge=closed");
    return NULL;
}

static uint64_t entries(const struct moving *moving)
{
    return stamps_kept(inside_rule_const(&moving->limiter.plan), moving->limiter.state);
}

static uint64_t entry_ns(const struct moving *moving, uint64_t back)
{
    return stamps_get(inside_rule_const(&moving->limiter.plan), moving->limiter.state, back);
}

static struct rule open_edge(const struct moving *moving)
{
    struct rule rule = *inside_rule_const(&moving->limiter.plan);
    rule.flags &= (uint8_t)~SLIDING_LOG_CLOSED;
    return rule;
}

/* Where the search by halves ends, in entries from the newest. */
static uint64_t found_by_halves(const struct moving *moving, uint64_t now_ns)
{
    uint64_t low = 0, high = entries(moving);
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (entry_ns(moving, middle + 1) + moving->window_ns > now_ns) low = middle + 1;
        else high = middle;
    }
    return low;
}

static uint64_t counted(const struct moving *moving, weir_instant now)
{
    const struct rule rule = open_edge(moving);
    if (!limiter_log_in_order(&moving->limiter, now)) return found_by_halves(moving, now.ns);
    return moving->count - inside_peek(&rule, moving->limiter.state, now, 0).remaining;
}

static bool peeked(const struct moving *moving, weir_instant now, uint64_t n)
{
    const struct rule rule = open_edge(moving);
    if (!limiter_log_in_order(&moving->limiter, now))
        return n <= moving->count && found_by_halves(moving, now.ns) <= moving->count - n;
    return weir_allowed(inside_peek(&rule, moving->limiter.state, now, n));
}

static int64_t reset_in_ns(const struct moving *moving, weir_instant now, uint64_t counting)
{
    const uint64_t all = entries(moving);
    if (all == 0) return (int64_t)moving->window_ns;
    return (int64_t)(entry_ns(moving, counting != 0 ? counting : all) + moving->window_ns - now.ns);
}

static void step_case(void *subject, struct step *step)
{
    struct moving *moving = subject;
    weir_decision decision;
    uint64_t n = 0;
    if (limiter_answered(&moving->limiter, step)) return;
    if (strcmp(step->op, "try") == 0) {
        if (!limiter_ask_log(&moving->limiter, step, &decision)) return;
        judge_bool(step, "allowed", weir_allowed(decision));
    } else {
        if (!field_u64(step->json, "n", &n)) judge_stop(step, "n", "a whole number", "another value");
        judge_from_core(step, limiter_log_in_order(&moving->limiter, step->now));
        judge_bool(step, "allowed", peeked(moving, step->now, n));
    }
    const uint64_t counting = counted(moving, step->now);
    judge_i64(step, "remaining", (int64_t)(moving->count - counting));
    judge_i64(step, "reset_in_ns", reset_in_ns(moving, step->now, counting));
}

static void close_case(void *subject)
{
    struct moving *moving = subject;
    limiter_close(&moving->limiter);
}

const struct family *family_limits_moving(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", NULL};
    static const char *const op[] = {"create", "try", "peek", NULL};
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
