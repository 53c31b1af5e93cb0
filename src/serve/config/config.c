/* SPDX-License-Identifier: MIT
   Weir.yaml as a whole: its settings here, but for the engine (engine.c), then its limits
   (limits.c, envoy.c).

   A file is right or wrong as a whole: config_read and config_policy both go through all of it, in the same order,
   whatever order the file has; the first mistake is told.

   Any bytes give a config, or a problem at a place in them; nothing is left behind when they are wrong. */
#include "serve/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/address_text.h"
#include "serve/config/parts.h"

enum { MODE_DIGITS = 4, HOST_NAME_MAX_BYTES = 253 };
static const uint64_t CONNECTIONS_MAX = 1000000;
static const uint64_t KEYS_MAX = UINT64_C(1) << 34;
static const uint64_t WIDE_LEAST = UINT64_C(1) << 20, WIDE_MOST = UINT64_C(1) << 44;
static const uint64_t SECOND_NS = 1000000000;

/* ---- single settings ---- */

static bool is_host_name(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i];
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '.' && c != '_') return false;
    }
    return text.size != 0 && text.size <= HOST_NAME_MAX_BYTES;
}

/* "", 127.0.0.1, localhost or [::1]. */
static bool is_host(struct slice text)
{
    unsigned char bytes[ADDRESS_V6];
    if (text.size == 0 || is_host_name(text)) return true;
    if (text.bytes[0] != '[' || text.bytes[text.size - 1] != ']') return false;
    return address_read((struct slice){text.bytes + 1, text.size - 2}, bytes) != 0;
}

/* As --resp and --http read it. */
static bool read_listen_address(struct read *read, const struct where *where, const struct node *value, void *into)
{
    struct address_listen listen;
    const char *problem = value->kind != NODE_TEXT || !slice_is(value->text, slice_of("none"))
                              ? address_read_listen(value->text, &listen)
                              : NULL;
    return problem != NULL ? value_wrong(read, where, value, problem) : value_text(read, where, value, into);
}

static bool read_unix(struct read *read, const struct where *where, const struct node *value, void *into)
{
    struct address_listen listen;
    const char *problem = address_read_listen(value->text, &listen);
    if (problem == NULL && listen.kind == ADDRESS_UNIX && listen.path.bytes == value->text.bytes)
        return value_text(read, where, value, into);
    return value_wrong(read, where, value,
                       "expected a path from / with 107 bytes at most; for example /run/weir/weir.sock");
}

static bool read_mode(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const char expected[] = "expected a mode in octal digits, to read and write; for example \"0660\"";
    unsigned *mode = into, bits = 0;
    if (!value_is_text(read, where, value, expected)) return false;
    for (size_t i = 0; i < value->text.size; i++) {
        const char c = value->text.bytes[i];
        if (c < '0' || c > '7' || i == MODE_DIGITS) return value_wrong(read, where, value, expected);
        bits = bits << 3 | (unsigned)(c - '0');
    }
    if (bits == 0 || (bits & ~0666U) != 0) return value_wrong(read, where, value, expected);
    *mode = bits;
    return true;
}

static bool read_hosts(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const char expected[] = "expected a list of up to 32 names; for example [weir.example]";
    struct config *config = into;
    if (value->kind != NODE_LIST || value->count > CONFIG_HOSTS_MAX) return value_wrong(read, where, value, expected);
    for (const struct node *host = value->first; host != NULL; host = host->next) {
        if (host->kind != NODE_TEXT || !is_host(host->text) || host->text.size == 0)
            return value_wrong(read, where, host,
                               "expected a name or an address without a port; for example weir.example");
        if (!value_text(read, where, host, &config->hosts[config->host_count])) return false;
        config->host_count++;
    }
    return true;
}

static bool read_connections(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const uint64_t *number = into;
    if (!value_count(read, where, value, into)) return false;
    return *number <= CONNECTIONS_MAX ? true : value_wrong(read, where, value, "expected up to 1,000,000 connections");
}

static bool read_idle(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const uint64_t *ns = into;
    if (!value_time(read, where, value, into)) return false;
    return *ns >= SECOND_NS ? true : value_wrong(read, where, value, "expected 1s or more; for example 5min");
}

static bool read_settle(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const uint64_t *ns = into;
    if (!value_time(read, where, value, into)) return false;
    const bool fits = *ns >= 60 * SECOND_NS && *ns <= SECOND_NS * 86400 * 7;
    return fits || value_wrong(read, where, value, "expected 1min to 7d; for example 15min");
}

static bool read_public(struct read *read, const struct where *where, const struct node *value, void *into)
{
    bool *is = into;
    *is = value->kind == NODE_TEXT && slice_is(value->text, slice_of("without-password"));
    if (*is) return true;
    return value_wrong(read, where, value, "expected without-password, which lets anyone use a public address");
}

