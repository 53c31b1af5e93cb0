/* SPDX-License-Identifier: MIT
   The keys of one question: opened once, read in place, written in place where the size stays.

       one key for a text     | "weir" 1 n 0 0 | cell | cell | ...
       a key for each limit   | "weir" 1 1 0 0 | cell |  and so on
       of a sliding-log       | "weir" 1 1 0 0 | cell | entry | entry | ...      some of which a call reads and writes
       of a concurrent limit  a sorted set (held.c), which is never opened here

   Replicas and the log of the engine are given the result, "SET key value PXAT ms" or, of a log, "SETRANGE key at
   bytes", so they need neither this module nor its clock.  A key lives until its limits have forgotten all by
   themselves, to the ms above.

   What is not ours, is damaged or of a newer weir is an error, and is not written; nothing is written that has not
   changed. */
#include "redis/module/store.h"

#include <stdio.h>
#include <string.h>

enum { KEY_SHOWN = 160, KEY_END = 9 /* "\\xff...\"" and its end */ };

/* The limits whose cells are at a key. */
struct part {
    unsigned first, end;
};

static struct part part_at(const struct question *question, unsigned at)
{
    const struct micro_plan *plan = question->plan;
    if (question->keys == 1) return (struct part){0, plan->count};
    if (plan->levels > 1) return (struct part){plan->first[at], plan->first[at + 1]};
    return (struct part){at, at + 1};
}

/* Its state is nothing at all. */
static bool is_blank(const struct micro_plan *plan, struct part part)
{
    bool blank = true;
    for (unsigned i = part.first; i < part.end; i++)
        blank = blank && (plan->rule[i].kind == MICRO_NONE || plan->rule[i].kind == MICRO_UNLIMITED);
    return blank;
}

void store_close(struct store *store)
{
    for (unsigned i = 0; i < store->question->keys; i++) {
        if (store->key[i] != NULL) store->call->engine->close_key(store->key[i]);
        store->key[i] = NULL;
    }
}

/* ---- reading ---- */

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
        return call_refuse(store->call, "WEIRVALUE a state of weir, but damaged; to start afresh: DEL %s", shown);
    }
    return call_refuse(store->call,
                       "WEIRVALUE a state of a newer weir: format %u, and weir " WEIR_VERSION
                       " reads %d; to start afresh: DEL %s",
                       format, MICRO_FORMAT, shown);
}

/* The whole state, or one limit's part of it. */
static bool read_value(struct store *store, unsigned at, const void *bytes, size_t size)
{
    const struct question *question = store->question;
    struct micro_state part;
    struct micro_state *state = question->keys == 1 ? &store->state : &part;
    if (!micro_read(state, bytes, size)) return refuse_value(store, at, bytes, size);
    if (size >= MICRO_LOG_RING) micro_log_open(&store->log[at], state, bytes);
    if (question->keys == 1 || state->count == 0) return true;
    if (state->marks != 0 && at < MICRO_LEVELS_MAX) {
        store->state.mark[at] = state->mark[0];
        store->state.marks |= 1U << at;
    }
    const struct part cells = part_at(question, at);
    store->state.count = question->plan->count;
    for (unsigned i = cells.first; i < cells.end && i - cells.first < state->count; i++)
        store->state.cell[i] = state->cell[i - cells.first];
    return true;
}

/* ---- slots ---- */

static struct held slots_of(struct store *store, unsigned at)
{
    return (struct held){store->call, store->question->key[at], &store->state.slots};
}

/* The place of a concurrent limit is that of its key, for it has one of its own (question.c). */
struct held store_held(struct store *store)
{
    return slots_of(store, (unsigned)micro_holder(store->question->plan));
}

static void close_key(struct store *store, unsigned at)
{
    if (store->key[at] != NULL) store->call->engine->close_key(store->key[at]);
    store->key[at] = NULL;
}

