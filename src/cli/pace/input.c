/* SPDX-License-Identifier: MIT
   Reads large pieces and finds the lines in them.

   Every byte comes out once, in order; the last line may lack its delimiter. */
#include "cli/pace/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_AT_FIRST = 1 << 18, SIZE_MAX_BYTES = 1 << 28, LOOK_EVERY_MS = 100 };

void input_open(struct input *input, int fd, char delimiter)
{
    memset(input, 0, sizeof *input);
    input->fd = fd;
    input->delimiter = delimiter;
}

void input_close(struct input *input)
{
    packed_close(input->packed);
    free(input->buffer);
}

static void find_lines(struct input *input)
{
    input->next = input->found = 0;
    while (input->found < INPUT_LINES && input->scanned < input->filled) {
        const char *from = input->buffer + input->scanned;
        const size_t left = input->filled - input->scanned;
        const bool long_enough = input->piece_max != 0 && left >= input->piece_max;
        const size_t look = long_enough ? input->piece_max : left;
        const char *delimiter = memchr(from, input->delimiter, look);
        if (delimiter == NULL) {
            if (!long_enough && !input->ended) break;
            input->scanned += look;
        } else {
            input->scanned = (size_t)(delimiter - input->buffer) + 1;
        }
        input->end[input->found++] = input->scanned;
    }
}

/* Room behind `filled`: what is done with goes, and then the buffer grows. */
static enum input_state make_room(struct input *input)
{
    if (input->begin != 0) memmove(input->buffer, input->buffer + input->begin, input->filled - input->begin);
    input->filled -= input->begin;
    input->scanned -= input->begin;
    input->begin = 0;
    if (input->filled < input->size) return INPUT_READY;
    const size_t size = input->size == 0 ? SIZE_AT_FIRST : input->size * 2;
    if (size > SIZE_MAX_BYTES) return INPUT_TOO_LONG;
    char *larger = realloc(input->buffer, size);
    if (larger == NULL) return INPUT_TOO_LONG;
    input->buffer = larger;
    input->size = size;
    return INPUT_READY;
}

static bool something_to_read(const struct input *input, int wait_ms)
{
    struct pollfd wait = {.fd = input->fd, .events = POLLIN};
    return poll(&wait, 1, wait_ms) > 0;
}

void input_wait(const struct input *input)
{
    something_to_read(input, LOOK_EVERY_MS);
}

/* The first bytes of a log say what it is. */
static void look_at_first(struct input *input)
{
    bool more;
    const struct unpack_format *format = unpack_format_of(input->buffer, input->filled, &more);
    input->known = !more;
    if (format == NULL) return;
    input->packed = packed_open(format, input->buffer, input->filled, "| weir pace --at time", input->message);
    input->filled = 0;
    input->damaged = input->packed == NULL;
}

static enum input_state read_some(struct input *input, void *into, size_t size, size_t *got)
{
    if (!something_to_read(input, 0)) return INPUT_EMPTY;
    const ssize_t read_now = read(input->fd, into, size);
    *got = read_now > 0 ? (size_t)read_now : 0;
    if (read_now < 0) return errno == EINTR ? INPUT_INTERRUPTED : INPUT_FAILED;
    return INPUT_READY;
}

static enum input_state read_more(struct input *input)
{
    const bool first = input->unpacks && !input->known;
    const size_t size = first ? PACKED_SIZE - input->filled : input->size - input->filled;
    size_t got;
    const enum input_state state = read_some(input, input->buffer + input->filled, size, &got);
    if (state != INPUT_READY) return state;
    input->filled += got;
    if (got == 0) input->ended = true;
    if (first) look_at_first(input);
    return INPUT_READY;
}

static enum input_state unpack(struct input *input)
{
    struct packed *packed = input->packed;
    size_t got;
    if (packed_wants(packed)) {
        const enum input_state state = read_some(input, packed->bytes, sizeof packed->bytes, &got);
        if (state != INPUT_READY) return state;
        input->damaged = !packed_given(packed, got, input->message);
        input->ended = got == 0 && !input->damaged;
        if (got == 0) return INPUT_READY;
    }
    const size_t room = input->size - input->filled;
    input->damaged = !packed_unpack(packed, input->buffer + input->filled, room, &got, input->message);
    input->filled += got;
    return INPUT_READY;
}

enum input_state input_lines(struct input *input)
{
    while (input->next == input->found) {
        if (input->known || !input->unpacks || input->ended) find_lines(input);
        if (input->found != 0) break;
        if (input->damaged) return INPUT_DAMAGED;
        if (input->ended) return INPUT_END;
        if (input->begin != 0 || input->filled == input->size) {
            const enum input_state room = make_room(input);
            if (room != INPUT_READY) return room;
        }
        const enum input_state state = input->packed != NULL ? unpack(input) : read_more(input);
        if (state != INPUT_READY) return state;
    }
    return INPUT_READY;
}

void input_pieces_of(struct input *input, size_t piece_max)
{
    input->piece_max = piece_max;
    input->scanned = input->begin;
    input->next = input->found = 0;
}

bool input_begins_line(const struct input *input, int line)
{
    return line == input->next ? !input->inside : input->buffer[input->end[line - 1] - 1] == input->delimiter;
}

const char *input_line(const struct input *input, int line, size_t *size)
{
    const size_t begin = line == input->next ? input->begin : input->end[line - 1], end = input->end[line];
    *size = end - begin - (input->buffer[end - 1] == input->delimiter);
    return input->buffer + begin;
}

size_t input_size_of(const struct input *input, int line)
{
    return input->end[line] - (line == input->next ? input->begin : input->end[line - 1]);
}

const char *input_take(struct input *input, int count, size_t *size)
{
    const char *start = input->buffer + input->begin;
    const size_t end = input->end[input->next + count - 1];
    *size = end - input->begin;
    input->begin = end;
    input->next += count;
    atom_add(&input->consumed, *size);
    input->inside = input->buffer[end - 1] != input->delimiter;
    return start;
}
