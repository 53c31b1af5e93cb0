/* SPDX-License-Identifier: MIT
   The inside of a weir_limiter, where the host, the state (share) and the plan meet.

       open.c   opening, stopping, closing            take.c   calls: time (host) -> a home (share) -> tally
       change.c another limit, while in use           home.c   where the state is stored
       wait.c   sleeping until a start                queue.c  the waiters, and their order
       turns.c  waiting for slots, in order           hold.c   slots that are held
       lease.c  permits that threads take in advance  stock.c  permits that are due, for threads that wait
       report.c counters, and when operations were due   fork.c   when the process forks
       latency.c  how long operations took */
#ifndef WEIR_API_LIMITER_H
#define WEIR_API_LIMITER_H

#include <weir/weir.h>

#include "api/tally.h"
#include "api/turns.h"
#include "plan/plan.h"
#include "host/clock.h"
#include "host/sleep.h"
#include "host/thread.h"
#include "host/tsc.h"
#include "share/cell.h"
#include "share/line.h"
#include "share/log_view.h"
#include "share/stock.h"
#include "share/word.h"
#include "share/word_fast.h"

/* A lease may take permits that start this soon, or within the minimum sleep if that was set. */
enum { AHEAD_NS = 4000 };

/* All napping threads together are woken this often, each after at least the minimum sleep. */
enum { WAKES_IN_A_MIN_SLEEP = 2 };

/* The state may decide without the clock that a call passes. */
enum { WAY_UNREAD = WEIR_CLOCK_TSC + 1 };

/* Each is written by one thread, so that counting writes nothing shared; the last one is shared by threads without an
   index, which note nothing. */
struct tally {
    _Alignas(SHARE_LINE) struct atom allowed;
    struct atom more; /* permits granted beyond one for each call allowed; modulo 2^64, since a call may be for none */
    struct atom denied, delayed, waiting_ns;
    struct note note;
};

_Static_assert(sizeof(struct tally) == SHARE_LINE, "a thread has a line of its own");

/* A thread that sleeps until the start that it has reserved. */
struct waiter {
    struct waiter *before, *after; /* in its queue */
    struct waiter *next;           /* in the list of a change */
    weir_decision decision;        /* verdict 0: its start is gone, and it has to call again */
    uint64_t cost;
    struct turn *turn; /* if it has to call again for want of slots, it is put among those who wait for some: */
    bool queues;
    const uint64_t *each; /* as in struct ask */
    uint64_t *ends;       /* the caller's, if it wants them; NULL: in end */
    uint64_t end[WEIR_LIMITS_MAX];
    struct undo undo; /* not used by a log */
    bool again;       /* as in struct ask */
};

/* The wait queue of the threads with one index, mostly a single one: so joining and leaving write nothing shared. */
struct queue {
    _Alignas(SHARE_LINE) struct atom lock; /* 1 while held: for some ns, or during a change */
    struct waiter *first;
};

/* The threads that sleep without a reservation, see wait.c. */
struct naps {
    _Alignas(SHARE_LINE) struct atom count;
    struct atom timer_ns;   /* the last one that was set */
    struct atom late_ns;    /* how late threads wake, on average */
    struct atom changing;   /* 1: a change wants the stock, and no thread competes for its lock */
    struct atom granted_ns; /* the last call that came while none had to wait */
};

/* Where the state is stored: at most one home is open, and none during a change. */
enum home { HOME_WORD, HOME_LOG, HOME_CELL };

/* The content of a home that is closed: plain memory of the thread that has the mutex. */
struct home_held {
    enum home home;
    struct cell_content content; /* the rules of all homes, and the states of a word and a cell */
    struct log_view log;
    uint64_t value, out; /* the state of a word; permits in leases */
};

/*  lines       word                see word.h; first, so that its address is the limiter's
    a line      clock ... log       read by every call, written by changes and a stop
    a line      min_sleep_ns ...    read by threads that sleep or take leases
    lines       cell                see cell.h
    lines       tally, queue        one for each thread index
    a line      naps                written by threads that nap
    a line      stock               written by threads that wait for one start after another
    a line      turns               written by threads that wait for slots
    beyond      event ...           written when something happens, most of it under the mutex */
