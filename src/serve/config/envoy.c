/* SPDX-License-Identifier: MIT
   A file of envoyproxy/ratelimit (domain, descriptors), read as it is.

       domain: apis                          limit apis/path_foo            60/min algorithm=fixed-window align=clock
       descriptors:                          key   none: all together
         - {key: path, value: foo, rate_limit: {unit: minute, requests_per_unit: 60}}
         - key: user                         limit apis/user                unlimited, key: [user]
           descriptors:
             - key: path                     limit apis/user/path           9/h ..., key: [user, path]
               rate_limit: {unit: hour, requests_per_unit: 9}

   A limit for each path of descriptors that has a rate_limit, or ends (that is how that file says: not limited).  Its
   name is the domain and the descriptors, as KEY or KEY_VALUE, joined by "/"; bytes that no name may have become "_".
   Requests say the name: which descriptor applies, they know.  Descriptors without a value are the parts of its key, in
   their order, each a field of that name; with none of those all requests are counted together.

   Windows are those of Envoy: fixed, by the clock, from 1970 on; a month has 30 days there and a year 365.
   requests_per_unit 0 is none.  One thing is otherwise: a refused call takes nothing here, which shows where calls cost
   more than one.  shadow_mode is shadow; rate_limit's name and what concerns metrics alone (detailed_metric,
   value_to_metric) change nothing.  Refused, since no limit here means the same: replaces, wildcards (value: foo*),
   share_threshold, quota_mode.

   A file that is taken limits as it does there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serve/config/parts.h"

static const uint64_t REQUESTS_MAX = UINT32_MAX;

/* One descriptor as it is written. */
struct descriptor {
    const struct node *key, *value, *rate_limit, *descriptors;
    bool shadow;
};

struct rate {
    const struct node *unit, *replaces;
    uint64_t requests, multiplier;
    bool requests_said, unlimited;
};

/* The path to it: what its limit has so far. */
struct path {
    char name[POLICY_NAME_MAX + 1];
    size_t size;
    struct policy_part part[POLICY_PARTS_MAX];
    unsigned parts;
};

/* What all levels share. */
struct envoy {
    struct read *read;
    struct policy *policy;
    struct texts names;
};

static bool keep_node(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const struct node **node = into;
    (void)read;
    (void)where;
    *node = value;
    return true;
}

static bool only_false(struct read *read, const struct where *where, const struct node *value, void *into)
{
    bool is;
    (void)into;
    if (!value_bool(read, where, value, &is)) return false;
    return !is ? true : value_wrong(read, where, value, "weir has no equivalent; leave it out, or write false");
}

static bool any_bool(struct read *read, const struct where *where, const struct node *value, void *into)
{
    bool is;
    (void)into;
    return value_bool(read, where, value, &is);
}

/* ---- a rate ---- */

static bool read_requests(struct read *read, const struct where *where, const struct node *value, void *into)
{
    struct rate *rate = into;
    rate->requests_said = true;
    if (value->kind == NODE_TEXT && slice_is(value->text, slice_of("0"))) return true;
    if (!value_count(read, where, value, &rate->requests)) return false;
    return rate->requests <= REQUESTS_MAX ? true : value_wrong(read, where, value, "expected up to 4,294,967,295");
}

static bool read_any_text(struct read *read, const struct where *where, const struct node *value, void *into)
{
    (void)into;
    return value_is_text(read, where, value, "expected a text");
}

static bool same_unit(struct slice text, const char *unit)
{
    if (text.size != strlen(unit)) return false;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != unit[i]) return false;
    }
    return true;
}

/* Days, hours ... of a unit. */
static bool period_of(struct slice unit, uint64_t *count, const char **period)
{
    static const struct {
        const char *unit, *period;
        uint64_t count;
    } rows[] = {{"second", "s", 1}, {"minute", "min", 1}, {"hour", "h", 1},  {"day", "d", 1},
                {"week", "d", 7},   {"month", "d", 30},   {"year", "d", 365}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!same_unit(unit, rows[i].unit)) continue;
        *count = rows[i].count;
        *period = rows[i].period;
        return true;
    }
    return false;
}

