/* SPDX-License-Identifier: MIT
   What an exploration keeps: the row of nodes, and the execution that runs (model.c, races.c). */
#ifndef WEIR_TEST_MODEL_EXPLORE_H
#define WEIR_TEST_MODEL_EXPLORE_H

#include <setjmp.h>

#include "coroutine.h"
#include "model.h"

enum { THREADS = MODEL_THREADS_MAX, PLACES = MODEL_PLACES_MAX, STEPS = MODEL_STEPS_MAX, NODES = 2 * STEPS };
enum { OUTSIDE = -1, NONE = -1 };

_Static_assert(PLACES <= 64, "sets of places are masks");
_Static_assert((int)THREADS <= (int)COROUTINES_MAX, "a stack for each thread");

struct operation {
    enum model_kind kind;
    int place;       /* of the one word; NONE for a wake */
    uint64_t places; /* as a mask: all words it conflicts on */
    const uint64_t *word;
    uint64_t *target;  /* the same word, if it may be written */
    uint64_t value;    /* stored, added or swapped in */
    uint64_t expected; /* of a swap */
    uint64_t seen;     /* result */
    enum model_order order;
    int found; /* [of weak orders] which write of the word */
    const char *site;
};

struct thread {
    struct operation next;
    uint32_t clock[THREADS];   /* how many steps of each thread come before what it does next */
    uint64_t versions[PLACES]; /* of each word, when it was last read or written here */
    uint64_t window;           /* words read since the last pause */
    bool fresh;                /* learned, wrote or chose something since the last pause */
    bool finished;
};

struct place {
    const void *address;
    uint64_t version;   /* writes so far, plus 1 */
    int write;          /* the last event that wrote it, or NONE */
    int reads[THREADS]; /* the last event of each thread that read it since, or NONE */
};

struct event {
    int thread;
    int node;
    uint32_t clock[THREADS]; /* its own entry is its number in its thread, from 1 */
};

struct node {
    bool turn;
    uint64_t count;         /* choice: below which */
    uint64_t chosen;        /* number, or thread */
    unsigned enabled;       /* turn, sets of threads: that could go on */
    unsigned wanted;        /* to be tried */
    unsigned done;          /* tried, all behind it included */
    unsigned asleep;        /* need not be tried */
    int preempted;          /* turns taken away so far, in the row up to here */
    struct model_step made; /* to notice executions that do not repeat */
};

struct exploration {
    const struct model_scenario *scenario;
    struct model_result result;
    struct node nodes[NODES];
    int node_count;
    int cursor;    /* the next node to follow, or to add */
    int first_new; /* races of turns before this one were looked at in an earlier execution */
    struct thread threads[THREADS];
    struct place places[PLACES];
    int place_count;
    struct event events[STEPS];
    int event_count;
    struct model_step trace[NODES];
    int trace_count;
    int running; /* the thread whose code runs, or OUTSIDE */
    int last;    /* who made the last step */
    int preempted;
    int late;        /* loads that did not find the newest */
    unsigned asleep; /* for the next turn */
    bool walks;      /* by chance, not through all of them */
    uint64_t random;
    unsigned stays, newest; /* [walks] of 16 turns and of 16 loads, so many more than half go on and find the newest */
    jmp_buf outside;        /* out of begin or end, when a check fails */
};

static inline unsigned bit(int thread)
{
    return 1U << thread;
}

static inline int lowest(unsigned set)
{
    int thread = 0;
    while (!(set & bit(thread))) thread++;
    return thread;
}

static inline bool explore_reduces(const struct exploration *x)
{
    return !x->scenario->plain && x->scenario->preemptions_max == 0;
}

/* A step of a thread, before it is made; finds what it races with. */
void races_record(struct exploration *x, int thread, const struct operation *op, bool wrote, int node);

#endif
