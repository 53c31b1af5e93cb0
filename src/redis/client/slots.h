/* SPDX-License-Identifier: MIT
   Which of a cluster's 16,384 slots a key is in.

   See slots.c. */
#ifndef WEIR_REDIS_CLIENT_SLOTS_H
#define WEIR_REDIS_CLIENT_SLOTS_H

#include <stddef.h>
#include <stdint.h>

enum { SLOTS = 16384 };

/* CRC-16/XMODEM: polynomial 0x1021, from 0, the highest bit first. */
uint16_t slots_crc16(const char *bytes, size_t size);

/* Of the part between the first { and the next }, when there is something; else of all. */
unsigned slots_of(const char *key, size_t size);

#endif
