/* SPDX-License-Identifier: MIT
   limit.h - a limit as an engine has it.

   See limit.c. */
#ifndef WEIR_ENGINE_LIMIT_H
#define WEIR_ENGINE_LIMIT_H

#include <weir/redis.h>

enum { LIMIT_TEXT_MAX = 2048 };

struct weir_engine_limit {
    weir_plan plan;
    weir_away away; /* never WEIR_AWAY_DEFAULT */
    unsigned count; /* of limits */
    unsigned keys;  /* in the engine: 1, or one for each limit */
    size_t size;
    char text[LIMIT_TEXT_MAX]; /* canonical: what the engine is told */
};

#endif
