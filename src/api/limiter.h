/* SPDX-License-Identifier: MIT
   limiter.h - the inside of a weir_limiter: where the three rooms below meet.

       open.c   made, stopped, freed                  take.c   asked: time (host) -> a home (share) -> tally
       change.c another limit, in use                 home.c   where the state lives
       wait.c   sleeping until a start                queue.c  who waits, and in what order
       lease.c  permits that threads take along       fork.c   when the process forks
       report.c what was counted, and what was due */
#ifndef WEIR_API_LIMITER_H
#define WEIR_API_LIMITER_H

#include <weir/weir.h>

#include "api/tally.h"
#include "plan/plan.h"
#include "host/clock.h"
#include "host/sleep.h"
#include "host/thread.h"
#include "host/tsc.h"
#include "share/cell.h"
#include "share/line.h"
#include "share/log_view.h"
#include "share/word.h"
#include "share/word_short.h"

/* Who takes permits along may take those that start so soon, or within a grain that was asked for. */
enum { AHEAD_NS = 4000 };

/* Those who nap wake this often in all, each after a grain at least. */
enum { ALARMS_IN_A_GRAIN = 2 };

/* Counted by one thread each, so that counting writes nothing shared; the last is for threads beyond, who note
   nothing. */
struct tally {
    _Alignas(SHARE_LINE) struct atom allowed;
    struct atom granted, denied, delayed, waiting_ns;
    struct note note;
};

_Static_assert(sizeof(struct tally) == SHARE_LINE, "a thread has a line of its own");

/* A thread that sleeps until the start of what it has taken. */
struct waiter {
    struct waiter *before, *after; /* in its line */
    struct waiter *next;           /* in a queue */
    weir_decision decision;        /* verdict 0: it has no start any more, and has to ask again */
    uint64_t cost, end[WEIR_LIMITS_MAX];
    struct undo undo; /* not of a log */
    bool again;       /* as in struct ask */
};

/* Where the threads of this number wait, one most often: so whoever comes and goes writes nothing shared. */
struct queue {
    struct atom lock; /* 1 while held: for some ns, or for a change */
    struct waiter *first;
    uint64_t alone[6];
};

/* Those who sleep without a place, see wait.c. */
struct naps {
    struct atom count, alarm_ns; /* alarm: the last that was set */
    uint64_t alone[6];
};

/* Where the state lives: only one of them is open, and none during a change. */
enum home { HOME_WORD, HOME_LOG, HOME_CELL };

/* What was in a home that is closed: plain memory, for who has the mutex. */
struct home_held {
    enum home home;
    struct cell_content content; /* the rules of all homes, and the states of a word and a cell */
    struct log_view log;
    uint64_t value, out; /* the state of a word; permits in leases */
};

/*  line 0      clock ... log       read by every call, written by changes and a stop
    line 1      grain_ns ...        read by those who sleep or take along
    lines       word                see word.h
    lines       cell                see cell.h
    lines       tally, line         one for each thread
    a line      naps                written by those who nap
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
    struct atom begun_ns;       /* 0: no call was granted yet */

    uint64_t grain_ns, spin_ns, spin_processors;
    uint64_t ahead_ns;      /* permits that start so soon may be taken along */
    struct atom spacing_ns; /* from one start to the next */
    struct atom room_ns;    /* so much of the schedule can be made up for at once */
    struct atom manual_ns;
    struct atom late_max_ns; /* the most by which a call was granted after it was due */

    _Alignas(SHARE_LINE) struct word word; /* one limit of one word; says "elsewhere" when another has it */
    _Alignas(SHARE_LINE) struct cell cell;
    struct tally tally[HOST_SLOTS + 1];
    struct queue line[HOST_SLOTS + 1]; /* by thread, as the tally */
    struct naps naps;

    struct atom paused_at_ns; /* 0: it runs */
    struct atom paused_ns;    /* for so long it stood before */
    struct host_event event;  /* a change, a stop, a new manual time */
    struct host_mutex mutex;  /* around what follows, and around every change */
    struct holder *holders;   /* of leases */
    struct host_fork_watch fork_watch;
    struct log_view held; /* while the process forks */
    weir_plan plan;
    enum home home;
    uint32_t generation; /* how many changes there have been */
};

