/* SPDX-License-Identifier: MIT
   Starts the service, reloads it, stops it.

       settings -> sockets -> certificate -> fewer rights -> tables -> limits -> workers -> "weir: RESP ..."

   All of it is there before anybody is served, or nothing, with a reason; a reload is whole or not at all, and what was
   used stays used; a stop answers what came. */
#include "serve/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "host/map.h"
#include "host/sleep.h"
#include "serve/config/reload.h"
#include "serve/config/settings.h"
#include "serve/net/notify.h"
#include "serve/net/privileges.h"
#include "serve/net/summary.h"
#include "serve/stats/series.h"
#include "serve/worker.h"

enum { EXIT_DONE = 0, EXIT_TROUBLE = 2, EXIT_LOST = 3, THREADS_USUAL = 4, MS = 1000, NS_PER_MS = 1000000 };
enum { SIGNAL_RELOAD, SIGNAL_TERMINATE, SIGNAL_INTERRUPT, SIGNALS };

static const char resp_usual[] = "localhost:9347", http_usual[] = "localhost:9348";
enum { CONNECTIONS_USUAL = 10000 };
#define IDLE_USUAL_NS (UINT64_C(300) * HOST_SECOND_NS)

struct server {
    const struct server_options *options;
    struct settings settings;
    struct listener listener[LISTENERS_MAX];
    unsigned listener_count;
    bool is_public; /* one of them */
    struct tables *tables;
    struct service service;
    struct worker_shared shared;
    struct worker **worker;
    uint64_t *beat; /* each worker's, as of the last watchdog */
    unsigned worker_count, workers_wanted;
    struct notify notify;
    struct reload reload;
    uv_loop_t loop;
    uv_signal_t signal[SIGNALS];
    uv_timer_t second, watchdog;
    uv_async_t ended;
    bool stopping;
};

/* A whole line on stderr. */
static int trouble(const char *line)
{
    fprintf(stderr, "%s\n", line);
    return EXIT_TROUBLE;
}

static bool told(const char *what)
{
    fprintf(stderr, "weir: %s\n", what);
    return false;
}

/* ---- sockets ---- */

static bool listen_to(struct server *server, const char *address, enum session_protocol protocol)
{
    char problem[LISTEN_PROBLEM_MAX];
    if (address == NULL || strcmp(address, "none") == 0) return true;
    return listen_open(server->listener, &server->listener_count, address, protocol, server->workers_wanted,
                       server->settings.config.unix_mode, problem) ||
           told(problem);
}

/* With sockets of systemd, only what is asked for besides. */
static bool open_listeners(struct server *server)
{
    const struct settings *settings = &server->settings;
    char problem[LISTEN_PROBLEM_MAX];
    if (!listen_inherit(server->listener, &server->listener_count, problem)) return told(problem);
    const bool usual = server->listener_count == 0;
    if (!listen_to(server, settings->resp != NULL || !usual ? settings->resp : resp_usual, SESSION_RESP)) return false;
    if (!listen_to(server, settings->http != NULL || !usual ? settings->http : http_usual, SESSION_HTTP)) return false;
    char path[CONFIG_PATH_MAX + sizeof "unix:"];
    if (settings->config.unix_path != NULL) {
        snprintf(path, sizeof path, "unix:%s", settings->config.unix_path);
        if (!listen_to(server, path, SESSION_RESP)) return false;
    }
    return server->listener_count != 0 || told("nothing to listen on: --resp, --http and unix are all none");
}

static bool may_be_public(const struct server *server, const char *address)
{
    if (settings_may_be_public(&server->settings)) return true;
    fprintf(stderr,
            "weir: %s can be reached by others, and no password is set: expected WEIR_PASSWORD in the environment, "
            "or password in the file; or there, for example, listen: {public: without-password}\n",
            address);
    return false;
}

static bool check_public(struct server *server)
{
    for (unsigned i = 0; i < server->listener_count; i++) {
        const struct listener *listener = &server->listener[i];
        server->is_public |= listener->is_public;
        if (listener->is_public && !may_be_public(server, listener->text)) return false;
    }
    return true;
}

