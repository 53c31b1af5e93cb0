/* SPDX-License-Identifier: MIT
   service.h - the one object of a running service: its tables, its policy, what its workers have counted.

   See service.c.  No socket, no loop: tests and fuzzers have one as well as `weir serve`. */
#ifndef WEIR_SERVE_SERVICE_H
#define WEIR_SERVE_SERVICE_H

#include "host/thread.h"
#include "serve/policy.h"
#include "serve/stats.h"
#include "serve/tables.h"

struct series;

enum { SERVICE_WORKERS_MAX = 64, SERVICE_EVENTS_MAX = 64, SERVICE_ADDRESSES_MAX = 16 };

/* Where it listens: "RESP" or "HTTP", "[::1]:9347". */
struct service_address {
    const char *protocol, *text;
};

/* Something that whoever runs the service wants to know: a reload, a refused file, a cut client. */
struct service_event {
    uint64_t unix_ns, number; /* number counts from 1 */
    char text[200];
};

struct service {
    struct tables *tables;
    const char *password;     /* NULL: none is asked for */
    const char *const *hosts; /* further names that Host: may say */
    unsigned host_count;
    struct service_address address[SERVICE_ADDRESSES_MAX];
    unsigned address_count;
    uint64_t (*now_ns)(void *clock); /* CLOCK_MONOTONIC, or a test's */
    void *clock;
    uint64_t started_ns, started_unix_ns;
    struct atom draining; /* 1: /readyz says no, no new connections */

    struct host_mutex mutex; /* around what follows */
    struct policy *policy;
    struct atom policy_serial;         /* counts publications: a worker whose serial is behind asks for the new one */
    char (*name)[POLICY_NAME_MAX + 1]; /* of number i + 1; never forgotten */
    unsigned name_count;
    struct stats *worker[SERVICE_WORKERS_MAX];
    unsigned worker_count;
    struct service_event event[SERVICE_EVENTS_MAX]; /* a ring */
    uint64_t event_count;
    struct series *series; /* owned; NULL: nothing was sampled yet */
};

/* Opens an empty service over these tables, which are borrowed.  now_ns NULL: the system's clock. */
void service_open(struct service *service, struct tables *tables, uint64_t (*now_ns)(void *), void *clock);
void service_close(struct service *service);

/* A worker's counters, owned by the service; NULL: no memory, or too many. */
struct stats *service_worker(struct service *service);

/* For config_policy and policy_with; 0 where there are too many names, which then count together. */
unsigned service_number(void *service, const char *name);

/* From now on workers get this one, which is owned by the service from here on. */
void service_publish(struct service *service, struct policy *policy);

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

#endif
