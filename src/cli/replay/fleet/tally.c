/* SPDX-License-Identifier: MIT
   What a design of a fleet came to: counts, engine calls, and how far it went over its bound.

   Beside each client runs a bucket that leaks at the rate and has no brim.  With A(t) permits let pass in a window of
   the length t, the most that A(t) - rate * t comes to in any window that ends now is its level; so its highest level
   less the burst is how far the design went over burst + rate * t.  It is in floating point and knows nothing of how
   anything was decided.

   A permit is counted at the time at which it was decided. */
#include "cli/replay/fleet/tally.h"

enum { SECOND_US = 1000000 };

struct meter {
    double level;
    uint64_t at_us;
};

void tally_open(struct fleet_tally *tally, double permits_per_us, double burst)
{
    *tally = (struct fleet_tally){.per_us = permits_per_us, .burst = burst};
    tally->figures.excess = -burst;
    pairs_open(&tally->meters, sizeof(struct meter));
    pairs_open(&tally->passed, sizeof(uint64_t));
}

void tally_close(struct fleet_tally *tally)
{
    pairs_close(&tally->meters);
    pairs_close(&tally->passed);
}

static bool fill(struct fleet_tally *tally, const struct fleet_verdict *verdict)
{
    struct meter *meter = pairs_at(&tally->meters, verdict->client, 0);
    uint64_t *passed = pairs_at(&tally->passed, 0, verdict->node);
    if (meter == NULL || passed == NULL) return false;
    *passed += verdict->cost;
    meter->level -= (double)(verdict->time_us - meter->at_us) * tally->per_us;
    if (meter->level < 0) meter->level = 0;
    meter->level += (double)verdict->cost;
    meter->at_us = verdict->time_us;
    if (meter->level - tally->burst > tally->figures.excess) tally->figures.excess = meter->level - tally->burst;
    return true;
}

bool tally_verdict(struct fleet_tally *tally, const struct fleet_verdict *verdict)
{
    struct fleet_figures *figures = &tally->figures;
    figures->allowed += verdict->allowed;
    figures->denied += !verdict->allowed;
    figures->wrongly_denied += !verdict->allowed && verdict->exact;
    figures->wrongly_allowed += verdict->allowed && !verdict->exact;
    figures->waited += verdict->waited;
    return !verdict->allowed || fill(tally, verdict);
}

void tally_finish(struct fleet_tally *tally, uint64_t nodes)
{
    if (tally->passed.count < nodes) return; /* to somebody nothing passed */
    tally->figures.node_least = UINT64_MAX;
    for (uint32_t i = 0; i < tally->passed.count; i++) {
        const uint64_t *passed = rows_at(&tally->passed.rows, i);
        if (*passed < tally->figures.node_least) tally->figures.node_least = *passed;
    }
}

void tally_call(struct fleet_tally *tally, uint64_t time_us)
{
    struct fleet_figures *figures = &tally->figures;
    if (time_us / SECOND_US != tally->second) tally->in_second = 0;
    tally->second = time_us / SECOND_US;
    figures->calls++;
    if (++tally->in_second > figures->calls_most) figures->calls_most = tally->in_second;
}
