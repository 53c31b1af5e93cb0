/* SPDX-License-Identifier: MIT
   Slots that are held: what generate/slots.py derives, asked of the core; engine/concurrent asks the module and
   weir.lua the same.

   Answers equal to the ns.  An id of the file is the place of a try that took something. */
#include <stdlib.h>
#include <string.h>

#include "runner.h"

enum { IDS_MAX = 64 };

struct slots {
    struct limiter limiter;
    uint64_t id[IDS_MAX], ids;
};

static const char *open_case(void *subject, const struct scene *scene)
{
    struct slots *slots = subject;
    struct json_object *text = NULL;
    if (!json_object_object_get_ex(scene->limiter, "text", &text)) return "not yet (limiter: no text)";
    limiter_open(&slots->limiter, json_object_get_string(text));
    return NULL;
}

static void judge(struct step *step, const weir_decision *decision)
{
    const bool denied = decision->verdict == WEIR_DENY;
    judge_from_core(step, true);
    judge_bool(step, "allowed", weir_allowed(*decision));
    judge_bool(step, "never", decision->verdict == WEIR_NEVER);
    if (weir_allowed(*decision)) judge_u64(step, "remaining", decision->remaining);
    if (denied) judge_wait(step, "retry_after_ns", decision->retry_ns);
}

static void take(struct slots *slots, struct step *step)
{
    uint64_t n = 0;
    field_u64(step->json, "n", &n);
    const weir_decision decision = weir_decide(&slots->limiter.plan, slots->limiter.state, step->now, n);
    judge(step, &decision);
    if (weir_allowed(decision) && n != 0 && slots->ids < IDS_MAX) slots->id[slots->ids++] = decision.end;
}

/* As if tried, on a copy of the state. */
static void peek(struct slots *slots, struct step *step)
{
    uint64_t n = 0;
    void *copy = malloc(slots->limiter.state_size);
    field_u64(step->json, "n", &n);
    if (copy == NULL) exit(EXIT_TROUBLE);
    memcpy(copy, slots->limiter.state, slots->limiter.state_size);
    const weir_decision decision = weir_decide(&slots->limiter.plan, copy, step->now, n);
    judge(step, &decision);
    free(copy);
}

static void hold(struct slots *slots, struct step *step, bool renews)
{
    const weir_plan *plan = &slots->limiter.plan;
    uint64_t id = IDS_MAX;
    field_u64(step->json, "id", &id);
    if (id >= slots->ids) {
        judge_mismatch(step, "id", "one that was given", "another one");
        return;
    }
    const bool done = renews ? weir_decide_renew(plan, slots->limiter.state, step->now, slots->id[id])
                             : weir_decide_release(plan, slots->limiter.state, step->now, slots->id[id]);
    judge_from_core(step, true);
    judge_bool(step, "done", done);
}

static void step_case(void *subject, struct step *step)
{
    struct slots *slots = subject;
    if (strcmp(step->op, "try") == 0) take(slots, step);
    else if (strcmp(step->op, "peek") == 0) peek(slots, step);
    else hold(slots, step, strcmp(step->op, "renew") == 0);
}

static void close_case(void *subject)
{
    struct slots *slots = subject;
    limiter_close(&slots->limiter);
}

const struct family *family_slots(void)
{
    static const char *const limiter_key[] = {"text", NULL};
    static const char *const op[] = {"try", "peek", "renew", "release", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "id", "expect", NULL};
    static const struct family family = {.system = "slots that are held",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct slots),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
