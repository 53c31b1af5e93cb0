/* SPDX-License-Identifier: MIT
   The host of wait_model.c; see wait_host.h. */
#include "wait_host.h"

#include "api/limiter.h"
#include "model.h"
#include "host/map.h"
#include "host/tsc.h"

#include <string.h>

enum { THREADS = MODEL_THREADS_MAX, LINE = 64 };
#define AWAKE UINT64_C(0)
#define GONE UINT64_MAX

static _Alignas(64) unsigned char arena[1 << 18];
static size_t used;
static struct atom clock_ns, alarm_ns[THREADS], done;
static uint64_t read_ns[THREADS + 1];

/* How often each event was signalled. */
enum { EVENTS_MAX = 20 };
static struct {
    const struct host_event *event;
    struct atom signals;
} events[EVENTS_MAX];

HOST_THREAD_LOCAL unsigned host_slot_plus_1;

/* No line is ever in force. */
struct host_tsc host_tsc_process;
HOST_THREAD_LOCAL struct host_tsc_told host_tsc_told;

/* What a thread that has an alarm waits for. */
static struct {
    const struct host_event *event;
    uint32_t seen;
} waits[THREADS];

static struct atom *signals_of(const struct host_event *event)
{
    int i = 0;
    while (i < EVENTS_MAX && events[i].event != NULL && events[i].event != event) i++;
    model_check(i < EVENTS_MAX, "too many events");
    events[i].event = event;
    return &events[i].signals;
}

/* ---- for the scenes ---- */

void wait_host_begin(uint64_t now_ns)
{
    used = 0;
    atom_store(&clock_ns, now_ns);
    for (int i = 0; i < EVENTS_MAX; i++) {
        events[i].event = NULL;
        atom_store(&events[i].signals, 0);
    }
    atom_store(&done, 0);
    for (int i = 0; i < THREADS; i++) {
        waits[i].event = NULL;
        atom_store(&alarm_ns[i], AWAKE);
    }
}

void wait_host_jump(uint64_t ns)
{
    atom_store(&clock_ns, atom_load(&clock_ns) + ns);
}

void wait_host_done(void)
{
    atom_add(&done, 1);
    atom_store(&alarm_ns[model_thread()], GONE);
}

uint64_t wait_host_seen_ns(void)
{
    return read_ns[model_thread() + 1];
}

/* Then it wakes at once.  Read within a step. */
static bool is_signalled(int thread)
{
    return waits[thread].event != NULL && (uint32_t)signals_of(waits[thread].event)->value != waits[thread].seen;
}

/* When the first of those who sleep wakes, if all do.  The loads are for the checker, which wakes whoever has read what
   changes; what they have found is read again within the last one's step, so that it is all of one moment. */
static bool all_sleep(int waiters, uint64_t *wakes_ns)
{
    for (int i = 0; i < waiters; i++) {
        (void)atom_load(&alarm_ns[i]);
        if (waits[i].event != NULL) (void)atom_load(signals_of(waits[i].event));
    }
    *wakes_ns = GONE;
    for (int i = 0; i < waiters; i++) {
        const uint64_t alarm = alarm_ns[i].value;
        if (alarm <= clock_ns.value || is_signalled(i)) return false;
        if (alarm < *wakes_ns) *wakes_ns = alarm;
    }
    return true;
}

void wait_host_run(int waiters)
{
    uint64_t wakes_ns;
    while (atom_load(&done) < (uint64_t)waiters) {
        if (all_sleep(waiters, &wakes_ns) && wakes_ns != GONE) atom_store(&clock_ns, wakes_ns);
        else atom_pause();
    }
}

/* ---- what the limiter calls ---- */

uint64_t host_now_ns(void)
{
    return read_ns[model_thread() + 1] = atom_load(&clock_ns);
}

uint32_t host_event_seen(const struct host_event *event)
{
    return (uint32_t)atom_load_acquire(signals_of(event));
}

void host_event_signal(struct host_event *event)
{
    atom_add(signals_of(event), 1);
}

void host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    struct atom *alarm = &alarm_ns[model_thread()];
    const struct atom *signals = signals_of(event);
    waits[model_thread()].event = event;
    waits[model_thread()].seen = seen;
    atom_store(alarm, deadline_ns);
    while ((uint32_t)atom_load(signals) == seen && atom_load(&clock_ns) < deadline_ns) atom_pause();
    atom_store(alarm, AWAKE);
    waits[model_thread()].event = NULL;
}

int host_prepare(void)
{
    return 0;
}

unsigned host_slot(void)
{
    return (unsigned)(model_thread() + 1);
}

void host_yield(void)
{
    atom_pause();
}

/* Nobody changes the limit here, so nobody meets in the mutex. */
void host_mutex_open(struct host_mutex *mutex)
{
    (void)mutex;
}

void host_mutex_close(struct host_mutex *mutex)
{
    (void)mutex;
}

void host_lock(struct host_mutex *mutex)
{
    (void)mutex;
}

void host_unlock(struct host_mutex *mutex)
{
    (void)mutex;
}

/* The same places in each execution. */
void *host_allocate(uint64_t size)
{
    const size_t begin = (used + LINE - 1) / LINE * LINE;
    model_check(begin + size <= sizeof arena, "the limiter does not fit the arena");
    used = begin + size;
    return memset(arena + begin, 0, size);
}

void host_free(void *memory)
{
    (void)memory;
}

uint64_t host_processors(void)
{
    return 1;
}

bool host_spin_begin(uint64_t threads_max)
{
    return threads_max == 0;
}

bool host_spin_may(uint64_t threads_max)
{
    return threads_max == 0;
}

void host_spin_end(void)
{
}

/* ---- what it does not: other clocks, leases, forks ---- */

uint64_t host_now_coarse_ns(void)
{
    return host_now_ns();
}

uint64_t host_tsc_now_ns(void)
{
    return host_now_ns();
}

uint64_t host_unix_ns(void)
{
    return host_now_ns();
}

const char *host_error_text(int number)
{
    return number == 0 ? "" : "an error";
}

void host_sleep_until(uint64_t deadline_ns)
{
    (void)deadline_ns;
}

int host_ticker_start(struct host_ticker **owned, uint64_t period_ns)
{
    (void)owned, (void)period_ns;
    return -1;
}

void host_ticker_stop(struct host_ticker *ticker)
{
    (void)ticker;
}

void host_fork_watch_close(struct host_fork_watch *watch)
{
    (void)watch;
}

void limiter_watch_forks(weir_limiter *limiter)
{
    (void)limiter;
}

void limiter_leave_leases(weir_limiter *limiter)
{
    (void)limiter;
}
