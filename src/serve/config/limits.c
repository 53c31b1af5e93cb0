/* SPDX-License-Identifier: MIT
   The limits of weir.yaml and their overrides.

   Keys of overrides are written as requests give them (an address as it comes), and are brought to the form that keys
   have in the table, by the key of their limit; two that mean the same are refused.  Overrides with the same text have
   one plan between them.

   What is refused leaves nothing behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/address_text.h"
#include "serve/config/parts.h"

/* ---- one text ---- */

static bool is_shared(const struct read *read, bool here)
{
    return read->config->engine.url != NULL && !here;
}

static bool could_keep(struct read *read, bool here, const weir_plan *plan, weir_error *error)
{
    const struct config *config = read->config;
    const struct tables_options options = {.keys_max = config->keys_max,
                                           .wide_bytes = config->wide_bytes,
                                           .memory = config->memory,
                                           .state = config->state};
    return backend_could_be(&options, is_shared(read, here), plan, error);
}

static bool wrong_limit(struct read *read, const struct where *where, const struct node *node, const weir_error *error,
                        bool shared)
{
    char message[sizeof error->message + 64];
    const bool elsewhere = shared && error->code == WEIR_EUNSUPPORTED;
    snprintf(message, sizeof message, "%s%s", error->message,
             elsewhere ? "; or {limit: ..., engine: off}, for this server alone" : "");
    return value_wrong_at(read, where, node, error->column > 0 ? (unsigned)error->column - 1 : 0, message);
}

bool limit_read(struct read *read, const struct where *where, const struct node *node, const char *text,
                const struct limit_into *into)
{
    weir_error error = {0};
    *into->backend = (struct policy_backend){.table = NULL};
    if (strlen(text) > POLICY_TEXT_MAX)
        return value_wrong(read, where, node, "the text of a limit has at most 1024 bytes");
    bool good = weir_plan_parse(into->plan, text, WEIR_ADMIT, &error) == 0;
    good = good && (into->parent != NULL ? guarantee_text(into->plan, &into->parent->plan, &error)
                                         : guarantee_alone(into->plan, &error));
    good = good && could_keep(read, into->here, into->plan, &error);
    if (good && read->tables != NULL)
        good =
            backend_for(into->backend, read->tables, into->here ? NULL : read->engine, into->away, into->plan, &error);
    return good ? true : wrong_limit(read, where, node, &error, is_shared(read, into->here));
}

bool limit_fill(struct read *read, const struct where *where, const struct node *node, const char *text,
                struct policy_limit *limit)
{
    struct policy_backend backend;
    const struct limit_into into = {&limit->plan, &backend, limit->away, limit->here, NULL};
    if (!limit_read(read, where, node, text, &into)) return false;
    limit->table = backend.table;
    limit->shared = backend.shared;
    return true;
}

static bool is_limit(struct read *read, const struct where *where, const struct node *node)
{
    return value_is_text(read, where, node, "expected the text of a limit; for example 60 requests/min");
}

static bool limit_of(struct read *read, const struct where *where, const struct node *node, struct policy_limit *limit)
{
    return is_limit(read, where, node) && limit_fill(read, where, node, node->text.bytes, limit);
}

/* ---- one limit ---- */

static bool key_read(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const char expected[] = "expected a list of up to 8 fields, or none; for example [tenant, address/64]";
    struct policy_limit *limit = into;
    const bool list = value->kind == NODE_LIST;
    if (value->kind == NODE_MAP || (list && value->count > POLICY_PARTS_MAX)) {
        return value_wrong(read, where, value, expected);
    }
    limit->common = !list && slice_is(value->text, slice_of("none"));
    if (limit->common) return true;
    for (const struct node *part = list ? value->first : value; part != NULL; part = list ? part->next : NULL) {
        struct policy_part *into_part = &limit->part[limit->parts];
        if (!value_is_text(read, where, part, expected)) return false;
        const char *problem = policy_part_read(part->text, into_part);
        if (problem != NULL) return value_wrong(read, where, part, problem);
        for (unsigned i = 0; i < limit->parts; i++) {
            if (strcmp(limit->part[i].name, into_part->name) == 0)
                return value_wrong_text(read, where, part, "", slice_of(into_part->name), " is here twice");
        }
        limit->parts++;
    }
    return true;
}

