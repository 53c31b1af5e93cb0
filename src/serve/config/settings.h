/* SPDX-License-Identifier: MIT
   What the command line, the environment and the file say, as one.

   See settings.c. */
#ifndef WEIR_SERVE_CONFIG_SETTINGS_H
#define WEIR_SERVE_CONFIG_SETTINGS_H

#include "serve/server.h"

enum { SETTINGS_PROBLEM_MAX = 1024 };

struct settings {
    struct config config; /* of the file; empty where there is none */
    char *text;           /* the file; owned; NULL: none */
    size_t size;
    bool open_to_others;     /* others than its user and group may read it */
    const char *resp, *http; /* addresses or "none"; NULL: not said */
    const char *state;
    struct access_secrets password, admin; /* the environment's goes before the file's */
    unsigned threads;
};

/* false: problem is a whole line, with the file and the place in it. */
bool settings_read(struct settings *settings, const struct server_options *options, char problem[SETTINGS_PROBLEM_MAX]);
void settings_free(struct settings *settings);

/* The limits of the file, and its engine; empty where there is none.  NULL: see problem. */
struct policy *settings_policy(const struct settings *settings, const struct server_options *options,
                               struct service *service, char problem[SETTINGS_PROBLEM_MAX]);

/* Is there a password, or may a public address do without? */
bool settings_may_be_public(const struct settings *settings);

/* Who may do what, where is_public says whether others than this machine reach the service. */
void settings_access(const struct settings *settings, bool is_public, struct access *access);

struct tables_options settings_tables(const struct settings *settings);

/* What is otherwise than before although only a restart changes it: "listen, table"; empty: nothing. */
void settings_restart(const struct settings *before, const struct settings *now, char names[200]);

#endif
