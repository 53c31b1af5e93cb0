/* SPDX-License-Identifier: MIT
   The table of algorithms: a row each, the functions of that name, and its number for ever.

   A rule holds the number, and files of tables hold rules: so it stays, and one that is gone is not given again (13 was
   simrate's; the next is 15).  A new algorithm is a row here, a file in this folder, a test and a page of
   doc/algorithms.md. */
#ifndef WEIR_CORE_ALGORITHMS_H
#define WEIR_CORE_ALGORITHMS_H

/*  row(NAME, file, number) */
#define ALGORITHMS(row)                                                                                                \
    row(GCRA, gcra, 1) row(HYBRID, hybrid, 2) row(UNLIMITED, unlimited, 3) row(NONE, none, 4)                          \
        row(TIMELINE, timeline, 5) row(BURSTY, bursty, 6) row(WARMUP, warmup, 7) row(LEAKY, leaky, 8)                  \
            row(CYCLE, cycle, 9) row(FIXED_WINDOW, fixed_window, 10) row(SLIDING_WINDOW, sliding_window, 11)           \
                row(SLIDING_LOG, sliding_log, 12) row(CONCURRENT, concurrent, 14)

enum algorithm_name {
#define ALGORITHM_ENUM(name, file, number) ALGORITHM_##name = (number),
    ALGORITHMS(ALGORITHM_ENUM)
#undef ALGORITHM_ENUM
        ALGORITHM_NAMES
};

#endif
