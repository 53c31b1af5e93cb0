/* SPDX-License-Identifier: MIT
   The keys of one question, opened, and the state that is in them.

   See store.c. */
#ifndef WEIR_REDIS_MODULE_STORE_H
#define WEIR_REDIS_MODULE_STORE_H

#include "redis/module/held.h"
#include "redis/module/question.h"
#include "redis/module/stamps.h"

struct store {
    const struct call *call;
    const struct question *question;
    uint64_t id;                                 /* of what is settled, or was taken */
    bool other[WEIR_LIMITS_MAX];                 /* what is there is of another type, and makes room */
    struct RedisModuleKey *key[WEIR_LIMITS_MAX]; /* NULL: nothing to read */
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
    size_t old_size[WEIR_LIMITS_MAX]; /* of a log that an older weir kept, in `old` as it would be now; else 0 */
    unsigned char old[WEIR_LIMITS_MAX][STAMPS_BYTES];
};

/* Takes, writes and closes; the question is told the time.  false: refused. */
bool store_take(const struct call *, struct question *, struct micro_answer *);

/* The question is told the time.  false: refused, and nothing is open. */
bool store_open(struct store *, const struct call *, struct question *, bool only_reads);
/* The slots of a question about a concurrent limit. */
struct held store_held(struct store *);
/* Writes what has changed, and tells replicas; then closes. */
void store_write(struct store *, uint64_t idle_us);
void store_close(struct store *);

#endif
