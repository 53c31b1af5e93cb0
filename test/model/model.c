/* SPDX-License-Identifier: MIT
   The engine: a depth-first walk over schedules and choices, each execution run anew from its beginning.

   What model.h says.

   What happened so far is a row of nodes.  A node is a turn (which thread makes its next step) or a choice (which
   number model_choose gives).  An execution follows the row, adds nodes at its end as it goes on, and afterwards the
   last node that has something left to try is changed and all behind it forgotten.

   What a turn has to try is found by dynamic partial-order reduction with source sets and sleep sets (Abdulla,
   Aronis, Jonsson, Sagonas: Optimal dynamic partial order reduction, POPL 2014, algorithm 1; clocks as in Flanagan
   and Godefroid, POPL 2005): a step races with an earlier one of another thread if they conflict and nothing in
   between orders them; the earlier one's turn must then also try a thread that can begin the order without it.  A
   thread whose steps were all tried at a turn sleeps in the turns behind until a step conflicts with its own.  A swap
   that misses is a read.  A pause that waits is a read of the words it waits for; once it can go on it always can, so
   the step that woke it is no race but simply before it. */
#include "model.h"

#include "coroutine.h"

#include <setjmp.h>
#include <string.h>

enum { THREADS = MODEL_THREADS_MAX, PLACES = MODEL_PLACES_MAX, STEPS = MODEL_STEPS_MAX, NODES = 2 * STEPS };
enum { OUTSIDE = -1, NONE = -1 };

static const char UNREPEATABLE[] = "the execution does not repeat: does begin reset everything?";

_Static_assert(PLACES <= 64, "sets of places are masks");
_Static_assert((int)THREADS <= (int)COROUTINES_MAX, "a stack for each thread");

struct operation {
    enum model_kind kind;
    int place;       /* of the one word; NONE for a wake */
    uint64_t places; /* as a mask: all words it conflicts on */
    const uint64_t *word;
    uint64_t *target;  /* the same word, if it may be written */
    uint64_t value;    /* stored, added or swapped in */
    uint64_t expected; /* of a swap */
    uint64_t seen;     /* result */
};

struct thread {
    struct operation next;
    uint32_t clock[THREADS];   /* how many steps of each thread come before what it does next */
    uint64_t versions[PLACES]; /* of each word, when it was last read or written here */
    uint64_t window;           /* words read since the last pause */
    bool fresh;                /* learned, wrote or chose something since the last pause */
    bool finished;
};

struct place {
    const void *address;
    uint64_t version;   /* writes so far, plus 1 */
    int write;          /* the last event that wrote it, or NONE */
    int reads[THREADS]; /* the last event of each thread that read it since, or NONE */
};

struct event {
    int thread;
    int node;
    uint32_t clock[THREADS]; /* its own entry is its number in its thread, from 1 */
};

struct node {
    bool turn;
    uint64_t count;         /* choice: below which */
    uint64_t chosen;        /* number, or thread */
    unsigned enabled;       /* turn, sets of threads: that could go on */
    unsigned wanted;        /* to be tried */
    unsigned done;          /* tried, all behind it included */
    unsigned asleep;        /* need not be tried */
    int preempted;          /* turns taken away so far, in the row up to here */
    struct model_step made; /* to notice executions that do not repeat */
};

static struct {
    const struct model_scenario *scenario;
    struct model_result result;
    struct node nodes[NODES];
    int node_count;
    int cursor;    /* the next node to follow, or to add */
    int first_new; /* races of turns before this one were looked at in an earlier execution */
    struct thread threads[THREADS];
    struct place places[PLACES];
    int place_count;
    struct event events[STEPS];
    int event_count;
    struct model_step trace[NODES];
    int trace_count;
    int running; /* the thread whose code runs, or OUTSIDE */
    int last;    /* who made the last step */
    int preempted;
    unsigned asleep; /* for the next turn */
    jmp_buf outside; /* out of begin or end, when a check fails */
} x;

