/* SPDX-License-Identifier: MIT
   Which format a log is in, and its members one behind the other.

   Tools that append to a compressed log write another member; tapes and block devices fill up with zeros.

   Whatever the bytes are, an answer. */
#include "cli/log/unpack.h"

#include <string.h>

/* Longer than any line that begins with it by accident: a host may be called BZh9. */
#define BZIP2_BLOCK "1AY&SY"

/* CMake defines UNPACK_FORMAT as the function, or NULL where the library is not. */
static const struct unpack_format formats[] = {
    {"gzip", "\x1f\x8b", 2, UNPACK_GZIP, "zlib", "gzip -dc"},
    {"bzip2", "BZh?" BZIP2_BLOCK, 10, UNPACK_BZIP2, "bzip2", "bzip2 -dc"},
    {"bzip2", "BZh?\x17\x72\x45\x38\x50\x90", 10, UNPACK_BZIP2, "bzip2", "bzip2 -dc"}, /* of nothing */
    {"xz", "\xfd\x37zXZ\0", 6, UNPACK_XZ, "liblzma", "xz -dc"},
    {"zstd", "\x28\xb5\x2f\xfd", 4, UNPACK_ZSTD, "libzstd", "zstd -dc"},
    {"zstd", "\x50\x2a\x4d\x18", 4, UNPACK_ZSTD, "libzstd", "zstd -dc"}, /* pzstd begins with the size */
    {"lz4", "\x04\x22\x4d\x18", 4, NULL, NULL, "lz4 -dc"},
    {"compress", "\x1f\x9d", 2, NULL, NULL, "gzip -dc"},
    {"zip", "PK\3\4", 4, NULL, NULL, "unzip -p"},
    {"7z", "7z\xbc\xaf\x27\x1c", 6, NULL, NULL, "7z x -so"},
};

enum { FORMATS = sizeof formats / sizeof *formats, ANY = '?' };

static bool begins(const struct unpack_format *format, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && i < format->magic_size; i++) {
        if (format->magic[i] != ANY && format->magic[i] != bytes[i]) return false;
    }
    return true;
}

const struct unpack_format *unpack_format_of(const void *bytes, size_t size, bool *more)
{
    *more = false;
    for (size_t i = 0; i < FORMATS; i++) {
        if (!begins(&formats[i], bytes, size)) continue;
        if (size >= formats[i].magic_size) return &formats[i];
        *more = true;
    }
    return NULL;
}

/* The rest of what is wrong with it the library finds. */
static bool begins_member(const struct unpack_format *format, const unsigned char *first)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i].codec == format->codec && memcmp(formats[i].magic, first, 1) == 0) return true;
    }
    return false;
}

static enum unpack_state next_member(struct unpack *unpack, struct unpack_bytes *bytes)
{
    for (; bytes->in_size != 0 && bytes->in[0] == 0; bytes->in_size--) bytes->in++;
    if (bytes->in_size == 0) return UNPACK_MORE;
    if (!begins_member(unpack->format, bytes->in)) return UNPACK_DAMAGED;
    unpack->stream = unpack->format->codec()->open();
    return unpack->stream != NULL ? UNPACK_MORE : UNPACK_NO_MEMORY;
}

enum unpack_state unpack_step(struct unpack *unpack, struct unpack_bytes *bytes)
{
    const enum unpack_state begun = unpack->stream == NULL ? next_member(unpack, bytes) : UNPACK_MORE;
    if (begun != UNPACK_MORE || unpack->stream == NULL) return begun;
    const enum unpack_state state = unpack->format->codec()->step(unpack->stream, bytes);
    if (state != UNPACK_END) return state;
    unpack_close(unpack);
    return UNPACK_MORE;
}

void unpack_close(struct unpack *unpack)
{
    if (unpack->stream != NULL) unpack->format->codec()->close(unpack->stream);
    unpack->stream = NULL;
}
