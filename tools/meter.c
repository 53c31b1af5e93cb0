/* SPDX-License-Identifier: MIT
   For the demo: counts the lines of stdin and draws how many came in each tenth of a second.

   meter AFTER_MS STALL_MS: reads, stops reading for STALL_MS after AFTER_MS, and reads on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 100, SLOT_MS = 100, PER_MARK = 40 };

static long long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static long count_lines(const char *bytes, size_t size)
{
    long count = 0;
    for (size_t i = 0; i < size; i++) count += bytes[i] == '\n';
    return count;
}

static void draw(const long lines[SLOTS])
{
    static const char marks[] = "##################################################";
    int last = SLOTS - 1;
    while (last > 0 && lines[last] == 0) last--;
    for (int i = 0; i <= last; i++) {
        const int length = (int)(lines[i] / PER_MARK);
        const int most = (int)strlen(marks);
        printf("  %3.1f s %6ld  %.*s\n", i * SLOT_MS / 1000.0, lines[i], length < most ? length : most, marks);
    }
}

int main(int argc, char **argv)
{
    static char buffer[1 << 12];
    long lines[SLOTS] = {0};
    const long long after = argc > 1 ? atoll(argv[1]) : 0, stall = argc > 2 ? atoll(argv[2]) : 0;
    const long long began = now_ms();
    int stalled = stall == 0;
    for (ssize_t got; (got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0;) {
        const long long slot = (now_ms() - began) / SLOT_MS;
        lines[slot < SLOTS ? slot : SLOTS - 1] += count_lines(buffer, (size_t)got);
        if (stalled || now_ms() - began < after) continue;
        const struct timespec nap = {stall / 1000, stall % 1000 * 1000000};
        nanosleep(&nap, NULL);
        stalled = 1;
    }
    draw(lines);
    return 0;
}
