/* SPDX-License-Identifier: BSD-3-Clause */
/* Exports: what clients know by name. Each thread has its own state of each export, which changes when the thread
 * that owns the export sends the change to all. Requests of a paused export wait in their thread. */
#ifndef BLOCKD_EXPORT_H
#define BLOCKD_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "bdev.h"

enum export_state { EXPORT_INACTIVE, EXPORT_ACTIVE, EXPORT_PAUSED };
enum { EXPORT_NAME_MAX = 255 };

struct poll_group;
struct request;

/* Belongs to the thread that made it. */
struct export
{
    char name[EXPORT_NAME_MAX + 1];
    struct bdev *bdev;
    enum export_state state;
    bool changing;
    TAILQ_ENTRY(export) link;
};

/* An export as one thread has it. Names and sizes of exports do not change while a thread has them. */
struct group_export {
    struct export *export;
    struct poll_group *group;
    struct io_channel *channel; /* channel of the block device */
    enum export_state state;
    unsigned at_work; /* how many I/Os the device has */
    TAILQ_HEAD(, request) waiting;
    struct io_channel_iter *change; /* the change of state that waits until no I/O is at work */
    TAILQ_ENTRY(group_export) link;
};

typedef void (*export_changed_fn)(void *context, int status);

/* Returns whether an export can have this name. */
bool export_name_good(const char *name);
const char *export_state_name(enum export_state state);

/* Makes an inactive export. Returns 0 or -errno. */
int export_create(struct export **export, const char *name, const struct bdev_kind *kind, uint64_t size,
                  struct thread_set *set);
/* Destroys an inactive export. */
void export_destroy(struct export *export, thread_fn done, void *context);

/* Takes the export to `state` on every thread that has a channel of `groups`. One change at a time. */
void export_change_state(struct export *export, struct io_device *groups, enum export_state state,
                         export_changed_fn done, void *context);

/* Finds an export in the thread's poll group by its name of `length` bytes; an empty name finds the first export. */
struct group_export *group_export_find(struct poll_group *group, const char *name, uint32_t length);
/* Called when an I/O at work is done and its request does not need the export any more. */
void group_export_finished(struct group_export *export);

#endif
