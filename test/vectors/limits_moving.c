/* SPDX-License-Identifier: MIT
   limits_moving.c - limits (Python) moving window: not yet. */
#include "runner.h"

const struct family *family_limits_moving(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "limits (Python) moving window", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
