/* SPDX-License-Identifier: MIT
   Src/share/table/table.c with keys that come at once, want one slot, are displaced, move and die, in
   all interleavings.

   Each scene fills the two buckets of one small area, lets two or three threads ask, and then counts: a key was granted
   at most its burst and what drained meanwhile (with what the scene says it owed at the start), it has at most one
   committed slot, and who comes alone afterwards gets all that is left and, when all is idle, a slot.  A thread may die
   behind each swap that succeeds: what it does between two swaps, nobody else sees.  The swaps are seen by compiling
   table.c in here with their names announced.

   Every scene passes and every planted mistake is found, or status 1. */
#include "model.h"
#include "planted_table.h"

#include <setjmp.h>
#include <string.h>

#include "core/num.h"

static bool mortal_swap(struct atom *atom, uint64_t *expected, uint64_t desired, int order, const char *site);
#define TABLE_ATTEMPTS_MAX 5
#undef atom_swap
#undef atom_swap_release
#undef atom_swap_full
#define atom_swap(atom, expected, desired) mortal_swap(atom, expected, desired, ATOM_BOTH, ATOM_SITE)
#define atom_swap_release(atom, expected, desired) mortal_swap(atom, expected, desired, ATOM_RELEASE, ATOM_SITE)
#define atom_swap_full(atom, expected, desired) mortal_swap(atom, expected, desired, ATOM_FULL, ATOM_SITE)
#include "share/table/table.c" /* NOLINT(bugprone-suspicious-include) */
#include "share/table/keep.c"  /* NOLINT(bugprone-suspicious-include) */

enum { THREADS = 3, ACTIONS = 5, AREAS = 2, HALF_MAX = 2, BEGIN = 1000, FAR = 1000000, CALL = 10, BURST = 2 * CALL };
enum verb { NOTHING, TAKE, BACK, FORGET, GROW, REST, SWEEP, COUNT, PEEK };
enum key { NOBODY, A, B, C, OTHERS, NEW = 50, STRANGER = 60, TWIN = 70, KEYS };

struct action {
    enum verb verb;
    enum key key;
    uint64_t later; /* than BEGIN */
};

/* One of A's two buckets, the first or the second, is another than that of all others but TWIN, which has A's two.
   Where all eight are live, A is the one that can be shifted. */
enum width { NARROW, OWN_FIRST, OWN_SECOND };

/* Who has a slot at the beginning, and how far ahead; NOBODY: zeroed. */
struct tenant {
    enum key key;
    uint64_t ahead;
    bool left; /* tentative, by one who died */
};

struct scene {
    const char *name;
    enum table_when_full when_full;
    struct tenant tenant[TABLE_LOOK_SLOTS];
    bool part; /* the keys of the script have a part, in which there are: */
    struct tenant in_part[TABLE_LOOK_SLOTS];
    struct action script[THREADS][ACTIONS];
    enum width width;
    uint64_t beside; /* the four of A's own bucket are so far ahead; 0: zeroed */
    int full_beside; /* so many of these are LIVE */
    bool dies;       /* thread 0 may */
    bool stale;      /* all times were long ago, and look as if they lay ahead */
    bool unseen;     /* who lays them to rest does not look whether another has done so */
    bool too_late;   /* whatever thread 0 swaps, another has swapped before: no attempt succeeds */
    bool one_copy;   /* A has at most one slot that is tentative and live: no newcomer may displace it */
    uint64_t passes; /* so many calls of A in all, those after the threads included; 0: at most what may */
    bool adds;       /* it grows beside: A's area is then the new one, and that of the others stays */
    bool grown;      /* it has grown before, and all know it; the tenants are in the first area */
    int preemptions; /* all orders with so many, where there are too many without */
    table_ask_function *ask;
    const char *mistake; /* the message that has to come; NULL: none may */
};

static const struct scene *scene;
static _Alignas(64) struct table_bucket memory[AREAS][2 * HALF_MAX];
static _Alignas(64) struct table_bucket in_part[2];
static struct atom in_use;
static const struct table_part part = {{.bucket = in_part, .half = 1}, &in_use};
static struct atom newest, at_rest;
static struct table view[THREADS + 1];
static jmp_buf death[THREADS];
static uint64_t granted[KEYS], at_last[KEYS], calls[KEYS], last; /* at_last: at the last time of the script */
static int too_late;                                             /* swaps that were */

static void perhaps_die(void)
{
    const int thread = model_thread();
    if (thread == 0 && scene->dies && model_choose(2) == 1) longjmp(death[thread], 1);
}

static bool mortal_swap(struct atom *atom, uint64_t *expected, uint64_t desired, int order, const char *site)
{
    if (scene->too_late && model_thread() == 0) {
        (void)model_choose(1); /* so that a pause does not wait for what the other does */
        too_late++;
        return false;
    }
    const bool swapped = model_swap(&atom->value, expected, desired, order, site);
    if (swapped) perhaps_die();
    return swapped;
}

bool planted_swap(struct atom *atom, uint64_t *expected, uint64_t desired)
{
    return atom_swap(atom, expected, desired);
}

/* ---- the beginning ---- */