static bool rate_text(struct read *read, const struct where *where, const struct node *node, const struct rate *rate,
                      char *text, size_t room)
{
    static const char expected[] = "expected second, minute, hour, day, week, month or year";
    uint64_t count = 0;
    const char *period = NULL;
    if (rate->unlimited) {
        snprintf(text, room, "unlimited");
        return rate->unit == NULL ? true : value_wrong(read, where, rate->unit, "an unlimited rate has no unit");
    }
    if (rate->unit == NULL) return value_wrong(read, where, node, "unit: is missing; for example unit: minute");
    if (rate->unit->kind != NODE_TEXT || !period_of(rate->unit->text, &count, &period)) {
        return value_wrong(read, where, rate->unit, expected);
    }
    if (!rate->requests_said) {
        return value_wrong(read, where, node, "requests_per_unit: is missing; for example requests_per_unit: 60");
    }
    if (rate->requests == 0) snprintf(text, room, "none");
    else
        snprintf(text, room, "%" PRIu64 "/%" PRIu64 "%s algorithm=fixed-window align=clock", rate->requests,
                 count * rate->multiplier, period);
    return true;
}

static bool rate_read(struct read *read, const struct where *where, const struct node *node, struct policy_limit *limit)
{
    static const struct field fields[] = {
        {"unit", keep_node, offsetof(struct rate, unit)},
        {"requests_per_unit", read_requests, 0},
        {"unit_multiplier", value_count, offsetof(struct rate, multiplier)},
        {"unlimited", value_bool, offsetof(struct rate, unlimited)},
        {"name", read_any_text, 0},
        {"replaces", keep_node, offsetof(struct rate, replaces)},
    };
    char text[96] = "unlimited";
    struct rate rate = {.multiplier = 1};
    const struct where here = {where, slice_of("rate_limit")};
    if (node != NULL) {
        if (!MAP_READ(read, &here, node, fields, &rate)) return false;
        if (rate.replaces != NULL && rate.replaces->count != 0) {
            return value_wrong(
                read, &here, rate.replaces,
                "replaces is not supported: a request names its limit, so leave the other out of the request");
        }
        if (rate.multiplier > REQUESTS_MAX)
            return value_wrong(read, &here, node, "unit_multiplier: expected up to 4,294,967,295");
        if (!rate_text(read, &here, node, &rate, text, sizeof text)) return false;
    }
    return limit_fill(read, &here, node != NULL ? node : &(struct node){.line = 0}, text, limit);
}

/* ---- descriptors ---- */

static bool descriptor_read(struct read *read, const struct where *where, const struct node *node,
                            struct descriptor *descriptor)
{
    static const struct field fields[] = {
        {"key", keep_node, offsetof(struct descriptor, key)},
        {"value", keep_node, offsetof(struct descriptor, value)},
        {"rate_limit", keep_node, offsetof(struct descriptor, rate_limit)},
        {"descriptors", keep_node, offsetof(struct descriptor, descriptors)},
        {"shadow_mode", value_bool, offsetof(struct descriptor, shadow)},
        {"detailed_metric", any_bool, 0},
        {"value_to_metric", any_bool, 0},
        {"share_threshold", only_false, 0},
        {"quota_mode", only_false, 0},
    };
    *descriptor = (struct descriptor){.shadow = false};
    if (!MAP_READ(read, where, node, fields, descriptor)) return false;
    if (descriptor->key == NULL) return value_wrong(read, where, node, "key: is missing; for example key: path");
    const struct node *value = descriptor->value;
    if (!value_is_text(read, where, descriptor->key, "expected a key; for example key: path")) return false;
    if (value != NULL && value->kind != NODE_TEXT) return value_wrong(read, where, value, "expected a text");
    const struct slice last = value != NULL && value->text.size != 0 ? value->text : descriptor->key->text;
    if (last.bytes[last.size - 1] != '*') return true;
    return value_wrong(
        read, where, value != NULL && value->text.size != 0 ? value : descriptor->key,
        "wildcards are not supported: a request names its limit; write the values out, or leave out value");
}

/* false: there is no room. */
static bool path_add(struct path *path, char between, struct slice text)
{
    if (path->size + (between != '\0') + text.size > POLICY_NAME_MAX) return false;
    if (between != '\0') path->name[path->size++] = between;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        path->name[path->size] = c;
        if (!letter && strchr("-.:/", c) == NULL) path->name[path->size] = '_';
        path->size++;
    }
    path->name[path->size] = '\0';
    return true;
}

static bool path_extend(struct read *read, const struct where *where, const struct descriptor *descriptor,
                        struct path *path)
{
    const struct slice key = descriptor->key->text;
    const bool valued = descriptor->value != NULL && descriptor->value->text.size != 0;
    if (!path_add(path, '/', key) || (valued && !path_add(path, '_', descriptor->value->text))) {
        return value_wrong(read, where, descriptor->key,
                           "the limit's name (the domain and all descriptors) would be longer than 64 bytes");
    }
    if (valued) return true;
    if (path->parts == POLICY_PARTS_MAX) {
        return value_wrong(read, where, descriptor->key, "more than 8 descriptors without a value above each other");
    }
    struct policy_part *part = &path->part[path->parts++];
    *part = (struct policy_part){.address = false};
    memcpy(part->name, key.bytes, key.size);
    return true;
}

