/* SPDX-License-Identifier: MIT
   The limiters of EngineBlock's core in weir's words: a timeline of a permit a ns.

   The peer books whole ns, so the plan is always 10^9/s and the cost of a call is its time: a changed rate only changes
   the cost.  Its limiters differ in what follows from that:

       average              strictness 0, the clock is read for every call; a changed rate moves the slot to now, or
                            ("clock read on every call") leaves it
       gap compensation     strictness, and the clock is read only where the last reading does not cover the slot
       multiple of ten      the same, but strictness 0 for all slots that are not
       early draft          strictness 0; a share of a wait above the cost is booked on top: the call costs that more
       dual timeline        catchup; a wait is left out for some calls in a row, and below a threshold

   The burst time is cut to whole ns, weir's is rounded up from cost / catchup: so catchup is chosen such that the
   quotient lies a part of a ns below what the cut leaves.  weir's schedule begins with the first call, the peer's when
   it is made: so the slot is set to the beginning.  A reading of the clock that goes back, and one for a call of no
   time, are the adapter's: what such a call is told is weir's, the state that it leaves is not.

   Waits and lags equal to the ns.  Leaves to weir: when a call starts, what is closed, how fast the work catches up. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm/timeline.h"
#include "inside.h"
#include "runner.h"

enum { SECOND_NS = 1000000000, TEXT_SIZE = 64, DIGITS = 19, TENS = 10 };
enum { UNTOLD_NS = 500, UNTOLD_CALLS = 500 };
enum { PARTS = 1 << 20, PARTED_MAX_NS = 1 << 30 };
static const double NS_MAX = 9223372036854775808.0;

enum form { AVERAGE, AVERAGE_KEEPS, COMPENSATION, TENS_ONLY, DRAFT, DUAL };

struct subject {
    enum form form;
    bool accepted;
    bool refused; /* by those of the peers that check their rate: it has no interval of whole ns */
    weir_plan plan, average;
    uint64_t state[TIMELINE_WORDS];
    double ratio;
    int64_t per_op_ns, burst_ns, untold, untold_max;
    uint64_t origin_ns;
};

static int64_t cut(double value)
{
    if (isnan(value)) return 0;
    return value >= NS_MAX ? INT64_MAX : (int64_t)value;
}

/* ---- the limiter ---- */

static const char *form_of(struct json_object *limiter, enum form *form)
{
    static const struct {
        const char *words;
        enum form form;
    } forms[] = {{"dual timeline", DUAL},
                 {"early draft", DRAFT},
                 {"multiple of ten", TENS_ONLY},
                 {"with gap compensation", COMPENSATION},
                 {"clock read on every call", AVERAGE_KEEPS},
                 {"average", AVERAGE}};
    struct json_object *algorithm = NULL;
    json_object_object_get_ex(limiter, "algorithm", &algorithm);
    for (size_t i = 0; algorithm != NULL && i < sizeof forms / sizeof *forms; i++) {
        if (strstr(json_object_get_string(algorithm), forms[i].words) == NULL) continue;
        *form = forms[i].form;
        return NULL;
    }
    return "not yet (an algorithm of another description)";
}

static bool parse(weir_plan *plan, const char *text)
{
    return weir_plan_parse(plan, text, WEIR_PACE, NULL) == 0;
}

/* 10 * *rest / by: the digit; *rest becomes what is left.  By additions, for ten times *rest may not fit. */
static char next_digit(uint64_t *rest, uint64_t by)
{
    char digit = '0';
    uint64_t sum = 0;
    for (int i = 0; i < TENS; i++) {
        const bool over = sum >= by - *rest;
        sum = over ? sum - (by - *rest) : sum + *rest;
        digit = (char)(digit + over);
    }
    *rest = sum;
    return digit;
}

/* per_op / (burst time - a part of a ns), to 19 digits: cost / catchup rounded up to whole ns is the burst time. */
static void write_catchup(char *text, const struct subject *subject)
{
    const uint64_t parts = subject->burst_ns < PARTED_MAX_NS ? PARTS : 2;
    const uint64_t by = parts * (uint64_t)subject->burst_ns - 1, of = parts * (uint64_t)subject->per_op_ns;
    uint64_t rest = of % by;
    int length = snprintf(text, TEXT_SIZE, "%" PRIu64, of / by);
    for (const int point = length; length <= DIGITS;) {
        text[length] = length == point ? '.' : next_digit(&rest, by);
        length++;
    }
    text[length] = '\0';
}