/* A state of weir's under another limit makes room, as it does everywhere. */
static bool read_slots(struct store *store, unsigned at, int type)
{
    const struct held held = slots_of(store, at);
    struct micro_state other;
    size_t size = 0;
    micro_slots_begin(held.slots, store->question->ask.now, 0, 0);
    store->other[at] = type == ENGINE_STRING;
    if (type == ENGINE_STRING) {
        const char *bytes = store->call->engine->string_dma(store->key[at], &size, ENGINE_READ);
        if (!micro_read(&other, bytes, size)) return refuse_value(store, at, bytes, size);
    }
    close_key(store, at);
    if (type == ENGINE_EMPTY || type == ENGINE_STRING) return true;
    return type == ENGINE_ZSET && held_read(&held, store->question->ask.now) ? true : refuse_foreign(store, at);
}

/* Are there slots, of a limit that was a concurrent one before? */
static bool has_slots(const struct store *store, unsigned at)
{
    struct micro_slots slots;
    const struct held held = {store->call, store->question->key[at], &slots};
    return held_read(&held, store->question->ask.now);
}

static bool read_old_log(struct store *store, unsigned at)
{
    const uint64_t permits = store->call->engine->value_length(store->key[at]);
    const struct micro_rule *rule = &store->question->plan->rule[at];
    const uint64_t most = rule->kind == MICRO_LOG ? rule->debt * STAMPS_READ / MICRO_LOG_REACH : 1;
    store->old_size[at] = stamps_read(store->call, store->question->key[at], permits, (unsigned)most, store->old[at]);
    return read_value(store, at, store->old[at], store->old_size[at]);
}

/* Returns the type of what is there. */
static int open_key(struct store *store, unsigned at, bool only_reads)
{
    const struct engine *engine = store->call->engine;
    const int mode = only_reads ? ENGINE_READ : ENGINE_READ | ENGINE_WRITE;
    if (store->key[at] == NULL) store->key[at] = engine->open_key(store->call->context, store->question->key[at], mode);
    return store->key[at] != NULL ? engine->key_type(store->key[at]) : ENGINE_EMPTY;
}

static bool read_key(struct store *store, unsigned at, bool only_reads)
{
    const struct engine *engine = store->call->engine;
    size_t size = 0;
    const int type = open_key(store, at, only_reads);
    if (store->question->plan->rule[at].kind == MICRO_CONCURRENT) return read_slots(store, at, type);
    if (type == ENGINE_EMPTY) return true;
    if (type == ENGINE_ZSET) {
        store->other[at] = has_slots(store, at);
        return store->other[at] ? true : read_old_log(store, at);
    }
    if (type != ENGINE_STRING) return refuse_foreign(store, at);
    const char *bytes = engine->string_dma(store->key[at], &size, ENGINE_READ);
    return read_value(store, at, bytes, size);
}

/* Cells of keys that are not there are as if of another kind: they begin anew. */
static void begin(struct store *store, const struct call *call, const struct question *question)
{
    store->call = call;
    store->question = question;
    store->id = 0;
    store->state.count = store->state.marks = 0;
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) store->key[i] = NULL;
    for (unsigned i = 0; i < question->keys; i++) {
        store->old_size[i] = 0;
        store->other[i] = false;
        store->log[i] = (struct micro_log){.ring = NULL};
    }
    if (question->keys == 1) return;
    for (unsigned i = 0; i < question->plan->count; i++)
        store->state.cell[i] = (struct micro_cell){.kind = MICRO_KINDS};
}

static bool read_keys(struct store *store, bool only_reads)
{
    for (unsigned i = 0; i < store->question->keys; i++) {
        if (!read_key(store, i, only_reads)) return false;
    }
    return true;
}

bool store_open(struct store *store, const struct call *call, struct question *question, bool only_reads)
{
    question->ask.now = clock_read(&call->module->clock, call->engine);
    begin(store, call, question);
    return read_keys(store, only_reads);
}

/* ---- writing ---- */

