/* SPDX-License-Identifier: MIT
   Golang.org/x/time/rate in weir's words: a gcra limit, asked on a clock of its own.

       tokens of the peer = burst - (X - now), where X is the word of the state

   The peer cuts a wait to whole ns and lets pass at once what then waits for nothing, even where a ns is worth many
   tokens.  So the plan's ns is a part of the peer's, 2^-fine of it, and a wait is cut when it is said.  That clock runs
   only while the peer's does: when the peer's goes back, or its rate is 0, it stands.  Where tokens last for centuries
   fine is below 0; a burst that they cannot reach by now is said smaller, so that it costs no precision.

   Decisions equal, waits within the case's tolerance, balances within what the peer's floats are good for; every grant
   and wait is weir_decide_within's. Leaves: GCRA itself to weir.  Only here, because weir has no such thing: giving
   back by the peer's rule, keeping tokens over a change of limit, a burst of 0 or below (weir refuses that text). */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "runner.h"

enum { SECOND_NS = 1000000000, FILL_BITS = 62, DOUBLE_BITS = 53, BITS_MAX = 1 << 10 };
static const uint64_t ROOM = INT64_MAX; /* of ticks */
static const int64_t BURST_MAX = INT64_C(1) << 56;
static const uint64_t MEANT_MAX = UINT64_C(1) << 44; /* p times q: few doubles are so simple by chance */
static const double RATE_MIN = 0x1p-90; /* below, not even the end of time brings a token that can be seen */
static const double RATE_MAX = 0x1p90;  /* above, a ns fills any bucket */

struct tokens { /* ticks / 2^scale */
    int64_t ticks;
    int scale;
};

struct line {
    weir_plan plan;
    int fine;              /* the plan's ns is 2^-fine ns of the peer */
    struct fraction rate;  /* what the plan says: permits in its ns */
    uint64_t burst;        /* what the plan says: the peer's, or less */
    uint64_t common;       /* less than the peer's by so much are tokens, burst and the n that is asked for */
    uint64_t word, now_ns; /* state and clock */
};

struct reservation {
    int64_t id;
    uint64_t n;
    uint128 start_ns;
    bool granted;
    struct fraction rate; /* permits and ns in 2^-fine; no permits: at no price */
    int fine;
};

struct bucket {
    double rate_per_s;
    int64_t burst;
    struct line line; /* as it was at last_ns */
    weir_plan unlimited;
    uint64_t last_ns;
    uint128 last_event_ns;
    struct reservation *reservation; /* owned */
    size_t reservations;
    char broken[128]; /* what weir said of a limit's text, if it refused it */
};

static bool is_free(const struct bucket *bucket)
{
    return bucket->rate_per_s >= DBL_MAX;
}

static bool has_price(const struct bucket *bucket)
{
    return bucket->rate_per_s >= RATE_MIN && !is_free(bucket);
}

/* What a line is made for: without a price its clock stands, so any will do. */
static double price_of(const struct bucket *bucket)
{
    return has_price(bucket) ? fmin(bucket->rate_per_s, RATE_MAX) : 1;
}

static bool ever(const struct bucket *bucket, uint64_t n)
{
    return bucket->burst >= 0 && n <= (uint64_t)bucket->burst;
}

/* ---- the plan's ns and the peer's -------------------------------------------------------------------------- */

static uint64_t shifted(uint64_t value, int left)
{
    if (value == 0 || left <= -64) return 0;
    if (left <= 0) return value >> -left;
    return left < 64 && value <= UINT64_MAX >> left ? value << left : UINT64_MAX;
}

static weir_instant plan_now(const struct line *line)
{
    return (weir_instant){shifted(line->now_ns, line->fine)};
}

static uint64_t tick_now(const struct line *line)
{
    return tick_at(inside_rule_const(&line->plan), plan_now(line).ns);
}

/* ---- a rate as a plan says it ------------------------------------------------------------------------------ */

/* The last convergent of top / bottom whose two numbers have 62 bits. */
static struct fraction nearest(uint128 top, uint128 bottom)
{
    const uint128 most = (uint128)1 << 62;
    uint128 p[2] = {0, 1}, q[2] = {1, 0};
    while (bottom != 0) {
        uint128 rest;
        const uint128 whole = wide_divide(top, bottom, &rest);
        if (whole > most || whole * p[1] + p[0] > most || whole * q[1] + q[0] > most) break;
        const uint128 next_p = whole * p[1] + p[0], next_q = whole * q[1] + q[0];
        p[0] = p[1], q[0] = q[1];
        p[1] = next_p, q[1] = next_q;
        top = bottom, bottom = rest;
    }
    return (struct fraction){(uint64_t)p[1], (uint64_t)q[1]};
}

