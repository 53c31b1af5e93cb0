/* SPDX-License-Identifier: MIT
   One command under way, and what all commands say alike.

   See call.c. */
#ifndef WEIR_REDIS_MODULE_CALL_H
#define WEIR_REDIS_MODULE_CALL_H

#include "redis/module/clock.h"
#include "redis/module/engine_api.h"
#include "redis/module/propagation.h"
#include "redis/module/texts.h"

struct module {
    struct engine engine;
    struct clock clock;
    struct propagation propagation;
    struct texts *texts;
    struct RedisModuleString *until; /* "PXAT", for every value that is told to replicas */
};

struct call {
    struct module *module;
    const struct engine *engine;
    struct RedisModuleCtx *context;
    struct RedisModuleString **argument;
    int count;
};

enum { CALL_SHOWN = 40, CALL_MS_US = 1000, CALL_DIGITS_MAX = 20 }; /* SHOWN: bytes of a client's text in an error */

struct span {
    const char *bytes;
    size_t size;
};

static inline struct span call_text(const struct call *call, int at)
{
    struct span span;
    span.bytes = call->engine->string_ptr_len(call->argument[at], &span.size);
    return span;
}

/* In any case of letters; `word` is in capitals. */
bool call_is(const struct call *call, int at, const char *word);
/* A whole number up to `most`, digits only. */
bool call_number(const struct call *call, int at, uint64_t most, uint64_t *number);
/* What was said there, such that it can stand in an error. */
const char *call_shown(const struct call *call, int at, char shown[CALL_SHOWN + 4]);

/* Answers with an error; false, so that it can be returned. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool call_refuse(const struct call *call, const char *format, ...);
bool call_refuse_limit(const struct call *call, const char *code, const weir_error *error);

/* So that a key is not gone too early. */
static inline uint64_t call_ms_up(uint64_t us)
{
    return us / CALL_MS_US + (us % CALL_MS_US != 0);
}

/* As text, without an end; returns its size. */
size_t call_digits(uint64_t number, char text[CALL_DIGITS_MAX]);

/* As clients are told them. */
void call_integer(const struct call *call, uint64_t number);
void call_ns(const struct call *call, uint64_t us);

/* ---- units.c ---- */

/* Is there a word in front of a number, and no option: the unit of a limit? */
bool units_begin(const struct call *call, int at);
/* Units and numbers from *at on.  Both: false, and refused. */
bool units_read(const struct call *call, int *at, uint64_t number[WEIR_LIMITS_MAX]);
/* One number where there are several units. */
bool units_refuse(const struct call *call, uint64_t number);

/* ---- each is a command ---- */
typedef void call_run(const struct call *call);
call_run take_run, charge_run, settle_run, forget_run, renew_run, release_run, lease_run, return_run, throttle_run,
    clock_run;

#endif
