/* SPDX-License-Identifier: MIT
   What a limit lets through, in words.  Every number comes from core/facts.c. */
#include <string.h>

#include "core/algorithm.h"
#include "core/clock.h"
#include "core/num.h"
#include "core/slot.h"
#include "plan/plan.h"
#include "plan/option.h"
#include "plan/text.h"

enum { LEASE_PARTS = 3 }; /* at a third of it a lease is renewed */
enum { LABEL_WIDTH = 16 };

static const char *period_word(uint64_t ns)
{
    switch (ns) {
    case UINT64_C(1000000000):
        return "second";
    case UINT64_C(60000000000):
        return "minute";
    case UINT64_C(3600000000000):
        return "hour";
    case UINT64_C(86400000000000):
        return "day";
    case UINT64_C(604800000000000):
        return "week";
    case UINT64_C(31536000000000000):
        return "year";
    default:
        return NULL;
    }
}

static void write_window(struct writer *writer, uint64_t ns)
{
    const char *name = period_word(ns);
    if (name != NULL) write_text(writer, name);
    else write_duration(writer, ns);
}

static size_t begin_label(struct writer *writer)
{
    write_text(writer, "  ");
    return writer->length;
}

static void end_label(struct writer *writer, size_t began)
{
    size_t width = writer->length - began;
    do write_text(writer, " ");
    while (++width < LABEL_WIDTH);
}

static void label(struct writer *writer, const char *name)
{
    const size_t began = begin_label(writer);
    write_text(writer, name);
    end_label(writer, began);
}

static void label_window(struct writer *writer, uint64_t ns)
{
    const size_t began = begin_label(writer);
    write_text(writer, "in any ");
    write_window(writer, ns);
    end_label(writer, began);
}

/* Of arrivals at random there is no most: how many come on average, and how many hardly ever. */
static void explain_arrivals(struct writer *writer, const struct limit *limit, uint64_t window_ns)
{
    const uint64_t mean = facts_mean_in(limit, window_ns), rarely = arrivals_quantile(mean);
    const uint64_t whole = mean >> ARRIVALS_MEAN_BITS, half = (UINT64_C(1) << ARRIVALS_MEAN_BITS) / 2;
    if (whole >= 1000) write_grouped(writer, whole);
    else write_decimal(writer, (mean * 1000 + half) >> ARRIVALS_MEAN_BITS, 3);
    write_text(writer, " on average");
    if (rarely == UINT64_MAX) return;
    write_text(writer, ", more than ");
    write_grouped(writer, rarely);
    write_text(writer, " in one of 1,000");
}

static void explain_window(struct writer *writer, const struct limit *limit, uint64_t window_ns)
{
    const uint64_t most = facts_most_in(limit, window_ns);
    label_window(writer, window_ns);
    if (limit->arrivals == ARRIVALS_POISSON) {
        explain_arrivals(writer, limit, window_ns);
        return;
    }
    write_text(writer, most == UINT64_MAX ? "any number: the schedule is the only bound" : "at most ");
    if (most != UINT64_MAX) write_grouped(writer, most);
}

/* The limit that never lets more than the count through in any period: by a log, or one permit at a time where a log
   cannot count that way. */
static struct limit strict_form(const struct limit *limit)
{
    struct limit log = {.count = limit->count, .period_ns = limit->period_ns, .algorithm = ALGORITHM_SLIDING_LOG};
    struct rule rule;
    memcpy(log.unit, limit->unit, sizeof log.unit);
    struct limit compiled = log, spaced = *limit;
    if (limit_compile(&compiled, &rule).message == NULL) return log;
    spaced.algorithm = ALGORITHM_GCRA;
    spaced.burst_kind = AMOUNT_COUNT;
    spaced.burst = 1;
    return spaced;
}

/* When more than the count can pass in a period, the line that says so also shows the limit that prevents it. */
static void explain_period(struct writer *writer, const struct limit *limit, const struct algorithm *algorithm)
{
    const struct limit strict = strict_form(limit);
    explain_window(writer, limit, limit->period_ns);
    const uint64_t strict_most = facts_most_in(&strict, limit->period_ns);
    if (algorithm->lateness == NULL && facts_most_in(limit, limit->period_ns) > strict_most) {
        write_text(writer, ".   For never more than ");
        write_grouped(writer, strict_most);
        write_text(writer, " in any ");
        write_window(writer, limit->period_ns);
        write_text(writer, ": '");
        text_write(writer, &strict);
        write_text(writer, "'");
    }
    write_text(writer, "\n");
}

