/* SPDX-License-Identifier: MIT
   weir take --engine: what was used is kept in Redis or Valkey, for all machines that ask there. */
#include <stdlib.h>
#include <string.h>

#include "cli/common/engine_open.h"
#include "cli/take/take.h"

struct take_engine {
    weir_engine *engine;
    weir_engine_limit *limit;
    bool away;
    char why[200]; /* something was wrong, when it was told so last */
};

static void changed(void *context, bool away, const char *why)
{
    struct take_engine *engine = context;
    const bool back = engine->away && !away;
    engine->away = away;
    snprintf(engine->why, sizeof engine->why, "%s", back ? "" : why);
}

static int open_engine(struct take *take, struct take_engine *engine)
{
    weir_engine_options options = WEIR_ENGINE_OPTIONS;
    weir_error error = {0};
    options.prefix = take->prefix;
    options.changed = changed;
    options.context = engine;
    const int status = engine_for_command(&engine->engine, "take", take->engine_url, take->password_file, &options);
    if (status != STATUS_DONE) return status;
    if (weir_engine_limit_open(&engine->limit, engine->engine, take->canonical, WEIR_AWAY_CLOSED, &error) == 0)
        return STATUS_DONE;
    return trouble("take: %s: %s; without --engine it is kept in a file", take->limit, error.message);
}

int take_engine_open(struct take *take)
{
    take->engine = calloc(1, sizeof *take->engine);
    if (take->engine == NULL) return trouble("take: no memory");
    return open_engine(take, take->engine);
}

void take_engine_ask(struct take *take, bool peek)
{
    struct take_engine *engine = take->engine;
    weir_engine_ask ask = {.verb = peek ? WEIR_ASK_PEEK : WEIR_ASK_TAKE,
                           .limit = engine->limit,
                           .key = take->key,
                           .cost = take->each,
                           .costs = (unsigned)weir_plan_limits(&take->plan)};
    weir_engine_batch(engine->engine, &ask, 1);
    take->decision = ask.decision;
    take->lost = ask.from == WEIR_FROM_AWAY;
    if (!take->lost) return;
    take->decision = (weir_decision){0};
    trouble("nothing was taken: %s", take_engine_why(take));
}

const char *take_engine_why(const struct take *take)
{
    return take->engine->why[0] != '\0' ? take->engine->why : "the engine does not answer";
}

void take_engine_give_back(struct take *take)
{
    static const uint64_t nothing[WEIR_LIMITS_MAX];
    weir_engine_ask ask = {.verb = WEIR_ASK_SETTLE,
                           .limit = take->engine->limit,
                           .key = take->key,
                           .cost = take->each,
                           .costs = (unsigned)weir_plan_limits(&take->plan),
                           .actual = nothing,
                           .taken = take->decision.end};
    weir_engine_batch(take->engine->engine, &ask, 1);
}

bool take_engine_forget(struct take *take)
{
    struct take_engine *engine = take->engine;
    if (weir_engine_forget(engine->engine, engine->limit, take->key)) return true;
    trouble("nothing was forgotten: %s", take_engine_why(take));
    return false;
}

enum held take_engine_hold(struct take *take, uint64_t id, enum hold hold)
{
    weir_engine_ask ask = {.verb = hold == HOLD_RENEW ? WEIR_ASK_RENEW : WEIR_ASK_RELEASE,
                           .limit = take->engine->limit,
                           .key = take->key,
                           .taken = id};
    weir_engine_batch(take->engine->engine, &ask, 1);
    if (ask.from == WEIR_FROM_AWAY) return HELD_UNKNOWN;
    return ask.decision.verdict == WEIR_ALLOW ? HELD : HELD_NO_MORE;
}

void take_engine_close(struct take *take)
{
    if (take->engine == NULL) return;
    weir_engine_limit_close(take->engine->limit);
    weir_engine_close(take->engine->engine);
    free(take->engine);
    take->engine = NULL;
}
