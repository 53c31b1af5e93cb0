/* SPDX-License-Identifier: MIT
   weir pace --at: lines of a log start when their stamps say.

   The machine is made up, as that of pace_lines_test.c: its time moves on when somebody sleeps, waits for the source or
   looks.  So what is written can be held against the stamps.

   No clock is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <unistd.h>

#include "cli/pace/schedule.h"
#include "host/sleep.h"
#include "unit/plans.h"

enum { LOOK_NS = 30, LATE_NS = 7000, WRITES_MAX = 16, WRITTEN_MAX = 4000 };

uint64_t __wrap_host_now_ns(void);
void __wrap_host_event_wait(struct host_event *event, uint32_t seen, uint64_t deadline_ns);
int __wrap_poll(struct pollfd *fd, nfds_t count, int wait_ms);
ssize_t __wrap_read(int fd, void *into, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);

/* Two pieces of input, the second some time after the beginning. */
static struct {
    uint64_t now_ns, begun_ns;
    const char *input[3];
    uint64_t second_ns;
    int next;
    uint64_t write_ns[WRITES_MAX];
    char written[WRITES_MAX][WRITTEN_MAX];
    int writes;
    uint64_t stall_ns; /* of the first write */
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
    return machine.next != 1 || machine.now_ns >= machine.begun_ns + machine.second_ns;
}

int __wrap_poll(struct pollfd *fd, nfds_t count, int wait_ms)
{
    (void)fd, (void)count;
    if (!has_arrived() && wait_ms != 0) machine.now_ns = machine.begun_ns + machine.second_ns;
    return has_arrived();
}

ssize_t __wrap_read(int fd, void *into, size_t size)
{
    const char *text = machine.input[machine.next];
    assert_int_equal(fd, STDIN_FILENO);
    assert_true(has_arrived());
    if (text == NULL) return 0;
    assert_true(strlen(text) <= size);
    memcpy(into, text, strlen(text));
    machine.next++;
    return (ssize_t)strlen(text);
}

ssize_t __wrap_write(int fd, const void *from, size_t size)
{
    if (fd != STDOUT_FILENO) return (ssize_t)size;
    assert_true(machine.writes < WRITES_MAX && size < WRITTEN_MAX);
    machine.write_ns[machine.writes] = machine.now_ns;
    memcpy(machine.written[machine.writes++], from, size);
    if (machine.writes == 1) machine.now_ns += machine.stall_ns;
    return (ssize_t)size;
}

/* ---- a pace on it ---- */

static struct pace *opened(const char *field, const char *speed)
{
    struct pace *pace = calloc(1, sizeof *pace);
    weir_options options = WEIR_OPTIONS;
    const struct option_row row = {.name = "speed"};
    assert_non_null(pace);
    options.use = WEIR_PACE;
    memset(&machine, 0, sizeof machine);
    machine.now_ns = machine.begun_ns = 1000 * S;
    pace->count_max = pace->at.course.gap_max_ns = UINT64_MAX;
    pace->at.time = field;
    pace->at.quiet = true;
    assert_true(at_read_speed(&row, speed, &pace->at.course));
    assert_int_equal(weir_plan_parse(&pace->plan, "unlimited", WEIR_PACE, NULL), 0);
    assert_int_equal(weir_open(&pace->limiter, "unlimited", &options, NULL), 0);
    record_open(&pace->record, plan_inside_const(&pace->plan), "lines");
    pace->record.by_stamps = true;
    input_open(&pace->input, STDIN_FILENO, '\n');
    return pace;
}

static void closed(struct pace *pace)
{
    weir_close(pace->limiter);
    input_close(&pace->input);
    at_close(&pace->at);
    free(pace);
}

static const uint64_t SOON_NS = 20000;

/* This many ns after the first one these lines were written, and nothing else. */
static void assert_write(int index, uint64_t after_ns, const char *lines)
{
    const uint64_t first_ns = machine.begun_ns, at_ns = machine.write_ns[index];
    assert_true(index < machine.writes);
    assert_string_equal(machine.written[index], lines);
    if (at_ns < first_ns + after_ns || at_ns > first_ns + after_ns + SOON_NS)
        fail_msg("write %d: %llu ns, expected %llu", index, (unsigned long long)(at_ns - first_ns),
                 (unsigned long long)after_ns);
}

