/* SPDX-License-Identifier: MIT
   weir pace with a source that idles and a reader that stalls: what is late, what is dropped, what
   is missed.

   The machine is made up: its time moves on when somebody sleeps, waits for the source or looks, lines arrive at times
   of their own, and a write may stall.  So every figure is exact, and nothing depends on how fast a machine is.

   No clock is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <unistd.h>

#include "cli/pace/schedule.h"
#include "host/sleep.h"
#include "unit/plans.h"

enum { LOOK_NS = 30, LATE_NS = 7000, ARRIVALS_MAX = 8, LINE_MAX_SIZE = 100 };

uint64_t __wrap_host_now_ns(void);
void __wrap_host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns);
int __wrap_poll(struct pollfd *fd, nfds_t count, int wait_ms);
ssize_t __wrap_read(int fd, void *into, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);

struct arrival {
    uint64_t at_ns, lines;
};

static struct {
    uint64_t now_ns, begun_ns;
    struct arrival arrival[ARRIVALS_MAX]; /* times since the beginning; one without lines is the end */
    int next;
    uint64_t line_size;
    uint64_t stalls_ns, stall_ns; /* the first write after the one takes the other */
    bool stops;                   /* in that write, at its end */
    struct pace *pace;
    uint64_t early; /* operations before their time by the rate alone */
    uint64_t rate;
} machine;

/* ---- a machine ---- */

uint64_t __wrap_host_now_ns(void)
{
    return machine.now_ns += LOOK_NS;
}

void __wrap_host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    if (host_event_seen(event) == seen) machine.now_ns = deadline_ns + LATE_NS;
}

static bool has_arrived(void)
{
    return machine.now_ns >= machine.begun_ns + machine.arrival[machine.next].at_ns;
}

int __wrap_poll(struct pollfd *fd, nfds_t count, int wait_ms)
{
    const uint64_t next_ns = machine.begun_ns + machine.arrival[machine.next].at_ns;
    const uint64_t until_ns = machine.now_ns + (uint64_t)wait_ms * MS;
    assert_int_equal(fd->fd, STDIN_FILENO);
    assert_int_equal(count, 1);
    if (!has_arrived()) machine.now_ns = next_ns < until_ns ? next_ns : until_ns;
    return has_arrived();
}

ssize_t __wrap_read(int fd, void *into, size_t size)
{
    struct arrival *arrival = &machine.arrival[machine.next];
    const uint64_t line = machine.line_size, lines = arrival->lines < size / line ? arrival->lines : size / line;
    assert_int_equal(fd, STDIN_FILENO);
    assert_true(has_arrived());
    memset(into, 'x', lines * line);
    for (uint64_t i = 1; i <= lines; i++) ((char *)into)[i * line - 1] = '\n';
    arrival->lines -= lines;
    if (arrival->lines == 0 && lines != 0) machine.next++;
    return (ssize_t)(lines * line);
}

/* What has started and what was dropped took one place each. */
ssize_t __wrap_write(int fd, const void *from, size_t size)
{
    const struct record *record = &machine.pace->record;
    const uint64_t done = record->granted + record->dropped * (machine.pace->bytes ? machine.line_size : 1);
    const uint64_t due_ns = record->first_ns + (done - 1) * S / machine.rate;
    (void)from;
    assert_int_equal(fd, STDOUT_FILENO);
    if (machine.now_ns < due_ns) machine.early++;
    if (machine.stall_ns != 0 && machine.now_ns >= machine.begun_ns + machine.stalls_ns) {
        machine.now_ns += machine.stall_ns;
        machine.stall_ns = 0;
        if (machine.stops) pace_stop(machine.pace, 1);
    }
    return (ssize_t)size;
}

/* ---- a pace on it ---- */

static struct pace *opened(const char *limit, bool drop)
{
    struct pace *pace = calloc(1, sizeof *pace);
    weir_options options = WEIR_OPTIONS;
    assert_non_null(pace);
    options.use = WEIR_PACE;
    memset(&machine, 0, sizeof machine);
    machine.now_ns = machine.begun_ns = 1000 * S;
    machine.line_size = 2;
    machine.rate = 1000;
    machine.pace = pace;
    pace->drop = drop;
    pace->count_max = UINT64_MAX;
    assert_int_equal(weir_plan_parse(&pace->plan, limit, WEIR_PACE, NULL), 0);
    assert_int_equal(weir_open(&pace->limiter, limit, &options, NULL), 0);
    record_open(&pace->record, plan_inside_const(&pace->plan), "lines");
    input_open(&pace->input, STDIN_FILENO, '\n');
    return pace;
}

