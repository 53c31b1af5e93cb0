/* SPDX-License-Identifier: MIT
   Of the interface that Redis and Valkey offer to modules, the part that we use.

   Declared by us from the reference (redis.io, "Modules API reference"; Valkey keeps the names), since no package has
   the engine's own header: nothing here is copied.

       context --> | the engine's GetApi | ...      get(name, &pointer): 0, and the pointer is set

   What a module calls are pointers fetched by name when it is loaded; what it exports is RedisModule_OnLoad.

   These types are the engine's, word for word in memory (version 1 of the interface). */
#ifndef WEIR_REDIS_MODULE_ENGINE_API_H
#define WEIR_REDIS_MODULE_ENGINE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct RedisModuleCtx;
struct RedisModuleString;
struct RedisModuleKey;
struct RedisModuleCallReply;
struct RedisModuleCommand;
struct RedisModuleServerInfoData;

enum { ENGINE_OK = 0, ENGINE_ERR = 1, ENGINE_INTERFACE = 1 };
enum { ENGINE_READ = 1 << 0, ENGINE_WRITE = 1 << 1 };
enum engine_type { ENGINE_EMPTY = 0, ENGINE_STRING = 1, ENGINE_ZSET = 5 };
enum { ENGINE_REPLY_STRING = 0, ENGINE_REPLY_INTEGER = 2, ENGINE_REPLY_ARRAY = 3 };
enum { ENGINE_SIGNALS_BY_HAND = 1 << 1 };
enum { ENGINE_HAS_CLUSTER = 1 << 5, ENGINE_HAS_AOF = 1 << 6 }; /* of GetContextFlags */
enum { ENGINE_ROLE_CHANGED = 0, ENGINE_FORKED = 13, ENGINE_EVENT_VERSION = 1 };
enum { ENGINE_VERSION_7 = 7 << 16 }; /* as GetServerVersion has it: major, minor, patch */

/* Of a key in a command. */
enum {
    ENGINE_KEY_RW = 1 << 1,
    ENGINE_KEY_RM = 1 << 3,
    ENGINE_KEY_ACCESS = 1 << 4,
    ENGINE_KEY_UPDATE = 1 << 5,
    ENGINE_KEY_DELETE = 1 << 7,
    ENGINE_KEY_INCOMPLETE = 1 << 9
};
enum { ENGINE_BEGIN_INDEX = 2, ENGINE_BEGIN_KEYWORD = 3 };
enum { ENGINE_FIND_RANGE = 2 };

struct engine_key_spec {
    const char *notes;
    uint64_t flags;
    int begin_type;
    union {
        struct {
            int position;
        } index;
        struct {
            const char *word;
            int start_from;
        } keyword;
    } begin;
    int find_type;
    union {
        struct {
            int last_key, step, limit;
        } range;
        struct {
            int number_at, first_key, step;
        } number;
    } find;
};

struct engine_info_version {
    int version;
    size_t size_of_history, size_of_key_spec, size_of_argument;
};

struct engine_command_info {
    const struct engine_info_version *version;
    const char *summary, *complexity, *since;
    const void *history;
    const char *tips;
    int arity;
    const struct engine_key_spec *key_specs;
    const void *arguments;
};

struct engine_event {
    uint64_t id, version;
};

typedef int engine_command(struct RedisModuleCtx *, struct RedisModuleString **argument, int count);
typedef void engine_on_event(struct RedisModuleCtx *, struct engine_event, uint64_t which, void *);

