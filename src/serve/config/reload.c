/* SPDX-License-Identifier: MIT
   The file, read again.

   All or nothing; a wrong file changes nothing, and is told once.  What was used stays used: it is in the tables. */
#include "serve/config/reload.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/sleep.h"

static struct reload_mark mark_of(const char *file)
{
    struct stat status;
    if (file == NULL || stat(file, &status) != 0) return (struct reload_mark){0};
    return (struct reload_mark){.device = status.st_dev,
                                .inode = status.st_ino,
                                .size = (uint64_t)status.st_size,
                                .changed_ns = (uint64_t)status.st_mtim.tv_sec * HOST_SECOND_NS +
                                              (uint64_t)status.st_mtim.tv_nsec};
}

static bool same(const struct reload_mark *one, const struct reload_mark *other)
{
    return one->device == other->device && one->inode == other->inode && one->size == other->size &&
           one->changed_ns == other->changed_ns;
}

void reload_open(struct reload *reload, const struct server_options *options, const struct settings *started_with,
                 struct service *service, struct tls *tls)
{
    *reload = (struct reload){.options = options, .started_with = started_with, .service = service, .tls = tls};
    reload->known = reload->seen = mark_of(options->file);
}

bool reload_wanted(struct reload *reload)
{
    const struct reload_mark now = mark_of(reload->options->file);
    const bool settled = same(&now, &reload->seen);
    reload->seen = now;
    return settled && now.inode != 0 && !same(&now, &reload->known);
}

static void say(struct reload *reload)
{
    fprintf(stderr, "%s\n", reload->words);
    service_say(reload->service, reload->words);
}

static void refuse(struct reload *reload, const char *problem)
{
    snprintf(reload->words, sizeof reload->words, "%s; the limits are unchanged", problem);
    say(reload);
}

static void done(struct reload *reload, const struct settings *settings, unsigned limits)
{
    char restart[200];
    settings_restart(reload->started_with, settings, restart);
    snprintf(reload->words, sizeof reload->words, "weir: %s reloaded: %u limit%s%s%s%s", reload->options->file, limits,
             limits == 1 ? "" : "s", restart[0] != '\0' ? "; these need a restart: " : "", restart,
             reload->tls != NULL ? "; certificate renewed" : "");
    say(reload);
}

void reload_print_changes(FILE *out, const struct policy *old, const struct policy *policy)
{
    char was[POLICY_TEXT_MAX], is[POLICY_TEXT_MAX];
    for (unsigned i = 0; old != NULL && i < policy->limit_count; i++) {
        const struct policy_limit *limit = &policy->limit[i], *before = policy_find(old, slice_of(limit->name));
        if (before == NULL) continue;
        const unsigned anew = backend_anew(before, limit);
        const char *whose = limit->others != NULL ? "tenants" : "overrides";
        if (anew != 0) fprintf(out, "weir: %s: %s whose usage is reset: %u\n", limit->name, whose, anew);
        weir_plan_text(&before->plan, was, sizeof was);
        weir_plan_text(&limit->plan, is, sizeof is);
        if (strcmp(was, is) == 0) continue;
        fprintf(out, "weir: %s: %s -> %s: %s\n", limit->name, was, is,
                backend_carries(before, limit) ? "usage is kept, at most the new burst"
                                               : "another algorithm: usage is reset");
    }
}

static bool renew_certificate(struct reload *reload, const struct settings *settings,
                              char problem[SETTINGS_PROBLEM_MAX])
{
    const struct config *config = &settings->config;
    char why[TLS_PROBLEM_MAX];
    if (reload->tls == NULL || config->tls_certificate == NULL) return true;
    if (tls_renew(reload->tls, config->tls_certificate, config->tls_key, why)) return true;
    snprintf(problem, SETTINGS_PROBLEM_MAX, "weir: %s", why);
    return false;
}

static void apply(struct reload *reload, const struct settings *settings)
{
    char problem[SETTINGS_PROBLEM_MAX];
    struct access access;
    if (reload->service->is_public && !settings_may_be_public(settings)) {
        refuse(reload, "weir: this service can be reached by others, and no password is set any more");
        return;
    }
    struct policy *policy = settings_policy(settings, reload->options, reload->service, problem);
    if (policy == NULL || !renew_certificate(reload, settings, problem)) {
        policy_free(policy);
        refuse(reload, problem);
        return;
    }
    const unsigned limits = policy->limit_count;
    settings_access(settings, reload->service->is_public, &access);
    service_allow(reload->service, &access);
    notes_set_refusals(&reload->service->notes, settings->config.log_refused, NULL);
    struct policy *old = service_policy(reload->service);
    reload_print_changes(stderr, old, policy);
    service_release(reload->service, old);
    service_publish(reload->service, policy);
    done(reload, settings, limits);
}

void reload_now(struct reload *reload)
{
    struct settings settings;
    char problem[SETTINGS_PROBLEM_MAX];
    if (reload->options->file == NULL) {
        snprintf(reload->words, sizeof reload->words, "weir: there is no file to reload");
        say(reload);
        return;
    }
    reload->known = reload->seen = mark_of(reload->options->file);
    if (!settings_read(&settings, reload->options, problem)) {
        refuse(reload, problem);
        return;
    }
    apply(reload, &settings);
    settings_free(&settings);
}
