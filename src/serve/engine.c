/* SPDX-License-Identifier: MIT
   An engine that many servers share, as the file names it.

       policy --share--> engine { first handle } <--join-- a handle for each worker
       policy, plans --share--> engine_limit

   The first handle is nobody's for asking: others join it, figures are read from it, and while it is open what they
   share stays.  A reload that changes the settings makes another engine; the old one is freed with its last user.
   What was used is in the engine itself, so that nothing is lost by that but permits that were in leases, which are
   given back, and what was let through while it was away.

   Settings are copied. */
#include "serve/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "host/sleep.h"
#include "host/thread.h"
#include "serve/service.h"

enum { NAME_SIZE = 256, LIMIT_TEXT_MAX = 2 * POLICY_TEXT_MAX };

struct engine {
    struct atom users;
    struct service *service;
    weir_engine *first;
    struct host_mutex mutex; /* around the first handle */
    char *url, *user, *password, *prefix;
    struct engine_settings settings; /* its texts are those above */
    char name[NAME_SIZE];
    struct atom away; /* as it was told last */
};

struct engine_limit {
    struct atom users;
    weir_engine_limit *limit;
};

/* ---- words ---- */

/* What stands between "//" and the last "@" of the authority has a password behind ":". */
static void write_name(char name[NAME_SIZE], const char *url)
{
    const char *authority = strstr(url, "://");
    const size_t start = authority != NULL ? (size_t)(authority - url) + 3 : 0;
    const size_t size = strcspn(url + start, "/?");
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        if (url[start + i] == '@') at = i + 1;
    }
    snprintf(name, NAME_SIZE, "%.*s%s", (int)start, url, url + start + at);
}

/* Without a change something else is wrong. */
static void changed(void *context, bool away, const char *why)
{
    struct engine *engine = context;
    char text[sizeof((struct service_event *)0)->text];
    const bool as_before = (atom_load(&engine->away) != 0) == away;
    atom_store(&engine->away, away);
    snprintf(text, sizeof text, "engine %.100s: %s%s", engine->name, as_before ? "" : away ? "away: " : "back: ", why);
    fprintf(stderr, "weir: %s\n", text);
    service_say(engine->service, text);
}

/* ---- opened, shared, closed ---- */

static bool copy_text(char **copy, const char *text)
{
    *copy = text != NULL ? strdup(text) : NULL;
    return text == NULL || *copy != NULL;
}

static bool copy_settings(struct engine *engine, const struct engine_settings *settings)
{
    const bool copied = copy_text(&engine->url, settings->url) && copy_text(&engine->user, settings->user) &&
                        copy_text(&engine->password, settings->password) &&
                        copy_text(&engine->prefix, settings->prefix);
    engine->settings = *settings;
    engine->settings.url = engine->url;
    engine->settings.user = engine->user;
    engine->settings.password = engine->password;
    engine->settings.prefix = engine->prefix;
    return copied;
}

static void free_engine(struct engine *engine)
{
    weir_engine_close(engine->first);
    host_mutex_close(&engine->mutex);
    free(engine->url);
    free(engine->user);
    free(engine->password);
    free(engine->prefix);
    free(engine);
}

static int open_first(struct engine *engine, weir_error *error)
{
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    const struct engine_settings *settings = &engine->settings;
    options.deadline_ns = settings->deadline_ns;
    options.away = settings->away;
    options.nodes = settings->nodes;
    options.prefix = settings->prefix;
    options.user = settings->user;
    options.password = settings->password;
    options.lease_ns = settings->lease_ns;
    options.keys_max = tables_keys_max(engine->service->tables);
    options.changed = changed;
    options.context = engine;
    return weir_engine_open(&engine->first, settings->url, &options, error);
}

struct engine *engine_open(const struct engine_settings *settings, struct service *service, weir_error *error)
{
    struct engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL) {
        api_fail(error, WEIR_ENOMEM, "no memory for the engine");
        return NULL;
    }
    host_mutex_open(&engine->mutex);
    atom_store(&engine->users, 1);
    engine->service = service;
    write_name(engine->name, settings->url);
    const bool copied = copy_settings(engine, settings);
    if (copied && open_first(engine, error) == 0) return engine;
    if (!copied) api_fail(error, WEIR_ENOMEM, "no memory for the engine");
    engine->first = NULL;
    free_engine(engine);
    return NULL;
}

static bool same_text(const char *one, const char *other)
{
    if (one == NULL || other == NULL) return one == other;
    return strcmp(one, other) == 0;
}

bool engine_is(const struct engine *engine, const struct engine_settings *settings)
{
    const struct engine_settings *own = &engine->settings;
    return same_text(own->url, settings->url) && same_text(own->user, settings->user) &&
           same_text(own->password, settings->password) && same_text(own->prefix, settings->prefix) &&
           own->away == settings->away && own->nodes == settings->nodes && own->deadline_ns == settings->deadline_ns &&
           own->lease_ns == settings->lease_ns;
}

