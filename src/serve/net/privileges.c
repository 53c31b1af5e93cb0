/* SPDX-License-Identifier: MIT
   Becoming less than one was.

   All of it or an error; no program that is started later can be more. */
#include "serve/net/privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

struct identity {
    uid_t user;
    gid_t group;
};

static bool fail(char problem[LISTEN_PROBLEM_MAX], const char *what, const char *name, const char *why)
{
    snprintf(problem, LISTEN_PROBLEM_MAX, "%s \"%s\": %s", what, name, why);
    return false;
}

static bool find(const char *user, const char *group, struct identity *identity, char problem[LISTEN_PROBLEM_MAX])
{
    *identity = (struct identity){geteuid(), getegid()};
    if (user != NULL) {
        const struct passwd *found = getpwnam(user); /* NOLINT(concurrency-mt-unsafe): no other thread is there yet */
        if (found == NULL) return fail(problem, "user", user, "no such user; expected one of /etc/passwd");
        *identity = (struct identity){found->pw_uid, found->pw_gid};
    }
    if (group != NULL) {
        const struct group *found = getgrnam(group); /* NOLINT(concurrency-mt-unsafe): the same */
        if (found == NULL) return fail(problem, "group", group, "no such group; expected one of /etc/group");
        identity->group = found->gr_gid;
    }
    return true;
}

static bool become(const char *user, struct identity identity)
{
    if (geteuid() != 0) return identity.user == geteuid() && identity.group == getegid();
    const int groups = user != NULL ? initgroups(user, identity.group) : setgroups(0, NULL);
    return groups == 0 && setgid(identity.group) == 0 && setuid(identity.user) == 0;
}

bool privileges_drop(const char *user, const char *group, const struct listener *listeners, unsigned count,
                     char problem[LISTEN_PROBLEM_MAX])
{
    struct identity identity;
    const char *name = user != NULL ? user : group;
    if (name != NULL) {
        if (!find(user, group, &identity, problem)) return false;
        for (unsigned i = 0; i < count; i++) {
            if (geteuid() == 0 && !listen_give(&listeners[i], identity.user, identity.group)) {
                return fail(problem, "the socket cannot be given to", name, strerror(errno));
            }
        }
        if (!become(user, identity)) return fail(problem, "cannot become", name, "only root can");
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return true;
}

bool privileges_look(const char *user, const char *group, char problem[LISTEN_PROBLEM_MAX])
{
    struct identity identity;
    return find(user, group, &identity, problem);
}

void privileges_raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
