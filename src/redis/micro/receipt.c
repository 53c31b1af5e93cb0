/* SPDX-License-Identifier: MIT
   What a caller keeps of a take to settle it by: when it was to start, and for how much.

       1763836800123456:1          1763836800123456:1:250        a cost for each limit
       1763836800123456042:1                                     of a concurrent limit: its id

   Reads what it wrote, and nothing else. */
#include <string.h>

#include "redis/micro/num.h"

enum { TEN = 10, DIGITS_MAX = 20 };

static size_t write_number(char *out, uint64_t number)
{
    char digit[DIGITS_MAX];
    size_t at = DIGITS_MAX;
    do {
        digit[--at] = (char)('0' + number % TEN);
        number /= TEN;
    } while (number != 0);
    memcpy(out, digit + at, DIGITS_MAX - at);
    return DIGITS_MAX - at;
}

size_t micro_receipt_write(uint64_t taken, const uint64_t charged[], unsigned count, char out[MICRO_RECEIPT_MAX])
{
    size_t size = write_number(out, taken);
    for (unsigned i = 0; i < count; i++) {
        out[size++] = ':';
        size += write_number(out + size, charged[i]);
    }
    out[size] = '\0';
    return size;
}

static bool read_number(const char **at, const char *end, uint64_t most_of_it, uint64_t *number)
{
    const char *start = *at;
    *number = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        const uint64_t digit = (uint64_t)(**at - '0');
        if (*number > (most_of_it - digit) / TEN) return false;
        *number = *number * TEN + digit;
    }
    return *at != start;
}

bool micro_receipt_read(const char *text, size_t size, uint64_t *taken, uint64_t charged[], unsigned *count)
{
    const char *at = text, *end = text + size;
    *count = 0;
    if (!read_number(&at, end, UINT64_MAX, taken)) return false;
    while (at < end) {
        if (*at++ != ':' || *count == WEIR_LIMITS_MAX || !read_number(&at, end, MICRO_ALL, &charged[*count]))
            return false;
        *count += 1;
    }
    return *count != 0;
}