/* ---- starts ---- */

static void at_the_stamp(void **state)
{
    struct pace *pace = opened("ts", "10");
    (void)state;
    machine.input[0] = "{\"ts\": 1795279561.000000001}\n"
                       "{\"ts\": 1795279561.000100002}\n"
                       "{\"ts\": 1795279571.000000001}";
    pace_lines(pace);
    assert_int_equal(machine.writes, 3);
    assert_write(0, 0, "{\"ts\": 1795279561.000000001}\n");
    assert_write(1, 10001, "{\"ts\": 1795279561.000100002}\n"); /* 10,000.1 ns, rounded up */
    assert_write(2, S, "{\"ts\": 1795279571.000000001}");
    assert_int_equal(pace->status, STATUS_DONE);
    assert_int_equal(pace->record.early, 0);
    assert_int_equal(pace->record.items, 3);
    assert_int_equal(pace->record.due_last_ns - pace->record.due_first_ns, S);
    assert_true(pace->record.late.max < SOON_NS);
    assert_int_equal(pace->record.log.span_ns, 10 * S);
    assert_int_equal(pace_owed(pace).behind_ns, 0);
    closed(pace);
}

/* Equal stamps leave in one write; one that goes back leaves at once, and is late by how far it went. */
static void equal_and_backward(void **state)
{
    struct pace *pace = opened("t", "2");
    (void)state;
    machine.input[0] = "t,n\n5,a\n5,b\n7,c\n7,d\n6,e\n8,f\n";
    pace->at.format = "csv";
    pace_lines(pace);
    assert_int_equal(machine.writes, 3);
    assert_write(0, 0, "5,a\n5,b\n");
    assert_write(1, S, "7,c\n7,d\n6,e\n");
    assert_write(2, 3 * S / 2, "8,f\n");
    assert_true(pace->record.late.max >= S / 2 && pace->record.late.max < S / 2 + SOON_NS);
    assert_int_equal(pace->record.log.backward, 1);
    assert_int_equal(pace->record.log.backward_max_ns, S);
    assert_int_equal(pace->lines_taken, 6);
    assert_int_equal(pace->lines_passed, 1);
    closed(pace);
}

static void gaps_are_cut(void **state)
{
    struct pace *pace = opened("t", "1");
    (void)state;
    machine.input[0] = "t,n\n100,a\n103,b\n5000,c\n5001,d\n";
    pace->at.course.gap_max_ns = 2 * S;
    pace_lines(pace);
    assert_int_equal(machine.writes, 4);
    assert_write(1, 2 * S, "103,b\n");
    assert_write(2, 4 * S, "5000,c\n");
    assert_write(3, 5 * S, "5001,d\n");
    assert_int_equal(pace->record.log.gaps, 2);
    assert_int_equal(pace->record.log.cut_ns, 4896 * S);
    closed(pace);
}

/* A reader that stalls makes lines late, and moves none of their due times. */
static void stall(void **state)
{
    struct pace *pace = opened("t", "1");
    (void)state;
    machine.input[0] = "t,n\n1,a\n2,b\n3,c\n4,d\n";
    machine.stall_ns = 5 * S / 2;
    pace_lines(pace);
    assert_int_equal(machine.writes, 3);
    assert_write(1, 5 * S / 2, "2,b\n3,c\n");
    assert_write(2, 3 * S, "4,d\n");
    assert_true(pace->record.late.max >= 3 * S / 2);
    assert_int_equal(pace->record.behind_max_ns, pace->record.late.max);
    closed(pace);
}

/* Nor does a source that is late; it counts from the stamp, not from the arrival. */
static void late_source(void **state)
{
    struct pace *pace = opened("t", "1");
    (void)state;
    machine.input[0] = "t,n\n1,a\n";
    machine.input[1] = "2,b\n9,c\n";
    machine.second_ns = 5 * S;
    pace_lines(pace);
    assert_int_equal(machine.writes, 3);
    assert_write(1, 5 * S, "2,b\n");
    assert_write(2, 8 * S, "9,c\n");
    assert_true(pace->record.late.max >= 4 * S);
    closed(pace);
}

