/* SPDX-License-Identifier: MIT
   What the files that read weir.yaml share.

       config.c          the whole: settings, then limits; what is handed out and freed
       yaml.c     bytes to a tree of nodes, each with its place (libyaml is known here alone)
       value.c    one value: text, number, size, time, yes or no; maps with known keys; what is said of mistakes
       limits.c   limits and overrides
       engine.c   the engine
       envoy.c    the same of a file of envoyproxy/ratelimit
       secret.c   a password's file */
#ifndef WEIR_SERVE_CONFIG_PARTS_H
#define WEIR_SERVE_CONFIG_PARTS_H

#include "serve/config/config.h"

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    bool exact;            /* the text stands in the file as it is: a place in it is a place in the file */
    bool plain;            /* without quotes */
    unsigned line, column; /* from 1; of the text's first character, behind a quote */
    struct slice text;     /* with a NUL behind it */
    struct node *next;     /* in a map: key, value, key, value ... */
    struct node *first;
    unsigned count; /* of children; keys and values both */
};

/* Memory that goes as a whole. */
struct arena {
    struct arena_chunk *chunk;
};

struct read {
    struct arena arena;
    struct config *config;
    struct config_problem *problem;
    struct tables *tables; /* NULL: it is only looked at */
    struct engine *engine; /* NULL: the tables keep all */
    config_number number;
    void *context;
};

/* Where in the file, by names. */
struct where {
    const struct where *parent;
    struct slice name;
};

/* ---- yaml.c ---- */

/* NULL: no memory. */
void *yaml_arena_get(struct arena *arena, size_t size);
void yaml_arena_free(struct arena *arena);

/* *root NULL: there is nothing in it.  false: see problem. */
bool yaml_read(struct read *read, struct slice text, struct node **root);

/* ---- value.c ---- */

/* All of these return false, so that who fails may return it.  value_wrong: at the node; value_wrong_at: `ahead`
   characters behind its beginning; value_wrong_text: message, the text in quotes, then the rest. */
bool value_wrong(struct read *read, const struct where *where, const struct node *node, const char *message);
bool value_wrong_at(struct read *read, const struct where *where, const struct node *node, unsigned ahead,
                    const char *message);
bool value_wrong_text(struct read *read, const struct where *where, const struct node *node, const char *before,
                      struct slice text, const char *behind);
bool value_no_memory(struct read *read);

/* Of many texts, which were there before. */
struct texts {
    struct slice *text;
    uint32_t *place; /* 0: empty; else 1 + the number */
    uint32_t count, mask;
};

/* Room for so many, in the arena. */
bool value_texts_open(struct read *read, struct texts *texts, size_t room);

/* The number of this text, which is a new one where *fresh says so. */
uint32_t value_texts_number(struct texts *texts, struct slice text, bool *fresh);

typedef bool (*value_read)(struct read *read, const struct where *where, const struct node *value, void *into);

struct field {
    const char *name;
    value_read read;
    size_t offset; /* of what is filled, in what value_map_read is given */
};

bool value_map_read(struct read *read, const struct where *where, const struct node *map, const struct field *field,
                    size_t fields, void *into);
#define MAP_READ(read, where, map, rows, into)                                                                         \
    value_map_read(read, where, map, rows, sizeof(rows) / sizeof *(rows), into)

/* Keys are text and none comes twice. */
bool value_map_check(struct read *read, const struct where *where, const struct node *map);

/* The value of a key, or NULL. */
const struct node *value_map_find(const struct node *map, const char *name);

/* Into a char * by malloc, a bool, a uint64_t (_ns). */
bool value_text(struct read *read, const struct where *where, const struct node *value, void *into);
bool value_bool(struct read *read, const struct where *where, const struct node *value, void *into);
bool value_count(struct read *read, const struct where *where, const struct node *value, void *into);
bool value_bytes(struct read *read, const struct where *where, const struct node *value, void *into);
bool value_time(struct read *read, const struct where *where, const struct node *value, void *into);

/* A text that is not empty; else it is said what was expected. */
bool value_is_text(struct read *read, const struct where *where, const struct node *value, const char *expected);

/* ---- limits.c ---- */

/* The policy so far; NULL: see problem. */
struct policy *limits_read(struct read *read, const struct node *limits, const struct node *overrides);

/* What becomes of the text of a limit: away and here are read, the others filled. */
struct limit_into {
    weir_plan *plan;
    struct policy_backend *backend;
    weir_away away;
    bool here;
    const struct policy_limit *parent; /* of a tenant's text; NULL: it is none */
};

/* Reads the text of a limit, at the place of this node. */
bool limit_read(struct read *read, const struct where *where, const struct node *node, const char *text,
                const struct limit_into *into);

/* Into limit: all of it. */
bool limit_fill(struct read *read, const struct where *where, const struct node *node, const char *text,
                struct policy_limit *limit);

/* Parts of the tables for the keys of each, where there are tables. */
bool parts_read(struct read *read, struct policy *policy);

/* ---- engine.c ---- */

bool engine_read(struct read *read, const struct where *where, const struct node *value, void *into);
bool engine_away_read(struct read *read, const struct where *where, const struct node *value, void *into);

/* Nothing but "off". */
bool engine_off_read(struct read *read, const struct where *where, const struct node *value, void *into);
void engine_settings_free(struct engine_settings *settings);

/* ---- envoy.c ---- */

bool envoy_is(const struct node *root);
struct policy *envoy_read(struct read *read, const struct node *root);

/* ---- secret.c ---- */

/* Its lines, `most` at most, by malloc.  NULL, or why not; then *count is still what there is to be freed. */
const char *secret_read(const char *path, char **lines, unsigned most, unsigned *count);

#endif