struct weir_limiter {
    struct word word; /* one limit of one word; closed if another home has it */
    _Alignas(SHARE_LINE) weir_clock clock;
    weir_use use;
    struct host_ticker *ticker;
    struct atom way; /* in which weir_take gets the time: a weir_clock, or WAY_UNREAD */
    struct atom stopped;
    struct atom clock_ends_ns;  /* when the limit's clock has to be set again */
    struct atom counts_refused; /* 1: refusals change the state, so none may be made on the way to a wait */
    struct atom log; /* the address of a sliding log's ring, 0 until one is needed; older rings are chained to it */
    struct atom begun_ns; /* 0: no call was granted yet */

    _Alignas(SHARE_LINE) uint64_t min_sleep_ns;
    uint64_t spin_ns, spin_processors;
    bool naps_least;        /* no minimum was asked for, so naps are as short as pays */
    uint64_t ahead_ns;      /* permits that start this soon may go into a lease */
    struct atom spacing_ns; /* from one start to the next */
    struct atom room_ns;    /* how much of the schedule can be made up for at once */
    struct atom manual_ns;
    struct atom late_max_ns; /* the most by which a call was granted after it was due */

    _Alignas(SHARE_LINE) struct cell cell;
    struct tally tally[HOST_SLOTS + 1];
    struct queue queue[HOST_SLOTS + 1]; /* by thread, as the tally */
    struct naps naps;
    struct stock stock;
    _Alignas(SHARE_LINE) struct turns turns;
    struct atom holds; /* the number of the concurrent limit, and 1 more; 0: there is none */

    struct atom has_schedule; /* 1: some limit has, so decisions may be due before their start */
    struct atom latency;      /* the address of a struct latency, 0 until an operation is done */
    struct atom paused_at_ns; /* 0: it is running */
    struct atom paused_ns;    /* the total of earlier pauses */
    struct host_event event;  /* a change, a stop, a new manual time */
    struct host_mutex mutex;  /* protects what follows, and every change */
    struct holder *holders;   /* the holders of leases */
    struct host_fork_watch fork_watch;
    struct log_view held; /* while the process forks */
    weir_plan plan;
    enum home home;
    uint32_t generation; /* the number of changes */
    struct atom ends;    /* 1: the limit may have an end, after which a call that waits would wait for ever */
};

_Static_assert(offsetof(struct weir_limiter, min_sleep_ns) - offsetof(struct weir_limiter, clock) == SHARE_LINE,
               "what every call reads is one line");
_Static_assert(offsetof(struct weir_limiter, cell) % SHARE_LINE == 0, "so has the cell");
_Static_assert(offsetof(struct weir_limiter, tally) % SHARE_LINE == 0, "and so has what a thread counts");
_Static_assert(offsetof(struct weir_limiter, queue) % SHARE_LINE == 0 && sizeof(struct queue) == SHARE_LINE,
               "and so has its wait queue");
_Static_assert(offsetof(struct weir_limiter, naps) % SHARE_LINE == 0, "and the naps of all");

static inline uint64_t limiter_now_ns(const weir_limiter *limiter)
{
    if (limiter->clock == WEIR_CLOCK_SYSTEM) return host_now_ns(); /* first, since most limiters use it */
    switch (limiter->clock) {
    case WEIR_CLOCK_COARSE:
        return host_now_coarse_ns();
    case WEIR_CLOCK_TICKER:
        return host_ticker_now_ns(limiter->ticker);
    case WEIR_CLOCK_MANUAL:
        return atom_load(&limiter->manual_ns);
    case WEIR_CLOCK_TSC:
        return host_tsc_now_ns();
    default:
        return host_now_ns();
    }
}

/* NULL until one is needed; closed if the state is stored elsewhere. */
static inline struct log *limiter_log(const weir_limiter *limiter)
{
    return (struct log *)(uintptr_t)atom_load_acquire(&limiter->log);
}

/* The time at which it was paused, otherwise now_ns. */
static inline uint64_t limiter_stands_ns(const weir_limiter *limiter, uint64_t now_ns)
{
    const uint64_t paused_at_ns = atom_load(&limiter->paused_at_ns);
    return paused_at_ns != 0 ? paused_at_ns : now_ns;
}

/* True for clocks by which nothing becomes due in a nap.  By the system's clock a reserved start may be due already, so
   it is taken. */
static inline bool limiter_stands_still(const weir_limiter *limiter)
{
    return limiter->clock != WEIR_CLOCK_SYSTEM && limiter->clock != WEIR_CLOCK_TSC;
}

/* The most that any thread has seen. */
static inline void limiter_raise(struct atom *most_yet, uint64_t value)
{
    uint64_t seen = atom_load(most_yet);
    while (seen < value && !atom_swap(most_yet, &seen, value)) continue;
}

