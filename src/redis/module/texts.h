/* SPDX-License-Identifier: MIT
   The limits that clients have asked by, and what they mean to an engine.

   See texts.c. */
#ifndef WEIR_REDIS_MODULE_TEXTS_H
#define WEIR_REDIS_MODULE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/throttle.h"
#include "redis/micro/micro.h"
#include "share/hash/hash.h"

enum { TEXT_MAX = 1024 }; /* bytes of a text */

struct texts;

/* NULL: no memory. */
struct texts *texts_open(const struct secret *);
void texts_close(struct texts *);

/* What it means, until the next call; NULL with *error filled. */
const struct micro_plan *texts_read(struct texts *, const char *text, size_t size, weir_error *error);

/* The same for CL.THROTTLE's numbers, which are in range. */
const struct micro_plan *texts_throttle(struct texts *, const int64_t number[THROTTLE_NUMBERS], weir_error *error);

#endif
