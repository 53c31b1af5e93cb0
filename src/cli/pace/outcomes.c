/* SPDX-License-Identifier: MIT
   What became of the commands.

   A command that nobody waits for stays busy. */
#include "cli/pace/outcomes.h"

#include <string.h>

#include "core/num.h"

void outcomes_open(struct outcomes *outcomes, uint64_t jobs, uint64_t jobs_max)
{
    host_mutex_open(&outcomes->mutex);
    outcomes->jobs = jobs;
    outcomes->jobs_max = jobs_max;
}

void outcomes_grow(struct outcomes *outcomes, uint64_t jobs)
{
    host_lock(&outcomes->mutex);
    outcomes->jobs = jobs;
    host_unlock(&outcomes->mutex);
}

void outcomes_begin(struct outcomes *outcomes)
{
    host_lock(&outcomes->mutex);
    outcomes->busy++;
    outcomes->busy_max = most(outcomes->busy_max, outcomes->busy);
    host_unlock(&outcomes->mutex);
}

void outcomes_hold(struct outcomes *outcomes)
{
    host_lock(&outcomes->mutex);
}

void outcomes_release(struct outcomes *outcomes)
{
    host_unlock(&outcomes->mutex);
}

void outcomes_end(struct outcomes *outcomes, int status)
{
    outcomes->busy--;
    if (status != 0) outcomes->failed++;
    if (status != 0) outcomes->with[status & (OUTCOMES_STATUSES - 1)]++;
}

void outcomes_read(const struct outcomes *outcomes, struct outcomes *copy)
{
    memcpy(copy->with, outcomes->with, sizeof copy->with);
    copy->busy = outcomes->busy;
    copy->failed = outcomes->failed;
}

uint64_t outcomes_busy(struct outcomes *outcomes, uint64_t *jobs)
{
    host_lock(&outcomes->mutex);
    const uint64_t busy = outcomes->busy;
    *jobs = outcomes->jobs;
    host_unlock(&outcomes->mutex);
    return busy;
}
