/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel/syscalls.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/state.h"

/* A signal that arrives while the verifier works makes the kernel answer EAGAIN; a program that takes long
 * and a timer signal could meet again and again. */
enum { LOAD_ATTEMPTS = 10 };

static uint64_t address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Thousands of probes take thousands of descriptors; what is usual allows 1024, what is permitted far more.
 */
bool syscall_more_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return !setrlimit(RLIMIT_NOFILE, &limit);
}

/* Kernels before 5.11 charge maps and programs as locked memory, of the user and not of the process: what
 * others hold, and what was freed a moment ago, counts too. So any of these may be the one that meets the
 * limit. */
static bool more_locked_memory(int command)
{
    struct rlimit limit, all = {RLIM_INFINITY, RLIM_INFINITY};
    if ((command != BPF_MAP_CREATE && command != BPF_PROG_LOAD && command != BPF_BTF_LOAD) ||
        getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY || !permission_is_enough())
        return false;
    if (!setrlimit(RLIMIT_MEMLOCK, &all))
        return true;
    if (limit.rlim_cur == limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return !setrlimit(RLIMIT_MEMLOCK, &limit);
}

static long bpf(int command, void *attributes, size_t size)
{
    long answer = syscall(SYS_bpf, command, attributes, size);
    int error = answer < 0 ? errno : 0;
    if ((error == EMFILE && syscall_more_descriptors()) || (error == EPERM && more_locked_memory(command))) {
        answer = syscall(SYS_bpf, command, attributes, size);
        error = answer < 0 ? errno : 0;
    }
    return error ? -error : answer;
}

int syscall_bpf(enum bpf_cmd command, union bpf_attr *attributes, size_t size)
{
    return (int)bpf((int)command, attributes, size);
}

int syscall_load_btf(void *blob, size_t size, size_t names_size)
{
    struct btf_header header = {
        .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof header, .str_len = (uint32_t)names_size};
    header.str_off = header.type_len = (uint32_t)(size - sizeof header - names_size);
    memcpy(blob, &header, sizeof header);
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.btf = address(blob);
    attributes.btf_size = (uint32_t)size;
    return syscall_bpf(BPF_BTF_LOAD, &attributes, sizeof attributes);
}

int syscall_perf_event_open(struct perf_event_attr *attributes, pid_t pid, int cpu)
{
    long answer = syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (answer < 0 && errno == EMFILE && syscall_more_descriptors())
        answer = syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return answer < 0 ? -errno : (int)answer;
}

int syscall_program_load(union bpf_attr *attributes)
{
    int answer = -EAGAIN;
    for (int i = 0; i < LOAD_ATTEMPTS && (answer == -EAGAIN || answer == -EINTR); i++)
        answer = syscall_bpf(BPF_PROG_LOAD, attributes, sizeof *attributes);
    return answer;
}

int syscall_link_create(const struct link_create *link)
{
    struct link_create copy = *link;
    return (int)bpf(BPF_LINK_CREATE, &copy, sizeof copy);
}

int syscall_map_update(int map, const void *key, const void *value, uint64_t flags)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_fd = (uint32_t)map;
    attributes.key = address(key);
    attributes.value = address(value);
    attributes.flags = flags;
    return syscall_bpf(BPF_MAP_UPDATE_ELEM, &attributes, sizeof attributes);
}

int syscall_map_lookup(int map, const void *key, void *value)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_fd = (uint32_t)map;
    attributes.key = address(key);
    attributes.value = address(value);
    return syscall_bpf(BPF_MAP_LOOKUP_ELEM, &attributes, sizeof attributes);
}

int syscall_map_delete(int map, const void *key)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_fd = (uint32_t)map;
    attributes.key = address(key);
    return syscall_bpf(BPF_MAP_DELETE_ELEM, &attributes, sizeof attributes);
}

int syscall_map_next_key(int map, const void *key, void *next)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_fd = (uint32_t)map;
    attributes.key = address(key);
    attributes.next_key = address(next);
    return syscall_bpf(BPF_MAP_GET_NEXT_KEY, &attributes, sizeof attributes);
}

int syscall_object_info(int fd, void *info, uint32_t size)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.info.bpf_fd = (uint32_t)fd;
    attributes.info.info_len = size;
    attributes.info.info = address(info);
    return syscall_bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes, sizeof attributes);
}
