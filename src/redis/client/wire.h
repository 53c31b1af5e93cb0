/* SPDX-License-Identifier: MIT
   Questions as commands, answers as decisions, errors as what to do about them.

   See wire.c and fault.c. */
#ifndef WEIR_REDIS_CLIENT_WIRE_H
#define WEIR_REDIS_CLIENT_WIRE_H

#include <weir/redis.h>

#include "redis/client/limit.h"
#include "redis/client/link/link.h"
#include "redis/client/local/leases.h"
#include "redis/micro/micro.h"

enum {
    WIRE_WORDS_MAX = 8 + 3 * WEIR_LIMITS_MAX,
    WIRE_NUMBER_MAX = 24,
    WIRE_KEY_MAX = 1 << 20 /* bytes of a key, prefix and all */
};

/* One command; the words are borrowed. */
struct command {
    unsigned count;
    const char *word[WIRE_WORDS_MAX];
    size_t size[WIRE_WORDS_MAX];
    char receipt[MICRO_RECEIPT_MAX];
    char number[WIRE_WORDS_MAX][WIRE_NUMBER_MAX];
};

/* The keys of one question, one behind the other in memory that grows. */
struct wire_keys {
    char *memory;
    size_t room;
    size_t at[WEIR_LIMITS_MAX], size[WEIR_LIMITS_MAX];
};

/* Room for so many bytes; false: no memory. */
bool wire_room(struct wire_keys *keys, size_t size);

/* "{prefix key}", and ":0" ... behind it where each limit has its own.  false: too long, or no memory. */
bool wire_keys(struct wire_keys *keys, const char *prefix, weir_key key, unsigned count);

/* How to ask there; script: its source, or NULL to name it by its hash. */
void wire_command(struct command *command, const weir_engine_ask *ask, const struct wire_keys *keys, enum link_way way,
                  bool whole_script);

/* Of a question that writes nothing, and is refused where others would be. */
void wire_trial(struct command *command, const char *key, enum link_way way);

/* Fills the ask's decision and full_ns.  false: this is no answer to it. */
bool wire_answer(weir_engine_ask *ask, const redisReply *reply, enum link_way way, uint64_t now_ns);

/* LEASE, or where nothing is wanted RETURN. */
void wire_lease(struct command *command, const struct engine_lease_command *lease, const struct limit_text *limit,
                const struct wire_keys *keys, enum link_way way);

/* What was granted of so many.  false: none, an error, or no answer to that. */
bool wire_leased(const redisReply *reply, uint64_t want, uint64_t *id, uint64_t *permits);

/* What limit i of the ask costs; and really was, of a settle. */
uint64_t wire_cost(const weir_engine_ask *ask, unsigned i);
uint64_t wire_actual(const weir_engine_ask *ask, unsigned i);

/* ---- fault.c ---- */

enum fault {
    FAULT_NONE,
    FAULT_MOVED,    /* another server has this key */
    FAULT_ASK,      /* another server has it, for this once */
    FAULT_LATER,    /* soon */
    FAULT_SCRIPT,   /* it does not know the script */
    FAULT_FUNCTION, /* it does not have our functions */
    FAULT_COMMAND,  /* it does not have that command, or this user may not use it */
    FAULT_PRIMARY,  /* it is no primary any more */
    FAULT_SERVER,   /* it can answer nobody now */
    FAULT_QUESTION  /* it cannot answer this question */
};

/* All but the last were not executed. */
enum fault fault_of(const redisReply *reply);

#endif
