/* SPDX-License-Identifier: MIT
   One schedule for several machines, without anything between them: each does every Nth start of it.

       schedule    1   2   3   4   5   6   7   8   9  10  11 ...      permits of the whole limit, due one by one
       part 2/5        x                   x                          its own starts; what lies between is the others'

   Each machine keeps the whole schedule, and charges the permits of the others without using them.  So nothing is
   divided and nothing is rounded: whatever the limit makes of its permits, the k-th is due at the same ns everywhere,
   and the parts together are the whole.  Behind its schedule a part catches up as its share of the whole would.

   The machines have only the beginning in common, a time of the wall clock; it is translated to the monotonic clock
   shortly before, and then stays.

   A start for which no line was there is left out, and the next one is the part's next one: no part ever moves. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/limiter.h"
#include "cli/pace/schedule.h"
#include "core/algorithm.h"
#include "core/num.h"
#include "format/log/stamp.h"
#include "plan/amount.h"

enum { PARTS_MAX = 1000, READINGS = 5, TEXT_SIZE = 160 };

/* Until then the two clocks may still move against each other. */
static const uint64_t FIXED_BEFORE_NS = 20000000;

/* ---- options ---- */

bool pace_read_part(const struct option_row *row, const char *value, void *into)
{
    struct pace_part *part = into;
    char number[16];
    const size_t size = strcspn(value, "/");
    if (value[size] == '/' && size < sizeof number) {
        memcpy(number, value, size);
        number[size] = '\0';
        const bool read = amount_count(number, &part->number) && amount_count(value + size + 1, &part->of);
        if (read && part->number >= 1 && part->number <= part->of && part->of <= PARTS_MAX) return true;
        if (read && part->number > part->of && part->of >= 1 && part->number <= PARTS_MAX) {
            trouble("--%s \"%s\": there is no part %llu of %llu; did you mean %llu/%llu?", row->name, value,
                    (unsigned long long)part->number, (unsigned long long)part->of, (unsigned long long)part->of,
                    (unsigned long long)part->number);
            return false;
        }
    }
    trouble("--%s \"%s\": expected K/N, the Kth of N parts, 1 to %d; for example 2/5", row->name, value, PARTS_MAX);
    return false;
}

/* A stamp with a date is a time of this machine only, unless it says its zone. */
static bool says_zone(const char *text)
{
    const size_t size = strlen(text), after_day = strcspn(text, "T:");
    const bool dated = strchr(text, ':') != NULL;
    if (!dated || size == 0) return true;
    return strchr("zZCT", text[size - 1]) != NULL || strpbrk(text + after_day, "+-") != NULL;
}

/* The beginning of the next minute or hour; 0: it is neither. */
static uint64_t next_of(const char *value, uint64_t now_unix_ns)
{
    static const struct {
        const char *words;
        uint64_t seconds;
    } known[] = {{"next minute", 60}, {"next hour", 3600}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const uint64_t ns = known[i].seconds * HOST_SECOND_NS;
        if (strcmp(value, known[i].words) == 0) return (now_unix_ns / ns + 1) * ns;
    }
    return 0;
}

bool pace_read_begin(const struct option_row *row, const char *value, void *into)
{
    struct pace_part *part = into;
    struct stamp_cache cache = {.size = 0};
    struct stamp stamp;
    const uint64_t now_ns = host_unix_ns(), soon = now_ns / HOST_SECOND_NS + 60;
    part->begin_unix_ns = next_of(value, now_ns);
    if (part->begin_unix_ns != 0) return true;
    if (!stamp_read(&cache, slice_of(value), STAMP_SECONDS, &stamp)) {
        trouble("--%s \"%s\": expected a time; for example 2026-11-28T12:00:00Z, %llu or \"next minute\"", row->name,
                value, (unsigned long long)soon);
        return false;
    }
    if (!says_zone(value)) {
        trouble("--%s \"%s\": say the zone, or machines in two of them would not begin together; for example %sZ",
                row->name, value, value);
        return false;
    }
    part->begin_unix_ns = most(stamp.time_ns, 1);
    return true;
}

