/* SPDX-License-Identifier: MIT
   rolling_log.c - rolling-rate-limiter in memory: not yet. */
#include "runner.h"

const struct family *family_rolling_log(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "rolling-rate-limiter in memory", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
