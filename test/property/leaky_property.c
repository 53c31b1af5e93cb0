/* SPDX-License-Identifier: MIT
   Leaky against a literal simulation: the list of calls let in, poured in again for each answer.

   The rate is the fraction that the text says, in 128 bits; each leak is rounded down from one call to the next, as the
   rule has it.  And what does not hang on rounding: no window of starts holds more than the largest call or what starts
   at once, and the rate for a ms more than its length, whatever is settled and cancelled; a change of limit to itself
   changes nothing, KEEP keeps the time and SCALE the thousandths. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"
#include "wide.h"

typedef wide exact;

static const uint64_t LEVEL_MAX = UINT64_C(1) << 62;

enum { CALLS_MAX = 96, STEPS_MEAN = 60, MS_NS = 1000000, THOUSAND = 1000, LEVEL = 0, WORDS = 2 };

struct call {
    uint64_t now_ns, permits;
    weir_decision decision; /* charged is 0 when it is settled, and of an excess */
    uint64_t used;
    bool excess;
};

struct subject {
    weir_plan plan;
    const struct limit *limit;
    uint64_t state[WORDS], now_ns;
    exact top, bottom; /* thousandths a ms */
    struct call call[CALLS_MAX];
    int calls;
    bool settled; /* the simulation knows nothing of settling */
};

static void pick_limit(struct prop *prop, struct subject *subject)
{
    static const char *const periods[] = {"s", "min", "h", "7s", "ms", "3ms", "11us", "day", "year"};
    static const char *const delays[] = {"nodelay", "", "delay=1", "delay=2", "delay=5"};
    char text[PROP_TEXT_SIZE];
    const char *delay = delays[prop_pick(prop, sizeof delays / sizeof *delays)];
    const uint64_t count = prop_pick(prop, 3) == 0 ? 1 + prop_pick(prop, 20) : 1 + prop_pick_size(prop, 10000000);
    const uint64_t burst = prop_pick(prop, 2) == 0 ? 1 + prop_pick(prop, 6) : 1 + prop_pick_size(prop, 100000);
    if (prop_pick(prop, 2) == 0) {
        snprintf(text, sizeof text, "%" PRIu64 "r/%s burst=%" PRIu64 " %s", count, prop_pick(prop, 2) == 0 ? "s" : "m",
                 burst - 1, delay);
    } else {
        const char *period = periods[prop_pick(prop, sizeof periods / sizeof *periods)];
        snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64 "/%s burst=%" PRIu64 " algorithm=leaky %s", count,
                 prop_pick(prop, 10), period, burst, delay);
    }
    prop_note(prop, "plan \"%s\"", text);
    prop_check(prop, weir_plan_parse(&subject->plan, text, WEIR_ADMIT, NULL) == 0, "%s is refused", text);
    subject->limit = &plan_inside(&subject->plan)->limit[0];
    subject->top = (exact)subject->limit->count.digits * THOUSAND * MS_NS;
    subject->bottom = (exact)subject->limit->period_ns * power_of_ten(subject->limit->count.places);
}

/* ---- the simulation ---- */

static exact calm_of(const struct subject *subject)
{
    const struct limit *limit = subject->limit;
    const exact calm = limit->nodelay ? limit->burst : (exact)limit->delay + 1;
    return THOUSAND * (calm < limit->burst ? calm : (exact)limit->burst);
}

/* What the bucket holds at a ms; where that lies before the last call, as much as has still to leak until then. */
static exact level_at(const struct subject *subject, uint64_t ms, exact *at_last, uint64_t *last)
{
    exact level = 0;
    *last = 0;
    for (int i = 0; i < subject->calls; i++) {
        const uint64_t at = subject->call[i].now_ns / MS_NS;
        if (at > *last) {
            level -= (exact)(at - *last) * subject->top / subject->bottom;
            *last = at;
        }
        if (level < 0) level = 0;
        level += (exact)subject->call[i].permits * THOUSAND;
    }
    *at_last = level;
    if (ms < *last) return level + ((exact)(*last - ms) * subject->top + subject->bottom - 1) / subject->bottom;
    level -= (exact)(ms - *last) * subject->top / subject->bottom;
    return level > 0 ? level : 0;
}

