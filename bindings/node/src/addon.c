/* SPDX-License-Identifier: MIT
   weir for Node, by Node-API.  What a call decides is written into memory that JavaScript reads: a page of decisions,
   of which JavaScript names the next free one.  So a take allocates nothing.

   index.js checks types and ranges before it calls; what is here returns undefined after an exception. */
#include <node_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../weir/weir.h"

enum { ARGUMENTS_MAX = 7, KEY_SIZE = 256, TEXT_SIZE = 4096 };

/* One for each environment (the process, each worker thread). */
struct instance {
    weir_decision *page;
    size_t decisions;
};

/* A call's arguments, and what went wrong with them. */
struct call {
    napi_env env;
    napi_value argument[ARGUMENTS_MAX];
    struct instance *instance;
};

static struct call begin(napi_env env, napi_callback_info info)
{
    struct call call = {.env = env};
    size_t count = ARGUMENTS_MAX;
    void *data;
    napi_get_cb_info(env, info, &count, call.argument, NULL, &data);
    call.instance = data;
    return call;
}

static uint64_t whole(const struct call *call, int at)
{
    int64_t number = 0;
    napi_get_value_int64(call->env, call->argument[at], &number);
    return (uint64_t)number;
}

static uint64_t big(const struct call *call, int at)
{
    uint64_t number = 0;
    bool lossless;
    napi_get_value_bigint_uint64(call->env, call->argument[at], &number, &lossless);
    return number;
}

static void *external(const struct call *call, int at)
{
    void *data = NULL;
    napi_get_value_external(call->env, call->argument[at], &data);
    return data;
}

/* Owned; NULL: no memory, which has been thrown. */
static char *text(const struct call *call, int at)
{
    size_t size = 0;
    napi_get_value_string_utf8(call->env, call->argument[at], NULL, 0, &size);
    char *copy = malloc(size + 1);
    if (copy == NULL) napi_throw_error(call->env, "ERR_WEIR", "no memory");
    else napi_get_value_string_utf8(call->env, call->argument[at], copy, size + 1, &size);
    return copy;
}

/* A key of a string or of bytes. */
struct key {
    char shorter[KEY_SIZE];
    char *longer; /* owned; the copy of a string that does not fit in shorter */
    weir_key key;
};

/* False: no memory, which has been thrown. */
static bool key_of(const struct call *call, int at, struct key *out)
{
    napi_env env = call->env;
    napi_value value = call->argument[at];
    size_t size = 0;
    void *bytes = NULL;
    out->longer = NULL;
    if (napi_get_value_string_utf8(env, value, out->shorter, KEY_SIZE, &size) != napi_ok) {
        napi_get_buffer_info(env, value, &bytes, &size);
        out->key = (weir_key){bytes, size};
        return true;
    }
    out->key = (weir_key){out->shorter, size};
    if (size + 4 < KEY_SIZE) return true; /* not cut: a character has at most four bytes */
    out->longer = text(call, at);
    if (out->longer == NULL) return false;
    napi_get_value_string_utf8(env, value, NULL, 0, &size);
    out->key = (weir_key){out->longer, size};
    return true;
}

static napi_value bigint(napi_env env, uint64_t value)
{
    napi_value result;
    napi_create_bigint_uint64(env, value, &result);
    return result;
}

static napi_value number(napi_env env, double value)
{
    napi_value result;
    napi_create_double(env, value, &result);
    return result;
}

static napi_value string(napi_env env, const char *value)
{
    napi_value result;
    napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &result);
    return result;
}

/* weir's message, with its code and column as properties. */
static napi_value fail(napi_env env, const weir_error *error)
{
    napi_value thrown;
    napi_create_error(env, string(env, "ERR_WEIR"), string(env, error->message), &thrown);
    napi_set_named_property(env, thrown, "column", number(env, error->column));
    napi_throw(env, thrown);
    return NULL;
}

/* ---- decisions ---- */

static napi_value set_page(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    void *bytes = NULL;
    size_t size = 0;
    napi_get_arraybuffer_info(env, call.argument[0], &bytes, &size);
    call.instance->page = bytes;
    call.instance->decisions = size / sizeof(weir_decision);
    return NULL;
}

