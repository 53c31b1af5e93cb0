/* SPDX-License-Identifier: MIT
   Reading arguments, and the answers that all commands give alike.

   Nothing is allocated; what a client sent stands in an error as plain characters, cut. */
#include "redis/module/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_MAX = 512, US_NS = 1000 };

bool call_is(const struct call *call, int at, const char *word)
{
    const struct span text = call_text(call, at);
    if (text.size != strlen(word)) return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] != word[i] && text.bytes[i] != word[i] + ('a' - 'A')) return false;
    }
    return true;
}

bool call_number(const struct call *call, int at, uint64_t most, uint64_t *number)
{
    const struct span text = call_text(call, at);
    uint64_t value = 0;
    if (text.size == 0) return false;
    for (size_t i = 0; i < text.size; i++) {
        const unsigned digit = (unsigned)(text.bytes[i] - '0');
        if (digit > 9 || value > most / 10 || value * 10 > most - digit) return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

size_t call_digits(uint64_t number, char text[CALL_DIGITS_MAX])
{
    size_t size = 1;
    for (uint64_t rest = number; rest >= 10; rest /= 10) size++;
    for (size_t at = size; at > 0; number /= 10) text[--at] = (char)('0' + number % 10);
    return size;
}

const char *call_shown(const struct call *call, int at, char shown[CALL_SHOWN + 4])
{
    if (at >= call->count) return "nothing";
    const struct span text = call_text(call, at);
    size_t size = 0;
    for (; size < text.size && size < CALL_SHOWN; size++) {
        shown[size] = text.bytes[size];
        if (shown[size] < ' ' || shown[size] > '~') shown[size] = '?';
    }
    memcpy(shown + size, size < text.size ? "..." : "", size < text.size ? 4 : 1);
    return shown;
}

bool call_refuse(const struct call *call, const char *format, ...)
{
    char words[ERROR_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    call->engine->reply_with_error(call->context, words);
    return false;
}

bool call_refuse_limit(const struct call *call, const char *code, const weir_error *error)
{
    if (error->column > 0) return call_refuse(call, "%s col %d: %s", code, error->column, error->message);
    return call_refuse(call, "%s %s", code, error->message);
}

void call_integer(const struct call *call, uint64_t number)
{
    call->engine->reply_with_long_long(call->context, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

void call_ns(const struct call *call, uint64_t us)
{
    call_integer(call, us > INT64_MAX / US_NS ? INT64_MAX : us * US_NS);
}
