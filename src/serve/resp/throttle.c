/* SPDX-License-Identifier: MIT
   CL.THROTTLE key max_burst count period [quantity], as redis-cell has it.

       *5  :limited, 0 or 1  :max_burst + 1  :how many more would pass  :seconds to wait, or -1  :seconds until full

   Seconds are rounded up, so that a client that waits that long has waited long enough; redis-cell drops what is left
   of them below one ms, and forgets keys up to one ms early.

   Nothing is allocated. */
#include "plan/throttle.h"
#include "serve/plans.h"
#include "serve/resp/parts.h"

static const uint64_t SECOND_NS = 1000000000;

static int64_t seconds_up(uint64_t ns)
{
    return (int64_t)(ns / SECOND_NS + (ns % SECOND_NS != 0));
}

static int64_t capped(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

enum { DETAIL_LIMIT, DETAIL_NEVER };

static void answer(struct batch *batch, const struct call *call, const weir_decision *decision)
{
    struct bytes *out = batch_reply(batch, call->session, BATCH_REPLY);
    const bool never = call->detail[DETAIL_NEVER] != 0;
    const uint64_t full_ns = decide_full_ns(batch, call, decision);
    if (never) stats_decided(batch->stats, call->number, &(weir_decision){.verdict = WEIR_NEVER}, false);
    resp_array(out, 5);
    const bool refused = decision->verdict != WEIR_ALLOW || never;
    const int64_t retry_s = decision->verdict == WEIR_DENY ? seconds_up(decision->retry_ns) : -1;
    const int64_t said[] = {refused, capped(call->detail[DETAIL_LIMIT]), capped(decision->remaining), retry_s,
                            seconds_up(full_ns)};
    resp_integers(out, said, sizeof said / sizeof said[0]);
}

static bool read_numbers(struct batch *batch, struct session *session, const struct resp_command *command,
                         int64_t number[THROTTLE_ARGUMENTS])
{
    char shown[RESP_SHOWN + 4];
    struct throttle_argument argument[THROTTLE_ARGUMENTS] = {{NULL, 0}};
    struct throttle_problem problem;
    for (unsigned i = 0; i < command->count && i < THROTTLE_ARGUMENTS; i++)
        argument[i] = (struct throttle_argument){command->argument[i].bytes, command->argument[i].size};
    if (throttle_read(argument, (unsigned)command->count, number, &problem)) return true;
    resp_refuse(batch, session, "ERR %s%s%s", problem.before,
                problem.argument != 0 ? resp_shown(command->argument[problem.argument], shown) : "", problem.after);
    return false;
}

/* What can never pass is still told when what was taken before is back: it asks for nothing. */
static void ask(struct batch *batch, struct call *call, uint64_t limit, uint64_t quantity)
{
    call->detail[DETAIL_LIMIT] = limit;
    call->detail[DETAIL_NEVER] = quantity > limit;
    call->cost = quantity > limit ? 0 : quantity;
    call->peek = call->cost == 0;
    batch_take(batch, call, NULL);
}

/* All behind the key. */
static struct slice said_of(const struct resp_command *command)
{
    const struct slice *key = &command->argument[THROTTLE_KEY], *last = &command->argument[command->count - 1];
    return slice_between(key->bytes + key->size, last->bytes + last->size);
}

/* false: it has been refused. */
static bool read_terms(struct batch *batch, struct session *session, const struct resp_command *command,
                       int64_t number[THROTTLE_ARGUMENTS], struct policy_verdict *under)
{
    weir_error error;
    const bool has_key = command->count > THROTTLE_KEY;
    if (has_key && plans_throttle_again(batch, said_of(command), number, under)) return true;
    if (!read_numbers(batch, session, command, number)) return false;
    if (!plans_throttle(batch, &number[THROTTLE_MAX_BURST], under, &error)) {
        resp_refuse(batch, session, "ERR no limit can be made of these max_burst, count and period: %s", error.message);
        return false;
    }
    plans_throttle_keep(batch, said_of(command), number);
    return true;
}

void resp_throttle(struct batch *batch, struct session *session, const struct resp_command *command)
{
    int64_t number[THROTTLE_ARGUMENTS];
    char problem[200];
    struct call *call = batch_call(batch, session, answer);
    if (batch->access.texts != ACCESS_TEXTS_ON) {
        resp_refuse(batch, session, "NOPERM CL.THROTTLE brings a limit of its own: %s",
                    access_no_texts(&batch->access));
        return;
    }
    if (!read_terms(batch, session, command, number, &call->under)) return;
    if (!batch_key(batch, command->argument[THROTTLE_KEY], call, problem)) {
        resp_refuse(batch, session, "ERR %s", problem);
        return;
    }
    ask(batch, call, (uint64_t)number[THROTTLE_MAX_BURST] + 1, (uint64_t)number[THROTTLE_QUANTITY]);
}
