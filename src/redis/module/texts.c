/* SPDX-License-Identifier: MIT
   texts.c - the limits that clients have asked by, and what they mean to an engine: a cache.

       text, or three numbers -> hash -> set of WAYS entries -> plan

   To read a text takes some microseconds, to find it again some nanoseconds.  Clients choose the texts, so who does not
   know the secret cannot choose in which set they fall; one who sends ever new ones has each of them read.  Of a set
   the entry goes that was not asked for the longest.  What is refused is read each time.

   May touch: its entries, malloc.  Promises: memory stays the same; an entry means what its key says to the byte.
   Leaves to others: what a text means to an engine (micro_text_read). */
#include "redis/module/texts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 64, WAYS = 4 };
enum kind { OF_TEXT, OF_THROTTLE, KINDS };

struct entry {
    uint64_t hash, used; /* used 0: empty */
    enum kind kind;
    size_t size;
    char key[TEXT_MAX];
    struct micro_plan plan;
};

struct texts {
    struct secret secret;
    uint64_t uses;
    struct entry *last[KINDS]; /* most often it is asked for again */
    struct entry entry[SETS][WAYS];
};

struct texts *texts_open(const struct secret *secret)
{
    struct texts *texts = calloc(1, sizeof *texts);
    if (texts != NULL) texts->secret = *secret;
    return texts;
}

void texts_close(struct texts *texts)
{
    free(texts);
}

static bool is_it(const struct entry *entry, enum kind kind, const void *key, size_t size)
{
    return entry->kind == kind && entry->size == size && memcmp(entry->key, key, size) == 0;
}

/* NULL: it is not there. */
static const struct micro_plan *look_up(struct texts *texts, enum kind kind, const void *key, size_t size,
                                        uint64_t *hash)
{
    struct entry *last = texts->last[kind];
    if (last != NULL && is_it(last, kind, key, size)) return &last->plan;
    *hash = hash_key(&texts->secret, key, size, kind);
    struct entry *set = texts->entry[*hash % SETS];
    for (unsigned way = 0; way < WAYS; way++) {
        if (set[way].used == 0 || set[way].hash != *hash || !is_it(&set[way], kind, key, size)) continue;
        set[way].used = ++texts->uses;
        texts->last[kind] = &set[way];
        return &set[way].plan;
    }
    return NULL;
}

/* Empty, or that which was not asked for the longest. */
static struct entry *make_room(struct texts *texts, uint64_t hash)
{
    struct entry *set = texts->entry[hash % SETS];
    struct entry *oldest = &set[0];
    for (unsigned way = 1; way < WAYS; way++) {
        if (set[way].used < oldest->used) oldest = &set[way];
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        if (texts->last[kind] == oldest) texts->last[kind] = NULL;
    }
    return oldest;
}

/* What CL.THROTTLE's numbers make is no client's text, and need not be plain. */
static bool read_plan(enum kind kind, const char *text, struct micro_plan *plan, weir_error *error)
{
    weir_plan read;
    if (kind == OF_TEXT) return micro_text_read(plan, text, error) == 0;
    return weir_plan_parse(&read, text, WEIR_ADMIT, error) == 0 && micro_plan_make(plan, &read, error) == 0;
}

/* The text is read before it takes another's place, so that texts in error put nothing out. */
static const struct micro_plan *add(struct texts *texts, enum kind kind, const void *key, size_t size, uint64_t hash,
                                    const char *text, weir_error *error)
{
    struct micro_plan plan;
    if (!read_plan(kind, text, &plan, error)) return NULL;
    struct entry *entry = make_room(texts, hash);
    entry->hash = hash;
    entry->used = ++texts->uses;
    entry->kind = kind;
    entry->size = size;
    memcpy(entry->key, key, size);
    entry->plan = plan;
    texts->last[kind] = entry;
    return &entry->plan;
}

const struct micro_plan *texts_read(struct texts *texts, const char *text, size_t size, weir_error *error)
{
    char copy[TEXT_MAX + 1];
    uint64_t hash = 0;
    if (size > TEXT_MAX || memchr(text, '\0', size) != NULL) {
        *error = (weir_error){WEIR_EINVAL, 0,
                              "the text of a limit has at most 1024 bytes, and no byte that is 0; such "
                              "as 10/s"};
        return NULL;
    }
    const struct micro_plan *known = look_up(texts, OF_TEXT, text, size, &hash);
    if (known != NULL) return known;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return add(texts, OF_TEXT, copy, size, hash, copy, error);
}

const struct micro_plan *texts_throttle(struct texts *texts, const int64_t number[THROTTLE_NUMBERS], weir_error *error)
{
    char text[128];
    uint64_t hash = 0;
    const size_t size = THROTTLE_NUMBERS * sizeof number[0];
    const struct micro_plan *known = look_up(texts, OF_THROTTLE, number, size, &hash);
    if (known != NULL) return known;
    throttle_write(&(struct writer){text, sizeof text, 0}, number);
    return add(texts, OF_THROTTLE, number, size, hash, text, error);
}