/* Two areas of one size. */
static unsigned home_of(uint64_t hash)
{
    return table_draw(table_tag(hash), 1) < UINT64_C(1) << 31 ? 1 : 0;
}

/* The first hash of this key that chooses these buckets in an area of the widest scenes, and its area. */
static uint64_t hash_of(enum key key)
{
    const struct table_area area = {.bucket = memory[0], .half = HALF_MAX};
    const bool own = key == A || key == TWIN;
    const uint64_t first = own && scene->width == OWN_FIRST ? 1 : 0;
    const uint64_t second = own && scene->width == OWN_SECOND ? HALF_MAX + 1 : HALF_MAX;
    uint64_t hash = (uint64_t)key;
    while (table_first_choice(&area, hash) != first || table_second_choice(&area, hash) != second ||
           home_of(hash) != own)
        hash += UINT64_C(0x9e3779b97f4a7c00);
    return hash;
}

static struct table table_of(unsigned areas)
{
    struct table table = {.newest = &newest, .count = areas, .when_full = scene->when_full, .longest = FAR};
    for (int i = 0; i < AREAS; i++)
        table.area[i] = (struct table_area){.bucket = memory[i], .half = scene->width != NARROW ? HALF_MAX : 1};
    table_divide(&table, scene->adds);
    return table;
}

/* Of the eight that all others than A share, and in narrow scenes A, too. */
static struct table_slot *slot_number(struct table_bucket *area, int i)
{
    const int second = scene->width != NARROW ? HALF_MAX : 1;
    return &area[i < TABLE_SLOTS ? 0 : second].slot[i % TABLE_SLOTS];
}

static uint64_t last_in_script(void)
{
    uint64_t later = 0;
    for (int i = 0; i < THREADS * ACTIONS; i++) later = most(later, scene->script[i / ACTIONS][i % ACTIONS].later);
    return BEGIN + later;
}

static void place(struct table_slot *slot, enum key key, uint64_t ahead)
{
    slot->owner.value = table_tag(hash_of(key)) << TABLE_TAG_SHIFT | 1;
    slot->time.value = UINT64_C(1) << TABLE_LAP_SHIFT | ((BEGIN + ahead) & TABLE_DRAINED_MAX);
}

static void fill(const struct tenant tenants[], struct table_bucket *area)
{
    for (int i = 0; i < TABLE_LOOK_SLOTS; i++) {
        const struct tenant *tenant = &tenants[i];
        if (tenant->key == NOBODY) continue;
        struct table_slot *slot = area == in_part ? &area[i / TABLE_SLOTS].slot[i % TABLE_SLOTS] : slot_number(area, i);
        place(slot, tenant->key, tenant->ahead);
        if (tenant->left) slot->owner.value |= TABLE_TENTATIVE;
        granted[tenant->key] = most(granted[tenant->key], table_ahead(BEGIN + tenant->ahead, BEGIN));
        calls[tenant->key] = granted[tenant->key] / CALL;
    }
}

static void fill_beside(void)
{
    struct table_bucket *own = &memory[0][scene->width == OWN_FIRST ? 1 : HALF_MAX + 1];
    for (int i = 0; i < TABLE_SLOTS; i++)
        place(&own->slot[i], (enum key)(OTHERS + TABLE_LOOK_SLOTS + i), i < scene->full_beside ? 500 : scene->beside);
}

static void begin(void)
{
    memset(memory, 0, sizeof memory);
    memset(in_part, 0, sizeof in_part);
    memset(granted, 0, sizeof granted);
    memset(at_last, 0, sizeof at_last);
    memset(calls, 0, sizeof calls);
    too_late = 0;
    newest.value = scene->grown ? AREAS : 1;
    at_rest.value = 1;
    last = last_in_script();
    for (int i = 0; i <= THREADS; i++) view[i] = table_of((unsigned)newest.value);
    fill(scene->tenant, memory[0]);
    fill(scene->in_part, in_part);
    if (scene->stale) memset(granted, 0, sizeof granted);
    if (scene->stale) memset(calls, 0, sizeof calls);
    in_use.value = scene->in_part[0].key != NOBODY;
    if (scene->beside != 0) fill_beside();
}

/* ---- what threads do ---- */

static const struct table_part *part_of(enum key key)
{
    return scene->part && (key < OTHERS || key >= NEW) ? &part : NULL;
}

/* One swap in each attempt was too late; then it is refused, as where there is no slot. */
static void check_given_up(const struct table_answer *answer, uint64_t now)
{
    const bool nothing = answer->drained == now && answer->charged == 0;
    model_check(answer->verdict == TABLE_REFUSED && answer->events == TABLE_FULL && nothing,
                "not refused as where there is no slot");
    model_check(too_late == TABLE_ATTEMPTS_MAX, "gives up before its last attempt or behind it");
}

