/* SPDX-License-Identifier: MIT
   The engine's time in whole us since 1970.

   Engines from 7.2 on tell it.  Before, they tell modules the ms only, and us of a clock that begins anywhere.  The two
   are joined: the us go on by the second clock, and where they leave the ms that the first one tells, they are brought
   back to its nearer end.

       ms told        | 17          | 18          | 19          |
       us, by offset  |     x    x  |x x       x  |    x   y: was in 20, is the last us of 19, and so the offset

   Never outside the ms that the engine tells. */
#include "redis/module/clock.h"

enum { MS_US = 1000 };

uint64_t clock_read(struct clock *clock, const struct engine *engine)
{
    if (clock->told_us != 0) return clock->told_us;
    if (engine->microseconds != NULL) return (uint64_t)engine->microseconds();
    const uint64_t first_us = (uint64_t)engine->milliseconds() * MS_US, last_us = first_us + MS_US - 1;
    const uint64_t monotonic_us = engine->monotonic_microseconds();
    uint64_t now_us = monotonic_us + clock->offset_us;
    if (now_us < first_us) now_us = first_us;
    if (now_us > last_us) now_us = last_us;
    clock->offset_us = now_us - monotonic_us;
    return now_us;
}
