/* SPDX-License-Identifier: MIT
   Gubernator in weir's words: TOKEN_BUCKET is a fixed window opened by the first call and a ms longer
   than it says, LEAKY_BUCKET is peers/whole_leaks.h.

   Answers equal to the ns. Leaves: windows and leaks to weir.  Only here: whole ms; the limit travels with each call,
   and a call under another one changes it first; what the peer tells instead of what it did: - once it has refused a
   call because nothing was left, it says "over" of every call of that window, also of those that it grants; - a call
   that finds its window ended by a shorter duration is told what was left in that one, and is refused when that was
   nothing. */
#include <string.h>

#include "peers/whole_leaks.h"
#include "inside.h"
#include "runner.h"

enum { MS_NS = 1000000 };

struct bucket {
    struct limiter limiter;
    uint64_t asked_count, asked_window_ns; /* what later calls bring along */
    bool says_over;
    bool leaky;
    struct whole_leaks leaks;
    struct whole_leaks_limit asked_leaks;
};

/* What is not said stays. */
static bool read_leaky(struct bucket *bucket, struct json_object *from)
{
    int64_t duration_ns = 0;
    struct whole_leaks_limit *asked = &bucket->asked_leaks;
    const bool lasts = field_i64(from, "duration_ns", &duration_ns), counts = field_i64(from, "limit", &asked->limit);
    if (lasts) asked->duration_ms = duration_ns / MS_NS;
    return field_i64(from, "burst", &asked->burst) || lasts || counts;
}

static const char *open_leaky(struct bucket *bucket, struct json_object *limiter)
{
    bucket->leaky = true;
    read_leaky(bucket, limiter);
    const bool whole = bucket->asked_leaks.limit != 0 && bucket->asked_leaks.duration_ms != 0;
    return whole ? NULL : "not yet (limiter: limit or duration is no 63-bit number)";
}

/* What is not said stays. */
static bool read_token(struct bucket *bucket, struct json_object *from)
{
    uint64_t duration_ns = 0;
    const bool counts = field_u64(from, "limit", &bucket->asked_count);
    if (!field_u64(from, "duration_ns", &duration_ns)) return counts;
    /* Its last ms is the one in which it ends. */
    bucket->asked_window_ns = duration_ns - duration_ns % MS_NS + MS_NS;
    return true;
}

static const char *open_case(void *subject, const struct scene *scene)
{
    struct bucket *bucket = subject;
    const char *algorithm = json_object_get_string(json_object_object_get(scene->limiter, "algorithm"));
    if (algorithm != NULL && strstr(algorithm, "LEAKY_BUCKET") != NULL) return open_leaky(bucket, scene->limiter);
    read_token(bucket, scene->limiter);
    if (bucket->asked_window_ns == 0) return "not yet (limiter: limit or duration is no 64-bit number)";
    limiter_open_window(&bucket->limiter, bucket->asked_count, bucket->asked_window_ns, "align=first");
    return NULL;
}

/* ---- TOKEN_BUCKET ---- */

static weir_decision look(struct bucket *bucket, weir_instant now)
{
    return inside_peek(inside_rule(&bucket->limiter.plan), bucket->limiter.state, now, 0);
}

static uint64_t full_ns(struct bucket *bucket, weir_instant now)
{
    const weir_decision decision = look(bucket, now);
    return weir_decide_full_ns(&bucket->limiter.plan, &decision);
}

static uint64_t left(struct bucket *bucket, weir_instant now)
{
    return look(bucket, now).remaining;
}

/* A window that lies ahead of a clock that has gone back is changed from its beginning on, as if that were now. */
static void change(struct bucket *bucket, struct step *step, uint64_t count, uint64_t window_ns)
{
    struct rule *rule = inside_rule(&bucket->limiter.plan), to = *rule;
    const uint64_t end = algorithm_at(rule, algorithm_of(rule), bucket->limiter.state, tick_at(rule, step->now.ns)).end;
    const uint64_t begun_ns = subtract_to_zero(plain_ns(rule, end), rule->period_ns);
    if (begun_ns > step->now.ns) judge_adapted(step);
    to.burst = count;
    to.period_ns = window_ns;
    inside_change(rule, &to, bucket->limiter.state, most(begun_ns, step->now.ns));
    *rule = to;
}

/* Of what is counted in the open window, which stays open. */
static void give_back(struct bucket *bucket, weir_instant now, uint64_t permits)
{
    const struct rule *rule = inside_rule(&bucket->limiter.plan);
    const struct algorithm *algorithm = algorithm_of(rule);
    const uint64_t tick = tick_at(rule, now.ns);
    const struct slot slot = {
        .start = tick, .end = algorithm_at(rule, algorithm, bucket->limiter.state, tick).end, .cost = permits + 1};
    algorithm->give_back(rule, bucket->limiter.state, tick, &slot, permits);
}

/* What is used of the old count stays used, as far as the new one goes. */
static void change_count(struct bucket *bucket, struct step *step)
{
    const struct rule *rule = inside_rule(&bucket->limiter.plan);
    if (rule->burst == bucket->asked_count) return;
    const uint64_t used = rule->burst - left(bucket, step->now);
    change(bucket, step, bucket->asked_count, rule->period_ns);
    if (used > bucket->asked_count) give_back(bucket, step->now, used - bucket->asked_count);
}

