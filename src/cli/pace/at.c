/* SPDX-License-Identifier: MIT
   Times from a log: when a line is due by its own stamp.

       log    | a      b c                              d  e           gap_max cuts the time between c and d
       starts | a   b c              d  e                              at twice the speed

   The line with the latest stamp so far is due when the log's time since the first line has passed, without what was
   cut, and every other one before it by the difference of their stamps.  So a stamp that goes back is due in the past:
   its line starts at once, and is late by how far it went back.

   Exact: due - began = (stamp - first - cut) / speed, rounded up to the next ns. */
#include "cli/pace/at.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "host/sleep.h"

enum { SHOWN_MAX = 3 /* malformed lines, as weir replay does */, SPEED_DIGITS_MAX = 15 };

/* ---- the course of the log ---- */

static void note_stamp(struct at_course *course, uint64_t stamp_ns)
{
    struct record_log *log = &course->log;
    const uint64_t ahead_ns = subtract_to_zero(stamp_ns, course->latest_ns);
    const uint64_t back_ns = subtract_to_zero(course->latest_ns, stamp_ns);
    if (back_ns != 0) log->backward++;
    log->backward_max_ns = most(log->backward_max_ns, back_ns);
    if (ahead_ns > course->gap_max_ns) {
        log->gaps++;
        log->cut_ns += ahead_ns - course->gap_max_ns;
    }
    course->latest_ns = most(course->latest_ns, stamp_ns);
    log->span_ns = course->latest_ns - course->first_ns;
}

uint64_t at_due_ns(struct at_course *course, uint64_t stamp_ns, uint64_t now_ns)
{
    if (!course->began) {
        course->began = true;
        course->began_ns = now_ns;
        course->first_ns = course->latest_ns = stamp_ns;
    }
    note_stamp(course, stamp_ns);
    const uint64_t played_ns = course->log.span_ns - course->log.cut_ns;
    const uint64_t back_ns = course->latest_ns - stamp_ns;
    if (back_ns <= played_ns) {
        const uint64_t after_ns = multiply_divide_ceil(played_ns - back_ns, course->tens, course->digits);
        return add_saturating(course->began_ns, after_ns);
    }
    /* Up is towards the beginning. */
    return subtract_to_zero(course->began_ns, multiply_divide_floor(back_ns - played_ns, course->tens, course->digits));
}

/* ---- fields in a command ---- */

/* {uri}: bytes of the mark; 0: there is none.  JSON and scripts have their braces around more than a name. */
static size_t size_of_mark(const char *text)
{
    static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@:-";
    const size_t name = text[0] == '{' ? strspn(text + 1, names) : 0;
    return name != 0 && text[name + 1] == '}' ? name + 2 : 0;
}

/* fields: there is none */
static int field_of(const struct at *at, const char *mark, size_t size)
{
    int i = 0;
    while (i < at->fields && !slice_is(slice_of(at->field[i]), (struct slice){mark + 1, size - 2})) i++;
    return i;
}

bool at_want(struct at *at, const char *argument)
{
    for (const char *mark = argument; (mark = strchr(mark, '{')) != NULL; mark++) {
        const size_t size = size_of_mark(mark);
        if (size == 0 || field_of(at, mark, size) < at->fields) continue;
        if (at->fields == ACCESSLOG_WANTED_MAX) {
            trouble("pace: expected at most %d different {FIELD} in the command", ACCESSLOG_WANTED_MAX);
            return false;
        }
        at->field[at->fields] = strndup(mark + 1, size - 2);
        if (at->field[at->fields] == NULL) {
            trouble("no memory");
            return false;
        }
        at->fields++;
    }
    return true;
}

const char *at_value(const struct at *at, const char *values, const char *text, size_t *size)
{
    *size = values != NULL ? size_of_mark(text) : 0;
    if (*size == 0) return NULL;
    for (int i = field_of(at, text, *size); i > 0; i--) values += strlen(values) + 1;
    return values;
}

/* ---- lines ---- */

static enum at_found malformed(struct at *at, const struct accesslog_problem *problem)
{
    const unsigned long long line = at->lines;
    char place[48];
    if (problem->column == 0) snprintf(place, sizeof place, "line %llu", line);
    else snprintf(place, sizeof place, "line %llu, column %zu", line, problem->column);
    at->course.log.malformed++;
    if (!at->skip_invalid) {
        trouble("%s: %s; %s--skip-invalid would skip and count such lines", place, problem->message,
                at->course.began ? "" : "the format is said with --format, the time's field with --at; ");
        return AT_REFUSED;
    }
    if (at->course.log.malformed <= SHOWN_MAX && !at->quiet) trouble("%s: %s; skipped", place, problem->message);
    return AT_PASSED;
}

