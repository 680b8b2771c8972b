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
    struct text text;           /* what runs, or ran last */
    struct text next_text;      /* what is to run instead, or could not */
    struct child_process child; /* runs the text */
    struct child_process next;  /* begins to run the next text; the child ends when it is ready */
    struct child_process last;  /* has been replaced, and ends */
    char *unreadable;           /* why the file could not be read last; NULL: it could */
    uint64_t active_at, pinged; /* when something came from the child last, and when it was asked last */
    uint64_t start_at;          /* when it is started again; 0: it is not */
    uint64_t back_off;          /* how long it waited before it was started last; 0: it did not */
    bool is_wanted;             /* its file is there */
    bool has_text;              /* its file was read once */
    bool has_next;              /* the next text waits to be started */
    bool is_paused;
    bool is_stale; /* its file has a text that could not replace this one */
    bool is_asked; /* the child owes an answer */
    bool has_answer;
    struct text answer;
    uint64_t events[SCRIPT_EVENTS]; /* how often each happened */
};

struct scripts {
    struct served **items;
    size_t count, room;
};

/* Returns the script of that name, which is made if there is none; NULL: there is no memory. */
struct served *scripts_find(struct scripts *scripts, const char *name, const char *path);
/* Frees the scripts that are not wanted and have no process any more. */
void scripts_tidy(struct scripts *scripts);
void scripts_free(struct scripts *scripts);
/* Returns the script whose process this is and puts the process into *child; NULL: nobody's. */
struct served *scripts_of_process(struct scripts *scripts, pid_t pid, struct child_process **child);
/* Writes what the supervisor counts about them. created: when it began, in seconds since 1970. */
void scripts_write(const struct scripts *scripts, double created, struct metric_writer *writer);

#endif
