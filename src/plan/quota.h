/* SPDX-License-Identifier: MIT
   A limit as response headers tell a client of it: RateLimit-Policy and RateLimit of
   draft-ietf-httpapi-ratelimit-headers-11. */
#ifndef WEIR_PLAN_QUOTA_H
#define WEIR_PLAN_QUOTA_H

#include "core/limit.h"
#include "plan/write.h"

/* What is left of a limit, and when there is one more, where that is ever so. */
struct quota_left {
    uint64_t permits, wait_ns;
    bool all;
};

/* Of a limit with an interval (plan.h): from how long it takes until all is back follows when one more is. */
struct quota_left quota_left_of(const struct limit *limit, uint64_t remaining, uint64_t full_ns);

/* Rounded up. */
uint64_t quota_seconds(uint64_t ns);

/* What passes at once after a rest. */
uint64_t quota_at_once(const struct limit *limit);

enum { QUOTA_MAX = 128 };

/* ;q=60;w=60;qu="tokens";weir-burst=100 */
void quota_write_policy(struct writer *writer, const struct limit *limit);

/* ;r=59;t=1 */
void quota_write_left(struct writer *writer, const struct quota_left *left);

#endif
