/* SPDX-License-Identifier: MIT
   Copies of bytes with nothing behind them that may be read: the next byte is on a page that nobody may touch, so
   that a reader that goes one too far ends the test, in every build.

   With AddressSanitizer they are plain memory, of which it guards both ends. */
#ifndef TEST_OWNED_H
#define TEST_OWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { OWNED_AT_ONCE = 4, OWNED_ROOM = 1 << 20 };

#if defined __SANITIZE_ADDRESS__
#define OWNED_GUARDED false
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define OWNED_GUARDED false
#endif
#endif
#ifndef OWNED_GUARDED
#define OWNED_GUARDED true
#endif

struct owned {
    char *memory;
    bool taken;
};

/* OWNED_ROOM is so many pages, of any size that there is. */
static inline bool owned_open(struct owned *owned)
{
    if (owned->memory != NULL) return true;
    void *const memory = mmap(NULL, 2 * (size_t)OWNED_ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, OWNED_ROOM, PROT_READ | PROT_WRITE) != 0) return false;
    owned->memory = memory;
    return true;
}

/* One for each source that includes it. */
static inline struct owned *owned_all(void)
{
    static struct owned all[OWNED_AT_ONCE];
    return all;
}

/* NULL: no memory.  What is larger, or more than so many at once, is memory as any other. */
static inline char *owned_copy(const void *bytes, size_t size)
{
    struct owned *const all = owned_all();
    char *copy = NULL;
    for (int i = 0; OWNED_GUARDED && copy == NULL && i < OWNED_AT_ONCE && size <= OWNED_ROOM; i++) {
        if (all[i].taken || !owned_open(&all[i])) continue;
        all[i].taken = true;
        copy = all[i].memory + OWNED_ROOM - size;
    }
    if (copy == NULL) copy = malloc(size != 0 ? size : 1);
    if (copy != NULL && size != 0) memcpy(copy, bytes, size);
    return copy;
}

static inline void owned_free(const char *copy)
{
    struct owned *const all = owned_all();
    for (int i = 0; i < OWNED_AT_ONCE; i++) {
        if (all[i].memory == NULL || copy < all[i].memory || copy > all[i].memory + OWNED_ROOM) continue;
        all[i].taken = false;
        return;
    }
    free((void *)copy);
}

#endif
