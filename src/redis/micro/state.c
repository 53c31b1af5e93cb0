/* SPDX-License-Identifier: MIT
   The value of a key: what is remembered of its limits, as bytes.

       | w e i r | 2 | cells | 0 | 0 |                      the head, 8 bytes
       | kind, words << 8, burst << 16 | permit | word ... | a cell, 8 bytes each, least byte first
       | entry ... |                                        behind the cell of a sliding-log, which is alone (log.c)
       | fixed, 2 << 8, 1 << 16 | per | seen | ahead |      last: a mark of tenants with weights (weights.c)

   No limit writes the cell of a mark.  A weir that knows no weights has no limit for it, and leaves it out; where its
   text has one more, a fixed-window, that is over.

   Format 1 has no burst, and where permit is the ticks that drained in a us; it is read.

   The module and weir.lua write the same, so a key may be asked by either.

   Bytes that anybody wrote are read without a fault, and what comes out of them is within the bounds that a verb relies
   on (kinds.h). */
#include <string.h>

#include "redis/micro/kinds.h"

enum { MAGIC = 4, VERSION_AT = MAGIC, COUNT_AT, PAD_AT, VERSION_MAX = 31, WORD = 8, BYTE_BITS = 8, BYTE_MASK = 255 };
enum { MARK_WORDS = 2 };
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

static bool is_mark(const struct micro_cell *cell)
{
    return cell->kind == MICRO_FIXED && cell->words == MARK_WORDS && cell->burst == 1 && cell->permit != 0;
}

/* Of the cells that were read. */
static void split_mark(struct micro_state *state)
{
    const struct micro_cell *last = &state->cell[state->count - 1];
    if (state->count == 1 || !is_mark(last)) return;
    state->mark[0] = (struct micro_mark){last->word[0], last->word[1], last->permit};
    state->marks = 1;
    state->count--;
}

bool micro_read(struct micro_state *state, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    state->count = state->marks = 0; /* cells beyond it are not looked at */
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
    if (!sound) return false;
    state->count = count;
    split_mark(state);
    return true;
}

/* No letter, so that "weirdo" is not weir's. */
unsigned micro_format(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    if (size <= VERSION_AT || memcmp(at, magic, MAGIC) != 0 || at[VERSION_AT] > VERSION_MAX) return 0;
    return at[VERSION_AT];
}

static unsigned char *write_cell(const struct micro_cell *cell, unsigned char *at)
{
    word_write(at, cell->kind | cell->words << BYTE_BITS | cell->burst << 2 * BYTE_BITS);
    word_write(at + WORD, cell->permit);
    at += MICRO_CELL;
    for (uint64_t word = 0; word < cell->words; word++, at += WORD) word_write(at, cell->word[word]);
    return at;
}

/* Beside a log or as many limits as fit there is no room for a mark; no level of tenants with weights has these. */
static size_t write_mark(const struct micro_state *state, unsigned char *bytes, size_t size)
{
    const uint64_t kind = MICRO_FIXED | (uint64_t)MARK_WORDS << BYTE_BITS | UINT64_C(1) << 2 * BYTE_BITS;
    const uint64_t words[] = {kind, state->mark[0].per, state->mark[0].seen, state->mark[0].ahead};
    if (state->count == WEIR_LIMITS_MAX || state->cell[0].kind == MICRO_LOG) return size;
    bytes[COUNT_AT]++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++, size += WORD) word_write(bytes + size, words[i]);
    return size;
}

size_t micro_write(const struct micro_state *state, void *bytes)
{
    unsigned char *at = bytes;
    memcpy(at, magic, MAGIC);
    at[VERSION_AT] = MICRO_FORMAT;
    at[COUNT_AT] = (unsigned char)state->count;
    at[PAD_AT] = at[PAD_AT + 1] = 0;
    at += MICRO_HEAD;
    for (unsigned i = 0; i < state->count; i++) at = write_cell(&state->cell[i], at);
    const size_t size = (size_t)(at - (unsigned char *)bytes);
    return (state->marks & 1) == 0 ? size : write_mark(state, bytes, size);
}

bool micro_prepare(const struct micro_plan *plan, struct micro_state *state, uint64_t now)
{
    bool moved = false;
    if (state->marks != 0) weights_bring(state, least(now, MICRO_MOST));
    for (unsigned i = 0; i < plan->count; i++) {
        struct micro_cell *cell = &state->cell[i];
        const struct micro_rule *rule = &plan->rule[i];
        const struct kind *kind = kind_of(rule);
        if (i >= state->count || cell->kind != rule->kind) *cell = (struct micro_cell){.kind = rule->kind};
        if (kind != NULL && kind->adapt(rule, cell, least(now, MICRO_MOST))) moved = true;
        if (rule->kind == MICRO_CONCURRENT && state->slots.moved) moved = true;
    }
    state->count = plan->count;
    return moved;
}
