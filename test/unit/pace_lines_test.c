/* SPDX-License-Identifier: MIT
   weir pace with a source that idles and a reader that stalls: what is late, what is dropped, what
   is missed; and parts of one schedule, which together are the whole.

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

enum { LOOK_NS = 30, LATE_NS = 7000, ARRIVALS_MAX = 8, LINE_MAX_SIZE = 100, DUE_MAX = 4200 };

uint64_t __wrap_host_now_ns(void);
uint64_t __wrap_host_unix_ns(void);
void __real_record_start(struct record *record, uint64_t actual_ns, uint64_t start_ns, uint64_t due_ns, uint64_t cost);
void __wrap_record_start(struct record *record, uint64_t actual_ns, uint64_t start_ns, uint64_t due_ns, uint64_t cost);
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
    uint64_t early; /* operations before their time by the rate alone, or at a start that is none */
    uint64_t rate;
    uint64_t oversleep_ns, sleeps; /* every 50th sleep is so much longer */
    uint64_t unix_ahead_ns;        /* of the clock that never goes back */
    uint64_t due[DUE_MAX]; /* when each start was due, from the beginning of the schedule on, if that is known ... */
    bool later[DUE_MAX];   /* ... and whether that is when its line arrived */
    uint64_t due_count;
} machine;

/* ---- a machine ---- */

uint64_t __wrap_host_now_ns(void)
{
    return machine.now_ns += LOOK_NS;
}

uint64_t __wrap_host_unix_ns(void)
{
    return machine.now_ns + machine.unix_ahead_ns;
}

void __wrap_record_start(struct record *record, uint64_t actual_ns, uint64_t start_ns, uint64_t due_ns, uint64_t cost)
{
    if (machine.due_count < DUE_MAX) {
        machine.later[machine.due_count] = due_ns == machine.pace->arrived_ns;
        machine.due[machine.due_count++] = due_ns - machine.pace->part.begin_ns;
    }
    if (actual_ns < due_ns || actual_ns < start_ns || start_ns < machine.begun_ns) machine.early++;
    __real_record_start(record, actual_ns, start_ns, due_ns, cost);
}

void __wrap_host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns)
{
    if (host_event_seen(event) != seen) return;
    machine.now_ns = deadline_ns + LATE_NS;
    if (++machine.sleeps % 50 == 0) machine.now_ns += machine.oversleep_ns;
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

/* ---- parts of one schedule ---- */

enum { PARTS_MOST = 7 };

/* A machine of its own, whose clocks have nothing to do with another's and that was started some time before. */
static struct pace *opened_part(const char *limit, uint64_t number, uint64_t of, uint64_t lines)
{
    struct pace *pace = opened(limit, false);
    machine.rate = UINT64_C(1) << 60; /* who is early is seen by the due times */
    machine.now_ns = machine.begun_ns = 1000 * S + number * 123456789 + of * 987654321;
    machine.unix_ahead_ns = 1700000000 * S - machine.begun_ns - number * 1234567;
    machine.arrival[0].lines = lines;
    machine.arrival[1].at_ns = 0;
    pace->part = (struct pace_part){.number = number, .of = of, .begin_unix_ns = 1700000001 * S};
    assert_int_equal(pace_open_part(pace), 0);
    pace->record.source = (struct record_source){.part = number, .parts = of};
    record_open(&pace->record, plan_inside_const(&pace->plan), "lines");
    return pace;
}

static void run_part(struct pace *pace)
{
    pace_await_begin(pace);
    pace_lines(pace);
}

/* Of each limit the starts of all parts are those of the whole, to the ns, and none is early. */
static void parts_are_the_whole(void **state)
{
    static const char *const limits[] = {"1000/s",           "333/s burst=2", "7/11s burst=1",
                                         "1000/s burst=100", "999983/7s",     "3/h catchup=1.5",
                                         "50000/s",          "1/13s",         "44100/s burst=3"};
    static uint64_t whole[DUE_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct pace *pace = opened_part(limits[i], 1, 1, 420);
        run_part(pace);
        assert_int_equal(machine.due_count, 420);
        assert_int_equal(machine.due[0], 0);
        memcpy(whole, machine.due, sizeof whole);
        closed(pace);
        for (uint64_t of = 2; of <= PARTS_MOST; of++) {
            for (uint64_t number = 1; number <= of; number++) {
                pace = opened_part(limits[i], number, of, 420 / PARTS_MOST);
                run_part(pace);
                assert_int_equal(machine.due_count, 420 / PARTS_MOST);
                assert_int_equal(machine.early, 0);
                for (uint64_t j = 0; j < machine.due_count; j++) {
                    assert_int_equal(machine.due[j], whole[j * of + number - 1]);
                }
                closed(pace);
            }
        }
    }
}

/* The starts that were due while there was no line are left out, and a part does the next ones of its own. */
static void assert_in_phase(uint64_t number, uint64_t of, uint64_t spacing_ns)
{
    for (uint64_t j = 0; j < machine.due_count; j++) {
        if (machine.later[j]) continue;
        assert_int_equal(machine.due[j] % (of * spacing_ns), (number - 1) * spacing_ns);
    }
}

static void an_idle_part_stays_a_part(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= 5; number++) {
        struct pace *pace = opened_part("1000/s burst=2 catchup=1.1", number, 5, 10);
        machine.arrival[1] = (struct arrival){1 * S + 31 * MS / 10, 10};
        machine.arrival[2] = (struct arrival){3 * S + 33 * MS / 10, 200};
        machine.arrival[3].at_ns = 4 * S;
        run_part(pace);
        assert_int_equal(machine.due_count, 220);
        assert_in_phase(number, 5, MS);
        assert_int_equal(pace_owed(pace).missed, 0);
        assert_true(pace->record.late.max < 2 * MS + SOON_NS);
        assert_about(pace->record.last_ns, machine.arrival[2].at_ns + machine.begun_ns + 995 * MS, 10 * MS);
        closed(pace);
    }
}

