/* SPDX-License-Identifier: MIT
   What each step of a world with nodes does, and which ones there are.

   See nodes_world.h. */
#include "nodes_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "planted_nodes.h"

enum { BEGIN = 1000, NS_PER_US = 1000 };

static const char *const names[STEP_KINDS] = {"later",   "ask",  "return",   "give up", "arrive", "reply",
                                              "spend",   "look", "wake",     "take",    "wait",   "forget",
                                              "restart", "copy", "failover", "clock"};

void nodes_say(const struct step *step)
{
    printf("  %s who=%u amount=%" PRId64 "\n", names[step->kind], step->who, (int64_t)step->amount);
}

struct nodes_world nodes_model_of(const struct nodes_scene *scene)
{
    struct nodes_world model = {
        .scene = scene, .engine = {micro_take, micro_lease_take, micro_lease_return}, .worst = INT64_MIN};
    if (scene->planted != PLANTED_NOTHING) model.engine = planted_nodes(scene->planted);
    model.plan.count = 1;
    model.plan.rule[0] = (struct micro_rule){.kind = MICRO_GCRA,
                                             .burst = scene->burst,
                                             .permit = scene->permit,
                                             .per = scene->per,
                                             .top = scene->burst * scene->permit,
                                             .debt = MICRO_MOST - scene->burst * scene->permit};
    return model;
}

void nodes_begin(const struct nodes_world *model, struct world *world)
{
    memset(world, 0, sizeof *world);
    world->now = BEGIN;
    for (int i = 0; i < STEP_KINDS; i++) world->left[i] = model->scene->times[i];
    for (unsigned i = 0; i < model->scene->nodes; i++) {
        world->node[i].asks = model->scene->times[STEP_ASK];
        world->node[i].returns = model->scene->times[STEP_RETURN];
    }
}

/* ---- the engine ---- */

static uint64_t engine_now(const struct world *world)
{
    return world->now + world->engine_ahead;
}

static struct micro_state loaded(const struct store *store)
{
    struct micro_state state = {0};
    state.count = store->known != 0;
    state.cell[0] = store->cell;
    return state;
}

static void save(struct store *store, const struct micro_state *state, uint64_t idle)
{
    memset(store, 0, sizeof *store);
    store->known = 1;
    store->cell = state->cell[0];
    store->idle = idle;
}

static void start(struct nodes_world *model, struct world *world, uint64_t permits)
{
    const struct micro_rule *rule = &model->plan.rule[0];
    world->full += permits * rule->permit;
    const int64_t excess = (int64_t)world->full - (int64_t)rule->top;
    if (excess > model->worst) model->worst = excess;
    if (model->started != NULL) model->started(model->context, world->now, permits);
}

static struct micro_answer ask_engine(const struct nodes_world *model, const struct world *world,
                                      struct micro_state *state, uint64_t cost, uint64_t wait)
{
    const struct micro_ask ask = {.now = engine_now(world), .cost = {cost}, .wait = wait};
    struct micro_answer answer;
    *state = loaded(&world->engine);
    model->engine.take(&model->plan, state, NULL, &ask, &answer);
    return answer;
}

/* The most that would pass. */
static uint64_t all_of(const struct nodes_world *model, const struct world *world)
{
    struct micro_state state;
    const struct micro_answer answer = ask_engine(model, world, &state, 1, 0);
    return answer.verdict == WEIR_ALLOW ? 1 + answer.remaining : 0;
}

static void take(struct nodes_world *model, struct world *world, uint64_t cost)
{
    struct micro_state state;
    if (cost == NODES_ALL) cost = all_of(model, world);
    if (cost == 0) return;
    const struct micro_answer answer = ask_engine(model, world, &state, cost, 0);
    if (answer.verdict != WEIR_ALLOW) return;
    save(&world->engine, &state, answer.idle);
    start(model, world, cost);
}

static void take_later(struct nodes_world *model, struct world *world, uint64_t cost)
{
    struct micro_state state;
    const struct micro_answer answer = ask_engine(model, world, &state, cost, model->scene->wait_us);
    if (answer.verdict != WEIR_ALLOW) return;
    save(&world->engine, &state, answer.idle);
    if (answer.delay == 0) {
        start(model, world, cost);
        return;
    }
    for (int i = 0; i < PROMISES; i++) {
        if (world->promised[i] != 0) continue;
        world->promised_at[i] = world->now + answer.delay;
        world->promised[i] = cost;
        return;
    }
}