/* Whether a call passes, and how many ms after its own it starts. */
static bool passes(const struct subject *subject, uint64_t now_ns, uint64_t permits, uint64_t wait_ns, uint64_t *delay)
{
    exact at_last;
    uint64_t last;
    const uint64_t ms = now_ns / MS_NS;
    const exact height = level_at(subject, ms, &at_last, &last), poured = (exact)permits * THOUSAND;
    const exact over = height + poured - calm_of(subject);
    const exact late_ms = over > 0 ? over * subject->bottom / subject->top : 0;
    *delay = (uint64_t)late_ms;
    if (ms < last && over > 0) {
        const exact from_last = at_last + poured - calm_of(subject), by = from_last > 0 ? from_last : -from_last;
        const exact moved = from_last > 0 ? by * subject->bottom / subject->top
                                          : -((by * subject->bottom + subject->top - 1) / subject->top);
        *delay = (uint64_t)((exact)(last - ms) + moved > 0 ? (exact)(last - ms) + moved : 0);
    }
    const bool told = (exact)ms + *delay < UINT64_MAX / MS_NS; /* a later start has no instant */
    return told && height + poured <= (exact)subject->limit->burst * THOUSAND && late_ms <= wait_ns / MS_NS;
}

/* ---- asking ---- */

static uint64_t permit_ms(const struct subject *subject)
{
    return (uint64_t)(THOUSAND * subject->bottom / subject->top);
}

static uint64_t pick_gap(struct prop *prop, const struct subject *subject)
{
    const uint64_t permit = least(permit_ms(subject), UINT64_C(1) << 36);
    const uint64_t full = least(permit * subject->limit->burst, UINT64_C(1) << 38);
    const uint64_t around[] = {permit, full, 1, permit / 2};
    switch (prop_pick(prop, 5)) {
    case 0:
        return 0;
    case 1:
        return prop_pick(prop, 3 * MS_NS);
    case 2:
        return prop_pick_size(prop, 2 * full + 5) * MS_NS;
    default:
        return around[prop_pick(prop, 4)] * MS_NS + prop_pick(prop, 2) * prop_pick(prop, 2 * MS_NS);
    }
}

static void check_refusal(struct prop *prop, const struct subject *subject, const weir_decision *decision,
                          uint64_t permits, uint64_t wait_ns)
{
    uint64_t delay, now_ns = subject->now_ns;
    if (decision->verdict == WEIR_NEVER) {
        prop_check(prop, permits > subject->limit->burst, "never, and %" PRIu64 " fit", permits);
        return;
    }
    if (decision->retry_ns == WEIR_FOREVER) {
        prop_check(prop, !passes(subject, now_ns + (UINT64_C(1) << 62), permits, wait_ns, &delay),
                   "some day it passes");
        return;
    }
    now_ns += decision->retry_ns;
    prop_check(prop, passes(subject, now_ns, permits, wait_ns, &delay), "refused after %" PRIu64, decision->retry_ns);
    prop_check(prop, !passes(subject, now_ns - 1, permits, wait_ns, &delay), "passes before %" PRIu64,
               decision->retry_ns);
}

