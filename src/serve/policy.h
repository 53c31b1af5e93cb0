/* SPDX-License-Identifier: MIT
   policy.h - the limits that have a name: what they are, whom they are counted by, who is exempt, who has another.

   See policy.c.  A policy never changes once it is published: a change makes another one, and the old one goes when the
   last thread has let go of it. */
#ifndef WEIR_SERVE_POLICY_H
#define WEIR_SERVE_POLICY_H

#include <weir/weir.h>

#include "format/bytes.h"
#include "serve/tables.h"

enum {
    POLICY_NAME_MAX = 64,     /* letters, digits, "_", "-", ".", ":" and "/", the first a letter */
    POLICY_LIMITS_MAX = 1024, /* names; the counters of limits without a name are number 0 */
    POLICY_PARTS_MAX = 8,
    POLICY_KEY_MAX = 1024, /* bytes of a key */
    POLICY_TEXT_MAX = 1024 /* bytes of a limit's text */
};

/* One part of a key: an address cut to its first bits, or a field by its name. */
struct policy_part {
    char name[POLICY_NAME_MAX + 1]; /* "address", or a field such as "tenant" or "header.x-api-key" */
    bool address;
    int bits_v4, bits_v6; /* of an address */
};

struct policy_network {
    unsigned char address[16]; /* IPv4 in the first four */
    bool v6;
    int bits;
};

struct policy_override {
    struct slice key; /* owned by the policy */
    weir_plan plan;
    weir_table *table;
};

struct policy_limit {
    char name[POLICY_NAME_MAX + 1];
    unsigned number; /* of its counters: the same name has the same for as long as the service runs */
    bool shadow;     /* counts and tells, but refuses nobody */
    weir_plan plan;
    weir_table *table;
    struct policy_part part[POLICY_PARTS_MAX]; /* none: the key is one field called "key" */
    unsigned parts;
    struct policy_network *exempt;
    unsigned exempt_count;
    struct policy_override *override; /* found by policy_resolve */
    unsigned override_count;
};

struct policy {
    unsigned users; /* the service's, under its mutex: workers that may look at it, and who publishes */
    struct policy_limit *limit;
    unsigned limit_count;
    void *memory; /* all that the above point to */
    void *index;  /* of names and overrides */
};

/* What a request by this key is asked under. */
struct policy_verdict {
    const weir_plan *plan;
    weir_table *table;
    bool shadow;
};

/* NULL: no limit of that name. */
const struct policy_limit *policy_find(const struct policy *policy, struct slice name);

/* The value of a field of the request; an empty slice when there is none. */
typedef struct slice (*policy_field)(void *request, const char *name);

/* Joins the parts by "," into out, addresses cut; what is missing is named in *missing (false). */
bool policy_key(const struct policy_limit *limit, policy_field field, void *request, struct bytes *out,
                const char **missing);

/* The same of a key that is given whole ("acme", "10.1.2.3", "acme,10.1.2.3"): its addresses are cut.  false: a part
   that should be an address is none, or there are not as many parts. */
bool policy_key_given(const struct policy_limit *limit, struct slice key, struct bytes *out, const char **missing);

/* Exempt keys have the plan "unlimited". */
struct policy_verdict policy_resolve(const struct policy_limit *limit, struct slice key);

/* Another policy: as `old` (NULL: empty), with this name defined or (text NULL) removed.  NULL: see error. */
struct policy *policy_with(const struct policy *old, struct tables *tables, struct slice name, const char *text,
                           weir_error *error);

/* NULL is fine. */
void policy_free(struct policy *policy);

#endif
