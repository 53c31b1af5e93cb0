/* SPDX-License-Identifier: MIT
   What weir pace has measured.

   Late is an operation's actual start against the time at which it was due.  Behind is how much of its schedule the
   work has not used.  Over is the most that any window held above what the limit allows, measured here and not by the
   limiter.

   Figures are of what was started, when it was started. */
#include "cli/pace/record.h"

#include <math.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "plan/option.h"
#include "plan/words.h"

enum { SECOND_NS = 1000000000 };

static double value_of(struct decimal number)
{
    return (double)number.digits / pow(10, number.places);
}

static double above_in(const struct limit *limit, double per_ns, uint64_t window_ns)
{
    return (double)facts_most_in(limit, window_ns) - per_ns * (double)window_ns;
}

/* The most above a steady rate that any window holds: exact for what has a burst, by trying windows for the rest. */
static double most_above(const struct limit *limit, double per_ns)
{
    double above = 1;
    for (uint64_t parts = 0; parts <= 8; parts++) {
        const uint64_t window_ns = limit->period_ns / 4 * parts;
        above = fmax(above, above_in(limit, per_ns, window_ns + 1));
        above = fmax(above, above_in(limit, per_ns, window_ns + 2)); /* two windows meet in it */
    }
    /* All of the count, a gap apart. */
    const uint64_t gap_ns = limit->has_time ? limit->time_ns : 0;
    const uint64_t gaps_ns = multiply_divide_floor(subtract_to_zero(limit->count.digits, 1), gap_ns, 1);
    return fmax(above, above_in(limit, per_ns, add_saturating(gaps_ns, 1)));
}

static void use_limit(struct record *record, const struct limit *limit, uint64_t permits, uint64_t period_ns)
{
    const double per_ns = (double)permits / (double)period_ns;
    const double ratio =
        option_fits(OPTION_CATCHUP, limit->algorithm) && limit->factor.digits != 0 ? value_of(limit->factor) : 1;
    const double burst = limit->burst_kind == AMOUNT_TIME ? (double)limit->burst * per_ns : (double)limit->burst;
    record->in_windows = limit->burst_kind == AMOUNT_NONE;
    record->keeps_room = limit->algorithm == ALGORITHM_HYBRID;
    record->at_random = limit->arrivals == ARRIVALS_POISSON;
    /* Of a part only its own starts are seen: as many as the whole may have, divided, and one more where it begins. */
    const double parts = (double)most(record->source.parts, 1);
    const double over = record->in_windows ? most_above(limit, ratio * per_ns) : ratio * burst;
    record->permits_per_ns = per_ns / parts;
    record->faster_per_ns = ratio * per_ns / parts;
    record->over = (over + parts - 1) / parts;
    record->pool = fmax(1, (record->in_windows ? over : burst) / parts);
    record->permits = permits;
    record->period_ns = period_ns;
}

static void use_slowest(struct record *record, const struct plan *plan)
{
    record->permits_per_ns = record->faster_per_ns = 0;
    record->permits = 0;
    for (uint64_t i = 0; i < plan->count; i++) {
        const struct limit *limit = &plan->limit[i];
        uint64_t permits, period_ns;
        if (!limit_rate(limit, &permits, &period_ns)) continue;
        const double per_ns = (double)permits / (double)period_ns;
        if (record->permits != 0 && per_ns >= record->permits_per_ns) continue;
        use_limit(record, limit, permits, period_ns);
        record->index = i;
    }
}

void record_open(struct record *record, const struct plan *plan, const char *noun)
{
    host_mutex_open(&record->mutex);
    record->noun = noun;
    use_slowest(record, plan);
}

static void leak(struct record *record, double per_ns, uint64_t now_ns)
{
    if (now_ns <= record->level_ns) return;
    record->level = fmax(0, record->level - (double)(now_ns - record->level_ns) * per_ns);
    record->level_ns = now_ns;
}

/* Room in the bucket, carried as hybrid carries its pool: what is there is time that has passed and stays the same
   time, up to a full pool; what is missing is permits, and stays as many.  (A level that stays the same time instead
   makes one permit of 1/s a thousand of 1000/s.)  Others keep the time that is used, so theirs is the larger room of
   both. */
static double carried_level(const struct record *record, double level, double over, double scale)
{
    const double room = over - level, used = fmin(level, over), waiting = level - used;
    const double by_room = room > 0 ? room * scale : room;
    const double by_use = record->over - used * scale - waiting;
    return fmax(0, record->over - (record->keeps_room ? by_room : fmax(by_room, by_use)));
}

void record_hold(struct record *record)
{
    host_lock(&record->mutex);
}

/* The limiter changed at some moment between the two: the bucket leaks at the faster rate from the one to the other. */
void record_limit(struct record *record, const struct plan *plan, uint64_t before_ns, uint64_t now_ns)
{
    const double per_ns = record->permits_per_ns, faster_per_ns = record->faster_per_ns, over = record->over;
    const bool in_windows = record->in_windows;
    const uint64_t permits = record->permits, index = record->index;
    leak(record, faster_per_ns, before_ns);
    use_slowest(record, plan);
    if (record->faster_per_ns < faster_per_ns) leak(record, faster_per_ns, now_ns);
    /* Another limit of the list has a level of its own, which is not known; what was untouched or unlimited begins
       fresh. */
    const bool same = record->items != 0 && permits != 0 && record->permits != 0 && index == record->index;
    const double scale = same ? record->permits_per_ns / per_ns : 0;
    if (!same || in_windows || record->in_windows) record->level = 0;
    else record->level = carried_level(record, record->level, over, scale);
    record->changed_ns = now_ns;
    if (record->phases != NULL) record->phases->over = true;
    record->share_before = fmin(1, scale);
}

