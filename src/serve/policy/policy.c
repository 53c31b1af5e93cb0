/* SPDX-License-Identifier: MIT
   The limits that have a name.

       policy -> limit[i] { plan, table, parts, more } -> more { exempt, override[], plans[] }
       index of names: name -> i               index of more: key -> override

   A request is looked up twice: its limit by name, and where there are overrides its key.  Both indexes are hash tables
   that are made once, at most half full, and never written again.  Names may be defined by clients, so who does not
   know the secret cannot choose where they fall.

   A policy that follows another (policy_with) shares what is large with it, by a count of those who have it.

   What is published is never written; nothing is allocated by looking up. */
#include "serve/policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "format/address_text.h"
#include "host/map.h"
#include "share/atomic.h"
#include "share/hash/hash.h"

/* ---- an index: which of so many has this key ---- */

struct policy_entry {
    uint32_t mark;   /* of the hash */
    uint32_t number; /* from 1; 0: empty */
};

struct policy_index {
    struct secret secret;
    uint64_t mask;
    struct policy_entry entry[];
};

/* NULL: no memory. */
static struct policy_index *index_open(uint64_t count)
{
    uint64_t size = 2;
    while (size < count * 2) size *= 2;
    struct policy_index *index = calloc(1, sizeof *index + size * sizeof index->entry[0]);
    if (index == NULL || host_random(&index->secret, sizeof index->secret) != 0) {
        free(index);
        return NULL;
    }
    index->mask = size - 1;
    return index;
}

static uint64_t index_hash(const struct policy_index *index, struct slice key)
{
    return hash_siphash_1_3(&index->secret, key.bytes, key.size);
}

static void index_add(struct policy_index *index, struct slice key, uint32_t number)
{
    const uint64_t hash = index_hash(index, key);
    uint64_t at = hash & index->mask;
    while (index->entry[at].number != 0) at = (at + 1) & index->mask;
    index->entry[at] = (struct policy_entry){(uint32_t)(hash >> 32), number + 1};
}

/* The next that may be it, from *at on; false: there is none. */
static bool index_next(const struct policy_index *index, uint64_t hash, uint64_t *at, uint32_t *number)
{
    for (;; (*at)++) {
        const struct policy_entry *entry = &index->entry[*at & index->mask];
        if (entry->number == 0) return false;
        if (entry->mark != (uint32_t)(hash >> 32)) continue;
        *number = entry->number - 1;
        (*at)++;
        return true;
    }
}

/* ---- what a limit has beside its numbers ---- */

struct policy_more {
    struct atom users;
    weir_plan unlimited, others;
    struct policy_network *exempt;
    struct policy_override *override;
    unsigned override_count;
    char *keys;
    weir_plan *plans;
    struct policy_index *index; /* of overrides */
};

static struct policy_more *more_share(struct policy_more *more)
{
    if (more != NULL) atom_add(&more->users, 1);
    return more;
}

void policy_more_release(struct policy_more *more)
{
    if (more == NULL || atom_add(&more->users, UINT64_MAX) != 1) return;
    for (unsigned i = 0; i < more->override_count; i++) engine_limit_release(more->override[i].shared);
    free(more->exempt);
    free(more->override);
    free(more->keys);
    free(more->plans);
    free(more->index);
    free(more);
}

/* Never 0 bytes, so that NULL means one thing. */
static void *copy_of(const void *bytes, size_t count, size_t size)
{
    void *copy = calloc(count + 1, size);
    if (copy != NULL && count != 0) memcpy(copy, bytes, count * size);
    return copy;
}

/* Their keys come to lie one behind the other. */
static bool copy_overrides(struct policy_more *more, const struct policy_override *override, unsigned count)
{
    size_t size = 1;
    for (unsigned i = 0; i < count; i++) size += override[i].key.size;
    more->override = copy_of(override, count, sizeof *override);
    more->keys = malloc(size);
    more->index = index_open(count);
    if (more->override == NULL || more->keys == NULL || more->index == NULL) return false;
    char *at = more->keys;
    more->override_count = count;
    for (unsigned i = 0; i < count; i++) {
        engine_limit_share(more->override[i].shared);
        struct slice *key = &more->override[i].key;
        if (key->size != 0) memcpy(at, key->bytes, key->size);
        key->bytes = at;
        at += key->size;
        index_add(more->index, *key, i);
    }
    return true;
}

