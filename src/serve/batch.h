/* SPDX-License-Identifier: MIT
   One batch of a worker's loop: all that arrived is read into a queue, one reading of the clock serves all of
   it, all decisions are made together, and each session's answers leave in one piece.

       bytes -> handle_bytes -> resp/commands.c / http/routes.c -> batch_take ... batch_end -> answers -> send

   See batch.c, batch_limit.c and decide.c.  No socket: the owner of the bytes calls handle_bytes for each session that
   has some, then batch_end. */
#ifndef WEIR_SERVE_BATCH_H
#define WEIR_SERVE_BATCH_H

#include <weir/redis.h>

#include "core/decide.h"
#include "format/bytes.h"
#include "serve/costs.h"
#include "serve/policy/policy.h"
#include "serve/receipt/secrets.h"
#include "serve/service.h"

enum {
    BATCH_ASKS = 512,  /* decided together at most */
    BATCH_EACH = 64,   /* of them with a cost for each limit, or with several limits */
    BATCH_REPLY = 512, /* bytes that an answer without a receipt takes at most; others say how many they need */
    TENANT_LEVELS = 2, /* of a tenant's call: its own text and its parent's */
    SESSION_NAME_MAX = 64
};

enum session_protocol { SESSION_RESP, SESSION_HTTP };

/* What is remembered between two requests of one client. */
struct session {
    enum session_protocol protocol;
    unsigned resp_version; /* 2 or 3 */
    bool trusted;          /* has given a password; over HTTP each request gives it again */
    bool admin;            /* has given that of an admin (RESP) */
    bool local;            /* came over a Unix socket: Host: is not looked at */
    bool remote;           /* came by an address that others than this machine reach */
    unsigned parked;       /* answers that wait for an engine: nothing of it is read meanwhile */
    bool closing;          /* what comes is not read any more; close when all answers are out */
    bool waits;            /* has whole requests left, behind what others ask: see handle_bytes */
    uint64_t id;
    char name[SESSION_NAME_MAX + 1];
    void *connection; /* the owner of the socket */
};

struct batch;
struct call;

/* Writes the answer to one decision. */
typedef void (*batch_answer)(struct batch *batch, const struct call *call, const weir_decision *decision);

/* Costs of its own for each limit, and the ends of their slots; of a tenant's call the decisions, its own and its
   parent's. */
struct call_each {
    uint64_t cost[WEIR_LIMITS_MAX], end[WEIR_LIMITS_MAX];
    weir_decision of[TENANT_LEVELS];
};

/* What is asked.  Slices live until the batch's end.  Two cache lines: it is filled and copied for each request. */
struct call {
    struct session *session; /* stays where it is until the batch's end */
    batch_answer answer;
    struct policy_verdict under;
    unsigned number; /* of the counters */
    bool named, peek, charge;
    bool shadow_denied; /* set when answered: would have been refused, but is only counted; the decision says allow */
    struct slice limit; /* its name or text, as it was asked */
    struct slice key;   /* as it is in the table */
    uint64_t cost;
    const struct call_each *each;            /* NULL: the same cost for all limits, just one limit, and no tenant */
    uint64_t receipt;                        /* set when answered: its number */
    const struct policy_limit *policy_limit; /* named: which, from batch_limit to batch_key */
    uint64_t detail[2];                      /* the protocol's own */
};

/* A question without a limit and a key yet.  Field by field: what clears the whole at once takes long to begin. */
static inline struct call call_start(struct session *session, batch_answer answer)
{
    struct call call;
    call.session = session;
    call.answer = answer;
    call.under = (struct policy_verdict){NULL, {NULL}, false, NULL, false, 0};
    call.number = 0;
    call.named = call.peek = call.charge = call.shadow_denied = false;
    call.limit = call.key = (struct slice){NULL, 0};
    call.cost = call.receipt = call.detail[0] = call.detail[1] = 0;
    call.each = NULL;
    call.policy_limit = NULL;
    return call;
}

/* A text of a limit and what it means, kept by a worker (see plans.c). */
struct plans;

/* A worker's way to the engine (see decide.c), and what waits for it (see park.c). */
struct asker;
struct park_group;

/* Where in `out` answers to a session begin; they end where the next portion begins. */
struct batch_portion {
    struct session *session;
    size_t begin;
};

struct batch {
    struct service *service;
    struct stats *stats;
    struct policy *policy; /* as of this batch; NULL: no names */
    struct access access;  /* as of this batch */
    uint64_t policy_serial;
    const struct policy_limit *last_limit; /* that a name was looked up for, and the name's size */
    size_t last_size;
    struct plans *plans;
    struct asker *asker;                 /* NULL: the policy has no engine */
    struct park_group *parked, *parking; /* the oldest first; the one that is being filled */
    bool answering;                      /* those that were parked: what is written goes out */
    weir_table *slots;                   /* whose clock says how old receipts are */
    uint64_t now_ns;                     /* read once, when the batch begins */
    uint64_t decisions;                  /* since then */
    uint64_t receipts;                   /* the number of the last, so that no two are the same */
    uint64_t work, work_most;            /* done so far, in questions to a slot, about; by one session at a time */

