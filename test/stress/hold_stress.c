/* SPDX-License-Identifier: MIT
   Processes that hold slots of a table in a file are killed at any instruction, again and again.

       hold_stress [KILLS [SEED]]

   Some processes take slots of a few keys that all share, renew and release them, and all slots of a key of their own;
   the parent kills one of them with SIGKILL, starts another in its place, and so on.  Each notes in memory that
   outlives it from when until when it surely held what: from behind its take to before its release, or to before the
   kill, and never longer than its lease.  Nothing is repaired.

       never more   at no time are more slots of a key surely held than the limit has
       at once      the parent, once it knows that a process is dead, gets all slots of its key; so does its successor
       at its end   the same where a process holds for others, when the lease of what it took last is over
       children     a child of fork holds for itself: the one can die and the other go on
       threads      the same count, of one process

   No timed assertion. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weir/weir.h>

#include "size.h"
#include "unit/random.h"

enum { PROCESSES = 4, SHARED = 2, SLOTS = 3, HELD_MAX = 1 << 17, ROUND = 50, THREADS = 4, PAUSE_MAX_NS = 1500000 };
enum { PARENTS_KEY = 100, CHILDS_KEY, ORPHANS_KEY };
static const uint64_t LOCK_WAIT_NS = UINT64_C(60000000000);

struct kind {
    const char *name, *limit;
    uint64_t lease_ns;
    bool for_others;
    unsigned part; /* of the kills, one in so many */
};

static const struct kind kinds[] = {
    {"alone", "3 concurrent lease=1h", UINT64_C(3600000000000), false, 2},
    {"in a list", "3 concurrent lease=1h; 1000000/s burst=1000000", UINT64_C(3600000000000), false, 2},
    {"for others", "3 concurrent lease=30ms", 30000000, true, 20},
};

/* Surely held; to_ns 0: still, but not behind end_ns. */
struct held {
    uint64_t from_ns, end_ns;
    _Atomic uint64_t to_ns;
    uint64_t key, slots;
};

struct note {
    _Atomic uint64_t calls, helds, wrong;
    _Atomic uint64_t round; /* of the first: orphans of another one end */
    struct held held[HELD_MAX];
};

static const struct kind *kind;
static weir_plan plan;
static char path[4200];
static struct note *note; /* one for each process, of all that have its number */
static pid_t tester;
static int failures;

static void check(bool holds, const char *what)
{
    if (holds) return;
    printf("FAILED %s: %s\n", kind->name, what);
    failures++;
}

static uint64_t now(void)
{
    return weir_now().ns;
}

static weir_table *open_table(void)
{
    weir_table_options options = WEIR_TABLE_OPTIONS;
    weir_error error;
    weir_table *table;
    options.path = path;
    options.keys_max = 64;
    options.plan = &plan;
    options.when_full = WEIR_FULL_DENY;
    options.holds_for_others = kind->for_others;
    options.lock_wait_ns = LOCK_WAIT_NS;
    if (weir_table_open(&table, &options, &error) != 0) {
        printf("%s: %s\n", kind->name, error.message);
        exit(2);
    }
    return table;
}

static weir_key key_of(const uint64_t *number)
{
    return (weir_key){number, sizeof *number};
}

/* ---- a process that holds ---- */

static void linger(uint64_t *seed)
{
    for (uint64_t more = random_below(seed, 4); more > 0; more--) sched_yield();
}

/* A call that was not behind the end, and yet was told that nothing is held. */
static void note_answer(struct note *mine, bool done, uint64_t end_ns)
{
    if (!done && now() < end_ns) atomic_fetch_add(&mine->wrong, 1);
}

static void share(weir_table *table, struct note *mine, uint64_t *seed)
{
    const uint64_t key = random_below(seed, SHARED), slots = 1 + random_below(seed, 2), at = atomic_load(&mine->helds);
    while (at == HELD_MAX) pause(); /* nothing more can be noted */
    const uint64_t asked_ns = now();
    const weir_decision decision = weir_table_take(table, &plan, key_of(&key), slots);
    if (!weir_allowed(decision)) return;
    struct held *held = &mine->held[at];
    *held = (struct held){now(), asked_ns + kind->lease_ns, 0, key, slots};
    atomic_store(&mine->helds, at + 1);
    linger(seed);
    if (random_one_in(seed, 2)) {
        const uint64_t renewed_ns = now();
        const bool renewed = weir_table_renew(table, &plan, key_of(&key), decision.end);
        note_answer(mine, renewed, held->end_ns);
        if (renewed && renewed_ns < held->end_ns) held->end_ns = renewed_ns + kind->lease_ns;
        linger(seed);
    }
    atomic_store(&held->to_ns, now());
    note_answer(mine, weir_table_release(table, &plan, key_of(&key), decision.end), held->end_ns);
}

