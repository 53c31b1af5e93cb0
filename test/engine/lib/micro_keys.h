/* SPDX-License-Identifier: MIT
   The keys of an engine in memory: what src/redis/micro leaves there, and when it expires.

       parted:     a key for each limit        else:  key 0 has the state of all

   As the module keeps them: a value is written when the verb says that something changed, a part of its own only where
   its bytes differ.

   Nothing that a module would not do. */
#ifndef WEIR_TEST_MICRO_KEYS_H
#define WEIR_TEST_MICRO_KEYS_H

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_SLOTS 8192
#include "redis/micro/micro.h"
#include "unit/micro_value.h"

enum { HEAD_TEXT = 64 };

struct key {
    struct value value;
    uint64_t expires_ms;
};

struct keys {
    struct key key[WEIR_LIMITS_MAX];
    struct micro_state state;
    struct micro_log log[WEIR_LIMITS_MAX];
};

static inline void keys_load(struct keys *keys, const struct micro_plan *plan, bool parted)
{
    struct micro_state part;
    memset(&keys->state, 0, sizeof keys->state);
    if (!parted) assert(value_get(&keys->key[0].value, &keys->state, &keys->log[0]));
    if (parted) keys->state.count = plan->count;
    for (unsigned i = 0; i < plan->count && parted; i++) {
        assert(value_get(&keys->key[i].value, &part, &keys->log[i]));
        keys->state.cell[i].kind = MICRO_KINDS;
        if (part.count != 0) keys->state.cell[i] = part.cell[0];
    }
}

static inline void keys_part(struct keys *keys, unsigned i, uint64_t until_ms)
{
    unsigned char bytes[MICRO_BYTES_MAX];
    struct micro_state part = {.count = 1};
    const struct micro_log *log = &keys->log[i];
    part.cell[0] = keys->state.cell[i];
    const size_t size = micro_write(&part, bytes);
    struct key *key = &keys->key[i];
    const bool same = size == key->value.size || (log->ring != NULL && size < key->value.size);
    if (same && !log->pushes && !log->gives && memcmp(bytes, key->value.bytes, size) == 0) return;
    value_put(&key->value, &part, &keys->log[i]);
    key->expires_ms = until_ms;
}

static inline void keys_store(struct keys *keys, const struct micro_plan *plan, bool parted, uint64_t idle_us)
{
    const uint64_t until_ms = idle_us / 1000 + (idle_us % 1000 != 0);
    if (!parted) {
        value_put(&keys->key[0].value, &keys->state, &keys->log[0]);
        keys->key[0].expires_ms = until_ms;
    }
    for (unsigned i = 0; i < plan->count && parted; i++) {
        if (plan->rule[i].kind > MICRO_UNLIMITED) keys_part(keys, i, until_ms);
    }
}

/* How many there were. */
static inline unsigned keys_forget(struct keys *keys, unsigned count)
{
    unsigned were = 0;
    for (unsigned i = 0; i < count; i++) {
        struct key *key = &keys->key[i];
        were += key->value.size != 0;
        key->value.size = 0;
        key->expires_ms = 0;
    }
    return were;
}

/* A line for each key, as weir_test_stored has it; to be freed. */
static inline char *keys_say(const struct keys *keys, unsigned count)
{
    size_t size = 1, at = 0;
    for (unsigned i = 0; i < count; i++) size += HEAD_TEXT + 2 * keys->key[i].value.size;
    char *text = malloc(size);
    assert(text != NULL);
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        const struct value *value = &keys->key[i].value;
        for (size_t byte = 0; byte < value->size; byte++)
            at += (size_t)snprintf(text + at, size - at, "%02x", value->bytes[byte]);
        if (value->size != 0)
            at += (size_t)snprintf(text + at, size - at, " expires %" PRIu64, keys->key[i].expires_ms);
        at += (size_t)snprintf(text + at, size - at, ";");
    }
    return text;
}

#endif
