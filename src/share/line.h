/* SPDX-License-Identifier: MIT
   line.h - what different threads write lies on different cache lines, or each write would take it from all others.

   May touch: nothing, it is a number. */
#ifndef WEIR_SHARE_LINE_H
#define WEIR_SHARE_LINE_H

enum { SHARE_LINE = 64 };

#endif
