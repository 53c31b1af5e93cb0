/* SPDX-License-Identifier: MIT
   Weir-redis.so: limits as commands of Redis 7 or later, and of Valkey.

       loadmodule weir-redis.so [test-clock yes]

   The engine runs one command at a time, and gives a module nowhere to keep what is its own but here.

   On an engine that is too old it is not loaded, and the engine's log says why. */
#include "redis/module/question.h"

#include <string.h>

enum { MODULE_VERSION = 1 };

static struct module loaded;

/* ---- how each is called by the engine ---- */

static int run(call_run *command, struct RedisModuleCtx *context, struct RedisModuleString **argument, int count,
               int arguments_min)
{
    const struct call call = {&loaded, &loaded.engine, context, argument, count};
    if (loaded.engine.is_keys_position_request(context)) {
        question_tell_keys(&call);
        return ENGINE_OK;
    }
    if (count < arguments_min) return loaded.engine.wrong_arity(context);
    command(&call);
    return ENGINE_OK;
}

#define COMMAND(name, arguments_min)                                                                                   \
    static int on_##name(struct RedisModuleCtx *context, struct RedisModuleString **argument, int count)               \
    {                                                                                                                  \
        return run(name##_run, context, argument, count, arguments_min);                                               \
    }
COMMAND(take, 3)
COMMAND(charge, 4)
COMMAND(settle, 5)
COMMAND(forget, 3)
COMMAND(renew, 4)
COMMAND(release, 4)
COMMAND(lease, 5)
COMMAND(return, 6)
COMMAND(throttle, 1)
COMMAND(clock, 2)

void clock_run(const struct call *call)
{
    uint64_t us;
    if (!question_number(call, 1, "us since 1970, or 0 for the engine's own clock", &us)) return;
    call->module->clock.told_us = us;
    call->engine->reply_with_simple_string(call->context, "OK");
}

/* ---- which there are ---- */

struct command {
    const char *name;
    engine_command *run;
    int arity;
    const char *flags;
    int key;    /* where the first one is */
    bool joins; /* further keys behind AND */
    const char *summary;
};

static const struct command commands[] = {
    {"weir.take", on_take, -3, "write deny-oom fast getkeys-api", 2, true,
     "May this pass?  WEIR.TAKE limit key [AND key]... [COST n...] [PEEK] [WAIT us]"},
    {"weir.charge", on_charge, -4, "write deny-oom fast getkeys-api", 2, true,
     "Takes whatever the balance.  WEIR.CHARGE limit key [AND key]... cost..."},
    {"weir.settle", on_settle, -5, "write deny-oom fast getkeys-api", 2, true,
     "Corrects what was taken to what was used.  WEIR.SETTLE limit key [AND key]... receipt actual..."},
    {"weir.forget", on_forget, -3, "write fast getkeys-api", 2, true,
     "Begins anew.  WEIR.FORGET limit key [AND key]..."},
    {"weir.renew", on_renew, -4, "write deny-oom fast getkeys-api", 2, true,
     "One lease more for what is held.  WEIR.RENEW limit key [AND key]... id"},
    {"weir.release", on_release, -4, "write fast getkeys-api", 2, true,
     "Ends what is held.  WEIR.RELEASE limit key [AND key]... id"},
    {"weir.lease", on_lease, -5, "write deny-oom fast", 2, false,
     "Permits to take along.  WEIR.LEASE limit key want lifetime_us [RETURN id permits unused]"},
    {"weir.return", on_return, 6, "write fast", 2, false,
     "Brings back what was not spent.  WEIR.RETURN limit key id permits unused"},
    {"cl.throttle", on_throttle, -1, "write deny-oom fast", 1, false,
     "As redis-cell has it.  CL.THROTTLE key max_burst count period [quantity]"},
};

static const struct command clock_command = {
    "weir.clock", on_clock, 2, "fast", 0, false, "For tests: what time it is.  WEIR.CLOCK us"};

static bool tell_more(const struct engine *engine, struct RedisModuleCommand *made, const struct command *command)
{
    static const struct engine_info_version version = {1, 2 * sizeof(char *), sizeof(struct engine_key_spec), 0};
    const uint64_t flags = ENGINE_KEY_RW | ENGINE_KEY_ACCESS | ENGINE_KEY_UPDATE;
    struct engine_key_spec spec[3];
    memset(spec, 0, sizeof spec);
    for (unsigned i = 0; i < (command->joins ? 2U : command->key != 0); i++) {
        spec[i].flags = flags;
        spec[i].begin_type = ENGINE_BEGIN_INDEX;
        spec[i].begin.index.position = command->key;
        spec[i].find_type = ENGINE_FIND_RANGE;
        spec[i].find.range.step = 1;
    }
    if (command->joins) {
        spec[1].notes = "and after each further AND";
        spec[1].flags |= ENGINE_KEY_INCOMPLETE;
        spec[1].begin_type = ENGINE_BEGIN_KEYWORD;
        spec[1].begin.keyword.word = "AND";
        spec[1].begin.keyword.start_from = command->key + 1;
    }
    const struct engine_command_info info = {.version = &version,
                                             .summary = command->summary,
                                             .complexity =
                                                 "O(1); a sliding-log: O(log count); slots: O(cost log count)",
                                             .arity = command->arity,
                                             .key_specs = spec};
    return engine->set_command_info(made, &info) == ENGINE_OK;
}

static bool add(const struct engine *engine, struct RedisModuleCtx *context, const struct command *command)
{
    const int last = command->key, step = command->key != 0;
    if (engine->create_command(context, command->name, command->run, command->flags, command->key, last, step) !=
        ENGINE_OK)
        return false;
    struct RedisModuleCommand *made = engine->get_command(context, command->name);
    if (engine->set_command_acl_categories != NULL && command->key != 0 &&
        engine->set_command_acl_categories(made, "write fast") != ENGINE_OK)
        return false;
    return tell_more(engine, made, command);
}

/* ---- loading ---- */

static void on_event(struct RedisModuleCtx *context, struct engine_event event, uint64_t which, void *data)
{
    (void)context, (void)event, (void)which, (void)data;
    propagation_ask_again(&loaded.propagation);
}

static bool is_word(const struct engine *engine, const struct RedisModuleString *argument, const char *word)
{
    size_t size;
    const char *bytes = engine->string_ptr_len(argument, &size);
    return size == strlen(word) && memcmp(bytes, word, size) == 0;
}

static void let_go(void)
{
    if (loaded.until != NULL) loaded.engine.free_string(NULL, loaded.until);
    texts_close(loaded.texts);
    loaded.until = NULL;
    loaded.texts = NULL;
}

static int fail(const struct engine *engine, struct RedisModuleCtx *context, const char *why)
{
    if (engine->log != NULL) engine->log(context, "warning", "weir: not loaded: %s", why);
    let_go();
    return ENGINE_ERR;
}

static bool add_all(const struct engine *engine, struct RedisModuleCtx *context, bool test_clock)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (!add(engine, context, &commands[i])) return false;
    }
    return !test_clock || add(engine, context, &clock_command);
}

