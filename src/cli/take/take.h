/* SPDX-License-Identifier: MIT
   The parts of weir take.

       take.c    options, the answer                  state.c   the file that keeps what was used
       wait.c    --wait, and what interrupts it       engine.c  the engine that keeps it instead
       hold.c    slots that a command holds           report.c  the words and the JSON
       command.c the command itself */
#ifndef WEIR_CLI_TAKE_TAKE_H
#define WEIR_CLI_TAKE_TAKE_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include <weir/redis.h>

#include "cli/common/arguments.h"
#include "core/decide.h"

enum { TAKE_TEXT_MAX = 8192, TAKE_KEY_MAX = 4096, TAKE_PATH_MAX = 4096 };

struct take {
    /* as asked for */
    const char *limit;
    const char *key_text;                            /* NULL: the limit itself */
    char **command;                                  /* NULL: only the status */
    const char *state;                               /* --state, or NULL */
    const char *engine_url, *prefix, *password_file; /* or NULL */
    const char *cost, *renew, *release;              /* or NULL */
    uint64_t wait_ns;
    bool peek, json, reset;
    int refused_status; /* -1: the usual one */
    unsigned lost_word; /* of --lost-signal, from 1 on; 0: the usual one */

    weir_plan plan;
    uint64_t each[WEIR_LIMITS_MAX]; /* what it costs */
    uint64_t lease_ns;              /* under a concurrent limit; 0: there is none */
    char canonical[TAKE_TEXT_MAX];
    weir_key key;
    char path[TAKE_PATH_MAX];
    weir_table *table; /* NULL: this limit keeps nothing, or the engine keeps it */
    struct take_engine *engine;

    uint64_t asked_ns; /* when it began */
    uint64_t taken_ns; /* when it was asked for last, so not after it was taken */
    bool waited;       /* it did not pass then */
    bool lost;         /* who keeps it did not answer: told, and nothing was taken */
    weir_decision decision;
    uint64_t end[WEIR_LIMITS_MAX]; /* of it */
};

/* What became of slots: held, not held any more, or nobody could say. */
enum held { HELD, HELD_NO_MORE, HELD_UNKNOWN };

/* ---- state.c ---- */

/* Opens the table of this limit.  Prints what is wrong and what to do, and returns STATUS_TROUBLE. */
int take_open(struct take *take);

/* ---- engine.c ---- */

/* As take_open; take_engine_close is for whatever came of it. */
int take_engine_open(struct take *take);
void take_engine_close(struct take *take);

/* Fills decision, or lost. */
void take_engine_ask(struct take *take, bool peek);
void take_engine_give_back(struct take *take);
bool take_engine_forget(struct take *take); /* false: it did not answer, and that was said */
enum held take_engine_hold(struct take *take, uint64_t id, enum hold hold);
const char *take_engine_why(const struct take *take); /* what was wrong last */

/* ---- wait.c ---- */

/* What ends a wait; of these none that the parent process has set to be ignored. */
void take_ending_signals(sigset_t *set);

/* What was taken is as if it never had been. */
void take_give_back(struct take *take);

/* Takes, at the latest when the bound is over.  Returns 0, or the signal that ended the wait: then nothing is taken. */
int take_decide(struct take *take);

/* ---- hold.c ---- */

/* Runs the command while it holds what was taken, and returns the status to leave with.  before: the signals that were
   blocked when weir began */
int take_hold(struct take *take, const sigset_t *before);

/* --renew and --release. */
int take_end(struct take *take);

/* ---- command.c ---- */

/* Starts it with these signals blocked; the system sends it lost_signal when this process ends before, 0: nothing.
   Returns 0, or an errno value. */
int command_start(char **command, const sigset_t *blocked, int lost_signal, pid_t *child);

/* Becomes the command; returns an errno value. */
int command_become(char **command);

/* Says why there is no such command, and returns the status to leave with. */
int command_trouble(char **command, int why);

/* ---- report.c ---- */

/* Of a refusal: why, and when again. */
void take_print_refusal(const struct take *take, FILE *out);
void take_print_peek(const struct take *take);
void take_print_json(const struct take *take);

/* Why it can never pass. */
void take_print_never(const struct take *take);

#endif
