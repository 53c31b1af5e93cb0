/* SPDX-License-Identifier: MIT
   Waiters: how often and until when they sleep, in what order they start, what a change does to them.

   The machine is made up: its time is a variable of this file that moves on when somebody sleeps or looks, and what
   others do meanwhile is a function called in the middle of a sleep.  So nothing here depends on how fast a machine
   is. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weir/weir.h>

#include "api/limiter.h"
#include "unit/plans.h"

enum { LOOK_NS = 30, LATE_NS = 7000, WAITERS = 8 };

uint64_t __wrap_host_now_ns(void);
uint64_t __wrap_host_now_coarse_ns(void);
void __wrap_host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns);
bool __wrap_host_spin_begin(uint64_t threads_max);
unsigned __wrap_host_slot(void);
long __wrap_syscall(long number, ...);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_sched_yield(void);

uint64_t __real_host_now_ns(void);
void __real_host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns);
bool __real_host_spin_begin(uint64_t threads_max);
unsigned __real_host_slot(void);
long __real_syscall(long number, ...);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_sched_yield(void);

/* ---- a machine ---- */

static struct {
    bool real, nothing_out;                             /* out: no lease holds a permit while its thread sleeps */
    uint64_t now_ns, late_ns;                           /* late: how much a sleep overshoots */
    uint64_t looks, sleeps, spins, shortest_ns, latest; /* latest: the deadline of the last sleep */
    void (*meanwhile)(void);                            /* in the next sleep, once */
    void (*between)(void);                              /* when a thread is next asked for its number, once */
    _Atomic uint64_t system_calls, locks;               /* those that may sleep */
    weir_limiter *limiter;
} machine;

static void call_once(void (**function)(void))
{
    void (*const call)(void) = *function;
    *function = NULL;
    if (call != NULL) call();
}

uint64_t __wrap_host_now_ns(void)
{
    machine.looks += !machine.real;
    return machine.real ? __real_host_now_ns() : (machine.now_ns += LOOK_NS);
}

/* It ticks every four milliseconds. */
uint64_t __wrap_host_now_coarse_ns(void)
{
    machine.now_ns += LOOK_NS;
    return machine.now_ns - machine.now_ns % (4 * MS);
}

void __wrap_host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    if (machine.real) {
        __real_host_event_wait(event, seen, deadline_ns);
        return;
    }
    if (machine.nothing_out) assert_int_equal(atom_load(&machine.limiter->word.out), 0);
    machine.sleeps++;
    machine.latest = deadline_ns;
    if (deadline_ns - machine.now_ns < machine.shortest_ns) machine.shortest_ns = deadline_ns - machine.now_ns;
    call_once(&machine.meanwhile);
    if (host_event_seen(event) == seen) machine.now_ns = deadline_ns + machine.late_ns;
}

bool __wrap_host_spin_begin(uint64_t threads_max)
{
    machine.spins++;
    return __real_host_spin_begin(threads_max);
}

unsigned __wrap_host_slot(void)
{
    if (!machine.real) call_once(&machine.between);
    return __real_host_slot();
}

long __wrap_syscall(long number, ...)
{
    va_list list;
    long argument[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) argument[i] = va_arg(list, long);
    va_end(list);
    atomic_fetch_add(&machine.system_calls, 1);
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    atomic_fetch_add(&machine.locks, 1);
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_sched_yield(void)
{
    atomic_fetch_add(&machine.system_calls, 1);
    return __real_sched_yield();
}

static weir_limiter *open_limiter_on(bool real, const char *limits, uint64_t min_sleep_ns, uint64_t spin_ns)
{
    weir_limiter *limiter;
    weir_options options = WEIR_OPTIONS;
    options.use = WEIR_PACE;
    options.min_sleep_ns = min_sleep_ns;
    options.spin_ns = spin_ns;
    options.spin_processors = 1;
    machine.real = real;
    machine.now_ns = 1000 * S;
    machine.late_ns = LATE_NS;
    assert_int_equal(weir_open(&limiter, limits, &options, NULL), 0);
    machine.limiter = limiter;
    machine.looks = machine.sleeps = machine.spins = 0;
    machine.shortest_ns = UINT64_MAX;
    machine.system_calls = machine.locks = 0;
    return limiter;
}

static weir_limiter *open_made_up(const char *limits, uint64_t min_sleep_ns, uint64_t spin_ns)
{
    return open_limiter_on(false, limits, min_sleep_ns, spin_ns);
}

static weir_decision start_one(weir_limiter *limiter, weir_lease *lease)
{
    const weir_decision decision =
        lease != NULL ? weir_lease_take_wait(lease, 1, WEIR_FOREVER) : weir_take_wait(limiter, 1, WEIR_FOREVER);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.charged, 1);
    if (machine.now_ns < decision.start.ns) fail_msg("started %d ns early", (int)(decision.start.ns - machine.now_ns));
    return decision;
}

