/* SPDX-License-Identifier: BSD-3-Clause */
/* --fmt: prints the script in its usual layout. */
#include <stdio.h>

#include "cmd/command.h"
#include "lang/parse/layout.h"

int command_format(const struct options *options, const struct source *source)
{
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    struct text text = {0};
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory)) {
        fputs("ERROR: out of memory\n", stderr);
        return 1;
    }
    bool is_right = script_layout(&text, &arena, &diagnostics, source, &options->session.parameters);
    command_diagnose(options, &diagnostics);
    if (is_right)
        command_write(stdout, text_string(&text));
    text_free(&text);
    arena_free(&arena);
    return !is_right;
}
