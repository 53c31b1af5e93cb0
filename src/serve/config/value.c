/* SPDX-License-Identifier: MIT
   One value of weir.yaml, maps of values by name, and what is said of mistakes.

   A mistake is told at its place, by its name, with what was expected; what is told can be printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/amount.h"
#include "serve/config/parts.h"
#include "share/hash/hash.h"

enum { SHOWN_MAX = 60, NEAR_MAX = 24, NEAR_EDITS = 2 };

/* ---- mistakes ---- */

static void add_message(struct config_problem *problem, struct slice text)
{
    size_t size = strlen(problem->message);
    for (size_t i = 0; i < text.size && size + 1 < sizeof problem->message; i++) {
        const char c = text.bytes[i];
        problem->message[size] = c;
        if (c < ' ' || c > '~') problem->message[size] = '?';
        size++;
    }
    problem->message[size] = '\0';
}

static void add_where(struct config_problem *problem, const struct where *where)
{
    if (where->parent != NULL) {
        add_where(problem, where->parent);
        if (strlen(problem->message) < CONFIG_PATH_MAX) add_message(problem, slice_of("."));
    }
    struct slice name = where->name;
    if (name.size > SHOWN_MAX) name.size = SHOWN_MAX;
    if (strlen(problem->message) < CONFIG_PATH_MAX) add_message(problem, name);
}

bool value_wrong_at(struct read *read, const struct where *where, const struct node *node, unsigned ahead,
                    const char *message)
{
    *read->problem = (struct config_problem){.line = node->line, .column = node->column};
    if (node->exact) read->problem->column += ahead;
    if (where != NULL) {
        add_where(read->problem, where);
        add_message(read->problem, slice_of(": "));
    }
    add_message(read->problem, slice_of(message));
    return false;
}

bool value_wrong(struct read *read, const struct where *where, const struct node *node, const char *message)
{
    return value_wrong_at(read, where, node, 0, message);
}

bool value_wrong_text(struct read *read, const struct where *where, const struct node *node, const char *before,
                      struct slice text, const char *behind)
{
    value_wrong(read, where, node, before);
    if (text.size > SHOWN_MAX) text.size = SHOWN_MAX;
    if (text.bytes != NULL) add_message(read->problem, slice_of("\""));
    add_message(read->problem, text);
    if (text.bytes != NULL) add_message(read->problem, slice_of("\""));
    add_message(read->problem, slice_of(behind));
    return false;
}

bool value_no_memory(struct read *read)
{
    const struct node nowhere = {.line = 0};
    return value_wrong(read, NULL, &nowhere, "no memory");
}

/* ---- many texts ---- */

bool value_texts_open(struct read *read, struct texts *texts, size_t room)
{
    uint32_t size = 2;
    while (size < room * 2) size *= 2;
    *texts = (struct texts){.mask = size - 1};
    texts->place = yaml_arena_get(&read->arena, size * sizeof *texts->place);
    texts->text = yaml_arena_get(&read->arena, (room + 1) * sizeof *texts->text);
    return texts->place != NULL && texts->text != NULL ? true : value_no_memory(read);
}

/* The file is trusted: a secret of zeros will do. */
uint32_t value_texts_number(struct texts *texts, struct slice text, bool *fresh)
{
    static const struct secret known = {{0, 0}};
    uint64_t at = hash_siphash_1_3(&known, text.bytes, text.size) & texts->mask;
    for (; texts->place[at] != 0; at = (at + 1) & texts->mask) {
        const uint32_t number = texts->place[at] - 1;
        *fresh = false;
        if (slice_is(texts->text[number], text)) return number;
    }
    *fresh = true;
    texts->text[texts->count] = text;
    texts->place[at] = ++texts->count;
    return texts->count - 1;
}

/* ---- maps ---- */

bool value_map_check(struct read *read, const struct where *where, const struct node *map)
{
    struct texts seen;
    bool fresh;
    if (map->kind != NODE_MAP)
        return value_wrong(read, where, map, "expected names and values; for example {name: value}");
    if (!value_texts_open(read, &seen, map->count / 2)) return false;
    for (const struct node *key = map->first; key != NULL; key = key->next->next) {
        if (key->kind != NODE_TEXT) return value_wrong(read, where, key, "expected a name, not a list or a map");
        value_texts_number(&seen, key->text, &fresh);
        if (!fresh) return value_wrong_text(read, where, key, "", key->text, " is here twice");
    }
    return true;
}

