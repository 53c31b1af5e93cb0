/* SPDX-License-Identifier: MIT
   throttle.c - CL.THROTTLE key max_burst count period [quantity], as redis-cell has it.

       *5  :limited, 0 or 1  :max_burst + 1  :how many more would pass  :seconds to wait, or -1  :seconds until full

   Seconds are rounded up, so that who waits that long has waited long enough; redis-cell drops what is left of them
   below one ms, and forgets keys up to one ms early.

   May touch: the key.  Promises: arguments mean what they mean to redis-cell, zeros and signs in front included.
   Leaves to others: which limit that is (texts.c), deciding (micro). */
#include "redis/module/store.h"

enum { KEY = 1, MAX_BURST, COUNT, PERIOD, QUANTITY, ARGUMENTS };
enum { ANSWERS = 5, DIGITS_MAX = 19 };

static const uint64_t SECOND_US = 1000000;

static uint64_t seconds_up(uint64_t us)
{
    return us / SECOND_US + (us % SECOND_US != 0);
}

static bool read_number(struct span text, int64_t *number)
{
    const bool sign = text.size != 0 && (text.bytes[0] == '-' || text.bytes[0] == '+');
    const bool negative = sign && text.bytes[0] == '-';
    size_t at = sign;
    uint64_t value = 0;
    while (text.size - at > DIGITS_MAX && text.bytes[at] == '0') at++;
    if (at == text.size || text.size - at > DIGITS_MAX) return false;
    for (; at < text.size; at++) {
        const unsigned digit = (unsigned)(text.bytes[at] - '0');
        if (digit > 9) return false;
        value = value * 10 + digit;
    }
    if (value > INT64_MAX) return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool check_range(const struct call *call, const int64_t number[ARGUMENTS])
{
    if (number[COUNT] <= 0 || number[PERIOD] <= 0)
        return call_refuse(call, "ERR Zero rates are not supported: count and period are 1 or more; for example "
                                 "CL.THROTTLE user 15 30 60");
    if (number[MAX_BURST] < 0 || number[MAX_BURST] == INT64_MAX || number[QUANTITY] < 0)
        return call_refuse(call, "ERR %s is 0 to 2^63 - 2; for example CL.THROTTLE user 15 30 60 1",
                           number[QUANTITY] < 0 ? "quantity" : "max_burst");
    return true;
}

static bool read_numbers(const struct call *call, int64_t number[ARGUMENTS])
{
    static const char *const name[] = {"", "key", "max_burst", "count", "period", "quantity"};
    char shown[CALL_SHOWN + 4];
    if (call->count != QUANTITY && call->count != ARGUMENTS)
        return call_refuse(call, "ERR Usage: CL.THROTTLE <key> <max_burst> <count per period> <period> [<quantity>]; "
                                 "for example CL.THROTTLE user 15 30 60");
    number[QUANTITY] = 1;
    for (int i = MAX_BURST; i < call->count; i++) {
        if (!read_number(call_text(call, i), &number[i]))
            return call_refuse(call, "ERR Couldn't parse as integer: %s (%s; for example CL.THROTTLE user 15 30 60)",
                               call_shown(call, i, shown), name[i]);
    }
    return check_range(call, number);
}

static bool read_throttle(const struct call *call, struct question *question, int64_t number[ARGUMENTS])
{
    weir_error error = {.code = WEIR_EINVAL};
    if (!read_numbers(call, number)) return false;
    question->plan = texts_throttle(call->module->texts, &number[MAX_BURST], &error);
    if (question->plan == NULL)
        return call_refuse(call, "ERR no limit can be made of these max_burst, count and period: %s", error.message);
    question->keys = 1;
    question->key[0] = call->argument[KEY];
    return true;
}

static void answer(const struct call *call, uint64_t limit, const struct micro_answer *given)
{
    const struct engine *engine = call->engine;
    engine->reply_with_array(call->context, ANSWERS);
    engine->reply_with_long_long(call->context, given->verdict != WEIR_ALLOW);
    call_integer(call, limit);
    call_integer(call, given->remaining);
    engine->reply_with_long_long(call->context, given->verdict == WEIR_DENY ? (int64_t)seconds_up(given->retry) : -1);
    call_integer(call, seconds_up(given->full));
}

void throttle_run(const struct call *call)
{
    int64_t number[ARGUMENTS] = {0};
    struct question question;
    struct store store;
    struct micro_answer given;
    if (!read_throttle(call, &question, number)) return;
    question.ask.cost[0] = (uint64_t)number[QUANTITY];
    question.ask.peek = number[QUANTITY] == 0;
    question.ask.wait = 0;
    if (!store_open(&store, call, &question, question.ask.peek)) return;
    question.ask.now = clock_read(&call->module->clock, call->engine);
    micro_take(question.plan, &store.state, store.log, &question.ask, &given);
    if (given.changed && !question.ask.peek) store_write(&store, given.idle);
    else store_close(&store);
    answer(call, (uint64_t)number[MAX_BURST] + 1, &given);
}
