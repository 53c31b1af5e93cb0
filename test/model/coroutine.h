/* SPDX-License-Identifier: MIT
   A few stacks in one thread, and going from one to the other.

   No system call but at the first start of each; a coroutine may be left for good anywhere and started anew. */
#ifndef WEIR_TEST_COROUTINE_H
#define WEIR_TEST_COROUTINE_H

enum { COROUTINES_MAX = 4 };

/* Runs body from its first line until it leaves or returns.  What the coroutine did before is dropped. */
void coroutine_start(int which, void (*body)(void));

/* Goes on where it left.  Only after coroutine_start, and not after its body returned. */
void coroutine_resume(int which);

/* Called inside: back to whoever started or resumed it. */
void coroutine_leave(void);

#endif
