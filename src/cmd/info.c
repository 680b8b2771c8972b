/* SPDX-License-Identifier: BSD-3-Clause */
/* --info: what this kernel offers. */
#include <sys/utsname.h>

#include "cmd/command.h"

int command_info(struct options *options)
{
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    struct kernel_options kernel_options = {.without = options->session.without};
    struct kernel *kernel = NULL;
    struct utsname system;
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory)) {
        fputs("ERROR: out of memory\n", stderr);
        return 1;
    }
    uname(&system);
    printf("spoor %s\n%s %s %s\n\n", SPOOR_VERSION, system.sysname, system.release, system.machine);
    int error = kernel_open(&kernel_options, &diagnostics, &kernel);
    if (!error) {
        struct text text = {0};
        kernel_describe(kernel, &text);
        fputs(text_string(&text), stdout);
        text_free(&text);
        kernel_host(kernel)->operations->close(kernel_host(kernel));
    }
    command_diagnose(options, &diagnostics);
    arena_free(&arena);
    return error ? 1 : 0;
}
