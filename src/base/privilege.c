/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/call_filter.h"
#include "base/rights.h"

/* Newer than some headers. */
enum { OWN_CAP_PERFMON = 38, OWN_CAP_BPF = 39, OWN_CAP_CHECKPOINT_RESTORE = 40 };

#define BIT(capability) (UINT64_C(1) << (capability))
static const uint64_t for_reading = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH);
static const uint64_t for_tracing =
    BIT(OWN_CAP_BPF) | BIT(OWN_CAP_PERFMON) | BIT(CAP_SYS_RESOURCE) |
    BIT(CAP_IPC_LOCK) |                                 /* memory of maps, for older kernels */
    BIT(OWN_CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYSLOG) | /* map_files, addresses of the kernel */
    BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL);  /* readers are another user: sandbox.h */
static const uint64_t for_command = BIT(CAP_KILL);
static const uint64_t for_opening = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN);
static const uint64_t for_removing = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER);

static int keep_capabilities(uint64_t wanted)
{
    if (wanted & BIT(OWN_CAP_BPF) &&
        prctl(PR_CAPBSET_READ, OWN_CAP_BPF) < 0) /* a kernel without that capability needs this one */
        wanted |= BIT(CAP_SYS_ADMIN);
    /* comes first, because it needs a capability that rights_keep() gives up */
    const int error = rights_bound(wanted);
    const int kept = rights_keep(wanted);
    return error ? error : kept;
}

static const uint32_t refused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_writev,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_swapon,
    SYS_swapoff,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_acct,
    SYS_quotactl,
    SYS_personality,
    SYS_open_by_handle_at,
    SYS_mknodat,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
#ifdef SYS_userfaultfd
    SYS_userfaultfd,
#endif
#ifdef SYS_move_mount
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
    SYS_io_uring_enter,
#endif
};

static int refuse_calls(void)
{
    struct call_filter filter;
    call_filter_begin(&filter);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        call_filter_refuse(&filter, refused[i], EPERM);
    return call_filter_install(&filter, 0);
}

int privilege_keep(unsigned uses)
{
    const int error = keep_capabilities(for_reading | (uses & PRIVILEGE_TRACE ? for_tracing : 0) |
                                        (uses & PRIVILEGE_OPEN_FILES ? for_opening : 0) |
                                        (uses & PRIVILEGE_REMOVE_FILES ? for_removing : 0) |
                                        (uses & PRIVILEGE_COMMAND ? for_command : 0));
    const int refusal = refuse_calls();
    return error ? error : refusal;
}
