/* SPDX-License-Identifier: MIT
   Whom a request is counted for: the parts of its limit's key, as one text.

       [tenant, address/64]  of  tenant "acme", address "2001:db8:1:2:3::4"   ->   acme,2001:db8:1:2::/64

   The key is text, so that the most refused can be read and overrides can be written.  Different parts make different
   keys: of several parts a comma inside one gets a backslash in front, and so does a backslash.

   Nothing is allocated; one address makes one key, however it was written. */
#include <stdlib.h>
#include <string.h>

#include "format/address_text.h"
#include "serve/policy/policy.h"

enum { BITS_V4 = ADDRESS_V4 * 8, BITS_V6 = ADDRESS_V6 * 8, BITS_V6_HOUSEHOLD = 64 };

static const char between = ',', escape = '\\';

/* ---- names and parts ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of(struct slice text, const char *others)
{
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i];
        const bool digit = c >= '0' && c <= '9';
        if (c == '\0' || (!is_letter(c) && !digit && strchr(others, c) == NULL)) return false;
    }
    return true;
}

const char *policy_name_problem(struct slice name)
{
    if (name.size == 0 || !is_letter(name.bytes[0])) return "a name begins with a letter; for example api";
    if (name.size > POLICY_NAME_MAX) return "a name has at most 64 bytes";
    if (!is_of(name, "_-.:/"))
        return "a name has letters, digits, \"_\", \"-\", \".\", \":\" and \"/\"; for example api";
    if (slice_is(name, slice_of("unlimited")) || slice_is(name, slice_of("none"))) {
        return "this is the text of a limit; take another name, for example api";
    }
    return NULL;
}

static bool read_bits(struct slice text, int most, int *bits)
{
    int value = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9' || value > most) return false;
        value = value * 10 + (text.bytes[i] - '0');
    }
    *bits = value;
    return text.size != 0 && text.bytes[0] != '0' && value <= most;
}

/* Behind "address/".  One number is IPv6's; a small one is more likely meant for IPv4. */
static const char *read_prefix(struct slice text, struct policy_part *part)
{
    static const char expected[] = "expected bits of IPv6, 33 to 128, or of both: address/64 or address/24/48";
    const char *slash = text.size != 0 ? memchr(text.bytes, '/', text.size) : NULL;
    if (slash == NULL) {
        if (!read_bits(text, BITS_V6, &part->bits_v6)) return expected;
        if (part->bits_v6 > BITS_V4) return NULL;
        return "one number is bits of IPv6, 33 to 128; for those of IPv4 write both: address/24/48";
    }
    const struct slice v6 = slice_between(slash + 1, text.bytes + text.size);
    if (!read_bits(slice_between(text.bytes, slash), BITS_V4, &part->bits_v4)) return expected;
    return read_bits(v6, BITS_V6, &part->bits_v6) ? NULL : expected;
}

static bool read_path(struct slice text, struct policy_part *part)
{
    if (slice_is(text, slice_of("path/normal"))) part->path = POLICY_PATH_NORMAL;
    else if (slice_is(text, slice_of("path/lower"))) part->path = POLICY_PATH_LOWER;
    else return false;
    memcpy(part->name, "path", sizeof "path");
    return true;
}

const char *policy_part_read(struct slice text, struct policy_part *part)
{
    static const struct slice address = {"address", 7};
    *part = (struct policy_part){.bits_v4 = BITS_V4, .bits_v6 = BITS_V6_HOUSEHOLD};
    if (read_path(text, part)) return NULL;
    part->address = slice_begins(text, address) && (text.size == address.size || text.bytes[address.size] == '/');
    const struct slice name = part->address ? address : text;
    if (name.size == 0 || name.size > POLICY_NAME_MAX || !is_letter(name.bytes[0]) || !is_of(name, "_-.")) {
        return "expected a field's name, address/BITS, path/normal or path/lower; for example tenant, "
               "header.x-api-key or address/64";
    }
    memcpy(part->name, name.bytes, name.size);
    if (text.size == name.size) return NULL;
    return read_prefix(slice_from(text, address.size + 1), part);
}

const struct policy_part *policy_address_part(const struct policy_limit *limit)
{
    for (unsigned i = 0; i < limit->parts; i++) {
        if (limit->part[i].address) return &limit->part[i];
    }
    return NULL;
}

/* ---- keys ---- */

struct slice policy_key_next(struct slice *rest)
{
    size_t size = 0;
    while (size < rest->size && rest->bytes[size] != between) size += rest->bytes[size] == escape ? 2 : 1;
    if (size > rest->size) size = rest->size;
    const struct slice part = {rest->bytes, size};
    *rest = slice_from(*rest, size + 1);
    return part;
}

/* given: it may be cut already, to as many bits as the part keeps, or more. */
static bool add_address(const struct policy_part *part, struct slice text, bool given, struct bytes *out)
{
    unsigned char bytes[ADDRESS_V6];
    int bits = BITS_V6;
    const bool network = given && slice_has(text, '/');
    const size_t size = network ? address_read_network(text, bytes, &bits) : address_read(text, bytes);
    const int kept = size == ADDRESS_V4 ? part->bits_v4 : part->bits_v6;
    if (size == 0 || bits < kept) return false;
    address_cut(bytes, size, kept);
    address_write(out, bytes, size, kept);
    return true;
}

static void add_byte(char c, struct bytes *out)
{
    if (c == between || c == escape) bytes_byte(out, escape);
    bytes_byte(out, c);
}