static void explain_admission(struct writer *writer, const struct facts *facts)
{
    label(writer, "after idling");
    write_grouped(writer, facts->at_once);
    write_text(writer, facts->at_once == 1 ? " passes, then " : " pass at once, then ");
    if (facts->group == 1) write_text(writer, "one");
    else write_grouped(writer, facts->group);
    write_text(writer, " every ");
    write_duration(writer, facts->spacing_ns);
    write_text(writer, "\n");
}

/* The lines before this one describe starts on schedule.  A thread may start later than that, by as much as a pool or a
   ms, before it loses its start (api/wait.c).  So the starts in a window were scheduled in a window that is longer by
   that much. */
static void explain_late(struct writer *writer, const struct limit *limit, const struct facts *facts)
{
    const uint64_t pool_ns = multiply_saturating(facts->at_once, facts->spacing_ns);
    const uint64_t late_ns = most(pool_ns, LATE_LEAST_NS);
    const uint64_t most_started = facts_most_in(limit, add_saturating(limit->period_ns, late_ns));
    if (facts->at_once == UINT64_MAX || most_started == UINT64_MAX) return;
    label(writer, "if woken late");
    write_text(writer, "at most ");
    write_grouped(writer, most_started);
    write_text(writer, ": weir_take_wait abandons a start that is over ");
    write_duration(writer, late_ns);
    write_text(writer, " late\n");
}

static void explain_stall(struct writer *writer, const struct limit *limit, const struct facts *facts)
{
    const bool at_random = limit->arrivals == ARRIVALS_POISSON;
    label(writer, "after a stall");
    if (facts->at_once == UINT64_MAX) {
        write_text(writer, "all that the schedule has left, at once\n");
        return;
    }
    write_grouped(writer, facts->at_once);
    write_text(writer, at_random ? " at once on average, then " : " at once, then ");
    const bool catches_up = limit->factor.digits > 1 || limit->factor.places != 0;
    if (!catches_up) {
        write_text(writer, "as before; the lost time is reported, not made up\n");
        return;
    }
    write_decimal(writer, limit->factor.digits, limit->factor.places);
    write_text(writer, " times as fast until the lost time is made up\n");
}

static void explain_pace(struct writer *writer, const struct limit *limit, const struct facts *facts)
{
    const bool at_random = limit->arrivals == ARRIVALS_POISSON;
    label(writer, "on schedule");
    write_text(writer, "one every ");
    write_duration(writer, facts->spacing_ns);
    write_text(writer, at_random ? " on average, at random: a Poisson process, which seed= repeats\n" : "\n");
    explain_stall(writer, limit, facts);
}

/* Two starts are at least as far apart as the longest window that has room for only one; one that is longer than the
   spacing has room for two. */
static uint64_t shortest_gap_ns(const struct limit *limit, uint64_t spacing_ns)
{
    uint64_t below = 0, above = add_saturating(spacing_ns, 1);
    while (above - below > 1) {
        const uint64_t middle = below + (above - below) / 2;
        if (facts_most_in(limit, middle) <= 1) below = middle;
        else above = middle;
    }
    return below;
}

/* Strict limiting: consecutive starts are at least as far apart as the rate alone requires, in whole ns. */
static bool is_strict(const struct limit *limit, uint64_t gap_ns)
{
    uint64_t permits, period_ns;
    limit_rate(limit, &permits, &period_ns);
    return gap_ns != 0 && gap_ns >= period_ns / permits;
}

static struct limit strict_pace(const struct limit *limit)
{
    struct rule rule;
    struct limit strict = {.count = limit->count,
                           .period_ns = limit->period_ns,
                           .burst = 1,
                           .burst_kind = AMOUNT_COUNT,
                           .algorithm = ALGORITHM_HYBRID};
    memcpy(strict.unit, limit->unit, sizeof strict.unit);
    limit_compile(&strict, &rule);
    return strict;
}

static void explain_gap(struct writer *writer, const struct limit *limit, uint64_t spacing_ns)
{
    const uint64_t gap_ns = shortest_gap_ns(limit, spacing_ns);
    const struct limit strict = strict_pace(limit);
    label(writer, "shortest gap");
    if (gap_ns == 0) write_text(writer, "0");
    else write_duration(writer, gap_ns);
    if (limit->arrivals == ARRIVALS_POISSON) write_text(writer, ": starts may come together");
    if (is_strict(limit, gap_ns)) {
        write_text(writer, ": strict limiting\n");
        return;
    }
    if (is_strict(&strict, shortest_gap_ns(&strict, spacing_ns))) {
        write_text(writer, ".   For strict limiting, never less than ");
        write_duration(writer, spacing_ns);
        write_text(writer, ": '");
        text_write_rate(writer, &strict);
        write_text(writer, " burst=1'");
    }
    write_text(writer, "\n");
}

