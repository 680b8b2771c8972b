/* SPDX-License-Identifier: BSD-3-Clause */
/* See command_user.h. */
#include "session/command_user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/create.h"
#include "base/number.h"
#include "base/open_foreign.h"
#include "base/rights.h"
#include "session/state.h"
#include "sym/process/library.h"

static const char *keep(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

int command_user_choose(struct session *session, struct command_user *user)
{
    const char *wanted = session->options.command_user;
    struct passwd *entry = NULL;
    *user = (struct command_user){.new_privileges = session->options.new_privileges};
    if (wanted) {
        uint64_t number;
        const bool is_number = decimal_parse(wanted, &number) && number < (uid_t)-1;
        if (!(entry = getpwnam(wanted)) && is_number)
            entry = getpwuid((uid_t)number);
        if (!entry) {
            diagnose_error(&session->diagnostics, (struct span){0}, "--user: there is no user '%s'", wanted);
            return -ENOENT;
        }
        user->uid = entry->pw_uid;
        user->gid = entry->pw_gid;
        user->is_other = user->uid != geteuid();
    } else if (create_invoker(&user->uid, &user->gid)) {
        entry = getpwuid(user->uid);
        user->is_other = true;
    }
    if (entry) {
        user->name = keep(&session->arena, entry->pw_name);
        user->home = keep(&session->arena, entry->pw_dir);
        user->shell = keep(&session->arena, entry->pw_shell);
    }
    return 0;
}

int command_user_become(const struct command_user *user)
{
    int error = rights_keep(RIGHTS_ALL);
    if (error || !user->is_other)
        return -error;
    rights_close_from(STDERR_FILENO + 1);
    if (!user->new_privileges && ((error = rights_bound(0)) || (error = rights_fix())))
        return -error;
    if ((user->name ? initgroups(user->name, user->gid) : setgroups(0, NULL)) || setgid(user->gid) ||
        setuid(user->uid))
        return errno;
    if (user->uid && !setuid(0))
        return EPERM; /* cannot be */
    if (user->name && (setenv("USER", user->name, 1) || setenv("LOGNAME", user->name, 1)))
        return errno;
    if ((user->home && setenv("HOME", user->home, 1)) || (user->shell && setenv("SHELL", user->shell, 1)))
        return errno;
    return 0;
}

void command_user_warn(struct session *session, const struct command_user *user, const char *program)
{
    struct text path = {0};
    struct stat status;
    bool is_set = false, has_capabilities = false;
    if (!user->is_other || user->new_privileges || executable_find(program, &path))
        return;
    if (!foreign_status(text_string(&path), &status))
        is_set = status.st_mode & S_ISUID;
    has_capabilities = getxattr(text_string(&path), "security.capability", NULL, 0) > 0;
    if (is_set || has_capabilities) {
        diagnose_warning(&session->diagnostics, (struct span){0},
                         "'%s' %s, which a command that runs as another user does not get", program,
                         is_set ? "is set-user-ID" : "has capabilities");
        diagnose_hint(&session->diagnostics, "--new-privileges lets it");
    }
    text_free(&path);
}
