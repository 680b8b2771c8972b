/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe/program.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sym/btf.h"
#include "sym/elf.h"
#include "sym/library.h"
#include "sym/proc.h"

struct probe_program {
    const char *path;
    struct dwarf_file *dwarf;
    struct btf_file *btf;
    bool dwarf_tried, btf_tried;
    bool is_probed; /* its names are the script's */
};

static struct probe_program *program_find(struct probe_environment *environment, const char *path)
{
    for (size_t i = 0; i < environment->program_count; i++)
        if (!strcmp(environment->programs[i].path, path))
            return &environment->programs[i];
    struct probe_program *program = arena_push(environment->arena, environment->programs,
                                               environment->program_count, environment->program_room);
    *program = (struct probe_program){.path = arena_strdup(environment->arena, path)};
    return program;
}

static struct dwarf_file *program_dwarf(struct probe_environment *environment, struct probe_program *program)
{
    if (!program->dwarf_tried) {
        struct dwarf_options options = {
            .arena = environment->arena, .tell = environment->tell, .state = environment->tell_state};
        program->dwarf_tried = true;
        if (dwarf_file_open(program->path, &options, &program->dwarf))
            program->dwarf = NULL;
    }
    return program->dwarf;
}

/* Compilers of BPF-aware programs, and pahole, leave this section. */
static struct btf_file *program_btf(struct probe_environment *environment, struct probe_program *program)
{
    struct elf_file *file;
    struct elf_section section;
    void *bytes;
    size_t size;
    if (program->btf_tried)
        return program->btf;
    program->btf_tried = true;
    if (elf_file_open(program->path, &file))
        return NULL;
    if (elf_file_section_named(file, ".BTF", &section) &&
        !elf_file_section_read(file, &section, &bytes, &size)) {
        void *kept = arena_array(environment->arena, size, 1);
        memcpy(kept, bytes, size);
        free(bytes);
        if (btf_file_open_memory(kept, size, NULL, environment->arena, &program->btf))
            program->btf = NULL;
        else
            btf_file_set_space(program->btf, SPACE_USER);
    }
    elf_file_close(file);
    return program->btf;
}

struct dwarf_file *probe_dwarf(struct probe_environment *environment, const char *path)
{
    return program_dwarf(environment, program_find(environment, path));
}

void probe_program_add(struct probe_environment *environment, const char *path)
{
    program_find(environment, path)->is_probed = true;
}

void probe_programs_close(struct probe_environment *environment)
{
    for (size_t i = 0; i < environment->program_count; i++) {
        dwarf_file_close(environment->programs[i].dwarf);
        if (environment->programs[i].btf)
            btf_file_close(environment->programs[i].btf);
    }
    environment->program_count = 0;
}

/* ---- names ---- */

struct asked {
    const char *name;
    int64_t *value; /* NULL: a type */
};

static const struct type *program_name(struct probe_environment *environment, struct probe_program *program,
                                       const struct asked *asked, uint64_t near)
{
    const struct type *type = NULL;
    struct dwarf_file *dwarf = program_dwarf(environment, program);
    if (dwarf)
        type = asked->value ? dwarf_file_enumerator(dwarf, asked->name, near, asked->value)
                            : dwarf_file_type(dwarf, asked->name, near);
    struct btf_file *btf = type ? NULL : program_btf(environment, program);
    if (btf)
        type = asked->value ? btf_file_enumerator_type(btf, asked->name, asked->value)
                            : btf_file_type(btf, asked->name);
    return type;
}

/* ---- libraries ---- */

struct needed {
    struct probe_environment *environment;
    const struct asked *asked;
    const char *root; /* /proc/PID/root, or "" */
    const struct type *found;
};

static void library_name(struct needed *needed, const char *library)
{
    struct text path = {0};
    if (!needed->found && !library_find(library, &path)) {
        const char *seen = arena_printf(needed->environment->arena, "%s%s", needed->root, text_string(&path));
        needed->found =
            program_name(needed->environment, program_find(needed->environment, seen), needed->asked, 0);
    }
    text_free(&path);
}

/* The libraries that the program names itself. */
static const struct type *libraries_name(struct probe_environment *environment, const char *path,
                                         const struct asked *asked)
{
    enum { LIBRARIES_MAX = 256 };
    size_t root = proc_root_length(path, NULL);
    struct needed needed = {environment, asked, arena_printf(environment->arena, "%.*s", (int)root, path),
                            NULL};
    struct elf_file *file;
    struct elf_section dynamic, strings;
    void *entries = NULL, *names = NULL;
    size_t bytes = 0, room = 0;
    unsigned libraries = 0;
    if (elf_file_open(path, &file))
        return NULL;
    if (elf_file_section_named(file, ".dynamic", &dynamic) &&
        elf_file_section_named(file, ".dynstr", &strings) &&
        !elf_file_section_read(file, &dynamic, &entries, &bytes) &&
        !elf_file_section_read(file, &strings, &names, &room))
        for (size_t i = 0; i < bytes / sizeof(Elf64_Dyn) && libraries < LIBRARIES_MAX && !needed.found; i++) {
            const Elf64_Dyn *entry = (const Elf64_Dyn *)entries + i;
            if (entry->d_tag != DT_NEEDED || entry->d_un.d_val >= room)
                continue;
            libraries++;
            library_name(&needed, (const char *)names + entry->d_un.d_val);
        }
    free(entries);
    free(names);
    elf_file_close(file);
    return needed.found;
}

static const struct type *programs_name(struct probe_environment *environment,
                                        const struct probe_context *context, const struct asked *asked)
{
    const char *here = context ? context->program_path : NULL;
    const struct type *type =
        here ? program_name(environment, program_find(environment, here), asked, context->program_address)
             : NULL;
    for (size_t i = 0; !type && i < environment->program_count; i++) {
        struct probe_program *program = &environment->programs[i];
        if (program->is_probed && (!here || strcmp(program->path, here) != 0))
            type = program_name(environment, program, asked, 0);
    }
    for (size_t i = 0, count = environment->program_count; !type && i < count; i++) {
        const char *path = environment->programs[i].path;
        if (environment->programs[i].is_probed)
            type = libraries_name(environment, path, asked);
    }
    return type;
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
