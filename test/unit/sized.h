/* SPDX-License-Identifier: MIT
   Statistics as programs that were compiled with an older or a newer header read them: with another size.

   Included behind cmocka.h. */
#ifndef WEIR_TEST_SIZED_H
#define WEIR_TEST_SIZED_H

#include <string.h>

/* What fits is as in the whole, what the library does not know is 0, and what is behind the size stays.  known: bytes
   of the struct, which `read` fills the same each time. */
static inline void assert_sized(void (*read)(void *from, void *out, size_t size), void *from, size_t known)
{
    enum { MOST = 128, MARK = 0x5a };
    uint64_t whole[MOST], out[MOST];
    assert_true(known + 2 * sizeof *out <= sizeof out);
    memset(whole, 0, sizeof whole);
    read(from, whole, known);
    for (size_t size = 0; size <= known + sizeof *out; size += sizeof *out) {
        memset(out, MARK, sizeof out);
        read(from, out, size);
        assert_memory_equal(out, whole, size);
        for (size_t i = size; i < sizeof out; i++) assert_int_equal(((unsigned char *)out)[i], MARK);
    }
}

#endif
