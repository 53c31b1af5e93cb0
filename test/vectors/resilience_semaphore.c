/* SPDX-License-Identifier: MIT
   resilience_semaphore.c - resilience4j SemaphoreBasedRateLimiter: not yet. */
#include "runner.h"

const struct family *family_resilience_semaphore(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "resilience4j SemaphoreBasedRateLimiter", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