static inline bool limiter_paused(const weir_limiter *limiter)
{
    return atom_load(&limiter->paused_at_ns) != 0;
}

/* Some call waits for slots: one that comes now is behind it. */
static inline bool limiter_has_turns(const weir_limiter *limiter)
{
    return turns_waiting(&limiter->turns) != 0;
}

static inline bool limiter_stopped(const weir_limiter *limiter)
{
    return atom_load(&limiter->stopped) != 0;
}

/* ---- change.c ---- */

/* True if this text of a limit means a pause. */
bool limiter_is_pause(const char *text);

/* [under the mutex] Changes to another plan at now_ns, and ends a pause. */
int limiter_change(weir_limiter *limiter, const struct plan *plan, uint64_t now_ns, weir_carry carry,
                   weir_error *error);

/* Sets the clock of the same limit again, when decades have passed on it. */
void limiter_renew(weir_limiter *limiter, uint64_t now_ns);

/* ---- fork.c ---- */

/* From here until the limiter is closed, a child has a consistent copy, without what belongs to threads of the
   parent. */
void limiter_watch_forks(weir_limiter *limiter);

/* ---- home.c ---- */

/* True if no change is in progress. */
bool home_is_open(const weir_limiter *limiter);

/* Passes the rules and states in force to `look`, from word or cell; nothing changes them meanwhile.  Of a log it
   passes nothing. */
void limiter_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context),
                  void *context);

/* [under the mutex] The same, and the rule of a log. */
void home_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context), void *context);

enum home home_of(const struct plan *plan);

/* The memory that a limiter allocates for this plan, until more calls wait than the log has room for. */
uint64_t limiter_bytes(const struct plan *plan);

/* The memory for the home of a plan; `failed` if there is none. */
struct home_room {
    enum home home;
    uint64_t *state;
    struct profile *profile; /* NULL: the plan has none */
    struct log *log;
    bool failed;
};

struct home_room home_make_room(const weir_limiter *limiter, const struct plan *plan, uint64_t now_ns);

/* [under the mutex] Takes the state out of its home: until home_open callers find none open and retry. */
void home_close(weir_limiter *limiter, struct home_held *held);
void home_open(weir_limiter *limiter, struct home_held *held);

/* [closed] Carries the state at stood_ns over to these rules, whose clocks begin at now_ns and are set here. */
void home_carry(weir_limiter *limiter, struct home_held *held, struct rule rule[], int count,
                const struct home_room *room, uint64_t stood_ns, uint64_t now_ns, weir_carry carry);

/* [closed] Makes a larger ring for more waiting calls; false without memory. */
bool home_widen(weir_limiter *limiter, struct home_held *held, uint64_t now_ns);

/* [under the mutex] The same for callers, unless the full ring was replaced already. */
int limiter_grow_log(weir_limiter *limiter, const struct log *full, uint64_t now_ns);

/* Moves the schedules, as cell_shift does, if there are any. */
void limiter_shift(weir_limiter *limiter, uint64_t permits, const uint64_t each[], bool back);

/* ---- lease.c ---- */

/* In the child of a fork: the leases of the parent's threads are not available here. */
void limiter_forget_leases(weir_limiter *limiter);

/* Tells all leases that the limiter is closed. */
void limiter_leave_leases(weir_limiter *limiter);

/* ---- stock.c ---- */

static inline bool limiter_stocked(const weir_limiter *limiter)
{
    return atom_load(&limiter->stock.held) != 0;
}

/* Spends permits in stock, without counting; too few are also those that are too old. */
enum stock_answer limiter_take_stocked(weir_limiter *limiter, uint64_t cost, weir_decision *decision);

/* Takes what is due, for a limit that threads nap for.  False if a thread that may nap should: others took all that was
   due a moment ago, or take it just now. */
bool limiter_fill_stock(weir_limiter *limiter, bool may_nap);

/* A waiting call was granted now_ns without a wait. */
void limiter_stock_if_quick(weir_limiter *limiter, uint64_t now_ns);

/* For how long, at most so long, threads have been spending what it was filled with last; 0: nothing. */
uint64_t limiter_stock_lasted_ns(const weir_limiter *limiter, uint64_t now_ns, uint64_t most_ns);

void limiter_trade_stock_back(weir_limiter *limiter);

