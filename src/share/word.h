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

/*      line 0          line 1          line 2          line 3
     | value | out . | rule[0]       | rule[1]       | high | .... |
       written by      read by all     read by all     written by those who lower,
       every take                                      read by those who change      */
struct word {
    _Alignas(SHARE_LINE) struct atom value; /* plan index:1 | value:63 */
    struct atom out;                        /* permits in leases, see lease.c */
    _Alignas(SHARE_LINE) struct atom rule[2][RULE_WORDS];
    struct atom high; /* no value that was ever lowered is above this one and the present one */
};

_Static_assert(offsetof(struct word, rule) == SHARE_LINE && sizeof(struct word) == (size_t)4 * SHARE_LINE,
               "no false sharing");

/* The word of a rule that has its algorithm. */
enum { RULE_KIND = offsetof(struct rule, generation) / sizeof(uint64_t) };

static const uint64_t WORD_VALUE_MAX = INT64_MAX;

static inline uint64_t word_value(uint64_t raw)
{
    return raw & WORD_VALUE_MAX;
}

static inline unsigned word_index(uint64_t raw)
{
    return (unsigned)(raw >> 63);
}

static inline uint64_t word_raw(unsigned index, uint64_t value)
{
    return (uint64_t)index << 63 | value;
}

/* True if the word is unchanged, so that the copy of the rule was whole. */
static inline bool word_unchanged(const struct word *word, uint64_t raw)
{
    atom_fence_acquire();
    return atom_load(&word->value) == raw;
}

/* [one thread] */
void word_open(struct word *word, const struct rule *rule);

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

/* A consistent copy. */
void word_read(struct word *word, struct rule *rule, uint64_t *value);

#endif