static bool limit_add(struct envoy *envoy, const struct where *where, const struct descriptor *descriptor,
                      const struct path *path)
{
    struct read *read = envoy->read;
    struct policy_limit limit = {.shadow = descriptor->shadow, .parts = path->parts, .common = path->parts == 0};
    bool fresh;
    memcpy(limit.name, path->name, path->size);
    memcpy(limit.part, path->part, sizeof limit.part);
    if (envoy->policy->limit_count == POLICY_LIMITS_MAX) {
        return value_wrong(read, where, descriptor->key, "more than 1024 limits; expected fewer descriptors");
    }
    char *name = yaml_arena_get(&read->arena, path->size);
    if (name == NULL) return value_no_memory(read);
    memcpy(name, path->name, path->size);
    value_texts_number(&envoy->names, (struct slice){name, path->size}, &fresh);
    if (!fresh) {
        return value_wrong_text(read, where, descriptor->key,
                                "another limit has the same name here: ", (struct slice){path->name, path->size},
                                "; expected another key or value");
    }
    if (!rate_read(read, where, descriptor->rate_limit, &limit)) return false;
    if (read->number != NULL) limit.number = read->number(read->context, limit.name);
    policy_add(envoy->policy, &limit);
    return true;
}

/* As deep as the file is: CONFIG_DEPTH_MAX. */
static bool level_read(struct envoy *envoy, const struct where *where, const struct node *list,
                       const struct path *before)
{
    if (list->kind != NODE_LIST) {
        return value_wrong(envoy->read, where, list, "expected a list of descriptors; for example - key: path");
    }
    for (const struct node *node = list->first; node != NULL; node = node->next) {
        struct descriptor descriptor;
        struct path path = *before;
        if (!descriptor_read(envoy->read, where, node, &descriptor)) return false;
        if (!path_extend(envoy->read, where, &descriptor, &path)) return false;
        const bool leaf = descriptor.descriptors == NULL || descriptor.descriptors->count == 0;
        if ((leaf || descriptor.rate_limit != NULL) && !limit_add(envoy, where, &descriptor, &path)) return false;
        if (descriptor.descriptors != NULL && !level_read(envoy, where, descriptor.descriptors, &path)) return false;
    }
    return true;
}

/* ---- the file ---- */

bool envoy_is(const struct node *root)
{
    return value_map_find(root, "domain") != NULL || value_map_find(root, "descriptors") != NULL;
}

struct root {
    const struct node *domain, *descriptors;
};

static bool root_read(struct envoy *envoy, const struct node *node)
{
    static const struct field fields[] = {
        {"domain", keep_node, offsetof(struct root, domain)},
        {"descriptors", keep_node, offsetof(struct root, descriptors)},
    };
    static const char expected[] = "expected the domain's name; for example domain: apis";
    struct root root = {NULL, NULL};
    struct path path = {.size = 0};
    struct read *read = envoy->read;
    const struct where domain = {NULL, slice_of("domain")}, descriptors = {NULL, slice_of("descriptors")};
    if (!MAP_READ(read, NULL, node, fields, &root)) return false;
    if (root.domain == NULL) return value_wrong(read, &domain, node, expected);
    if (!value_is_text(read, &domain, root.domain, expected)) return false;
    if (!path_add(&path, '\0', root.domain->text))
        return value_wrong(read, &domain, root.domain, "longer than 64 bytes");
    const char *problem = policy_name_problem((struct slice){path.name, path.size});
    if (problem != NULL) return value_wrong(read, &domain, root.domain, problem);
    if (root.descriptors != NULL && !level_read(envoy, &descriptors, root.descriptors, &path)) return false;
    return policy_index_names(envoy->policy) ? true : value_no_memory(read);
}

struct policy *envoy_read(struct read *read, const struct node *root)
{
    struct envoy envoy = {.read = read, .policy = policy_open(POLICY_LIMITS_MAX)};
    if (envoy.policy == NULL) {
        value_no_memory(read);
        return NULL;
    }
    if (value_texts_open(read, &envoy.names, POLICY_LIMITS_MAX + 1) && root_read(&envoy, root)) return envoy.policy;
    policy_free(envoy.policy);
    return NULL;
}
