/* SPDX-License-Identifier: MIT
   Ucontext makes each stack once; from then on _longjmp goes between them, as it asks no kernel.

   What coroutine.h says, also under AddressSanitizer. */

/* The fortified longjmp refuses to go to another stack. */
#undef _FORTIFY_SOURCE

#include "coroutine.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

enum { STACK_BYTES = 64 * 1024 };

struct coroutine {
    jmp_buf home; /* before the first line of the body */
    jmp_buf here; /* where it left */
    ucontext_t entry;
    void (*body)(void);
    void *shadow; /* AddressSanitizer's own */
    bool made;
};

static struct coroutine coroutines[COROUTINES_MAX];
static _Alignas(64) char stacks[COROUTINES_MAX][STACK_BYTES];
static jmp_buf caller;
static int current;

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static void *caller_shadow;
static const void *caller_stack;
static size_t caller_bytes;

static void going_in(bool anew)
{
    if (anew) __asan_unpoison_memory_region(stacks[current], STACK_BYTES);
    __sanitizer_start_switch_fiber(&caller_shadow, stacks[current], STACK_BYTES);
}

static void gone_in(bool anew)
{
    __sanitizer_finish_switch_fiber(anew ? NULL : coroutines[current].shadow, &caller_stack, &caller_bytes);
}

static void going_out(void)
{
    __sanitizer_start_switch_fiber(&coroutines[current].shadow, caller_stack, caller_bytes);
}

static void gone_out(void)
{
    __sanitizer_finish_switch_fiber(caller_shadow, NULL, NULL);
}
#else
static void going_in(bool anew)
{
    (void)anew;
}

static void gone_in(bool anew)
{
    (void)anew;
}

static void going_out(void)
{
}

static void gone_out(void)
{
}
#endif

static void live(void)
{
    (void)_setjmp(coroutines[current].home);
    gone_in(true);
    coroutines[current].body();
    coroutine_leave();
    abort();
}

static void enter_first(struct coroutine *coroutine)
{
    coroutine->made = true;
    if (getcontext(&coroutine->entry) != 0) abort();
    coroutine->entry.uc_stack.ss_sp = stacks[current];
    coroutine->entry.uc_stack.ss_size = STACK_BYTES;
    coroutine->entry.uc_link = NULL;
    makecontext(&coroutine->entry, live, 0);
    (void)setcontext(&coroutine->entry);
    abort();
}

void coroutine_start(int which, void (*body)(void))
{
    current = which;
    coroutines[which].body = body;
    if (_setjmp(caller) == 0) {
        going_in(true);
        if (!coroutines[current].made) enter_first(&coroutines[current]);
        _longjmp(coroutines[current].home, 1);
    }
    gone_out();
}

void coroutine_resume(int which)
{
    current = which;
    if (_setjmp(caller) == 0) {
        going_in(false);
        _longjmp(coroutines[current].here, 1);
    }
    gone_out();
}

void coroutine_leave(void)
{
    if (_setjmp(coroutines[current].here) == 0) {
        going_out();
        _longjmp(caller, 1);
    }
    gone_in(false);
}