struct engine *engine_share(struct engine *engine)
{
    if (engine != NULL) atom_add(&engine->users, 1);
    return engine;
}

void engine_release(struct engine *engine)
{
    if (engine != NULL && atom_add(&engine->users, UINT64_MAX) == 1) free_engine(engine);
}

weir_engine *engine_join(struct engine *engine)
{
    weir_engine *handle = NULL;
    host_lock(&engine->mutex);
    if (weir_engine_join(&handle, engine->first, NULL) != 0) handle = NULL;
    host_unlock(&engine->mutex);
    if (handle != NULL) engine_share(engine);
    return handle;
}

void engine_leave(struct engine *engine, weir_engine *handle)
{
    if (handle == NULL) return;
    weir_engine_close(handle);
    engine_release(engine);
}

struct engine_left {
    struct engine_left *next;
    struct engine *engine;
    weir_engine *handle;
};

void engine_leave_soon(struct engine *engine, weir_engine *handle)
{
    struct service *service = engine->service;
    struct engine_left *left = handle != NULL ? malloc(sizeof *left) : NULL;
    if (left == NULL) {
        engine_leave(engine, handle);
        return;
    }
    host_lock(&service->mutex);
    *left = (struct engine_left){service->left, engine, handle};
    service->left = left;
    host_unlock(&service->mutex);
}

void engine_close_left(struct service *service)
{
    host_lock(&service->mutex);
    struct engine_left *left = service->left;
    service->left = NULL;
    host_unlock(&service->mutex);
    for (struct engine_left *next; left != NULL; left = next) {
        next = left->next;
        engine_leave(left->engine, left->handle);
        free(left);
    }
}

/* ---- told ---- */

const char *engine_name(const struct engine *engine)
{
    return engine->name;
}

void engine_read_stats(struct engine *engine, weir_engine_stats *stats)
{
    host_lock(&engine->mutex);
    weir_engine_read_stats(engine->first, stats, sizeof *stats);
    host_unlock(&engine->mutex);
}

/* ---- limits ---- */

struct engine_limit *engine_limit_open(struct engine *engine, const weir_plan *plan, weir_away away, weir_error *error)
{
    char text[LIMIT_TEXT_MAX];
    struct engine_limit *limit = calloc(1, sizeof *limit);
    if (limit == NULL) {
        api_fail(error, WEIR_ENOMEM, "no memory for a limit");
        return NULL;
    }
    atom_store(&limit->users, 1);
    weir_plan_text(plan, text, sizeof text); /* all servers say it alike */
    host_lock(&engine->mutex);
    const int failed = weir_engine_limit_open(&limit->limit, engine->first, text, away, error);
    host_unlock(&engine->mutex);
    if (failed == 0) return limit;
    free(limit);
    return NULL;
}

struct engine_limit *engine_limit_share(struct engine_limit *limit)
{
    if (limit != NULL) atom_add(&limit->users, 1);
    return limit;
}

void engine_limit_release(struct engine_limit *limit)
{
    if (limit == NULL || atom_add(&limit->users, UINT64_MAX) != 1) return;
    weir_engine_limit_close(limit->limit);
    free(limit);
}

const weir_engine_limit *engine_limit_inside(const struct engine_limit *limit)
{
    return limit->limit;
}

/* ---- asking ---- */

static void refuse(weir_engine_ask *asks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        asks[i].decision = (weir_decision){.verdict = WEIR_DENY, .retry_ns = HOST_SECOND_NS};
        asks[i].full_ns = HOST_SECOND_NS;
        asks[i].from = WEIR_FROM_AWAY;
    }
}

void engine_ask_begin(weir_engine *handle, weir_engine_ask *asks, size_t count, uint64_t now_ns)
{
    if (handle != NULL) weir_engine_begin(handle, asks, count, (weir_instant){now_ns});
    else refuse(asks, count);
}

size_t engine_ask_events(weir_engine *handle, uint64_t now_ns, weir_engine_watch *watch, size_t most, uint64_t *wait_ns)
{
    *wait_ns = WEIR_FOREVER;
    return handle != NULL ? weir_engine_events(handle, (weir_instant){now_ns}, watch, most, wait_ns) : 0;
}

void engine_ask_process(weir_engine *handle, uint64_t now_ns)
{
    if (handle != NULL) weir_engine_process(handle, (weir_instant){now_ns});
}

void engine_ask_finish(weir_engine *handle, weir_engine_ask *asks, size_t count, uint64_t now_ns)
{
    if (handle != NULL) weir_engine_finish(handle, asks, count, (weir_instant){now_ns});
}

uint64_t engine_secret(weir_engine *handle, char text[WEIR_ENGINE_SECRET_MAX])
{
    return handle != NULL ? weir_engine_secret(handle, text) : 0;
}

void engine_tick(weir_engine *handle)
{
    if (handle != NULL) weir_engine_tick(handle);
}