static void check_grant(struct prop *prop, const struct subject *subject, const weir_decision *decision, uint64_t delay)
{
    exact at_last;
    uint64_t last, unused;
    const uint64_t full_ns = weir_decide_full_ns(&subject->plan, decision);
    prop_check(prop, decision->delay_ns == delay * MS_NS, "delay %" PRIu64 ", not %" PRIu64 " ms", decision->delay_ns,
               delay);
    if (full_ns >= UINT64_MAX - subject->now_ns - MS_NS) return; /* empty only after the last instant */
    /* Unless something was poured in now, only the thousandths are known, not since when the last of them leaks. */
    level_at(subject, 0, &at_last, &last);
    const uint64_t empty_ms = (subject->now_ns + full_ns) / MS_NS, thousandth_ms = permit_ms(subject) / THOUSAND + 1;
    const uint64_t slack_ms = last != subject->now_ns / MS_NS ? thousandth_ms : 0, early_ms = empty_ms - 1 - slack_ms;
    const exact left = level_at(subject, empty_ms + slack_ms, &at_last, &last);
    prop_check(prop, left == 0, "not empty after %" PRIu64 " ns", full_ns);
    if (full_ns > slack_ms * MS_NS && subject->now_ns / MS_NS >= last) {
        prop_check(prop, level_at(subject, early_ms, &at_last, &last) != 0, "empty before %" PRIu64 " ns", full_ns);
    }
    if (decision->delay_ns != 0 || decision->remaining > INT32_MAX) return;
    const bool pass = decision->remaining == 0 || passes(subject, subject->now_ns, decision->remaining, 0, &unused);
    prop_check(prop, pass, "%" PRIu64 " remain and do not pass", decision->remaining);
    prop_check(prop, !passes(subject, subject->now_ns, decision->remaining + 1, 0, &unused), "one more remains");
}

static void ask(struct prop *prop, struct subject *subject)
{
    const uint64_t permits = prop_pick(prop, 3) > 0 ? 1 : prop_pick(prop, least(subject->limit->burst + 2, 40));
    const uint64_t waits[] = {0, 0, WEIR_FOREVER, prop_pick_size(prop, 4 * MS_NS * (permit_ms(subject) % 100000 + 1))};
    const uint64_t wait_ns = waits[prop_pick(prop, 4)];
    uint64_t delay;
    const bool expected = passes(subject, subject->now_ns, permits, wait_ns, &delay);
    const weir_decision decision =
        weir_decide_within(&subject->plan, subject->state, (weir_instant){subject->now_ns}, permits, wait_ns);
    prop_note(prop,
              "%" PRIu64 " ns: take %" PRIu64 ", wait up to %" PRIu64 ": verdict %u, delay %" PRIu64 ", retry %" PRIu64,
              subject->now_ns, permits, wait_ns, decision.verdict, decision.delay_ns, decision.retry_ns);
    if (!subject->settled) {
        prop_check(prop, weir_allowed(decision) == expected, "the simulation says %d", expected);
        if (!expected) check_refusal(prop, subject, &decision, permits, wait_ns);
    }
    if (!weir_allowed(decision)) return;
    if (permits != 0) {
        subject->call[subject->calls++] = (struct call){subject->now_ns, permits, decision, permits, false};
    }
    if (!subject->settled) check_grant(prop, subject, &decision, delay);
}

/* ---- settling ---- */

static void settle_one(struct prop *prop, struct subject *subject)
{
    struct call *call = &subject->call[prop_pick(prop, (uint64_t)subject->calls)];
    const uint64_t actual = prop_chance(prop, 2) ? 0 : prop_pick(prop, call->permits + 2);
    if (call->decision.charged == 0) return;
    prop_note(prop, "%" PRIu64 " ns: settle call %d to %" PRIu64, subject->now_ns, (int)(call - subject->call), actual);
    weir_decide_settle(&subject->plan, subject->state, (weir_instant){subject->now_ns}, &call->decision, actual);
    subject->settled = true;
    if (actual <= call->permits) call->used = actual;
    else subject->call[subject->calls++] = (struct call){.now_ns = subject->now_ns, .used = 1, .excess = true};
}

/* ---- windows ---- */

static uint64_t start_ms(const struct call *call)
{
    return (call->now_ns + (call->excess ? 0 : call->decision.start.ns - call->now_ns)) / MS_NS;
}

/* Of what was used without asking only that after the last call that asked may be too much. */
static exact unasked(const struct subject *subject, uint64_t from, uint64_t to)
{
    int last = -1;
    exact sum = 0;
    for (int i = 0; i < subject->calls; i++) {
        const uint64_t at = start_ms(&subject->call[i]);
        if (at >= from && at <= to && !subject->call[i].excess && subject->call[i].used != 0) last = i;
    }
    for (int i = last + 1; i < subject->calls; i++) {
        const uint64_t at = start_ms(&subject->call[i]);
        if (at >= from && at <= to && subject->call[i].excess) sum += subject->call[i].used;
    }
    return sum;
}

