/* SPDX-License-Identifier: MIT
   Threads and processes that wait for slots of a concurrent limit, with patience and without, beside others that only
   ask, renew and give up.

       never more       than may run at once do, whoever releases, renews, settles or gives up
       nobody is lost   leases last longer than the test, so a caller that misses its wake-up hangs
       all is back      in the end every slot is free, and nobody waits

   No timed assertion. */
#include "stress/crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/limiter.h"
#include "unit/random.h"

enum { THREADS = 24, CALLS = 4000, SLOTS = 5, PROCESSES = 4, KEYS = 3, TABLE_CALLS = 1200, CHANGES = 200 };

/* Shared by the processes of the second part. */
struct held {
    atomic_int slots[KEYS];
};

static struct crowd crowd;
static atomic_int running;

static void run(atomic_int *slots, uint64_t cost, int slots_max)
{
    const int before = atomic_fetch_add(slots, (int)cost);
    crowd_check(before >= 0 && before + (int)cost <= slots_max, "more run at once than may");
    if (before % 3 == 0) host_yield();
    atomic_fetch_sub(slots, (int)cost);
}

/* ---- threads of one limiter ---- */

static void give_back(weir_limiter *limiter, weir_decision *decision, uint64_t how)
{
    if (how % 4 == 0) crowd_check(weir_renew(limiter, decision->end), "a slot that is held cannot be renewed");
    if (how % 4 == 1) weir_cancel(limiter, decision);
    else crowd_check(weir_release(limiter, decision->end), "a slot that is held cannot be released");
    crowd_check(!weir_release(limiter, decision->end), "it was released twice");
}

static weir_decision call(weir_limiter *limiter, uint64_t cost, uint64_t how)
{
    if (how % 8 == 0) return weir_take(limiter, cost);
    if (how % 8 == 1) return weir_take_wait(limiter, cost, how % 50000);
    return weir_take_wait(limiter, cost, WEIR_FOREVER);
}

static void call_often(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    uint64_t random = 1 + (uint64_t)member->number;
    for (int i = 0; i < CALLS; i++) {
        const uint64_t how = random_word(&random), cost = 1 + how / 1000 % 3;
        weir_decision decision = call(limiter, cost, how);
        crowd_count(member, &decision);
        crowd_check(decision.verdict == WEIR_ALLOW || how % 8 <= 1, "a patient caller is sent away");
        if (decision.verdict != WEIR_ALLOW) continue;
        run(&running, cost, SLOTS);
        give_back(limiter, &decision, how / 8);
    }
}

static void check_all_back(weir_limiter *limiter)
{
    crowd_nobody_waits(limiter);
    crowd_check(turns_waiting(&limiter->turns) == 0, "somebody still waits for a slot");
    crowd_check(weir_take(limiter, SLOTS).verdict == WEIR_ALLOW, "a slot is lost");
}

static void threads_wait(const char *limits)
{
    crowd_begin(limits);
    crowd_check(weir_open(&crowd.limiter, limits, NULL, NULL) == 0, limits);
    crowd.threads = THREADS;
    crowd.body = call_often;
    crowd_start(&crowd);
    crowd_join(&crowd);
    check_all_back(crowd.limiter);
    weir_close(crowd.limiter);
}

/* ---- while the limit changes, until a stop ---- */

static void call_until_stopped(struct member *member)
{
    weir_limiter *limiter = member->crowd->limiter;
    uint64_t random = 1 + (uint64_t)member->number;
    for (;;) {
        const uint64_t how = random_word(&random), cost = 1 + how / 1000 % 2;
        weir_decision decision = call(limiter, cost, how);
        if (decision.verdict == WEIR_STOPPED) return;
        if (decision.verdict == WEIR_ALLOW) weir_release(limiter, decision.end);
    }
}

