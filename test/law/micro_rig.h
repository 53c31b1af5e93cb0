/* SPDX-License-Identifier: MIT
   micro_rig.h - an engine with one key, for the laws of src/micro: what a verb changed is written, and nothing else.

   Every question reads the key's bytes anew, as a module does, and whatever comes out is looked at: no number above
   2^53, and what is written reads as what it was.

   May touch: its rig.  Promises: what was not said to be changed is lost.  Leaves to others: which answers are
   right. */
#ifndef TEST_LAW_MICRO_RIG_H
#define TEST_LAW_MICRO_RIG_H

#include "law/law.h"
#include "micro/micro.h"

enum { RIG_STAMPS = 256 };

struct rig {
    weir_plan plan;
    struct micro_plan micro;
    unsigned char bytes[MICRO_BYTES_MAX];
    size_t size; /* 0: there is no key */
    uint64_t stamp[WEIR_LIMITS_MAX][RIG_STAMPS];
    size_t stamps[WEIR_LIMITS_MAX];
};

/* false: this text is no plan, or an engine does not keep it. */
bool rig_open(struct rig *, const char *text);

struct micro_answer rig_take(struct law *, struct rig *, const struct micro_ask *);
struct micro_answer rig_charge(struct law *, struct rig *, const struct micro_ask *);
struct micro_answer rig_settle(struct law *, struct rig *, uint64_t now, uint64_t taken, const uint64_t charged[],
                               const uint64_t actual[]);
struct micro_lease rig_lease(struct law *, struct rig *, uint64_t now, uint64_t want, uint64_t lifetime);
struct micro_lease rig_return(struct law *, struct rig *, uint64_t now, uint64_t turn, uint64_t permits,
                              uint64_t unused);

#endif