static void arrive(struct nodes_world *model, struct world *world, struct mail *mail)
{
    struct micro_state state = loaded(&world->engine);
    struct micro_lease lease = {0};
    const struct nodes_scene *scene = model->scene;
    const uint64_t now = engine_now(world);
    bool changed = false;
    for (int i = scene->node_mistake == NODE_RETURNS_TWICE ? -1 : 0; i < 1 && mail->back.permits > 0; i++) {
        model->engine.lease_return(&model->plan, &state, now, mail->back.id, mail->back.permits, mail->back.unused,
                                   &lease);
        changed |= lease.changed;
    }
    const uint64_t lifetime =
        scene->engine_lifetime != 0 ? scene->engine_lifetime : scene->lifetime[mail->node % NODES];
    if (mail->want > 0) {
        const uint64_t idle = lease.idle;
        model->engine.lease_take(&model->plan, &state, now, mail->want, lifetime, &lease);
        lease.idle = most(idle, lease.idle);
        changed |= lease.changed;
    }
    if (changed) save(&world->engine, &state, lease.idle);
    const struct mail reply = {1, 1, 0, mail->node, mail->want, {0}, lease.id, lease.permits};
    const bool awaited = mail->want > 0 && mail->orphan == 0;
    memset(mail, 0, sizeof *mail);
    if (awaited) *mail = reply;
}

/* ---- the nodes ---- */

static uint64_t lifetime_ns(const struct nodes_world *model, unsigned who)
{
    return model->scene->lifetime[who] * NS_PER_US;
}

/* What is over leaves no trace: worlds that differ by it are the same. */
static void tidy(struct node *node)
{
    struct engine_lease *const lease = &node->lease;
    const struct engine_lease all = *lease;
    memset(lease, 0, sizeof *lease);
    if (all.before.permits > 0) lease->before = all.before;
    if (all.now.permits > 0) lease->now = all.now;
    if (!all.waiting) return;
    lease->waiting = true;
    lease->asked_ns = all.asked_ns;
}

static void post(struct nodes_world *model, struct world *world, unsigned who, uint64_t want)
{
    struct node *node = &world->node[who];
    struct mail *mail = world->mail;
    while (mail->used != 0) mail++;
    struct engine_lease *const lease = &node->lease, before = node->lease;
    const uint64_t now_ns = world->now * NS_PER_US, life_ns = lifetime_ns(model, who);
    memset(mail, 0, sizeof *mail);
    mail->back = want > 0 ? engine_lease_ask(lease, life_ns, now_ns, want) : engine_lease_end(lease, life_ns, now_ns);
    mail->used = want > 0 || mail->back.permits > 0;
    mail->node = who;
    mail->want = want;
    if (model->scene->node_mistake == NODE_RETURNS_WHAT_IT_KEEPS && mail->back.id == lease->before.id)
        mail->back.permits += lease->before.left;
    tidy(node);
    if (model->scene->node_mistake == NODE_KEEPS_WHAT_IT_RETURNS && want == 0) *lease = before;
}

static void get(struct nodes_world *model, struct world *world, struct mail *mail)
{
    struct node *node = &world->node[mail->node];
    if (model->scene->node_mistake == NODE_COUNTS_FROM_REPLY) node->lease.asked_ns = world->now * NS_PER_US;
    engine_lease_granted(&node->lease, lifetime_ns(model, (unsigned)mail->node), mail->id, mail->permits);
    tidy(node);
    memset(mail, 0, sizeof *mail);
}

static void give_up(struct nodes_world *model, struct world *world, unsigned who)
{
    engine_lease_lost(&world->node[who].lease, lifetime_ns(model, who));
    tidy(&world->node[who]);
    for (int i = 0; i < MAIL_MAX; i++) {
        struct mail *mail = &world->mail[i];
        if (mail->used == 0 || mail->node != who || mail->want == 0) continue;
        if (mail->reply != 0) memset(mail, 0, sizeof *mail);
        else mail->orphan = 1;
    }
}

static bool spend(struct nodes_world *model, struct world *world, unsigned who, uint64_t permits)
{
    struct engine_lease *const lease = &world->node[who].lease;
    if (model->scene->node_mistake == NODE_SPENDS_BEFORE_TOO_LONG) lease->before.spend_before_ns = UINT64_MAX;
    const bool spent = engine_lease_spend(lease, world->now * NS_PER_US, permits);
    lease->spent = 0;
    return spent;
}

