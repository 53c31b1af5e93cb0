/* SPDX-License-Identifier: MIT
   Engine: of weir.yaml, and what limits say of it.

   As value.c. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/config/parts.h"

enum { NODES_MAX = 1000000 };
static const uint64_t MS_NS = 1000000, SECOND_NS = 1000000000, HOUR_NS = UINT64_C(3600000000000);

bool engine_away_read(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct {
        struct slice word;
        weir_away away;
    } row[] = {{{"local", 5}, WEIR_AWAY_LOCAL}, {{"open", 4}, WEIR_AWAY_OPEN}, {{"closed", 6}, WEIR_AWAY_CLOSED}};
    weir_away *away = into;
    for (size_t i = 0; value->kind == NODE_TEXT && i < sizeof row / sizeof row[0]; i++) {
        *away = row[i].away;
        if (slice_is(value->text, row[i].word)) return true;
    }
    return value_wrong(read, where, value,
                       "expected local, open or closed: what to do while the engine is unavailable");
}

bool engine_off_read(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct slice off = {"off", 3};
    bool *here = into;
    *here = value->kind == NODE_TEXT && slice_is(value->text, off);
    return *here ? true : value_wrong(read, where, value, "expected off, which keeps this limit in this server only");
}

static bool read_url(struct read *read, const struct where *where, const struct node *value, void *into)
{
    struct engine_settings *settings = into;
    if (!value_is_text(read, where, value, "expected the engine's URL; for example redis://10.0.0.5:6379"))
        return false;
    settings->line = value->line;
    settings->column = value->column;
    const char *authority = strstr(value->text.bytes, "://");
    if (authority != NULL && memchr(authority + 3, '@', strcspn(authority + 3, "/")) != NULL)
        read->config->password_in_config = true;
    return value_text(read, where, value, &settings->url);
}

static bool read_secret(struct read *read, const struct where *where, const struct node *value, void *into)
{
    char message[256];
    char **password = into;
    if (!value_is_text(read, where, value, "expected a file's name; for example /etc/weir/engine")) return false;
    unsigned count = 0;
    const char *problem = secret_read(value->text.bytes, password, 1, &count);
    if (problem == NULL) return true;
    snprintf(message, sizeof message, " %s", problem);
    return value_wrong_text(read, where, value, "", value->text, message);
}

static bool read_deadline(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const uint64_t *ns = into;
    if (!value_time(read, where, value, into)) return false;
    return *ns >= MS_NS && *ns <= SECOND_NS ? true
                                            : value_wrong(read, where, value, "expected 1ms to 1s; for example 20ms");
}

/* At "off" there are none, which is what is not said. */
static bool read_lease(struct read *read, const struct where *where, const struct node *value, void *into)
{
    const uint64_t *ns = into;
    if (value->kind == NODE_TEXT && slice_is(value->text, slice_of("off"))) return true;
    if (!value_time(read, where, value, into)) return false;
    if (*ns >= MS_NS && *ns <= HOUR_NS) return true;
    return value_wrong(read, where, value, "expected 1ms to 1h, or off; for example 100ms");
}

static bool read_nodes(struct read *read, const struct where *where, const struct node *value, void *into)
{
    unsigned *nodes = into;
    uint64_t number;
    if (!value_count(read, where, value, &number)) return false;
    *nodes = (unsigned)number;
    return number <= NODES_MAX ? true : value_wrong(read, where, value, "expected up to 1,000,000 servers");
}

bool engine_read(struct read *read, const struct where *where, const struct node *value, void *into)
{
    static const struct field fields[] = {
        {"url", read_url, 0},
        {"user", value_text, offsetof(struct engine_settings, user)},
        {"password_file", read_secret, offsetof(struct engine_settings, password)},
        {"deadline", read_deadline, offsetof(struct engine_settings, deadline_ns)},
        {"away", engine_away_read, offsetof(struct engine_settings, away)},
        {"nodes", read_nodes, offsetof(struct engine_settings, nodes)},
        {"lease", read_lease, offsetof(struct engine_settings, lease_ns)},
        {"prefix", value_text, offsetof(struct engine_settings, prefix)},
    };
    struct engine_settings *settings = &((struct config *)into)->engine;
    if (!MAP_READ(read, where, value, fields, settings)) return false;
    if (settings->url != NULL) return true;
    return value_wrong(read, where, value, "url: is missing; for example {url: redis://10.0.0.5:6379}");
}

void engine_settings_free(struct engine_settings *settings)
{
    free(settings->url);
    free(settings->user);
    free(settings->password);
    free(settings->prefix);
    *settings = (struct engine_settings){.url = NULL};
}
