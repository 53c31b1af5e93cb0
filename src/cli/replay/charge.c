/* SPDX-License-Identifier: MIT
   weir replay --charge: what a followed log gains is charged to a running weir serve.

       a line -> WEIR.CHARGE limit key cost, BATCH of them at most without an answer
       away   -> counted; tried again once a second

   Nobody waits for these answers but to count them, so a batch goes out with one write, and the log is read on.  What
   the service could not be told is not kept for later: by then the requests are over, and their clients may be quiet.

   The log waits a second at most, once for each outage; memory for a batch. */
#include "cli/replay/charge.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/arguments.h"
#include "cli/common/engine_password.h"
#include "core/num.h"
#include "host/sleep.h"
#include "redis/client/link/link.h"
#include "redis/client/link/resolve.h"

enum { BATCH = 1024, KEY_MAX = 1024 /* as weir serve has it */, NUMBER_MAX = 24, TEXT_MAX = 640, POLL_MS = 100 };
#define DEADLINE_NS ((uint64_t)HOST_SECOND_NS)
#define RETRY_NS ((uint64_t)HOST_SECOND_NS)
#define QUIET_NS (60 * (uint64_t)HOST_SECOND_NS) /* the service closes what says nothing for five minutes */

struct charge {
    struct link link;
    struct link_handshake handshake;
    struct engine_url url;
    struct engine_addresses addresses;
    char password[ENGINE_PASSWORD_MAX], where[ENDPOINT_TEXT_MAX];
    const char *limit;
    uint64_t opened_ns;         /* when it was tried last */
    bool begun;                 /* from now on it is said what happens */
    bool away;                  /* and that was said */
    bool said_error;            /* since it was reached */
    char refusal[LINK_WHY_MAX]; /* of the limit, at the start */
    uint64_t lost_before;       /* of this outage */
    struct charge_counts counts;
    charge_say *say;
    void *context;
};

/* ---- what happens ---- */

static const char *cure_of(const char *error)
{
    if (strstr(error, "unknown command") != NULL) return "; expected a weir serve there; it listens on port 9347";
    if (strstr(error, "NOAUTH") != NULL || strstr(error, "WRONGPASS") != NULL)
        return "; its password comes from WEIR_PASSWORD, --password-file or the URL";
    return "";
}

static void say_error(struct charge *charge, const char *error)
{
    char text[TEXT_MAX];
    if (charge->said_error) return;
    charge->said_error = true;
    snprintf(text, sizeof text, "%s: requests are not charged: %s%s", charge->where, error, cure_of(error));
    charge->say(charge->context, text);
}

static void on_charged(struct link *link, void *context, const redisReply *reply)
{
    struct charge *const charge = context;
    const char *const error = link_reply_error(reply);
    (void)link;
    if (reply == NULL) charge->counts.lost++;
    else if (error == NULL) charge->counts.charged++;
    else charge->counts.refused++;
    if (error != NULL) say_error(charge, error);
}

static void went_away(struct charge *charge)
{
    char text[TEXT_MAX];
    charge->away = true;
    charge->counts.outages++;
    snprintf(text, sizeof text, "%s is unavailable: %s%s; requests are not charged until it is available again",
             charge->where, charge->link.why, cure_of(charge->link.why));
    charge->say(charge->context, text);
}

static void came_back(struct charge *charge)
{
    char text[TEXT_MAX];
    charge->away = charge->said_error = false;
    snprintf(text, sizeof text, "%s is available again; not charged meanwhile: %llu requests", charge->where,
             (unsigned long long)(charge->counts.lost - charge->lost_before));
    charge->say(charge->context, text);
}

/* ---- the connection ---- */

static void open_link(struct charge *charge, uint64_t now_ns)
{
    charge->opened_ns = now_ns;
    link_open(&charge->link, &charge->addresses, &charge->handshake, now_ns);
}

static bool is_waiting(const struct link *link)
{
    return link->state != LINK_CLOSED && (link->state != LINK_READY || link->count != 0);
}

static void give_up(struct link *link)
{
    link_say_why(link, "it does not answer");
    link_close(link);
}

static bool is_silent(const struct link *link, uint64_t now_ns)
{
    return is_waiting(link) && now_ns - least(now_ns, most(link->heard_ns, link->owes_ns)) > DEADLINE_NS;
}

static void keep_alive(struct link *link, uint64_t now_ns)
{
    if (link->state != LINK_READY || link->count != 0 || now_ns - link->heard_ns < QUIET_NS) return;
    link->owes_ns = now_ns;
    link_send(link, 1, (const char *const[]){"PING"}, (const size_t[]){4}, NULL, NULL);
    link_flush(link);
}

static void tell(struct charge *charge)
{
    const enum link_state state = charge->link.state;
    if (!charge->begun) return;
    if (state == LINK_READY && charge->away) came_back(charge);
    if (state == LINK_READY) charge->lost_before = charge->counts.lost;
    if (state == LINK_CLOSED && !charge->away) went_away(charge);
}

