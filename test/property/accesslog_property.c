/* SPDX-License-Identifier: MIT
   Any bytes as a line are read, or refused at a column with words; lines of patterns are read as a
   parser reads them that tries every byte, and what is written as JSON or CSV comes back. */
#include "format/log/accesslog.h"

#include <stdio.h>
#include <string.h>

#include "owned.h"
#include "property/property.h"

enum { TEXT_SIZE = 2048, CELLS_MAX = 6, CELL_SIZE = 48 };

struct text {
    char bytes[TEXT_SIZE];
    size_t size;
};

static void add(struct text *text, const char *bytes, size_t size)
{
    if (size > sizeof text->bytes - 1 - text->size) size = sizeof text->bytes - 1 - text->size;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

static void add_text(struct text *text, const char *bytes)
{
    add(text, bytes, strlen(bytes));
}

/* With nothing behind it that may be read. */
static struct slice own(struct prop *prop, const struct text *text)
{
    const char *bytes = owned_copy(text->bytes, text->size);
    prop_check(prop, bytes != NULL, "no memory");
    return (struct slice){bytes, text->size};
}

static const char *pick_one(struct prop *prop, const char *const list[], size_t count)
{
    return list[prop_pick(prop, count)];
}
#define PICK(prop, list) pick_one(prop, list, sizeof(list) / sizeof *(list))

/* ---- lines ---- */

static const char *const stamps[] = {
    "21/Nov/2026:17:46:01 +0000", "1795283161.123", "2026-11-21T17:46:01.5+01:00", "1", "-",
    "31/Dec/2016:23:59:60 +0000", "9214646400",     "29/Feb/2023:00:00:00 +0000"};
static const char *const values[] = {
    "192.0.2.1", "-",        "",   "GET /a?b HTTP/1.1", "\\x16\\x03", "a\\\"b", "\\\\",           "200", "0.012",
    "::1",       "[::1]:80", "\"", "192.0.2.1:80",      " ",          "a\"\"b", "\\u00e9\\ud800", "\\",  "{\"a\":1}"};
static const char *const literals[] = {" ", "\" \"", "] \"", " - ", "|", ",", "\"", " [", "--", "\" ", "aa"};
static const char *const names[] = {"remote_addr", "request", "status", "a", "request_time", "msec", "time_local", "t"};
static const char *const wants[] = {"client", "path",    "method", "uri",          "status",
                                    "a",      "request", "a.a",    "request_time", "t"};
static const char *const json[] = {"{",      "}",    "{\"ts\":1,", "\"",     ":",      ",",   "[", "]",
                                   "\"a\":", "null", "\"ts\":1",   "{\"a\"", "\"\\\"", "1e3", " ", "\"client\":\"x\""};

static void pick_line(struct prop *prop, struct text *line)
{
    line->size = 0;
    while (prop_more(prop, 8)) {
        switch (prop_pick(prop, 6)) {
        case 0:
            add_text(line, PICK(prop, stamps));
            break;
        case 1:
            add_text(line, PICK(prop, values));
            break;
        case 2:
            add_text(line, PICK(prop, literals));
            break;
        case 3:
            add_text(line, PICK(prop, json));
            break;
        default:
            add(line, (const char[]){(char)prop_pick(prop, 256)}, 1);
        }
    }
}

static bool lies_in(struct slice part, struct slice line)
{
    return part.size == 0 || (part.bytes >= line.bytes && part.bytes + part.size <= line.bytes + line.size);
}

static void check_problem(struct prop *prop, const struct accesslog_problem *problem, size_t size)
{
    prop_check(prop, problem->column <= size + 1, "column %zu of %zu", problem->column, size);
    prop_check(prop, problem->message[0] != '\0', "no message");
    prop_check(prop, memchr(problem->message, '\0', sizeof problem->message) != NULL, "a message without an end");
}

static void check_entry(struct prop *prop, const struct accesslog *log, struct slice line,
                        const struct accesslog_entry *entry)
{
    char plain[TEXT_SIZE], less[TEXT_SIZE];
    prop_check(prop, entry->time_ns < UINT64_C(9214646400000000000), "a time behind 2261");
    prop_check(prop, entry->resolution_ns >= 1 && entry->resolution_ns <= 1000000000, "a resolution");
    for (int i = 0; i < log->wanted_count; i++) {
        const struct slice field = entry->field[i];
        prop_check(prop, lies_in(field, line), "field %d is not in the line", i);
        const size_t size = accesslog_plain(log, field, plain, sizeof plain);
        prop_check(prop, size <= field.size, "field %d grows", i);
        const size_t cut = prop_pick(prop, size + 1), written = accesslog_plain(log, field, less, cut);
        prop_check(prop, written <= cut && written + 4 > cut && memcmp(less, plain, written) == 0, "cut otherwise");
        if (entry->escaped >> i & 1) continue;
        prop_check(prop, slice_is((struct slice){plain, size}, field), "field %d has escapes", i);
    }
}

/* The same line reads the same whatever was read before. */
static void check_again(struct prop *prop, const struct accesslog *used, struct slice line,
                        const struct accesslog_entry *entry, bool good)
{
    struct accesslog fresh = *used;
    struct accesslog_entry again;
    struct accesslog_problem problem;
    memset(&fresh.cache, 0, sizeof fresh.cache);
    prop_check(prop, accesslog_read(&fresh, line, &again, &problem) == good, "otherwise with nothing kept");
    if (!good) return;
    prop_check(prop, again.time_ns == entry->time_ns && again.has_duration == entry->has_duration, "another time");
    for (int i = 0; i < used->wanted_count; i++)
        prop_check(prop, slice_is(again.field[i], entry->field[i]), "another field %d", i);
}

static void read_line(struct prop *prop, struct accesslog *log)
{
    struct text text;
    struct accesslog_entry entry;
    struct accesslog_problem problem;
    pick_line(prop, &text);
    prop_note(prop, "line \"%s\"", text.bytes);
    const struct slice line = own(prop, &text);
    const bool good = accesslog_read(log, line, &entry, &problem);
    if (good) check_entry(prop, log, line, &entry);
    else check_problem(prop, &problem, line.size);
    check_again(prop, log, line, &entry, good);
    owned_free(line.bytes);
}

static void total(struct prop *prop)
{
    static const char *const formats[] = {
        "combined", "common", "json", "csv", "$msec $a \"$request\" $request_time", "[$time_local] $remote_addr"};
    struct accesslog log;
    struct accesslog_problem problem;
    struct text first;
    pick_line(prop, &first);
    if (prop_chance(prop, 2)) first.size = 0, add_text(&first, "time,client,a,request");
    const char *format = prop_chance(prop, 2) ? NULL : PICK(prop, formats);
    prop_note(prop, "format %s, first line \"%s\"", format != NULL ? format : "by line", first.bytes);
    const struct slice first_line = own(prop, &first);
    if (accesslog_open(&log, format, first_line, &problem)) {
        while (prop_more(prop, 3)) accesslog_want(&log, PICK(prop, wants), &problem);
        while (prop_more(prop, 4)) read_line(prop, &log);
    } else check_problem(prop, &problem, first.size);
    owned_free(first_line.bytes);
}

/* ---- patterns, against trying every byte ---- */

struct pattern {
    const char *literal[CELLS_MAX + 1], *name[CELLS_MAX];
    size_t variables;
    struct text format;
};

static void pick_pattern(struct prop *prop, struct pattern *pattern)
{
    pattern->variables = 1 + prop_pick(prop, CELLS_MAX);
    pattern->format.size = 0;
    for (size_t i = 0; i < pattern->variables; i++) {
        pattern->literal[i] = i == 0 && prop_chance(prop, 2) ? "" : PICK(prop, literals);
        pattern->name[i] = i == 0 ? "msec" : PICK(prop, names);
        add_text(&pattern->format, pattern->literal[i]);
        add_text(&pattern->format, "${");
        add_text(&pattern->format, pattern->name[i]);
        add_text(&pattern->format, "}");
    }
    pattern->literal[pattern->variables] = prop_chance(prop, 2) ? "" : PICK(prop, literals);
    add_text(&pattern->format, pattern->literal[pattern->variables]);
    prop_note(prop, "format %s", pattern->format.bytes);
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* How many variables the line has, from the left. */
static size_t read_slowly(const struct pattern *pattern, const char *line, struct slice value[])
{
    const char *at = line;
    if (!begins(at, pattern->literal[0])) return 0;
    at += strlen(pattern->literal[0]);
    for (size_t i = 0; i < pattern->variables; i++) {
        const char *literal = pattern->literal[i + 1], *end = at;
        for (bool escaped = false; *literal == '\0' ? *end != '\0' : escaped || !begins(end, literal); end++) {
            if (*end == '\0') return i;
            escaped = !escaped && *end == '\\' && *literal == '"';
        }
        value[i] = slice_between(at, end);
        at = end + strlen(literal);
    }
    return pattern->variables;
}

static void pick_line_of(struct prop *prop, const struct pattern *pattern, struct text *line)
{
    line->size = 0;
    for (size_t i = 0; i < pattern->variables; i++) {
        add_text(line, pattern->literal[i]);
        add_text(line, i == 0 && !prop_chance(prop, 10) ? stamps[1] : PICK(prop, values));
        if (prop_chance(prop, 20)) add_text(line, PICK(prop, literals));
    }
    add_text(line, pattern->literal[pattern->variables]);
    if (line->size != 0 && prop_chance(prop, 8))
        line->bytes[prop_pick(prop, line->size)] = "\\\" -|"[prop_pick(prop, 5)];
    if (prop_chance(prop, 20)) line->size = prop_pick(prop, line->size + 1);
    line->bytes[line->size] = '\0';
    prop_note(prop, "line \"%s\"", line->bytes);
}

/* Of the variables of one name it is the first that counts. */
static size_t first_of(const struct pattern *pattern, const char *name)
{
    size_t first = 0;
    while (first < pattern->variables && strcmp(pattern->name[first], name) != 0) first++;
    return first;
}

static void patterns(struct prop *prop)
{
    struct pattern pattern;
    struct accesslog log;
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    struct text text;
    struct slice value[CELLS_MAX];
    pick_pattern(prop, &pattern);
    prop_check(prop, accesslog_open(&log, pattern.format.bytes, slice_of(""), &problem), "%s", problem.message);
    const size_t wanted = prop_pick(prop, pattern.variables);
    const int index = accesslog_want(&log, pattern.name[wanted], &problem);
    prop_check(prop, index == 0, "%s", problem.message);
    pick_line_of(prop, &pattern, &text);
    const size_t read = read_slowly(&pattern, text.bytes, value);
    const bool good = accesslog_read(&log, slice_of(text.bytes), &entry, &problem);
    const size_t first = first_of(&pattern, pattern.name[wanted]), timed = first_of(&pattern, "request_time");
    const size_t last = timed < pattern.variables && timed > first ? timed : first;
    if (!good) {
        check_problem(prop, &problem, text.size);
        prop_check(prop, read <= last || !slice_is(value[0], slice_of(stamps[1])), "%s", problem.message);
        return;
    }
    prop_check(prop, read > last, "reads what is not there");
    prop_check(prop, !slice_is(value[0], slice_of(stamps[1])) || entry.time_ns == UINT64_C(1795283161123000000),
               "time");
    if (strcmp(pattern.name[first], "remote_addr") == 0) return; /* it loses its port */
    const bool nothing = slice_is(value[first], slice_of("-"));
    prop_check(prop, slice_is(entry.field[0], nothing ? slice_of("") : value[first]), "reads %.*s",
               (int)entry.field[0].size, entry.field[0].bytes);
}

/* ---- JSON and CSV: what is written comes back ---- */

static size_t pick_cell(struct prop *prop, char cell[CELL_SIZE])
{
    static const char bytes[] = "a\"\\,;\t :{}[]\n1-";
    size_t size = 0;
    while (prop_more(prop, 5) && size < CELL_SIZE - 2) {
        const char byte = bytes[prop_pick(prop, sizeof bytes - 1)];
        cell[size++] = byte;
    }
    cell[size] = '\0';
    return size;
}

static void add_json(struct prop *prop, struct text *line, const char *cell)
{
    char escape[8];
    add_text(line, "\"");
    for (; *cell != '\0'; cell++) {
        if (*cell != '-' && prop_chance(prop, 10))
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*cell);
        else if (*cell == '\n') snprintf(escape, sizeof escape, "\\n");
        else snprintf(escape, sizeof escape, *cell == '"' || *cell == '\\' ? "\\%c" : "%c", *cell);
        add_text(line, escape);
    }
    add_text(line, "\"");
}

static void add_csv(struct prop *prop, struct text *line, const char *cell)
{
    const bool quoted = cell[strcspn(cell, "\",;\t")] != '\0' || prop_chance(prop, 3);
    if (quoted) add_text(line, "\"");
    for (; *cell != '\0'; cell++) {
        add(line, cell, 1);
        if (*cell == '"') add(line, cell, 1);
    }
    if (quoted) add_text(line, "\"");
}

static void space(struct prop *prop, struct text *line)
{
    if (prop_chance(prop, 6)) add_text(line, " ");
}

/* Columns a to f; b and d lie in objects. */
static void write_json(struct prop *prop, struct text *line, char cells[][CELL_SIZE])
{
    static const char *const keys[] = {
        "\"a\"", "\"o\" :{\"b\"", "\"c\"", "\"x\":[{\"a\":1,\"time\":\"]\"}],\"o\":{\"p\":{\"d\"", "\"e\"", "\"f\""};
    static const char *const closing[] = {"", "}", "", "}}", "", ""};
    add_text(line, "{");
    for (size_t i = 0; i < CELLS_MAX; i++) {
        space(prop, line);
        add_text(line, keys[i]);
        add_text(line, ":");
        space(prop, line);
        add_json(prop, line, cells[i]);
        add_text(line, closing[i]);
        add_text(line, ",");
    }
    add_text(line, "\"time\":1795283161.123}");
}

static void write_csv(struct prop *prop, struct text *line, char cells[][CELL_SIZE], const char *separator)
{
    for (size_t i = 0; i < CELLS_MAX; i++) {
        add_csv(prop, line, cells[i]);
        add_text(line, separator);
    }
    add_text(line, "1795283161.123");
}

static void round_trip(struct prop *prop)
{
    static const char *const keys[] = {"a", "o.b", "c", "o.p.d", "e", "f"};
    static const char *const headers[] = {"a,o.b,c,o.p.d,e,f,time", "a;o.b;c;\"o.p.d\";e;f;time",
                                          "a\to.b\tc\to.p.d\te\tf\ttime"};
    static const char *const separators[] = {",", ";", "\t"};
    char cells[CELLS_MAX][CELL_SIZE], plain[TEXT_SIZE];
    struct text line = {.size = 0};
    struct accesslog log;
    struct accesslog_problem problem;
    struct accesslog_entry entry;
    const bool csv = prop_pick(prop, 2) != 0;
    const uint64_t header = prop_pick(prop, 3);
    for (size_t i = 0; i < CELLS_MAX; i++) pick_cell(prop, cells[i]);
    if (csv) write_csv(prop, &line, cells, separators[header]);
    else write_json(prop, &line, cells);
    prop_note(prop, "line \"%s\"", line.bytes);
    prop_check(prop, accesslog_open(&log, NULL, csv ? slice_of(headers[header]) : slice_of(line.bytes), &problem), "%s",
               problem.message);
    for (size_t i = 0; i < CELLS_MAX; i++) accesslog_want(&log, keys[i], &problem);
    prop_check(prop, accesslog_read(&log, slice_of(line.bytes), &entry, &problem), "column %zu: %s", problem.column,
               problem.message);
    prop_check(prop, entry.time_ns == UINT64_C(1795283161123000000), "another time");
    for (size_t i = 0; i < CELLS_MAX; i++) {
        const size_t size = accesslog_plain(&log, entry.field[i], plain, sizeof plain);
        const char *meant = strcmp(cells[i], "-") == 0 ? "" : cells[i];
        prop_check(prop, slice_is((struct slice){plain, size}, slice_of(meant)), "%s is \"%.*s\"", keys[i], (int)size,
                   plain);
    }
}

static void accesslog_property(struct prop *prop)
{
    prop_step(prop);
    switch (prop_pick(prop, 3)) {
    case 0:
        total(prop);
        break;
    case 1:
        patterns(prop);
        break;
    default:
        round_trip(prop);
    }
}

PROPERTY("accesslog", accesslog_property, 300000);