static bool network_read(struct read *read, const struct where *where, const struct node *node,
                         const struct policy_part *part, struct policy_network *network)
{
    unsigned char cut[ADDRESS_V6];
    char memory[ADDRESS_TEXT_MAX + 1], message[200];
    static const char expected[] = "expected a network; for example 10.0.0.0/8 or 2001:db8::/32";
    if (!value_is_text(read, where, node, expected)) return false;
    const size_t size = address_read_network(node->text, network->address, &network->bits);
    if (size == 0) return value_wrong(read, where, node, expected);
    network->v6 = size == ADDRESS_V6;
    memcpy(cut, network->address, size);
    address_cut(cut, size, network->bits);
    struct bytes out = {memory, 0, ADDRESS_TEXT_MAX, false};
    address_write(&out, cut, size, network->bits);
    memory[out.size] = '\0';
    if (memcmp(cut, network->address, size) != 0) {
        snprintf(message, sizeof message, "there are bits after the prefix; did you mean %s?", memory);
        return value_wrong(read, where, node, message);
    }
    const int kept = network->v6 ? part->bits_v6 : part->bits_v4;
    if (network->bits <= kept) return true;
    snprintf(message, sizeof message,
             "the key has only the first %d bits of such an address; expected a network of as many, or a finer key",
             kept);
    return value_wrong(read, where, node, message);
}

static bool exempt_read(struct read *read, const struct where *where, const struct node *value,
                        const struct policy_limit *limit, struct policy_network *networks, unsigned *count)
{
    const struct policy_part *part = policy_address_part(limit);
    if (value->kind != NODE_LIST || value->count > POLICY_EXEMPT_MAX) {
        return value_wrong(read, where, value, "expected a list of up to 256 networks; for example [10.0.0.0/8]");
    }
    if (part == NULL) {
        return value_wrong(
            read, where, value,
            "networks are matched with the key's address, and this key has none; for example key: [address]");
    }
    for (const struct node *node = value->first; node != NULL; node = node->next) {
        if (!network_read(read, where, node, part, &networks[(*count)++])) return false;
    }
    return true;
}

/* ---- overrides ---- */

/* What is gathered of those of one limit, or of its tenants. */
struct overrides {
    const struct policy_limit *parent; /* of tenants; NULL: they are no tenants */
    const struct node *others;         /* "*" of tenants; NULL: there is none */
    struct policy_override *override;
    struct policy_backend *backend; /* of each plan */
    uint32_t places;
    weir_plan *plans; /* by malloc */
    struct texts keys, texts;
    unsigned count;
};

static bool overrides_open(struct read *read, struct overrides *all, size_t count)
{
    const size_t plans = count < POLICY_OVERRIDE_TEXTS_MAX ? count : POLICY_OVERRIDE_TEXTS_MAX;
    all->override = yaml_arena_get(&read->arena, count * sizeof *all->override);
    all->backend = yaml_arena_get(&read->arena, plans * sizeof *all->backend);
    if (all->override == NULL || all->backend == NULL) return value_no_memory(read);
    if (!value_texts_open(read, &all->keys, count) || !value_texts_open(read, &all->texts, count)) return false;
    all->plans = calloc(plans + 1, sizeof *all->plans);
    return all->plans != NULL ? true : value_no_memory(read);
}

/* The key as the table has it. */
static bool override_key(struct read *read, const struct where *where, const struct node *node,
                         const struct policy_limit *limit, struct slice *key)
{
    char memory[POLICY_KEY_MAX + 1], message[160];
    struct bytes out = {memory, 0, sizeof memory, false};
    const char *missing;
    if (!policy_key_given(limit, node->text, &out, &missing)) {
        if (out.full) return value_wrong(read, where, node, "a key has at most 1024 bytes");
        snprintf(message, sizeof message, "this key has no %s; expected all parts of the limit's key", missing);
        return value_wrong(read, where, node, message);
    }
    char *copy = yaml_arena_get(&read->arena, out.size + 1);
    if (copy == NULL) return value_no_memory(read);
    memcpy(copy, memory, out.size);
    *key = (struct slice){copy, out.size};
    return true;
}