static void closed(struct pace *pace)
{
    weir_close(pace->limiter);
    input_close(&pace->input);
    free(pace);
}

/* At 1000/s a pool has 2 ms; who wakes is late by 7 us, and looks at the clock a few times. */
static const uint64_t SOON_NS = 20000;

static void assert_about(uint64_t found, uint64_t wanted, uint64_t within)
{
    if (found > wanted + within || found + within < wanted)
        fail_msg("%llu, expected %llu", (unsigned long long)found, (unsigned long long)wanted);
}

/* ---- a source that idles ---- */

static void five_then_many(void)
{
    for (uint64_t i = 0; i < 5; i++) machine.arrival[i] = (struct arrival){i * S / 5, 1};
    machine.arrival[5] = (struct arrival){S, 2000};
    machine.arrival[6].at_ns = 4 * S;
}

static void idle_is_no_debt(void **state)
{
    static const char *const limits[] = {"1000/s burst=2 catchup=1.1", "1000/s burst=2",
                                         "1000/s algorithm=timeline strictness=0", "1000/s algorithm=timeline",
                                         "1000/s burst=2; 5000/s burst=2"};
    (void)state;
    for (int i = 0; i < 6; i++) {
        const bool drop = i == 5;
        struct pace *pace = opened(limits[i % 5], drop);
        five_then_many();
        pace_lines(pace);
        const struct record *record = &pace->record;
        const struct record_owed owed = pace_owed(pace);
        assert_int_equal(record->items, 2005);
        assert_int_equal(record->dropped, 0);
        assert_int_equal(record->early, 0);
        assert_true(record->behind_max_ns < SOON_NS);
        assert_true(owed.behind_ns < SOON_NS);
        assert_int_equal(owed.missed, 0);
        assert_true(record->late.max < SOON_NS);
        /* All at the rate: nothing is made up for, but the pool of two is full. */
        assert_about(record->last_ns - record->first_ns, 3 * S, 3 * MS);
        closed(pace);
    }
}

/* A pool that the user has asked for fills while nothing comes, and no further. */
static void idle_fills_the_pool(void **state)
{
    struct pace *pace = opened("1000/s burst=500", false);
    (void)state;
    machine.arrival[0] = (struct arrival){0, 1};
    machine.arrival[1] = (struct arrival){10 * S, 1500};
    machine.arrival[2].at_ns = 20 * S;
    pace_lines(pace);
    assert_about(pace->record.last_ns - pace->record.first_ns, 11 * S, 2 * MS);
    assert_true(pace->record.late.max < SOON_NS);
    assert_int_equal(pace_owed(pace).missed, 0);
    closed(pace);
}

/* What was missed before the source fell silent, and before it ended, stays missed. */
static void debt_stays_while_idle(void **state)
{
    struct pace *pace = opened("1000/s burst=2", false);
    (void)state;
    machine.arrival[0] = (struct arrival){0, 1000};
    machine.arrival[1] = (struct arrival){5 * S, 100};
    machine.arrival[2].at_ns = 10 * S;
    machine.stalls_ns = S / 2;
    machine.stall_ns = S;
    pace_lines(pace);
    const struct record_owed owed = pace_owed(pace);
    assert_about(owed.missed, 998, 1);
    assert_about(owed.behind_ns, 998 * MS, MS);
    assert_about(pace->record.behind_max_ns, 998 * MS, MS);
    closed(pace);
}

