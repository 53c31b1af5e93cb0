/* SPDX-License-Identifier: MIT
   Warmup against the trapezoids of its rule, the printed bound, settling, and changes of limit.

   The oracle knows no areas: it takes heights from the line, as Guava does, in long doubles, from where weir's state
   is: a ns of rest may cost `cold` ns later, so what two of them differ by grows with each rest and says nothing.  Step
   by step they are a few ticks apart, each of which costs up to `cold` ticks.

   What is exact is held exactly: n permits cost what they cost one by one, and a call that is settled leaves what a
   call of that size leaves. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/decide.h"
#include "core/num.h"
#include "property/property.h"
#include "property/smooth.h"
#include "plan/plan.h"
#include "wide.h"

typedef wide exact;

enum { STEPS_MEAN = 40, TEXT_SIZE = 128, PARTS_MAX = 12 };

static const char *const rates[] = {"1/s", "3/s", "10/s", "7/min", "1000/s", "1/h", "333/7s", "12345.6/3s"};
static const char *const warmups[] = {"10s", "1s", "250ms", "1ns", "0s", "1h", "3333333ns"};
static const char *const colds[] = {"", " cold=1", " cold=2", " cold=10", " cold=1.37", " cold=100"};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

struct subject {
    struct smooth smooth;
    long double interval_ns, warmup_ns, cold, threshold, max;
    long double next_ns, stored, off_ns;
};

static void pick_text(struct prop *prop, char text[TEXT_SIZE], bool self)
{
    const char *rate = rates[prop_pick(prop, LENGTH(rates))], *warmup = warmups[prop_pick(prop, LENGTH(warmups))];
    snprintf(text, TEXT_SIZE, "%s warmup=%s%s%s%s", rate, warmup, colds[prop_pick(prop, LENGTH(colds))],
             self ? " pay=self" : "", prop_chance(prop, 4) ? " start=empty" : "");
}

static void read_limit(struct subject *subject)
{
    subject->interval_ns = (long double)subject->smooth.q / (long double)subject->smooth.p;
    subject->warmup_ns = (long double)subject->smooth.limit->time_ns;
    const struct decimal cold = subject->smooth.limit->factor;
    subject->cold = (long double)cold.digits / (long double)power_of_ten(cold.places);
    subject->threshold = subject->warmup_ns / 2 / subject->interval_ns;
    subject->max = subject->threshold + 2 * subject->warmup_ns / (subject->interval_ns * (1 + subject->cold));
}

static void begin(struct prop *prop, struct subject *subject)
{
    char text[TEXT_SIZE];
    memset(subject, 0, sizeof *subject);
    pick_text(prop, text, prop_chance(prop, 3));
    smooth_open(prop, &subject->smooth, text);
    read_limit(subject);
    subject->stored = subject->smooth.limit->start == START_FULL ? subject->max : 0;
    subject->off_ns = 4 + 3 * subject->cold;
}

static uint64_t pick_cost(struct prop *prop, const struct subject *subject)
{
    return prop_pick(prop, 2) == 0 ? 1 : 1 + prop_pick(prop, (uint64_t)(2 * subject->max) + 3);
}

/* ---- the rule by heights ---- */

/* The oracle begins where weir is: ticks are permits exactly. */
static void follow(struct subject *subject)
{
    const long double permit = ldexpl(1, subject->smooth.rule->scale);
    const uint64_t ticks = subject->smooth.state[0] - subject->smooth.rule->anchor_tick;
    subject->next_ns =
        (long double)subject->smooth.rule->anchor_ns + (long double)ticks / permit * subject->interval_ns;
    subject->stored = (long double)subject->smooth.state[1] / permit;
    subject->off_ns = 4 + 3 * subject->cold;
}

static long double height(const struct subject *subject, long double above)
{
    const long double span = subject->max - subject->threshold;
    return subject->interval_ns * (1 + (subject->cold - 1) * above / span);
}

static long double oracle_price(const struct subject *subject, uint64_t cost)
{
    const long double from_store = fminl((long double)cost, subject->stored);
    const long double above = fmaxl(subject->stored - subject->threshold, 0), steep = fminl(above, from_store);
    long double price = ((long double)cost - steep) * subject->interval_ns;
    if (steep > 0) price += steep * (height(subject, above) + height(subject, above - steep)) / 2;
    return price;
}

static void oracle_rest(struct subject *subject, long double until_ns)
{
    if (until_ns <= subject->next_ns) return;
    if (subject->warmup_ns > 0) {
        subject->stored += (until_ns - subject->next_ns) * subject->max / subject->warmup_ns;
        subject->stored = fminl(subject->stored, subject->max);
    }
    subject->next_ns = until_ns;
}

