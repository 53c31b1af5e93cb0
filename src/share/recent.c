/* SPDX-License-Identifier: MIT
   A cache of what texts mean.

       bytes and their kind -> hash -> set of RECENT_WAYS entries -> entry

   To read a text takes some microseconds, to find it again some nanoseconds.  Clients choose the texts, so whoever does
   not know the secret cannot choose the set that they fall into; a client that sends a new one each time has each of
   them read.  Of a set, the entry that goes is the one that was not asked for the longest.

   Memory stays the same, and an entry means what its key says to the byte. */
#include "share/recent.h"

#include <stdbool.h>
#include <string.h>

void recent_open(struct recent *recent, const struct secret *secret, void *entries, size_t entry_size)
{
    *recent = (struct recent){.secret = *secret, .entries = entries, .entry_size = entry_size};
}

static struct recent_entry *entry_at(const struct recent *recent, uint64_t number)
{
    return (struct recent_entry *)(void *)((char *)recent->entries + number * recent->entry_size);
}

static struct recent_entry *entry_in_set(const struct recent *recent, uint64_t hash, unsigned way)
{
    return entry_at(recent, hash % RECENT_SETS * RECENT_WAYS + way);
}

static bool is_it(const struct recent_entry *entry, const struct recent_key *key)
{
    return entry->kind == key->kind && entry->size == key->size && memcmp(entry->key, key->bytes, key->size) == 0;
}

void *recent_find(struct recent *recent, struct recent_key *key)
{
    struct recent_entry *last = recent->last[key->kind];
    if (last != NULL && is_it(last, key)) return last;
    key->hash = hash_key(&recent->secret, key->bytes, key->size, key->kind);
    for (unsigned way = 0; way < RECENT_WAYS; way++) {
        struct recent_entry *entry = entry_in_set(recent, key->hash, way);
        if (entry->used == 0 || entry->hash != key->hash || !is_it(entry, key)) continue;
        entry->used = ++recent->uses;
        return recent->last[key->kind] = entry;
    }
    return NULL;
}

void *recent_room(struct recent *recent, const struct recent_key *key)
{
    struct recent_entry *oldest = entry_in_set(recent, key->hash, 0);
    for (unsigned way = 1; way < RECENT_WAYS; way++) {
        struct recent_entry *entry = entry_in_set(recent, key->hash, way);
        if (entry->used < oldest->used) oldest = entry;
    }
    return oldest;
}

void recent_put(struct recent *recent, void *room, const struct recent_key *key)
{
    struct recent_entry *entry = room;
    entry->hash = key->hash;
    entry->used = ++recent->uses;
    entry->kind = key->kind;
    entry->size = key->size;
    memcpy(entry->key, key->bytes, key->size);
    recent->last[key->kind] = entry;
}

void recent_forget(struct recent *recent)
{
    for (unsigned i = 0; i < RECENT_ENTRIES; i++) entry_at(recent, i)->used = 0;
    memset(recent->last, 0, sizeof recent->last);
}