/* Counted from when the window was opened; true when that has ended it. */
static bool change_window(struct bucket *bucket, struct step *step)
{
    const struct rule *rule = inside_rule(&bucket->limiter.plan);
    if (rule->period_ns == bucket->asked_window_ns) return false;
    const bool ended = full_ns(bucket, step->now) + bucket->asked_window_ns - MS_NS <= rule->period_ns;
    change(bucket, step, rule->burst, bucket->asked_window_ns);
    if (ended) limiter_forget(&bucket->limiter);
    return ended;
}

static void refill(struct bucket *bucket, struct step *step)
{
    change_count(bucket, step);
    give_back(bucket, step->now, bucket->asked_count);
    bucket->says_over = false;
    judge_bool(step, "allowed", true);
    judge_u64(step, "remaining", bucket->asked_count);
    judge_u64(step, "reset_in_ns", 0); /* the peer does not tell */
}

static void begin(struct bucket *bucket)
{
    limiter_forget(&bucket->limiter);
    inside_rule(&bucket->limiter.plan)->burst = bucket->asked_count;
    inside_rule(&bucket->limiter.plan)->period_ns = bucket->asked_window_ns;
    bucket->says_over = false;
}

static void judge_told(struct bucket *bucket, struct step *step, bool allowed, uint64_t remaining)
{
    judge_bool(step, "allowed", allowed && !bucket->says_over);
    judge_u64(step, "remaining", remaining);
    judge_wait(step, "reset_in_ns", full_ns(bucket, step->now) - MS_NS);
}

static void take(struct bucket *bucket, struct step *step)
{
    limiter_forget_left(&bucket->limiter, step);
    const bool known = full_ns(bucket, step->now) > 0;
    uint64_t cost = 0;
    weir_decision decision;
    if (known && strcmp(step->op, "try_reset") == 0) {
        refill(bucket, step);
        return;
    }
    if (known) change_count(bucket, step);
    else begin(bucket);
    const uint64_t told = left(bucket, step->now);
    const bool ended = known && change_window(bucket, step);
    if (ended && told == 0 && field_u64(step->json, "n", &cost) && cost > 0) {
        limiter_begin_window(&bucket->limiter, step->now);
        bucket->says_over = true;
        judge_told(bucket, step, false, 0);
        return;
    }
    if (!limiter_ask_window(&bucket->limiter, step, &decision)) return;
    if (weir_allowed(decision)) {
        judge_told(bucket, step, true, decision.charged > 0 ? decision.remaining : told);
        return;
    }
    if (known && told == 0) bucket->says_over = true;
    const bool drains = known && strcmp(step->op, "try_drain") == 0;
    if (drains) weir_decide(&bucket->limiter.plan, bucket->limiter.state, step->now, decision.remaining);
    judge_told(bucket, step, false, drains ? 0 : told);
}

/* ---- LEAKY_BUCKET ---- */

static void leak(struct bucket *bucket, struct step *step)
{
    int64_t permits = 0;
    struct whole_leaks_limit limit = bucket->asked_leaks;
    enum whole_leaks_mode mode = WHOLE_LEAKS_PLAIN;
    if (!field_i64(step->json, "n", &permits)) {
        judge_stop(step, "n", "a whole number from 0 to 2^63 - 1", "another value");
        return;
    }
    if (strcmp(step->op, "try_drain") == 0) mode = WHOLE_LEAKS_DRAIN;
    if (strcmp(step->op, "try_reset") == 0) mode = WHOLE_LEAKS_REFILL;
    if (limit.burst == 0) limit.burst = limit.limit;
    const struct whole_leaks_answer answer =
        whole_leaks_take(&bucket->leaks, &limit, (int64_t)(step->now.ns / MS_NS), permits, mode);
    judge_from_peers(step);
    judge_bool(step, "allowed", answer.allowed);
    judge_i64(step, "remaining", answer.remaining);
    judge_i64(step, "reset_in_ns", (int64_t)((uint64_t)answer.reset_ms * MS_NS));
}

/* ---- both ---- */

static bool read_limit(struct bucket *bucket, struct json_object *from)
{
    return bucket->leaky ? read_leaky(bucket, from) : read_token(bucket, from);
}

static void step_case(void *subject, struct step *step)
{
    struct bucket *bucket = subject;
    step->now.ns -= step->now.ns % MS_NS;
    if (!bucket->leaky && limiter_answered(&bucket->limiter, step)) return;
    if (strcmp(step->op, "set_limit") == 0) judge_bool(step, "ok", read_limit(bucket, step->json));
    else if (bucket->leaky) leak(bucket, step);
    else take(bucket, step);
}

static void close_case(void *subject)
{
    struct bucket *bucket = subject;
    limiter_close(&bucket->limiter);
}

const struct family *family_gubernator(void)
{
    static const char *const limiter_key[] = {"algorithm", "limit", "duration_ns", "burst", NULL};
    static const char *const op[] = {"create", "try", "try_drain", "try_reset", "set_limit", NULL};
    static const char *const step_key[] = {"t_ns",  "op",     "n",           "limit", "duration_ns",
                                           "burst", "expect", "state_after", NULL};
    static const struct family family = {.system = "gubernator token and leaky bucket",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct bucket),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
