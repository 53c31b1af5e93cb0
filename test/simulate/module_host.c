/* SPDX-License-Identifier: MIT
   Functions behind names, as an engine has them.

   A key is opened, read and written in place, and closed; what it was when it was opened is kept for who loses the last
   writes.  Replication is the keyspace's own, so what the module tells replicas is dropped. */
#include "simulate/module_host.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/resp.h"
#include "redis/module/engine_api.h"

enum { COMMANDS_MOST = 16, OPEN_MOST = 8, US_PER_MS = 1000 };

struct RedisModuleString {
    const char *bytes;
    size_t size;
    char *own;
};

struct RedisModuleKey {
    struct entry *entry;
    struct value before;
};

/* The engine's function that finds all others is the first thing in it. */
struct RedisModuleCtx {
    int (*get)(const char *name, void *pointer);
};

static struct {
    struct RedisModuleCtx context;
    const char *name[COMMANDS_MOST];
    engine_command *run[COMMANDS_MOST];
    unsigned commands;
    struct keys *keys;
    uint64_t now_us;
    struct bytes *out;
    struct RedisModuleKey key[OPEN_MOST];
    unsigned open;
} host;

int RedisModule_OnLoad(struct RedisModuleCtx *context, struct RedisModuleString **argument, int count);

/* ---- loading ---- */

static int nothing(void)
{
    return ENGINE_OK;
}

static void set_attribs(struct RedisModuleCtx *context, const char *name, int version, int interface)
{
    (void)context, (void)name, (void)version, (void)interface;
}

/* The oldest that the module is for. */
static int server_version(void)
{
    return ENGINE_VERSION_7;
}

static int create_command(struct RedisModuleCtx *context, const char *name, engine_command *run, const char *flags,
                          int first, int last, int step)
{
    (void)context, (void)flags, (void)first, (void)last, (void)step;
    if (host.commands == COMMANDS_MOST) abort();
    host.name[host.commands] = name;
    host.run[host.commands++] = run;
    return ENGINE_OK;
}

static void *get_something(void)
{
    return &host;
}

/* There is no replica to be told: see keys.c. */
static unsigned long long info_field(struct RedisModuleServerInfoData *info, const char *field, int *fails)
{
    (void)info, (void)field;
    *fails = ENGINE_OK;
    return 0;
}

static void random_bytes(unsigned char *bytes, size_t size)
{
    memset(bytes, 7, size);
}

/* ---- arguments, time ---- */

static const char *string_ptr_len(const struct RedisModuleString *string, size_t *size)
{
    *size = string->size;
    return string->bytes;
}

static int wrong_arity(struct RedisModuleCtx *context)
{
    (void)context;
    resp_error(host.out, slice_of("ERR wrong number of arguments"));
    return ENGINE_OK;
}

static long long microseconds(void)
{
    return (long long)host.now_us;
}

static long long milliseconds(void)
{
    return (long long)(host.now_us / US_PER_MS);
}

/* ---- keys ---- */

static bool is_there(const struct value *value)
{
    return value->size != 0 && (value->until_ms == 0 || value->until_ms > milliseconds());
}

static struct RedisModuleKey *open_key(struct RedisModuleCtx *context, struct RedisModuleString *name, int mode)
{
    (void)context;
    if (host.open == OPEN_MOST) abort();
    struct RedisModuleKey *key = &host.key[host.open];
    key->entry = keys_find(host.keys, name->bytes, name->size);
    key->before = key->entry->value;
    if (!is_there(&key->entry->value)) key->entry->value = (struct value){0};
    if (key->entry->value.size == 0 && (mode & ENGINE_WRITE) == 0) return NULL;
    host.open++;
    return key;
}

static void close_key(struct RedisModuleKey *key)
{
    (void)key; /* all at the end of the command */
}

static int key_type(struct RedisModuleKey *key)
{
    return key != NULL && key->entry->value.size != 0 ? ENGINE_STRING : ENGINE_EMPTY;
}

static size_t value_length(struct RedisModuleKey *key)
{
    return key != NULL ? key->entry->value.size : 0;
}

static char *string_dma(struct RedisModuleKey *key, size_t *size, int mode)
{
    (void)mode;
    *size = key->entry->value.size;
    return (char *)key->entry->value.bytes;
}

static int string_truncate(struct RedisModuleKey *key, size_t size)
{
    struct value *value = &key->entry->value;
    if (size > VALUE_SIZE) abort();
    if (size > value->size) memset(value->bytes + value->size, 0, size - value->size);
    value->size = size;
    return ENGINE_OK;
}

static int string_set(struct RedisModuleKey *key, struct RedisModuleString *string)
{
    if (string->size > VALUE_SIZE) abort();
    memcpy(key->entry->value.bytes, string->bytes, string->size);
    key->entry->value.size = string->size;
    return ENGINE_OK;
}

static int set_abs_expire(struct RedisModuleKey *key, long long ms)
{
    key->entry->value.until_ms = ms;
    return ENGINE_OK;
}

static int delete_key(struct RedisModuleKey *key)
{
    key->entry->value = (struct value){0};
    return ENGINE_OK;
}

/* ---- strings, answers ---- */

