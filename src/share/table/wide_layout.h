/* SPDX-License-Identifier: MIT
   The layout of wide slots in memory; drawn in wide.c. */
#ifndef WEIR_SHARE_TABLE_WIDE_LAYOUT_H
#define WEIR_SHARE_TABLE_WIDE_LAYOUT_H

#include "core/num.h"
#include "share/table/wide.h"

enum { BUCKET_SLOTS = 64, LINE_WORDS = 8, FLOOR = 0, TAGS = 1, TAG_WORDS = 1 };
enum { FINGERPRINT, IDLE_AT, STATE /* of a copy */ };

static inline uint64_t wide_whole_lines(uint64_t words)
{
    return add_saturating(words, LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
}

static inline uint64_t wide_copies(const struct wide *table)
{
    return table->kept ? 2 : 1;
}

static inline uint64_t wide_copy_words(const struct wide *table)
{
    return (table->slot_words - TAG_WORDS) / wide_copies(table);
}

/* The most words of state that fit a slot. */
static inline uint64_t wide_capacity(const struct wide *table)
{
    return wide_copy_words(table) - STATE;
}

static inline uint64_t wide_bucket_slots(const struct wide *table)
{
    return least(table->slots, BUCKET_SLOTS);
}

static inline uint64_t wide_bucket_words(const struct wide *table)
{
    return wide_whole_lines(TAGS + wide_bucket_slots(table) * table->slot_words);
}

#endif
