/* SPDX-License-Identifier: MIT
   shim/host/thread.h - the real one, with fewer numbers for threads: a change goes through the lines of all of them. */
#ifndef WEIR_TEST_SHIM_THREAD_H
#define WEIR_TEST_SHIM_THREAD_H

#define HOST_SLOTS HOST_SLOTS_OF_A_HOST
#include "../../../../src/host/thread.h"
#undef HOST_SLOTS

enum { HOST_SLOTS = 5 }; /* MODEL_THREADS_MAX, and one for begin and end */

#endif