static bool override_read(struct read *read, const struct where *where, const struct node *node,
                          const struct policy_limit *limit, struct overrides *all)
{
    bool fresh;
    struct slice key = {"", 0};
    const struct where here = {where, node->text};
    if (!override_key(read, &here, node, limit, &key)) return false;
    value_texts_number(&all->keys, key, &fresh);
    if (!fresh) return value_wrong_text(read, where, node, "the same key as another one here: ", key, "");
    if (!is_limit(read, &here, node->next)) return false;
    const uint32_t number = value_texts_number(&all->texts, node->next->text, &fresh);
    if (number >= POLICY_OVERRIDE_TEXTS_MAX) {
        return value_wrong(read, &here, node->next,
                           "more than 4096 different limits; expected fewer, each for more keys");
    }
    struct policy_backend *backend = &all->backend[number];
    const struct limit_into into = {&all->plans[number], backend, limit->away, limit->here, all->parent};
    if (fresh && !limit_read(read, &here, node->next, node->next->text.bytes, &into)) return false;
    if (fresh) all->places = number + 1;
    all->override[all->count++] = (struct policy_override){key, &all->plans[number], backend->table, backend->shared};
    return true;
}

static bool overrides_read(struct read *read, const struct where *where, const struct node *map,
                           const struct policy_limit *limit, struct overrides *all)
{
    if (map == NULL) return true;
    if (!value_map_check(read, where, map)) return false;
    if (limit->common)
        return value_wrong(read, where, map, "this limit has no keys (key: none), so there is nothing to override");
    if (map->count / 2 > POLICY_OVERRIDES_MAX) return value_wrong(read, where, map, "expected up to 100,000 keys");
    if (!overrides_open(read, all, map->count / 2)) return false;
    for (const struct node *key = map->first; key != NULL; key = key->next->next) {
        if (all->parent != NULL && slice_is(key->text, slice_of("*"))) all->others = key;
        else if (!override_read(read, where, key, limit, all)) return false;
    }
    return true;
}

/* ---- tenants ---- */

/* The text of all that have no name: "*", or nothing that is owed to them or holds them back but the parent. */
static bool others_read(struct read *read, const struct where *where, const struct overrides *all, weir_plan *others)
{
    struct policy_backend backend;
    const struct limit_into into = {others, &backend, WEIR_AWAY_DEFAULT, true, all->parent};
    const struct where here = {where, slice_of("*")};
    const struct node *text = all->others != NULL ? all->others->next : NULL;
    if (text == NULL) return weir_plan_parse(others, "unlimited", WEIR_ADMIT, NULL) == 0;
    if (!is_limit(read, &here, text) || !limit_read(read, &here, text, text->text.bytes, &into)) return false;
    if (!guarantee_of(others)) return true;
    return value_wrong(read, &here, text,
                       "a guarantee is for a key by its name: nobody knows how many others there will be; expected a "
                       "ceiling for each, for example 50/s");
}

/* Of the tenant of this number; NULL: all others, who are not here, or the parent. */
static const struct node *tenant_node(const struct node *map, const struct overrides *all, size_t which)
{
    if (which == all->count) return all->others;
    const struct node *key = map->first;
    for (size_t i = 0; key != NULL; key = key->next->next) {
        if (key != all->others && i++ == which) return key;
    }
    return NULL;
}

/* At the one with whom it is too much, or who differs. */
static bool all_read(struct read *read, const struct where *where, const struct node *map, const struct overrides *all,
                     const weir_plan *others)
{
    weir_error error = {0};
    size_t which;
    if (guarantee_all(&all->parent->plan, all->override, all->count, others, &which, &error)) return true;
    const struct node *key = tenant_node(map, all, which);
    if (key == NULL) return value_wrong(read, where, map, error.message);
    const struct where here = {where, key->text};
    return value_wrong(read, &here, key->next, error.message);
}

