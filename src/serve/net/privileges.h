/* SPDX-License-Identifier: MIT
   Becoming less than one was.

   See privileges.c. */
#ifndef WEIR_SERVE_NET_PRIVILEGES_H
#define WEIR_SERVE_NET_PRIVILEGES_H

#include "serve/net/listen.h"

/* Becomes user and group (NULL: stays who it is), gives them the files of Unix sockets, and can never be more again.
   false: problem says why. */
bool privileges_drop(const char *user, const char *group, const struct listener *listeners, unsigned count,
                     char problem[LISTEN_PROBLEM_MAX]);

/* Are there such a user and group?  Becomes nothing.  false: problem says which is missing. */
bool privileges_look(const char *user, const char *group, char problem[LISTEN_PROBLEM_MAX]);

/* As many descriptors as the system allows. */
void privileges_raise_descriptors(void);

#endif
