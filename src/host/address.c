/* SPDX-License-Identifier: MIT
   The bytes of a network address.  A host's IPv4 address has the same bytes whether it comes from an IPv4 socket or
   from an IPv6 socket that serves both; ports, flow labels and scopes do not count. */
#include "host/address.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

size_t host_address(const struct sockaddr *address, unsigned char bytes[HOST_ADDRESS_V6])
{
    if (address == NULL) return 0;
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        memcpy(bytes, &v4.sin_addr, HOST_ADDRESS_V4);
        return HOST_ADDRESS_V4;
    }
    if (address->sa_family != AF_INET6) return 0;
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
    const size_t size = mapped ? HOST_ADDRESS_V4 : HOST_ADDRESS_V6;
    memcpy(bytes, v6.sin6_addr.s6_addr + HOST_ADDRESS_V6 - size, size);
    return size;
}
