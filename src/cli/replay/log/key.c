/* SPDX-License-Identifier: MIT
   Whom a request is counted for: fields of its line, addresses cut to their prefix.

   Addresses are cut as weir_key_address does it: IPv4 whole, IPv6 to 64 bits, which is a household; v4-in-v6 is v4.
   Their text stays the key, so that it can be shown; an IPv4 address that is not cut is taken as it stands.

   Different parts make different keys, unless a unit separator is in them; what is no address is taken as it is. */
#include "cli/replay/log/key.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BITS_V4 = 32, BITS_V6 = 128, BITS_V6_HOUSEHOLD = 64, SIZE_V4 = 4, SIZE_V6 = 16, MAPPED_AT = 12 };

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

static bool read_bits(const char **at, int most, int *bits)
{
    char *end;
    const long value = strtol(*at, &end, 10);
    if (end == *at || value < 1 || value > most) return false;
    *bits = (int)value;
    *at = end;
    return true;
}

/* A number behind a comma, and not the next field's name. */
static bool number_follows(const char *at)
{
    const size_t digits = *at == ',' ? strspn(at + 1, "0123456789") : 0;
    return digits != 0 && (at[1 + digits] == ',' || at[1 + digits] == '\0');
}

/* Behind the "/".  One number is IPv4's, or where it is too large for that IPv6's. */
static bool read_prefix(const char **at, struct key_part *part)
{
    int bits;
    part->address = true;
    if (!read_bits(at, BITS_V6, &bits)) return false;
    if (bits <= BITS_V4) part->bits_v4 = bits;
    else part->bits_v6 = bits;
    if (!number_follows(*at)) return true;
    (*at)++;
    return bits <= BITS_V4 && read_bits(at, BITS_V6, &part->bits_v6);
}

static const char *read_part(const char *at, struct key_part *part, const char **wrong)
{
    const size_t size = strcspn(at, ",/");
    *wrong = size == 0 ? "expected a field" : "a field's name is too long";
    if (size == 0 || size >= KEY_NAME_MAX) return NULL;
    *part = (struct key_part){.bits_v4 = BITS_V4, .bits_v6 = BITS_V6_HOUSEHOLD};
    memcpy(part->name, at, size);
    part->address = names_address(part->name);
    at += size;
    *wrong = "expected bits behind \"/\", 1 to 32 of IPv4, 1 to 128 of IPv6";
    if (*at == '/') {
        at++;
        if (!read_prefix(&at, part)) return NULL;
    }
    return *at == ',' || *at == '\0' ? at : NULL;
}

bool key_open(struct key *key, const char *text, char message[KEY_MESSAGE_SIZE])
{
    const char *wrong = "more than 8 fields";
    const char *at = text;
    *key = (struct key){.parts = 0};
    if (strcmp(text, "none") == 0) return true;
    while (at != NULL && key->parts < KEY_PARTS_MAX) {
        at = read_part(at, &key->part[key->parts], &wrong);
        if (at == NULL) break;
        key->parts++;
        if (*at == '\0') return true;
        wrong = "more than 8 fields";
        at++;
    }
    snprintf(message, KEY_MESSAGE_SIZE, "--key \"%.60s\": %s; for example remote_addr, remote_addr/24,48 or user,host",
             text, wrong);
    return false;
}

void key_close(struct key *key)
{
    free(key->bytes);
    free(key->plain);
    key->bytes = key->plain = NULL;
}

/* ---- addresses ---- */

static void cut(unsigned char *address, int size, int bits)
{
    for (int i = 0; i < size; i++) {
        const int kept = bits - i * 8;
        if (kept < 8) address[i] = (unsigned char)(kept <= 0 ? 0 : address[i] & (0xff << (8 - kept)));
    }
}

/* The cut address as text, with its bits where it is cut; out is large enough. */
static struct slice show(int family, unsigned char *address, int bits, char out[KEY_NAME_MAX])
{
    const int whole = family == AF_INET ? BITS_V4 : BITS_V6;
    cut(address, whole / 8, bits);
    inet_ntop(family, address, out, KEY_NAME_MAX);
    if (bits < whole) snprintf(out + strlen(out), KEY_NAME_MAX - strlen(out), "/%d", bits);
    return (struct slice){out, strlen(out)};
}

/* As it stands where it is no address, or a whole one of IPv4. */
static struct slice address_of(const struct key_part *part, struct slice text, char out[KEY_NAME_MAX])
{
    static const unsigned char mapped[MAPPED_AT] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    unsigned char address[SIZE_V6];
    char terminated[KEY_NAME_MAX];
    const bool colon = text.size != 0 && memchr(text.bytes, ':', text.size) != NULL;
    if (text.size == 0 || text.size >= sizeof terminated || (!colon && part->bits_v4 == BITS_V4)) return text;
    memcpy(terminated, text.bytes, text.size);
    terminated[text.size] = '\0';
    if (inet_pton(colon ? AF_INET6 : AF_INET, terminated, address) != 1) return text;
    if (!colon) return show(AF_INET, address, part->bits_v4, out);
    if (memcmp(address, mapped, MAPPED_AT) != 0) return show(AF_INET6, address, part->bits_v6, out);
    return show(AF_INET, address + MAPPED_AT, part->bits_v4, out);
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
        if (part->bits_v4 != BITS_V4 || part->bits_v6 != BITS_V6_HOUSEHOLD) return true;
    }
    return false;
}
