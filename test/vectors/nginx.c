/* SPDX-License-Identifier: MIT
   limit_req in weir's words: its own spelling, and a bucket without a brim to read an excess from.

   Where its clock is behind the last request nginx stands still, for up to a minute, and weir is asked at the time of
   that one; from before that nginx begins anew, as if one ms had passed.

   nginx logs the excess of a refused request too: what the bucket would then hold.  That is asked of a copy of the
   state under the same rate with a burst that nothing reaches.

   Answers equal to the thousandth and the ms. Leaves: the bucket itself to weir. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "inside.h"
#include "runner.h"

enum { LEVEL, LAST, WORDS, PERMIT = 1000, MS_NS = 1000000, BACK_MAX_MS = 60000 };
static const uint64_t BRIMLESS = UINT64_C(1) << 50;

struct zone {
    struct limiter limiter;
    weir_plan brimless;
};

static void write_delay(char *text, size_t size, const struct scene *scene)
{
    int64_t delay = 0;
    text[0] = '\0';
    if (json_object_get_boolean(json_object_object_get(scene->limiter, "nodelay"))) snprintf(text, size, " nodelay");
    else if (field_i64(scene->limiter, "delay_requests", &delay) && delay != 0)
        snprintf(text, size, " delay=%" PRId64, delay);
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct zone *zone = subject;
    const char *rate = json_object_get_string(json_object_object_get(scene->limiter, "rate"));
    int64_t burst = 0;
    char text[160];
    char delay[48];
    if (rate == NULL || !field_i64(scene->limiter, "burst", &burst)) return "not yet (limiter: no rate or burst)";
    snprintf(text, sizeof text, "%s burst=%" PRIu64 " nodelay", rate, BRIMLESS);
    weir_plan_parse(&zone->brimless, text, WEIR_ADMIT, NULL);
    write_delay(delay, sizeof delay, scene);
    snprintf(text, sizeof text, "%s burst=%" PRId64 "%s", rate, burst, delay);
    limiter_open(&zone->limiter, text);
    return NULL;
}

static uint64_t excess_of(const struct zone *zone, const uint64_t before[WORDS], const struct step *step)
{
    uint64_t state[WORDS] = {before[LEVEL], before[LAST]};
    weir_decide(&zone->brimless, state, step->now, 1);
    return state[LEVEL] - PERMIT;
}

/* Each time is a ms later than it was told, so that there is one before it. */
static void follow_clock(uint64_t state[WORDS], struct step *step)
{
    step->now.ns = add_saturating(step->now.ns, MS_NS);
    const uint64_t now_ms = step->now.ns / MS_NS, back_ms = subtract_to_zero(state[LAST], now_ms);
    if (back_ms == 0) return;
    judge_adapted(step);
    if (back_ms <= BACK_MAX_MS) step->now.ns = state[LAST] * MS_NS;
    else state[LAST] = now_ms - 1;
}

static void step_case(void *subject, struct step *step)
{
    struct zone *zone = subject;
    weir_decision decision;
    if (limiter_answered(&zone->limiter, step)) return;
    uint64_t *state = zone->limiter.state, before[WORDS] = {0};
    const uint64_t last = state[LAST];
    follow_clock(state, step);
    memcpy(before, state, sizeof before);
    if (!limiter_step(&zone->limiter, step, WEIR_FOREVER, &decision)) return;
    if (decision.charged == 0) state[LAST] = last;
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_u64(step, "excess_thousandths", excess_of(zone, before, step));
    judge_wait(step, "wait_ns", decision.delay_ns);
}

static void close_case(void *subject)
{
    struct zone *zone = subject;
    limiter_close(&zone->limiter);
}

const struct family *family_nginx(void)
{
    static const char *const limiter_key[] = {"algorithm", "rate",    "rate_thousandths_per_s", "burst",
                                              "delay",     "nodelay", "delay_requests",         NULL};
    static const char *const op[] = {"create", "try", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "expect", "state_after", NULL};
    static const struct family family = {.system = "nginx limit_req",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct zone),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
