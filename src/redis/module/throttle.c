/* SPDX-License-Identifier: MIT
   CL.THROTTLE key max_burst count period [quantity], as redis-cell has it.

       *5  :limited, 0 or 1  :max_burst + 1  :how many more would pass  :seconds to wait, or -1  :seconds until full

   Seconds are rounded up, so that a client that waits that long has waited long enough; redis-cell drops what is left
   of them below one ms, and forgets keys up to one ms early.

   Nothing is allocated. */
#include "plan/throttle.h"
#include "redis/module/store.h"

enum { ANSWERS = 5 };

static const uint64_t SECOND_US = 1000000;

static uint64_t seconds_up(uint64_t us)
{
    return us / SECOND_US + (us % SECOND_US != 0);
}

static bool read_numbers(const struct call *call, int64_t number[THROTTLE_ARGUMENTS])
{
    char shown[CALL_SHOWN + 4];
    struct throttle_argument argument[THROTTLE_ARGUMENTS] = {{NULL, 0}};
    struct throttle_problem problem;
    for (int i = 0; i < call->count && i < THROTTLE_ARGUMENTS; i++) {
        const struct span text = call_text(call, i);
        argument[i] = (struct throttle_argument){text.bytes, text.size};
    }
    if (throttle_read(argument, (unsigned)call->count, number, &problem)) return true;
    return call_refuse(call, "ERR %s%s%s", problem.before,
                       problem.argument != 0 ? call_shown(call, (int)problem.argument, shown) : "", problem.after);
}

static bool read_throttle(const struct call *call, struct question *question, int64_t number[THROTTLE_ARGUMENTS])
{
    weir_error error = {.code = WEIR_EINVAL};
    if (!read_numbers(call, number)) return false;
    question->plan = texts_throttle(call->module->texts, &number[THROTTLE_MAX_BURST], &error);
    if (question->plan == NULL)
        return call_refuse(call, "ERR no limit can be made of these max_burst, count and period: %s", error.message);
    question->keys = 1;
    question->key[0] = call->argument[THROTTLE_KEY];
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
    int64_t number[THROTTLE_ARGUMENTS] = {0};
    struct question question;
    struct micro_answer given;
    if (!read_throttle(call, &question, number)) return;
    question.ask.cost[0] = (uint64_t)number[THROTTLE_QUANTITY];
    question.ask.peek = number[THROTTLE_QUANTITY] == 0;
    question.ask.wait = 0;
    if (store_take(call, &question, &given)) answer(call, (uint64_t)number[THROTTLE_MAX_BURST] + 1, &given);
}
