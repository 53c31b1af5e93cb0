/* SPDX-License-Identifier: MIT
   The limits that have a name: what they are, their keys, exempt networks, overrides.

   See policy.c (names, overrides, exempt networks), key.c (keys) and backend.c (tables and the engine).  A policy
   never changes once it is published: a change makes another one, and the old one goes when the last thread has let go
   of it. */
#ifndef WEIR_SERVE_POLICY_POLICY_H
#define WEIR_SERVE_POLICY_POLICY_H

#include <weir/weir.h>

#include "format/bytes.h"
#include "serve/engine.h"
#include "serve/policy/tables.h"

enum {
    POLICY_NAME_MAX = 64,     /* letters, digits, "_", "-", ".", ":" and "/", the first a letter */
    POLICY_LIMITS_MAX = 1024, /* names; the counters of limits without a name are number 0 */
    POLICY_PARTS_MAX = 8,
    POLICY_KEY_MAX = 1024,           /* bytes of a key */
    POLICY_TEXT_MAX = 1024,          /* bytes of a limit's text */
    POLICY_EXEMPT_MAX = 256,         /* networks of one limit */
    POLICY_OVERRIDES_MAX = 100000,   /* keys, of all limits together */
    POLICY_OVERRIDE_TEXTS_MAX = 4096 /* different ones of one limit; a plan is 2 KiB */
};

/* How a path is written in a key: as it came; decoded, without "//", "." and ".."; or so and in small letters. */
enum policy_path { POLICY_PATH_RAW, POLICY_PATH_NORMAL, POLICY_PATH_LOWER };

/* One part of a key: an address cut to its first bits, or a field by its name. */
struct policy_part {
    char name[POLICY_NAME_MAX + 1]; /* "address", or a field such as "tenant" or "header.x-api-key" */
    bool address;
    int bits_v4, bits_v6;  /* of an address */
    enum policy_path path; /* of a path */
};

struct policy_network {
    unsigned char address[16]; /* IPv4 in the first four */
    bool v6;
    int bits;
};

struct policy_override {
    struct slice key; /* owned by the policy */
    weir_plan *plan;
    weir_table *table;
    struct engine_limit *shared; /* owned by the policy; NULL: it is kept in the table */
};

/* What a limit has beside its numbers; shared by the policies that follow each other. */
struct policy_more;

struct policy_limit {
    char name[POLICY_NAME_MAX + 1];
    unsigned number; /* of its counters: the same name has the same for as long as the service runs */
    bool shadow;     /* counts and tells, but refuses nobody */
    uint64_t keys;   /* that it has room for however many others there are; 0: its share */
    weir_plan plan;
    weir_table *table;
    struct engine_limit *shared;               /* where an engine keeps it; NULL: the table does */
    bool here;                                 /* the table is to keep it, whatever engine there is */
    weir_away away;                            /* else, what answers while the engine does not */
    struct policy_part part[POLICY_PARTS_MAX]; /* none: the key is one field called "key" */
    unsigned parts;
    bool common; /* no key: all are counted together, whatever they give */
    const struct policy_network *exempt;
    unsigned exempt_count;
    const struct policy_override *override; /* found by policy_resolve */
    unsigned override_count;
    /* NULL: no tenants.  Else override names them, this is the text of all others, and the plan is that of their
       parent, with one state for all. */
    weir_plan *others;
    struct policy_more *more; /* who exempt and override belong to; NULL: there are none */
};

struct policy {
    unsigned users; /* the service's, under its mutex: workers that may look at it, and the publisher */
    struct policy_limit *limit;
    unsigned limit_count;
    unsigned limit_room;
    struct policy_index *index; /* of names */
    struct engine *engine;      /* that keeps limits; NULL: none */
};

/* What a request by this key is asked under, and where: see decide.c. */
struct policy_verdict {
    const weir_plan *plan;
    union {
        weir_table *table;
        struct engine_limit *shared;
    };
    bool is_shared;          /* by an engine, with other servers */
    const weir_plan *parent; /* of a tenant, whose plan is the first above: see tenant.c; else NULL */
    bool shadow;
    uint32_t mark; /* of a free text: another meaning has another mark; 0: the limit has a name */
};

/* Where the state of a limit is kept. */
struct policy_backend {
    weir_table *table;           /* of a shared one: for keys that are exempt from it */
    struct engine_limit *shared; /* to be released; NULL: the table */
};

/* Permits of the sliding-logs of one limit in this process: so many that the costliest call, a charge that writes all
   of them anew, takes 100 us at most (bench/log_calls.c).  Of a text that a client sends fewer: two texts in turn
   under one key have the log entered anew. */
enum { BACKEND_LOG_MAX = 8000, BACKEND_TEXT_LOG_MAX = 2000 };

/* Slots of a concurrent limit, which each call looks through: the same. */
enum { BACKEND_SLOTS_MAX = 8000, BACKEND_TEXT_SLOTS_MAX = 2000 };

/* May a client's text ask for this in this process? */
bool backend_check_text(const weir_plan *plan, weir_error *error);

/* The engine keeps it where there is one, and where there is anything to keep.  false: see error. */
bool backend_for(struct policy_backend *backend, struct tables *tables, struct engine *engine, weir_away away,
                 const weir_plan *plan, weir_error *error);

/* [before it is published] Each limit gets a part of its table for its own keys, the same as ever for the same name.
   NULL, or the first for whose there is no memory, see error: it stays with those that have no name. */
const struct policy_limit *backend_parts(struct policy *policy, struct tables *tables, weir_error *error);

