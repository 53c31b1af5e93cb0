/* SPDX-License-Identifier: MIT
   A program that has nothing of weir but the two files that tools/amalgamation writes: it limits something. */
#ifdef WEIR_LATE
#include <stdlib.h>
#endif
#ifdef WEIR_INCLUDED
#include "weir.c"
#else
#include "weir.h"
#endif

#include <stdio.h>

int main(void)
{
    weir_error error;
    weir_limiter *limiter;
    if (weir_open(&limiter, "10/s burst=3", NULL, &error) != 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    const weir_instant now = weir_now();
    int granted = 0;
    for (int call = 0; call < 10; call++) granted += weir_take_at(limiter, now, 1).verdict == WEIR_ALLOW;
    weir_close(limiter);
    if (granted != 3) fprintf(stderr, "%d of 10 calls were granted, expected 3\n", granted);
    return granted == 3 ? 0 : 1;
}
