/* SPDX-License-Identifier: MIT
   limiter.h - the inside of a weir_limiter: where the three rooms below meet.

       open.c   made, stopped, counted, freed        take.c   asked: time (host) -> a home (share) -> tally
       change.c another limit, in use                wait.c   the line of those who wait
       lease.c  permits that threads take along */
#ifndef WEIR_API_LIMITER_H
#define WEIR_API_LIMITER_H

#include <weir/weir.h>

#include "plan/plan.h"
#include "host/clock.h"
#include "host/sleep.h"
#include "host/thread.h"
#include "share/cell.h"
#include "share/line.h"
#include "share/log.h"
#include "share/word.h"
#include "share/word_short.h"

enum { CHANGES_KEPT = 16 };

/* Counted by one thread each, so that counting writes nothing shared; the last is for threads beyond, who note
   nothing. */
struct tally {
    _Alignas(SHARE_LINE) struct atom allowed;
    struct atom granted, denied, delayed, waiting_ns;
    struct note note;
};

_Static_assert(sizeof(struct tally) == SHARE_LINE, "a thread has a line of its own");

/* In the order in which they will start. */
struct waiter {
    struct waiter *before, *after;
    weir_decision decision;
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
};

/* Where the state lives: only one of them is open. */
enum home { HOME_WORD, HOME_LOG, HOME_CELL };

/*  line 0      clock ... log       read by every call, written by changes and a stop
    line 1      grain_ns ...        read by those who sleep or take along
    lines       word                see word.h
    lines       cell                see cell.h
    lines       tally               one for each thread
    beyond      event ...           written when something happens, most of it under the mutex */
struct weir_limiter {
    _Alignas(SHARE_LINE) weir_clock clock;
    weir_use use;
    struct host_ticker *ticker;
    struct atom knows; /* 1: its state may know without the clock that a call passes */
    struct atom stopped;
    struct atom clock_ends_ns;  /* when the limit's clock has to be set anew */
    struct atom counts_refused; /* 1: a refusal is written down, so none may be made on the way */
    struct atom log;            /* the address of a sliding log's ring, 0 until one is needed; older ones hang on it */
    uint64_t alone;

    uint64_t grain_ns, spin_ns;
    uint64_t ahead_ns; /* permits that start so soon may be taken along */
    struct atom manual_ns;

    _Alignas(SHARE_LINE) struct word word; /* one limit of one word; says "elsewhere" when another has it */
    _Alignas(SHARE_LINE) struct cell cell;
    struct tally tally[HOST_SLOTS + 1];

    struct host_event event; /* a change, a stop, a new manual time */
    struct host_mutex mutex; /* around what follows, and around every change */
    struct waiter *first, *last;
    struct holder *holders; /* of leases */
    weir_plan plan;
    enum home home;
    uint32_t generation; /* how many changes there have been */
    struct change change[CHANGES_KEPT];
};

_Static_assert(offsetof(struct weir_limiter, grain_ns) == SHARE_LINE, "what every call reads is one line");
_Static_assert(offsetof(struct weir_limiter, word) % SHARE_LINE == 0, "the word has its lines for itself");
_Static_assert(offsetof(struct weir_limiter, cell) % SHARE_LINE == 0, "so has the cell");
_Static_assert(offsetof(struct weir_limiter, tally) % SHARE_LINE == 0, "and so has what a thread counts");

static inline uint64_t limiter_now_ns(const weir_limiter *limiter)
{
    switch (limiter->clock) {
    case WEIR_CLOCK_COARSE:
        return host_now_coarse_ns();
    case WEIR_CLOCK_TICKER:
        return host_ticker_now_ns(limiter->ticker);
    case WEIR_CLOCK_MANUAL:
        return atom_load(&limiter->manual_ns);
    default:
        return host_now_ns();
    }
}

/* NULL until one was needed; closed when the state lives elsewhere. */
static inline struct log *limiter_log(const weir_limiter *limiter)
{
    return (struct log *)(uintptr_t)atom_load_acquire(&limiter->log);
}

static inline bool limiter_stopped(const weir_limiter *limiter)
{
    return atom_load(&limiter->stopped) != 0;
}

/* Neither stopped nor due for a new clock: the word alone decides, where it has the state. */
static inline bool limiter_is_plain(const weir_limiter *limiter, uint64_t now_ns)
{
    return now_ns < atom_load(&limiter->clock_ends_ns) && !limiter_stopped(limiter);
}

/* ---- change.c ---- */

/* Shows the rules and states in force, in word or cell; they hold still meanwhile.  Of a log it shows nothing. */
void limiter_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context),
                  void *context);

/* [under the mutex] Moves everything over to another plan at now_ns. */
int limiter_change(weir_limiter *limiter, const struct plan *plan, uint64_t now_ns, weir_carry carry,
                   weir_error *error);

/* [under the mutex] A larger ring, for more that wait, unless there is another one already than the full one. */
int limiter_grow_log(weir_limiter *limiter, const struct log *full, uint64_t now_ns);

/* When decades have passed on the limit's clock: the same limit, its clock set anew. */
void limiter_renew(weir_limiter *limiter, uint64_t now_ns);

/* ---- lease.c ---- */

/* Lets all leases know that there is no limiter any more. */
void limiter_leave_leases(weir_limiter *limiter);

/* ---- wait.c ---- */

/* Sleeps towards a start; returns early when something happened since `seen`, and otherwise not before it. */
void limiter_sleep(weir_limiter *limiter, uint32_t seen, uint64_t start_ns);

/* ---- take.c ---- */

/* Decides and takes, uncounted. */
void limiter_ask(weir_limiter *limiter, const struct ask *ask, weir_decision *decision);

/* [under the mutex] The same. */
void limiter_ask_inside(weir_limiter *limiter, const struct ask *ask, weir_decision *decision);

void limiter_count(weir_limiter *limiter, const weir_decision *decision);

/* Calls that were allowed elsewhere, without a delay. */
void limiter_count_leased(weir_limiter *limiter, uint64_t calls, uint64_t permits);

#endif
