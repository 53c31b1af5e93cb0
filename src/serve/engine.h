/* SPDX-License-Identifier: MIT
   An engine (Redis, Valkey) that many servers share, as the file names it.

       struct engine         the file's engine: its settings and its first handle; of policies that follow each other
       struct engine_limit   a limit as the engine has it; of a policy, or of a worker's texts
       weir_engine           a worker's own handle, see weir/redis.h

   See engine.c. */
#ifndef WEIR_SERVE_ENGINE_H
#define WEIR_SERVE_ENGINE_H

#include <weir/redis.h>

#include "share/hash/hash.h"

struct service;
struct engine;
struct engine_limit;

/* engine: of the file.  Strings are owned by the config; NULL or 0: not said. */
struct engine_settings {
    char *url, *user, *password, *prefix;
    weir_away away;
    unsigned nodes;
    uint64_t deadline_ns, lease_ns;
    unsigned line, column; /* of the URL in the file */
};

/* Its changes are told by service_say and on stderr.  An engine that does not answer is away, and no error.  NULL: see
   error. */
struct engine *engine_open(const struct engine_settings *settings, struct service *service, weir_error *error);

/* Is it what an engine of these settings would be? */
bool engine_is(const struct engine *engine, const struct engine_settings *settings);

/* Both of NULL: nothing. */
struct engine *engine_share(struct engine *engine);
void engine_release(struct engine *engine); /* the last waits for the engine, at most its deadline */

/* A handle for one thread, which has the engine as long; NULL: no memory. */
weir_engine *engine_join(struct engine *engine);
void engine_leave(struct engine *engine, weir_engine *handle);

/* The same for a caller that must not wait: leases are given back, at most for its deadline, when engine_close_left is
   called. */
void engine_leave_soon(struct engine *engine, weir_engine *handle);
void engine_close_left(struct service *service);

/* The URL, without a password. */
const char *engine_name(const struct engine *engine);
void engine_read_stats(struct engine *engine, weir_engine_stats *stats);

/* As weir_engine_begin, events, turn and finish: see there; a handle that is NULL lets nothing pass. */
void engine_ask_begin(weir_engine *handle, weir_engine_ask *asks, size_t count, uint64_t now_ns);
size_t engine_ask_events(weir_engine *handle, uint64_t now_ns, weir_engine_watch *watch, size_t most,
                         uint64_t *wait_ns);
void engine_ask_process(weir_engine *handle, uint64_t now_ns);
void engine_ask_finish(weir_engine *handle, weir_engine_ask *asks, size_t count, uint64_t now_ns);

/* As weir_engine_secret; 0 of a handle that is NULL. */
uint64_t engine_secret(weir_engine *handle, char text[WEIR_ENGINE_SECRET_MAX]);

/* What a handle needs once a second also when nobody asks; waits for nothing. */
void engine_tick(weir_engine *handle);

/* NULL: see error.  Release and share of NULL: nothing. */
struct engine_limit *engine_limit_open(struct engine *engine, const weir_plan *plan, weir_away away, weir_error *error);
struct engine_limit *engine_limit_share(struct engine_limit *limit);
void engine_limit_release(struct engine_limit *limit);
const weir_engine_limit *engine_limit_inside(const struct engine_limit *limit);

#endif
