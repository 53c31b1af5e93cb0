/* SPDX-License-Identifier: MIT
   The states of many clients, where each sliding log has only as much of its ring as its client needs.

   See states.c. */
#ifndef WEIR_CLI_REPLAY_STATES_H
#define WEIR_CLI_REPLAY_STATES_H

#include <weir/weir.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct states {
    const weir_plan *plan;               /* borrowed */
    int logs;                            /* limits that are sliding logs; 0: a client's words are its state */
    size_t words;                        /* that a client has with the caller, zeroed at first */
    size_t limit_words[WEIR_LIMITS_MAX]; /* of the state of each limit */
    uint64_t *whole;                     /* where the state of a list is put together */
};

struct states_question {
    uint64_t now_ns, settled_ns; /* nothing of this client is asked for before settled_ns from now on */
    const uint64_t *cost;        /* of each limit */
    uint64_t wait_max_ns;
};

/* False: no memory. */
bool states_open(struct states *states, const weir_plan *plan);
void states_close(struct states *states);

/* The same answer as decide() on a whole state.  client: its words.  False: no memory, and nothing is
   changed. */
bool states_decide(const struct states *states, uint64_t *client, const struct states_question *question,
                   weir_decision *decision);

/* The words of one limit of a client that was asked for. */
uint64_t *states_part(const struct states *states, uint64_t *client, int limit);

/* Gives a client's memory back. */
void states_forget(const struct states *states, uint64_t *client);

/* Where there are logs: what a client's word refers to, NULL before it is asked. */
static inline uint64_t *states_block(const uint64_t *client)
{
    return (uint64_t *)(uintptr_t)*client;
}

#endif
