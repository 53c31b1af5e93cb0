/* SPDX-License-Identifier: MIT
   Limits' sliding window counter in weir's words.

   Its storage keeps a count for each window by its number, and goes back with the clock; weir keeps two counts, and
   does not go back.  So when the clock shows less than it ever did, or did at the step before, the counts of this
   window and of the one before are put back into weir's state.

   Answers equal; no tolerance. Leaves: counting and weighing to weir. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "inside.h"
#include "runner.h"

enum { ENDS, PREVIOUS, CURRENT, WORDS };

struct window {
    uint64_t number, count;
};

struct counter {
    struct limiter limiter;
    uint64_t window_ns, offset_ns, latest_ns;
    bool went_back;
    struct window *window; /* owned: those that were counted in */
    size_t windows;
};

static const char *open_case(void *subject, const struct scene *scene)
{
    struct counter *counter = subject;
    int64_t limit = 0;
    char text[96];
    if (!field_i64(scene->limiter, "limit", &limit) || !field_u64(scene->limiter, "window_ns", &counter->window_ns))
        return "not yet (limiter: limit or window is no whole number)";
    const char *format = "%" PRId64 "/%" PRIu64 "ns algorithm=sliding-window";
    snprintf(text, sizeof text, format, limit != 0 ? limit : 1, counter->window_ns);
    limiter_open(&counter->limiter, text);
    if (!counter->limiter.accepted) return NULL;
    struct rule *rule = inside_rule(&counter->limiter.plan);
    if (limit == 0) rule->burst = 0; /* which is no rate to weir */
    algorithm_align(rule, scene->shift_ns, 0);
    counter->offset_ns = rule->offset_ns;
    return NULL;
}

static uint64_t number_at(const struct counter *counter, const struct step *step)
{
    return (step->now.ns + counter->offset_ns) / counter->window_ns;
}

static uint64_t *count_of(struct counter *counter, uint64_t number)
{
    size_t i = 0;
    while (i < counter->windows && counter->window[i].number != number) i++;
    if (i == counter->windows) {
        struct window *more = realloc(counter->window, (i + 1) * sizeof *more);
        if (more == NULL) exit(EXIT_TROUBLE);
        counter->window = more;
        counter->windows++;
        more[i] = (struct window){number, 0};
    }
    return &counter->window[i].count;
}

static void follow_clock(struct counter *counter, struct step *step)
{
    uint64_t *state = counter->limiter.state;
    const uint64_t number = number_at(counter, step);
    const bool back = step->now.ns < counter->latest_ns;
    if (back || counter->went_back) {
        judge_adapted(step);
        state[ENDS] = (number + 1) * counter->window_ns - counter->offset_ns;
        state[PREVIOUS] = number == 0 ? 0 : *count_of(counter, number - 1);
        state[CURRENT] = *count_of(counter, number);
    }
    counter->went_back = back;
    counter->latest_ns = most(counter->latest_ns, step->now.ns);
}

static void ask(struct counter *counter, struct step *step)
{
    const bool peek = strcmp(step->op, "peek") == 0;
    uint64_t *state = counter->limiter.state, before[WORDS];
    weir_decision decision;
    memcpy(before, state, sizeof before);
    if (!limiter_step(&counter->limiter, step, 0, &decision)) return;
    if (peek) memcpy(state, before, sizeof before);
    if (peek) decision.remaining = weir_decide(&counter->limiter.plan, state, step->now, 0).remaining;
    else if (decision.charged != 0) *count_of(counter, number_at(counter, step)) = state[CURRENT];
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_u64(step, "remaining", decision.remaining);
    judge_wait(step, "retry_after_ns", decision.retry_ns);
}

/* Weir rolls its two counts on when it counts; what it weighs them to is in "remaining". */
static void judge_after(const struct counter *counter, struct step *step)
{
    const uint64_t *state = counter->limiter.state, number = number_at(counter, step);
    const uint64_t next = (state[ENDS] + counter->offset_ns) / counter->window_ns; /* behind its window; 0: untouched */
    const bool same = state[ENDS] != 0 && next == number + 1, before = state[ENDS] != 0 && next == number;
    judge_after_i64(step, "previous", (int64_t)(same ? state[PREVIOUS] : before ? state[CURRENT] : 0));
    judge_after_i64(step, "current", (int64_t)(same ? state[CURRENT] : 0));
}

static void step_case(void *subject, struct step *step)
{
    struct counter *counter = subject;
    if (limiter_answered(&counter->limiter, step)) return;
    follow_clock(counter, step);
    ask(counter, step);
    judge_after(counter, step);
}

static void close_case(void *subject)
{
    struct counter *counter = subject;
    free(counter->window);
    limiter_close(&counter->limiter);
}

const struct family *family_limits_sliding(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", NULL};
    static const char *const op[] = {"create", "try", "peek", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "limits (Python) sliding window counter",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct counter),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