static weir_decision *decision_at(const struct call *call, int at)
{
    const uint64_t number_of_it = whole(call, at);
    return &call->instance->page[number_of_it < call->instance->decisions ? number_of_it : 0];
}

/* A decision anywhere: as the bytes of a typed array. */
static weir_decision *decision_of(const struct call *call, int at)
{
    void *bytes = NULL;
    size_t length = 0;
    napi_get_typedarray_info(call->env, call->argument[at], NULL, &length, &bytes, NULL, NULL);
    return length * sizeof(uint64_t) == sizeof(weir_decision) ? bytes : NULL;
}

/* ---- plans ---- */

static void free_memory(napi_env env, void *memory, void *hint)
{
    (void)env;
    (void)hint;
    free(memory);
}

static napi_value owned(napi_env env, void *data, napi_finalize finalize)
{
    napi_value result = NULL;
    if (napi_create_external(env, data, finalize, NULL, &result) != napi_ok) finalize(env, data, NULL);
    return result;
}

static napi_value plan_parse(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    char *limits = text(&call, 0);
    weir_plan *plan = malloc(sizeof *plan);
    weir_error error = {.message = "no memory"};
    if (limits == NULL || plan == NULL ||
        weir_plan_parse(plan, limits, whole(&call, 1) != 0 ? WEIR_PACE : WEIR_ADMIT, &error) != 0) {
        free(limits);
        free(plan);
        return fail(env, &error);
    }
    free(limits);
    return owned(env, plan, free_memory);
}

static napi_value plan_text(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    char out[TEXT_SIZE];
    weir_plan_text(external(&call, 0), out, sizeof out);
    return string(env, out);
}

/* (plan): the unit of each of its limits */
static napi_value plan_units(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    const weir_plan *plan = external(&call, 0);
    char unit[WEIR_UNIT_SIZE];
    napi_value result;
    napi_create_array(env, &result);
    for (int i = 0; weir_plan_unit(plan, i, unit); i++) napi_set_element(env, result, (uint32_t)i, string(env, unit));
    return result;
}

static napi_value plan_lease_ns(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    return bigint(env, weir_plan_lease_ns(external(&call, 0)));
}

/* (plan, decision, its full_ns) */
static napi_value plan_headers(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    const weir_plan *plan = external(&call, 0);
    const weir_decision *decision = decision_of(&call, 1);
    char out[TEXT_SIZE] = "";
    if (plan != NULL && decision != NULL) weir_plan_headers(plan, decision, big(&call, 2), out, sizeof out);
    return string(env, out);
}

/* ---- limiters ---- */

/* What a handle of JavaScript has: closed where it has nothing. */
struct limiter {
    weir_limiter *limiter;
};

static void limiter_finalize(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    struct limiter *limiter = data;
    weir_close(limiter->limiter);
    free(limiter);
}

static napi_value limiter_open(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    char *limits = text(&call, 0);
    struct limiter *limiter = calloc(1, sizeof *limiter);
    weir_options options = WEIR_OPTIONS;
    weir_error error = {.message = "no memory"};
    options.use = whole(&call, 1) != 0 ? WEIR_PACE : WEIR_ADMIT;
    options.clock = (weir_clock)whole(&call, 2);
    if (limits == NULL || limiter == NULL || weir_open(&limiter->limiter, limits, &options, &error) != 0) {
        free(limits);
        free(limiter);
        return fail(env, &error);
    }
    free(limits);
    return owned(env, limiter, limiter_finalize);
}

static napi_value limiter_close(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    struct limiter *limiter = external(&call, 0);
    if (limiter != NULL) {
        weir_close(limiter->limiter);
        limiter->limiter = NULL;
    }
    return NULL;
}

static weir_limiter *limiter_of(const struct call *call)
{
    const struct limiter *limiter = external(call, 0);
    if (limiter != NULL && limiter->limiter != NULL) return limiter->limiter;
    napi_throw_error(call->env, "ERR_WEIR", "this limiter is closed");
    return NULL;
}

