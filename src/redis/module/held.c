/* SPDX-License-Identifier: MIT
   The slots of a concurrent limit, in the sorted set that is at its key.

       member          score
       weir:AHEAD      -SEEN       the first: when this was written last, by its own clock, which is AHEAD us ahead
       ID              END         a slot, held until then; of a call that took several
       ID:1            END         ... the others
       ID:2            END

   So ZCOUNT key (now +inf are those that are held, and ZRANGE shows who.  Slots whose lease is over stay until others
   need their place: a call removes as many as it adds, at most, and there are never more members than slots.

   All is read and written by the engine's own commands, which replicas and the append-only file are told as they are.

   A call costs a few steps of log N for each of its slots, however many there are. */
#include "redis/module/held.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX = 48, SCORE_MAX = 40 };
static const char clock_name[] = "weir:";

static void name_clock(char name[NAME_MAX], uint64_t ahead)
{
    snprintf(name, NAME_MAX, "%s%llu", clock_name, (unsigned long long)ahead);
}

static void name_slot(char name[NAME_MAX], uint64_t id, uint64_t i)
{
    if (i == 0) snprintf(name, NAME_MAX, "%llu", (unsigned long long)id);
    else snprintf(name, NAME_MAX, "%llu:%llu", (unsigned long long)id, (unsigned long long)i);
}

/* ---- replies ---- */

static void done(const struct held *held, struct RedisModuleCallReply *reply)
{
    if (reply != NULL) held->call->engine->free_call_reply(reply);
}

static uint64_t number_of(const struct held *held, struct RedisModuleCallReply *reply)
{
    const struct engine *engine = held->call->engine;
    const bool is = reply != NULL && engine->call_reply_type(reply) == ENGINE_REPLY_INTEGER;
    const long long number = is ? engine->call_reply_integer(reply) : 0;
    done(held, reply);
    return number > 0 ? (uint64_t)number : 0;
}

/* As text, without an end in the reply; false: it is no string. */
static bool text_of(const struct engine *engine, struct RedisModuleCallReply *reply, char text[], size_t room)
{
    size_t size = 0;
    if (reply == NULL || engine->call_reply_type(reply) != ENGINE_REPLY_STRING) return false;
    const char *bytes = engine->call_reply_string_ptr(reply, &size);
    if (size >= room) return false;
    memcpy(text, bytes, size);
    text[size] = '\0';
    return true;
}

/* Whole numbers up to 2^53, whatever form the engine gives them. */
static uint64_t us_of(const char *score)
{
    const double us = strtod(score, NULL);
    return us >= 0 && us < 9007199254740992.0 ? (uint64_t)us : 0;
}

/* The member at this place of the order, and its score.  false: there is none. */
static bool read_at(const struct held *held, long long place, char name[NAME_MAX], char score[SCORE_MAX])
{
    const struct engine *engine = held->call->engine;
    struct RedisModuleCallReply *reply =
        engine->call(held->call->context, "ZRANGE", "sllc", held->key, place, place, "WITHSCORES");
    const bool is = reply != NULL && engine->call_reply_type(reply) == ENGINE_REPLY_ARRAY &&
                    engine->call_reply_length(reply) == 2 &&
                    text_of(engine, engine->call_reply_array_element(reply, 0), name, NAME_MAX) &&
                    text_of(engine, engine->call_reply_array_element(reply, 1), score, SCORE_MAX);
    done(held, reply);
    return is;
}

static uint64_t end_at(const struct held *held, long long place)
{
    char name[NAME_MAX], score[SCORE_MAX];
    return read_at(held, place, name, score) ? us_of(score) : 0;
}

/* Of a slot; 0: there is none of this name. */
static uint64_t end_of(const struct held *held, const char name[NAME_MAX])
{
    const struct engine *engine = held->call->engine;
    char score[SCORE_MAX];
    struct RedisModuleCallReply *reply = engine->call(held->call->context, "ZSCORE", "sc", held->key, name);
    const bool is = text_of(engine, reply, score, sizeof score);
    done(held, reply);
    return is ? us_of(score) : 0;
}

/* ---- reading ---- */

static bool read_clock(const struct held *held, uint64_t *seen, uint64_t *ahead)
{
    char name[NAME_MAX], score[SCORE_MAX], again[NAME_MAX];
    if (!read_at(held, 0, name, score) || memcmp(name, clock_name, sizeof clock_name - 1) != 0) return false;
    *ahead = strtoull(name + sizeof clock_name - 1, NULL, 10);
    name_clock(again, *ahead);
    *seen = score[0] == '-' ? us_of(score + 1) : 0;
    return strcmp(name, again) == 0 && *ahead <= MICRO_MOST;
}

