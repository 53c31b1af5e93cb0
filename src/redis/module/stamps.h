/* SPDX-License-Identifier: MIT
   A sliding-log as an older weir kept it.

   See stamps.c. */
#ifndef WEIR_REDIS_MODULE_STAMPS_H
#define WEIR_REDIS_MODULE_STAMPS_H

#include "redis/micro/micro.h"
#include "redis/module/call.h"

enum { STAMPS_READ = 64, STAMPS_BYTES = MICRO_LOG_RING + (2 * STAMPS_READ + 8) * MICRO_LOG_ENTRY };

/* The value that it would be now; returns its size, 0 where this is no log of ours.  `bytes` has room to grow once.
   most: members that may be looked at, 1 to STAMPS_READ. */
size_t stamps_read(const struct call *, struct RedisModuleString *key, uint64_t permits, unsigned most,
                   unsigned char bytes[STAMPS_BYTES]);

#endif