bool policy_more_make(struct policy_limit *limit, const struct policy_network *exempt, unsigned exempt_count,
                      const struct policy_override *override, unsigned override_count, weir_plan *plans)
{
    struct policy_more *more = calloc(1, sizeof *more);
    if (more == NULL) {
        free(plans);
        return false;
    }
    atom_store(&more->users, 1);
    more->plans = plans;
    more->exempt = copy_of(exempt, exempt_count, sizeof *exempt);
    if (more->exempt == NULL || weir_plan_parse(&more->unlimited, "unlimited", WEIR_ADMIT, NULL) != 0 ||
        !copy_overrides(more, override, override_count)) {
        policy_more_release(more);
        return false;
    }
    limit->more = more;
    limit->exempt = more->exempt;
    limit->exempt_count = exempt_count;
    limit->override = more->override;
    limit->override_count = override_count;
    return true;
}

void policy_more_tenants(struct policy_limit *limit, const weir_plan *others)
{
    limit->more->others = *others;
    limit->others = &limit->more->others;
}

/* ---- a policy ---- */

struct policy *policy_open(unsigned limit_room)
{
    struct policy *policy = calloc(1, sizeof *policy);
    if (policy == NULL) return NULL;
    policy->limit = calloc((size_t)limit_room + 1, sizeof *policy->limit);
    policy->limit_room = limit_room;
    if (policy->limit != NULL) return policy;
    free(policy);
    return NULL;
}

void policy_add(struct policy *policy, const struct policy_limit *limit)
{
    if (policy->limit_count < policy->limit_room) policy->limit[policy->limit_count++] = *limit;
}

static struct slice name_of(const struct policy_limit *limit)
{
    return slice_of(limit->name);
}

bool policy_index_names(struct policy *policy)
{
    policy->index = index_open(policy->limit_count);
    for (unsigned i = 0; policy->index != NULL && i < policy->limit_count; i++) {
        index_add(policy->index, name_of(&policy->limit[i]), i);
    }
    return policy->index != NULL;
}

void policy_free(struct policy *policy)
{
    if (policy == NULL) return;
    for (unsigned i = 0; i < policy->limit_count; i++) {
        policy_more_release(policy->limit[i].more);
        engine_limit_release(policy->limit[i].shared);
    }
    engine_release(policy->engine);
    free(policy->limit);
    free(policy->index);
    free(policy);
}

/* ---- looking up ---- */

const struct policy_limit *policy_find(const struct policy *policy, struct slice name)
{
    uint32_t number;
    if (policy->index == NULL || name.size > POLICY_NAME_MAX) return NULL;
    const uint64_t hash = index_hash(policy->index, name);
    for (uint64_t at = hash; index_next(policy->index, hash, &at, &number);) {
        const struct policy_limit *limit = &policy->limit[number];
        if (memcmp(limit->name, name.bytes, name.size) == 0 && limit->name[name.size] == '\0') return limit;
    }
    return NULL;
}

const struct policy_limit *policy_numbered(const struct policy *policy, unsigned number)
{
    for (unsigned i = 0; policy != NULL && i < policy->limit_count; i++) {
        if (policy->limit[i].number == number) return &policy->limit[i];
    }
    return NULL;
}

const struct policy_override *policy_override_of(const struct policy_limit *limit, struct slice key)
{
    if (limit->override_count == 0) return NULL;
    const struct policy_index *index = limit->more->index;
    const uint64_t hash = index_hash(index, key);
    uint32_t number;
    for (uint64_t at = hash; index_next(index, hash, &at, &number);) {
        if (slice_is(limit->override[number].key, key)) return &limit->override[number];
    }
    return NULL;
}

/* The address as the key has it, and how many of its bits. */
static size_t address_in(const struct policy_limit *limit, struct slice key, unsigned char bytes[ADDRESS_V6], int *bits)
{
    struct slice part = {"", 0};
    for (unsigned i = 0; i < limit->parts; i++) {
        part = policy_key_next(&key);
        if (limit->part[i].address) return address_read_network(part, bytes, bits);
    }
    return 0;
}

static bool is_exempt(const struct policy_limit *limit, struct slice key)
{
    unsigned char bytes[ADDRESS_V6];
    int bits;
    const size_t size = address_in(limit, key, bytes, &bits);
    for (unsigned i = 0; size != 0 && i < limit->exempt_count; i++) {
        const struct policy_network *network = &limit->exempt[i];
        if (network->v6 != (size == ADDRESS_V6) || network->bits > bits) continue;
        if (address_within(bytes, network->address, network->bits)) return true;
    }
    return false;
}

