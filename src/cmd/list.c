/* SPDX-License-Identifier: BSD-3-Clause */
/* -l: what can be probed. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"

static int print_probe(void *state, const char *name, const char *details)
{
    size_t *count = state;
    ++*count;
    puts(name);
    if (details)
        fputs(details, stdout);
    return ferror(stdout) ? -EPIPE : 0;
}

static int list(struct options *options, struct arena *arena, struct diagnostics *diagnostics)
{
    size_t count = 0;
    struct attach_point *point = NULL;
    static struct source source;
    struct parameters none = {NULL, 0};
    if (options->pattern) {
        source = (struct source){"stdin", options->pattern, strlen(options->pattern)};
        point = attach_point_parse(arena, diagnostics, &source, &none);
        if (!point)
            return 1;
    }
    struct probe_environment environment = {.arena = arena,
                                            .diagnostics = diagnostics,
                                            .pid = options->session.pid,
                                            .is_unsafe = options->session.is_unsafe};
#define X(name, what) environment.features.name = true;
    BPF_FEATURES(X)
#undef X
    environment.features.cpus = 1;
    int error =
        probe_list(&environment, probe_kinds, point, options->session.is_verbose, print_probe, &count);
    probe_environment_close(&environment);
    if (!error && !count && options->pattern && !diagnostics->errors) {
        fprintf(stderr, "ERROR: no probe matches '%s'\n", options->pattern);
        return 1;
    }
    return error || diagnostics->errors ? 1 : 0;
}

int command_list(struct options *options)
{
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory)) {
        fputs("ERROR: out of memory\n", stderr);
        return 1;
    }
    int status = list(options, &arena, &diagnostics);
    command_diagnose(options, &diagnostics);
    arena_free(&arena);
    return status;
}
