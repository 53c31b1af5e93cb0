/* SPDX-License-Identifier: MIT
   The bytes of a network address. */
#ifndef WEIR_HOST_ADDRESS_H
#define WEIR_HOST_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

enum { HOST_ADDRESS_V4 = 4, HOST_ADDRESS_V6 = 16 };

/* Writes the address in network byte order and returns its size: HOST_ADDRESS_V4 for IPv4, also when it is mapped into
   IPv6 (::ffff:192.0.2.1); HOST_ADDRESS_V6 for IPv6; 0 for another family and for NULL. */
size_t host_address(const struct sockaddr *address, unsigned char bytes[HOST_ADDRESS_V6]);

#endif
