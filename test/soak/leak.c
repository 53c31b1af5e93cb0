/* SPDX-License-Identifier: MIT
   A library that is preloaded into weir serve: ten times a second 64 KiB are lost, and a descriptor. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 16, PAUSE_NS = 100000000 };
static void *volatile last; /* or else the compiler knows that nobody reads it */

static void *leak(void *unused)
{
    (void)unused;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    while (true) {
        nanosleep(&pause, NULL);
        void *memory = malloc(BYTES);
        if (memory != NULL) memset(memory, 1, BYTES);
        last = memory;
        if (dup(STDERR_FILENO) < 0) return NULL;
    }
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, leak, NULL) == 0) pthread_detach(thread);
}
