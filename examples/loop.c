/* SPDX-License-Identifier: MIT
   Two event loops share 500 operations a second: each reserves its next start and sets its timer to it. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <weir/weir.h>

enum { LOOPS = 2, OPERATIONS = 50, SECOND_NS = 1000000000 };

struct loop {
    weir_limiter *limiter;
    int timer, left, early, failed;
    weir_decision next; /* zeroed: nothing is reserved */
};

static void set_timer(const struct loop *loop, uint64_t at_ns)
{
    const struct itimerspec when = {.it_value = {(time_t)(at_ns / SECOND_NS), (long)(at_ns % SECOND_NS)}};
    timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void start_operation(struct loop *loop)
{
    if (weir_now().ns < loop->next.start.ns) loop->early++;
    loop->left--; /* here a request is sent; it is late by weir_now() - weir_due(loop->limiter, &loop->next, 1) */
}

/* The timer has fired, or there is new work.  Every operation costs one reservation. */
static void start_due(struct loop *loop)
{
    while (loop->left > 0) {
        if (weir_allowed(loop->next)) {
            if (weir_now().ns < loop->next.start.ns) {
                set_timer(loop, loop->next.start.ns);
                return;
            }
            start_operation(loop);
            if (loop->left == 0) return; /* reserve nothing that is not wanted; weir_cancel gives it back */
        }
        loop->next = weir_reserve(loop->limiter, 1, WEIR_FOREVER);
        if (loop->next.verdict == WEIR_DENY) { /* this limit cannot be taken ahead of its time */
            set_timer(loop, weir_now().ns + loop->next.retry_ns);
            return;
        }
        if (!weir_allowed(loop->next)) { /* stopped */
            loop->failed = 1;
            return;
        }
    }
}

static void *run(void *argument)
{
    struct loop *loop = argument;
    struct epoll_event event = {.events = EPOLLIN}; /* a real loop has its sockets here as well */
    const int events = epoll_create1(EPOLL_CLOEXEC);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop->failed = events < 0 || loop->timer < 0 || epoll_ctl(events, EPOLL_CTL_ADD, loop->timer, &event) != 0;
    while (loop->left > 0 && !loop->failed) {
        start_due(loop);
        if (loop->left > 0 && !loop->failed) epoll_wait(events, &event, 1, -1); /* setting the timer reads it as well */
    }
    close(loop->timer);
    close(events);
    return NULL;
}

int main(void)
{
    struct loop loop[LOOPS] = {0};
    pthread_t thread[LOOPS];
    weir_limiter *limiter;
    weir_options options = WEIR_OPTIONS;
    weir_stats stats;
    int left = 0, early = 0, failed = 0;
    options.use = WEIR_PACE;
    if (weir_open(&limiter, "500/s", &options, NULL) != 0) return 1;
    for (int i = 0; i < LOOPS; i++) {
        loop[i].limiter = limiter;
        loop[i].left = OPERATIONS;
        if (pthread_create(&thread[i], NULL, run, &loop[i]) != 0) return 1;
    }
    for (int i = 0; i < LOOPS; i++) {
        pthread_join(thread[i], NULL);
        left += loop[i].left;
        early += loop[i].early;
        failed += loop[i].failed;
    }
    weir_read_stats(limiter, &stats, sizeof stats);
    printf("%d operations started, %d early; %u takes\n", LOOPS * OPERATIONS - left, early, (unsigned)stats.calls);
    weir_close(limiter);
    return left != 0 || early != 0 || failed != 0 || stats.calls != (uint64_t)LOOPS * OPERATIONS;
}
