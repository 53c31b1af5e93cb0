/* SPDX-License-Identifier: MIT
   What a command of weir's asks: limit, keys, costs.

   See question.c. */
#ifndef WEIR_REDIS_MODULE_QUESTION_H
#define WEIR_REDIS_MODULE_QUESTION_H

#include "redis/micro/micro.h"
#include "redis/module/call.h"

struct question {
    const struct micro_plan *plan;
    unsigned keys; /* 1, or one for each limit; of tenants one for each level */
    struct RedisModuleString *key[WEIR_LIMITS_MAX];
    struct micro_ask ask;
};

/* Where keys are in every one of weir's commands. */
enum { QUESTION_LIMIT = 1, QUESTION_KEY = 2 };

/* The next key behind the one at `at`; 0: it was the last. */
int question_next_key(const struct call *call, int at);
/* Tells the engine which arguments are keys. */
void question_tell_keys(const struct call *call);

/* Limit and keys; *at: what comes behind them.  Each of these: false, and refused. */
bool question_read(const struct call *call, struct question *, int *at);
/* All numbers from *at on: one for all limits, or one for each; or by unit, tokens 812 requests 2. */
bool question_numbers(const struct call *call, const struct question *, int *at, const char *example,
                      uint64_t number[WEIR_LIMITS_MAX]);
/* One number, called `name` in the error. */
bool question_number(const struct call *call, int at, const char *name, uint64_t *number);
/* There is nothing at `at`. */
bool question_ends(const struct call *call, int at, const char *example);

#endif
