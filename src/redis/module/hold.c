/* SPDX-License-Identifier: MIT
   WEIR.RENEW and WEIR.RELEASE: what is held under a concurrent limit, one lease longer or no more.

       :1  done      :0  nothing is held under this id (any more), and nothing is changed

   Of a list only the concurrent limit: what the rates were charged stays. */
#include "redis/module/store.h"

static const char hold_example[] = "WEIR.RELEASE '20 concurrent lease=30s' jobs 1763836800123456042";

static bool read_hold(const struct call *call, struct question *question, uint64_t *id)
{
    char shown[CALL_SHOWN + 4];
    int at;
    if (!question_read(call, question, &at)) return false;
    if (micro_holder(question->plan) < 0)
        return call_refuse(call, "WEIRLIMIT only slots of a concurrent limit are held; for example %s", hold_example);
    if (at >= call->count || !call_number(call, at, UINT64_MAX, id))
        return call_refuse(call,
                           "WEIRARG expected the id of a take, the last value of its reply, not \"%s\"; for example %s",
                           call_shown(call, at, shown), hold_example);
    return question_ends(call, at + 1, hold_example);
}

void renew_run(const struct call *call)
{
    struct question question;
    struct store store;
    uint64_t id = 0;
    if (!read_hold(call, &question, &id) || !store_open(&store, call, &question, true)) return;
    const struct held held = store_held(&store);
    call_integer(call, held_renew(&held, &question.plan->rule[micro_holder(question.plan)], id));
    store_close(&store);
}

void release_run(const struct call *call)
{
    struct question question;
    struct store store;
    uint64_t id = 0;
    if (!read_hold(call, &question, &id) || !store_open(&store, call, &question, true)) return;
    const struct held held = store_held(&store);
    const uint64_t count = held_count(&held, id);
    if (count != 0) held_free(&held, id, count);
    call_integer(call, count != 0);
    store_close(&store);
}
