/* SPDX-License-Identifier: MIT
   One vector file is a list of cases, one case a limiter and a list of steps.

       main.c      directory, order of the files, exit status
       file.c      one file: which cases can run, which family runs them
       judge.c     expected against got; counts, also whose answers they were; prints
       judged.txt  how many of each file the shipped core must judge: judged.sh
       fields.c    numbers out of JSON, a rate as a fraction
       limiter.c   a limit and one state through weir.h
       inside.c    the core's side of a plan: what no text says, looks, changes of limit
       <system>.c  one family each: what the peer's words are in weir's words

   In peers is what the peers answered, in back what they would where a clock goes back; ../peers has the arithmetic of
   those that weir does not keep. */
#ifndef VECTORS_RUNNER_H
#define VECTORS_RUNNER_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/num.h"
#include "weir/weir.h"
#include "wide.h"

#ifndef __SIZEOF_INT128__
typedef wide_unsigned uint128;

static inline uint64_t wide_to_64(uint128 value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}
#endif

enum { EXIT_DIFFERS = 1, EXIT_TROUBLE = 2 };

enum {
    REASONS_MAX = 32,     /* kinds of reason to skip that one file keeps apart */
    REASON_SIZE = 96,     /* bytes of one, with its final NUL */
    COMPARED_MAX = 16,    /* keys of one step */
    MISMATCHES_SHOWN = 20 /* lines a file */
};

struct reason {
    char text[REASON_SIZE];
    uint64_t steps;
};

struct tally { /* of one file; run + skipped = all steps */
    const char *file;
    uint64_t run;
    uint64_t mismatches; /* keys, not steps */
    uint64_t skipped;
    uint64_t by_core;  /* of run: steps with an answer that the shipped core gave */
    uint64_t by_peers; /* of run: those with none, but with one of test/peers: they judge test code */
    size_t reasons;
    struct reason reason[REASONS_MAX];
};

struct scene { /* one case; everything borrowed */
    struct tally *tally;
    const char *name;
    struct json_object *limiter;
    struct json_object *steps;
    uint64_t tolerance_ns;
    uint64_t shift_ns; /* added to every t_ns so that none is negative; whole ms */
};

struct step { /* one step; everything borrowed */
    struct scene *scene;
    size_t index;
    struct json_object *json;
    struct json_object *expect; /* NULL when absent */
    const char *op;
    weir_instant now;
    uint128 at_ns;   /* the same, also beyond 64 bits */
    bool stopped;    /* after a mismatch that left no answer to compare */
    bool from_core;  /* what is compared now is an answer of the shipped core */
    bool by_core;    /* such an answer was compared */
    bool from_peers; /* the same of test/peers */
    bool by_peers;
    bool adapted; /* judge_adapted */
    size_t compared;
    const char *key[COMPARED_MAX]; /* of expect, that have been compared */
};

struct family {                     /* one system; the lists end in NULL */
    const char *system;             /* how the "system" of its files begins */
    const char *const *limiter_key; /* a case with another key, op or argument is not run */
    const char *const *op;
    const char *const *step_key;
    bool starts_at_zero; /* a time below 0 reads 0; else the whole case is shifted */
    size_t subject_size;
    /* The subject is zeroed.  NULL = ready; else why the case is skipped.  close is called either way. */
    const char *(*open)(void *subject, const struct scene *scene);
    void (*step)(void *subject, struct step *step);
    void (*close)(void *subject);
};

/* The systems, a file each. */
#define FAMILIES(row)                                                                                                  \
    row(governor) row(throttled) row(redis_cell) row(go_rate) row(token_pool) row(engineblock) row(envoy)              \
        row(flexible) row(limits_fixed) row(limits_moving) row(limits_sliding) row(guava_bursty) row(guava_warmup)     \
            row(gubernator) row(khenidak_log) row(nginx) row(simrate) row(resilience_atomic) row(resilience_semaphore) \
                row(rolling_log) row(slots)

#define FAMILY_PROTOTYPE(name) const struct family *family_##name(void);
FAMILIES(FAMILY_PROTOTYPE)
#undef FAMILY_PROTOTYPE

/* file.c: 0, or -1 after a message when the file cannot be read as vectors. */
int file_run(struct tally *tally, const char *path);

/* judge.c */
void judge_skip(struct tally *tally, const char *reason, uint64_t steps);
void judge_mismatch(struct step *step, const char *key, const char *expected, const char *got);
void judge_stop(struct step *step, const char *key, const char *expected, const char *got); /* and compare no more */
bool judge_has(struct step *step, const char *key); /* and counts it as compared: the caller does that */
/* Whose answers are compared from here on?  The shipped core's are those that a limit's text leads to: whether
   weir_plan_parse accepts it, what weir_decide and its family say, what a function of its row in the table of
   algorithms says, and the state that these leave.  Not: what an adapter works out itself, and test/peers.  A step
   begins with neither; limiter.c says it of its own answers. */
