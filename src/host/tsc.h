/* SPDX-License-Identifier: MIT
   CLOCK_MONOTONIC from the processor's own counter, without a call of the kernel's clock.

   A line goes through a moment at which both clocks were read:

       ns ^             .      ns = line.ns + (counter - line.tsc) * line.multiplier / 2^32
          |           x        x: a pair, both clocks read together, by the first caller that finds the line older than
          |        .              HOST_TSC_CHECK_NS.  If it lies near the line, the next line goes through it, with the
          |     x                 slope of the pairs of the last tenth of a second, and yields nothing below what the
          |  .                    old line has yielded, so that time does not go back.
          +-------------> counter

   A line more than twice that old is not used: then the kernel is asked.  A pair that lies further off than the kernel
   could have steered its clock shows that the counter stopped, jumped, was reset or changed its rate (a suspended
   machine, a virtual machine that was moved): then the whole process asks the kernel from then on.  The same holds if
   the counter does not always run at one rate, if the kernel does not use it itself, and on other processors. */
#ifndef WEIR_HOST_TSC_H
#define WEIR_HOST_TSC_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/thread.h"

enum {
    HOST_TSC_CHECK_NS = 1000000,
    HOST_TSC_FRACTION_BITS = 32, /* of a line's multiplier */

    /* A reading is this close to CLOCK_MONOTONIC.  3.2 us of it are the distance that a pair may have from a line of 2
       ms; the rest is what the processor may read ahead of the instructions before it.  So a limit lets through what it
       lets through in t + twice this.  When the counter goes wrong, or the kernel's clock is steered by more than 500
       ppm, a reading may be off by as much as that amounts to until the next check, within 2 ms. */
    HOST_TSC_OFF_NS = 5000
};

/* ns of CLOCK_MONOTONIC, at most HOST_TSC_OFF_NS off.  It never goes back within a thread; between threads that
   synchronize, by at most that much.  Takes no lock and writes nothing shared, except for a check once in
   HOST_TSC_CHECK_NS. */
uint64_t host_tsc_now_ns(void);

/* Whether the counter is in use; false while its rate is being measured (the first HOST_TSC_CHECK_NS), and once it
   failed. */
bool host_tsc_answers(void);

/* ---- the parts, for tests with made-up clocks ---- */

/* Both clocks at one moment, to a precision of width_ns. */
struct host_tsc_pair {
    uint64_t tsc, ns, width_ns;
};

struct host_tsc_line {
    alignas(8) _Atomic uint64_t tsc, ns, floor_ns, multiplier;
    alignas(8) _Atomic uint64_t check; /* counts in HOST_TSC_CHECK_NS */
};

/* Zeroed = nothing known.

       read by every reading, written once in HOST_TSC_CHECK_NS     by the thread that checks
       | number | line |                                            | lock | again_ns | pairs ... |

   The number of a line in force is odd.  While the line is written its number is even, and readers ask the kernel; a
   reader that has parts of two lines finds that the number has changed. */
struct host_tsc {
    alignas(64) _Atomic uint64_t number; /* 0: there is no line */
    struct host_tsc_line line;

    alignas(64) _Atomic uint64_t lock;    /* 0, or 1 + the forks before the process that holds it */
    alignas(8) _Atomic uint64_t again_ns; /* no check before that; UINT64_MAX: never again */
    bool met;                             /* the base is set */
    uint64_t numbers;                     /* the last even one */
    uint64_t multiplier;                  /* of the first line */
    struct host_tsc_pair base, middle;    /* the rate is measured since base; middle is the next base */
};

enum host_tsc_age { HOST_TSC_FRESH, HOST_TSC_DUE, HOST_TSC_NONE };

static inline uint64_t host_tsc_load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

/* The time at this count by the line of this number.  DUE: valid, but a check is due too; NONE: *ns means nothing. */
static inline enum host_tsc_age host_tsc_at(const struct host_tsc *clock, uint64_t number, uint64_t tsc, uint64_t *ns)
{
    const struct host_tsc_line *line = &clock->line;
    const uint64_t passed = tsc - host_tsc_load(&line->tsc); /* huge if it was read just before the line was replaced */
    const uint64_t multiplier = host_tsc_load(&line->multiplier), check = host_tsc_load(&line->check);
    const uint64_t there_ns = host_tsc_load(&line->ns) + (passed * multiplier >> HOST_TSC_FRACTION_BITS);
    const uint64_t floor_ns = host_tsc_load(&line->floor_ns);
    *ns = there_ns > floor_ns ? there_ns : floor_ns;
    if (atomic_load_explicit(&clock->number, memory_order_relaxed) != number) return HOST_TSC_NONE;
    if (passed <= check) return HOST_TSC_FRESH; /* 2^21 ns at most, so that nothing overflowed; nor when it is due */
    return passed <= 2 * check ? HOST_TSC_DUE : HOST_TSC_NONE;
}

/* By the line in force. */
static inline enum host_tsc_age host_tsc_read(const struct host_tsc *clock, uint64_t tsc, uint64_t *ns)
{
    const uint64_t number = host_tsc_load(&clock->number);
    return number & 1 ? host_tsc_at(clock, number, tsc, ns) : HOST_TSC_NONE;
}

/* [under the lock] A check: sets the next line, or stops using the counter. */
void host_tsc_meet(struct host_tsc *clock, const struct host_tsc_pair *pair);

/* The kernel is asked from now on. */
void host_tsc_give_up(struct host_tsc *clock);

struct host_tsc_source {
    uint64_t (*tsc)(void);         /* may be read ahead of the instructions in front of it */
    uint64_t (*tsc_ordered)(void); /* may not */
    uint64_t (*now_ns)(void);
    uint64_t (*forks)(void);
};

/* The time, not below *last_ns, the thread's previous reading, which it replaces.  An equal reading triggers a check,
   since the counter may have stopped. */
uint64_t host_tsc_now(struct host_tsc *clock, const struct host_tsc_source *source, uint64_t *last_ns);

/* ---- without a call ---- */

/* What a thread has read.  A reading is not compared with the one before it, which is still on its way to memory: that
   would take as long as all the rest. */
struct host_tsc_told {
    uint64_t last_ns;
    uint64_t below_ns; /* fresh readings are above this one: not from a line, or the last one that was to be compared */
};

/* Only the functions below use these: a call would cost more than what they do. */
extern struct host_tsc host_tsc_process __attribute__((visibility("hidden")));
extern HOST_THREAD_LOCAL struct host_tsc_told host_tsc_told __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define HOST_TSC_COUNT() __builtin_ia32_rdtsc()
#else
#define HOST_TSC_COUNT() UINT64_C(0)
#endif

/* As host_tsc_now_ns; false where that has more to do than to read the line.  A counter that is not in use is not read,
   since that takes half as long as the kernel's clock. */
static inline bool host_tsc_fresh(uint64_t *ns)
{
    const uint64_t number = host_tsc_load(&host_tsc_process.number);
    if (!(number & 1) || host_tsc_at(&host_tsc_process, number, HOST_TSC_COUNT(), ns) != HOST_TSC_FRESH) return false;
    if (*ns <= host_tsc_told.below_ns) return false;
    host_tsc_told.last_ns = *ns;
    return true;
}

/* The next reading of this thread is compared with the last one; host_tsc_now_ns() compares all.  The counter may have
   stopped. */
static inline void host_tsc_compare_next(void)
{
    host_tsc_told.below_ns = host_tsc_told.last_ns;
}

#endif
