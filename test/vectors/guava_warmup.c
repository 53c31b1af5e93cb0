/* SPDX-License-Identifier: MIT
   guava_warmup.c - Guava SmoothWarmingUp: not yet. */
#include "runner.h"

const struct family *family_guava_warmup(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "Guava SmoothWarmingUp", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
