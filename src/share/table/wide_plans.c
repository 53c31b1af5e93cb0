/* SPDX-License-Identifier: MIT
   The rules that states were written under, by a fingerprint of 64 bits.

   A service uses one table with hundreds of plans in turn.  So the place of a plan depends on its fingerprint: one of
   two sets, a cache line each, and there any of seven ways.  A lookup reads one or two lines, however many plans there
   are.

       set     | used | fingerprint 0 | fingerprint 1 | ... | fingerprint 6 |     fingerprint 0: a free way
       plans   | set 0: 7 of them | set 1: 7 of them | ...

   A new plan goes to the set of its two with more free ways: so, of 448 ways, three hundred are taken before any two
   sets are both full.  Which plan is evicted then?

       the oldest                    may be in use all day, and would come back at once: with a lock, each time
       one that was not used lately  after a reload these are the previous rules, and some debts still are under them

   Both cases call for keeping the plans that were used since, for a decision or for carrying over.  So each way has a
   bit; a plan without it is evicted first, in the set that has more of them.  If all ways of a set have their bits, a
   newcomer leaves only its own bit set: the plans in use have theirs again before the next newcomer, and plans that are
   used once replace each other.  Bits are set only if they are clear, so that many calls with the same plans do not
   write.  If two threads lose or wrongly set a bit, another plan is evicted, and nothing else happens.

   The number of sets is small if there are few slots: a file for one key must not take a quarter of a megabyte.  There
   are more than 64 only where they take at most an eighth of what the slots take.

       the slots take     sets    plans    bytes
       less                  4       28     14.5 KiB
       16 KiB               64      448    231 KiB
       3.6 MiB             128      896    463 KiB
       7.2 MiB             256    1,792    926 KiB
       14.5 MiB            512    3,584    1.8 MiB

   A process that dies while it writes a plan, or a damaged file, leaves rules that do not match their fingerprint: they
   are not found.  Rules that are found match, and may still be made up: the caller checks their size.  One store makes
   a plan count. */
#include "share/table/wide_plans.h"

#include "core/algorithm.h"
#include "core/num.h"

enum { PLANS_LINE = 64, PLAN_HOMES = 2, NO_WAY = WIDE_WAYS, PLANS_SHARE = 8 };
enum { ALL_WAYS = (1 << WIDE_WAYS) - 1 };

static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t SOME_FROM = 16 << 10;

_Static_assert(sizeof(struct wide_set) == PLANS_LINE, "a set is one cache line");

/* ---- the layout ---- */

uint64_t wide_plans_bytes(uint64_t sets)
{
    const uint64_t bytes = sets * (sizeof(struct wide_set) + WIDE_WAYS * sizeof(struct wide_plan));
    return (bytes + PLANS_LINE - 1) / PLANS_LINE * PLANS_LINE;
}

uint64_t wide_sets_beside(uint64_t slots_bytes)
{
    uint64_t sets = WIDE_SETS_SOME;
    if (slots_bytes < SOME_FROM) return WIDE_SETS_FEW;
    while (sets < WIDE_SETS_MANY && slots_bytes >= PLANS_SHARE * wide_plans_bytes(2 * sets)) sets *= 2;
    return sets;
}

/* The most sets that fit beside the slots.  Doubling them takes more than another page, so a spare page is not mistaken
   for slots with more sets. */
uint64_t wide_sets_in(uint64_t bytes)
{
    uint64_t sets = WIDE_SETS_MANY;
    while (wide_sets_beside(subtract_to_zero(bytes, wide_plans_bytes(sets))) < sets) sets /= 2;
    return sets;
}

struct wide_plans wide_plans_at(void *memory, uint64_t sets)
{
    struct wide_set *first = memory;
    return (struct wide_plans){first, (struct wide_plan *)(void *)(first + sets), sets};
}

/* The two sets for a fingerprint: never the same. */
static void plan_homes(struct wide_plans plans, uint64_t fingerprint, uint64_t home[PLAN_HOMES])
{
    const uint64_t high = fingerprint >> 32;
    home[0] = fingerprint & (plans.sets - 1);
    home[1] = (home[0] + 1 + (high * (plans.sets - 1) >> 32)) & (plans.sets - 1);
}

static struct wide_plan *plan_at(struct wide_plans plans, uint64_t set, unsigned way)
{
    return &plans.plan[set * WIDE_WAYS + way];
}

/* ---- fingerprints ---- */

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * ODD;
    return hash ^ hash >> 32;
}

