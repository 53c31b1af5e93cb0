/* SPDX-License-Identifier: MIT
   Tables whose machine is started anew, whose clock on the wall is set, and that are asked from
   other time namespaces: what was used is neither forgotten nor frozen.

   The machine is made up: its boot, its clocks and the namespace of the process are variables of this file, which take
   the place of the host's.  One test asks a real time namespace, where this user may have one. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/weir.h>

#include "unit/plans.h"
#include "unit/skip.h"
#include "unit/table_rig.h"

uint64_t __wrap_host_now_ns(void);
uint64_t __wrap_host_now_coarse_ns(void);
uint64_t __wrap_host_unix_ns(void);
void __wrap_host_boot(uint8_t boot[16]);
int64_t __wrap_host_time_namespace_ns(void);

uint64_t __real_host_now_ns(void);
uint64_t __real_host_unix_ns(void);
void __real_host_boot(uint8_t boot[16]);
int64_t __real_host_time_namespace_ns(void);

/* ---- a machine ---- */

static struct {
    bool real;
    uint8_t boot;          /* 0: it does not tell */
    uint64_t monotonic_ns; /* of the machine */
    uint64_t unix_ns;
    int64_t namespace_ns; /* what is to be added to the process's clock to have the machine's */
} machine;

static const uint64_t HOUR = 3600 * S, DAY = 24 * 3600 * S;

uint64_t __wrap_host_now_ns(void)
{
    return machine.real ? __real_host_now_ns() : machine.monotonic_ns - (uint64_t)machine.namespace_ns;
}

uint64_t __wrap_host_now_coarse_ns(void)
{
    return __wrap_host_now_ns();
}

uint64_t __wrap_host_unix_ns(void)
{
    return machine.real ? __real_host_unix_ns() : machine.unix_ns;
}

void __wrap_host_boot(uint8_t boot[16])
{
    memset(boot, 0, 16);
    boot[3] = machine.boot;
    if (machine.real) __real_host_boot(boot);
}

int64_t __wrap_host_time_namespace_ns(void)
{
    return machine.real ? __real_host_time_namespace_ns() : machine.namespace_ns;
}

static void pass(uint64_t ns)
{
    machine.monotonic_ns += ns;
    machine.unix_ns += ns;
}

/* Off for so long, and then up for so long. */
static void reboot(uint64_t off_ns, uint64_t up_ns)
{
    machine.boot++;
    machine.unix_ns += off_ns + up_ns;
    machine.monotonic_ns = up_ns;
}

/* ---- tables ---- */

static int make_machine(void **state)
{
    machine.real = false;
    machine.boot = 1;
    machine.monotonic_ns = 100 * S;
    machine.unix_ns = UINT64_C(1900000000) * S;
    machine.namespace_ns = 0;
    return make_folder(state);
}

struct subject_of_time {
    weir_plan plan;
    bool wide;
};

/* Six of each begin with a full burst of 3, and get another permit every 20 minutes; a log gets all at once. */
static struct subject_of_time slots(void)
{
    return (struct subject_of_time){plan_of("3/h"), false};
}

static struct subject_of_time list(void)
{
    return (struct subject_of_time){plan_of("3/h; 4/2h"), false};
}

static struct subject_of_time wide(void)
{
    return (struct subject_of_time){plan_of("3/h"), true};
}

static struct subject_of_time logged(void)
{
    return (struct subject_of_time){plan_of("3/h algorithm=sliding-log"), true};
}

typedef struct subject_of_time (*subject_maker)(void);
static const subject_maker makers[] = {slots, list, wide, logged};

static weir_table *open_it(const struct subject_of_time *subject)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    options.path = path;
    options.keys_max = 100;
    options.plan = subject->wide ? &subject->plan : NULL;
    return open_with(options);
}

static unsigned passes(weir_table *table, const struct subject_of_time *subject)
{
    unsigned passed = 0;
    while (passed < 100) {
        const weir_decision decision = weir_table_take(table, &subject->plan, weir_key_text("k"), 1);
        if (!weir_allowed(decision)) break;
        assert_int_equal(decision.start.ns, __wrap_host_now_ns());
        assert_int_equal(decision.delay_ns, 0);
        passed++;
    }
    for (int limit = -1; limit < 1; limit++) {
        const weir_decision seen = weir_table_peek(table, &subject->plan, weir_key_text("k"), limit, 0);
        assert_int_equal(seen.start.ns, __wrap_host_now_ns());
    }
    return passed;
}

