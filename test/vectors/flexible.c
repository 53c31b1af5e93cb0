/* SPDX-License-Identifier: MIT
   flexible.c - rate-limiter-flexible: not yet. */
#include "runner.h"

const struct family *family_flexible(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "rate-limiter-flexible", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
