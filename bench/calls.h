/* SPDX-License-Identifier: MIT
   The frame of bench/calls.c and bench/serve_calls.c: rows of calls, for bench/instructions to count.

   A row is a name, what is there before, and a loop of so many calls, each of which answers as the name says; a call
   that does not ends the program.

       bench-calls             the names
       bench-calls NAME COUNT  so many calls of this row
       bench-calls --small     some of each: a test that all of them answer as their names say */
#ifndef WEIR_BENCH_CALLS_H
#define WEIR_BENCH_CALLS_H

#include <errno.h>
#include <inttypes.h>
#include <sys/random.h>
#include <sys/types.h>

#include "harness/harness.h"

enum { CALLS_SMALL = 100 };

struct row {
    const char *name;
    void *(*open)(const struct row *row);
    uint64_t (*run)(void *subject, uint64_t count); /* how many answered as they should */
    void (*close)(void *subject);
    const char *text; /* from here on: what open wants to know */
    unsigned where;
    bool refused;
    const char *answer;
};

/* In the place of the C library's: where a key lies in a table is the same in each run. */
ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    memset(bytes, 'w', size);
    return (ssize_t)size;
}

static inline void calls_run(const struct row *row, uint64_t count)
{
    void *subject = row->open(row);
    const uint64_t done = row->run(subject, count);
    row->close(subject);
    if (done == count) return;
    bench_fail("%s: %" PRIu64 " of %" PRIu64 " answered as they should", row->name, done, count);
}

static inline int calls_main(const struct row *rows, size_t size, int argc, char **argv)
{
    const bool small = argc == 2 && strcmp(argv[1], "--small") == 0;
    bool known = argc == 1 || small;
    for (const struct row *row = rows; row < rows + size; row++) {
        if (argc == 1) puts(row->name);
        else if (small) calls_run(row, CALLS_SMALL);
        else if (argc == 3 && strcmp(argv[1], row->name) == 0) {
            calls_run(row, strtoull(argv[2], NULL, 10));
            known = true;
        }
    }
    if (!known) bench_fail("%s: there is no such row", argv[1]);
    return 0;
}

#endif