static bool take(struct table *table, enum key key, uint64_t now)
{
    const struct table_question question = {
        .hash = hash_of(key), .now = now, .cost = CALL, .burst = BURST, .part = part_of(key)};
    struct table_answer answer = {TABLE_MISSED, 0, 0, 0};
    table_ask_function *ask = scene->ask != NULL ? scene->ask : table_ask;
    ask(table, &question, &answer);
    while (answer.verdict == TABLE_UNKNOWN) {
        model_check(table->count < AREAS, "more areas than there are");
        *table = table_of(AREAS);
        ask(table, &question, &answer);
    }
    model_check(answer.verdict != TABLE_MISSED, "no answer");
    if (scene->too_late && model_thread() == 0) check_given_up(&answer, now);
    if (answer.verdict != TABLE_TAKEN) return false;
    granted[key] += CALL;
    if (now == last) at_last[key] += CALL;
    calls[key]++;
    return true;
}

/* As keyed_rest does. */
static void rest_all(const struct table *table, uint64_t now)
{
    uint64_t seen = atom_load_acquire(&at_rest);
    if (seen == now) return;
    if (table_rest(&table->area[0], scene->unseen ? NULL : &at_rest, seen, now, true)) atom_swap(&at_rest, &seen, now);
}

/* As calls in a batch and the fast path of a limiter take: the slot is sought without a branch. */
static void ask_fetched(struct table *table, const struct table_question *question, struct table_answer *answer)
{
    const struct table_pair pair = table_pair_of(table, question->hash);
    const struct table_charge charge = {question->now, question->cost, 0, question->burst};
    *answer = (struct table_answer){TABLE_MISSED, 0, 0, 0};
    answer->verdict = table_try(table, table_seek_fetched(&pair), &charge, &answer->drained);
    if (answer->verdict == TABLE_MISSED) table_ask_slowly(table, question, answer);
}

/* Figures of a moment, for people. */
static void count_slots(const struct table *table, uint64_t now)
{
    const uint64_t live = table_live(&table->area[0], now), strangers = table_strangers(table, 0, now);
    model_check(live <= TABLE_LOOK_SLOTS && strangers <= TABLE_LOOK_SLOTS, "more live slots than there are");
}

/* Finds no more than is left of the grants before it; with weak orders it may be of a moment before. */
static void peek(struct table *table, enum key key, uint64_t now)
{
    const uint64_t before = granted[key];
    const struct table_question question = {
        .hash = hash_of(key), .now = now, .cost = BURST, .burst = BURST, .how = TABLE_PEEK, .part = part_of(key)};
    struct table_answer answer;
    table_ask(table, &question, &answer);
    model_check(answer.verdict != TABLE_TAKEN || before <= now - BEGIN || model_is_weak(), "finds more than is left");
}

static void act(const struct action *action, struct table *table)
{
    const uint64_t now = BEGIN + action->later, hash = hash_of(action->key);
    switch (action->verb) {
    case TAKE:
        take(table, action->key, now);
        break;
    case BACK:
        table_give_back(table,
                        &(struct table_slip){hash, now, now, now + CALL, CALL, CALL, UINT64_MAX, part_of(action->key)});
        break;
    case FORGET:
        table_forget(table, part_of(action->key), hash, now);
        break;
    case GROW:
        atom_store_release(&newest, AREAS);
        *table = table_of(AREAS);
        break;
    case REST:
        rest_all(table, now);
        break;
    case SWEEP:
        table_sweep(&table->area[0], 0, 2, now);
        break;
    case COUNT:
        count_slots(table, now);
        break;
    case PEEK:
        peek(table, action->key, now);
        break;
    case NOTHING:
        break;
    }
}

static void run_script(void)
{
    const int thread = model_thread();
    const struct action *action = scene->script[thread];
    if (setjmp(death[thread]) != 0) return;
    for (int i = 0; i < ACTIONS && action[i].verb != NOTHING; i++) act(&action[i], &view[thread]);
}

/* ---- the end ---- */

static bool belongs_to(const struct table_slot *slot, enum key key)
{
    const uint64_t owner = slot->owner.value;
    return owner >> TABLE_TAG_SHIFT == table_tag(hash_of(key)) && table_owned(owner, slot->time.value);
}

static int committed_in(const struct table_bucket *area, int buckets, enum key key)
{
    int count = 0;
    for (int i = 0; i < buckets * TABLE_SLOTS; i++) {
        const struct table_slot *slot = &area[i / TABLE_SLOTS].slot[i % TABLE_SLOTS];
        count += belongs_to(slot, key) && !table_is_tentative(slot->owner.value);
    }
    return count;
}

static int copies(enum key key)
{
    int count = 0;
    for (int i = 0; i < 2 * HALF_MAX * TABLE_SLOTS; i++) {
        const struct table_slot *slot = &memory[newest.value - 1][i / TABLE_SLOTS].slot[i % TABLE_SLOTS];
        count +=
            belongs_to(slot, key) && table_is_tentative(slot->owner.value) && table_ahead(slot->time.value, last) != 0;
    }
    return count;
}

static int committed(enum key key)
{
    const uint64_t area = scene->adds && key != A ? 0 : newest.value - 1;
    return committed_in(memory[area], 2 * HALF_MAX, key) + committed_in(in_part, 2, key);
}

static bool in_script(enum verb verb, enum key key)
{
    for (int i = 0; i < THREADS * ACTIONS; i++) {
        const struct action *action = &scene->script[i / ACTIONS][i % ACTIONS];
        if (action->verb == verb && action->key == key) return true;
    }
    return false;
}

