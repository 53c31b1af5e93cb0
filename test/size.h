/* SPDX-License-Identifier: MIT
   How much a test does that could go on for ever, and from which seed.

       WEIR_SIZE=check     what a developer runs after each change
       WEIR_SIZE=test      the default
       WEIR_SIZE=prove     all of it

       WEIR_SEED=N         in place of the seed that the test has of its own
       WEIR_SEED=new       one that nobody chose, printed before anything runs, so that a hang can be repeated, too

   A size is a number of runs, calls or steps, and never a time: a slow machine does as much as a fast one. */
#ifndef WEIR_TEST_SIZE_H
#define WEIR_TEST_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* With a sanitizer everything takes several times as long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum size { SIZE_CHECK, SIZE_TEST, SIZE_PROVE };

static inline enum size size_asked(void)
{
    const char *name = getenv("WEIR_SIZE");
    if (name == NULL || strcmp(name, "test") == 0) return SIZE_TEST;
    if (strcmp(name, "check") == 0) return SIZE_CHECK;
    if (strcmp(name, "prove") == 0) return SIZE_PROVE;
    fprintf(stderr, "WEIR_SIZE is check, test or prove, not \"%s\"\n", name);
    exit(2);
}

/* The one of the three that is asked for. */
static inline uint64_t size_pick(uint64_t check, uint64_t test, uint64_t prove)
{
    const enum size size = size_asked();
    return size == SIZE_CHECK ? check : size == SIZE_TEST ? test : prove;
}

static inline uint64_t size_new_seed(const char *name)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t mixed = ((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec) + ((uint64_t)getpid() << 20);
    const uint64_t seed = 1 + mixed * UINT64_C(0x9e3779b97f4a7c15) % UINT64_C(1000000000);
    printf("%s: seed %llu\n", name, (unsigned long long)seed);
    fflush(stdout);
    return seed;
}

/* `own`, unless WEIR_SEED asks for another. */
static inline uint64_t size_seed(const char *name, uint64_t own)
{
    const char *text = getenv("WEIR_SEED");
    if (text == NULL) return own;
    if (strcmp(text, "new") == 0) return size_new_seed(name);
    char *end;
    const uint64_t seed = strtoull(text, &end, 10);
    if (seed != 0 && *end == '\0') return seed;
    fprintf(stderr, "WEIR_SEED is a number from 1 on, or new, not \"%s\"\n", text);
    exit(2);
}

#endif
