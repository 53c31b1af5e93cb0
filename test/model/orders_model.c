/* SPDX-License-Identifier: MIT
   That the checker knows C11's memory orders: the litmus tests of the literature, each with what may come out of it and
   what may not.

   Each runs in all executions; an outcome is what the threads' loads found, as digits.  All that may be seen is seen,
   and nothing else, but for what memory.h leaves out. */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "share/atomic.h"

enum { OUTCOMES_MAX = 64, LOADS_MAX = 8 };

static struct atom x, y, z;
static char found[LOADS_MAX + 1];
static char outcomes[OUTCOMES_MAX][LOADS_MAX + 1];
static int outcome_count, failures;

static void begin(void)
{
    atom_store(&x, 0);
    atom_store(&y, 0);
    atom_store(&z, 0);
    memset(found, 0, sizeof found);
    memset(found, '-', LOADS_MAX);
}

static void see(int load, uint64_t value)
{
    found[load] = (char)('0' + value);
}

static void end(void)
{
    int loads = LOADS_MAX, i = 0;
    while (loads > 0 && found[loads - 1] == '-') loads--;
    found[loads] = '\0';
    while (i < outcome_count && strcmp(outcomes[i], found) != 0) i++;
    if (i == outcome_count && outcome_count < OUTCOMES_MAX) memcpy(outcomes[outcome_count++], found, sizeof found);
}

static int by_text(const void *one, const void *other)
{
    return strcmp(one, other);
}

static void litmus(const char *name, const char *expected, void (*one)(void), void (*two)(void), void (*three)(void),
                   void (*four)(void))
{
    struct model_scenario scenario = {.name = name, .begin = begin, .end = end, .weak = true};
    void (*const threads[])(void) = {one, two, three, four};
    for (int i = 0; i < 4 && threads[i] != NULL; i++) scenario.thread[scenario.threads++] = threads[i];
    char seen[2][OUTCOMES_MAX * (LOADS_MAX + 2)] = {"", ""};
    uint64_t executions[2];
    for (int plain = 0; plain < 2; plain++) {
        scenario.plain = plain != 0;
        outcome_count = 0;
        const struct model_result result = model_run(&scenario);
        executions[plain] = result.executions;
        qsort(outcomes, (size_t)outcome_count, sizeof *outcomes, by_text);
        for (int i = 0; i < outcome_count; i++) {
            strcat(seen[plain], i == 0 ? "" : " ");
            strcat(seen[plain], outcomes[i]);
        }
        if (result.failed || !result.complete) model_print(&result, stdout);
    }
    const bool holds = strcmp(seen[0], expected) == 0 && strcmp(seen[1], expected) == 0;
    failures += !holds;
    printf("%s %s: %s; %" PRIu64 " executions, %" PRIu64 " without reduction\n", holds ? "ok" : "FAILED", name, seen[0],
           executions[0], executions[1]);
    if (!holds) printf("  expected %s; without reduction %s\n", expected, seen[1]);
}

/* ---- MP: a message, and a flag that it is there ---- */

static void message(void)
{
    atom_store(&x, 1);
    atom_store(&y, 1);
}
static void message_release(void)
{
    atom_store(&x, 1);
    atom_store_release(&y, 1);
}
static void read_message(void)
{
    see(0, atom_load(&y));
    see(1, atom_load(&x));
}
static void read_message_acquire(void)
{
    see(0, atom_load_acquire(&y));
    see(1, atom_load(&x));
}
static void read_message_fence(void)
{
    see(0, atom_load(&y));
    atom_fence_acquire();
    see(1, atom_load(&x));
}
static void message_fence(void)
{
    atom_store(&x, 1);
    atom_fence_full();
    atom_store(&y, 1);
}
static void pass_on(void)
{
    if (atom_add(&y, 1) == 0) atom_store(&z, 1); /* relaxed: carries on what the release carried, if it found it */
}
static void read_passed(void)
{
    const uint64_t flag = atom_load_acquire(&y);
    see(0, flag);
    see(1, atom_load(&x));
}

/* ---- SB: each writes one and reads the other ---- */

static void write_x_read_y(void)
{
    atom_store(&x, 1);
    see(0, atom_load(&y));
}
static void write_y_read_x(void)
{
    atom_store(&y, 1);
    see(1, atom_load(&x));
}
static void write_x_fence_read_y(void)
{
    atom_store(&x, 1);
    atom_fence_full();
    see(0, atom_load(&y));
}
static void write_y_fence_read_x(void)
{
    atom_store(&y, 1);
    atom_fence_full();
    see(1, atom_load(&x));
}
static void release_x_acquire_y(void)
{
    atom_store_release(&x, 1);
    see(0, atom_load_acquire(&y));
}
static void release_y_acquire_x(void)
{
    atom_store_release(&y, 1);
    see(1, atom_load_acquire(&x));
}
static void swap_x_full_y(void)
{
    uint64_t old = 0;
    atom_swap_full(&x, &old, 1);
    see(0, atom_load_full(&y));
}
static void swap_y_full_x(void)
{
    uint64_t old = 0;
    atom_swap_full(&y, &old, 1);
    see(1, atom_load_full(&x));
}
static void swap_x_read_y(void)
{
    uint64_t old = 0;
    atom_swap(&x, &old, 1);
    see(0, atom_load_acquire(&y));
}
static void swap_y_read_x(void)
{
    uint64_t old = 0;
    atom_swap(&y, &old, 1);
    see(1, atom_load_acquire(&x));
}

