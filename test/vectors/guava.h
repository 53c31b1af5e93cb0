/* SPDX-License-Identifier: MIT
   guava.h - what Guava's two smooth limiters have in common: all but what their limiters are called.

   See guava.c. */
#ifndef VECTORS_GUAVA_H
#define VECTORS_GUAVA_H

#include "guava_inside.h"
#include "runner.h"

enum { GUAVA_OPTIONS_SIZE = 128 };

struct guava {
    struct inside inside;
    char options[GUAVA_OPTIONS_SIZE]; /* of the limit's text, behind the rate */
    uint64_t per_us;                  /* weir's ns to a us of the peer's clock */
    uint64_t per_ns;                  /* the most of weir's permits in one of weir's ns */
    double per_permit; /* weir's permits to one of the peer's: below 1 above what weir counts, INFINITY: endless */
    uint64_t started;  /* the latest start that was given or change, in weir's ns */
    uint64_t last_us;  /* where the peer's clock ends */
};

/* Chooses the units of this case; more_us: what a call costs at most beside its permits. */
void guava_units(struct guava *guava, const struct scene *scene, double more_us);

/* The units and options are filled; starts the peer at its own time 0. */
const char *guava_start(struct guava *guava, const struct scene *scene);

void guava_step(void *subject, struct step *step);
void guava_close(void *subject);
#endif