static bool read_when_full(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const char *const words[] = {"inherit", "evict", "deny", "allow"};
    weir_when_full *when_full = into;
    for (unsigned i = 0; value->kind == NODE_TEXT && i < sizeof words / sizeof *words; i++) {
        if (!slice_is(value->text, slice_of(words[i]))) continue;
        *when_full = (weir_when_full)i;
        return true;
    }
    return value_wrong(read, where, value, "expected inherit, evict, deny or allow");
}

static bool read_keys(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const uint64_t *number = into;
    if (!value_count(read, where, value, into)) return false;
    return *number <= KEYS_MAX ? true : value_wrong(read, where, value, "expected up to 17,179,869,184 keys");
}

static bool read_wide(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const uint64_t *bytes = into;
    if (!value_bytes(read, where, value, into)) return false;
    if (*bytes >= WIDE_LEAST && *bytes <= WIDE_MOST) return true;
    return value_wrong(read, where, value, "expected 1MiB to 16384GiB; for example 256MiB");
}

static bool read_threads(struct read *read, const struct where *where, const struct node *value, void *into)
{
    unsigned *threads = into;
    uint64_t number;
    if (!value_count(read, where, value, &number)) return false;
    *threads = (unsigned)number;
    return number <= CONFIG_THREADS_MAX ? true : value_wrong(read, where, value, "expected 1 to 64 threads");
}

/* Beside password_file, or the other way round. */
static bool is_second(struct read *read, const struct where *where, const struct node *value)
{
    char message[128];
    const struct slice name = where->name;
    const int size = (int)(slice_is(slice_from(name, name.size - 5), slice_of("_file")) ? name.size - 5 : name.size);
    snprintf(message, sizeof message, "expected %.*s or %.*s_file, not both", size, name.bytes, size, name.bytes);
    return value_wrong(read, where, value, message);
}

static bool read_secret(struct read *read, const struct where *where, const struct node *value,
                        struct config_secrets *secrets)
{
    static const char expected[] =
        "expected a password of up to 512 bytes; quote it where it looks like something else";
    if (!value_is_text(read, where, value, expected)) return false;
    if (value->text.size > ACCESS_SECRET_MAX) return value_wrong(read, where, value, expected);
    return value_text(read, where, value, &secrets->text[secrets->count++]);
}

static bool read_password(struct read *read, const struct where *where, const struct node *value, void *into)
{
    struct config_secrets *secrets = into;
    if (secrets->count != 0) return is_second(read, where, value);
    read->config->password_in_config = true;
    if (value->kind != NODE_LIST) return read_secret(read, where, value, secrets);
    if (value->count == 0 || value->count > ACCESS_SECRETS) {
        return value_wrong(read, where, value, "expected one password, or two that are both valid: [NEW, OLD]");
    }
    for (const struct node *secret = value->first; secret != NULL; secret = secret->next) {
        if (!read_secret(read, where, secret, secrets)) return false;
    }
    return true;
}

static bool read_password_file(struct read *read, const struct where *where, const struct node *value, void *into)
{
    char message[256];
    struct config_secrets *secrets = into;
    if (!value_is_text(read, where, value, "expected a file's name; for example /etc/weir/password")) return false;
    if (secrets->count != 0) return is_second(read, where, value);
    const char *problem = secret_read(value->text.bytes, secrets->text, ACCESS_SECRETS, &secrets->count);
    if (problem == NULL) return true;
    snprintf(message, sizeof message, " %s", problem);
    return value_wrong_text(read, where, value, "", value->text, message);
}

static bool read_texts(struct read *read, const struct where *where, const struct node *value, void *into)
{
    enum config_texts *texts = into;
    const bool on = value->kind == NODE_TEXT && slice_is(value->text, slice_of("on"));
    *texts = on ? CONFIG_TEXTS_ON : CONFIG_TEXTS_OFF;
    if (on || (value->kind == NODE_TEXT && slice_is(value->text, slice_of("off")))) return true;
    return value_wrong(read, where, value, "expected on or off: whether requests may bring a limit of their own");
}

/* ---- maps of settings ---- */

static bool read_tls(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct field fields[] = {
        {"certificate", value_text, offsetof(struct config, tls_certificate)},
        {"key", value_text, offsetof(struct config, tls_key)},
    };
    const struct config *config = into;
    if (!MAP_READ(read, where, value, fields, into)) return false;
    if (config->tls_certificate != NULL && config->tls_key != NULL) return true;
    return value_wrong(read, where, value, "expected both: {certificate: FILE, key: FILE}");
}

static bool read_listen(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct field fields[] = {
        {"resp", read_listen_address, offsetof(struct config, resp)},
        {"http", read_listen_address, offsetof(struct config, http)},
        {"unix", read_unix, offsetof(struct config, unix_path)},
        {"unix_mode", read_mode, offsetof(struct config, unix_mode)},
        {"hosts", read_hosts, 0},
        {"connections", read_connections, offsetof(struct config, connections_max)},
        {"idle", read_idle, offsetof(struct config, idle_ns)},
        {"tls", read_tls, 0},
        {"public", read_public, offsetof(struct config, public_without_password)},
    };
    return MAP_READ(read, where, value, fields, into);
}

