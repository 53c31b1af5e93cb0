/* SPDX-License-Identifier: MIT
   The line from the processor's counter to the kernel's clock: with made-up clocks, and with those of this
   machine.

   In the made-up world the kernel's clock is the truth, by which every reading is judged, and the counter goes at a
   pace that the test chooses.

   No length of time is asserted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/weir.h>

#include "host/clock.h"
#include "host/tsc.h"
#include "random.h"

/* Where the compiler has no 128 bits, no counter is read. */
#if defined(__SIZEOF_INT128__)
enum { LACKING = 0 };
#else
enum { LACKING = 77 };
#endif

#if defined(__x86_64__)
enum { ON_X86_64 = 1 };
#else
enum { ON_X86_64 = 0 };
#endif

static const uint64_t SEED = UINT64_C(0x7e57c10cc);
static const uint64_t MS = 1000000, SECOND = 1000000000, YEAR = UINT64_C(31536000) * 1000000000;
enum { PPM = 1000000, STEERED_PPM = 500 };

/* ---- a made-up world ---- */

static struct world {
    _Atomic uint64_t ns;
    uint64_t tsc; /* at the moment from_ns */
    uint64_t from_ns;
    uint64_t counts_per_ms; /* from then on */
    uint64_t reading_ns;    /* time goes on by this much with each reading of the kernel's clock */
    uint64_t forks;
    uint64_t last_ns; /* of the one thread that most tests have */
} world;

static uint64_t world_tsc(void)
{
    const uint64_t passed_ns = atomic_load(&world.ns) - world.from_ns;
    return world.tsc + passed_ns / MS * world.counts_per_ms + passed_ns % MS * world.counts_per_ms / MS;
}

static uint64_t world_now_ns(void)
{
    return atomic_fetch_add(&world.ns, world.reading_ns);
}

static uint64_t world_forks(void)
{
    return world.forks;
}

static const struct host_tsc_source SOURCE = {world_tsc, world_tsc, world_now_ns, world_forks};

static void begin_world(uint64_t ns, uint64_t tsc, uint64_t counts_per_ms)
{
    world = (struct world){.tsc = tsc, .from_ns = ns, .counts_per_ms = counts_per_ms, .reading_ns = 20};
    atomic_store(&world.ns, ns);
}

/* From now on the counter goes at another pace. */
static void change_pace(uint64_t counts_per_ms)
{
    world.tsc = world_tsc();
    world.from_ns = atomic_load(&world.ns);
    world.counts_per_ms = counts_per_ms;
}

static void pass(uint64_t ns)
{
    atomic_fetch_add(&world.ns, ns);
}

/* How far off a reading is, which may have been made at any moment of the call. */
static uint64_t off_ns(uint64_t read_ns, uint64_t before_ns, uint64_t after_ns)
{
    if (read_ns < before_ns) return before_ns - read_ns;
    return read_ns > after_ns ? read_ns - after_ns : 0;
}

static uint64_t read_off_ns(struct host_tsc *clock)
{
    const uint64_t before_ns = atomic_load(&world.ns);
    const uint64_t read_ns = host_tsc_now(clock, &SOURCE, &world.last_ns);
    return off_ns(read_ns, before_ns, atomic_load(&world.ns));
}

static bool answers(const struct host_tsc *clock)
{
    return atomic_load(&clock->number) != 0;
}

/* Readings for a while; returns how far off the worst was. */
static uint64_t read_for(struct host_tsc *clock, uint64_t ns, uint64_t step_ns)
{
    uint64_t worst_ns = 0;
    for (uint64_t passed = 0; passed < ns; passed += step_ns) {
        const uint64_t off = read_off_ns(clock);
        if (off > worst_ns) worst_ns = off;
        pass(step_ns);
    }
    return worst_ns;
}

static void begin_learned(struct host_tsc *clock, uint64_t counts_per_ms)
{
    memset(clock, 0, sizeof *clock);
    begin_world(1000 * SECOND, UINT64_C(123456789012), counts_per_ms);
    assert_in_range(read_for(clock, 200 * MS, MS / 10), 0, 100);
    assert_true(answers(clock));
}

/* ---- a counter that behaves ---- */