_Static_assert(offsetof(struct weir_limiter, grain_ns) == SHARE_LINE, "what every call reads is one line");
_Static_assert(offsetof(struct weir_limiter, word) % SHARE_LINE == 0, "the word has its lines for itself");
_Static_assert(offsetof(struct weir_limiter, cell) % SHARE_LINE == 0, "so has the cell");
_Static_assert(offsetof(struct weir_limiter, tally) % SHARE_LINE == 0, "and so has what a thread counts");
_Static_assert(offsetof(struct weir_limiter, line) % SHARE_LINE == 0 && sizeof(struct queue) == SHARE_LINE,
               "or waits in");
_Static_assert(offsetof(struct weir_limiter, naps) % SHARE_LINE == 0, "and the naps of all");

static inline uint64_t limiter_now_ns(const weir_limiter *limiter)
{
    if (limiter->clock == WEIR_CLOCK_SYSTEM) return host_now_ns(); /* first: most have it */
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

/* NULL until one was needed; closed when the state lives elsewhere. */
static inline struct log *limiter_log(const weir_limiter *limiter)
{
    return (struct log *)(uintptr_t)atom_load_acquire(&limiter->log);
}

/* The time at which its clock stands, or that of its clock. */
static inline uint64_t limiter_stands_ns(const weir_limiter *limiter, uint64_t now_ns)
{
    const uint64_t paused_at_ns = atom_load(&limiter->paused_at_ns);
    return paused_at_ns != 0 ? paused_at_ns : now_ns;
}

static inline bool limiter_paused(const weir_limiter *limiter)
{
    return atom_load(&limiter->paused_at_ns) != 0;
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

/* Is one permit refused, as the thread has noted in its tally?  Then that is counted, too. */
static inline bool limiter_refuses(const weir_limiter *limiter, uint64_t now_ns, struct tally *tally)
{
    const struct word_seen seen = word_see(&limiter->word);
    if (!word_denies(&seen, now_ns, &tally->note)) return false;
    tally_add(&tally->denied, true, 1);
    return true;
}

/* ---- change.c ---- */

/* Is this text of a limit a pause? */
bool limiter_is_pause(const char *text);

/* [under the mutex] Moves everything over to another plan at now_ns, and ends a pause. */
int limiter_change(weir_limiter *limiter, const struct plan *plan, uint64_t now_ns, weir_carry carry,
                   weir_error *error);

/* When decades have passed on the limit's clock: the same limit, its clock set anew. */
void limiter_renew(weir_limiter *limiter, uint64_t now_ns);

/* ---- fork.c ---- */

/* From here until the limiter is closed a child has it whole, without what only the parent's threads have. */
void limiter_watch_forks(weir_limiter *limiter);

/* ---- home.c ---- */

/* No change is under way. */
bool home_is_open(const weir_limiter *limiter);

/* Shows the rules and states in force, in word or cell; they hold still meanwhile.  Of a log it shows nothing. */
void limiter_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context),
                  void *context);

/* [under the mutex] The same, and of a log the rule. */
void home_look(weir_limiter *limiter, void (*look)(const struct cell_content *content, void *context), void *context);

enum home home_of(const struct plan *plan);

/* What a limiter allocates for this plan, until more wait than a log has room for. */
uint64_t limiter_bytes(const struct plan *plan);

/* What the home of a plan needs; `failed` when there is no memory. */
struct home_room {
    enum home home;
    uint64_t *state;
    struct log *log;
    bool failed;
};

struct home_room home_make_room(const weir_limiter *limiter, const struct plan *plan, uint64_t now_ns);

/* [under the mutex] Takes the state out of its home: from here on nobody finds one open, and whoever asks comes again
   until home_open. */
void home_close(weir_limiter *limiter, struct home_held *held);
void home_open(weir_limiter *limiter, struct home_held *held);

/* [closed] What is there at stood_ns goes over to these rules, whose clocks begin at now_ns and are set here. */
void home_carry(weir_limiter *limiter, struct home_held *held, struct rule rule[], int count,
                const struct home_room *room, uint64_t stood_ns, uint64_t now_ns, weir_carry carry);

