/* SPDX-License-Identifier: MIT
   Reads what a command of weir's asks: limit key [AND key]... and numbers, of which units may stand in front.

   An error says which argument, what was expected, and an example; then nothing is opened. */
#include "redis/module/question.h"

int question_next_key(const struct call *call, int at)
{
    return at + 2 < call->count && call_is(call, at + 1, "AND") ? at + 2 : 0;
}

void question_tell_keys(const struct call *call)
{
    const int flags = ENGINE_KEY_RW | ENGINE_KEY_ACCESS | ENGINE_KEY_UPDATE;
    for (int at = QUESTION_KEY; at != 0 && at < call->count; at = question_next_key(call, at)) {
        call->engine->key_at_pos_with_flags(call->context, at, flags);
    }
}

/* ---- keys ---- */

static bool read_keys(const struct call *call, struct question *question, int *at)
{
    char shown[CALL_SHOWN + 4];
    int key = QUESTION_KEY;
    question->keys = 0;
    for (; key != 0; key = question_next_key(call, key)) {
        if (question->keys == WEIR_LIMITS_MAX) {
            return call_refuse(call, "WEIRKEYS expected at most %d keys, not also \"%s\"", WEIR_LIMITS_MAX,
                               call_shown(call, key, shown));
        }
        question->key[question->keys++] = call->argument[key];
        *at = key + 1;
    }
    return true;
}

static bool is_twice(const struct call *call, const struct question *question, unsigned at)
{
    struct span one, other;
    one.bytes = call->engine->string_ptr_len(question->key[at], &one.size);
    for (unsigned i = 0; i < at; i++) {
        other.bytes = call->engine->string_ptr_len(question->key[i], &other.size);
        if (one.size != other.size) continue;
        size_t same = 0;
        while (same < one.size && one.bytes[same] == other.bytes[same]) same++;
        if (same == one.size) return true;
    }
    return false;
}

static bool check_keys(const struct call *call, const struct question *question)
{
    const struct micro_plan *plan = question->plan;
    for (unsigned i = 0; i < question->keys; i++) {
        if (is_twice(call, question, i))
            return call_refuse(call, "WEIRKEYS expected different keys, one for each limit; for example {user:42}:a "
                                     "AND {user:42}:b");
    }
    if (plan->levels > 1) {
        return question->keys == plan->levels
                   ? true
                   : call_refuse(
                         call,
                         "WEIRKEYS these are %u levels of tenants: expected a key for each, joined by AND, not %u",
                         plan->levels, question->keys);
    }
    if (question->keys != 1 && question->keys != plan->count) {
        return call_refuse(call, "WEIRKEYS these are %u limits: expected one key for all, or %u joined by AND, not %u",
                           plan->count, plan->count, question->keys);
    }
    for (unsigned i = 0; i < plan->count && question->keys != plan->count; i++) {
        if (plan->rule[i].kind == MICRO_LOG || plan->rule[i].kind == MICRO_CONCURRENT)
            return call_refuse(call,
                               "WEIRKEYS a %s in a list has a key of its own: expected one key for each limit; for "
                               "example {user:42}:a AND {user:42}:b",
                               plan->rule[i].kind == MICRO_LOG ? "sliding-log" : "concurrent limit");
    }
    return true;
}

bool question_read(const struct call *call, struct question *question, int *at)
{
    weir_error error;
    const struct span text = call_text(call, QUESTION_LIMIT);
    question->plan = texts_read(call->module->texts, text.bytes, text.size, &error);
    if (question->plan == NULL) return call_refuse_limit(call, "WEIRLIMIT", &error);
    if (call->count == QUESTION_KEY + 1 || question_next_key(call, QUESTION_KEY) == 0) {
        question->keys = 1;
        question->key[0] = call->argument[QUESTION_KEY];
        *at = QUESTION_KEY + 1;
    } else if (!read_keys(call, question, at)) {
        return false;
    }
    return question->plan->count == 1 && question->keys == 1 ? true : check_keys(call, question);
}

/* ---- numbers ---- */

bool question_number(const struct call *call, int at, const char *name, uint64_t *number)
{
    char shown[CALL_SHOWN + 4];
    if (at < call->count && call_number(call, at, MICRO_MOST, number)) return true;
    return call_refuse(call, "WEIRARG expected %s, a whole number up to 2^52, not \"%s\"; for example 1000000", name,
                       call_shown(call, at, shown));
}

bool question_numbers(const struct call *call, const struct question *question, int *at, const char *example,
                      uint64_t number[WEIR_LIMITS_MAX])
{
    char shown[CALL_SHOWN + 4];
    const unsigned limits = question->plan->count;
    unsigned count = 0;
    if (*at < call->count && !call_number(call, *at, MICRO_MOST, &number[0]) && units_begin(call, *at))
        return units_read(call, at, number);
    for (; *at < call->count && count < WEIR_LIMITS_MAX; (*at)++) {
        if (!call_number(call, *at, MICRO_MOST, &number[count])) break;
        count++;
    }
    if (count == 0) {
        return call_refuse(call, "WEIRARG expected a cost, a whole number up to 2^52, not \"%s\"; for example %s",
                           call_shown(call, *at, shown), example);
    }
    if (count != 1 && count != limits) {
        return limits == 1
                   ? call_refuse(call, "WEIRARG this limit takes one cost, not %u; for example %s", count, example)
                   : call_refuse(call, "WEIRARG these are %u limits: expected one cost for all, or %u, not %u", limits,
                                 limits, count);
    }
    if (count < limits && question->plan->many_units) return units_refuse(call, number[0]);
    for (; count < limits; count++) number[count] = number[0];
    return true;
}

bool question_ends(const struct call *call, int at, const char *example)
{
    char shown[CALL_SHOWN + 4];
    if (at >= call->count) return true;
    return call_refuse(call, "WEIRARG expected nothing more, not \"%s\"; for example %s", call_shown(call, at, shown),
                       example);
}
