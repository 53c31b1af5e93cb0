/* SPDX-License-Identifier: MIT
   What weir pace has measured in each phase of a profile.

   A start belongs to the phase in which it was due, however late it was.  One that falls on the very beginning of a
   pause belongs to the phase before, and a pause has none. */
#include "cli/pace/profile/phase_record.h"

#include <stdio.h>

#include "core/num.h"
#include "host/thread.h"
#include "plan/profile/phases.h"

enum { TEXT_SIZE = 256, SECOND_NS = 1000000000 };

struct phase_record *phase_record_open(const weir_plan *plan)
{
    if (!plan_has_profile(plan_inside_const(plan))) return NULL;
    struct phase_record *record = host_allocate(sizeof *record);
    if (record == NULL) return NULL;
    record->plan = *plan;
    plan_make_profile(plan_inside_const(&record->plan), &record->profile);
    return record;
}

void phase_record_close(struct phase_record *record)
{
    host_free(record);
}

/* ---- phases ---- */

static bool has_starts(const struct phase_record *record, uint64_t phase)
{
    const struct profile_phase *here = &record->profile.phase[phase];
    return here->lasts_ns != 0 && (here->from | here->to) != 0;
}

/* The next one with starts, or the end. */
static uint64_t next_of(const struct phase_record *record, uint64_t phase)
{
    do phase++;
    while (phase < record->profile.count && !has_starts(record, phase));
    return phase;
}

static uint64_t elapsed_of(const struct phase_record *record, uint64_t at_ns)
{
    const uint64_t began_ns = atom_load(&record->began_ns);
    return began_ns == 0 ? 0 : subtract_to_zero(at_ns, began_ns);
}

/* The last one with starts that has begun, or the first one. */
static uint64_t phase_of(const struct phase_record *record, uint64_t elapsed_ns)
{
    uint64_t found = has_starts(record, 0) ? 0 : next_of(record, 0);
    for (uint64_t i = found; i < record->profile.count; i = next_of(record, i)) {
        if (record->profile.phase[i].begins_ns <= elapsed_ns) found = i;
    }
    return found;
}

static uint64_t asked_by(const struct phase_record *record, uint64_t elapsed_ns)
{
    if (atom_load(&record->began_ns) == 0) return 0;
    return (profile_position(&record->profile, elapsed_ns) >> PROFILE_SCALE) + 1;
}

/* What was due in it to somebody, by then. */
static uint64_t asked_in(const struct phase_record *record, uint64_t phase, struct phase_moment at)
{
    const uint64_t elapsed_ns = elapsed_of(record, at.until_ns);
    const uint64_t before = profile_starts(&record->profile, phase);
    const uint64_t all = profile_starts(&record->profile, next_of(record, phase));
    const uint64_t asked = subtract_to_zero(least(asked_by(record, elapsed_ns), all), before);
    const uint64_t ready = phase == phase_of(record, elapsed_ns) ? at.ready : 0;
    return subtract_to_zero(asked, record->tally[phase].skipped + ready);
}

static uint64_t lasted_ns(const struct phase_record *record, uint64_t phase, uint64_t elapsed_ns)
{
    const struct profile_phase *here = &record->profile.phase[phase];
    return least(subtract_to_zero(elapsed_ns, here->begins_ns), here->lasts_ns);
}

/* ---- noting ---- */

void phase_record_start(struct phase_record *record, uint64_t actual_ns, uint64_t due_ns, uint64_t cost)
{
    if (record->over || atom_load(&record->began_ns) == 0) return;
    struct phase_tally *tally = &record->tally[phase_of(record, elapsed_of(record, due_ns))];
    tally->started += cost;
    histogram_add(&tally->late, subtract_to_zero(actual_ns, due_ns));
}

void phase_record_skip(struct phase_record *record, uint64_t now_ns, uint64_t permits)
{
    if (!record->over) record->tally[phase_of(record, elapsed_of(record, now_ns))].skipped += permits;
}

/* ---- reading ---- */

double phase_record_asked_per_s(const struct phase_record *record, uint64_t until_ns)
{
    const uint64_t elapsed_ns = elapsed_of(record, until_ns);
    if (elapsed_ns == 0) return 0;
    return (double)(asked_by(record, elapsed_ns) - 1) * SECOND_NS / (double)elapsed_ns;
}

