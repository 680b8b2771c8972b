/* SPDX-License-Identifier: BSD-3-Clause */
/* Who runs the command of -c, and with what: no more than that user has. */
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

/* That of --user, by name or number; else who called sudo; else we. Before the fork: it reads files. */
int command_user_choose(struct session *session, struct command_user *user);
/* In the child; 0 or an errno. What cannot be given up is an error: the command never runs with more than it
 * shall have. What we have by our caller's favour (ambient capabilities) is ours alone. Another user gets none
 * of the descriptors either, and no rights that it did not have: neither from us nor, unless the options say
 * so, from programs that it executes. */
int command_user_become(const struct command_user *user);
/* When the program is one that asks for rights that it will not get. */
void command_user_warn(struct session *session, const struct command_user *user, const char *program);

#endif
