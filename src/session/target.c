/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes are traced: those of -p, the command of -c with --follow, those in the group of --cgroup.
 *
 * One process without --follow is compared with; else there is a set in the kernel, kept by programs of ours
 * (bpf/lower/processes.c). The one for fork is attached before the first processes are put in, so that none
 * of their children is missed; the one for exit after all others, so that a script's probes still see a
 * process's end. A process that ended between the two is taken out here: every number in the set is looked at
 * once. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/state.h"
#include "sym/kernel/btf.h"
#include "sym/process/cgroup.h"
#include "sym/process/proc.h"

struct target_processes {
    int *fds; /* pidfds of -p */
    size_t count;
    uint64_t ends;  /* the count of ended processes in the control page when it was read last */
    bool all_ended; /* the set of processes is empty */
    /* The processes in the set: target_refresh(). */
    pid_t *members;
    size_t member_count, member_room;
};

void target_open(struct session *session)
{
    session->target.processes = arena_new(&session->arena, struct target_processes);
    session->target.child = (struct child){.pidfd = -1, .go = -1, .failed = -1};
}

static int report_process(struct session *session, pid_t pid, int error)
{
    if (error == -ESRCH || error == -EINVAL)
        diagnose_error(&session->diagnostics, (struct span){0}, "there is no process %d", (int)pid);
    else
        diagnose_error(&session->diagnostics, (struct span){0}, "process %d: %s", (int)pid, strerror(-error));
    return error;
}

static int open_processes(struct session *session)
{
    const struct session_options *options = &session->options;
    session->target.processes->fds = arena_array(&session->arena, options->pid_count + 1, sizeof(int));
    for (size_t i = 0; i < options->pid_count; i++) {
        int fd = (int)syscall(SYS_pidfd_open, options->pids[i], 0);
        if (fd < 0)
            return report_process(session, options->pids[i], -errno);
        session->target.processes->fds[session->target.processes->count++] = fd;
    }
    return 0;
}

/* ---- the control group ---- */

struct view { /* a file system as processes of the group see it */
    pid_t pid;
    dev_t device;
    ino_t root, namespace;
};
struct views {
    struct session *session;
    struct view *items;
    size_t count, room;
};

static int add_view(void *state, pid_t pid)
{
    enum { MOST = 64 };
    struct views *views = state;
    char name[64];
    struct stat root, namespace;
    snprintf(name, sizeof name, "/proc/%d/ns/mnt", (int)pid);
    if (stat(name, &namespace))
        return 0;
    snprintf(name, sizeof name, "/proc/%d/root", (int)pid);
    if (stat(name, &root))
        return 0;
    struct view view = {pid, root.st_dev, root.st_ino, namespace.st_ino};
    for (size_t i = 0; i < views->count; i++)
        if (views->items[i].device == view.device && views->items[i].root == view.root &&
            views->items[i].namespace == view.namespace)
            return 0;
    *arena_push(&views->session->arena, views->items, views->count, views->room) = view;
    return views->count == MOST;
}

static int explain_group(struct session *session, const char *word, int error)
{
    struct diagnostics *diagnostics = &session->diagnostics;
    struct span nowhere = {0};
    switch (error) {
    case -EXDEV:
        diagnose_error(diagnostics, nowhere, "--cgroup: '%s' is a control group of version 1", word);
        diagnose_hint(diagnostics,
                      "programs in the kernel know a task's group of version 2: name a directory "
                      "of a cgroup2 file system, see grep cgroup2 /proc/mounts");
        break;
    case -EDOM:
        diagnose_error(diagnostics, nowhere,
                       "--cgroup: process %s is in the root group, and so is every process in no other",
                       word);
        diagnose_hint(diagnostics, "-p %s --follow traces it and what it starts", word);
        break;
    case -ESRCH: diagnose_error(diagnostics, nowhere, "--cgroup: there is no process %s", word); break;
    case -ENODEV:
        diagnose_error(diagnostics, nowhere, "--cgroup: control groups of version 2 are not mounted");
        diagnose_hint(diagnostics, "mount -t cgroup2 none /sys/fs/cgroup/unified");
        break;
    case -EINVAL:
    case -ENOENT:
    case -ENOTDIR:
        diagnose_error(diagnostics, nowhere, "--cgroup: '%s' is not a control group", word);
        diagnose_hint(diagnostics,
                      "give its directory, its path below the mounted hierarchy, or the number of "
                      "a process that is in it");
        break;
    default:
        diagnose_error(diagnostics, nowhere, "--cgroup: '%s' cannot be looked at: %s", word,
                       strerror(-error));
    }
    return error;
}