/* ---- how often ---- */

/* For so long, one after the other, as fast as they come. */
static void pace_for(const char *limits, uint64_t per_s, uint64_t for_ns, uint64_t min_sleep_ns, bool leased)
{
    static weir_lease lease;
    weir_limiter *limiter = open_made_up(limits, min_sleep_ns, 0);
    const uint64_t shortest_ns = min_sleep_ns != 0 ? min_sleep_ns : 50 * US, begin_ns = machine.now_ns;
    const uint64_t nap_ns = min_sleep_ns != 0 ? min_sleep_ns : 5 * US; /* the least, beside what it is late by */
    uint64_t granted = 0, waits_with_two = 0;
    if (leased) assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    machine.system_calls = machine.locks = 0;
    machine.nothing_out = min_sleep_ns == 0 && leased;
    while (machine.now_ns - begin_ns < for_ns) {
        const uint64_t before = machine.sleeps;
        start_one(limiter, leased ? &lease : NULL);
        if (machine.sleeps - before > 1) waits_with_two++;
        granted++;
    }
    assert_true(machine.shortest_ns >= nap_ns);
    assert_true(machine.sleeps <= for_ns / (nap_ns + LATE_NS) + 1);
    assert_int_equal(waits_with_two, 0);
    assert_int_equal(machine.locks, 0);
    /* What has become due, but in the last sleep. */
    const double wanted = (double)per_s * (double)for_ns / 1e9, last = (double)per_s * (double)(2 * shortest_ns) / 1e9;
    if ((double)granted > wanted + last + 2 || (double)granted < wanted - last - 2)
        fail_msg("%s: granted %d, wanted %d", limits, (int)granted, (int)wanted);
    machine.nothing_out = false;
    if (leased) weir_lease_close(&lease);
    weir_close(limiter);
}

