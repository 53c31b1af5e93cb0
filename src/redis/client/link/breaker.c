/* SPDX-License-Identifier: MIT
   When a server that has failed is tried again.

       closed --failure--> open --its time has come: one of all who ask probes--> open, probing
          ^                  ^                                                      |       |
          |                  +------------------ failure, twice as late ------------+       | answered
          +--- a question was answered --- trial <------------------------------------------+

   The time to the next probe is drawn between half of it and all, so that nodes which saw the same failure do not come
   back together.

   A probe that is answered does not yet mean that questions are (no memory left, no replica to write to): on trial all
   ask again, but a failure goes on where the last one was.

   No clock, no lock. */
#include "redis/client/link/breaker.h"

void breaker_init(struct breaker *breaker, uint64_t seed)
{
    *breaker = (struct breaker){.random = seed | 1};
}

/* xorshift64*: Marsaglia 2003, Vigna 2016. */
static uint64_t draw(struct breaker *breaker)
{
    uint64_t random = breaker->random;
    random ^= random >> 12;
    random ^= random << 25;
    random ^= random >> 27;
    breaker->random = random;
    return random * UINT64_C(2685821657736338717);
}

static uint64_t pause_ns(struct breaker *breaker)
{
    uint64_t pause = BREAKER_FIRST_NS;
    for (unsigned i = 1; i < breaker->failures && pause < BREAKER_LAST_NS; i++) pause *= 2;
    if (pause > BREAKER_LAST_NS) pause = BREAKER_LAST_NS;
    return pause / 2 + draw(breaker) % (pause / 2 + 1);
}

bool breaker_fail(struct breaker *breaker, uint64_t now_ns, bool probe)
{
    const bool news = breaker->state != BREAKER_OPEN;
    /* Others may still hear of the failure that opened it; that is no second one. */
    if (!news && !probe) return false;
    if (breaker->failures < UINT32_MAX) breaker->failures++;
    breaker->state = BREAKER_OPEN;
    breaker->probing = false;
    breaker->probe_at = now_ns + pause_ns(breaker);
    return news;
}

bool breaker_claim(struct breaker *breaker, uint64_t now_ns)
{
    if (breaker->state != BREAKER_OPEN || now_ns < breaker->probe_at) return false;
    breaker->probing = true;
    breaker->probe_at = now_ns + BREAKER_PROBE_NS;
    return true;
}

void breaker_pass(struct breaker *breaker)
{
    if (breaker->state != BREAKER_OPEN) return;
    breaker->state = BREAKER_TRIAL;
    breaker->probing = false;
}

void breaker_sound(struct breaker *breaker)
{
    breaker->state = BREAKER_CLOSED;
    breaker->failures = 0;
}

uint64_t breaker_wait_ns(const struct breaker *breaker, uint64_t now_ns)
{
    if (breaker->state != BREAKER_OPEN) return 0;
    return breaker->probe_at > now_ns ? breaker->probe_at - now_ns : 0;
}
