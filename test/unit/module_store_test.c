/* SPDX-License-Identifier: MIT
   The module has no key open while the engine's own commands read or write the slots there: they may free the value
   that an open key points to.

   The same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "redis/module/store.c" /* no library has it */

static char somewhere[] = "jobs";
static unsigned open_keys, commands, refusals;

static struct RedisModuleKey *open_one(struct RedisModuleCtx *context, struct RedisModuleString *name, int mode)
{
    (void)context, (void)name, (void)mode;
    open_keys++;
    return (struct RedisModuleKey *)somewhere;
}

static void close_one(struct RedisModuleKey *key)
{
    assert_ptr_equal(key, somewhere);
    open_keys--;
}

static int type_of(struct RedisModuleKey *key)
{
    (void)key;
    return ENGINE_ZSET;
}

/* There is no memory for a reply. */
static struct RedisModuleCallReply *run(struct RedisModuleCtx *context, const char *command, const char *format, ...)
{
    (void)context, (void)command, (void)format;
    assert_int_equal(open_keys, 0);
    commands++;
    return NULL;
}

static const char *text_of(const struct RedisModuleString *string, size_t *size)
{
    *size = strlen((const char *)string);
    return (const char *)string;
}

static int refuse(struct RedisModuleCtx *context, const char *why)
{
    (void)context;
    assert_non_null(strstr(why, "what is at jobs was not written by weir"));
    refusals++;
    return ENGINE_OK;
}

static void no_key_is_open_while_slots_are_read(void **state)
{
    (void)state;
    static const struct engine engine = {.open_key = open_one,
                                         .close_key = close_one,
                                         .key_type = type_of,
                                         .call = run,
                                         .string_ptr_len = text_of,
                                         .reply_with_error = refuse};
    static struct module module = {.clock = {.told_us = UINT64_C(1763836800123456)}};
    static struct store store;
    const struct call call = {.module = &module, .engine = &engine};
    struct micro_plan plan;
    weir_plan read;
    assert_int_equal(weir_plan_parse(&read, "2 concurrent lease=30s", WEIR_ADMIT, NULL), 0);
    assert_int_equal(micro_plan_make(&plan, &read, NULL), 0);
    struct question question = {.plan = &plan, .keys = 1, .key = {(struct RedisModuleString *)somewhere}};
    assert_false(store_open(&store, &call, &question, true));
    assert_int_equal(commands, 1);
    assert_int_equal(refusals, 1);
    assert_int_equal(open_keys, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_key_is_open_while_slots_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
