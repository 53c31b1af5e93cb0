/* SPDX-License-Identifier: MIT
   Gzip, by zlib. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "cli/log/unpack.h"
#include "core/num.h"

enum { GZIP_WINDOW = 15 + 16 /* as zlib says: the largest window, and a header of gzip */ };

static void *open_gzip(void)
{
    z_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || inflateInit2(stream, GZIP_WINDOW) == Z_OK) return stream;
    free(stream);
    return NULL;
}

static enum unpack_state step(void *opened, struct unpack_bytes *bytes)
{
    z_stream *stream = opened;
    stream->next_in = (unsigned char *)(uintptr_t)bytes->in; /* not written to */
    stream->avail_in = (unsigned)least(bytes->in_size, UINT_MAX);
    stream->next_out = bytes->out;
    stream->avail_out = (unsigned)least(bytes->out_size, UINT_MAX);
    const int answer = inflate(stream, Z_NO_FLUSH);
    bytes->in_size -= (size_t)(stream->next_in - bytes->in);
    bytes->out_size -= (size_t)(stream->next_out - bytes->out);
    bytes->in = stream->next_in;
    bytes->out = stream->next_out;
    if (answer == Z_STREAM_END) return UNPACK_END;
    if (answer == Z_MEM_ERROR) return UNPACK_NO_MEMORY;
    return answer == Z_OK || answer == Z_BUF_ERROR ? UNPACK_MORE : UNPACK_DAMAGED;
}

static void close_gzip(void *stream)
{
    inflateEnd(stream);
    free(stream);
}

const struct codec *unpack_gzip(void)
{
    static const struct codec gzip = {open_gzip, step, close_gzip};
    return &gzip;
}
