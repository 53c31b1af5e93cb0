/* SPDX-License-Identifier: MIT
   record.c - the summary of weir pace.

   Late is an operation's actual start against its intended start.  Behind is how much of its schedule the work has not
   used.  Over is the most that any window held above what the limit allows, measured here and not by the limiter.

   May touch: the record, an open file.  Promises: figures are of what was started, when it was started.  Leaves to
   others: starting things. */
#include "cli/record.h"

#include <math.h>
#include <string.h>

#include "core/algorithm.h"
#include "core/num.h"
#include "plan/words.h"
#include "plan/writer.h"

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
    record->permits_per_ns = per_ns;
    record->faster_per_ns = ratio * per_ns;
    record->over = record->in_windows ? most_above(limit, ratio * per_ns) : ratio * burst;
    record->pool = record->in_windows ? record->over : burst;
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

void record_start(struct record *record, uint64_t actual_ns, uint64_t intended_ns, uint64_t cost)
{
    const uint64_t ahead = cost_ahead(record, cost);
    if (record->items++ == 0) record->first_cost = ahead;
    record->owed = cost - ahead;
    record->granted += cost;
    record->level += (double)cost * record->share;
    const double bound = record->over + fmax(0, (double)cost - record->pool);
    if (record->permits != 0) record->excess = fmax(record->excess, record->level - bound);
    if (actual_ns < intended_ns) record->early++;
    histogram_add(&record->late, actual_ns > intended_ns ? actual_ns - intended_ns : 0);
}

void record_parts(struct record *record, uint64_t count)
{
    record->parts += count;
}

void record_end(struct record *record)
{
    host_unlock(&record->mutex);
}

void record_dropped(struct record *record, uint64_t count)
{
    host_lock(&record->mutex);
    record->dropped += count;
    host_unlock(&record->mutex);
}

struct record_view record_view(struct record *record)
{
    host_lock(&record->mutex);
    const struct record_view view = {
        record->items - record->parts,         record->granted, record->dropped, record->first_ns, record->last_ns,
        histogram_quantile(&record->late, 990)};
    host_unlock(&record->mutex);
    return view;
}

double record_rate(uint64_t granted, uint64_t first_cost, uint64_t first_ns, uint64_t last_ns)
{
    if (last_ns <= first_ns) return 0;
    return (double)(granted - first_cost) * SECOND_NS / (double)(last_ns - first_ns);
}

/* Not only when something was started, but also now. */
static uint64_t most_behind(const weir_stats *stats)
{
    return most(stats->late_max_ns, stats->late_now_ns);
}

static void put_duration(struct writer *writer, const char *label, uint64_t ns)
{
    write_text(writer, label);
    write_about(writer, ns);
}

static uint64_t lines_of(const struct record *record)
{
    return record->items - record->parts;
}

static void write_counted(struct writer *writer, uint64_t count, const char *noun)
{
    write_grouped(writer, count);
    write_text(writer, " ");
    write_bytes(writer, noun, strlen(noun) - (count == 1 ? 1 : 0)); /* of "lines" or "commands" */
}

/* 20 lines, or 3,000 bytes (20 lines) */
static void write_amount(struct writer *writer, const struct record *record)
{
    if (!record->in_bytes) {
        write_counted(writer, lines_of(record), record->noun);
        return;
    }
    write_counted(writer, record->granted, "bytes");
    write_text(writer, " (");
    write_counted(writer, lines_of(record), record->noun);
    write_text(writer, ")");
}

static void print_text(const struct record *record, const weir_stats *stats, double rate, FILE *out)
{
    char text[1024];
    struct writer writer = {text, sizeof text, 0};
    write_amount(&writer, record);
    fprintf(out, "%s in %.3f s, ", text, (double)(record->last_ns - record->first_ns) / SECOND_NS);
    writer.length = 0;
    if (rate >= 100) write_grouped(&writer, (uint64_t)(rate + 0.5));
    else write_decimal(&writer, (uint64_t)(rate * 1000 + 0.5), 3);
    write_text(&writer, record->in_bytes ? " B" : "");
    put_duration(&writer, "/s; late p50 ", histogram_quantile(&record->late, 500));
    put_duration(&writer, ", p90 ", histogram_quantile(&record->late, 900));
    put_duration(&writer, ", p99 ", histogram_quantile(&record->late, 990));
    put_duration(&writer, ", p99.9 ", histogram_quantile(&record->late, 999));
    put_duration(&writer, ", max ", record->late.max);
    fprintf(out, "%s\n", text);
    writer.length = 0;
    put_duration(&writer, "behind ", stats->late_now_ns);
    put_duration(&writer, " now, ", most_behind(stats));
    fprintf(out, "%s at worst; ", text);
    if (record->early == 0) fprintf(out, "never early, ");
    else fprintf(out, "%llu early, ", (unsigned long long)record->early);
    const double over = fmax(0, ceil(record->excess - 1e-6)) + 0.0;
    const char *unit = !record->in_bytes ? "" : over == 1 ? " byte" : " bytes";
    fprintf(out, "never over by more than %.0f%s\n", over, unit);
    if (record->dropped != 0) fprintf(out, "%llu dropped as too late\n", (unsigned long long)record->dropped);
}

/* The same figures under names that say what they count. */
static void print_bytes(const struct record *record, double rate, FILE *out)
{
    if (!record->in_bytes) return;
    if (record->permits_per_ns == 0) fprintf(out, "\"target_bytes_per_s\":null,");
    else fprintf(out, "\"target_bytes_per_s\":%.17g,", record->permits_per_ns * SECOND_NS);
    fprintf(out, "\"achieved_bytes_per_s\":%.17g,\"bytes\":%llu,", rate, (unsigned long long)record->granted);
}

static void print_json(const struct record *record, const weir_stats *stats, double rate, FILE *out)
{
    const struct histogram *late = &record->late;
    if (record->permits_per_ns == 0) fprintf(out, "{\"target_per_s\":null,");
    else fprintf(out, "{\"target_per_s\":%.17g,", record->permits_per_ns * SECOND_NS);
    fprintf(out, "\"achieved_per_s\":%.17g,\"granted\":%llu,\"%s\":%llu,\"dropped\":%llu,", rate,
            (unsigned long long)record->granted, record->noun, (unsigned long long)lines_of(record),
            (unsigned long long)record->dropped);
    print_bytes(record, rate, out);
    fprintf(out, "\"elapsed_s\":%.9f,", (double)(record->last_ns - record->first_ns) / SECOND_NS);
    fprintf(out, "\"late_ns\":{\"p50\":%llu,\"p90\":%llu,\"p99\":%llu,\"p999\":%llu,\"max\":%llu},",
            (unsigned long long)histogram_quantile(late, 500), (unsigned long long)histogram_quantile(late, 900),
            (unsigned long long)histogram_quantile(late, 990), (unsigned long long)histogram_quantile(late, 999),
            (unsigned long long)late->max);
    fprintf(out, "\"behind_ns\":{\"now\":%llu,\"max\":%llu},\"early\":%llu,\"over\":%.3f}\n",
            (unsigned long long)stats->late_now_ns, (unsigned long long)most_behind(stats),
            (unsigned long long)record->early, fmax(0, record->excess) + 0.0);
}

void record_print(struct record *record, const weir_stats *stats, bool json, FILE *out)
{
    host_lock(&record->mutex);
    const double rate =
        record_rate(record->granted - record->owed, record->first_cost, record->first_ns, record->last_ns);
    if (json) print_json(record, stats, rate, out);
    else print_text(record, stats, rate, out);
    host_unlock(&record->mutex);
}
