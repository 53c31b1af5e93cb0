/* SPDX-License-Identifier: MIT
   envoy.c - envoy ratelimit fixed window: not yet. */
#include "runner.h"

const struct family *family_envoy(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "envoy ratelimit fixed window", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
