/* SPDX-License-Identifier: BSD-3-Clause */
/* uprobes and uretprobes at places in one file. Checks every place before the kernel sees it, because the
 * kernel says little about bad places, and nothing at all while no process runs the file: then a probe on
 * what is no probeable instruction is accepted and never fires. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel_error.h"
#include "base/open_foreign.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/elf/elf.h"
#include "sym/kernel/tracefs.h"

struct uprobe_file {
    int fd;
    uint64_t size;
    const char *path;    /* as the user gave it, for messages */
    char for_kernel[64]; /* a path that leads to the descriptor, and so to the file that was examined */
};

static const struct uprobe_site *uprobe_site_of(const struct attach_strategy *strategy, size_t site)
{
    return &((const struct uprobe_site *)strategy->sites)[site];
}

static void uprobe_spec(const struct attach_strategy *strategy, size_t index, struct text *out)
{
    const struct uprobe_file *file = strategy->state;
    const struct uprobe_site *site = uprobe_site_of(strategy, index);
    text_printf(out, "%s:0x%llx", file->for_kernel, (unsigned long long)site->offset);
    if (site->semaphore)
        text_printf(out, "(0x%llx)", (unsigned long long)site->semaphore);
}

static uint64_t uprobe_cookie(const struct attach_strategy *strategy, size_t site)
{
    return uprobe_site_of(strategy, site)->cookie;
}

static int uprobe_open(const struct attach_strategy *strategy, size_t index)
{
    enum { SEMAPHORE_SHIFT = 32 };
    const struct uprobe_file *file = strategy->state;
    const struct uprobe_site *site = uprobe_site_of(strategy, index);
    int type = features_event_source("uprobe");
    if (type < 0)
        return type;
    if (site->semaphore > UINT32_MAX)
        return -ERANGE; /* the field has 32 bits */
    if (trace_events_stuck(strategy->kernel))
        return -EDEADLK;
    struct perf_event_attr event = {
        .type = (uint32_t)type,
        .size = sizeof event,
        .config = (strategy->is_return ? 1 : 0) | site->semaphore << SEMAPHORE_SHIFT,
        .sample_period = 1,
        .wakeup_events = 1,
        .disabled = 1,
    };
    event.config1 = (uintptr_t)file->for_kernel;
    event.config2 = site->offset;
    return syscall_perf_event_open(&event, strategy->pid > 0 ? strategy->pid : -1,
                                   strategy->pid > 0 ? -1 : (int)strategy->kernel->online[0]);
}

static int uprobe_multi(const struct attach_strategy *strategy, size_t first, size_t count)
{
    const struct uprobe_file *file = strategy->state;
    uint64_t *words = calloc(count, 3 * sizeof *words);
    if (!words)
        return -ENOMEM;
    uint64_t *offsets = words, *semaphores = words + count, *cookies = words + 2 * count, any_semaphore = 0;
    for (size_t i = 0; i < count; i++) {
        const struct uprobe_site *site = uprobe_site_of(strategy, first + i);
        offsets[i] = site->offset;
        semaphores[i] = site->semaphore;
        cookies[i] = site->cookie;
        any_semaphore |= site->semaphore;
    }
    struct link_create link = {.program = (uint32_t)strategy->program->fd,
                               .attach_type = ATTACH_UPROBE_MULTI};
    link.uprobe_multi.path = (uintptr_t)file->for_kernel;
    link.uprobe_multi.offsets = (uintptr_t)offsets;
    link.uprobe_multi.semaphores = any_semaphore ? (uintptr_t)semaphores : 0;
    link.uprobe_multi.cookies = (uintptr_t)cookies;
    link.uprobe_multi.count = (uint32_t)count;
    link.uprobe_multi.flags = strategy->is_return ? LINK_UPROBE_MULTI_RETURN : 0;
    link.uprobe_multi.pid = strategy->pid > 0 ? (uint32_t)strategy->pid : 0;
    int fd = syscall_link_create(&link);
    free(words);
    return fd;
}