static unsigned bit(int thread)
{
    return 1U << thread;
}

static int lowest(unsigned set)
{
    int thread = 0;
    while (!(set & bit(thread))) thread++;
    return thread;
}

static bool reduces(void)
{
    return !x.scenario->plain && x.scenario->preemptions_max == 0;
}

/* Failing and telling. */

static void record_failure(const char *message)
{
    if (x.result.failed) return;
    x.result.failed = true;
    snprintf(x.result.message, sizeof x.result.message, "%s", message);
}

static void stop(const char *message)
{
    record_failure(message);
    if (x.running == OUTSIDE) longjmp(x.outside, 1);
    for (;;) coroutine_leave();
}

static void tell(struct model_step step)
{
    if (x.trace_count < NODES) x.trace[x.trace_count++] = step;
}

/* The row of nodes. */

static struct node *add_node(void)
{
    struct node *node = &x.nodes[x.node_count++];
    *node = (struct node){0};
    x.cursor = x.node_count;
    return node;
}

static bool try_next(struct node *node)
{
    if (!node->turn) return ++node->chosen < node->count;
    node->done |= bit((int)node->chosen);
    const unsigned left = node->wanted & ~node->done & ~node->asleep;
    if (left) node->chosen = (uint64_t)lowest(left);
    return left != 0;
}

/* False when nothing is left to try. */
static bool go_back(void)
{
    while (x.node_count > 0) {
        if (try_next(&x.nodes[x.node_count - 1])) {
            x.first_new = x.node_count - 1;
            return true;
        }
        x.node_count--;
    }
    return false;
}

/* Operations: which words, and whether they conflict. */

static int place_of(const void *address)
{
    int i = 0;
    while (i < x.place_count && x.places[i].address != address) i++;
    if (i == PLACES) stop("more words than MODEL_PLACES_MAX");
    if (i == x.place_count) {
        x.places[x.place_count++] = (struct place){.address = address, .version = 1, .write = NONE};
        for (int t = 0; t < THREADS; t++) x.places[i].reads[t] = NONE;
    }
    return i;
}

/* Whether it would write, made now. */
static bool writes(const struct operation *op)
{
    if (op->kind == MODEL_SWAP) return *op->word == op->expected;
    return op->kind != MODEL_LOAD && op->kind != MODEL_WAKE;
}

static bool is_stale(const struct thread *thread, uint64_t places)
{
    for (int i = 0; i < x.place_count; i++)
        if ((places >> i & 1) && x.places[i].version != thread->versions[i]) return true;
    return false;
}

static bool is_enabled(const struct thread *thread)
{
    if (thread->finished) return false;
    return thread->next.kind != MODEL_WAKE || is_stale(thread, thread->next.places);
}

static unsigned enabled_threads(void)
{
    unsigned set = 0;
    for (int t = 0; t < x.scenario->threads; t++)
        if (is_enabled(&x.threads[t])) set |= bit(t);
    return set;
}

/* What sleeps behind this turn: was tried here or slept already, and does not conflict with the step made. */
static unsigned still_asleep(const struct node *node, const struct operation *made)
{
    unsigned set = (node->asleep | node->done) & ~bit((int)node->chosen);
    for (int t = 0; t < x.scenario->threads; t++) {
        if (!(set & bit(t))) continue;
        const struct operation *op = &x.threads[t].next;
        if ((op->places & made->places) && (writes(op) || writes(made))) set &= ~bit(t);
    }
    return set;
}

static void apply(struct operation *op)
{
    op->seen = op->word ? *op->word : 0;
    if (op->kind == MODEL_SWAP && op->seen != op->expected) {
        op->kind = MODEL_MISS;
        op->value = op->expected;
    }
    if (op->kind == MODEL_ADD) op->value += op->seen;
    if (op->kind == MODEL_STORE || op->kind == MODEL_SWAP || op->kind == MODEL_ADD) *op->target = op->value;
}

