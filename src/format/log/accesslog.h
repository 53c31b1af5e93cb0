/* SPDX-License-Identifier: MIT
   One line of an access log, in whatever format, to a time, a duration and the fields that are wanted.

   See accesslog.c. */
#ifndef WEIR_FORMAT_LOG_ACCESSLOG_H
#define WEIR_FORMAT_LOG_ACCESSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/log/stamp.h"
#include "format/slice.h"

enum {
    ACCESSLOG_PIECES_MAX = 64,
    ACCESSLOG_WANTED_MAX = 16,
    ACCESSLOG_MESSAGE_SIZE = 200,
    ACCESSLOG_SOURCES_MAX = 250,
    ACCESSLOG_BUCKETS = 256,
    ACCESSLOG_MEMBERS = 32,
    ACCESSLOG_MEMBER_SIZE = 29
};

/* What is taken out of each line: the wanted fields and these. */
enum { ACCESSLOG_TIME = ACCESSLOG_WANTED_MAX, ACCESSLOG_DURATION, ACCESSLOG_SLOTS };

enum accesslog_kind { ACCESSLOG_PATTERN, ACCESSLOG_JSON, ACCESSLOG_CSV };

/* What to make of a value. */
enum accesslog_part {
    ACCESSLOG_WHOLE,
    ACCESSLOG_ADDRESS,     /* 192.0.2.1 of 192.0.2.1:4711, 2001:db8::1 of [2001:db8::1]:4711 */
    ACCESSLOG_UNTIL_QUERY, /* /a of /a?b */
    ACCESSLOG_METHOD,      /* of a request line: GET /a?b HTTP/1.1 */
    ACCESSLOG_URI,
    ACCESSLOG_PATH
};

/* A name under which a slot's value may stand; the lowest rank that has a value wins. */
struct accesslog_source {
    struct slice name;
    unsigned char slot, rank, part, unit; /* part: of wanted fields; unit: of times and durations */
    bool starts;                          /* a time at which the request began */
    unsigned char next;                   /* of its bucket, counting from 1; 0: none */
};

/* A member's name as it stood in a line of JSON, with its quotes and all that is before the value. */
struct accesslog_member {
    unsigned char size, name_size; /* 0: none */
    unsigned char first;           /* source of that name, counting from 1; 0: none */
    char text[ACCESSLOG_MEMBER_SIZE];
};

/* The names of the fields that say when and how long; NULL: whichever is called like one.  Borrowed.  Behind the name
   of a duration there may be its unit, "took:us"; else it is that which the name says, or any. */
struct accesslog_clocks {
    const char *time, *duration;
};

/* A compiled format; the texts that it was made of are borrowed for as long as it is used.  It keeps the last time that
   it read, and of JSON the names of the line before: one copy for each thread. */
struct accesslog {
    enum accesslog_kind kind;
    /* ACCESSLOG_PATTERN: what stands before a variable, and its name; the last one may have no name.  ACCESSLOG_CSV:
       the names of the columns. */
    struct {
        struct slice literal, name;
    } piece[ACCESSLOG_PIECES_MAX];
    int pieces;
    int needed;         /* of the pieces: the rest of a line is not looked at */
    char separator;     /* ACCESSLOG_CSV */
    struct slice first; /* ACCESSLOG_CSV: the header */
    /* ACCESSLOG_JSON: all names that are looked for.  Others: of each slot the one that the format has. */
    struct accesslog_source source[ACCESSLOG_SOURCES_MAX];
    unsigned sources;
    unsigned char bucket[ACCESSLOG_BUCKETS];
    struct accesslog_member member[ACCESSLOG_MEMBERS];
    signed char column[ACCESSLOG_SLOTS]; /* the piece of a slot; -1: none */
    const char *wanted[ACCESSLOG_WANTED_MAX];
    int wanted_count;
    struct accesslog_clocks clocks;
    bool has_durations;
    struct stamp_cache cache;
};

struct accesslog_entry {
    uint64_t time_ns;       /* of the unix epoch, as the stamp says */
    uint64_t resolution_ns; /* 10^9: whole seconds; 10^6: ms; 1 */
    uint64_t duration_ns;   /* of the request, where the line has it */
    bool has_duration;
    bool starts; /* by its name (start_time, StartUTC) the time is that of the request's start, not its end */
    /* As wanted, in that order; of no bytes where the line has "-" or nothing. */
    struct slice field[ACCESSLOG_WANTED_MAX];
    unsigned escaped; /* bit i: field i is written with escapes; accesslog_plain undoes them */
};

/* What is wrong with a format, a field or a line, and where (counting from 1 in the format or line; 0: nowhere). */
struct accesslog_problem {
    size_t column;
    bool of_time, of_duration; /* of a format: it has no time, or not the duration that was named */
    char message[ACCESSLOG_MESSAGE_SIZE];
};

/* format: "combined", "vhost_combined" (of Apache: the host first), "common", "json", "csv", or a string with
   $variables as in nginx's log_format.  NULL: the first line says it (JSON begins with "{", a line of names with a time
   among them is a header of CSV, else one of the other three).  first_line: without its newline; of CSV the header,
   which is no entry.  False: see problem. */
bool accesslog_open(struct accesslog *log, const char *format, struct slice first_line,
                    struct accesslog_problem *problem);

/* The same where the time and the duration are fields of these names. */
bool accesslog_open_clocks(struct accesslog *log, const char *format, const struct accesslog_clocks *clocks,
                           struct slice first_line, struct accesslog_problem *problem);

/* Names are those of the format, in JSON also of objects in objects (request.method); "client", "address", "user",
   "host", "method", "path", "uri", "agent", "bytes", "status" and "remote_addr" mean what is usually called so where
   the format has no field of that very name; "path" is always without the query, and an address without its port.
   The name is borrowed.
   Returns its index in entry.field; -1: see problem, which names the fields there are.  JSON takes any name: what a
   line does not have is a field of no bytes. */
int accesslog_want(struct accesslog *log, const char *name, struct accesslog_problem *problem);

/* True when the entry is filled.  Total: any bytes may come, `line` is without its newline; a return at its end is
   ignored.  Only what is needed is looked at: of a pattern or CSV, what stands behind the last field that is wanted
   may be missing or anything.  A duration that cannot be read is none. */
bool accesslog_read(struct accesslog *log, struct slice line, struct accesslog_entry *entry,
                    struct accesslog_problem *problem);

/* Is there a duration in this format, or of JSON in its first line? */
bool accesslog_has_durations(const struct accesslog *log);

/* Is this line the header of CSV once more, as at the start of each file? */
bool accesslog_is_header(const struct accesslog *log, struct slice line);

/* Undoes \" \\ \n \xXX \uXXXX and the like, or of CSV doubled quotes.  Returns the bytes written, never more than
   `size` nor than there were. */
size_t accesslog_plain(const struct accesslog *log, struct slice escaped, char *out, size_t size);

#endif