static void add_field(struct slice text, bool alone, struct bytes *out)
{
    if (alone || (!slice_has(text, between) && !slice_has(text, escape))) {
        bytes_add(out, text);
        return;
    }
    for (size_t i = 0; i < text.size; i++) add_byte(text.bytes[i], out);
}

/* ---- paths ---- */

/* One byte of it, decoded where that is wanted. */
static char next_byte(struct slice *path, bool decode)
{
    const char c = path->bytes[0];
    const int code = decode && c == '%' ? slice_hex_number(slice_from(*path, 1), 2) : -1;
    *path = slice_from(*path, code >= 0 ? 3 : 1);
    if (code < 0) return c;
    return (char)(unsigned char)code;
}

/* The last segment is whole: "." says nothing, and ".." takes back the one before it. */
static void end_segment(struct bytes *out)
{
    size_t begin = out->size;
    while (begin != 0 && out->memory[begin - 1] != '/') begin--;
    const struct slice segment = slice_from(bytes_slice(out), begin);
    if (slice_is(segment, slice_of("."))) out->size = begin;
    if (!slice_is(segment, slice_of(".."))) return;
    out->size = begin;
    if (begin > 1) out->size--;
    while (out->size != 0 && out->memory[out->size - 1] != '/') out->size--;
}

/* All ways to write a path that servers take for one are one key (RFC 3986, 6.2.2; and empty segments). */
static void write_path(struct slice path, enum policy_path how, bool decode, struct bytes *out)
{
    while (path.size != 0) {
        char c = next_byte(&path, decode);
        if (c == '/') {
            end_segment(out);
            if (out->size != 0 && out->memory[out->size - 1] == '/') continue;
        }
        if (how == POLICY_PATH_LOWER && c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
        bytes_byte(out, c);
    }
    end_segment(out);
}

/* Of one that is given what was decoded is decoded already. */
static void add_path(const struct policy_part *part, struct slice text, bool alone, bool decode, struct bytes *out)
{
    char memory[POLICY_KEY_MAX];
    struct bytes path = {.memory = memory, .capacity = sizeof memory};
    write_path(text, part->path, decode, &path);
    if (path.full) out->full = true;
    else add_field(bytes_slice(&path), alone, out);
}

/* As it was given: what has a backslash in front means itself. */
static void add_given(struct slice text, struct bytes *out)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] == escape && i + 1 < text.size) i++;
        add_byte(text.bytes[i], out);
    }
}

static void add_path_given(const struct policy_part *part, struct slice text, bool alone, struct bytes *out)
{
    char memory[POLICY_KEY_MAX];
    struct bytes plain = {.memory = memory, .capacity = sizeof memory};
    for (size_t i = 0; i < text.size; i++) {
        if (!alone && text.bytes[i] == escape && i + 1 < text.size) i++;
        bytes_byte(&plain, text.bytes[i]);
    }
    if (plain.full) out->full = true;
    else add_path(part, bytes_slice(&plain), alone, false, out);
}

/* Takes back what does not fit. */
static bool ends_within(struct bytes *out, size_t begin)
{
    if (out->size - begin > POLICY_KEY_MAX) out->full = true;
    if (out->full) out->size = begin;
    return !out->full;
}

static bool fail(struct bytes *out, size_t begin, const char *name, const char **missing)
{
    out->size = begin;
    *missing = name;
    return false;
}

bool policy_key(const struct policy_limit *limit, policy_field field, void *request, struct bytes *out,
                const char **missing)
{
    const size_t begin = out->size;
    *missing = "key";
    if (limit->common) return true;
    if (limit->parts == 0) {
        const struct slice key = field(request, "key");
        bytes_add(out, key);
        return key.size != 0 && ends_within(out, begin);
    }
    for (unsigned i = 0; i < limit->parts; i++) {
        const struct policy_part *part = &limit->part[i];
        const struct slice text = field(request, part->name);
        if (text.size == 0) return fail(out, begin, part->name, missing);
        if (i != 0) bytes_byte(out, between);
        if (part->path != POLICY_PATH_RAW) add_path(part, text, limit->parts == 1, true, out);
        else if (!part->address) add_field(text, limit->parts == 1, out);
        else if (!add_address(part, text, false, out)) return fail(out, begin, part->name, missing);
    }
    *missing = limit->part[limit->parts - 1].name;
    return ends_within(out, begin);
}

static unsigned parts_in(struct slice key)
{
    unsigned parts = 1;
    for (struct slice part = policy_key_next(&key); part.bytes + part.size != key.bytes; parts++) {
        part = policy_key_next(&key);
    }
    return parts;
}

bool policy_key_given(const struct policy_limit *limit, struct slice key, struct bytes *out, const char **missing)
{
    const size_t begin = out->size;
    const bool alone = limit->parts < 2;
    if (key.size == 0) key = slice_of("");
    const unsigned parts = alone ? 1 : parts_in(key);
    *missing = "key";
    if (limit->common) return true;
    for (unsigned i = 0; i < limit->parts; i++) {
        const struct policy_part *part = &limit->part[i];
        const struct slice text = alone ? key : policy_key_next(&key);
        const bool last = i + 1 == limit->parts;
        if (i >= parts || text.size == 0 || (last && parts > limit->parts))
            return fail(out, begin, part->name, missing);
        if (i != 0) bytes_byte(out, between);
        if (part->address && !add_address(part, text, true, out)) return fail(out, begin, part->name, missing);
        if (part->path != POLICY_PATH_RAW) add_path_given(part, text, alone, out);
        else if (!part->address && alone) bytes_add(out, text);
        else if (!part->address) add_given(text, out);
        *missing = part->name;
    }
    if (limit->parts == 0) bytes_add(out, key);
    return ends_within(out, begin);
}
