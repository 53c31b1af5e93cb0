/* SPDX-License-Identifier: MIT
   When a server that has failed is tried again.

   See breaker.c. */
#ifndef WEIR_REDIS_CLIENT_LINK_BREAKER_H
#define WEIR_REDIS_CLIENT_LINK_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#define BREAKER_FIRST_NS UINT64_C(50000000)  /* the first probe comes so long after the failure at most ... */
#define BREAKER_LAST_NS UINT64_C(500000000)  /* ... and each further one twice as late, up to this */
#define BREAKER_PROBE_NS UINT64_C(500000000) /* a probe that has not ended by then was given up */

enum breaker_state {
    BREAKER_CLOSED, /* it answers */
    BREAKER_OPEN,   /* it does not: nobody asks, but one probes now and then */
    BREAKER_TRIAL   /* a probe was answered: all ask again, and its next failure counts as one more */
};

struct breaker {
    enum breaker_state state;
    unsigned failures; /* one after the other */
    bool probing;
    uint64_t probe_at; /* the next probe; while probing: when that is given up */
    uint64_t random;   /* never 0 */
};

void breaker_init(struct breaker *breaker, uint64_t seed);

/* A call saw it fail; probe: it was the probe.  true: it was not open before. */
bool breaker_fail(struct breaker *breaker, uint64_t now_ns, bool probe);

/* May the caller probe now?  Then nobody else may until the probe has passed, failed, or lasted too long. */
bool breaker_claim(struct breaker *breaker, uint64_t now_ns);

/* The probe was answered. */
void breaker_pass(struct breaker *breaker);

/* A question was answered as it should be. */
void breaker_sound(struct breaker *breaker);

/* ns until the next probe: what is told to those who are refused meanwhile. */
uint64_t breaker_wait_ns(const struct breaker *breaker, uint64_t now_ns);

#endif