static weir_table *used_up(const struct subject_of_time *subject)
{
    weir_table *table = open_it(subject);
    assert_int_equal(passes(table, subject), 3);
    return table;
}

/* What is refused tells when it would pass, and then it does. */
static void passes_when_told(weir_table *table, const struct subject_of_time *subject, uint64_t least_ns,
                             uint64_t most_ns)
{
    const weir_decision refused = weir_table_take(table, &subject->plan, weir_key_text("k"), 1);
    assert_int_equal(refused.verdict, WEIR_DENY);
    assert_in_range(refused.retry_ns, least_ns, most_ns);
    pass(refused.retry_ns - 1);
    assert_int_equal(weir_table_peek(table, &subject->plan, weir_key_text("k"), -1, 1).verdict, WEIR_DENY);
    pass(1);
    assert_true(passes(table, subject) > 0);
}

static uint64_t period_of(const struct subject_of_time *subject)
{
    return weir_state_size(&subject->plan) > 16 ? HOUR : HOUR / 3;
}

#define FOR_ALL(subject)                                                                                               \
    for (size_t made = 0; made < LENGTH(makers); unlink(path), make_again(), made++)                                   \
        for (struct subject_of_time subject = makers[made](), *once = &subject; once != NULL; once = NULL)

static void make_again(void)
{
    rmdir(folder);
    assert_int_equal(make_machine(NULL), 0);
}

static void a_reboot_forgets_nothing(void **unused)
{
    (void)unused;
    FOR_ALL(subject)
    {
        weir_table_close(used_up(&subject));
        reboot(600 * S, 40 * S);
        weir_table *table = open_it(&subject);
        const uint64_t wait_ns = period_of(&subject) - 640 * S;
        passes_when_told(table, &subject, wait_ns, wait_ns + 2);
        weir_table_close(table);
    }
}

/* In the time of the caller, as the start. */
static void due_times_are_those_of_the_caller(void **unused)
{
    (void)unused;
    const struct subject_of_time paced = {plan_of("3/h algorithm=hybrid"), true};
    weir_table_close(open_it(&paced));
    reboot(600 * S, 40 * S);
    weir_table *table = open_it(&paced);
    const weir_decision decision = weir_table_take(table, &paced.plan, weir_key_text("k"), 1);
    assert_int_equal(decision.verdict, WEIR_ALLOW);
    assert_int_equal(decision.start.ns, 40 * S);
    assert_int_equal(decision.due.ns, 40 * S);
    weir_table_close(table);
}

/* It was never told that the machine would stop: what was kept last counts. */
static void a_crash_of_the_machine_forgets_nothing(void **unused)
{
    (void)unused;
    FOR_ALL(subject)
    {
        weir_table *before = used_up(&subject);
        pass(100 * S);
        reboot(500 * S, 40 * S);
        weir_table *table = open_it(&subject);
        const uint64_t wait_ns = period_of(&subject) - 640 * S;
        passes_when_told(table, &subject, wait_ns, wait_ns + 2);
        weir_table_close(table);
        weir_table_close(before); /* of a boot that is over: its clock is not to be kept for this one */
        table = open_it(&subject);
        assert_int_equal(passes(table, &subject), 0);
        weir_table_close(table);
    }
}

static void rest_is_rest_over_a_reboot(void **unused)
{
    (void)unused;
    FOR_ALL(subject)
    {
        weir_table_close(used_up(&subject));
        reboot(5 * HOUR, 40 * S);
        weir_table *table = open_it(&subject);
        assert_int_equal(passes(table, &subject), 3);
        weir_table_close(table);
    }
}

