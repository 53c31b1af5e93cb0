/* SPDX-License-Identifier: MIT
   guava_warmup.c - Guava's SmoothWarmingUp: a time to warm up in, and how much slower it is when cold.

   See guava.c. */
#include <math.h>
#include <stdio.h>

#include "guava.h"

static const char *open_case(void *subject, const struct scene *scene)
{
    struct guava *guava = subject;
    double cold = 3;
    uint64_t warmup_ns = 0;
    if (!field_u64(scene->limiter, "warmup_ns", &warmup_ns)) return "not yet (limiter: no warm-up)";
    if (!field_double(scene->limiter, "cold_factor", &cold) || !(cold >= 1) || !(cold < 1e9))
        return "beyond weir (cold factor below 1)";
    guava->time_name = "warmup";
    guava->time_us = (double)warmup_ns / 1000;
    snprintf(guava->options, sizeof guava->options, " cold=%.*f algorithm=warmup", 17 - (int)log10(cold), cold);
    return guava_start(guava, scene);
}

const struct family *family_guava_warmup(void)
{
    static const char *const limiter_key[] = {"algorithm", "rate_per_s", "warmup_ns", "cold_factor", "starts", NULL};
    static const char *const op[] = {"acquire", "try", "set_rate", NULL};
    static const char *const step_key[] = {"t_ns",       "op",     "n",           "max_wait_ns",
                                           "rate_per_s", "expect", "state_after", NULL};
    static const struct family family = {.system = "Guava SmoothWarmingUp",
                                         .limiter_key = limiter_key,
                                         .op = op,
                                         .step_key = step_key,
                                         .any_cost = true,
                                         .subject_size = sizeof(struct guava),
                                         .open = open_case,
                                         .step = guava_step,
                                         .close = guava_close};
    return &family;
}
