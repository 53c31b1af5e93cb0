/* SPDX-License-Identifier: MIT
   By whatever way a permit is taken, it is due where the rates alone put it.

   oracle    the position on the schedule, in permits as exact fractions: it moves on with the rate in force and stands
             in a pause.  The permit k, counted from the first, is due when the position is k; what lies behind at a
             change is due by the new rate, the last of it at the change
   taken     by single calls, batches, reservations, behind stalls and waits, across changes and pauses
   leased    the same permits spent from a lease: put in order, each has its own place on the schedule
   account   what is given, missed, still to be given and ahead is what was due, at any moment */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "property/property.h"
#include "plan/plan.h"
#include "wide.h"

typedef wide exact;

enum { STEPS_MEAN = 40, FRACTION_BITS = 40, TEXT_SIZE = 160, LEASED_MAX = 4000, BATCH_MAX = 12, TICKS_A_CHANGE = 4 };
enum { BEGIN_BITS = 57 }; /* what is due lies far behind at times */

struct subject {
    struct prop *prop;
    weir_limiter *limiter;
    char text[TEXT_SIZE];
    const char *options;
    uint64_t permits, period_ns; /* the rate in force */
    uint64_t now_ns;
    uint64_t since_ns, given;
    exact position; /* at since_ns, in 2^-40 permits */
    exact slack;    /* what changes may have rounded away, in the same */
};

static void set_now(struct subject *subject, uint64_t now_ns)
{
    subject->now_ns = now_ns;
    weir_manual_set(subject->limiter, (weir_instant){now_ns});
}

/* So many ticks of the rate in force, in 2^-40 permits. */
static exact ticks(const struct subject *subject, unsigned count)
{
    weir_plan plan;
    weir_plan_parse(&plan, subject->text, WEIR_PACE, NULL);
    return ((exact)count << FRACTION_BITS >> least(plan_inside(&plan)->rule[0].scale, FRACTION_BITS)) + 1;
}

/* ---- the oracle ---- */

static exact position_now(const struct subject *subject)
{
    const exact moved = (exact)(subject->now_ns - subject->since_ns) * subject->permits << FRACTION_BITS;
    return subject->position + moved / (exact)subject->period_ns;
}

static exact divide_up(exact a, exact b)
{
    return a / b + (a % b > 0);
}

static exact due_of(const struct subject *subject, uint64_t k)
{
    const exact ahead = ((exact)k << FRACTION_BITS) - subject->position;
    return (exact)subject->since_ns + divide_up(ahead * subject->period_ns, (exact)subject->permits << FRACTION_BITS);
}

/* In ns of the rate in force.  A clock is read in whole ticks, of a ns at most: so much may be early. */
static exact slack_ns(const struct subject *subject)
{
    return subject->slack == 0
               ? 0
               : 1 + divide_up(subject->slack * subject->period_ns, (exact)subject->permits << FRACTION_BITS);
}

static void check_due(const struct subject *subject, const weir_decision *decision, uint64_t k)
{
    for (uint64_t nth = 1; nth <= decision->charged; nth++) {
        const exact wanted = due_of(subject, k + nth - 1), slack = slack_ns(subject);
        const uint64_t got = weir_due(subject->limiter, decision, nth).ns;
        prop_check(subject->prop, (exact)got >= wanted - slack - 1 && (exact)got <= wanted + slack,
                   "permit %" PRIu64 " of %" PRIu64 " is due at %" PRIu64 ", not %" PRId64, nth, decision->charged, got,
                   (int64_t)wanted);
    }
    const uint64_t late_ns = subtract_to_zero(decision->start.ns, weir_due(subject->limiter, decision, 1).ns);
    weir_stats stats;
    weir_read_stats(subject->limiter, &stats, sizeof stats);
    prop_check(subject->prop, stats.late_max_ns >= late_ns, "a call was later than the latest");
}

/* Whole permits: those due, the first included, are all others together. */
static void check_account(const struct subject *subject)
{
    weir_stats stats;
    weir_read_stats(subject->limiter, &stats, sizeof stats);
    const exact one = (exact)1 << FRACTION_BITS, due = position_now(subject) + one;
    const exact slack = subject->slack + ticks(subject, TICKS_A_CHANGE);
    const exact most_due = due + slack, least_due = due - slack;
    prop_check(subject->prop, stats.due >= (uint64_t)(least_due / one) && stats.due <= (uint64_t)(most_due / one),
               "%" PRIu64 " are due, not %" PRIu64, stats.due, (uint64_t)(due / one));
    prop_check(subject->prop, subject->given - stats.ahead + stats.missed + stats.backlog == stats.due,
               "given %" PRIu64 ", ahead %" PRIu64 ", missed %" PRIu64 ", backlog %" PRIu64 ", due %" PRIu64,
               subject->given, stats.ahead, stats.missed, stats.backlog, stats.due);
}

/* ---- what happens ---- */

static void pick_rate(struct subject *subject)
{
    static const uint64_t periods_ns[] = {1000000000, 60000000000, 3600000000000};
    static const char *const periods[] = {"s", "min", "h"};
    const uint64_t period = prop_pick(subject->prop, 3);
    subject->period_ns = periods_ns[period];
    subject->permits = 1 + prop_pick_size(subject->prop, 2000000);
    snprintf(subject->text, sizeof subject->text, "%" PRIu64 "/%s %s", subject->permits, periods[period],
             subject->options);
}

