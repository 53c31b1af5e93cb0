/* SPDX-License-Identifier: MIT
   resilience_atomic.c - resilience4j AtomicRateLimiter: not yet. */
#include "runner.h"

const struct family *family_resilience_atomic(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "resilience4j AtomicRateLimiter", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
