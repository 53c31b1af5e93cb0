/* SPDX-License-Identifier: MIT
   store.c - the keys of one question: opened once, read in place, written in place where the size stays.

       one key for a text     | "weir" 1 n 0 0 | cell | cell | ...       a string
       a key for each limit   | "weir" 1 1 0 0 | cell |  and so on       a sliding-log's key: a sorted set

   Replicas and the log of the engine are given the result, "SET key value PXAT ms", so they need neither this module
   nor its clock.  A key lives until its limits have forgotten all by themselves, to the ms above.

   May touch: the keys of the question.  Promises: what is not ours, is damaged or of a newer weir is an error, and is
   not written; nothing is written that has not changed.  Leaves to others: the arithmetic (micro), logs (stamps.c). */
#include "module/store.h"

#include <stdio.h>
#include <string.h>

enum { KEY_SHOWN = 160, KEY_END = 9 /* "\\xff...\"" and its end */ };

static const char wrong_type[] = "WRONGTYPE Operation against a key holding the wrong kind of value";

static bool is_log(const struct micro_plan *plan, unsigned limit)
{
    return plan->rule[limit].kind == MICRO_LOG;
}

/* Its state is nothing at all. */
static bool is_blank(const struct micro_plan *plan, unsigned limit)
{
    return plan->rule[limit].kind == MICRO_NONE || plan->rule[limit].kind == MICRO_UNLIMITED;
}

void store_close(struct store *store)
{
    for (unsigned i = 0; i < store->question->keys; i++) {
        if (store->key[i] != NULL) store->call->engine->close_key(store->key[i]);
        store->key[i] = NULL;
    }
}

/* ---- reading ---- */

static bool refuse(struct store *store, const char *words)
{
    store_close(store);
    return call_refuse(store->call, "%s", words);
}

/* As redis-cli reads it, so that it can be pasted into a command; cut where it is very long. */
static const char *key_shown(const struct store *store, unsigned at, char shown[KEY_SHOWN])
{
    size_t size = 0, to = 0;
    const char *key = store->call->engine->string_ptr_len(store->question->key[at], &size);
    bool plain = size != 0;
    for (size_t i = 0; i < size; i++) plain = plain && key[i] > ' ' && key[i] <= '~' && strchr("\"'\\", key[i]) == NULL;
    if (!plain) shown[to++] = '"';
    for (size_t i = 0; i < size && to < KEY_SHOWN - KEY_END; i++) {
        const bool as_is = key[i] >= ' ' && key[i] <= '~' && key[i] != '"' && key[i] != '\\';
        to += (size_t)snprintf(shown + to, KEY_SHOWN - to, as_is ? "%c" : "\\x%02x", (unsigned char)key[i]);
    }
    snprintf(shown + to, KEY_SHOWN - to, "%s%s", to < KEY_SHOWN - KEY_END ? "" : "...", plain ? "" : "\"");
    return shown;
}

static bool refuse_foreign(struct store *store, unsigned at)
{
    char shown[KEY_SHOWN];
    key_shown(store, at, shown);
    store_close(store);
    return call_refuse(store->call,
                       "WEIRVALUE what is at %s was not written by weir: expected nothing, or a state of a limit; use "
                       "another key, for example weir:user:42",
                       shown);
}

/* Never taken for nothing: what was used is unknown, not none. */
static bool refuse_value(struct store *store, unsigned at, const char *bytes, size_t size)
{
    char shown[KEY_SHOWN];
    const unsigned format = micro_format(bytes, size);
    if (format == 0) return refuse_foreign(store, at);
    key_shown(store, at, shown);
    store_close(store);
    if (format <= MICRO_FORMAT) {
        return call_refuse(store->call, "WEIRVALUE a state of weir, but damaged; to begin anew: DEL %s", shown);
    }
    return call_refuse(store->call,
                       "WEIRVALUE a state of a newer weir: format %u, and weir " WEIR_VERSION
                       " reads %d; to begin anew: DEL %s",
                       format, MICRO_FORMAT, shown);
}

/* The whole state, or one limit's part of it. */
static bool read_string(struct store *store, unsigned at)
{
    const struct question *question = store->question;
    struct micro_state part;
    struct micro_state *state = question->keys == 1 ? &store->state : &part;
    size_t size = 0;
    const char *bytes = store->call->engine->string_dma(store->key[at], &size, ENGINE_READ);
    if (!micro_read(state, bytes, size)) return refuse_value(store, at, bytes, size);
    if (question->keys == 1 || state->count == 0) return true;
    store->state.count = question->plan->count;
    store->state.cell[at] = state->cell[0];
    return true;
}

static bool read_log(struct store *store, unsigned at)
{
    const struct engine *engine = store->call->engine;
    const uint64_t size = store->key[at] != NULL ? engine->value_length(store->key[at]) : 0;
    if (store->key[at] != NULL) engine->close_key(store->key[at]);
    store->key[at] = NULL;
    stamps_open(&store->stamps[at], store->call, store->question->key[at], size, &store->log[at]);
    return store_is_sound(store);
}

