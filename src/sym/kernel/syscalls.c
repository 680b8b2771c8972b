/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls as <asm/unistd.h> numbers them, which the Makefile found out (syscalls.inc: one line SYSCALL(name,
 * number) for each), with the few names that the kernel's tracepoints write differently, and with system calls that
 * are younger than the headers with which spoor is built. Numbers from 424 on are the same on all machines. */
#include "sym/kernel/syscalls.h"

#include <asm/unistd.h>
#include <stddef.h>
#include <string.h>

struct syscall {
    const char *name;
    int number;
};

static const struct syscall syscall_table[] = {
#define SYSCALL(name, number) {#name, number},
#include "syscalls.inc"
#undef SYSCALL
#ifdef __x86_64__
    {"uretprobe", 335},         {"uprobe", 336},
#endif
    {"cachestat", 451},         {"fchmodat2", 452},        {"map_shadow_stack", 453},
    {"futex_wake", 454},        {"futex_wait", 455},       {"futex_requeue", 456},
    {"statmount", 457},         {"listmount", 458},        {"lsm_get_self_attr", 459},
    {"lsm_set_self_attr", 460}, {"lsm_list_modules", 461}, {"mseal", 462},
    {"setxattrat", 463},        {"getxattrat", 464},       {"listxattrat", 465},
    {"removexattrat", 466},     {"open_tree_attr", 467},   {"file_getattr", 468},
    {"file_setattr", 469},
};
enum { SYSCALLS = sizeof syscall_table / sizeof *syscall_table };

/* Tracepoints that are named after the kernel's function, where that is not the system call's own name. */
static const struct syscall_alias {
    const char *traced, *name;
} syscall_aliases[] = {
    {"newstat", "stat"},   {"newlstat", "lstat"},      {"newfstat", "fstat"},
    {"newuname", "uname"}, {"sendfile64", "sendfile"}, {"umount", "umount2"},
};
enum { ALIASES = sizeof syscall_aliases / sizeof *syscall_aliases };

static int syscall_exact(const char *name)
{
    for (size_t i = 0; i < SYSCALLS; i++)
        if (!strcmp(syscall_table[i].name, name))
            return syscall_table[i].number;
    return -1;
}

int syscall_number(const char *name)
{
    for (size_t i = 0; i < ALIASES; i++)
        if (!strcmp(syscall_aliases[i].traced, name))
            return syscall_exact(syscall_aliases[i].name);
    return syscall_exact(name);
}

const char *syscall_own_name(int number)
{
    for (size_t i = 0; i < SYSCALLS; i++)
        if (syscall_table[i].number == number)
            return syscall_table[i].name;
    return NULL;
}

const char *syscall_name(int number)
{
    const char *name = syscall_own_name(number);
    for (size_t i = 0; name && i < ALIASES; i++)
        if (!strcmp(syscall_aliases[i].name, name))
            return syscall_aliases[i].traced;
    return name;
}

int syscall_limit(void)
{
    int limit = 0;
    for (size_t i = 0; i < SYSCALLS; i++)
        if (syscall_table[i].number >= limit)
            limit = syscall_table[i].number + 1;
    return limit;
}
