/* SPDX-License-Identifier: MIT
   A compressed log, unpacked as its bytes come.

   See packed.c. */
#ifndef WEIR_CLI_LOG_PACKED_H
#define WEIR_CLI_LOG_PACKED_H

#include "cli/log/unpack.h"

enum { PACKED_SIZE = 1 << 16, PACKED_MESSAGE_SIZE = 160 };

struct packed {
    struct unpack unpack;
    bool full; /* there was no room for all that the last bytes become */
    size_t at, size;
    unsigned char bytes[PACKED_SIZE]; /* at .. size are not unpacked yet */
};

/* A log of this format that begins with these bytes, at most PACKED_SIZE; owned.  NULL: message says why not, with
   `instead`, a pipe of what unpacks it: "| weir replay LIMIT". */
struct packed *packed_open(const struct unpack_format *format, const void *bytes, size_t size, const char *instead,
                           char message[PACKED_MESSAGE_SIZE]);
void packed_close(struct packed *packed); /* NULL is fine */

/* It has unpacked what it was given: more has to be read, into bytes, and packed_given; 0 is the end of the log.
   False: the end came too early, see message. */
bool packed_wants(const struct packed *packed);
bool packed_given(struct packed *packed, size_t size, char message[PACKED_MESSAGE_SIZE]);

/* Writes at most so much; *written may be 0.  False: see message; what was written is good. */
bool packed_unpack(struct packed *packed, char *out, size_t room, size_t *written, char message[PACKED_MESSAGE_SIZE]);

#endif
