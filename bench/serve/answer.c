/* SPDX-License-Identifier: MIT
   RESP and HTTP requests parsed in full, and answered with a constant or by the naive stand-in.

   The naive stand-in is what one writes first: a command is parsed, the clock read, the key hashed, its slot of a flat
   table looked up, GCRA in whole ns, five integers printed; then the next command.

       table:  | identity of the key, 8 bytes | theoretical arrival time, ns, 8 bytes |   half full at a million keys

   Nothing is answered before the last byte of the request was seen; the answers of a constant are as long as a
   decision's. */
#include "answer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "share/hash/hash.h"

enum { PARTS_MAX = 8, SLOTS_BITS = 21, NUMBER_SIZE_MAX = 20 };

#define SECOND_NS INT64_C(1000000000)
#define BULK_MAX (UINT64_C(1) << 12)
#define PERIOD_MAX (UINT64_C(1) << 32)
#define EMISSION_MAX (UINT64_C(1) << 55)
#define NAMED(part, name) part_is(part, name, sizeof(name) - 1)

struct part {
    const char *at;
    size_t size;
};

struct command {
    size_t count;
    struct part part[PARTS_MAX];
};

/* ---- writing ---- */

static void put(char **out, const char *bytes, size_t size)
{
    memcpy(*out, bytes, size);
    *out += size;
}

static void put_text(char **out, const char *text)
{
    put(out, text, strlen(text));
}

static void put_integer(char **out, int64_t value)
{
    char digits[NUMBER_SIZE_MAX];
    size_t first = sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do digits[--first] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    put(out, ":-", value < 0 ? 2 : 1);
    put(out, digits + first, sizeof digits - first);
    put(out, "\r\n", 2);
}

/* ---- RESP ---- */

static bool digits_of(const char *at, const char *end, uint64_t *value)
{
    if (at == end || end - at > NUMBER_SIZE_MAX - 2) return false;
    for (*value = 0; at < end; at++) {
        if (*at < '0' || *at > '9') return false;
        *value = *value * 10 + (uint64_t)(*at - '0');
    }
    return true;
}

/* Reads "TYPE digits CR LF" at *at and moves *at behind it. */
static long header(const char **at, const char *end, char type, uint64_t *value)
{
    if (*at == end) return ANSWER_MORE;
    if (**at != type) return ANSWER_BAD;
    const char *line_end = memchr(*at, '\n', (size_t)(end - *at));
    if (line_end == NULL) return end - *at > NUMBER_SIZE_MAX + 2 ? ANSWER_BAD : ANSWER_MORE;
    if (line_end[-1] != '\r' || !digits_of(*at + 1, line_end - 1, value)) return ANSWER_BAD;
    *at = line_end + 1;
    return 1;
}

static long parse(const char *bytes, size_t size, struct command *command)
{
    const char *at = bytes, *const end = bytes + size;
    uint64_t count, length;
    long found = header(&at, end, '*', &count);
    if (found <= 0) return found;
    if (count == 0 || count > PARTS_MAX) return ANSWER_BAD;
    command->count = (size_t)count;
    for (size_t i = 0; i < command->count; i++) {
        found = header(&at, end, '$', &length);
        if (found <= 0) return found;
        if (length > BULK_MAX) return ANSWER_BAD;
        if ((uint64_t)(end - at) < length + 2) return ANSWER_MORE;
        command->part[i] = (struct part){at, (size_t)length};
        at += length + 2;
        if (at[-2] != '\r' || at[-1] != '\n') return ANSWER_BAD;
    }
    return at - bytes;
}

static bool part_is(struct part part, const char *name, size_t size)
{
    return part.size == size && strncasecmp(part.at, name, size) == 0;
}

static bool number_of(struct part part, uint64_t *value)
{
    return digits_of(part.at, part.at + part.size, value);
}

static void answer_other(const struct command *command, char **out)
{
    if (NAMED(command->part[0], "PING")) put_text(out, "+PONG\r\n");
    else put_text(out, "-ERR unknown command, expected PING, CL.THROTTLE or WEIR.TAKE\r\n");
}

static long answer_constant(const char *bytes, size_t size, char **out)
{
    static const char THROTTLED[] = "*5\r\n:0\r\n:20\r\n:19\r\n:-1\r\n:1\r\n";
    static const char TAKEN[] = "*8\r\n$5\r\nallow\r\n:0\r\n:19\r\n:0\r\n:0\r\n:100000000\r\n$27\r\n"
                                "AAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n:0\r\n";
    struct command command;
    const long length = parse(bytes, size, &command);
    if (length <= 0) return length;
    if (NAMED(command.part[0], "CL.THROTTLE")) put(out, THROTTLED, sizeof THROTTLED - 1);
    else if (NAMED(command.part[0], "WEIR.TAKE")) put(out, TAKEN, sizeof TAKEN - 1);
    else answer_other(&command, out);
    return length;
}

/* ---- the naive stand-in ---- */

struct slot {
    uint64_t identity; /* 0: empty */
    int64_t arrival_ns;
};

