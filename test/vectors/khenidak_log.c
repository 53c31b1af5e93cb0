/* SPDX-License-Identifier: MIT
   khenidak_log.c - khenidak/Throttling sliding log: not yet. */
#include "runner.h"

const struct family *family_khenidak_log(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "khenidak/Throttling sliding log", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