double phase_record_rate_at(const struct phase_record *record, uint64_t now_ns, unsigned *number, unsigned *count)
{
    const uint64_t elapsed_ns = elapsed_of(record, now_ns);
    *number = *count = 0;
    for (uint64_t i = 0; i < record->profile.count; i++) {
        const struct profile_phase *phase = &record->profile.phase[i];
        if (phase->lasts_ns != 0) ++*count;
        if (phase->lasts_ns != 0 && phase->begins_ns <= elapsed_ns) *number = *count;
    }
    return profile_rate(&record->profile, elapsed_ns);
}

bool phase_record_ended(const struct phase_record *record, uint64_t now_ns)
{
    const uint64_t end_ns = record->profile.phase[record->profile.count].begins_ns;
    return !record->over && end_ns != 0 && elapsed_of(record, now_ns) >= end_ns;
}

/* ---- printing ---- */

static void write_name(const struct phase_record *record, uint64_t phase, struct writer *writer)
{
    const struct limit *limit = &plan_inside_const(&record->plan)->limit[0];
    if (phase > 0 && record->profile.phase[phase - 1].lasts_ns == 0)
        phases_write_one(writer, limit, (unsigned)phase - 1);
    phases_write_one(writer, limit, (unsigned)phase);
}

static void write_per_s(struct writer *writer, uint64_t permits, uint64_t lasted)
{
    const uint64_t thousandths = multiply_divide_floor(permits, UINT64_C(1000) * SECOND_NS, most(lasted, 1));
    if (thousandths >= 100000) write_grouped(writer, (thousandths + 500) / 1000);
    else write_decimal(writer, thousandths, 3);
    write_text(writer, "/s");
}

void phase_record_print(const struct phase_record *record, struct phase_moment at, FILE *out)
{
    const uint64_t elapsed_ns = elapsed_of(record, at.until_ns);
    for (uint64_t i = 0; i < record->profile.count; i++) {
        const struct phase_tally *tally = &record->tally[i];
        char text[TEXT_SIZE];
        struct writer writer = {text, sizeof text, 0};
        if (!has_starts(record, i) || (record->profile.phase[i].begins_ns > elapsed_ns && tally->started == 0))
            continue;
        const uint64_t asked = asked_in(record, i, at);
        write_name(record, i, &writer);
        write_text(&writer, ": ");
        write_grouped(&writer, asked);
        write_text(&writer, " asked, ");
        write_grouped(&writer, tally->started);
        write_text(&writer, " started, ");
        write_per_s(&writer, tally->started, lasted_ns(record, i, elapsed_ns));
        write_text(&writer, ", late p99 ");
        write_about(&writer, histogram_quantile(&tally->late, 990));
        if (asked > tally->started) {
            write_text(&writer, ", ");
            write_grouped(&writer, asked - tally->started);
            write_text(&writer, " missed");
        }
        fprintf(out, "  %s\n", text);
    }
}

static void put_phase(const struct phase_record *record, uint64_t phase, struct phase_moment at, struct json *json)
{
    const struct phase_tally *tally = &record->tally[phase];
    const uint64_t asked = asked_in(record, phase, at);
    const uint64_t lasted = lasted_ns(record, phase, elapsed_of(record, at.until_ns));
    char text[TEXT_SIZE];
    struct writer writer = {text, sizeof text, 0};
    write_name(record, phase, &writer);
    json_object(json, NULL);
    json_text(json, "phase", text);
    json_number(json, "begins_ns", record->profile.phase[phase].begins_ns);
    json_number(json, "lasted_ns", lasted);
    json_number(json, "asked", asked);
    json_number(json, "started", tally->started);
    json_number(json, "missed", subtract_to_zero(asked, tally->started));
    snprintf(text, sizeof text, "%.17g", (double)tally->started * SECOND_NS / (double)most(lasted, 1));
    json_decimal(json, "achieved_per_s", text);
    json_number(json, "late_p99_ns", histogram_quantile(&tally->late, 990));
    json_number(json, "late_max_ns", tally->late.max);
    json_end_object(json);
}

void phase_record_json(const struct phase_record *record, struct phase_moment at, struct json *json)
{
    json_array(json, "phases");
    for (uint64_t i = 0; i < record->profile.count; i++) {
        if (has_starts(record, i)) put_phase(record, i, at, json);
    }
    json_end_array(json);
}
