/* SPDX-License-Identifier: MIT
   The limit that stands in a file.

   See follow.c. */
#ifndef WEIR_CLI_PACE_FOLLOW_H
#define WEIR_CLI_PACE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { FOLLOW_TEXT_MAX = 4096 };

struct follow {
    const char *path; /* NULL: no file is followed */
    struct stat seen; /* the file as it was when it was read */
    char text[FOLLOW_TEXT_MAX];
    int line;               /* where the text stands in the file */
    bool looked;            /* at least once: there is a limit that goes on */
    bool unfinished;        /* its last line has no newline, and nothing was said of it ... */
    uint64_t unfinished_ns; /* ... since then */
};

enum follow_state { FOLLOW_SAME, FOLLOW_CHANGED, FOLLOW_MISSING, FOLLOW_WRONG /* said why */ };

/* Looks at the file; reads its limit when it is another file than the last time.  A limit without a newline behind it
   is refused the first time, later waited for: SAME, and WRONG once when it has not changed for a second.  MISSING:
   errno says why, 0 when it is not a regular file. */
enum follow_state follow_look(struct follow *follow);

#endif