/* A part that begins late does what is due from then on. */
static void a_late_part_joins(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= 5; number++) {
        struct pace *pace = opened_part("1000/s burst=2 catchup=1.1", number, 5, 100);
        pace->part.begin_unix_ns -= 601 * S + 2 * MS + 345678;
        run_part(pace);
        assert_int_equal(machine.due_count, 100);
        assert_in_phase(number, 5, MS);
        assert_true(machine.due[0] + 3 * MS >= machine.begun_ns - pace->part.begin_ns);
        assert_true(machine.due[99] - machine.due[0] <= 99 * 5 * MS + 5 * MS);
        closed(pace);
    }
}

/* No line for a second after the beginning; none of that is made up for. */
static void a_source_that_begins_late(void **state)
{
    struct pace *pace = opened_part("1000/s burst=2 catchup=1.1", 1, 5, 0);
    (void)state;
    machine.arrival[0] = (struct arrival){2 * S + 77777, 100};
    machine.arrival[1].at_ns = 3 * S;
    run_part(pace);
    assert_int_equal(machine.due_count, 100);
    assert_in_phase(1, 5, MS);
    assert_about(pace->record.last_ns - pace->record.first_ns, 99 * 5 * MS, 6 * MS);
    closed(pace);
}

/* What it missed behind a stall it makes up for as its share of the whole would, and no faster. */
static void a_part_catches_up_as_its_share(void **state)
{
    struct pace *pace = opened_part("1000/s burst=2 catchup=1.1", 2, 5, 3000);
    (void)state;
    machine.stalls_ns = 2 * S;
    machine.stall_ns = S;
    run_part(pace);
    assert_in_phase(2, 5, MS);
    assert_true(pace->record.excess < 0.01);
    assert_about(pace->record.last_ns - pace->part.begin_ns, 2999 * 5 * MS + MS, MS);
    assert_about(pace->record.late.max, S, 10 * MS);
    assert_true(pace->record.behind_max_ns > 900 * MS);
    assert_int_equal(pace_owed(pace).missed, 0);
    closed(pace);
}

/* One that sleeps for longer than its pool lasts loses its start and gets another one, which was due when the first
   was. */
