/* SPDX-License-Identifier: MIT
   Any bytes as weir.yaml are read, or refused at a place in them with words; what is asked for settings
   and for limits says the same; what was read is found again.

   The bytes of a corpus are: 0, the size in two bytes (high, low), the file. */
#include "serve/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "property/property.h"

enum { FILE_MAX = 4096, EDITS_MEAN = 4 };

struct file {
    char bytes[FILE_MAX];
    size_t size;
};

static const char *const examples[] = {
    "listen: {resp: 127.0.0.1:9347, http: '[::1]:9348', unix: /run/w, unix_mode: \"0660\", hosts: [w.example],\n"
    "  connections: 10k, idle: 5min, tls: {certificate: a, key: b}, public: without-password}\n"
    "table: {keys: 1_000, state: /var/lib/weir/table, when_full: evict, wide_memory: 2MiB}\n"
    "password: x\nthreads: 2\nuser: weir\ngroup: weir\n",
    "limits:\n  api: {limit: \"60 requests/min; 100k tokens/min\", key: [tenant], shadow: false}\n"
    "  login: {limit: 5/15min algorithm=sliding-log, key: [address/64], exempt: [10.0.0.0/8]}\n"
    "  all: {limit: 10/s, key: none}\n  bare: 60/min\n"
    "  both: {limit: 1/s, key: [tenant, address/24/48], exempt: [10.0.0.0/8, '2001:db8::/32']}\n"
    "overrides:\n  api: {acme: 600/min, \"b\\\\,c\": 600/min}\n  login: {203.0.113.9: none, \"2001:db8::1\": 1/h}\n"
    "  both: {\"a,10.1.2.3\": 1/h, 'b\\,\\\\,::1': unlimited}\n",
    "domain: apis\ndescriptors:\n  - key: path\n    value: foo\n    rate_limit: {unit: minute, requests_per_unit: 60}\n"
    "  - key: user\n    shadow_mode: true\n    descriptors:\n      - key: ip\n        rate_limit: {unlimited: true}\n"
    "      - {key: plan, rate_limit: {unit: week, requests_per_unit: 9, unit_multiplier: 2, replaces: []}}\n",
    "{\"limits\": {\"a\": {\"limit\": \"1/s\", \"key\": [\"tenant\"]}}, \"overrides\": {\"a\": {\"x\": \"2/s\"}}}"};

static const char *const pieces[] = {"limits: ",
                                     "overrides: ",
                                     "listen: ",
                                     "table: ",
                                     "domain: a\n",
                                     "descriptors: ",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ", ",
                                     ": ",
                                     "\n",
                                     "\n  ",
                                     "- ",
                                     "api",
                                     "1/s",
                                     "10/",
                                     "limit: ",
                                     "key: ",
                                     "exempt: ",
                                     "address/64",
                                     "tenant",
                                     "none",
                                     "10.0.0.0/8",
                                     "'",
                                     "\"",
                                     "&a ",
                                     "*a",
                                     "!t ",
                                     "<<: ",
                                     "#",
                                     "\\",
                                     "\t",
                                     "\r",
                                     "\xc2\x85",
                                     "\xe2\x80\xa8",
                                     "\xef\xbb\xbf",
                                     "\xff",
                                     "---\n",
                                     "...\n",
                                     "? ",
                                     "|\n  ",
                                     ">\n  ",
                                     "%YAML 1.2\n",
                                     "true",
                                     "256MiB",
                                     "5min",
                                     "rate_limit: ",
                                     "unit: day",
                                     "key: path",
                                     "requests_per_unit: 1",
                                     "unlimited: true",
                                     "shadow: ",
                                     "acme",
                                     ",",
                                     "100k/h algorithm=sliding-log",
                                     "9G/h algorithm=sliding-log",
                                     "threads: 2\n",
                                     "wide_memory: ",
                                     "\\x41",
                                     "\\0"};

static void insert(struct file *file, size_t at, const char *bytes, size_t size)
{
    if (size > FILE_MAX - file->size) size = FILE_MAX - file->size;
    memmove(file->bytes + at + size, file->bytes + at, file->size - at);
    memcpy(file->bytes + at, bytes, size);
    file->size += size;
}

static void cut(struct file *file, size_t at, size_t size)
{
    if (size > file->size - at) size = file->size - at;
    memmove(file->bytes + at, file->bytes + at + size, file->size - at - size);
    file->size -= size;
}

static void edit(struct prop *prop, struct file *file)
{
    const size_t at = (size_t)prop_pick(prop, file->size + 1);
    const char *piece = pieces[prop_pick(prop, sizeof pieces / sizeof *pieces)];
    const char byte = (char)prop_pick(prop, 256);
    switch (prop_pick(prop, 4)) {
    case 0:
        insert(file, at, piece, strlen(piece));
        break;
    case 1:
        cut(file, at, (size_t)prop_pick(prop, 20));
        break;
    case 2:
        insert(file, at, &byte, 1);
        break;
    default:
        cut(file, at, 1);
        insert(file, at, piece, strlen(piece));
    }
}

