/* SPDX-License-Identifier: MIT
   go_rate.c - golang.org/x/time/rate in weir's words: a gcra limit, asked on a clock of its own.

       tokens of the peer = burst - (X - now), where X is the word of the state

   The peer cuts a wait to whole ns and lets pass at once what then waits for nothing, even where a ns is worth many
   tokens.  So the plan's ns is a part of the peer's, 2^-fine of it, and a wait is cut when it is said.  Where the
   burst lasts for centuries fine is below 0.  The plan's clock runs only while the peer's does: when that goes back or
   the rate is 0 it stands, and it starts anew whenever the bucket is full.

   May touch: its subject, the tally through judge.  Promises: decisions equal, waits within the case's tolerance,
   balances within what the peer's floats are good for; every grant and wait is weir_decide_within's.
   Leaves: GCRA itself to weir.  Only here, because weir has no such thing: giving back by the peer's rule, keeping
   tokens over a change of limit, a burst of 0 or below (weir refuses that text). */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "runner.h"

enum { SECOND_NS = 1000000000, FINE_BITS = 20, FILL_BITS = 56, DOUBLE_BITS = 53 };
static const uint64_t ROOM = UINT64_C(1) << 61; /* of ticks: what is beyond is set on a coarser clock */
static const int64_t BURST_MAX = INT64_C(1) << 56;
static const double RATE_MIN = 0x1p-64; /* below, not even the end of time brings a millionth of a token */
static const double RATE_MAX = 0x1p100; /* above, a ns fills any bucket */

struct tokens { /* ticks / 2^scale */
    int64_t ticks;
    int scale;
};

struct line {
    weir_plan plan;
    int fine; /* the plan's ns is 2^-fine ns of the peer */
};

struct position { /* of the state, on the line's clock */
    uint64_t word, now_ns;
};

struct reservation {
    int64_t id;
    uint64_t n, start_ns;
    bool granted, priced; /* priced: at a rate above 0 that is not infinite */
    struct rule rule;
    int fine;
};

struct bucket {
    double rate_per_s;
    int64_t burst;
    struct line line;
    weir_plan unlimited;
    struct position at; /* at last_ns */
    uint64_t last_ns, last_event_ns;
    struct reservation *reservation; /* owned */
    size_t reservations;
    const char *broken; /* what weir said of the limit's text */
    weir_error error;
};

static const struct rule *rule_of(const struct line *line)
{
    return inside_rule_const(&line->plan);
}

static bool is_free(const struct bucket *bucket)
{
    return bucket->rate_per_s >= DBL_MAX;
}

static bool has_price(const struct bucket *bucket)
{
    return bucket->rate_per_s >= RATE_MIN && !is_free(bucket);
}

/* ---- the plan's ns and the peer's -------------------------------------------------------------------------- */

static uint64_t shifted(uint64_t value, int left)
{
    if (value == 0 || left <= -64) return 0;
    if (left <= 0) return value >> -left;
    return left < 64 && value <= UINT64_MAX >> left ? value << left : UINT64_MAX;
}

static weir_instant plan_now(const struct line *line, const struct position *at)
{
    return (weir_instant){shifted(at->now_ns, line->fine)};
}

static uint64_t tick_of(const struct line *line, const struct position *at)
{
    return tick_at(rule_of(line), plan_now(line, at).ns);
}

/* ---- a rate and a burst as a plan -------------------------------------------------------------------------- */

/* The last convergent of top / bottom whose two numbers have 62 bits. */
static struct fraction nearest(wide top, wide bottom)
{
    const wide most = (wide)1 << 62;
    wide p[2] = {0, 1}, q[2] = {1, 0};
    while (bottom != 0) {
        const wide whole = top / bottom, rest = top % bottom;
        if (whole > most || whole * p[1] + p[0] > most || whole * q[1] + q[0] > most) break;
        const wide next_p = whole * p[1] + p[0], next_q = whole * q[1] + q[0];
        p[0] = p[1], q[0] = q[1];
        p[1] = next_p, q[1] = next_q;
        top = bottom, bottom = rest;
    }
    return (struct fraction){(uint64_t)p[1], (uint64_t)q[1]};
}

