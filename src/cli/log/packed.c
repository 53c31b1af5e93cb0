/* SPDX-License-Identifier: MIT
   A compressed log, unpacked as its bytes come.

   A format is known by its first bytes, not by a name (unpack.c).  What is wrong is said in words. */
#include "cli/log/packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool say(char message[PACKED_MESSAGE_SIZE], const char *text)
{
    snprintf(message, PACKED_MESSAGE_SIZE, "%s", text);
    return false;
}

struct packed *packed_open(const struct unpack_format *format, const void *bytes, size_t size, const char *instead,
                           char message[PACKED_MESSAGE_SIZE])
{
    const bool library = format->library != NULL;
    if (format->codec == NULL) {
        snprintf(message, PACKED_MESSAGE_SIZE, "this is %s, which %s%s; instead: %s LOG %s", format->name,
                 library ? "this build of weir cannot read for want of " : "weir cannot read",
                 library ? format->library : "", format->command, instead);
        return NULL;
    }
    struct packed *packed = calloc(1, sizeof *packed);
    if (packed == NULL) {
        say(message, "no memory");
        return NULL;
    }
    packed->unpack.format = format;
    memcpy(packed->bytes, bytes, size);
    packed->size = size;
    return packed;
}

void packed_close(struct packed *packed)
{
    if (packed != NULL) unpack_close(&packed->unpack);
    free(packed);
}

static bool wrong(const struct packed *packed, const char *before, const char *after, char message[PACKED_MESSAGE_SIZE])
{
    snprintf(message, PACKED_MESSAGE_SIZE, "%s %s data%s", before, packed->unpack.format->name, after);
    return false;
}

bool packed_wants(const struct packed *packed)
{
    return packed->at == packed->size && !packed->full;
}

bool packed_given(struct packed *packed, size_t size, char message[PACKED_MESSAGE_SIZE])
{
    packed->at = 0;
    packed->size = size;
    return size != 0 || packed->unpack.stream == NULL || wrong(packed, "the", " is truncated", message);
}

bool packed_unpack(struct packed *packed, char *out, size_t room, size_t *written, char message[PACKED_MESSAGE_SIZE])
{
    char words[PACKED_MESSAGE_SIZE / 2];
    struct unpack_bytes bytes = {packed->bytes + packed->at, packed->size - packed->at, (unsigned char *)out, room};
    const enum unpack_state state = unpack_step(&packed->unpack, &bytes);
    packed->at = packed->size - bytes.in_size;
    packed->full = bytes.out_size == 0;
    *written = room - bytes.out_size;
    if (state == UNPACK_MORE) return true;
    if (state == UNPACK_NO_MEMORY) return say(message, "no memory");
    snprintf(words, sizeof words, " needs more than %d MiB to unpack", UNPACK_MEMORY_MIB);
    if (state == UNPACK_TOO_LARGE) return wrong(packed, "the", words, message);
    return packed->unpack.stream == NULL ? wrong(packed, "trailing garbage after the", "", message)
                                         : wrong(packed, "the", " is damaged", message);
}
