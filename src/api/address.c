/* SPDX-License-Identifier: MIT
   Keys from texts and network addresses.

   The bytes of an address:

       | '4' | bits | 0 | 0 | four bytes of the address |          | '6' | bits | 0 0 0 0 0 0 | sixteen bytes |

   `bits` is how many bits of the address count; the others are 0.  So IPv4, IPv6 and prefixes of other lengths never
   give the same key, nor does any text, since texts have no zero bytes.  Two addresses of one kind give the same key if
   and only if their first bits are equal. */
#include <string.h>

#include <weir/weir.h>

#include "host/address.h"

enum { HEAD_V4 = 4, HEAD_V6 = 8, ADDRESS_BYTE_BITS = 8, ALL_BITS = 0xff, DEFAULT_BITS_V4 = 32, DEFAULT_BITS_V6 = 64 };

_Static_assert(HEAD_V4 + HOST_ADDRESS_V4 <= HEAD_V6 + HOST_ADDRESS_V6, "the larger of the two kinds");
_Static_assert(HEAD_V6 + HOST_ADDRESS_V6 == WEIR_ADDRESS_KEY_SIZE, "has its place");

weir_key weir_key_text(const char *text)
{
    return (weir_key){.bytes = text, .size = text != NULL ? strlen(text) : 0};
}

/* A value above the size means the size; below 1 it means the default. */
static unsigned bits_meant(int bits, unsigned size, unsigned otherwise)
{
    if (bits <= 0) return otherwise;
    return (unsigned)bits < size * ADDRESS_BYTE_BITS ? (unsigned)bits : size * ADDRESS_BYTE_BITS;
}

static void cut(unsigned char *byte, unsigned size, unsigned bits)
{
    for (unsigned at = 0; at < size; at++, bits -= bits < ADDRESS_BYTE_BITS ? bits : ADDRESS_BYTE_BITS)
        if (bits < ADDRESS_BYTE_BITS) byte[at] &= (unsigned char)(ALL_BITS << (ADDRESS_BYTE_BITS - bits));
}

weir_key weir_key_address(const struct sockaddr *address, int bits_v4, int bits_v6,
                          unsigned char out[WEIR_ADDRESS_KEY_SIZE])
{
    unsigned char bytes[HOST_ADDRESS_V6];
    const unsigned size = (unsigned)host_address(address, bytes);
    if (size == 0) return (weir_key){.bytes = out, .size = 0};
    const bool v4 = size == HOST_ADDRESS_V4;
    const unsigned head = v4 ? HEAD_V4 : HEAD_V6;
    const unsigned bits = v4 ? bits_meant(bits_v4, size, DEFAULT_BITS_V4) : bits_meant(bits_v6, size, DEFAULT_BITS_V6);
    cut(bytes, size, bits);
    memset(out, 0, head);
    out[0] = v4 ? '4' : '6';
    out[1] = (unsigned char)bits;
    memcpy(out + head, bytes, size);
    return (weir_key){.bytes = out, .size = head + size};
}
