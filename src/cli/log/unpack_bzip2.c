/* SPDX-License-Identifier: MIT
   Bzip2, by its library. */
#include <bzlib.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "cli/log/unpack.h"
#include "core/num.h"

static void *open_bzip2(void)
{
    bz_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || BZ2_bzDecompressInit(stream, 0, 0) == BZ_OK) return stream;
    free(stream);
    return NULL;
}

static enum unpack_state step(void *opened, struct unpack_bytes *bytes)
{
    bz_stream *stream = opened;
    stream->next_in = (char *)(uintptr_t)bytes->in; /* not written to */
    stream->avail_in = (unsigned)least(bytes->in_size, UINT_MAX);
    stream->next_out = (char *)bytes->out;
    stream->avail_out = (unsigned)least(bytes->out_size, UINT_MAX);
    const int answer = BZ2_bzDecompress(stream);
    const size_t used = (size_t)(stream->next_in - (char *)(uintptr_t)bytes->in);
    const size_t written = (size_t)(stream->next_out - (char *)bytes->out);
    bytes->in += used;
    bytes->in_size -= used;
    bytes->out += written;
    bytes->out_size -= written;
    if (answer == BZ_STREAM_END) return UNPACK_END;
    if (answer == BZ_MEM_ERROR) return UNPACK_NO_MEMORY;
    return answer == BZ_OK ? UNPACK_MORE : UNPACK_DAMAGED;
}

static void close_bzip2(void *stream)
{
    BZ2_bzDecompressEnd(stream);
    free(stream);
}

const struct codec *unpack_bzip2(void)
{
    static const struct codec bzip2 = {open_bzip2, step, close_bzip2};
    return &bzip2;
}
