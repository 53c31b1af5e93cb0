/* SPDX-License-Identifier: MIT
   The network between nodes and servers, behind the system calls of the client.

   A wire is a TCP connection: bytes arrive late, in their order, or not until a partition is over; it can be reset, or
   go silent. */
#ifndef WEIR_TEST_SIMULATE_WIRES_H
#define WEIR_TEST_SIMULATE_WIRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVERS_MOST = 3 };
enum wires_way { WIRES_UP = 1, WIRES_DOWN = 2 }; /* to a server, to a node */

void wires_begin(void);
void wires_end(void);

/* Until then nothing passes there in these directions. */
void wires_cut(unsigned node, unsigned server, unsigned ways, uint64_t until);

/* When the last of all cuts is over, or was. */
uint64_t wires_whole_at(void);

/* Until then all is so many times as slow. */
void wires_slow(unsigned server, unsigned times, uint64_t until);

/* All of a node, or of a server: told at once, or never (the machine is gone). */
void wires_reset_node(unsigned node);
void wires_lose_server(unsigned server, bool told);

void wires_heal(void);

/* What a server answers on this wire. */
void wires_answer(unsigned wire, const char *bytes, size_t size);

#endif