static bool set_rate(struct subject *subject, double rate_per_s)
{
    static const char plain[] = "1000000000/s algorithm=timeline";
    char text[2 * TEXT_SIZE], catchup[TEXT_SIZE];
    if (rate_per_s < 0) return false; /* the peer's schedule would run backwards */
    subject->refused = !(rate_per_s > 0) || rate_per_s > SECOND_NS;
    subject->per_op_ns = cut(SECOND_NS / rate_per_s);
    subject->burst_ns = subject->form == DUAL ? cut(SECOND_NS / (subject->ratio * rate_per_s)) : 0;
    const bool closes = subject->form == COMPENSATION || subject->form == TENS_ONLY || subject->form == DRAFT;
    /* Where the burst time is cut to nothing, nothing spaces the calls. */
    const bool spaces = subject->form == DUAL && subject->burst_ns != 0;
    if (spaces) write_catchup(catchup, subject);
    if (spaces) snprintf(text, sizeof text, "%s catchup=%s", plain, catchup);
    else snprintf(text, sizeof text, "%s strictness=%.18f", plain, closes ? subject->ratio : 0);
    const double share = rate_per_s <= 100000 ? 1000 : rate_per_s <= 500000 ? 50 : rate_per_s <= 10000000 ? 10 : 5;
    subject->untold_max = cut(rate_per_s) / (int64_t)share;
    if (subject->untold_max < UNTOLD_CALLS) subject->untold_max = UNTOLD_CALLS;
    return parse(&subject->average, plain) && parse(&subject->plan, text);
}

static uint64_t position_of(const struct subject *subject, uint64_t now_ns)
{
    return TIMELINE_ZERO + tick_at(inside_rule_const(&subject->plan), now_ns);
}

static const char *open_case(void *of, const struct scene *scene)
{
    struct subject *subject = of;
    double rate_per_s = 0;
    const char *unknown = form_of(scene->limiter, &subject->form);
    if (unknown != NULL) return unknown;
    const char *ratio = subject->form == DUAL ? "burst_ratio" : "compensation_ratio";
    if (!field_double(scene->limiter, "rate_per_s", &rate_per_s)) return "not yet (limiter: no rate)";
    if (!field_double(scene->limiter, ratio, &subject->ratio)) return "not yet (limiter: no ratio)";
    subject->accepted = set_rate(subject, rate_per_s);
    subject->origin_ns = scene->shift_ns;
    subject->state[TIMELINE_SLOT] = position_of(subject, scene->shift_ns);
    subject->state[TIMELINE_SEEN] = subject->state[TIMELINE_SLOT];
    return NULL;
}

/* ---- its calls ---- */

static int64_t since_origin(const struct subject *subject, uint64_t position)
{
    return (int64_t)(position - position_of(subject, subject->origin_ns));
}

static bool cost_of(const struct subject *subject, struct step *step, uint64_t *cost)
{
    int64_t n = 1, time_ns = 0;
    const bool by_time = strcmp(step->op, "acquire_time") == 0;
    if (by_time ? !field_i64(step->json, "time_ns", &time_ns)
                : json_object_object_get_ex(step->json, "n", NULL) && !field_i64(step->json, "n", &n))
        return false;
    if (n < 0 || time_ns < 0 || (n > 0 && subject->per_op_ns > INT64_MAX / n)) return false;
    *cost = by_time ? (uint64_t)time_ns : (uint64_t)(n * subject->per_op_ns);
    return true;
}

/* The draft's share of a wait. */
static uint64_t share_of(const struct subject *subject, uint64_t wait_ns)
{
    int shift = 0;
    if (subject->ratio != 1) frexp(subject->ratio, &shift); /* ratio = m 2^shift, m from a half to one */
    if (subject->ratio != 1) shift = 1 - shift;
    return subject->ratio > 0 && shift < 64 ? wait_ns >> shift : 0;
}

/* Of a wait, what the dual form sleeps. */
static uint64_t slept(struct subject *subject, uint64_t wait_ns)
{
    if (wait_ns == 0 || subject->untold++ < subject->untold_max) return 0;
    subject->untold = 0;
    return wait_ns > UNTOLD_NS ? wait_ns : 0;
}

static void judge_after(const struct subject *subject, struct step *step, uint64_t at_ns)
{
    const uint64_t *state = subject->state;
    const int64_t slot = since_origin(subject, state[TIMELINE_SLOT]);
    judge_after_i64(step, "next_slot_ns", slot);
    judge_after_i64(step, "allocatedIdealNanos", slot);
    if (subject->form != AVERAGE && subject->form != AVERAGE_KEEPS)
        judge_after_i64(step, "last_seen_ns", since_origin(subject, state[TIMELINE_SEEN]));
    judge_after_i64(step, "scheduledNanos", (int64_t)(at_ns - subject->origin_ns) + subject->burst_ns);
}

