/* SPDX-License-Identifier: MIT
   weir replay --tenant: a guarantee for each tenant, and what is idle lent, beside the same limit without guarantees.

   See tenants.c. */
#ifndef WEIR_CLI_REPLAY_TENANTS_TENANTS_H
#define WEIR_CLI_REPLAY_TENANTS_TENANTS_H

#include <weir/weir.h>

#include "cli/common/rows.h"
#include "format/json.h"
#include "format/slice.h"

enum { TENANTS_MAX = 256, TENANTS_SHOWN_MAX = 20 };

/* "acme=200/s guaranteed; 500/s", as typed; a name of "*" is everybody else. */
struct tenants_options {
    const char *typed[TENANTS_MAX];
    int count;
};

/* Requests of a tenant. */
struct tenants_counts {
    uint64_t requests, guaranteed, borrowed, refused;
    uint64_t starved; /* of the refused: its guarantee and its ceiling had room */
    uint64_t alone;   /* refused by the parent's limit alone, without guarantees */
};

/* One of those that sent most. */
struct tenants_shown {
    const char *key;
    size_t key_size;
    const char *limit; /* as typed; NULL: none, so it only borrows */
    struct tenants_counts counts;
};

struct tenants_result {
    const char *parent; /* as typed; NULL: nobody asked */
    uint64_t tenants;
    struct tenants_counts all;
    struct tenants_shown shown[TENANTS_SHOWN_MAX];
    unsigned shown_count;
};

struct tenants;

/* Prints what is wrong and returns NULL. */
struct tenants *tenants_open(const struct tenants_options *options, const char *parent);
void tenants_close(struct tenants *tenants); /* NULL is fine */

/* A request whose stamp is a whole second is decided twice, see candidate.h. */
enum { TENANTS_STAMPED, TENANTS_SPREAD, TENANTS_CLOCKS };

/* Decides for a tenant with this key.  False: no memory. */
bool tenants_take(struct tenants *tenants, int clock, uint32_t client, struct slice key, uint64_t now_ns, uint64_t cost,
                  weir_decision *decision);

/* What became of a tenant, if it has sent a request. */
struct tenants_counts tenants_counts(const struct tenants *tenants, uint32_t client);
const char *tenants_limit(const struct tenants *tenants, uint32_t client);

/* Keys that found no place in the table. */
uint64_t tenants_displaced(const struct tenants *tenants);

/* ---- show.c ---- */
void tenants_text(const struct tenants_result *result);
void tenants_json(const struct tenants_result *result, struct json *json);

#endif