/* ---- time ---- */

static void drain(const struct nodes_world *model, struct world *world, uint64_t us)
{
    world->full = subtract_to_zero(world->full, us * model->plan.rule[0].per);
    world->now += us;
}

static void later(struct nodes_world *model, struct world *world, uint64_t us)
{
    const uint64_t until = world->now + us;
    for (;;) {
        int next = -1;
        for (int i = 0; i < PROMISES; i++) {
            if (world->promised[i] == 0 || world->promised_at[i] > until) continue;
            if (next < 0 || world->promised_at[i] < world->promised_at[next]) next = i;
        }
        if (next < 0) break;
        drain(model, world, world->promised_at[next] - world->now);
        start(model, world, world->promised[next]);
        world->promised[next] = world->promised_at[next] = 0;
    }
    drain(model, world, until - world->now);
}

void nodes_do(struct nodes_world *model, struct world *world, const struct step *step)
{
    struct node *node = &world->node[step->who % NODES];
    struct mail *mail = &world->mail[step->who % MAIL_MAX];
    if (step->kind != STEP_ASK && step->kind != STEP_RETURN && model->scene->times[step->kind] > 0)
        world->left[step->kind]--;
    switch (step->kind) {
    case STEP_LATER:
        later(model, world, step->amount);
        break;
    case STEP_ASK:
        node->asks--;
        post(model, world, step->who, step->amount);
        break;
    case STEP_RETURN:
        node->returns--;
        post(model, world, step->who, 0);
        break;
    case STEP_GIVE_UP:
        give_up(model, world, step->who);
        break;
    case STEP_ARRIVE:
        arrive(model, world, mail);
        break;
    case STEP_REPLY:
        get(model, world, mail);
        break;
    case STEP_SPEND:
        if (spend(model, world, step->who, step->amount)) start(model, world, step->amount);
        break;
    case STEP_LOOK:
        if (spend(model, world, step->who, step->amount)) node->looked += step->amount;
        break;
    case STEP_WAKE:
        start(model, world, node->looked);
        node->looked = 0;
        break;
    case STEP_TAKE:
        take(model, world, step->amount);
        break;
    case STEP_WAIT:
        take_later(model, world, step->amount);
        break;
    case STEP_FORGET:
    case STEP_RESTART:
        memset(&world->engine, 0, sizeof world->engine);
        break;
    case STEP_COPY:
        world->replica = world->engine;
        break;
    case STEP_FAILOVER:
        world->engine = world->replica;
        break;
    case STEP_CLOCK:
        world->engine_ahead += (uint64_t)model->scene->clock_us;
        break;
    case STEP_KINDS:
        break;
    }
    if (step->kind == STEP_LATER || step->kind == STEP_GIVE_UP || step->kind >= STEP_WAIT) world->disturbed = 1;
}

/* ---- which steps there are ---- */

struct list {
    struct step *step;
    unsigned count;
};

static void add(struct list *list, enum step_kind kind, unsigned who, uint64_t amount)
{
    if (list->count < STEPS_LISTED) list->step[list->count++] = (struct step){kind, who, amount};
}

static uint64_t live_of(const struct nodes_world *model, const struct world *world, unsigned who)
{
    struct engine_lease lease = world->node[who].lease;
    if (model->scene->node_mistake == NODE_SPENDS_BEFORE_TOO_LONG) lease.before.spend_before_ns = UINT64_MAX;
    return engine_lease_left(&lease, world->now * NS_PER_US);
}

static void list_node(const struct nodes_world *model, const struct world *world, unsigned who, struct list *list)
{
    const struct nodes_scene *scene = model->scene;
    const struct node *node = &world->node[who];
    const bool room = world->mail[MAIL_MAX - 1].used == 0; /* the first that is free is taken, so the last is last */
    for (int i = 0; i < CHOICES && room && node->asks > 0 && !node->lease.waiting; i++) {
        if (scene->want[i] > 0) add(list, STEP_ASK, who, scene->want[i]);
    }
    if (room && node->returns > 0 && engine_lease_holds(&node->lease)) add(list, STEP_RETURN, who, 0);
    if (node->lease.waiting && world->left[STEP_GIVE_UP] > 0) add(list, STEP_GIVE_UP, who, 0);
    const uint64_t live = live_of(model, world, who);
    if (live > 0) add(list, STEP_SPEND, who, live);
    if (live > 1) add(list, STEP_SPEND, who, 1);
    if (live > 0 && world->left[STEP_LOOK] > 0 && node->looked == 0) add(list, STEP_LOOK, who, 1);
    if (node->looked > 0) add(list, STEP_WAKE, who, 0);
}