/* ---- the beginning ---- */

/* The monotonic time of this machine at that time of the wall clock.  The two are read in turn; of several pairs the
   closest is right by half of what lies between. */
static uint64_t instant_of(uint64_t unix_ns)
{
    uint64_t closest_ns = UINT64_MAX, ahead_ns = 0;
    for (int i = 0; i < READINGS; i++) {
        const uint64_t before_ns = host_now_ns(), wall_ns = host_unix_ns(), after_ns = host_now_ns();
        if (after_ns - before_ns >= closest_ns) continue;
        closest_ns = after_ns - before_ns;
        ahead_ns = before_ns + closest_ns / 2 - wall_ns;
    }
    return unix_ns + ahead_ns;
}

/* The limit's clock begins then, be it past or still to come, and not when it was opened: so it is the same to the ns
   on all machines. */
static void set_clock(struct pace *pace)
{
    struct home_held held;
    host_lock(&pace->limiter->mutex);
    home_close(pace->limiter, &held);
    for (int i = 0; i < held.content.count; i++) held.content.rule[i].anchor_ns = pace->part.begin_ns;
    home_open(pace->limiter, &held);
    host_unlock(&pace->limiter->mutex);
}

int pace_open_part(struct pace *pace)
{
    struct pace_part *part = &pace->part;
    const struct plan *plan = plan_inside_const(&pace->plan);
    const bool hybrid = plan->count == 1 && plan->limit[0].algorithm == ALGORITHM_HYBRID;
    host_mutex_open(&part->mutex);
    if (part->of != 0 && !hybrid)
        return trouble("pace: --part needs one limit with a schedule (algorithm=hybrid); for example 1000/s");
    if (part->of != 0 && pace->bytes)
        return trouble("pace: --part counts starts, not bytes; give each machine its share of the rate instead");
    if (part->of != 0 && pace->follow.path != NULL)
        return trouble("pace: --part and --rate-file exclude each other: each machine would see a change at another "
                       "moment");
    if (part->begin_unix_ns == 0) return STATUS_DONE;
    if ((int64_t)instant_of(part->begin_unix_ns) < 1)
        return trouble("pace: --begin: that was before this machine was started");
    const bool shared = pace->engine_url != NULL || pace->follow.path != NULL;
    if (part->of == 0 && hybrid && !pace->bytes && !shared) part->number = part->of = 1;
    if (part->of != 0) part->before = part->number - 1;
    return STATUS_DONE;
}

