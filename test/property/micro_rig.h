/* SPDX-License-Identifier: MIT
   An engine with one key, for the properties of src/redis/micro: what a verb changed is written, and nothing
   else.

   Every question reads the key's bytes anew, as a module does, and whatever comes out is looked at: no number above
   2^53, and what is written reads as what it was.

   What was not said to be changed is lost. */
#ifndef TEST_PROPERTY_MICRO_RIG_H
#define TEST_PROPERTY_MICRO_RIG_H

#include "property/property.h"
#include "redis/micro/micro.h"
#include "unit/micro_value.h"

enum { RIG_STAMPS = 200 }; /* the longest log */

struct rig {
    weir_plan plan;
    struct micro_plan micro;
    struct value value[WEIR_LIMITS_MAX]; /* of a list with a log there is one for each limit, else one */
    bool any_bytes;                      /* they are not all ours */
};

/* false: this text is no plan, or an engine does not keep it. */
bool rig_open(struct rig *, const char *text);

/* Is there a key for each limit? */
bool rig_parted(const struct rig *);
/* false: it is not read; count 0: there is none. */
bool rig_state(const struct rig *, struct micro_state *, struct micro_log log[]);
void rig_forget(struct rig *);

struct micro_answer rig_take(struct prop *, struct rig *, const struct micro_ask *);
struct micro_answer rig_charge(struct prop *, struct rig *, const struct micro_ask *);
struct micro_answer rig_settle(struct prop *, struct rig *, uint64_t now, uint64_t taken, const uint64_t charged[],
                               const uint64_t actual[]);
struct micro_lease rig_lease(struct prop *, struct rig *, uint64_t now, uint64_t want, uint64_t lifetime);
struct micro_lease rig_return(struct prop *, struct rig *, uint64_t now, uint64_t turn, uint64_t permits,
                              uint64_t unused);

#endif
