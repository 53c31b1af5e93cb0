/* SPDX-License-Identifier: MIT
   Zstd, by its library. */
#include <zstd.h>
#include <zstd_errors.h>

#include "cli/log/unpack.h"

static void *open_zstd(void)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (stream != NULL) ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, UNPACK_MEMORY_BITS);
    return stream;
}

static enum unpack_state step(void *stream, struct unpack_bytes *bytes)
{
    ZSTD_inBuffer in = {bytes->in, bytes->in_size, 0};
    ZSTD_outBuffer out = {bytes->out, bytes->out_size, 0};
    const size_t answer = ZSTD_decompressStream(stream, &out, &in);
    *bytes = (struct unpack_bytes){bytes->in + in.pos, bytes->in_size - in.pos, bytes->out + out.pos,
                                   bytes->out_size - out.pos};
    if (answer == 0) return UNPACK_END;
    if (!ZSTD_isError(answer)) return UNPACK_MORE;
    if (ZSTD_getErrorCode(answer) == ZSTD_error_memory_allocation) return UNPACK_NO_MEMORY;
    return ZSTD_getErrorCode(answer) == ZSTD_error_frameParameter_windowTooLarge ? UNPACK_TOO_LARGE : UNPACK_DAMAGED;
}

static void close_zstd(void *stream)
{
    ZSTD_freeDStream(stream);
}

const struct codec *unpack_zstd(void)
{
    static const struct codec zstd = {open_zstd, step, close_zstd};
    return &zstd;
}
