/* SPDX-License-Identifier: MIT
   Which receipts have been settled.

       header page | half 0: words | half 1: words             word: | window, 24 bits | mark, 40 |     0: empty

   Time is cut into windows as long as a receipt can be settled.  A receipt belongs to the window that it was made in,
   whenever it is settled: so it has one place to be looked for, and the first is the one whose compare-and-swap
   succeeds.  Only receipts of the present window and of the one before it can be settled: two halves are enough, and a
   word of an older window is as good as an empty one.  It is overwritten, never cleared.

   A word is looked for from its mark on, PROBES words at most; within a window words only fill, so that all who look
   for the same mark come to the same word.  Where all are taken the memory is full.  Marks are a keyed hash: nobody
   chooses where they go.  Two different ones agree in 40 bits and in their place once in 2^33 settles: one is then
   taken for settled, and gives nothing back.

   A receipt settles once; memory never grows. */
#include "serve/receipt/settled.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/error.h"
#include "host/map.h"
#include "share/atomic.h"

enum { PROBES = 128, PAGE = 4096, MARK_BITS = 40, WINDOW_BITS = 24 };
static const uint64_t MAGIC = UINT64_C(0x3264656c74746573); /* "settled2" */
#define LOCK_WAIT_NS UINT64_C(2000000000)
#define WINDOW_MASK ((UINT64_C(1) << WINDOW_BITS) - 1)
#define MARK_MASK ((UINT64_C(1) << MARK_BITS) - 1)

struct header {
    uint64_t magic, window_ns, words, table; /* words of one half */
    uint64_t key;
    uint8_t secret[MAC_SECRET];
};

_Static_assert(sizeof(struct header) <= PAGE, "the header is a page");
_Static_assert(sizeof(struct atom) == 8, "a word is one word");

struct settled {
    struct host_region region;
    void *memory;
    uint64_t bytes;
    struct header *header; /* in memory that another process may write */
    struct header own;     /* as it was when it was opened */
    struct atom *word;
    struct mac *mac;
    struct atom refused;
};

static uint64_t words_for(uint64_t receipts)
{
    uint64_t words = PAGE / sizeof(struct atom);
    while (words < receipts && words < UINT64_C(1) << 40) words *= 2;
    return words;
}

static int map(struct settled *settled)
{
    const int why = host_region_map(&settled->region, 0, settled->bytes, &settled->memory);
    settled->header = settled->memory;
    if (why == 0) settled->word = (struct atom *)((char *)settled->memory + PAGE);
    return why;
}

static bool is_ours(const struct header *is, const struct header *wanted)
{
    return is->magic == MAGIC && is->window_ns == wanted->window_ns && is->words == wanted->words &&
           is->table == wanted->table;
}

/* [under the file's lock] A new secret: the magic last, so that half a header is none. */
static int fill(struct settled *settled, const struct header *wanted)
{
    struct header *header = settled->header;
    *header = *wanted;
    int why = host_random(&header->key, sizeof header->key);
    if (why == 0) why = host_random(header->secret, sizeof header->secret);
    if (why == 0) header->magic = MAGIC;
    return why;
}

/* *other: the file is another's, and is to be replaced. */
static int join(struct settled *settled, const char *path, const struct header *wanted, bool *other)
{
    bool created = false;
    int why = host_region_open(&settled->region, path, HOST_JOIN_OR_CREATE, 0600, &created);
    if (why == 0) why = host_region_lock(&settled->region, 0, LOCK_WAIT_NS);
    if (why != 0) return why;
    why = host_region_measure(&settled->region);
    *other = settled->region.size != 0 && settled->region.size != settled->bytes;
    if (why == 0 && !*other) why = host_region_grow(&settled->region, settled->bytes);
    if (why == 0 && !*other) why = map(settled);
    if (why == 0 && !*other && settled->header->magic == 0) why = fill(settled, wanted);
    else if (why == 0 && !*other) *other = !is_ours(settled->header, wanted);
    host_region_unlock(&settled->region, 0);
    return why;
}