/* From slow counters to fast ones, from the start of a machine to 500 years later. */
static void test_learns(void **state)
{
    (void)state;
    static const uint64_t paces[] = {1000, 24000, 1000000, 2596098, 5000000, 9999999};
    static struct host_tsc clock;
    for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++) {
        for (int years = 0; years <= 500; years += 250) {
            memset(&clock, 0, sizeof clock);
            begin_world((uint64_t)years * YEAR, (uint64_t)years << 44, paces[i]);
            assert_int_equal(read_off_ns(&clock), 0);
            assert_false(answers(&clock)); /* nothing is known of its pace yet */
            pass(HOST_TSC_CHECK_NS);
            /* A count of a slow counter lasts longer than its readings are apart. */
            const uint64_t count_ns = MS / paces[i] + 1;
            assert_in_range(read_off_ns(&clock), 0, 2 * count_ns);
            assert_true(answers(&clock));
            assert_in_range(read_for(&clock, SECOND, 77777), 0, 50 + 4 * count_ns);
            assert_true(answers(&clock));
        }
    }
}

/* Nobody came by for years; nor is a product too large. */
static void test_long_rest(void **state)
{
    (void)state;
    static const uint64_t rests_ns[] = {1000, 1000000, 2000001, 1000000000, 3600000000000, 31536000000000000};
    static struct host_tsc clock;
    for (size_t i = 0; i < sizeof rests_ns / sizeof rests_ns[0]; i++) {
        begin_learned(&clock, 2596098);
        for (int again = 0; again < 50; again++) {
            pass(rests_ns[i]);
            assert_in_range(read_for(&clock, 5 * MS, MS / 5), 0, 100);
        }
        assert_true(answers(&clock));
    }
}

/* The kernel steers its clock, readers are put aside, pairs are as wide as may be: the bound holds, no reading is below
   one before it by more than a line can be drawn anew, and the bound is no idle one. */
static void test_random_worlds(void **state)
{
    (void)state;
    static struct host_tsc clock;
    uint64_t seed = SEED, worst_ns = 0;
    for (int round = 0; round < 300; round++) {
        const uint64_t nominal = 24000 + random_below(&seed, 5000000);
        memset(&clock, 0, sizeof clock);
        const uint64_t begin_ns = random_sized(&seed, 60);
        begin_world(begin_ns, random_sized(&seed, 60), nominal);
        const uint64_t nap_bits = 4 + random_below(&seed, 22); /* up to some 30 ms */
        uint64_t last_ns = 0;
        for (int step = 0; step < 3000; step++) {
            if (random_one_in(&seed, 200)) {
                change_pace(nominal - nominal * STEERED_PPM / PPM +
                            random_below(&seed, nominal * STEERED_PPM / PPM * 2 + 1));
            }
            world.reading_ns = 10 + random_below(&seed, random_one_in(&seed, 20) ? 2000 : 200);
            const uint64_t before_ns = atomic_load(&world.ns);
            const uint64_t read_ns = host_tsc_now(&clock, &SOURCE, &world.last_ns);
            const uint64_t off = off_ns(read_ns, before_ns, atomic_load(&world.ns));
            if (off > worst_ns) worst_ns = off;
            assert_true(read_ns + HOST_TSC_OFF_NS >= last_ns);
            last_ns = read_ns;
            pass(random_sized(&seed, (unsigned)nap_bits));
        }
        assert_true(atomic_load(&clock.again_ns) != UINT64_MAX);
    }
    printf("random worlds, seed %#llx: %llu ns off at most\n", (unsigned long long)SEED, (unsigned long long)worst_ns);
    assert_in_range(worst_ns, 100, HOST_TSC_OFF_NS);
}

/* As if each reading were another thread's: a line says nothing below what the one before it has told. */
static void test_lines_join(void **state)
{
    (void)state;
    static struct host_tsc clock;
    uint64_t seed = SEED, last_ns = 0;
    begin_learned(&clock, 3000000);
    const uint64_t lines = atomic_load(&clock.number);
    for (int step = 0; step < 1000000; step++) {
        uint64_t now_ns = 0;
        if (step % 50000 == 0) change_pace(2998500 + random_below(&seed, 3001));
        world.reading_ns = 5 + random_below(&seed, 20);
        (void)host_tsc_now(&clock, &SOURCE, &now_ns);
        assert_true(now_ns >= last_ns);
        last_ns = now_ns;
        pass(random_below(&seed, 80));
    }
    assert_true(atomic_load(&clock.number) > lines + 20);
}

