/* SPDX-License-Identifier: MIT
   Receipts where weir was built without OpenSSL: there are none, and nothing is signed by less. */
#include "serve/receipt/mac.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

bool mac_is_here(void)
{
    return false;
}

struct mac *mac_open(const uint8_t secret[MAC_SECRET])
{
    return NULL;
}

void mac_close(struct mac *mac)
{
}

void mac_of(const struct mac *mac, const void *first, size_t first_size, const void *second, size_t second_size,
            uint8_t out[MAC_SIZE])
{
    memset(out, 0, MAC_SIZE);
}