/* p permits in q of the plan's ns. */
static struct fraction rate_on(double rate_per_s, int fine)
{
    struct fraction rate = {0, 1};
    int exponent = 0;
    if (!fraction_of(rate_per_s, &rate)) {
        rate = (struct fraction){(uint64_t)ldexp(frexp(rate_per_s, &exponent), DOUBLE_BITS), 1};
        exponent -= DOUBLE_BITS;
    }
    const wide top = rate.p, bottom = (wide)rate.q * SECOND_NS;
    const int up = fine - exponent;
    return up >= 0 ? nearest(top, bottom << up) : nearest(top << -up, bottom);
}

/* The finest clock on which so many permits take up to 2^56, and a ns or a permit not more than 2^20. */
static int fine_for(double rate_per_s, double permits)
{
    const int fits = FILL_BITS - (int)ceil(log2(permits * SECOND_NS / rate_per_s));
    const int per_ns = (int)ceil(log2(rate_per_s / SECOND_NS));
    const int finest = FINE_BITS + (per_ns > 0 ? per_ns : 0);
    return fits < finest ? fits : finest;
}

/* What does not fit is rounded down: less tokens, so that what is due at a whole ns stays cut to it. */
static int64_t rescaled(struct tokens tokens, int scale)
{
    const int left = scale - tokens.scale;
    if (left >= 0) return (int64_t)((uint64_t)tokens.ticks << left);
    const int64_t part = INT64_C(1) << -left;
    return tokens.ticks / part - (tokens.ticks % part < 0);
}

static void put_tokens(struct bucket *bucket, struct position *at, int64_t ticks)
{
    const struct rule *rule = rule_of(&bucket->line);
    const int64_t most = bucket->burst * (INT64_C(1) << rule->scale);
    at->word = tick_of(&bucket->line, at) + (uint64_t)((int64_t)rule->burst - (ticks < most ? ticks : most));
}

/* A new line for the bucket's rate and burst, with room for n more permits; its clock stands at 0. */
static void set_line(struct bucket *bucket, struct tokens tokens, uint64_t n)
{
    const double rate_per_s = has_price(bucket) ? fmin(bucket->rate_per_s, RATE_MAX) : 1;
    const double owed = fabs(ldexp((double)tokens.ticks, -tokens.scale));
    const uint64_t burst = bucket->burst > 0 ? (uint64_t)bucket->burst : 0;
    struct line *line = &bucket->line;
    line->fine = fine_for(rate_per_s, 1 + fabs((double)bucket->burst) + owed + (double)n);
    const struct fraction rate = rate_on(rate_per_s, line->fine);
    char text[128];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns burst=%" PRIu64 " algorithm=gcra", rate.p, rate.q,
             burst > 0 ? burst : 1);
    bucket->at = (struct position){0, 0};
    if (weir_plan_parse(&line->plan, text, WEIR_ADMIT, &bucket->error) != 0) bucket->broken = bucket->error.message;
    if (burst == 0) inside_rule(&line->plan)->burst = 0;
    put_tokens(bucket, &bucket->at, rescaled(tokens, rule_of(line)->scale));
}

/* ---- the balance, and how it grows ------------------------------------------------------------------------- */

static struct tokens tokens_of(const struct bucket *bucket, const struct position *at)
{
    const struct rule *rule = rule_of(&bucket->line);
    const uint64_t used = subtract_to_zero(at->word, tick_of(&bucket->line, at));
    const int64_t ticks = (int64_t)rule->burst - (int64_t)used;
    const int64_t most = bucket->burst * (INT64_C(1) << rule->scale);
    return (struct tokens){ticks < most ? ticks : most, rule->scale};
}

static struct position full_bucket(const struct bucket *bucket)
{
    return (struct position){rule_of(&bucket->line)->anchor_tick, 0};
}

