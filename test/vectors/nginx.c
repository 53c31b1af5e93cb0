/* SPDX-License-Identifier: MIT
   nginx.c - nginx limit_req: not yet. */
#include "runner.h"

const struct family *family_nginx(void)
{
    static const char *const none[] = {NULL};
    static const struct family family = {
        .system = "nginx limit_req", .limiter_key = none, .op = none, .step_key = none};
    return &family;
}
