/* SPDX-License-Identifier: MIT
   Fetches the engine's functions by their names.

   All that are marked needed are set when it returns NULL. */
#include "redis/module/engine_api.h"

#include <string.h>

struct row {
    const char *name;
    size_t at;
    bool needed;
};

#define NEEDED(name, member)                                                                                           \
    {                                                                                                                  \
        "RedisModule_" name, offsetof(struct engine, member), true                                                     \
    }
#define WANTED(name, member)                                                                                           \
    {                                                                                                                  \
        "RedisModule_" name, offsetof(struct engine, member), false                                                    \
    }

/* The log comes first, so that it can be said what is lacking. */
static const struct row rows[] = {
    NEEDED("Log", log),
    NEEDED("SetModuleAttribs", set_module_attribs),
    NEEDED("GetServerVersion", get_server_version),
    NEEDED("SetModuleOptions", set_module_options),
    NEEDED("CreateCommand", create_command),
    NEEDED("GetCommand", get_command),
    NEEDED("SetCommandInfo", set_command_info),
    WANTED("SetCommandACLCategories", set_command_acl_categories),
    NEEDED("GetRandomBytes", get_random_bytes),
    NEEDED("StringPtrLen", string_ptr_len),
    NEEDED("IsKeysPositionRequest", is_keys_position_request),
    NEEDED("KeyAtPosWithFlags", key_at_pos_with_flags),
    NEEDED("WrongArity", wrong_arity),
    WANTED("Microseconds", microseconds),
    NEEDED("Milliseconds", milliseconds),
    NEEDED("MonotonicMicroseconds", monotonic_microseconds),
    NEEDED("OpenKey", open_key),
    NEEDED("CloseKey", close_key),
    NEEDED("KeyType", key_type),
    NEEDED("ValueLength", value_length),
    NEEDED("StringDMA", string_dma),
    NEEDED("StringTruncate", string_truncate),
    NEEDED("StringSet", string_set),
    NEEDED("SetAbsExpire", set_abs_expire),
    NEEDED("DeleteKey", delete_key),
    NEEDED("SignalModifiedKey", signal_modified_key),
    NEEDED("Replicate", replicate),
    NEEDED("ReplicateVerbatim", replicate_verbatim),
    NEEDED("GetContextFlags", get_context_flags),
    NEEDED("SubscribeToServerEvent", subscribe_to_server_event),
    NEEDED("GetServerInfo", get_server_info),
    NEEDED("ServerInfoGetFieldUnsigned", server_info_get_field_unsigned),
    NEEDED("FreeServerInfo", free_server_info),
    NEEDED("Call", call),
    NEEDED("FreeCallReply", free_call_reply),
    NEEDED("CallReplyType", call_reply_type),
    NEEDED("CallReplyLength", call_reply_length),
    NEEDED("CallReplyInteger", call_reply_integer),
    NEEDED("CallReplyArrayElement", call_reply_array_element),
    NEEDED("CallReplyStringPtr", call_reply_string_ptr),
    NEEDED("CreateString", create_string),
    NEEDED("FreeString", free_string),
    NEEDED("ReplyWithArray", reply_with_array),
    NEEDED("ReplyWithLongLong", reply_with_long_long),
    NEEDED("ReplyWithStringBuffer", reply_with_string_buffer),
    NEEDED("ReplyWithNull", reply_with_null),
    NEEDED("ReplyWithSimpleString", reply_with_simple_string),
    NEEDED("ReplyWithError", reply_with_error),
};

const char *engine_fetch(struct engine *engine, const struct RedisModuleCtx *context)
{
    int (*get)(const char *name, void *pointer);
    const char *lacking = NULL;
    memcpy(&get, context, sizeof get);
    memset(engine, 0, sizeof *engine);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int fails = get(rows[i].name, (char *)engine + rows[i].at);
        if (fails != ENGINE_OK && rows[i].needed && lacking == NULL) lacking = rows[i].name;
    }
    return lacking;
}
