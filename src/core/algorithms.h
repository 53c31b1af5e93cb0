/* SPDX-License-Identifier: MIT
   algorithms.h - the table of algorithms: a row each, and the file of that name.

   A new algorithm is a row here, a file in this room, a test and a page of doc/algorithms.md. */
#ifndef WEIR_CORE_ALGORITHMS_H
#define WEIR_CORE_ALGORITHMS_H

/*  row(NAME, file) */
#define ALGORITHMS(row)                                                                                                \
    row(GCRA, gcra) row(HYBRID, hybrid) row(UNLIMITED, unlimited) row(NONE, none) row(TIMELINE, timeline)              \
        row(BURSTY, bursty) row(WARMUP, warmup) row(LEAKY, leaky) row(CYCLE, cycle) row(FIXED_WINDOW, fixed_window)    \
            row(SLIDING_WINDOW, sliding_window) row(SLIDING_LOG, sliding_log) row(SIMRATE, simrate)

enum algorithm_name {
    ALGORITHM_ELSEWHERE, /* no limit: a word says so whose state lives in a cell */
#define ALGORITHM_ENUM(name, file) ALGORITHM_##name,
    ALGORITHMS(ALGORITHM_ENUM)
#undef ALGORITHM_ENUM
        ALGORITHM_NAMES
};

#endif