static void a_part_that_oversleeps(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= 3; number++) {
        struct pace *pace = opened_part("300/s burst=2 catchup=1.1", number, 3, 1000);
        machine.oversleep_ns = 70 * MS;
        run_part(pace);
        assert_int_equal(machine.due_count, 1000);
        for (uint64_t j = 1; j < machine.due_count; j++) assert_int_equal(machine.due[j] - machine.due[j - 1], 10 * MS);
        assert_true(pace->record.late.max > 60 * MS);
        assert_true(pace->record.excess < 0.01);
        closed(pace);
    }
}

static void a_part_drops_its_own(void **state)
{
    struct pace *pace = opened_part("1000/s burst=10 catchup=1.1", 2, 5, 3000);
    (void)state;
    pace->drop = true;
    machine.stalls_ns = 2 * S;
    machine.stall_ns = S;
    run_part(pace);
    assert_int_equal(pace->record.items + pace->record.dropped, 3000);
    assert_about(pace->record.dropped, 198, 2);
    assert_in_phase(2, 5, MS);
    assert_about(pace->record.last_ns - pace->part.begin_ns, 2999 * 5 * MS + MS, 3 * MS);
    closed(pace);
}

/* ---- their options ---- */

static bool reads_part(const char *text, struct pace_part *part)
{
    const struct option_row row = {.name = "part"};
    return pace_read_part(&row, text, part);
}

static bool reads_begin(const char *text, uint64_t *unix_ns)
{
    const struct option_row row = {.name = "begin"};
    struct pace_part part = {.of = 0};
    const bool read = pace_read_begin(&row, text, &part);
    *unix_ns = part.begin_unix_ns;
    return read;
}

static void reads_the_options(void **state)
{
    static const char *const wrong_parts[] = {
        "",      "2",   "/5",  "2/",   "0/5",   "6/5",    "2/0",
        "2/5/7", "2:5", "a/b", "-1/5", "2/ 5x", "1/1001", "1e400000000000000000/2"};
    static const char *const wrong_times[] = {
        "", "soon", "next", "next second", "2026-11-28T12:00:00", "12:00", "yesterday", "2026-13-28T12:00:00Z"};
    struct pace_part part;
    uint64_t unix_ns;
    (void)state;
    assert_true(reads_part("2/5", &part));
    assert_int_equal(part.number, 2);
    assert_int_equal(part.of, 5);
    assert_true(reads_part("1/1", &part));
    assert_true(reads_part("1000/1000", &part));
    for (size_t i = 0; i < sizeof wrong_parts / sizeof wrong_parts[0]; i++) {
        if (reads_part(wrong_parts[i], &part)) fail_msg("--part \"%s\" was read", wrong_parts[i]);
    }
    machine.now_ns = 1700000012 * S;
    machine.unix_ahead_ns = 1;
    assert_true(reads_begin("2026-11-28T12:00:00Z", &unix_ns));
    assert_int_equal(unix_ns, 1795867200 * S);
    assert_true(reads_begin("2026-11-28T13:00:00.5+01:00", &unix_ns));
    assert_int_equal(unix_ns, 1795867200 * S + S / 2);
    assert_true(reads_begin("1795867200.25", &unix_ns));
    assert_int_equal(unix_ns, 1795867200 * S + S / 4);
    assert_true(reads_begin("next minute", &unix_ns));
    assert_int_equal(unix_ns, 1700000040 * S);
    assert_true(reads_begin("next hour", &unix_ns));
    assert_int_equal(unix_ns, 1700002800 * S);
    for (size_t i = 0; i < sizeof wrong_times / sizeof wrong_times[0]; i++) {
        if (reads_begin(wrong_times[i], &unix_ns)) fail_msg("--begin \"%s\" was read", wrong_times[i]);
    }
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
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(an_idle_part_stays_a_part),
        cmocka_unit_test(a_late_part_joins),
        cmocka_unit_test(a_source_that_begins_late),
        cmocka_unit_test(a_part_catches_up_as_its_share),
        cmocka_unit_test(a_part_that_oversleeps),
        cmocka_unit_test(a_part_drops_its_own),
        cmocka_unit_test(reads_the_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
