/* SPDX-License-Identifier: MIT
   Reads numbers, and reads and writes characters of UTF-8.

   There is one way of writing each number and each character: any other is none. */
#include "format/slice.h"

enum { NUMBER_MAX = 20 }; /* digits of 2^64 - 1 */

bool slice_number(struct slice slice, uint64_t *number)
{
    if (slice.size == 0 || slice.size > NUMBER_MAX || (slice.bytes[0] == '0' && slice.size > 1)) return false;
    uint64_t value = 0;
    for (size_t i = 0; i < slice.size; i++) {
        const unsigned digit = (unsigned)(slice.bytes[i] - '0');
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

/* ---- bytes of a kind ---- */

static const uint64_t ones = UINT64_C(0x0101010101010101), tops = UINT64_C(0x8080808080808080);

/* Not 0 where a byte of the word is a control character. */
static inline uint64_t has_control(uint64_t word)
{
    const uint64_t delete = word ^ (ones * 0x7F);
    return (((word - ones * ' ') & ~word) | ((delete - ones) & ~delete)) & tops;
}

/* Of ASCII alone, which is checked with it, the same costs less. */
static inline uint64_t has_other_than_plain(uint64_t word)
{
    const uint64_t quote = (word ^ (ones * '"')) - ones, slash = (word ^ (ones * '\\')) - ones;
    return (word | (word - ones * ' ') | (word + ones) | quote | slash) & tops;
}

static inline bool is_printable(unsigned char byte)
{
    return byte >= ' ' && byte != 0x7F;
}

static inline bool is_of_string(unsigned char byte)
{
    return byte >= ' ' && byte < 0x7F && byte != '"' && byte != '\\';
}

/* The bytes before the first that is not `is`, eight at a time as long as none of a word `has` another. */
static inline size_t run_of(struct slice slice, uint64_t (*has)(uint64_t), bool (*is)(unsigned char))
{
    size_t at = 0;
    for (uint64_t word; slice.size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, slice.bytes + at, sizeof word);
        if (has(word) != 0) break;
    }
    while (at < slice.size && is((unsigned char)slice.bytes[at])) at++;
    return at;
}

size_t slice_printable(struct slice slice)
{
    return run_of(slice, has_control, is_printable);
}

size_t slice_plain(struct slice slice)
{
    return run_of(slice, has_other_than_plain, is_of_string);
}

/* ---- characters ---- */

static bool continues(struct slice slice, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (((unsigned char)slice.bytes[i] & 0xC0) != 0x80) return false;
    }
    return true;
}

/* RFC 3629: no character written longer than it needs, no half of a pair, nothing above U+10FFFF. */
size_t slice_character(struct slice slice)
{
    if (slice.size == 0) return 0;
    const unsigned first = (unsigned char)slice.bytes[0];
    if (first < 0x80) return 1;
    const size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (size == 0 || slice.size < size || !continues(slice, 1, size)) return 0;
    const unsigned second = (unsigned char)slice.bytes[1];
    const bool longer = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    const bool beyond = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
    return longer || beyond ? 0 : size;
}

size_t slice_write_character(unsigned point, char out[4])
{
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    const unsigned more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    for (unsigned i = more; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)(first[more] | point);
    return more + 1;
}

size_t slice_unicode(struct slice slice, unsigned *point)
{
    const int first = slice_hex_number(slice, 4);
    if (first < 0) return 0;
    *point = (unsigned)first;
    const bool high = first >= 0xD800 && first < 0xDC00 && slice_begins(slice_from(slice, 4), slice_of("\\u"));
    const int second = high ? slice_hex_number(slice_from(slice, 6), 4) : -1;
    if (second < 0xDC00 || second > 0xDFFF) return 4;
    *point = 0x10000 + ((unsigned)first - 0xD800) * 0x400 + ((unsigned)second - 0xDC00);
    return 10;
}
