/* SPDX-License-Identifier: MIT
   Network addresses as text.

   What is written reads the same; one address has one text, however it came. */
#include "format/address_text.h"

#include <string.h>

enum {
    GROUPS = 8,
    GROUP_DIGITS = 4,
    BYTE_BITS = 8,
    BYTE_DIGITS = 3,
    BYTE_MAX = 255,
    V4_GROUPS = 2,
    MAPPED_AT = ADDRESS_V6 - ADDRESS_V4
};

/* ---- reading ---- */

static bool is_decimal(char c)
{
    return c >= '0' && c <= '9';
}

/* 0 to 255 without a zero in front, which some read as octal. */
static bool read_byte(struct slice text, size_t *at, unsigned char *byte)
{
    const size_t from = *at;
    unsigned value = 0;
    while (*at < text.size && *at - from <= BYTE_DIGITS && is_decimal(text.bytes[*at])) {
        value = value * 10 + (unsigned)(text.bytes[*at] - '0');
        (*at)++;
    }
    *byte = (unsigned char)value;
    const size_t digits = *at - from;
    return digits != 0 && value <= BYTE_MAX && (digits == 1 || text.bytes[from] != '0');
}

static bool read_v4(struct slice text, unsigned char bytes[ADDRESS_V4])
{
    size_t at = 0;
    for (int i = 0; i < ADDRESS_V4; i++) {
        if (i != 0 && (at == text.size || text.bytes[at++] != '.')) return false;
        if (!read_byte(text, &at, &bytes[i])) return false;
    }
    return at == text.size;
}

static bool read_group(struct slice text, size_t *at, unsigned char bytes[2])
{
    unsigned value = 0;
    int digits = 0;
    for (; *at < text.size && slice_hex_value(text.bytes[*at]) >= 0; digits++, (*at)++) {
        if (digits == GROUP_DIGITS) return false;
        value = value << 4 | (unsigned)slice_hex_value(text.bytes[*at]);
    }
    bytes[0] = (unsigned char)(value >> BYTE_BITS);
    bytes[1] = (unsigned char)(value & BYTE_MAX);
    return digits != 0;
}

static bool colons_at(struct slice text, size_t at)
{
    return at + 1 < text.size && text.bytes[at] == ':' && text.bytes[at + 1] == ':';
}

/* Groups up to the end or to "::"; how many, -1: they are none.  The last two may be an IPv4 address. */
static int read_groups(struct slice text, size_t *at, unsigned char *bytes)
{
    int groups = 0;
    const bool dotted = slice_has(text, '.');
    while (*at < text.size && !colons_at(text, *at)) {
        if (groups != 0 && text.bytes[(*at)++] != ':') return -1;
        if (dotted && groups < GROUPS - 1 && read_v4(slice_from(text, *at), bytes + (size_t)groups * 2)) {
            *at = text.size;
            return groups + V4_GROUPS;
        }
        if (groups == GROUPS || !read_group(text, at, bytes + (size_t)groups * 2)) return -1;
        groups++;
    }
    return groups;
}

static bool read_v6(struct slice text, unsigned char bytes[ADDRESS_V6])
{
    unsigned char tail[ADDRESS_V6] = {0};
    size_t at = 0;
    memset(bytes, 0, ADDRESS_V6);
    const int groups = read_groups(text, &at, bytes);
    if (groups < 0 || at == text.size) return groups == GROUPS;
    at += 2;
    const int behind = read_groups(text, &at, tail);
    if (behind < 0 || at != text.size || groups + behind >= GROUPS) return false;
    memcpy(bytes + ADDRESS_V6 - (size_t)behind * 2, tail, (size_t)behind * 2);
    return true;
}

/* v4-in-v6 is v4. */
static size_t read_either(struct slice text, unsigned char bytes[ADDRESS_V6], bool *mapped)
{
    static const unsigned char before[MAPPED_AT] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    *mapped = false;
    if (read_v4(text, bytes)) return ADDRESS_V4;
    if (!slice_has(text, ':') || !read_v6(text, bytes)) return 0;
    *mapped = memcmp(bytes, before, sizeof before) == 0;
    if (!*mapped) return ADDRESS_V6;
    memmove(bytes, bytes + MAPPED_AT, ADDRESS_V4);
    return ADDRESS_V4;
}

