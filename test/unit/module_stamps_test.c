/* SPDX-License-Identifier: MIT
   A log that an older weir kept is read, what is none is not, and each reply of the engine is given back: one that
   is not stays in the engine's memory for ever.

   The same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "redis/module/stamps.c" /* no library has it */

enum { MEMBERS = 5, ORDER = 7 /* ":000002" */ };

static unsigned replies, given_back; /* of those that are no part of another */
static bool foreign;
static int digits; /* of a stamp, at least */
static char member[64];
static struct RedisModuleCallReply *const SOME = (struct RedisModuleCallReply *)member;

static struct RedisModuleCallReply *ask(struct RedisModuleCtx *context, const char *command, const char *format, ...)
{
    va_list list;
    (void)context;
    assert_string_equal(command, "ZRANGE");
    va_start(list, format);
    va_arg(list, struct RedisModuleString *);
    const long long index = va_arg(list, long long);
    va_end(list);
    if (foreign) snprintf(member, sizeof member, "someone else's");
    else snprintf(member, sizeof member, "%0*lld:000002", digits, 1763836800123456 + index);
    replies++;
    return SOME;
}

static void give_back(struct RedisModuleCallReply *reply)
{
    assert_ptr_equal(reply, SOME);
    given_back++;
}

static int type_of(struct RedisModuleCallReply *reply)
{
    (void)reply;
    return ENGINE_REPLY_ARRAY;
}

static size_t length_of(struct RedisModuleCallReply *reply)
{
    (void)reply;
    return 1;
}

static struct RedisModuleCallReply *element_of(struct RedisModuleCallReply *reply, size_t at)
{
    assert_int_equal(at, 0);
    return reply;
}

static const char *text_of(struct RedisModuleCallReply *reply, size_t *size)
{
    (void)reply;
    *size = strlen(member);
    return member;
}

static const struct engine engine = {.call = ask,
                                     .free_call_reply = give_back,
                                     .call_reply_type = type_of,
                                     .call_reply_length = length_of,
                                     .call_reply_array_element = element_of,
                                     .call_reply_string_ptr = text_of};
static const struct call call = {.engine = &engine};

static void every_reply_is_given_back(void **state)
{
    (void)state;
    unsigned char bytes[STAMPS_BYTES];
    assert_int_not_equal(stamps_read(&call, NULL, MEMBERS, STAMPS_READ, bytes), 0);
    assert_int_equal(replies, MEMBERS);
    assert_int_equal(given_back, MEMBERS);
    foreign = true;
    assert_int_equal(stamps_read(&call, NULL, MEMBERS, STAMPS_READ, bytes), 0);
    assert_int_equal(replies, MEMBERS + 1);
    assert_int_equal(given_back, replies);
    foreign = false;
}

/* However small its number is: no weir has written one that long. */
static void a_long_member_is_not_ours(void **state)
{
    (void)state;
    unsigned char bytes[STAMPS_BYTES];
    digits = MEMBER_MAX + 1 - ORDER;
    assert_int_equal(stamps_read(&call, NULL, MEMBERS, STAMPS_READ, bytes), 0);
    assert_int_equal(strlen(member), MEMBER_MAX + 1);
    digits = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_reply_is_given_back),
                                       cmocka_unit_test(a_long_member_is_not_ours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
