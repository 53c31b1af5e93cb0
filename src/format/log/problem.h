/* SPDX-License-Identifier: MIT
   Writes what is wrong with a line or a format.

   Always terminated; what does not fit is cut off, what cannot be printed is a "?". */
#ifndef WEIR_FORMAT_LOG_PROBLEM_H
#define WEIR_FORMAT_LOG_PROBLEM_H

#include "format/log/accesslog.h"

static inline void problem_add(struct accesslog_problem *problem, struct slice text)
{
    size_t size = strlen(problem->message);
    for (size_t i = 0; i < text.size && size + 1 < sizeof problem->message; i++) {
        const char c = text.bytes[i];
        const bool printable = c >= ' ' && c <= '~';
        problem->message[size++] = '?';
        if (printable) problem->message[size - 1] = c;
    }
    problem->message[size] = '\0';
}

/* column counts from 1; 0: nowhere.  Always false, so that a caller may return it. */
static inline bool problem_is(struct accesslog_problem *problem, size_t column, const char *text)
{
    problem->column = column;
    problem->message[0] = '\0';
    problem_add(problem, slice_of(text));
    return false;
}

static inline bool problem_of(struct accesslog_problem *problem, size_t column, const char *before, struct slice what,
                              const char *after)
{
    problem_is(problem, column, before);
    problem_add(problem, what);
    problem_add(problem, slice_of(after));
    return false;
}

#endif
