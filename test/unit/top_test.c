/* SPDX-License-Identifier: MIT
   The most refused keys, against exact counts.

   The oracle is an array of counts.  Streams: even, Zipf, all new, round robin through one key more than there are
   counters (each takes over from the one that is next), and mixtures; one sketch or all; long keys that differ only
   behind what is kept; hashes that are the same for many keys.

       unit-top [seed] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "share/table/top.h"
#include "unit/random.h"

enum { KEYS = 3000, ADDS_MAX = 30000, RUNS = 300, KEY_SIZE = 128, THREADS = 4, ALL = TOP_STRIPES * TOP_COUNTERS_MAX };

static uint64_t first_seed = 1;

enum stream { EVEN, ZIPF, NEW, ROUND, MIXED, STREAMS };
enum hashing { GOOD, FEW, ONE, HASHINGS };

struct world {
    struct top top;
    void *memory;
    weir_top *out;
    uint64_t denied[KEYS];
    uint32_t limit[KEYS];
    uint64_t adds, seed;
    unsigned counters;
    enum hashing hashing;
};

static void yield(void)
{
    sched_yield();
}

static void world_open(struct world *world, unsigned counters, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    world->seed = seed;
    world->counters = counters;
    world->memory = aligned_alloc(TOP_CACHE_LINE, top_bytes(counters));
    world->out = malloc(ALL * sizeof *world->out);
    assert_non_null(world->memory);
    assert_non_null(world->out);
    memset(world->memory, 0xa5, top_bytes(counters));
    top_open(&world->top, world->memory, counters, yield);
}

static void world_close(struct world *world)
{
    free(world->memory);
    free(world->out);
}

_Static_assert(KEY_SIZE - 6 > WEIR_TOP_KEY_SIZE, "long ones are cut");

/* Its number, and then it depends: 4 bytes, or so many that they are cut. */
static size_t key_of(uint32_t number, unsigned char bytes[KEY_SIZE])
{
    memset(bytes, 'k', KEY_SIZE);
    memcpy(bytes, &number, sizeof number);
    return number % 3 == 0 ? KEY_SIZE - number % 7 : sizeof number;
}

static uint64_t hash_of(enum hashing hashing, uint32_t number)
{
    if (hashing == ONE) return 42;
    if (hashing == FEW) return number % 5;
    uint64_t seed = number + 1;
    random_word(&seed);
    return random_word(&seed);
}

static void add(struct world *world, unsigned slot, uint32_t number, uint32_t limit)
{
    unsigned char bytes[KEY_SIZE];
    const size_t size = key_of(number, bytes);
    top_add(&world->top, slot, hash_of(world->hashing, number), bytes, size, limit);
    world->denied[number]++;
    world->limit[number] = limit;
    world->adds++;
}

static uint32_t next_key(struct world *world, enum stream stream)
{
    switch (stream) {
    case EVEN:
        return (uint32_t)random_below(&world->seed, KEYS);
    case ZIPF: /* the k-th about 1/k as often as the first */
        return (uint32_t)(KEYS / (1 + random_below(&world->seed, KEYS)) - 1);
    case NEW:
        return (uint32_t)(world->adds % KEYS);
    case ROUND:
        return (uint32_t)(world->adds % (world->counters + 1));
    default:
        return next_key(world, (enum stream)random_below(&world->seed, MIXED));
    }
}

static uint32_t number_of(const weir_top *top)
{
    uint32_t number;
    unsigned char bytes[KEY_SIZE];
    memcpy(&number, top->key, sizeof number);
    assert_in_range(number, 0, KEYS - 1);
    assert_int_equal(top->key_size, key_of(number, bytes));
    const size_t kept = top->key_size < WEIR_TOP_KEY_SIZE ? top->key_size : WEIR_TOP_KEY_SIZE;
    assert_memory_equal(top->key, bytes, kept);
    return number;
}

