/* SPDX-License-Identifier: MIT
   The times and durations that logs are written with.

   See stamp.c. */
#ifndef WEIR_FORMAT_LOG_STAMP_H
#define WEIR_FORMAT_LOG_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/slice.h"

enum { STAMP_SECOND_SIZE = 20, STAMP_WHOLE_SIZE = 28 };

/* What a bare number counts.  Any: by its size, see stamp.c. */
enum stamp_unit { STAMP_ANY, STAMP_SECONDS, STAMP_MILLISECONDS, STAMP_MICROSECONDS, STAMP_NANOSECONDS };

struct stamp {
    uint64_t time_ns;       /* of the unix epoch */
    uint64_t resolution_ns; /* what the last digit shown is worth: 10^9 to 1 */
};

/* The last second that was read, and where it was all of a stamp but the zone, that stamp.  Zeroed: none. */
struct stamp_cache {
    struct stamp whole;
    char whole_text[STAMP_WHOLE_SIZE];
    unsigned whole_size; /* 0: none */
    char text[STAMP_SECOND_SIZE];
    unsigned size;
    bool leap;
    int64_t seconds; /* of the epoch, as if its zone were UTC */
};

/* 21/Nov/2026:17:46:01.123 +0100, 2026-11-21T17:46:01.123456+01:00, 1795279561.123 and the like; from 1970 to 2261. */
bool stamp_read(struct stamp_cache *cache, struct slice text, enum stamp_unit unit, struct stamp *stamp);

/* ms, us and the like. */
bool stamp_unit(struct slice suffix, enum stamp_unit *unit);

/* 0.012, 12ms, 12.3 us.  Any: with a point seconds, without one milliseconds. */
bool stamp_read_duration(struct slice text, enum stamp_unit unit, uint64_t *duration_ns);

#endif
