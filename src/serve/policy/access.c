/* SPDX-License-Identifier: MIT
   Who may do what: passwords and free texts.

   How long a comparison takes does not tell how far a password is right, nor which of them was meant. */
#include "serve/policy/access.h"

/* Looks at as many bytes as were given, and at each of them. */
static unsigned is_secret(const char secret[ACCESS_SECRET_MAX + 1], struct slice given)
{
    const size_t size = strlen(secret);
    unsigned differ = (size != given.size) | (size == 0);
    for (size_t i = 0; i < given.size; i++) {
        const char byte = secret[i % (ACCESS_SECRET_MAX + 1)];
        differ |= (unsigned)(byte ^ given.bytes[i]);
    }
    return differ == 0;
}

static unsigned is_one_of(const struct access_secrets *secrets, struct slice given)
{
    unsigned is = 0;
    for (unsigned i = 0; i < ACCESS_SECRETS; i++) is |= is_secret(secrets->text[i], given);
    return is;
}

enum access_role access_role(const struct access *access, struct slice given)
{
    const unsigned client = is_one_of(&access->password, given), admin = is_one_of(&access->admin, given);
    if (admin != 0) return ACCESS_ADMIN;
    return client != 0 ? ACCESS_CLIENT : ACCESS_NOBODY;
}

const char *access_no_texts(const struct access *access)
{
    static const char *const why[] = {
        [ACCESS_TEXTS_ON] = NULL,
        [ACCESS_TEXTS_OFF] = "weir.yaml says texts: off; ask by a limit's name",
        [ACCESS_TEXTS_PUBLIC] =
            "an address of this service is public, so only limits with a name are answered; texts: on "
            "in weir.yaml allows others",
        [ACCESS_TEXTS_ENGINE] = "limits are kept in an engine, so only those with a name are answered; texts: on in "
                                "weir.yaml allows others",
    };
    return why[access->texts];
}
