/* SPDX-License-Identifier: MIT
   The protocol of Redis: commands as arrays of bulk strings or as a line, answers of RESP2 and RESP3.

       *3\r\n$9\r\nWEIR.TAKE\r\n$3\r\napi\r\n$4\r\nacme\r\n        WEIR.TAKE api "acme"\r\n

   Lengths are decimal, without a sign or zeros in front; lines of arrays end in \r\n.  In a line words are parted by
   blanks, a word may stand in "..." or '...'; escapes are not read, since arguments are borrowed from what arrived.

   Reads no byte twice and none behind the command; says RESP_MORE only of what more bytes can make a command within the
   limits; once bad, it is bad with any bytes behind it. */
#include "format/resp.h"

enum { ARGUMENT_SIZE_MIN = 6 }; /* $0\r\n\r\n */

/* ---- commands as arrays ---- */

struct reader {
    const char *start, *at, *end;
    const char *problem;
    size_t left; /* arguments that are still to come, this one with it */
};

static enum resp_result bad(struct reader *reader, const char *problem)
{
    reader->problem = problem;
    return RESP_BAD;
}

/* All that arrived is good, and so far the command takes `size` bytes at least. */
static enum resp_result more(struct reader *reader, size_t size, const char *problem)
{
    const size_t others = reader->left != 0 ? (reader->left - 1) * ARGUMENT_SIZE_MIN : 0;
    if (size + others > RESP_COMMAND_MAX) return bad(reader, problem);
    return RESP_MORE;
}

/* Behind its letter: digits and \r\n.  RESP_MORE: as far as it came, in *value what was read of it. */
static inline enum resp_result read_length(struct reader *reader, size_t max, size_t *value, const char *problem)
{
    const char *at = reader->at;
    size_t number = 0;
    for (; at < reader->end && (unsigned)(*at - '0') <= 9; at++) {
        if (number == 0 && at != reader->at) return bad(reader, problem);
        number = number * 10 + (unsigned)(*at - '0');
        if (number > max) return bad(reader, problem);
    }
    *value = number;
    const size_t rest = (size_t)(reader->end - at);
    if (at == reader->at && rest != 0) return bad(reader, problem);
    if ((rest > 0 && at[0] != '\r') || (rest > 1 && at[1] != '\n')) return bad(reader, problem);
    if (rest < 2) return RESP_MORE;
    reader->at = at + 2;
    return RESP_COMMAND;
}

static enum resp_result more_of_length(struct reader *reader, size_t value, const char *problem)
{
    size_t digits = 1;
    for (size_t rest = value; rest >= 10; rest /= 10) digits++;
    return more(reader, (size_t)(reader->at - reader->start) + digits + value + 4, problem);
}

static inline enum resp_result read_argument(struct reader *reader, struct slice *argument)
{
    static const char invalid[] = "Protocol error: invalid bulk length";
    size_t size = 0;
    if (reader->at == reader->end)
        return more(reader, (size_t)(reader->at - reader->start) + ARGUMENT_SIZE_MIN, invalid);
    if (*reader->at != '$') return bad(reader, "Protocol error: expected '$', as in $4\\r\\nPING\\r\\n");
    reader->at++;
    const enum resp_result result = read_length(reader, RESP_COMMAND_MAX, &size, invalid);
    if (result == RESP_MORE) return more_of_length(reader, size, invalid);
    if (result == RESP_BAD) return RESP_BAD;
    const size_t rest = (size_t)(reader->end - reader->at);
    const char *end = rest >= size ? reader->at + size : reader->end;
    if ((rest > size && end[0] != '\r') || (rest > size + 1 && end[1] != '\n'))
        return bad(reader, "Protocol error: expected \\r\\n after as many bytes as the bulk length says");
    if (rest < size + 2) return more(reader, (size_t)(reader->at - reader->start) + size + 2, invalid);
    *argument = (struct slice){reader->at, size};
    reader->at = end + 2;
    return RESP_COMMAND;
}

static inline bool ends_line(const char *at)
{
    return memcmp(at, "\r\n", 2) == 0;
}

/* What nearly all are: a size of one digit or two, and everything is there.  Returns its end, or NULL: look closer. */
static inline const char *read_short(const char *at, const char *end, struct slice *argument)
{
    if (end - at < ARGUMENT_SIZE_MIN || at[0] != '$') return NULL;
    size_t size = (unsigned char)(at[1] - '0');
    if (size > 9) return NULL;
    at += 2;
    if (!ends_line(at)) {
        const unsigned second = (unsigned char)(*at++ - '0');
        if (second > 9 || size == 0 || !ends_line(at)) return NULL;
        size = size * 10 + second;
    }
    at += 2;
    if ((size_t)(end - at) < size + 2 || !ends_line(at + size)) return NULL;
    *argument = (struct slice){at, size};
    return at + size + 2;
}

/* As many as there are of them, one behind the other. */
static inline size_t read_short_ones(struct reader *reader, struct slice argument[], size_t count)
{
    const char *at = reader->at, *const end = reader->end;
    size_t done = 0;
    for (const char *next; done < count && (next = read_short(at, end, &argument[done])) != NULL; done++) at = next;
    reader->at = at;
    return done;
}