static void check_window(struct prop *prop, const struct subject *subject, uint64_t from, uint64_t to)
{
    exact used = 0, bound = calm_of(subject);
    for (int i = 0; i < subject->calls; i++) {
        const struct call *call = &subject->call[i];
        if (start_ms(call) < from || start_ms(call) > to) continue;
        used += (exact)call->used * THOUSAND;
        if ((exact)call->permits * THOUSAND > bound) bound = (exact)call->permits * THOUSAND;
    }
    bound += ((exact)(to - from + 1) * subject->top + subject->bottom - 1) / subject->bottom;
    if (used <= bound || used - unasked(subject, from, to) * THOUSAND <= bound) return;
    prop_check(prop, false, "%" PRIu64 " thousandths start from %" PRIu64 " to %" PRIu64 " ms, at most %" PRIu64,
               (uint64_t)used, from, to, (uint64_t)bound);
}

/* ---- a change of limit ---- */

static void check_change(struct prop *prop, struct subject *subject)
{
    struct subject other = {.now_ns = subject->now_ns};
    pick_limit(prop, &other);
    const struct rule *from = plan_inside(&subject->plan)->rule;
    struct rule same = *from, to = *plan_inside(&other.plan)->rule;
    const uint64_t now = tick_at(from, subject->now_ns);
    uint64_t kept[WORDS], scaled[WORDS], again[WORDS], before[WORDS];
    same.anchor_ns = to.anchor_ns = subject->now_ns;
    leaky_algorithm()->carry(from, &to, subject->state, kept, now, WEIR_KEEP);
    leaky_algorithm()->carry(from, &to, subject->state, scaled, now, WEIR_SCALE);
    leaky_algorithm()->carry(from, &same, subject->state, again, now, WEIR_KEEP);
    leaky_algorithm()->carry(from, from, subject->state, before, now, WEIR_SCALE);
    prop_check(prop, again[LEVEL] == before[LEVEL] && again[1] == before[1], "a change to itself changes the bucket");
    prop_check(prop, scaled[LEVEL] == before[LEVEL], "SCALE changes the thousandths");
    const exact calm = calm_of(subject), waiting = before[LEVEL] > calm ? before[LEVEL] - calm : 0;
    const exact old_ms = (before[LEVEL] - waiting) * subject->bottom / subject->top;
    const exact new_ms = ((exact)kept[LEVEL] - waiting) * other.bottom / other.top;
    const bool held = kept[LEVEL] < LEVEL_MAX && waiting == 0; /* what is waited for stays permits */
    prop_check(prop, new_ms + 1 >= old_ms || !held, "KEEP gives back time");
    memcpy(subject->state, again, sizeof again);
}

static void leaky_property(struct prop *prop)
{
    static struct subject subject;
    memset(&subject, 0, sizeof subject);
    pick_limit(prop, &subject);
    const bool settles = prop_chance(prop, 3), changes = prop_chance(prop, 4);
    subject.now_ns = prop_pick_size(prop, UINT64_C(1) << 58);
    while (prop_more(prop, STEPS_MEAN) && subject.calls < CALLS_MAX - 1 && subject.now_ns >> 60 == 0) {
        prop_step(prop);
        const uint64_t gap_ns = pick_gap(prop, &subject);
        if (prop_chance(prop, 16)) subject.now_ns = subtract_to_zero(subject.now_ns, gap_ns);
        else subject.now_ns += gap_ns;
        if (settles && subject.calls > 0 && prop_chance(prop, 4)) settle_one(prop, &subject);
        else ask(prop, &subject);
        if (changes && prop_chance(prop, 8)) {
            check_change(prop, &subject);
            subject.settled = true; /* a leak was rounded down on the way */
        }
    }
    for (int i = 0; i < subject.calls; i++) {
        for (int j = 0; j < subject.calls; j++) {
            const uint64_t from = start_ms(&subject.call[i]), to = start_ms(&subject.call[j]);
            if (from <= to) check_window(prop, &subject, from, to);
        }
    }
}

PROPERTY("leaky", leaky_property, 25000);
