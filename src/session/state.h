/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share. Nobody else includes it. */
#ifndef SPOOR_SESSION_STATE_H
#define SPOOR_SESSION_STATE_H

#include "bpf/lower.h"
#include "builtin/actor.h"
#include "lang/check.h"
#include "session/session.h"
#include "sym/symbolize.h"

struct session_unit { /* one program */
    struct action_block *block;
    struct probe_variant *variant;
    uint32_t name_base;
    size_t program; /* in the image */
};

struct mishap_state { /* of one counter */
    uint64_t told;
};

struct session_child {
    pid_t pid;
    int pidfd;
    int go, failed; /* pipes: written to let it start; brings errno when it cannot be executed. -1: none */
};

struct session {
    struct session_options options;
    struct arena arena;
    struct diagnostics diagnostics;
    struct probe_environment environment;
    struct features features;
    struct kernel *kernel; /* NULL: check only */
    struct host *host;
    struct script *script;
    struct session_unit *units;
    size_t unit_count, unit_room;
    struct check_unit *checks;
    struct probe_variants variants;
    struct checker checker;
    struct type_provider provider;
    struct image image;
    struct action_table actions;
    const char **names; /* what TYPE_NAME indexes */
    size_t name_count, name_room;
    size_t probe_count; /* sites, for the banner */
    struct text dump;

    struct text out;
    struct printer printer;
    struct print_names print_names;
    struct actor actor;
    struct symbolizer *symbolizer;
    uint64_t *stack_frames; /* of the last stack asked for */
    struct mishap_state *mishaps;
    uint64_t mishap_time;
    struct session_child child;
    int signals;        /* signalfd */
    int process;        /* pidfd of -p */
    bool holds_output;      /* what begin prints stands behind the banner: kept until that is said */
    bool interrupted;   /* a signal asked for the end */
    bool broken_output; /* nobody reads it any more */
    bool at_end;        /* the end probes run: exit() no longer drops records */
};

/* names.c */
void names_init(struct session *session);
void names_close(struct session *session);
/* Looks at a process now, so that its addresses have names when it has ended. */
void names_remember(struct session *session, pid_t pid);
/* mishaps.c: tells what has grown. last: everything that was not told yet. */
int mishaps_init(struct session *session);
void mishaps_tell(struct session *session, bool last);
/* child.c */
int child_start(struct session *session); /* forks; the command waits */
int child_release(
    struct session *session); /* lets it run; -errno with a diagnostic when it cannot be executed */
void child_end(struct session *session); /* SIGTERM to what still runs, and waits for it */
/* run.c */
void session_report(struct session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));
void session_flush(struct session *session);

#endif