#if defined(__x86_64__)
/* What the kernel refuses to single-step out of line, in all its versions. NULL: nothing known against it. */
static const char *uprobe_refused(const uint8_t *code, size_t length)
{
    static const struct {
        uint8_t first, last;
        const char *what;
    } opcodes[] = {
        {0x6c, 0x6f, "port input and output"}, {0xcc, 0xcc, "a breakpoint"},
        {0xcd, 0xcd, "a software interrupt"},  {0xcf, 0xcf, "a return from interrupt"},
        {0xe4, 0xe7, "port input and output"}, {0xec, 0xef, "port input and output"},
        {0xf1, 0xf1, "a breakpoint"},          {0xf4, 0xf4, "a halt"},
        {0xfa, 0xfb, "an interrupt flag"},
    };
    size_t i = 0;
    bool has_segment = false;
    for (; i < length; i++) {
        uint8_t byte = code[i];
        if (byte == 0xf0)
            return "a locked instruction";
        if (byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e)
            has_segment = true;
        else if (byte != 0x66 && byte != 0x67 && byte != 0xf2 && byte != 0xf3 && byte != 0x64 && byte != 0x65)
            break;
    }
    if (i < length && (code[i] & 0xf0) == 0x40)
        i++; /* a REX prefix */
    if (i >= length)
        return NULL;
    bool is_long_nop = i + 1 < length && code[i] == 0x0f && code[i + 1] == 0x1f;
    if (has_segment && !is_long_nop) /* newer kernels take the long nop */
        return "an instruction with a segment prefix";
    if (i + 1 < length && code[i] == 0x0f && code[i + 1] == 0x05)
        return "a system call";
    for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++)
        if (code[i] >= opcodes[k].first && code[i] <= opcodes[k].last)
            return opcodes[k].what;
    return NULL;
}
#else
static const char *uprobe_refused(const uint8_t *code, size_t length)
{
    (void)code;
    (void)length;
    return NULL;
}
#endif

static const char *uprobe_site_name(const struct uprobe_site *site, char buffer[32])
{
    if (site->name)
        return site->name;
    snprintf(buffer, 32, "0x%llx", (unsigned long long)site->offset);
    return buffer;
}

/* *left_out: why the site, which a pattern found, takes no uprobe; else unchanged. */
static int uprobe_check(const struct attach_request *request, const struct uprobe_file *file,
                        const struct uprobe_site *site, const char **left_out)
{
    char buffer[32];
    const char *name = uprobe_site_name(site, buffer);
    uint8_t code[16];
    ssize_t length = site->offset < file->size ? pread(file->fd, code, sizeof code, (off_t)site->offset) : 0;
    if (length <= 0) {
        diagnose_error(request->diagnostics, request->span,
                       "%s: %s is at offset 0x%llx, but %s has only 0x%llx "
                       "bytes",
                       request->name, name, (unsigned long long)site->offset, file->path,
                       (unsigned long long)file->size);
        return -EINVAL;
    }
    if (site->semaphore && (file->size < 2 || site->semaphore > file->size - 2)) {
        diagnose_error(request->diagnostics, request->span, "%s: the semaphore of %s lies outside of %s",
                       request->name, name, file->path);
        diagnose_hint(request->diagnostics,
                      "The file's USDT note is damaged, or the file was stripped wrongly.");
        return -EINVAL;
    }
    const char *what = uprobe_refused(code, (size_t)length);
    if (what && site->is_found) {
        *left_out = what;
        return 0;
    }
    if (what) {
        diagnose_error(request->diagnostics, request->span, "%s: no uprobe can stand at %s: there is %s",
                       request->name, name, what);
        diagnose_hint(request->diagnostics,
                      "Probe another place of the function. An offset must be that of an "
                      "instruction's first byte.");
        return -EOPNOTSUPP;
    }
    return 0;
}

static int uprobe_file_open(struct uprobe_file *file, const struct attach_request *request, const char *path)
{
    struct stat status;
    *file = (struct uprobe_file){.path = path};
    file->fd = foreign_open(path);
    int error = file->fd < 0 ? file->fd : fstat(file->fd, &status) ? -errno : 0;
    if (foreign_is_not_regular(error))
        error = -EINVAL;
    if (!error && request->origin)
        error = elf_origin_check(request->origin, file->fd);
    if (error == -ESTALE) {
        diagnose_error(request->diagnostics, request->span,
                       "%s: %s was changed, or another file took its place, since its symbols were read",
                       request->name, path);
        diagnose_hint(request->diagnostics, "run it again when the file stays as it is");
    } else if (error) {
        diagnose_error(request->diagnostics, request->span, "%s: %s cannot be probed: %s", request->name,
                       path, error == -EINVAL ? "not a regular file" : strerror(-error));
    }
    if (error) {
        if (file->fd >= 0)
            close(file->fd);
        return error;
    }
    file->size = (uint64_t)status.st_size;
    snprintf(file->for_kernel, sizeof file->for_kernel, "/proc/self/fd/%d", file->fd);
    return 0;
}

