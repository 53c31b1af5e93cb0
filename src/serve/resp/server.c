/* SPDX-License-Identifier: MIT
   What clients ask a server of Redis about itself: INFO, COMMAND, CONFIG GET, DBSIZE.

   Clients look at redis_version to know what they may say; they are told the one whose commands are here.

   Nothing is changed. */
#include "serve/resp/parts.h"

#include <stdio.h>

#include "serve/stats/figures.h"
#include "serve/stats/series.h"

static const char *const redis_version = "7.0.0";

/* ---- INFO ---- */

enum { INFO_MAX = 4096 };

static const uint64_t SECOND_NS = 1000000000, DAY_S = 86400;

static void add_field(struct bytes *out, const char *name, uint64_t value)
{
    bytes_text(out, name);
    bytes_byte(out, ':');
    bytes_number(out, value);
    bytes_text(out, "\r\n");
}

static void add_word(struct bytes *out, const char *name, const char *value)
{
    bytes_text(out, name);
    bytes_byte(out, ':');
    bytes_text(out, value);
    bytes_text(out, "\r\n");
}

/* What has no metric of its own, and comes before what has. */
static void add_server(struct batch *batch, struct bytes *out, const struct figures *figures)
{
    const uint64_t up_s = (batch->now_ns - batch->service->started_ns) / SECOND_NS;
    (void)figures;
    add_word(out, "redis_version", redis_version);
    add_word(out, "redis_mode", "standalone");
    add_word(out, "weir_version", weir_version());
    add_field(out, "uptime_in_seconds", up_s);
    add_field(out, "uptime_in_days", up_s / DAY_S);
}

static void add_persistence(struct batch *batch, struct bytes *out, const struct figures *figures)
{
    (void)batch, (void)figures;
    add_field(out, "loading", 0);
}

static void add_stats(struct batch *batch, struct bytes *out, const struct figures *figures)
{
    const struct sums_limit all = sums_of_limits(&figures->crew);
    (void)batch;
    add_field(out, "decisions_allowed", all.allowed);
    add_field(out, "decisions_denied", all.denied + all.never);
    add_field(out, "decisions_shadowed", all.shadowed);
    add_field(out, "permits_granted", all.permits);
}

static void add_replication(struct batch *batch, struct bytes *out, const struct figures *figures)
{
    (void)batch, (void)figures;
    add_word(out, "role", "master");
    add_field(out, "connected_slaves", 0);
}

static void add_table(struct batch *batch, struct bytes *out, const struct figures *figures)
{
    (void)figures;
    add_field(out, "limits_with_a_name", batch->policy != NULL ? batch->policy->limit_count : 0);
}

static const struct section {
    const char *name;  /* in capitals */
    const char *title; /* and a dot, as figures_row.info begins */
    void (*add)(struct batch *batch, struct bytes *out, const struct figures *figures); /* or NULL */
} sections[] = {
    {"SERVER", "Server.", add_server},
    {"CLIENTS", "Clients.", NULL},
    {"PERSISTENCE", "Persistence.", add_persistence},
    {"STATS", "Stats.", add_stats},
    {"REPLICATION", "Replication.", add_replication},
    {"TABLE", "Table.", add_table},
};

static bool is_wanted(const struct resp_command *command, const char *name)
{
    for (unsigned i = 1; i < command->count; i++) {
        const struct slice argument = command->argument[i];
        if (resp_is(argument, name) || resp_is(argument, "ALL") || resp_is(argument, "EVERYTHING") ||
            resp_is(argument, "DEFAULT"))
            return true;
    }
    return command->count == 1;
}

static void add_section(struct batch *batch, struct bytes *out, const struct section *section,
                        const struct figures *figures)
{
    unsigned count;
    const struct figures_row *row = figures_rows(&count);
    if (out->size != 0) bytes_text(out, "\r\n");
    bytes_text(out, "# ");
    bytes_add(out, (struct slice){section->title, strlen(section->title) - 1});
    bytes_text(out, "\r\n");
    if (section->add != NULL) section->add(batch, out, figures);
    for (unsigned i = 0; i < count; i++) {
        const char *name = figures_member(row[i].info, section->title);
        if (name != NULL) add_field(out, name, figures_value(figures, &row[i]));
    }
}

void resp_info(struct batch *batch, struct session *session, const struct resp_command *command)
{
    char memory[INFO_MAX];
    struct figures figures;
    batch_works(batch, BATCH_LONG_WORK);
    figures_read(&figures, batch->service);
    struct bytes text = {.memory = memory, .capacity = sizeof memory};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (is_wanted(command, sections[i].name)) add_section(batch, &text, &sections[i], &figures);
    }
    figures_release(&figures);
    resp_bulk(batch_reply(batch, session, BATCH_REPLY + INFO_MAX), bytes_slice(&text));
}

/* ---- COMMAND ---- */

enum { COMMAND_MAX = 800 }; /* bytes of one in the answer */

static void add_lower(struct bytes *out, const char *name)
{
    char lower[RESP_SHOWN];
    resp_bulk(out, slice_of(resp_lower(name, lower)));
}

/* Name, arity, flags, first key, last key, step. */
static void add_command(struct bytes *out, const struct resp_row *row)
{
    resp_array(out, 6);
    add_lower(out, row->name);
    resp_integer(out, row->arity);
    resp_array(out, 1);
    resp_simple(out, row->flags);
    resp_integer(out, row->key);
    resp_integer(out, row->key);
    resp_integer(out, row->key != 0);
}

static void add_pair(struct bytes *out, const char *name, struct slice value)
{
    resp_bulk(out, slice_of(name));
    resp_bulk(out, value);
}

