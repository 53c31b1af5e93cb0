/* SPDX-License-Identifier: MIT
   What was asked for recently, by the text that it was asked by.  See recent.c. */
#ifndef WEIR_SHARE_RECENT_H
#define WEIR_SHARE_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "share/hash/hash.h"

enum { RECENT_SETS = 64, RECENT_WAYS = 4, RECENT_ENTRIES = RECENT_SETS * RECENT_WAYS };
enum { RECENT_KINDS = 3, RECENT_KEY_MAX = 1024 };

/* What an entry of the caller's begins with.  Of zeros it is empty. */
struct recent_entry {
    uint64_t hash, used; /* used 0: empty */
    unsigned kind;
    size_t size;
    char key[RECENT_KEY_MAX];
};

struct recent {
    struct secret secret;
    uint64_t uses;
    void *entries; /* borrowed: RECENT_ENTRIES, each of entry_size */
    size_t entry_size;
    struct recent_entry *last[RECENT_KINDS]; /* most often it is asked for again */
};

/* Of up to RECENT_KEY_MAX bytes; of different kinds the same bytes are different keys. */
struct recent_key {
    const void *bytes;
    size_t size;
    unsigned kind; /* below RECENT_KINDS */
    uint64_t hash; /* filled by recent_find */
};

void recent_open(struct recent *, const struct secret *, void *entries, size_t entry_size);

/* The entry of this key; NULL: there is none. */
void *recent_find(struct recent *, struct recent_key *);

/* For a key that was not found: the entry whose place it takes, which is empty or was not asked for the longest.  The
   caller gives up what that one holds, then calls recent_put and fills what follows its head. */
void *recent_room(struct recent *, const struct recent_key *);
void recent_put(struct recent *, void *entry, const struct recent_key *);

/* All are empty. */
void recent_forget(struct recent *);

#endif