/* The peer measures up to 2^63 - 1 ns. */
static struct position position_at(const struct bucket *bucket, uint64_t t_ns)
{
    const struct line *line = &bucket->line;
    const uint64_t elapsed_ns = least(subtract_to_zero(t_ns, bucket->last_ns), INT64_MAX);
    struct position at = bucket->at;
    if (is_free(bucket) && elapsed_ns > 0) return full_bucket(bucket);
    if (!has_price(bucket)) return at;
    at.now_ns = add_saturating(at.now_ns, elapsed_ns);
    return plan_now(line, &at).ns >= ns_ceil(rule_of(line), at.word) ? full_bucket(bucket) : at;
}

static void judge_tokens(const struct bucket *bucket, struct step *step)
{
    const struct position at = position_at(bucket, step->now.ns);
    const struct tokens tokens = tokens_of(bucket, &at);
    const double balance = ldexp((double)tokens.ticks, -tokens.scale);
    const double tolerance = 1e-6 + (has_price(bucket) ? bucket->rate_per_s * 2 / SECOND_NS : 0);
    judge_near(step, "tokens", balance, tolerance);
    judge_after_near(step, "tokens", balance, tolerance);
}

/* ---- taking ------------------------------------------------------------------------------------------------ */

static int64_t wait_max_of(struct step *step)
{
    int64_t wait_max_ns = 0;
    if (strcmp(step->op, "try") != 0) return INT64_MAX;
    if (!json_object_object_get_ex(step->json, "max_wait_ns", NULL)) return 0;
    return field_i64(step->json, "max_wait_ns", &wait_max_ns) ? wait_max_ns : INT64_MAX;
}

/* A wait that cut to ns is no more than this. */
static uint64_t plan_wait(const struct bucket *bucket, int64_t wait_max_ns)
{
    if (wait_max_ns == INT64_MAX) return WEIR_FOREVER;
    if (!has_price(bucket)) return 0;
    const int fine = bucket->line.fine;
    return fine < 0 ? shifted((uint64_t)wait_max_ns, fine) : shifted((uint64_t)wait_max_ns + 1, fine) - 1;
}

static uint64_t peer_wait(const struct bucket *bucket, uint64_t plan_ns)
{
    if (!has_price(bucket)) return plan_ns == 0 ? 0 : INT64_MAX;
    return least(shifted(plan_ns, -bucket->line.fine), INT64_MAX);
}

static weir_decision ask(struct bucket *bucket, struct position *at, uint64_t n, int64_t wait_max_ns)
{
    const weir_decision refused = {.verdict = WEIR_DENY};
    const weir_instant now = plan_now(&bucket->line, at);
    if (is_free(bucket)) return weir_decide(&bucket->unlimited, &(weir_state){{0}}, now, n);
    if (wait_max_ns < 0) return refused; /* no question of weir: what starts now is too late */
    const uint64_t cost = bucket->burst < 0 ? most(n, 1) : n; /* there even nothing is more than the burst */
    return weir_decide_within(&bucket->line.plan, &at->word, now, cost, plan_wait(bucket, wait_max_ns));
}

static void remember(struct bucket *bucket, struct step *step, uint64_t n, uint64_t start_ns, bool granted)
{
    int64_t id = 0;
    if (!field_i64(step->json, "id", &id)) return;
    bucket->reservation[bucket->reservations++] = (struct reservation){.id = id,
                                                                       .n = n,
                                                                       .start_ns = start_ns,
                                                                       .granted = granted,
                                                                       .priced = has_price(bucket),
                                                                       .rule = *rule_of(&bucket->line),
                                                                       .fine = bucket->line.fine};
}

