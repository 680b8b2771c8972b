/* SPDX-License-Identifier: BSD-3-Clause */
/* What `spoor doctor` looks at on every machine: rights, and what the kernel has, hides and forbids. */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/doctor.h"
#include "reader/relation.h"
#include "sym/dwarf/dwarf.h"
#include "sym/elf/debug_file.h"
#include "sym/instruction.h"
#include "sym/kernel/kallsyms.h"
#include "sym/kernel/tracefs.h"

/* Reads a small file of the kernel, without the newline at its end; "" if it cannot be read. */
static const char *read_line(struct doctor *doctor, const char *path)
{
    struct text text = {0};
    const int error = command_read_text(path, &text);
    const char *line =
        error ? "" : arena_copy(&doctor->arena, text_string(&text), strcspn(text_string(&text), "\n"));
    text_free(&text);
    return line;
}

/* ---- rights ---- */

/* Lists the rights that are missing, and what takes them. Returns how many there are. */
static size_t list_missing(const struct doctor *doctor, bool is_needed, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < KERNEL_RIGHTS; i++) {
        const struct kernel_right *right = &doctor->permission.rights[i];
        if (!right->has && right->is_needed == is_needed)
            text_printf(out, "%s%s (%s)", count++ ? ", " : "", right->name, right->use);
    }
    return count;
}

static void advise_rights(struct doctor *doctor)
{
    const char *program = doctor->program;
    doctor_advise(doctor, "sudo %s …", program);
    doctor_advise(doctor,
                  "for one program, as you: sudo setpriv --reuid=%u --regid=%u --init-groups "
                  "--inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon %s …",
                  getuid(), getgid(), program);
    doctor_advise(doctor, "for all who may execute the file: sudo setcap cap_bpf,cap_perfmon=ep %s", program);
}

static void check_privileges(struct doctor *doctor, void *thing)
{
    struct text missing = {0};
    (void)thing;
    if (!doctor->permission.is_enough) {
        list_missing(doctor, true, &missing);
        doctor_find(doctor, DOCTOR_PROBLEM, "user %u lacks %s", geteuid(), text_string(&missing));
        advise_rights(doctor);
    } else if (doctor->kernel_error == -EPERM || doctor->kernel_error == -EACCES) {
        doctor_repeat(doctor, &doctor->diagnostics);
    } else if (list_missing(doctor, false, &missing)) {
        doctor_find(doctor, DOCTOR_WARNING, "user %u can trace, but lacks %s", geteuid(),
                    text_string(&missing));
        doctor_advise(doctor, "sudo %s …", doctor->program);
    } else {
        doctor_find(doctor, DOCTOR_OK, "user %u has all that tracing takes", geteuid());
    }
    text_free(&missing);
}

static void check_lockdown(struct doctor *doctor, void *thing)
{
    const char *lockdown = doctor->permission.lockdown;
    (void)thing;
    if (!strcmp(lockdown, "confidentiality")) {
        doctor_find(
            doctor, DOCTOR_PROBLEM,
            "confidentiality: the kernel's memory is not read, and there are no tracepoints and kprobes");
        doctor_advise(doctor, "boot without lockdown=confidentiality; uprobe, usdt and rawtracepoint work");
    } else if (!strcmp(lockdown, "integrity")) {
        doctor_find(doctor, DOCTOR_WARNING, "integrity: write_user() and override() are forbidden");
        doctor_advise(doctor, "boot without secure boot, or without lockdown=integrity");
    } else {
        doctor_find(doctor, DOCTOR_OK, "%s",
                    *lockdown ? lockdown : "the kernel does not say that it is locked down");
    }
}

/* Settings that the rights of tracing stand above: for who has none they are one more refusal. */
static void check_setting(struct doctor *doctor, const char *path, const char *means)
{
    const char *value = read_line(doctor, path);
    if (!*value)
        doctor_find(doctor, DOCTOR_OK, "this kernel has no such setting");
    else if (doctor->permission.is_enough || *value == '-' || !strcmp(value, "0"))
        doctor_find(doctor, DOCTOR_OK, "%s%s", value,
                    doctor->permission.is_enough ? ": it does not concern who may trace" : "");
    else
        doctor_find(doctor, DOCTOR_WARNING, "%s: %s", value, means);
}

static void check_unprivileged_bpf(struct doctor *doctor, void *thing)
{
    (void)thing;
    check_setting(doctor, "/proc/sys/kernel/unprivileged_bpf_disabled",
                  "bpf(2) takes CAP_BPF; with 0, tracing would take it all the same");
}

static void check_perf_paranoid(struct doctor *doctor, void *thing)
{
    (void)thing;
    check_setting(doctor, "/proc/sys/kernel/perf_event_paranoid",
                  "events take CAP_PERFMON; with another value, tracing would take it all the same");
}

