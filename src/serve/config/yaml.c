/* SPDX-License-Identifier: MIT
   The bytes of a file to a tree of nodes, each with its place.

   Only so much of YAML as a file of settings needs: maps, lists, texts in all their spellings.  Anchors, aliases, tags,
   merge keys and a second document are refused: they make a small file large, or one that says other than it shows.
   JSON is YAML.

   Any bytes are read or refused at a place; memory is in proportion to the bytes; depth and nodes are bounded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "serve/config/parts.h"

/* ---- memory ---- */

enum { CHUNK_BYTES = 1 << 16, ALIGNED = 16 };

struct arena_chunk {
    struct arena_chunk *before;
    size_t used, size;
    _Alignas(ALIGNED) char memory[];
};

void *yaml_arena_get(struct arena *arena, size_t size)
{
    const size_t needed = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
    struct arena_chunk *chunk = arena->chunk;
    if (chunk == NULL || chunk->size - chunk->used < needed) {
        const size_t room = needed > CHUNK_BYTES ? needed : CHUNK_BYTES;
        chunk = calloc(1, sizeof *chunk + room);
        if (chunk == NULL) return NULL;
        chunk->before = arena->chunk;
        chunk->size = room;
        arena->chunk = chunk;
    }
    void *memory = chunk->memory + chunk->used;
    chunk->used += needed;
    return memory;
}

void yaml_arena_free(struct arena *arena)
{
    while (arena->chunk != NULL) {
        struct arena_chunk *before = arena->chunk->before;
        free(arena->chunk);
        arena->chunk = before;
    }
}

/* ---- events to nodes ---- */

/* A list or map that is open, and where its next child goes. */
struct open {
    struct node *node, **end;
};

struct build {
    struct read *read;
    yaml_parser_t parser;
    struct open open[CONFIG_DEPTH_MAX + 1]; /* the first holds the root */
    unsigned depth, nodes, documents;
    struct node top;
};

static bool wrong_mark(struct build *build, yaml_mark_t mark, const char *message)
{
    const struct node node = {.line = (unsigned)mark.line + 1, .column = (unsigned)mark.column + 1};
    return value_wrong(build->read, NULL, &node, message);
}

/* Is this the last byte of what YAML takes for the end of a line: LF, CR, CR LF, NEL, LS, PS? */
static bool ends_line(struct slice text, size_t at)
{
    const unsigned char byte = (unsigned char)text.bytes[at];
    if (byte == '\r') return at + 1 == text.size || text.bytes[at + 1] != '\n';
    if (byte == 0x85) return at >= 1 && memcmp(text.bytes + at - 1, "\xc2", 1) == 0;
    if (byte == 0xa8 || byte == 0xa9) return at >= 2 && memcmp(text.bytes + at - 2, "\xe2\x80", 2) == 0;
    return byte == '\n';
}

/* Of an offset in bytes, also where they are no text. */
static yaml_mark_t mark_of_offset(struct slice text, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < text.size; i++) {
        const bool first_of_character = ((unsigned char)text.bytes[i] & 0xc0) != 0x80;
        mark.index += first_of_character;
        mark.column += first_of_character;
        if (!ends_line(text, i)) continue;
        mark.line++;
        mark.column = 0;
    }
    return mark;
}

/* At the end of a file libyaml begins another line, which the file does not have. */
static yaml_mark_t mark_of_problem(const yaml_parser_t *parser, struct slice text)
{
    if (parser->error == YAML_READER_ERROR) return mark_of_offset(text, parser->problem_offset);
    const yaml_mark_t end = mark_of_offset(text, text.size);
    return parser->problem_mark.index < end.index ? parser->problem_mark : end;
}

static bool wrong_yaml(struct build *build, struct slice text)
{
    const yaml_parser_t *parser = &build->parser;
    if (parser->error == YAML_MEMORY_ERROR) return value_no_memory(build->read);
    char message[200];
    const yaml_mark_t mark = mark_of_problem(parser, text);
    const char *why = parser->problem != NULL ? parser->problem : "cannot be read";
    const bool of_a_tab = strstr(why, "cannot start any token") != NULL; /* or of @, ` and %, which are reserved */
    snprintf(message, sizeof message, "not valid YAML: %s%s", why,
             of_a_tab ? "; expected spaces instead of a tab, and quotes around what begins with @, ` or %" : "");
    return wrong_mark(build, mark, message);
}