static bool read_table(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct field fields[] = {
        {"keys", read_keys, offsetof(struct config, keys_max)},
        {"state", value_text, offsetof(struct config, state)},
        {"when_full", read_when_full, offsetof(struct config, when_full)},
        {"wide_memory", read_wide, offsetof(struct config, wide_bytes)},
        {"settle", read_settle, offsetof(struct config, settle_ns)},
        {"memory", read_wide, offsetof(struct config, memory)},
    };
    return MAP_READ(read, where, value, fields, into);
}

static bool read_refused(struct read *read, const struct where *where, const struct node *value, void *into)
{
    weir_plan plan;
    weir_error error = {0};
    if (!value_is_text(read, where, value, "expected the most lines to log, as a rate; for example 10/s")) return false;
    const bool parsed = weir_plan_parse(&plan, value->text.bytes, WEIR_ADMIT, &error) == 0;
    if (parsed && backend_holds(&plan)) return value_wrong(read, where, value, "expected a rate; for example 10/s");
    if (parsed) return value_text(read, where, value, into);
    return value_wrong_at(read, where, value, error.column > 0 ? (unsigned)error.column - 1 : 0, error.message);
}

static bool read_log(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct field fields[] = {{"refused", read_refused, offsetof(struct config, log_refused)}};
    return MAP_READ(read, where, value, fields, into);
}

/* Limits come behind all settings: see whole. */
static bool read_settings(struct read *read, const struct node *root)
{
    static const struct field fields[] = {
        {"listen", read_listen, 0},
        {"table", read_table, 0},
        {"engine", engine_read, 0},
        {"password", read_password, offsetof(struct config, password)},
        {"password_file", read_password_file, offsetof(struct config, password)},
        {"admin_password", read_password, offsetof(struct config, admin)},
        {"admin_password_file", read_password_file, offsetof(struct config, admin)},
        {"texts", read_texts, offsetof(struct config, texts)},
        {"log", read_log, 0},
        {"threads", read_threads, offsetof(struct config, threads)},
        {"user", value_text, offsetof(struct config, user)},
        {"group", value_text, offsetof(struct config, group)},
        {"limits", NULL, 0},
        {"overrides", NULL, 0},
    };
    return MAP_READ(read, NULL, root, fields, read->config);
}

/* ---- the whole ---- */

static bool is_nothing(const struct node *node)
{
    return node == NULL || (node->kind == NODE_TEXT && node->plain && node->text.size == 0);
}

static struct policy *whole(struct read *read, struct slice text)
{
    struct node *root;
    if (!yaml_read(read, text, &root)) return NULL;
    if (is_nothing(root)) return limits_read(read, NULL, NULL);
    if (root->kind != NODE_MAP) {
        value_wrong(read, NULL, root, "expected names and values; for example limits: {api: 60/min}");
        return NULL;
    }
    if (envoy_is(root)) return envoy_read(read, root);
    if (!read_settings(read, root)) return NULL;
    return limits_read(read, value_map_find(root, "limits"), value_map_find(root, "overrides"));
}

bool config_read(struct slice text, struct config *config, struct config_problem *problem)
{
    struct read read = {.config = config, .problem = problem};
    *config = (struct config){.threads = 0};
    struct policy *policy = whole(&read, text);
    const bool good = policy != NULL;
    yaml_arena_free(&read.arena);
    policy_free(policy);
    if (!good) config_free(config);
    return good;
}

struct policy *config_policy(struct slice text, struct tables *tables, struct engine *engine, config_number number,
                             void *context, struct config_problem *problem)
{
    struct config config = {.threads = 0};
    struct read read = {.config = &config,
                        .problem = problem,
                        .tables = tables,
                        .engine = engine,
                        .number = number,
                        .context = context};
    struct policy *policy = whole(&read, text);
    if (policy != NULL) policy->engine = engine_share(engine);
    if (policy != NULL && !parts_read(&read, policy)) {
        policy_free(policy);
        policy = NULL;
    }
    yaml_arena_free(&read.arena);
    config_free(&config);
    return policy;
}

void config_free(struct config *config)
{
    char *const texts[] = {config->resp, config->http,  config->unix_path, config->tls_certificate, config->tls_key,
                           config->user, config->group, config->state,     config->log_refused};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
    for (unsigned i = 0; i < config->host_count; i++) free(config->hosts[i]);
    for (unsigned i = 0; i < ACCESS_SECRETS; i++) {
        free(config->password.text[i]);
        free(config->admin.text[i]);
    }
    engine_settings_free(&config->engine);
    policy_free(config->policy);
    *config = (struct config){.threads = 0};
}
