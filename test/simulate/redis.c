/* SPDX-License-Identifier: MIT
   What servers answer, and how they fail.

   A server executes one command after the other, all that has arrived at once, and answers in one piece. */
#include "simulate/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/resp.h"
#include "simulate/judge.h"
#include "simulate/keys.h"
#include "simulate/module_host.h"
#include "simulate/watch.h"
#include "simulate/wires.h"
#include "simulate/world.h"

enum { OUT_SIZE = 1 << 20, US = 1000, LOADING = 200 * MS };
#define EPOCH_US UINT64_C(1700000000000000)

struct server {
    bool up, says_no, is_replica;
    uint64_t stalled_until, loading_until;
    int64_t stepped_us;
    struct keys *keys;
};

static struct server servers[SERVERS_MOST];
static unsigned primary;
static bool split;
static char *out_memory;

static uint64_t now_us(const struct server *server)
{
    return EPOCH_US + world_now() / US + (uint64_t)server->stepped_us;
}

void redis_begin(void)
{
    module_host_load();
    if (out_memory == NULL) out_memory = malloc(OUT_SIZE);
    for (unsigned i = 0; i < SERVERS_MOST; i++) {
        struct keys *keys = servers[i].keys != NULL ? servers[i].keys : malloc(sizeof *keys);
        if (keys == NULL || out_memory == NULL) abort();
        keys_clear(keys);
        servers[i] = (struct server){.up = true, .keys = keys, .is_replica = i == 1};
    }
    primary = 0;
    split = false;
}

void redis_end(void)
{
    for (unsigned i = 0; i < SERVERS_MOST; i++) {
        free(servers[i].keys);
        servers[i].keys = NULL;
    }
    free(out_memory);
    out_memory = NULL;
}

unsigned redis_of_address(const char *host)
{
    return (unsigned)(host[strlen(host) - 1] - '1');
}

unsigned redis_primary(void)
{
    return primary;
}

bool redis_is_split(void)
{
    return split;
}

bool redis_is_up(unsigned server)
{
    return servers[server].up;
}

bool redis_says_no(unsigned server)
{
    return servers[server].says_no;
}

uint64_t redis_ready_at(unsigned server)
{
    return servers[server].stalled_until;
}

/* ---- commands ---- */

static void say_role(const struct server *server, struct bytes *out)
{
    resp_array(out, 3);
    if (!server->is_replica) {
        resp_bulk(out, slice_of("master"));
        resp_integer(out, 0);
        resp_array(out, 0);
        return;
    }
    resp_bulk(out, slice_of("slave"));
    resp_bulk(out, slice_of("10.0.0.1"));
    resp_integer(out, 6379);
}

static void say_commands(struct bytes *out)
{
    resp_array(out, 2);
    resp_array(out, 1);
    resp_bulk(out, slice_of("weir.take"));
    resp_null(out, 2);
}

static void say_time(const struct server *server, struct bytes *out)
{
    char seconds[24], us[24];
    snprintf(seconds, sizeof seconds, "%llu", (unsigned long long)(now_us(server) / 1000000));
    snprintf(us, sizeof us, "%llu", (unsigned long long)(now_us(server) % 1000000));
    resp_array(out, 2);
    resp_bulk(out, slice_of(seconds));
    resp_bulk(out, slice_of(us));
}

static void say_primary(struct bytes *out)
{
    resp_array(out, 2);
    resp_bulk(out, slice_of(primary == 0 ? "10.0.0.1" : "10.0.0.2"));
    resp_bulk(out, slice_of("6379"));
}

static uint64_t number_of(struct slice text)
{
    char digits[24] = "";
    memcpy(digits, text.bytes, text.size < sizeof digits ? text.size : sizeof digits - 1);
    return strtoull(digits, NULL, 10);
}

static void enter(struct server *server, const struct resp_command *command, struct bytes *out)
{
    char name[MEMBER_SIZE] = "";
    memcpy(name, command->argument[3].bytes, command->argument[3].size % MEMBER_SIZE);
    resp_integer(out, keys_enter(server->keys, name, number_of(command->argument[2])));
}

static void set_once(struct server *server, const struct resp_command *command, struct bytes *out)
{
    struct entry *entry = keys_find(server->keys, command->argument[1].bytes, command->argument[1].size);
    const struct value before = entry->value;
    if (before.size != 0) {
        resp_null(out, 2);
        return;
    }
    entry->value.size = command->argument[2].size % VALUE_SIZE;
    memcpy(entry->value.bytes, command->argument[2].bytes, entry->value.size);
    keys_changed(server->keys, entry, &before);
    resp_simple(out, "OK");
}

static void say_value(struct server *server, const struct resp_command *command, struct bytes *out)
{
    const struct entry *entry = keys_find(server->keys, command->argument[1].bytes, command->argument[1].size);
    if (entry->value.size == 0) resp_null(out, 2);
    else resp_bulk(out, (struct slice){(const char *)entry->value.bytes, entry->value.size});
}

static bool is(const struct resp_command *command, const char *name, unsigned count)
{
    return command->count >= count && resp_is(command->argument[0], name);
}

