/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers values of options and arguments, by their kind. What cannot be read now is not offered, without a
 * message. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/complete.h"
#include "cmd/tools.h"
#include "sym/process/proc.h"

static int offer_process(void *context, pid_t pid)
{
    char number[16];
    struct text comm = {0};
    snprintf(number, sizeof number, "%d", (int)pid);
    candidates_offer(context, number, proc_comm(pid, &comm) ? NULL : text_string(&comm));
    text_free(&comm);
    return 0;
}

static void offer_command(void *context, const char *name, const char *what)
{
    candidates_offer(context, name, what);
}

void complete_values(struct candidates *candidates, enum completion kind)
{
    switch (kind) {
    case COMPLETE_NOTHING: break;
    case COMPLETE_FILES: text_add(&candidates->out, ":files\n"); break;
    case COMPLETE_DIRECTORIES: text_add(&candidates->out, ":directories\n"); break;
    case COMPLETE_COMMANDS: text_add(&candidates->out, ":commands\n"); break;
    case COMPLETE_USERS: text_add(&candidates->out, ":users\n"); break;
    case COMPLETE_PROCESSES: proc_each(offer_process, candidates); break;
    case COMPLETE_TRACEPOINTS: complete_tracepoint(candidates, ""); break;
    case COMPLETE_PATTERNS: complete_tracepoint(candidates, "t:"); break;
    case COMPLETE_PROBES: complete_probe(candidates); break;
    case COMPLETE_PROGRAM: complete_program(candidates); break;
    case COMPLETE_TOOLS:
    case COMPLETE_HELP:
        command_each(offer_command, candidates);
        tools_each(offer_command, candidates);
        if (kind == COMPLETE_TOOLS)
            text_add(&candidates->out, ":files\n");
        break;
    }
}
