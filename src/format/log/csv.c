/* SPDX-License-Identifier: MIT
   Comma-separated values; the first line names the columns.

   Values in quotes may hold separators and doubled quotes, but no newline. */
#include "format/log/problem.h"
#include "format/log/split.h"

static size_t count(struct slice text, char byte)
{
    size_t times = 0;
    for (size_t i = 0; i < text.size; i++) times += text.bytes[i] == byte;
    return times;
}

static char separator_of(struct slice header)
{
    const size_t commas = count(header, ','), semicolons = count(header, ';'), tabs = count(header, '\t');
    if (tabs > commas && tabs > semicolons) return '\t';
    return semicolons > commas ? ';' : ',';
}

/* Behind the quote that opens the value.  NULL: no quote closes it. */
static const char *closing_quote(const char *at, const char *end)
{
    while (at < end) {
        at = memchr(at, '"', (size_t)(end - at));
        if (at == NULL || at + 1 == end || at[1] != '"') return at;
        at += 2;
    }
    return NULL;
}

/* Moves *at behind the value, to the separator or the end. */
static bool read_value(struct slice line, char separator, const char **at, struct slice *value,
                       struct accesslog_problem *problem)
{
    const char *const end = line.bytes + line.size;
    if (*at == end || **at != '"') {
        const char *stop = *at != end ? memchr(*at, separator, (size_t)(end - *at)) : NULL;
        if (stop == NULL) stop = end;
        *value = slice_between(*at, stop);
        *at = stop;
        return true;
    }
    const char *quote = closing_quote(*at + 1, end);
    if (quote == NULL)
        return problem_is(problem, (size_t)(*at - line.bytes) + 1, "expected a second quote that closes the value");
    *value = slice_between(*at + 1, quote);
    *at = quote + 1;
    if (*at == end || **at == separator) return true;
    return problem_of(problem, (size_t)(*at - line.bytes) + 1, "expected ", (struct slice){&separator, 1},
                      " after the quote; a quote in a value is written twice");
}

bool csv_split(const struct accesslog *log, struct slice line, struct slice value[], struct accesslog_problem *problem)
{
    const char *at = line.bytes, *const end = line.bytes + line.size;
    for (int i = 0; i < log->needed; i++) {
        if (!read_value(line, log->separator, &at, &value[i], problem)) return false;
        if (i + 1 == log->needed) break;
        if (at == end)
            return problem_of(problem, line.size + 1, "expected a column ", log->piece[i + 1].name,
                              ", as in the header");
        at++;
    }
    return true;
}

static struct slice trimmed(struct slice name)
{
    while (name.size != 0 && name.bytes[0] == ' ') name = slice_from(name, 1);
    while (name.size != 0 && name.bytes[name.size - 1] == ' ') name.size--;
    return name;
}

bool csv_open(struct accesslog *log, struct slice header, struct accesslog_problem *problem)
{
    log->kind = ACCESSLOG_CSV;
    log->first = header;
    const bool marked = slice_begins(header, slice_of("\xef\xbb\xbf")); /* the mark of UTF-8 */
    const char *at = header.bytes + (marked ? 3 : 0), *const end = header.bytes + header.size;
    log->separator = separator_of(header);
    if (at == end)
        return problem_is(problem, 1, "expected a header: the names of the columns, such as time,client,path");
    for (;;) {
        struct slice name;
        const size_t column = (size_t)(at - header.bytes) + 1;
        if (!read_value(header, log->separator, &at, &name, problem)) return false;
        if (log->pieces == ACCESSLOG_PIECES_MAX) return problem_is(problem, column, "more than 64 columns");
        log->piece[log->pieces++].name = trimmed(name);
        if (at == end) return true;
        at++;
    }
}

size_t csv_plain(struct slice escaped, char *out, size_t size)
{
    size_t written = 0;
    for (size_t i = 0; i < escaped.size && written < size; i++) {
        out[written++] = escaped.bytes[i];
        if (escaped.bytes[i] == '"' && i + 1 < escaped.size && escaped.bytes[i + 1] == '"') i++;
    }
    return written;
}
