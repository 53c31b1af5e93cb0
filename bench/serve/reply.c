/* SPDX-License-Identifier: MIT
   RESP and HTTP answers, measured out to the byte.

   An answer that is not as it should be is never counted: an error, a verdict that is neither word, a status that is
   neither 2xx nor 429, a body without a length. */
#include "reply.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 2, ITEMS_MAX = 64, NUMBER_MAX = 1 << 20, STATUS_LINE_MIN = 12, STATUS_AT = 9 };

static const long NO_NUMBER = LONG_MIN;

/* ---- RESP ---- */

static long number_at(const char *at, const char *end)
{
    const bool is_negative = at < end && *at == '-';
    long value = 0;
    at += is_negative;
    if (at == end) return NO_NUMBER;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') return NO_NUMBER;
        value = value < NUMBER_MAX ? value * 10 + (*at - '0') : value;
    }
    return is_negative ? -value : value;
}

/* Behind the item at `at`; NULL when its end has not come; `at` itself when it is none. */
static const char *behind_item(const char *at, const char *end)
{
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (line_end == NULL) return NULL;
    if (line_end[-1] != '\r') return at;
    if (*at == ':') return number_at(at + 1, line_end - 1) == NO_NUMBER ? at : line_end + 1;
    if (*at == '+' || *at == '_' || *at == '#' || *at == ',') return line_end + 1;
    if (*at != '$') return at;
    const long size = number_at(at + 1, line_end - 1);
    if (size < -1 || size >= NUMBER_MAX) return at;
    if (size == -1) return line_end + 1;
    if (end - line_end - 1 < size + 2) return NULL;
    const char *behind = line_end + 1 + size + 2;
    return behind[-2] == '\r' && behind[-1] == '\n' ? behind : at;
}

static bool starts(const char *at, const char *end, const char *word)
{
    const size_t size = strlen(word);
    return (size_t)(end - at) >= size && memcmp(at, word, size) == 0;
}

/* The first of the five integers, or the word of WEIR.TAKE. */
static bool count_verdict(const char *at, const char *end, struct replies *replies)
{
    static const char *const ALLOWED[] = {":0\r", "$5\r\nallow\r", "+allow\r"};
    static const char *const DENIED[] = {":1\r", "$4\r\ndeny\r", "+deny\r"};
    for (size_t i = 0; i < sizeof ALLOWED / sizeof ALLOWED[0]; i++) {
        if (starts(at, end, ALLOWED[i])) return ++replies->allowed;
        if (starts(at, end, DENIED[i])) return ++replies->denied;
    }
    return false;
}

static long read_array(const char *bytes, const char *end, struct replies *replies)
{
    const char *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
    if (line_end == NULL) return REPLY_MORE;
    const long items = number_at(bytes + 1, line_end - 1);
    if (items < 1 || items > ITEMS_MAX) return REPLY_BAD;
    const char *const first = line_end + 1, *at = first;
    for (long i = 0; i < items; i++) {
        if (at == end) return REPLY_MORE;
        const char *behind = behind_item(at, end);
        if (behind == NULL) return REPLY_MORE;
        if (behind == at) return REPLY_BAD;
        at = behind;
    }
    return count_verdict(first, end, replies) ? at - bytes : REPLY_BAD;
}

long reply_resp(const char *bytes, size_t size, struct replies *replies)
{
    static const char PONG[] = "+PONG\r\n", OK[] = "+OK\r\n";
    const char *end = bytes + size;
    if (bytes[0] == '*') return read_array(bytes, end, replies);
    if (bytes[0] == '-' && memchr(bytes, '\n', size) == NULL) return REPLY_MORE; /* its reason is to be shown whole */
    if (bytes[0] != '+') return REPLY_BAD;
    if (size >= sizeof OK - 1 && memcmp(bytes, OK, sizeof OK - 1) == 0) {
        replies->allowed++;
        return sizeof OK - 1;
    }
    if (size < sizeof OK - 1 && memcmp(bytes, OK, size) == 0) return REPLY_MORE;
    if (size < sizeof PONG - 1) return memcmp(bytes, PONG, size) == 0 ? REPLY_MORE : REPLY_BAD;
    if (memcmp(bytes, PONG, sizeof PONG - 1) != 0) return REPLY_BAD;
    replies->allowed++;
    return sizeof PONG - 1;
}

/* ---- HTTP ---- */

/* What Content-Length says; NUMBER_MAX without one. */
static long body_size(const char *line, const char *end)
{
    static const char NAME[] = "content-length:";
    while (line < end) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        if ((*line | ' ') == 'c' && (size_t)(line_end - line) > sizeof NAME &&
            strncasecmp(line, NAME, sizeof NAME - 1) == 0) {
            const char *value = line + sizeof NAME - 1;
            while (*value == ' ') value++;
            return number_at(value, line_end - 1);
        }
        line = line_end + 1;
    }
    return NUMBER_MAX;
}

long reply_http(const char *bytes, size_t size, struct replies *replies)
{
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (end == NULL) return REPLY_MORE;
    end += 4;
    if (end - bytes < STATUS_LINE_MIN || memcmp(bytes, "HTTP/1.1 ", STATUS_AT) != 0) return REPLY_BAD;
    const bool is_allowed = bytes[STATUS_AT] == '2', is_denied = memcmp(bytes + STATUS_AT, "429", 3) == 0;
    const bool has_no_body = memcmp(bytes + STATUS_AT, "204", 3) == 0;
    const long body = has_no_body ? 0 : body_size(bytes, end);
    if ((!is_allowed && !is_denied) || body < 0 || body >= NUMBER_MAX) return REPLY_BAD;
    if (bytes + size - end < body) return REPLY_MORE;
    replies->allowed += is_allowed;
    replies->denied += is_denied;
    return end - bytes + body;
}
