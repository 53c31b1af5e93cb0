/* SPDX-License-Identifier: MIT
   Memory as C11 has it, for the explorer: each word keeps the history of its writes, and a load may find any of them
   that is not older than what its thread has to know.

   A view says for each word which write is the oldest one that may still be found.  Each thread has one; each write
   carries one, which an acquiring load joins to its own:

       load      relaxed: keeps what the write carried for a later fence      acquire: joins it
       store     relaxed: carries what a fence released      release: carries all that its thread knows
       swap, add find the newest write; carry on what that one carried, too (a release sequence)
       full      loads find nothing older than what full writes and fences before them have told
       fences    acquire: joins what relaxed loads kept      full: both ways, with all other full ones

   As in promising semantics (Kang and others, POPL 2017) without promises and with writes that come in their order: so
   loads that find a write which their own thread makes possible later (load buffering), and writes of two threads that
   overtake each other on two words (2+2W), are not seen. */
#ifndef WEIR_TEST_MODEL_MEMORY_H
#define WEIR_TEST_MODEL_MEMORY_H

#include <stdint.h>

#include "model.h"

void memory_forget(void);

/* The numbers of the writes of a word, the first is what was there before.  It has to be begun first. */
void memory_begin(int place, uint64_t value);
int memory_oldest(int thread, int place, enum model_order order);
int memory_newest(int place);
uint64_t memory_value(int place, int write);

void memory_load(int thread, int place, int write, enum model_order order);
void memory_store(int thread, int place, uint64_t value, enum model_order order);
void memory_swap(int thread, int place, uint64_t value, enum model_order order);
void memory_fence(int thread, enum model_order order);

/* From now on the thread finds nothing older than what is there now. */
void memory_reach(int thread, int place);

#endif