static void test_sleeps_are_merged(void **state)
{
    (void)state;
    static const struct {
        const char *limits;
        uint64_t per_s, for_ns, min_sleep_ns;
        bool leased;
    } rows[] = {
        {"1000/s catchup=1.1", 1000, S, 0, false},
        {"1000/s catchup=1.1", 1000, S, 0, true},
        {"10000/s", 10000, S, 0, false},
        {"10000/s", 10000, S, 0, true},
        {"100000/s catchup=1.1", 100000, S, 0, false},
        {"100000/s catchup=1.1", 100000, S, 0, true},
        {"1000000/s", 1000000, S / 4, 0, false},
        {"1000000/s", 1000000, S / 4, 0, true},
        {"10000000/s catchup=1.1", 10000000, S / 20, 0, false},
        {"10000000/s catchup=1.1", 10000000, S / 20, 0, true},
        {"50000000/s catchup=1.1", 50000000, S / 50, 0, true},
        {"10000/s catchup=1.1", 10000, S, 1 * MS, true},
        {"1000000/s catchup=1.1", 1000000, S / 4, 1 * MS, true},
        {"10000000/s catchup=1.1", 10000000, S / 20, 1 * MS, true},
        {"1000000/s burst=5000", 1000000, S / 4, 1 * MS, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pace_for(rows[i].limits, rows[i].per_s, rows[i].for_ns, rows[i].min_sleep_ns, rows[i].leased);
    }
}

/* The same for the system: a futex each, and nothing else that could sleep. */
static void test_one_system_call(void **state)
{
    (void)state;
    weir_limiter *limiter = open_limiter_on(true, "200/s burst=1", 0, 0);
    weir_take_wait(limiter, 1, WEIR_FOREVER); /* the burst: what comes next has to wait */
    for (int i = 0; i < 4; i++) {
        machine.system_calls = machine.locks = 0;
        assert_int_equal(weir_take_wait(limiter, 1, WEIR_FOREVER).verdict, WEIR_ALLOW);
        assert_true(machine.system_calls <= 1);
        assert_int_equal(machine.locks, 0);
    }
    weir_close(limiter);
}

/* ---- naps ---- */

/* From the call to the start, and once more where nothing had to be waited for. */
static void test_how_long_it_was_held(void **state)
{
    (void)state;
    weir_limiter *limiter = open_made_up("10/s burst=1", MS, 0);
    assert_int_equal(start_one(limiter, NULL).delay_ns, 0);
    const uint64_t began_ns = machine.now_ns;
    const weir_decision decision = start_one(limiter, NULL);
    assert_in_range(decision.delay_ns, 100 * MS - 10 * LOOK_NS, machine.now_ns - began_ns);
    machine.now_ns += S;
    assert_int_equal(start_one(limiter, NULL).delay_ns, 0);
    weir_close(limiter);
}

static void take_all(void)
{
    machine.now_ns = machine.latest + machine.late_ns;
    while (weir_allowed(weir_take_at(machine.limiter, (weir_instant){machine.now_ns + 1000 * LOOK_NS}, 1))) continue;
}

/* Who finds that others have taken all waits for a place of his own, and no longer than that. */
static void test_nap_for_nothing(void **state)
{
    (void)state;
    weir_limiter *limiter = open_made_up("1000000/s", 0, 0);
    machine.late_ns = 0;
    start_one(limiter, NULL);
    machine.meanwhile = take_all;
    const weir_decision decision = start_one(limiter, NULL);
    assert_int_equal(machine.sleeps, 2);
    assert_int_equal(machine.latest, decision.start.ns);
    weir_close(limiter);
}

/* A nap is three quarters as long as those before were late, up to the minimum sleep. */
static void test_nap_as_long_as_late(void **state)
{
    (void)state;
    static const uint64_t late_ns[] = {2 * US, 7 * US, 30 * US, 200 * US};
    static const uint64_t nap_ns[] = {5 * US, 5250, 22500, 37500};
    for (size_t i = 0; i < sizeof late_ns / sizeof late_ns[0]; i++) {
        weir_limiter *limiter = open_made_up("1000000/s", 0, 0);
        machine.late_ns = late_ns[i];
        while (machine.sleeps < 100) start_one(limiter, NULL);
        machine.shortest_ns = UINT64_MAX;
        while (machine.sleeps < 101) start_one(limiter, NULL);
        assert_in_range(machine.shortest_ns, nap_ns[i] - 10 * LOOK_NS, nap_ns[i] + 10 * LOOK_NS);
        weir_close(limiter);
    }
}

/* ---- refusals that count ---- */

static weir_limiter *open_half_a_second_ago(void)
{
    weir_limiter *limiter = open_made_up("2/s count-refused algorithm=sliding-log", 0, 0);
    assert_int_equal(weir_take(limiter, 2).verdict, WEIR_ALLOW);
    machine.now_ns += 500 * MS;
    return limiter;
}

/* One for want of patience counts, one on the way to a start does not. */
static void test_refusals_on_the_way(void **state)
{
    (void)state;
    weir_limiter *limiter = open_half_a_second_ago();
    start_one(limiter, NULL);
    assert_int_equal(weir_peek(limiter, 0).remaining, 1);
    weir_close(limiter);
    limiter = open_half_a_second_ago();
    assert_int_equal(weir_take_wait(limiter, 1, MS).verdict, WEIR_DENY);
    machine.now_ns += 600 * MS;
    assert_int_equal(weir_peek(limiter, 0).remaining, 1);
    weir_close(limiter);
}

/* ---- the stock ---- */

static weir_limiter *open_with_stock(void)
{
    weir_limiter *limiter = open_made_up("10000000/s", 0, 0);
    while (!stock_has(&limiter->stock, 0)) start_one(limiter, NULL);
    return limiter;
}

/* Each permit has its own due time, and most calls read no clock. */
static void test_stock_is_spent(void **state)
{
    (void)state;
    enum { STARTS = 5000 };
    weir_stats stats;
    weir_limiter *limiter = open_made_up("10000000/s", 0, 0);
    const uint64_t first_ns = start_one(limiter, NULL).due.ns;
    for (uint64_t i = 1; i < STARTS; i++) {
        const weir_decision decision = start_one(limiter, NULL);
        assert_in_range(decision.due.ns, first_ns + 100 * i - 1, first_ns + 100 * i + 1);
    }
    assert_true(machine.looks < STARTS / 10);
    weir_read_stats(limiter, &stats, sizeof stats);
    assert_int_equal(stats.granted, STARTS);
    assert_int_equal(stats.due, stats.granted + stats.backlog + stats.missed - stats.ahead);
    weir_close(limiter);
}

/* Others find all of it, and cancelling is as exact as without it. */
static void test_stock_is_given_back(void **state)
{
    (void)state;
    weir_limiter *limiter = open_with_stock();
    const uint64_t left = weir_peek(limiter, 1).remaining;
    assert_int_equal(atom_load(&limiter->word.out), 0);
    assert_in_range(weir_take_some(limiter, 100000).charged, left + 1, left + 10);
    weir_close(limiter);
    limiter = open_with_stock();
    weir_decision decision = start_one(limiter, NULL);
    weir_cancel(limiter, &decision);
    assert_int_equal(atom_load(&limiter->word.out), 0);
    weir_close(limiter);
}

/* A change, a pause and a stop leave nothing of it. */
static void test_stock_is_closed(void **state)
{
    (void)state;
    weir_limiter *limiter = open_with_stock();
    assert_int_equal(weir_set_limit(limiter, "1/s burst=1", WEIR_KEEP, NULL), 0);
    weir_take_wait(limiter, 1, 0); /* the burst */
    assert_int_equal(weir_take_wait(limiter, 1, 0).verdict, WEIR_DENY);
    weir_close(limiter);
    limiter = open_with_stock();
    assert_int_equal(weir_set_limit(limiter, "pause", WEIR_KEEP, NULL), 0);
    assert_int_equal(weir_take_wait(limiter, 1, 0).verdict, WEIR_DENY);
    weir_close(limiter);
    limiter = open_with_stock();
    weir_stop(limiter);
    assert_int_equal(weir_take_wait(limiter, 1, WEIR_FOREVER).verdict, WEIR_STOPPED);
    weir_close(limiter);
}

/* A call that comes long after it was filled has its own time, and fills it for nobody. */
static void test_stock_ages(void **state)
{
    (void)state;
    weir_limiter *limiter = open_with_stock();
    machine.now_ns += 9 * MS;
    const uint64_t came_ns = machine.now_ns;
    assert_true(start_one(limiter, NULL).start.ns >= came_ns);
    assert_false(limiter_stocked(limiter));
    weir_close(limiter);
}

static uint64_t alarm_ns[3];

static void nap_too(void)
{
    struct wait wait = {.cost = 1, .until_ns = WEIR_FOREVER};
    const uint64_t begin_ns = machine.now_ns;
    static int depth;
    alarm_ns[depth++] = machine.latest;
    if (depth < 3) {
        machine.meanwhile = nap_too;
        limiter_nap(machine.limiter, &wait, host_event_seen(&machine.limiter->event));
    }
    machine.now_ns = begin_ns;
    depth = 0;
}

/* Three who nap at once have their alarms a part of the minimum sleep behind each other, the first to come the first.
   */
static void test_alarms_are_apart(void **state)
{
    (void)state;
    weir_limiter *limiter = open_made_up("1000000/s", 100 * US, 0);
    start_one(limiter, NULL);
    machine.meanwhile = nap_too;
    start_one(limiter, NULL);
    const uint64_t step_ns = 100 * US / WAKES_IN_A_MIN_SLEEP;
    assert_true(alarm_ns[1] >= alarm_ns[0] + step_ns && alarm_ns[2] >= alarm_ns[1] + step_ns);
    assert_true(alarm_ns[2] < alarm_ns[0] + 3 * step_ns);
    assert_int_equal(atom_load(&limiter->naps.count), 0);
    weir_close(limiter);
}

/* A wait with an end, or so far that it is worth a sleep, or where what is not taken is lost, has its place from the
   beginning. */
static void test_no_nap(void **state)
{
    (void)state;
    weir_limiter *limiter = open_made_up("1000000/s", 0, 0);
    start_one(limiter, NULL);
    machine.meanwhile = take_all;
    assert_true(weir_allowed(weir_take_wait(limiter, 1, S)));
    assert_int_equal(machine.sleeps, 1);
    weir_close(limiter);
    static const char *const limits[] = {"30000/s", "1000000/s burst=49", "1000000/s; 1000000/s burst=1 algorithm=gcra",
                                         "1000000/s; 65536 concurrent lease=1ms"};
    for (size_t i = 0; i < LENGTH(limits); i++) {
        limiter = open_made_up(limits[i], 0, 0);
        start_one(limiter, NULL);
        machine.meanwhile = take_all;
        start_one(limiter, NULL);
        assert_int_equal(machine.sleeps, 1);
        weir_close(limiter);
    }
}

/* While the limit's own clock stands still, places go on being due. */
static void test_no_nap_by_a_coarse_clock(void **state)
{
    (void)state;
    for (int leased = 0; leased < 2; leased++) {
        static weir_lease lease;
        uint64_t granted = 0;
        weir_limiter *limiter = open_made_up("1000000/s burst=20000", 0, 0);
        limiter->clock = WEIR_CLOCK_COARSE;
        const uint64_t begin_ns = machine.now_ns;
        if (leased != 0) assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
        for (; machine.now_ns < begin_ns + 40 * MS; granted++) start_one(limiter, leased != 0 ? &lease : NULL);
        assert_true(granted > 39500 && granted < 40500);
        if (leased != 0) weir_lease_close(&lease);
        weir_close(limiter);
    }
}

/* ---- asked again and again ---- */

/* What somebody holds and does not use is missing all the time, and would be there in a ns if he gave it back. */
static void test_rests_beside_an_idle_lease(void **state)
{
    (void)state;
    static weir_lease lease;
    static const char *const limits[] = {"1G/s burst=100 algorithm=gcra", "1G/s burst=100"};
    for (int i = 0; i < 2; i++) {
        weir_limiter *limiter = open_made_up(limits[i], 0, 0);
        assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
        (void)weir_take(limiter, 1);
        machine.now_ns += MS;
        for (int j = 0; j < 9; j++) (void)weir_lease_take(&lease, 1);
        const uint64_t held = atom_load(&limiter->word.out);
        assert_true(held > 1);
        machine.looks = 0;
        assert_int_equal(weir_take_wait(limiter, 100 - held + 1, 10 * MS).verdict, WEIR_DENY);
        assert_true(machine.sleeps >= 100 && machine.sleeps <= 200);
        assert_true(machine.looks <= 10 * machine.sleeps);
        weir_lease_close(&lease);
        weir_close(limiter);
    }
}

/* What starts soon by the limit's clock has started by the system's long ago. */
static void test_rests_by_a_coarse_clock(void **state)
{
    (void)state;
    static weir_lease lease;
    weir_limiter *limiter = open_made_up("1000000/s burst=20000", 100 * US, 0);
    limiter->clock = WEIR_CLOCK_COARSE;
    const uint64_t begin_ns = machine.now_ns;
    assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
    while (machine.now_ns < begin_ns + 40 * MS) start_one(limiter, &lease);
    assert_true(machine.sleeps <= 800);
    assert_true(machine.looks <= 20 * machine.sleeps); /* and not 10,000 */
    weir_lease_close(&lease);
    weir_close(limiter);
}

static void stop(void)
{
    weir_stop(machine.limiter);
}

static void test_stop_ends_a_nap(void **state)
{
    (void)state;
    for (int leased = 0; leased < 2; leased++) {
        static weir_lease lease;
        weir_limiter *limiter = open_made_up("1000000/s", 0, 0);
        if (leased != 0) assert_int_equal(weir_lease_open(&lease, limiter, NULL), 0);
        start_one(limiter, leased != 0 ? &lease : NULL);
        machine.meanwhile = stop;
        const weir_decision decision =
            leased != 0 ? weir_lease_take_wait(&lease, 1, WEIR_FOREVER) : weir_take_wait(limiter, 1, WEIR_FOREVER);
        assert_int_equal(decision.verdict, WEIR_STOPPED);
        assert_int_equal(machine.sleeps, 1);
        if (leased != 0) weir_lease_close(&lease);
        weir_close(limiter);
    }
}

/* ---- spinning ---- */

static void test_spin(void **state)
{
    (void)state;
    weir_limiter *limiter = open_made_up("1000/s burst=1", 0, 50 * US);
    machine.late_ns = 0;
    start_one(limiter, NULL);
    const weir_decision decision = start_one(limiter, NULL);
    assert_int_equal(machine.sleeps, 1);
    assert_int_equal(machine.spins, 1);
    assert_int_equal(machine.latest, decision.start.ns - 50 * US);
    assert_true(machine.now_ns < decision.start.ns + 10 * LOOK_NS);
    /* Where as many spin as may, the others sleep on. */
    assert_true(__real_host_spin_begin(1));
    const weir_decision other = start_one(limiter, NULL);
    assert_int_equal(machine.sleeps, 3);
    assert_int_equal(machine.latest, other.start.ns);
    host_spin_end();
    assert_true(host_spin_may(1)); /* all who spun have said that they no longer do */
    weir_close(limiter);
}

static void test_spin_places(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) assert_true(__real_host_spin_begin(3));
    assert_false(__real_host_spin_begin(3));
    assert_false(host_spin_may(3));
    assert_true(__real_host_spin_begin(4));
    for (int i = 0; i < 4; i++) host_spin_end();
    assert_false(__real_host_spin_begin(0));
}