static int choose_group(struct session *session)
{
    struct cgroup_choice choice;
    struct views views = {.session = session};
    if (!session->environment.features.cgroup_ancestor) {
        diagnose_error(&session->diagnostics, (struct span){0},
                       "--cgroup: programs in this kernel cannot tell in which control groups a task is");
        diagnose_hint(&session->diagnostics, "a predicate can compare one: /cgroup == cgroupid(\"%s\")/",
                      session->options.cgroup);
        return -ENOTSUP;
    }
    int error = cgroup_choose(session->options.cgroup, &choice);
    if (error)
        return explain_group(session, session->options.cgroup, error);
    session->target.filter.cgroup = choice.number;
    session->target.filter.cgroup_level = choice.level;
    session->target.filter.cgroup_levels = choice.levels;
    if (!session->options.pid_count) {
        cgroup_each_process(text_string(&choice.path), add_view, &views);
        pid_t *pids = arena_array(&session->arena, views.count + 1, sizeof *pids);
        for (size_t i = 0; i < views.count; i++)
            pids[i] = views.items[i].pid;
        session->environment.processes = pids;
        session->environment.process_count = views.count;
    }
    text_free(&choice.path);
    return 0;
}

/* ---- offsets that programs need ---- */

static bool offset_of(struct btf_file *btf, const char *type_name, const char *member, uint32_t *offset)
{
    const struct type *type = btf_file_type(btf, type_name);
    struct field field;
    if (!type)
        return false;
    type_complete(type);
    if (!type_find_field(type, member, &field))
        return false;
    *offset = field.offset;
    return true;
}

bool session_member_offsets(struct session *session, const struct session_member *members, size_t count)
{
    struct btf_file *btf = probe_btf(&session->environment);
    for (size_t i = 0; i < count; i++)
        if (!btf || !offset_of(btf, members[i].type, members[i].member, members[i].offset))
            return false;
    return true;
}

static const struct task_offsets *find_offsets(struct session *session)
{
    struct task_offsets *at = arena_new(&session->arena, struct task_offsets);
    const struct session_member members[] = {
        {"struct task_struct", "pid", &at->pid},
        {"struct task_struct", "tgid", &at->tgid},
        {"struct task_struct", "group_leader", &at->group_leader},
        {"struct task_struct", "thread_pid", &at->thread_pid},
        {"struct task_struct", "signal", &at->signal},
        {"struct signal_struct", "live", &at->signal_live},
        {"struct pid", "level", &at->pid_level},
        {"struct pid", "numbers", &at->pid_numbers},
        {"struct upid", "nr", &at->upid_number},
        {"struct upid", "ns", &at->upid_namespace},
    };
    return session_member_offsets(session, members, sizeof members / sizeof *members) ? at : NULL;
}

int target_choose(struct session *session)
{
    const struct session_options *options = &session->options;
    struct process_filter *filter = &session->target.filter;
    bool asks_kernel = session->kernel != NULL;
    filter->pid = options->pid_count == 1 ? (uint32_t)options->pids[0] : 0;
    filter->follows = options->follows;
    filter->has_set = options->follows || options->pid_count > 1;
    filter->has_command = options->command != NULL;
    session->environment.pid = options->pid_count == 1 ? options->pids[0] : 0;
    session->environment.processes = options->pids;
    session->environment.process_count = options->pid_count;
    if (options->follows && !options->pid_count && !options->command) {
        diagnose_error(&session->diagnostics, (struct span){0}, "--follow needs a process to follow");
        diagnose_hint(&session->diagnostics, "name it with -p, or start it with -c");
        return -EINVAL;
    }
    int error = asks_kernel ? open_processes(session) : 0;
    if (!error && options->cgroup)
        error = choose_group(session);
    session->environment.has_filter = filter->has_set || filter->cgroup;
    /* Elsewhere than in the initial namespace also one number is found through the kernel's structs. */
    if (!error && (filter->has_set || (options->pid_count && filter->namespace)))
        filter->task = find_offsets(session);
    if (!error && filter->has_set && !filter->task) {
        diagnose_error(&session->diagnostics, (struct span){0},
                       "following processes needs the kernel's type information, and there is no "
                       "/sys/kernel/btf/vmlinux");
        error = -ENOTSUP;
    }
    return error;
}

bool target_maps_files(const struct session *session)
{
    const struct session_options *options = &session->options;
    return options->pid_count || (options->command && options->follows);
}

void target_each(struct session *session, void (*visit)(struct session *session, pid_t pid))
{
    if (session->target.child.pid)
        visit(session, session->target.child.pid);
    for (size_t i = 0; i < session->options.pid_count; i++)
        visit(session, session->options.pids[i]);
}

void target_descriptors(const struct session *session, int *process, int *child)
{
    const struct target *target = &session->target;
    *process = target->filter.has_set || !target->processes->count ? -1 : target->processes->fds[0];
    *child = target->filter.has_set ? -1 : target->child.pidfd;
}

/* ---- while the trace runs ---- */

static int put(struct session *session, pid_t pid)
{
    const struct host_operations *host = session->host->operations;
    uint64_t key = (uint64_t)pid, value = 0;
    int error = host->map_update(session->host, (size_t)session->image.processes, &key, &value);
    if (error == -E2BIG) {
        diagnose_error(&session->diagnostics, (struct span){0},
                       "there are more processes to trace than max_map_keys, which is %u",
                       session->options.settings.max_map_keys);
        diagnose_hint(&session->diagnostics, "give it room: config = { max_map_keys=N }");
    }
    return error;
}

