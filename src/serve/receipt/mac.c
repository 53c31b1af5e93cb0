/* SPDX-License-Identifier: MIT
   HMAC (RFC 2104) around OpenSSL's SHA-256.

   The states behind the two padded keys are computed once and copied for each message: two blocks less than HMAC(), and
   no allocation, which EVP_MAC and a copy of an EVP_MD_CTX have for each message and which may fail.  That takes
   SHA256_*, which OpenSSL 3 advises against but has.

   The same as HMAC() (test/unit/receipt_test.c). */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "serve/receipt/mac.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

struct mac {
    SHA256_CTX inner, outer;
};

bool mac_is_here(void)
{
    return true;
}

static void begin(SHA256_CTX *state, const uint8_t secret[MAC_SECRET], uint8_t pad)
{
    uint8_t block[SHA256_CBLOCK];
    memset(block, pad, sizeof block);
    for (int i = 0; i < MAC_SECRET; i++) block[i] ^= secret[i];
    SHA256_Init(state);
    SHA256_Update(state, block, sizeof block);
}

struct mac *mac_open(const uint8_t secret[MAC_SECRET])
{
    struct mac *mac = malloc(sizeof *mac);
    if (mac == NULL) return NULL;
    begin(&mac->inner, secret, 0x36);
    begin(&mac->outer, secret, 0x5c);
    return mac;
}

void mac_close(struct mac *mac)
{
    free(mac);
}

void mac_of(const struct mac *mac, const void *first, size_t first_size, const void *second, size_t second_size,
            uint8_t out[MAC_SIZE])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX state = mac->inner;
    SHA256_Update(&state, first, first_size);
    SHA256_Update(&state, second, second_size);
    SHA256_Final(digest, &state);
    state = mac->outer;
    SHA256_Update(&state, digest, sizeof digest);
    SHA256_Final(digest, &state);
    memcpy(out, digest, MAC_SIZE);
}
