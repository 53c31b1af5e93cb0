/* SPDX-License-Identifier: MIT
   Forks while threads take, wait, change the limit and open and close leases.

   Whatever lock a thread held and whatever it was about to write: the child asks, changes and closes the limiter.  It
   would hang otherwise, and is ended by its alarm.

   A count of forks ends each part. */
#include "crowd.h"

#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/limiter.h"

enum { THREADS = 6, FORKS = 120, CHILD_SECONDS = 20, TAKES = 300 };

/* Unlike the system's allocator, the thread sanitizer's may be locked at the fork by a thread that is not in the child.
   So there the child allocates nothing. */
#if defined(__SANITIZE_THREAD__)
#define WITH_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_SANITIZER 1
#endif
#endif
#ifdef WITH_SANITIZER
enum { CHILD_ALLOCATES = 0 };
#else
enum { CHILD_ALLOCATES = 1 };
#endif

static struct crowd crowd;
static atomic_bool over;

static void take_by_lease(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    while (!atomic_load(&over)) {
        static _Thread_local weir_lease lease;
        crowd_check(weir_lease_open(&lease, limiter, NULL) == 0, "no lease");
        for (int i = 0; i < 200; i++) {
            weir_decision decision = weir_lease_take(&lease, 1 + (uint64_t)i % 3);
            if (i % 7 == 0) weir_cancel(limiter, &decision);
        }
        weir_lease_close(&lease);
    }
}

static void wait_and_look(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    while (!atomic_load(&over)) {
        (void)weir_take_wait(limiter, 1, 2000);
        (void)weir_reserve(limiter, 1, 2000);
        weir_stats stats;
        weir_read_stats(limiter, &stats, sizeof stats);
    }
}

static void change_often(struct member *member)
{
    static const char *const limits[] = {"1M/s burst=1000", "900k/s burst=500 algorithm=hybrid",
                                         "50/ms algorithm=sliding-log", "800k/s burst=100; 900k/s burst=100"};
    for (size_t i = 0; !atomic_load(&over); i++) {
        crowd_change(member->crowd->limiter, limits[i / 50 % 4], WEIR_RESET);
        if (i % 8 == 0) sched_yield();
    }
}

static void disturb(struct member *member)
{
    if (member->number == 0) change_often(member);
    else if (member->number < THREADS - 2) take_by_lease(member);
    else wait_and_look(member);
}

/* With its leases given back nothing may be out. */
static int wrong_in_child(void)
{
    weir_limiter *limiter = crowd.limiter;
    weir_lease lease;
    if (atom_load(&limiter->word.out) != 0 || limiter->holders != NULL) return 1;
    crowd_nobody_waits(limiter);
    if (!CHILD_ALLOCATES) return weir_take(limiter, 1).verdict != 0 ? 0 : 5;
    if (weir_set_limit(limiter, "1M/s burst=100000", WEIR_RESET, NULL) != 0) return 2;
    if (weir_lease_open(&lease, limiter, NULL) != 0) return 3;
    for (int i = 0; i < TAKES; i++)
        if (weir_lease_take(&lease, 1).verdict != WEIR_ALLOW) return 4;
    if (weir_take_wait(limiter, 1, WEIR_FOREVER).verdict != WEIR_ALLOW) return 5;
    weir_lease_close(&lease);
    if (atom_load(&limiter->word.out) != 0) return 6;
    weir_close(limiter);
    return 0;
}

int main(void)
{
    crowd_begin("forks meanwhile");
    crowd.limiter = crowd_limiter("1M/s burst=1000", WEIR_CLOCK_SYSTEM);
    crowd.threads = THREADS;
    crowd.body = disturb;
    crowd_start(&crowd);
    for (int i = 0; i < FORKS; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_SECONDS);
            _exit(wrong_in_child());
        }
        int status = 1;
        crowd_check(child > 0 && waitpid(child, &status, 0) == child, "no child");
        if (status != 0) printf("  fork %d: status %d, signal %d\n", i, WEXITSTATUS(status), WTERMSIG(status));
        crowd_check(status == 0, "the child has not what it should have, or hangs");
        sched_yield();
    }
    atomic_store(&over, true);
    crowd_join(&crowd);
    crowd_check(atom_load(&((struct weir_limiter *)crowd.limiter)->word.out) == 0, "permits are out with nobody");
    weir_close(crowd.limiter);
    printf("ok\n");
    return 0;
}
