/* SPDX-License-Identifier: BSD-3-Clause */
/* What the supervisor knows about a script: its text, its process, and what happened to it. */
#ifndef SPOOR_SERVE_SCRIPT_H
#define SPOOR_SERVE_SCRIPT_H

#include "metrics/family.h"
#include "serve/child.h"
#include "serve/serve.h"

enum script_event { SCRIPT_STARTED, SCRIPT_FAILED, SCRIPT_PAUSED, SCRIPT_UNANSWERED, SCRIPT_EVENTS };

struct served {
    char *name, *path;
    struct text text;           /* the text that runs, or ran last */
    struct text next_text;      /* the text that is to replace it, or failed to */
    struct child_process child; /* runs `text` */
    struct child_process next;  /* starts `next_text`; when it is ready it becomes `child` */
    struct child_process last;  /* was replaced, and is ending */
    char *unreadable;           /* why the file could not be read last; NULL: it could */
    uint64_t active_at, pinged; /* when something came from the child last, and when it was asked last */
    uint64_t start_at;          /* when it is started again; 0: no start is due */
    uint64_t back_off;          /* how long its last start was delayed, ns; 0: it was not */
    bool is_wanted;             /* its file is in the directory */
    bool has_text;              /* its file was read at least once */
    bool has_next;              /* `next_text` waits to be started */
    bool is_paused;
    bool is_stale; /* `next_text` failed to replace `text` */
    bool is_asked; /* a FRAME_QUESTION was sent, and its answer has not come */
    bool has_answer;
    struct text answer;
    uint64_t events[SCRIPT_EVENTS]; /* how often each happened */
};

struct scripts {
    struct served **items;
    size_t count, room;
};

/* Returns the script of that name; makes one if there is none. NULL: there is no memory. */
struct served *scripts_find(struct scripts *scripts, const char *name, const char *path);
/* Frees the scripts that are not wanted and have no process any more. */
void scripts_tidy(struct scripts *scripts);
void scripts_free(struct scripts *scripts);
/* Returns the script that a process belongs to, and stores which of its processes it is in *child. NULL: it belongs to none. */
struct served *scripts_of_process(struct scripts *scripts, pid_t pid, struct child_process **child);
/* Writes what the supervisor counts about them. created: when it began, in seconds since 1970. */
void scripts_write(const struct scripts *scripts, double created, struct metric_writer *writer);

#endif