static bool tenants_read(struct read *read, const struct where *where, const struct node *map,
                         const struct policy_limit *limit, struct overrides *all, weir_plan *others)
{
    weir_error error = {0};
    all->parent = limit;
    if (is_shared(read, limit->here))
        return value_wrong(read, where, map, "tenants are kept in this process: write engine: off beside them");
    if (limit->common)
        return value_wrong(read, where, map, "tenants are told apart by their key: expected no key: none");
    if (!guarantee_text(&limit->plan, &limit->plan, &error)) return value_wrong(read, where, map, error.message);
    return overrides_read(read, where, map, limit, all) && others_read(read, where, all, others) &&
           all_read(read, where, map, all, others);
}

/* ---- all limits ---- */

/* The nodes of one that is written as a map. */
struct draft {
    struct policy_limit limit;
    const struct node *text, *exempt, *away, *tenants;
};

static bool keep_node(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const struct node **node = into;
    (void)read;
    (void)where;
    *node = value;
    return true;
}

/* What answers while the engine does not: of a limit that is in one. */
static bool draft_away(struct read *read, const struct where *where, struct draft *draft)
{
    const struct where inside = {where, slice_of("away")};
    if (is_shared(read, draft->limit.here)) return engine_away_read(read, &inside, draft->away, &draft->limit.away);
    return value_wrong(
        read, &inside, draft->away,
        "expected no away: here, as this limit is in no engine; write engine: {url: ...} in the file, or leave it out");
}

static bool draft_read(struct read *read, const struct where *where, const struct node *value, struct draft *draft)
{
    static const struct field fields[] = {
        {"limit", keep_node, offsetof(struct draft, text)},
        {"key", key_read, offsetof(struct draft, limit)},
        {"keys", value_count, offsetof(struct draft, limit.keys)},
        {"shadow", value_bool, offsetof(struct draft, limit.shadow)},
        {"exempt", keep_node, offsetof(struct draft, exempt)},
        {"tenants", keep_node, offsetof(struct draft, tenants)},
        {"away", keep_node, offsetof(struct draft, away)},
        {"engine", engine_off_read, offsetof(struct draft, limit.here)},
    };
    static const char limit_name[] = "limit";
    const struct where inside = {where, slice_of(limit_name)};
    struct policy_limit *limit = &draft->limit;
    if (value->kind == NODE_TEXT) return limit_of(read, where, value, limit);
    if (value->kind != NODE_MAP) {
        return value_wrong(read, where, value, "expected the text of a limit, or {limit: 60/min, key: [tenant]}");
    }
    if (!MAP_READ(read, where, value, fields, draft)) return false;
    if (draft->text == NULL) return value_wrong(read, where, value, "limit: is missing; for example {limit: 60/min}");
    if (draft->away != NULL && !draft_away(read, where, draft)) return false;
    return limit_of(read, &inside, draft->text, limit);
}

/* Overrides, or tenants; of both each key would have two meanings. */
static bool keys_read(struct read *read, const struct where *where, struct draft *draft, const struct node *overrides,
                      struct overrides *all, weir_plan *others)
{
    const struct where root = {NULL, slice_of("overrides")};
    const struct where tenants = {where, slice_of("tenants")}, over = {&root, where->name};
    if (draft->tenants == NULL) return overrides_read(read, &over, overrides, &draft->limit, all);
    if (overrides != NULL)
        return value_wrong(read, &over, overrides, "this limit has tenants: expected their texts there, and none here");
    return tenants_read(read, &tenants, draft->tenants, &draft->limit, all, others);
}