static struct node *add(struct build *build, enum node_kind kind, yaml_mark_t mark)
{
    struct open *open = &build->open[build->depth];
    if (build->nodes++ == CONFIG_NODES_MAX) {
        wrong_mark(build, mark, "more than 524,288 values; expected fewer overrides");
        return NULL;
    }
    struct node *node = yaml_arena_get(&build->read->arena, sizeof *node);
    if (node == NULL) {
        value_no_memory(build->read);
        return NULL;
    }
    *node = (struct node){.kind = kind, .line = (unsigned)mark.line + 1, .column = (unsigned)mark.column + 1};
    *open->end = node;
    open->end = &node->next;
    open->node->count++;
    return node;
}

static bool open_inside(struct build *build, enum node_kind kind, yaml_mark_t mark)
{
    if (build->depth == CONFIG_DEPTH_MAX) return wrong_mark(build, mark, "nested more than 32 deep");
    struct node *node = add(build, kind, mark);
    if (node == NULL) return false;
    build->open[++build->depth] = (struct open){node, &node->first};
    return true;
}

static bool is_quoted(yaml_scalar_style_t style)
{
    return style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
}

/* On one line, and as many characters in the file as in the text: no escapes, nothing folded. */
static bool is_exact(const yaml_event_t *event, bool quoted)
{
    const size_t size = event->data.scalar.length;
    return event->start_mark.line == event->end_mark.line &&
           event->end_mark.index - event->start_mark.index == size + (quoted ? 2 : 0);
}

static bool add_text(struct build *build, const yaml_event_t *event)
{
    const char *bytes = (const char *)event->data.scalar.value;
    const size_t size = event->data.scalar.length;
    const bool quoted = is_quoted(event->data.scalar.style);
    if (memchr(bytes, '\0', size) != NULL) return wrong_mark(build, event->start_mark, "a NUL byte in a text");
    char *copy = yaml_arena_get(&build->read->arena, size + 1);
    struct node *node = add(build, NODE_TEXT, event->start_mark);
    if (node == NULL) return false;
    if (copy == NULL) return value_no_memory(build->read);
    memcpy(copy, bytes, size);
    node->text = (struct slice){copy, size};
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->exact = is_exact(event, quoted);
    const bool is_key = build->open[build->depth].node->kind == NODE_MAP && build->open[build->depth].node->count % 2;
    if (node->exact) node->column += quoted;
    if (is_key && node->plain && slice_is(node->text, slice_of("<<")))
        return value_wrong(build->read, NULL, node, "merge keys (<<) are not supported: write the values out");
    return true;
}

static bool has_anchor(struct build *build, const yaml_event_t *event, const yaml_char_t *anchor,
                       const yaml_char_t *tag)
{
    if (anchor != NULL) wrong_mark(build, event->start_mark, "anchors (&) are not supported: write the values out");
    else if (tag != NULL)
        wrong_mark(build, event->start_mark, "tags (!) are not supported: all values are what they look like");
    return anchor != NULL || tag != NULL;
}

static bool take_event(struct build *build, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (build->documents++ == 0) return true;
        return wrong_mark(build, event->start_mark, "a second document; expected one in a file");
    case YAML_ALIAS_EVENT:
        return wrong_mark(build, event->start_mark, "aliases (*) are not supported: write the value out, or quote it");
    case YAML_SCALAR_EVENT:
        if (has_anchor(build, event, event->data.scalar.anchor, event->data.scalar.tag)) return false;
        return add_text(build, event);
    case YAML_SEQUENCE_START_EVENT:
        if (has_anchor(build, event, event->data.sequence_start.anchor, event->data.sequence_start.tag)) return false;
        return open_inside(build, NODE_LIST, event->start_mark);
    case YAML_MAPPING_START_EVENT:
        if (has_anchor(build, event, event->data.mapping_start.anchor, event->data.mapping_start.tag)) return false;
        return open_inside(build, NODE_MAP, event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        build->depth--;
        return true;
    default:
        return true;
    }
}

static bool build_all(struct build *build, struct slice text)
{
    for (bool more = true; more;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&build->parser, &event)) return wrong_yaml(build, text);
        more = event.type != YAML_STREAM_END_EVENT;
        const bool good = take_event(build, &event);
        yaml_event_delete(&event);
        if (!good) return false;
    }
    return true;
}

bool yaml_read(struct read *read, struct slice text, struct node **root)
{
    struct build build = {.read = read};
    build.open[0] = (struct open){&build.top, &build.top.first};
    *root = NULL;
    if (text.size > CONFIG_BYTES_MAX) {
        const struct node nowhere = {.line = 0};
        return value_wrong(read, NULL, &nowhere, "more than 16 MiB");
    }
    if (!yaml_parser_initialize(&build.parser)) return value_no_memory(read);
    yaml_parser_set_encoding(&build.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&build.parser, (const unsigned char *)(text.size != 0 ? text.bytes : ""), text.size);
    const bool good = build_all(&build, text);
    yaml_parser_delete(&build.parser);
    *root = build.top.first;
    return good;
}
