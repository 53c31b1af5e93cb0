/* SPDX-License-Identifier: MIT
   address.h - the bytes of a network address, and the name of this machine itself.

   See address.c. */
#ifndef WEIR_HOST_ADDRESS_H
#define WEIR_HOST_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

enum { HOST_ADDRESS_V4 = 4, HOST_ADDRESS_V6 = 16 };

/* Writes the address, the highest byte first, and returns how many bytes it has: of IPv4, also where it is written as
   IPv6 (::ffff:192.0.2.1), HOST_ADDRESS_V4; of IPv6 HOST_ADDRESS_V6; of another family, and of NULL, 0. */
size_t host_address(const struct sockaddr *address, unsigned char bytes[HOST_ADDRESS_V6]);

/* Is it "localhost", in any case?  That is 127.0.0.1 and, where the system has it, ::1 (RFC 6761, 6.3): nobody is
   asked, so it means the same whatever /etc/hosts says, and where there is none. */
bool host_is_localhost(const char *name);

#endif
