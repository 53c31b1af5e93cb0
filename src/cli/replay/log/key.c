/* SPDX-License-Identifier: MIT
   Whom a request is counted for: fields of its line, addresses cut to their prefix.

   Addresses are cut as weir_key_address does it: IPv4 whole, IPv6 to 64 bits, which is a household; v4-in-v6 is v4.
   Their text stays the key, so that it can be shown; an IPv4 address that is not cut is taken as it stands.

   Different parts make different keys, unless a unit separator is in them; what is no address is taken as it is. */
#include "cli/replay/log/key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/address_text.h"

enum { BITS_V6_HOUSEHOLD = 64 };

/* Names under which logs keep addresses. */
static bool names_address(const char *name)
{
    static const char *const names[] = {"remote_addr", "client",    "address",   "realip_remote_addr",
                                        "client_ip",   "remote_ip", "clientip",  "ip",
                                        "client_addr", "remote",    "ClientHost"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

/* ---- reading ---- */

/* "48" of "remote_addr/24,48", as it was written once. */
static bool is_old_prefix(const char *comma)
{
    const size_t digits = *comma == ',' ? strspn(comma + 1, "0123456789") : 0;
    return digits != 0 && (comma[1 + digits] == ',' || comma[1 + digits] == '\0');
}

/* NULL, or what is wrong with it. */
static const char *read_part(const char *text, size_t size, struct key_part *part)
{
    const size_t name = strcspn(text, ",/");
    if (name == 0) return "expected a field";
    if (name >= KEY_NAME_MAX) return "a field's name is too long";
    *part = (struct key_part){.bits_v4 = ADDRESS_V4_BITS, .bits_v6 = BITS_V6_HOUSEHOLD};
    memcpy(part->name, text, name);
    part->address = name < size || names_address(part->name);
    if (name == size) return NULL;
    if (is_old_prefix(text + size)) return "for bits of IPv4 and IPv6 write address/24/48";
    return address_read_bits(slice_between(text + name + 1, text + size), &part->bits_v4, &part->bits_v6);
}

bool key_open(struct key *key, const char *text, char message[KEY_MESSAGE_SIZE])
{
    const char *wrong = NULL, *at = text;
    *key = (struct key){.parts = 0};
    if (strcmp(text, "none") == 0) return true;
    for (size_t size;; at += size + 1) {
        size = strcspn(at, ",");
        wrong = key->parts == KEY_PARTS_MAX ? "more than 8 fields" : read_part(at, size, &key->part[key->parts]);
        if (wrong != NULL) break;
        key->parts++;
        if (at[size] == '\0') return true;
    }
    snprintf(message, KEY_MESSAGE_SIZE,
             "--key \"%.60s\": %s; for example remote_addr, remote_addr/64, remote_addr/24/48 or user,host", text,
             wrong);
    return false;
}

void key_close(struct key *key)
{
    free(key->bytes);
    free(key->plain);
    key->bytes = key->plain = NULL;
}

/* ---- addresses ---- */

/* As it stands where it is no address, or a whole one of IPv4. */
static struct slice address_of(const struct key_part *part, struct slice text, char out[KEY_NAME_MAX])
{
    unsigned char address[ADDRESS_V6];
    struct bytes written = {out, 0, KEY_NAME_MAX, false};
    const bool whole = part->bits_v4 == ADDRESS_V4_BITS && !slice_has(text, ':');
    const size_t size = whole ? 0 : address_read(text, address);
    const int bits = size == ADDRESS_V4 ? part->bits_v4 : part->bits_v6;
    if (size == 0) return text;
    address_cut(address, size, bits);
    address_write(&written, address, size, bits);
    return bytes_slice(&written);
}

/* ---- keys ---- */

static bool reserve(char **bytes, size_t *size, size_t needed)
{
    if (*size >= needed && *bytes != NULL) return true;
    char *larger = realloc(*bytes, needed * 2);
    if (larger == NULL) return false;
    *bytes = larger;
    *size = needed * 2;
    return true;
}

/* With its escapes undone. */
static bool field_of(struct key *key, const struct key_part *part, const struct accesslog *log,
                     const struct accesslog_entry *entry, struct slice *out)
{
    *out = entry->field[part->field];
    if (out->size == 0) *out = (struct slice){"-", 1};
    else if ((entry->escaped >> part->field & 1) == 0) return true;
    else if (!reserve(&key->plain, &key->plain_size, out->size)) return false;
    else *out = (struct slice){key->plain, accesslog_plain(log, *out, key->plain, out->size)};
    return true;
}

static bool part_of(struct key *key, const struct key_part *part, const struct accesslog *log,
                    const struct accesslog_entry *entry, char text[KEY_NAME_MAX], struct slice *out)
{
    if (!field_of(key, part, log, entry, out)) return false;
    if (part->address) *out = address_of(part, *out, text);
    return true;
}

static bool append(struct key *key, size_t *at, struct slice part)
{
    if (!reserve(&key->bytes, &key->size, *at + part.size + 1)) return false;
    memcpy(key->bytes + *at, part.bytes, part.size);
    *at += part.size;
    return true;
}

bool key_of(struct key *key, const struct accesslog *log, const struct accesslog_entry *entry, struct slice *out)
{
    char text[KEY_NAME_MAX];
    size_t at = 0;
    *out = (struct slice){"", 0};
    if (key->parts == 0) return true;
    if (!part_of(key, &key->part[0], log, entry, text, out)) return false;
    if (key->parts == 1 && out->bytes != text) return true;
    if (!append(key, &at, *out)) return false;
    for (int i = 1; i < key->parts; i++) {
        key->bytes[at++] = KEY_BETWEEN;
        if (!part_of(key, &key->part[i], log, entry, text, out) || !append(key, &at, *out)) return false;
    }
    *out = (struct slice){key->bytes, at};
    return true;
}

/* ---- of the service: see serve/policy/key.c ---- */

static bool append_escaped(struct key *key, size_t *at, struct slice part)
{
    if (!reserve(&key->bytes, &key->size, *at + 2 * part.size + 1)) return false;
    for (size_t i = 0; i < part.size; i++) {
        if (part.bytes[i] == ',' || part.bytes[i] == '\\') key->bytes[(*at)++] = '\\';
        key->bytes[(*at)++] = part.bytes[i];
    }
    return true;
}

bool key_for_service(struct key *key, const struct accesslog *log, const struct accesslog_entry *entry,
                     struct slice *out)
{
    size_t at = 0;
    *out = (struct slice){"", 0};
    if (key->parts == 1) return field_of(key, &key->part[0], log, entry, out);
    for (int i = 0; i < key->parts; i++) {
        struct slice field;
        if (i != 0) key->bytes[at++] = ',';
        if (!field_of(key, &key->part[i], log, entry, &field) || !append_escaped(key, &at, field)) return false;
    }
    if (at != 0) *out = (struct slice){key->bytes, at};
    return true;
}

bool key_is_cut(const struct key *key)
{
    for (int i = 0; i < key->parts; i++) {
        const struct key_part *part = &key->part[i];
        if (part->bits_v4 != ADDRESS_V4_BITS || part->bits_v6 != BITS_V6_HOUSEHOLD) return true;
    }
    return false;
}
