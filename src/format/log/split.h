/* SPDX-License-Identifier: MIT
   The kinds of lines: how their formats are read, and how they are taken apart.

   An open function finds the pieces of the log; a split function finds the values in a line: of pieces by their
   number, of JSON by slot, which has no pieces. */
#ifndef WEIR_FORMAT_LOG_SPLIT_H
#define WEIR_FORMAT_LOG_SPLIT_H

#include "format/log/accesslog.h"

/* What a line has for a slot: its source, too, as JSON finds out by the line. */
struct found {
    struct slice value;
    const struct accesslog_source *source; /* NULL: nothing */
};

/* Nothing yet for any slot that is looked at. */
static inline void found_clear(const struct accesslog *log, struct found found[])
{
    for (int i = 0; i < log->wanted_count; i++) found[i].source = NULL;
    found[ACCESSLOG_TIME].source = found[ACCESSLOG_DURATION].source = NULL;
}

/* ---- pattern.c ---- */
bool pattern_open(struct accesslog *log, const char *format, struct accesslog_problem *problem);
bool pattern_split(const struct accesslog *log, struct slice line, struct slice value[],
                   struct accesslog_problem *problem);

/* ---- csv.c ---- */
bool csv_open(struct accesslog *log, struct slice header, struct accesslog_problem *problem);
bool csv_split(const struct accesslog *log, struct slice line, struct slice value[], struct accesslog_problem *problem);
size_t csv_plain(struct slice escaped, char *out, size_t size);

/* ---- json.c ---- */
/* Puts sources[from] and those behind it into their buckets. */
void json_add(struct accesslog *log, unsigned from);
bool json_split(struct accesslog *log, struct slice line, struct found found[], struct accesslog_problem *problem);

/* ---- plain.c ---- */
size_t plain_escapes(struct slice escaped, char *out, size_t size);

#endif
