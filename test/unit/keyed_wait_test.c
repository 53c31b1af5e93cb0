/* SPDX-License-Identifier: MIT
   Waiting for a key of a table: starts that are reserved, and slots of a concurrent limit, of threads and processes.

   By the system's clock, which nobody can stop: so a call may start later than a test wants, but never sooner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/table/keyed.h"
#include "unit/plans.h"

enum { CALLERS_MAX = 8, PATIENCE_MS = 10000, MOMENT_MS = 20 };

struct caller {
    pthread_t thread;
    const char *key;
    uint64_t cost, wait_max_ns;
    weir_decision decision;
    atomic_bool over;
};

static weir_table *table;
static weir_plan plan;
static struct caller caller[CALLERS_MAX];
static int callers;
static char folder[] = "/tmp/weir-keyed-wait-XXXXXX";
static char path[sizeof folder + 8];

/* Called once, before a caller says that it is going to sleep. */
static void (*_Atomic meanwhile)(void);

uint32_t __real_host_shared_seen(struct host_event *event);
uint32_t __wrap_host_shared_seen(struct host_event *event);

uint32_t __wrap_host_shared_seen(struct host_event *event)
{
    void (*const call)(void) = atomic_exchange(&meanwhile, NULL);
    if (call != NULL) call();
    return __real_host_shared_seen(event);
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* wide: as the plan needs, in a file or for this process alone. */
static void open_for(const char *limits, bool wide, bool file, weir_clock clock)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    plan = plan_of(limits);
    options.keys_max = 100;
    options.clock = clock;
    if (wide) options.plan = &plan;
    if (file) options.path = path;
    else options.sharing = WEIR_PRIVATE;
    assert_int_equal(weir_table_open(&table, &options, NULL), 0);
    callers = 0;
}

static void close_all(void)
{
    for (int i = 0; i < callers; i++) pthread_join(caller[i].thread, NULL);
    assert_int_equal(turns_waiting(&table->turns), 0);
    weir_table_close(table);
    unlink(path);
}

static void *wait_here(void *context)
{
    struct caller *me = context;
    me->decision = weir_table_take_wait(table, &plan, weir_key_text(me->key), me->cost, me->wait_max_ns);
    atomic_store(&me->over, true);
    return NULL;
}

/* Returns when it waits in turn, or is over. */
static struct caller *call_for(uint64_t cost, const char *key, uint64_t wait_max_ns)
{
    struct caller *me = &caller[callers++];
    const uint64_t before = turns_waiting(&table->turns);
    *me = (struct caller){.key = key, .cost = cost, .wait_max_ns = wait_max_ns};
    assert_int_equal(pthread_create(&me->thread, NULL, wait_here, me), 0);
    for (int ms = 0; turns_waiting(&table->turns) <= before && !atomic_load(&me->over); ms++) {
        if (ms == PATIENCE_MS) fail_msg("call %d does not wait", callers - 1);
        nap_ms(1);
    }
    return me;
}

static struct caller *call(const char *key, uint64_t wait_max_ns)
{
    return call_for(1, key, wait_max_ns);
}

static weir_decision decision_of(struct caller *me)
{
    for (int ms = 0; !atomic_load(&me->over); ms++) {
        if (ms == PATIENCE_MS) fail_msg("call %d still waits", (int)(me - caller));
        nap_ms(1);
    }
    return me->decision;
}

static uint64_t starts(struct caller *me)
{
    const weir_decision decision = decision_of(me);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    return decision.end;
}

static void check_waits(struct caller *me)
{
    nap_ms(MOMENT_MS);
    if (atomic_load(&me->over)) fail_msg("call %d waits no more", (int)(me - caller));
}

static weir_decision hold(const char *key)
{
    const weir_decision decision = weir_table_take(table, &plan, weir_key_text(key), 1);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    return decision;
}

static bool release(const char *key, uint64_t id)
{
    return weir_table_release(table, &plan, weir_key_text(key), id);
}

/* ---- rates ---- */

