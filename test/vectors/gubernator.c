/* SPDX-License-Identifier: MIT
   gubernator.c - gubernator token and leaky bucket: not yet. */
#include "runner.h"

const struct family *family_gubernator(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "gubernator token and leaky bucket", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
