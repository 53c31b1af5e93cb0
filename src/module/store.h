/* SPDX-License-Identifier: MIT
   store.h - the keys of one question, opened, and the state that is in them.

   See store.c. */
#ifndef WEIR_MODULE_STORE_H
#define WEIR_MODULE_STORE_H

#include "module/question.h"
#include "module/stamps.h"

struct store {
    const struct call *call;
    const struct question *question;
    struct RedisModuleKey *key[WEIR_LIMITS_MAX]; /* NULL: a log's, which is closed already, or nothing to read */
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
    struct stamps stamps[WEIR_LIMITS_MAX];
};

/* false: refused, and nothing is open. */
bool store_open(struct store *, const struct call *, const struct question *, bool only_reads);
/* Something in a log turned out not to be ours: refused, and closed. */
bool store_is_sound(struct store *);
/* Writes what has changed, and tells replicas; then closes. */
void store_write(struct store *, uint64_t idle_us);
void store_close(struct store *);

#endif
