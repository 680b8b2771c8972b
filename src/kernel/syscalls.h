/* SPDX-License-Identifier: BSD-3-Clause */
/* The two system calls behind everything in this folder, and the parts of their interface that older
 * headers lack. No policy, but for two things: a load that a signal interrupted is repeated, and when there
 * are no descriptors left the limit is raised as far as it may be. */
#ifndef SPOOR_KERNEL_SYSCALLS_H
#define SPOOR_KERNEL_SYSCALLS_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Numbers of the kernel's interface that are newer than the oldest headers we build with. */
enum {
    ATTACH_KPROBE_MULTI = 42,
    ATTACH_UPROBE_MULTI = 48,
    LINK_KPROBE_MULTI_RETURN = 1,
    LINK_UPROBE_MULTI_RETURN = 1,
};

/* BPF_LINK_CREATE's argument, uprobe_multi included. */
struct link_create {
    uint32_t program, target, attach_type, flags;
    union {
        struct {
            uint64_t cookie;
        } perf_event;
        struct {
            uint32_t flags, count;
            uint64_t symbols, addresses, cookies;
        } kprobe_multi;
        struct {
            uint64_t path, offsets, semaphores, cookies;
            uint32_t count, flags, pid;
        } uprobe_multi;
    };
};

/* What BPF_OBJ_GET_INFO_BY_FD tells of a link, as far as it is read; zeros are what the kernel does not tell. */
enum { LINK_PERF_EVENT = 7, LINK_KPROBE_MULTI = 8, PERF_EVENT_KPROBE = 3, PERF_EVENT_KRETPROBE = 4 };
struct link_info {
    uint32_t type, id, program;
    union {
        struct {
            uint64_t addresses;
            uint32_t count, flags;
            uint64_t missed, cookies;
        } kprobe_multi;
        struct {
            uint32_t type;
            uint64_t function;
            uint32_t function_length, offset;
            uint64_t address, missed, cookie;
        } kprobe;
    };
};

/* All return a descriptor or 0, or -errno. Descriptors are close-on-exec. */
int syscall_bpf(enum bpf_cmd command, union bpf_attr *attributes, size_t size);
/* Loads type information of `size` bytes: a struct btf_header, which is
 * filled in here, types, and `names_size` bytes of names. */
int syscall_load_btf(void *blob, size_t size, size_t names_size);
int syscall_perf_event_open(struct perf_event_attr *attributes, pid_t pid, int cpu);
/* Whether there may be more descriptors from now on: for what is opened in other ways and meets the limit. */
bool syscall_more_descriptors(void);
/* As syscall_bpf, but again on EAGAIN (the verifier was interrupted by a signal), a few times. */
int syscall_program_load(union bpf_attr *attributes);
int syscall_link_create(const struct link_create *link);
int syscall_map_update(int map, const void *key, const void *value, uint64_t flags);
int syscall_map_lookup(int map, const void *key, void *value);
int syscall_map_delete(int map, const void *key);
int syscall_map_next_key(int map, const void *key, void *next); /* key NULL: the first. -ENOENT: no more */
int syscall_object_info(int fd, void *info, uint32_t size);

#endif
