/* SPDX-License-Identifier: MIT
   A sliding-log as an older weir kept it: a sorted set with a member for each permit, its score is its time.

       member "1763836800123456:000002"    score 1763836800123456

   It is read as the value that it would be now, and the first call that changes it writes that in its place.  A set
   may have 100,000 members, so up to STAMPS_READ are looked at, by all logs of a text together, evenly by their places:
   a shorter log is read as it is; in a longer one a permit counts until the next one that was looked at is out, which
   lets nothing pass too early.

   STAMPS_READ commands at most; what is no log of ours is told. */
#include "redis/module/stamps.h"

enum { ORDER_DIGITS = 6, MEMBER_MAX = 17 + 1 + ORDER_DIGITS }; /* a stamp has 17 digits at most */

/* "stamp:order" */
static bool read_member(const char *member, size_t size, uint64_t *stamp)
{
    size_t digits = 0, colon = size;
    *stamp = 0;
    if (member == NULL || size > MEMBER_MAX || size < ORDER_DIGITS + 2) return false;
    for (size_t i = 0; i < size; i++) {
        const unsigned digit = (unsigned)(member[i] - '0');
        if (digit > 9 && (member[i] != ':' || colon != size)) return false;
        if (digit > 9) colon = i;
        else if (colon == size) *stamp = *stamp * 10 + digit;
        digits = digit > 9 ? 0 : digits + 1;
    }
    return colon != size && colon != 0 && digits == ORDER_DIGITS && *stamp <= MICRO_MOST * 2;
}

static bool read_at(const struct call *call, struct RedisModuleString *key, uint64_t index, uint64_t *stamp)
{
    const struct engine *engine = call->engine;
    struct RedisModuleCallReply *reply =
        engine->call(call->context, "ZRANGE", "sll", key, (long long)index, (long long)index);
    bool reads = false;
    if (reply != NULL && engine->call_reply_type(reply) == ENGINE_REPLY_ARRAY &&
        engine->call_reply_length(reply) == 1) {
        size_t size = 0;
        const char *member = engine->call_reply_string_ptr(engine->call_reply_array_element(reply, 0), &size);
        reads = read_member(member, size, stamp);
    }
    if (reply != NULL) engine->free_call_reply(reply);
    return reads;
}

size_t stamps_read(const struct call *call, struct RedisModuleString *key, uint64_t permits, unsigned most,
                   unsigned char bytes[STAMPS_BYTES])
{
    uint64_t time[STAMPS_READ], sum[STAMPS_READ];
    const unsigned count = permits < most ? (unsigned)permits : most;
    for (unsigned i = 0; i < count; i++) {
        sum[i] = (i + 1) * permits / count;
        if (!read_at(call, key, sum[i] - 1, &time[i]) || (i != 0 && time[i] < time[i - 1])) return 0;
    }
    return permits > UINT32_MAX / 2 ? 0 : micro_log_make(time, sum, count, bytes);
}