/* From slots to rates and back, to more and to fewer. */
static void changes_and_a_stop(void)
{
    static const char *const limits[] = {"2 concurrent lease=1h", "7 concurrent lease=1h", "100000/s burst=3",
                                         "3 concurrent lease=1h; 50000/s burst=2", "pause"};
    crowd_begin("changes and a stop");
    crowd_check(weir_open(&crowd.limiter, limits[0], NULL, NULL) == 0, limits[0]);
    crowd.threads = THREADS;
    crowd.body = call_until_stopped;
    crowd_start(&crowd);
    for (int i = 1; i <= CHANGES; i++) {
        weir_sleep_until((weir_instant){weir_now().ns + 1000000});
        crowd_change(crowd.limiter, limits[i % 5], WEIR_RESET);
    }
    weir_stop(crowd.limiter);
    crowd_join(&crowd);
    crowd_nobody_waits(crowd.limiter);
    crowd_check(turns_waiting(&crowd.limiter->turns) == 0, "somebody still waits for a slot");
    weir_close(crowd.limiter);
}

/* ---- processes, and their threads, at one table ---- */

struct at_table {
    weir_table *table;
    weir_plan plan;
    struct held *held;
};

static struct at_table at;
static const char *const keys[KEYS] = {"a", "b", "c"};

static void call_keys(struct member *member)
{
    uint64_t random = (uint64_t)getpid() << 8 | (uint64_t)member->number;
    for (int i = 0; i < TABLE_CALLS; i++) {
        const uint64_t how = random_word(&random), cost = 1 + how / 1000 % 2;
        const weir_key key = weir_key_text(keys[how / 16 % KEYS]);
        weir_decision decision =
            weir_table_take_wait(at.table, &at.plan, key, cost, how % 8 == 0 ? how % 50000 : WEIR_FOREVER);
        crowd_check(decision.verdict == WEIR_ALLOW || how % 8 == 0, "a patient caller is sent away");
        if (decision.verdict != WEIR_ALLOW) continue;
        run(&at.held->slots[how / 16 % KEYS], cost, 2);
        if (how % 4 == 1) weir_table_settle(at.table, &at.plan, key, &decision, 0);
        else crowd_check(weir_table_release(at.table, &at.plan, key, decision.end), "a slot is lost");
    }
}

static void threads_at_table(int threads)
{
    crowd.threads = threads;
    crowd.body = call_keys;
    crowd_start(&crowd);
    crowd_join(&crowd);
}

static void open_table(const char *path)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    crowd_check(weir_plan_parse(&at.plan, "2 concurrent lease=1h", WEIR_ADMIT, NULL) == 0, "the plan");
    options.plan = &at.plan;
    options.keys_max = 100;
    options.path = path;
    options.sharing = path == NULL ? WEIR_PRIVATE : WEIR_JOIN_OR_CREATE;
    options.lock_wait_ns = UINT64_C(20000000000);
    at.held = mmap(NULL, sizeof *at.held, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crowd_check(at.held != MAP_FAILED && weir_table_open(&at.table, &options, NULL) == 0, "the table");
}

static void close_table(void)
{
    for (int i = 0; i < KEYS; i++) {
        const weir_decision decision = weir_table_take(at.table, &at.plan, weir_key_text(keys[i]), 2);
        crowd_check(decision.verdict == WEIR_ALLOW, "a slot is lost");
    }
    weir_table_close(at.table);
    munmap(at.held, sizeof *at.held);
}

static void threads_of_one_process(void)
{
    crowd_begin("threads at a table in memory");
    open_table(NULL);
    threads_at_table(THREADS);
    close_table();
}

static void processes_wait(const char *path)
{
    pid_t child[PROCESSES];
    crowd_begin("processes at a file");
    open_table(path);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] != 0) continue;
        alarm(CROWD_SECONDS);
        threads_at_table(3);
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        crowd_check(waitpid(child[i], &status, 0) == child[i] && status == 0, "a process has failed");
    }
    close_table();
}

int main(void)
{
    char path[] = "/tmp/weir-turns-XXXXXX";
    threads_wait("5 concurrent lease=1h");
    threads_wait("5 concurrent lease=1h; 1M/s burst=100");
    changes_and_a_stop();
    threads_of_one_process();
    const int fd = mkstemp(path);
    crowd_check(fd >= 0 && close(fd) == 0, "a file");
    processes_wait(path);
    unlink(path);
    return 0;
}