/* Nobody else takes from this key; whoever did before is dead. */
static void own_all(weir_table *table, struct note *mine, uint64_t number)
{
    const uint64_t key = SHARED + number, asked_ns = now();
    const weir_decision decision = weir_table_take(table, &plan, key_of(&key), SLOTS);
    if (!weir_allowed(decision)) {
        if (!kind->for_others) atomic_fetch_add(&mine->wrong, 1);
        return;
    }
    note_answer(mine, weir_table_release(table, &plan, key_of(&key), decision.end), asked_ns + kind->lease_ns);
}

/* A child of fork that outlives its parent: it has the parent's memory, which must keep none of the parent's locks. */
static void live_on(weir_table *table, uint64_t round, int used)
{
    const struct timespec pause = {0, 1000000};
    const uint64_t key = ORPHANS_KEY;
    while (atomic_load(&note->round) == round && kill(tester, 0) == 0) {
        const weir_decision decision = weir_table_take(table, &plan, key_of(&key), 1);
        if (weir_allowed(decision)) weir_table_release(table, &plan, key_of(&key), decision.end);
        if (used >= 0) close(used);
        used = -1;
        nanosleep(&pause, NULL);
    }
    _exit(0);
}

/* Returns when the child has used the table: until then it keeps the slots of its parent. */
static void fork_orphan(weir_table *table, uint64_t round)
{
    int used[2];
    char nothing;
    if (pipe(used) != 0) return;
    if (fork() == 0) live_on(table, round, used[1]);
    close(used[1]);
    while (read(used[0], &nothing, 1) < 0 && errno == EINTR) continue;
    close(used[0]);
}

static void work(struct note *mine, uint64_t number, uint64_t seed)
{
    const uint64_t round = atomic_load(&note->round);
    weir_table *table = open_table();
    if (random_one_in(&seed, 4)) fork_orphan(table, round);
    for (;;) {
        if (random_one_in(&seed, 2)) own_all(table, mine, number);
        else share(table, mine, &seed);
        atomic_fetch_add(&mine->calls, 1);
    }
}

static pid_t start(uint64_t number, uint64_t seed)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(2); /* no child outlives a test that is ended */
    if (child == 0) work(&note[number], number, seed);
    if (child > 0) return child;
    perror("fork");
    exit(2);
}

static void bury(pid_t child)
{
    int status = 0;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a process ended by itself");
}

/* ---- what was held ---- */

struct edge {
    uint64_t ns;
    int64_t slots;
};

static int by_time(const void *a, const void *b)
{
    const struct edge *one = a, *other = b;
    if (one->ns != other->ns) return one->ns < other->ns ? -1 : 1;
    return (one->slots > other->slots) - (one->slots < other->slots);
}

/* What a dead process held it held until it was killed. */
static void end_all(struct note *of, uint64_t killed_ns)
{
    for (uint64_t i = 0; i < atomic_load(&of->helds); i++) {
        if (atomic_load(&of->held[i].to_ns) == 0) atomic_store(&of->held[i].to_ns, killed_ns);
    }
}

static uint64_t check_held(uint64_t key)
{
    static struct edge edge[2 * PROCESSES * HELD_MAX];
    size_t edges = 0;
    int64_t slots = 0, most = 0;
    for (int p = 0; p < PROCESSES; p++) {
        for (uint64_t i = 0; i < atomic_load(&note[p].helds); i++) {
            const struct held *held = &note[p].held[i];
            const uint64_t to_ns = held->to_ns < held->end_ns ? held->to_ns : held->end_ns;
            if (held->key != key || to_ns <= held->from_ns) continue;
            edge[edges++] = (struct edge){held->from_ns, (int64_t)held->slots};
            edge[edges++] = (struct edge){to_ns, -(int64_t)held->slots};
        }
    }
    qsort(edge, edges, sizeof *edge, by_time);
    for (size_t i = 0; i < edges; i++) {
        slots += edge[i].slots;
        most = slots > most ? slots : most;
    }
    check(most <= SLOTS, "more slots were held than there are");
    return (uint64_t)most;
}

/* ---- killing ---- */

static void check_free(weir_table *table, uint64_t number, uint64_t killed_ns)
{
    const uint64_t key = SHARED + number;
    if (kind->for_others) weir_sleep_until((weir_instant){killed_ns + kind->lease_ns});
    const weir_decision decision = weir_table_take(table, &plan, key_of(&key), SLOTS);
    check(weir_allowed(decision), "the slots of a dead process are not free");
    if (weir_allowed(decision)) {
        check(weir_table_release(table, &plan, key_of(&key), decision.end) || kind->for_others, "not released");
    }
}

