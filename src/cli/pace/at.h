/* SPDX-License-Identifier: MIT
   Times from a log: when a line is due by its own stamp.

   See at.c. */
#ifndef WEIR_CLI_PACE_AT_H
#define WEIR_CLI_PACE_AT_H

#include "cli/common/arguments.h"
#include "cli/log/format.h"
#include "cli/pace/record.h"
#include "share/atomic.h"

/* The log's time on ours.  Its speed is digits / tens. */
struct at_course {
    uint64_t digits, tens;
    uint64_t gap_max_ns; /* of the log's time; UINT64_MAX: as long as they are */
    bool began;
    uint64_t began_ns;            /* the first line was due, */
    uint64_t first_ns, latest_ns; /* by this stamp; and the latest one so far */
    struct record_log log;
};

/* When a line with this stamp is due; the first one is now_ns.  Not before (stamp - first stamp) / speed, and not a ns
   later than that; it may be before what was due last. */
uint64_t at_due_ns(struct at_course *course, uint64_t stamp_ns, uint64_t now_ns);

/* Of a line: when it is due, and the log up to it. */
struct at_stamp {
    uint64_t due_ns;
    struct record_log log;
};

enum at_found { AT_DUE, AT_PASSED /* no line of the log: to be passed over */, AT_REFUSED /* said why */ };

/* Zeroed but for what is asked for = at the beginning; time NULL: lines start by a limit. */
struct at {
    const char *time, *format; /* as asked for */
    bool skip_invalid, quiet;
    struct at_course course;
    char *field[ACCESSLOG_WANTED_MAX]; /* those that a command names, owned */
    int fields;
    struct log_format log;
    bool opened;
    uint64_t lines; /* that were looked at */

    /* the line that is next */
    bool looked;
    enum at_found found;
    uint64_t due_ns;
    char *values; /* of the fields, each with a NUL; owned */

    struct atom late_ns; /* of the line that was started last */
};

/* Reads what the next line says, unless that is known.  `line` is without its end. */
enum at_found at_look(struct at *at, struct slice line, uint64_t now_ns);

void at_close(struct at *at);

/* The fields {NAME} of an argument are wanted of each line.  False when it has said what is wrong. */
bool at_want(struct at *at, const char *argument);

/* The value that the mark {NAME} at the beginning of the text stands for, of these values, which may be NULL; *size: of
   the mark.  NULL: it begins with no mark. */
const char *at_value(const struct at *at, const char *values, const char *text, size_t *size);

/* No line could be read: says so, and what to write.  False: one could, or there was none. */
bool at_unreadable(const struct at *at);

/* Option values: const char *, the name of a field; and of a course its speed. */
argument_reader at_read_field, at_read_speed;

#endif