static void test_spin_never(void **state)
{
    (void)state;
    weir_limiter *limiter = open_made_up("1000/s burst=1", 0, 0);
    for (int i = 0; i < 10; i++) start_one(limiter, NULL);
    assert_int_equal(machine.spins, 0);
    weir_close(limiter);
    weir_options options = WEIR_OPTIONS;
    options.spin_ns = 1;
    assert_int_equal(weir_open(&limiter, "1/s", &options, NULL), 0);
    assert_true(limiter->spin_processors >= 1 && limiter->spin_processors <= host_processors());
    assert_true(limiter->spin_processors == 1 || limiter->spin_processors * 2 <= host_processors());
    weir_close(limiter);
}

/* A process that has only one processor may spin on that. */
static void test_spin_on_one_processor(void **state)
{
    (void)state;
    weir_limiter *limiter;
    weir_options options = WEIR_OPTIONS;
    cpu_set_t before, one;
    size_t first = 0;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET(first, &before)) first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    options.spin_ns = 1;
    assert_int_equal(weir_open(&limiter, "1/s", &options, NULL), 0);
    assert_int_equal(limiter->spin_processors, 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    weir_close(limiter);
}

/* ---- changes ---- */

static void slow_down(void)
{
    assert_int_equal(weir_set_limit(machine.limiter, "100/s burst=1 algorithm=gcra", WEIR_SCALE, NULL), 0);
}

