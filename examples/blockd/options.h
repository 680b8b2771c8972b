/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line. */
#ifndef BLOCKD_OPTIONS_H
#define BLOCKD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { EXPORTS_MAX = 256 };

struct export_option {
    const char *kind;
    char name[256];
    uint64_t size;
};

struct options {
    const char *address, *socket, *control, *trace;
    bool tcp;
    unsigned port, threads; /* threads: 0, one per core */
    char *const *command;   /* words for the control socket of a running server; NULL: be a server */
    unsigned export_count;
    struct export_option exports[EXPORTS_MAX];
};

/* Parses a size such as "64M": K, M, G, T are powers of 1024. Returns 0 or -EINVAL. */
int options_parse_size(const char *text, uint64_t *size);

/* Returns 0; 1: help was printed; -EINVAL: a message was printed. */
int options_parse(struct options *options, int argc, char **argv);

#endif
