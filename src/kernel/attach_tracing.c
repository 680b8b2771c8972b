/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaches programs that were loaded for their place by its BTF id: at functions (fentry, fexit), where attaching
 * only activates them, and iterators, which run when a process reads their file. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel_error.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/kernel/tracefs.h"

enum { READ_BYTES = 4096, WALK_CHILDREN = 1 /* a cgroup and all below it */ };

int kernel_attach_function(struct kernel *kernel, const struct attach_request *request)
{
    const struct kernel_program *program = attach_program(kernel, request);
    if (!program)
        return -EINVAL;
    int error = attach_raw(kernel, program, NULL, request->name);
    if (error == -EPERM) {
        permission_explain(request->diagnostics, request->span, request->name);
    } else if (error == -EBUSY || error == -E2BIG) {
        diagnose_error(request->diagnostics, request->span,
                       error == -EBUSY ? "%s: something else has changed the function's first instruction"
                                       : "%s: too many programs are attached to this function already",
                       request->name);
        diagnose_hint(request->diagnostics, "A kprobe at the same function works.");
    } else if (error == -ENOTSUPP) {
        diagnose_error(
            request->diagnostics, request->span,
            "%s cannot be attached: on this machine the kernel has no way to call programs from functions",
            request->name);
        diagnose_hint(request->diagnostics, "A kprobe at the same function works.");
    } else if (error) {
        diagnose_error(request->diagnostics, request->span, "%s cannot be attached: %s", request->name,
                       tracefs_problem(error));
    }
    return error;
}

/* ---- iterators ---- */

/* What union bpf_iter_link_info has since Linux 6.1. */
union iterator_information {
    struct {
        uint32_t order, cgroup;
        uint64_t cgroup_id;
    } cgroup;
    struct {
        uint32_t thread, process, pidfd;
    } task;
};

static int iterator_link(const struct kernel_program *program, const char *target, pid_t pid)
{
    union iterator_information information;
    memset(&information, 0, sizeof information);
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.link_create.prog_fd = (uint32_t)program->fd;
    attributes.link_create.attach_type = BPF_TRACE_ITER;
    if (pid)
        information.task.process = (uint32_t)pid;
    if (!strcmp(target, "cgroup"))
        information.cgroup.order = WALK_CHILDREN;
    if (pid || information.cgroup.order) {
        attributes.link_create.iter_info = (uintptr_t)&information;
        attributes.link_create.iter_info_len = sizeof information;
    }
    return syscall_bpf(BPF_LINK_CREATE, &attributes, sizeof attributes);
}

static int iterator_pin(int link, const char *path)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.pathname = (uintptr_t)path;
    attributes.bpf_fd = (uint32_t)link;
    return syscall_bpf(BPF_OBJ_PIN, &attributes, sizeof attributes);
}

static int iterator_open(int link)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.iter_create.link_fd = (uint32_t)link;
    return syscall_bpf(BPF_ITER_CREATE, &attributes, sizeof attributes);
}

static void iterator_explain(const struct attach_request *request, pid_t pid, const char *pin, int error)
{
    if (error == -EPERM || error == -EACCES) {
        permission_explain(request->diagnostics, request->span, request->name);
    } else if (error == -EEXIST && pin) {
        diagnose_error(request->diagnostics, request->span, "%s: '%s' exists already", request->name, pin);
        diagnose_hint(request->diagnostics, "`rm %s` removes what was pinned there", pin);
    } else if (error == -ENOENT && pin) {
        diagnose_error(request->diagnostics, request->span, "%s: there is no directory for '%s'",
                       request->name, pin);
        diagnose_hint(request->diagnostics, "BPF's file system is mounted by `mount -t bpf bpf /sys/fs/bpf`");
    } else if (error == -ESRCH) {
        diagnose_error(request->diagnostics, request->span, "%s: there is no process %d", request->name,
                       (int)pid);
    } else if ((error == -EINVAL || error == -E2BIG) && pid) {
        diagnose_error(request->diagnostics, request->span,
                       "%s cannot be limited to a process by this kernel", request->name);
        diagnose_hint(request->diagnostics, "leave -p out, and compare in a predicate");
    } else {
        diagnose_error(request->diagnostics, request->span, "%s cannot be attached: %s", request->name,
                       tracefs_problem(error));
    }
}

int kernel_attach_iterator(struct kernel *kernel, const struct attach_request *request, const char *target,
                           pid_t pid, const char *pin)
{
    const struct kernel_program *program = attach_program(kernel, request);
    if (!program)
        return -EINVAL;
    if (pid && strncmp(target, "task", 4) != 0) {
        diagnose_error(request->diagnostics, request->span,
                       "%s walks over things that belong to no process: -p cannot limit it", request->name);
        return -EINVAL;
    }
    struct attachment *attachment = attachment_new(kernel);
    if (!attachment)
        return -ENOMEM;
    int link = iterator_link(program, target, pid);
    int error = link < 0 ? link : 0;
    if (!error && pin) {
        error = iterator_pin(link, pin);
    } else if (!error) {
        int walk = iterator_open(link);
        error = walk < 0 ? walk : attachment_add(attachment, walk);
        attachment->is_iterator = !error;
    }
    if (link >= 0) {
        int added = attachment_add(attachment, link);
        error = error ? error : added;
    }
    attachment_describe(attachment, "%s%s%s", request->name, pin ? " pinned at " : "", pin ? pin : "");
    if (error)
        iterator_explain(request, pid, pin, error);
    return error;
}

int kernel_walk(struct kernel *kernel)
{
    char bytes[READ_BYTES]; /* stays empty: the block sends what it prints through the ring */
    for (size_t i = 0; i < kernel->attachment_count; i++) {
        if (!kernel->attachments[i].is_iterator)
            continue;
        ssize_t got;
        do
            got = read(kernel->attachments[i].fds[0], bytes, sizeof bytes);
        while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
        if (got < 0)
            return -errno;
    }
    return 0;
}