/* The same without a socket. */
static bool check_address(struct server *server, const char *address)
{
    char problem[LISTEN_PROBLEM_MAX];
    bool is_public = false;
    if (address == NULL || strcmp(address, "none") == 0) return true;
    if (!listen_look(address, &is_public, problem)) return told(problem);
    server->is_public |= is_public;
    return !is_public || may_be_public(server, address);
}

static bool check_addresses(struct server *server)
{
    const struct settings *settings = &server->settings;
    char path[CONFIG_PATH_MAX + sizeof "unix:"];
    if (!check_address(server, settings->resp) || !check_address(server, settings->http)) return false;
    if (settings->config.unix_path == NULL) return true;
    snprintf(path, sizeof path, "unix:%s", settings->config.unix_path);
    return check_address(server, path);
}

static bool open_tls(struct server *server)
{
    const struct config *config = &server->settings.config;
    char problem[TLS_PROBLEM_MAX];
    if (config->tls_certificate == NULL) return true;
    server->shared.tls = tls_open(config->tls_certificate, config->tls_key, problem);
    return server->shared.tls != NULL || told(problem);
}

static bool check_identity(const struct server *server)
{
    char problem[LISTEN_PROBLEM_MAX];
    const struct config *config = &server->settings.config;
    return privileges_look(config->user, config->group, problem) || told(problem);
}

static bool drop_privileges(const struct server *server)
{
    char problem[LISTEN_PROBLEM_MAX];
    const struct config *config = &server->settings.config;
    return privileges_drop(config->user, config->group, server->listener, server->listener_count, problem) ||
           told(problem);
}

/* ---- what is served ---- */

static bool open_tables(struct server *server)
{
    weir_error error = {0};
    const struct tables_options options = settings_tables(&server->settings);
    if (options.state != NULL) host_end_when_lost(options.state, EXIT_LOST);
    if (tables_open(&server->tables, &options, &error) != 0) {
        const bool elsewhere = options.state != NULL && error.code == WEIR_ESYSTEM;
        fprintf(stderr, "weir: %s%s\n", error.message, elsewhere ? "; --state FILE keeps it elsewhere" : "");
        return false;
    }
    service_open(&server->service, server->tables, server->options->now_ns, server->options->clock);
    struct access access;
    settings_access(&server->settings, server->is_public, &access);
    service_allow(&server->service, &access);
    notes_set_refusals(&server->service.notes, server->settings.config.log_refused, NULL);
    server->service.is_public = server->is_public;
    server->service.hosts = (const char *const *)server->settings.config.hosts;
    server->service.host_count = server->settings.config.host_count;
    for (unsigned i = 0; i < server->listener_count; i++) {
        const struct listener *listener = &server->listener[i];
        server->service.address[i] = (struct service_address){listener_protocol(listener), listener->text};
    }
    server->service.address_count = server->listener_count;
    server->shared.service = &server->service;
    return true;
}

static bool open_policy(struct server *server)
{
    char problem[SETTINGS_PROBLEM_MAX];
    if (server->options->file == NULL) return true;
    struct policy *policy = settings_policy(&server->settings, server->options, &server->service, problem);
    if (policy == NULL) {
        trouble(problem);
        return false;
    }
    service_publish(&server->service, policy);
    return true;
}

static bool open_worker(struct server *server)
{
    struct worker *worker = host_allocate(sizeof *worker);
    if (worker == NULL) return told("no memory for a thread");
    server->worker[server->worker_count] = worker;
    const int why =
        worker_open(worker, &server->shared, server->worker_count++, server->listener, server->listener_count);
    return why == 0 || told(strerror(why));
}

static bool open_workers(struct server *server)
{
    const struct config *config = &server->settings.config;
    const uint64_t idle_ns = config->idle_ns != 0 ? config->idle_ns : IDLE_USUAL_NS;
    server->shared.connections_max = config->connections_max != 0 ? config->connections_max : CONNECTIONS_USUAL;
    server->shared.idle_s = (idle_ns + HOST_SECOND_NS - 1) / HOST_SECOND_NS;
    server->shared.ended = &server->ended;
    server->worker = calloc(server->workers_wanted, sizeof(struct worker *));
    server->beat = calloc(server->workers_wanted, sizeof *server->beat);
    if (server->worker == NULL || server->beat == NULL) return told("no memory");
    while (server->worker_count < server->workers_wanted) {
        if (!open_worker(server)) return false;
    }
    return true;
}