/* Those that any server answers. */
static bool say_plain(const struct server *server, const struct resp_command *command, struct bytes *out)
{
    if (is(command, "PING", 1)) resp_simple(out, "PONG");
    else if (is(command, "CLIENT", 1)) resp_simple(out, "OK");
    else if (is(command, "ROLE", 1)) say_role(server, out);
    else if (is(command, "COMMAND", 1)) say_commands(out);
    else if (is(command, "TIME", 1)) say_time(server, out);
    else if (is(command, "SENTINEL", 3)) say_primary(out);
    else return false;
    return true;
}

static bool say_of_keys(struct server *server, const struct resp_command *command, struct bytes *out)
{
    if (is(command, "ZADD", 4)) {
        enter(server, command, out);
    } else if (is(command, "ZREMRANGEBYSCORE", 4)) {
        const uint64_t more = watch_is_planted("forgets-soon") ? 55 : 0; /* all but the last 5 s */
        keys_leave(server->keys, number_of(command->argument[3]) + more);
        resp_integer(out, 0);
    } else if (is(command, "ZREM", 3)) {
        resp_integer(out, keys_take_out(server->keys, command->argument[2].bytes, command->argument[2].size));
    } else if (is(command, "ZCARD", 2)) {
        resp_integer(out, server->keys->members);
    } else if (is(command, "ZCOUNT", 4)) {
        const struct slice above = command->argument[2]; /* "(7" */
        resp_integer(out, keys_count(server->keys, number_of(slice_from(above, 1))));
    } else if (is(command, "EXPIRE", 3)) {
        resp_integer(out, 1);
    } else if (is(command, "SET", 4)) {
        set_once(server, command, out);
    } else if (is(command, "GET", 2)) {
        say_value(server, command, out);
    } else {
        return false;
    }
    return true;
}

/* The judge reads what was asked, and what was answered, as they are on the wire. */
static bool say_of_module(struct server *server, const struct resp_command *command, struct bytes *out)
{
    const size_t before = out->size;
    if (!module_host_run(command->argument, command->count, server->keys, now_us(server), out)) return false;
    judge_executed(command, slice_from(bytes_slice(out), before));
    return true;
}

static void execute(struct server *server, const struct resp_command *command, struct bytes *out)
{
    if (server->loading_until > world_now() && !is(command, "CLIENT", 1) && !is(command, "ROLE", 1) &&
        !is(command, "COMMAND", 1)) {
        resp_error(out, slice_of("LOADING Redis is loading the dataset in memory"));
        return;
    }
    if (say_plain(server, command, out)) return;
    if (server->is_replica) {
        resp_error(out, slice_of("READONLY You can't write against a read only replica."));
        return;
    }
    if (!say_of_keys(server, command, out) && !say_of_module(server, command, out))
        resp_error(out, slice_of("ERR unknown command"));
}

size_t redis_hear(unsigned number, unsigned wire, const char *bytes, size_t size)
{
    struct bytes out = {.memory = out_memory, .capacity = OUT_SIZE};
    struct resp_command command;
    const char *problem;
    size_t taken = 0;
    while (taken < size) {
        const enum resp_result result = resp_read((struct slice){bytes + taken, size - taken}, &command, &problem);
        if (result == RESP_MORE) break;
        if (result != RESP_COMMAND) abort();
        taken += command.size;
        if (command.count != 0) execute(&servers[number], &command, &out);
    }
    if (out.full) abort();
    wires_answer(wire, out.memory, out.size);
    return taken;
}

/* ---- faults ---- */

void redis_stall(unsigned server, uint64_t until)
{
    servers[server].stalled_until = until;
}

void redis_step_clock(unsigned server, int64_t us)
{
    servers[server].stepped_us += us;
}

static void on_up(uint64_t number, uint64_t other)
{
    (void)other;
    servers[number].up = true;
    servers[number].loading_until = world_now() + world_below(LOADING);
}

void redis_crash(unsigned number, uint64_t until, bool told, uint64_t lost_ns, bool empty)
{
    struct server *server = &servers[number];
    server->up = false;
    server->says_no = told;
    wires_lose_server(number, told);
    if (empty) keys_clear(server->keys);
    else keys_go_back(server->keys, world_now() - lost_ns);
    world_at(until, on_up, number, 0);
}

static void on_demoted(uint64_t number, uint64_t other)
{
    (void)other;
    servers[number].is_replica = true;
    wires_lose_server((unsigned)number, true);
    split = false;
    judge_split(false);
}

void redis_fail_over(uint64_t lag_ns, uint64_t split_until)
{
    const unsigned old = primary;
    struct server *next = &servers[1 - old];
    const int64_t ahead_us = next->stepped_us - servers[old].stepped_us;
    if (ahead_us > 0) judge_step((uint64_t)ahead_us * US);
    memcpy(next->keys, servers[old].keys, sizeof *next->keys);
    keys_go_back(next->keys, world_now() - lag_ns);
    next->is_replica = false;
    primary = 1 - old;
    split = true;
    judge_split(true);
    world_at(split_until, on_demoted, old, 0);
}