static void let_go(struct settled *settled)
{
    if (settled->memory != NULL) host_region_unmap(settled->memory, settled->bytes);
    if (settled->region.fd >= 0) host_region_close(&settled->region);
    settled->memory = NULL;
    settled->region.fd = -1;
}

/* Processes that have a replaced file open keep it, and go on by themselves. */
static int open_memory(struct settled *settled, const char *path, const struct header *wanted)
{
    bool other = true;
    int why = 0;
    settled->region.fd = -1;
    if (path == NULL) {
        why = host_region_anonymous(&settled->region, settled->bytes, true);
        if (why == 0) why = map(settled);
        return why != 0 ? why : fill(settled, wanted);
    }
    for (int tries = 0; tries < 2 && other && why == 0; tries++) {
        let_go(settled);
        if (tries != 0) remove(path);
        why = join(settled, path, wanted, &other);
    }
    return why == 0 && other ? EAGAIN : why;
}

int settled_open(struct settled **owned, const struct settled_options *options, weir_error *error)
{
    struct settled *settled = calloc(1, sizeof *settled);
    const struct header wanted = {
        .window_ns = options->window_ns, .words = words_for(options->receipts), .table = options->table};
    *owned = NULL;
    if (settled == NULL) return api_fail(error, WEIR_ENOMEM, "no memory for settled receipts");
    settled->bytes = PAGE + 2 * wanted.words * sizeof(struct atom);
    const int why = open_memory(settled, options->path, &wanted);
    if (why == 0) {
        settled->own = *settled->header;
        settled->own.words = wanted.words;
        settled->own.window_ns = wanted.window_ns;
        settled->mac = mac_open(settled->own.secret);
    }
    if (why == 0 && (settled->mac != NULL || !mac_is_here())) {
        *owned = settled;
        return 0;
    }
    settled_close(settled);
    if (why == 0) return api_fail(error, WEIR_ENOMEM, "no memory for settled receipts");
    return api_fail_system(error, "settled receipts", options->path, why);
}

void settled_close(struct settled *settled)
{
    if (settled == NULL) return;
    mac_close(settled->mac);
    let_go(settled);
    free(settled);
}

const struct mac *settled_mac(const struct settled *settled)
{
    return settled->mac;
}

uint64_t settled_key(const struct settled *settled)
{
    return settled->own.key;
}

uint64_t settled_window_ns(const struct settled *settled)
{
    return settled->own.window_ns;
}

uint64_t settled_bytes(const struct settled *settled)
{
    return settled->bytes;
}

/* Behind `window` by less than half a round, or empty. */
static bool is_free(uint64_t word, uint64_t window)
{
    return word == 0 || ((window - (word >> MARK_BITS)) & WINDOW_MASK) - 1 < WINDOW_MASK / 2;
}

/* Relaxed: a word stands for itself, and what it lets happen is ordered by the tables. */
static enum settled_answer take_word(struct atom *at, uint64_t word, uint64_t window, bool *next)
{
    uint64_t is = atom_load(at);
    while (is_free(is, window)) {
        if (atom_swap(at, &is, word)) return SETTLED_NOW;
    }
    *next = is != word;
    return SETTLED_BEFORE;
}

enum settled_answer settled_take(struct settled *settled, uint64_t made_ns, const uint8_t mark[MAC_SIZE])
{
    uint64_t half[2];
    memcpy(half, mark, sizeof half);
    const struct header *header = &settled->own;
    const uint64_t number = made_ns / header->window_ns + 1, window = number & WINDOW_MASK;
    const uint64_t word = window << MARK_BITS | (half[0] & MARK_MASK);
    struct atom *words = settled->word + (number % 2) * header->words;
    for (uint64_t i = 0; i < PROBES; i++) {
        bool next = false;
        const enum settled_answer answer = take_word(&words[(half[1] + i) & (header->words - 1)], word, window, &next);
        if (!next) return answer;
    }
    atom_add(&settled->refused, 1);
    return SETTLED_FULL;
}

uint64_t settled_refused(const struct settled *settled)
{
    return settled != NULL ? atom_load(&settled->refused) : 0;
}