static void slow_down_by_steps(void)
{
    for (int i = 1; i < 16; i++) {
        assert_int_equal(weir_set_limit(machine.limiter, "500/s burst=1 algorithm=gcra", WEIR_SCALE, NULL), 0);
    }
    slow_down();
}

static void change_all(void)
{
    assert_int_equal(weir_set_limit(machine.limiter, "1/day algorithm=fixed-window", WEIR_RESET, NULL), 0);
}

/* In the middle of a sleep, and just between the taking of a slot and the standing in line. */
static void test_changes_reach_waiters(void **state)
{
    (void)state;
    static const struct {
        void (*change)(void);
        uint64_t start_ns; /* after the one before */
    } rows[] = {{slow_down, 10 * MS}, {slow_down_by_steps, 10 * MS}, {change_all, 0}};
    for (int i = 0; i < 6; i++) {
        weir_limiter *limiter = open_made_up("1000/s burst=1 algorithm=gcra", 0, 0);
        const uint64_t first_ns = start_one(limiter, NULL).start.ns;
        if (i % 2 == 0) machine.meanwhile = rows[i / 2].change;
        else machine.between = rows[i / 2].change;
        const weir_decision decision = start_one(limiter, NULL);
        const uint64_t expected_ns = first_ns + rows[i / 2].start_ns;
        assert_null(machine.between);
        assert_null(machine.meanwhile);
        if (decision.start.ns + 10 * US < expected_ns || decision.start.ns > expected_ns + 10 * US) {
            fail_msg("row %d: started %d ns from when it should", i, (int)(decision.start.ns - expected_ns));
        }
        for (int slot = 0; slot <= HOST_SLOTS; slot++) assert_null(limiter->queue[slot].first);
        weir_close(limiter);
    }
}

