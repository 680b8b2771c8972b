/* SPDX-License-Identifier: BSD-3-Clause */
/* tracefs: which tracepoints the kernel has, their ids and their fields.
 *
 * Uses the mounted one; where none is mounted, and we may, a private mount that nobody else sees and that is
 * gone when it is closed. All access is relative to one directory descriptor. */
#ifndef SPOOR_SYM_KERNEL_TRACEFS_H
#define SPOOR_SYM_KERNEL_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"
#include "type/type.h"

struct tracefs;

/* -EACCES or -EPERM: it exists but we may not read it (root or CAP_SYS_ADMIN is needed); -ENOENT: the kernel
 * has none; -EDEADLK: it does not answer, because a task that died in the kernel holds its lock. Whoever
 * touched it then would hang for ever and could not be killed, so a child tries first. */
int tracefs_open(struct tracefs **out);
/* What to say about such an error, and what to do. */
const char *tracefs_problem(int error);
const char *tracefs_remedy(int error);
/* Any directory that looks like tracefs: for tests. The descriptor is duplicated. */
int tracefs_open_at(int directory, struct tracefs **out);
void tracefs_close(struct tracefs *tracefs);
int tracefs_directory(const struct tracefs *tracefs); /* for openat() of uprobe_events and the like */
/* Does the kernel trace functions, and let us read which? */
bool tracefs_lists_functions(const struct tracefs *tracefs);
/* All of a small file: "available_filter_functions", "events/sched/sched_switch/id". */
int tracefs_read(const struct tracefs *tracefs, const char *path, struct text *out);

/* -ENOENT: no such event. */
int tracefs_event_id(const struct tracefs *tracefs, const char *subsystem, const char *event, uint32_t *id);

/* Who knows the kernel's types by name ("struct file"); NULL answers are fine. Asked only when somebody looks
 * inside. */
struct tracefs_types {
    const struct type *(*find)(void *context, const char *name);
    void *context;
};

/* The record of an event as a struct type named "tracepoint:SUBSYSTEM:EVENT", common_ fields included. Made
 * in the arena; types (may be NULL) must live as long.
 *   char x[16]           an array of int8
 *   char *x              a pointer to int8; pointers are SPACE_USER in `syscalls`, else SPACE_KERNEL
 *   struct file *x       a pointer to a struct of that name, whose fields come from types
 *   enum e x             an integer of the field's size
 *   int x, of 8 bytes    the int in it: the upper half of a system call's register means nothing
 *   __data_loc char[] x  a field of 4 bytes, data_loc set, whose type is an array of int8 with count 0
 *   __rel_loc …          the 4-byte location itself (no event of the kernel's own has one)
 * -ENOENT: no such event; -EBADMSG: its format file makes no sense. */
int tracefs_event_type(const struct tracefs *tracefs, struct arena *arena, const struct tracefs_types *types,
                       const char *subsystem, const char *event, const struct type **out);
/* The same from the text of a format file. */
int tracefs_format_parse(struct arena *arena, const struct tracefs_types *types, const char *subsystem,
                         const char *event, const char *text, const struct type **out);

/* Every event whose subsystem and name match (NULL: all), sorted: as it was when this was first asked.
 * Non-zero stops. */
typedef int tracefs_visitor(void *context, const char *subsystem, const char *event);
int tracefs_each_event(struct tracefs *tracefs, const char *subsystem_pattern, const char *event_pattern,
                       tracefs_visitor *visit, void *context);

#endif
