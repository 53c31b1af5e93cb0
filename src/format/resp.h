/* SPDX-License-Identifier: MIT
   The protocol of Redis (RESP2 and RESP3), sans IO: bytes to commands, answers to bytes.

   See resp.c.  A command is read from its first byte each time, so nothing is remembered between two
   arrivals. */
#ifndef WEIR_FORMAT_RESP_H
#define WEIR_FORMAT_RESP_H

#include "format/bytes.h"

enum {
    RESP_ARGUMENTS_MAX = 64,
    RESP_INLINE_MAX = 4096,    /* bytes of a command that is one line */
    RESP_COMMAND_MAX = 1 << 16 /* of any */
};

/* Borrowed from the bytes it was read from. */
struct resp_command {
    struct slice argument[RESP_ARGUMENTS_MAX];
    unsigned count; /* 0: an empty line, nothing to answer */
    size_t size;    /* bytes that it takes, also when too long or too many */
};

/* RESP_FOREIGN: not this protocol but HTTP ("POST", "Host:"): close without a word.  RESP_BAD: close after the problem,
   since nobody knows where the next command begins. */
enum resp_result { RESP_MORE, RESP_COMMAND, RESP_BAD, RESP_FOREIGN };

/* RESP_BAD: *problem is what to say behind "-ERR ". */
enum resp_result resp_read(struct slice bytes, struct resp_command *command, const char **problem);

/* Compares without case; name in capitals. */
bool resp_is(struct slice argument, const char *name);

/* ---- answers; version is 2 or 3 ---- */
void resp_array(struct bytes *out, size_t count);
void resp_map(struct bytes *out, unsigned version, size_t pairs); /* RESP2: an array of twice as many */
void resp_bulk(struct bytes *out, struct slice slice);
void resp_simple(struct bytes *out, const char *text); /* +OK */
void resp_integer(struct bytes *out, int64_t number);

/* One after the other: all or none. */
enum { RESP_INTEGERS_MAX = 8 };
void resp_integers(struct bytes *out, const int64_t number[], size_t count);

void resp_null(struct bytes *out, unsigned version);

/* "-ERR what": bytes that would end the line are blanks.  `what` begins with a code of capitals, as Redis has it. */
void resp_error(struct bytes *out, struct slice what);

#endif
