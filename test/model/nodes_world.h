/* SPDX-License-Identifier: MIT
   One key of one engine, and nodes that take leases of it: a world whose every next step can be listed.

       node --request--> mail --at any later step, or never--> engine --reply--> mail --the same--> node

   Time is a step too, in us; the engine's clock may be stepped against it, its state be lost or put back.  A world is
   plain memory without pointers: two are the same when their bytes are.  The engine's steps are micro_take,
   micro_lease_take and micro_lease_return; the nodes' are src/redis/client/local/lease.c, but for when to ask and when
   to return: that they do at any time.

   Every step that is listed can be done. */
#ifndef WEIR_TEST_NODES_WORLD_H
#define WEIR_TEST_NODES_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/client/local/lease.h"
#include "redis/micro/micro.h"

enum { NODES = 3, MAIL_MAX = 5, PROMISES = 2, CHOICES = 3, STEPS_LISTED = 96 };
#define NODES_ALL UINT64_MAX /* as many as there are */

enum step_kind {
    STEP_LATER,    /* the time moves on by amount */
    STEP_ASK,      /* who asks for amount permits and says what he has spent */
    STEP_RETURN,   /* who only gives back */
    STEP_GIVE_UP,  /* who waits no longer for his reply; the request may still arrive */
    STEP_ARRIVE,   /* mail number who is read by the engine */
    STEP_REPLY,    /* ... by its node */
    STEP_SPEND,    /* who spends amount */
    STEP_LOOK,     /* the same, but between looking at the clock and doing it he is stopped */
    STEP_WAKE,     /* ... until now */
    STEP_TAKE,     /* a call at the engine */
    STEP_WAIT,     /* a call at the engine that may start later */
    STEP_FORGET,   /* the key's time is over */
    STEP_RESTART,  /* the engine comes back empty */
    STEP_COPY,     /* a replica has all by now */
    STEP_FAILOVER, /* the replica takes over */
    STEP_CLOCK,    /* the engine's clock is stepped by the scene's clock_us */
    STEP_KINDS
};

struct step {
    enum step_kind kind;
    unsigned who;
    uint64_t amount;
};

struct scene_engine {
    void (*take)(const struct micro_plan *, struct micro_state *, struct micro_log[], const struct micro_ask *,
                 struct micro_answer *);
    void (*lease_take)(const struct micro_plan *, struct micro_state *, uint64_t, uint64_t, uint64_t,
                       struct micro_lease *);
    void (*lease_return)(const struct micro_plan *, struct micro_state *, uint64_t, uint64_t, uint64_t, uint64_t,
                         struct micro_lease *);
};

/* What a node could do wrong. */
enum node_mistake {
    NODE_RIGHT,
    NODE_COUNTS_FROM_REPLY,
    NODE_KEEPS_WHAT_IT_RETURNS,
    NODE_RETURNS_TWICE,
    NODE_RETURNS_WHAT_IT_KEEPS, /* and spends while the next is on its way */
    NODE_SPENDS_BEFORE_TOO_LONG /* what is left of the lease before, as long as that of the next */
};

struct nodes_scene {
    const char *name;
    unsigned nodes;
    uint64_t burst, permit, per; /* permits; ticks */
    uint64_t lifetime[NODES];    /* us, of each node */
    uint64_t later[CHOICES], want[CHOICES], cost[CHOICES], wait_us;
    int64_t clock_us;
    uint8_t times[STEP_KINDS]; /* how often each; of ASK, RETURN: by each node */
    int64_t worst;             /* ticks: what is let through at most beyond burst + rate * time */
    int planted;               /* a mistake of planted_nodes.h; 0: the real functions */
    enum node_mistake node_mistake;
    uint64_t engine_lifetime; /* planted: what the engine is told instead */
    bool walks;               /* at random, with all starts kept, instead of all orders */
};

struct mail {
    uint64_t used, reply, orphan; /* orphan: nobody waits for the reply */
    uint64_t node, want;
    struct engine_lease_return back;
    uint64_t id, permits;
};

struct node {
    struct engine_lease lease;
    uint64_t looked; /* permits that will be spent on waking */
    uint64_t asks, returns;
};

struct store {
    uint64_t known;
    struct micro_cell cell;
    uint64_t idle;
};

struct world {
    uint64_t now;
    uint64_t engine_ahead; /* its clock - now; may wrap */
    struct store engine, replica;
    uint64_t full; /* ticks in a bucket that knows the starts only */
    uint64_t promised_at[PROMISES], promised[PROMISES];
    struct node node[NODES];
    struct mail mail[MAIL_MAX];
    uint64_t left[STEP_KINDS];
    uint64_t disturbed; /* time passed, or something was lost */
};

/* Told each start: for a second check that keeps all of them. */
typedef void nodes_started(void *context, uint64_t at, uint64_t permits);

struct nodes_world {
    const struct nodes_scene *scene;
    struct scene_engine engine;
    struct micro_plan plan;
    int64_t worst; /* ticks that the bucket of starts was above the burst */
    nodes_started *started;
    void *context;
};

struct nodes_world nodes_model_of(const struct nodes_scene *);
void nodes_begin(const struct nodes_world *, struct world *);
unsigned nodes_steps(const struct nodes_world *, const struct world *, struct step[STEPS_LISTED]);
void nodes_do(struct nodes_world *, struct world *, const struct step *);

/* All that could be started now: what is in leases, then what the engine gives. */
void nodes_spend_all(struct nodes_world *, struct world *);

/* NULL, or what is wrong: permits that are nowhere, or that never come back. */
const char *nodes_wrong(const struct nodes_world *, const struct world *);

void nodes_say(const struct step *);

#endif
