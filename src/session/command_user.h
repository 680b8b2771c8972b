/* SPDX-License-Identifier: BSD-3-Clause */
/* The user that runs the command of -c, with no more rights than that user has. */
#ifndef SPOOR_SESSION_COMMAND_USER_H
#define SPOOR_SESSION_COMMAND_USER_H

#include <stdbool.h>
#include <sys/types.h>

struct session;

struct command_user {
    bool is_other;
    bool
        new_privileges; /* is_other: set-user-ID programs and those with capabilities get what they ask for */
    uid_t uid;
    gid_t gid;
    const char *name, *home, *shell; /* NULL: the system does not know the user */
};

/* Chooses the user: that of --user, by name or number; else the one who called sudo; else spoor's own. To be called before
 * the fork, since it reads files. Returns 0, or -errno with a diagnostic. */
int command_user_choose(struct session *session, struct command_user *user);
/* Called in the child: becomes that user. Returns 0 or an errno: a right that cannot be given up is an error, since the
 * command never runs with more than it is to have. Ambient capabilities are spoor's alone. Another user gets none of spoor's
 * descriptors either, and no new rights from programs that it executes, unless the options allow it. */
int command_user_become(const struct command_user *user);
/* Warns if the program is set-user-ID or has capabilities, which it will not get. */
void command_user_warn(struct session *session, const struct command_user *user, const char *program);

#endif
