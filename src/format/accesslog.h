/* SPDX-License-Identifier: MIT
   accesslog.h - one line of an access log, in whatever format, to a time, a duration and the fields that are wanted.

   See accesslog.c. */
#ifndef WEIR_FORMAT_ACCESSLOG_H
#define WEIR_FORMAT_ACCESSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACCESSLOG_PIECES_MAX = 64, ACCESSLOG_WANTED_MAX = 16, ACCESSLOG_MESSAGE_SIZE = 200 };

enum accesslog_kind { ACCESSLOG_PATTERN, ACCESSLOG_JSON, ACCESSLOG_CSV };

/* Bytes of the line; not NUL-terminated. */
struct slice {
    const char *bytes;
    size_t size;
};

/* A compiled format; the texts that it was made of are borrowed for as long as it is used. */
struct accesslog {
    enum accesslog_kind kind;
    /* ACCESSLOG_PATTERN: literal, variable, literal, ...  The others fill it as they like. */
    struct {
        struct slice literal, name;
    } piece[ACCESSLOG_PIECES_MAX];
    int pieces;
    struct slice wanted[ACCESSLOG_WANTED_MAX];
    int wanted_count;
};

struct accesslog_entry {
    uint64_t time_ns;       /* of the unix epoch, as the stamp says */
    uint64_t resolution_ns; /* 10^9: whole seconds; 10^6: ms; 1 */
    uint64_t duration_ns;   /* of the request, where the line has it */
    bool has_duration;
    struct slice
        field[ACCESSLOG_WANTED_MAX]; /* as wanted, in that order; without bytes where the line has "-" or nothing */
};

/* What is wrong with a format, a field or a line, and where (counting from 1 in the format or line; 0: nowhere). */
struct accesslog_problem {
    size_t column;
    char message[ACCESSLOG_MESSAGE_SIZE];
};

/* format: "combined", "common", "json", "csv", or a string with $variables as in nginx's log_format.  NULL: the first
   line says it (JSON begins with "{", a line of names with commas is a header of CSV, else combined or common).
   header: of CSV, the first line.  False: see problem. */
bool accesslog_open(struct accesslog *log, const char *format, struct slice first_line,
                    struct accesslog_problem *problem);

/* Names are those of the format; "client", "address", "user", "host", "method", "path", "uri", "agent", "bytes" mean
   their usual nginx variables where the format has no field of that very name; "path" is the uri without its query.
   Returns its index in entry.field; -1: see problem, which names the fields there are. */
int accesslog_want(struct accesslog *log, const char *name, struct accesslog_problem *problem);

/* True when the entry is filled.  Total: any bytes may come, `line` is without its newline. */
bool accesslog_read(const struct accesslog *log, struct slice line, struct accesslog_entry *entry,
                    struct accesslog_problem *problem);

/* What the stamps of this format are worth: does it have durations at all, and is time in there? */
bool accesslog_has_durations(const struct accesslog *log);

#endif
