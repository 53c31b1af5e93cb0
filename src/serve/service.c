/* SPDX-License-Identifier: MIT
   service.c - the one object of a running service.

   May touch: the service, malloc, host.  Promises: a policy stays as long as somebody has it; names keep their numbers.
   Leaves to others: tables (tables.c), what a policy says (policy.c), threads (server.c). */
#include "serve/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "serve/series.h"

static uint64_t system_now_ns(void *clock)
{
    (void)clock;
    return host_now_ns();
}

void service_open(struct service *service, struct tables *tables, uint64_t (*now_ns)(void *), void *clock)
{
    *service = (struct service){.tables = tables, .now_ns = now_ns != NULL ? now_ns : system_now_ns, .clock = clock};
    service->started_ns = service->now_ns(clock);
    service->started_unix_ns = host_unix_ns();
    host_mutex_open(&service->mutex);
}

void service_close(struct service *service)
{
    policy_free(service->policy);
    series_free(service->series);
    for (unsigned i = 0; i < service->worker_count; i++) free(service->worker[i]);
    free(service->name);
    host_mutex_close(&service->mutex);
}

struct stats *service_worker(struct service *service)
{
    struct stats *stats = calloc(1, sizeof *stats);
    host_lock(&service->mutex);
    if (stats != NULL && service->worker_count < SERVICE_WORKERS_MAX) {
        service->worker[service->worker_count++] = stats;
    } else {
        free(stats);
        stats = NULL;
    }
    host_unlock(&service->mutex);
    return stats;
}

/* ---- names ---- */

/* [under the mutex] */
static unsigned number_of(struct service *service, const char *name)
{
    for (unsigned i = 0; i < service->name_count; i++) {
        if (strcmp(service->name[i], name) == 0) return i + 1;
    }
    if (service->name == NULL) service->name = calloc(POLICY_LIMITS_MAX, sizeof *service->name);
    if (service->name == NULL || service->name_count == POLICY_LIMITS_MAX) return 0;
    snprintf(service->name[service->name_count], sizeof *service->name, "%s", name);
    return ++service->name_count;
}

unsigned service_number(void *context, const char *name)
{
    struct service *service = context;
    host_lock(&service->mutex);
    const unsigned number = number_of(service, name);
    host_unlock(&service->mutex);
    return number;
}

/* ---- the policy ---- */

/* [under the mutex] Returns what is to be freed without it: nobody has it any more. */
static struct policy *let_go(struct policy *policy)
{
    return policy != NULL && --policy->users == 0 ? policy : NULL;
}

/* [under the mutex] The same of the one before. */
static struct policy *publish(struct service *service, struct policy *policy)
{
    struct policy *old = service->policy;
    if (policy != NULL) policy->users = 1;
    service->policy = policy;
    atom_store_release(&service->policy_serial, atom_load(&service->policy_serial) + 1);
    return let_go(old);
}

void service_publish(struct service *service, struct policy *policy)
{
    host_lock(&service->mutex);
    struct policy *old = publish(service, policy);
    host_unlock(&service->mutex);
    policy_free(old);
}

/* Two who define at once do not undo each other: the mutex is held from reading the old to publishing the new. */
int service_define(struct service *service, struct slice name, const char *text, weir_error *error)
{
    struct policy *old = NULL;
    host_lock(&service->mutex);
    struct policy *policy = policy_with(service->policy, service->tables, name, text, error);
    for (unsigned i = 0; policy != NULL && i < policy->limit_count; i++) {
        policy->limit[i].number = number_of(service, policy->limit[i].name);
    }
    if (policy != NULL) old = publish(service, policy);
    host_unlock(&service->mutex);
    policy_free(old);
    return policy != NULL ? 0 : error->code;
}

struct policy *service_policy(struct service *service)
{
    host_lock(&service->mutex);
    struct policy *policy = service->policy;
    if (policy != NULL) policy->users++;
    host_unlock(&service->mutex);
    return policy;
}

void service_share(struct service *service, struct policy *policy)
{
    host_lock(&service->mutex);
    if (policy != NULL) policy->users++;
    host_unlock(&service->mutex);
}

void service_release(struct service *service, struct policy *policy)
{
    host_lock(&service->mutex);
    struct policy *old = let_go(policy);
    host_unlock(&service->mutex);
    policy_free(old);
}

struct engine *service_engine(struct service *service)
{
    host_lock(&service->mutex);
    struct engine *engine = service->policy != NULL ? engine_share(service->policy->engine) : NULL;
    host_unlock(&service->mutex);
    return engine;
}

/* ---- events ---- */

void service_say(struct service *service, const char *text)
{
    host_lock(&service->mutex);
    struct service_event *event = &service->event[service->event_count++ % SERVICE_EVENTS_MAX];
    *event = (struct service_event){.unix_ns = host_unix_ns(), .number = service->event_count};
    snprintf(event->text, sizeof event->text, "%s", text);
    host_unlock(&service->mutex);
}