static void check_memlock(struct doctor *doctor, void *thing)
{
    struct utsname system;
    struct rlimit limit;
    unsigned major = 0, minor = 0;
    (void)thing;
    /* The kernel does not say how it counts, and there is nothing to be tried: more maps would be needed than fit. */
    if (uname(&system) || sscanf(system.release, "%u.%u", &major, &minor) != 2 || major > 5 ||
        (major == 5 && minor >= 11) || getrlimit(RLIMIT_MEMLOCK, &limit))
        return;
    if (limit.rlim_max == RLIM_INFINITY || geteuid() == 0) {
        doctor_find(doctor, DOCTOR_OK, "maps count as locked memory, and the limit can be raised");
        return;
    }
    doctor_find(doctor, DOCTOR_WARNING, "maps count as locked memory, of which %llu KiB are allowed",
                (unsigned long long)limit.rlim_max >> 10);
    doctor_advise(doctor, "as root: ulimit -l unlimited; or a line `* - memlock unlimited` in "
                          "/etc/security/limits.conf");
}

/* ---- the kernel ---- */

static void check_kernel(struct doctor *doctor, void *thing)
{
    struct utsname system;
    const int error = doctor->kernel_error;
    (void)thing;
    if (uname(&system))
        return;
    if (error && error != -EPERM && error != -EACCES)
        doctor_repeat(doctor, &doctor->diagnostics);
    else
        doctor_find(doctor, DOCTOR_OK, "%s %s %s", system.sysname, system.release, system.machine);
}

static void find_missing(void *state, const char *name, const char *what, const char *why,
                         const char *follows)
{
    const bool has_fallback = !strncmp(follows, "instead", strlen("instead"));
    doctor_find(state, has_fallback ? DOCTOR_OK : DOCTOR_WARNING, "no %s (%s): %s; %s", name, what, why,
                follows);
}

static void check_features(struct doctor *doctor, void *thing)
{
    const size_t before = doctor->count;
    (void)thing;
    if (!doctor->kernel) {
        doctor_find(doctor, DOCTOR_WARNING, "what the kernel can do is found by trying, which takes rights");
        doctor_advise(doctor, "sudo %s doctor", doctor->program);
        return;
    }
    kernel_each_missing(doctor->kernel, find_missing, doctor);
    if (doctor->count == before)
        doctor_find(doctor, DOCTOR_OK, "the kernel has all that spoor uses");
}

static void check_btf(struct doctor *doctor, void *thing)
{
    (void)thing;
    if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
        doctor_find(doctor, DOCTOR_OK, "the kernel describes its types in /sys/kernel/btf/vmlinux");
        return;
    }
    doctor_find(
        doctor, DOCTOR_WARNING,
        "/sys/kernel/btf/vmlinux: %s; fentry and iter do not work, and structs of the kernel are unknown",
        strerror(errno));
    doctor_advise(doctor, "a kernel with CONFIG_DEBUG_INFO_BTF, as distributions have them; or define the "
                          "structs in the script");
}

/* Says how a user without rights over files may read tracefs, which belongs to root as it is mounted. */
static void advise_tracefs(struct doctor *doctor, int error)
{
    struct statfs status;
    const bool is_mounted =
        !statfs("/sys/kernel/tracing", &status) && (unsigned long)status.f_type == TRACEFS_MAGIC;
    if (error != -EACCES && error != -EPERM) {
        doctor_advise(doctor, "%s", tracefs_remedy(error));
        return;
    }
    doctor_advise(doctor, "sudo %s …", doctor->program);
    doctor_advise(doctor, "for your group: sudo mount %s,gid=%u,mode=750 %s/sys/kernel/tracing",
                  is_mounted ? "-o remount" : "-t tracefs -o rw", getgid(), is_mounted ? "" : "tracefs ");
}