static void end(void)
{
    struct table *alone = &view[THREADS];
    model_check(!scene->one_copy || copies(A) <= 1, "two copies of one key");
    for (enum key key = A; key < OTHERS; key++) {
        model_check(committed(key) <= 1, "two committed slots of one key");
        if (key != A && !in_script(TAKE, key)) continue;
        while (take(alone, key, last))
            model_check(calls[key] < ACTIONS * THREADS + TABLE_LOOK_SLOTS, "grants without end");
        const bool forgotten = in_script(FORGET, key) || in_script(BACK, key) || scene->when_full == TABLE_EVICT;
        const bool holds = granted[key] <= BURST + last - BEGIN && at_last[key] <= BURST;
        model_check(holds || forgotten, "over-admits");
        model_check(committed(key) <= 1, "two committed slots of one key");
    }
    /* With weak orders all that a look shows may be of a moment before, and then nothing is given back. */
    const bool may_lose = in_script(BACK, A) && model_is_weak() && calls[A] < scene->passes;
    model_check(scene->passes == 0 || calls[A] == scene->passes || may_lose, "not as many as may pass");
    model_check(take(alone, STRANGER, FAR), "a stranger is refused when all is idle");
    for (enum key key = A; key < OTHERS; key++) model_check(take(alone, key, FAR), "refused when all is idle");
}

/* ---- scenes ---- */

#define DO(verb, key, later)                                                                                           \
    {                                                                                                                  \
        verb, key, later                                                                                               \
    }
#define TAKES(key) DO(TAKE, key, 0)
#define TAKES_LATER(key, later) DO(TAKE, key, later)
#define LIVE(number)                                                                                                   \
    {                                                                                                                  \
        OTHERS + (number), 500, false                                                                                  \
    }
#define FOUR_LIVE LIVE(0), LIVE(1), LIVE(2), LIVE(3)
#define SIX_LIVE FOUR_LIVE, LIVE(4), LIVE(5)
#define SEVEN_LIVE SIX_LIVE, LIVE(6)

#define IDLE                                                                                                           \
    {                                                                                                                  \
        NOBODY, 0, false                                                                                               \
    }
#define OWES(key, ahead)                                                                                               \
    {                                                                                                                  \
        key, ahead, false                                                                                              \
    }
/* So long ago that a sweep makes it younger. */
#define LONG_IDLE (TABLE_DRAINED_MAX - TABLE_LONG_AGO - CALL)
#define LEFT(key, ahead)                                                                                               \
    {                                                                                                                  \
        key, ahead, true                                                                                               \
    }