static long double oracle_start(const struct subject *subject, uint64_t cost)
{
    const long double own_ns = smooth_pays_itself(&subject->smooth) ? oracle_price(subject, cost) : 0;
    return fmaxl(subject->next_ns + own_ns, (long double)subject->smooth.now_ns);
}

static void oracle_take(struct subject *subject, uint64_t cost)
{
    if (!smooth_pays_itself(&subject->smooth)) oracle_rest(subject, (long double)subject->smooth.now_ns);
    subject->next_ns += oracle_price(subject, cost);
    subject->stored = fmaxl(subject->stored - (long double)cost, 0);
    if (smooth_pays_itself(&subject->smooth)) oracle_rest(subject, (long double)subject->smooth.now_ns);
}

/* ---- asking ---- */

static weir_decision ask(const struct subject *subject, uint64_t *state, uint64_t cost, uint64_t wait_ns)
{
    return weir_decide_within(&subject->smooth.plan, state, (weir_instant){subject->smooth.now_ns}, cost, wait_ns);
}

/* Where a long double is a double the oracle cannot say each ns of a year. */
static long double off_by(const struct subject *subject, long double ns)
{
    return subject->off_ns + 8 * LDBL_EPSILON * ns;
}

static void check_oracle(struct prop *prop, const struct subject *subject, const weir_decision *decision, uint64_t cost,
                         uint64_t wait_ns)
{
    const long double wait = oracle_start(subject, cost) - (long double)subject->smooth.now_ns;
    const bool allowed = decision->verdict == WEIR_ALLOW;
    prop_check(prop, allowed || wait_ns != WEIR_FOREVER, "refused whoever waits for ever");
    const uint64_t told_ns = allowed ? decision->delay_ns : decision->retry_ns + wait_ns;
    const long double apart_ns = fabsl((long double)told_ns - wait);
    prop_largest(prop, "furthest from the trapezoids, of the tolerance:", (double)(apart_ns / subject->off_ns));
    prop_check(prop, apart_ns <= off_by(subject, (long double)told_ns), "%" PRIu64 " ns, %Lg from the rule", told_ns,
               apart_ns);
}

/* One by one they are asked at the same moment, and each waits. */
static void check_parts(struct prop *prop, const struct subject *subject, uint64_t cost)
{
    uint64_t whole[STATE_WORDS_MAX], parts[STATE_WORDS_MAX];
    if (smooth_pays_itself(&subject->smooth) || cost > PARTS_MAX) return;
    memcpy(whole, subject->smooth.state, sizeof whole);
    memcpy(parts, subject->smooth.state, sizeof parts);
    ask(subject, whole, cost, WEIR_FOREVER);
    for (uint64_t i = 0; i < cost; i++) ask(subject, parts, 1, WEIR_FOREVER);
    prop_check(prop, whole[0] == parts[0] && whole[1] == parts[1], "%" PRIu64 " at once cost otherwise", cost);
}

/* Settled at once it is as if so much had been asked for. */
static void check_settled(struct prop *prop, const struct subject *subject, uint64_t cost)
{
    uint64_t settled[STATE_WORDS_MAX], asked[STATE_WORDS_MAX];
    memcpy(settled, subject->smooth.state, sizeof settled);
    memcpy(asked, subject->smooth.state, sizeof asked);
    weir_decision decision = ask(subject, settled, cost, WEIR_FOREVER);
    const uint64_t actual = decision.delay_ns > 0 || smooth_pays_itself(&subject->smooth) ? 0 : prop_pick(prop, cost);
    weir_decide_settle(&subject->smooth.plan, settled, (weir_instant){subject->smooth.now_ns}, &decision, actual);
    if (actual != 0) ask(subject, asked, actual, WEIR_FOREVER);
    for (uint64_t more = 1; more < PARTS_MAX; more += 3) {
        const weir_decision a = ask(subject, settled, more, WEIR_FOREVER), b = ask(subject, asked, more, WEIR_FOREVER);
        prop_check(prop, a.delay_ns == b.delay_ns, "settled to %" PRIu64 ": delay %" PRIu64 ", not %" PRIu64, actual,
                   a.delay_ns, b.delay_ns);
    }
}

