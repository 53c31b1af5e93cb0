/* SPDX-License-Identifier: MIT
   Sockets and threads around the service: libuv's loops, one a worker.

       server.c   reads the file, opens tables and sockets, starts workers, reloads, drains and stops (main thread)
       listen.c   addresses to sockets: TCP with SO_REUSEPORT, Unix with a mode, those that systemd hands over
       worker.c   one loop: accepts, gathers a batch, ends it
       conn.c     one connection: bytes in and out, its limits
       tls.c      the same under TLS (tls_none.c where it is not built in)
       notify.c   what systemd is told */
#ifndef WEIR_SERVE_SERVER_H
#define WEIR_SERVE_SERVER_H

#include "serve/config/config.h"
#include "serve/service.h"

/* What the command line says goes before what the file says; NULL or 0: not said. */
struct server_options {
    const char *file; /* NULL: no file */
    const char *resp, *http, *state;
    const char *against; /* server_check: another file, whose limits were there before; NULL: none */
    unsigned threads;
    uint64_t (*now_ns)(void *clock); /* a test's; NULL: the system's */
    void *clock;
};

/* Reads the file, and says what it means, and what a change from the other one means for recorded usage; or what is
   wrong with either, on stderr, as FILE:LINE:COLUMN: ...  0, or 2. */
int server_check(const struct server_options *options);

/* Runs until SIGTERM or SIGINT.  0: stopped when all was answered; 2: trouble, told on stderr.  Ends the
   process with 3, told there, where the state's file was cut off. */
int server_run(const struct server_options *options);

#endif