static void list_engine(const struct nodes_world *model, const struct world *world, struct list *list)
{
    const struct nodes_scene *scene = model->scene;
    const uint64_t *left = world->left;
    bool free_promise = false;
    for (int i = 0; i < PROMISES; i++) free_promise |= world->promised[i] == 0;
    for (int i = 0; i < CHOICES; i++) {
        if (left[STEP_LATER] > 0 && scene->later[i] > 0) add(list, STEP_LATER, 0, scene->later[i]);
        if (left[STEP_TAKE] > 0 && scene->cost[i] > 0) add(list, STEP_TAKE, 0, scene->cost[i]);
        if (left[STEP_WAIT] > 0 && scene->cost[i] > 0 && scene->cost[i] <= scene->burst && free_promise)
            add(list, STEP_WAIT, 0, scene->cost[i]);
    }
    if (left[STEP_FORGET] > 0 && world->engine.known != 0 && engine_now(world) >= world->engine.idle)
        add(list, STEP_FORGET, 0, 0);
    for (int kind = STEP_RESTART; kind <= STEP_CLOCK; kind++) {
        if (left[kind] > 0) add(list, (enum step_kind)kind, 0, 0);
    }
}

unsigned nodes_steps(const struct nodes_world *model, const struct world *world, struct step steps[STEPS_LISTED])
{
    struct list list = {steps, 0};
    for (unsigned i = 0; i < model->scene->nodes; i++) list_node(model, world, i, &list);
    for (unsigned i = 0; i < MAIL_MAX; i++) {
        if (world->mail[i].used != 0) add(&list, world->mail[i].reply != 0 ? STEP_REPLY : STEP_ARRIVE, i, 0);
    }
    list_engine(model, world, &list);
    return list.count;
}

/* ---- what must hold ---- */

void nodes_spend_all(struct nodes_world *model, struct world *world)
{
    for (unsigned i = 0; i < model->scene->nodes; i++) {
        struct node *node = &world->node[i];
        const uint64_t left = live_of(model, world, i);
        if (left > 0 && spend(model, world, i, left)) start(model, world, left);
        if (node->looked > 0) start(model, world, node->looked);
        node->looked = 0;
    }
    take(model, world, NODES_ALL);
}

/* While no time has passed and nothing was lost, each permit is started, with a node, in the mail, or still there. */
static bool conserved(const struct nodes_world *model, const struct world *world)
{
    const uint64_t permit = model->plan.rule[0].permit;
    uint64_t sum = world->full;
    for (int i = 0; i < NODES; i++) {
        const struct node *const node = &world->node[i];
        sum += (node->lease.before.left + node->lease.now.left + node->looked) * permit;
    }
    for (int i = 0; i < MAIL_MAX; i++) sum += (world->mail[i].permits + world->mail[i].back.unused) * permit;
    return sum + all_of(model, world) * permit == model->plan.rule[0].top;
}

/* Whatever happened: with nothing taken for two lifetimes and the time that a burst needs, all is there again. */
static bool comes_back(const struct nodes_world *model, const struct world *world)
{
    const struct nodes_scene *scene = model->scene;
    const struct micro_rule *rule = &model->plan.rule[0];
    uint64_t longest = 0, above = scene->wait_us;
    for (unsigned i = 0; i < scene->nodes; i++) longest = most(longest, scene->lifetime[i]);
    if (scene->clock_us < 0) above += (uint64_t)-scene->clock_us;
    struct world after = *world;
    after.now += 2 * longest + rule->top / rule->per + 1 + above;
    struct micro_state state;
    return ask_engine(model, &after, &state, scene->burst, 0).verdict == WEIR_ALLOW;
}

const char *nodes_wrong(const struct nodes_world *model, const struct world *world)
{
    if (world->disturbed == 0 && !conserved(model, world)) return "a permit is nowhere, or in two places";
    if (!comes_back(model, world)) return "permits never come back";
    return NULL;
}