static void open_subject(struct prop *prop, struct subject *subject, bool leased)
{
    static const char *const options[] = {"burst=12",           "burst=12 catchup=1.5",         "burst=20 start=full",
                                          "algorithm=timeline", "algorithm=timeline catchup=2", "burst=1000 catchup=3"};
    weir_options manual = WEIR_OPTIONS;
    manual.clock = WEIR_CLOCK_MANUAL;
    manual.use = WEIR_PACE;
    *subject = (struct subject){.prop = prop, .options = options[leased ? prop_pick(prop, 3) : prop_pick(prop, 6)]};
    pick_rate(subject);
    prop_note(prop, "\"%s\"", subject->text);
    prop_check(prop, weir_open(&subject->limiter, subject->text, &manual, NULL) == 0, "\"%s\" is refused",
               subject->text);
    set_now(subject, UINT64_C(1) << BEGIN_BITS);
    subject->since_ns = subject->now_ns;
    const uint64_t peeked_ns = weir_peek(subject->limiter, 1).due.ns;
    const weir_decision first = weir_take(subject->limiter, 1);
    prop_check(prop, peeked_ns == first.due.ns, "a peek says that the first is due at %" PRIu64 " ns", peeked_ns);
    prop_check(prop, weir_allowed(first) && first.due.ns == subject->now_ns, "the first is due at once");
    subject->given = 1;
}

static void change_rate(struct subject *subject, bool pauses)
{
    const exact position = position_now(subject);
    subject->slack += ticks(subject, TICKS_A_CHANGE);
    if (pauses) {
        weir_set_limit(subject->limiter, "pause", WEIR_KEEP, NULL);
        set_now(subject, subject->now_ns + prop_pick_size(subject->prop, UINT64_C(1) << 36));
        prop_check(subject->prop, !weir_allowed(weir_take(subject->limiter, 1)), "allowed in a pause");
    }
    if (!pauses || prop_pick(subject->prop, 2) == 0) pick_rate(subject);
    subject->slack += ticks(subject, TICKS_A_CHANGE);
    prop_note(subject->prop, "%" PRIu64 " ns: \"%s\"", subject->now_ns, subject->text);
    const weir_carry how = prop_pick(subject->prop, 2) == 0 ? WEIR_KEEP : WEIR_SCALE;
    prop_check(subject->prop, weir_set_limit(subject->limiter, subject->text, how, NULL) == 0, "refused");
    subject->position = position;
    subject->since_ns = subject->now_ns;
}

static weir_decision take_as_peeked(struct subject *subject, uint64_t cost)
{
    const weir_decision peeked = weir_peek(subject->limiter, cost), taken = weir_take(subject->limiter, cost);
    const bool same = peeked.verdict == taken.verdict && peeked.due.ns == taken.due.ns;
    prop_check(subject->prop, same, "peeked: due at %" PRIu64 " ns; taken: at %" PRIu64, peeked.due.ns, taken.due.ns);
    return taken;
}

static weir_decision take(struct subject *subject)
{
    const uint64_t cost = 1 + prop_pick(subject->prop, BATCH_MAX);
    switch (prop_pick(subject->prop, 4)) {
    case 0:
        return take_as_peeked(subject, 1);
    case 1:
        return take_as_peeked(subject, cost);
    case 2:
        return weir_take_some(subject->limiter, cost);
    default:
        return weir_reserve(subject->limiter, cost, WEIR_FOREVER - 1);
    }
}

static void pass_time(struct subject *subject)
{
    const uint64_t each_ns = subject->period_ns / subject->permits, how = prop_pick(subject->prop, 4);
    const uint64_t gap_ns = how == 0   ? 0
                            : how == 1 ? prop_pick(subject->prop, 2 * each_ns + 2)
                            : how == 2 ? prop_pick(subject->prop, BATCH_MAX) * each_ns
                                       : prop_pick_size(subject->prop, 1000 * each_ns + 1);
    set_now(subject, subject->now_ns + gap_ns);
}

static void taken_property(struct prop *prop)
{
    struct subject subject;
    open_subject(prop, &subject, false);
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        pass_time(&subject);
        if (prop_chance(prop, 12)) change_rate(&subject, prop_pick(prop, 2) == 1);
        const weir_decision decision = take(&subject);
        prop_note(prop, "%" PRIu64 " ns: verdict %u, %" PRIu64 " permits, delay %" PRIu64, subject.now_ns,
                  decision.verdict, decision.charged, decision.delay_ns);
        if (weir_allowed(decision)) check_due(&subject, &decision, subject.given);
        subject.given += decision.charged;
        check_account(&subject);
    }
    weir_close(subject.limiter);
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void leased_property(struct prop *prop)
{
    static uint64_t due_ns[LEASED_MAX];
    static weir_lease lease;
    struct subject subject;
    size_t count = 0;
    open_subject(prop, &subject, true);
    due_ns[count++] = subject.now_ns;
    prop_check(prop, weir_lease_open(&lease, subject.limiter, NULL) == 0, "no lease");
    while (prop_more(prop, STEPS_MEAN)) {
        prop_step(prop);
        pass_time(&subject);
        for (uint64_t calls = prop_pick(prop, 40); calls > 0 && count < LEASED_MAX; calls--) {
            const weir_decision decision = weir_lease_take(&lease, 1);
            if (weir_allowed(decision)) due_ns[count++] = weir_due(subject.limiter, &decision, 1).ns;
        }
    }
    weir_lease_close(&lease);
    qsort(due_ns, count, sizeof due_ns[0], compare);
    for (size_t k = 0; k < count; k++) {
        const exact early = due_of(&subject, k) - (exact)due_ns[k];
        prop_check(prop, early == 0 || early == 1, "spent permit %zu is due at %" PRIu64 ", not %" PRId64, k, due_ns[k],
                   (int64_t)due_of(&subject, k));
    }
    weir_close(subject.limiter);
}

static void due_property(struct prop *prop)
{
    if (prop_pick(prop, 4) == 3) leased_property(prop);
    else taken_property(prop);
}

PROPERTY("due", due_property, 20000);
