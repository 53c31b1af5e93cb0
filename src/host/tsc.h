/* SPDX-License-Identifier: MIT
   tsc.h - CLOCK_MONOTONIC from the processor's own counter, without asking the kernel for it.

   A line goes through a moment at which both clocks were read:

       ns ^             .      ns = line.ns + (counter - line.tsc) * line.multiplier / 2^32
          |           x        x: a pair, both clocks read together, by whoever first finds that the line is older
          |        .              than HOST_TSC_CHECK_NS.  Where it lies near the line the next one goes through it,
          |     x                 as steep as the pairs of the last tenth of a second say, and says nothing below
          |  .                    what the old one has told, so that time does not go back.
          +-------------> counter

   A line older than twice that answers nobody: then the kernel is asked.  A pair that lies further off than the kernel
   could have steered its clock says that the counter stopped, jumped, was set anew or changed its pace (a suspended
   machine, a virtual one that moved): then the kernel is asked for good, by the whole process.  The same where the
   counter does not always run at one pace, where the kernel does not use it itself, and on other processors.

   May touch: the processor's counter, the kernel's clock, /sys.  Promises: as below.  Leaves to others: what to do with
   the time. */
#ifndef WEIR_HOST_TSC_H
#define WEIR_HOST_TSC_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HOST_TSC_CHECK_NS = 1000000,

    /* A reading is this close to CLOCK_MONOTONIC.  Of it 3.2 us: as far as a pair may lie from a line of 2 ms; the rest
       is what the processor may read ahead of the instructions in front of it.  So a limit lets through what it lets
       through in t + twice this.  The one time that the counter goes wrong, or the kernel's clock is steered by more
       than 500 ppm: as far as that goes until the next check, in 2 ms at most. */
    HOST_TSC_OFF_NS = 5000
};

/* ns of CLOCK_MONOTONIC, HOST_TSC_OFF_NS off at most, never going back within a thread; between threads that wait for
   each other by at most that.  Takes no lock and writes nothing shared, but for a check once in HOST_TSC_CHECK_NS. */
uint64_t host_tsc_now_ns(void);

/* Whether the counter answers; false while it is being learned (the first HOST_TSC_CHECK_NS), and once it failed. */
bool host_tsc_answers(void);

/* ---- the parts, for tests with made-up clocks ---- */

/* Both clocks at one moment, known to width_ns. */
struct host_tsc_pair {
    uint64_t tsc, ns, width_ns;
};

struct host_tsc_line {
    _Atomic uint64_t tsc, ns, floor_ns, multiplier;
    _Atomic uint64_t check; /* counts that HOST_TSC_CHECK_NS last */
};

/* Zeroed = nothing known.

       read by every reading, written once in HOST_TSC_CHECK_NS     by whoever checks
       | number | line of even numbers | line of odd numbers |      | lock | again_ns | pairs ... |

   A writer fills the line that is not in force and then moves the number, so a reader never waits; one that was away
   for so long that its line is written again finds the number moved. */
struct host_tsc {
    alignas(64) _Atomic uint64_t number; /* of the line in force, 0 = there is none */
    struct host_tsc_line line[2];

    alignas(64) _Atomic uint64_t lock; /* 0, or 1 + the forks before the process that holds it */
    _Atomic uint64_t again_ns;         /* no check before; UINT64_MAX = never again */
    bool met;                          /* there is a base */
    uint64_t numbers;                  /* given so far */
    uint64_t multiplier;               /* of the first line */
    struct host_tsc_pair base, middle; /* the pace is that since base; middle is the next base */
};

enum host_tsc_age { HOST_TSC_FRESH, HOST_TSC_DUE, HOST_TSC_NONE };

/* Where the line has it at this count.  DUE: good, but a check would be too; NONE: *ns is not written. */
enum host_tsc_age host_tsc_read(const struct host_tsc *clock, uint64_t tsc, uint64_t *ns);

/* [under the lock] A check: the next line, or the end of trust. */
void host_tsc_meet(struct host_tsc *clock, const struct host_tsc_pair *pair);

/* The kernel is to be asked for good. */
void host_tsc_give_up(struct host_tsc *clock);

struct host_tsc_source {
    uint64_t (*tsc)(void);         /* may be read ahead of the instructions in front of it */
    uint64_t (*tsc_ordered)(void); /* may not */
    uint64_t (*now_ns)(void);
    uint64_t (*forks)(void);
};

/* Not below *last_ns, the thread's reading before, which it replaces.  The same reading once more is looked into: the
   counter may stand still. */
uint64_t host_tsc_now(struct host_tsc *clock, const struct host_tsc_source *source, uint64_t *last_ns);

#endif