/* p permits in q of the plan's ns: a fraction that a person may have meant, or else the very double. */
static struct fraction rate_on(double rate_per_s, int fine)
{
    struct fraction rate = {0, 1};
    int exponent = 0;
    if (!fraction_of(rate_per_s, &rate) || (uint128)rate.p * rate.q > MEANT_MAX) {
        rate = (struct fraction){(uint64_t)ldexp(frexp(rate_per_s, &exponent), DOUBLE_BITS), 1};
        exponent -= DOUBLE_BITS;
    }
    const uint128 top = rate.p, bottom = (uint128)rate.q * SECOND_NS;
    const int up = fine - exponent;
    return up >= 0 ? nearest(top, bottom << up) : nearest(top << -up, bottom);
}

/* The finest clock on which so many permits take up to 2^62: finer than the peer's doubles. */
static int fine_for(double rate_per_s, double permits)
{
    const double bits = ceil(log2(permits * SECOND_NS / rate_per_s));
    return FILL_BITS - (int)fmax(fmin(bits, BITS_MAX), -BITS_MAX); /* also of what is 0, endless or no number */
}

/* ---- tokens as a line -------------------------------------------------------------------------------------- */

static double number_of(struct tokens tokens)
{
    return ldexp((double)tokens.ticks, -tokens.scale);
}

/* What does not fit is rounded down: fewer tokens, so that what is due at a whole ns stays cut to it.  Where the peer's
   doubles have no finer parts themselves, to the nearest as there. */
static int64_t rescaled(struct tokens tokens, int scale)
{
    const int left = scale - tokens.scale;
    if (left >= 0) return left < 63 ? (int64_t)((uint64_t)tokens.ticks << left) : 0;
    if (left <= -63) return tokens.ticks < 0 ? -1 : 0;
    const int64_t part = INT64_C(1) << -left;
    if (scale < DOUBLE_BITS - 8) tokens.ticks += part / 2;
    return tokens.ticks / part - (tokens.ticks % part < 0);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The plan's burst; less where the peer's is below 0. */
static int64_t full_ticks(const struct rule *rule, int64_t burst)
{
    return burst < 0 ? burst * (INT64_C(1) << rule->scale) : (int64_t)rule->burst;
}

static struct tokens tokens_of(const struct bucket *bucket, const struct line *line)
{
    const struct rule *rule = inside_rule_const(&line->plan);
    const int64_t ticks = (int64_t)rule->burst - (int64_t)subtract_to_zero(line->word, tick_now(line));
    return (struct tokens){smaller(ticks, full_ticks(rule, bucket->burst)), rule->scale};
}

struct need { /* what a line has to hold */
    struct tokens tokens;
    int64_t burst;
    double most; /* they may become so many */
    uint64_t n;  /* and so many may be taken */
};

/* Is one permit so small a part of them that the peer's doubles are finer? */
static bool is_coarse(double permits)
{
    return permits > 1 << (FILL_BITS - DOUBLE_BITS);
}

struct shape {
    double burst;
    int fine;
};

/* A burst that is out of reach is cut where that makes the clock finer. */
static struct shape shape_for(const struct bucket *bucket, const struct need *need)
{
    const double full = fmax((double)need->burst, 1);
    const double owed = fmax((double)need->n - number_of(need->tokens), 0);
    const double besides = fmax(owed, -(double)need->burst);
    const double reached = fmin(full, ceil(fmax(need->most, 0)) + 1);
    const bool coarse = is_coarse(besides + full) || fine_for(price_of(bucket), besides + full) < 0;
    const double burst = coarse ? reached : full;
    return (struct shape){burst, fine_for(price_of(bucket), besides + burst)};
}

static struct line line_of(struct bucket *bucket, const struct need *need)
{
    const struct shape shape = shape_for(bucket, need);
    struct line line = {.fine = shape.fine, .burst = need->burst > 0 ? (uint64_t)shape.burst : 0};
    const struct fraction rate = line.rate = rate_on(price_of(bucket), line.fine);
    char text[128];
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64 "ns burst=1 algorithm=gcra", rate.p, rate.q);
    weir_error error;
    if (weir_plan_parse(&line.plan, text, WEIR_ADMIT, &error) != 0)
        snprintf(bucket->broken, sizeof bucket->broken, "%.60s: %.60s", text, error.message);
    struct rule *rule = inside_rule(&line.plan);
    rule->burst = ticks_of(rule, line.burst); /* no text says a burst of 0, or of centuries */
    const int64_t ticks = smaller(rescaled(need->tokens, rule->scale), full_ticks(rule, need->burst));
    line.word = tick_now(&line) + (uint64_t)((int64_t)rule->burst - ticks);
    return line;
}