static void test_a_thread_does_not_go_back(void **state)
{
    (void)state;
    static struct host_tsc clock;
    begin_learned(&clock, 2596098);
    uint64_t last_ns = atomic_load(&world.ns) + 1000;
    const uint64_t before_ns = last_ns;
    assert_int_equal(host_tsc_now(&clock, &SOURCE, &last_ns), before_ns);
    assert_int_equal(last_ns, before_ns);
    pass(2000);
    assert_true(host_tsc_now(&clock, &SOURCE, &last_ns) > before_ns);
}

/* Hours at one pace, then a little off it: soon only the new one counts. */
static void test_follows_the_pace(void **state)
{
    (void)state;
    static struct host_tsc clock;
    begin_learned(&clock, 3000000);
    (void)read_for(&clock, 3600 * SECOND, SECOND);
    change_pace(3001200);
    (void)read_for(&clock, SECOND, MS);
    assert_in_range(read_for(&clock, 20 * MS, 10000), 0, 60);
    assert_true(answers(&clock));
}

/* A pair is off by up to half its width, here 150 ns; the pace is that of pairs far apart, where this hardly shows. */
static void test_pairs_are_imprecise(void **state)
{
    (void)state;
    static struct host_tsc clock;
    uint64_t seed = SEED, worst_ns = 0;
    begin_learned(&clock, 2596098);
    for (uint64_t passed_ns = 0; passed_ns < 2 * SECOND; passed_ns += 20000) {
        world.reading_ns = random_one_in(&seed, 2) ? 1 : 299;
        const uint64_t off = read_off_ns(&clock);
        if (off > worst_ns) worst_ns = off;
        pass(20000);
    }
    print_message("imprecise pairs: %llu ns off at most\n", (unsigned long long)worst_ns);
    assert_in_range(worst_ns, 0, 180);
    assert_true(answers(&clock));
}

/* ---- one that does not ---- */

/* Two checks later at most it is not asked any more, and each reading is the kernel's. */
static void assert_given_up(struct host_tsc *clock)
{
    (void)read_for(clock, 3 * HOST_TSC_CHECK_NS, 10000);
    assert_false(answers(clock));
    assert_int_equal(read_for(clock, 50 * MS, 10000), 0);
    begin_world(atomic_load(&world.ns), 5, 2596098); /* whatever the counter does now */
    assert_int_equal(read_for(clock, 50 * MS, 10000), 0);
    assert_false(answers(clock));
}

static void test_another_pace(void **state)
{
    (void)state;
    static const uint64_t paces[] = {2622059, 2570137, 2596098 * 2, 1298049, 1}; /* 1 % more and less, and worse */
    static struct host_tsc clock;
    for (size_t i = 0; i < sizeof paces / sizeof paces[0]; i++) {
        for (uint64_t rest_ns = 0; rest_ns <= 3600 * SECOND; rest_ns = rest_ns * 100 + 1000) {
            begin_learned(&clock, 2596098);
            change_pace(paces[i]);
            pass(rest_ns);
            assert_given_up(&clock);
        }
    }
}

/* By so little at a time that each line fits the one before it. */
static void test_creeping_pace(void **state)
{
    (void)state;
    static struct host_tsc clock;
    begin_learned(&clock, 2596098);
    for (uint64_t pace = 2596098; pace < 2622059; pace += 500) { /* 1 % in steps of 200 ppm */
        change_pace(pace);
        (void)read_for(&clock, 200 * MS, MS / 2);
    }
    assert_given_up(&clock);
}

static void test_jumps(void **state)
{
    (void)state;
    static const int64_t jumps[] = {-123000000000, -26000000, -10000, 10000, 26000000, 1 << 30, INT64_MAX};
    static struct host_tsc clock;
    for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
        for (uint64_t rest_ns = 0; rest_ns <= 2 * MS; rest_ns += MS / 2) {
            begin_learned(&clock, 2596098);
            world.tsc += (uint64_t)jumps[i];
            pass(rest_ns);
            assert_given_up(&clock);
        }
    }
}

