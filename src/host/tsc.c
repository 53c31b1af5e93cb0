/* SPDX-License-Identifier: MIT
   The mapping between two clocks, its checks, and the processors that have a counter. */
#include "host/tsc.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "host/clock.h"
#include "host/thread.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

enum {
    NARROW_NS = 200, /* a pair this precise is good enough */
    WIDE_NS = 300,   /* a pair less precise than this is useless */
    TRIES = 4,
    LATE_NS = 1000, /* how far a pair may lie off the line, beside half its width */
    STEERED_SHIFT =
        10, /* and 1/2^10 of the elapsed time: the kernel steers its clock by 500 ppm, the rate is known to 300 */
    PACE_SHIFT = 8, /* the rate stays within 1/2^8 of the first */
    BASE_NS = 64000000,
    CHECK_AGAIN_NS = HOST_TSC_CHECK_NS / 4 /* after a check that failed or came early */
};

/* The processors whose counter is read have 128-bit integers; on the others this only has to compile. */
#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 tsc_wide;
#else
typedef uint64_t tsc_wide;
#endif

static void tsc_store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t narrowed(tsc_wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* ---- checking ---- */

void host_tsc_give_up(struct host_tsc *clock)
{
    tsc_store(&clock->again_ns, UINT64_MAX);
    tsc_store(&clock->number, 0);
}

static void publish(struct host_tsc *clock, const struct host_tsc_pair *pair, uint64_t floor_ns, uint64_t pace)
{
    struct host_tsc_line *line = &clock->line;
    tsc_store(&clock->number, clock->numbers += 2);
    tsc_store(&line->tsc, pair->tsc);
    tsc_store(&line->ns, pair->ns);
    tsc_store(&line->floor_ns, floor_ns);
    tsc_store(&line->multiplier, pace);
    tsc_store(&line->check, ((uint64_t)HOST_TSC_CHECK_NS << HOST_TSC_FRACTION_BITS) / pace);
    tsc_store(&clock->number, clock->numbers + 1);
}

/* ns per count since the base; 0 if that is impossible: the counter stopped, went back or jumped. */
static uint64_t pace_of(const struct host_tsc *clock, const struct host_tsc_pair *pair)
{
    if (pair->tsc <= clock->base.tsc || pair->ns <= clock->base.ns) return 0;
    const uint64_t pace =
        narrowed(((tsc_wide)(pair->ns - clock->base.ns) << HOST_TSC_FRACTION_BITS) / (pair->tsc - clock->base.tsc));
    const uint64_t first = clock->multiplier != 0 ? clock->multiplier : pace;
    const uint64_t off = pace > first ? pace - first : first - pace;
    return off <= first >> PACE_SHIFT ? pace : 0;
}

/* True if the pair lies where the line in force allows it.  *floor_ns: the latest time that readers may have got. */
static bool agrees(const struct host_tsc *clock, const struct host_tsc_pair *pair, uint64_t *floor_ns)
{
    const struct host_tsc_line *line = &clock->line;
    const uint64_t from = host_tsc_load(&line->tsc), from_ns = host_tsc_load(&line->ns),
                   before_ns = host_tsc_load(&line->floor_ns);
    const uint64_t multiplier = host_tsc_load(&line->multiplier), check = host_tsc_load(&line->check);
    const uint64_t passed = pair->tsc > from ? pair->tsc - from : 0, told = passed < 2 * check ? passed : 2 * check;
    const uint64_t there_ns = narrowed(from_ns + ((tsc_wide)passed * multiplier >> HOST_TSC_FRACTION_BITS));
    const uint64_t off_ns = there_ns > pair->ns ? there_ns - pair->ns : pair->ns - there_ns;
    const uint64_t passed_ns = pair->ns > from_ns ? pair->ns - from_ns : 0;
    const uint64_t told_ns = from_ns + (told * multiplier >> HOST_TSC_FRACTION_BITS);
    *floor_ns = told_ns > before_ns ? told_ns : before_ns;
    return off_ns <= LATE_NS + pair->width_ns / 2 + (passed_ns >> STEERED_SHIFT);
}

void host_tsc_meet(struct host_tsc *clock, const struct host_tsc_pair *pair)
{
    uint64_t floor_ns = 0;
    if (host_tsc_load(&clock->again_ns) == UINT64_MAX) return;
    if (!clock->met) {
        clock->base = clock->middle = *pair;
        clock->met = true;
    }
    const bool learning = host_tsc_load(&clock->number) == 0;
    tsc_store(&clock->again_ns, pair->ns + CHECK_AGAIN_NS);
    if (learning && pair->ns - clock->base.ns < HOST_TSC_CHECK_NS) return;
    const uint64_t pace = pace_of(clock, pair);
    if (pace == 0 || (!learning && !agrees(clock, pair, &floor_ns))) {
        host_tsc_give_up(clock);
        return;
    }
    if (learning) clock->multiplier = pace;
    if (pair->ns - clock->middle.ns >= BASE_NS) {
        clock->base = clock->middle;
        clock->middle = *pair;
    }
    publish(clock, pair, floor_ns, pace);
}

/* ---- checks by the callers ---- */

/* The most precise of a few tries: the thread may be preempted between the readings. */
static struct host_tsc_pair read_both(const struct host_tsc_source *source)
{
    struct host_tsc_pair best = {.width_ns = UINT64_MAX};
    for (int i = 0; i < TRIES && best.width_ns > NARROW_NS; i++) {
        const uint64_t before_ns = source->now_ns(), tsc = source->tsc_ordered(), after_ns = source->now_ns();
        const uint64_t width_ns = after_ns - before_ns;
        if (width_ns < best.width_ns) best = (struct host_tsc_pair){tsc, before_ns + width_ns / 2, width_ns};
    }
    return best;
}

/* A child has the half-done work of its parent's other threads, but not those threads, so it starts again. */
static bool tsc_try_lock(struct host_tsc *clock, uint64_t forks)
{
    uint64_t held = atomic_load_explicit(&clock->lock, memory_order_relaxed);
    if (held == forks + 1 || !atomic_compare_exchange_strong_explicit(&clock->lock, &held, forks + 1,
                                                                      memory_order_acquire, memory_order_relaxed)) {
        return false;
    }
    if (held != 0) {
        tsc_store(&clock->number, 0);
        clock->met = false;
        clock->multiplier = 0;
    }
    return true;
}

/* due_ns is the time by the line, if it still may be used. */
static uint64_t check(struct host_tsc *clock, const struct host_tsc_source *source, enum host_tsc_age age,
                      uint64_t due_ns)
{
    const uint64_t now_ns = age == HOST_TSC_DUE ? due_ns : source->now_ns();
    if (now_ns < host_tsc_load(&clock->again_ns) || !tsc_try_lock(clock, source->forks())) return now_ns;
    const struct host_tsc_pair pair = read_both(source);
    uint64_t line_ns = now_ns;
    if (pair.width_ns <= WIDE_NS) host_tsc_meet(clock, &pair);
    else if (host_tsc_load(&clock->again_ns) != UINT64_MAX) tsc_store(&clock->again_ns, now_ns + CHECK_AGAIN_NS);
    tsc_store(&clock->lock, 0);
    return host_tsc_read(clock, pair.tsc, &line_ns) == HOST_TSC_FRESH ? line_ns : now_ns;
}

uint64_t host_tsc_now(struct host_tsc *clock, const struct host_tsc_source *source, uint64_t *last_ns)
{
    uint64_t ns = 0;
    const bool used = host_tsc_load(&clock->number) != 0;
    const enum host_tsc_age age = used ? host_tsc_read(clock, source->tsc(), &ns) : HOST_TSC_NONE;
    if (age != HOST_TSC_FRESH || ns <= *last_ns) ns = check(clock, source, age, ns);
    if (ns > *last_ns) *last_ns = ns;
    return *last_ns;
}

/* ---- the processor ---- */

#if defined(__x86_64__)

#define POWER_LEAF UINT32_C(0x80000007)
enum { ONE_PACE = 1 << 8 };

static uint64_t counter_unordered(void)
{
    return __rdtsc();
}

static uint64_t counter_ordered(void)
{
    _mm_lfence();
    return __rdtsc();
}

static bool runs_at_one_pace(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(POWER_LEAF, &a, &b, &c, &d) != 0 && (d & ONE_PACE) != 0;
}

#else

static uint64_t counter_unordered(void)
{
    return 0;
}

static uint64_t counter_ordered(void)
{
    return 0;
}

static bool runs_at_one_pace(void)
{
    return false;
}

#endif

/* The kernel has compared the counters of all processors, and knows machines whose counter is unreliable. */
static bool kernel_uses_it(void)
{
    char name[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file == NULL) return false;
    const bool read = fgets(name, sizeof name, file) != NULL;
    fclose(file);
    return read && strcmp(name, "tsc\n") == 0;
}

struct host_tsc host_tsc_process;
static pthread_once_t tsc_once = PTHREAD_ONCE_INIT;
HOST_THREAD_LOCAL struct host_tsc_told host_tsc_told;

static void look_at_processor(void)
{
    if (!runs_at_one_pace() || !kernel_uses_it()) host_tsc_give_up(&host_tsc_process);
}

static __attribute__((noinline)) uint64_t now_of_process(void)
{
    static const struct host_tsc_source source = {counter_unordered, counter_ordered, host_now_ns, host_forks};
    pthread_once(&tsc_once, look_at_processor);
    return host_tsc_now(&host_tsc_process, &source, &host_tsc_told.last_ns);
}

uint64_t host_tsc_now_ns(void)
{
    uint64_t ns;
    if (!host_tsc_fresh(&ns)) ns = now_of_process();
    host_tsc_compare_next();
    return ns;
}

bool host_tsc_answers(void)
{
    return host_tsc_load(&host_tsc_process.number) != 0;
}