static void check_tracefs(struct doctor *doctor, void *thing)
{
    struct tracefs *tracefs;
    char path[4096], link[64];
    uint32_t id;
    (void)thing;
    int error = tracefs_open(&tracefs);
    if (error) {
        doctor_find(doctor, DOCTOR_PROBLEM, "cannot be read: %s; no tracepoints", tracefs_problem(error));
        advise_tracefs(doctor, error);
        return;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", tracefs_directory(tracefs));
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    error = tracefs_event_id(tracefs, "sched", "sched_switch", &id);
    tracefs_close(tracefs);
    if (error) {
        doctor_find(doctor, DOCTOR_PROBLEM, "%s is there, but its events cannot be read: %s", path,
                    tracefs_problem(error));
        advise_tracefs(doctor, error);
    } else if (strlen(path) <= 1) {
        doctor_find(doctor, DOCTOR_OK, "it is mounted nowhere; spoor mounts it for itself while it runs");
    } else {
        doctor_find(doctor, DOCTOR_OK, "%s can be read", path);
    }
}

static void check_kernel_symbols(struct doctor *doctor, void *thing)
{
    const char *restricts = read_line(doctor, "/proc/sys/kernel/kptr_restrict");
    struct kallsyms *kallsyms;
    uint64_t address;
    (void)thing;
    int error = kallsyms_open(NULL, &kallsyms);
    if (!error) {
        error = kallsyms_address(kallsyms, "schedule", &address);
        kallsyms_close(kallsyms);
    }
    if (!error) {
        doctor_find(doctor, DOCTOR_OK, "names have addresses (kptr_restrict is %s)",
                    *restricts ? restricts : "unknown");
        return;
    }
    doctor_find(doctor, DOCTOR_WARNING, "%s (kptr_restrict is %s): kernel stacks are numbers",
                error == -EPERM ? "the kernel hides the addresses of its functions" : strerror(-error),
                *restricts ? restricts : "unknown");
    if (!strcmp(restricts, "2"))
        doctor_advise(doctor, "sudo sysctl kernel.kptr_restrict=1");
    else
        doctor_advise(doctor, "CAP_SYSLOG, which root has");
}

/* ---- what spoor uses besides ---- */

/* Advises to install a library, if the program could open one: without a loader, which would have a base address, it is
 * linked statically. */
static void advise_library(struct doctor *doctor, const char *packages)
{
    const bool is_static = !getauxval(AT_BASE);
    doctor_advise(doctor, "%s",
                  is_static ? "this program is linked statically and loads no libraries" : packages);
}

static void check_libraries(struct doctor *doctor, void *thing)
{
    const char *version = dwfl_version(NULL);
    (void)thing;
    doctor_find(doctor, DOCTOR_OK, "elfutils %s reads debug information",
                version ? version : "of unknown version");
    if (debug_data_is_readable()) {
        doctor_find(doctor, DOCTOR_OK, "liblzma unpacks the symbols in .gnu_debugdata");
    } else {
        doctor_find(doctor, DOCTOR_WARNING,
                    "liblzma.so.5 is not there: the symbols in .gnu_debugdata are not read");
        advise_library(doctor, "Debian: apt install liblzma5; Fedora: dnf install xz-libs");
    }
    if (machine_here() == MACHINE_X86_64 && instruction_has_decoder(MACHINE_X86_64)) {
        doctor_find(doctor, DOCTOR_OK, "libcapstone tells where instructions begin");
    } else if (machine_here() == MACHINE_X86_64) {
        doctor_find(doctor, DOCTOR_WARNING,
                    "libcapstone is not there: uprobes inside of functions need --unsafe");
        advise_library(doctor, "Debian: apt install libcapstone-dev; Fedora: dnf install capstone");
    }
    instruction_end();
    switch (dwarf_servers()) {
    case DWARF_SERVERS_NONE:
        doctor_find(doctor, DOCTOR_OK, "no server is asked for debug information: DEBUGINFOD_URLS is empty");
        break;
    case DWARF_SERVERS_ASKED:
        doctor_find(doctor, DOCTOR_OK, "servers are asked for debug information: %s",
                    getenv("DEBUGINFOD_URLS"));
        break;
    case DWARF_SERVERS_UNREACHABLE:
        doctor_find(doctor, DOCTOR_WARNING,
                    "libdebuginfod.so.1 is not there: the servers of DEBUGINFOD_URLS are not asked");
        advise_library(doctor,
                       "Debian: apt install libdebuginfod1; Fedora: dnf install elfutils-debuginfod-client");
        break;
    }
}

static void check_clock(struct doctor *doctor, void *thing)
{
    const char *source =
        read_line(doctor, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const char *refusal = relation_machine_refusal();
    (void)thing;
    if (!refusal) {
        doctor_find(doctor, DOCTOR_OK, "%s, steady and fast", *source ? source : "of unknown source");
        return;
    }
    doctor_find(doctor, DOCTOR_WARNING,
                "%s: %s; events take longer, and SPDK's recordings are not set beside the boot clock",
                *source ? source : "of unknown source", refusal);
    doctor_advise(
        doctor, "dmesg | grep -i clocksource says why; tsc=reliable on the kernel's command line trusts it");
}

static const struct doctor_check machine_checks[] = {
    {"privileges", check_privileges},
    {"kernel", check_kernel},
    {"lockdown", check_lockdown},
    {"unprivileged bpf", check_unprivileged_bpf},
    {"perf_event_paranoid", check_perf_paranoid},
    {"memlock", check_memlock},
    {"tracefs", check_tracefs},
    {"BTF", check_btf},
    {"kernel symbols", check_kernel_symbols},
    {"features", check_features},
    {"libraries", check_libraries},
    {"clock", check_clock},
    {NULL, NULL},
};

void doctor_machine(struct doctor *doctor)
{
    kernel_permission(&doctor->permission);
    if (doctor->permission.is_enough)
        doctor->kernel_error = kernel_open(NULL, &doctor->diagnostics, &doctor->kernel);
    doctor_examine(doctor, "this machine", machine_checks, NULL);
}