uint64_t wide_fingerprint(struct rules rules)
{
    uint64_t hash = mixed(ODD, (uint64_t)rules.count);
    for (int i = 0; i < rules.count; i++) {
        union rule_words words = {rules.rule[i]};
        words.rule.generation = 0;
        /* The positions of windows by the wall clock differ a little between processes; states say where theirs are. */
        if (algorithm_of(&words.rule)->has_epoch) words.rule.offset_ns = 0;
        for (int word = 0; word < RULE_WORDS; word++) hash = mixed(hash, words.word[word]);
    }
    return hash != 0 ? hash : 1;
}

/* ---- looking up ---- */

static unsigned way_of(const struct wide_set *set, uint64_t fingerprint)
{
    unsigned way = 0;
    while (way < WIDE_WAYS && atom_load(&set->fingerprint[way]) != fingerprint) way++;
    return way;
}

static void use(struct wide_set *set, unsigned way)
{
    const uint64_t used = atom_load(&set->used), bit = UINT64_C(1) << way;
    if ((used & bit) == 0) atom_store(&set->used, used | bit);
}

bool wide_plans_know(struct wide_plans plans, uint64_t fingerprint)
{
    uint64_t home[PLAN_HOMES];
    plan_homes(plans, fingerprint, home);
    for (int i = 0; i < PLAN_HOMES; i++) {
        const unsigned way = way_of(&plans.set[home[i]], fingerprint);
        if (way == NO_WAY) continue;
        use(&plans.set[home[i]], way);
        return true;
    }
    return false;
}

/* A pointer in a file is nobody's: a profile's rule is never in a table. */
static bool has_pointer(const struct wide_plan *plan)
{
    bool has = false;
    for (uint64_t i = 0; i < plan->count; i++) has = has || (plan->rule[i].flags & RULE_PROFILE) != 0;
    return has;
}

bool wide_plans_find(struct wide_plans plans, uint64_t fingerprint, struct wide_plan *plan)
{
    uint64_t home[PLAN_HOMES];
    plan_homes(plans, fingerprint, home);
    for (int i = 0; i < PLAN_HOMES; i++) {
        const unsigned way = way_of(&plans.set[home[i]], fingerprint);
        if (way == NO_WAY) continue;
        *plan = *plan_at(plans, home[i], way);
        if (plan->count == 0 || plan->count > WEIR_LIMITS_MAX || has_pointer(plan)) continue;
        if (wide_fingerprint((struct rules){plan->rule, (int)plan->count}) != fingerprint) continue;
        use(&plans.set[home[i]], way);
        return true;
    }
    return false;
}

/* ---- eviction ---- */

static void use_new(struct wide_set *set, unsigned way)
{
    const uint64_t bit = UINT64_C(1) << way, used = atom_load(&set->used) | bit;
    atom_store(&set->used, (used & ALL_WAYS) == ALL_WAYS ? bit : used);
}

static bool is_unused(const struct wide_set *set, unsigned way)
{
    return (atom_load(&set->used) >> way & 1) == 0;
}

static bool is_free(const struct wide_set *set, unsigned way)
{
    return atom_load(&set->fingerprint[way]) == 0;
}

/* A way that `fit` accepts, in the set that has more of them; false: neither set has one, and nothing is stored. */
static bool pick(struct wide_plans plans, const uint64_t home[PLAN_HOMES],
                 bool (*fit)(const struct wide_set *, unsigned), uint64_t *set, unsigned *way)
{
    unsigned most_fit = 0;
    for (int i = 0; i < PLAN_HOMES; i++) {
        unsigned fitting = 0, first = NO_WAY;
        for (unsigned at = WIDE_WAYS; at-- > 0;) {
            if (!fit(&plans.set[home[i]], at)) continue;
            fitting++;
            first = at;
        }
        if (fitting <= most_fit) continue;
        most_fit = fitting;
        *set = home[i];
        *way = first;
    }
    return most_fit > 0;
}

void wide_plans_remember(struct wide_plans plans, uint64_t fingerprint, struct rules rules)
{
    uint64_t home[PLAN_HOMES];
    if (wide_plans_know(plans, fingerprint)) return;
    plan_homes(plans, fingerprint, home);
    uint64_t set = home[0];
    unsigned way = 0;
    if (!pick(plans, home, is_free, &set, &way)) pick(plans, home, is_unused, &set, &way);
    struct wide_plan *plan = plan_at(plans, set, way);
    atom_store(&plans.set[set].fingerprint[way], 0);
    plan->count = (uint64_t)rules.count;
    for (int i = 0; i < rules.count; i++) plan->rule[i] = rules.rule[i];
    atom_store(&plans.set[set].fingerprint[way], fingerprint);
    use_new(&plans.set[set], way);
}