/* So that the notes have room for what is held until they are looked at; returns the most that was held at once. */
static uint64_t kill_some(weir_table *table, unsigned kills, uint64_t *seed)
{
    pid_t child[PROCESSES];
    uint64_t most = 0;
    for (uint64_t p = 0; p < PROCESSES; p++) {
        atomic_store(&note[p].helds, 0);
        child[p] = start(p, random_word(seed) | 1);
    }
    for (unsigned i = 0; i < kills + PROCESSES; i++) {
        const struct timespec pause = {0, (long)random_below(seed, PAUSE_MAX_NS)};
        const uint64_t who = i < kills ? random_below(seed, PROCESSES) : i - kills;
        if (i < kills) nanosleep(&pause, NULL);
        const uint64_t killed_ns = now();
        bury(child[who]);
        end_all(&note[who], killed_ns);
        check_free(table, who, killed_ns);
        if (i < kills) child[who] = start(who, random_word(seed) | 1);
    }
    atomic_fetch_add(&note->round, 1);
    for (uint64_t key = 0; key < SHARED; key++) {
        const uint64_t held = check_held(key);
        most = held > most ? held : most;
    }
    return most;
}

static void torment(unsigned kills, uint64_t *seed)
{
    uint64_t most = 0, calls = 0, wrong = 0;
    weir_table *table = open_table();
    for (unsigned done = 0; done < kills; done += ROUND) {
        const uint64_t held = kill_some(table, kills - done < ROUND ? kills - done : ROUND, seed);
        most = held > most ? held : most;
    }
    for (int p = 0; p < PROCESSES; p++) {
        calls += atomic_exchange(&note[p].calls, 0);
        wrong += atomic_exchange(&note[p].wrong, 0);
    }
    check(wrong == 0, "a holder was told that it holds nothing, or its predecessor's slots were not free");
    printf("%s: %u kills, %llu calls, at most %llu of %d held\n", kind->name, kills + PROCESSES,
           (unsigned long long)calls, (unsigned long long)most, SLOTS);
    weir_table_close(table);
    unlink(path);
}

/* ---- children of fork ---- */

/* Takes all of a key and says so. */
static void take_all(weir_table *table, uint64_t key, _Atomic uint64_t *said)
{
    atomic_store(said, weir_allowed(weir_table_take(table, &plan, key_of(&key), SLOTS)) ? 1 : 2);
}

static void hold_and_fork(_Atomic uint64_t said[3])
{
    weir_table *table = open_table();
    take_all(table, PARENTS_KEY, &said[0]);
    const pid_t child = fork();
    if (child == 0) take_all(table, CHILDS_KEY, &said[1]);
    else atomic_store(&said[2], (uint64_t)child);
    for (;;) pause();
}

static bool is_free(weir_table *table, uint64_t key)
{
    const weir_decision decision = weir_table_take(table, &plan, key_of(&key), SLOTS);
    return weir_allowed(decision) && weir_table_release(table, &plan, key_of(&key), decision.end);
}

/* It becomes nobody's child, so how its death shows is that its slots are free. */
static void await_free(weir_table *table, uint64_t key)
{
    const struct timespec pause = {0, 1000000};
    const uint64_t begin_ns = now();
    while (!is_free(table, key) && now() - begin_ns < LOCK_WAIT_NS) nanosleep(&pause, NULL);
    check(is_free(table, key), "the slots of a dead child of fork are not free");
}

static void fork_one(weir_table *table, _Atomic uint64_t said[3], bool child_first)
{
    const struct timespec pause = {0, 100000};
    const uint64_t begin_ns = now();
    for (int i = 0; i < 3; i++) atomic_store(&said[i], 0);
    fflush(stdout);
    const pid_t parent = fork();
    if (parent == 0) hold_and_fork(said);
    for (int i = 0; i < 3; i++) {
        while (atomic_load(&said[i]) == 0 && now() - begin_ns < LOCK_WAIT_NS) nanosleep(&pause, NULL);
    }
    const pid_t child = (pid_t)atomic_load(&said[2]);
    check(atomic_load(&said[0]) == 1 && atomic_load(&said[1]) == 1 && child > 0, "a family got no slots");
    check(!is_free(table, PARENTS_KEY) && !is_free(table, CHILDS_KEY), "slots of the living are free");
    if (!child_first) bury(parent);
    else if (child > 0) kill(child, SIGKILL);
    if (child_first) await_free(table, CHILDS_KEY);
    else check(is_free(table, PARENTS_KEY), "the slots of a dead parent are not free while its child lives");
    check(!is_free(table, child_first ? PARENTS_KEY : CHILDS_KEY), "slots of the living are free");
    if (child_first) bury(parent);
    else if (child > 0) kill(child, SIGKILL);
    await_free(table, child_first ? PARENTS_KEY : CHILDS_KEY);
}