static void check_rate(const char *limits, bool wide, bool file, weir_clock clock)
{
    open_for(limits, wide, file, clock);
    const weir_key key = weir_key_text("a");
    uint64_t last_ns = 0;
    for (int i = 0; i < 4; i++) {
        const weir_decision decision = weir_table_take_wait(table, &plan, key, 1, i % 2 == 0 ? WEIR_FOREVER : 3600 * S);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_true(weir_now().ns >= decision.start.ns);
        assert_true(decision.start.ns - last_ns >= 19 * MS);
        last_ns = decision.start.ns;
    }
    for (int i = 0; i < 1000; i++) weir_table_reserve(table, &plan, key, 1, WEIR_FOREVER);
    const uint64_t before_ns = weir_now().ns;
    assert_int_equal(weir_table_take_wait(table, &plan, key, 1, 0).verdict, WEIR_DENY);
    assert_int_equal(weir_table_take_wait(table, &plan, key, 1, 2 * S).verdict, WEIR_DENY);
    assert_true(weir_now().ns - before_ns < 2 * S); /* at once, that is */
    assert_int_equal(weir_table_take_wait(table, &plan, key, 2, 10 * MS).verdict, WEIR_NEVER);
    weir_table_stats stats;
    weir_table_read_stats(table, &stats, sizeof stats);
    assert_int_equal(stats.denied, 3);
    close_all();
}

static void test_rates(void **state)
{
    (void)state;
    check_rate("50/s burst=1", false, false, WEIR_CLOCK_SYSTEM);
    check_rate("50/s burst=1", false, true, WEIR_CLOCK_COARSE);
    check_rate("50/s burst=1; 1000/s burst=1", false, false, WEIR_CLOCK_SYSTEM);
    check_rate("50/s burst=1", true, true, WEIR_CLOCK_SYSTEM);
}

/* Nothing can be reserved of a window: it comes back. */
static void test_windows(void **state)
{
    (void)state;
    open_for("1/40ms algorithm=fixed-window", true, false, WEIR_CLOCK_SYSTEM);
    const weir_key key = weir_key_text("a");
    uint64_t start_ns[4];
    for (int i = 0; i < 4; i++) {
        const weir_decision decision = weir_table_take_wait(table, &plan, key, 1, WEIR_FOREVER);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        start_ns[i] = decision.start.ns;
        if (i > 1) assert_true(start_ns[i] - start_ns[i - 2] >= 39 * MS); /* a whole window lies between */
    }
    assert_int_equal(weir_table_take_wait(table, &plan, key, 2, WEIR_FOREVER).verdict, WEIR_NEVER);
    close_all();
}

static void test_each(void **state)
{
    (void)state;
    const uint64_t heavy[] = {1, 4}, light[] = {1, 1}, none[] = {0, 0};
    uint64_t end[2] = {0};
    open_for("1000/s burst=1000; 1/min burst=4", false, false, WEIR_CLOCK_SYSTEM);
    const weir_key key = weir_key_text("a"), other = weir_key_text("b");
    assert_int_equal(weir_table_take_each_wait(table, &plan, key, heavy, end, WEIR_FOREVER).verdict, WEIR_ALLOW);
    assert_true(end[0] != 0 && end[1] > end[0]);
    assert_int_equal(weir_table_take_each_wait(table, &plan, key, heavy, NULL, 60 * S).verdict, WEIR_DENY);
    assert_int_equal(weir_table_reserve_each(table, &plan, key, heavy, NULL, 60 * S).verdict, WEIR_DENY);
    weir_decision next = weir_table_reserve_each(table, &plan, key, heavy, end, WEIR_FOREVER);
    assert_int_equal(next.verdict, WEIR_ALLOW);
    assert_true(next.delay_ns > 180 * S && next.delay_ns <= 240 * S);
    assert_true(weir_table_peek(table, &plan, key, 1, 1).retry_ns > 240 * S);
    weir_table_settle_each(table, &plan, key, &next, heavy, none, end);
    assert_true(weir_table_peek(table, &plan, key, 1, 1).retry_ns <= 60 * S);
    plan = plan_of("1000/s burst=1000; 20/s burst=1");
    for (int i = 0; i < 3; i++) {
        const weir_decision decision = weir_table_take_each_wait(table, &plan, other, light, end, WEIR_FOREVER);
        assert_int_equal(decision.verdict, WEIR_ALLOW);
        assert_true(weir_now().ns >= decision.start.ns);
    }
    close_all();
}

/* ---- slots ---- */

