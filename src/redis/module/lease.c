/* SPDX-License-Identifier: MIT
   WEIR.LEASE and WEIR.RETURN: permits that a node takes along.

       *4  :permits  :id  :remaining  :retry_us

   A lease that is returned and one that is taken in its stead are one step. */
#include "redis/module/store.h"

static const char lease_example[] = "WEIR.LEASE 10000/s user:42 64 1000000 RETURN 7 64 12";
static const char return_example[] = "WEIR.RETURN 10000/s user:42 7 64 12";

enum { ANSWERS = 4 };

struct returned {
    bool is;
    uint64_t id, permits, unused;
};

static bool read_question(const struct call *call, struct question *question, int *at)
{
    if (!question_read(call, question, at)) return false;
    if (micro_leases(question->plan)) return true;
    return call_refuse(call, "WEIRLIMIT a lease needs one gcra limit with a burst of 16 or more; for example "
                             "10000/s burst=20000");
}

static bool read_returned(const struct call *call, int *at, struct returned *returned)
{
    if (!question_number(call, *at, "the id of the lease", &returned->id) ||
        !question_number(call, *at + 1, "how many permits it had", &returned->permits) ||
        !question_number(call, *at + 2, "how many of them were not spent", &returned->unused))
        return false;
    returned->is = true;
    *at += 3;
    if (returned->unused <= returned->permits) return true;
    return call_refuse(call, "WEIRARG expected at most %llu permits that were not spent, not %llu",
                       (unsigned long long)returned->permits, (unsigned long long)returned->unused);
}

static bool read_lease(const struct call *call, struct question *question, uint64_t *want, uint64_t *lifetime,
                       struct returned *returned)
{
    int at;
    returned->is = false;
    if (!read_question(call, question, &at) || !question_number(call, at++, "how many permits", want) ||
        !question_number(call, at++, "a lifetime in us", lifetime))
        return false;
    if (*lifetime == 0 || *lifetime > MICRO_LIFETIME_MAX) {
        return call_refuse(call, "WEIRARG expected a lifetime of 1 to %llu us; for example 1000000",
                           (unsigned long long)MICRO_LIFETIME_MAX);
    }
    if (at < call->count && call_is(call, at, "RETURN")) {
        at++;
        if (!read_returned(call, &at, returned)) return false;
    }
    return question_ends(call, at, lease_example);
}

static void answer(const struct call *call, const struct micro_lease *lease)
{
    call->engine->reply_with_array(call->context, ANSWERS);
    call_integer(call, lease->permits);
    call_integer(call, lease->id);
    call_integer(call, lease->remaining);
    call_integer(call, lease->retry);
}

void lease_run(const struct call *call)
{
    struct question question;
    struct store store;
    struct returned returned;
    struct micro_lease lease, back = {.changed = false};
    uint64_t want, lifetime;
    if (!read_lease(call, &question, &want, &lifetime, &returned) || !store_open(&store, call, &question, false))
        return;
    const uint64_t now = question.ask.now;
    if (returned.is) {
        micro_lease_return(question.plan, &store.state, now, returned.id, returned.permits, returned.unused, &back);
    }
    micro_lease_take(question.plan, &store.state, now, want, lifetime, &lease);
    if (lease.changed || back.changed) store_write(&store, lease.idle);
    else store_close(&store);
    answer(call, &lease);
}

void return_run(const struct call *call)
{
    struct question question;
    struct store store;
    struct returned returned;
    struct micro_lease back;
    int at;
    if (!read_question(call, &question, &at) || !read_returned(call, &at, &returned) ||
        !question_ends(call, at, return_example) || !store_open(&store, call, &question, false))
        return;
    const uint64_t now = question.ask.now;
    micro_lease_return(question.plan, &store.state, now, returned.id, returned.permits, returned.unused, &back);
    if (back.changed) store_write(&store, back.idle);
    else store_close(&store);
    call_integer(call, back.permits != 0); /* what changed otherwise is the clock's doing */
}