/* Is the line as good as a new one? */
static bool serves(const struct bucket *bucket, const struct line *line, const struct need *need)
{
    const uint64_t ticks = ticks_of(inside_rule_const(&line->plan), need->n);
    const bool roomy = (double)line->burst >= fmin(fmax((double)need->burst, 0), need->most + 1);
    return roomy && add_saturating(line->word, ticks) <= ROOM && line->fine + 4 >= shape_for(bucket, need).fine;
}

/* What n and the tokens have in common only makes the clock coarse. */
static uint64_t cut_common(struct need *need)
{
    const double whole = floor(number_of(need->tokens));
    const uint64_t common = whole < 1 ? 0 : least(need->n, (uint64_t)whole);
    need->tokens.ticks -= (int64_t)(common << need->tokens.scale);
    need->burst -= (int64_t)common;
    need->most -= (double)common;
    need->n -= common;
    return common;
}

/* The line at a later time, to be asked for n.  The peer measures up to 2^63 - 1 ns. */
static struct line line_at(struct bucket *bucket, uint64_t t_ns, uint64_t n)
{
    const uint64_t elapsed_ns = least(subtract_to_zero(t_ns, bucket->last_ns), INT64_MAX);
    const double gained = has_price(bucket) ? (double)elapsed_ns * (price_of(bucket) / SECOND_NS) : 0;
    struct need need = {.tokens = tokens_of(bucket, &bucket->line), .burst = bucket->burst};
    if (is_free(bucket) && elapsed_ns > 0) need.tokens = (struct tokens){bucket->burst, 0};
    need.n = ever(bucket, n) ? n : 0;
    need.most = fmin(fmax(number_of(need.tokens) + gained, (double)need.n), fmax((double)bucket->burst, 0));
    const bool coarse = is_coarse(number_of(need.tokens)) || shape_for(bucket, &need).fine < 0;
    const uint64_t common = coarse ? cut_common(&need) : 0;
    const bool anew = common > 0 || is_free(bucket) || !serves(bucket, &bucket->line, &need);
    struct line line = anew ? line_of(bucket, &need) : bucket->line;
    line.common = common;
    if (!has_price(bucket)) return line;
    line.now_ns = add_saturating(line.now_ns, elapsed_ns);
    const struct rule *rule = inside_rule_const(&line.plan);
    if (plan_now(&line).ns < ns_ceil(rule, line.word)) return line;
    line.word = rule->anchor_tick; /* full: its clock starts anew */
    line.now_ns = 0;
    return line;
}

static void judge_tokens(struct bucket *bucket, struct step *step)
{
    const struct line line = line_at(bucket, step->now.ns, 0);
    const double balance = number_of(tokens_of(bucket, &line));
    const double tolerance = 1e-6 + (has_price(bucket) ? bucket->rate_per_s * 2 / SECOND_NS : 0);
    judge_near(step, "tokens", balance, tolerance);
    judge_after_near(step, "tokens", balance, tolerance);
}

/* ---- taking ------------------------------------------------------------------------------------------------ */

static int64_t wait_max_of(struct step *step)
{
    int64_t wait_max_ns = 0;
    const bool is_try = strcmp(step->op, "try") == 0;
    if (!json_object_object_get_ex(step->json, "max_wait_ns", NULL)) return is_try ? 0 : INT64_MAX;
    return field_i64(step->json, "max_wait_ns", &wait_max_ns) ? wait_max_ns : INT64_MAX;
}

