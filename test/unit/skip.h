/* SPDX-License-Identifier: MIT
   What a test of cmocka cannot do here: the line that tools/test counts, as test/lib/skip.sh prints it.

   Included behind cmocka.h. */
#ifndef WEIR_UNIT_SKIP_H
#define WEIR_UNIT_SKIP_H

#include <stdio.h>

/* A build with a sanitizer cannot: the plain one does. */
#define SKIP_CURE_PLAIN "tools/test test runs it in the release build"
#define SKIP_CURE_ROOT "run the tests as root"
#define SKIP_CURE_LINUX "run it on Linux"

/* Off in the build with the branches for other systems: tools/cross posix. */
#ifdef __linux__
enum { ON_LINUX = 1 };
#else
enum { ON_LINUX = 0 };
#endif

/* Ends the test, but not its group. */
static inline void skip_because(const char *what, const char *why, const char *cure)
{
    printf("skipped: %s: %s; cure: %s\n", what, why, cure);
    fflush(stdout);
    skip();
}

#endif