/* *-1\r\n is nothing, too. */
static enum resp_result read_null(struct reader *reader)
{
    static const char rest[] = "-1\r\n";
    for (size_t i = 0; i < sizeof rest - 1; i++, reader->at++) {
        if (reader->at == reader->end) return RESP_MORE;
        if (*reader->at != rest[i]) return bad(reader, "Protocol error: invalid multibulk length");
    }
    return RESP_COMMAND;
}

static enum resp_result read_array(struct reader *reader, struct resp_command *command)
{
    size_t count = 0;
    reader->at++;
    if (reader->at < reader->end && *reader->at == '-') return read_null(reader);
    enum resp_result result =
        read_length(reader, RESP_ARGUMENTS_MAX, &count, "Protocol error: invalid multibulk length");
    for (size_t done = 0; result == RESP_COMMAND; done++) {
        done += read_short_ones(reader, command->argument + done, count - done);
        reader->left = count - done;
        if (done == count) break;
        result = read_argument(reader, &command->argument[done]);
    }
    command->count = (unsigned)count;
    return result;
}

/* ---- commands as a line ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A byte that no line of text has; `end` is behind the last one that arrived. */
static bool is_text(struct slice line)
{
    for (size_t i = 0; i < line.size; i++) {
        const unsigned char byte = (unsigned char)line.bytes[i];
        const bool last = i + 1 == line.size;
        if ((byte < ' ' && byte != '\t' && !(byte == '\r' && last)) || byte == 0x7F) return false;
    }
    return true;
}

/* In quotes, without escapes: they would have to be undone somewhere. */
static enum resp_result read_quoted(struct reader *reader, struct slice *word)
{
    const char quote = *reader->at++;
    const char *closing = reader->at;
    while (closing < reader->end && *closing != quote && *closing != '\\') closing++;
    if (closing < reader->end && *closing == '\\')
        return bad(reader,
                   "Protocol error: no escapes in quotes of a line here; send an array: *1\\r\\n$4\\r\\nPING\\r\\n");
    if (closing == reader->end || (closing + 1 < reader->end && !is_blank(closing[1])))
        return bad(reader, "Protocol error: unbalanced quotes in request");
    *word = slice_between(reader->at, closing);
    reader->at = closing + 1;
    return RESP_COMMAND;
}

static enum resp_result read_word(struct reader *reader, struct slice *word)
{
    if (*reader->at == '"' || *reader->at == '\'') return read_quoted(reader, word);
    const char *start = reader->at;
    for (; reader->at < reader->end && !is_blank(*reader->at); reader->at++) {
        if (*reader->at == '"' || *reader->at == '\'')
            return bad(reader, "Protocol error: unbalanced quotes in request");
    }
    *word = slice_between(start, reader->at);
    return RESP_COMMAND;
}

static enum resp_result read_words(struct reader *reader, struct resp_command *command)
{
    command->count = 0;
    for (;; command->count++) {
        while (reader->at < reader->end && is_blank(*reader->at)) reader->at++;
        if (reader->at == reader->end) return RESP_COMMAND;
        if (command->count == RESP_ARGUMENTS_MAX) return bad(reader, "Protocol error: too many words in a line");
        const enum resp_result result = read_word(reader, &command->argument[command->count]);
        if (result != RESP_COMMAND) return result;
    }
}

static bool begins_as(struct slice slice, const char *start)
{
    const size_t size = strlen(start);
    return slice.size >= size && resp_is((struct slice){slice.bytes, size}, start);
}

/* A browser was talked into sending this here: the rest of it could be commands. */
static bool is_foreign(struct slice line)
{
    while (line.size != 0 && is_blank(line.bytes[0])) line = slice_from(line, 1);
    if (begins_as(line, "HOST:")) return true;
    return begins_as(line, "POST") && (line.size == 4 || is_blank(line.bytes[4]));
}

/* GET / HTTP/1.1 */
static bool is_request_line(const struct resp_command *command)
{
    return command->count == 3 && begins_as(command->argument[2], "HTTP/");
}

static enum resp_result read_line(struct reader *reader, struct resp_command *command)
{
    const size_t arrived = (size_t)(reader->end - reader->at);
    const size_t looked_at = arrived < RESP_INLINE_MAX ? arrived : RESP_INLINE_MAX;
    const char *newline = memchr(reader->at, '\n', looked_at);
    const struct slice line = slice_between(reader->at, newline != NULL ? newline : reader->at + looked_at);
    if (!is_text(line)) return bad(reader, "Protocol error: a line has bytes that are not text");
    if (newline == NULL && looked_at == RESP_INLINE_MAX) return bad(reader, "Protocol error: too big inline request");
    if (newline == NULL) return RESP_MORE;
    reader->end = newline != line.bytes && newline[-1] == '\r' ? newline - 1 : newline;
    if (is_foreign(slice_between(reader->at, reader->end))) return RESP_FOREIGN;
    const enum resp_result result = read_words(reader, command);
    reader->at = newline + 1;
    return result == RESP_COMMAND && is_request_line(command) ? RESP_FOREIGN : result;
}

