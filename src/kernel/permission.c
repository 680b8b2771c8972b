/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains why the kernel refuses something, in terms that the user can act on: capabilities, lockdown, the limit
 * on locked memory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/whole.h"
#include "kernel/state.h"

enum { HAS_PERFMON = 38, HAS_BPF = 39 }; /* numbers of CAP_PERFMON and CAP_BPF, which older headers lack */

static uint64_t permission_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data))
        return 0;
    return data[0].effective | (uint64_t)data[1].effective << 32;
}

static bool permission_has(uint64_t capabilities, int capability)
{
    return capabilities & 1ULL << capability;
}

bool permission_is_enough(void)
{
    uint64_t have = permission_capabilities();
    return permission_has(have, CAP_SYS_ADMIN) ||
           (permission_has(have, HAS_BPF) && permission_has(have, HAS_PERFMON));
}

static bool permission_in_user_namespace(void)
{
    char text[64];
    return whole_read_short("/proc/self/uid_map", text, sizeof text) > 0 && !strstr(text, "4294967295");
}

/* "none", "integrity", "confidentiality"; "" where it cannot be read. */
static void permission_lockdown(char *mode, size_t size)
{
    char text[128];
    mode[0] = 0;
    whole_read_short("/sys/kernel/security/lockdown", text, sizeof text);
    const char *begin = strchr(text, '[');
    const char *end = begin ? strchr(begin, ']') : NULL;
    if (end && (size_t)(end - begin) < size) {
        memcpy(mode, begin + 1, (size_t)(end - begin - 1));
        mode[end - begin - 1] = 0;
    }
}

void kernel_permission(struct kernel_permission *out)
{
    static const struct {
        const char *name, *use;
        int number;
        bool is_needed, is_of_admin; /* is_of_admin: CAP_SYS_ADMIN stands for it */
    } table[KERNEL_RIGHTS] = {
        {"CAP_BPF", "loading programs", HAS_BPF, true, true},
        {"CAP_PERFMON", "attaching them, and reading memory", HAS_PERFMON, true, true},
        {"CAP_SYS_PTRACE", "other users' programs by -p, and names in their stacks", CAP_SYS_PTRACE, false,
         false},
        {"CAP_SYSLOG", "names in kernel stacks", CAP_SYSLOG, false, false},
    };
    const uint64_t have = permission_capabilities();
    *out = (struct kernel_permission){.is_enough = permission_is_enough(),
                                      .in_user_namespace = permission_in_user_namespace()};
    permission_lockdown(out->lockdown, sizeof out->lockdown);
    for (size_t i = 0; i < KERNEL_RIGHTS; i++)
        out->rights[i] = (struct kernel_right){
            .name = table[i].name,
            .use = table[i].use,
            .is_needed = table[i].is_needed,
            .has = permission_has(have, table[i].number) ||
                   (table[i].is_of_admin && permission_has(have, CAP_SYS_ADMIN)),
        };
}

void permission_explain(struct diagnostics *diagnostics, struct span span, const char *what)
{
    uint64_t have = permission_capabilities();
    char lockdown[32];
    permission_lockdown(lockdown, sizeof lockdown);
    if (!permission_is_enough()) {
        diagnose_error(diagnostics, span,
                       "%s needs the capabilities CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN", what);
        if (!permission_has(have, HAS_BPF) && permission_has(have, HAS_PERFMON))
            diagnose_hint(diagnostics, "CAP_BPF is missing. Run it as root.");
        else if (permission_has(have, HAS_BPF))
            diagnose_hint(diagnostics, "CAP_PERFMON is missing. Run it as root.");
        else
            diagnose_hint(diagnostics, "Run it as root.");
        return;
    }
    struct rlimit limit;
    diagnose_error(diagnostics, span, "%s: the kernel does not permit it", what);
    if (!strcmp(lockdown, "confidentiality"))
        diagnose_hint(diagnostics,
                      "The kernel is locked down (confidentiality): it lets nobody read its memory. "
                      "Lockdown is set on the kernel's command line or by secure boot.");
    else if (permission_in_user_namespace())
        diagnose_hint(diagnostics,
                      "This is root of a user namespace only (a container?). Run it as root of the "
                      "machine, or give the container CAP_BPF and CAP_PERFMON.");
    else if (!strcmp(lockdown, "integrity"))
        diagnose_hint(diagnostics,
                      "The kernel is locked down (integrity), which forbids some kinds of probes.");
    else if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
        diagnose_hint(diagnostics,
                      "Kernels before 5.11 count maps as locked memory: try 'ulimit -l unlimited'. "
                      "Otherwise a security module or a container forbids bpf(2).");
    else
        diagnose_hint(diagnostics, "A security module, a container or a locked-down kernel forbids it.");
}

bool permission_is_locked_down(const char *mode)
{
    char lockdown[32];
    permission_lockdown(lockdown, sizeof lockdown);
    return !strcmp(lockdown, mode);
}

void permission_reason(struct text *out)
{
    uint64_t have = permission_capabilities();
    char lockdown[32];
    permission_lockdown(lockdown, sizeof lockdown);
    if (!permission_is_enough())
        text_printf(out, "it takes the capability %s%s%s", permission_has(have, HAS_BPF) ? "" : "CAP_BPF",
                    permission_has(have, HAS_BPF) || permission_has(have, HAS_PERFMON) ? "" : " and ",
                    permission_has(have, HAS_PERFMON) ? "" : "CAP_PERFMON");
    else if (lockdown[0] && strcmp(lockdown, "none") != 0)
        text_printf(out, "the kernel is locked down (%s)", lockdown);
    else if (permission_in_user_namespace())
        text_add(out, "this is root of a user namespace only");
    else
        text_add(out, "the kernel does not permit it: lockdown, a security module or a container");
}

void permission_describe(struct text *out)
{
    uint64_t have = permission_capabilities();
    char lockdown[32];
    permission_lockdown(lockdown, sizeof lockdown);
    text_printf(out, "  %-20s CAP_BPF %s, CAP_PERFMON %s, CAP_SYS_ADMIN %s\n", "capabilities",
                permission_has(have, HAS_BPF) ? "yes" : "no",
                permission_has(have, HAS_PERFMON) ? "yes" : "no",
                permission_has(have, CAP_SYS_ADMIN) ? "yes" : "no");
    text_printf(out, "  %-20s %s\n", "lockdown", lockdown[0] ? lockdown : "unknown");
}
