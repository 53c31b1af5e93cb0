/* SPDX-License-Identifier: MIT
   Two engines and a sentinel: the module as it is shipped, over a keyspace of ours.

   Server 0 and 1 are engines, of which one is the primary at a time, or, in a split brain, both; server 2 is the
   sentinel.  Time on them is the true time and what its clock was stepped by. */
#ifndef WEIR_TEST_SIMULATE_REDIS_H
#define WEIR_TEST_SIMULATE_REDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void redis_begin(void);
void redis_end(void);

/* "10.0.0.1" is server 0. */
unsigned redis_of_address(const char *host);
unsigned redis_primary(void);

bool redis_is_up(unsigned server);
bool redis_says_no(unsigned server);      /* it is down, and its machine says so */
uint64_t redis_ready_at(unsigned server); /* it does nothing before then */

/* Whole commands of these bytes are executed and answered; returns how many bytes they took. */
size_t redis_hear(unsigned server, unsigned wire, const char *bytes, size_t size);

/* ---- faults ---- */

void redis_stall(unsigned server, uint64_t until);
void redis_step_clock(unsigned server, int64_t us);

/* Down until then; back with what it had `lost_ns` before, or with nothing. */
void redis_crash(unsigned server, uint64_t until, bool told, uint64_t lost_ns, bool empty);

/* The other one is the primary, with what this one had `lag_ns` before; this one goes on as if it still were, until
   then. */
void redis_fail_over(uint64_t lag_ns, uint64_t split_until);
bool redis_is_split(void);

#endif