enum { TAKE, TAKE_SOME, CHARGE, PEEK, TAKE_AT, RESERVE }; /* as in index.js */

/* (limiter, decision, cost, how, ns: now, or the longest delay) */
static napi_value limiter_take(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    if (limiter == NULL) return NULL;
    weir_decision *decision = decision_at(&call, 1);
    const uint64_t cost = whole(&call, 2);
    switch (whole(&call, 3)) {
    case TAKE: *decision = weir_take(limiter, cost); break;
    case TAKE_SOME: *decision = weir_take_some(limiter, cost); break;
    case CHARGE: *decision = weir_charge(limiter, cost); break;
    case TAKE_AT: *decision = weir_take_at(limiter, (weir_instant){big(&call, 4)}, cost); break;
    case RESERVE: *decision = weir_reserve(limiter, cost, big(&call, 4)); break;
    default: *decision = weir_peek(limiter, cost); break;
    }
    return NULL;
}

/* Numbers of each limit: WEIR_LIMITS_MAX costs, and as many ends.  NULL: something else. */
static uint64_t *each_of(const struct call *call, int at)
{
    void *words = NULL;
    size_t length = 0;
    napi_get_typedarray_info(call->env, call->argument[at], NULL, &length, &words, NULL, NULL);
    return length == 2 * WEIR_LIMITS_MAX ? words : NULL;
}

static const uint64_t nothing[WEIR_LIMITS_MAX];

/* (limiter, decision, each, how, ns): a charge is taken for nothing, and settled. */
static napi_value limiter_take_each(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    uint64_t *each = each_of(&call, 2);
    if (limiter == NULL || each == NULL) return NULL;
    weir_decision *decision = decision_at(&call, 1);
    const bool charges = whole(&call, 3) == CHARGE;
    const uint64_t delay_max_ns = whole(&call, 3) == RESERVE ? big(&call, 4) : 0;
    *decision = weir_reserve_each(limiter, charges ? nothing : each, each + WEIR_LIMITS_MAX, delay_max_ns);
    if (charges) weir_settle_each(limiter, decision, nothing, each, each + WEIR_LIMITS_MAX);
    return NULL;
}

static napi_value boolean(napi_env env, bool value)
{
    napi_value result;
    napi_get_boolean(env, value, &result);
    return result;
}

static bool is_true(const struct call *call, int at)
{
    bool value = false;
    napi_get_value_bool(call->env, call->argument[at], &value);
    return value;
}

/* (limiter, id, whether it is renewed, not released): whether it was held */
static napi_value limiter_hold(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    if (limiter == NULL) return NULL;
    const uint64_t id = big(&call, 1);
    return boolean(env, is_true(&call, 2) ? weir_renew(limiter, id) : weir_release(limiter, id));
}

/* (limiter, decision, actual, each): as it was taken, by numbers of each limit or else by one. */
static napi_value limiter_settle(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    weir_decision *decision = decision_of(&call, 1);
    const uint64_t *actual = each_of(&call, 2), *each = each_of(&call, 3);
    if (limiter == NULL || decision == NULL || actual == NULL) return NULL;
    if (each == NULL) weir_settle(limiter, decision, actual[0]);
    else weir_settle_each(limiter, decision, each, actual, each + WEIR_LIMITS_MAX);
    return NULL;
}

/* (limiter, decision) */
static napi_value limiter_full_ns(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    const weir_decision *decision = decision_of(&call, 1);
    return limiter == NULL || decision == NULL ? NULL : bigint(env, weir_full_ns(limiter, decision));
}

static napi_value limiter_set_limit(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    char *limits = limiter == NULL ? NULL : text(&call, 1);
    if (limits == NULL) return NULL;
    weir_error error;
    const int status = weir_set_limit(limiter, limits, (weir_carry)whole(&call, 2), &error);
    free(limits);
    return status == 0 ? NULL : fail(env, &error);
}

/* (limiter, now) */
static napi_value limiter_set_time(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    if (limiter != NULL) weir_manual_set(limiter, (weir_instant){big(&call, 1)});
    return NULL;
}