/* What stands in the syntax up to the next blank, brackets and "..." being part of it; *syntax goes behind it. */
static struct slice next_argument(const char **syntax)
{
    const char *start = *syntax, *end = start;
    for (int depth = 0; *end != '\0' && (depth > 0 || *end != ' ' || strncmp(end, " ...", 4) == 0); end++)
        depth += (*end == '[') - (*end == ']');
    *syntax = *end == ' ' ? end + 1 : end;
    return slice_between(start, end);
}

/* "[COST n ...]": its token is COST, its name n, it is optional, and there may be several. */
static void add_argument(struct bytes *out, unsigned version, struct slice text)
{
    static const char again[] = " ...";
    static const size_t again_size = sizeof again - 1;
    const bool optional = text.bytes[0] == '[';
    if (optional) text = (struct slice){text.bytes + 1, text.size - 2};
    const bool multiple = text.size > again_size && memcmp(text.bytes + text.size - again_size, again, again_size) == 0;
    if (multiple) text.size -= again_size;
    size_t token = 0;
    while (token < text.size && text.bytes[token] >= 'A' && text.bytes[token] <= 'Z') token++;
    const bool pure = token == text.size;
    const unsigned pairs = 2U + (token != 0) + (optional || multiple);
    resp_map(out, version, pairs);
    add_pair(out, "name", token != 0 && !pure ? slice_from(text, token + 1) : text);
    add_pair(out, "type", slice_of(pure ? "pure-token" : "string"));
    if (token != 0) add_pair(out, "token", (struct slice){text.bytes, token});
    if (!optional && !multiple) return;
    resp_bulk(out, slice_of("flags"));
    resp_array(out, optional && multiple ? 2 : 1);
    if (optional) resp_simple(out, "optional");
    if (multiple) resp_simple(out, "multiple");
}

/* Subcommands are one argument: clients show its name, which is the syntax. */
static void add_arguments(struct bytes *out, unsigned version, const char *syntax)
{
    const bool subcommands = strchr(syntax, '|') != NULL;
    size_t count = subcommands;
    for (const char *at = syntax; !subcommands && *at != '\0'; count++) next_argument(&at);
    resp_bulk(out, slice_of("arguments"));
    resp_array(out, count);
    if (subcommands) {
        resp_map(out, version, 2);
        add_pair(out, "name", slice_of(syntax));
        add_pair(out, "type", slice_of("string"));
        return;
    }
    while (*syntax != '\0') add_argument(out, version, next_argument(&syntax));
}

static void add_docs(struct bytes *out, unsigned version, const struct resp_row *row)
{
    add_lower(out, row->name);
    resp_map(out, version, 4);
    add_pair(out, "summary", slice_of(row->summary));
    add_pair(out, "since", slice_of("0.1.0"));
    add_pair(out, "group", slice_of("generic"));
    add_arguments(out, version, row->syntax);
}

/* Those that were asked for, or all. */
static void list(struct batch *batch, struct session *session, const struct resp_command *command, bool docs)
{
    const struct resp_row *row[RESP_ARGUMENTS_MAX];
    unsigned count, known = 0;
    const struct resp_row *rows = resp_rows(&count);
    const bool some = command->count > 2;
    if (some) count = command->count - 2;
    for (unsigned i = 0; i < count; i++) {
        row[i] = some ? resp_row_find(command->argument[i + 2]) : &rows[i];
        known += row[i] != NULL;
    }
    struct bytes *out = batch_reply(batch, session, (size_t)(count + 1) * COMMAND_MAX);
    if (docs) resp_map(out, session->resp_version, known);
    else resp_array(out, count);
    for (unsigned i = 0; i < count; i++) {
        if (docs && row[i] != NULL) add_docs(out, session->resp_version, row[i]);
        else if (!docs && row[i] != NULL) add_command(out, row[i]);
        else if (!docs) resp_null(out, session->resp_version);
    }
}

void resp_list_commands(struct batch *batch, struct session *session, const struct resp_command *command)
{
    const struct slice what = command->count > 1 ? command->argument[1] : slice_of("INFO");
    unsigned count;
    resp_rows(&count);
    batch_works(batch, BATCH_LONG_WORK);
    if (resp_is(what, "INFO") || resp_is(what, "DOCS")) list(batch, session, command, resp_is(what, "DOCS"));
    else if (resp_is(what, "COUNT") && command->count == 2) resp_integer(resp_reply(batch, session), count);
    else resp_refuse_argument(batch, session, command, 1);
}

/* ---- what else clients ask ---- */

/* redis-benchmark asks for these two; there is nothing like them here. */
void resp_config(struct batch *batch, struct session *session, const struct resp_command *command)
{
    if (command->count != 3 || !resp_is(command->argument[1], "GET")) {
        resp_refuse(batch, session,
                    "ERR there is no such configuration here: expected CONFIG GET name; limits are set "
                    "in weir.yaml, or by WEIR.LIMIT");
        return;
    }
    struct bytes *out = resp_reply(batch, session);
    const bool save = resp_is(command->argument[2], "SAVE");
    const bool known = save || resp_is(command->argument[2], "APPENDONLY");
    resp_map(out, session->resp_version, known);
    if (!known) return;
    resp_bulk(out, slice_of(save ? "save" : "appendonly"));
    resp_bulk(out, slice_of(save ? "" : "no"));
}

void resp_dbsize(struct batch *batch, struct session *session, const struct resp_command *command)
{
    weir_table_stats stats = {0};
    (void)command;
    series_table(batch->service, &stats);
    resp_integer(resp_reply(batch, session), (int64_t)stats.keys_live);
}
