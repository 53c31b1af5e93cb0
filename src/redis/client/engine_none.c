/* SPDX-License-Identifier: MIT
   libweir-redis where weir was built without hiredis: weir_engine_open refuses, and nothing else is reached. */
#include <weir/redis.h>

#include "api/error.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

int weir_engine_open(weir_engine **owned, const char *url, const weir_engine_options *options, weir_error *error)
{
    *owned = NULL;
    return api_fail(error, WEIR_EUNSUPPORTED,
                    "this weir was built without hiredis; in its source: tools/deps build && tools/build");
}

int weir_engine_join(weir_engine **owned, weir_engine *first, weir_error *error)
{
    return weir_engine_open(owned, NULL, NULL, error);
}

int weir_engine_limit_open(weir_engine_limit **owned, weir_engine *engine, const char *limits, weir_away away,
                           weir_error *error)
{
    *owned = NULL;
    return WEIR_EUNSUPPORTED;
}

int weir_engine_install(weir_engine *engine, void (*line)(void *context, const char *text), void *context,
                        weir_error *error)
{
    return WEIR_EUNSUPPORTED;
}

int weir_engine_check(weir_engine *engine, void (*line)(void *context, const char *text), void *context,
                      weir_error *error)
{
    return WEIR_EUNSUPPORTED;
}

void weir_engine_close(weir_engine *engine)
{
}

void weir_engine_limit_close(weir_engine_limit *limit)
{
}

bool weir_engine_settle(weir_engine *engine, const weir_engine_limit *limit, weir_key key, weir_decision *decision,
                        uint64_t actual)
{
    return false;
}

bool weir_engine_renew(weir_engine *engine, const weir_engine_limit *limit, weir_key key, uint64_t id)
{
    return false;
}

bool weir_engine_release(weir_engine *engine, const weir_engine_limit *limit, weir_key key, uint64_t id)
{
    return false;
}

bool weir_engine_forget(weir_engine *engine, const weir_engine_limit *limit, weir_key key)
{
    return false;
}

void weir_engine_batch(weir_engine *engine, weir_engine_ask *asks, size_t n)
{
}

void weir_engine_begin(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now)
{
}

size_t weir_engine_events(weir_engine *engine, weir_instant now, weir_engine_watch *watch, size_t most,
                          uint64_t *wait_ns)
{
    *wait_ns = WEIR_FOREVER;
    return 0;
}

void weir_engine_process(weir_engine *engine, weir_instant now)
{
}

void weir_engine_finish(weir_engine *engine, weir_engine_ask *asks, size_t n, weir_instant now)
{
}

void weir_engine_tick(weir_engine *engine)
{
}

uint64_t weir_engine_secret(weir_engine *engine, char text[WEIR_ENGINE_SECRET_MAX])
{
    return 0;
}

void weir_engine_read_stats(weir_engine *engine, weir_engine_stats *stats, size_t size)
{
}
