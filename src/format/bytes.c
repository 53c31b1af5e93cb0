/* SPDX-License-Identifier: MIT
   Numbers and strings of JSON, written and read.

   A number or string that does not fit is left out whole; what is read back is one way of writing each number, so that
   a text that was read and is written again is the same. */
#include "format/bytes.h"

enum { DELETE = 0x7F };

/* ---- numbers ---- */

char *bytes_digits_before(char *end, uint64_t number)
{
    static const char pairs[] = "00010203040506070809"
                                "10111213141516171819"
                                "20212223242526272829"
                                "30313233343536373839"
                                "40414243444546474849"
                                "50515253545556575859"
                                "60616263646566676869"
                                "70717273747576777879"
                                "80818283848586878889"
                                "90919293949596979899";
    for (; number >= 100; number /= 100) memcpy(end -= 2, pairs + 2 * (number % 100), 2);
    if (number >= 10) memcpy(end -= 2, pairs + 2 * number, 2);
    else *--end = (char)('0' + number);
    return end;
}

void bytes_number(struct bytes *bytes, uint64_t number)
{
    char digits[BYTES_NUMBER_MAX];
    char *end = digits + sizeof digits;
    bytes_add(bytes, slice_between(bytes_digits_before(end, number), end));
}

bool bytes_read_number(struct slice slice, uint64_t *number)
{
    if (slice.size == 0 || slice.size > BYTES_NUMBER_MAX || (slice.bytes[0] == '0' && slice.size > 1)) return false;
    uint64_t value = 0;
    for (size_t i = 0; i < slice.size; i++) {
        const unsigned digit = (unsigned)(slice.bytes[i] - '0');
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

/* ---- strings ---- */

static bool continues(struct slice slice, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (((unsigned char)slice.bytes[i] & 0xC0) != 0x80) return false;
    }
    return true;
}

/* RFC 3629: no character written longer than it needs, no half of a pair, nothing above U+10FFFF. */
size_t bytes_character(struct slice slice)
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

/* U+0080 to U+009F in UTF-8: control characters, which a terminal obeys. */
static bool is_c1(struct slice rest)
{
    return rest.size >= 2 && (unsigned char)rest.bytes[0] == 0xC2 && (unsigned char)rest.bytes[1] >= 0x80 &&
           (unsigned char)rest.bytes[1] < 0xA0;
}

static void add_control(struct bytes *bytes, unsigned char byte)
{
    static const char names[] = "btn.fr"; /* of 8 to 13 */
    if (byte >= 8 && byte <= 13 && byte != 11)
        bytes_add(bytes, (struct slice){(const char[]){'\\', names[byte - 8]}, 2});
    else
        bytes_add(bytes,
                  (struct slice){
                      (const char[]){'\\', 'u', '0', '0', (char)('0' + byte / 16), "0123456789abcdef"[byte % 16]}, 6});
}

/* What needs an escape, or is no character: returns what it took. */
static size_t add_escaped(struct bytes *bytes, struct slice rest)
{
    const unsigned char byte = (unsigned char)rest.bytes[0];
    if (byte == '"' || byte == '\\') bytes_add(bytes, (struct slice){(const char[]){'\\', (char)byte}, 2});
    else if (byte < ' ' || byte == DELETE) add_control(bytes, byte);
    else if (is_c1(rest)) add_control(bytes, (unsigned char)rest.bytes[1]);
    else bytes_text(bytes, "\xEF\xBF\xBD");
    return is_c1(rest) ? 2 : 1;
}

/* Bytes at the start that stand for themselves. */
static size_t plain_size(struct slice rest)
{
    size_t at = 0;
    while (at < rest.size) {
        const unsigned char byte = (unsigned char)rest.bytes[at];
        const struct slice here = slice_from(rest, at);
        const size_t size =
            byte < 0x80 ? byte >= ' ' && byte != '"' && byte != '\\' && byte != DELETE : bytes_character(here);
        if (size == 0 || is_c1(here)) break;
        at += size;
    }
    return at;
}

void bytes_json(struct bytes *bytes, struct slice text)
{
    const size_t before = bytes->size;
    const bool was_full = bytes->full;
    bytes->full = false;
    bytes_byte(bytes, '"');
    while (text.size != 0 && !bytes->full) {
        const size_t plain = plain_size(text);
        bytes_add(bytes, (struct slice){text.bytes, plain});
        text = slice_from(text, plain != 0 ? plain : add_escaped(bytes, text));
    }
    bytes_byte(bytes, '"');
    if (bytes->full) bytes->size = before;
    bytes->full = bytes->full || was_full;
}