static bool read_key(struct store *store, unsigned at, bool only_reads)
{
    const struct engine *engine = store->call->engine;
    const bool log = is_log(store->question->plan, at);
    const int mode = only_reads || log ? ENGINE_READ : ENGINE_READ | ENGINE_WRITE;
    store->key[at] = engine->open_key(store->call->context, store->question->key[at], mode);
    const int type = store->key[at] != NULL ? engine->key_type(store->key[at]) : ENGINE_EMPTY;
    if (type != ENGINE_EMPTY && type != (log ? ENGINE_ZSET : ENGINE_STRING)) return refuse(store, wrong_type);
    if (log) return read_log(store, at);
    return type == ENGINE_EMPTY || read_string(store, at);
}

/* Cells of keys that are not there are as if of another kind: they begin anew. */
static void begin(struct store *store, const struct call *call, const struct question *question)
{
    store->call = call;
    store->question = question;
    store->state.count = 0;
    for (unsigned i = 0; i < question->keys; i++) store->key[i] = NULL;
    if (question->keys == 1) return;
    for (unsigned i = 0; i < question->keys; i++) store->state.cell[i] = (struct micro_cell){.kind = MICRO_KINDS};
}

bool store_is_sound(struct store *store)
{
    for (unsigned i = 0; i < store->question->keys; i++) {
        if (is_log(store->question->plan, i) && store->log[i].where == &store->stamps[i] && store->stamps[i].foreign)
            return refuse_foreign(store, i);
    }
    return true;
}

bool store_open(struct store *store, const struct call *call, const struct question *question, bool only_reads)
{
    begin(store, call, question);
    for (unsigned i = 0; i < question->keys; i++) store->log[i].where = NULL;
    for (unsigned i = 0; i < question->keys; i++) {
        if (!read_key(store, i, only_reads)) return false;
    }
    return true;
}

/* ---- writing ---- */

static bool is_same(const struct engine *engine, struct RedisModuleKey *key, const char *bytes, size_t size)
{
    size_t there = 0;
    if (engine->key_type(key) == ENGINE_EMPTY) return false;
    const char *old = engine->string_dma(key, &there, ENGINE_READ);
    return there == size && memcmp(old, bytes, size) == 0;
}

/* A new value and what replicas are told are one and the same object: that saves an allocation, and a copy. */
static struct RedisModuleString *write_anew(const struct store *store, unsigned at, const char *bytes, size_t size)
{
    const struct engine *engine = store->call->engine;
    struct RedisModuleString *value = engine->create_string(NULL, bytes, size);
    engine->string_set(store->key[at], value);
    return value;
}

static struct RedisModuleString *write_over(const struct store *store, unsigned at, const char *bytes, size_t size)
{
    const struct engine *engine = store->call->engine;
    size_t there = 0;
    if (engine->value_length(store->key[at]) != size) engine->string_truncate(store->key[at], size);
    memcpy(engine->string_dma(store->key[at], &there, ENGINE_WRITE), bytes, size);
    return engine->create_string(NULL, bytes, size);
}

static void write_string(struct store *store, unsigned at, const char *bytes, size_t size, uint64_t idle_us)
{
    const struct engine *engine = store->call->engine;
    struct RedisModuleString *name = store->question->key[at];
    char until[CALL_DIGITS_MAX];
    const uint64_t until_ms = call_ms_up(idle_us);
    const bool anew = engine->key_type(store->key[at]) == ENGINE_EMPTY;
    struct RedisModuleString *value = (anew ? write_anew : write_over)(store, at, bytes, size);
    engine->set_abs_expire(store->key[at], (long long)until_ms);
    engine->replicate(store->call->context, "SET", "sssb", name, value, store->call->module->until, until,
                      call_digits(until_ms, until));
    engine->free_string(NULL, value);
    engine->signal_modified_key(store->call->context, name);
}

static void write_part(struct store *store, unsigned at, uint64_t idle_us)
{
    char bytes[MICRO_BYTES_MAX];
    struct micro_state part = {.count = 1};
    if (is_log(store->question->plan, at)) {
        stamps_write(&store->stamps[at], &store->log[at], idle_us);
        return;
    }
    if (is_blank(store->question->plan, at)) return;
    part.cell[0] = store->state.cell[at];
    const size_t size = micro_write(&part, bytes);
    if (!is_same(store->call->engine, store->key[at], bytes, size)) write_string(store, at, bytes, size, idle_us);
}

void store_write(struct store *store, uint64_t idle_us)
{
    char bytes[MICRO_BYTES_MAX];
    const struct question *question = store->question;
    if (question->plan->count == 1 && is_log(question->plan, 0)) {
        stamps_write(&store->stamps[0], &store->log[0], idle_us);
    } else if (question->keys == 1) {
        const size_t size = micro_write(&store->state, bytes);
        write_string(store, 0, bytes, size, idle_us);
    } else {
        for (unsigned i = 0; i < question->keys; i++) write_part(store, i, idle_us);
    }
    store_close(store);
}
