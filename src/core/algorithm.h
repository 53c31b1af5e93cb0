/* SPDX-License-Identifier: MIT
   What each algorithm answers, and the way to the table of them.

   Times are ticks of the rule's clock and costs are permits in its units: a permit is 2^scale.  Two clocks are in use:
   one that ticks 2^scale times per permit (lines), and one whose tick is a ns and whose permit is 1 (windows, logs).
   A state is a few words; zeroed, it is fresh.  A slot is the stretch of schedule that one call was given; it is known
   by its end, a position that only grows and that counts in the units of the costs.

   All functions are total: a torn rule or a foreign state gives some answer and never a fault.  A rule with a profile
   has a pointer; it is never torn, and never read from memory that others write. */
#ifndef WEIR_CORE_ALGORITHM_H
#define WEIR_CORE_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>

#include <weir/weir.h>

#include "core/algorithms.h"
#include "core/arrivals.h"
#include "core/clock.h"
#include "core/limit.h"
#include "core/rule.h"
#include "core/stamps.h"

/* When may a call be taken, and when does it start then?  It may be taken from `from` on; taken at once, or else at
   `from`, it starts at `start`.  UINT64_MAX: never, or only beyond the clock.
   A line can be taken at any time and makes the caller wait for its start: from = now.  What cannot be taken ahead of
   its time says from = start. */
struct offer {
    uint64_t from, start;
};

struct slot {
    uint64_t start, end, cost;
    bool guessed; /* the end is the least it can be; the start is known all the same */
};

/* What became of the schedule since it began, in ticks.  Given to calls, missed for good, and still to be given are
   together all that was due: what is still to be given is below zero where calls are ahead of the schedule. */
struct account {
    int64_t due, given;
    uint64_t missed;
    uint64_t behind; /* unused, and in no pool to be used at once */
};

/* What a take leaves: the end of its slot, and what could be taken at once after it. */
struct taken {
    uint64_t end, room;
};

/* What may be taken at once, how much was taken beyond that, and whether a call waits for a start after now. */
struct balance {
    uint64_t left, owed;
    bool waits;
};

/* Permits that are leased, to be spent one by one: the starts of the first and of the last, and the end of
   the last one's slot. */
struct stretch {
    uint64_t permits, first, last, end;
};

enum { SLICE_LEAST = 2 }; /* fewer are not worth taking along */

/* What a limit lets through, in numbers. */
struct facts {
    const char *note;     /* a line for explain, or NULL */
    uint64_t at_once;     /* permits that pass at one moment after a rest; UINT64_MAX: the longer the rest the more */
    uint64_t fresh;       /* the same at the very first moment */
    uint64_t largest;     /* the largest call that can pass; UINT64_MAX: any */
    uint64_t group;       /* when saturated, so many permits pass ... */
    uint64_t spacing_ns;  /* ... every so many ns, rounded to the nearest */
    uint64_t full_ns;     /* from empty to full, rounded up */
    uint64_t state_bytes; /* of one subject */
};

/* How a state goes on behind its words, as long as the rule says: by nothing, a ring of times (stamps.h), or slots that
   are held (algorithm/concurrent.h). */
enum grows { GROWS_NOT, GROWS_STAMPS, GROWS_SLOTS };

struct algorithm {
    const char *name; /* as in algorithm=NAME */
    uint32_t options; /* a bit (1 << enum option_kind) for each that it knows; algorithm and shadow go without */
    const char *note; /* a line for explain, or NULL */
    uint8_t words;    /* of state; a single one is the end of the last slot, or 0 (share/word.c relies on it) */
    uint8_t grows;    /* an enum grows */
    bool pays_after;  /* a call of any size passes at once, and the next one waits for it */
    bool has_epoch;   /* where windows begin is counted from rule.offset_ns, which algorithm_align sets */
    bool due_at_end;  /* a slot ends when its last permit is due; else it begins when its first one is */

    /* ---- what every limit with a rate answers ---- */

    /* Fills what was not said, and then the rule, whose algorithm is set and the rest zeroed. */
    struct limit_problem (*compile)(struct limit *, struct rule *);
    /* The most permits that pass in any window [t, t + window_ns), cost 1 each. */
    uint64_t (*most_in)(const struct limit *, uint64_t window_ns);
    /* When, if it may start up to wait_ns after it was taken? */
    struct offer (*offer)(const struct rule *, const uint64_t *state, uint64_t now, uint64_t cost, uint64_t wait_ns);
    /* Takes it when it was offered, or both later when another limit is the later one; or at once, whatever is left.  A
       cost of 0 changes nothing, and says where the last slot ends (algorithm_at). */
    struct taken (*commit)(const struct rule *, uint64_t *state, struct offer when, uint64_t cost);
    struct balance (*balance)(const struct rule *, const uint64_t *state, uint64_t now);
    /* From when on may this state, left behind at `now`, be forgotten?  From then on a fresh one lets nothing through
       that this one does not, be it sooner or more; UINT64_MAX: never. */
    uint64_t (*idle)(const struct rule *, const uint64_t *state, uint64_t now);
    /* Gives back of `unused` what has not drained. */
    void (*give_back)(const struct rule *, uint64_t *state, uint64_t now, const struct slot *, uint64_t unused);
    /* Translates a state to another rule of the same algorithm whose clock is set to `now` (in the old ticks); next is
       zeroed. */
    void (*carry)(const struct rule *from, const struct rule *to, const uint64_t *state, uint64_t *next, uint64_t now,
                  weir_carry);