    weir_ask ask[BATCH_ASKS];
    uint64_t hash[BATCH_ASKS]; /* of their keys, as weir_table_prefetch has it */
    struct call call[BATCH_ASKS];
    unsigned count;
    struct call_each each[BATCH_EACH];
    unsigned each_count;

    struct bytes scratch; /* keys that are made, decoded fields; emptied when the batch ends */
    struct bytes out;     /* answers that are not sent yet: portion by portion, each of one session */
    struct batch_portion portion[BATCH_ASKS];
    unsigned portions;

    /* Takes what is for the session; sets closing where it cannot be sent.  No bytes: closing has just been set.  Bytes
       are borrowed for the call. */
    void (*send)(void *sender, struct session *session, struct slice bytes);
    void *sender;

    /* Its last parked answer is being written: it may be read again.  NULL: nobody wants to know. */
    void (*resume)(void *sender, struct session *session);
};

/* 0, or WEIR_ENOMEM. */
int batch_open(struct batch *batch, struct service *service, struct stats *stats,
               void (*send)(void *, struct session *, struct slice), void *sender);
void batch_close(struct batch *batch);

/* Reads the clock and takes the present policy. */
void batch_begin(struct batch *batch);

/* A command or request costs as much as so many questions to a slot: one that is no question, and one whose answer is
   long, or that changes what all are asked by. */
enum { BATCH_OTHER_WORK = 4, BATCH_LONG_WORK = 512 };
static inline void batch_works(struct batch *batch, uint64_t questions)
{
    batch->work += questions;
}

/* The same of a question under this plan. */
void batch_works_under(struct batch *batch, const weir_plan *plan);

/* Decides what is queued, sends what is left, empties scratch.  Latency is counted for all of it. */
void batch_end(struct batch *batch);

/* What is written is sent; and for park.c: counts and answers one decision of the queue. */
void batch_flush(struct batch *batch);
void batch_answer_one(struct batch *batch, unsigned number);

/* Takes the policy that is present now: for a session that has just defined a name, after batch_settle_queue. */
void batch_look_at_policy(struct batch *batch);

/* Has this session shown who it is, or need it not?  Until it has, its bounds are tighter: see handle.c, conn.c. */
static inline bool batch_knows(const struct batch *batch, const struct session *session)
{
    return session->trusted || access_is_open(&batch->access);
}

/* May it change limits, and have keys forgotten?  Without a password for that it may over a Unix socket, and where no
   password is asked for and only this machine can ask. */
static inline bool batch_may_change(const struct batch *batch, const struct session *session, bool admin)
{
    if (session->local || admin) return true;
    return !access_has_admin(&batch->access) && access_is_open(&batch->access) && !session->remote;
}

/* Before each request: there is room in scratch for it, half a MiB at least. */
void batch_next_request(struct batch *batch);

/* ---- for resp/commands.c and http/routes.c ---- */

/* All that is queued is decided and answered, so that what follows comes after it: call it before anything but
   batch_take writes or touches the tables or the policy. */
void batch_settle_queue(struct batch *batch);

/* An empty question where it will be queued, so that it need not be copied; for the next batch_take. */
static inline struct call *batch_call(struct batch *batch, struct session *session, batch_answer answer)
{
    struct call *call = &batch->call[batch->count < BATCH_ASKS ? batch->count : 0];
    if (batch->count == BATCH_ASKS) batch_settle_queue(batch);
    *call = call_start(session, answer);
    return call;
}

/* Queues a question; it is answered by call->answer in its place.  each: a cost for each limit of the plan, copied;
   NULL for call->cost. */
void batch_take(struct batch *batch, const struct call *call, const uint64_t each[]);

/* [behind batch_key] What these costs are for each limit of the plan; false: see error. */
bool batch_costs(const struct call *call, const struct costs *costs, uint64_t each[WEIR_LIMITS_MAX], weir_error *error);

/* Where to write to this session: there is room for so many bytes (BATCH_REPLY is usual).  What was written before may
   be sent by this.  A session that writes more than there is room for is closed. */
struct bytes *batch_reply_roomy(struct batch *batch, struct session *session, size_t room);
static inline struct bytes *batch_reply(struct batch *batch, struct session *session, size_t room)
{
    const bool last = batch->portions != 0 && batch->portion[batch->portions - 1].session == session;
    if (last && batch->out.capacity - batch->out.size >= room) return &batch->out;
    return batch_reply_roomy(batch, session, room);
}

/* What a limit means that comes by name or text: fills under, number, named, limit.  A name begins with a letter, a
   text does not, but for "unlimited" and "none".  false: see error; *code is "NOLIMIT", "BADLIMIT" or "NOPERM" (RESP's
   way of saying which).  What is queued may be settled by this; what it fills stays until batch_end or the next
   batch_limit. */
bool batch_limit(struct batch *batch, struct slice name_or_text, struct call *call, const char **code,
                 weir_error *error);

/* The key as it is in the table, in scratch where it must be made: after batch_limit.  false: *problem says why. */
bool batch_key(struct batch *batch, struct slice key, struct call *call, char problem[200]);
bool batch_key_of_fields(struct batch *batch, policy_field field, void *request, struct call *call, char problem[200]);