/* Set to 0, and standing still; the last is a counter that never ran. */
static void test_reset(void **state)
{
    (void)state;
    static struct host_tsc clock;
    begin_learned(&clock, 2596098);
    begin_world(atomic_load(&world.ns), 0, 2596098);
    assert_given_up(&clock);
    begin_learned(&clock, 2596098);
    change_pace(0);
    assert_given_up(&clock);
    memset(&clock, 0, sizeof clock);
    begin_world(1000 * SECOND, 7, 0);
    assert_given_up(&clock);
}

/* A jump is told to readers for two checks at most, by no more than it is. */
static void test_jump_is_short(void **state)
{
    (void)state;
    static struct host_tsc clock;
    begin_learned(&clock, 2596098);
    world.tsc += 2596098 / 2; /* half a ms */
    assert_in_range(read_off_ns(&clock), 0, MS / 2 + HOST_TSC_OFF_NS);
    pass(2 * HOST_TSC_CHECK_NS);
    assert_int_equal(read_off_ns(&clock), 0);
    assert_false(answers(&clock));
}

/* ---- pairs that say nothing, and locks ---- */

/* A machine whose readings are slow is not learned, and is tried again; in use, the line grows old. */
static void test_wide_pairs(void **state)
{
    (void)state;
    static struct host_tsc clock;
    memset(&clock, 0, sizeof clock);
    begin_world(SECOND, 1, 2596098);
    world.reading_ns = 501;
    assert_int_equal(read_for(&clock, 20 * MS, 10000), 0);
    assert_false(answers(&clock));
    world.reading_ns = 20;
    assert_in_range(read_for(&clock, 20 * MS, 10000), 0, 100);
    assert_true(answers(&clock));
    const uint64_t number = atomic_load(&clock.number);
    world.reading_ns = 501;
    assert_in_range(read_for(&clock, 20 * MS, 10000), 0, 100);
    assert_int_equal(atomic_load(&clock.number), number);
    world.reading_ns = 20;
    assert_in_range(read_for(&clock, 20 * MS, 10000), 0, 100);
    assert_true(atomic_load(&clock.number) > number);
}

/* While somebody checks, the others go on: by the line as long as it may be, then by the kernel. */
static void test_nobody_waits_for_a_check(void **state)
{
    (void)state;
    static struct host_tsc clock;
    begin_learned(&clock, 2596098);
    const uint64_t number = atomic_load(&clock.number);
    atomic_store(&clock.lock, 1);
    assert_in_range(read_for(&clock, 20 * MS, 10000), 0, 100);
    assert_int_equal(atomic_load(&clock.number), number);
    atomic_store(&clock.lock, 0);
    assert_in_range(read_for(&clock, 20 * MS, 10000), 0, 100);
    assert_true(atomic_load(&clock.number) > number);
}

/* A child made in the middle of a check, with whatever was half written. */
static void test_child_of_a_check(void **state)
{
    (void)state;
    static struct host_tsc clock;
    begin_learned(&clock, 2596098);
    atomic_store(&clock.lock, 1);
    clock.base.tsc += 999999999;
    clock.multiplier += clock.multiplier / 2;
    atomic_store(&clock.number, clock.numbers += 2);
    atomic_store(&clock.line.ns, 3);
    world.forks = 1;
    pass(2 * HOST_TSC_CHECK_NS);
    assert_in_range(read_for(&clock, 20 * MS, 10000), 0, 100);
    assert_true(answers(&clock));
    assert_int_equal(atomic_load(&clock.lock), 0);
}

/* ---- threads ---- */

enum { CROWD = 4, READINGS = 200000, LINES = 1000000 };

static struct host_tsc shared;
static _Atomic uint64_t offences;

/* Time moves as they read it, mostly by little. */
static void *read_together(void *argument)
{
    uint64_t seed = SEED + (uint64_t)(uintptr_t)argument, last_ns = 0;
    for (int i = 0; i < READINGS; i++) {
        const uint64_t before_ns = atomic_load(&world.ns);
        const uint64_t read_ns = host_tsc_now(&shared, &SOURCE, &last_ns);
        if (off_ns(read_ns, before_ns, atomic_load(&world.ns)) > HOST_TSC_OFF_NS) atomic_fetch_add(&offences, 1);
        pass(random_one_in(&seed, 50) ? 1000000 : 20);
    }
    return NULL;
}