static bool more_read(struct read *read, const struct where *where, struct draft *draft, const struct node *overrides)
{
    struct policy_network networks[POLICY_EXEMPT_MAX];
    unsigned count = 0;
    weir_plan others;
    const struct where exempt = {where, slice_of("exempt")};
    struct overrides all = {.count = 0};
    struct policy_limit *limit = &draft->limit;
    if (draft->exempt != NULL && !exempt_read(read, &exempt, draft->exempt, limit, networks, &count)) return false;
    const bool good = keys_read(read, where, draft, overrides, &all, &others);
    bool made = true;
    if (good && (count != 0 || all.count != 0 || draft->tenants != NULL))
        made = policy_more_make(limit, networks, count, all.override, all.count, all.plans);
    else free(all.plans);
    if (good && made && draft->tenants != NULL) policy_more_tenants(limit, &others);
    for (uint32_t i = 0; i < all.places; i++) engine_limit_release(all.backend[i].shared);
    return made ? good : value_no_memory(read);
}

static bool named_read(struct read *read, const struct where *limits, const struct node *key,
                       const struct node *overrides, struct policy *policy)
{
    struct draft draft = {.text = NULL};
    const struct where where = {limits, key->text};
    const char *problem = policy_name_problem(key->text);
    if (problem != NULL) return value_wrong(read, &where, key, problem);
    memcpy(draft.limit.name, key->text.bytes, key->text.size);
    if (!draft_read(read, &where, key->next, &draft)) return false;
    const struct node *mine = overrides != NULL ? value_map_find(overrides, draft.limit.name) : NULL;
    if (!more_read(read, &where, &draft, mine)) {
        engine_limit_release(draft.limit.shared);
        return false;
    }
    if (read->number != NULL) draft.limit.number = read->number(read->context, draft.limit.name);
    policy_add(policy, &draft.limit);
    return true;
}

/* Their names are all limits. */
static bool overrides_check(struct read *read, const struct node *limits, const struct node *overrides)
{
    const struct where where = {NULL, slice_of("overrides")};
    size_t count = 0;
    if (overrides == NULL) return true;
    if (!value_map_check(read, &where, overrides)) return false;
    for (const struct node *name = overrides->first; name != NULL; name = name->next->next) {
        if (limits == NULL || value_map_find(limits, name->text.bytes) == NULL)
            return value_wrong_text(read, &where, name, "", name->text,
                                    " is no limit of this file; expected a name that limits: has");
        count += name->next->count / 2;
    }
    return count <= POLICY_OVERRIDES_MAX ? true
                                         : value_wrong(read, &where, overrides, "expected up to 100,000 keys in all");
}

static bool fill(struct read *read, const struct node *limits, const struct node *overrides, struct policy *policy)
{
    const struct where where = {NULL, slice_of("limits")};
    for (const struct node *key = limits != NULL ? limits->first : NULL; key != NULL; key = key->next->next) {
        if (!named_read(read, &where, key, overrides, policy)) return false;
    }
    return policy_index_names(policy) ? true : value_no_memory(read);
}

bool parts_read(struct read *read, struct policy *policy)
{
    weir_error error = {0};
    if (read->tables == NULL) return true;
    const struct policy_limit *limit = backend_parts(policy, read->tables, &error);
    if (limit == NULL) return true;
    const struct where limits = {NULL, slice_of("limits")}, where = {&limits, slice_of(limit->name)};
    return value_wrong(read, &where, &(struct node){.line = 0}, error.message);
}

struct policy *limits_read(struct read *read, const struct node *limits, const struct node *overrides)
{
    const struct where where = {NULL, slice_of("limits")};
    if (limits != NULL && !value_map_check(read, &where, limits)) return NULL;
    if (limits != NULL && limits->count / 2 > POLICY_LIMITS_MAX) {
        value_wrong(read, &where, limits, "expected up to 1024 limits");
        return NULL;
    }
    if (!overrides_check(read, limits, overrides)) return NULL;
    struct policy *policy = policy_open(limits != NULL ? limits->count / 2 : 0);
    if (policy == NULL) {
        value_no_memory(read);
        return NULL;
    }
    if (fill(read, limits, overrides, policy)) return policy;
    policy_free(policy);
    return NULL;
}
