/* SPDX-License-Identifier: MIT
   The file, read again.

   See reload.c. */
#ifndef WEIR_SERVE_CONFIG_RELOAD_H
#define WEIR_SERVE_CONFIG_RELOAD_H

#include <stdio.h>

#include "serve/config/settings.h"
#include "serve/net/tls.h"

/* What tells one version of a file from another. */
struct reload_mark {
    uint64_t device, inode, size, changed_ns;
};

struct reload {
    const struct server_options *options;
    const struct settings *started_with;
    struct service *service;
    struct tls *tls;
    struct reload_mark known, seen; /* what was read; what was there when it was last looked at */
    char words[SETTINGS_PROBLEM_MAX + 100];
};

void reload_open(struct reload *reload, const struct server_options *options, const struct settings *started_with,
                 struct service *service, struct tls *tls);

/* What the limits that have another text now mean for recorded usage, a line each. */
void reload_print_changes(FILE *out, const struct policy *old, const struct policy *policy);

/* Is the file another one, and has it stayed so since it was last looked at?  Whoever writes it is done, then. */
bool reload_wanted(struct reload *reload);

/* All or nothing; what came of it is on stderr, among the events, and in words. */
void reload_now(struct reload *reload);

#endif