/* ---- CoRR, IRIW, LB, swaps ---- */

static void write_x_twice(void)
{
    atom_store(&x, 1);
    atom_store(&x, 2);
}
static void read_x_twice(void)
{
    see(0, atom_load(&x));
    see(1, atom_load(&x));
}
static void write_x(void)
{
    atom_store_release(&x, 1);
}
static void write_y(void)
{
    atom_store_release(&y, 1);
}
static void read_x_y(void)
{
    see(0, atom_load_acquire(&x));
    see(1, atom_load_acquire(&y));
}
static void read_y_x(void)
{
    see(2, atom_load_acquire(&y));
    see(3, atom_load_acquire(&x));
}
static void read_x_fence_y(void)
{
    see(0, atom_load_acquire(&x));
    atom_fence_full();
    see(1, atom_load_acquire(&y));
}
static void read_y_fence_x(void)
{
    see(2, atom_load_acquire(&y));
    atom_fence_full();
    see(3, atom_load_acquire(&x));
}
static void read_x_write_y(void)
{
    see(0, atom_load(&x));
    atom_store(&y, 1);
}
static void read_y_write_x(void)
{
    see(1, atom_load(&y));
    atom_store(&x, 1);
}
static void swap_zero(void)
{
    uint64_t old = 0;
    see(0, atom_swap(&x, &old, 3));
    see(1, old);
}
static void swap_one(void)
{
    uint64_t old = 1;
    see(0, atom_swap(&x, &old, 3));
    see(1, old);
}
static void add_one(void)
{
    see(0, atom_add(&x, 1));
}
static void add_other(void)
{
    see(1, atom_add(&x, 1));
}
static void lock_and_count(void)
{
    uint64_t open = 0;
    while (atom_load(&x) != 0 || !atom_swap(&x, &open, 1)) {
        open = 0;
        atom_pause();
    }
    const uint64_t count = atom_load(&y);
    atom_store(&y, count + 1);
    atom_store_release(&x, 0);
    see((int)count, 1);
}
static void lock_and_count_badly(void)
{
    uint64_t open = 0;
    while (atom_load(&x) != 0 || !atom_swap(&x, &open, 1)) {
        open = 0;
        atom_pause();
    }
    const uint64_t count = atom_load(&y);
    atom_store(&y, count + 1);
    atom_store(&x, 0);
    see((int)count, 1);
}

int main(void)
{
    litmus("MP", "00 01 10 11", message, read_message, NULL, NULL);
    litmus("MP, release only", "00 01 10 11", message_release, read_message, NULL, NULL);
    litmus("MP, acquire only", "00 01 10 11", message, read_message_acquire, NULL, NULL);
    litmus("MP, release and acquire", "00 01 11", message_release, read_message_acquire, NULL, NULL);
    litmus("MP, release and an acquire fence", "00 01 11", message_release, read_message_fence, NULL, NULL);
    litmus("MP, a fence and acquire", "00 01 11", message_fence, read_message_acquire, NULL, NULL);
    litmus("MP, release, added to, acquire", "00 01 10 11 21", message_release, pass_on, read_passed, NULL);
    litmus("SB", "00 01 10 11", write_x_read_y, write_y_read_x, NULL, NULL);
    litmus("SB, release and acquire", "00 01 10 11", release_x_acquire_y, release_y_acquire_x, NULL, NULL);
    litmus("SB, swaps", "00 01 10 11", swap_x_read_y, swap_y_read_x, NULL, NULL);
    litmus("SB, fences", "01 10 11", write_x_fence_read_y, write_y_fence_read_x, NULL, NULL);
    litmus("SB, one fence", "00 01 10 11", write_x_fence_read_y, write_y_read_x, NULL, NULL);
    litmus("SB, full", "01 10 11", swap_x_full_y, swap_y_full_x, NULL, NULL);
    litmus("CoRR", "00 01 02 11 12 22", write_x_twice, read_x_twice, NULL, NULL);
    litmus("IRIW, acquire", "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111", write_x,
           write_y, read_x_y, read_y_x);
    litmus("IRIW, fences", "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111", write_x,
           write_y, read_x_fence_y, read_y_fence_x);
    litmus("LB, left out", "00 01 10", read_x_write_y, read_y_write_x, NULL, NULL);
    litmus("a swap that hopes for what is old", "01 02 10", swap_zero, write_x_twice, NULL, NULL);
    litmus("a swap that hopes for what comes", "00 02 11", swap_one, write_x_twice, NULL, NULL);
    litmus("adding finds the newest", "01 10", add_one, add_other, NULL, NULL);
    litmus("a lock", "11", lock_and_count, lock_and_count, NULL, NULL);
    litmus("a lock, not released", "1 11", lock_and_count_badly, lock_and_count_badly, NULL, NULL);
    return failures != 0;
}
