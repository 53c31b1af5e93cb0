/* SPDX-License-Identifier: MIT
   The parts of weir take.

       take.c    options, the answer, the command     state.c   the file that keeps what was used
       wait.c    --wait, and what interrupts it       report.c  the words and the JSON
       engine.c  the engine that keeps it instead */
#ifndef WEIR_CLI_TAKE_TAKE_H
#define WEIR_CLI_TAKE_TAKE_H

#include <stdio.h>

#include <weir/redis.h>

#include "cli/common/arguments.h"

enum { TAKE_TEXT_MAX = 8192, TAKE_KEY_MAX = 4096, TAKE_PATH_MAX = 4096 };

struct take {
    /* as asked for */
    const char *limit;
    const char *key_text;                            /* NULL: the limit itself */
    char **command;                                  /* NULL: only the status */
    const char *state;                               /* --state, or NULL */
    const char *engine_url, *prefix, *password_file; /* or NULL */
    uint64_t cost, wait_ns;
    bool peek, json, reset;
    int refused_status; /* -1: the usual one */

    weir_plan plan;
    char canonical[TAKE_TEXT_MAX];
    weir_key key;
    char path[TAKE_PATH_MAX];
    weir_table *table; /* NULL: this limit keeps nothing, or the engine keeps it */
    struct take_engine *engine;

    uint64_t asked_ns; /* when it began */
    bool waited;       /* it did not pass then */
    bool lost;         /* who keeps it did not answer: told, and nothing was taken */
    weir_decision decision;
};

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

/* ---- wait.c ---- */

/* What was taken is as if it never had been. */
void take_give_back(struct take *take);

/* Takes, at the latest when the bound is over.  Returns 0, or the signal that ended the wait: then nothing is taken. */
int take_decide(struct take *take);

/* ---- report.c ---- */

/* Of a refusal: why, and when again. */
void take_print_refusal(const struct take *take, FILE *out);
void take_print_peek(const struct take *take);
void take_print_json(const struct take *take);

/* Why it can never pass. */
void take_print_never(const struct take *take);

#endif