static void fork_often(unsigned families)
{
    _Atomic uint64_t *said = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    weir_table *table = open_table();
    if (said == MAP_FAILED) exit(2);
    for (unsigned i = 0; i < families; i++) fork_one(table, said, i % 2 == 0);
    printf("%u parents and children killed\n", families);
    munmap(said, 4096);
    weir_table_close(table);
    unlink(path);
}

/* ---- threads ---- */

static atomic_int inside, most_inside;
static weir_limiter *limiter;
static weir_table *threads_table;

static void enter(int slots)
{
    const int here = atomic_fetch_add(&inside, slots) + slots;
    for (int most = atomic_load(&most_inside); here > most;)
        if (atomic_compare_exchange_weak(&most_inside, &most, here)) break;
}

static void *hold_often(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument | 1, key = PARENTS_KEY;
    for (uint64_t calls = size_pick(2000, 10000, 100000); calls > 0; calls--) {
        const int slots = 1 + (int)random_below(&seed, 2);
        const bool here = threads_table == NULL;
        const weir_decision decision = here ? weir_take(limiter, (uint64_t)slots)
                                            : weir_table_take(threads_table, &plan, key_of(&key), (uint64_t)slots);
        if (!weir_allowed(decision)) continue;
        enter(slots);
        linger(&seed);
        bool done = true;
        if (random_one_in(&seed, 4))
            done = here ? weir_renew(limiter, decision.end)
                        : weir_table_renew(threads_table, &plan, key_of(&key), decision.end);
        atomic_fetch_sub(&inside, slots);
        done = (here ? weir_release(limiter, decision.end)
                     : weir_table_release(threads_table, &plan, key_of(&key), decision.end)) &&
               done;
        if (!done) return "not held";
    }
    return NULL;
}

static void run_threads(const char *where)
{
    pthread_t thread[THREADS];
    atomic_store(&inside, 0);
    atomic_store(&most_inside, 0);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, hold_often, (void *)(i * 2 + 1));
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        check(wrong == NULL, "a thread was told that it holds nothing");
    }
    check(atomic_load(&most_inside) <= SLOTS, "threads held more slots than there are");
    printf("%d threads %s: at most %d of %d held\n", THREADS, where, atomic_load(&most_inside), SLOTS);
}

/* Elsewhere a dead process holds its slots until their lease ends: tools/cross posix. */
#ifdef __linux__
enum { FREE_AT_ONCE = 1 };
#else
enum { FREE_AT_ONCE = 0 };
#endif

int main(int argc, char **argv)
{
    if (!FREE_AT_ONCE) {
        printf("skipped: stress/hold: locks belong to the process, so nobody sees who died; cure: run it on Linux\n");
        return 77;
    }
    const unsigned kills =
        argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : (unsigned)size_pick(40, SANITIZED ? 60 : 400, 10000);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) | 1 : size_seed("hold_stress", 20261128) | 1;
    char folder[] = "/tmp/weir-hold-XXXXXX";
    tester = getpid();
    if (mkdtemp(folder) == NULL) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0); /* children begin with nothing to print */
    snprintf(path, sizeof path, "%s/table", folder);
    note = mmap(NULL, PROCESSES * sizeof *note, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (note == MAP_FAILED) return 2;
    printf("%u kills, seed %llu\n", kills, (unsigned long long)seed);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kind = &kinds[i];
        if (weir_plan_parse(&plan, kind->limit, WEIR_ADMIT, NULL) != 0) return 2;
        torment(1 + kills / kind->part, &seed);
    }
    kind = &kinds[0];
    if (weir_plan_parse(&plan, kind->limit, WEIR_ADMIT, NULL) != 0) return 2;
    fork_often((unsigned)size_pick(4, 20, 200));
    weir_options options = WEIR_OPTIONS;
    if (weir_open(&limiter, kind->limit, &options, NULL) != 0) return 2;
    run_threads("of a limiter");
    weir_close(limiter);
    threads_table = open_table();
    run_threads("of a table");
    weir_table_close(threads_table);
    unlink(path);
    rmdir(folder);
    return failures != 0;
}