static void check_releases(bool file, weir_clock clock)
{
    open_for("1 concurrent lease=1h", true, file, clock);
    uint64_t id = hold("a").end;
    hold("b");
    struct caller *of_b = call("b", WEIR_FOREVER);
    for (int i = 0; i < 3; i++) call("a", WEIR_FOREVER);
    assert_int_equal(weir_table_take_wait(table, &plan, weir_key_text("a"), 2, WEIR_FOREVER).verdict, WEIR_NEVER);
    for (int i = 1; i <= 3; i++) {
        check_waits(&caller[i]);
        assert_true(release("a", id));
        const uint64_t next = starts(&caller[i]);
        assert_true(next >> 16 > id >> 16);
        assert_true(caller[i].decision.delay_ns != 0);
        id = next;
    }
    /* Another key's releases are not its own. */
    check_waits(of_b);
    weir_table_forget(table, &plan, weir_key_text("b"));
    starts(of_b);
    weir_decision held = {.verdict = WEIR_ALLOW, .end = id, .charged = 1};
    struct caller *last = call("a", WEIR_FOREVER);
    check_waits(last);
    weir_table_settle(table, &plan, weir_key_text("a"), &held, 0);
    starts(last);
    close_all();
}

static void test_releases(void **state)
{
    (void)state;
    check_releases(false, WEIR_CLOCK_SYSTEM);
    check_releases(false, WEIR_CLOCK_COARSE);
    check_releases(true, WEIR_CLOCK_SYSTEM);
}

static uint64_t held_meanwhile;

static void release_meanwhile(void)
{
    if (!release("a", held_meanwhile)) abort();
}

/* A release that comes before the caller has said that it sleeps wakes nobody, so the caller asks after that. */
static void test_released_before_it_sleeps(void **state)
{
    (void)state;
    open_for("1 concurrent lease=1h", true, false, WEIR_CLOCK_SYSTEM);
    held_meanwhile = hold("a").end;
    meanwhile = release_meanwhile;
    starts(call("a", WEIR_FOREVER));
    close_all();
}

/* Whoever signals asks the system once for all that wait: the word says that nobody does then. */
static void test_the_shared_event(void **state)
{
    (void)state;
    struct host_event event = {0};
    host_shared_signal(&event);
    assert_int_equal(host_event_seen(&event), 0);
    assert_int_equal(host_shared_seen(&event), 1);
    assert_int_equal(host_shared_seen(&event), 1);
    host_shared_signal(&event);
    assert_int_equal(host_event_seen(&event), 2);
    host_shared_wait(&event, 1, HOST_NO_DEADLINE); /* it was signalled */
    host_shared_signal(&event);
    assert_int_equal(host_event_seen(&event), 2);
    assert_int_equal(host_shared_seen(&event), 3);
    const uint64_t until_ns = weir_now().ns + MS;
    while (weir_now().ns < until_ns) host_shared_wait(&event, 3, until_ns);
    assert_int_equal(host_event_seen(&event), 3);
}

static void test_the_end_of_a_lease(void **state)
{
    (void)state;
    open_for("1 concurrent lease=100ms", true, false, WEIR_CLOCK_SYSTEM);
    const weir_decision held = hold("a");
    struct caller *first = call("a", WEIR_FOREVER), *second = call("a", WEIR_FOREVER);
    nap_ms(50);
    const bool renewed = weir_table_renew(table, &plan, weir_key_text("a"), held.end); /* unless this woke late */
    starts(first);
    assert_true(first->decision.start.ns - held.start.ns >= (renewed ? 150 : 100) * MS);
    starts(second);
    assert_true(second->decision.start.ns - first->decision.start.ns >= 100 * MS);
    close_all();
}

static void test_patience_ends(void **state)
{
    (void)state;
    open_for("1 concurrent lease=1h", true, false, WEIR_CLOCK_SYSTEM);
    const uint64_t held = hold("a").end, begin_ns = weir_now().ns;
    assert_int_equal(weir_table_take_wait(table, &plan, weir_key_text("a"), 1, 0).verdict, WEIR_DENY);
    struct caller *first = call("a", 60 * MS), *second = call("a", 30 * MS), *third = call("a", WEIR_FOREVER);
    assert_int_equal(decision_of(second).verdict, WEIR_DENY);
    assert_int_equal(decision_of(first).verdict, WEIR_DENY);
    assert_int_equal(first->decision.limit, 0);
    assert_true(weir_now().ns - begin_ns >= 60 * MS);
    check_waits(third);
    assert_true(release("a", held));
    starts(third);
    weir_table_stats stats;
    weir_table_read_stats(table, &stats, sizeof stats);
    assert_int_equal(stats.granted, 2);
    assert_int_equal(stats.denied, 3);
    close_all();
}

/* A slot is free, but the one that is first needs two. */
static void test_patience_ends_behind_a_larger_call(void **state)
{
    (void)state;
    open_for("2 concurrent lease=1h", true, false, WEIR_CLOCK_SYSTEM);
    const uint64_t held = hold("a").end;
    struct caller *first = call_for(2, "a", WEIR_FOREVER), *second = call("a", 30 * MS);
    const weir_decision refused = decision_of(second);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_int_equal(refused.limit, 0);
    assert_int_equal(refused.retry_ns, 1);
    assert_int_equal(refused.charged, 0);
    check_waits(first);
    assert_true(release("a", held));
    starts(first);
    close_all();
}

