/* SPDX-License-Identifier: MIT
   Envoy ratelimit in weir's words: windows of the unix clock in whole seconds, all calls count.

   Answers equal to the ns. Leaves: windows to weir.  Only here: whole seconds; a counter for each window, so that a
   clock that goes back finds the one that it left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "runner.h"

struct left { /* the state of a window that the clock has left */
    uint64_t window;
    void *state; /* owned */
};

struct counters {
    struct limiter limiter;
    uint64_t resolution_ns, to_whole_ns; /* added to a time so that whole seconds stay whole */
    bool begun;
    uint64_t window, last_window;
    struct left *left; /* owned */
    size_t count;
};

static void *owned(void *memory)
{
    if (memory != NULL) return memory;
    fprintf(stderr, "weir-vectors: no memory\n");
    exit(EXIT_TROUBLE);
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct counters *counters = subject;
    uint64_t count = 0, window_ns = 0, resolution_ns = 0;
    if (!field_u64(scene->limiter, "limit", &count) || !field_u64(scene->limiter, "window_ns", &window_ns) ||
        !field_u64(scene->limiter, "clock_resolution_ns", &resolution_ns) || resolution_ns == 0)
        return "not yet (limiter: limit, window or resolution is no 64-bit number)";
    limiter_open_window(&counters->limiter, count, window_ns, "align=clock count-refused");
    if (!counters->limiter.accepted) return NULL;
    counters->resolution_ns = resolution_ns;
    counters->to_whole_ns = (resolution_ns - scene->shift_ns % resolution_ns) % resolution_ns;
    const uint64_t past_epoch_ns = (scene->shift_ns + counters->to_whole_ns) % window_ns;
    inside_rule(&counters->limiter.plan)->offset_ns = (window_ns - past_epoch_ns) % window_ns;
    return NULL;
}

static struct left *find(struct counters *counters, uint64_t window)
{
    for (size_t i = 0; i < counters->count; i++)
        if (counters->left[i].window == window) return &counters->left[i];
    return NULL;
}

static void keep(struct counters *counters)
{
    struct left *left = find(counters, counters->window);
    if (left == NULL) {
        counters->left = owned(realloc(counters->left, (counters->count + 1) * sizeof *counters->left));
        left = &counters->left[counters->count++];
        *left = (struct left){counters->window, owned(malloc(counters->limiter.state_size))};
    }
    memcpy(left->state, counters->limiter.state, counters->limiter.state_size);
}

/* Forwards into a new window weir's own state goes on. */
static void turn_to(struct counters *counters, uint64_t window)
{
    if (counters->begun && window != counters->window) {
        keep(counters);
        const struct left *left = find(counters, window);
        if (left != NULL) memcpy(counters->limiter.state, left->state, counters->limiter.state_size);
        else if (window < counters->last_window) limiter_forget(&counters->limiter);
    }
    counters->begun = true;
    counters->window = window;
    if (window > counters->last_window) counters->last_window = window;
}

static void step_case(void *subject, struct step *step)
{
    struct counters *counters = subject;
    struct limiter *limiter = &counters->limiter;
    weir_decision decision;
    if (limiter_answered(limiter, step)) return;
    const struct rule *rule = inside_rule(&limiter->plan);
    step->now.ns += counters->to_whole_ns;
    step->now.ns -= step->now.ns % counters->resolution_ns;
    turn_to(counters,
            step->now.ns / rule->period_ns + (step->now.ns % rule->period_ns + rule->offset_ns) / rule->period_ns);
    if (!limiter_ask_window(limiter, step, &decision)) return;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_u64(step, "remaining", decision.remaining);
    judge_wait(step, "reset_in_ns", weir_decide_full_ns(&limiter->plan, &decision));
}

static void close_case(void *subject)
{
    struct counters *counters = subject;
    for (size_t i = 0; i < counters->count; i++) free(counters->left[i].state);
    free(counters->left);
    limiter_close(&counters->limiter);
}

const struct family *family_envoy(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "window_ns", "clock_resolution_ns", NULL};
    static const char *const op[] = {"create", "try", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "envoy ratelimit fixed window",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct counters),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
