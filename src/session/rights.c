/* SPDX-License-Identifier: BSD-3-Clause */
/* The rights that a trace keeps. */
#include <string.h>

#include "base/privilege.h"
#include "session/state.h"

/* A program that traces with libspoortracer goes on with other things, and a script that may run commands runs them with
 * the rights of spoor. */
static bool keeps_all(const struct session *session)
{
    return session->options.is_embedded || session->options.is_unsafe;
}

static void keep(struct session *session, unsigned uses)
{
    const int error = privilege_keep(uses | (session->kernel ? PRIVILEGE_TRACE : 0) |
                                     (session->options.command ? PRIVILEGE_COMMAND : 0));
    if (error && !session->options.no_warnings)
        session_report(session, "WARNING: privileges that are not needed any more cannot be given up: %s\n",
                       strerror(-error));
}

void rights_to_read(struct session *session)
{
    if (!keeps_all(session))
        keep(session, PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES);
}

int rights_settle(struct session *session)
{
    const struct session_options *options = &session->options;
    const struct action_table *actions = &session->actions;
    unsigned uses = (options->rotate_bytes ? PRIVILEGE_OPEN_FILES : 0) |
                    (options->keep_files ? PRIVILEGE_REMOVE_FILES : 0) |
                    (options->makes_files ? PRIVILEGE_OPEN_FILES | PRIVILEGE_REMOVE_FILES : 0);
    for (size_t i = 0; i < actions->count; i++)
        if (actions->items[i].builtin && actions->items[i].builtin->flags & BUILTIN_MAKES_FILES)
            uses |= PRIVILEGE_OPEN_FILES;
    if (!keeps_all(session))
        keep(session, uses);
    return 0;
}
