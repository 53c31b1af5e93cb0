/* SPDX-License-Identifier: MIT
   A test that signs: skipped, with the line that tools/test counts, where weir has no OpenSSL.

   Included behind cmocka.h. */
#ifndef WEIR_UNIT_NEEDS_RECEIPTS_H
#define WEIR_UNIT_NEEDS_RECEIPTS_H

#include "serve/receipt/mac.h"
#include "unit/skip.h"

static inline void needs_receipts(const char *what)
{
    if (!mac_is_here()) skip_because(what, "weir is built without OpenSSL", "tools/deps build && tools/build");
}

#endif
