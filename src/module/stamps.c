/* SPDX-License-Identifier: MIT
   stamps.c - a sliding-log in a sorted set of the engine: a member for each permit, its score is its time.

       member "1763836800123456:000002"    score 1763836800123456

   The number behind the time tells permits of one us apart; members of one time stand in its order, so that the next is
   one more than the last of them.  weir.lua writes the same members.

   Members are asked for by their place, and the engine offers that by its commands only: ZRANGE, ZCOUNT, ZADD,
   ZREMRANGEBYRANK, PEXPIREAT.  The last three go to replicas as they are.  A command costs more than the arithmetic, so
   nothing is asked twice.

   May touch: the key.  Promises: at most BATCH members are held at once; what is no log of ours is not written.  Leaves
   to others: which stamps matter (micro). */
#include "module/stamps.h"

#include <stdio.h>
#include <string.h>

enum { BATCH = 64, MEMBER_MAX = 32, ORDER_DIGITS = 6 };

/* "stamp:order" */
static bool read_member(const char *member, size_t size, uint64_t *stamp, uint64_t *order)
{
    uint64_t number[2] = {0, 0};
    unsigned part = 0;
    size_t digits = 0;
    if (member == NULL || size >= MEMBER_MAX || size < ORDER_DIGITS + 2) return false;
    for (size_t i = 0; i < size; i++) {
        const unsigned digit = (unsigned)(member[i] - '0');
        if (digit > 9 && (part == 1 || member[i] != ':')) return false;
        if (digit > 9) part = 1;
        else number[part] = number[part] * 10 + digit;
        digits = digit > 9 ? 0 : digits + 1;
    }
    *stamp = number[0];
    *order = number[1];
    return part == 1 && digits == ORDER_DIGITS && number[0] <= MICRO_MOST * 2;
}

static bool read_at(struct stamps *stamps, uint64_t index, uint64_t *stamp, uint64_t *order)
{
    const struct engine *engine = stamps->call->engine;
    struct RedisModuleCallReply *reply =
        engine->call(stamps->call->context, "ZRANGE", "sll", stamps->key, (long long)index, (long long)index);
    bool reads = false;
    if (reply != NULL && engine->call_reply_type(reply) == ENGINE_REPLY_ARRAY &&
        engine->call_reply_length(reply) == 1) {
        size_t size = 0;
        const char *member = engine->call_reply_string_ptr(engine->call_reply_array_element(reply, 0), &size);
        reads = read_member(member, size, stamp, order);
    }
    if (reply != NULL) engine->free_call_reply(reply);
    return reads;
}

static void read_known(struct stamps *stamps, uint64_t index, uint64_t *stamp, uint64_t *order)
{
    if (read_at(stamps, index, stamp, order)) return;
    stamps->foreign = true;
    *stamp = 0;
}

static uint64_t stamp_at(struct micro_log *log, uint64_t index)
{
    struct stamps *stamps = log->where;
    uint64_t order;
    if (index == 0) return stamps->oldest;
    if (index == stamps->size - 1) return stamps->newest;
    if (stamps->known_at != index) read_known(stamps, index, &stamps->known, &order);
    stamps->known_at = index;
    return stamps->known;
}

static uint64_t count_until(const struct stamps *stamps, uint64_t time)
{
    const struct engine *engine = stamps->call->engine;
    struct RedisModuleCallReply *reply =
        engine->call(stamps->call->context, "ZCOUNT", "scl", stamps->key, "-inf", (long long)time);
    if (reply == NULL) return 0;
    const long long count = engine->call_reply_integer(reply);
    engine->free_call_reply(reply);
    return count > 0 ? (uint64_t)count : 0;
}

/* Mostly none, or all: the oldest and the newest tell that. */
static uint64_t until(struct micro_log *log, uint64_t time)
{
    struct stamps *stamps = log->where;
    if (stamps->size == 0 || stamps->oldest > time) return 0;
    if (stamps->newest <= time) return stamps->size;
    if (stamps->out_by != time + 1) stamps->out = count_until(stamps, time);
    stamps->out_by = time + 1;
    return stamps->out;
}

void stamps_open(struct stamps *stamps, const struct call *call, struct RedisModuleString *key, uint64_t size,
                 struct micro_log *log)
{
    uint64_t order;
    *stamps = (struct stamps){.call = call, .key = key, .size = size};
    *log = (struct micro_log){.size = size, .stamp = stamp_at, .until = until, .where = stamps};
    if (size == 0) return;
    read_known(stamps, size - 1, &stamps->newest, &stamps->newest_order);
    if (size == 1) stamps->oldest = stamps->newest;
    else read_known(stamps, 0, &stamps->oldest, &order);
}

/* The engine's answer is of no interest: what could fail was looked at before. */
static void done(const struct stamps *stamps, struct RedisModuleCallReply *reply)
{
    if (reply != NULL) stamps->call->engine->free_call_reply(reply);
}

static struct RedisModuleString *stamp_word(const struct call *call, uint64_t stamp)
{
    char text[MEMBER_MAX];
    const int size = snprintf(text, sizeof text, "%llu", (unsigned long long)stamp);
    return call->engine->create_string(call->context, text, (size_t)size);
}

static struct RedisModuleString *member_word(const struct call *call, uint64_t stamp, uint64_t order)
{
    char text[MEMBER_MAX];
    const int size =
        snprintf(text, sizeof text, "%llu:%0*llu", (unsigned long long)stamp, ORDER_DIGITS, (unsigned long long)order);
    return call->engine->create_string(call->context, text, (size_t)size);
}

static void add_batch(struct stamps *stamps, uint64_t stamp, uint64_t order, uint64_t count)
{
    const struct call *call = stamps->call;
    struct RedisModuleString *word[2 * BATCH];
    size_t words = 0;
    for (uint64_t i = 0; i < count; i++) {
        word[words++] = stamp_word(call, stamp);
        word[words++] = member_word(call, stamp, order + i);
    }
    done(stamps, call->engine->call(call->context, "ZADD", "!sv", stamps->key, word, words));
    while (words > 0) call->engine->free_string(call->context, word[--words]);
}

static void drop(struct stamps *stamps, uint64_t first, uint64_t count)
{
    const struct engine *engine = stamps->call->engine;
    const uint64_t last = first + count - 1;
    done(stamps, engine->call(stamps->call->context, "ZREMRANGEBYRANK", "!sll", stamps->key, (long long)first,
                              (long long)last));
}

/* What is new comes behind all that is there, so their places stay; and the key is never empty meanwhile. */
void stamps_write(struct stamps *stamps, const struct micro_log *log, uint64_t idle_us)
{
    const struct engine *engine = stamps->call->engine;
    if (log->add == 0 && log->drop == 0) return;
    const uint64_t order = log->size != 0 && stamps->newest == log->add_at ? stamps->newest_order + 1 : 0;
    for (uint64_t added = 0; added < log->add;) {
        const uint64_t count = log->add - added < BATCH ? log->add - added : BATCH;
        add_batch(stamps, log->add_at, order + added, count);
        added += count;
    }
    if (log->drop != 0) drop(stamps, log->drop_from, log->drop);
    done(stamps, engine->call(stamps->call->context, "PEXPIREAT", "!sl", stamps->key, (long long)call_ms_up(idle_us)));
}
