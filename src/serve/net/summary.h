/* SPDX-License-Identifier: MIT
   What is served, in words.

   See summary.c. */
#ifndef WEIR_SERVE_NET_SUMMARY_H
#define WEIR_SERVE_NET_SUMMARY_H

#include "serve/net/listen.h"

enum { SUMMARY_MAX = 2048 };

/* "RESP 127.0.0.1:9347 and [::1]:9347, HTTP and page http://127.0.0.1:9348/ and http://[::1]:9348/; limits come with
   each request; state in memory only; tables of 25 MiB, at most 1068 MiB", or "state in redis://127.0.0.1:6379, what is
   not kept there in memory only; ..." */
void summary_of_start(char words[SUMMARY_MAX], const struct listener *listeners, unsigned count, bool tls,
                      struct service *service, const char *file, const char *state);

/* A line for each limit with a name, on stdout. */
void summary_print_limits(struct service *service);

#endif