/* All that is told is true, each key is told once, and those that must be there are.  slack: missed ones. */
static void check(struct world *world, size_t told, uint64_t slack)
{
    static bool seen[KEYS];
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < told; i++) {
        const weir_top *top = &world->out[i];
        const uint32_t number = number_of(top);
        assert_false(seen[number]);
        seen[number] = true;
        assert_true(top->denied - top->over <= world->denied[number]);
        assert_true(world->denied[number] <= top->denied);
        assert_true(top->over <= world->adds / world->counters + slack);
        if (i > 0) assert_true(world->out[i - 1].denied >= top->denied);
    }
    for (uint32_t number = 0; number < KEYS; number++)
        if (world->denied[number] > world->adds / world->counters + slack) assert_true(seen[number]);
}

static void run_once(uint64_t seed)
{
    static struct world world;
    const unsigned counters = (unsigned)(1 + random_sized(&seed, 10)) % TOP_COUNTERS_MAX + 1;
    world_open(&world, counters, seed);
    const enum stream stream = (enum stream)random_below(&world.seed, STREAMS);
    const unsigned stripes = random_one_in(&world.seed, 2) ? 1 : 1 + (unsigned)random_below(&world.seed, TOP_STRIPES);
    /* With one hash for all, every search passes all. */
    world.hashing = counters > 100 ? GOOD : (enum hashing)random_below(&world.seed, HASHINGS);
    for (uint64_t left = random_below(&world.seed, ADDS_MAX); left > 0; left--) {
        const unsigned slot = (unsigned)random_below(&world.seed, stripes) + TOP_STRIPES;
        add(&world, slot, next_key(&world, stream), (uint32_t)random_below(&world.seed, 3));
        if (random_one_in(&world.seed, 5000)) check(&world, top_read(&world.top, world.out, ALL), 0);
    }
    const size_t all = top_read(&world.top, world.out, ALL);
    check(&world, all, 0);
    if (stripes == 1) /* one sketch: the order of time is known */
        for (size_t i = 0; i < all; i++) assert_int_equal(world.out[i].limit, world.limit[number_of(&world.out[i])]);
    const weir_top first = world.out[0], last = world.out[all > 0 ? all / 2 : 0];
    const size_t some = top_read(&world.top, world.out, all / 2 + 1);
    assert_int_equal(some, all < all / 2 + 1 ? all : all / 2 + 1);
    assert_int_equal(world.out[0].denied, first.denied);
    assert_int_equal(world.out[all > 0 ? all / 2 : 0].denied, last.denied);
    world_close(&world);
}

static void bounds_hold_against_exact_counts(void **state)
{
    (void)state;
    printf("seed %llu\n", (unsigned long long)first_seed);
    for (uint64_t run = 0; run < RUNS; run++) {
        const uint64_t seed = first_seed + run * UINT64_C(0x9e3779b97f4a7c15) + 1;
        run_once(seed);
    }
}

static void fewer_keys_than_counters_are_exact(void **state)
{
    (void)state;
    static struct world world;
    world_open(&world, 100, first_seed);
    for (int i = 0; i < 10000; i++) {
        const uint32_t key = (uint32_t)random_below(&world.seed, 1 + random_below(&world.seed, 100));
        add(&world, (unsigned)key % 3, key, 0);
    }
    assert_int_equal(top_read(&world.top, world.out, ALL), 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(world.out[i].over, 0);
        assert_int_equal(world.out[i].denied, world.denied[number_of(&world.out[i])]);
    }
    world_close(&world);
}

static void sketches_add_up_to_one(void **state)
{
    (void)state;
    static struct world world;
    world_open(&world, 4, 1);
    for (int i = 0; i < 10; i++) add(&world, 0, 1, 0);
    for (int i = 0; i < 20; i++) add(&world, 5, 1, 1);
    for (int i = 0; i < 20; i++) add(&world, 1, 2, 1);
    for (int i = 0; i < 5; i++) add(&world, 6, 2, 0);
    assert_int_equal(top_read(&world.top, world.out, ALL), 2);
    assert_int_equal(number_of(&world.out[0]), 1);
    assert_int_equal(world.out[0].denied, 30);
    assert_int_equal(world.out[0].limit, 1); /* that of the sketch that counted most, wherever it is */
    assert_int_equal(world.out[1].denied, 25);
    assert_int_equal(world.out[1].limit, 1);
    world_close(&world);
}

