/* SPDX-License-Identifier: BSD-3-Clause */
/* kprobes and kretprobes at functions of the kernel and its modules. A multi link takes functions only; an
 * offset into one, or a place given by address, goes by events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/kernel/tracefs.h"
#include "sym/machine/machine.h"

static const struct kprobe_site *kprobe_site_of(const struct attach_strategy *strategy, size_t site)
{
    return &((const struct kprobe_site *)strategy->sites)[site];
}

/* "[MODULE:]SYMBOL[+OFFSET]" or an address: what tracefs and messages want. */
static void kprobe_text(const struct kprobe_site *site, struct text *out)
{
    if (!site->symbol) {
        text_printf(out, "0x%llx", (unsigned long long)site->offset);
        return;
    }
    if (site->module && *site->module)
        text_printf(out, "%s:", site->module);
    text_add(out, site->symbol);
    if (site->offset)
        text_printf(out, "+%llu", (unsigned long long)site->offset);
}

static void kprobe_spec(const struct attach_strategy *strategy, size_t site, struct text *out)
{
    kprobe_text(kprobe_site_of(strategy, site), out);
}

static uint64_t kprobe_cookie(const struct attach_strategy *strategy, size_t site)
{
    return kprobe_site_of(strategy, site)->cookie;
}

static int kprobe_open(const struct attach_strategy *strategy, size_t index)
{
    const struct kprobe_site *site = kprobe_site_of(strategy, index);
    int type = features_event_source("kprobe");
    if (type < 0)
        return type;
    struct text symbol = {0};
    if (site->symbol) {
        if (site->module && *site->module)
            text_printf(&symbol, "%s:", site->module);
        text_add(&symbol, site->symbol);
        if (symbol.failed) {
            text_free(&symbol);
            return -ENOMEM;
        }
    }
    struct perf_event_attr event = {
        .type = (uint32_t)type,
        .size = sizeof event,
        .config = strategy->is_return ? 1 : 0,
        .sample_period = 1,
        .wakeup_events = 1,
        .disabled = 1,
    };
    event.config1 = site->symbol ? (uintptr_t)symbol.bytes : 0;
    event.config2 = site->offset;
    int fd = trace_events_stuck(strategy->kernel)
                 ? -EDEADLK
                 : syscall_perf_event_open(&event, -1, (int)strategy->kernel->online[0]);
    text_free(&symbol);
    return fd;
}

static int kprobe_multi(const struct attach_strategy *strategy, size_t first, size_t count)
{
    uint64_t *words = calloc(count, 2 * sizeof *words);
    if (!words)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct kprobe_site *site = kprobe_site_of(strategy, first + i);
        words[i] = (uintptr_t)site->symbol;
        words[count + i] = site->cookie;
    }
    struct link_create link = {.program = (uint32_t)strategy->program->fd,
                               .attach_type = ATTACH_KPROBE_MULTI};
    link.kprobe_multi.symbols = (uintptr_t)words;
    link.kprobe_multi.cookies = (uintptr_t)(words + count);
    link.kprobe_multi.count = (uint32_t)count;
    link.kprobe_multi.flags = strategy->is_return ? LINK_KPROBE_MULTI_RETURN : 0;
    int fd = syscall_link_create(&link);
    free(words);
    return fd;
}

static void kprobe_explain(const struct attach_request *request, const struct kprobe_site *bad, int error)
{
    static const struct {
        int error;
        const char *what, *hint;
    } reasons[] = {
        {-ENOENT, "the kernel has no function of that name, or it is in no list of what can be probed",
         "'spoor -l \"kprobe:*NAME*\"' searches the names."},
        {-ESRCH, "the kernel has no function of that name, or it cannot be probed",
         "'spoor -l \"kprobe:*NAME*\"' searches the names."},
        {-EINVAL, "the kernel forbids probes there", "Functions that probes themselves need are excluded."},
        {-EILSEQ, "the offset is not that of an instruction",
         "Offsets are those of instructions' first bytes."},
        {-EADDRNOTAVAIL, "the name stands for several functions", "Give the address instead."},
        {-ERANGE, "the offset lies outside of the function", "Offsets count from the function's first byte."},
        {-EBUSY, "something else has changed the instruction", "Live patching and ftrace do."},
    };
    if (error == -EINTR)
        return;
    /* On arm64 all instructions have 4 bytes, and the kernel does not say that the offset is between two. */
    if (error == -EINVAL && bad && bad->offset % 4 && machine_here() == MACHINE_AARCH64)
        error = -EILSEQ;
    if (error == -EPERM || error == -EACCES) {
        permission_explain(request->diagnostics, request->span, request->name);
        return;
    }
    struct text name = {0};
    if (bad)
        kprobe_text(bad, &name);
    const char *what = tracefs_problem(error), *hint = NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].error == error && bad) {
            what = reasons[i].what;
            hint = reasons[i].hint;
        }
    /* The request is called after its first site; the one that is bad has the same kind. */
    int kind = bad ? (int)strcspn(request->name, ":") + 1 : (int)strlen(request->name);
    diagnose_error(request->diagnostics, request->span, "%.*s%s cannot be attached: %s", kind, request->name,
                   text_string(&name), what);
    if (hint)
        diagnose_hint(request->diagnostics, "%s", hint);
    text_free(&name);
}

/* Sites that the kernel finds by their names, to `chosen`; how many. A link over several takes any of those
 * that share a name. */
static size_t kprobe_choose(const struct attach_request *request, const struct kprobe_site *sites,
                            size_t count, bool is_multi, struct kprobe_site *chosen)
{
    const char *example = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_multi || !sites[i].is_shared)
            chosen[kept++] = sites[i];
        else if (!example)
            example = sites[i].symbol;
    }
    if (example)
        diagnose_warning(request->diagnostics, request->span,
                         "%zu of %zu functions share their names with others and are left out, such as %s",
                         count - kept, count, example);
    return kept;
}

int kernel_attach_kprobes(struct kernel *kernel, const struct attach_request *request,
                          const struct kprobe_site *sites, size_t count, bool is_return)
{
    const struct kernel_program *program = attach_program(kernel, request);
    if (!program)
        return -EINVAL;
    if (!kernel->host.features.kprobe) {
        diagnose_error(request->diagnostics, request->span, "%s: this kernel has no kprobes", request->name);
        diagnose_hint(request->diagnostics,
                      "It was built without CONFIG_KPROBES. Tracepoints and raw tracepoints "
                      "work: 'spoor -l \"tracepoint:*\"' lists them.");
        return -EOPNOTSUPP;
    }
    struct kprobe_site *chosen = malloc((count + 1) * sizeof *chosen);
    if (!chosen)
        return -ENOMEM;
    /* What was loaded for links must not run at an event. */
    bool is_multi =
        program->expected_attach_type == ATTACH_KPROBE_MULTI && kernel->host.features.kprobe_multi;
    count = kprobe_choose(request, sites, count, is_multi, chosen);
    struct attach_strategy strategy = {
        .kernel = kernel,
        .request = request,
        .program = program,
        .sites = chosen,
        .count = count,
        .is_kprobe = true,
        .is_return = is_return,
        .where = "kernel",
        .spec = kprobe_spec,
        .cookie = kprobe_cookie,
        .open = kprobe_open,
        .multi = is_multi ? kprobe_multi : NULL,
    };
    size_t bad;
    int error = count ? attach_sites(&strategy, &bad) : 0;
    if (error)
        kprobe_explain(request, bad < count ? &chosen[bad] : NULL, error);
    free(chosen);
    return error;
}