/* A slot is there, but not its rate: that is reserved, and nobody else waits for it meanwhile. */
static void test_beside_a_rate(void **state)
{
    (void)state;
    open_for("2 concurrent lease=1h; 20/s burst=1", true, false, WEIR_CLOCK_SYSTEM);
    const weir_decision held = hold("a");
    const weir_decision next = weir_table_take_wait(table, &plan, weir_key_text("a"), 1, WEIR_FOREVER);
    assert_int_equal(next.verdict, WEIR_ALLOW);
    assert_true(next.start.ns - held.start.ns >= 49 * MS);
    struct caller *third = call("a", WEIR_FOREVER);
    check_waits(third);
    assert_true(release("a", held.end));
    starts(third);
    close_all();
}

/* ---- processes ---- */

/* A child that takes a slot, says so, and after a byte in return releases it, or dies. */
struct child {
    pid_t pid;
    int says, told;
};

static struct child start_child(void)
{
    int says[2], told[2];
    char byte = 0;
    assert_true(pipe(says) == 0 && pipe(told) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const weir_decision held = weir_table_take_wait(table, &plan, weir_key_text("a"), 1, WEIR_FOREVER);
        if (held.verdict != WEIR_ALLOW || write(says[1], "x", 1) != 1 || read(told[0], &byte, 1) != 1) _exit(1);
        _exit(weir_table_release(table, &plan, weir_key_text("a"), held.end) ? 0 : 2);
    }
    close(says[1]);
    close(told[0]);
    return (struct child){pid, says[0], told[1]};
}

static void await_child(const struct child *child)
{
    char byte;
    assert_int_equal(read(child->says, &byte, 1), 1);
}

static int end_child(const struct child *child)
{
    int status = -1;
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->says);
    close(child->told);
    return status;
}

static void test_processes(void **state)
{
    (void)state;
    open_for("1 concurrent lease=1h", true, true, WEIR_CLOCK_SYSTEM);
    const struct child one = start_child();
    await_child(&one);
    struct caller *first = call("a", WEIR_FOREVER);
    check_waits(first);
    assert_int_equal(write(one.told, "x", 1), 1);
    starts(first);
    assert_int_equal(end_child(&one), 0);
    /* And the other way round: the child waits for this process, which has a thread that waits for the child. */
    const struct child other = start_child();
    nap_ms(MOMENT_MS);
    assert_true(release("a", first->decision.end));
    await_child(&other);
    struct caller *second = call("a", WEIR_FOREVER);
    check_waits(second);
    /* A holder that is killed frees its slot at once, or nearly so: nobody releases it.  Where locks belong to the
       process, it is free only when its lease ends, so there the holder releases it. */
    if (table->region.by_process) assert_int_equal(write(other.told, "x", 1), 1);
    else assert_int_equal(kill(other.pid, SIGKILL), 0);
    starts(second);
    end_child(&other);
    close_all();
}

/* Threads that wait when the process forks do not exist in the child: it is not behind them. */
static void test_a_child(void **state)
{
    (void)state;
    open_for("1 concurrent lease=1h", true, true, WEIR_CLOCK_SYSTEM);
    const uint64_t held = hold("a").end;
    struct caller *first = call("a", WEIR_FOREVER);
    hold("b");
    struct caller *of_b = call("b", WEIR_FOREVER);
    const struct child child = start_child();
    assert_int_equal(write(child.told, "x", 1), 1);
    nap_ms(MOMENT_MS);
    /* One of the two has it first, whichever asks first. */
    assert_true(release("a", held));
    starts(first);
    assert_true(release("a", first->decision.end));
    assert_int_equal(end_child(&child), 0);
    weir_table_forget(table, &plan, weir_key_text("b"));
    starts(of_b);
    close_all();
}

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/table", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_each),
        cmocka_unit_test(test_releases),
        cmocka_unit_test(test_released_before_it_sleeps),
        cmocka_unit_test(test_the_shared_event),
        cmocka_unit_test(test_the_end_of_a_lease),
        cmocka_unit_test(test_patience_ends),
        cmocka_unit_test(test_patience_ends_behind_a_larger_call),
        cmocka_unit_test(test_beside_a_rate),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_a_child),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