static void a_flood_does_not_wash_out_the_hot_one(void **state)
{
    (void)state;
    static struct world world;
    world_open(&world, 64, 1);
    for (int i = 0; i < 100000; i++) add(&world, 0, i % 10 == 0 ? 7 : 8 + (uint32_t)(i % (KEYS - 8)), 0);
    assert_int_equal(top_read(&world.top, world.out, 1), 1);
    assert_int_equal(number_of(&world.out[0]), 7);
    check(&world, top_read(&world.top, world.out, ALL), 0);
    world_close(&world);
}

static void what_is_cut_off_still_counts(void **state)
{
    (void)state;
    static struct world world;
    const unsigned char bytes[KEY_SIZE] = {'x'};
    world_open(&world, 8, 1);
    top_add(&world.top, 0, 1, bytes, KEY_SIZE, 0);
    top_add(&world.top, 0, 1, bytes, KEY_SIZE - 1, 0); /* the same hash: so unlikely that it has to be made */
    top_add(&world.top, 0, 2, bytes, KEY_SIZE, 0);
    assert_int_equal(top_read(&world.top, world.out, ALL), 3);
    world_close(&world);
}

static void nobody_waits_for_a_lock_that_stays(void **state)
{
    (void)state;
    static struct world world;
    world_open(&world, 8, 1);
    for (int i = 0; i < 50; i++) add(&world, 1, 1, 0);
    for (int i = 0; i < 30; i++) add(&world, 2, 1, 0);
    world.top.head[1].lock.value = 1; /* as in a child of fork() */
    for (int i = 0; i < 20; i++) add(&world, 1, 2, 0);
    assert_int_equal(top_read(&world.top, world.out, ALL), 1);
    assert_int_equal(world.out[0].denied, 50 + 30 + 20);
    assert_int_equal(world.out[0].over, 50 + 20);
    check(&world, 1, 50 + 20);
    world_close(&world);
}

static struct atom *lock_in_use;
static int yields;

static void yield_until_unlocked(void)
{
    if (++yields == 3) lock_in_use->value = 0;
}

static void a_reader_makes_way_for_one_that_counts(void **state)
{
    (void)state;
    static struct world world;
    world_open(&world, 8, 1);
    world.top.yield = yield_until_unlocked;
    for (int i = 0; i < 50; i++) add(&world, 1, 1, 0);
    lock_in_use = &world.top.head[1].lock;
    lock_in_use->value = 1;
    assert_int_equal(top_read(&world.top, world.out, ALL), 1);
    assert_int_equal(yields, 3);
    assert_true(world.out[0].denied == 50 && world.out[0].over == 0);
    assert_int_equal(lock_in_use->value, 0);
    world_close(&world);
}

static void one_counter_goes_to_the_last_key(void **state)
{
    (void)state;
    static struct world world;
    for (uint32_t first = 1; first <= 8; first++) { /* with hashes that are even, and odd */
        world_open(&world, 1, 1);
        for (uint32_t i = 0; i < 9; i++) {
            add(&world, 0, first + i, 0);
            assert_int_equal(top_read(&world.top, world.out, ALL), 1);
            assert_int_equal(number_of(&world.out[0]), first + i);
            assert_true(world.out[0].denied == i + 1 && world.out[0].over == i);
        }
        world_close(&world);
    }
}