/* ---- lines without a stamp ---- */

static void refused(void **state)
{
    struct pace *pace = opened("t", "1");
    (void)state;
    machine.input[0] = "t,n\n1,a\n\n1,b\nx,c\n1,d\n";
    pace_lines(pace);
    assert_int_equal(machine.writes, 2);
    assert_string_equal(machine.written[0], "1,a\n");
    assert_string_equal(machine.written[1], "1,b\n");
    assert_int_equal(pace->at.lines, 5);
    assert_int_equal(pace->status, STATUS_TROUBLE);
    closed(pace);
}

static void skipped(void **state)
{
    struct pace *pace = opened("t", "1");
    (void)state;
    machine.input[0] = "t,n\nx\n1,a\n\n1,b\nx,c\n2,d\n2,e";
    pace->at.skip_invalid = true;
    pace->count_max = 3;
    pace_lines(pace);
    assert_int_equal(machine.writes, 3);
    assert_write(0, 0, "1,a\n");
    assert_write(2, S, "2,d\n");
    assert_int_equal(pace->status, STATUS_DONE);
    assert_int_equal(pace->record.items, 3);
    assert_int_equal(pace->record.log.malformed, 2);
    assert_false(at_unreadable(&pace->at));
    closed(pace);
}

/* What is counted is what was started, wherever the work ends, and all that was skipped. */
static void counted(void **state)
{
    struct pace *pace = opened("t", "1");
    (void)state;
    machine.input[0] = "t,n\n1,a\n1,b\n1,c\n0,d\n1,e\n9,f\n";
    pace->count_max = 5;
    pace_lines(pace);
    assert_int_equal(machine.writes, 1);
    assert_int_equal(pace->record.log.backward, 1);
    assert_int_equal(pace->record.log.span_ns, 0);
    closed(pace);

    pace = opened("t", "1");
    machine.input[0] = "t,n\n1,a\n2,b\nx";
    pace->at.skip_invalid = true;
    pace_lines(pace);
    assert_int_equal(pace->record.log.span_ns, S);
    assert_int_equal(pace->record.log.malformed, 1);
    closed(pace);
}

static void stopped_while_it_sleeps(void **state)
{
    struct pace *pace = opened("t", "1");
    (void)state;
    machine.input[0] = "t,n\n1,a\n2,b\n";
    pace_stop(pace, 1);
    assert_int_equal(pace_take_wait(pace, &(struct at_stamp){.due_ns = machine.now_ns + S}, 1).verdict, WEIR_STOPPED);
    closed(pace);
}

/* ---- options ---- */

static void speeds(void **state)
{
    static const struct {
        const char *text;
        uint64_t digits, tens;
    } rows[] = {
        {"10", 10, 1}, {"0.5", 5, 10}, {".25", 25, 100}, {"2.", 2, 1}, {"123456789.012345", 123456789012345, 1000000}};
    static const char *const wrong[] = {
        "", "0", "0.0", "-1", "+1", "1e3", "10x", "50%", "1.2.3", " 10", "10 ", ".", "nan", "1,5", "1000000000000000"};
    const struct option_row row = {.name = "speed"};
    struct at_course course;
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        assert_true(at_read_speed(&row, rows[i].text, &course));
        assert_int_equal(course.digits, rows[i].digits);
        assert_int_equal(course.tens, rows[i].tens);
    }
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        if (at_read_speed(&row, wrong[i], &course)) fail_msg("%s", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_stamp),
        cmocka_unit_test(equal_and_backward),
        cmocka_unit_test(gaps_are_cut),
        cmocka_unit_test(stall),
        cmocka_unit_test(late_source),
        cmocka_unit_test(refused),
        cmocka_unit_test(skipped),
        cmocka_unit_test(counted),
        cmocka_unit_test(stopped_while_it_sleeps),
        cmocka_unit_test(speeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
