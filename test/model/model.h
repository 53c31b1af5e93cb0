/* SPDX-License-Identifier: MIT
   Runs two to four threads through all their interleavings, by doing it again and again.

   With no bound set and `complete` in the result, every order of the atomic steps was seen, up to the order of steps
   that do not affect each other, and every value of every choice.

   A step is one call of share/atomic.h (the shim's) plus the plain code after it, up to the thread's next step.  So:

   * All that threads share is in atoms, or is announced with model_touch before each access; the reduction sees
     nothing else.  A log kept for `end` is in order if it is written right after the step whose order it records.
   * `begin` resets all of it: an execution must come out the same when its choices are made the same.
   * A loop that waits calls atom_pause.  A thread that has read, since its last pause, only what it had seen before,
     and written and chosen nothing, sleeps in the pause until a word it read is written; so spinning ends, and threads
     that all sleep are a deadlock.  A loop that gives up after n pauses does not fit this.
   * A loop without pause that only others can end runs into MODEL_STEPS_MAX and is reported as a livelock.

   Steps come in one order for all threads, or have C11's memory orders (`weak`; memory.h): then each load is tried with
   all writes that it may find.  These environments set what a scenario does not say:

       WEIR_MODEL_WEAK=1             all scenarios are weak, and those with planted mistakes are left out
       WEIR_MODEL_BOUNDS=P,L         at most P preemptions and L late loads (0: any number)
       WEIR_MODEL_WALKS=SEED         no order of executions but by chance, up to the number of steps
       WEIR_MODEL_WEAKEN=SITE=ORDER  this step of the sources is weaker than it says (tools/orders)
       WEIR_MODEL_SITES=1            lists which steps of the sources each scene reached, to stderr
       WEIR_MODEL_SCENE=NAME         leaves all other scenes out */
#ifndef WEIR_TEST_MODEL_H
#define WEIR_TEST_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MODEL_THREADS_MAX = 4,
    MODEL_PLACES_MAX = 64,  /* words that the threads of one execution touch */
    MODEL_STEPS_MAX = 2000, /* steps, and likewise choices, of one execution */
    MODEL_SITES_MAX = 500,
    MODEL_MESSAGE_MAX = 200
};

struct model_scenario {
    const char *name;                        /* borrowed */
    int threads;                             /* 1 .. MODEL_THREADS_MAX */
    void (*begin)(void);                     /* resets the shared state, before each execution; may be null */
    void (*thread[MODEL_THREADS_MAX])(void); /* the bodies; they may be the same function, see model_thread */
    void (*end)(void);                       /* checks, after all threads finished; may be null */
    bool plain;                              /* every order, without reduction: the oracle of the reduction */
    int preemptions_max;                     /* 0: any number; else only orders that take the turn away from a
                                                    thread that could go on at most so often (without reduction) */
    uint64_t steps_max;                      /* 0: any number; else stop there, not complete */
    bool weak;                               /* with the orders of C11 (memory.h); else steps in one order for all */
    int late_max;                            /* [weak] 0: any number; else only executions with so many loads that do
                                                    not find the newest, nor again the one before */
};

enum model_order { MODEL_RELAXED, MODEL_ACQUIRE, MODEL_RELEASE, MODEL_BOTH, MODEL_FULL };

enum model_kind {
    MODEL_LOAD,
    MODEL_STORE,
    MODEL_SWAP,
    MODEL_MISS, /* a swap that found another value */
    MODEL_ADD,
    MODEL_TOUCH,
    MODEL_WAKE, /* a pause that had to wait */
    MODEL_FENCE,
    MODEL_CHOOSE
};

struct model_step {
    enum model_kind kind;
    int thread;       /* -1: begin or end */
    int place;        /* which word, in the order in which they are first reached; -1: none */
    uint64_t seen;    /* what was there before */
    uint64_t value;   /* written; of a miss: what it hoped for; of a choice: chosen */
    int late;         /* so many newer writes of the word it did not find */
    const char *site; /* in the sources; borrowed, NULL: unknown */
};

struct model_result {
    const char *name;
    uint64_t executions; /* run to their end, or to the failure */
    uint64_t cut;        /* given up half-way, as equal to one already seen */
    uint64_t steps;      /* all steps, those done again included */
    bool failed;
    bool complete; /* nothing failed and nothing is left to see within the bounds asked for */
    char message[MODEL_MESSAGE_MAX];
    const struct model_step *trace; /* the execution that failed; borrowed until the next model_run() */
    int trace_count;
};

/* Stops at the first failure.  Not reentrant: one exploration at a time in a process. */
struct model_result model_run(const struct model_scenario *scenario);

/* One line; after a failure also its message and steps. */
void model_print(const struct model_result *result, FILE *file);

/* The following are for programs that go through scenes.  Where a scene is larger than WEIR_SIZE wants (size.h), it is
   left half-way, and a line says so. */

/* So many steps may a scene have; 0: any number, as in WEIR_SIZE=prove when WEIR_MODEL_SCENE asks for it alone. */
uint64_t model_steps_max(void);

/* Did WEIR_MODEL_SCENE ask for another one? */
bool model_leaves_out(const char *scene);

enum model_end { MODEL_OK, MODEL_FAILED, MODEL_LEFT };

/* Counts a scene that ended so; returns what its line begins with. */
const char *model_counted(enum model_end end);

/* Explores a scene, prints its line and counts it: ok when it holds in all interleavings, or, where a mistake was
   planted, when what is found speaks of it ("": whatever it is).  With WEIR_MODEL_WEAK set all scenes have weak orders,
   and mistakes are left out. */
enum model_end model_judge(const struct model_scenario *scenario, const char *mistake);

/* The last line, with the counts.  Returns the program's status. */
int model_status(void);

/* The following are for begin, threads and end. */

/* If it does not hold: the execution stops here (the call does not return) and the exploration fails. */
void model_check(bool holds, const char *message);

/* A number below n, and in other executions the others.  For time that moves on, sizes, crashes.  n is at least 1. */
uint64_t model_choose(uint64_t n);

/* Announces an access to plain memory that threads share, as a step that conflicts with every other step there.  With
   weak orders it fails if nothing orders it behind the last one. */
void model_touch(const void *where);

/* The number of the running thread, or -1 in begin and end. */
int model_thread(void);

/* Are loads allowed to find what is not the newest?  Then what a thread is told may be of a moment before its call. */
bool model_is_weak(void);

/* The following are for the shim of share/atomic.h; order: an enum model_order, site: "FILE:LINE" of the call. */
uint64_t model_load(const uint64_t *word, int order, const char *site);
void model_store(uint64_t *word, uint64_t value, int order, const char *site);
bool model_swap(uint64_t *word, uint64_t *expected, uint64_t desired, int order, const char *site);
uint64_t model_add(uint64_t *word, uint64_t more, int order, const char *site);
void model_fence(int order, const char *site);
void model_pause(void);

#endif