void charge_turn(struct charge *charge)
{
    struct link *const link = &charge->link;
    const uint64_t now_ns = weir_now().ns;
    if (link->state == LINK_CLOSED && now_ns - charge->opened_ns >= RETRY_NS) open_link(charge, now_ns);
    link_process(link, now_ns);
    if (is_silent(link, now_ns)) give_up(link);
    keep_alive(link, now_ns);
    tell(charge);
}

/* Until nothing is left to wait for, or the deadline is over. */
static void wait_for_answers(struct charge *charge)
{
    struct link *const link = &charge->link;
    const uint64_t end_ns = weir_now().ns + DEADLINE_NS;
    for (charge_turn(charge); is_waiting(link); charge_turn(charge)) {
        struct pollfd poll_fd = {link->context->fd, link_events(link), 0};
        if (weir_now().ns >= end_ns) give_up(link);
        else poll(&poll_fd, 1, POLL_MS);
    }
}

void charge_put(struct charge *charge, struct slice key, uint64_t cost)
{
    struct link *const link = &charge->link;
    char number[NUMBER_MAX];
    if (cost == 0) return;
    if (key.size > KEY_MAX) {
        charge->counts.refused++;
        say_error(charge, "a key has at most 1024 bytes");
        return;
    }
    const int digits = snprintf(number, sizeof number, "%llu", (unsigned long long)cost);
    const char *const text[] = {"WEIR.CHARGE", charge->limit, key.bytes, number};
    const size_t size[] = {strlen(text[0]), strlen(charge->limit), key.size, (size_t)digits};
    if (link->count == 0) link->owes_ns = weir_now().ns;
    if (link->state != LINK_READY || !link_send(link, 4, text, size, on_charged, charge)) charge->counts.lost++;
    else if (link->count >= BATCH) wait_for_answers(charge);
}

/* ---- opened and closed ---- */

static int read_url(struct charge *charge, const char *text)
{
    weir_error error = {0};
    struct engine_url *const url = &charge->url;
    if (url_read(url, text, &error) != 0) return trouble("replay: --charge: %s", error.message);
    if (url->kind != URL_ONE)
        return trouble("replay: --charge: expected the URL of one weir serve: redis://HOST:9347, rediss:// or unix://");
    url_endpoint_text(&url->endpoint[0], charge->where);
    if (!resolve_endpoint(&url->endpoint[0], &charge->addresses))
        return trouble("replay: --charge: unknown host %s", url->endpoint[0].host);
    if (url->tls && secure_open(&charge->handshake.tls, url, &error) != 0)
        return trouble("replay: --charge: %s", error.message);
    return STATUS_DONE;
}

static int read_password(struct charge *charge, const char *file)
{
    const char *said;
    const int status = engine_password_of_service("replay", file, charge->password, &said);
    charge->handshake.user = charge->url.user;
    charge->handshake.password = said != NULL ? said : charge->url.password;
    charge->handshake.database = charge->url.database;
    charge->handshake.host = charge->url.endpoint[0].host;
    return status;
}

static void on_limit(struct link *link, void *context, const redisReply *reply)
{
    struct charge *const charge = context;
    const char *const error = link_reply_error(reply);
    (void)link;
    if (error != NULL) snprintf(charge->refusal, sizeof charge->refusal, "%s", error);
}

/* What the service has against it is better said before a log is read than at the first request. */
static int reach(struct charge *charge)
{
    struct link *const link = &charge->link;
    const char *const text[] = {"WEIR.LIMIT", "GET", charge->limit};
    const size_t size[] = {strlen(text[0]), strlen(text[1]), strlen(charge->limit)};
    open_link(charge, weir_now().ns);
    wait_for_answers(charge);
    if (link->state == LINK_READY && link_send(link, 3, text, size, on_limit, charge)) wait_for_answers(charge);
    if (link->state == LINK_CLOSED && link->refused) snprintf(charge->refusal, sizeof charge->refusal, "%s", link->why);
    charge->begun = charge->refusal[0] == '\0';
    if (charge->begun) return STATUS_DONE;
    return trouble("replay: --charge: %s: %s%s", charge->where, charge->refusal, cure_of(charge->refusal));
}

int charge_open(struct charge **owned, const struct charge_options *options, charge_say *say, void *context)
{
    struct charge *const charge = calloc(1, sizeof *charge);
    *owned = charge;
    if (charge == NULL) return trouble("replay: no memory");
    charge->limit = options->limit;
    charge->say = say;
    charge->context = context;
    int status = read_url(charge, options->url);
    if (status == STATUS_DONE) status = read_password(charge, options->password_file);
    return status != STATUS_DONE ? status : reach(charge);
}

struct charge_counts charge_finish(struct charge *charge)
{
    wait_for_answers(charge);
    link_close(&charge->link);
    return charge->counts;
}

void charge_close(struct charge *charge)
{
    if (charge == NULL) return;
    link_close(&charge->link);
    secure_close(charge->handshake.tls);
    free(charge);
}