/* (limiter, decision, nth) */
static napi_value limiter_due(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    const weir_decision *decision = decision_of(&call, 1);
    if (limiter == NULL || decision == NULL) return NULL;
    return bigint(env, weir_due(limiter, decision, whole(&call, 2)).ns);
}

/* (limiter, decision) */
static napi_value limiter_done(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    const weir_decision *decision = decision_of(&call, 1);
    if (limiter != NULL && decision != NULL) weir_done(limiter, decision);
    return NULL;
}

/* (limiter, due, start, now) */
static napi_value limiter_done_at(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    if (limiter != NULL)
        weir_done_at(limiter, (weir_instant){big(&call, 1)}, (weir_instant){big(&call, 2)},
                     (weir_instant){big(&call, 3)});
    return NULL;
}

/* 64-bit words for what a function of weir fills; NULL: no memory, which has been thrown. */
static napi_value words(napi_env env, size_t count, void **bytes)
{
    napi_value buffer, result = NULL;
    if (napi_create_arraybuffer(env, count * sizeof(uint64_t), bytes, &buffer) != napi_ok) return NULL;
    napi_create_typedarray(env, napi_biguint64_array, count, buffer, 0, &result);
    return result;
}

/* The words of a weir_latency. */
static napi_value limiter_latency(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    void *bytes;
    napi_value result = limiter == NULL ? NULL : words(env, sizeof(weir_latency) / sizeof(uint64_t), &bytes);
    if (result != NULL) weir_read_latency(limiter, bytes, sizeof(weir_latency));
    return result;
}

/* (limiter, measure): the words of its buckets. */
static napi_value limiter_buckets(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_limiter *limiter = limiter_of(&call);
    if (limiter == NULL) return NULL;
    const weir_measure measure = (weir_measure)whole(&call, 1);
    const size_t count = weir_read_buckets(limiter, measure, NULL, 0);
    void *bytes;
    napi_value result = words(env, count * sizeof(weir_bucket) / sizeof(uint64_t), &bytes);
    if (result != NULL) weir_read_buckets(limiter, measure, bytes, count); /* as many: no other thread has it */
    return result;
}

/* ---- tables ---- */

struct table {
    weir_table *table;
};

static void table_finalize(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    struct table *table = data;
    weir_table_close(table->table);
    free(table);
}

/* (path or undefined, keys, plan or undefined, mode, when_full) */
static napi_value table_open(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    napi_valuetype type;
    napi_typeof(env, call.argument[0], &type);
    char *path = type == napi_string ? text(&call, 0) : NULL;
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    if (path == NULL) options.sharing = WEIR_PRIVATE;
    options.keys_max = whole(&call, 1);
    options.plan = external(&call, 2);
    options.mode = (unsigned)whole(&call, 3);
    options.when_full = (weir_when_full)whole(&call, 4);
    struct table *table = calloc(1, sizeof *table);
    weir_error error = {.message = "no memory"};
    if (table == NULL || weir_table_open(&table->table, &options, &error) != 0) {
        free(path);
        free(table);
        return fail(env, &error);
    }
    free(path);
    return owned(env, table, table_finalize);
}

static napi_value table_close(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    struct table *table = external(&call, 0);
    if (table != NULL) {
        weir_table_close(table->table);
        table->table = NULL;
    }
    return NULL;
}

static weir_table *table_of(const struct call *call)
{
    const struct table *table = external(call, 0);
    if (table != NULL && table->table != NULL) return table->table;
    napi_throw_error(call->env, "ERR_WEIR", "this table is closed");
    return NULL;
}

/* (table, plan) */
static napi_value table_fits(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    weir_error error;
    if (table == NULL || weir_table_fits(table, external(&call, 1), &error) == 0) return NULL;
    return fail(env, &error);
}

/* (table, decision, plan, key, cost, how, ns) */
static napi_value table_take(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    struct key key;
    if (table == NULL || !key_of(&call, 3, &key)) return NULL;
    const weir_plan *plan = external(&call, 2);
    weir_decision *decision = decision_at(&call, 1);
    const uint64_t cost = whole(&call, 4);
    switch (whole(&call, 5)) {
    case TAKE: *decision = weir_table_take(table, plan, key.key, cost); break;
    case CHARGE: *decision = weir_table_charge(table, plan, key.key, cost); break;
    case TAKE_AT: *decision = weir_table_take_at(table, plan, key.key, (weir_instant){big(&call, 6)}, cost); break;
    case RESERVE: *decision = weir_table_reserve(table, plan, key.key, cost, big(&call, 6)); break;
    default: *decision = weir_table_peek(table, plan, key.key, -1, cost); break;
    }
    free(key.longer);
    return NULL;
}

