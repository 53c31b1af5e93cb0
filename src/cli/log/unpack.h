/* SPDX-License-Identifier: MIT
   The bytes of compressed logs, whichever of the known formats they are in.

   See unpack.c; each library is used by one file, unpack_FORMAT.c, which is built where the library is. */
#ifndef WEIR_CLI_REPLAY_LOG_UNPACK_H
#define WEIR_CLI_REPLAY_LOG_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* A file that asks for more to be unpacked is refused: its author must not decide how much memory we use. */
enum { UNPACK_MEMORY_BITS = 28, UNPACK_MEMORY_MIB = 1 << (UNPACK_MEMORY_BITS - 20) };

enum unpack_state { UNPACK_MORE, UNPACK_END /* of this member */, UNPACK_DAMAGED, UNPACK_TOO_LARGE, UNPACK_NO_MEMORY };

/* What there is to read and room to write; both move on. */
struct unpack_bytes {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
};

/* A library, for one member at a time.  step uses what it can of the bytes; with out_size 0 behind it there may be more
   to write without anything to read. */
struct codec {
    void *(*open)(void); /* NULL: no memory */
    enum unpack_state (*step)(void *stream, struct unpack_bytes *bytes);
    void (*close)(void *stream);
};

const struct codec *unpack_gzip(void);
const struct codec *unpack_bzip2(void);
const struct codec *unpack_xz(void);
const struct codec *unpack_zstd(void);

struct unpack_format {
    const char *name, *magic;
    size_t magic_size;
    const struct codec *(*codec)(void); /* NULL: not in this build, or in none */
    const char *library;                /* NULL: in none */
    const char *command;                /* unpacks a file to standard output */
};

/* By the first bytes; NULL: plain, unless *more, when these may be the beginning of a format's. */
const struct unpack_format *unpack_format_of(const void *bytes, size_t size, bool *more);

/* A compressed log: members of one format, one behind the other.  Zeros between and behind them are padding. */
struct unpack {
    const struct unpack_format *format;
    void *stream; /* NULL: between members */
};

/* DAMAGED, too, for what is no member behind a member: then stream is NULL.  END is never answered. */
enum unpack_state unpack_step(struct unpack *unpack, struct unpack_bytes *bytes);

void unpack_close(struct unpack *unpack);

#endif