/* Its hash is 0 and its size is 0, as in a counter that has no key. */
static void an_empty_key_is_a_key(void **state)
{
    (void)state;
    static struct world world;
    world_open(&world, 8, 1);
    top_add(&world.top, 0, 0, NULL, 0, 0);
    add(&world, 0, 1, 0);
    top_add(&world.top, 0, 0, NULL, 0, 0);
    memset(world.out, 0xa5, sizeof *world.out);
    assert_int_equal(top_read(&world.top, world.out, ALL), 2);
    assert_true(world.out[0].denied == 2 && world.out[0].over == 0 && world.out[0].key_size == 0);
    for (int i = 0; i < WEIR_TOP_KEY_SIZE; i++) assert_int_equal(world.out[0].key[i], 0);
    world_close(&world);
}

static void nothing_and_nonsense_are_fine(void **state)
{
    (void)state;
    static struct world world;
    assert_true(top_bytes(0) == top_bytes(1) && top_bytes(UINT32_MAX) == top_bytes(TOP_COUNTERS_MAX));
    world_open(&world, 0, 1);
    assert_int_equal(top_read(&world.top, world.out, ALL), 0);
    top_add(&world.top, UINT32_MAX, UINT64_MAX, NULL, 0, UINT32_MAX);
    assert_int_equal(top_read(&world.top, world.out, 0), 0);
    assert_int_equal(top_read(&world.top, world.out, ALL), 1);
    assert_true(world.out[0].denied == 1 && world.out[0].key_size == 0 && world.out[0].limit == UINT32_MAX);
    world_close(&world);
}

/* ---- threads ---- */

struct counting {
    struct world *world;
    pthread_t thread;
    uint64_t seed, denied[KEYS];
};

static void *count_many(void *argument)
{
    struct counting *counting = argument;
    for (int i = 0; i < ADDS_MAX; i++) {
        const uint32_t number = (uint32_t)(KEYS / (1 + random_below(&counting->seed, KEYS)) - 1);
        unsigned char bytes[KEY_SIZE];
        const size_t size = key_of(number, bytes);
        top_add(&counting->world->top, (unsigned)i % 2, hash_of(GOOD, number), bytes, size, 0);
        counting->denied[number]++;
    }
    return NULL;
}

static void threads_and_a_reader_keep_the_bounds(void **state)
{
    (void)state;
    static struct world world;
    static struct counting counting[THREADS];
    memset(counting, 0, sizeof counting);
    world_open(&world, 50, 1);
    for (unsigned i = 0; i < THREADS; i++) {
        counting[i].world = &world;
        counting[i].seed = first_seed + i + 1;
        assert_int_equal(pthread_create(&counting[i].thread, NULL, count_many, &counting[i]), 0);
    }
    for (int i = 0; i < 100; i++) top_read(&world.top, world.out, 10);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(counting[i].thread, NULL);
        for (uint32_t number = 0; number < KEYS; number++) world.denied[number] += counting[i].denied[number];
        world.adds += ADDS_MAX;
    }
    uint64_t missed = 0, counted = 0;
    for (unsigned i = 0; i < TOP_STRIPES; i++) {
        missed += world.top.head[i].missed.value;
        counted += world.top.head[i].total.value;
    }
    assert_int_equal(missed + counted, world.adds);
    check(&world, top_read(&world.top, world.out, ALL), missed);
    world_close(&world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_against_exact_counts),
        cmocka_unit_test(fewer_keys_than_counters_are_exact),
        cmocka_unit_test(sketches_add_up_to_one),
        cmocka_unit_test(a_flood_does_not_wash_out_the_hot_one),
        cmocka_unit_test(what_is_cut_off_still_counts),
        cmocka_unit_test(nobody_waits_for_a_lock_that_stays),
        cmocka_unit_test(a_reader_makes_way_for_one_that_counts),
        cmocka_unit_test(one_counter_goes_to_the_last_key),
        cmocka_unit_test(an_empty_key_is_a_key),
        cmocka_unit_test(nothing_and_nonsense_are_fine),
        cmocka_unit_test(threads_and_a_reader_keep_the_bounds),
    };
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