/* Made up for by the lines that come after it. */
static void debt_is_made_up_after_idling(void **state)
{
    struct pace *pace = opened("1000/s burst=2 catchup=2", false);
    (void)state;
    machine.arrival[0] = (struct arrival){0, 1000};
    machine.arrival[1] = (struct arrival){5 * S, 2000};
    machine.arrival[2].at_ns = 10 * S;
    machine.stalls_ns = S * 9 / 10;
    machine.stall_ns = S;
    pace_lines(pace);
    /* 950 are owed when the first thousand is done.  These and as many that are due meanwhile take 0.95 s of the next
       lines, and the last hundred their own time. */
    assert_about(pace_owed(pace).missed, 0, 0);
    assert_about(pace->record.last_ns - pace->record.first_ns, 6050 * MS, 5 * MS);
    closed(pace);
}

/* ---- a reader that stalls ---- */

static void stall_for_a_second(uint64_t lines)
{
    machine.arrival[0] = (struct arrival){0, lines};
    machine.arrival[1].at_ns = 0;
    machine.stalls_ns = S;
    machine.stall_ns = S;
}

/* Late from the scheduled time, of all lines and not only of the first one after the stall. */
static void late_is_from_the_scheduled_time(void **state)
{
    struct pace *pace = opened("1000/s burst=2", false);
    (void)state;
    stall_for_a_second(3000);
    pace_lines(pace);
    assert_about(histogram_quantile(&pace->record.late, 300), 0, SOON_NS);
    assert_about(histogram_quantile(&pace->record.late, 400), 998 * MS, 10 * MS);
    assert_about(pace->record.late.max, S, 10 * MS);
    assert_about(pace_owed(pace).missed, 998, 1);
    assert_int_equal(machine.early, 0);
    closed(pace);
}

/* Lines wait until the end that somebody asked for; what comes after it counts no more. */
static void missed_until_it_was_stopped(void **state)
{
    struct pace *pace = opened("1000/s burst=2", false);
    (void)state;
    stall_for_a_second(3000);
    machine.stops = true;
    pace_lines(pace);
    machine.now_ns += 10 * S;
    const struct record_owed owed = pace_owed(pace);
    assert_about(owed.missed, 998, 1);
    assert_about(owed.behind_ns, 998 * MS, MS);
    assert_true(pace->record.behind_max_ns < SOON_NS);
    closed(pace);
}

static void dropped_is_off_the_schedule(void **state)
{
    static const char *const limits[] = {"1000/s burst=2 catchup=1.1", "1000/s burst=2 catchup=2", "1000/s burst=2",
                                         "1000/s burst=100 catchup=1.5"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct pace *pace = opened(limits[i], true);
        stall_for_a_second(6000);
        pace_lines(pace);
        const struct record *record = &pace->record;
        const uint64_t pool = i == 3 ? 100 : 2, elapsed_ns = record->last_ns - record->first_ns;
        assert_int_equal(record->items + record->dropped, 6000);
        assert_about(record->dropped, 1000 - pool, 2);
        assert_about(elapsed_ns, 5999 * MS, 2 * MS);
        assert_int_equal(machine.early, 0);
        assert_true(record->late.max <= pool * MS + SOON_NS + 1);
        assert_true(pace_owed(pace).behind_ns < MS);
        assert_int_equal(pace_owed(pace).missed, 0);
        closed(pace);
    }
}

/* Lines of a hundred bytes are dropped by their size. */
static void dropped_by_bytes(void **state)
{
    struct pace *pace = opened("100000B/s burst=1ms catchup=1.1", true);
    (void)state;
    pace->bytes = pace->record.in_bytes = true;
    machine.line_size = LINE_MAX_SIZE;
    machine.rate = 100000;
    stall_for_a_second(6000);
    atom_store(&pace->piece_max, 1 << 20);
    pace_lines(pace);
    const struct record *record = &pace->record;
    assert_int_equal(record->items + record->dropped, 6000);
    assert_about(record->dropped, 998, 3);
    assert_about(record->last_ns - record->first_ns, 5999 * MS, 3 * MS);
    closed(pace);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_is_no_debt),
        cmocka_unit_test(idle_fills_the_pool),
        cmocka_unit_test(debt_stays_while_idle),
        cmocka_unit_test(debt_is_made_up_after_idling),
        cmocka_unit_test(late_is_from_the_scheduled_time),
        cmocka_unit_test(missed_until_it_was_stopped),
        cmocka_unit_test(dropped_is_off_the_schedule),
        cmocka_unit_test(dropped_by_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
