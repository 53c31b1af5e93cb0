/* SPDX-License-Identifier: MIT
   What the command line, the environment and the file say, as one.

   The command line goes before the file; what is wrong is told with its place; waits for nothing. */
#include "serve/config/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOP_KEYS = 100 };

/* ---- the file ---- */

/* NULL, or what is wrong with it. */
static const char *read_all(FILE *file, struct settings *settings)
{
    char *text = malloc(CONFIG_BYTES_MAX + 1);
    if (text == NULL) return "no memory";
    settings->size = fread(text, 1, CONFIG_BYTES_MAX + 1, file);
    if (settings->size <= CONFIG_BYTES_MAX && !ferror(file)) {
        settings->text = text;
        return NULL;
    }
    const int why = errno;
    free(text);
    return settings->size > CONFIG_BYTES_MAX ? "more than 16 MiB" : strerror(why);
}

/* Of a pipe the writer would be waited for, at a reload by all that the process has to do besides. */
static const char *read_plain(const char *name, struct settings *settings)
{
    struct stat is;
    const int descriptor = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "rb") : NULL;
    const char *problem = file == NULL ? strerror(errno) : NULL;
    if (file == NULL) {
        if (descriptor >= 0) close(descriptor);
        return problem;
    }
    if (fstat(descriptor, &is) != 0) problem = strerror(errno);
    else if (!S_ISREG(is.st_mode)) problem = S_ISDIR(is.st_mode) ? "Is a directory" : "is not a regular file";
    else problem = read_all(file, settings);
    settings->open_to_others = problem == NULL && (is.st_mode & S_IROTH) != 0;
    fclose(file);
    return problem;
}

static bool read_file(struct settings *settings, const char *name, char problem[SETTINGS_PROBLEM_MAX])
{
    const char *why = read_plain(name, settings);
    if (why == NULL) return true;
    snprintf(problem, SETTINGS_PROBLEM_MAX, "weir: %s: %s; expected a file of limits; for example weir.yaml", name,
             why);
    return false;
}

static struct slice text_of(const struct settings *settings)
{
    return (struct slice){settings->text, settings->size};
}

/* FILE:LINE:COLUMN: as compilers have it, so that editors go there. */
static void place(const char *file, const struct config_problem *what, char problem[SETTINGS_PROBLEM_MAX])
{
    if (what->line == 0) snprintf(problem, SETTINGS_PROBLEM_MAX, "%s: %s", file, what->message);
    else snprintf(problem, SETTINGS_PROBLEM_MAX, "%s:%u:%u: %s", file, what->line, what->column, what->message);
}

/* ---- all together ---- */

static const char *either(const char *first, const char *second)
{
    return first != NULL ? first : second;
}

/* An empty one is none: it must not open a public address. */
static const char *password_of_environment(const char *name)
{
    const char *password = getenv(name);
    return password != NULL && password[0] != '\0' ? password : NULL;
}

/* That of the environment, or those of the file.  false: see problem. */
static bool read_secrets(struct access_secrets *secrets, const char *name, const struct config_secrets *of_file,
                         char problem[SETTINGS_PROBLEM_MAX])
{
    const char *only = password_of_environment(name);
    *secrets = (struct access_secrets){.text = {""}};
    if (only != NULL && strlen(only) > ACCESS_SECRET_MAX) {
        snprintf(problem, SETTINGS_PROBLEM_MAX, "weir: %s has more than 512 bytes", name);
        return false;
    }
    for (unsigned i = 0; i < (only != NULL ? 1 : of_file->count); i++) {
        snprintf(secrets->text[i], sizeof secrets->text[i], "%s", only != NULL ? only : of_file->text[i]);
    }
    return true;
}

bool settings_read(struct settings *settings, const struct server_options *options, char problem[SETTINGS_PROBLEM_MAX])
{
    struct config_problem what = {0};
    struct config *config = &settings->config;
    *settings = (struct settings){0};
    if (options->file != NULL) {
        if (!read_file(settings, options->file, problem)) return false;
        if (!config_read(text_of(settings), config, &what)) {
            place(options->file, &what, problem);
            settings_free(settings);
            return false;
        }
    }
    settings->resp = either(options->resp, config->resp);
    settings->http = either(options->http, config->http);
    settings->state = either(options->state, config->state);
    settings->threads = options->threads != 0 ? options->threads : config->threads;
    if (read_secrets(&settings->password, "WEIR_PASSWORD", &config->password, problem) &&
        read_secrets(&settings->admin, "WEIR_ADMIN_PASSWORD", &config->admin, problem))
        return true;
    settings_free(settings);
    return false;
}