static void pick_file(struct prop *prop, struct file *file)
{
    file->size = 0;
    const uint64_t kind = prop_pick(prop, 4);
    if (kind == 0) {
        file->size = (size_t)prop_pick(prop, FILE_MAX);
        for (size_t i = 0; i < file->size; i++) file->bytes[i] = (char)prop_pick(prop, 256);
        return;
    }
    if (kind == 1) {
        while (prop_more(prop, 30)) {
            const char *piece = pieces[prop_pick(prop, sizeof pieces / sizeof *pieces)];
            insert(file, file->size, piece, strlen(piece));
        }
        return;
    }
    const char *example = examples[prop_pick(prop, sizeof examples / sizeof *examples)];
    insert(file, 0, example, strlen(example));
    while (prop_more(prop, EDITS_MEAN)) edit(prop, file);
}

/* ---- what is said ---- */

/* Bytes of a line's end, as YAML has them; 0: it is none. */
static size_t line_end(struct slice text, size_t at)
{
    static const char *const ends[] = {"\r\n", "\n", "\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (slice_begins(slice_from(text, at), slice_of(ends[i]))) return strlen(ends[i]);
    }
    return 0;
}

static void check_place(struct prop *prop, struct slice text, const struct config_problem *problem)
{
    unsigned lines = 1, column = 1, longest = 1;
    for (size_t at = 0; at < text.size;) {
        const size_t end = line_end(text, at);
        column = end != 0 ? 1 : column + (((unsigned char)text.bytes[at] & 0xc0) != 0x80);
        lines += end != 0;
        longest = column > longest ? column : longest;
        at += end != 0 ? end : 1;
    }
    prop_check(prop, problem->line <= lines, "line %u of %u", problem->line, lines);
    prop_check(prop, problem->column <= longest, "column %u of %u", problem->column, longest);
    prop_check(prop, (problem->line == 0) == (problem->column == 0), "half a place");
}

static void check_problem(struct prop *prop, struct slice text, const struct config_problem *problem)
{
    check_place(prop, text, problem);
    prop_check(prop, memchr(problem->message, '\0', sizeof problem->message) != NULL, "a message without an end");
    prop_check(prop, problem->message[0] != '\0', "no message");
    for (const char *c = problem->message; *c != '\0'; c++) prop_check(prop, *c >= ' ' && *c <= '~', "not printable");
}

static void check_same(struct prop *prop, const struct config_problem *one, const struct config_problem *other)
{
    prop_check(prop, strcmp(one->message, other->message) == 0, "\"%s\" and \"%s\"", one->message, other->message);
    prop_check(prop, one->line == other->line && one->column == other->column, "at two places");
}

/* ---- what is read ---- */

static void check_override(struct prop *prop, const struct policy_limit *limit, const struct policy_override *override)
{
    char memory[POLICY_KEY_MAX + 1];
    struct bytes out = {memory, 0, sizeof memory, false};
    const char *missing;
    prop_check(prop, policy_resolve(limit, override->key).plan == override->plan, "an override is not found");
    prop_check(prop, policy_key_given(limit, override->key, &out, &missing), "a key that is none");
    prop_check(prop, slice_is(bytes_slice(&out), override->key), "a key that is not as it is in the table");
    prop_check(prop, weir_table_fits(override->table, override->plan, NULL) == 0, "a table that does not fit");
}

static void check_policy(struct prop *prop, const struct policy *policy)
{
    for (unsigned i = 0; i < policy->limit_count; i++) {
        const struct policy_limit *limit = &policy->limit[i];
        prop_check(prop, policy_find(policy, slice_of(limit->name)) == limit, "%s is not found", limit->name);
        prop_check(prop, policy_name_problem(slice_of(limit->name)) == NULL, "%s is no name", limit->name);
        prop_check(prop, limit->number == strlen(limit->name), "another number");
        prop_check(prop, weir_table_fits(limit->table, &limit->plan, NULL) == 0, "a table that does not fit");
        for (unsigned j = 0; j < limit->override_count; j++) check_override(prop, limit, &limit->override[j]);
    }
}

static unsigned number(void *context, const char *name)
{
    (void)context;
    return (unsigned)strlen(name);
}

/* What has to be freed, also when a check fails. */
struct made {
    char *own;
    struct config config;
    struct tables *tables;
    struct policy *policy;
    bool good;
};

static void read_both(struct prop *prop, const struct file *file, struct made *made, struct config_problem *problem,
                      struct config_problem *again)
{
    const struct tables_options options = {.keys_max = 64};
    made->own = malloc(file->size + 1);
    if (made->own == NULL) abort();
    memcpy(made->own + 1, file->bytes, file->size); /* nothing behind it may be read */
    const struct slice text = {made->own + 1, file->size};
    prop_check(prop, tables_open(&made->tables, &options, NULL) == 0, "no tables");
    made->good = config_read(text, &made->config, problem);
    made->policy = config_policy(text, made->tables, NULL, number, NULL, again);
}

static void property(struct prop *prop)
{
    struct file file;
    struct config_problem problem, again;
    struct made made = {.own = NULL};
    pick_file(prop, &file);
    prop_note(prop, "file \"%.*s\"", (int)file.size, file.bytes);
    read_both(prop, &file, &made, &problem, &again);
    prop_check(prop, made.good == (made.policy != NULL), "%s", made.good ? again.message : problem.message);
    if (!made.good) check_same(prop, &problem, &again);
    if (!made.good) check_problem(prop, (struct slice){made.own + 1, file.size}, &problem);
    if (made.policy != NULL) check_policy(prop, made.policy);
    if (made.good) config_free(&made.config);
    policy_free(made.policy);
    tables_close(made.tables);
    free(made.own);
    prop_step(prop);
}

PROPERTY("config", property, 3000);