/* Its own text, and the parent's behind it. */
static struct policy_verdict resolve_tenant(const struct policy_limit *limit, const struct policy_override *tenant)
{
    const weir_plan *plan = tenant != NULL ? tenant->plan : limit->others;
    struct policy_verdict verdict = backend_verdict(plan, limit->table, NULL, limit->shadow);
    verdict.parent = &limit->plan;
    return verdict;
}

struct policy_verdict policy_resolve(const struct policy_limit *limit, struct slice key)
{
    const struct policy_override *override = policy_override_of(limit, key);
    if (limit->others != NULL && (override != NULL || limit->exempt_count == 0 || !is_exempt(limit, key)))
        return resolve_tenant(limit, override);
    if (override != NULL) return backend_verdict(override->plan, override->table, override->shared, limit->shadow);
    if (limit->exempt_count != 0 && is_exempt(limit, key))
        return backend_verdict(&limit->more->unlimited, limit->table, NULL, limit->shadow);
    return backend_verdict(&limit->plan, limit->table, limit->shared, limit->shadow);
}

/* ---- another policy ---- */

/* Where another text is kept, it is the same place. */
static bool read_limit(struct tables *tables, struct engine *engine, const char *text, struct policy_limit *limit,
                       weir_error *error)
{
    struct policy_backend backend;
    if (strlen(text) > POLICY_TEXT_MAX) {
        api_fail(error, WEIR_EINVAL, "the text of a limit has at most 1024 bytes");
        return false;
    }
    if (weir_plan_parse(&limit->plan, text, WEIR_ADMIT, error) != 0) return false;
    if (!guarantee_alone(&limit->plan, error) || !guarantee_parent(limit, error)) return false;
    if (!backend_for(&backend, tables, limit->here ? NULL : engine, limit->away, &limit->plan, error)) return false;
    limit->table = backend.table;
    limit->shared = backend.shared;
    return true;
}

/* All of old, the one that is changed in its place, or behind all where it is new. */
static void fill(struct policy *policy, const struct policy *old, const struct policy_limit *before,
                 const struct policy_limit *after)
{
    for (unsigned i = 0; old != NULL && i < old->limit_count; i++) {
        const bool changed = before != NULL && before == &old->limit[i];
        if (changed && after == NULL) continue;
        policy_add(policy, changed ? after : &old->limit[i]);
        more_share(old->limit[i].more);
        if (!changed) engine_limit_share(old->limit[i].shared);
    }
    if (before == NULL && after != NULL) policy_add(policy, after);
}

static struct policy *make_after(const struct policy *old, const struct policy_limit *before,
                                 const struct policy_limit *after, weir_error *error)
{
    const unsigned count = (old != NULL ? old->limit_count : 0) + 1;
    struct policy *policy = policy_open(count);
    if (policy != NULL) {
        fill(policy, old, before, after);
        policy->engine = old != NULL ? engine_share(old->engine) : NULL;
        if (policy_index_names(policy)) return policy;
        policy_free(policy);
    } else if (after != NULL) {
        engine_limit_release(after->shared);
    }
    api_fail(error, WEIR_ENOMEM, "no memory for another set of limits");
    return NULL;
}

struct policy *policy_with(const struct policy *old, struct tables *tables, struct slice name, const char *text,
                           weir_error *error)
{
    struct policy_limit limit = {.number = 0};
    const char *problem = policy_name_problem(name);
    const struct policy_limit *before = old != NULL ? policy_find(old, name) : NULL;
    if (problem == NULL && text == NULL && before == NULL) problem = "no limit has this name";
    if (problem == NULL && text != NULL && before == NULL && old != NULL && old->limit_count == POLICY_LIMITS_MAX) {
        problem = "there are 1024 limits with a name already; remove one, or give the text with each request";
    }
    if (problem != NULL) {
        api_fail(error, WEIR_EINVAL, problem);
        return NULL;
    }
    if (text == NULL) return make_after(old, before, NULL, error);
    if (before != NULL) limit = *before;
    else memcpy(limit.name, name.bytes, name.size);
    if (!read_limit(tables, old != NULL ? old->engine : NULL, text, &limit, error)) return NULL;
    struct policy *policy = make_after(old, before, &limit, error);
    if (policy != NULL) backend_parts(policy, tables, error); /* without a part it shares one, which is counted */
    return policy;
}
