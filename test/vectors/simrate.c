/* SPDX-License-Identifier: MIT
   simrate.c - nosqlbench SimRate: not yet. */
#include "runner.h"

const struct family *family_simrate(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "nosqlbench SimRate", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