/* [closed] A larger ring for more that wait; false without memory. */
bool home_widen(weir_limiter *limiter, struct home_held *held, uint64_t now_ns);

/* [under the mutex] The same for callers, unless there is another ring already than the full one. */
int limiter_grow_log(weir_limiter *limiter, const struct log *full, uint64_t now_ns);

/* Moves the schedules, as cell_shift does, where there are some. */
void limiter_shift(weir_limiter *limiter, int64_t permits);

/* ---- lease.c ---- */

/* In the child of a fork: what others have taken along is not to be had here. */
void limiter_forget_leases(weir_limiter *limiter);

/* Lets all leases know that there is no limiter any more. */
void limiter_leave_leases(weir_limiter *limiter);

/* ---- queue.c ---- */

void queue_lock(struct queue *line);
void queue_unlock(struct queue *line);

/* [locked] */
void queue_join(struct queue *line, struct waiter *waiter);
void queue_leave(struct queue *line, struct waiter *waiter);

/* In the child of a fork, whose parent's threads are not there. */
void limiter_forget_waiters(weir_limiter *limiter);

/* [closed] Until queue_release no waiter comes or goes. */
void queue_lock_all(weir_limiter *limiter);
void queue_unlock_all(weir_limiter *limiter);

/* [held] All whose start is after now_ns, the last one first. */
struct waiter *queue_collect(weir_limiter *limiter, enum home home, uint64_t now_ns);

/* [held] Takes them out of the state, the last one first, as if they had never asked; returns the first one first. */
struct waiter *queue_take_out(struct home_held *held, struct waiter *last, uint64_t now_ns);

/* [held] Decides them again, one after the other. */
void queue_let_in(weir_limiter *limiter, struct home_held *held, struct waiter *first, uint64_t now_ns);

/* ---- wait.c ---- */

/* Sleeps towards a start, at least so long; returns early when something happened since `seen`, otherwise not before
   the start. */
void limiter_sleep(weir_limiter *limiter, uint32_t seen, uint64_t start_ns, uint64_t least_ns);

/* Sleeps until it is worth asking again, a grain at least even where that is past by now: by a clock that is behind it
   may not pass yet, and beside permits in leases not for long, and who asks without a rest takes a whole processor. */
void limiter_come_back(weir_limiter *limiter, uint32_t seen, uint64_t passes_ns);

/* One wait: at most one nap, then a place that is kept. */
struct wait {
    uint64_t cost, until_ns; /* WEIR_FOREVER: no end */
    uint64_t since_ns;       /* once it has slept: when it began */
    uint64_t late_ns;        /* who wakes later than this has lost his start, */
    weir_instant due;        /* which stays due when it was */
    bool slept, napped, lost;
};

struct wait limiter_begin_wait(const weir_limiter *limiter, uint64_t cost, uint64_t wait_max_ns);

/* Is the next start, so long from now, nearer than a sleep is worth?  No more than once in a wait. */
bool limiter_naps(const weir_limiter *limiter, const struct wait *wait, uint64_t retry_ns);

/* Then: sleeps a grain at least, and takes nothing. */
void limiter_nap(weir_limiter *limiter, struct wait *wait, uint32_t seen);

/* False when it slept and took nothing; then things may have changed, and it is asked again. */
bool limiter_wait(weir_limiter *limiter, struct wait *wait, weir_decision *decision);

/* ---- take.c ---- */

/* FULL: of a log, see log.h.  CLOSED: a change is under way. */
enum limiter_asked { ASKED, ASKED_CLOSED, ASKED_FULL };

/* Decides and takes, uncounted, if a home is open. */
enum limiter_asked limiter_ask_once(weir_limiter *limiter, const struct ask *ask, weir_decision *decision);

/* Decides and takes, uncounted. */
void limiter_ask(weir_limiter *limiter, const struct ask *ask, weir_decision *decision);

void limiter_count(weir_limiter *limiter, const weir_decision *decision);

/* Granted so long after it was due. */
void limiter_note_late(weir_limiter *limiter, uint64_t late_ns);

/* Calls that were allowed elsewhere, without a delay. */
void limiter_count_leased(weir_limiter *limiter, uint64_t calls, uint64_t permits);

#endif