void settings_free(struct settings *settings)
{
    if (settings->text != NULL) config_free(&settings->config);
    free(settings->text);
    *settings = (struct settings){0};
}

/* That of the present policy, where it is what these settings say; NULL: it is not. */
static struct engine *present_engine(struct service *service, const struct engine_settings *wanted)
{
    struct engine *engine = service_engine(service);
    if (engine == NULL || engine_is(engine, wanted)) return engine;
    engine_release(engine);
    return NULL;
}

/* The engine of the file; *engine NULL: there is none.  false: see problem. */
static bool open_engine(const struct settings *settings, const struct server_options *options, struct service *service,
                        struct engine **engine, char problem[SETTINGS_PROBLEM_MAX])
{
    const char *password = password_of_environment("WEIR_ENGINE_PASSWORD");
    struct engine_settings wanted = settings->config.engine; /* its texts are borrowed */
    struct config_problem what = {.line = wanted.line, .column = wanted.column};
    weir_error error = {0};
    *engine = NULL;
    if (wanted.url == NULL) return true;
    if (password != NULL) wanted.password = (char *)password;
    *engine = present_engine(service, &wanted);
    if (*engine == NULL) *engine = engine_open(&wanted, service, &error);
    if (*engine != NULL) return true;
    snprintf(what.message, sizeof what.message, "engine.url: %.400s", error.message);
    place(options->file, &what, problem);
    return false;
}

struct policy *settings_policy(const struct settings *settings, const struct server_options *options,
                               struct service *service, char problem[SETTINGS_PROBLEM_MAX])
{
    struct config_problem what = {0};
    struct engine *engine;
    if (!open_engine(settings, options, service, &engine, problem)) return NULL;
    struct policy *policy = config_policy(text_of(settings), service->tables, engine, service_number, service, &what);
    if (policy == NULL) place(options->file, &what, problem);
    engine_release(engine); /* the policy has its share */
    return policy;
}

bool settings_may_be_public(const struct settings *settings)
{
    return settings->password.text[0][0] != '\0' || settings->config.public_without_password;
}

void settings_access(const struct settings *settings, bool is_public, struct access *access)
{
    const enum config_texts said = settings->config.texts;
    *access = (struct access){.password = settings->password, .admin = settings->admin, .texts = ACCESS_TEXTS_ON};
    if (said == CONFIG_TEXTS_OFF) access->texts = ACCESS_TEXTS_OFF;
    if (said != CONFIG_TEXTS_UNSAID) return;
    if (settings->config.engine.url != NULL) access->texts = ACCESS_TEXTS_ENGINE;
    if (is_public) access->texts = ACCESS_TEXTS_PUBLIC;
}

struct tables_options settings_tables(const struct settings *settings)
{
    return (struct tables_options){.keys_max = settings->config.keys_max,
                                   .wide_bytes = settings->config.wide_bytes,
                                   .settle_ns = settings->config.settle_ns,
                                   .memory = settings->config.memory,
                                   .state = settings->state,
                                   .when_full = settings->config.when_full,
                                   .top = TOP_KEYS};
}

/* ---- what a reload cannot change ---- */

static bool differ(const char *before, const char *now)
{
    if (before == NULL || now == NULL) return before != now;
    return strcmp(before, now) != 0;
}

static void name_if(bool other, const char *name, char names[200])
{
    const size_t size = strlen(names);
    if (other) snprintf(names + size, 200 - size, "%s%s", size != 0 ? ", " : "", name);
}

static bool hosts_differ(const struct config *before, const struct config *now)
{
    bool other = before->host_count != now->host_count;
    for (unsigned i = 0; !other && i < now->host_count; i++) other = differ(before->hosts[i], now->hosts[i]);
    return other;
}

void settings_restart(const struct settings *before, const struct settings *now, char names[200])
{
    const struct config *old = &before->config, *new = &now->config;
    names[0] = '\0';
    name_if(differ(before->resp, now->resp) || differ(before->http, now->http) ||
                differ(old->unix_path, new->unix_path) || old->unix_mode != new->unix_mode,
            "listen", names);
    name_if(differ(before->state, now->state) || old->keys_max != new->keys_max || old->wide_bytes != new->wide_bytes ||
                old->memory != new->memory || old->when_full != new->when_full || old->settle_ns != new->settle_ns,
            "table", names);
    name_if((old->tls_key == NULL) != (new->tls_key == NULL), "tls", names);
    name_if(differ(old->user, new->user) || differ(old->group, new->group), "user", names);
    name_if(old->connections_max != new->connections_max || old->idle_ns != new->idle_ns, "connections", names);
    name_if(before->threads != now->threads, "threads", names);
    name_if(hosts_differ(old, new), "hosts", names);
}
