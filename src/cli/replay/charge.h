/* SPDX-License-Identifier: MIT
   weir replay --charge: what a followed log gains is charged to a running weir serve; charge_none.c without hiredis. */
#ifndef WEIR_CLI_REPLAY_CHARGE_H
#define WEIR_CLI_REPLAY_CHARGE_H

#include <stdint.h>

#include "format/slice.h"

struct charge;

struct charge_options {
    const char *url, *limit; /* the limit's name there, or its text */
    const char *password_file;
};

/* Requests, and how often the service went away. */
struct charge_counts {
    uint64_t charged;
    uint64_t refused; /* answered with an error */
    uint64_t lost;    /* never sent; or sent and never answered, so that nobody knows */
    uint64_t outages;
};

/* A line of what happens to it, while the log is read. */
typedef void charge_say(void *context, const char *text);

/* Looks whether the service has the limit; options are borrowed.  Says why not, and returns STATUS_TROUBLE; a service
   that is away may come later. */
int charge_open(struct charge **owned, const struct charge_options *options, charge_say *say, void *context);

/* On its way with the next charge_turn. */
void charge_put(struct charge *charge, struct slice key, uint64_t cost);
void charge_turn(struct charge *charge);

/* Waits a second at most for what is not answered. */
struct charge_counts charge_finish(struct charge *charge);

void charge_close(struct charge *charge); /* NULL is fine */

#endif
