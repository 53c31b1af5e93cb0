/* SPDX-License-Identifier: MIT
   Weir.yaml: read strictly, all or nothing.

   See config.c, and parts.h for the files behind it.

       listen:
         resp: localhost:9347        ADDR:PORT, [V6]:PORT, localhost:PORT (127.0.0.1 and ::1), :PORT (all) or none
         http: localhost:9348
         unix: /run/weir/weir.sock
         unix_mode: "0660"
         hosts: [weir.example]       further names that Host: may say
         connections: 10000          open at once
         idle: 5min                  until a silent client is cut
         tls: {certificate: FILE, key: FILE}
         public: without-password    else a public address without a password is refused
       table: {keys: 1000000, state: FILE, when_full: inherit | evict | deny | allow, wide_memory: 256MiB,
               settle: 15min,
               memory: 1GiB}          of all tables together
       password: ...                 or [NEW, OLD], both valid, or
       password_file: FILE           a line for each; refused where anybody on the machine may read it
       admin_password: ...           the same, or admin_password_file: who may change limits and have keys forgotten
       texts: on | off               may requests bring their limit?  Else not where it is public or has an engine
       engine:                       limits are kept in Redis or Valkey, and shared with other servers
         url: redis://10.0.0.5:6379  also rediss, unix, redis+cluster, redis+sentinel: see weir/redis.h
         user: weir                  and password_file: FILE, instead of the URL's
         deadline: 20ms              for each answer
         away: local | open | closed what answers while the engine does not
         nodes: 4                    how many servers share it; else as they are heard
         lease: 100ms | off          busy keys take permits along for so long
         prefix: "weir:"             of keys in the engine
       log: {refused: 10/s}          so many refusals are written to standard output, a line of JSON each
       threads: 2
       user: weir
       group: weir
       limits:
         NAME: LIMIT                 or
         NAME: {limit: LIMIT, key: [PART, ...] | none, keys: 50000, shadow: true | false, exempt: [NETWORK, ...],
                away: local | open | closed, engine: off}
       overrides: {NAME: {KEY: LIMIT, ...}}

   key: fields' names and address, address/V6BITS or address/V4BITS/V6BITS; left out: requests give the key whole; none:
   all requests are counted together.  A file that begins with domain: and descriptors: is one of envoyproxy/ratelimit:
   see envoy.c. */
#ifndef WEIR_SERVE_CONFIG_CONFIG_H
#define WEIR_SERVE_CONFIG_CONFIG_H

#include "serve/engine.h"
#include "serve/policy/access.h"
#include "serve/policy/policy.h"

enum {
    CONFIG_BYTES_MAX = 16 << 20,
    CONFIG_DEPTH_MAX = 32,
    CONFIG_NODES_MAX = 1 << 19,
    CONFIG_PATH_MAX = 256,
    CONFIG_HOSTS_MAX = 32,
    CONFIG_THREADS_MAX = 64
};

/* Owned strings. */
struct config_secrets {
    char *text[ACCESS_SECRETS];
    unsigned count;
};

enum config_texts { CONFIG_TEXTS_UNSAID, CONFIG_TEXTS_ON, CONFIG_TEXTS_OFF };

/* Strings are owned by the config; NULL or 0: not said. */
struct config {
    char *resp, *http,
        *unix_path; /* addresses as written: ADDR:PORT, [V6]:PORT, localhost:PORT, :PORT; "none" switches one off */
    unsigned unix_mode;
    struct config_secrets password; /* or read from password_file when the config is read */
    struct config_secrets admin;    /* the same of admin_password */
    bool password_in_config;        /* one stands in the file itself: worth a warning where others may read that */
    enum config_texts texts;
    char *log_refused;               /* the text of a limit: so many refusals are logged */
    char *tls_certificate, *tls_key; /* files */
    char *user, *group;              /* to become once the sockets are there */
    bool public_without_password;    /* listen: {public: without-password} */
    char *hosts[CONFIG_HOSTS_MAX];   /* further names that Host: may say */
    unsigned host_count;
    uint64_t connections_max; /* 0 = 10,000 */
    uint64_t idle_ns;         /* 0 = 5 min */
    unsigned threads;
    uint64_t keys_max, wide_bytes, memory, settle_ns; /* 0: as in tables.h */
    char *state;
    weir_when_full when_full;
    struct engine_settings engine; /* url NULL: none */
    struct policy *policy;         /* NULL where it was only asked for the rest */
};

/* What is wrong, as "FILE:LINE:COLUMN: where.in.it: what was expected, such as...". */
struct config_problem {
    unsigned line, column; /* from 1; columns count characters; 0: of the file as a whole */
    char message[512];     /* without file, line and column; printable */
};

/* Where names get their numbers: the same name the same number for as long as the service runs. */
typedef unsigned (*config_number)(void *context, const char *name);

/* Two steps, since the tables are made from what the first one says.  Both read the whole text, and say the same of a
   wrong one.  config_read: all but the policy; false leaves nothing to free.  config_policy: the policy, with limits
   that fit the tables, and that the engine keeps where it is not NULL; number NULL: all are 0.  NULL: see problem. */
bool config_read(struct slice text, struct config *config, struct config_problem *problem);
struct policy *config_policy(struct slice text, struct tables *tables, struct engine *engine, config_number number,
                             void *context, struct config_problem *problem);
void config_free(struct config *config);

#endif
