/* SPDX-License-Identifier: MIT
   One simulated hour: what happens when, and chance.

   All of it follows from the seed.  Times are ns of a true time that nobody in the world can read. */
#ifndef WEIR_TEST_SIMULATE_WORLD_H
#define WEIR_TEST_SIMULATE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MS = 1000000 };
#define SECOND UINT64_C(1000000000)

typedef void world_event(uint64_t one, uint64_t other);

void world_begin(uint64_t seed);
void world_end(void);

uint64_t world_now(void);

/* At this time, or now if that is over; events of one time in the order in which they were asked for. */
void world_at(uint64_t at, world_event *event, uint64_t one, uint64_t other);

/* Until there is nothing before this time. */
void world_run(uint64_t until);

uint64_t world_random(void);
uint64_t world_below(uint64_t end);                    /* 0 .. end - 1 */
uint64_t world_between(uint64_t least, uint64_t most); /* each power of two between them as often as any other */
uint64_t world_about(uint64_t mean);                   /* exponential */
bool world_chance(unsigned of_1000);

/* Goes into the digest of this hour. */
void world_note(uint64_t what);
uint64_t world_digest(void);

#endif