void judge_from_core(struct step *step, bool from_core);
void judge_from_peers(struct step *step);
/* The clock has gone back, and for the peer's sake the limit is asked at another time, or with other words of state,
   than weir has: no answer of this step is the shipped core's. */
void judge_adapted(struct step *step);
void judge_bool(struct step *step, const char *key, bool got);
void judge_u64(struct step *step, const char *key, uint64_t got);
void judge_i64(struct step *step, const char *key, int64_t got);
void judge_wait(struct step *step, const char *key, uint128 got_ns); /* within the case's tolerance */
void judge_near(struct step *step, const char *key, double got, double tolerance);
void judge_i64s(struct step *step, const char *key, const int64_t *got, size_t count);
void judge_after_i64(struct step *step, const char *key, int64_t got); /* these two: of state_after */
void judge_after_near(struct step *step, const char *key, double got, double tolerance);
void judge_end(struct step *step); /* run, or skipped if a key of expect was not compared */

/* fields.c: false when the key is absent or no number of that type.  What JSON's reader would cut to 64 bits comes as
   text (file.c), here and wherever else numbers are read. */
bool field_wide(struct json_object *object, const char *key, uint128 *value);
bool field_u64(struct json_object *object, const char *key, uint64_t *value);
bool field_i64(struct json_object *object, const char *key, int64_t *value);
bool field_double(struct json_object *object, const char *key, double *value); /* finite or "inf", "-inf", "nan" */
/* Over 64 bits is for ever, absent is none; false when it is below 0. */
bool field_wait(struct json_object *object, const char *key, uint64_t *wait_ns);
struct fraction {
    uint64_t p, q;
};
/* The simplest fraction that rounds to value, which is finite and above 0; false when it needs over 53 bits. */
bool fraction_of(double value, struct fraction *fraction);

/* limiter.c */
struct limiter {
    bool accepted;
    bool overruled; /* not as weir_plan_parse says: limiter_open_gcra */
    weir_error error;
    weir_plan plan;
    void *state; /* owned; these two only of what was accepted */
    size_t state_size;
    uint64_t capacity; /* what a fresh state has remaining */
    /* Of limiter_open_gcra: */
    uint64_t permits;     /* of weir for one of the peer; 0 is another limit */
    uint64_t interval_ns; /* between two of weir's */
    uint64_t kept_word, kept_anchor_ns;
};
void limiter_open(struct limiter *limiter, const char *text);
/* So many, or none, in a fixed window. */
void limiter_open_window(struct limiter *limiter, uint64_t count, uint64_t window_ns, const char *options);
/* Before each question: forgets the windows that are over, where the clock has gone back to before their end. */
void limiter_forget_left(struct limiter *limiter, struct step *step);
/* Opens a window with nothing counted in it, where none is open; weir opens one for what it counts. */
void limiter_begin_window(struct limiter *limiter, weir_instant now);
/* limiter_step, and any call opens a window. */
bool limiter_ask_window(struct limiter *limiter, struct step *step, weir_decision *decision);
/* A sliding log of which no entry is lost until the peer clears it: */
void limiter_open_log(struct limiter *limiter, const struct scene *scene, int64_t count, uint64_t window_ns,
                      const char *options);
/* of what is this old all, or what comes before the first that is not. */
void limiter_clear_log(struct limiter *limiter, uint64_t now_ns, uint64_t age_ns, bool all);
/* Entered in the order of time, and now not before the last? */
bool limiter_log_in_order(const struct limiter *limiter, weir_instant now);
/* weir_decide, and what is entered is entered where the clock is, back or not; and limiter_step of the same. */
weir_decision limiter_decide_log(struct limiter *limiter, struct step *step, uint64_t cost);
bool limiter_ask_log(struct limiter *limiter, struct step *step, weir_decision *decision);
/* One permit each interval, burst at once, by gcra, exact to the ns at any time: before each question the limit's clock
   is set anew at a whole interval, where that rounds nothing; where the burst or a step back lasts long, a ns is a
   permit. */
void limiter_open_gcra(struct limiter *limiter, const struct scene *scene, uint64_t interval_ns, int64_t burst);
/* When was, or will be, all of it drained?  false: it is fresh. */
bool limiter_drained(const struct limiter *limiter, uint64_t *drained_ns);
/* As if this time had been written down: what comes at an earlier one finds less. */
void limiter_keep_time(struct limiter *limiter, weir_instant now);
void limiter_close(struct limiter *limiter);
void limiter_forget(struct limiter *limiter); /* as if never used */
/* Is that all that the step asks: whether weir refuses the arguments as the peer does, or makes the limiter?  Then
   judges it and returns true.  If not, the limit is accepted. */
bool limiter_answered(struct limiter *limiter, struct step *step);
/* false after a mismatch: the step has no n, or the answer is none. */
bool limiter_step(struct limiter *limiter, struct step *step, uint64_t wait_max_ns, weir_decision *decision);

#endif