/* Time that goes back is time that stands: the next call counts from there. */
static void take(struct bucket *bucket, struct step *step)
{
    uint64_t n = 0;
    const uint64_t now_ns = step->now.ns;
    if (!field_u64(step->json, "n", &n)) {
        judge_stop(step, "n", "a whole number from 0 to 2^64 - 2", "another value");
        return;
    }
    const struct rule *rule = rule_of(&bucket->line);
    const bool may = bucket->burst >= 0 && n <= (uint64_t)bucket->burst;
    if (may && add_saturating(bucket->at.word, ticks_of(rule, n)) > ROOM)
        set_line(bucket, tokens_of(bucket, &bucket->at), n);
    struct position at = position_at(bucket, now_ns);
    const weir_decision decision = ask(bucket, &at, n, wait_max_of(step));
    const uint64_t wait_ns = peer_wait(bucket, decision.delay_ns);
    const uint64_t start_ns = add_saturating(now_ns, wait_ns);
    remember(bucket, step, n, start_ns, weir_allowed(decision));
    if (weir_allowed(decision) && !is_free(bucket)) {
        bucket->at = at;
        bucket->last_ns = now_ns;
        bucket->last_event_ns = start_ns;
    }
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_wait(step, "wait_ns", wait_ns);
    if (judge_has(step, "error") && weir_allowed(decision)) judge_mismatch(step, "error", "a refusal", "a grant");
}

/* ---- what weir does not have ------------------------------------------------------------------------------- */

static struct tokens tokens_at(struct bucket *bucket, uint64_t now_ns)
{
    bucket->at = position_at(bucket, now_ns);
    bucket->last_ns = now_ns;
    return tokens_of(bucket, &bucket->at);
}

static void set_limit(struct bucket *bucket, struct step *step)
{
    double rate_per_s = bucket->rate_per_s;
    int64_t burst = bucket->burst;
    const bool of_rate = strcmp(step->op, "set_rate") == 0;
    const bool known = of_rate ? field_double(step->json, "rate_per_s", &rate_per_s) && !isnan(rate_per_s)
                               : field_i64(step->json, "burst", &burst) && burst <= BURST_MAX && burst >= -BURST_MAX;
    if (!known) {
        judge_stop(step, of_rate ? "rate_per_s" : "burst", "a number", "another value");
        return;
    }
    const struct tokens tokens = tokens_at(bucket, step->now.ns);
    bucket->rate_per_s = rate_per_s;
    bucket->burst = burst;
    set_line(bucket, tokens, 0);
    judge_bool(step, "ok", true);
}

static const struct reservation *find(const struct bucket *bucket, struct step *step)
{
    int64_t id = 0;
    if (!field_i64(step->json, "id", &id)) return NULL;
    for (size_t i = bucket->reservations; i > 0; i--)
        if (bucket->reservation[i - 1].id == id) return &bucket->reservation[i - 1];
    return NULL;
}

/* Ticks of the time between its start and the last one's, at its rate; rounded away from giving back. */
static int64_t ticks_since(const struct reservation *its, uint64_t last_event_ns)
{
    const bool later = last_event_ns >= its->start_ns;
    const uint64_t apart_ns = least(later ? last_event_ns - its->start_ns : its->start_ns - last_event_ns, INT64_MAX);
    if (!its->priced || apart_ns == 0) return 0;
    const uint64_t ticks =
        multiply_shift_floor(shifted(apart_ns, its->fine), its->rule.multiplier, its->rule.shift);
    return later ? (int64_t)least(ticks, ROOM) + 1 : -(int64_t)least(ticks, ROOM);
}

/* The last event goes back to the one before, unless that lies in the past. */
static void step_back(struct bucket *bucket, const struct reservation *its, uint64_t now_ns)
{
    if (its->start_ns != bucket->last_event_ns) return;
    if (!its->priced) {
        bucket->last_event_ns = add_saturating(its->start_ns, INT64_MAX);
        return;
    }
    const uint64_t ticks = ticks_of(&its->rule, its->n);
    const uint64_t lasts_ns = shifted(shift_divide_ceil(ticks, its->rule.shift, its->rule.multiplier), -its->fine);
    if (its->start_ns - now_ns >= lasts_ns) bucket->last_event_ns = its->start_ns - lasts_ns;
}

