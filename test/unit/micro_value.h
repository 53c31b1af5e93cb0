/* SPDX-License-Identifier: MIT
   The value of a key as the module keeps it: written as a whole, but for a log in place.

   A ring grows by what is said, by zeros. */
#ifndef WEIR_TEST_MICRO_VALUE_H
#define WEIR_TEST_MICRO_VALUE_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "redis/micro/micro.h"

#ifndef VALUE_SLOTS
#define VALUE_SLOTS 256
#endif

struct value {
    size_t size; /* 0: there is none */
    unsigned char bytes[MICRO_BYTES_MAX + VALUE_SLOTS * MICRO_LOG_ENTRY];
};

/* Who applies the ranges alone, as a replica does, has the same. */
static inline void value_check_ranges(const struct value *before, const struct value *value,
                                      const struct micro_range range[], unsigned ranges)
{
    static struct value copy;
    memset(&copy, 0, sizeof copy);
    memcpy(copy.bytes, before->bytes, before->size);
    for (unsigned i = 0; i < ranges; i++) {
        assert(range[i].at + range[i].size <= value->size);
        memcpy(copy.bytes + range[i].at, value->bytes + range[i].at, range[i].size);
    }
    assert(memcmp(copy.bytes, value->bytes, value->size) == 0);
}

/* state: a cell of a log, or any where none is a log. */
static inline void value_put(struct value *value, struct micro_state *state, struct micro_log *log)
{
    struct micro_range range[MICRO_LOG_RANGES];
    if (state->cell[0].kind != MICRO_LOG || state->cell[0].words == 0 || log->ring == NULL) {
        value->size = micro_write(state, value->bytes);
        return;
    }
    static struct value before;
    const bool is_small = sizeof before < 1 << 16;
    if (is_small) before = *value;
    const size_t size = micro_log_place(&state->cell[0], log, value->size);
    assert(size <= sizeof value->bytes);
    memset(value->bytes + value->size, 0, size - value->size);
    value->size = size;
    const unsigned ranges = micro_log_write(state, log, value->bytes, range);
    for (unsigned i = 0; i < ranges; i++) assert(range[i].at + range[i].size <= size);
    if (is_small) value_check_ranges(&before, value, range, ranges);
}

/* false: it is not read. */
static inline bool value_get(const struct value *value, struct micro_state *state, struct micro_log *log)
{
    state->count = state->marks = 0;
    *log = (struct micro_log){.ring = NULL};
    if (value->size == 0) return true;
    const bool reads = micro_read(state, value->bytes, value->size);
    if (reads) micro_log_open(log, state, value->bytes);
    return reads;
}

#endif
