/* SPDX-License-Identifier: MIT
   limits_sliding.c - limits (Python) sliding window counter: not yet. */
#include "runner.h"

const struct family *family_limits_sliding(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "limits (Python) sliding window counter", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