/* The clock on the wall is not to be believed: as if no time had passed since the table was last closed. */
static void a_wall_clock_that_is_wrong_after_a_reboot(void **unused)
{
    (void)unused;
    const int64_t steps[] = {-(int64_t)(400 * DAY), -(int64_t)(9 * HOUR), (int64_t)(400 * DAY)};
    for (size_t i = 0; i < LENGTH(steps); i++) {
        FOR_ALL(subject)
        {
            weir_table *before = used_up(&subject);
            pass(300 * S);
            weir_table_close(before);
            reboot(HOUR / 6, 40 * S);
            machine.unix_ns += (uint64_t)steps[i];
            weir_table *table = open_it(&subject);
            const uint64_t wait_ns = period_of(&subject) - 300 * S;
            passes_when_told(table, &subject, wait_ns, wait_ns + 2);
            weir_table_close(table);
        }
    }
}

static void setting_the_wall_clock_changes_nothing(void **unused)
{
    (void)unused;
    FOR_ALL(subject)
    {
        weir_table *table = used_up(&subject);
        machine.unix_ns += 30 * DAY;
        assert_int_equal(passes(table, &subject), 0);
        weir_table_close(table);
        machine.unix_ns -= 60 * DAY;
        table = open_it(&subject);
        passes_when_told(table, &subject, period_of(&subject), period_of(&subject) + 2);
        weir_table_close(table);
    }
}

/* Opened late in a boot, after a clock on the wall that was set back: the table's time is behind the machine's, so what
   leads from one to the other is negative. */
static void a_table_may_be_younger_than_the_machine(void **unused)
{
    (void)unused;
    FOR_ALL(subject)
    {
        weir_table_close(used_up(&subject));
        reboot(HOUR, 90 * DAY);
        machine.unix_ns -= 100 * DAY;
        weir_table *table = open_it(&subject);
        passes_when_told(table, &subject, period_of(&subject), period_of(&subject) + 2);
        pass(3 * HOUR);
        weir_decision taken = weir_table_take(table, &subject.plan, weir_key_text("k"), 3);
        assert_int_equal(taken.verdict, WEIR_ALLOW);
        assert_int_equal(taken.start.ns, __wrap_host_now_ns());
        assert_in_range(weir_table_full_ns(table, &subject.plan, &taken), HOUR, 2 * HOUR);
        weir_table_settle(table, &subject.plan, weir_key_text("k"), &taken, 1);
        assert_int_equal(passes(table, &subject), 2);
        weir_table_close(table);
    }
}

static void a_machine_that_does_not_tell_its_boots(void **unused)
{
    (void)unused;
    FOR_ALL(subject)
    {
        machine.boot = 0;
        weir_table_close(used_up(&subject));
        machine.unix_ns += 600 * S;
        machine.monotonic_ns = 10 * S;
        weir_table *table = open_it(&subject);
        const uint64_t wait_ns = period_of(&subject) - 600 * S;
        passes_when_told(table, &subject, wait_ns, wait_ns + 2);
        weir_table_close(table);
    }
}

/* ---- other namespaces ---- */

static void namespaces_have_the_same_time(void **unused)
{
    (void)unused;
    const int64_t ahead[] = {(int64_t)(300 * DAY), -(int64_t)(90 * S), 1};
    for (size_t i = 0; i < LENGTH(ahead); i++) {
        FOR_ALL(subject)
        {
            weir_table *outside = used_up(&subject);
            machine.namespace_ns = -ahead[i]; /* the process's clock is so far ahead of the machine's */
            weir_table *inside = open_it(&subject);
            passes_when_told(inside, &subject, period_of(&subject), period_of(&subject) + 2);
            assert_int_equal(weir_table_take(inside, &subject.plan, weir_key_text("k"), 3).verdict, WEIR_DENY);
            pass(3 * HOUR);
            weir_decision taken = weir_table_take(inside, &subject.plan, weir_key_text("k"), 3);
            assert_int_equal(taken.verdict, WEIR_ALLOW);
            assert_int_equal(taken.start.ns, __wrap_host_now_ns());
            weir_table_close(inside);
            machine.namespace_ns = 0;
            assert_int_equal(passes(outside, &subject), 0);
            weir_table_close(outside);
            weir_table *again = open_it(&subject);
            passes_when_told(again, &subject, period_of(&subject), period_of(&subject) + 2);
            weir_table_close(again);
        }
    }
}

