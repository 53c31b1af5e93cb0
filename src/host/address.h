/* SPDX-License-Identifier: MIT
   The bytes of a network address, and this machine's own name. */
#ifndef WEIR_HOST_ADDRESS_H
#define WEIR_HOST_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

enum { HOST_ADDRESS_V4 = 4, HOST_ADDRESS_V6 = 16 };

/* Writes the address in network byte order and returns its size: HOST_ADDRESS_V4 for IPv4, also when it is mapped into
   IPv6 (::ffff:192.0.2.1); HOST_ADDRESS_V6 for IPv6; 0 for another family and for NULL. */
size_t host_address(const struct sockaddr *address, unsigned char bytes[HOST_ADDRESS_V6]);

/* True for "localhost" in any case.  It means 127.0.0.1 and, where the system has it, ::1 (RFC 6761, 6.3).  No resolver
   is asked, so the meaning does not depend on /etc/hosts. */
bool host_is_localhost(const char *name);

#endif
