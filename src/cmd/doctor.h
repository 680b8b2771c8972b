/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of `spoor doctor` share. A check is a function in a table of one of these files. It looks at one
 * thing, and says what it found: a row of the report for each finding, with what can be done about it. */
#ifndef SPOOR_CMD_DOCTOR_H
#define SPOOR_CMD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "cmd/options.h"
#include "kernel/kernel.h"

enum doctor_mark {
    DOCTOR_OK,
    DOCTOR_WARNING, /* something is missing, and the rest works */
    DOCTOR_PROBLEM, /* what was asked about does not work */
    DOCTOR_MARKS,
};

enum { DOCTOR_REMEDIES = 4 };
struct doctor_row {
    const char *about, *check; /* what was looked at: "this machine", a path; and in which respect */
    enum doctor_mark mark;
    const char *found;
    const char *remedies[DOCTOR_REMEDIES]; /* any of them helps; NULL-terminated if there are fewer */
};

struct doctor {
    struct arena arena; /* guarded */
    struct doctor_row *rows;
    size_t count, room;
    const char *about, *check; /* of the rows that are added */
    const char *program;       /* path of spoor itself, for commands that the user can copy */
    struct options *options;
    struct kernel_permission permission;
    struct kernel *kernel;          /* NULL: it could not be opened */
    int kernel_error;               /* why: -errno */
    struct diagnostics diagnostics; /* and in words */
};

struct doctor_check {
    const char *name;
    void (*look)(struct doctor *doctor, void *thing);
};
/* Does all checks of a table, which ends with a name of NULL, on a thing; about: how it is called in the report. */
void doctor_examine(struct doctor *doctor, const char *about, const struct doctor_check *checks, void *thing);
/* Adds a row; what %s inserts is taken for a name. */
void doctor_find(struct doctor *doctor, enum doctor_mark mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a remedy to the latest row. */
void doctor_advise(struct doctor *doctor, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a row for each error and each warning, with its hint. */
void doctor_repeat(struct doctor *doctor, const struct diagnostics *said);

/* Examines a program or library. path: how spoor opens it; seen: how it is called, and how the process `pid` sees it
 * if that is not 0. */
void doctor_binary(struct doctor *doctor, const char *path, const char *seen, pid_t pid);
/* Examines a script, with the parameters and processes that the options have. */
void doctor_script(struct doctor *doctor, const struct script_option *script);
/* Reads the first bytes of a regular file, with a NUL behind them. Returns 0 or -errno. */
enum { DOCTOR_HEAD = 256 };
int doctor_read_head(const char *path, char head[DOCTOR_HEAD]);
/* Opens the kernel, if this process may, and examines the machine. */
void doctor_machine(struct doctor *doctor);

#endif
