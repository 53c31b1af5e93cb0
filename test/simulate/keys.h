/* SPDX-License-Identifier: MIT
   What one engine has in memory, and how it was shortly before. */
#ifndef WEIR_TEST_SIMULATE_KEYS_H
#define WEIR_TEST_SIMULATE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEYS_MOST = 1024, KEY_SIZE = 64, VALUE_SIZE = 256, MEMBERS_MOST = 256, MEMBER_SIZE = 32, WRITES_MOST = 1 << 15 };

struct value {
    size_t size;
    int64_t until_ms; /* 0: for ever */
    unsigned char bytes[VALUE_SIZE];
};

struct entry {
    char name[KEY_SIZE]; /* "": free */
    struct value value;  /* size 0: there is none */
};

struct member {
    char name[MEMBER_SIZE];
    uint64_t score;
};

struct write {
    uint64_t at;
    uint32_t entry;
    struct value before;
};

struct keys {
    struct entry entry[KEYS_MOST];
    struct member member[MEMBERS_MOST]; /* of the one sorted set that there is */
    unsigned members;
    struct write write[WRITES_MOST]; /* a ring */
    uint64_t writes;
};

/* Its place, made where there is none. */
struct entry *keys_find(struct keys *keys, const char *name, size_t size);

/* It was this before; call it after each change. */
void keys_changed(struct keys *keys, const struct entry *entry, const struct value *before);

/* As it was then: so far as the ring has it. */
void keys_go_back(struct keys *keys, uint64_t to);

void keys_clear(struct keys *keys);

bool keys_enter(struct keys *keys, const char *name, uint64_t score); /* false: it was there */
void keys_leave(struct keys *keys, uint64_t most);                    /* those of this score or less */
bool keys_take_out(struct keys *keys, const char *name, size_t size); /* false: it was not there */
unsigned keys_count(const struct keys *keys, uint64_t above);

#endif