/* part 2 of 5: every 5th start, from 2026-11-28T12:00:00Z on, in 12.3 s */
void pace_tell_part(const struct pace *pace, FILE *out)
{
    const struct pace_part *part = &pace->part;
    if (part->begin_unix_ns == 0) return;
    char when[32], text[TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    const uint64_t now_ns = host_unix_ns(), begin_ns = part->begin_unix_ns;
    const time_t seconds = (time_t)(begin_ns / HOST_SECOND_NS);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (part->of > 1) {
        write_text(&writer, "part ");
        write_number(&writer, part->number);
        write_text(&writer, " of ");
        write_number(&writer, part->of);
        write_text(&writer, ": ");
    }
    write_text(&writer, begin_ns > now_ns ? "begins at " : "began at ");
    write_text(&writer, when);
    write_text(&writer, begin_ns > now_ns ? ", in " : ", ");
    write_about(&writer, begin_ns > now_ns ? begin_ns - now_ns : now_ns - begin_ns);
    write_text(&writer, begin_ns > now_ns ? "" : " ago");
    fprintf(out, "%s\n", text);
}

/* Shortly before, the time is fixed. */
static void fix_begin(struct pace *pace)
{
    pace->part.begin_ns = instant_of(pace->part.begin_unix_ns);
    if (pace->part.of != 0) set_clock(pace);
}

/* A stop ends the wait for the limiter's event. */
static void sleep_until(struct pace *pace, uint64_t when_ns)
{
    while (!pace_stopped(pace) && host_now_ns() < when_ns) {
        const uint32_t seen = host_event_seen(&pace->limiter->event);
        if (!pace_stopped(pace)) host_event_wait(&pace->limiter->event, seen, when_ns);
    }
}

/* One that joins a schedule which has begun leaves out what was due before. */
void pace_await_begin(struct pace *pace)
{
    struct pace_part *part = &pace->part;
    if (part->begin_unix_ns == 0) return;
    uint64_t now_ns, left_ns;
    while (!pace_stopped(pace)) {
        now_ns = host_now_ns();
        left_ns = subtract_to_zero(instant_of(part->begin_unix_ns), now_ns);
        if (left_ns <= FIXED_BEFORE_NS) break;
        sleep_until(pace, now_ns + least(left_ns - FIXED_BEFORE_NS / 2, PACE_LOOK_NS));
    }
    fix_begin(pace);
    if (part->of != 0 && host_now_ns() >= part->begin_ns) pace_part_idled(pace, part->begin_ns, host_now_ns());
    else sleep_until(pace, part->begin_ns);
}

/* ---- taking ---- */

/* [locked] The first permit of the schedule, taken when it began; true when it is ours. */
static bool begin_schedule(struct pace *pace, weir_decision *decision)
{
    struct pace_part *part = &pace->part;
    const bool ours = part->before == 0;
    *decision = weir_take_at(pace->limiter, (weir_instant){part->begin_ns}, 1);
    part->begun = true;
    part->before = ours ? part->of - 1 : part->before - 1;
    return ours;
}

/* [locked] The permits of the others, up to our next one. */
static void pass_others(struct pace *pace)
{
    if (pace->part.before != 0) weir_charge(pace->limiter, pace->part.before);
    pace->part.before = 0;
}

static void begin_or_pass(struct pace *pace)
{
    weir_decision none;
    if (!pace->part.begun && pace->part.before != 0) begin_schedule(pace, &none);
    if (pace->part.begun) pass_others(pace);
}

/* One worker at a time waits for the part's next start. */
weir_decision pace_part_take(struct pace *pace, bool waits)
{
    struct pace_part *part = &pace->part;
    weir_decision decision;
    host_lock(&part->mutex);
    begin_or_pass(pace);
    if (part->begun) {
        decision = waits ? weir_take_wait(pace->limiter, 1, WEIR_FOREVER) : weir_take(pace->limiter, 1);
        if (weir_allowed(decision)) part->before = part->of - 1;
    } else {
        begin_schedule(pace, &decision);
    }
    host_unlock(&part->mutex);
    return decision;
}

uint64_t pace_part_next_in_ns(struct pace *pace)
{
    host_lock(&pace->part.mutex);
    begin_or_pass(pace);
    host_unlock(&pace->part.mutex);
    const weir_decision next = weir_peek(pace->limiter, 1);
    return weir_allowed(next) ? 0 : next.retry_ns;
}

/* ---- starts that are left out ---- */

/* [locked] Our own that are due and were not taken. */
static uint64_t own_due(struct pace *pace, uint64_t now_ns)
{
    const uint64_t left = pace->part.begun ? pace_late_at(pace, now_ns).left : 0;
    return (subtract_to_zero(left, pace->part.before) + pace->part.of - 1) / pace->part.of;
}

/* Those that came to be due meanwhile, but for what the pool has of them; in whole rounds, so that ours stay ours.
   What of the others was due by then they have started, so it is not charged to what we may do next. */
void pace_part_idled(struct pace *pace, uint64_t from_ns, uint64_t to_ns)
{
    struct pace_part *part = &pace->part;
    weir_decision none;
    host_lock(&part->mutex);
    const uint64_t before = own_due(pace, from_ns);
    if (!part->begun && to_ns > part->begin_ns) begin_schedule(pace, &none);
    const uint64_t kept = most(before, pace_late_at(pace, to_ns).pool / part->of);
    weir_skip(pace->limiter, subtract_to_zero(own_due(pace, to_ns), kept) * part->of);
    const uint64_t others = own_due(pace, to_ns) == 0 ? least(pace_late_at(pace, to_ns).left, part->before) : 0;
    weir_skip(pace->limiter, others);
    part->before -= others;
    host_unlock(&part->mutex);
}