enum resp_result resp_read(struct slice bytes, struct resp_command *command, const char **problem)
{
    struct reader reader = {bytes.bytes, bytes.bytes, bytes.bytes + bytes.size, NULL, 0};
    command->count = 0;
    if (bytes.size == 0) return RESP_MORE;
    enum resp_result result = bytes.bytes[0] == '*' ? read_array(&reader, command) : read_line(&reader, command);
    command->size = (size_t)(reader.at - reader.start);
    if (result == RESP_COMMAND && command->size > RESP_COMMAND_MAX)
        result = bad(&reader, "Protocol error: invalid bulk length");
    if (result == RESP_BAD) *problem = reader.problem;
    return result;
}

bool resp_is(struct slice argument, const char *name)
{
    size_t i = 0;
    for (; i < argument.size && name[i] != '\0'; i++) {
        const char c = argument.bytes[i];
        if ((c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) != name[i]) return false;
    }
    return i == argument.size && name[i] == '\0';
}

/* ---- answers ---- */

enum { HEAD_SIZE_MAX = 1 + BYTES_NUMBER_MAX + 2 };

/* A letter, a number and \r\n, at the end of memory; returns where it begins. */
static char *write_head(char memory[HEAD_SIZE_MAX], char letter, uint64_t number)
{
    memory[HEAD_SIZE_MAX - 2] = '\r';
    memory[HEAD_SIZE_MAX - 1] = '\n';
    char *at = bytes_digits_before(memory + HEAD_SIZE_MAX - 2, number);
    *--at = letter;
    return at;
}

static void add_head(struct bytes *out, char letter, uint64_t number)
{
    if (number <= 9) { /* most are: counts, verdicts */
        const char head[] = {letter, (char)('0' + number), '\r', '\n'};
        char *at = bytes_room(out, sizeof head);
        if (at != NULL) memcpy(at, head, sizeof head);
        return;
    }
    char memory[HEAD_SIZE_MAX];
    const char *head = write_head(memory, letter, number);
    bytes_add(out, slice_between(head, memory + sizeof memory));
}

void resp_array(struct bytes *out, size_t count)
{
    add_head(out, '*', count);
}

void resp_map(struct bytes *out, unsigned version, size_t pairs)
{
    if (version >= 3) add_head(out, '%', pairs);
    else add_head(out, '*', pairs * 2);
}

void resp_bulk(struct bytes *out, struct slice slice)
{
    char memory[HEAD_SIZE_MAX];
    const char *head = write_head(memory, '$', slice.size);
    const size_t head_size = (size_t)(memory + sizeof memory - head);
    char *at = bytes_room(out, head_size + slice.size + 2);
    if (at == NULL) return;
    memcpy(at, head, head_size);
    at += head_size;
    if (slice.size != 0) memcpy(at, slice.bytes, slice.size);
    at[slice.size] = '\r';
    at[slice.size + 1] = '\n';
}

/* Between its letter and the end of the line: bytes that would end it are blanks. */
static void add_line(struct bytes *out, char letter, struct slice text)
{
    char *at = bytes_room(out, text.size + 3);
    if (at == NULL) return;
    *at++ = letter;
    for (size_t i = 0; i < text.size; i++, at++) {
        *at = text.bytes[i];
        if (*at == '\r' || *at == '\n') *at = ' ';
    }
    *at++ = '\r';
    *at = '\n';
}

void resp_simple(struct bytes *out, const char *text)
{
    add_line(out, '+', slice_of(text));
}

/* Of the least number, too, which has no positive. */
static inline uint64_t size_of(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

/* Returns its end. */
static inline char *write_line_end(char *at)
{
    at[0] = '\r';
    at[1] = '\n';
    return at + 2;
}

/* Returns its end. */
static inline char *write_integer(char *at, int64_t number)
{
    if (number >= 0 && number <= 9) {
        at[0] = ':';
        at[1] = (char)('0' + number);
        return write_line_end(at + 2);
    }
    *at++ = ':';
    if (number < 0) *at++ = '-';
    at = bytes_digits(at, size_of(number));
    return write_line_end(at);
}

void resp_integers(struct bytes *out, const int64_t number[], size_t count)
{
    char memory[RESP_INTEGERS_MAX * (1 + HEAD_SIZE_MAX)];
    const bool roomy = out->capacity - out->size >= sizeof memory;
    char *const start = roomy ? out->memory + out->size : memory, *at = start;
    for (size_t i = 0; i < count; i++) at = write_integer(at, number[i]);
    if (roomy) out->size += (size_t)(at - start);
    else bytes_add(out, slice_between(start, at));
}

void resp_integer(struct bytes *out, int64_t number)
{
    resp_integers(out, &number, 1);
}

void resp_null(struct bytes *out, unsigned version)
{
    bytes_text(out, version >= 3 ? "_\r\n" : "$-1\r\n");
}

void resp_error(struct bytes *out, struct slice what)
{
    add_line(out, '-', what);
}