/* What the thread knows of the words, for its next pause. */
static void learn(struct thread *thread, const struct operation *op, bool wrote)
{
    if (op->kind == MODEL_WAKE) return;
    struct place *place = &x.places[op->place];
    place->version += wrote;
    thread->fresh |= wrote || thread->versions[op->place] != place->version;
    thread->versions[op->place] = place->version;
    thread->window |= op->places;
}

/* Order and races. */

static bool is_before(int earlier, const uint32_t *clock)
{
    const struct event *event = &x.events[earlier];
    return event->clock[event->thread] <= clock[event->thread];
}

/* The last events of other threads that conflict with a step of `thread` on these words. */
static int conflicting(int thread, uint64_t places, bool wrote, int *found)
{
    int count = 0;
    for (int i = 0; i < x.place_count; i++) {
        if (!(places >> i & 1)) continue;
        const struct place *place = &x.places[i];
        if (place->write != NONE && x.events[place->write].thread != thread) found[count++] = place->write;
        for (int t = 0; wrote && t < THREADS; t++)
            if (t != thread && place->reads[t] != NONE) found[count++] = place->reads[t];
    }
    return count;
}

static void note_access(int event, uint64_t places, bool wrote)
{
    const int thread = x.events[event].thread;
    for (int i = 0; i < x.place_count; i++) {
        if (!(places >> i & 1)) continue;
        struct place *place = &x.places[i];
        if (wrote) place->write = event;
        for (int t = 0; wrote && t < THREADS; t++) place->reads[t] = NONE;
        if (!wrote) place->reads[thread] = event;
    }
}

/* first[t]: the first event of each thread in what would happen without `earlier`, which ends with `event`. */
static void without(int earlier, int event, int *first)
{
    unsigned seen = bit(x.events[earlier].thread);
    for (int t = 0; t < THREADS; t++) first[t] = NONE;
    for (int e = earlier + 1; e <= event; e++) {
        const int thread = x.events[e].thread;
        if (seen & bit(thread)) continue;
        seen |= bit(thread);
        if (e == event || !is_before(earlier, x.events[e].clock)) first[thread] = e;
    }
}

/* The threads that can begin it: nothing else in it comes before their first event. */
static unsigned initials(const int *first)
{
    unsigned set = 0;
    for (int t = 0; t < THREADS; t++) {
        bool begins = first[t] != NONE;
        for (int s = 0; begins && s < THREADS; s++)
            if (s != t && first[s] != NONE && is_before(first[s], x.events[first[t]].clock)) begins = false;
        if (begins) set |= bit(t);
    }
    return set;
}

static void reverse(int earlier, int event)
{
    struct node *node = &x.nodes[x.events[earlier].node];
    int first[THREADS];
    without(earlier, event, first);
    const unsigned set = initials(first) & node->enabled;
    if (!set || (set & (node->wanted | node->asleep))) return;
    const unsigned own = set & bit(x.events[event].thread);
    node->wanted |= own ? own : bit(lowest(set));
}

/* Races with those of `found` that neither the thread's past nor another of them puts before the event anyway. */
static void find_races(int event, const uint32_t *past, const int *found, int count)
{
    for (int i = 0; i < count; i++) {
        bool direct = !is_before(found[i], past);
        for (int j = 0; direct && j < count; j++)
            if (found[j] != found[i] && is_before(found[i], x.events[found[j]].clock)) direct = false;
        if (direct) reverse(found[i], event);
    }
}

