/* SPDX-License-Identifier: MIT
   The one object of a running service: its tables, its policy, what its workers have counted.

   See service.c.  No socket, no loop: tests and fuzzers have one as well as `weir serve`. */
#ifndef WEIR_SERVE_SERVICE_H
#define WEIR_SERVE_SERVICE_H

#include "host/thread.h"
#include "serve/policy/access.h"
#include "serve/policy/policy.h"
#include "serve/policy/tables.h"
#include "serve/stats/notes.h"
#include "serve/stats/stats.h"

struct series;
struct engine_left;

enum { SERVICE_WORKERS_MAX = 64, SERVICE_EVENTS_MAX = 64, SERVICE_NOTES_MAX = 16, SERVICE_ADDRESSES_MAX = 16 };

/* Where it listens: "RESP" or "HTTP", "[::1]:9347". */
struct service_address {
    const char *protocol, *text;
};

/* Something that the operator wants to know: a reload, a refused file, a closed client. */
struct service_event {
    uint64_t unix_ns, number; /* number counts from 1 */
    char text[200];
};

/* What was wrong with a request (see notes.h). */
struct service_note {
    uint64_t unix_ns, number;
    char text[NOTES_LINE_MAX];
};

/* Of number i + 1.  It is somebody else's once nobody has it any more: no policy that a worker may still look at. */
struct service_name {
    char text[POLICY_NAME_MAX + 1]; /* "": nobody's */
    bool claimed;                   /* by a policy that is being made */
    unsigned policies;              /* that have it */
    unsigned epoch;                 /* counts the names that this was before */
};

struct service {
    struct notes notes;
    struct tables *tables;
    const char *const *hosts; /* further names that Host: may say */
    unsigned host_count;
    bool is_public; /* others than this machine reach one of its addresses */
    struct service_address address[SERVICE_ADDRESSES_MAX];
    unsigned address_count;
    uint64_t (*now_ns)(void *clock); /* CLOCK_MONOTONIC, or a test's */
    void *clock;
    uint64_t started_ns, started_unix_ns;
    struct atom draining; /* 1: /readyz says no, no new connections */

    struct host_mutex mutex; /* around what follows */
    struct policy *policy;
    struct access access;
    struct atom policy_serial; /* counts publications: a worker whose serial is behind asks for the new one */
    struct service_name *name; /* POLICY_LIMITS_MAX */
    unsigned name_count;       /* ever in use at a time */
    struct stats_limit gone;   /* what was counted of names that are nobody's any more */
    struct atom policies;      /* published ever */
    struct stats *worker[SERVICE_WORKERS_MAX];
    unsigned worker_count;
    struct service_event event[SERVICE_EVENTS_MAX]; /* a ring */
    uint64_t event_count;
    struct service_note note[SERVICE_NOTES_MAX]; /* a ring, too */
    uint64_t note_count;
    struct engine_left *left; /* handles that workers have left: see engine.c */
    struct series *series;    /* owned; NULL: nothing was sampled yet */
};

/* Opens an empty service over these tables, which are borrowed.  now_ns NULL: the system's clock. */
void service_open(struct service *service, struct tables *tables, uint64_t (*now_ns)(void *), void *clock);
void service_close(struct service *service);

/* A worker's counters, owned by the service; NULL: no memory, or too many. */
struct stats *service_worker(struct service *service);

/* For the policy that is published next, and by its maker; 0 where there are too many names, which then count
   together. */
unsigned service_number(void *service, const char *name);

/* From now on workers get this one, which is owned by the service from here on. */
void service_publish(struct service *service, struct policy *policy);

/* The same of who may do what, which is copied; and what holds now. */
void service_allow(struct service *service, const struct access *access);
void service_access(struct service *service, struct access *access);

/* Defines a name, or removes it (text NULL). */
int service_define(struct service *service, struct slice name, const char *text, weir_error *error);

/* The present policy, which stays until it is given back; NULL: there is none. */
struct policy *service_policy(struct service *service);
void service_release(struct service *service, struct policy *policy);

/* The same policy once more; NULL: nothing. */
void service_share(struct service *service, struct policy *policy);

/* The present policy's engine, to be released; NULL: it has none. */
struct engine *service_engine(struct service *service);

void service_say(struct service *service, const char *text);

/* For the page: the latest, of which two that follow each other and say the same are one. */
void service_note(struct service *service, const char *text);

#endif