struct record_rate record_rate_now(struct record *record)
{
    host_lock(&record->mutex);
    const struct record_rate now = {record->permits_per_ns, record->pool, record->period_ns, record->permits};
    host_unlock(&record->mutex);
    return now;
}

void record_begin(struct record *record, uint64_t actual_ns)
{
    host_lock(&record->mutex);
    if (record->items == 0) record->first_ns = record->last_ns = actual_ns;
    leak(record, record->faster_per_ns, actual_ns);
    record->share = actual_ns < record->changed_ns ? record->share_before : 1;
    if (actual_ns > record->last_ns) record->last_ns = actual_ns;
}

/* A cost above the pool starts when the pool is full, and the rest is paid for afterwards. */
static uint64_t cost_ahead(const struct record *record, uint64_t cost)
{
    return (double)cost > record->pool ? (uint64_t)record->pool : cost;
}

void record_behind(struct record *record, uint64_t behind_ns)
{
    record->behind_max_ns = most(record->behind_max_ns, behind_ns);
}

/* By how much more was due from the first line to the last: as record_rate, without the last. */
static void ask_by_stamps(struct record *record, uint64_t late_ns, uint64_t due_ns, uint64_t cost)
{
    if (record->items == 1) record->due_first_ns = record->due_last_ns = due_ns;
    record->due_last_ns = most(record->due_last_ns, due_ns);
    const uint64_t span_ns = record->due_last_ns - record->due_first_ns;
    record->permits_per_ns = span_ns != 0 ? (double)(record->granted - cost) / (double)span_ns : 0;
    record_behind(record, late_ns);
}

void record_start(struct record *record, uint64_t actual_ns, uint64_t start_ns, uint64_t due_ns, uint64_t cost)
{
    const uint64_t ahead = cost_ahead(record, cost);
    if (record->items++ == 0) record->first_cost = ahead;
    record->owed = cost - ahead;
    record->granted += cost;
    record->level += (double)cost * record->share;
    const double bound = record->over + fmax(0, (double)cost - record->pool);
    if (record->permits != 0 && !record->at_random) record->excess = fmax(record->excess, record->level - bound);
    if (actual_ns < start_ns) record->early++;
    if (record->phases != NULL) phase_record_start(record->phases, actual_ns, due_ns, cost);
    const uint64_t late_ns = subtract_to_zero(actual_ns, due_ns);
    if (record->by_stamps) ask_by_stamps(record, late_ns, due_ns, cost);
    histogram_add(&record->late, late_ns);
}

void record_parts(struct record *record, uint64_t count)
{
    record->parts += count;
}

void record_end(struct record *record)
{
    host_unlock(&record->mutex);
}

void record_logged(struct record *record, const struct record_log *log)
{
    struct record_log *known = &record->log;
    host_lock(&record->mutex);
    known->span_ns = most(known->span_ns, log->span_ns);
    known->malformed = most(known->malformed, log->malformed);
    known->backward = most(known->backward, log->backward);
    known->backward_max_ns = most(known->backward_max_ns, log->backward_max_ns);
    known->gaps = most(known->gaps, log->gaps);
    known->cut_ns = most(known->cut_ns, log->cut_ns);
    host_unlock(&record->mutex);
}

void record_dropped(struct record *record, uint64_t count)
{
    host_lock(&record->mutex);
    record->dropped += count;
    host_unlock(&record->mutex);
}

void record_skipped(struct record *record, uint64_t now_ns, uint64_t permits)
{
    if (record->phases == NULL) return;
    host_lock(&record->mutex);
    phase_record_skip(record->phases, now_ns, permits);
    host_unlock(&record->mutex);
}

static struct record_view view_of(const struct record *record)
{
    return (struct record_view){.items = record->items - record->parts,
                                .granted = record->granted,
                                .dropped = record->dropped,
                                .first_ns = record->first_ns,
                                .last_ns = record->last_ns,
                                .late_p99_ns = histogram_quantile(&record->late, 990),
                                .asked_per_s = record->permits_per_ns * SECOND_NS};
}

struct record_view record_view(struct record *record)
{
    host_lock(&record->mutex);
    const struct record_view view = view_of(record);
    host_unlock(&record->mutex);
    return view;
}

void record_read(struct record *record, struct record_view *view, struct histogram *late)
{
    host_lock(&record->mutex);
    *view = view_of(record);
    *late = record->late;
    host_unlock(&record->mutex);
}

double record_rate(uint64_t granted, uint64_t first_cost, uint64_t first_ns, uint64_t last_ns)
{
    if (last_ns <= first_ns) return 0;
    return (double)(granted - first_cost) * SECOND_NS / (double)(last_ns - first_ns);
}
