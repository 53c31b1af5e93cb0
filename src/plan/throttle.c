/* SPDX-License-Identifier: MIT
   CL.THROTTLE key max_burst count period [quantity], read as redis-cell reads it: signs and zeros in front included.

   redis-cell keeps a whole number of ns between two permits; where there is none, the limit is what was said. */
#include "plan/throttle.h"

enum { DIGITS_MAX = 19 }; /* so many fit uint64_t, whatever they are */

#define FOR_EXAMPLE "for example CL.THROTTLE user 15 30 60"

static bool fail(struct throttle_problem *problem, const char *before, unsigned argument, const char *after)
{
    *problem = (struct throttle_problem){before, after, argument};
    return false;
}

static bool read_number(struct throttle_argument text, int64_t *number)
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

static bool check_range(const int64_t number[THROTTLE_ARGUMENTS], struct throttle_problem *problem)
{
    if (number[THROTTLE_COUNT] <= 0 || number[THROTTLE_PERIOD] <= 0)
        return fail(problem, "Zero rates are not supported: count and period are 1 or more; " FOR_EXAMPLE, 0, "");
    if (number[THROTTLE_QUANTITY] < 0) return fail(problem, "quantity is 0 to 2^63 - 2; " FOR_EXAMPLE " 1", 0, "");
    if (number[THROTTLE_MAX_BURST] >= 0 && number[THROTTLE_MAX_BURST] < INT64_MAX) return true;
    return fail(problem, "max_burst is 0 to 2^63 - 2; " FOR_EXAMPLE " 1", 0, "");
}

bool throttle_read(const struct throttle_argument argument[], unsigned count, int64_t number[THROTTLE_ARGUMENTS],
                   struct throttle_problem *problem)
{
    static const char *const after[THROTTLE_ARGUMENTS] = {[THROTTLE_MAX_BURST] = " (max_burst; " FOR_EXAMPLE ")",
                                                          [THROTTLE_COUNT] = " (count; " FOR_EXAMPLE ")",
                                                          [THROTTLE_PERIOD] = " (period; " FOR_EXAMPLE ")",
                                                          [THROTTLE_QUANTITY] = " (quantity; " FOR_EXAMPLE ")"};
    if (count != THROTTLE_QUANTITY && count != THROTTLE_ARGUMENTS)
        return fail(problem,
                    "Usage: CL.THROTTLE <key> <max_burst> <count per period> <period> [<quantity>]; " FOR_EXAMPLE, 0,
                    "");
    number[THROTTLE_QUANTITY] = 1;
    for (unsigned i = THROTTLE_MAX_BURST; i < count; i++) {
        if (!read_number(argument[i], &number[i])) return fail(problem, "Couldn't parse as integer: ", i, after[i]);
    }
    return check_range(number, problem);
}

void throttle_write(struct writer *writer, const int64_t number[THROTTLE_NUMBERS])
{
    const int64_t max_burst = number[0], count = number[1], period_s = number[2];
    const double interval_ns = (double)period_s * 1e9 / (double)count;
    const bool whole = interval_ns >= 1 && interval_ns < 0x1p63;
    write_number(writer, whole ? 1 : (uint64_t)count);
    write_text(writer, "/");
    write_number(writer, whole ? (uint64_t)interval_ns : (uint64_t)period_s);
    write_text(writer, whole ? "ns burst=" : "s burst=");
    write_number(writer, (uint64_t)max_burst + 1);
    write_text(writer, " algorithm=gcra");
}
