/* SPDX-License-Identifier: MIT
   Network addresses as text, read and written without the system.

   See address_text.c. */
#ifndef WEIR_FORMAT_ADDRESS_TEXT_H
#define WEIR_FORMAT_ADDRESS_TEXT_H

#include "format/bytes.h"

enum {
    ADDRESS_V4 = 4,
    ADDRESS_V6 = 16,
    ADDRESS_TEXT_MAX = 43, /* eight groups and "/128" */
    ADDRESS_V4_BITS = 32,
    ADDRESS_V6_BITS = 128,
    ADDRESS_PATH_MAX = 107 /* of a Unix socket */
};

/* "203.0.113.9", "2001:db8::1", "fe80::1%eth0" (the zone does not count).  Writes the bytes, the highest first, and
   returns how many there are: of IPv4, also where it is written as IPv6 (::ffff:203.0.113.9), ADDRESS_V4; of IPv6
   ADDRESS_V6; of anything else 0. */
size_t address_read(struct slice text, unsigned char bytes[ADDRESS_V6]);

/* "10.0.0.0/8", "2001:db8::/32"; *bits is all of them where there is no "/".  Of what is written as IPv6 and is IPv4
   the bits count from its first.  0: it is none, or there are not so many bits. */
size_t address_read_network(struct slice text, unsigned char bytes[ADDRESS_V6], int *bits);

/* How many bits of an address a key keeps, behind "address/": "64" of IPv6, "24/48" of IPv4 and IPv6.  One small number
   is more likely meant for IPv4, and is refused.  NULL, or what was expected. */
const char *address_read_bits(struct slice text, int *bits_v4, int *bits_v6);

/* It means 127.0.0.1 and, where the system has it, ::1 (RFC 6761, 6.3).  No resolver is asked, so the meaning does not
   depend on /etc/hosts. */
static inline bool address_is_localhost(struct slice name)
{
    return slice_is_alike(name, slice_of("localhost"));
}

/* Where a server listens: ADDR:PORT, [V6]:PORT, localhost:PORT, :PORT for all addresses, PORT of localhost, unix:PATH,
   or a PATH from "/".  NULL, or what was expected. */
enum address_kind { ADDRESS_ANY, ADDRESS_LOCALHOST, ADDRESS_IP, ADDRESS_UNIX };
struct address_listen {
    enum address_kind kind;
    unsigned char bytes[ADDRESS_V6]; /* of ADDRESS_IP */
    size_t size;
    uint16_t port;
    struct slice path; /* of ADDRESS_UNIX */
};
const char *address_read_listen(struct slice text, struct address_listen *listen);

/* Bits behind the first so many are 0 from now on. */
void address_cut(unsigned char *bytes, size_t size, int bits);

/* As RFC 5952 has it, the one way to write an address; "/bits" behind it where that is not all of them. */
void address_write(struct bytes *out, const unsigned char *bytes, size_t size, int bits);

/* Does the network of so many bits hold all of this one? */
bool address_within(const unsigned char *bytes, const unsigned char *network, int bits);

#endif