/* The same rate with a pool large enough for one sleep and its lateness. */
static struct limit kept_pace(const struct limit *limit, uint64_t min_sleep_ns)
{
    struct limit kept = strict_pace(limit);
    struct rule rule;
    kept.burst_kind = AMOUNT_NONE;
    kept.factor = (struct decimal){0, 0};
    limit_compile(&kept, &rule);
    if (facts_linear_full_ns(&kept) >= 2 * min_sleep_ns) return kept;
    kept.burst_kind = AMOUNT_TIME;
    kept.burst = 2 * min_sleep_ns;
    return kept;
}

bool explain_slept(const struct limit *limit, const struct rule *rule, uint64_t cost, uint64_t min_sleep_ns,
                   struct writer *writer)
{
    const uint64_t per_s = facts_slept_per_s(limit, rule, cost, min_sleep_ns);
    if (per_s == UINT64_MAX) return false;
    const struct limit kept = kept_pace(limit, min_sleep_ns);
    write_text(writer, "at most about ");
    write_grouped(writer, per_s);
    write_text(writer, "/s in one thread, which sleeps ");
    write_duration(writer, min_sleep_ns);
    write_text(writer, " at a time.   To hold the rate: '");
    text_write_rate(writer, &kept);
    option_write(writer, &kept, OPTION_BURST);
    if (kept.factor.places != 0) write_text(writer, " catchup=");
    if (kept.factor.places != 0) write_decimal(writer, kept.factor.digits, kept.factor.places);
    write_text(writer, "'");
    return true;
}

/* Not for bytes: they are taken in pieces, whose size is not known here. */
static void explain_sleeping(struct writer *writer, const struct limit *limit, const struct rule *rule)
{
    if (strcmp(limit->unit, "bytes") == 0) return;
    if (facts_slept_per_s(limit, rule, 1, MIN_SLEEP_USUAL_NS) == UINT64_MAX) return;
    label(writer, "by sleeping");
    explain_slept(limit, rule, 1, MIN_SLEEP_USUAL_NS, writer);
    write_text(writer, "\n");
}

static void explain_largest(struct writer *writer, const struct limit *limit, const struct algorithm *algorithm,
                            const struct facts *facts, uint64_t pool)
{
    label(writer, "largest call");
    if (limit->pay == PAY_SELF) {
        write_text(writer, "any; it starts when its own permits have accrued\n");
        return;
    }
    if (algorithm->pays_after) {
        write_text(writer, "any; the next call waits for it\n");
        return;
    }
    if (facts->largest == UINT64_MAX) {
        write_text(writer, "any; one above ");
        write_grouped(writer, pool);
        write_text(writer, algorithm->lateness != NULL ? " starts when the pool is full and is paid back afterwards\n"
                                                       : " has to wait, for the permits of several periods\n");
        return;
    }
    write_grouped(writer, facts->largest);
    write_text(writer, "; a larger one can never pass\n");
}

/* memory is NULL when the limit is one of several, whose states are kept together. */
static void explain_memory(struct writer *writer, uint64_t state_bytes, const struct plan_memory *memory, bool grows)
{
    label(writer, "memory");
    write_grouped(writer, state_bytes);
    write_text(writer, " bytes of state");
    if (memory != NULL && grows) {
        write_text(writer, "; in a limiter ");
        write_grouped(writer, memory->limiter_bytes);
    }
    if (memory != NULL) {
        write_text(writer, "; in a table ");
        write_grouped(writer, memory->table_key_bytes);
        write_text(writer, " bytes a key in all");
    }
    if (memory != NULL && memory->file_key_bytes != memory->table_key_bytes) {
        write_text(writer, "; in a file ");
        write_grouped(writer, memory->file_key_bytes);
    }
    write_text(writer, "\n");
}

static void explain_full(struct writer *writer, const struct facts *facts)
{
    label(writer, "back to full");
    write_duration(writer, facts->full_ns);
    write_text(writer, " after the last call\n");
}

static void explain_guaranteed(struct writer *writer)
{
    label(writer, "guaranteed");
    write_text(writer, "to a tenant, whatever others do: its parent is charged for it even into debt\n");
    label(writer, "above it");
    write_text(writer, "it borrows what its parent has idle, up to its other limits\n");
}

static void explain_weight(struct writer *writer, uint64_t weight)
{
    label(writer, "weight");
    write_grouped(writer, weight);
    write_text(writer, ": so many shares of what its parent has idle, among the tenants that want it\n");
}