/* Back come the n tokens, less those that later reservations were given. */
static double cancel(struct bucket *bucket, const struct reservation *its, uint64_t now_ns)
{
    if (!its->granted || is_free(bucket) || its->n == 0 || its->start_ns < now_ns) return 0;
    const int64_t back = (int64_t)ticks_of(&its->rule, its->n) - ticks_since(its, bucket->last_event_ns);
    if (back <= 0) return 0;
    const struct tokens before = tokens_at(bucket, now_ns);
    put_tokens(bucket, &bucket->at, before.ticks + rescaled((struct tokens){back, its->rule.scale}, before.scale));
    step_back(bucket, its, now_ns);
    return ldexp((double)(tokens_of(bucket, &bucket->at).ticks - before.ticks), -before.scale);
}

static void judge_cancel(struct bucket *bucket, struct step *step)
{
    const struct reservation *its = find(bucket, step);
    if (its == NULL) {
        judge_stop(step, "id", "that of an earlier step", "another value");
        return;
    }
    const double per_ns = has_price(bucket) ? bucket->rate_per_s / SECOND_NS : 0;
    judge_near(step, "restored_tokens", cancel(bucket, its, step->now.ns), 1e-6 + 2 * per_ns);
    judge_bool(step, "ok", true);
}

/* ---- cases ------------------------------------------------------------------------------------------------- */

static const char *open_case(void *subject, const struct scene *scene)
{
    struct bucket *bucket = subject;
    double initial = 0;
    if (!field_double(scene->limiter, "rate_per_s", &bucket->rate_per_s) || isnan(bucket->rate_per_s))
        return "not yet (limiter: rate is no number)";
    if (!field_i64(scene->limiter, "burst", &bucket->burst) || bucket->burst > BURST_MAX || bucket->burst < -BURST_MAX)
        return "beyond weir (burst is no number of 56 bits)";
    if (!field_double(scene->limiter, "initial_tokens", &initial)) initial = (double)bucket->burst;
    if (!(fabs(initial) <= (double)BURST_MAX)) return "beyond weir (tokens are no number of 56 bits)";
    const int scale = initial == floor(initial) ? 0 : DOUBLE_BITS - ilogb(initial);
    bucket->reservation = calloc(json_object_array_length(scene->steps) + 1, sizeof *bucket->reservation);
    if (bucket->reservation == NULL) {
        fprintf(stderr, "weir-vectors: no memory\n");
        exit(EXIT_TROUBLE);
    }
    if (weir_plan_parse(&bucket->unlimited, "unlimited", WEIR_ADMIT, &bucket->error) != 0)
        bucket->broken = bucket->error.message;
    set_line(bucket, (struct tokens){(int64_t)ldexp(initial, scale), scale}, 0);
    return NULL;
}

static void step_case(void *subject, struct step *step)
{
    struct bucket *bucket = subject;
    if (strcmp(step->op, "cancel") == 0) judge_cancel(bucket, step);
    else if (strncmp(step->op, "set", strlen("set")) == 0) set_limit(bucket, step);
    else if (strcmp(step->op, "tokens") != 0) take(bucket, step);
    if (bucket->broken != NULL) judge_stop(step, "limiter", "an accepted limit", bucket->broken);
    else judge_tokens(bucket, step);
}

static void close_case(void *subject)
{
    struct bucket *bucket = subject;
    free(bucket->reservation);
}

const struct family *family_go_rate(void)
{
    static const char *const limiter_key[] = {"algorithm", "rate_per_s", "burst", "initial_tokens", NULL};
    static const char *const op[] = {"try", "reserve", "acquire", "tokens", "cancel", "set_rate", "set_burst", NULL};
    static const char *const step_key[] = {"t_ns",       "op",    "id",     "n",           "max_wait_ns",
                                           "rate_per_s", "burst", "expect", "state_after", NULL};
    static const struct family family = {.system = "golang.org/x/time/rate",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .subject_size = sizeof(struct bucket),
                                         .open = open_case,
                                         .step = step_case,
                                         .close = close_case};
    return &family;
}