struct family {
    struct session *session;
    bool grew;
    int error;
};

static bool is_in(struct session *session, pid_t pid)
{
    uint64_t key = (uint64_t)pid, value;
    return !session->host->operations->map_lookup(session->host, (size_t)session->image.processes, &key,
                                                  &value);
}

static int add_child(void *state, pid_t pid)
{
    struct family *family = state;
    pid_t parent = 0;
    if (proc_parent(pid, &parent) || !parent || is_in(family->session, pid) ||
        !is_in(family->session, parent))
        return 0;
    family->grew = true;
    return family->error = put(family->session, pid);
}

static int attach_set_program(struct session *session, enum pid_set_program_kind kind)
{
    const struct pid_set_program *pid_set_body = &session->target.programs[kind];
    struct attach_request request = {
        .program = pid_set_body->program,
        .name = pid_set_body->event,
        .diagnostics = &session->diagnostics,
    };
    return pid_set_body->is_needed && pid_set_body->event
               ? kernel_attach_raw_tracepoint(session->kernel, &request, pid_set_body->event)
               : 0;
}

int target_begin(struct session *session)
{
    const struct session_options *options = &session->options;
    if (session->target.child.pid && !options->pid_count)
        session->environment.pid = session->target.child.pid;
    if (session->target.programs[PID_SET_LOCATE].is_needed) {
        int error =
            session->host->operations->run(session->host, session->target.programs[PID_SET_LOCATE].program);
        if (error)
            return error;
    }
    if (!session->target.filter.has_set)
        return 0;
    int error = attach_set_program(session, PID_SET_FORK);
    for (size_t i = 0; !error && i < options->pid_count; i++)
        error = put(session, options->pids[i]);
    if (!error && session->target.child.pid)
        error = put(session, session->target.child.pid);
    struct family family = {.session = session, .grew = true};
    /* What they had started before. A child may come before its parent: until none is found any more. */
    while (!error && options->follows && family.grew) {
        family.grew = false;
        proc_each(add_child, &family);
        error = family.error;
    }
    return error;
}

static int drop_if_ended(void *state, const uint8_t *key, const uint8_t *value)
{
    struct session *session = state;
    uint64_t pid;
    (void)value;
    memcpy(&pid, key, sizeof pid);
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    struct pollfd ended = {fd, POLLIN, 0};
    if ((fd < 0 && errno == ESRCH) || (fd >= 0 && poll(&ended, 1, 0) == 1))
        session->host->operations->map_delete(session->host, (size_t)session->image.processes, key);
    if (fd >= 0)
        close(fd);
    return 0;
}

static int any(void *state, const uint8_t *key, const uint8_t *value)
{
    (void)state, (void)key, (void)value;
    return 1;
}

static void look_at_all(struct session *session)
{
    const struct host_operations *host = session->host->operations;
    size_t map = (size_t)session->image.processes;
    session->target.processes->all_ended = host->map_each(session->host, map, any, NULL) == 0;
}

int target_attached(struct session *session)
{
    int error = session->target.filter.has_set ? attach_set_program(session, PID_SET_EXIT) : 0;
    if (!error && session->target.filter.has_set) {
        session->host->operations->map_each(session->host, (size_t)session->image.processes, drop_if_ended,
                                            session);
        look_at_all(session);
    }
    return error;
}

static int add_member(void *state, const uint8_t *key, const uint8_t *value)
{
    struct session *session = state;
    struct target_processes *processes = session->target.processes;
    uint64_t pid;
    (void)value;
    memcpy(&pid, key, sizeof pid);
    *arena_push(&session->arena, processes->members, processes->member_count, processes->member_room) =
        (pid_t)pid;
    return 0;
}

bool target_refresh(struct session *session)
{
    struct target_processes *processes = session->target.processes;
    if (!session->target.filter.has_set)
        return true;
    processes->member_count = 0;
    session->host->operations->map_each(session->host, (size_t)session->image.processes, add_member, session);
    session->environment.processes = processes->members;
    session->environment.process_count = processes->member_count;
    return processes->member_count != 0;
}

bool target_has_ended(struct session *session)
{
    const struct image_control *control = session->host->operations->control(session->host);
    if (!session->target.filter.has_set || !control)
        return false;
    uint64_t ends = __atomic_load_n(&control->process_ends, __ATOMIC_ACQUIRE);
    if (ends != session->target.processes->ends) {
        session->target.processes->ends = ends;
        look_at_all(session);
    }
    return session->target.processes->all_ended;
}

void target_close(struct session *session)
{
    struct target_processes *processes = session->target.processes;
    for (size_t i = 0; processes && i < processes->count; i++)
        close(processes->fds[i]);
}