static struct RedisModuleString *create_string(struct RedisModuleCtx *context, const char *bytes, size_t size)
{
    struct RedisModuleString *string = malloc(sizeof *string);
    char *own = malloc(size + 1);
    (void)context;
    if (string == NULL || own == NULL) abort();
    memcpy(own, bytes, size);
    *string = (struct RedisModuleString){own, size, own};
    return string;
}

static void free_string(struct RedisModuleCtx *context, struct RedisModuleString *string)
{
    (void)context;
    free(string->own);
    free(string);
}

static int reply_with_array(struct RedisModuleCtx *context, long size)
{
    (void)context;
    resp_array(host.out, (size_t)size);
    return ENGINE_OK;
}

static int reply_with_long_long(struct RedisModuleCtx *context, long long number)
{
    (void)context;
    resp_integer(host.out, number);
    return ENGINE_OK;
}

static int reply_with_string_buffer(struct RedisModuleCtx *context, const char *bytes, size_t size)
{
    (void)context;
    resp_bulk(host.out, (struct slice){bytes, size});
    return ENGINE_OK;
}

static int reply_with_null(struct RedisModuleCtx *context)
{
    (void)context;
    resp_null(host.out, 2);
    return ENGINE_OK;
}

static int reply_with_text(struct RedisModuleCtx *context, const char *text)
{
    (void)context;
    resp_simple(host.out, text);
    return ENGINE_OK;
}

static int reply_with_error(struct RedisModuleCtx *context, const char *text)
{
    (void)context;
    resp_error(host.out, slice_of(text));
    return ENGINE_OK;
}

/* ---- by name ---- */

typedef void any_function(void);
struct row {
    const char *name;
    any_function *function;
};

#define ROW(name, function)                                                                                            \
    {                                                                                                                  \
        "RedisModule_" name, (any_function *)(function)                                                                \
    }
static const struct row rows[] = {
    ROW("SetModuleAttribs", set_attribs),
    ROW("GetServerVersion", server_version),
    ROW("CreateCommand", create_command),
    ROW("GetCommand", get_something),
    ROW("GetRandomBytes", random_bytes),
    ROW("StringPtrLen", string_ptr_len),
    ROW("WrongArity", wrong_arity),
    ROW("Microseconds", microseconds),
    ROW("Milliseconds", milliseconds),
    ROW("MonotonicMicroseconds", microseconds),
    ROW("OpenKey", open_key),
    ROW("CloseKey", close_key),
    ROW("KeyType", key_type),
    ROW("ValueLength", value_length),
    ROW("StringDMA", string_dma),
    ROW("StringTruncate", string_truncate),
    ROW("StringSet", string_set),
    ROW("SetAbsExpire", set_abs_expire),
    ROW("DeleteKey", delete_key),
    ROW("GetServerInfo", get_something),
    ROW("ServerInfoGetFieldUnsigned", info_field),
    ROW("CreateString", create_string),
    ROW("FreeString", free_string),
    ROW("ReplyWithArray", reply_with_array),
    ROW("ReplyWithLongLong", reply_with_long_long),
    ROW("ReplyWithStringBuffer", reply_with_string_buffer),
    ROW("ReplyWithNull", reply_with_null),
    ROW("ReplyWithSimpleString", reply_with_text),
    ROW("ReplyWithError", reply_with_error),
};

/* All others do nothing: 0 is "fine", "none" and "no" alike. */
static int get(const char *name, void *pointer)
{
    any_function *function = (any_function *)nothing;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) function = rows[i].function;
    memcpy(pointer, &function, sizeof function);
    return ENGINE_OK;
}

void module_host_load(void)
{
    if (host.commands != 0) return;
    host.context.get = get;
    if (RedisModule_OnLoad(&host.context, NULL, 0) != ENGINE_OK) abort();
}

static void write_down(void)
{
    for (unsigned i = 0; i < host.open; i++) {
        const struct RedisModuleKey *key = &host.key[i];
        const struct value *now = &key->entry->value;
        const bool same = now->size == key->before.size && now->until_ms == key->before.until_ms &&
                          memcmp(now->bytes, key->before.bytes, now->size) == 0;
        if (!same) keys_changed(host.keys, key->entry, &key->before);
    }
    host.open = 0;
}

static bool is_called(struct slice word, const char *name)
{
    return word.size == strlen(name) && strncasecmp(word.bytes, name, word.size) == 0;
}

bool module_host_run(const struct slice argument[], unsigned count, struct keys *keys, uint64_t now_us,
                     struct bytes *out)
{
    struct RedisModuleString string[RESP_ARGUMENTS_MAX], *pointer[RESP_ARGUMENTS_MAX];
    unsigned command = 0;
    while (command < host.commands && !is_called(argument[0], host.name[command])) command++;
    if (command == host.commands) return false;
    for (unsigned i = 0; i < count; i++) {
        string[i] = (struct RedisModuleString){argument[i].bytes, argument[i].size, NULL};
        pointer[i] = &string[i];
    }
    host.keys = keys;
    host.now_us = now_us;
    host.out = out;
    host.run[command](&host.context, pointer, (int)count);
    write_down();
    return true;
}