static bool want_fields(struct at *at)
{
    for (int i = 0; i < at->fields; i++) {
        struct accesslog_problem problem;
        if (accesslog_want(&at->log.log, at->field[i], &problem) == i) continue;
        trouble("pace: {%s} in the command: %s; to pass braces on, put a space in them: { %s }", at->field[i],
                problem.message, at->field[i]);
        return false;
    }
    return true;
}

static void tell_resolution(const struct at *at, const struct accesslog_entry *entry)
{
    if (at->quiet || entry->resolution_ns < HOST_SECOND_NS) return;
    fprintf(stderr, "stamps are whole seconds: all lines of a second start together\n");
}

/* False: one of them has a NUL in it, which an argument of a command cannot. */
static bool keep_values(struct at *at, const struct accesslog_entry *entry)
{
    size_t room = (size_t)at->fields + 1;
    for (int i = 0; i < at->fields; i++) room += entry->field[i].size;
    char *out = at->values = malloc(room);
    bool fits = true;
    for (int i = 0; out != NULL && i < at->fields; i++) {
        const struct slice field = entry->field[i];
        const bool escaped = (entry->escaped >> i & 1) != 0;
        const size_t size = escaped ? accesslog_plain(&at->log.log, field, out, field.size) : field.size;
        if (!escaped && size != 0) memcpy(out, field.bytes, size);
        fits = fits && memchr(out, '\0', size) == NULL;
        out += size;
        *out++ = '\0';
    }
    return fits;
}

static enum at_found read_entry(struct at *at, struct slice line, uint64_t now_ns)
{
    struct accesslog_entry entry;
    struct accesslog_problem problem;
    if (!accesslog_read(&at->log.log, line, &entry, &problem)) return malformed(at, &problem);
    if (at->fields != 0 && !keep_values(at, &entry)) {
        problem = (struct accesslog_problem){.message = "a field that the command is given contains a NUL byte"};
        return malformed(at, &problem);
    }
    if (at->fields != 0 && at->values == NULL) {
        trouble("no memory");
        return AT_REFUSED;
    }
    if (!at->course.began) tell_resolution(at, &entry);
    at->due_ns = at_due_ns(&at->course, entry.time_ns, now_ns);
    return AT_DUE;
}

static enum at_found read_line(struct at *at, struct slice line, uint64_t now_ns)
{
    at->lines++;
    if (line.size != 0 && line.bytes[line.size - 1] == '\r') line.size--;
    if (line.size == 0) return AT_PASSED;
    if (!at->opened) {
        const struct log_asked asked = {at->format, {at->time, NULL}, "--at"};
        if (!format_open(&at->log, &asked, line) || !want_fields(at)) return AT_REFUSED;
        at->opened = true;
    }
    return accesslog_is_header(&at->log.log, line) ? AT_PASSED : read_entry(at, line, now_ns);
}

enum at_found at_look(struct at *at, struct slice line, uint64_t now_ns)
{
    if (at->looked) return at->found;
    free(at->values);
    at->values = NULL;
    at->looked = true;
    at->found = read_line(at, line, now_ns);
    return at->found;
}

void at_close(struct at *at)
{
    for (int i = 0; i < at->fields; i++) free(at->field[i]);
    free(at->values);
    format_close(&at->log);
}

bool at_unreadable(const struct at *at)
{
    const unsigned long long lines = at->course.log.malformed;
    if (at->course.began || lines == 0 || !at->skip_invalid) return false;
    trouble("no line of %llu could be read; give the format with --format, for example --format json, or "
            "--format '$remote_addr [$time_local]' as in nginx's log_format",
            lines);
    return true;
}

/* ---- options ---- */

bool at_read_field(const struct option_row *row, const char *value, void *into)
{
    if (value[0] != '\0' && value[0] != '-') return argument_text(row, value, into);
    trouble("--%s \"%s\": expected the field that has the time; for example --%s time", row->name, value, row->name);
    return false;
}

/* 10, 2.5, .5 */
bool at_read_speed(const struct option_row *row, const char *value, void *into)
{
    struct at_course *course = into;
    const char *at = value;
    bool point = false;
    unsigned digits = 0, places = 0;
    course->digits = 0;
    for (; digits < SPEED_DIGITS_MAX && ((*at >= '0' && *at <= '9') || (*at == '.' && !point)); at++) {
        point = point || *at == '.';
        if (*at == '.') continue;
        course->digits = course->digits * 10 + (uint64_t)(*at - '0');
        digits++;
        places += point;
    }
    course->tens = power_of_ten(places);
    if (*at == '\0' && course->digits != 0) return true;
    trouble("--%s \"%s\": expected how many times as fast as the log, above 0; for example 10 or 0.5", row->name,
            value);
    return false;
}
