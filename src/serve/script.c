/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/script.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct served *scripts_find(struct scripts *scripts, const char *name, const char *path)
{
    for (size_t i = 0; i < scripts->count; i++)
        if (!strcmp(scripts->items[i]->name, name))
            return scripts->items[i];
    if (!vector_make_room(scripts->items, scripts->count, scripts->room))
        return NULL;
    struct served *script = calloc(1, sizeof *script);
    if (!script)
        return NULL;
    script->name = strdup(name);
    script->path = strdup(path);
    script->child.frames.fd = script->next.frames.fd = script->last.frames.fd = -1;
    scripts->items[scripts->count++] = script;
    return script->name && script->path ? script : NULL;
}

static void free_script(struct served *script)
{
    child_process_forget(&script->child);
    child_process_forget(&script->next);
    child_process_forget(&script->last);
    text_free(&script->text);
    text_free(&script->next_text);
    text_free(&script->answer);
    free(script->unreadable);
    free(script->name);
    free(script->path);
    free(script);
}

void scripts_tidy(struct scripts *scripts)
{
    size_t kept = 0;
    for (size_t i = 0; i < scripts->count; i++) {
        struct served *script = scripts->items[i];
        if (script->is_wanted || script->child.pid || script->next.pid || script->last.pid)
            scripts->items[kept++] = script;
        else
            free_script(script);
    }
    scripts->count = kept;
}

void scripts_free(struct scripts *scripts)
{
    for (size_t i = 0; i < scripts->count; i++)
        free_script(scripts->items[i]);
    free(scripts->items);
    *scripts = (struct scripts){0};
}

struct served *scripts_of_process(struct scripts *scripts, pid_t pid, struct child_process **child)
{
    for (size_t i = 0; i < scripts->count; i++) {
        struct child_process *const all[] = {&scripts->items[i]->child, &scripts->items[i]->next,
                                             &scripts->items[i]->last};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (all[k]->pid == pid) {
                *child = all[k];
                return scripts->items[i];
            }
    }
    return NULL;
}

/* ---- metrics ---- */

static double is_up(const struct served *script)
{
    return script->child.pid && script->child.is_ready;
}

static double is_paused(const struct served *script)
{
    return script->is_paused;
}

static double is_stale(const struct served *script)
{
    return script->is_stale || script->unreadable;
}

static const char *const labels[] = {"script"};
#define FAMILY(of_kind, of_name, of_help)                                                                    \
    {                                                                                                        \
        .name = "spoor_serve_script_" of_name, .help = of_help, .kind = METRIC_##of_kind, .labels = labels,  \
        .label_count = 1                                                                                     \
    }

static const struct {
    struct metric_family family;
    double (*state)(const struct served *script); /* NULL: an event is counted */
    enum script_event event;
} rows[] = {
    {FAMILY(GAUGE, "up", "Whether the script runs with all of its probes attached"), is_up, 0},
    {FAMILY(GAUGE, "paused", "Whether the script pauses because its probes took too much of a CPU"),
     is_paused, 0},
    {FAMILY(GAUGE, "stale", "Whether the script's file has a text that could not replace the one that runs"),
     is_stale, 0},
    {FAMILY(COUNTER, "starts", "How often the script was started"), NULL, SCRIPT_STARTED},
    {FAMILY(COUNTER, "failures", "How often the script ended with an error"), NULL, SCRIPT_FAILED},
    {FAMILY(COUNTER, "pauses", "How often the script paused"), NULL, SCRIPT_PAUSED},
    {FAMILY(COUNTER, "unanswered",
            "How often the script was asked for its metrics and did not answer in time"),
     NULL, SCRIPT_UNANSWERED},
};

void scripts_write(const struct scripts *scripts, double created, struct metric_writer *writer)
{
    struct text value = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        metric_begin(writer, &rows[i].family);
        for (size_t k = 0; k < scripts->count; k++) {
            const struct served *script = scripts->items[k];
            text_clear(&value);
            metric_add_value(&value, script->name, strlen(script->name));
            writer->out->failed |= value.failed;
            if (!value.failed && script->is_wanted)
                metric_point(writer, &(struct metric_point){
                                         .values = value.bytes,
                                         .value = rows[i].state ? rows[i].state(script)
                                                                : (double)script->events[rows[i].event],
                                         .created = created});
        }
        metric_end(writer);
    }
    text_free(&value);
}
