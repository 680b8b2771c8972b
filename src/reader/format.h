/* SPDX-License-Identifier: BSD-3-Clause */
/* Between reader.c and the formats: a format fills the model and hands out events ring by ring; reader.c
 * merges. */
#ifndef SPOOR_READER_FORMAT_H
#define SPOOR_READER_FORMAT_H

#include "base/arena.h"
#include "reader/follower.h"
#include "reader/reader.h"
#include "reader/timeline.h"

struct recording_source { /* a ring with a place in it; first member of a format's own struct */
    uint64_t stamp;       /* of its next event */
    uint64_t lost;        /* events or entries that are missing just before it */
    uint64_t gap_end;     /* stamp of the first event behind the last gap within what was read; 0: none was */
    uint32_t index;
    bool ready;     /* there is a next event */
    bool has_begun; /* an event of it was handed out */
};

struct recording_format {
    const char *name;
    /* Could the file be of this format? `head` holds its first `length` bytes. */
    bool (*recognises)(const uint8_t *head, size_t length, uint64_t file_bytes);
    int (*open)(struct recording *recording, struct text *why); /* all but the events */
    int (*read)(struct recording *recording);                   /* the events of a file that nobody writes */
    /* The source's next event is in `event`, except for what reader.c knows itself. Only when it is ready. */
    void (*take)(struct recording *recording, struct recording_source *source, struct recording_event *event);
    /* Goes to the event after it. Sets ready and stamp. */
    void (*advance)(struct recording *recording, struct recording_source *source);
    /* Followed: a piece goes to its source, which may be a new one. It is the format's from then on. */
    int (*add_piece)(struct recording *recording, struct piece *piece);
    /* After these: what else changes while the program runs. Sources that were not ready may be. */
    int (*refresh)(struct recording *recording);
    unsigned (*rings)(const struct recording *recording); /* how many the program has now */
    void (*thread)(const struct recording_source *source, struct recording_thread *thread);
    bool (*is_live)(struct recording *recording);
    void (*close)(struct recording *recording);
};

extern const struct recording_format recording_format_spoor, recording_format_spdk;

/* One entry of the history of owners; sorted by id, then since. */
struct recording_owner_entry {
    uint64_t since, until;
    uint32_t id;
    int16_t type;
    uint16_t length;
    const char *description;
};

struct recording {
    const struct recording_format *format;
    struct recording_options options;
    void *state; /* the format's */
    int file;
    int *read_error; /* of the last read that failed; 0: all did what they should */
    char *path;
    uint64_t file_bytes;
    bool live;
    pid_t writer;              /* the process that was found to write it, 0: not known */
    struct follower *follower; /* NULL: the recording is not followed, and its file does not change */

    struct arena arena; /* the model */
    struct recording_model model;
    struct arena owner_arena;
    struct recording_owner_entry *owners;
    size_t owner_count;

    struct timeline timeline;
    uint64_t own_clock, own_clocks; /* when we last looked at both clocks ourselves, how often we did */
    /* Why times do not count on CLOCK_BOOTTIME; NULL: they do, of SPDK's format between these stamps. */
    const char *unrelated;
    uint64_t related_from, related_to;
    uint64_t related_error; /* the most that it was while it was followed, ns */
    uint64_t start;         /* ns */
    uint64_t start_stamp;
    uint64_t realtime; /* what to add to a time for CLOCK_REALTIME, ns; 0: unknown */
    uint64_t ignore;   /* events with a stamp below are not shown */
    uint64_t window;   /* events with a stamp below are outside of what is shown */
    uint64_t limit;    /* events with a stamp above wait */
    struct recording_counts counts;

    struct recording_source **sources; /* all */
    size_t source_count, source_room;
    struct recording_source **heap; /* those that are ready, but for `current` */
    size_t heap_count, heap_room;
    struct recording_source *current; /* gave the last event, or will give the next */
    uint64_t gap_end;                 /* the last of all sources */
    bool taken;                       /* its event was handed out: advance it before anything else */
};

/* What was really read, which is less at the end of the file; 0 on an error. */
size_t recording_read(const struct recording *recording, void *buffer, size_t bytes, uint64_t offset);
/* All or nothing. */
bool recording_read_all(const struct recording *recording, void *buffer, size_t bytes, uint64_t offset);
/* Where data begins at or after an offset, UINT64_MAX: nowhere. Files with holes may be as large as they
 * like. */
uint64_t recording_skip_hole(const struct recording *recording, uint64_t offset);
/* Up to where there is data from an offset on that is in no hole; the offset: not known. */
uint64_t recording_data_end(const struct recording *recording, uint64_t offset);
/* Live: reads the counter and the boot clock together if it is time to. 0 or -errno. */
int recording_look_at_clock(struct recording *recording);
int recording_add_source(struct recording *recording, struct recording_source *source);
/* The same in place for the name of a thread: NUL-terminated, and zeros behind it. */
void recording_clean_thread(char name[RECORDING_NAME]);
/* A copy in the arena with everything that could steer a terminal made '?'; stops at NUL or `most` bytes. */
const char *recording_name(struct arena *arena, const char *text, size_t most);
void recording_sort_owners(struct recording *recording);
int recording_type_index(const struct recording_type *types, size_t count, uint32_t id); /* -1: none */

#endif
