/* SPDX-License-Identifier: MIT
   limits_fixed.c - limits (Python) fixed window: not yet. */
#include "runner.h"

const struct family *family_limits_fixed(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "limits (Python) fixed window", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
