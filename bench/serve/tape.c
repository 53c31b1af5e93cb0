/* SPDX-License-Identifier: MIT
   All requests of a run, shuffled, so that nothing but sending them is left to do.

       | request | request | ... | request |      a connection begins somewhere, sends so many in a row, and goes on
                                                  from the beginning at the end

   Every key comes once before any comes again, in an order that nothing can foresee; with a hot key, it takes the place
   of so many in a hundred.  The limit is ten a second, twenty at once, so that a key of many
   has paid its debt when it comes again; with `owing` it is ten an hour, ten thousand at once, and none has.  Those are
   other keys: what they owe would be owed under the other limit, too, and all would be refused.

   The same tape for the same order. */
#include "tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/random.h"

enum { TEMPLATE_MAX = 1024, DIGITS = 7 };

#define FIRST_KEY "user:0000000"
#define FIRST_OWING "owes:0000000"

static const char *const NAMES[KINDS] = {"ping",       "set",         "set-until", "throttle",      "owing",
                                         "take",       "evalsha",     "fcall",     "evalsha-owing", "fcall-owing",
                                         "http-query", "http-header", "http-post"};

const char *kind_name(enum kind kind)
{
    return NAMES[kind];
}

/* The request for the first key. */
static int print_first(const struct tape_order *order, char *out, size_t size)
{
    static const char BODY[] = "{\"limit\":\"10/s burst=20\",\"key\":\"" FIRST_KEY "\"}";
    switch (order->kind) {
    case KIND_SET: /* as many bytes as an engine keeps of a limit by gcra */
        return snprintf(out, size, "*3\r\n$3\r\nSET\r\n$12\r\n%s\r\n$40\r\n%040d\r\n", FIRST_KEY, 0);
    case KIND_SET_UNTIL: /* as what is kept of a limit has an end */
        return snprintf(out, size,
                        "*5\r\n$3\r\nSET\r\n$12\r\n%s\r\n$40\r\n%040d\r\n$4\r\nPXAT\r\n$13\r\n4102444800000\r\n",
                        FIRST_OWING, 0);
    case KIND_THROTTLE:
        return snprintf(out, size, "*5\r\n$11\r\nCL.THROTTLE\r\n$12\r\n%s\r\n$2\r\n19\r\n$2\r\n10\r\n$1\r\n1\r\n",
                        FIRST_KEY);
    case KIND_OWING:
        return snprintf(out, size, "*5\r\n$11\r\nCL.THROTTLE\r\n$12\r\n%s\r\n$4\r\n9999\r\n$2\r\n10\r\n$4\r\n3600\r\n",
                        FIRST_OWING);
    case KIND_TAKE:
        return snprintf(out, size, "*3\r\n$9\r\nWEIR.TAKE\r\n$13\r\n10/s burst=20\r\n$12\r\n%s\r\n", FIRST_KEY);
    case KIND_EVALSHA:
        return snprintf(
            out, size,
            "*7\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$12\r\n%s\r\n$2\r\n19\r\n$2\r\n10\r\n$1\r\n1\r\n",
            order->script_id, FIRST_KEY);
    case KIND_FCALL:
        return snprintf(out, size,
                        "*5\r\n$5\r\nFCALL\r\n$9\r\nweir_take\r\n$1\r\n1\r\n$12\r\n%s\r\n$13\r\n10/s burst=20\r\n",
                        FIRST_KEY);
    case KIND_EVALSHA_OWING:
        return snprintf(
            out, size,
            "*7\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$12\r\n%s\r\n$4\r\n9999\r\n$2\r\n10\r\n$4\r\n3600\r\n",
            order->script_id, FIRST_OWING);
    case KIND_FCALL_OWING:
        return snprintf(out, size,
                        "*5\r\n$5\r\nFCALL\r\n$9\r\nweir_take\r\n$1\r\n1\r\n$12\r\n%s\r\n$16\r\n10/h burst=10000\r\n",
                        FIRST_OWING);
    case KIND_HTTP_QUERY:
        return snprintf(out, size, "GET %s?key=%s HTTP/1.1\r\nHost: %s\r\n\r\n", order->path, FIRST_KEY, order->host);
    case KIND_HTTP_HEADER:
        return snprintf(out, size,
                        "GET %s HTTP/1.1\r\nHost: %s\r\nX-Weir-Limit: 10/s burst=20\r\nX-Weir-Key: %s\r\n\r\n",
                        order->path, order->host, FIRST_KEY);
    case KIND_HTTP_POST:
        return snprintf(
            out, size,
            "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
            order->path, order->host, sizeof BODY - 1, BODY);
    default:
        return snprintf(out, size, "*1\r\n$4\r\nPING\r\n");
    }
}

static uint32_t *shuffled(uint32_t count, uint64_t *seed)
{
    uint32_t *numbers = malloc(count * sizeof *numbers);
    if (numbers == NULL) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t j = (uint32_t)random_below(seed, i + 1);
        numbers[i] = numbers[j];
        numbers[j] = i;
    }
    return numbers;
}

static void write_digits(char *at, uint32_t number)
{
    for (int i = DIGITS; i-- > 0; number /= 10) at[i] = (char)('0' + number % 10);
}

struct tape tape_write(const struct tape_order *order)
{
    char first[TEMPLATE_MAX];
    const int printed = print_first(order, first, sizeof first);
    const size_t rounds = (order->at_least + order->keys - 1) / order->keys, times = rounds > 0 ? rounds : 1;
    struct tape tape = {.request_size = (size_t)printed, .count = times * order->keys};
    uint64_t seed = 1;
    uint32_t *keys = shuffled(order->keys, &seed);
    tape.bytes = malloc(tape.count * tape.request_size);
    if (printed >= TEMPLATE_MAX || keys == NULL || tape.bytes == NULL) {
        fprintf(stderr, "bench-serve-client: the requests do not fit into memory\n");
        exit(1);
    }
    const char *key = strstr(first, FIRST_KEY);
    if (key == NULL) key = strstr(first, FIRST_OWING);
    const size_t digits = key != NULL ? (size_t)(key - first) + sizeof FIRST_KEY - 1 - DIGITS : 0;
    for (size_t i = 0; i < tape.count; i++) {
        char *request = tape.bytes + i * tape.request_size;
        memcpy(request, first, tape.request_size);
        const bool is_hot = random_below(&seed, 100) < order->hot_percent;
        if (key != NULL) write_digits(request + digits, is_hot ? 0 : keys[i % order->keys]);
    }
    free(keys);
    return tape;
}
