/* SPDX-License-Identifier: MIT
   The one object of a running service.

   A policy stays as long as somebody has it; names keep their numbers. */
#include "serve/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"
#include "serve/stats/series.h"

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
    notes_open(&service->notes);
}

void service_close(struct service *service)
{
    policy_free(service->policy);
    engine_close_left(service);
    series_free(service->series);
    for (unsigned i = 0; i < service->worker_count; i++) host_free(service->worker[i]);
    free(service->name);
    notes_close(&service->notes);
    host_mutex_close(&service->mutex);
}

struct stats *service_worker(struct service *service)
{
    struct stats *stats = host_allocate(sizeof *stats);
    host_lock(&service->mutex);
    if (stats != NULL && service->worker_count < SERVICE_WORKERS_MAX) {
        service->worker[service->worker_count++] = stats;
    } else {
        host_free(stats);
        stats = NULL;
    }
    host_unlock(&service->mutex);
    return stats;
}

/* ---- names ---- */

/* [under the mutex] */
static unsigned number_of(struct service *service, const char *name)
{
    unsigned empty = POLICY_LIMITS_MAX;
    if (service->name == NULL) service->name = calloc(POLICY_LIMITS_MAX, sizeof *service->name);
    if (service->name == NULL) return 0;
    for (unsigned i = service->name_count; i-- > 0;) {
        if (strcmp(service->name[i].text, name) == 0) return i + 1;
        if (service->name[i].text[0] == '\0') empty = i;
    }
    if (empty == POLICY_LIMITS_MAX) {
        if (service->name_count == POLICY_LIMITS_MAX) return 0;
        empty = service->name_count++;
    }
    snprintf(service->name[empty].text, sizeof service->name[empty].text, "%s", name);
    return empty + 1;
}

static void move_counts(struct atom *to, struct atom *from)
{
    stats_add(to, atom_load(from));
    atom_store(from, 0);
}

/* [under the mutex] No policy has it, so no worker counts there: the next name begins at 0. */
static void retire(struct service *service, unsigned number)
{
    struct service_name *name = &service->name[number - 1];
    struct stats_limit *gone = &service->gone;
    for (unsigned i = 0; i < service->worker_count; i++) {
        struct stats_limit *limit = &service->worker[i]->limit[number];
        move_counts(&gone->allowed, &limit->allowed);
        move_counts(&gone->denied, &limit->denied);
        move_counts(&gone->never, &limit->never);
        move_counts(&gone->shadowed, &limit->shadowed);
        move_counts(&gone->away_allowed, &limit->away_allowed);
        move_counts(&gone->away_refused, &limit->away_refused);
        move_counts(&gone->borrowed, &limit->borrowed);
        move_counts(&gone->renewals, &limit->renewals);
        move_counts(&gone->releases, &limit->releases);
        move_counts(&gone->stale, &limit->stale);
        move_counts(&gone->permits, &limit->permits);
        atom_store(&limit->late_ns, 0);
        atom_store(&limit->granted_at_ns, 0);
    }
    *name = (struct service_name){.epoch = name->epoch + 1};
}

/* [under the mutex] */
static void count_names(struct service *service, const struct policy *policy, bool more)
{
    for (unsigned i = 0; policy != NULL && i < policy->limit_count; i++) {
        const unsigned number = policy->limit[i].number;
        if (number == 0 || service->name == NULL) continue;
        struct service_name *name = &service->name[number - 1];
        if (more) name->policies++;
        else name->policies--;
        if (name->policies == 0 && !name->claimed) retire(service, number);
    }
}

/* [under the mutex] Also what was claimed for a policy that never came about. */
static void end_claims(struct service *service)
{
    for (unsigned i = 0; i < service->name_count; i++) {
        struct service_name *name = &service->name[i];
        name->claimed = false;
        if (name->policies == 0 && name->text[0] != '\0') retire(service, i + 1);
    }
}

unsigned service_number(void *context, const char *name)
{
    struct service *service = context;
    host_lock(&service->mutex);
    const unsigned number = number_of(service, name);
    if (number != 0) service->name[number - 1].claimed = true;
    host_unlock(&service->mutex);
    return number;
}

/* ---- the policy ---- */

/* [under the mutex] Returns what is to be freed without it: nobody has it any more. */
static struct policy *let_go(struct service *service, struct policy *policy)
{
    if (policy == NULL || --policy->users != 0) return NULL;
    count_names(service, policy, false);
    return policy;
}

/* [under the mutex] The same of the one before. */
static struct policy *publish(struct service *service, struct policy *policy)
{
    struct policy *old = service->policy;
    if (policy != NULL) policy->users = 1;
    service->policy = policy;
    count_names(service, policy, true);
    atom_store(&service->policies, atom_load(&service->policies) + 1);
    atom_store_release(&service->policy_serial, atom_load(&service->policy_serial) + 1);
    return let_go(service, old);
}

void service_publish(struct service *service, struct policy *policy)
{
    host_lock(&service->mutex);
    struct policy *old = publish(service, policy);
    end_claims(service);
    host_unlock(&service->mutex);
    policy_free(old);
}

void service_allow(struct service *service, const struct access *access)
{
    host_lock(&service->mutex);
    service->access = *access;
    atom_store_release(&service->policy_serial, atom_load(&service->policy_serial) + 1);
    host_unlock(&service->mutex);
}

void service_access(struct service *service, struct access *access)
{
    host_lock(&service->mutex);
    *access = service->access;
    host_unlock(&service->mutex);
}

/* Two definitions at once do not undo each other: the mutex is held from reading the old to publishing the new. */
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
    struct policy *old = let_go(service, policy);
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

void service_note(struct service *service, const char *text)
{
    host_lock(&service->mutex);
    struct service_note *note = &service->note[(service->note_count - 1) % SERVICE_NOTES_MAX];
    if (service->note_count == 0 || strcmp(note->text, text) != 0) {
        note = &service->note[service->note_count++ % SERVICE_NOTES_MAX];
        snprintf(note->text, sizeof note->text, "%s", text);
    }
    note->unix_ns = host_unix_ns();
    note->number = service->note_count;
    host_unlock(&service->mutex);
}