struct terms {
    int64_t emission_ns, burst_ns; /* a permit; how far ahead of the clock the arrival may be */
    uint64_t limit, quantity;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static struct slot *slot_of(struct part key)
{
    static struct slot *slots;
    static const struct secret SECRET = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    const size_t mask = ((size_t)1 << SLOTS_BITS) - 1;
    if (slots == NULL) slots = calloc(mask + 1, sizeof *slots);
    if (slots == NULL) abort();
    const uint64_t identity = hash_siphash_1_3(&SECRET, key.at, key.size) | 1;
    for (size_t i = identity >> 1 & mask, looked = 0; looked <= mask; i = (i + 1) & mask, looked++) {
        if (slots[i].identity == 0) slots[i].identity = identity;
        if (slots[i].identity == identity) return &slots[i];
    }
    return NULL;
}

static bool read_terms(const struct command *command, struct terms *terms)
{
    uint64_t burst, count, period_s;
    terms->quantity = 1;
    if (command->count < 5 || command->count > 6) return false;
    if (!number_of(command->part[2], &burst) || !number_of(command->part[3], &count)) return false;
    if (!number_of(command->part[4], &period_s) || count == 0 || period_s == 0 || period_s > PERIOD_MAX) return false;
    if (command->count == 6 && !number_of(command->part[5], &terms->quantity)) return false;
    terms->limit = burst + 1;
    terms->emission_ns = (int64_t)period_s * SECOND_NS / (int64_t)count;
    if (terms->emission_ns == 0) return false;
    const uint64_t most = EMISSION_MAX / (uint64_t)terms->emission_ns;
    if (terms->limit > most || terms->quantity > most) return false;
    terms->burst_ns = terms->emission_ns * (int64_t)terms->limit;
    return true;
}

/* Seconds, upward. */
static int64_t seconds_of(int64_t ns)
{
    return (ns + SECOND_NS - 1) / SECOND_NS;
}

static void decide(struct slot *slot, const struct terms *terms, char **out)
{
    const int64_t now = now_ns();
    const int64_t arrival = slot->arrival_ns > now ? slot->arrival_ns : now;
    const int64_t next = arrival + terms->emission_ns * (int64_t)terms->quantity;
    const int64_t over_ns = next - now - terms->burst_ns;
    const bool refused = over_ns > 0;
    if (!refused) slot->arrival_ns = next;
    const int64_t ahead_ns = (refused ? arrival : next) - now;
    put_text(out, "*5\r\n");
    put_integer(out, refused);
    put_integer(out, (int64_t)terms->limit);
    put_integer(out, (terms->burst_ns - ahead_ns) / terms->emission_ns);
    put_integer(out, refused ? seconds_of(over_ns) : -1);
    put_integer(out, seconds_of(ahead_ns));
}

static long answer_naive(const char *bytes, size_t size, char **out)
{
    struct command command;
    struct terms terms;
    const long length = parse(bytes, size, &command);
    if (length <= 0) return length;
    if (!NAMED(command.part[0], "CL.THROTTLE")) {
        answer_other(&command, out);
        return length;
    }
    struct slot *slot = read_terms(&command, &terms) ? slot_of(command.part[1]) : NULL;
    if (slot != NULL) decide(slot, &terms, out);
    else put_text(out, "-ERR expected CL.THROTTLE key max_burst count period [quantity], such as k 15 30 60\r\n");
    return length;
}

/* ---- HTTP ---- */

/* The value of Content-Length, 0 without one. */
static bool body_size(const char *line, const char *end, uint64_t *size)
{
    static const char NAME[] = "content-length:";
    *size = 0;
    while (line < end) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        const size_t length = (size_t)(line_end - line);
        if (length > sizeof NAME && (*line | ' ') == 'c' && strncasecmp(line, NAME, sizeof NAME - 1) == 0) {
            const char *value = line + sizeof NAME - 1;
            while (*value == ' ') value++;
            return digits_of(value, line_end - 1, size) && *size <= BULK_MAX;
        }
        line = line_end + 1;
    }
    return true;
}

static long answer_http(const char *bytes, size_t size, char **out)
{
    static const char ALLOWED[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 55\r\n"
                                  "RateLimit-Policy: \"limit\";q=20;w=2\r\nRateLimit: \"limit\";r=19;t=1\r\n\r\n"
                                  "{\"verdict\":\"allow\",\"remaining\":19,\"full_ns\":100000000}\n";
    const char *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (end == NULL) return ANSWER_MORE;
    end += 4;
    const bool is_known = strncmp(bytes, "GET ", 4) == 0 || strncmp(bytes, "POST ", 5) == 0;
    uint64_t body;
    if (!is_known || !body_size(bytes, end, &body)) return ANSWER_BAD;
    if (size - (size_t)(end - bytes) < body) return ANSWER_MORE;
    put(out, ALLOWED, sizeof ALLOWED - 1);
    return end - bytes + (long)body;
}

answer_function *answer_for(enum mode mode)
{
    static answer_function *const ANSWERS[] = {
        [MODE_CONSTANT] = answer_constant, [MODE_NAIVE] = answer_naive, [MODE_HTTP] = answer_http};
    return ANSWERS[mode];
}
