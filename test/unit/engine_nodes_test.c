/* SPDX-License-Identifier: MIT
   How many nodes share the limits: when an engine goes away, the shares of all that let something
   pass are one at most, whoever started, ended, idled or crashed when.

   Hubs that beat once a second, and stop beating now and then, over a sorted set as nodes.c has it in the engine; it
   loses the set now and then, and answers are lost; then it is gone, and each notices that at another moment.

   The same runs each time. */
#include "redis/client/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "size.h"
#include "unit/random.h"

enum { HUBS = 12, GONE_S = 60 };
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define NEVER UINT64_MAX

static uint64_t seed;

struct node {
    struct pool *pool;
    uint64_t from_ns, to_ns; /* lives; at its end another one may begin in its place */
    uint64_t beat_ns;
    uint64_t cut_ns; /* from then on it does not reach the engine */
    uint64_t score;  /* in the set, 0: not */
};

static uint64_t within(uint64_t most)
{
    return random_below(&seed, most);
}

static struct pool *new_pool(void)
{
    struct pool *pool = calloc(1, sizeof *pool);
    assert_non_null(pool);
    return pool;
}

static void begin(struct node *node, uint64_t from_ns)
{
    free(node->pool);
    node->pool = new_pool();
    node->from_ns = from_ns;
    node->to_ns = from_ns + (within(3) == 0 ? within(8 * S) : within(2) == 0 ? within(60 * S) : NEVER / 2);
    node->beat_ns = from_ns + within(2 * S);
    node->cut_ns = NEVER;
    node->score = 0; /* the one before it has another name, which is forgotten here: fewer are counted, not more */
}

/* One beat as nodes.c sends it; it idles now and then. */
static void beat(struct node nodes[], struct node *node)
{
    const uint64_t now_ns = node->beat_ns, second = now_ns / S;
    const bool enters = nodes_enters(node->pool, now_ns);
    uint64_t count = 0;
    const bool was_missing = node->score == 0;
    if (enters) node->score = second;
    const bool answered = within(50) != 0;
    if (enters && answered) nodes_entered(node->pool, was_missing);
    for (int i = 0; i < HUBS; i++) {
        if (nodes[i].score + GONE_S <= second) nodes[i].score = 0;
        count += nodes[i].score != 0;
    }
    if (answered && count >= enters) nodes_heard(node->pool, now_ns, count, enters);
    node->beat_ns += S + within(20 * MS) + (within(30) == 0 ? within(20 * S) : 0);
}

/* The engine has lost the set; when it will again. */
static uint64_t emptied(struct node nodes[], uint64_t now_ns)
{
    for (int i = 0; i < HUBS; i++) nodes[i].score = 0;
    return now_ns + within(within(2) == 0 ? 2 * S : 20 * S);
}

static struct node *next_of(struct node nodes[], uint64_t until_ns)
{
    struct node *next = NULL;
    for (int i = 0; i < HUBS; i++) {
        struct node *node = &nodes[i];
        while (node->to_ns <= node->beat_ns && node->to_ns < until_ns) begin(node, node->to_ns + within(3 * S));
        if (node->beat_ns >= node->cut_ns) continue;
        if (node->beat_ns < until_ns && (next == NULL || node->beat_ns < next->beat_ns)) next = node;
    }
    return next;
}

/* A node that notices that the engine has gone, now or long after. */
static void notice(struct node *node, uint64_t gone_ns)
{
    const uint64_t went_ns = node->cut_ns < gone_ns ? node->cut_ns : gone_ns;
    if (within(4) == 0) return; /* not yet */
    atomic_store(&node->pool->away_at_ns, went_ns + (within(3) == 0 ? within(100 * S) : within(2 * S)));
    atomic_store(&node->pool->is_away, true);
}

static double shares_at(struct node nodes[], uint64_t now_ns)
{
    double share = 0;
    for (int i = 0; i < HUBS; i++) {
        const uint64_t known = nodes_known(nodes[i].pool, now_ns);
        if (known != 0) share += 1.0 / (double)known;
    }
    return share;
}

static void shares_are_one_at_most(void **state)
{
    (void)state;
    static struct node nodes[HUBS];
    const uint64_t runs = size_pick(300, 3000, 100000);
    seed = size_seed("engine_nodes", 20261123);
    uint64_t sharing = 0;
    for (uint64_t run = 0; run < runs; run++) {
        const uint64_t from_ns = 1000 * S + within(1000 * S), gone_ns = from_ns + within(40 * S);
        const uint64_t crowd = 1 + within(HUBS), spread_ns = 1 + within(30 * S);
        for (int i = 0; i < HUBS; i++) begin(&nodes[i], (uint64_t)i < crowd ? from_ns + within(spread_ns) : NEVER / 4);
        uint64_t empty_ns = within(2) == 0 ? NEVER : from_ns + within(40 * S);
        for (struct node *next; (next = next_of(nodes, gone_ns)) != NULL;) {
            if (next->beat_ns > empty_ns) empty_ns = emptied(nodes, empty_ns);
            beat(nodes, next);
        }
        for (int i = 0; i < HUBS; i++) notice(&nodes[i], gone_ns);
        for (int look = 0; look < 4; look++) {
            const uint64_t now_ns = gone_ns + within(look < 2 ? 5 * S : 1000 * S);
            const double share = shares_at(nodes, now_ns);
            sharing += share > 0;
            if (share > 1.0000001) fail_msg("run %ju: shares of %f", (uintmax_t)run, share);
        }
    }
    assert_true(sharing > runs); /* or nothing was tried */
    for (int i = 0; i < HUBS; i++) free(nodes[i].pool);
}

