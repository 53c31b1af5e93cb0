/* SPDX-License-Identifier: MIT
   Addresses to sockets that listen.

   See listen.c. */
#ifndef WEIR_SERVE_NET_LISTEN_H
#define WEIR_SERVE_NET_LISTEN_H

#include <stdint.h>

#include "serve/batch.h"

enum { LISTENERS_MAX = SERVICE_ADDRESSES_MAX, LISTEN_TEXT_MAX = 160, LISTEN_PROBLEM_MAX = 400 };

struct listener {
    enum session_protocol protocol;
    bool local;                 /* a Unix socket */
    bool is_public;             /* others than this machine may reach it */
    bool inherited;             /* from systemd */
    char text[LISTEN_TEXT_MAX]; /* the address, as bound */
    int descriptor[SERVICE_WORKERS_MAX];
    unsigned count;         /* 1: all workers have the same */
    uint64_t device, inode; /* of a Unix socket's file */
};

/* address: ADDR:PORT, [V6]:PORT, localhost:PORT, :PORT, PORT, unix:PATH or a PATH from "/".  localhost, which is also
   what PORT alone means, is 127.0.0.1 and, where the system has it, ::1: a listener each, with the same port.  What
   systemd has handed over already is left out.  A socket for each worker where the system can spread connections over
   them.  unix_mode 0: 0660.  *count grows; false: it stays, and problem says what was expected or why it cannot be. */
bool listen_open(struct listener listeners[LISTENERS_MAX], unsigned *count, const char *address,
                 enum session_protocol protocol, unsigned workers, unsigned unix_mode,
                 char problem[LISTEN_PROBLEM_MAX]);

/* Would listen_open understand it, and could others than this machine reach it?  Opens nothing. */
bool listen_look(const char *address, bool *is_public, char problem[LISTEN_PROBLEM_MAX]);

/* Those that systemd hands over (LISTEN_FDS), named resp, http or unix; *count grows. */
bool listen_inherit(struct listener listeners[LISTENERS_MAX], unsigned *count, char problem[LISTEN_PROBLEM_MAX]);

/* In words. */
static inline const char *listener_protocol(const struct listener *listener)
{
    return listener->protocol == SESSION_HTTP ? "HTTP" : "RESP";
}

/* No new connections; a Unix socket's file goes, if it is still ours. */
void listen_close(struct listener *listener);

/* The file becomes this user's, so that its mode says what it should. */
bool listen_give(const struct listener *listener, unsigned user, unsigned group);

#endif