/* Is what was used of one still used of the other, which has its name? */
bool backend_carries(const struct policy_limit *before, const struct policy_limit *limit);

/* So many keys with an override begin anew. */
unsigned backend_anew(const struct policy_limit *before, const struct policy_limit *limit);

/* The same, only looked at. */
bool backend_could_be(const struct tables_options *options, bool engine, const weir_plan *plan, weir_error *error);

static inline struct policy_verdict backend_verdict(const weir_plan *plan, weir_table *table,
                                                    struct engine_limit *shared, bool shadow)
{
    if (shared == NULL) return (struct policy_verdict){plan, {.table = table}, false, NULL, shadow, 0};
    return (struct policy_verdict){plan, {.shared = shared}, true, NULL, shadow, 0};
}

/* Do calls under this plan hold slots?  And how many are held now: false where nobody knows, for each key has its own,
   or an engine keeps them. */
bool backend_holds(const weir_plan *plan);
bool backend_held(const struct policy_limit *limit, uint64_t now_ns, uint64_t *held);

/* ---- guarantee.c: tenants, when they are defined; all but the first return false with an error ---- */

bool guarantee_of(const weir_plan *plan); /* does its text guarantee anything? */

/* A text that is no tenant's guarantees nothing. */
bool guarantee_alone(const weir_plan *plan, weir_error *error);

/* May these two be asked together? */
bool guarantee_text(const weir_plan *plan, const weir_plan *parent, weir_error *error);

/* Are these, with a text for all others, tenants of this parent?  *which: the first who is not; count: all others;
   above: the parent is at fault. */
bool guarantee_all(const weir_plan *parent, const struct policy_override *tenant, unsigned count,
                   const weir_plan *others, size_t *which, weir_error *error);

/* All of these, of a limit whose own text is another one now. */
bool guarantee_parent(const struct policy_limit *limit, weir_error *error);

/* NULL: no limit of that name. */
const struct policy_limit *policy_find(const struct policy *policy, struct slice name);

/* The one with these counters now; NULL: none. */
const struct policy_limit *policy_numbered(const struct policy *policy, unsigned number);

/* The value of a field of the request; an empty slice when there is none. */
typedef struct slice (*policy_field)(void *request, const char *name);

/* Joins the parts by "," into out: addresses cut, and written in the one way that RFC 5952 has ("203.0.113.9",
   "2001:db8:1:2::/64").  Of several parts a "," or "\" in a field gets a "\" in front, so that no client can look
   like another by a clever field.  false: *missing names the part that is empty or no address; or the key was longer
   than POLICY_KEY_MAX or the room for it: then out->full is set.  Then nothing is left in out. */
bool policy_key(const struct policy_limit *limit, policy_field field, void *request, struct bytes *out,
                const char **missing);

/* The same of a key that is given whole ("acme", "10.1.2.3", "acme,10.1.2.3"): its addresses are cut; what is cut
   already ("2001:db8:1:2::/64") stays.  false: a part that should be an address is none, or there are not as many
   parts. */
bool policy_key_given(const struct policy_limit *limit, struct slice key, struct bytes *out, const char **missing);

/* NULL: this key has the limit's own plan. */
const struct policy_override *policy_override_of(const struct policy_limit *limit, struct slice key);

/* key: as policy_key and policy_key_given write it.  Exempt keys have the plan "unlimited". */
struct policy_verdict policy_resolve(const struct policy_limit *limit, struct slice key);

/* Another policy: as `old` (NULL: empty), with this name defined or (text NULL) removed.  What the name has beside its
   limit (key, exempt, shadow, overrides) stays.  A new one has the key whole, and number 0: the caller numbers it.
   NULL: see error. */
struct policy *policy_with(const struct policy *old, struct tables *tables, struct slice name, const char *text,
                           weir_error *error);

/* NULL is fine.  Its engine may be let go of, which may wait for it: not under a lock. */
void policy_free(struct policy *policy);

/* ---- for config.c, which makes one ---- */

/* NULL: it may be a name; else why not. */
const char *policy_name_problem(struct slice name);

/* Reads "address", "address/64", "address/24/48", "path/normal", "path/lower" or the name of a field.  NULL, or what is
   wrong with it. */
const char *policy_part_read(struct slice text, struct policy_part *part);

/* Takes the next part off a key of several; what is written with a backslash stays so. */
struct slice policy_key_next(struct slice *rest);

/* The part that is an address, where one is; else NULL. */
const struct policy_part *policy_address_part(const struct policy_limit *limit);

/* Empty, with room for so many limits; NULL: no memory. */
struct policy *policy_open(unsigned limit_room);

/* Adds a limit; what limit->more holds belongs to the policy from here on.  Then policy_index_names, once; false: no
   memory. */
void policy_add(struct policy *policy, const struct policy_limit *limit);
bool policy_index_names(struct policy *policy);

/* Gives the limit its exempt networks and its overrides, which are copied; plans: an array by malloc that the overrides
   point into, owned from here on, also when it fails.  What overrides have of an engine is the policy's, too, once it
   has come about; the caller keeps its own share.  false: no memory. */
bool policy_more_make(struct policy_limit *limit, const struct policy_network *exempt, unsigned exempt_count,
                      const struct policy_override *override, unsigned override_count, weir_plan *plans);

/* [of one that has more] What override names are tenants, and this is the text of all others, which is copied. */
void policy_more_tenants(struct policy_limit *limit, const weir_plan *others);

void policy_more_release(struct policy_more *more);

#endif