/* Is that what is there?  Of a log what is behind it stays as it is. */
static bool begins_with(const struct store *store, unsigned at, const char *bytes, size_t size)
{
    const struct engine *engine = store->call->engine;
    size_t there = 0;
    if (engine->key_type(store->key[at]) != ENGINE_STRING) return false;
    const char *old = engine->string_dma(store->key[at], &there, ENGINE_READ);
    return (there == size || (there > size && store->log[at].ring != NULL)) && memcmp(old, bytes, size) == 0;
}

/* Where the value is to be, of this size; NULL: there is no string yet. */
static char *place_of(const struct store *store, unsigned at, size_t size)
{
    const struct engine *engine = store->call->engine;
    size_t there = 0;
    if (engine->key_type(store->key[at]) == ENGINE_EMPTY) return NULL;
    if (engine->value_length(store->key[at]) != size) engine->string_truncate(store->key[at], size);
    return engine->string_dma(store->key[at], &there, ENGINE_WRITE);
}

/* A new value and what replicas are told are one and the same object: that saves an allocation, and a copy. */
static void write_string(const struct store *store, unsigned at, char *place, const void *bytes, size_t size,
                         uint64_t idle_us)
{
    const struct call *call = store->call;
    const struct engine *engine = call->engine;
    const bool is_told = propagation_goes(&call->module->propagation, engine, call->context);
    const long long until_ms = (long long)call_ms_up(idle_us);
    struct RedisModuleString *name = store->question->key[at], *value = NULL;
    if (place == NULL || is_told) value = engine->create_string(NULL, bytes, size);
    if (place == NULL) engine->string_set(store->key[at], value);
    else memcpy(place, bytes, size);
    engine->set_abs_expire(store->key[at], until_ms);
    if (is_told) engine->replicate(call->context, "SET", "sssl", name, value, call->module->until, until_ms);
    else engine->replicate_verbatim(call->context);
    if (value != NULL) engine->free_string(NULL, value);
    engine->signal_modified_key(call->context, name);
}

static void write_range(const struct store *store, unsigned at, const char *bytes, const struct micro_range *range)
{
    const struct call *call = store->call;
    call->engine->replicate(call->context, "SETRANGE", "slb", store->question->key[at], (long long)range->at,
                            bytes + range->at, range->size);
}

/* In place: of a long log most stays as it is. */
static void write_log(struct store *store, unsigned at, struct micro_state *part, uint64_t idle_us)
{
    const struct call *call = store->call;
    const struct engine *engine = call->engine;
    struct RedisModuleString *name = store->question->key[at];
    struct micro_range range[MICRO_LOG_RANGES];
    const size_t before = engine->value_length(store->key[at]);
    const size_t after = micro_log_place(&part->cell[0], &store->log[at], before);
    size_t size = 0;
    if (after != before) engine->string_truncate(store->key[at], after);
    char *bytes = engine->string_dma(store->key[at], &size, ENGINE_WRITE);
    const unsigned ranges = micro_log_write(part, &store->log[at], bytes, range);
    for (unsigned i = 0; i < ranges; i++) write_range(store, at, bytes, &range[i]);
    engine->set_abs_expire(store->key[at], (long long)call_ms_up(idle_us));
    engine->replicate(call->context, "PEXPIREAT", "sl", name, (long long)call_ms_up(idle_us));
    engine->signal_modified_key(call->context, name);
}

/* A set may be long, so the engine frees it beside. */
static void unlink_key(struct store *store, unsigned at)
{
    const struct call *call = store->call;
    close_key(store, at);
    struct RedisModuleCallReply *reply = call->engine->call(call->context, "UNLINK", "!s", store->question->key[at]);
    if (reply != NULL) call->engine->free_call_reply(reply);
}

static void unlink_old(struct store *store, unsigned at)
{
    unlink_key(store, at);
    open_key(store, at, false);
}

static void write_slots(struct store *store, unsigned at, uint64_t idle_us)
{
    const struct held held = slots_of(store, at);
    const struct micro_slots *slots = held.slots;
    const uint64_t settled = store->id;
    if (slots->added == 0 && slots->freed == 0 && !slots->moved) return;
    if (store->other[at]) unlink_key(store, at);
    if (slots->added != 0 || slots->moved)
        store->id = held_add(&held, &store->question->plan->rule[at], store->question->ask.now, idle_us);
    if (slots->freed != 0) held_free(&held, settled, slots->freed);
}