/* Each is called RedisModule_ and its name here.  Without one of them loading fails, but for those that may be NULL. */
struct engine {
    /* loading */
    int (*set_module_attribs)(struct RedisModuleCtx *, const char *name, int version, int interface);
    void (*set_module_options)(struct RedisModuleCtx *, int options);
    int (*get_server_version)(void);
    int (*create_command)(struct RedisModuleCtx *, const char *name, engine_command *, const char *flags, int first,
                          int last, int step);
    struct RedisModuleCommand *(*get_command)(struct RedisModuleCtx *, const char *name);
    int (*set_command_info)(struct RedisModuleCommand *, const struct engine_command_info *);
    int (*set_command_acl_categories)(struct RedisModuleCommand *, const char *names); /* NULL before 7.2 */
    void (*get_random_bytes)(unsigned char *, size_t);
    /* arguments, and which of them are keys */
    const char *(*string_ptr_len)(const struct RedisModuleString *, size_t *);
    int (*is_keys_position_request)(struct RedisModuleCtx *);
    void (*key_at_pos_with_flags)(struct RedisModuleCtx *, int position, int flags);
    int (*wrong_arity)(struct RedisModuleCtx *);
    /* time */
    long long (*microseconds)(void); /* NULL before 7.2 */
    long long (*milliseconds)(void);
    uint64_t (*monotonic_microseconds)(void);
    /* keys */
    struct RedisModuleKey *(*open_key)(struct RedisModuleCtx *, struct RedisModuleString *name, int mode);
    void (*close_key)(struct RedisModuleKey *);
    int (*key_type)(struct RedisModuleKey *);
    size_t (*value_length)(struct RedisModuleKey *);
    char *(*string_dma)(struct RedisModuleKey *, size_t *, int mode);
    int (*string_truncate)(struct RedisModuleKey *, size_t);
    int (*string_set)(struct RedisModuleKey *, struct RedisModuleString *);
    int (*set_abs_expire)(struct RedisModuleKey *, long long ms);
    int (*delete_key)(struct RedisModuleKey *);
    int (*signal_modified_key)(struct RedisModuleCtx *, struct RedisModuleString *name);
    /* other commands */
    int (*replicate)(struct RedisModuleCtx *, const char *command, const char *format, ...);
    int (*replicate_verbatim)(struct RedisModuleCtx *);
    int (*get_context_flags)(struct RedisModuleCtx *);
    int (*subscribe_to_server_event)(struct RedisModuleCtx *, struct engine_event, engine_on_event *);
    struct RedisModuleServerInfoData *(*get_server_info)(struct RedisModuleCtx *, const char *section);
    unsigned long long (*server_info_get_field_unsigned)(struct RedisModuleServerInfoData *, const char *field, int *);
    void (*free_server_info)(struct RedisModuleCtx *, struct RedisModuleServerInfoData *);
    struct RedisModuleCallReply *(*call)(struct RedisModuleCtx *, const char *command, const char *format, ...);
    void (*free_call_reply)(struct RedisModuleCallReply *);
    int (*call_reply_type)(struct RedisModuleCallReply *);
    size_t (*call_reply_length)(struct RedisModuleCallReply *);
    long long (*call_reply_integer)(struct RedisModuleCallReply *);
    struct RedisModuleCallReply *(*call_reply_array_element)(struct RedisModuleCallReply *, size_t);
    const char *(*call_reply_string_ptr)(struct RedisModuleCallReply *, size_t *);
    struct RedisModuleString *(*create_string)(struct RedisModuleCtx *, const char *, size_t);
    void (*free_string)(struct RedisModuleCtx *, struct RedisModuleString *);
    /* answers */
    int (*reply_with_array)(struct RedisModuleCtx *, long size);
    int (*reply_with_long_long)(struct RedisModuleCtx *, long long);
    int (*reply_with_string_buffer)(struct RedisModuleCtx *, const char *, size_t);
    int (*reply_with_null)(struct RedisModuleCtx *);
    int (*reply_with_simple_string)(struct RedisModuleCtx *, const char *);
    int (*reply_with_error)(struct RedisModuleCtx *, const char *);
    void (*log)(struct RedisModuleCtx *, const char *level, const char *format, ...);
};

/* The name of the first that is lacking, without which nothing goes; NULL: all are here. */
const char *engine_fetch(struct engine *, const struct RedisModuleCtx *);

#endif
