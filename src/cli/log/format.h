/* SPDX-License-Identifier: MIT
   The format of a log: as it was typed, or as the first line shows it.

   See format.c. */
#ifndef WEIR_CLI_LOG_FORMAT_H
#define WEIR_CLI_LOG_FORMAT_H

#include "format/log/accesslog.h"

struct log_format {
    struct accesslog log;
    char *first_line, *text; /* what the log refers to */
};

/* What the options say, and the name of the one that has the time. */
struct log_asked {
    const char *format; /* NULL: not said */
    struct accesslog_clocks clocks;
    const char *time_option; /* "--time" */
};

/* first_line, without its end, is copied.  False when it has said what is wrong; it is to be closed all the same. */
bool format_open(struct log_format *format, const struct log_asked *asked, struct slice first_line);

/* One that is zeroed is fine, too. */
void format_close(struct log_format *format);

#endif
