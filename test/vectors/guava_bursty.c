/* SPDX-License-Identifier: MIT
   guava_bursty.c - Guava SmoothBursty: not yet. */
#include "runner.h"

const struct family *family_guava_bursty(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "Guava SmoothBursty", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
