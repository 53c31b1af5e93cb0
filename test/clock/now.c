/* SPDX-License-Identifier: MIT
   Prints CLOCK_MONOTONIC in ns, or ends with 1 when a wait until a time on it came back early.

   Ends with 0 on every sound clock, however slow the machine. */
#include <inttypes.h>
#include <stdio.h>

#include "host/clock.h"
#include "host/sleep.h"

static const uint64_t WAIT_NS = 20000000;
static const uint64_t TICK_NS_MAX = UINT64_C(1000000000000); /* far more than the coarse clock can lag */

int main(void)
{
    static struct host_event never;
    const uint64_t coarse_ns = host_now_coarse_ns(), begin_ns = host_now_ns();
    printf("%" PRIu64 "\n", begin_ns);
    if (coarse_ns > begin_ns || begin_ns - coarse_ns > TICK_NS_MAX) return 1;
    host_sleep_until(begin_ns + WAIT_NS);
    if (host_now_ns() < begin_ns + WAIT_NS) return 1;
    host_event_wait(&never, 0, begin_ns + 2 * WAIT_NS);
    return host_now_ns() < begin_ns + 2 * WAIT_NS;
}
