/* SPDX-License-Identifier: MIT
   A library that is preloaded into a test: the machine seems to have been started at another time.

   WEIR_TEST_UPTIME_SHIFT_NS is added to what CLOCK_MONOTONIC and its sisters say, and taken from deadlines on it before
   the kernel sees them.  The clock on the wall stays as it is.

   Covers the calls with which weir, libuv and the examples read this clock or wait until a time on it; all others wait
   for a duration. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>

enum { SYSCALL_ARGUMENTS = 6, DECIMAL = 10 };
static const long long S_NS = 1000000000;

/* What this library takes the place of. */
static struct {
    int (*clock_gettime)(clockid_t clock, struct timespec *now);
    int (*clock_nanosleep)(clockid_t clock, int flags, const struct timespec *until, struct timespec *left);
    int (*timerfd_settime)(int timer, int flags, const struct itimerspec *when, struct itimerspec *before);
    long (*syscall)(long number, ...);
    long long shift_ns;
} real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ISO C has no conversion from the address of an object to that of a function. */
static void find(void *function, size_t size, const char *name)
{
    void *const address = dlsym(RTLD_NEXT, name);
    if (address == NULL) abort();
    memcpy(function, &address, size);
}

static void begin(void)
{
    const char *text = getenv("WEIR_TEST_UPTIME_SHIFT_NS");
    if (text != NULL) real.shift_ns = strtoll(text, NULL, DECIMAL);
    find(&real.clock_nanosleep, sizeof real.clock_nanosleep, "clock_nanosleep");
    find(&real.timerfd_settime, sizeof real.timerfd_settime, "timerfd_settime");
    find(&real.syscall, sizeof real.syscall, "syscall");
    find(&real.clock_gettime, sizeof real.clock_gettime, "clock_gettime");
}

static bool since_start(clockid_t clock)
{
    return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW;
}

/* Never before 0, which the kernel would not take: what was due before the real start is due at it. */
static struct timespec moved(const struct timespec *from, long long by_ns)
{
    struct timespec to = {.tv_sec = from->tv_sec + (time_t)(by_ns / S_NS), .tv_nsec = from->tv_nsec + by_ns % S_NS};
    if (to.tv_nsec < 0) {
        to.tv_nsec += S_NS;
        to.tv_sec--;
    } else if (to.tv_nsec >= S_NS) {
        to.tv_nsec -= S_NS;
        to.tv_sec++;
    }
    return to.tv_sec < 0 ? (struct timespec){0, 0} : to;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    pthread_once(&once, begin);
    const int failed = real.clock_gettime(clock, now);
    if (failed == 0 && since_start(clock)) *now = moved(now, real.shift_ns);
    return failed;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    pthread_once(&once, begin);
    if ((flags & TIMER_ABSTIME) == 0 || !since_start(clock)) return real.clock_nanosleep(clock, flags, until, left);
    const struct timespec kernels = moved(until, -real.shift_ns);
    return real.clock_nanosleep(clock, flags, &kernels, left);
}

/* Of a timer of CLOCK_MONOTONIC: no program here has another.  All 0 stops it, and what is past must not. */
int timerfd_settime(int timer, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    struct itimerspec kernels = *when;
    pthread_once(&once, begin);
    const bool set = when->it_value.tv_sec != 0 || when->it_value.tv_nsec != 0;
    if (set && (flags & TFD_TIMER_ABSTIME) != 0) {
        kernels.it_value = moved(&when->it_value, -real.shift_ns);
        if (kernels.it_value.tv_sec == 0 && kernels.it_value.tv_nsec == 0) kernels.it_value.tv_nsec = 1;
    }
    return real.timerfd_settime(timer, flags, &kernels, before);
}

static bool waits_until(long number, int operation)
{
    return number == SYS_futex && (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
           (operation & FUTEX_CLOCK_REALTIME) == 0;
}

long syscall(long number, ...)
{
    va_list list;
    long argument[SYSCALL_ARGUMENTS];
    struct timespec kernels;
    pthread_once(&once, begin);
    va_start(list, number);
    for (int i = 0; i < SYSCALL_ARGUMENTS; i++) argument[i] = va_arg(list, long);
    va_end(list);
    if (waits_until(number, (int)argument[1]) && argument[3] != 0) {
        kernels = moved((const struct timespec *)argument[3], -real.shift_ns);
        argument[3] = (long)&kernels;
    }
    return real.syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