WEIR_API int RedisModule_OnLoad(struct RedisModuleCtx *context, struct RedisModuleString **argument, int count);
WEIR_API int RedisModule_OnUnload(struct RedisModuleCtx *context);

int RedisModule_OnLoad(struct RedisModuleCtx *context, struct RedisModuleString **argument, int count)
{
    struct engine *engine = &loaded.engine;
    struct secret secret;
    const char *lacking = engine_fetch(engine, context);
    if (engine->set_module_attribs == NULL) return ENGINE_ERR;
    engine->set_module_attribs(context, "weir", MODULE_VERSION, ENGINE_INTERFACE);
    if (engine->get_server_version == NULL || engine->get_server_version() < ENGINE_VERSION_7)
        return fail(engine, context, "it needs Redis 7.0 or later, or Valkey; for older engines there is weir.lua");
    if (lacking != NULL) return fail(engine, context, lacking);
    const bool test_clock =
        count == 2 && is_word(engine, argument[0], "test-clock") && is_word(engine, argument[1], "yes");
    if (count != 0 && !test_clock)
        return fail(engine, context, "expected no arguments, or \"test-clock yes\", which is for tests");
    engine->get_random_bytes((unsigned char *)&secret, sizeof secret);
    loaded.texts = texts_open(&secret);
    loaded.until = engine->create_string(NULL, "PXAT", strlen("PXAT"));
    if (loaded.texts == NULL || loaded.until == NULL) return fail(engine, context, "no memory");
    engine->set_module_options(context, ENGINE_SIGNALS_BY_HAND);
    if (!propagation_open(engine, context, on_event)) return fail(engine, context, "it does not tell of its events");
    if (!add_all(engine, context, test_clock))
        return fail(engine, context, "a command of the same name is there already; is redis-cell loaded?");
    return ENGINE_OK;
}

int RedisModule_OnUnload(struct RedisModuleCtx *context)
{
    (void)context;
    let_go();
    return ENGINE_OK;
}
