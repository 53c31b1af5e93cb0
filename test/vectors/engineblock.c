/* SPDX-License-Identifier: MIT
   engineblock.c - EngineBlock core: not yet. */
#include "runner.h"

const struct family *family_engineblock(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "EngineBlock core", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
