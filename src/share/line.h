/* SPDX-License-Identifier: MIT
   The size of a cache line.  Data that different threads write is on different lines, or each write would take the line
   from all others. */
#ifndef WEIR_SHARE_LINE_H
#define WEIR_SHARE_LINE_H

enum { SHARE_LINE = 64 };

#endif