/* A wait that cut to ns is no more than this. */
static uint64_t plan_wait(const struct bucket *bucket, const struct line *line, int64_t wait_max_ns)
{
    const uint64_t wait_ns = (uint64_t)wait_max_ns;
    if (wait_max_ns == INT64_MAX) return WEIR_FOREVER;
    if (!has_price(bucket)) return 0;
    if (line->fine >= 0) return shifted(wait_ns + 1, line->fine) - 1;
    return shifted(add_saturating(line->now_ns, wait_ns), line->fine) - plan_now(line).ns;
}

static uint64_t peer_wait(const struct bucket *bucket, const struct line *line, const weir_decision *decision)
{
    if (decision->delay_ns == 0) return 0;
    if (!has_price(bucket) || line->fine <= -63) return INT64_MAX;
    if (line->fine >= 0) return least(shifted(decision->delay_ns, -line->fine), INT64_MAX);
    return least(wide_to_64(((uint128)decision->start.ns << -line->fine) - line->now_ns), INT64_MAX);
}

static weir_decision ask(struct bucket *bucket, struct line *line, uint64_t n, int64_t wait_max_ns)
{
    const weir_decision refused = {.verdict = WEIR_DENY};
    const weir_instant now = plan_now(line);
    if (is_free(bucket)) return weir_decide(&bucket->unlimited, &(weir_state){{0}}, now, n);
    if (wait_max_ns < 0) return refused;                      /* no question of weir: what starts now is too late */
    const uint64_t cost = bucket->burst < 0 ? most(n, 1) : n; /* there even nothing is more than the burst */
    return weir_decide_within(&line->plan, &line->word, now, cost - line->common, plan_wait(bucket, line, wait_max_ns));
}

static void remember(struct bucket *bucket, struct step *step, uint64_t n, uint128 start_ns, bool granted)
{
    static const struct fraction none = {0, 1};
    int64_t id = 0;
    if (!field_i64(step->json, "id", &id)) return;
    bucket->reservation[bucket->reservations++] =
        (struct reservation){.id = id,
                             .n = n,
                             .start_ns = start_ns,
                             .granted = granted,
                             .rate = has_price(bucket) ? bucket->line.rate : none,
                             .fine = bucket->line.fine};
}

/* Time that goes back is time that stands: the next call counts from there. */
static void take(struct bucket *bucket, struct step *step)
{
    uint64_t n = 0;
    const uint64_t now_ns = step->now.ns;
    if (!field_u64(step->json, "n", &n)) {
        judge_stop(step, "n", "a whole number from 0 to 2^64 - 1", "another value");
        return;
    }
    struct line line = line_at(bucket, now_ns, n);
    const int64_t wait_max_ns = wait_max_of(step);
    const weir_decision decision = ask(bucket, &line, n, wait_max_ns);
    const uint64_t wait_ns = peer_wait(bucket, &line, &decision);
    const uint128 start_ns = (uint128)now_ns + wait_ns;
    if (weir_allowed(decision) && !is_free(bucket)) {
        bucket->line = line;
        bucket->last_ns = now_ns;
        bucket->last_event_ns = start_ns;
    }
    remember(bucket, step, n, start_ns, weir_allowed(decision));
    judge_from_core(step, is_free(bucket) || wait_max_ns >= 0); /* as in ask */
    judge_bool(step, "allowed", weir_allowed(decision));
    judge_bool(step, "never", decision.verdict == WEIR_NEVER);
    judge_wait(step, "wait_ns", wait_ns);
    if (judge_has(step, "error") && weir_allowed(decision)) judge_mismatch(step, "error", "a refusal", "a grant");
    judge_from_core(step, false);
}

/* ---- what weir does not have ------------------------------------------------------------------------------- */

static struct tokens move_to(struct bucket *bucket, uint64_t now_ns)
{
    bucket->line = line_at(bucket, now_ns, 0);
    bucket->last_ns = now_ns;
    return tokens_of(bucket, &bucket->line);
}