/* (table, decision, plan, key, actual, each): as limiter_settle */
static napi_value table_settle(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    weir_decision *decision = decision_of(&call, 1);
    const weir_plan *plan = external(&call, 2);
    const uint64_t *actual = each_of(&call, 4), *each = each_of(&call, 5);
    struct key key;
    if (table == NULL || decision == NULL || actual == NULL || !key_of(&call, 3, &key)) return NULL;
    if (each == NULL) weir_table_settle(table, plan, key.key, decision, actual[0]);
    else weir_table_settle_each(table, plan, key.key, decision, each, actual, each + WEIR_LIMITS_MAX);
    free(key.longer);
    return NULL;
}

/* (table, decision, plan, key, each, how, ns) */
static napi_value table_take_each(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    uint64_t *each = each_of(&call, 4);
    struct key key;
    if (table == NULL || each == NULL || !key_of(&call, 3, &key)) return NULL;
    const weir_plan *plan = external(&call, 2);
    weir_decision *decision = decision_at(&call, 1);
    const bool charges = whole(&call, 5) == CHARGE;
    uint64_t *const end = each + WEIR_LIMITS_MAX;
    const uint64_t delay_max_ns = whole(&call, 5) == RESERVE ? big(&call, 6) : 0;
    *decision = weir_table_reserve_each(table, plan, key.key, charges ? nothing : each, end, delay_max_ns);
    if (charges) weir_table_settle_each(table, plan, key.key, decision, nothing, each, end);
    free(key.longer);
    return NULL;
}

/* (table, plan, key, id, whether it is renewed, not released): whether it was held */
static napi_value table_hold(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    const weir_plan *plan = external(&call, 1);
    const uint64_t id = big(&call, 3);
    struct key key;
    if (table == NULL || !key_of(&call, 2, &key)) return NULL;
    const bool held = is_true(&call, 4) ? weir_table_renew(table, plan, key.key, id)
                                        : weir_table_release(table, plan, key.key, id);
    free(key.longer);
    return boolean(env, held);
}

/* (table, the first of as many decisions, keys, plans, cost): from all of these keys, or from none */
static napi_value table_take_all(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    weir_ask asks[WEIR_ASKS_MAX];
    struct key keys[WEIR_ASKS_MAX];
    uint32_t count = 0, read = 0;
    if (table == NULL || napi_get_array_length(env, call.argument[2], &count) != napi_ok) return NULL;
    for (; read < count && read < WEIR_ASKS_MAX; read++) {
        struct call one = call;
        napi_get_element(env, call.argument[2], read, &one.argument[0]);
        napi_get_element(env, call.argument[3], read, &one.argument[1]);
        if (!key_of(&one, 0, &keys[read])) break;
        asks[read] = (weir_ask){.plan = external(&one, 1), .key = keys[read].key, .cost = whole(&call, 4)};
    }
    if (read == count) weir_table_take_all(table, asks, count, weir_now());
    weir_decision *decisions = decision_at(&call, 1);
    const bool fit = decisions + count <= call.instance->page + call.instance->decisions;
    for (uint32_t i = 0; i < read; i++) {
        if (fit) decisions[i] = asks[i].decision;
        free(keys[i].longer);
    }
    return NULL;
}

/* (parent, tenants): throws where they are guaranteed more than there is */
static napi_value plan_check_tenants(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    uint32_t count = 0;
    napi_get_array_length(env, call.argument[1], &count);
    const weir_plan **plans = malloc((count + 1) * sizeof *plans);
    weir_error error = {.message = "no memory"};
    for (uint32_t i = 0; plans != NULL && i < count; i++) {
        struct call one = call;
        napi_get_element(env, call.argument[1], i, &one.argument[0]);
        plans[i] = external(&one, 0);
    }
    const bool fits = plans != NULL && weir_plan_check_tenants(external(&call, 0), plans, count, &error) == 0;
    free(plans);
    return fits ? NULL : fail(env, &error);
}