/* ---- order ---- */

struct call {
    weir_limiter *limiter;
    uint64_t cost;
    weir_decision decision;
    atomic_bool done;
};

static void *wait_for_start(void *argument)
{
    struct call *call = argument;
    call->decision = weir_take_wait(call->limiter, call->cost, WEIR_FOREVER);
    atomic_store(&call->done, true);
    return NULL;
}

/* At 10/s, each behind the one before. */
static void start_waiters(weir_limiter *limiter, struct call call[WAITERS], pthread_t thread[WAITERS])
{
    for (uint64_t i = 0; i < WAITERS; i++) {
        call[i] = (struct call){.limiter = limiter, .cost = 1};
        assert_int_equal(pthread_create(&thread[i], NULL, wait_for_start, &call[i]), 0);
        while (weir_peek(limiter, 1).retry_ns < (i + 2) * 100 * MS) sched_yield();
    }
}

/* First come, first served, also behind a change: the k-th has the k-th start. */
static void test_order(void **state)
{
    (void)state;
    struct call call[WAITERS];
    pthread_t thread[WAITERS];
    weir_limiter *limiter;
    weir_options options = WEIR_OPTIONS;
    options.clock = WEIR_CLOCK_MANUAL;
    machine.real = true;
    assert_int_equal(weir_open(&limiter, "10/s burst=1", &options, NULL), 0);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    start_waiters(limiter, call, thread);
    assert_int_equal(weir_set_limit(limiter, "20/s burst=1", WEIR_SCALE, NULL), 0);
    for (uint64_t i = 0; i < WAITERS; i++) {
        weir_manual_set(limiter, (weir_instant){(i + 1) * 50 * MS + US});
        pthread_join(thread[i], NULL);
        assert_int_equal(call[i].decision.verdict, WEIR_ALLOW);
        const uint64_t due_ns = (i + 1) * 50 * MS, start_ns = call[i].decision.start.ns;
        assert_true(start_ns + US > due_ns && start_ns < due_ns + US);
    }
    weir_close(limiter);
}

