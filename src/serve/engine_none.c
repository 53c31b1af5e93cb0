/* SPDX-License-Identifier: MIT
   The engine where weir was built without hiredis: says so.

   A file that names an engine is refused, never served without. */
#include "api/error.h"
#include "serve/engine.h"

struct engine *engine_open(const struct engine_settings *settings, struct service *service, weir_error *error)
{
    (void)settings, (void)service;
    api_fail(error, WEIR_EUNSUPPORTED,
             "this build has no Redis support (hiredis was missing); to add it, run tools/deps build && tools/build in "
             "the source tree");
    return NULL;
}

bool engine_is(const struct engine *engine, const struct engine_settings *settings)
{
    (void)engine, (void)settings;
    return false;
}

struct engine *engine_share(struct engine *engine)
{
    return engine;
}

void engine_release(struct engine *engine)
{
    (void)engine;
}

weir_engine *engine_join(struct engine *engine)
{
    (void)engine;
    return NULL;
}

void engine_leave(struct engine *engine, weir_engine *handle)
{
    (void)engine, (void)handle;
}

void engine_leave_soon(struct engine *engine, weir_engine *handle)
{
    (void)engine, (void)handle;
}

void engine_close_left(struct service *service)
{
    (void)service;
}

const char *engine_name(const struct engine *engine)
{
    (void)engine;
    return "";
}

void engine_read_stats(struct engine *engine, weir_engine_stats *stats)
{
    (void)engine;
    *stats = (weir_engine_stats){0};
}

uint64_t engine_secret(weir_engine *handle, char text[WEIR_ENGINE_SECRET_MAX])
{
    (void)handle, (void)text;
    return 0;
}

void engine_ask_begin(weir_engine *handle, weir_engine_ask *asks, size_t count, uint64_t now_ns)
{
    (void)handle, (void)asks, (void)count, (void)now_ns;
}

size_t engine_ask_events(weir_engine *handle, uint64_t now_ns, weir_engine_watch *watch, size_t most, uint64_t *wait_ns)
{
    (void)handle, (void)now_ns, (void)watch, (void)most;
    *wait_ns = WEIR_FOREVER;
    return 0;
}

void engine_ask_process(weir_engine *handle, uint64_t now_ns)
{
    (void)handle, (void)now_ns;
}

void engine_ask_finish(weir_engine *handle, weir_engine_ask *asks, size_t count, uint64_t now_ns)
{
    (void)handle, (void)asks, (void)count, (void)now_ns;
}

void engine_tick(weir_engine *handle)
{
    (void)handle;
}

struct engine_limit *engine_limit_open(struct engine *engine, const weir_plan *plan, weir_away away, weir_error *error)
{
    (void)engine, (void)plan, (void)away, (void)error;
    return NULL;
}

struct engine_limit *engine_limit_share(struct engine_limit *limit)
{
    return limit;
}

void engine_limit_release(struct engine_limit *limit)
{
    (void)limit;
}

const weir_engine_limit *engine_limit_inside(const struct engine_limit *limit)
{
    (void)limit;
    return NULL;
}
