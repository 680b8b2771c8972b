/* SPDX-License-Identifier: BSD-3-Clause */
/* tracefs: which tracepoints the kernel has, their ids and their fields.
 *
 * The mounted tracefs is used. Where none is mounted, and this process may, a private mount is made that no other
 * process sees and that is gone when it is closed. Every access is relative to one descriptor of a directory. */
#ifndef SPOOR_SYM_KERNEL_TRACEFS_H
#define SPOOR_SYM_KERNEL_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "type/type.h"

struct tracefs;

/* Opens tracefs. -EACCES or -EPERM: it must not be read (root or CAP_SYS_ADMIN is needed); -ENOENT: the kernel has
 * none; -EDEADLK: it does not answer, because a task that died in the kernel holds its lock. A process that used it
 * then would hang for ever and could not be killed, so a child tries first. */
int tracefs_open(struct tracefs **out);
/* Return the message about such an error, and what the user can do. */
const char *tracefs_problem(int error);
const char *tracefs_remedy(int error);
/* Opens any directory that looks like tracefs, for tests. The descriptor is duplicated. */
int tracefs_open_at(int directory, struct tracefs **out);
void tracefs_close(struct tracefs *tracefs);
/* its descriptor, for openat() of uprobe_events and the like */
int tracefs_directory(const struct tracefs *tracefs);
/* Whether the kernel can trace functions, and which ones can be read. */
bool tracefs_lists_functions(const struct tracefs *tracefs);
/* Appends all of a small file: "available_filter_functions", "events/sched/sched_switch/id". */
int tracefs_read(const struct tracefs *tracefs, const char *path, struct text *out);

/* Finds the id of an event. -ENOENT: there is no such event. */
int tracefs_event_id(const struct tracefs *tracefs, const char *subsystem, const char *event, uint32_t *id);

/* Finds the kernel's types by name ("struct file"), or returns NULL. Called only when the fields of a struct are
 * needed. */
struct tracefs_types {
    const struct type *(*find)(void *context, const char *name);
    void *context;
};

/* Returns the record of an event as a struct type named "tracepoint:SUBSYSTEM:EVENT", with its common_ fields. It is
 * made in the arena; `types` (may be NULL) must live as long.
 *   char x[16]           an array of int8
 *   char *x              a pointer to int8; pointers are SPACE_USER in `syscalls`, else SPACE_KERNEL
 *   struct file *x       a pointer to a struct of that name, whose fields come from types
 *   enum e x             an integer of the field's size
 *   int x, of 8 bytes    the int in it: the upper half of a system call's register means nothing
 *   __data_loc char[] x  a field of 4 bytes, data_loc set, whose type is an array of int8 with count 0
 *   __rel_loc …          the 4-byte location itself (no event of the kernel's own has one)
 * -ENOENT: there is no such event; -EBADMSG: its format file makes no sense. */
int tracefs_event_type(const struct tracefs *tracefs, struct arena *arena, const struct tracefs_types *types,
                       const char *subsystem, const char *event, const struct type **out);
/* As tracefs_event_type(), from the text of a format file. */
int tracefs_format_parse(struct arena *arena, const struct tracefs_types *types, const char *subsystem,
                         const char *event, const char *text, const struct type **out);

/* Calls `visit` for every event whose subsystem and name match (NULL: all), sorted, as they were when this was
 * first called. An answer that is not 0 ends the walk. */
typedef int tracefs_visitor(void *context, const char *subsystem, const char *event);
int tracefs_each_event(struct tracefs *tracefs, const char *subsystem_pattern, const char *event_pattern,
                       tracefs_visitor *visit, void *context);

#endif