    /* ---- what some do in their own way; NULL for all others ---- */

    /* Changes those of the facts that are not found by running the rule (facts.c) and are not those of a line. */
    void (*facts)(const struct limit *, const struct rule *, struct facts *);
    /* The time at which all is back, after this decision made at `now`.  NULL: at the end of its slot. */
    uint64_t (*full)(const struct rule *, const weir_decision *, uint64_t now);
    /* Offer and commit in one, for the most frequent call: one that passes at once.  False: perhaps it does not, and
       nothing is done.  NULL: offer says it. */
    bool (*pass)(const struct rule *, uint64_t *state, uint64_t now, uint64_t cost, struct taken *taken);
    /* A call was refused by this limit.  NULL: refusals leave no trace. */
    void (*refused)(const struct rule *, uint64_t *state, uint64_t now, uint64_t cost);
    /* Will the next call pass at once, and does the state know it without the clock?  *now: a time that gives the same
       answer as any later one.  NULL: never. */
    bool (*knows)(const struct rule *, const uint64_t *state, uint64_t *now);
    /* Moves a schedule on by so many ticks that are not going to be given, or back (by < 0) by what was given and is
       not used, while as much may start at once as before; returns what then has become of it.  NULL: it keeps none. */
    struct account (*lateness)(const struct rule *, uint64_t *state, uint64_t now, int64_t by);
    /* Of a rule with RULE_ARRIVALS: the tick, signed, at which the permit behind a slot with this end is due.  `go`: it
       becomes the next one, while as much may start at once as before.  NULL: no rule of it has arrivals. */
    uint64_t (*place)(const struct rule *, uint64_t *state, uint64_t end, bool go);

    /* ---- leases: permits taken along; both NULL where there are none ---- */

    /* While `out` are in leases, may be spent at any time and are in the state already, what has been saved up and they
       together stay within the burst. */
    void (*hold)(const struct rule *, uint64_t *state, uint64_t now, uint64_t out);
    /* Takes permits, of cost 1 each, that start at `until` at the latest: as many as one may have now, two at least and
       `most` at most, or none. */
    struct stretch (*slice)(const struct rule *, uint64_t *state, uint64_t now, uint64_t until, uint64_t most);
};

/* What every limit with a rate answers, by functions that are named after their file. */
#define ALGORITHM_ANSWERS(file)                                                                                        \
    .compile = file##_compile, .most_in = file##_most_in, .offer = file##_offer, .commit = file##_commit,              \
    .balance = file##_balance, .idle = file##_idle, .give_back = file##_give_back, .carry = file##_carry

/* Never NULL: what is unknown is as `none`. */
const struct algorithm *algorithm_of(const struct rule *rule);

/* By enum algorithm_name; NULL when there is none. */
const struct algorithm *algorithm_named(unsigned name);

/* Is there one of this number, and has it a rate?  Not all numbers below ALGORITHM_NAMES are in use. */
static inline bool algorithm_has_rate(unsigned name)
{
    const struct algorithm *algorithm = algorithm_named(name);
    return algorithm != NULL && algorithm->most_in != NULL;
}

/* Where windows begin every period_ns since the epoch: unix_ns - now_ns is the way there.  Others stay as they are. */
void algorithm_align(struct rule *rule, uint64_t now_ns, uint64_t unix_ns);

/* May this cost ever pass? */
bool algorithm_may_pass(const struct rule *rule, uint64_t permits);

/* Takes up to *extra whatever the balance, as far as the rule's debt= allows; *extra is how much that was. */
struct taken algorithm_charge(const struct rule *rule, uint64_t *state, uint64_t now, uint64_t *extra);

/* Where the last slot given ends, and what could be taken at once: a take of nothing, which changes nothing. */
static inline struct taken algorithm_at(const struct rule *rule, const struct algorithm *algorithm,
                                        const uint64_t *state, uint64_t now)
{
    return algorithm->commit(rule, (uint64_t *)(uintptr_t)state, (struct offer){now, now}, 0);
}