/* Before any call that does not take from the stock. */
static inline void limiter_return_stock(weir_limiter *limiter)
{
    if (limiter_stocked(limiter)) limiter_trade_stock_back(limiter);
}

/* [under the mutex] From here on there is no stock, until it is opened again. */
void limiter_close_stock(weir_limiter *limiter);
void limiter_open_stock(weir_limiter *limiter);

/* ---- latency.c ---- */

void limiter_free_latency(weir_limiter *limiter);

/* ---- queue.c ---- */

void queue_lock(struct queue *queue);
void queue_unlock(struct queue *queue);

/* [locked] */
void queue_join(struct queue *queue, struct waiter *waiter);
void queue_leave(struct queue *queue, struct waiter *waiter);

/* In the child of a fork, which does not have the parent's threads. */
void limiter_forget_waiters(weir_limiter *limiter);

/* [closed] Until queue_unlock_all no waiter joins or leaves. */
void queue_lock_all(weir_limiter *limiter);
void queue_unlock_all(weir_limiter *limiter);

/* [locked] All waiters whose start is after now_ns, the last one first. */
struct waiter *queue_collect(weir_limiter *limiter, enum home home, uint64_t now_ns);

/* [locked] Takes them out of the state, the last one first, as if they had never called; returns them with the first
   one first. */
struct waiter *queue_take_out(struct home_held *held, struct waiter *last, uint64_t now_ns);

/* [locked] Decides them again, one after the other. */
void queue_let_in(weir_limiter *limiter, struct home_held *held, struct waiter *first, uint64_t now_ns);

/* ---- wait.c ---- */

/* Wakes all who wait: something has changed. */
void limiter_wake(weir_limiter *limiter);

/* Sleeps towards a start, for at least least_ns; returns early if the event happened since `seen`, otherwise not before
   the start. */
void limiter_sleep(weir_limiter *limiter, struct host_event *event, uint32_t seen, uint64_t start_ns,
                   uint64_t least_ns);

/* Sleeps until a retry makes sense, at least the minimum sleep even if passes_ns is past: by a slower clock the call
   may not pass yet, nor for a short time beside permits in leases, and retrying without a pause would use a whole
   processor. */
void limiter_come_back(weir_limiter *limiter, struct host_event *event, uint32_t seen, uint64_t passes_ns);

/* One waiting call: at most one nap, then a reservation that is kept; or its turn. */
struct wait {
    uint64_t cost, until_ns; /* WEIR_FOREVER: no end */
    const uint64_t *each;    /* as in struct ask: borrowed; NULL: cost */
    uint64_t *end;
    uint64_t since_ns; /* when it began to wait */
    uint64_t late_ns;  /* a thread that wakes later than this has lost its start, ... */
    weir_instant due;  /* ... which stays due when it was */
    struct turn turn;
    bool slept, napped, lost, queues; /* queues: its turn is among the others */
};

struct wait limiter_begin_wait(const weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns);

/* True if the next start, retry_ns from now, is nearer than a sleep is worth.  At most once in a wait. */
bool limiter_naps(const weir_limiter *limiter, const struct wait *wait, uint64_t retry_ns);

/* Naps: sleeps at least the minimum sleep without a reservation. */
void limiter_nap(weir_limiter *limiter, struct wait *wait, uint32_t seen);

/* False if it slept and took nothing; the state may have changed, and the caller calls again: if it queues it must. */
bool limiter_wait(weir_limiter *limiter, struct wait *wait, weir_decision *decision);

/* ---- report.c ---- */

/* weir_due of each permit of a decision, one after the other. */
void limiter_due_each(const weir_limiter *limiter, const weir_decision *decision, uint64_t due_ns[]);

/* ---- take.c ---- */

/* FULL: the log is full, see log.h.  CLOSED: a change is in progress. */
enum limiter_asked { ASKED, ASKED_CLOSED, ASKED_FULL };

/* Decides and takes without counting, if a home is open. */
enum limiter_asked limiter_ask_once(weir_limiter *limiter, const struct ask *ask, weir_decision *decision);

/* Decides and takes without counting. */
void limiter_ask(weir_limiter *limiter, const struct ask *ask, weir_decision *decision);

void limiter_count(weir_limiter *limiter, const weir_decision *decision);

/* Notes that a call was granted this long after it was due. */
void limiter_note_late(weir_limiter *limiter, uint64_t late_ns);

/* Counts calls that leases allowed without a delay. */
void limiter_count_leased(weir_limiter *limiter, uint64_t calls, uint64_t permits);

#endif