static void explain_at_once(struct writer *writer, const struct limit *limit)
{
    label(writer, "at once");
    write_text(writer, "at most ");
    write_grouped(writer, limit->count.digits);
    write_text(writer, " at any time, however fast they come and go\n");
}

static void explain_concurrent(struct writer *writer, const struct limit *limit)
{
    explain_at_once(writer, limit);
    label(writer, "if one dies");
    write_text(writer, "its slot is free ");
    write_duration(writer, limit->time_ns);
    write_text(writer, " after it was taken or last renewed; renew every ");
    write_duration(writer, limit->time_ns / LEASE_PARTS);
    write_text(writer, "\n");
    label(writer, "if refused");
    write_text(writer, "retry says when the next lease ends; a release comes sooner, a renewal later\n");
}

static void explain_limit(struct writer *writer, const struct limit *limit, const struct rule *rule,
                          const struct plan_memory *memory, uint64_t window_ns)
{
    text_write(writer, limit);
    write_text(writer, "\n");
    if (limit->algorithm == ALGORITHM_UNLIMITED || limit->algorithm == ALGORITHM_NONE) {
        label(writer, "lets through");
        write_text(writer, limit->algorithm == ALGORITHM_NONE ? "nothing\n" : "everything\n");
        if (limit_weight(limit) != 0) explain_weight(writer, limit->weight);
        return;
    }
    const struct algorithm *algorithm = algorithm_of(rule);
    const struct facts facts = facts_of(limit, rule);
    if (algorithm->grows == GROWS_SLOTS) {
        explain_concurrent(writer, limit);
        explain_largest(writer, limit, algorithm, &facts, 0);
        explain_memory(writer, facts.state_bytes, memory, true);
        return;
    }
    if (limit->phases != 0) {
        explain_phases(limit, writer);
        if (limit->arrivals == ARRIVALS_POISSON) {
            label(writer, "arrivals");
            write_text(writer, "at random: a Poisson process, which seed= repeats\n");
        }
        if (algorithm->lateness != NULL) explain_stall(writer, limit, &facts);
    } else if (algorithm->lateness != NULL) {
        explain_pace(writer, limit, &facts);
        explain_gap(writer, limit, facts.spacing_ns);
        explain_sleeping(writer, limit, rule);
    } else {
        explain_admission(writer, &facts);
    }
    if (limit->phases == 0) {
        explain_period(writer, limit, algorithm);
    } else {
        explain_window(writer, limit, limit->period_ns);
        write_text(writer, limit->arrivals == ARRIVALS_POISSON ? "; at the highest rate\n" : "\n");
    }
    if (algorithm->lateness != NULL) explain_late(writer, limit, &facts);
    if (window_ns != 0 && window_ns != limit->period_ns) {
        explain_window(writer, limit, window_ns);
        write_text(writer, "\n");
    }
    if (limit->guaranteed) explain_guaranteed(writer);
    if (limit_weight(limit) != 0) explain_weight(writer, limit->weight);
    explain_largest(writer, limit, algorithm, &facts, permits_floor(rule, rule->burst));
    if (limit->phases == 0) explain_full(writer, &facts);
    const bool in_tables = limit->phases == 0 && limit->arrivals != ARRIVALS_POISSON;
    explain_memory(writer, facts.state_bytes, in_tables ? memory : NULL, algorithm->grows != GROWS_NOT);
    if (facts.note == NULL) return;
    label(writer, "note");
    write_text(writer, facts.note);
    write_text(writer, "\n");
}

void explain_most(const struct plan *plan, uint64_t limit, struct writer *writer)
{
    const uint8_t algorithm = plan->limit[limit].algorithm;
    if (algorithm == ALGORITHM_UNLIMITED || algorithm == ALGORITHM_NONE) return;
    if (algorithm == ALGORITHM_CONCURRENT) explain_at_once(writer, &plan->limit[limit]);
    else explain_period(writer, &plan->limit[limit], algorithm_of(&plan->rule[limit]));
}

void explain(const struct plan *plan, const struct plan_memory *memory, uint64_t window_ns, struct writer *writer)
{
    const bool alone = plan->count == 1;
    bool grows = false;
    for (uint64_t i = 0; i < plan->count; i++) {
        explain_limit(writer, &plan->limit[i], &plan->rule[i], alone ? memory : NULL, window_ns);
        grows = grows || algorithm_of(&plan->rule[i])->grows != GROWS_NOT;
    }
    if (alone) return;
    write_text(writer, "all limits apply: a call passes only if each allows it, and is charged to none otherwise\n");
    if (memory->state_bytes != 0) explain_memory(writer, memory->state_bytes, memory, grows);
}