static const struct scene scenes[] = {
    {.name = "planted: the tag is swapped and the version stays",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 0), SIX_LIVE, IDLE},
     .script = {{TAKES(A), TAKES(A)}, {TAKES(B)}},
     .ask = planted_table_tag_only,
     .mistake = "over-admits"},
    {.name = "planted: versions of two bits",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 0), SIX_LIVE, OWES(OTHERS + 7, 80)},
     .script = {{TAKES(C)},
                {TAKES_LATER(B, 20), TAKES_LATER(A, 40), TAKES_LATER(B, 60), TAKES_LATER(A, 80), TAKES_LATER(A, 80)}},
     .preemptions = 2,
     .ask = planted_table_short_versions,
     .mistake = "over-admits"},
    {.name = "planted: claimed is committed",
     .tenant = {SIX_LIVE, IDLE, IDLE},
     .script = {{TAKES(A)}, {TAKES(A), TAKES(A)}},
     .ask = planted_table_not_tentative,
     .mistake = "two committed"},
    {.name = "planted: committed without a scan",
     .tenant = {SIX_LIVE, OWES(OTHERS + 6, 20), IDLE},
     .script = {{TAKES(A)}, {TAKES_LATER(A, 20)}},
     .preemptions = 2,
     .ask = planted_table_without_scan,
     .mistake = "two committed"},
    {.name = "planted: grown without a second look",
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .script = {{TAKES(A)}, {DO(GROW, NOBODY, 0), TAKES(A)}},
     .preemptions = 2,
     .ask = planted_table_without_second_look,
     .mistake = "over-admits"},
    {.name = "planted: a stranger moved to its area, and committed there",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .grown = true,
     .preemptions = 2,
     .dies = true,
     .script = {{TAKES(A)}, {TAKES(B)}},
     .ask = planted_table_moves_committed,
     .mistake = "two committed"},
    {.name = "planted: a stranger moved to its area without what it owes",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .grown = true,
     .script = {{TAKES(B), TAKES(A), TAKES(A)}, {TAKES(C)}},
     .ask = planted_table_moves_nothing,
     .mistake = "over-admits"},
    {.name = "planted: grown beside, without a second look",
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .script = {{TAKES(A)}, {DO(GROW, NOBODY, 0), TAKES(A)}},
     .preemptions = 2,
     .ask = planted_table_without_second_look,
     .mistake = "over-admits"},
    {.name = "planted: shifted, and left before it is claimed",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .ask = planted_table_leaves_first,
     .mistake = "over-admits"},
    {.name = "planted: shifted without what it owes",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .ask = planted_table_copies_nothing,
     .mistake = "over-admits"},
    {.name = "planted: shifted, and charged where it was",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .ask = planted_table_leaves_unseen,
     .mistake = "two committed"},
    {.name = "planted: shifted again where a copy was left",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .dies = true,
     .one_copy = true,
     .ask = planted_table_copies_again,
     .mistake = "two copies"},
    {.name = "planted: of two left by the dead, one is freed with what it owes",
     .when_full = TABLE_DENY,
     .tenant = {LEFT(A, 0), LEFT(A, 20), SIX_LIVE},
     .script = {{TAKES(A)}, {TAKES(C)}},
     .ask = planted_table_frees_unraised,
     .mistake = "over-admits"},
    {.name = "planted: a part asked as a table of its own",
     .when_full = TABLE_DENY,
     .part = true,
     .tenant = {SEVEN_LIVE, OWES(OTHERS + 7, 10)},
     .preemptions = 2,
     .script = {{TAKES(A), TAKES(A)}, {TAKES_LATER(A, 10), TAKES_LATER(A, 10)}},
     .ask = planted_table_two_tables,
     .mistake = "two committed"},
    {.name = "planted: a part that comes into use, and no look at that behind the claim",
     .when_full = TABLE_DENY,
     .part = true,
     .tenant = {SEVEN_LIVE, OWES(OTHERS + 7, 10)},
     .preemptions = 2,
     .script = {{TAKES(A), TAKES(A)}, {TAKES_LATER(A, 10), TAKES_LATER(A, 10)}},
     .ask = planted_table_use_unseen,
     .mistake = "two committed"},
    {.name = "planted: laid to rest behind another who has done so",
     .tenant = {OWES(A, 10), SIX_LIVE, IDLE},
     .stale = true,
     .unseen = true,
     .preemptions = 2,
     .script = {{DO(REST, NOBODY, 0), TAKES(A), TAKES(A)}, {DO(REST, NOBODY, 0), TAKES(A)}},
     .mistake = "over-admits"},
    {.name = "wide versions where two bits come round",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 0), SIX_LIVE, OWES(OTHERS + 7, 80)},
     .script = {{TAKES(C)},
                {TAKES_LATER(B, 20), TAKES_LATER(A, 40), TAKES_LATER(B, 60), TAKES_LATER(A, 80), TAKES_LATER(A, 80)}},
     .preemptions = 1},
    {.name = "swept beside a new key, a death",
     .tenant = {OWES(C, LONG_IDLE), SIX_LIVE, IDLE},
     .preemptions = 2,
     .dies = true,
     .script = {{DO(SWEEP, NOBODY, 0)}, {TAKES(A), TAKES(C)}}},
    {.name = "swept beside charged",
     .tenant = {OWES(A, LONG_IDLE), SIX_LIVE, IDLE},
     .preemptions = 2,
     .script = {{DO(SWEEP, NOBODY, 0), DO(COUNT, NOBODY, 0)}, {TAKES(A), TAKES(A)}}},
    {.name = "counted and looked at beside a new key",
     .tenant = {OWES(A, 0), SIX_LIVE, IDLE},
     .preemptions = 2,
     .script = {{DO(COUNT, NOBODY, 0), DO(PEEK, B, 0)}, {TAKES(B), TAKES(A)}}},
    {.name = "sought in a batch, beside one who takes the slot over",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES_LATER(A, 10), TAKES_LATER(A, 10)}, {TAKES_LATER(B, 10)}},
     .ask = ask_fetched},
    {.name = "sought in a batch, two at once, two slots",
     .tenant = {LIVE(0), LIVE(1), LIVE(2), IDLE, LIVE(3), LIVE(4), LIVE(5), IDLE},
     .script = {{TAKES(A)}, {TAKES(A), TAKES(A)}},
     .preemptions = 3,
     .ask = ask_fetched,
     .passes = 2},
    {.name = "one key, two at once, two slots",
     .tenant = {LIVE(0), LIVE(1), LIVE(2), IDLE, LIVE(3), LIVE(4), LIVE(5), IDLE},
     .script = {{TAKES(A)}, {TAKES(A)}},
     .passes = 2},
    {.name = "one key, two at once, two slots in a bucket, a death",
     .tenant = {SIX_LIVE, IDLE, IDLE},
     .script = {{TAKES(A)}, {TAKES(A)}},
     .dies = true},
    {.name = "one key, two at once, in another order",
     .tenant = {LIVE(0), LIVE(1), OWES(OTHERS + 2, 20), OWES(OTHERS + 3, 20), LIVE(4), LIVE(5), LIVE(6), IDLE},
     .preemptions = 3,
     .script = {{TAKES_LATER(A, 20)}, {TAKES(A)}},
     .ask = table_ask_slowly},
    {.name = "one key, two at once, slowly",
     .tenant = {OWES(A, 0), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(A)}, {TAKES(A)}},
     .ask = table_ask_slowly,
     .passes = 2},
    {.name = "one key, three at once",
     .tenant = {LIVE(0), LIVE(1), LIVE(2), IDLE, LIVE(3), LIVE(4), LIVE(5), IDLE},
     .script = {{TAKES(A)}, {TAKES(A)}, {TAKES(A)}},
     .preemptions = 2,
     .passes = 2},
    {.name = "a new key, and each swap for it is too late",
     .when_full = TABLE_DENY,
     .tenant = {SEVEN_LIVE, IDLE},
     .too_late = true,
     .script = {{TAKES(A)}, {DO(COUNT, NOBODY, 0)}}},
    {.name = "two keys, one slot, denied",
     .when_full = TABLE_DENY,
     .tenant = {SEVEN_LIVE, IDLE},
     .preemptions = 2,
     .script = {{TAKES(A)}, {TAKES(B)}}},
    {.name = "two keys, one slot, a death",
     .when_full = TABLE_DENY,
     .tenant = {SEVEN_LIVE, IDLE},
     .preemptions = 2,
     .dies = true,
     .script = {{TAKES(A)}, {TAKES(B)}}},
    {.name = "charged beside reclaimed",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(A)}, {TAKES_LATER(B, 10)}}},
    {.name = "charged late beside reclaimed",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES_LATER(A, 10), TAKES_LATER(A, 10)}, {TAKES_LATER(B, 10)}}},
    {.name = "charged beside reclaimed, a death",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES_LATER(B, 10)}, {TAKES_LATER(A, 10)}},
     .dies = true},
    {.name = "evicted beside charged",
     .when_full = TABLE_EVICT,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}}},
    {.name = "inherited beside charged",
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}}},
    {.name = "displaced and back in another bucket",
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES_LATER(A, 1)}}},
    {.name = "displaced and back in another bucket, a death",
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES_LATER(A, 1)}},
     .dies = true},
    {.name = "displaced beside a time given back",
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {OWES(A, 10), OWES(C, 10), SIX_LIVE},
     .script = {{TAKES(B)}, {DO(BACK, C, 0)}}},
    {.name = "displaced and back beside a time given back",
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {OWES(A, 10), OWES(C, 10), SIX_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {DO(BACK, C, 0)}, {TAKES_LATER(A, 1)}}},
    {.name = "displaced beside a key forgotten, a death",
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {OWES(A, 10), OWES(C, 10), SIX_LIVE},
     .script = {{TAKES(B)}, {DO(FORGET, C, 0)}},
     .dies = true},
    {.name = "forgotten beside charged",
     .tenant = {OWES(A, 20), SIX_LIVE, IDLE},
     .preemptions = 2,
     .script = {{DO(FORGET, A, 0)}, {TAKES(A)}}},
    {.name = "grown beside charged",
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .script = {{TAKES(A)}, {DO(GROW, NOBODY, 0), TAKES(A)}}},
    {.name = "grown beside a new key",
     .tenant = {SEVEN_LIVE, IDLE},
     .preemptions = 2,
     .script = {{TAKES(A)}, {DO(GROW, NOBODY, 0), TAKES(A), TAKES(A)}}},
    {.name = "grown and moved beside charged, a death",
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{DO(GROW, NOBODY, 0), TAKES(A)}, {TAKES(A)}},
     .dies = true},
    {.name = "grown, moved by two, beside charged",
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{DO(GROW, NOBODY, 0), TAKES(A)}, {TAKES(A)}, {TAKES(A)}}},
    {.name = "shifted beside charged",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 3,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .passes = 2},
    {.name = "shifted beside charged once",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 1,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .passes = 2},
    {.name = "shifted the other way beside charged",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 10), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 3,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .passes = 2},
    {.name = "shifted beside charged, a death",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .dies = true,
     .passes = 2},
    {.name = "shifted by two beside charged",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 10), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 1,
     .script = {{TAKES(B)}, {TAKES(C)}, {TAKES(A)}},
     .passes = 2},
    {.name = "shifted by two, a death",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 1,
     .script = {{TAKES(B)}, {TAKES(C)}},
     .dies = true,
     .passes = 2},
    {.name = "shifted beside charged, and no second copy, a death",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .dies = true,
     .one_copy = true,
     .passes = 2},
    {.name = "two left by the dead, and the lower one is taken",
     .when_full = TABLE_DENY,
     .tenant = {LEFT(A, 0), LEFT(A, 20), LIVE(0), LIVE(1), LIVE(2), LIVE(3), OWES(OTHERS + 4, 1), OWES(OTHERS + 5, 1)},
     .preemptions = 2,
     .script = {{TAKES(A), TAKES_LATER(A, 1)}, {TAKES(C)}}},
    {.name = "two left by the dead, and the lower one is freed",
     .when_full = TABLE_DENY,
     .tenant = {LEFT(A, 0), LEFT(B, 0), LIVE(0), LIVE(1), IDLE, LEFT(A, 20), OWES(OTHERS + 2, 1), LIVE(3)},
     .preemptions = 1,
     .script = {{TAKES(C)}, {TAKES(A), TAKES_LATER(A, 1)}},
     .dies = true},
    {.name = "two left by the dead, and two who come",
     .when_full = TABLE_DENY,
     .tenant = {LEFT(A, 0), LEFT(A, 10), SIX_LIVE},
     .preemptions = 2,
     .script = {{TAKES(A)}, {TAKES(A)}},
     .dies = true},
    {.name = "two left by the dead, and swept",
     .when_full = TABLE_DENY,
     .tenant = {LEFT(A, LONG_IDLE), LEFT(A, 10), SIX_LIVE},
     .preemptions = 1,
     .script = {{DO(SWEEP, NOBODY, 0)}, {TAKES(A)}},
     .passes = 2},
    {.name = "shifted beside looked at",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 10), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 1,
     .script = {{TAKES(B)}, {DO(PEEK, A, 0)}}},
    {.name = "shifted beside a newcomer to where it goes",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .beside = 1,
     .full_beside = 3,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 1,
     .script = {{TAKES_LATER(B, 1)}, {TAKES_LATER(TWIN, 1)}}},
    {.name = "shifted beside one who looked before",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .beside = 1,
     .tenant = {FOUR_LIVE, IDLE, LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 2,
     .script = {{TAKES_LATER(B, 1)}, {TAKES(A)}, {TAKES_LATER(A, 1)}}},
    {.name = "shifted the other way beside one who looked before",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {IDLE, SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES_LATER(B, 1)}, {TAKES(A), TAKES(A)}, {TAKES_LATER(A, 1)}}},
    {.name = "shifted beside one who looked before, a death",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .beside = 1,
     .tenant = {FOUR_LIVE, IDLE, LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 1,
     .script = {{TAKES_LATER(B, 1)}, {TAKES(A)}, {TAKES_LATER(A, 1)}},
     .dies = true},
    {.name = "shifted beside a time given back",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 20), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {DO(BACK, A, 0), TAKES(A)}}},
    {.name = "shifted beside a time given back, which is not lost",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 20), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 1,
     .script = {{DO(BACK, A, 0)}, {TAKES(B)}},
     .passes = 3},
    {.name = "shifted and a new key beside a time given back, which is not lost",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 20), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 2,
     .script = {{DO(BACK, A, 0)}, {TAKES(TWIN)}, {TAKES(B)}},
     .passes = 3},
    {.name = "shifted beside forgotten",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 20), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 1,
     .script = {{TAKES(B)}, {DO(FORGET, A, 0), TAKES(A)}, {TAKES(A)}}},
    {.name = "shifted beside evicted",
     .when_full = TABLE_EVICT,
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 1,
     .script = {{TAKES_LATER(B, 1)}, {TAKES(C)}, {TAKES_LATER(A, 1)}}},
    {.name = "shifted beside displaced, a death",
     .width = OWN_SECOND,
     .beside = 1,
     .tenant = {OWES(C, 10), OWES(A, 20), SIX_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B), TAKES_LATER(NEW, 2)}, {TAKES_LATER(C, 2)}},
     .dies = true},
    {.name = "shifted beside grown",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 10), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 2,
     .script = {{TAKES(B)}, {DO(GROW, NOBODY, 0), TAKES(A)}}},
    {.name = "grown beside shifted, once",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 10), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 1,
     .script = {{DO(GROW, NOBODY, 0), TAKES(A)}, {TAKES(B)}}},
    {.name = "shifted beside grown, a death",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 10), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 2,
     .script = {{TAKES(B)}, {DO(GROW, NOBODY, 0), TAKES(A)}},
     .dies = true},
    {.name = "shifted beside grown and looked at",
     .when_full = TABLE_DENY,
     .width = OWN_FIRST,
     .tenant = {FOUR_LIVE, OWES(A, 10), LIVE(4), LIVE(5), LIVE(6)},
     .preemptions = 1,
     .script = {{TAKES(B)}, {DO(GROW, NOBODY, 0), DO(PEEK, A, 0)}}},
    {.name = "shifted beside grown, and charged late",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 1,
     .script = {{TAKES(B)}, {DO(GROW, NOBODY, 0), TAKES(A)}, {TAKES(A)}},
     .dies = true},
    {.name = "stale times laid to rest by two",
     .tenant = {OWES(A, 10), SIX_LIVE, IDLE},
     .stale = true,
     .preemptions = 2,
     .script = {{DO(REST, NOBODY, 0), TAKES(A), TAKES(A)}, {DO(REST, NOBODY, 0), TAKES(A)}},
     .passes = 2},
    {.name = "stale times laid to rest by three, a death",
     .tenant = {OWES(A, 20), SIX_LIVE, IDLE},
     .stale = true,
     .preemptions = 1,
     .script = {{DO(REST, NOBODY, 0), TAKES(A)}, {DO(REST, NOBODY, 0), TAKES(A)}, {DO(REST, NOBODY, 0), TAKES(A)}},
     .dies = true},
    {.name = "a part: one key, and room elsewhere meanwhile",
     .when_full = TABLE_DENY,
     .part = true,
     .tenant = {SEVEN_LIVE, OWES(OTHERS + 7, 10)},
     .preemptions = 2,
     .script = {{TAKES(A), TAKES(A)}, {TAKES_LATER(A, 10), TAKES_LATER(A, 10)}}},
    {.name = "a part: one key, and room elsewhere meanwhile, a death",
     .when_full = TABLE_DENY,
     .part = true,
     .tenant = {SEVEN_LIVE, OWES(OTHERS + 7, 10)},
     .preemptions = 2,
     .script = {{TAKES(A)}, {TAKES_LATER(A, 10)}},
     .dies = true},
    {.name = "a part: one key, and room elsewhere, the other dies",
     .when_full = TABLE_DENY,
     .part = true,
     .tenant = {SEVEN_LIVE, OWES(OTHERS + 7, 10)},
     .preemptions = 2,
     .script = {{TAKES_LATER(A, 10)}, {TAKES(A)}},
     .dies = true},
    {.name = "a part: its last slot, two keys",
     .when_full = TABLE_DENY,
     .part = true,
     .tenant = {SEVEN_LIVE, LIVE(7)},
     .in_part = {LIVE(8), LIVE(9), LIVE(10), LIVE(11), LIVE(12), LIVE(13), LIVE(14), IDLE},
     .preemptions = 2,
     .script = {{TAKES(A)}, {TAKES(B)}}},
    {.name = "a part: displaced in it and back beside it, a death",
     .part = true,
     .tenant = {SEVEN_LIVE, OWES(OTHERS + 7, 1)},
     .in_part = {OWES(C, 10), LIVE(8), LIVE(9), LIVE(10), LIVE(11), LIVE(12), LIVE(13), LIVE(14)},
     .preemptions = 2,
     .script = {{TAKES(A)}, {TAKES_LATER(C, 1)}},
     .dies = true},
    {.name = "a part: shifted elsewhere beside charged, a death",
     .when_full = TABLE_DENY,
     .width = OWN_SECOND,
     .part = true,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .preemptions = 2,
     .script = {{TAKES(B)}, {TAKES(A)}},
     .dies = true,
     .passes = 2},
    {.name = "a part: given back in it",
     .when_full = TABLE_DENY,
     .part = true,
     .tenant = {SEVEN_LIVE, OWES(OTHERS + 7, 10)},
     .in_part = {OWES(A, 20)},
     .preemptions = 2,
     .script = {{DO(BACK, A, 0)}, {TAKES_LATER(A, 10)}}},
    {.name = "a part: grown beside a new key, a death",
     .part = true,
     .tenant = {SEVEN_LIVE, LIVE(7)},
     .preemptions = 2,
     .script = {{TAKES(A)}, {DO(GROW, NOBODY, 0), TAKES(A), TAKES(A)}},
     .dies = true},
    {.name = "grown beside while its key is charged, a death",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .preemptions = 2,
     .dies = true,
     .script = {{TAKES(A)}, {DO(GROW, NOBODY, 0), TAKES(A)}}},
    {.name = "grown beside while another's key is charged",
     .when_full = TABLE_DENY,
     .tenant = {OWES(B, 10), SEVEN_LIVE},
     .adds = true,
     .script = {{TAKES(B)}, {DO(GROW, NOBODY, 0), TAKES(B)}}},
    {.name = "grown beside: a new key, two at once, and who grows dies",
     .tenant = {SIX_LIVE, IDLE, IDLE},
     .adds = true,
     .preemptions = 2,
     .dies = true,
     .script = {{DO(GROW, NOBODY, 0), TAKES(A)}, {TAKES(A)}, {TAKES(A)}}},
    {.name = "a stranger gives way beside charged, a death",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .grown = true,
     .preemptions = 2,
     .dies = true,
     .script = {{TAKES(B)}, {TAKES(A)}}},
    {.name = "a stranger is charged beside giving way, a death",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .grown = true,
     .preemptions = 2,
     .dies = true,
     .script = {{TAKES(A)}, {TAKES(B)}, {TAKES(A)}}},
    {.name = "a stranger gives way while a thread does not know that the table has grown",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .preemptions = 2,
     .script = {{TAKES(A)}, {DO(GROW, NOBODY, 0), TAKES(B)}, {TAKES(A)}}},
    {.name = "two newcomers, and one stranger who gives way, a death",
     .tenant = {OWES(A, 1), SEVEN_LIVE},
     .adds = true,
     .grown = true,
     .preemptions = 2,
     .dies = true,
     .script = {{TAKES(B), TAKES(C)}, {TAKES(A)}}},
    {.name = "a stranger forgotten beside giving way",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .grown = true,
     .preemptions = 2,
     .script = {{DO(FORGET, A, 0)}, {TAKES(B)}, {TAKES(A)}}},
    {.name = "a stranger's permits given back beside giving way",
     .when_full = TABLE_DENY,
     .tenant = {OWES(A, 10), SEVEN_LIVE},
     .adds = true,
     .grown = true,
     .preemptions = 2,
     .script = {{DO(BACK, A, 0)}, {TAKES(B)}, {TAKES(A)}}},
};

static void run(const struct scene *chosen)
{
    scene = chosen;
    const struct model_scenario scenario = {.name = chosen->name,
                                            .threads = chosen->script[2][0].verb != NOTHING ? 3 : 2,
                                            .begin = begin,
                                            .thread = {run_script, run_script, run_script},
                                            .end = end,
                                            .preemptions_max = chosen->preemptions};
    model_judge(&scenario, chosen->mistake);
}

int main(void)
{
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) run(&scenes[i]);
    return model_status();
}