/* Neither can pass whole, nor can the second have as much as may pass at once now: each starts with that much in the
   first window that has it. */
static void test_waiters_too_large_for_a_change(void **state)
{
    (void)state;
    struct call call[2];
    pthread_t thread[2];
    weir_limiter *limiter;
    weir_options options = WEIR_OPTIONS;
    options.clock = WEIR_CLOCK_MANUAL;
    machine.real = true;
    assert_int_equal(weir_open(&limiter, "10/s burst=20 algorithm=gcra", &options, NULL), 0);
    assert_true(weir_allowed(weir_take(limiter, 20)));
    for (uint64_t i = 0; i < 2; i++) {
        call[i] = (struct call){.limiter = limiter, .cost = 20};
        assert_int_equal(pthread_create(&thread[i], NULL, wait_for_start, &call[i]), 0);
        while (weir_peek(limiter, 20).retry_ns < (i + 2) * 2 * S) sched_yield();
    }
    assert_int_equal(weir_set_limit(limiter, "5/s algorithm=fixed-window", WEIR_RESET, NULL), 0);
    pthread_join(thread[0], NULL);
    assert_int_equal(call[0].decision.start.ns, 0);
    assert_false(atomic_load(&call[1].done));
    weir_manual_set(limiter, (weir_instant){S + US});
    pthread_join(thread[1], NULL);
    assert_int_equal(call[1].decision.start.ns, S);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(call[i].decision.verdict, WEIR_ALLOW);
        assert_int_equal(call[i].decision.charged, 20);
    }
    weir_close(limiter);
}

