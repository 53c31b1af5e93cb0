/* SPDX-License-Identifier: MIT
   The value of a key: what is remembered of its limits, as bytes.

       | w e i r | 2 | cells | 0 | 0 |                      the head, 8 bytes
       | kind, words << 8, burst << 16 | permit | word ... | a cell, 8 bytes each, least byte first
       | entry ... |                                        behind the cell of a sliding-log, which is alone (log.c)

   Format 1 has no burst, and where permit is the ticks that drained in a us; it is read.

   The module and weir.lua write the same, so a key may be asked by either.

   Bytes that anybody wrote are read without a fault, and what comes out of them is within the bounds that a verb relies
   on (kinds.h). */
#include <string.h>

#include "redis/micro/kinds.h"

enum { MAGIC = 4, VERSION_AT = MAGIC, COUNT_AT, PAD_AT, VERSION_MAX = 31, WORD = 8, BYTE_BITS = 8, BYTE_MASK = 255 };
#define WORD_MOST (UINT64_C(1) << 53)

static const char magic[] = "weir";

/* None is always a fresh one. */
static bool words_fit(uint64_t kind, uint64_t words)
{
    static const uint64_t of_kind[MICRO_KINDS] = {
        [MICRO_GCRA] = GCRA_WORDS, [MICRO_HYBRID] = 3,  [MICRO_LEAKY] = 2,
        [MICRO_FIXED] = 2,         [MICRO_SLIDING] = 3, [MICRO_LOG] = LOG_WORDS};
    if (kind >= MICRO_KINDS) return false;
    return words == 0 || words == of_kind[kind] || (kind == MICRO_GCRA && words == GCRA_LEASE_WORDS);
}

/* A log is alone, for its ring is behind it. */
static bool read_cell(unsigned format, struct micro_cell *cell, const unsigned char **at, size_t *left, bool alone)
{
    if (*left < MICRO_CELL) return false;
    const uint64_t first = word_read(*at), second = word_read(*at + WORD), words = first >> BYTE_BITS & BYTE_MASK;
    *cell = (struct micro_cell){.kind = first & BYTE_MASK, .words = words, .burst = first >> 2 * BYTE_BITS};
    *at += MICRO_CELL;
    *left -= MICRO_CELL;
    if (!words_fit(cell->kind, words) || second > MICRO_MOST || *left < words * WORD) return false;
    if (cell->burst > (format == 1 ? 0 : MICRO_BURST_MOST)) return false;
    const bool line = (cell->kind == MICRO_GCRA || cell->kind == MICRO_HYBRID) && words != 0;
    if (line && second == 0) return false;
    if (cell->kind == MICRO_LOG && words != 0 && !alone) return false;
    if (format != 1) cell->permit = second;
    else if (line) cell->per = second;
    for (uint64_t i = 0; i < words; i++) {
        cell->word[i] = word_read(*at);
        if (cell->word[i] > WORD_MOST) return false;
        *at += WORD;
        *left -= WORD;
    }
    return true;
}

bool micro_read(struct micro_state *state, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    state->count = 0; /* cells beyond it are not looked at */
    if (size < MICRO_HEAD || memcmp(at, magic, MAGIC) != 0) return false;
    const unsigned format = at[VERSION_AT], count = at[COUNT_AT];
    if (format == 0 || format > MICRO_FORMAT) return false;
    if (count == 0 || count > WEIR_LIMITS_MAX || at[PAD_AT] != 0 || at[PAD_AT + 1] != 0) return false;
    size_t left = size - MICRO_HEAD;
    at += MICRO_HEAD;
    for (unsigned i = 0; i < count; i++) {
        if (!read_cell(format, &state->cell[i], &at, &left, count == 1)) return false;
    }
    const struct micro_cell *first = &state->cell[0];
    const bool log = first->kind == MICRO_LOG && first->words != 0;
    const bool sound = log ? log_is_sound(first, left) : left == 0;
    state->count = sound ? count : 0;
    return sound;
}

/* No letter, so that "weirdo" is not weir's. */
unsigned micro_format(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    if (size <= VERSION_AT || memcmp(at, magic, MAGIC) != 0 || at[VERSION_AT] > VERSION_MAX) return 0;
    return at[VERSION_AT];
}

size_t micro_write(const struct micro_state *state, void *bytes)
{
    unsigned char *at = bytes;
    memcpy(at, magic, MAGIC);
    at[VERSION_AT] = MICRO_FORMAT;
    at[COUNT_AT] = (unsigned char)state->count;
    at[PAD_AT] = at[PAD_AT + 1] = 0;
    at += MICRO_HEAD;
    for (unsigned i = 0; i < state->count; i++) {
        const struct micro_cell *cell = &state->cell[i];
        word_write(at, cell->kind | cell->words << BYTE_BITS | cell->burst << 2 * BYTE_BITS);
        word_write(at + WORD, cell->permit);
        at += MICRO_CELL;
        for (uint64_t word = 0; word < cell->words; word++, at += WORD) word_write(at, cell->word[word]);
    }
    return (size_t)(at - (unsigned char *)bytes);
}

bool micro_prepare(const struct micro_plan *plan, struct micro_state *state, uint64_t now)
{
    bool moved = false;
    for (unsigned i = 0; i < plan->count; i++) {
        struct micro_cell *cell = &state->cell[i];
        const struct micro_rule *rule = &plan->rule[i];
        const struct kind *kind = kind_of(rule);
        if (i >= state->count || cell->kind != rule->kind) *cell = (struct micro_cell){.kind = rule->kind};
        if (kind != NULL && kind->adapt(rule, cell, least(now, MICRO_MOST))) moved = true;
    }
    state->count = plan->count;
    return moved;
}
