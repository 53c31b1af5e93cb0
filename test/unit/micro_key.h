/* SPDX-License-Identifier: MIT
   One key of an engine, for the tests of src/redis/micro: what was not changed is not written.

   No more than a module does around a verb. */
#ifndef WEIR_TEST_MICRO_KEY_H
#define WEIR_TEST_MICRO_KEY_H

#include <stdint.h>
#include <string.h>

#include "redis/micro/micro.h"
#include "unit/micro_value.h"
#include "unit/plans.h"

#define NOW UINT64_C(1763836800000000)
#define SECOND UINT64_C(1000000)

/* One key, as a module has it: what was not changed is not written. */
struct key {
    struct micro_plan plan;
    struct micro_state state;
    struct value value; /* the same as bytes, with a log's ring */
};

static inline struct micro_plan micro_of(const char *text)
{
    const weir_plan plan = plan_of(text);
    struct micro_plan micro;
    weir_error error;
    assert_int_equal(micro_plan_make(&micro, &plan, &error), 0);
    return micro;
}

static inline struct key key_of(const char *text)
{
    return (struct key){.plan = micro_of(text)};
}

static inline struct micro_log log_of(const struct key *key)
{
    struct micro_log log = {.ring = NULL};
    if (key->value.size != 0) micro_log_open(&log, &key->state, key->value.bytes);
    return log;
}

static inline void apply(struct key *key, struct micro_state *state, struct micro_log *log)
{
    value_put(&key->value, state, log);
    key->state = *state;
}

static inline struct micro_answer key_ask(struct key *key, const struct micro_ask *ask)
{
    struct micro_state state = key->state;
    struct micro_log log[WEIR_LIMITS_MAX] = {log_of(key)};
    struct micro_answer answer;
    micro_take(&key->plan, &state, log, ask, &answer);
    if (answer.changed) apply(key, &state, &log[0]);
    return answer;
}

static inline struct micro_answer key_take(struct key *key, uint64_t now, uint64_t cost)
{
    return key_ask(key, &(struct micro_ask){.now = now, .cost = {cost, cost, cost}});
}

static inline struct micro_answer key_settle(struct key *key, uint64_t now, uint64_t taken, uint64_t charged,
                                             uint64_t actual)
{
    struct micro_state state = key->state;
    struct micro_log log[WEIR_LIMITS_MAX] = {log_of(key)};
    const uint64_t was[] = {charged, charged}, is[] = {actual, actual};
    struct micro_answer answer;
    micro_settle(&key->plan, &state, log, now, taken, was, is, &answer);
    if (answer.changed) apply(key, &state, &log[0]);
    return answer;
}

static inline struct micro_answer key_charge(struct key *key, uint64_t now, uint64_t cost)
{
    struct micro_answer answer;
    micro_charge(&key->plan, &key->state, NULL, &(struct micro_ask){.now = now, .cost = {cost, cost}}, &answer);
    return answer;
}

static inline void key_change(struct key *key, const char *text)
{
    key->plan = micro_of(text);
}

static inline void assert_allowed(struct micro_answer answer, uint64_t remaining)
{
    assert_int_equal(answer.verdict, WEIR_ALLOW);
    assert_int_equal(answer.remaining, remaining);
    assert_int_equal(answer.retry, 0);
}

static inline void assert_refused(struct micro_answer answer, uint64_t retry)
{
    assert_int_equal(answer.verdict, WEIR_DENY);
    assert_int_equal(answer.retry, retry);
}

#endif
