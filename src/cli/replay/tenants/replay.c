/* SPDX-License-Identifier: MIT
   --tenant as part of weir replay: its limit twice, by tenants and without, over the same requests. */
#include <stdlib.h>
#include <string.h>

#include "cli/replay/work.h"

static const char *const suffix[TENANTS_BOTH] = {[TENANTS_WITH] = " with tenants", [TENANTS_WITHOUT] = " alone"};

static bool wrong(const char *message)
{
    trouble("replay: --tenant %s", message);
    return false;
}

bool tenants_options_fit(struct replay_options *options)
{
    if (options->tenant == NULL) return true;
    if (options->limits != 1) return wrong("shows one limit, with tenants and without; leave out --or");
    if (options->key != NULL) return wrong("is the key; leave out --key");
    if (options->fleet.nodes != 0) return wrong("is for one limiter; choose --nodes or --tenant");
    if (options->charge != NULL) return wrong("is a replay; choose --charge or --tenant");
    options->key = options->tenant;
    options->limit[TENANTS_WITHOUT] = options->limit[TENANTS_WITH];
    options->limits = TENANTS_BOTH;
    return true;
}

/* Under these names both are reported. */
static bool name_both(struct replay *replay)
{
    const char *text = replay->options.limit[TENANTS_WITH];
    for (int i = 0; i < TENANTS_BOTH; i++) {
        const size_t size = strlen(text) + strlen(suffix[i]) + 1;
        char *name = replay->tenants_text[i] = malloc(size);
        if (name == NULL) return false;
        snprintf(name, size, "%s%s", text, suffix[i]);
    }
    replay->result.tenants.parent = text;
    return true;
}

bool tenants_begin(struct replay *replay)
{
    const struct replay_options *options = &replay->options;
    if (options->tenant == NULL) return true;
    if (!name_both(replay)) replay->status = trouble("replay: no memory");
    else replay->tenants = tenants_open(&options->tenants, options->limit[TENANTS_WITH]);
    if (replay->tenants == NULL) replay->status = STATUS_TROUBLE;
    for (int i = 0; i < TENANTS_BOTH && replay->tenants != NULL; i++) {
        struct candidate *candidate = &replay->candidate[i];
        replay->options.limit[i] = candidate->text = replay->tenants_text[i];
        candidate->has_rate = false; /* of each client by itself, that is: no burst would do for one */
        candidate->keys = &replay->clients;
        candidate->tenants = i == TENANTS_WITH ? replay->tenants : NULL;
        candidate->shared = i == TENANTS_WITHOUT;
    }
    return replay->status == STATUS_DONE;
}

void tenants_end(struct replay *replay)
{
    tenants_close(replay->tenants);
    for (int i = 0; i < TENANTS_BOTH; i++) free(replay->tenants_text[i]);
}

/* ---- the result ---- */

static void add(struct tenants_counts *sum, const struct tenants_counts *counts)
{
    sum->requests += counts->requests;
    sum->guaranteed += counts->guaranteed;
    sum->borrowed += counts->borrowed;
    sum->refused += counts->refused;
    sum->starved += counts->starved;
    sum->alone += counts->alone;
}

/* Those that sent more first; of equals, the one that was there first. */
static void place(struct tenants_result *result, uint32_t ids[TENANTS_SHOWN_MAX], uint32_t client,
                  const struct tenants_shown *shown)
{
    unsigned at = result->shown_count;
    if (at < TENANTS_SHOWN_MAX) result->shown_count++;
    else if (result->shown[--at].counts.requests >= shown->counts.requests) return;
    for (; at > 0 && result->shown[at - 1].counts.requests < shown->counts.requests; at--) {
        result->shown[at] = result->shown[at - 1];
        ids[at] = ids[at - 1];
    }
    result->shown[at] = *shown;
    ids[at] = client;
}

void tenants_conclude(struct replay *replay, uint32_t ids[TENANTS_SHOWN_MAX])
{
    struct tenants_result *result = &replay->result.tenants;
    result->tenants = replay->clients.count;
    for (uint32_t i = 0; i < replay->clients.count; i++) {
        struct tenants_shown shown = {.counts = tenants_counts(replay->tenants, i),
                                      .limit = tenants_limit(replay->tenants, i)};
        shown.counts.alone = candidate_row(&replay->candidate[TENANTS_WITHOUT], i)->denied;
        add(&result->all, &shown.counts);
        place(result, ids, i, &shown);
    }
    if (tenants_displaced(replay->tenants) == 0) return;
    trouble("replay: --tenant: more tenants at a time than the table has room for (a million); some shared a state");
}
