/* SPDX-License-Identifier: MIT
   One limit as a ring of timestamps, shared by threads, changeable while in use. */
#ifndef WEIR_SHARE_LOG_H
#define WEIR_SHARE_LOG_H

#include <stddef.h>

#include <weir/weir.h>

#include "core/rule.h"
#include "share/ask.h"
#include "share/atomic.h"
#include "share/line.h"

enum { LOG_SET_WORDS = 8, LOG_CAPACITY_MIN = 64, LOG_HEADER = 4 * SHARE_LINE };

/* What a caller needs beside the timestamps, in the order of the words of a set. */
struct log_set {
    uint64_t count;      /* N permits ... */
    uint64_t span_ns;    /* ... and the age at which an entry no longer counts */
    uint64_t base;       /* entries before this position are forgotten */
    uint64_t skew;       /* position = serial - skew */
    uint64_t floor;      /* no new timestamp is below this: see log.c */
    uint64_t high;       /* no position at or above this one and the present one was ever written */
    uint64_t generation; /* of the rule */
    uint64_t widest;     /* the largest N ever: so many entries are kept behind those that wait */
};

/*      line 0            1        2        3             4 ...
     | head | seals | .. | set[0] | set[1] | origin, mask | slot[0] slot[1] ... slot[C-1] |
       written by every    read by all      read by all,    a ring; each written once a lap
       take                                 never written                                    */
struct log {
    _Alignas(SHARE_LINE) struct atom head; /* held:1 | closed:1 | set:1 | serial:61 */
    struct atom seals;                     /* how many times the head was held; the holder writes it */
    _Alignas(SHARE_LINE) struct atom set[2][LOG_SET_WORDS];
    _Alignas(SHARE_LINE) uint64_t origin_ns; /* timestamps count from here */
    uint64_t mask;                           /* C - 1 */
    void (*yield)(void);
    struct log *older;                       /* the owner may chain older rings here */
    _Alignas(SHARE_LINE) struct atom slot[]; /* lap:1 | kind:2 | stamp:61 = ns:55, and 6 bits more, see log.c */
};

_Static_assert(sizeof(struct log) == LOG_HEADER && offsetof(struct log, slot) == LOG_HEADER, "no false sharing");
_Static_assert(sizeof(struct log_set) == LOG_SET_WORDS * sizeof(uint64_t), "a set is one cache line");

/* FULL: more calls would wait than the ring can hold.  *decision is the denial, but a larger log would allow the call.
   Of a charge or a settlement, decision->charged says how much was taken, and a larger log takes the rest. */
enum log_answer { LOG_ELSEWHERE, LOG_HERE, LOG_FULL };

/* True if the state is stored here. */
bool log_is_open(const struct log *log);

/* True if a log can serve this rule alone. */
bool log_fits(const struct rule *rule);

/* Slots for a limit of this count: a power of two, at least LOG_CAPACITY_MIN and above twice the count. */
uint64_t log_capacity(uint64_t count);
uint64_t log_size(uint64_t capacity);

/* [one thread] Makes a closed log in zeroed memory of log_size(capacity).  `yield` gives up the processor. */
void log_make(struct log *log, uint64_t capacity, uint64_t now_ns, void (*yield)(void));

enum log_answer log_decide(struct log *log, const struct ask *ask, weir_decision *decision);

enum log_answer log_settle(struct log *log, uint64_t now_ns, weir_decision *decision, uint64_t actual);

/* The time of the last entry; false when there is none. */
bool log_last(struct log *log, uint64_t *last_ns);

/* The time until which timestamps fit; before that the log has to be moved. */
uint64_t log_ends_ns(const struct log *log);

/* The functions for a setter with a closed log are in log_view.h. */

#endif