/* Some are cut off from it before, alone, for less than a minute; nobody is new meanwhile. */
static void cut_off_alone(void **state)
{
    (void)state;
    static struct node nodes[HUBS];
    seed = size_seed("engine_nodes", 20261128);
    for (uint64_t run = 0; run < size_pick(100, 1000, 10000); run++) {
        const uint64_t from_ns = 1000 * S + within(1000 * S), cut_ns = from_ns + 10 * S + within(60 * S);
        const uint64_t gone_ns = cut_ns + within(55 * S);
        for (int i = 0; i < HUBS; i++) {
            begin(&nodes[i], from_ns);
            nodes[i].to_ns = NEVER / 2;
            if (i != 0 && within(4) == 0) nodes[i].cut_ns = cut_ns + within(gone_ns - cut_ns + 1);
        }
        for (struct node *next; (next = next_of(nodes, gone_ns)) != NULL;) beat(nodes, next);
        for (int i = 0; i < HUBS; i++) notice(&nodes[i], gone_ns);
        const double share = shares_at(nodes, gone_ns + within(1000 * S));
        if (share > 1.0000001) fail_msg("run %ju: shares of %f", (uintmax_t)run, share);
    }
    for (int i = 0; i < HUBS; i++) free(nodes[i].pool);
}

/* The engine comes back empty, and goes again before everybody has entered itself once more. */
static void an_empty_engine(void **state)
{
    (void)state;
    struct pool *pool[2] = {new_pool(), new_pool()};
    for (uint64_t second = 100; second <= 110; second++) {
        for (int i = 0; i < 2; i++) {
            const bool enters = nodes_enters(pool[i], second * S);
            if (enters) nodes_entered(pool[i], second == 102);
            nodes_heard(pool[i], second * S, 2, enters);
        }
    }
    for (int i = 0; i < 2; i++) assert_int_equal(nodes_known(pool[i], 110 * S), 2);
    assert_true(nodes_enters(pool[0], 112 * S));
    nodes_entered(pool[0], true);
    nodes_heard(pool[0], 112 * S, 1, true); /* the other one comes next */
    for (int i = 0; i < 2; i++) {
        atomic_store(&pool[i]->away_at_ns, 112 * S + MS);
        atomic_store(&pool[i]->is_away, true);
        assert_int_equal(nodes_known(pool[i], 113 * S), i == 0 ? 0 : 2);
    }
    for (int i = 0; i < 2; i++) free(pool[i]);
}

/* It found itself missing, and the answer that said so was lost. */
static void a_lost_answer(void **state)
{
    (void)state;
    struct pool *pool = new_pool();
    for (uint64_t second = 100; second <= 110; second++) {
        if (nodes_enters(pool, second * S)) nodes_entered(pool, second == 102);
        nodes_heard(pool, second * S, 2, second >= 102);
    }
    assert_int_equal(nodes_known(pool, 110 * S), 2);
    assert_true(nodes_enters(pool, 111 * S)); /* no answer */
    assert_true(nodes_enters(pool, 112 * S));
    nodes_entered(pool, false);
    nodes_heard(pool, 112 * S, 1, true);
    assert_int_equal(nodes_known(pool, 112 * S), 0);
    free(pool);
}

/* Two that have counted each other, one that began a second ago; what the file says goes before all that. */
static void known_when_counted(void **state)
{
    (void)state;
    struct pool *pool = new_pool();
    assert_int_equal(nodes_known(pool, 100 * S), 0);
    for (uint64_t second = 100; second < 107; second++) {
        assert_true(nodes_enters(pool, second * S) == (second >= 102));
        if (second >= 102) nodes_entered(pool, second == 102);
        nodes_heard(pool, second * S, 2, second >= 102);
        assert_int_equal(nodes_known(pool, second * S), 0);
    }
    assert_true(nodes_enters(pool, 107 * S));
    nodes_entered(pool, false);
    nodes_heard(pool, 107 * S, 2, true);
    assert_int_equal(nodes_known(pool, 107 * S), 2);
    assert_int_equal(nodes_known(pool, 111 * S), 2);
    assert_int_equal(nodes_known(pool, 111 * S + 1), 0); /* the others may not count it any more */
    atomic_store(&pool->away_at_ns, 108 * S);
    atomic_store(&pool->is_away, true);
    assert_int_equal(nodes_known(pool, 9999 * S), 2);
    atomic_store(&pool->is_away, false);
    assert_false(nodes_enters(pool, 9999 * S)); /* it begins again */
    pool->options.nodes = 7;
    assert_int_equal(nodes_known(pool, 9999 * S), 7);
    free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_are_one_at_most), cmocka_unit_test(cut_off_alone),
                                       cmocka_unit_test(an_empty_engine), cmocka_unit_test(a_lost_answer),
                                       cmocka_unit_test(known_when_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