static void record_event(int thread, const struct operation *op, bool wrote, int node)
{
    const int number = x.event_count++;
    struct event *event = &x.events[number];
    uint32_t *past = x.threads[thread].clock;
    int found[PLACES * THREADS];
    const int count = conflicting(thread, op->places, wrote, found);

    *event = (struct event){.thread = thread, .node = node};
    memcpy(event->clock, past, sizeof event->clock);
    event->clock[thread]++;
    for (int i = 0; i < count; i++)
        for (int t = 0; t < THREADS; t++)
            if (x.events[found[i]].clock[t] > event->clock[t]) event->clock[t] = x.events[found[i]].clock[t];
    if (reduces() && node >= x.first_new) find_races(number, past, found, count);
    note_access(number, op->places, wrote);
    memcpy(past, event->clock, sizeof event->clock);
}

/* Turns. */

static void live(void)
{
    x.scenario->thread[x.running]();
    x.threads[x.running].finished = true;
}

static void start(int thread)
{
    coroutine_start(thread, live);
}

/* Until its next step. */
static void run_thread(int thread, void (*enter)(int))
{
    x.running = thread;
    enter(thread);
    x.running = OUTSIDE;
}

/* Before the changed node all steps must be what they were in the execution before. */
static void remember_step(int node_number, struct model_step step)
{
    struct model_step *made = &x.nodes[node_number].made;
    const bool same =
        made->kind == step.kind && made->place == step.place && made->seen == step.seen && made->value == step.value;
    if (node_number < x.first_new && !same) record_failure(UNREPEATABLE);
    *made = step;
    tell(step);
}

/* Makes the step that the turn chose, and runs the thread up to its next. */
static void make_step(int node_number)
{
    struct node *node = &x.nodes[node_number];
    const int thread = (int)node->chosen;
    struct operation *op = &x.threads[thread].next;
    const bool wrote = writes(op);

    x.asleep = reduces() ? still_asleep(node, op) : 0;
    record_event(thread, op, wrote, node_number);
    x.preempted = node->preempted + (x.last != NONE && x.last != thread && (node->enabled & bit(x.last)));
    x.last = thread;
    apply(op);
    learn(&x.threads[thread], op, wrote);
    remember_step(node_number, (struct model_step){op->kind, thread, op->place, op->seen, op->value});
    x.result.steps++;
    run_thread(thread, coroutine_resume);
}

/* False when all that could go on is asleep. */
static bool add_turn(unsigned enabled)
{
    unsigned open = enabled & ~x.asleep;
    const bool last_can = x.last != NONE && (enabled & bit(x.last));
    if (x.scenario->preemptions_max > 0 && x.preempted >= x.scenario->preemptions_max && last_can) open = bit(x.last);
    if (!open) return false;

    struct node *node = add_node();
    node->turn = true;
    node->enabled = enabled;
    node->asleep = x.asleep;
    node->preempted = x.preempted;
    node->chosen = (uint64_t)(x.last != NONE && (open & bit(x.last)) ? x.last : lowest(open));
    node->wanted = reduces() ? bit((int)node->chosen) : open;
    return true;
}

/* False when the execution is given up as one already seen. */
static bool take_turn(unsigned enabled)
{
    if (x.event_count == STEPS || x.node_count == NODES) {
        record_failure("livelock: more steps than MODEL_STEPS_MAX");
        return true;
    }
    if (x.cursor < x.node_count) {
        const struct node *node = &x.nodes[x.cursor++];
        if (!node->turn || node->enabled != enabled) {
            record_failure(UNREPEATABLE);
            return true;
        }
    } else if (!add_turn(enabled)) {
        return false;
    }
    make_step(x.cursor - 1);
    return true;
}

/* One execution. */

static void run_outside(void (*function)(void))
{
    if (function && setjmp(x.outside) == 0) function();
}

static void forget_execution(void)
{
    memset(x.threads, 0, sizeof x.threads);
    x.cursor = 0;
    x.place_count = 0;
    x.event_count = 0;
    x.trace_count = 0;
    x.running = OUTSIDE;
    x.last = NONE;
    x.preempted = 0;
    x.asleep = 0;
}

static bool all_finished(void)
{
    for (int t = 0; t < x.scenario->threads; t++)
        if (!x.threads[t].finished) return false;
    return true;
}