/* A table without a file takes the times it is given as they are, also early ones in a namespace that is far ahead. */
static void memory_has_the_time_of_its_caller(void **unused)
{
    (void)unused;
    machine.namespace_ns = -(int64_t)(20 * 365 * DAY);
    FOR_ALL(subject)
    {
        weir_table *table;
        weir_table_options options = WEIR_TABLE_OPTIONS;
        options.plan = subject.wide ? &subject.plan : NULL;
        options.keys_max = 100;
        options.sharing = WEIR_PRIVATE;
        assert_int_equal(weir_table_open(&table, &options, NULL), 0);
        const weir_decision taken = weir_table_take_at(table, &subject.plan, weir_key_text("k"), (weir_instant){S}, 3);
        assert_int_equal(taken.verdict, WEIR_ALLOW);
        assert_int_equal(taken.start.ns, S);
        assert_in_range(weir_table_full_ns(table, &subject.plan, &taken), 1, 2 * HOUR);
        weir_table_close(table);
    }
}

#ifdef CLONE_NEWTIME
/* In a child of a child, which is the first to be in the new namespace.  0: it was as it should; 77: not allowed. */
static int ask_in_a_namespace(const struct subject_of_time *subject)
{
    static const char offsets[] = "monotonic 864000 0\n";
    int status = 1;
    if (unshare(CLONE_NEWTIME) != 0) return 77;
    const int fd = open("/proc/self/timens_offsets", O_WRONLY);
    if (fd < 0 || write(fd, offsets, sizeof offsets - 1) != (ssize_t)sizeof offsets - 1) return 77;
    close(fd);
    const pid_t child = fork();
    if (child == 0) {
        weir_table *table = open_it(subject);
        const weir_decision refused = weir_table_take(table, &subject->plan, weir_key_text("k"), 1);
        const weir_decision other = weir_table_take(table, &subject->plan, weir_key_text("other"), 1);
        const uint64_t late_ns = weir_now().ns - other.start.ns;
        const bool right = refused.verdict == WEIR_DENY && refused.retry_ns <= HOUR && weir_allowed(other);
        weir_table_close(table);
        _exit(right && late_ns < HOUR ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
    return WEXITSTATUS(status);
}

static void a_real_namespace(void **unused)
{
    (void)unused;
    bool allowed = true;
    FOR_ALL(subject)
    {
        int status = 1;
        machine.real = true;
        weir_table *table = open_it(&subject);
        for (int i = 0; i < 3; i++) {
            assert_true(weir_allowed(weir_table_take(table, &subject.plan, weir_key_text("k"), 1)));
        }
        const pid_t child = fork();
        if (child == 0) _exit(ask_in_a_namespace(&subject));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        allowed = WEXITSTATUS(status) != 77;
        if (allowed) assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(weir_table_take(table, &subject.plan, weir_key_text("k"), 1).verdict, WEIR_DENY);
        weir_table_close(table);
    }
    if (!allowed) skip_because("unit/keyed_time: a namespace", "this user may not make one of time", SKIP_CURE_ROOT);
}
#else
static void a_real_namespace(void **unused)
{
    (void)unused;
    skip_because("unit/keyed_time: a namespace", "this system has none of time", "Linux 5.6, glibc 2.34");
}
#endif

int main(void)
{
#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, make_machine, remove_folder)
    const struct CMUnitTest tests[] = {
        ON_A_MACHINE(a_reboot_forgets_nothing),
        ON_A_MACHINE(due_times_are_those_of_the_caller),
        ON_A_MACHINE(a_crash_of_the_machine_forgets_nothing),
        ON_A_MACHINE(rest_is_rest_over_a_reboot),
        ON_A_MACHINE(a_wall_clock_that_is_wrong_after_a_reboot),
        ON_A_MACHINE(setting_the_wall_clock_changes_nothing),
        ON_A_MACHINE(a_table_may_be_younger_than_the_machine),
        ON_A_MACHINE(a_machine_that_does_not_tell_its_boots),
        ON_A_MACHINE(namespaces_have_the_same_time),
        ON_A_MACHINE(memory_has_the_time_of_its_caller),
        ON_A_MACHINE(a_real_namespace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