static void run_crowd(void *(*body)(void *))
{
    pthread_t thread[CROWD];
    atomic_store(&offences, 0);
    for (uintptr_t i = 0; i < CROWD; i++) assert_int_equal(pthread_create(&thread[i], NULL, body, (void *)i), 0);
    for (int i = 0; i < CROWD; i++) pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&offences), 0);
}

/* Lines are drawn all the time, by all of them: nobody gets half of one and half of the other. */
static void test_threads(void **state)
{
    (void)state;
    memset(&shared, 0, sizeof shared);
    begin_world(SECOND, 1, 3000000);
    run_crowd(read_together);
    assert_true(answers(&shared));
    assert_true(atomic_load(&shared.number) > 1000);
}

static atomic_bool drawn;

/* A line as fast as they can be written. */
static void *draw_lines(void *argument)
{
    (void)argument;
    for (int i = 0; i < LINES; i++) {
        const uint64_t ns = atomic_load(&world.ns);
        const struct host_tsc_pair pair = {world_tsc(), ns, 0};
        host_tsc_meet(&shared, &pair);
        pass(HOST_TSC_CHECK_NS);
    }
    atomic_store(&drawn, true);
    return NULL;
}

static void *read_lines(void *argument)
{
    uint64_t read_ns = 0;
    if (argument == NULL) return draw_lines(NULL);
    while (!atomic_load(&drawn)) {
        const uint64_t before_ns = atomic_load(&world.ns);
        if (host_tsc_read(&shared, world_tsc(), &read_ns) == HOST_TSC_NONE) continue;
        if (off_ns(read_ns, before_ns, atomic_load(&world.ns)) > HOST_TSC_OFF_NS) atomic_fetch_add(&offences, 1);
    }
    return NULL;
}

/* Nobody who reads in the middle of that, or is put aside there, gets parts of two lines: those would be at least
   HOST_TSC_CHECK_NS off. */
static void test_no_line_is_torn(void **state)
{
    (void)state;
    memset(&shared, 0, sizeof shared);
    begin_world(SECOND, 1, 3000000);
    atomic_store(&drawn, false);
    run_crowd(read_lines);
    assert_true(answers(&shared));
    assert_true(atomic_load(&shared.number) >= LINES - 2);
}

/* ---- this machine ---- */

static _Atomic uint64_t worst_off_ns;

/* As takes read it, and as all others do: both go forward together. */
static uint64_t read_either_way(uint64_t last_ns)
{
    uint64_t read_ns = 0;
    return last_ns % 2 != 0 && host_tsc_fresh(&read_ns) ? read_ns : host_tsc_now_ns();
}

/* True when the reading lay where it may; keeps the worst. */
static bool read_this_machine(uint64_t *last_ns)
{
    const uint64_t before_ns = host_now_ns();
    const uint64_t read_ns = read_either_way(*last_ns);
    const uint64_t off = off_ns(read_ns, before_ns, host_now_ns());
    const bool forward = read_ns >= *last_ns;
    uint64_t worst = atomic_load(&worst_off_ns);
    while (off > worst && !atomic_compare_exchange_weak(&worst_off_ns, &worst, off)) continue;
    *last_ns = read_ns;
    return forward && off <= HOST_TSC_OFF_NS;
}

/* More threads than processors. */
static void *read_for_a_second(void *argument)
{
    uint64_t last_ns = 0;
    (void)argument;
    for (const uint64_t end_ns = host_now_ns() + SECOND; host_now_ns() < end_ns;) {
        if (!read_this_machine(&last_ns)) atomic_fetch_add(&offences, 1);
    }
    return NULL;
}

static void test_this_machine(void **state)
{
    (void)state;
    run_crowd(read_for_a_second);
    printf("this machine's counter %s: %llu ns off at most\n", host_tsc_answers() ? "answers" : "does not answer",
           (unsigned long long)atomic_load(&worst_off_ns));
}

