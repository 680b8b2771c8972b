/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of options and arguments, by their kind. What cannot be read now is not offered, and nothing is said of it. */
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/complete.h"
#include "cmd/tools.h"
#include "probe/all.h"
#include "sym/proc.h"
#include "sym/tracefs.h"

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

/* ---- tracepoints: first their categories, then those of one ---- */

struct events {
    struct candidates *candidates;
    const char *before; /* what stands before the category: "tracepoint:", "t:" */
    bool are_categories;
    char last[128]; /* category that was offered */
};

static int offer_event(void *context, const char *category, const char *event)
{
    struct events *events = context;
    struct text name = {0};
    if (events->are_categories && !strcmp(events->last, category))
        return 0;
    snprintf(events->last, sizeof events->last, "%s", category);
    text_printf(&name, "%s%s:%s", events->before, category, events->are_categories ? "" : event);
    candidates_offer(events->candidates, text_string(&name), NULL);
    text_free(&name);
    return 0;
}

static void offer_tracepoints(struct candidates *candidates, const char *before)
{
    const char *begun = candidates->word + candidates->kept;
    struct events events = {.candidates = candidates, .before = before};
    struct tracefs *tracefs;
    if (strncmp(begun, before, strlen(before)) != 0 || tracefs_open(&tracefs))
        return;
    const char *category = begun + strlen(before), *colon = strchr(category, ':');
    struct text pattern = {0};
    text_append(&pattern, category, colon ? (size_t)(colon - category) : 0);
    events.are_categories = !colon;
    tracefs_each_event(tracefs, colon ? text_string(&pattern) : NULL, NULL, offer_event, &events);
    tracefs_close(tracefs);
    text_free(&pattern);
}

/* ---- probes: their kinds, then tracepoints ---- */

static void offer_probes(struct candidates *candidates)
{
    if (!strchr(candidates->word + candidates->kept, ':'))
        for (const struct probe_kind *const *kind = probe_kinds; *kind; kind++) {
            struct text name = {0};
            text_printf(&name, "%s:", (*kind)->name);
            candidates_offer(candidates, text_string(&name), NULL);
            text_free(&name);
        }
    offer_tracepoints(candidates, "tracepoint:");
    offer_tracepoints(candidates, "t:");
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
    case COMPLETE_TRACEPOINTS: offer_tracepoints(candidates, ""); break;
    case COMPLETE_PATTERNS: offer_tracepoints(candidates, "t:"); break;
    case COMPLETE_PROBES: offer_probes(candidates); break;
    case COMPLETE_TOOLS:
    case COMPLETE_HELP:
        command_each(offer_command, candidates);
        tools_each(offer_command, candidates);
        if (kind == COMPLETE_TOOLS)
            text_add(&candidates->out, ":files\n");
        break;
    }
}