/* They all came at 0. */
static uint64_t started_by(struct call call[], uint64_t now_ns)
{
    uint64_t count = 0;
    for (int i = 0; i < WAITERS; i++) count += atomic_load(&call[i].done) && call[i].decision.delay_ns <= now_ns;
    return count;
}

/* All were stopped, and wake together 3 s later: the pool starts, and then one after the other; each was due when it
   was. */
static void check_actual_starts(const char *limits)
{
    struct call call[WAITERS] = {{0}};
    pthread_t thread[WAITERS];
    weir_limiter *limiter;
    weir_options options = WEIR_OPTIONS;
    options.clock = WEIR_CLOCK_MANUAL;
    options.use = WEIR_PACE;
    machine.real = true;
    assert_int_equal(weir_open(&limiter, limits, &options, NULL), 0);
    assert_true(weir_allowed(weir_take(limiter, 1)));
    start_waiters(limiter, call, thread);
    uint64_t now_ns = 3 * S + 50 * MS, due_ns = 0;
    for (uint64_t i = 0; i < WAITERS; i++, now_ns += 100 * MS) {
        weir_manual_set(limiter, (weir_instant){now_ns});
        while (started_by(call, now_ns) <= i) sched_yield();
        for (int look = 0; look < 100; look++) sched_yield();
        assert_int_equal(started_by(call, now_ns), i + 1);
    }
    for (uint64_t i = 0; i < WAITERS; i++) {
        pthread_join(thread[i], NULL);
        due_ns += weir_due(limiter, &call[i].decision, 1).ns;
    }
    assert_int_equal(due_ns, WAITERS * (WAITERS + 1) / 2 * 100 * MS);
    /* What they lost they have not taken twice: the next one is due behind them. */
    weir_manual_set(limiter, (weir_instant){now_ns + S});
    const weir_decision next = weir_take(limiter, 1);
    assert_int_equal(next.verdict, WEIR_ALLOW);
    assert_int_equal(weir_due(limiter, &next, 1).ns, (WAITERS + 1) * 100 * MS);
    weir_close(limiter);
}

static void test_the_bound_of_actual_starts(void **state)
{
    (void)state;
    check_actual_starts("10/s burst=1");
    check_actual_starts("100/s burst=1; 10/s burst=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleeps_are_merged),
        cmocka_unit_test(test_one_system_call),
        cmocka_unit_test(test_how_long_it_was_held),
        cmocka_unit_test(test_nap_for_nothing),
        cmocka_unit_test(test_nap_as_long_as_late),
        cmocka_unit_test(test_refusals_on_the_way),
        cmocka_unit_test(test_stock_is_spent),
        cmocka_unit_test(test_stock_is_given_back),
        cmocka_unit_test(test_stock_is_closed),
        cmocka_unit_test(test_stock_ages),
        cmocka_unit_test(test_alarms_are_apart),
        cmocka_unit_test(test_no_nap),
        cmocka_unit_test(test_no_nap_by_a_coarse_clock),
        cmocka_unit_test(test_rests_beside_an_idle_lease),
        cmocka_unit_test(test_rests_by_a_coarse_clock),
        cmocka_unit_test(test_stop_ends_a_nap),
        cmocka_unit_test(test_spin),
        cmocka_unit_test(test_spin_places),
        cmocka_unit_test(test_spin_never),
        cmocka_unit_test(test_spin_on_one_processor),
        cmocka_unit_test(test_changes_reach_waiters),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_waiters_too_large_for_a_change),
        cmocka_unit_test(test_the_bound_of_actual_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
