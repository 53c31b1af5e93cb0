/* SPDX-License-Identifier: MIT
   Xz, by liblzma. */
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/log/unpack.h"

static void *open_xz(void)
{
    lzma_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) return NULL;
    *stream = (lzma_stream)LZMA_STREAM_INIT;
    if (lzma_stream_decoder(stream, UINT64_C(1) << UNPACK_MEMORY_BITS, 0) == LZMA_OK) return stream;
    free(stream);
    return NULL;
}

static enum unpack_state step(void *opened, struct unpack_bytes *bytes)
{
    lzma_stream *stream = opened;
    stream->next_in = bytes->in;
    stream->avail_in = bytes->in_size;
    stream->next_out = bytes->out;
    stream->avail_out = bytes->out_size;
    const lzma_ret answer = lzma_code(stream, LZMA_RUN);
    *bytes = (struct unpack_bytes){stream->next_in, stream->avail_in, stream->next_out, stream->avail_out};
    if (answer == LZMA_STREAM_END) return UNPACK_END;
    if (answer == LZMA_MEM_ERROR) return UNPACK_NO_MEMORY;
    if (answer == LZMA_MEMLIMIT_ERROR) return UNPACK_TOO_LARGE;
    return answer == LZMA_OK || answer == LZMA_BUF_ERROR ? UNPACK_MORE : UNPACK_DAMAGED;
}

static void close_xz(void *stream)
{
    lzma_end(stream);
    free(stream);
}

const struct codec *unpack_xz(void)
{
    static const struct codec xz = {open_xz, step, close_xz};
    return &xz;
}
