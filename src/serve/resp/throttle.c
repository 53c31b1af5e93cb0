/* SPDX-License-Identifier: MIT
   throttle.c - CL.THROTTLE key max_burst count period [quantity], as redis-cell has it.

       *5  :limited, 0 or 1  :max_burst + 1  :how many more would pass  :seconds to wait, or -1  :seconds until full

   Seconds are rounded up, so that who waits that long has waited long enough; redis-cell drops what is left of them
   below one ms, and forgets keys up to one ms early.

   May touch: the turn.  Promises: nothing is allocated.  Leaves to others: deciding (turn.c), the limit (plans.c). */
#include "serve/plans.h"
#include "serve/resp/parts.h"

enum { THROTTLE_KEY = 1, THROTTLE_MAX_BURST, THROTTLE_COUNT, THROTTLE_PERIOD, THROTTLE_QUANTITY };

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

static void answer(struct turn *turn, const struct item *item, const weir_decision *decision)
{
    struct bytes *out = turn_reply(turn, item->session, TURN_REPLY);
    const bool never = item->detail[DETAIL_NEVER] != 0;
    const uint64_t full_ns = decide_full_ns(turn, item, decision);
    if (never) stats_decided(turn->stats, item->number, &(weir_decision){.verdict = WEIR_NEVER}, false);
    resp_array(out, 5);
    const bool refused = decision->verdict != WEIR_ALLOW || never;
    const int64_t retry_s = decision->verdict == WEIR_DENY ? seconds_up(decision->retry_ns) : -1;
    const int64_t said[] = {refused, capped(item->detail[DETAIL_LIMIT]), capped(decision->remaining), retry_s,
                            seconds_up(full_ns)};
    resp_integers(out, said, sizeof said / sizeof said[0]);
}

enum { DIGITS_MAX = 19 }; /* so many fit uint64_t, whatever they are */

/* What redis-cell reads: a sign, zeros in front. */
static bool read_number(struct slice text, int64_t *number)
{
    const bool sign = text.size != 0 && (text.bytes[0] == '-' || text.bytes[0] == '+');
    const bool negative = sign && text.bytes[0] == '-';
    size_t at = sign;
    uint64_t value = 0;
    while (text.size - at > DIGITS_MAX && text.bytes[at] == '0') at++;
    if (at == text.size || text.size - at > DIGITS_MAX) return false;
    for (; at < text.size; at++) {
        const unsigned digit = (unsigned)(text.bytes[at] - '0');
        if (digit > 9) return false;
        value = value * 10 + digit;
    }
    if (value > INT64_MAX) return false;
    *number = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static void refuse_number(struct turn *turn, struct session *session, struct slice text, const char *name)
{
    char shown[RESP_SHOWN + 4];
    resp_refuse(turn, session, "ERR Couldn't parse as integer: %s (%s; for example CL.THROTTLE user 15 30 60)",
                resp_shown(text, shown), name);
}

static bool check_range(struct turn *turn, struct session *session, const int64_t number[])
{
    if (number[THROTTLE_MAX_BURST] >= 0 && number[THROTTLE_MAX_BURST] < INT64_MAX && number[THROTTLE_COUNT] > 0 &&
        number[THROTTLE_PERIOD] > 0 && number[THROTTLE_QUANTITY] >= 0)
        return true;
    if (number[THROTTLE_COUNT] <= 0 || number[THROTTLE_PERIOD] <= 0) {
        resp_refuse(turn, session,
                    "ERR Zero rates are not supported: count and period are 1 or more; "
                    "for example CL.THROTTLE user 15 30 60");
    } else {
        resp_refuse(turn, session, "ERR %s is 0 to 2^63 - 2; for example CL.THROTTLE user 15 30 60 1",
                    number[THROTTLE_QUANTITY] < 0 ? "quantity" : "max_burst");
    }
    return false;
}

static bool read_numbers(struct turn *turn, struct session *session, const struct resp_command *command,
                         int64_t number[])
{
    static const char *const name[] = {"", "key", "max_burst", "count", "period", "quantity"};
    if (command->count != THROTTLE_PERIOD + 1 && command->count != THROTTLE_QUANTITY + 1) {
        resp_refuse(turn, session,
                    "ERR Usage: CL.THROTTLE <key> <max_burst> <count per period> <period> [<quantity>]; "
                    "for example CL.THROTTLE user 15 30 60");
        return false;
    }
    number[THROTTLE_QUANTITY] = 1;
    for (unsigned i = THROTTLE_MAX_BURST; i < command->count; i++) {
        if (read_number(command->argument[i], &number[i])) continue;
        refuse_number(turn, session, command->argument[i], name[i]);
        return false;
    }
    return check_range(turn, session, number);
}

/* What can never pass is still told when what was taken before is back: it asks for nothing. */
static void ask(struct turn *turn, struct item *item, uint64_t limit, uint64_t quantity)
{
    item->detail[DETAIL_LIMIT] = limit;
    item->detail[DETAIL_NEVER] = quantity > limit;
    item->cost = quantity > limit ? 0 : quantity;
    item->peek = item->cost == 0;
    turn_take(turn, item, NULL, 0);
}

void resp_throttle(struct turn *turn, struct session *session, const struct resp_command *command)
{
    int64_t number[THROTTLE_QUANTITY + 1];
    weir_error error;
    char problem[200];
    struct item *item = turn_item(turn, session, answer);
    if (turn->access.texts != ACCESS_TEXTS_ON) {
        resp_refuse(turn, session, "NOPERM CL.THROTTLE brings a limit of its own: %s", access_no_texts(&turn->access));
        return;
    }
    if (!read_numbers(turn, session, command, number)) return;
    if (!plans_throttle(turn, &number[THROTTLE_MAX_BURST], &item->under, &error)) {
        resp_refuse(turn, session, "ERR no limit can be made of these max_burst, count and period: %s", error.message);
        return;
    }
    if (!turn_key(turn, command->argument[THROTTLE_KEY], item, problem)) {
        resp_refuse(turn, session, "ERR %s", problem);
        return;
    }
    ask(turn, item, (uint64_t)number[THROTTLE_MAX_BURST] + 1, (uint64_t)number[THROTTLE_QUANTITY]);
}