static void execute(void)
{
    bool cut = false;
    forget_execution();
    run_outside(x.scenario->begin);
    for (int t = 0; t < x.scenario->threads && !x.result.failed; t++) run_thread(t, start);
    while (!x.result.failed && !cut && !all_finished()) {
        const unsigned enabled = enabled_threads();
        if (!enabled) record_failure("deadlock: every thread that has not finished waits in a pause");
        else cut = !take_turn(enabled);
    }
    if (!x.result.failed && !cut) run_outside(x.scenario->end);
    x.result.executions += !cut;
    x.result.cut += cut;
}

struct model_result model_run(const struct model_scenario *scenario)
{
    bool more = true;
    x.scenario = scenario;
    x.result = (struct model_result){.name = scenario->name};
    x.node_count = 0;
    x.first_new = 0;
    while (more && !x.result.failed && !(scenario->steps_max && x.result.steps >= scenario->steps_max)) {
        execute();
        more = go_back();
    }
    x.result.complete = !more && !x.result.failed;
    if (x.result.failed) {
        x.result.trace = x.trace;
        x.result.trace_count = x.trace_count;
    }
    return x.result;
}

/* What begin, threads and end call. */

static struct operation at_word(enum model_kind kind, const void *address, const uint64_t *word, uint64_t *target)
{
    const int place = x.running == OUTSIDE ? NONE : place_of(address);
    const uint64_t places = place == NONE ? 0 : UINT64_C(1) << place;
    return (struct operation){.kind = kind, .place = place, .places = places, .word = word, .target = target};
}

/* As a step of the running thread; in begin and end at once. */
static struct operation make(struct operation op)
{
    if (x.running == OUTSIDE) {
        apply(&op);
        return op;
    }
    const int thread = x.running;
    x.threads[thread].next = op;
    coroutine_leave();
    return x.threads[thread].next;
}

uint64_t model_load(const uint64_t *word)
{
    return make(at_word(MODEL_LOAD, word, word, NULL)).seen;
}

void model_store(uint64_t *word, uint64_t value)
{
    struct operation op = at_word(MODEL_STORE, word, word, word);
    op.value = value;
    make(op);
}

bool model_swap(uint64_t *word, uint64_t *expected, uint64_t desired)
{
    struct operation op = at_word(MODEL_SWAP, word, word, word);
    op.value = desired;
    op.expected = *expected;
    op = make(op);
    *expected = op.seen;
    return op.kind == MODEL_SWAP;
}

uint64_t model_add(uint64_t *word, uint64_t more)
{
    struct operation op = at_word(MODEL_ADD, word, word, word);
    op.value = more;
    return make(op).seen;
}

void model_touch(const void *where)
{
    make(at_word(MODEL_TOUCH, where, NULL, NULL));
}

void model_pause(void)
{
    if (x.running == OUTSIDE) return;
    struct thread *thread = &x.threads[x.running];
    const uint64_t window = thread->window;
    const bool waits = window && !thread->fresh;
    thread->window = 0;
    thread->fresh = false;
    if (waits) make((struct operation){.kind = MODEL_WAKE, .place = NONE, .places = window});
}

uint64_t model_choose(uint64_t n)
{
    if (x.running != OUTSIDE) x.threads[x.running].fresh = true;
    if (x.node_count == NODES && x.cursor == NODES) stop("livelock: more choices than MODEL_STEPS_MAX");
    if (x.cursor == x.node_count) {
        add_node()->count = n;
    } else {
        x.cursor++;
    }
    const struct node *node = &x.nodes[x.cursor - 1];
    if (node->turn || node->count != n) stop(UNREPEATABLE);
    tell((struct model_step){MODEL_CHOOSE, x.running, NONE, n, node->chosen});
    return node->chosen;
}

int model_thread(void)
{
    return x.running;
}

void model_check(bool holds, const char *message)
{
    if (!holds) stop(message);
}
