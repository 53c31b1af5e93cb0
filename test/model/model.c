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
#include "explore.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static const char UNREPEATABLE[] = "the execution does not repeat: does begin reset everything?";

static struct exploration x;

static bool lists_reached;

/* One step in the sources may be weaker than it says: WEIR_MODEL_WEAKEN=FILE:LINE=ORDER.  What else stands on that line
   and is relaxed stays so. */
static const char *weakened;
static enum model_order weaker;

/* [with WEIR_MODEL_SITES set] Which steps of the sources this scene made. */
static const char *reached[MODEL_SITES_MAX];
static int reached_count;

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

/* Walks by chance: each with its own share of turns that are taken away, and of loads that are late. */

static uint64_t draw(uint64_t below)
{
    x.random ^= x.random << 13;
    x.random ^= x.random >> 7;
    x.random ^= x.random << 17;
    return (x.random >> 16) % below;
}

static int draw_thread(unsigned open)
{
    if (x.last != NONE && (open & bit(x.last)) && draw(16) < x.stays) return x.last;
    for (;;) {
        const int thread = (int)draw(THREADS);
        if (open & bit(thread)) return thread;
    }
}

static void begin_walk(void)
{
    x.node_count = 0;
    x.first_new = 0;
    x.stays = (unsigned)draw(16);
    x.newest = (unsigned)draw(16);
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

static uint64_t choose(uint64_t n, int thread);

/* [of weak orders] Which write of its word a load finds: the newest, and in other executions each one that is not too
   old.  A swap that could go through may also find an older one that it does not hope for, but none twice.  A thread
   that finds again what it found in this word last is late only once. */
static void find(struct operation *op, int thread)
{
    const bool swap = op->kind == MODEL_SWAP;
    const int newest = memory_newest(op->place), oldest = memory_oldest(thread, op->place, op->order);
    int found[MODEL_STEPS_MAX], count = 0;
    const int again = (int)x.threads[thread].versions[op->place] - 1;
    const bool may_be_late = x.scenario->late_max == 0 || x.late < x.scenario->late_max;
    for (int i = newest; i >= oldest && (op->kind == MODEL_LOAD || swap); i--) {
        if (i != newest && i != again && !may_be_late) continue;
        const bool hoped = swap && memory_value(op->place, i) == op->expected;
        if (i == newest || !hoped) found[count++] = i;
    }
    op->found = count > 1 ? found[choose((uint64_t)count, thread)] : newest;
    op->seen = memory_value(op->place, op->found);
    x.late += op->found != newest && op->found != again;
}

static void apply_weakly(struct operation *op, int thread)
{
    if (op->kind == MODEL_WAKE) {
        for (int i = 0; i < x.place_count; i++)
            if (op->places >> i & 1) memory_reach(thread, i);
        return;
    }
    if (op->kind == MODEL_FENCE) memory_fence(thread, op->order);
    if (op->kind == MODEL_TOUCH) {
        const bool ordered = memory_oldest(thread, op->place, MODEL_RELAXED) == memory_newest(op->place);
        if (!ordered) record_failure("a data race: nothing orders this touch behind the last one");
        memory_store(thread, op->place, 0, MODEL_RELAXED);
    }
    if (op->word == NULL) return;
    find(op, thread);
    if (op->kind == MODEL_SWAP && op->seen != op->expected) {
        op->kind = MODEL_MISS;
        op->value = op->expected;
    }
    if (op->kind == MODEL_ADD) op->value += op->seen;
    if (op->kind == MODEL_LOAD || op->kind == MODEL_MISS) memory_load(thread, op->place, op->found, op->order);
    else if (op->kind == MODEL_STORE) memory_store(thread, op->place, op->value, op->order);
    else memory_swap(thread, op->place, op->value, op->order);
    if (op->kind == MODEL_STORE || op->kind == MODEL_SWAP || op->kind == MODEL_ADD) *op->target = op->value;
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
    if (op->kind == MODEL_WAKE || op->kind == MODEL_FENCE) return;
    struct place *place = &x.places[op->place];
    place->version += wrote;
    const uint64_t version = x.scenario->weak && op->word ? (uint64_t)op->found + 1 : place->version;
    thread->fresh |= wrote || thread->versions[op->place] != version;
    thread->versions[op->place] = version;
    thread->window |= UINT64_C(1) << op->place;
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
    const bool chose = x.scenario->weak && node_number + 1 == x.first_new; /* another write, perhaps */
    if (node_number < x.first_new && !same && !chose) record_failure(UNREPEATABLE);
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

    x.asleep = explore_reduces(&x) ? still_asleep(node, op) : 0;
    races_record(&x, thread, op, wrote, node_number);
    x.preempted = node->preempted + (x.last != NONE && x.last != thread && (node->enabled & bit(x.last)));
    x.last = thread;
    if (x.scenario->weak) apply_weakly(op, thread);
    else apply(op);
    const bool did = wrote && op->kind != MODEL_MISS;
    learn(&x.threads[thread], op, did);
    const int late = x.scenario->weak && op->word != NULL && !did ? memory_newest(op->place) - op->found : 0;
    remember_step(node_number, (struct model_step){op->kind, thread, op->place, op->seen, op->value, late, op->site});
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
    if (x.walks) node->chosen = (uint64_t)draw_thread(open);
    node->wanted = explore_reduces(&x) ? bit((int)node->chosen) : open;
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
    memory_forget();
    x.cursor = 0;
    x.place_count = 0;
    x.event_count = 0;
    x.trace_count = 0;
    x.running = OUTSIDE;
    x.last = NONE;
    x.preempted = 0;
    x.late = 0;
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

static void read_weakened(void)
{
    static char site[MODEL_MESSAGE_MAX];
    static const char *const names[] = {"relaxed", "acquire", "release", "both", "full"};
    const char *said = getenv("WEIR_MODEL_WEAKEN"), *order = said != NULL ? strchr(said, '=') : NULL;
    weakened = NULL;
    lists_reached = getenv("WEIR_MODEL_SITES") != NULL;
    if (order == NULL || (size_t)(order - said) >= sizeof site) return;
    memcpy(site, said, (size_t)(order - said));
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(order + 1, names[i]) == 0) weaker = (enum model_order)i;
    weakened = site;
}

struct model_result model_run(const struct model_scenario *scenario)
{
    bool more = true;
    read_weakened();
    reached_count = 0;
    static struct model_scenario copy;
    copy = *scenario;
    const char *bounds = getenv("WEIR_MODEL_BOUNDS"), *walks = getenv("WEIR_MODEL_WALKS");
    if (getenv("WEIR_MODEL_WEAK") != NULL) copy.weak = true;
    if (bounds != NULL) sscanf(bounds, "%d,%d", &copy.preemptions_max, &copy.late_max);
    x.walks = walks != NULL;
    x.random = walks != NULL ? strtoull(walks, NULL, 10) * UINT64_C(0x9e3779b97f4a7c15) + 1 : 0;
    copy.plain = copy.plain || x.walks;
    x.scenario = &copy;
    x.result = (struct model_result){.name = scenario->name};
    x.node_count = 0;
    x.first_new = 0;
    while (more && !x.result.failed && !(scenario->steps_max && x.result.steps >= scenario->steps_max)) {
        if (x.walks) begin_walk();
        execute();
        more = x.walks || go_back();
    }
    for (int i = 0; i < reached_count; i++) fprintf(stderr, "%s\t%s\n", scenario->name, reached[i]);
    x.result.complete = !more && !x.result.failed;
    if (x.result.failed) {
        x.result.trace = x.trace;
        x.result.trace_count = x.trace_count;
    }
    return x.result;
}

/* What begin, threads and end call. */

/* Its address is a place: what full fences and swaps tell each other. */
static const uint64_t full_word;

static void reach(const char *site)
{
    int i = 0;
    while (i < reached_count && reached[i] != site) i++;
    if (i == reached_count && i < MODEL_SITES_MAX) reached[reached_count++] = site;
}

static enum model_order order_at(int order, const char *site)
{
    if (lists_reached) reach(site);
    if (weakened == NULL || order == MODEL_RELAXED) return (enum model_order)order;
    const size_t size = strlen(site), wanted = strlen(weakened);
    return size >= wanted && strcmp(site + size - wanted, weakened) == 0 ? weaker : (enum model_order)order;
}

static struct operation at_word(enum model_kind kind, const void *address, const uint64_t *word, uint64_t *target,
                                enum model_order order, const char *site)
{
    const int place = x.running == OUTSIDE ? NONE : place_of(address);
    uint64_t places = place == NONE ? 0 : UINT64_C(1) << place;
    if (place != NONE && x.scenario->weak && order == MODEL_FULL) places |= UINT64_C(1) << place_of(&full_word);
    if (place != NONE && x.scenario->weak) memory_begin(place, word != NULL ? *word : 0);
    return (struct operation){
        .kind = kind, .place = place, .places = places, .word = word, .target = target, .order = order, .site = site};
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

uint64_t model_load(const uint64_t *word, int order, const char *site)
{
    return make(at_word(MODEL_LOAD, word, word, NULL, order_at(order, site), site)).seen;
}

void model_store(uint64_t *word, uint64_t value, int order, const char *site)
{
    struct operation op = at_word(MODEL_STORE, word, word, word, order_at(order, site), site);
    op.value = value;
    make(op);
}

bool model_swap(uint64_t *word, uint64_t *expected, uint64_t desired, int order, const char *site)
{
    struct operation op = at_word(MODEL_SWAP, word, word, word, order_at(order, site), site);
    op.value = desired;
    op.expected = *expected;
    op = make(op);
    *expected = op.seen;
    return op.kind == MODEL_SWAP;
}

uint64_t model_add(uint64_t *word, uint64_t more, int order, const char *site)
{
    struct operation op = at_word(MODEL_ADD, word, word, word, order_at(order, site), site);
    op.value = more;
    return make(op).seen;
}

/* One that is not full concerns its own thread only. */
void model_fence(int order, const char *site)
{
    const enum model_order now = order_at(order, site);
    if (x.running == OUTSIDE || !x.scenario->weak) return;
    if (now == MODEL_FULL) make(at_word(MODEL_FENCE, &full_word, NULL, NULL, now, site));
    else memory_fence(x.running, now);
}

void model_touch(const void *where)
{
    make(at_word(MODEL_TOUCH, where, NULL, NULL, MODEL_RELAXED, NULL));
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

static uint64_t choose(uint64_t n, int thread)
{
    if (x.node_count == NODES && x.cursor == NODES) {
        record_failure("livelock: more choices than MODEL_STEPS_MAX");
        return 0;
    }
    if (x.cursor == x.node_count) {
        struct node *node = add_node();
        node->count = n;
        if (x.walks && draw(16) >= x.newest) node->chosen = draw(n);
    } else {
        x.cursor++;
    }
    const struct node *node = &x.nodes[x.cursor - 1];
    if (node->turn || node->count != n) record_failure(UNREPEATABLE);
    tell((struct model_step){.kind = MODEL_CHOOSE, .thread = thread, .place = NONE, .seen = n, .value = node->chosen});
    return node->turn ? 0 : node->chosen;
}

uint64_t model_choose(uint64_t n)
{
    if (x.running != OUTSIDE) x.threads[x.running].fresh = true;
    const uint64_t chosen = choose(n, x.running);
    if (x.result.failed) stop(UNREPEATABLE);
    return chosen;
}

int model_thread(void)
{
    return x.running;
}

bool model_is_weak(void)
{
    return x.scenario->weak;
}

void model_check(bool holds, const char *message)
{
    if (!holds) stop(message);
}