static void uprobe_explain(const struct attach_request *request, const struct uprobe_file *file,
                           const struct uprobe_site *bad, pid_t pid, int error)
{
    char buffer[32];
    if (error == -EINTR)
        return;
    if (error == -ESRCH && pid > 0 && kill(pid, 0) && errno == ESRCH) {
        diagnose_error(request->diagnostics, request->span, "%s: there is no process %d", request->name,
                       (int)pid);
    } else if (bad && error == -ENOTSUPP) {
        diagnose_error(
            request->diagnostics, request->span,
            "%s: no uprobe can stand at %s (offset 0x%llx): the kernel cannot step its instruction",
            request->name, uprobe_site_name(bad, buffer), (unsigned long long)bad->offset);
        diagnose_hint(request->diagnostics, "Probe another place of the function.");
    } else if (bad && bad->semaphore && error == -EINVAL) {
        diagnose_error(
            request->diagnostics, request->span,
            "%s: the kernel refuses %s (offset 0x%llx): somebody else probes the same place without "
            "its semaphore or with another one",
            request->name, uprobe_site_name(bad, buffer), (unsigned long long)bad->offset);
        diagnose_hint(request->diagnostics, "Stop the other tracer first.");
    } else if (bad) {
        diagnose_error(request->diagnostics, request->span,
                       "%s: the kernel refuses a uprobe at %s (offset "
                       "0x%llx): %s",
                       request->name, uprobe_site_name(bad, buffer), (unsigned long long)bad->offset,
                       tracefs_problem(error));
    } else if (error == -EPERM || error == -EACCES) {
        permission_explain(request->diagnostics, request->span, request->name);
    } else if (error == -EOPNOTSUPP) {
        diagnose_error(request->diagnostics, request->span, "%s: this kernel has no uprobes", request->name);
    } else {
        diagnose_error(request->diagnostics, request->span, "%s cannot be attached in %s: %s", request->name,
                       file->path, tracefs_problem(error));
    }
}

/* Sites at which a uprobe can stand, to `good`. 0, or -errno with a diagnostic. */
static int uprobe_choose(const struct attach_request *request, const struct uprobe_file *file,
                         const struct uprobe_site *sites, size_t count, struct uprobe_site *good,
                         size_t *good_count)
{
    const char *why = NULL, *example = NULL;
    char buffer[32];
    *good_count = 0;
    for (size_t i = 0; i < count; i++) {
        const char *what = NULL;
        int error = uprobe_check(request, file, &sites[i], &what);
        if (!error && i % 1024 == 1023)
            error = attach_progress(request, i, count);
        if (error)
            return error;
        if (!what) {
            good[(*good_count)++] = sites[i];
        } else if (!why) {
            why = what;
            example = uprobe_site_name(&sites[i], buffer);
        }
    }
    if (*good_count < count)
        diagnose_warning(request->diagnostics, request->span,
                         "%zu of %zu places take no uprobe and are left out, such as %s: there is %s",
                         count - *good_count, count, example, why);
    return 0;
}

int kernel_attach_uprobes(struct kernel *kernel, const struct attach_request *request, const char *path,
                          const struct uprobe_site *sites, size_t count, bool is_return, pid_t pid)
{
    const struct kernel_program *program = attach_program(kernel, request);
    if (!program)
        return -EINVAL;
    struct uprobe_file file;
    int error = uprobe_file_open(&file, request, path);
    if (error)
        return error;
    struct uprobe_site *good = malloc((count + 1) * sizeof *good);
    error = good ? uprobe_choose(request, &file, sites, count, good, &count) : -ENOMEM;
    if (!error && count) {
        bool use_multi =
            program->expected_attach_type == ATTACH_UPROBE_MULTI && kernel->host.features.uprobe_multi;
        struct attach_strategy strategy = {
            .kernel = kernel,
            .request = request,
            .program = program,
            .sites = good,
            .count = count,
            .pid = pid,
            .is_return = is_return,
            .where = path,
            .spec = uprobe_spec,
            .cookie = uprobe_cookie,
            .open = uprobe_open,
            .multi = use_multi ? uprobe_multi : NULL,
            .state = &file,
        };
        size_t bad;
        error = attach_sites(&strategy, &bad);
        if (error)
            uprobe_explain(request, &file, bad < count ? &good[bad] : NULL, pid, error);
    }
    free(good);
    close(file.fd);
    return error;
}
