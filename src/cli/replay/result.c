/* SPDX-License-Identifier: MIT
   Counts to what is told: shares of clients, percentiles, the most refused.

   Percentiles are those of one of the clients, rounded up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/show.h"
#include "cli/replay/work.h"
#include "core/num.h"

enum { NAMES_MAX = REPLAY_LIMITS_MAX * REPLAY_TOP + TENANTS_SHOWN_MAX + 3, NAME_MAX_SIZE = 1 << 10 };

/* The value that so many are below, had they been sorted: a byte at a time from the highest, of those that have the
   bytes so far.  Whatever the values are it takes nine readings of them. */
static uint64_t value_at(const uint64_t *value, size_t count, size_t rank)
{
    uint64_t all = 0, prefix = 0;
    unsigned shift = 56;
    for (size_t i = 0; i < count; i++) all |= value[i];
    while (shift > 0 && all >> shift == 0) shift -= 8;
    for (;; shift -= 8) {
        size_t with[256] = {0};
        unsigned byte = 0;
        for (size_t i = 0; i < count; i++) with[value[i] >> shift & 0xff] += value[i] >> shift >> 8 == prefix;
        for (; rank >= with[byte]; byte++) rank -= with[byte];
        prefix = prefix << 8 | byte;
        if (shift == 0) return prefix;
    }
}

/* Of these values the least that this share of them does not exceed. */
static uint64_t share_of(const uint64_t *value, size_t count, double per_cent)
{
    const double rank = ceil((double)count * per_cent / 100 - 1e-9);
    if (count == 0 || rank < 1) return 0;
    return value_at(value, count, rank > (double)count ? count - 1 : (size_t)rank - 1);
}

/* ---- names ---- */

/* A key as it is shown, kept as long as the result. */
static const char *keep_name(struct replay *replay, size_t *used, uint32_t client, size_t *size)
{
    char shown[SHOWN_KEY_MAX];
    char *to = replay->names + *used;
    const char *key = clients_key(&replay->clients, client, size);
    *size = show_parts(key, *size < NAME_MAX_SIZE ? *size : NAME_MAX_SIZE, shown);
    memcpy(to, shown, *size);
    *used += *size;
    return to;
}

/* ---- busiest ---- */

static void fill_used(const struct replay *replay, uint64_t *value, bool minute)
{
    for (uint32_t i = 0; i < replay->clients.count; i++) {
        const struct usage *usage = rows_at(&replay->usage, i);
        value[i] = minute ? usage->minute_max : usage->second_max;
    }
}

static void busiest(struct replay *replay, const uint64_t *value, size_t *used, struct replay_busiest *out)
{
    uint32_t worst = 0;
    const uint32_t count = replay->clients.count;
    for (uint32_t i = 0; i < count; i++) {
        if (value[i] > value[worst]) worst = i;
    }
    out->max_key = keep_name(replay, used, worst, &out->max_key_size);
    out->p50 = share_of(value, count, 50);
    out->p99 = share_of(value, count, 99);
    out->max = value[worst];
}

/* ---- limits ---- */

/* The more refused first; of equals, the one that was there first. */
static void place_top(struct replay_limit *limit, uint32_t ids[REPLAY_TOP], uint32_t client, uint64_t denied)
{
    unsigned at = limit->top_count;
    if (denied == 0 || (at == REPLAY_TOP && limit->top[at - 1].denied >= denied)) return;
    if (at == REPLAY_TOP) at--;
    else limit->top_count++;
    for (; at > 0 && limit->top[at - 1].denied < denied; at--) {
        limit->top[at] = limit->top[at - 1];
        ids[at] = ids[at - 1];
    }
    limit->top[at] = (struct replay_client){.denied = denied};
    ids[at] = client;
}

static void name_top(struct replay *replay, size_t *used, const struct candidate *candidate, struct replay_limit *limit,
                     const uint32_t ids[REPLAY_TOP])
{
    for (unsigned i = 0; i < limit->top_count; i++) {
        struct replay_client *top = &limit->top[i];
        const struct usage *usage = rows_at(&replay->usage, ids[i]);
        top->requests = usage->requests;
        top->delayed = candidate_row(candidate, ids[i])->delayed;
        top->key = keep_name(replay, used, ids[i], &top->key_size);
    }
}

static void conclude_limit(struct replay *replay, int index, uint64_t *value, size_t *used)
{
    const struct candidate *candidate = &replay->candidate[index];
    struct replay_limit *limit = &replay->result.limit[index];
    uint32_t ids[REPLAY_TOP] = {0};
    limit->allowed = candidate->allowed;
    limit->denied = candidate->denied;
    limit->delayed = candidate->delayed;
    limit->denied_spread = replay->whole_seconds ? candidate->denied_spread : candidate->denied;
    limit->delay_p99_ns = histogram_quantile(&candidate->delays_ns, 990);
    limit->delay_max_ns = candidate->delays_ns.max;
    for (uint32_t i = 0; i < replay->clients.count; i++) {
        const struct candidate_row *row = candidate_row(candidate, i);
        value[i] = row->highest;
        limit->clients_denied += row->denied != 0;
        limit->clients_delayed += row->delayed != 0;
        place_top(limit, ids, i, row->denied);
    }
    name_top(replay, used, candidate, limit, ids);
    if (!candidate->has_rate) return;
    limit->unaffected_burst =
        most(candidate_burst(candidate, share_of(value, replay->clients.count, replay->result.unaffected)), 1);
}

/* So many slots are needed that this share of the clients is refused nothing. */
static void conclude_running(struct replay *replay, uint64_t *value, size_t *used)
{
    struct replay_result *result = &replay->result;
    if (replay->running == NULL) return;
    running_conclude(replay, value);
    busiest(replay, value, used, &result->running);
    result->untimed = replay->requests_read - replay->requests_timed;
    for (int i = 0; i < replay->options.limits; i++) {
        const struct candidate *candidate = &replay->candidate[i];
        if (candidate->holder < 0) continue;
        struct replay_limit *limit = &result->limit[i];
        limit->unaffected_slots = most(share_of(value, replay->clients.count, result->unaffected), 1);
        limit->outlasted = candidate->outlasted;
    }
}

static void conclude_tenants(struct replay *replay, size_t *used)
{
    uint32_t ids[TENANTS_SHOWN_MAX] = {0};
    struct tenants_result *tenants = &replay->result.tenants;
    if (replay->tenants == NULL) return;
    tenants_conclude(replay, ids);
    for (unsigned i = 0; i < tenants->shown_count; i++) {
        tenants->shown[i].key = keep_name(replay, used, ids[i], &tenants->shown[i].key_size);
    }
}

bool replay_conclude(struct replay *replay)
{
    struct replay_result *result = &replay->result;
    const uint32_t count = replay->clients.count;
    size_t used = 0;
    result->clients = count;
    result->late = replay->order.late;
    result->whole_seconds = replay->whole_seconds;
    if (count == 0) return true;
    uint64_t *value = malloc(count * sizeof *value);
    replay->names = malloc((size_t)NAMES_MAX * NAME_MAX_SIZE);
    if (value != NULL && replay->names != NULL) {
        fill_used(replay, value, false);
        busiest(replay, value, &used, &result->second);
        fill_used(replay, value, true);
        busiest(replay, value, &used, &result->minute);
        conclude_running(replay, value, &used);
        for (int i = 0; i < replay->options.limits; i++) conclude_limit(replay, i, value, &used);
        conclude_tenants(replay, &used);
    }
    const bool enough = value != NULL && replay->names != NULL;
    free(value);
    return enough;
}
