/* SPDX-License-Identifier: MIT
   The n-th allocation of a scenario fails, for all n.

   Included once, by a test whose row in tests.cmake wraps aligned_alloc, calloc, free, malloc, realloc and strdup.
   What the system's libraries allocate for themselves does not fail and is not counted.  One thread. */
#ifndef WEIR_TEST_NO_MEMORY_H
#define WEIR_TEST_NO_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMORY_MOST = 100000, NO_MEMORY_LIVE = 4096 };

static uint64_t no_memory_left;                    /* allocations up to the one that fails; 0: none does */
static const void *no_memory_live[NO_MEMORY_LIVE]; /* what was allocated in a scenario and not given back */

static inline bool no_memory_now(void)
{
    return no_memory_left != 0 && --no_memory_left == 0;
}

static inline void *no_memory_note(const void *old, void *memory)
{
    for (size_t i = 0; i < NO_MEMORY_LIVE; i++) {
        if (no_memory_live[i] != old) continue;
        no_memory_live[i] = memory;
        return memory;
    }
    return memory;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return no_memory_now() ? NULL : no_memory_note(NULL, __real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory_now() ? NULL : no_memory_note(NULL, __real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (no_memory_now()) return NULL;
    const void *const old = memory;
    return no_memory_note(old, __real_realloc(memory, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return no_memory_now() ? NULL : no_memory_note(NULL, __real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    if (memory != NULL) no_memory_note(memory, NULL);
    __real_free(memory);
}

char *__wrap_strdup(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = __wrap_malloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

/* Runs it until no allocation of it has failed, and looks each time at what it has left.  It makes `least`
   allocations, or the test would show nothing. */
static inline void no_memory_each(uint64_t least, void (*scenario)(const void *argument), const void *argument)
{
    for (uint64_t n = 1;; n++) {
        for (size_t i = 0; i < NO_MEMORY_LIVE; i++) no_memory_live[i] = NULL;
        no_memory_left = n;
        scenario(argument);
        const bool all = no_memory_left != 0;
        no_memory_left = 0;
        for (size_t i = 0; i < NO_MEMORY_LIVE; i++) {
            if (no_memory_live[i] != NULL) fail_msg("allocation %ju failed, and something is left", (uintmax_t)n);
        }
        if (all) {
            assert_true(n > least);
            return;
        }
        assert_true(n < NO_MEMORY_MOST);
    }
}

#endif
