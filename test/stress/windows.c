/* SPDX-License-Identifier: MIT
   See windows.h.

   A call counts in a window only if both of its readings lie inside: then it surely passed there, whatever the
   scheduler did in between.  So what is found is a proof and no accident.

   All windows are looked at, as [from of one, to of another].  Going through the calls by `to`, a tree keeps for each
   `from` what has passed since, and the largest of them:

       needed(a, b) = sum of amounts with a <= from and to <= b, less (drained(b) - drained(a))

   Count * log(count) steps. */
#include "windows.h"

#include <stdlib.h>

struct tree {
    const uint64_t *from; /* in order, each once */
    const int64_t *drained;
    int64_t *most, *added; /* of a part and for all of it */
};

static int by_to(const void *a, const void *b)
{
    const struct passed *one = a, *other = b;
    return (one->to_ns > other->to_ns) - (one->to_ns < other->to_ns);
}

static int by_from(const void *a, const void *b)
{
    const struct passed *one = a, *other = b;
    return (one->from_ns > other->from_ns) - (one->from_ns < other->from_ns);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void plant(struct tree *tree, size_t node, size_t low, size_t high)
{
    tree->added[node] = 0;
    tree->most[node] = tree->drained[high - 1]; /* it never falls */
    if (high - low == 1) return;
    const size_t middle = low + (high - low) / 2;
    plant(tree, 2 * node, low, middle);
    plant(tree, 2 * node + 1, middle, high);
}

/* To all whose `from` is at most this. */
static void add(struct tree *tree, size_t node, size_t low, size_t high, uint64_t from_ns, int64_t amount)
{
    if (tree->from[low] > from_ns) return;
    if (tree->from[high - 1] <= from_ns) {
        tree->most[node] += amount;
        tree->added[node] += amount;
        return;
    }
    const size_t middle = low + (high - low) / 2;
    add(tree, 2 * node, low, middle, from_ns, amount);
    add(tree, 2 * node + 1, middle, high, from_ns, amount);
    tree->most[node] = tree->added[node] + larger(tree->most[2 * node], tree->most[2 * node + 1]);
}

/* Of all whose `from` is at most this; INT64_MIN where there are none. */
static int64_t most_of(const struct tree *tree, size_t node, size_t low, size_t high, uint64_t from_ns)
{
    if (tree->from[low] > from_ns) return INT64_MIN;
    if (tree->from[high - 1] <= from_ns) return tree->most[node];
    const size_t middle = low + (high - low) / 2;
    const int64_t left = most_of(tree, 2 * node, low, middle, from_ns);
    const int64_t right = most_of(tree, 2 * node + 1, middle, high, from_ns);
    return tree->added[node] + larger(left, right);
}

int64_t windows_burst(struct passed passed[], size_t count)
{
    if (count == 0) return 0;
    uint64_t *from = malloc(count * sizeof *from);
    int64_t *numbers = malloc(9 * count * sizeof *numbers);
    if (from == NULL || numbers == NULL) abort();
    size_t distinct = 0;
    qsort(passed, count, sizeof *passed, by_from);
    for (size_t i = 0; i < count; i++) {
        if (distinct != 0 && from[distinct - 1] == passed[i].from_ns) continue;
        from[distinct] = passed[i].from_ns;
        numbers[distinct++] = passed[i].drained_from;
    }
    struct tree tree = {from, numbers, numbers + count, numbers + 5 * count};
    plant(&tree, 1, 0, distinct);
    qsort(passed, count, sizeof *passed, by_to);
    int64_t burst = 0;
    for (size_t i = 0; i < count; i++) {
        add(&tree, 1, 0, distinct, passed[i].from_ns, passed[i].amount);
        burst = larger(burst, most_of(&tree, 1, 0, distinct, passed[i].to_ns) - passed[i].drained_to);
    }
    free(from);
    free(numbers);
    return burst;
}
