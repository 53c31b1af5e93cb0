/* SPDX-License-Identifier: MIT
   A library that is preloaded into an engine: its clock on the wall is as far off as a file says.

   (libfaketime ends in a recursion with jemalloc, which reads the clock before anything can be allocated.)

   Allocates nothing; the monotonic clock is left alone. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { DIGITS_MAX = 24, US_PER_S = 1000000, NS_PER_US = 1000 };

static long long off_us(void)
{
    const char *name = getenv("WEIR_TEST_CLOCK");
    int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[DIGITS_MAX] = "";
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    return size > 0 ? strtoll(text, NULL, 10) : 0;
}

static long long now_us(void)
{
    struct timespec real = {0, 0};
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
    return (long long)real.tv_sec * US_PER_S + real.tv_nsec / NS_PER_US + off_us();
}

/* The engine finds these before those of the C library. */
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    long long us = now_us();
    now->tv_sec = us / US_PER_S;
    now->tv_usec = us % US_PER_S;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, now);
    long long us = now_us();
    now->tv_sec = us / US_PER_S;
    now->tv_nsec = us % US_PER_S * NS_PER_US;
    return 0;
}

time_t time(time_t *now)
{
    time_t s = now_us() / US_PER_S;
    if (now != NULL) *now = s;
    return s;
}
