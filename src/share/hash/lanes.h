/* SPDX-License-Identifier: MIT
   Eight 64-bit words in one register of AVX-512, for functions that are called only where the processor has them.

   WITH_LANES is defined where the compiler can make such functions, and marks them. */
#ifndef WEIR_SHARE_HASH_LANES_H
#define WEIR_SHARE_HASH_LANES_H

#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

#if defined(__x86_64__) && defined(__GNUC__)

#define WITH_LANES __attribute__((target("avx512f,avx512dq")))
#define IN_LANES WITH_LANES inline __attribute__((always_inline))

typedef uint64_t lanes __attribute__((vector_size(LANES * sizeof(uint64_t))));

#define LANES_ALL(word) ((lanes){word, word, word, word, word, word, word, word})

static IN_LANES lanes lanes_load(const void *words)
{
    lanes all;
    memcpy(&all, words, sizeof all);
    return all;
}

static IN_LANES void lanes_store(void *words, lanes all)
{
    memcpy(words, &all, sizeof all);
}

#endif
#endif
