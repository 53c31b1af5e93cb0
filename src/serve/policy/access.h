/* SPDX-License-Identifier: MIT
   Who may do what: passwords, of which two may be valid while one follows the other, and free texts.

   See access.c.  A plain value: the service has one, which a reload replaces, and each worker its copy. */
#ifndef WEIR_SERVE_POLICY_ACCESS_H
#define WEIR_SERVE_POLICY_ACCESS_H

#include "format/bytes.h"

enum { ACCESS_SECRETS = 2, ACCESS_SECRET_MAX = 512 };

/* The role that a password gives.  Each may do what those before may. */
enum access_role { ACCESS_NOBODY, ACCESS_CLIENT, ACCESS_ADMIN };

/* Free texts: limits that a client brings with its request. */
enum access_texts { ACCESS_TEXTS_ON, ACCESS_TEXTS_OFF, ACCESS_TEXTS_PUBLIC, ACCESS_TEXTS_ENGINE };

/* "": there is none. */
struct access_secrets {
    char text[ACCESS_SECRETS][ACCESS_SECRET_MAX + 1];
};

/* Zeroed: everything is open. */
struct access {
    struct access_secrets password, admin;
    enum access_texts texts;
};

/* Must a client give a password at all? */
static inline bool access_is_open(const struct access *access)
{
    return access->password.text[0][0] == '\0';
}

static inline bool access_has_admin(const struct access *access)
{
    return access->admin.text[0][0] != '\0';
}

/* In a time that depends on the size of what was given, and on nothing else that it has. */
enum access_role access_role(const struct access *access, struct slice given);

/* Why texts are not allowed, and the line that allows them; NULL: they are. */
const char *access_no_texts(const struct access *access);

#endif
