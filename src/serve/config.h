/* SPDX-License-Identifier: MIT
   config.h - weir.yaml: read strictly, all or nothing.

   See config.c (ours), config_envoy.c (domain / descriptors files of envoyproxy/ratelimit, as they are). */
#ifndef WEIR_SERVE_CONFIG_H
#define WEIR_SERVE_CONFIG_H

#include "serve/policy.h"

enum { CONFIG_BYTES_MAX = 16 << 20, CONFIG_DEPTH_MAX = 32, CONFIG_PATH_MAX = 256, CONFIG_HOSTS_MAX = 32 };

/* Strings are owned by the config; NULL or 0: not said. */
struct config {
    char *resp, *http, *unix_path; /* addresses as written: ADDR:PORT, [V6]:PORT, :PORT; "none" switches one off */
    unsigned unix_mode;
    char *password;                  /* or read from password_file when the config is read */
    char *tls_certificate, *tls_key; /* files */
    char *user, *group;              /* to become once the sockets are there */
    bool public_without_password;    /* "public: yes, without a password" */
    char *hosts[CONFIG_HOSTS_MAX];   /* further names that Host: may say */
    unsigned host_count;
    uint64_t connections_max; /* 0 = 10,000 */
    uint64_t idle_ns;         /* 0 = 5 min */
    unsigned threads;
    uint64_t keys_max, wide_bytes;
    char *state;
    weir_when_full when_full;
    struct policy *policy; /* NULL where it was only asked for the rest */
};

/* What is wrong, as "FILE:LINE:COLUMN: where.in.it: what was expected, such as...". */
struct config_problem {
    unsigned line, column; /* from 1; 0: of the file as a whole */
    char message[512];     /* without file, line and column */
};

/* Where names get their numbers: the same name the same number for as long as the service runs. */
typedef unsigned (*config_number)(void *context, const char *name);

/* Two steps, since the tables are made from what the first one says.  Both read the whole text, and say the same of a
   wrong one.  config_read: all but the policy.  config_policy: the policy, with limits that fit the tables. */
bool config_read(struct slice text, struct config *config, struct config_problem *problem);
struct policy *config_policy(struct slice text, struct tables *tables, config_number number, void *context,
                             struct config_problem *problem);
void config_free(struct config *config);

#endif