static void test_child_of_this_machine(void **state)
{
    (void)state;
    const bool answered = host_tsc_answers();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool good = true;
        uint64_t last_ns = 0;
        alarm(60); /* it learns sooner, unless it never does */
        const uint64_t end_ns = host_now_ns() + 20 * MS;
        while (host_now_ns() < end_ns || (answered && !host_tsc_answers())) good = read_this_machine(&last_ns) && good;
        _exit(good && host_tsc_answers() == answered ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A line that does not rise, as by a counter that stands: above what was read, and within what may be. */
static void stop_counter(void)
{
    atomic_store(&host_tsc_process.line.ns, host_now_ns() + HOST_TSC_OFF_NS);
    atomic_store(&host_tsc_process.line.multiplier, 0);
    atomic_store(&host_tsc_process.line.check, UINT64_MAX / 4);
}

enum { TAKES_UNTIL_NOTICED = 2048 };

static bool takes_notice(uint32_t verdict)
{
    weir_options options = WEIR_OPTIONS;
    weir_limiter *limiter = NULL;
    options.clock = WEIR_CLOCK_TSC;
    if (weir_open(&limiter, verdict == WEIR_ALLOW ? "1G/s burst=1h" : "1/d", &options, NULL) != 0) return false;
    while (!host_tsc_answers()) weir_take(limiter, 1);
    for (int i = 0; i < 3; i++) weir_take(limiter, 1);
    stop_counter();
    bool same = true;
    for (int i = 0; i < TAKES_UNTIL_NOTICED; i++) same = weir_take(limiter, 1).verdict == verdict && same;
    while (host_tsc_answers()) weir_take(limiter, 1);
    weir_close(limiter);
    return same;
}

/* So does each other reading of the clock. */
static int readings_notice(void)
{
    alarm(60);
    while (!host_tsc_answers()) (void)host_tsc_now_ns();
    for (int i = 0; i < 3; i++) (void)host_tsc_now_ns();
    stop_counter();
    while (host_tsc_answers()) (void)host_tsc_now_ns();
    return 0;
}

static void test_readings_notice_a_stop(void **state)
{
    (void)state;
    if (!host_tsc_answers()) return;
    int status = 1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(readings_notice());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static bool says(const char *path, const char *word)
{
    char line[4096];
    bool found = false;
    FILE *const file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) found = strstr(line, word) != NULL;
    if (file != NULL) fclose(file);
    return found;
}

/* The counter is used where the processor and the kernel say that it may be. */
static void test_where_it_is_used(void **state)
{
    (void)state;
    const bool may = ON_X86_64 && says("/proc/cpuinfo", "nonstop_tsc") &&
                     says("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    while (!host_tsc_answers() && atomic_load(&host_tsc_process.again_ns) != UINT64_MAX) (void)host_tsc_now_ns();
    assert_int_equal(host_tsc_answers(), may);
}

static void test_takes_notice_a_stop(void **state)
{
    (void)state;
    if (!host_tsc_answers()) return;
    for (uint32_t verdict = WEIR_ALLOW; verdict <= WEIR_DENY; verdict++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(60);
            _exit(takes_notice(verdict) ? 0 : 1);
        }
        int status = 1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_long_rest),
        cmocka_unit_test(test_random_worlds),
        cmocka_unit_test(test_lines_join),
        cmocka_unit_test(test_a_thread_does_not_go_back),
        cmocka_unit_test(test_follows_the_pace),
        cmocka_unit_test(test_pairs_are_imprecise),
        cmocka_unit_test(test_another_pace),
        cmocka_unit_test(test_creeping_pace),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_jump_is_short),
        cmocka_unit_test(test_wide_pairs),
        cmocka_unit_test(test_nobody_waits_for_a_check),
        cmocka_unit_test(test_child_of_a_check),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_line_is_torn),
        cmocka_unit_test(test_where_it_is_used),
        cmocka_unit_test(test_this_machine),
        cmocka_unit_test(test_child_of_this_machine),
        cmocka_unit_test(test_takes_notice_a_stop),
        cmocka_unit_test(test_readings_notice_a_stop),
    };
    return LACKING != 0 ? LACKING : cmocka_run_group_tests(tests, NULL, NULL);
}
