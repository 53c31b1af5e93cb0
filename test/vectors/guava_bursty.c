/* SPDX-License-Identifier: MIT
   guava_bursty.c - Guava's SmoothBursty: its burst is a time.

   See guava.c. */
#include <stdio.h>

#include "guava.h"

static const char *open_case(void *subject, const struct scene *scene)
{
    struct guava *guava = subject;
    double burst_s = 1, stored = 0;
    if (!field_double(scene->limiter, "max_burst_s", &burst_s) || !(burst_s >= 0))
        return "not yet (limiter: no burst of seconds)";
    if (field_double(scene->limiter, "initial_stored_permits", &stored) && stored != 0)
        return "not yet (limiter: something is stored)";
    guava->time_name = "burst";
    guava->time_us = burst_s * 1e6;
    guava->comes_full = true;
    snprintf(guava->options, sizeof guava->options, " algorithm=bursty");
    return guava_start(guava, scene);
}

const struct family *family_guava_bursty(void)
{
    static const char *const limiter_key[] = {"algorithm", "rate_per_s", "max_burst_s", "initial_stored_permits", NULL};
    static const char *const op[] = {"acquire", "try", "set_rate", NULL};
    static const char *const step_key[] = {"t_ns",       "op",     "n",           "max_wait_ns",
                                           "rate_per_s", "expect", "state_after", NULL};
    static const struct family family = {.system = "Guava SmoothBursty",
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