static bool start_workers(struct server *server)
{
    for (unsigned i = 0; i < server->worker_count; i++) {
        const int why = worker_start(server->worker[i]);
        if (why != 0) return told(strerror(why));
    }
    return true;
}

/* ---- while it runs ---- */

static void reload(struct server *server)
{
    notify_reloading(&server->notify);
    reload_now(&server->reload);
    notify_ready(&server->notify, server->reload.words);
}

static void wish_all(struct server *server, enum worker_wish wish)
{
    for (unsigned i = 0; i < server->worker_count; i++) worker_wish(server->worker[i], wish);
}

static void stop(struct server *server)
{
    if (server->stopping) {
        wish_all(server, WORKER_STOP);
        return;
    }
    server->stopping = true;
    atom_store_release(&server->service.draining, 1);
    fprintf(stderr, "weir: stopping after the requests received are answered; signal again to stop at once\n");
    service_say(&server->service, "stopping");
    notify_stopping(&server->notify);
    wish_all(server, WORKER_DRAIN);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    if (number != SIGHUP) stop(server);
    else if (!server->stopping) reload(server); /* nobody new would find it, and systemd be told that we are ready */
}

static void on_second(uv_timer_t *timer)
{
    struct server *server = timer->data;
    series_sample(&server->service);
    engine_close_left(&server->service);
    notes_flush(&server->service.notes);
    if (!server->stopping && reload_wanted(&server->reload)) reload(server);
}

/* Systemd is told that all is well by those who do the work: each loop has come round since it was asked last. */
static void on_watchdog(uv_timer_t *timer)
{
    struct server *server = timer->data;
    bool well = true;
    for (unsigned i = 0; i < server->worker_count; i++) {
        const uint64_t beat = atom_load_acquire(&server->worker[i]->beat);
        well &= beat != server->beat[i] || atom_load_acquire(&server->worker[i]->ended) != 0;
        server->beat[i] = beat;
        worker_wake(server->worker[i]);
    }
    if (well) notify_alive(&server->notify);
}

static void on_ended(uv_async_t *async)
{
    struct server *server = async->data;
    for (unsigned i = 0; i < server->worker_count; i++) {
        if (atom_load_acquire(&server->worker[i]->ended) == 0) return;
    }
    uv_stop(&server->loop);
}

static void start_watchdog(struct server *server)
{
    const uint64_t half_ms = server->notify.watchdog_ns / 2 / NS_PER_MS;
    if (half_ms == 0) return;
    uv_timer_init(&server->loop, &server->watchdog);
    server->watchdog.data = server;
    uv_timer_start(&server->watchdog, on_watchdog, half_ms, half_ms);
    for (unsigned i = 0; i < server->worker_count; i++) worker_wake(server->worker[i]);
}

static bool open_loop(struct server *server)
{
    static const int number[SIGNALS] = {SIGHUP, SIGTERM, SIGINT};
    if (uv_loop_init(&server->loop) != 0) return told("no event loop");
    server->loop.data = server->second.data = server->ended.data = server;
    for (int i = 0; i < SIGNALS; i++) {
        uv_signal_init(&server->loop, &server->signal[i]);
        server->signal[i].data = server;
        if (uv_signal_start(&server->signal[i], on_signal, number[i]) != 0) return told("signals cannot be handled");
    }
    uv_timer_init(&server->loop, &server->second);
    uv_timer_start(&server->second, on_second, MS, MS);
    return uv_async_init(&server->loop, &server->ended, on_ended) == 0 || told("no event loop");
}

/* ---- beginning and end ---- */

static bool open_all(struct server *server)
{
    return open_loop(server) && open_listeners(server) && check_public(server) && open_tls(server) &&
           drop_privileges(server) && open_tables(server) && open_policy(server) && open_workers(server);
}

