/* SPDX-License-Identifier: MIT
   Which of a cluster's 16,384 slots a key is in, by the rules of the Redis Cluster specification.

   The same as CLUSTER KEYSLOT. */
#include "redis/client/slots.h"

#include <string.h>

enum { CRC_POLYNOMIAL = 0x1021, CRC_TOP = 0x8000 };

uint16_t slots_crc16(const char *bytes, size_t size)
{
    uint32_t crc = 0;
    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)(unsigned char)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++) crc = (crc << 1) ^ ((crc & CRC_TOP) != 0 ? CRC_POLYNOMIAL : 0);
    }
    return (uint16_t)crc;
}

unsigned slots_of(const char *key, size_t size)
{
    const char *const open = size != 0 ? memchr(key, '{', size) : NULL;
    if (open != NULL) {
        const size_t rest = size - (size_t)(open + 1 - key);
        const char *const close = rest != 0 ? memchr(open + 1, '}', rest) : NULL;
        if (close != NULL && close != open + 1) {
            key = open + 1;
            size = (size_t)(close - key);
        }
    }
    return slots_crc16(key, size) % SLOTS;
}