/* What has become of the schedule of an algorithm that keeps one. */
static inline struct account algorithm_account(const struct rule *rule, const struct algorithm *algorithm,
                                               const uint64_t *state, uint64_t now)
{
    return algorithm->lateness(rule, (uint64_t *)(uintptr_t)state, now, 0);
}

/* Do the permits of this rule move the position by gaps of their own? */
static inline bool algorithm_arrives(const struct rule *rule, const struct algorithm *algorithm)
{
    return (rule->flags & RULE_ARRIVALS) != 0 && algorithm->place != NULL;
}

/* Of a slot with this end, the permit that came last: counted from 0, its number plus 1. */
static inline uint64_t algorithm_given(const struct rule *rule, uint64_t end)
{
    return permits_floor(rule, end);
}

/* So many ticks from one permit, at this end, to the one so many later. */
static inline uint64_t algorithm_apart(const struct rule *rule, const struct algorithm *algorithm, uint64_t end,
                                       uint64_t permits)
{
    if (!algorithm_arrives(rule, algorithm)) return ticks_of(rule, permits);
    return arrivals_span(rule, algorithm_given(rule, end), permits);
}

/* The tick at which, by the rate alone, the first permit of this slot was due; signed, as an end is. */
static inline uint64_t algorithm_due(const struct rule *rule, const struct algorithm *algorithm, uint64_t end,
                                     uint64_t cost)
{
    const uint64_t first = rule->flags & RULE_STARTS_FULL ? rule->burst : UINT64_C(1) << (rule->scale & 63);
    return end - cost + (algorithm->due_at_end ? first : 0);
}

/* The same, of a slot that this state has given. */
static inline uint64_t algorithm_due_in(const struct rule *rule, const struct algorithm *algorithm,
                                        const uint64_t *state, uint64_t end, uint64_t cost)
{
    if (!algorithm_arrives(rule, algorithm)) return algorithm_due(rule, algorithm, end, cost);
    return algorithm->place(rule, (uint64_t *)(uintptr_t)state, end - cost, false);
}

/* How many of the permits behind this end move the position by so many ticks at most. */
static inline uint64_t algorithm_within(const struct rule *rule, const struct algorithm *algorithm, uint64_t end,
                                        uint64_t ticks, uint64_t most)
{
    if (!algorithm_arrives(rule, algorithm)) return least(permits_floor(rule, ticks), most);
    return arrivals_within(rule, algorithm_given(rule, end), ticks, most);
}

/* How many permits pass at once.  With arrivals the first of them needs a permit of the rate, and each other one the
   gap in front of it. */
static inline uint64_t algorithm_passing(const struct rule *rule, const struct algorithm *algorithm, struct taken at,
                                         uint64_t most)
{
    const uint64_t passing = least(permits_floor(rule, at.room), most), one = ticks_of(rule, 1);
    if (passing == 0 || !algorithm_arrives(rule, algorithm)) return passing;
    return 1 + algorithm_within(rule, algorithm, at.end, at.room - one, least(most, ARRIVALS_MOST) - 1);
}

/* Moves a schedule on by permits that are not going to be given, or back by such that are still to come. */
void algorithm_skip(const struct rule *rule, uint64_t *state, uint64_t permits, bool back);

/* The time at which all is back, after this decision made at `now`. */
static inline uint64_t algorithm_full(const struct rule *rule, const struct algorithm *algorithm,
                                      const weir_decision *decision, uint64_t now)
{
    if (algorithm->full != NULL) return algorithm->full(rule, decision, now);
    return decision->end > now ? decision->end : now;
}

/* Words behind those of an algorithm that grows. */
uint64_t algorithm_growth(const struct rule *rule, const struct algorithm *algorithm);

/* Words of state that this rule needs. */
static inline uint64_t state_words(const struct rule *rule, const struct algorithm *algorithm)
{
    return algorithm->grows ? algorithm->words + algorithm_growth(rule, algorithm) : algorithm->words;
}

/* The rows of the table, a file each. */
#define ALGORITHM_PROTOTYPE(name, file, number) const struct algorithm *file##_algorithm(void);
ALGORITHMS(ALGORITHM_PROTOTYPE)
#undef ALGORITHM_PROTOTYPE

/* Old ticks to new, rounded up against the caller.  Used permits as `carry` says; waiting ones stay permits. */
uint64_t carry_used(const struct rule *from, const struct rule *to, uint64_t ticks, weir_carry carry);
uint64_t carry_waiting(const struct rule *from, const struct rule *to, uint64_t ticks);

/* As far behind the beginning of the new clock as it was behind the old tick now: at the same ns, if that clock begins
   then. */
uint64_t carry_moment(const struct rule *from, const struct rule *to, uint64_t tick, uint64_t now);

#endif