/* A call of no time takes nothing of weir; the peer reads the clock for it, too, and closes the gap that it sees. */
static void read_clock(struct subject *subject, const struct rule *rule, uint64_t now_ns)
{
    uint64_t *state = subject->state;
    const uint64_t now = position_of(subject, now_ns);
    const bool spaced = rule->third != 0; /* these two as src/core/algorithm/timeline.c has them */
    if (!spaced && timeline_covers(state)) return;
    state[TIMELINE_SEEN] = state[TIMELINE_LATEST] = now;
    if (spaced) state[TIMELINE_SPACED] = most(state[TIMELINE_SPACED], now);
    else if (rule->second < 64) state[TIMELINE_SLOT] += subtract_to_zero(now, state[TIMELINE_SLOT]) >> rule->second;
}

/* To weir a clock that has gone back reads as it did before; to the peer that is what it reads.  Returns whether. */
static bool follow_clock(struct subject *subject, uint64_t now_ns)
{
    uint64_t *latest = &subject->state[TIMELINE_LATEST];
    const uint64_t now = position_of(subject, now_ns);
    const bool back = now < *latest;
    if (back) *latest = now;
    return back;
}

static void acquire(struct subject *subject, struct step *step)
{
    uint64_t cost = 0, *state = subject->state;
    weir_instant now = step->now;
    if (!cost_of(subject, step, &cost)) {
        judge_stop(step, "time_ns", "a time from 0", "another value");
        return;
    }
    const uint64_t mine = state[TIMELINE_SLOT];
    const bool closes =
        subject->form != DRAFT && (subject->form != TENS_ONLY || since_origin(subject, mine) % TENS == 0);
    const weir_plan *plan = closes ? &subject->plan : &subject->average;
    const bool caches = subject->form != AVERAGE && subject->form != AVERAGE_KEEPS;
    if (caches && timeline_covers(state))
        now.ns = ns_ceil(inside_rule_const(plan), state[TIMELINE_SEEN] - TIMELINE_ZERO);
    const bool back = caches && follow_clock(subject, now.ns);
    weir_decision decision = weir_decide_within(plan, state, now, cost, WEIR_FOREVER);
    if (cost == 0) read_clock(subject, inside_rule_const(plan), now.ns);
    const uint64_t wait_ns = decision.delay_ns, at_ns = now.ns + wait_ns;
    if (subject->form == DRAFT && wait_ns > cost)
        weir_decide_settle(plan, state, now, &decision, cost + share_of(subject, wait_ns));
    judge_from_core(step, true);
    judge_bool(step, "allowed", weir_allowed(decision));
    const bool dual = subject->form == DUAL;
    judge_wait(step, "wait_ns", dual ? slept(subject, wait_ns) : wait_ns);
    judge_i64(step, "lag_ns",
              dual           ? since_origin(subject, position_of(subject, at_ns)) - since_origin(subject, mine)
              : wait_ns == 0 ? (int64_t)(now.ns - decision.due.ns)
                             : 0);
    judge_from_core(step, cost != 0 && !back);
    judge_after(subject, step, at_ns);
}

static void change_rate(struct subject *subject, struct step *step)
{
    double rate_per_s = 0;
    const bool changed = field_double(step->json, "rate_per_s", &rate_per_s) && set_rate(subject, rate_per_s);
    const bool keeps = subject->form == AVERAGE_KEEPS || subject->form == DUAL;
    if (changed && !keeps) subject->state[TIMELINE_SLOT] = position_of(subject, step->now.ns);
    if (judge_has(step, "error")) {
        if (changed && !subject->refused) judge_mismatch(step, "error", "a refusal of the rate", "none");
        return;
    }
    judge_bool(step, "ok", changed);
}

static void step_case(void *of, struct step *step)
{
    struct subject *subject = of;
    if (strcmp(step->op, "set_rate") == 0) {
        change_rate(subject, step);
    } else if (judge_has(step, "error")) {
        if (subject->accepted && !subject->refused) judge_mismatch(step, "error", "a refusal of the limit", "none");
    } else if (!subject->accepted) {
        judge_stop(step, "limiter", "an accepted limit", "a refusal");
    } else {
        acquire(subject, step);
    }
}

static void close_case(void *subject)
{
    (void)subject;
}

const struct family *family_engineblock(void)
{
    static const char *const limiter_key[] = {
        "algorithm", "rate_per_s", "compensation_ratio", "compensation_shift_in_peer", "burst_ratio", NULL};
    static const char *const op[] = {"acquire", "acquire_time", "set_rate", NULL};
    static const char *const step_key[] = {"t_ns", "op", "n", "time_ns", "rate_per_s", "expect", "state_after", NULL};
    static const struct family family = {.system = "EngineBlock core",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct subject),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