bool held_read(const struct held *held, uint64_t now)
{
    const struct engine *engine = held->call->engine;
    struct micro_slots *slots = held->slots;
    char after[SCORE_MAX];
    uint64_t seen = 0, ahead = 0;
    if (!read_clock(held, &seen, &ahead)) return false;
    micro_slots_begin(slots, now, seen, ahead);
    snprintf(after, sizeof after, "(%llu", (unsigned long long)slots->at);
    slots->held = number_of(held, engine->call(held->call->context, "ZCOUNT", "scc", held->key, after, "+inf"));
    const uint64_t all = number_of(held, engine->call(held->call->context, "ZCARD", "s", held->key));
    slots->over = all > slots->held ? all - slots->held - 1 : 0;
    if (slots->held != 0) slots->last_end = end_at(held, -1);
    return true;
}

void held_find(const struct held *held, const struct micro_rule *rule, uint64_t cost)
{
    struct micro_slots *slots = held->slots;
    const uint64_t wanted = micro_slots_wanted(rule, slots, cost);
    if (wanted != 0) slots->wanted_end = end_at(held, (long long)slots->over + (long long)wanted);
}

/* They end together, and go from the last one on. */
uint64_t held_count(const struct held *held, uint64_t id)
{
    char name[NAME_MAX];
    uint64_t count = 0;
    for (;; count++) {
        name_slot(name, id, count);
        if (end_of(held, name) <= held->slots->at) return count;
    }
}

/* ---- writing ---- */

static void put(const struct held *held, uint64_t end, const char name[NAME_MAX])
{
    const struct call *call = held->call;
    done(held, call->engine->call(call->context, "ZADD", "!slc", held->key, (long long)end, name));
}

static void put_clock(const struct held *held)
{
    const struct call *call = held->call;
    const struct micro_slots *slots = held->slots;
    char name[NAME_MAX];
    if (slots->moved) {
        name_clock(name, slots->ahead_was);
        done(held, call->engine->call(call->context, "ZREM", "!sc", held->key, name));
    }
    name_clock(name, slots->ahead);
    done(held, call->engine->call(call->context, "ZADD", "!slc", held->key, -(long long)slots->at, name));
}

static void expire(const struct held *held, uint64_t until_us)
{
    const struct call *call = held->call;
    done(held, call->engine->call(call->context, "PEXPIREAT", "!sl", held->key, (long long)call_ms_up(until_us)));
}

/* The us and what no other node would choose; one further where there is a slot of that name. */
static uint64_t new_id(const struct held *held, uint64_t now)
{
    unsigned char random[4];
    char name[NAME_MAX];
    held->call->engine->get_random_bytes(random, sizeof random);
    const uint64_t number =
        random[0] | (uint64_t)random[1] << 8 | (uint64_t)random[2] << 16 | (uint64_t)random[3] << 24;
    for (uint64_t id = now * MICRO_ID_PARTS + number % MICRO_ID_PARTS;; id++) {
        name_slot(name, id, 0);
        if (end_of(held, name) == 0) return id;
    }
}

/* So that there are never more members than slots. */
static void make_room(const struct held *held, const struct micro_rule *rule)
{
    const struct call *call = held->call;
    const struct micro_slots *slots = held->slots;
    const uint64_t members = slots->held + slots->over; /* with those that are added */
    const uint64_t more = members > rule->burst ? members - rule->burst : 0;
    const uint64_t gone = more < slots->over ? more : slots->over;
    if (gone == 0) return;
    done(held, call->engine->call(call->context, "ZREMRANGEBYRANK", "!sll", held->key, 1LL, (long long)gone));
}

uint64_t held_add(const struct held *held, const struct micro_rule *rule, uint64_t now, uint64_t until_us)
{
    const struct micro_slots *slots = held->slots;
    char name[NAME_MAX];
    const uint64_t id = slots->added == 0 ? 0 : new_id(held, now);
    make_room(held, rule);
    put_clock(held);
    for (uint64_t i = 0; i < slots->added; i++) {
        name_slot(name, id, i);
        put(held, slots->end, name);
    }
    expire(held, until_us);
    return id;
}

void held_free(const struct held *held, uint64_t id, uint64_t count)
{
    const struct call *call = held->call;
    const uint64_t there = held_count(held, id);
    char name[NAME_MAX];
    for (uint64_t i = 0; i < count && i < there; i++) {
        name_slot(name, id, there - 1 - i);
        done(held, call->engine->call(call->context, "ZREM", "!sc", held->key, name));
    }
    if (there != 0 && there <= count && held->slots->held <= there)
        done(held, call->engine->call(call->context, "UNLINK", "!s", held->key));
}

bool held_renew(const struct held *held, const struct micro_rule *rule, uint64_t id)
{
    struct micro_slots *slots = held->slots;
    const uint64_t there = held_count(held, id);
    char name[NAME_MAX];
    slots->end = slots->at + rule->period;
    for (uint64_t i = 0; i < there; i++) {
        name_slot(name, id, i);
        put(held, slots->end, name);
    }
    if (there == 0) return false;
    put_clock(held);
    expire(held, end_at(held, -1) - slots->ahead);
    return true;
}
