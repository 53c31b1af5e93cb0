/* SPDX-License-Identifier: MIT
   HMAC-SHA-256 by OpenSSL, of which the first 128 bits are used: what signs receipts.; mac_none.c without it. */
#ifndef WEIR_SERVE_RECEIPT_MAC_H
#define WEIR_SERVE_RECEIPT_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAC_SECRET = 32, MAC_SIZE = 16 };

struct mac;

/* Was weir built with it?  Without it no receipt is written, and none is settled. */
bool mac_is_here(void);

/* A key whose schedule is computed once, owned; any number of threads use it.  NULL: no memory, or not here. */
struct mac *mac_open(const uint8_t secret[MAC_SECRET]);
void mac_close(struct mac *mac);

/* Of the first bytes and then the second. */
void mac_of(const struct mac *mac, const void *first, size_t first_size, const void *second, size_t second_size,
            uint8_t out[MAC_SIZE]);

#endif