size_t address_read(struct slice text, unsigned char bytes[ADDRESS_V6])
{
    bool mapped;
    const char *zone = text.size != 0 ? memchr(text.bytes, '%', text.size) : NULL;
    if (zone != NULL && slice_has(text, ':')) text = slice_between(text.bytes, zone);
    return read_either(text, bytes, &mapped);
}

/* Behind the "/". */
static bool read_bits(struct slice text, int most, int *bits)
{
    size_t at = 0;
    unsigned char value;
    *bits = most;
    if (!read_byte(text, &at, &value) || at != text.size || value > most) return false;
    *bits = value;
    return true;
}

size_t address_read_network(struct slice text, unsigned char bytes[ADDRESS_V6], int *bits)
{
    bool mapped;
    const char *slash = text.size != 0 ? memchr(text.bytes, '/', text.size) : NULL;
    const struct slice address = slash != NULL ? slice_between(text.bytes, slash) : text;
    const size_t size = read_either(address, bytes, &mapped);
    const int all = (int)(mapped ? ADDRESS_V6 : size) * BYTE_BITS;
    *bits = all;
    if (size == 0) return 0;
    if (slash != NULL && !read_bits(slice_between(slash + 1, text.bytes + text.size), all, bits)) return 0;
    if (mapped) *bits -= MAPPED_AT * BYTE_BITS;
    return *bits >= 0 ? size : 0;
}

/* ---- networks ---- */

static unsigned char mask_of(int kept)
{
    if (kept <= 0) return 0;
    if (kept >= BYTE_BITS) return BYTE_MAX;
    return (unsigned char)(BYTE_MAX << (BYTE_BITS - kept));
}

void address_cut(unsigned char *bytes, size_t size, int bits)
{
    for (size_t i = 0; i < size; i++, bits -= BYTE_BITS) bytes[i] = (unsigned char)(bytes[i] & mask_of(bits));
}

bool address_within(const unsigned char *bytes, const unsigned char *network, int bits)
{
    for (size_t i = 0; bits > 0; i++, bits -= BYTE_BITS) {
        if ((bytes[i] ^ network[i]) & mask_of(bits)) return false;
    }
    return true;
}

/* ---- writing: each returns where it ended ---- */

static char *write_decimal(char *at, unsigned value)
{
    if (value >= 100) *at++ = (char)('0' + value / 100);
    if (value >= 10) *at++ = (char)('0' + value / 10 % 10);
    *at++ = (char)('0' + value % 10);
    return at;
}

static char *write_v4(char *at, const unsigned char *bytes)
{
    for (int i = 0; i < ADDRESS_V4; i++) {
        if (i != 0) *at++ = '.';
        at = write_decimal(at, bytes[i]);
    }
    return at;
}

static unsigned group_of(const unsigned char *bytes, int group)
{
    const unsigned char *at = bytes + (size_t)group * 2;
    return (unsigned)at[0] << BYTE_BITS | at[1];
}

/* The first of the longest runs of zeros, two groups and more; *from GROUPS: there is none. */
static int longest_zeros(const unsigned char *bytes, int *from)
{
    int longest = 1;
    *from = GROUPS;
    for (int start = 0; start < GROUPS; start++) {
        int size = 0;
        while (start + size < GROUPS && group_of(bytes, start + size) == 0) size++;
        if (size > longest) {
            longest = size;
            *from = start;
        }
        start += size;
    }
    return longest;
}

static char *write_group(char *at, unsigned value)
{
    for (int shift = (GROUP_DIGITS - 1) * 4; shift >= 0; shift -= 4) {
        if (value >> shift != 0 || shift == 0) *at++ = slice_hex(value >> shift & 15);
    }
    return at;
}

static char *write_v6(char *at, const unsigned char *bytes)
{
    int from;
    const int zeros = longest_zeros(bytes, &from);
    for (int group = 0; group < GROUPS; group++) {
        if (group == from) {
            *at++ = ':';
            *at++ = ':';
            group += zeros - 1;
            continue;
        }
        if (group != 0 && group != from + zeros) *at++ = ':';
        at = write_group(at, group_of(bytes, group));
    }
    return at;
}

void address_write(struct bytes *out, const unsigned char *bytes, size_t size, int bits)
{
    char text[ADDRESS_TEXT_MAX], *end = text;
    end = size == ADDRESS_V4 ? write_v4(end, bytes) : write_v6(end, bytes);
    if (bits < (int)size * BYTE_BITS) {
        *end++ = '/';
        end = write_decimal(end, (unsigned)bits);
    }
    bytes_add(out, slice_between(text, end));
}
