/* SPDX-License-Identifier: MIT
   One limit in one word, shared by threads, changeable while in use. */
#ifndef WEIR_SHARE_WORD_H
#define WEIR_SHARE_WORD_H

#include <stddef.h>

#include <weir/weir.h>

#include "core/rule.h"
#include "share/ask.h"
#include "share/atomic.h"
#include "share/lease.h"
#include "share/line.h"

/* What the fast path reads of a rule by gcra, computed in advance, see word_fast.h.  near_ns is 0 for every other rule,
   and while all calls have to take the slow path. */
struct word_fast {
    struct atom near_ns; /* above the ns since anchor_ns, less one, for which all this is right */
    struct atom anchor_ns, anchor_tick;
    struct atom whole, fraction; /* ticks per ns, and what is beyond them in 2^-64 */
    struct atom burst, permits;  /* in ticks, and in whole permits: 0 until word_begin */
    struct atom kind;            /* scale:32 | generation:32 */
};

/*      line 0          line 1          line 2          line 3
     | value | out . | rule          | fast          | high | .... |
       written by      read on the     read on the     written by those who lower,
       every take      slow path       fast path       read by those who change      */
struct word {
    _Alignas(SHARE_LINE) struct atom value; /* closed:1 | value:63 */
    struct atom out;                        /* permits in leases, see lease.c */
    _Alignas(SHARE_LINE) struct atom rule[RULE_WORDS];
    struct word_fast fast;
    struct atom high; /* no value that was ever lowered is above this one and the present one */
};

_Static_assert(offsetof(struct word, rule) == SHARE_LINE && offsetof(struct word, fast) == (size_t)2 * SHARE_LINE &&
                   offsetof(struct word, high) == (size_t)3 * SHARE_LINE,
               "no false sharing");

static const uint64_t WORD_VALUE_MAX = INT64_MAX;

/* While a word is closed the state is stored elsewhere. */
static const uint64_t WORD_CLOSED = UINT64_C(1) << 63;

static inline uint64_t word_value(uint64_t raw)
{
    return raw & WORD_VALUE_MAX;
}

static inline bool word_is_closed(uint64_t raw)
{
    return raw >= WORD_CLOSED;
}

/* True if the word is unchanged, so that the copy of the rule was whole. */
static inline bool word_unchanged(const struct word *word, uint64_t raw)
{
    atom_fence_acquire();
    return atom_load(&word->value) == raw;
}

/* [one thread] Makes a word, which is closed. */
void word_make(struct word *word);

/* False if the state is stored elsewhere; otherwise *decision is filled. */
bool word_decide(struct word *word, const struct ask *ask, weir_decision *decision);

/* False if the state is stored elsewhere. */
bool word_settle(struct word *word, uint64_t now_ns, const weir_decision *decision, uint64_t actual);

/* Returns permits of a lease and takes others, see lease.h.  False if the state is stored elsewhere: then nothing is
   done. */
bool word_trade(struct word *word, const struct trade *trade, struct lease_slice *slice);

/* [one setter at a time] Takes the state out: until word_open_with it is stored elsewhere, in plain memory of the
   thread that closed the word. */
void word_close(struct word *word, struct rule *rule, uint64_t *value);

/* The tick at which the clock of the next rule is set: above every value that there ever was. */
uint64_t word_anchor(const struct word *word);

/* `value` is 0 for a fresh state, otherwise not below the rule's anchor. */
void word_open_with(struct word *word, const struct rule *rule, uint64_t value);

/* A consistent copy.  False if the state is stored elsewhere. */
bool word_read(struct word *word, struct rule *rule, uint64_t *value);

/* [one setter at a time] From now on all calls take the slow path, until the word is opened again. */
void word_slow_down(struct word *word);

/* [one setter at a time] Until then all takes are on the slow path: someone has to note when the first was granted. */
void word_begin(struct word *word);

/* Of a word by gcra. */
static inline bool word_waits_to_begin(const struct word *word)
{
    return atom_load(&word->fast.permits) == 0 && atom_load(&word->fast.near_ns) != 0;
}

#endif
