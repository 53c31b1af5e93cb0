/* SPDX-License-Identifier: MIT
   micro_keys.h - the keys of an engine in memory: what src/micro leaves there, and when it expires.

       parted:     a key for each limit        else:  key 0 has the state of all

   As the module keeps them: a value is written anew when the verb says that something changed, a part of its own only
   where its bytes differ.

   May touch: what it allocates.  Promises: entries of a log stay in order.  Leaves to others: forgetting by time. */
#ifndef WEIR_TEST_MICRO_KEYS_H
#define WEIR_TEST_MICRO_KEYS_H

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "micro/micro.h"

enum { ENTRY_TEXT = 48, HEAD_TEXT = 64 };

struct entry {
    uint64_t at, order;
};

struct key {
    unsigned char bytes[MICRO_BYTES_MAX];
    size_t size;
    struct entry *entry;
    uint64_t entries, room;
    uint64_t expires_ms;
};

struct keys {
    struct key key[WEIR_LIMITS_MAX];
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
};

static inline uint64_t keys_stamp(struct micro_log *log, uint64_t index)
{
    const struct key *key = log->where;
    assert(index < key->entries);
    return key->entry[index].at;
}

static inline void keys_load(struct keys *keys, const struct micro_plan *plan, bool parted)
{
    struct micro_state part;
    memset(&keys->state, 0, sizeof keys->state);
    memset(keys->log, 0, sizeof keys->log);
    if (parted) keys->state.count = plan->count;
    for (unsigned i = 0; i < plan->count; i++) {
        struct key *key = &keys->key[i];
        keys->log[i] = (struct micro_log){.size = key->entries, .stamp = keys_stamp, .where = key};
        if (parted) keys->state.cell[i].kind = MICRO_KINDS;
        if (!parted && i > 0) continue;
        if (key->size == 0) continue;
        assert(micro_read(&part, key->bytes, key->size));
        if (parted) keys->state.cell[i] = part.cell[0];
        else keys->state = part;
    }
}

static inline void keys_enter(struct key *key, const struct micro_log *log)
{
    uint64_t order = 0;
    if (key->entries > 0 && key->entry[key->entries - 1].at == log->add_at)
        order = key->entry[key->entries - 1].order + 1;
    if (key->entries + log->add > key->room) {
        key->room = 2 * (key->entries + log->add);
        key->entry = realloc(key->entry, key->room * sizeof *key->entry);
        assert(key->entry != NULL);
    }
    for (uint64_t i = 0; i < log->add; i++) key->entry[key->entries++] = (struct entry){log->add_at, order + i};
}

static inline void keys_log(struct key *key, const struct micro_log *log, uint64_t until_ms)
{
    if (log->add == 0 && log->drop == 0) return;
    keys_enter(key, log);
    struct entry *gap = key->entry + log->drop_from;
    memmove(gap, gap + log->drop, (key->entries - log->drop_from - log->drop) * sizeof *gap);
    key->entries -= log->drop;
    key->expires_ms = key->entries != 0 ? until_ms : 0;
}

static inline void keys_part(struct keys *keys, unsigned i, uint64_t until_ms)
{
    unsigned char bytes[MICRO_BYTES_MAX];
    struct micro_state part = {.count = 1};
    part.cell[0] = keys->state.cell[i];
    const size_t size = micro_write(&part, bytes);
    struct key *key = &keys->key[i];
    if (size == key->size && memcmp(bytes, key->bytes, size) == 0) return;
    memcpy(key->bytes, bytes, size);
    key->size = size;
    key->expires_ms = until_ms;
}

static inline void keys_store(struct keys *keys, const struct micro_plan *plan, bool parted, uint64_t idle_us)
{
    const uint64_t until_ms = idle_us / 1000 + (idle_us % 1000 != 0);
    if (!parted && plan->rule[0].kind != MICRO_LOG) {
        keys->key[0].size = micro_write(&keys->state, keys->key[0].bytes);
        keys->key[0].expires_ms = until_ms;
        return;
    }
    for (unsigned i = 0; i < plan->count; i++) {
        if (plan->rule[i].kind == MICRO_LOG) keys_log(&keys->key[i], &keys->log[i], until_ms);
        else if (plan->rule[i].kind > MICRO_UNLIMITED) keys_part(keys, i, until_ms);
    }
}

/* How many there were. */
static inline unsigned keys_forget(struct keys *keys, unsigned count)
{
    unsigned were = 0;
    for (unsigned i = 0; i < count; i++) {
        struct key *key = &keys->key[i];
        were += key->size != 0 || key->entries != 0;
        key->size = 0;
        key->entries = key->expires_ms = 0;
    }
    return were;
}

/* Is each key of the type that this plan has there? */
static inline bool keys_fit(const struct keys *keys, const struct micro_plan *plan, bool parted)
{
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) {
        const struct key *key = &keys->key[i];
        const bool used = i < (parted ? plan->count : 1), log = plan->rule[i].kind == MICRO_LOG;
        if (used ? (log ? key->size != 0 : key->entries != 0) : key->size != 0 || key->entries != 0) return false;
    }
    return true;
}

/* A line for each key, as weir_test_stored has it; to be freed. */
static inline char *keys_say(const struct keys *keys, unsigned count)
{
    size_t size = 1, at = 0;
    for (unsigned i = 0; i < count; i++) size += HEAD_TEXT + 2 * keys->key[i].size + ENTRY_TEXT * keys->key[i].entries;
    char *text = malloc(size);
    assert(text != NULL);
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        const struct key *key = &keys->key[i];
        for (size_t byte = 0; byte < key->size; byte++)
            at += (size_t)snprintf(text + at, size - at, "%02x", key->bytes[byte]);
        for (uint64_t e = 0; e < key->entries; e++)
            at += (size_t)snprintf(text + at, size - at, "%" PRIu64 ":%06" PRIu64 "=%" PRIu64 ",", key->entry[e].at,
                                   key->entry[e].order, key->entry[e].at);
        if (key->size != 0 || key->entries != 0)
            at += (size_t)snprintf(text + at, size - at, " expires %" PRIu64, key->expires_ms);
        at += (size_t)snprintf(text + at, size - at, ";");
    }
    return text;
}

static inline void keys_free(struct keys *keys)
{
    for (unsigned i = 0; i < WEIR_LIMITS_MAX; i++) free(keys->key[i].entry);
}

#endif