const struct node *value_map_find(const struct node *map, const char *name)
{
    for (const struct node *key = map->first; key != NULL; key = key->next->next) {
        if (key->kind == NODE_TEXT && slice_is(key->text, slice_of(name))) return key->next;
    }
    return NULL;
}

/* Levenshtein distance, a row at a time. */
static size_t edits(const char *name, struct slice word)
{
    size_t row[NEAR_MAX + 1];
    for (size_t j = 0; j <= word.size; j++) row[j] = j;
    for (size_t i = 0; name[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < word.size; j++) {
            size_t best = diagonal + (name[i] != word.bytes[j]);
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[word.size];
}

static const char *nearest(const struct field *field, size_t fields, struct slice word)
{
    const char *best = NULL;
    size_t best_edits = NEAR_EDITS + 1;
    for (size_t i = 0; word.size <= NEAR_MAX && i < fields; i++) {
        const size_t distance = edits(field[i].name, word);
        if (distance >= best_edits || distance >= word.size) continue;
        best = field[i].name;
        best_edits = distance;
    }
    return best;
}

static bool unknown(struct read *read, const struct where *where, const struct node *key, const struct field *field,
                    size_t fields)
{
    char behind[256] = " is not known here; expected ";
    const char *near = nearest(field, fields, key->text);
    if (near != NULL) {
        snprintf(behind, sizeof behind, " is not known here; did you mean %s?", near);
        return value_wrong_text(read, where, key, "", key->text, behind);
    }
    for (size_t i = 0; i < fields; i++) {
        const size_t size = strlen(behind);
        snprintf(behind + size, sizeof behind - size, "%s%s",
                 i == 0            ? ""
                 : i + 1 == fields ? " or "
                                   : ", ",
                 field[i].name);
    }
    return value_wrong_text(read, where, key, "", key->text, behind);
}

static const struct field *field_named(const struct field *field, size_t fields, struct slice name)
{
    for (size_t i = 0; i < fields; i++) {
        if (slice_is(slice_of(field[i].name), name)) return &field[i];
    }
    return NULL;
}

bool value_map_read(struct read *read, const struct where *where, const struct node *map, const struct field *field,
                    size_t fields, void *into)
{
    if (!value_map_check(read, where, map)) return false;
    for (const struct node *key = map->first; key != NULL; key = key->next->next) {
        const struct field *known = field_named(field, fields, key->text);
        const struct where here = {where, key->text};
        if (known == NULL) return unknown(read, where, key, field, fields);
        if (known->read != NULL && !known->read(read, &here, key->next, (char *)into + known->offset)) return false;
    }
    return true;
}

/* ---- values ---- */

bool value_is_text(struct read *read, const struct where *where, const struct node *value, const char *expected)
{
    if (value->kind == NODE_TEXT && value->text.size != 0) return true;
    return value_wrong(read, where, value, expected);
}

bool value_text(struct read *read, const struct where *where, const struct node *value, void *into)
{
    char **text = into;
    if (!value_is_text(read, where, value, "expected a text")) return false;
    *text = strdup(value->text.bytes);
    return *text != NULL ? true : value_no_memory(read);
}

bool value_bool(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct slice yes = {"true", 4}, no = {"false", 5};
    bool *is = into;
    if (value->kind != NODE_TEXT || !value->plain || (!slice_is(value->text, yes) && !slice_is(value->text, no))) {
        return value_wrong(read, where, value, "expected true or false");
    }
    *is = slice_is(value->text, yes);
    return true;
}

/* A number above 0, as it is read everywhere. */
static bool value_amount(struct read *read, const struct where *where, const struct node *value,
                         bool (*amount)(const char *, uint64_t *), const char *expected, uint64_t *number)
{
    if (!value_is_text(read, where, value, expected)) return false;
    return amount(value->text.bytes, number) && *number != 0 ? true : value_wrong(read, where, value, expected);
}

bool value_count(struct read *read, const struct where *where, const struct node *value, void *into)
{
    return value_amount(read, where, value, amount_count, "expected a number above 0; for example 10000, 10_000 or 10k",
                        into);
}

bool value_bytes(struct read *read, const struct where *where, const struct node *value, void *into)
{
    return value_amount(read, where, value, amount_bytes, "expected a size in bytes; for example 256MiB", into);
}

bool value_time(struct read *read, const struct where *where, const struct node *value, void *into)
{
    return value_amount(read, where, value, amount_time, "expected a time; for example 30s or 5min", into);
}
