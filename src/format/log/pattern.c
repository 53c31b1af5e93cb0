/* SPDX-License-Identifier: MIT
   Lines in nginx's log_format: variables, and between them literal text.

   A variable goes on until the literal behind it.  Servers write a quote in a quoted value as \x22 or \", so where that
   literal begins with a quote, a quote behind a backslash (one that is not itself escaped) does not end the value.

   Reads each byte of a line a bounded number of times. */
#include "format/log/problem.h"
#include "format/log/split.h"

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* At the "$".  Moves *at behind the variable. */
static bool read_variable(const char *format, size_t *at, struct slice *name, struct accesslog_problem *problem)
{
    const size_t dollar = *at;
    const bool braced = format[dollar + 1] == '{';
    const char *start = format + dollar + 1 + braced;
    const char *end = start;
    while (braced ? *end != '\0' && *end != '}' : is_name_byte(*end)) end++;
    *name = slice_between(start, end);
    *at = (size_t)(end - format) + braced;
    if (braced && *end == '\0') return problem_is(problem, dollar + 1, "expected a } after the name, as in ${status}");
    if (name->size != 0) return true;
    return problem_is(problem, dollar + 1, "expected a name after the $, such as $remote_addr");
}

static bool add_piece(struct accesslog *log, struct slice literal, struct slice name, size_t at,
                      struct accesslog_problem *problem)
{
    if (log->pieces == ACCESSLOG_PIECES_MAX) return problem_is(problem, at + 1, "more than 63 variables in a format");
    if (log->pieces > 0 && literal.size == 0 && name.size != 0) {
        return problem_of(problem, at + 1, "expected something between two variables, to tell where $",
                          log->piece[log->pieces - 1].name, " ends");
    }
    log->piece[log->pieces].literal = literal;
    log->piece[log->pieces].name = name;
    log->pieces++;
    return true;
}

bool pattern_open(struct accesslog *log, const char *format, struct accesslog_problem *problem)
{
    log->kind = ACCESSLOG_PATTERN;
    size_t at = 0, from = 0;
    while (format[at] != '\0') {
        struct slice name;
        const size_t dollar = at;
        if (format[at] != '$') {
            at++;
            continue;
        }
        if (!read_variable(format, &at, &name, problem) ||
            !add_piece(log, slice_between(format + from, format + dollar), name, dollar, problem))
            return false;
        from = at;
    }
    return add_piece(log, slice_between(format + from, format + at), (struct slice){format + at, 0}, from, problem);
}

/* ---- lines ---- */

static bool is_escaped(const char *from, const char *at)
{
    size_t backslashes = 0;
    while (at > from && at[-1] == '\\') {
        at--;
        backslashes++;
    }
    return backslashes % 2 != 0;
}

/* NULL: not there. */
static const char *find(struct slice text, struct slice literal)
{
    const bool quote = literal.bytes[0] == '"';
    const char *at = text.bytes, *const end = text.bytes + text.size;
    while ((size_t)(end - at) >= literal.size) {
        at = slice_find(at, end - literal.size + 1, literal.bytes[0]);
        if (at == NULL) return NULL;
        if (slice_begins(slice_between(at, end), literal) && !(quote && is_escaped(text.bytes, at))) return at;
        at++;
    }
    return NULL;
}

static bool no_literal(const struct accesslog *log, int piece, size_t column, struct accesslog_problem *problem)
{
    problem_of(problem, column, "expected '", log->piece[piece].literal, "'");
    if (piece == 0) problem_add(problem, slice_of(" at the start of the line"));
    else {
        problem_add(problem, slice_of(" behind $"));
        problem_add(problem, log->piece[piece - 1].name);
    }
    return false;
}

bool pattern_split(const struct accesslog *log, struct slice line, struct slice value[],
                   struct accesslog_problem *problem)
{
    if (!slice_begins(line, log->piece[0].literal)) return no_literal(log, 0, 1, problem);
    struct slice rest = slice_from(line, log->piece[0].literal.size);
    for (int i = 0; i < log->needed; i++) {
        const struct slice literal = log->piece[i + 1].literal;
        const char *end = literal.size != 0 ? find(rest, literal) : rest.bytes + rest.size;
        if (end == NULL) return no_literal(log, i + 1, (size_t)(rest.bytes - line.bytes) + 1, problem);
        value[i] = slice_between(rest.bytes, end);
        rest = slice_from(rest, value[i].size + literal.size);
    }
    return true;
}
