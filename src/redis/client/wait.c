/* SPDX-License-Identifier: MIT
   weir_engine_batch: questions begun, waited for by ppoll, and answered.

   Returns at the deadline at the latest. */
#include <time.h>

#include "core/num.h"
#include "host/clock.h"
#include "redis/client/engine.h"

void engine_wait(struct weir_engine *engine, uint64_t wait_ns)
{
    uint64_t until_ns;
    weir_engine_watch watch[SERVERS_MAX];
    const size_t count = weir_engine_events(engine, (weir_instant){host_now_ns()}, watch, SERVERS_MAX, &until_ns);
    for (size_t i = 0; i < count; i++) {
        engine->polled[i] = (struct pollfd){.fd = watch[i].descriptor};
        engine->polled[i].events = (short)((watch[i].reads ? POLLIN : 0) | (watch[i].writes ? POLLOUT : 0));
    }
    const uint64_t left_ns = least(until_ns, wait_ns);
    const struct timespec left = {(time_t)(left_ns / HOST_SECOND_NS), (long)(left_ns % HOST_SECOND_NS)};
    ppoll(engine->polled, (nfds_t)count, &left, NULL);
}

/* More than fit the ring go one part after the other, all within one deadline. */
void weir_engine_batch(weir_engine *engine, weir_engine_ask *asks, size_t n)
{
    uint64_t now_ns = host_now_ns();
    const uint64_t deadline_ns = engine_deadline(engine, now_ns);
    bool turned = false;
    for (size_t at = 0; at < n;) {
        const size_t room = CALLS_MAX - engine->count; /* those that wait already keep theirs */
        const size_t end = n - at < room || room == 0 ? n : at + room;
        engine_begin(engine, asks + at, end - at, now_ns, deadline_ns);
        for (; at < end; at++) {
            for (; asks[at].from == 0; turned = true) {
                engine_wait(engine, WEIR_FOREVER);
                now_ns = host_now_ns();
                weir_engine_process(engine, (weir_instant){now_ns});
            }
        }
    }
    if (!turned) weir_engine_process(engine, (weir_instant){now_ns});
}