static void check_taken(struct prop *prop, struct subject *subject, uint64_t cost)
{
    oracle_take(subject, cost);
    const long double next_ns = subject->next_ns, stored = subject->stored;
    follow(subject);
    const long double apart_ns = fabsl(next_ns - subject->next_ns);
    const long double colder_ns = fabsl(stored - subject->stored) * subject->interval_ns;
    const long double cold_ns = subject->max * subject->interval_ns;
    prop_check(prop, apart_ns <= off_by(subject, next_ns), "next is %Lg ns from the rule", apart_ns);
    prop_check(prop, colder_ns <= off_by(subject, cold_ns), "stored is %Lg ns from the rule", colder_ns);
}

static void take(struct prop *prop, struct subject *subject, bool with_oracle)
{
    const uint64_t cost = pick_cost(prop, subject), wait_ns = smooth_pick_wait(prop, &subject->smooth);
    if (prop_chance(prop, 4)) check_parts(prop, subject, cost);
    if (prop_chance(prop, 4)) check_settled(prop, subject, cost);
    const weir_decision decision = ask(subject, subject->smooth.state, cost, wait_ns);
    prop_note(prop, "%" PRIu64 " ns: take %" PRIu64 ", wait %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
              subject->smooth.now_ns, cost, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    if (with_oracle) check_oracle(prop, subject, &decision, cost, wait_ns);
    if (decision.verdict != WEIR_ALLOW) smooth_check_retry(prop, &subject->smooth, decision.retry_ns, cost, wait_ns);
    if (decision.verdict != WEIR_ALLOW) return;
    if (with_oracle) check_taken(prop, subject, cost);
    smooth_note(&subject->smooth, &decision, cost);
}

/* ---- the bound ---- */

/* largest + rate * t, and two ticks. */
static void check_windows(struct prop *prop, struct subject *subject)
{
    smooth_sort(&subject->smooth);
    for (int from = 0; from < subject->smooth.uses; from++) {
        exact sum = 0, largest = 0;
        for (int to = from; to < subject->smooth.uses; to++) {
            const exact cost = (exact)subject->smooth.use[to].permits * subject->smooth.q;
            const exact time =
                (exact)(subject->smooth.use[to].start_ns - subject->smooth.use[from].start_ns + 2) * subject->smooth.p;
            largest = cost > largest ? cost : largest;
            sum += cost;
            prop_check(prop, sum <= largest + time, "from %" PRIu64 " to %" PRIu64 " ns: %g permits too many",
                       subject->smooth.use[from].start_ns, subject->smooth.use[to].start_ns,
                       wide_double(sum - largest - time) / (double)subject->smooth.q);
        }
    }
}

/* ---- another limit ---- */

/* False when what is owed has become longer than the clock. */
static bool change(struct prop *prop, struct subject *subject)
{
    char text[TEXT_SIZE];
    pick_text(prop, text, smooth_pays_itself(&subject->smooth));
    const weir_carry how = prop_chance(prop, 4) ? WEIR_SCALE : WEIR_KEEP;
    oracle_rest(subject, (long double)subject->smooth.now_ns);
    const long double cold = subject->max > 0 ? subject->stored / subject->max : 1;
    const long double was_ns = subject->max * subject->interval_ns, off_ns = subject->off_ns + 2;
    const bool goes_on = smooth_change(prop, &subject->smooth, text, how);
    read_limit(subject);
    follow(subject);
    /* What the old store was off by is off by as much of the new one. */
    const long double colder_ns = (subject->stored - cold * subject->max) * subject->interval_ns;
    const long double scaled_ns = off_ns / fmaxl(was_ns, 1) * subject->max * subject->interval_ns + 4;
    prop_check(prop, was_ns < 1 || fabsl(colder_ns) <= scaled_ns, "%Lg ns colder than it was", colder_ns);
    return goes_on;
}

static void warmup_property(struct prop *prop)
{
    static struct subject subject;
    begin(prop, &subject);
    const uint64_t mode = prop_pick(prop, 3); /* the rule; settling; changing */
    subject.smooth.now_ns = prop_pick_size(prop, UINT64_C(1) << 50);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        const uint64_t gap_ns = smooth_pick_gap(prop, &subject.smooth, subject.smooth.limit->time_ns);
        if (mode == 0 && prop_chance(prop, 10)) subject.smooth.now_ns = subtract_to_zero(subject.smooth.now_ns, gap_ns);
        else subject.smooth.now_ns += gap_ns;
        if (mode == 1 && prop_chance(prop, 3)) smooth_settle_one(prop, &subject.smooth);
        else if (mode != 2 || !prop_chance(prop, 8)) take(prop, &subject, mode != 1);
        else if (!change(prop, &subject)) return;
    }
    if (mode == 1) check_windows(prop, &subject);
}

PROPERTY("warmup", warmup_property, 30000);
