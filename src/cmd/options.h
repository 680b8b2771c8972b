/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of `spoor [options] FILE | -e PROGRAM [parameters]`. One table makes both the parser and
 * --help. */
#ifndef SPOOR_CMD_OPTIONS_H
#define SPOOR_CMD_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "session/session.h"

struct options {
    const char *program; /* -e */
    const char *file;    /* FILE or "-" */
    bool lists;          /* -l */
    const char *pattern; /* of -l; NULL: everything */
    bool help, version, info;
    const char *output; /* -o */
    const char *const *parameters;
    size_t parameter_count;
    struct session_options session;
};

/* 0, or 1 after a message on the error stream. */
int options_parse(struct options *options, int argc, char **argv);
void options_help(FILE *out);

#endif