/* ---- decide.c: a table or the engine ---- */

/* Makes the worker's way to the engine of the policy that is present now. */
void decide_follow(struct batch *batch);
void decide_close(struct batch *batch);
/* Once a second: what the way to the engine needs also when nobody asks. */
void decide_tick(struct batch *batch);

/* While questions are parked: what to watch, and the ns until decide_go_on is due anyway; else WEIR_FOREVER. */
uint64_t decide_events(struct batch *batch, weir_engine_watch *watch, size_t most_of_them, size_t *count);

/* [in a batch] Goes on with the engine, and answers what was parked, as far as it is answered. */
void decide_go_on(struct batch *batch);

/* What the engine says to the question of this number. */
void decide_answered(struct batch *batch, const weir_engine_ask *ask, unsigned number);

/* The key of the question that is queued, as the table or the engine has it. */
void decide_expect(struct batch *batch, struct call *call, unsigned number);

/* All that is queued, each question's answer in batch->ask; batch->parking: but for those of the engine. */
void decide_queue(struct batch *batch);

/* Of a decision that is being answered: from its time until the limit that it names holds all its permits again. */
uint64_t decide_full_ns(const struct batch *batch, const struct call *call, const weir_decision *decision);

/* May what was taken still be corrected? */
bool decide_correctable(const struct call *call, const weir_decision *decision);

/* May calls of this limit hold slots?  Then an answer has a place for their id, whatever is said of this key. */
bool decide_may_hold(const struct call *call);

/* Of a decision that is being answered: the id of the slots that it took, to be renewed and released; 0: none. */
uint64_t decide_id(const struct call *call, const weir_decision *decision);

#define DECIDE_HOLDS_NOTHING                                                                                           \
    "nothing is held under this limit: it is not concurrent; for example 20 concurrent lease=30s"

/* [with the queue settled] Renews or releases what is held under an id.  call->answer is told ALLOW; DENY where nothing
   is held under it any more; NEVER where the engine did not answer. */
void decide_held(struct batch *batch, const struct call *call, uint64_t id, enum hold hold);

/* A question to the engine beside the queue.  `then` hears its answer, at once or later; away is as any other answer.
   If the session has gone meanwhile, it is NULL; a closed asker hears nothing. */
struct decide_alone {
    weir_engine_ask ask;         /* its key is copied; costs are in `memory` */
    struct engine_limit *shared; /* that it is of; NULL: of none */
    void (*then)(struct batch *batch, struct session *session, const weir_engine_ask *ask, void **memory);
    void *memory; /* of malloc, owned from here on; freed behind `then`, unless that took it and left NULL */
};

/* [with the queue settled] session NULL: nobody waits for it. */
void decide_alone(struct batch *batch, struct session *session, const struct decide_alone *alone);

/* [with the queue settled] call->answer is told ALLOW, or DENY where the engine did not say that it has. */
void decide_forget(struct batch *batch, const struct call *call);

/* The key that this call has in the engine, in scratch. */
weir_key decide_shared_key(struct batch *batch, const struct call *call);

/* What the services on one engine sign with, as far as it has been read; NULL: there is no engine. */
const struct secrets *decide_secrets(struct batch *batch);

/* Is the engine to be asked for them again, for a receipt that was signed with another one?  Once a second. */
bool decide_secrets_again(struct batch *batch);

/* ---- handle.c: the whole service, without a socket ---- */

/* Reads whole requests and returns how many bytes they took; the rest has to come again, with more behind it.  The
   bytes must stay where they are until batch_end.  A session that is closing takes none.  After batch->work_most of
   work it stops, and session->waits: the rest has to come again when others were served. */
size_t handle_bytes(struct batch *batch, struct session *session, struct slice bytes);

/* Of "\\0NAME\\0KEY" the key, of others all. */
struct slice batch_key_plain(const struct call *call);

/* Back again: the key as batch_key_plain had it.  false: it is none. */
bool batch_key_again(struct batch *batch, struct slice plain, struct call *call);

/* ---- receipt.c ---- */

enum { RECEIPT_MAX = 3072 };

/* What was taken, by which limit and key: all that settling needs, as text where the limit and the key are.  Writes
   nothing where nothing was taken, or where it cannot be corrected: a refusal, a look, a charge. */
void receipt_write(struct batch *batch, struct bytes *out, const struct call *call, const weir_decision *decision);

/* AGAIN: it had been settled, and nothing was changed.  REFUSED: nothing was corrected; problem says why. */
enum receipt_result { RECEIPT_SETTLED, RECEIPT_AGAIN, RECEIPT_REFUSED };

/* What was really used; and what to call with the outcome. */
struct receipt_used {
    struct costs costs;
    void (*answer)(struct batch *batch, struct session *session, uint64_t detail, enum receipt_result result,
                   const char *problem);
    uint64_t detail; /* the protocol's own */
};

/* Corrects to what was really used, once; answered at once, or when the engine has answered. */
void receipt_settle(struct batch *batch, struct session *session, struct slice receipt,
                    const struct receipt_used *used);

#endif