static void close_handle(uv_handle_t *handle, void *nothing)
{
    (void)nothing;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

/* A signal that comes once the loop has none any more would be the end of a process that ends well anyway. */
static void hold_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void close_loop(struct server *server)
{
    if (server->loop.data == NULL) return;
    hold_signals();
    uv_walk(&server->loop, close_handle, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    uv_loop_close(&server->loop);
}

static void close_all(struct server *server)
{
    for (unsigned i = 0; i < server->worker_count; i++) worker_join(server->worker[i]);
    for (unsigned i = 0; i < server->worker_count; i++) {
        worker_close(server->worker[i]);
        host_free(server->worker[i]);
    }
    free(server->worker);
    free(server->beat);
    close_loop(server);
    for (unsigned i = 0; i < server->listener_count; i++) listen_close(&server->listener[i]);
    if (server->shared.service != NULL) {
        notes_flush(&server->service.notes);
        service_close(&server->service);
    }
    tables_close(server->tables);
    tls_close(server->shared.tls);
    notify_close(&server->notify);
    settings_free(&server->settings);
}

static bool serve(struct server *server)
{
    char words[SUMMARY_MAX];
    reload_open(&server->reload, server->options, &server->settings, &server->service, server->shared.tls);
    summary_of_start(words, server->listener, server->listener_count, server->shared.tls != NULL, &server->service,
                     server->options->file, server->settings.state);
    if (!start_workers(server)) {
        wish_all(server, WORKER_STOP);
        return false;
    }
    fprintf(stderr, "weir: %s\n", words);
    fflush(stderr);
    notify_ready(&server->notify, words);
    start_watchdog(server);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    return true;
}

static unsigned threads_of(const struct settings *settings)
{
    const uint64_t processors = host_processors();
    if (settings->threads != 0)
        return settings->threads < SERVICE_WORKERS_MAX ? settings->threads : SERVICE_WORKERS_MAX;
    return processors < THREADS_USUAL ? (unsigned)processors : THREADS_USUAL;
}

static void warn_of_password(const struct settings *settings, const char *file)
{
    if (!settings->config.password_in_config || !settings->open_to_others) return;
    fprintf(stderr, "weir: %s: the password in it can be read by all users: chmod o-r, or password_file\n", file);
}

int server_run(const struct server_options *options)
{
    char problem[SETTINGS_PROBLEM_MAX];
    struct server *server = host_allocate(sizeof *server);
    if (server == NULL) return trouble("weir: no memory");
    server->options = options;
    if (!settings_read(&server->settings, options, problem)) {
        host_free(server);
        return trouble(problem);
    }
    warn_of_password(&server->settings, options->file);
    server->workers_wanted = threads_of(&server->settings);
    signal(SIGPIPE, SIG_IGN);
    privileges_raise_descriptors();
    notify_open(&server->notify);
    const bool done = open_all(server) && serve(server);
    close_all(server);
    host_free(server);
    return done ? EXIT_DONE : EXIT_TROUBLE;
}

/* As if that file were read and then this one. */
static bool check_changes(struct server *server)
{
    char problem[SETTINGS_PROBLEM_MAX];
    struct settings settings;
    struct server_options options = *server->options;
    options.file = options.against;
    if (options.file == NULL) return true;
    if (!settings_read(&settings, &options, problem)) return told(problem);
    struct policy *policy = service_policy(&server->service);
    struct policy *old = settings_policy(&settings, &options, &server->service, problem);
    if (old != NULL) reload_print_changes(stdout, old, policy);
    policy_free(old);
    service_release(&server->service, policy);
    settings_free(&settings);
    return old != NULL || told(problem);
}

int server_check(const struct server_options *options)
{
    char problem[SETTINGS_PROBLEM_MAX];
    struct server server = {.options = options};
    if (!settings_read(&server.settings, options, problem)) return trouble(problem);
    server.settings.state = NULL; /* it is only looked at: nothing is made */
    bool good = check_addresses(&server) && open_tls(&server) && check_identity(&server) && open_tables(&server) &&
                open_policy(&server);
    if (good) summary_print_limits(&server.service);
    good = good && check_changes(&server);
    if (server.shared.service != NULL) service_close(&server.service);
    tables_close(server.tables);
    tls_close(server.shared.tls);
    settings_free(&server.settings);
    return good ? EXIT_DONE : EXIT_TROUBLE;
}
