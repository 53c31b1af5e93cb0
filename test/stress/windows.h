/* SPDX-License-Identifier: MIT
   Of all windows of time, the one in which most has passed.

   See windows.c. */
#ifndef WEIR_TEST_WINDOWS_H
#define WEIR_TEST_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

/* Something passed, at some time between two readings of the clock. */
struct passed {
    uint64_t from_ns, to_ns;
    int64_t amount;                   /* as large as one likes to count a permit */
    int64_t drained_from, drained_to; /* what the rate alone lets through until these times, in the same unit */
};

/* The most by which anything that passed in a window is more than what the rate alone lets through in it: the burst
   that was needed.  0 when nothing passed.  Sorts what it is given. */
int64_t windows_burst(struct passed passed[], size_t count);

#endif
