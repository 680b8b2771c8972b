/* SPDX-License-Identifier: BSD-3-Clause */
/* Between reader.c and the formats: a format fills the model and hands out events ring by ring; merge.h merges
 * them. */
#ifndef SPOOR_READER_FORMAT_H
#define SPOOR_READER_FORMAT_H

#include <string.h>

#include "base/arena.h"
#include "reader/follower.h"
#include "reader/reader.h"
#include "reader/timeline.h"
#include "reader/liveness.h"

struct recording_source { /* a ring and how far it has been read; first member of a format's own struct */
    uint64_t stamp;       /* stamp of its next event */
    uint64_t lost;        /* events or entries that are missing just before it */
    uint64_t gap_end;     /* stamp of the first event behind the last gap that was met; 0: there was none */
    /* The ring that the thread wrote before it went on in this one; NULL: it began here. What is said of the whole row
     * of rings (index, gap_end, has_begun) is in the first of them. */
    struct recording_source *after;
    uint32_t index;
    bool ready;     /* there is a next event */
    bool has_begun; /* an event of it has been handed out */
};

struct recording_format {
    const char *name;
    /* Whether the file may be of this format. `head` is its first `length` bytes. */
    bool (*recognises)(const uint8_t *head, size_t length, uint64_t file_bytes);
    /* Returns the id that the writer has in its own namespace, by the beginning of the file or by its path; 0: it has none
     * there, -1: the file is none that is written. */
    pid_t (*names)(const uint8_t *head, size_t length, const char *path);
    int (*open)(struct recording *recording, struct text *why); /* reads everything but the events */
    int (*read)(struct recording *recording); /* reads the events of a file that is not written any more */
    /* Hands out events of all sources, with merge_events(). */
    int (*events)(struct recording *recording, struct recording_event *events, int most);
    void (*leave)(struct recording *recording); /* merge_leave() */
    /* Of a recording that is followed: adds a piece to its source, which may be a new one. The piece belongs to the
     * format from then on. */
    int (*add_piece)(struct recording *recording, struct piece *piece);
    /* Reads what else changes while the program runs, after pieces were added. Sources that were not ready may be
     * so then. */
    int (*refresh)(struct recording *recording);
    unsigned (*rings)(const struct recording *recording); /* how many rings the program has now */
    void (*thread)(const struct recording_source *source, struct recording_thread *thread);
    bool (*is_live)(struct recording *recording);
    void (*close)(struct recording *recording);
};

/* Returns whom a file names as its writer (names() of its format), and whether it is of SPDK's format. */
pid_t recording_names_writer(int file, const char *path, bool *is_spdk);

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
    int *read_error; /* error of the last read that failed; 0: none failed */
    char *path;
    uint64_t file_bytes;
    bool is_spdk;
    bool live;
    pid_t writer;              /* the process that writes it, as far as it was found; 0: not known */
    struct follower *follower; /* NULL: the recording is not followed, and its file does not change */

    struct arena arena; /* memory of the model */
    struct recording_model model;
    uint64_t model_changes; /* how often it was added to */
    struct arena owner_arena;
    struct recording_owner_entry *owners;
    size_t owner_count;

    struct timeline timeline;
    uint64_t own_clock, own_clocks; /* when this process last read both clocks itself, and how often it did */
    /* Why times do not count on CLOCK_BOOTTIME; NULL: they do, in SPDK's format for stamps from related_from to
     * related_to. */
    const char *unrelated;
    uint64_t related_from, related_to;
    uint64_t related_error; /* the largest error while it was followed, ns */
    uint64_t start;         /* ns */
    uint64_t start_stamp;
    uint64_t realtime; /* added to a time it gives CLOCK_REALTIME, ns; 0: unknown */
    uint64_t ignore;   /* events with a smaller stamp are not shown */
    uint64_t window;   /* events with a smaller stamp are outside of what is shown */
    uint64_t limit;    /* events with a larger stamp wait */
    struct recording_counts counts;

    struct recording_source **sources; /* all sources */
    size_t source_count, source_room;
    struct recording_source **heap; /* sources that are ready, without `current` */
    size_t heap_count, heap_room;
    struct recording_source *current; /* the source of the last event, or of the next */
    uint64_t gap_end;                 /* the largest one of all sources */
    uint64_t gaps;                    /* how often gap_end of a source was set */
    bool taken;                       /* its event has been handed out: the next step is to advance it */
};

/* Reads from the file. Returns how many bytes were read, which is less at the end of the file; 0 on an error. */
size_t recording_read(const struct recording *recording, void *buffer, size_t bytes, uint64_t offset);
/* Reads all bytes, or returns false. */
bool recording_read_all(const struct recording *recording, void *buffer, size_t bytes, uint64_t offset);
/* Returns where data begins at or after an offset; UINT64_MAX: there is none. Files with holes may be of any size. */
uint64_t recording_skip_hole(const struct recording *recording, uint64_t offset);
/* Returns the end of the data that begins at an offset, where a hole begins; the offset itself if that is not
 * known. */
uint64_t recording_data_end(const struct recording *recording, uint64_t offset);
/* Of a recording that is being written: reads the counter and the boot clock together if it is time to. Returns 0
 * or -errno. */
int recording_look_at_clock(struct recording *recording);
int recording_add_source(struct recording *recording, struct recording_source *source);
/* Replaces, in the name of a thread, what could steer a terminal by '?', ends it with a NUL, and fills the rest
 * with zeros. */
void recording_clean_thread(char name[RECORDING_NAME]);
/* Returns a copy in the arena in which everything that could steer a terminal is '?'. It ends at a NUL or after
 * `most` bytes. */
const char *recording_name(struct arena *arena, const char *text, size_t most);
/* What is shown of the name of a tracepoint or an argument. */
static inline uint8_t recording_name_length(const char *name)
{
    return (uint8_t)strnlen(name, RECORDING_NAME_CUT);
}
void recording_sort_owners(struct recording *recording);
/* -1: there is none */
int recording_type_index(const struct recording_type *types, size_t count, uint32_t id);

#endif
