/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe/program.h"

#include <stdlib.h>
#include <string.h>

#include "sym/kernel/btf_program.h"
#include "sym/elf/elf.h"
#include "sym/process/needed.h"
#include "sym/process/proc.h"

struct probe_program {
    const char *path;
    const struct elf_origin *origin;
    struct dwarf_file *dwarf;
    struct btf_program *btf;
    bool dwarf_tried, btf_tried;
    bool is_probed; /* the script has a probe in it, and may use its names */
};

/* Finds a program that was opened before; origin NULL: whatever file was at that path. */
static struct probe_program *program_find(struct probe_environment *environment, const char *path,
                                          const struct elf_origin *origin)
{
    for (size_t i = 0; i < environment->program_count; i++)
        if ((!origin || environment->programs[i].origin == origin) &&
            !strcmp(environment->programs[i].path, path))
            return &environment->programs[i];
    struct probe_program *program = arena_push(environment->arena, environment->programs,
                                               environment->program_count, environment->program_room);
    *program = (struct probe_program){.path = arena_strdup(environment->arena, path), .origin = origin};
    return program;
}

static struct dwarf_file *program_dwarf(struct probe_environment *environment, struct probe_program *program)
{
    if (!program->dwarf_tried) {
        struct dwarf_options options = {
            .arena = environment->arena,
            .origin = program->origin,
            .report = environment->report,
            .state = environment->report_state,
        };
        program->dwarf_tried = true;
        if (dwarf_file_open(program->path, &options, &program->dwarf))
            program->dwarf = NULL;
    }
    return program->dwarf;
}

static struct btf_program *program_btf(struct probe_environment *environment, struct probe_program *program)
{
    struct elf_file *file;
    if (program->btf_tried)
        return program->btf;
    program->btf_tried = true;
    if (elf_origin_open(program->origin, program->path, &file))
        return NULL;
    if (btf_program_open(file, environment->arena, &program->btf))
        program->btf = NULL;
    elf_file_close(file);
    return program->btf;
}

struct dwarf_file *probe_dwarf(struct probe_environment *environment, const char *path,
                               const struct elf_origin *origin)
{
    return program_dwarf(environment, program_find(environment, path, origin));
}

void probe_program_add(struct probe_environment *environment, const char *path,
                       const struct elf_origin *origin)
{
    program_find(environment, path, origin)->is_probed = true;
}

void probe_programs_close(struct probe_environment *environment)
{
    for (size_t i = 0; i < environment->program_count; i++) {
        dwarf_file_close(environment->programs[i].dwarf);
        btf_program_close(environment->programs[i].btf);
    }
    environment->program_count = 0;
    table_free(&environment->origins);
}

/* ---- names ---- */

struct asked {
    const char *name;
    int64_t *value; /* where the value of an enumerator goes; NULL: a type is wanted */
};

static const struct type *program_name(struct probe_environment *environment, struct probe_program *program,
                                       const struct asked *asked, uint64_t near)
{
    const struct type *type = NULL;
    struct dwarf_file *dwarf = program_dwarf(environment, program);
    if (dwarf)
        type = asked->value ? dwarf_file_enumerator(dwarf, asked->name, near, asked->value)
                            : dwarf_file_type(dwarf, asked->name, near);
    struct btf_program *btf = type ? NULL : program_btf(environment, program);
    if (btf)
        type = asked->value ? btf_program_enumerator(btf, asked->name, asked->value)
                            : btf_program_type(btf, asked->name);
    return type;
}

/* ---- libraries ---- */

struct library_search {
    struct probe_environment *environment;
    const struct asked *asked;
    const struct type *found;
};

static int library_name(void *state, const char *path)
{
    struct library_search *search = state;
    search->found =
        program_name(search->environment, program_find(search->environment, path, NULL), search->asked, 0);
    return search->found != NULL;
}

static int loaded_name(void *state, pid_t pid, const char *path, const char *seen)
{
    (void)pid, (void)seen;
    return library_name(state, path);
}

/* Looks the name up in libraries: those that the traced processes have loaded, or else those that the programs are
 * linked with. */
static const struct type *libraries_name(struct probe_environment *environment, const struct asked *asked)
{
    struct library_search search = {environment, asked, NULL};
    for (size_t i = 0; i < environment->process_count && !search.found; i++)
        proc_each_file(environment->processes[i], loaded_name, &search);
    for (size_t i = 0, count = environment->program_count; !search.found && i < count; i++)
        if (environment->programs[i].is_probed)
            needed_each(environment->programs[i].path, library_name, &search);
    return search.found;
}

static const struct type *programs_name(struct probe_environment *environment,
                                        const struct probe_context *context, const struct asked *asked)
{
    const char *here = context ? context->program_path : NULL;
    const struct type *type = here ? program_name(environment, program_find(environment, here, NULL), asked,
                                                  context->program_address)
                                   : NULL;
    for (size_t i = 0; !type && i < environment->program_count; i++) {
        struct probe_program *program = &environment->programs[i];
        if (program->is_probed && (!here || strcmp(program->path, here) != 0))
            type = program_name(environment, program, asked, 0);
    }
    return type ? type : libraries_name(environment, asked);
}

const struct type *probe_program_type(struct probe_environment *environment,
                                      const struct probe_context *context, const char *name)
{
    return programs_name(environment, context, &(struct asked){name, NULL});
}

const struct type *probe_program_enumerator(struct probe_environment *environment,
                                            const struct probe_context *context, const char *name,
                                            int64_t *value)
{
    return programs_name(environment, context, &(struct asked){name, value});
}

int probe_program_each_enum(struct probe_environment *environment, const struct probe_context *context,
                            const char *pattern, int (*visit)(void *state, const char *name), void *state)
{
    struct probe_program *program = program_find(environment, context->program_path, NULL);
    struct dwarf_file *dwarf = program_dwarf(environment, program);
    if (dwarf)
        return dwarf_file_each_enum(dwarf, pattern, visit, state);
    struct btf_program *btf = program_btf(environment, program);
    return btf ? btf_program_each_enum(btf, pattern, visit, state) : 0;
}
