/* SPDX-License-Identifier: MIT
   The engine's time in whole us since 1970.

   See clock.c. */
#ifndef WEIR_REDIS_MODULE_CLOCK_H
#define WEIR_REDIS_MODULE_CLOCK_H

#include "redis/module/engine_api.h"

struct clock {
    uint64_t told_us;   /* by WEIR.CLOCK; 0: the engine's own */
    uint64_t offset_us; /* from the monotonic clock to 1970, modulo 2^64 */
};

uint64_t clock_read(struct clock *, const struct engine *);

#endif
