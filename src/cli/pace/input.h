/* SPDX-License-Identifier: MIT
   Standard input as whole lines, many at a time, without copying them.

   See input.c. */
#ifndef WEIR_CLI_PACE_INPUT_H
#define WEIR_CLI_PACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/log/packed.h"
#include "share/atomic.h"

enum { INPUT_LINES = 4096 };

/*  buffer |.......|line|line|line|li......|
                   begin ^next     ^scanned ^filled          end[next .. found) are the ends of the lines known */
struct input {
    int fd;
    char delimiter;
    char *buffer;
    size_t size, begin, scanned, filled;
    size_t end[INPUT_LINES];
    int next, found;
    bool ended;
    bool inside;          /* what was taken last did not end a line */
    size_t piece_max;     /* a longer line comes in pieces of this size; 0 = every line whole */
    struct atom consumed; /* bytes of the lines that were taken; others may look */
    /* A log may be compressed. */
    bool unpacks, known; /* its first bytes have shown whether it is */
    struct packed *packed;
    bool damaged; /* no line comes behind those that are known */
    char message[PACKED_MESSAGE_SIZE];
};

enum input_state {
    INPUT_READY,
    INPUT_EMPTY,
    INPUT_END,
    INPUT_INTERRUPTED,
    INPUT_FAILED,
    INPUT_TOO_LONG,
    INPUT_DAMAGED, /* of a compressed log; what is wrong is in message */
    INPUT_REFUSED  /* never of input_lines; said why */
};

void input_open(struct input *input, int fd, char delimiter);
void input_close(struct input *input);

/* Makes sure that a line is known, reading when none is.  EMPTY: there is nothing to read yet. */
enum input_state input_lines(struct input *input);

/* Until there is something to read, or for a short while: a caller that waits checks now and then whether it is still
   wanted. */
void input_wait(const struct input *input);

/* From here on in pieces of another size, also what is known; then nothing is known. */
void input_pieces_of(struct input *input, size_t piece_max);

/* Of a known piece: not the rest of a line whose beginning was a piece before it. */
bool input_begins_line(const struct input *input, int line);

/* The known line, without its delimiter. */
const char *input_line(const struct input *input, int line, size_t *size);

/* Bytes of the known line, with its delimiter where it has one. */
size_t input_size_of(const struct input *input, int line);

/* The known lines next .. next + count are done with; returns their bytes, which stay until the next input_lines. */
const char *input_take(struct input *input, int count, size_t *size);

#endif