/* (table, decision, plan) */
static napi_value table_full_ns(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    const weir_table *table = table_of(&call);
    const weir_decision *decision = decision_of(&call, 1);
    if (table == NULL || decision == NULL) return NULL;
    return bigint(env, weir_table_full_ns(table, external(&call, 2), decision));
}

/* (table, plan, key) */
static napi_value table_forget(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    struct key key;
    if (table == NULL || !key_of(&call, 2, &key)) return NULL;
    weir_table_forget(table, external(&call, 1), key.key);
    free(key.longer);
    return NULL;
}

static napi_value table_stats(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    weir_table *table = table_of(&call);
    if (table == NULL) return NULL;
    weir_table_stats stats;
    weir_table_read_stats(table, &stats, sizeof stats);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"keysLive", stats.keys_live}, {"keysMax", stats.keys_max},     {"bytes", stats.bytes},
        {"granted", stats.granted},    {"denied", stats.denied},        {"full", stats.full},
        {"displaced", stats.displaced}, {"reclaimed", stats.reclaimed}, {"stuck", stats.stuck},
    };
    napi_value result;
    napi_create_object(env, &result);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        napi_set_named_property(env, result, rows[i].name, number(env, (double)rows[i].value));
    return result;
}

/* ---- the clock ---- */

static napi_value now_ns(napi_env env, napi_callback_info info)
{
    (void)info;
    return bigint(env, weir_now().ns);
}

/* (start of a decision in ns): the milliseconds until then. */
static napi_value until_ms(napi_env env, napi_callback_info info)
{
    const struct call call = begin(env, info);
    const uint64_t start = big(&call, 0), now = weir_now().ns;
    return number(env, start > now ? (double)(start - now) / 1e6 : 0);
}

static napi_value init(napi_env env, napi_value exports)
{
    struct instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL || napi_set_instance_data(env, instance, free_memory, NULL) != napi_ok) {
        free(instance);
        napi_throw_error(env, "ERR_WEIR", "no memory");
        return NULL;
    }
    const struct {
        const char *name;
        napi_callback function;
    } rows[] = {
        {"setPage", set_page},
        {"planParse", plan_parse},
        {"planText", plan_text},
        {"planHeaders", plan_headers},
        {"planUnits", plan_units},
        {"planLeaseNs", plan_lease_ns},
        {"limiterOpen", limiter_open},
        {"limiterClose", limiter_close},
        {"limiterTake", limiter_take},
        {"limiterTakeEach", limiter_take_each},
        {"limiterSettle", limiter_settle},
        {"limiterHold", limiter_hold},
        {"limiterFullNs", limiter_full_ns},
        {"limiterSetLimit", limiter_set_limit},
        {"limiterSetTime", limiter_set_time},
        {"limiterDue", limiter_due},
        {"limiterDone", limiter_done},
        {"limiterDoneAt", limiter_done_at},
        {"limiterLatency", limiter_latency},
        {"limiterBuckets", limiter_buckets},
        {"tableOpen", table_open},
        {"tableClose", table_close},
        {"tableFits", table_fits},
        {"tableTake", table_take},
        {"tableTakeEach", table_take_each},
        {"tableTakeAll", table_take_all},
        {"planCheckTenants", plan_check_tenants},
        {"tableSettle", table_settle},
        {"tableHold", table_hold},
        {"tableFullNs", table_full_ns},
        {"tableForget", table_forget},
        {"tableStats", table_stats},
        {"nowNs", now_ns},
        {"untilMs", until_ms},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        napi_value function;
        napi_create_function(env, rows[i].name, NAPI_AUTO_LENGTH, rows[i].function, instance, &function);
        napi_set_named_property(env, exports, rows[i].name, function);
    }
    napi_set_named_property(env, exports, "version", string(env, weir_version()));
    return exports;
}

NAPI_MODULE(libweir, init)
