/* SPDX-License-Identifier: MIT
   guava.h - what Guava's two smooth limiters have in common: all but what their limiters are called.

   See guava.c. */
#ifndef VECTORS_GUAVA_H
#define VECTORS_GUAVA_H

#include "guava_inside.h"
#include "runner.h"

enum { GUAVA_VIEWS = 4, GUAVA_OPTIONS_SIZE = 96 };

/* The limiter in units of its own. */
struct guava_view {
    struct inside inside;
    uint64_t per_us; /* weir's ns to a us of the peer's clock */
    double
        per_permit; /* weir's permits to one of the peer's: below 1 above what weir counts; 0: free, INFINITY: endless */
    uint64_t started; /* the latest start that was given or change, in weir's ns */
};

struct guava {
    struct guava_view view[GUAVA_VIEWS]; /* from fine to coarse */
    int finest;                          /* of those whose clock is long enough */
    const char *time_name;               /* the option that is a time ... */
    double time_us;
    char options[GUAVA_OPTIONS_SIZE]; /* ... and the others */
    bool comes_full;                  /* from an infinite rate */
    uint64_t last_us;                 /* where the peer's clock ends */
};

/* Time and options are filled; starts the peer at its own time 0. */
const char *guava_start(struct guava *guava, const struct scene *scene);

void guava_step(void *subject, struct step *step);
void guava_close(void *subject);

#endif