static void put(struct bucket *bucket, struct tokens tokens)
{
    const bool over = number_of(tokens) > (double)bucket->burst;
    const struct tokens kept = over ? (struct tokens){bucket->burst, 0} : tokens;
    bucket->line = line_of(bucket, &(struct need){kept, bucket->burst, number_of(kept), 0});
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
    const struct tokens tokens = move_to(bucket, step->now.ns);
    bucket->rate_per_s = rate_per_s;
    bucket->burst = burst;
    put(bucket, tokens);
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

/* Of that time at its rate, rounded up and to what fits. */
static struct tokens tokens_in(const struct reservation *its, uint128 ns)
{
    uint128 top = (uint128)least(wide_to_64(ns), INT64_MAX) * its->rate.p, bottom = its->rate.q;
    if (its->fine < 0) bottom <<= -its->fine & 63;
    if (its->fine <= -64) top >>= -its->fine / 64 * 64;
    for (int fine = its->fine; fine > 0 && top >> 126 == 0; fine--) top *= 2;
    uint128 rest, ticks = wide_divide(top, bottom, &rest);
    int scale = 0;
    for (; ticks >> (FILL_BITS - 1) == 0 && scale < FILL_BITS; scale++) {
        rest *= 2;
        ticks = ticks * 2 + (rest >= bottom);
        if (rest >= bottom) rest -= bottom;
    }
    return (struct tokens){(int64_t)least(wide_to_64(ticks), ROOM / 2) + (rest != 0), scale};
}

/* Its n, less what the time to the last start is worth at its rate; rounded down. */
static struct tokens left_of(const struct reservation *its, uint128 last_event_ns)
{
    const bool later = last_event_ns > its->start_ns;
    const uint128 apart_ns = later ? last_event_ns - its->start_ns : its->start_ns - last_event_ns;
    const struct tokens taken = tokens_in(its, apart_ns);
    const struct tokens all = {(int64_t)least(its->n, ROOM / 2), 0};
    int scale = taken.scale;
    while (scale > 0 && all.ticks >> (FILL_BITS - scale) != 0) scale--;
    const int64_t ticks = rescaled(taken, scale);
    return (struct tokens){rescaled(all, scale) + (later ? -ticks : ticks), scale};
}

/* The peer's least duration is -2^63 ns. */
static uint128 lasts_ns(const struct reservation *its)
{
    const uint128 units = wide_divide((uint128)its->n * its->rate.q, its->rate.p, NULL), most_ns = (uint128)1 << 63;
    if (units != 0 && its->fine <= -63) return most_ns;
    const uint128 ns = its->fine < 0 ? units << -its->fine : units >> its->fine;
    return ns > most_ns ? most_ns : ns;
}

/* The last event goes back to the one before, unless that lies in the past. */
static void step_back(struct bucket *bucket, const struct reservation *its, uint64_t now_ns)
{
    if (its->start_ns != bucket->last_event_ns) return;
    if (its->rate.p == 0) bucket->last_event_ns = its->start_ns + INT64_MAX;
    else if (its->start_ns - now_ns >= lasts_ns(its)) bucket->last_event_ns = its->start_ns - lasts_ns(its);
}

/* Back come the n tokens, less those that later reservations were given. */
static double cancel(struct bucket *bucket, const struct reservation *its, uint64_t now_ns)
{
    if (!its->granted || is_free(bucket) || its->n == 0 || its->start_ns < now_ns) return 0;
    const struct tokens restored = left_of(its, bucket->last_event_ns);
    if (restored.ticks <= 0) return 0;
    const struct tokens before = move_to(bucket, now_ns);
    const double after = number_of(before) + number_of(restored);
    const struct need need = {before, bucket->burst, after, 0};
    if (after >= (double)bucket->burst) put(bucket, (struct tokens){bucket->burst, 0});
    else {
        if (!serves(bucket, &bucket->line, &need)) bucket->line = line_of(bucket, &need);
        bucket->line.word -= (uint64_t)rescaled(restored, inside_rule_const(&bucket->line.plan)->scale);
    }
    step_back(bucket, its, now_ns);
    return number_of(tokens_of(bucket, &bucket->line)) - number_of(before);
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
    if (weir_plan_parse(&bucket->unlimited, "unlimited", WEIR_ADMIT, NULL) != 0)
        snprintf(bucket->broken, sizeof bucket->broken, "unlimited is refused");
    put(bucket, (struct tokens){(int64_t)ldexp(initial, scale), scale});
    return NULL;
}

static void step_case(void *subject, struct step *step)
{
    struct bucket *bucket = subject;
    if (strcmp(step->op, "cancel") == 0) judge_cancel(bucket, step);
    else if (strncmp(step->op, "set", strlen("set")) == 0) set_limit(bucket, step);
    else if (strcmp(step->op, "tokens") != 0) take(bucket, step);
    if (bucket->broken[0] != 0) judge_stop(step, "limiter", "an accepted limit", bucket->broken);
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