/* What the key has now is this. */
static void write_whole(struct store *store, unsigned at, struct micro_state *state, uint64_t idle_us)
{
    char short_bytes[MICRO_BYTES_MAX], *bytes = short_bytes;
    const struct micro_cell *first = &state->cell[0];
    struct micro_range range[MICRO_LOG_RANGES];
    struct micro_log *log = &store->log[at];
    const bool has_ring = first->kind == MICRO_LOG && first->words != 0 && log->ring != NULL;
    size_t size = store->old_size[at];
    if (size != 0 || store->other[at]) unlink_old(store, at);
    if (has_ring && size == 0) {
        write_log(store, at, state, idle_us);
        return;
    }
    if (has_ring) {
        bytes = (char *)store->old[at];
        size = micro_log_place(&state->cell[0], log, size);
        micro_log_write(state, log, bytes, range);
    } else {
        size = micro_write(state, bytes);
    }
    write_string(store, at, place_of(store, at, size), bytes, size, idle_us);
}

static void write_part(struct store *store, unsigned at, uint64_t idle_us)
{
    char bytes[MICRO_BYTES_MAX];
    const struct part cells = part_at(store->question, at);
    struct micro_state part; /* only what is in use */
    size_t size = 0;
    part.count = cells.end - cells.first;
    part.marks = store->state.marks >> at & 1;
    if (part.marks == 0 && is_blank(store->question->plan, cells)) return;
    if (part.marks != 0) part.mark[0] = store->state.mark[at];
    memcpy(part.cell, &store->state.cell[cells.first], part.count * sizeof part.cell[0]);
    const bool log = store->log[at].pushes || store->log[at].gives;
    size = micro_write(&part, bytes);
    if (log || !begins_with(store, at, bytes, size)) write_whole(store, at, &part, idle_us);
}

void store_write(struct store *store, uint64_t idle_us)
{
    const struct question *question = store->question;
    for (unsigned i = 0; i < question->keys; i++) {
        if (question->plan->rule[i].kind == MICRO_CONCURRENT) write_slots(store, i, idle_us);
        else if (question->keys == 1) write_whole(store, 0, &store->state, idle_us);
        else write_part(store, i, idle_us);
    }
    store_close(store);
}

/* ---- the question that is asked most, in place ---- */

/* false: it is another one. */
static bool take_alone(struct store *store, struct micro_answer *given)
{
    const struct question *question = store->question;
    char *bytes = NULL, after[MICRO_ALONE];
    size_t size = 0;
    if (question->keys != 1 || !micro_may_be_alone(question->plan, &question->ask)) return false;
    const int type = open_key(store, 0, false);
    if (type == ENGINE_STRING) bytes = store->call->engine->string_dma(store->key[0], &size, ENGINE_WRITE);
    if (type != ENGINE_EMPTY && size == 0) return false;
    if (!micro_take_alone(question->plan, &question->ask, bytes, size, after, given)) return false;
    if (given->changed) write_string(store, 0, bytes, after, sizeof after, given->idle);
    store_close(store);
    return true;
}

/* When will as many be free as are asked for? */
static void find_slots(struct store *store)
{
    const int holder = micro_holder(store->question->plan);
    if (holder < 0) return;
    const struct held held = store_held(store);
    held_find(&held, &store->question->plan->rule[holder], store->question->ask.cost[holder]);
}

bool store_take(const struct call *call, struct question *question, struct micro_answer *given)
{
    struct store store;
    question->ask.now = clock_read(&call->module->clock, call->engine);
    begin(&store, call, question);
    if (take_alone(&store, given)) return true;
    if (!read_keys(&store, question->ask.peek)) return false;
    find_slots(&store);
    micro_take(question->plan, &store.state, store.log, &question->ask, given);
    if (given->changed && !question->ask.peek) store_write(&store, given->idle);
    else store_close(&store);
    given->id = store.id;
    return true;
}
