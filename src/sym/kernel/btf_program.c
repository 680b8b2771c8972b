/* SPDX-License-Identifier: BSD-3-Clause */
#include "sym/kernel/btf_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/apart.h"
#include "sym/kernel/btf.h"
#include "sym/elf/private.h"
#include "sym/type_wire.h"

enum { PATIENCE_MS = 30000, KEPT = 1 };
#define MEMORY ((uint64_t)8 << 30)

enum kind { ASK_OPEN, ASK_TYPE, ASK_ENUMERATOR, ASK_ENUMS, ASK_FIELDS };
static const char enum_keyword[] = "enum ";

/* ---- in the service ---- */

struct service {
    int fd;
    uint64_t base, size; /* where the ELF file is in it */
    struct arena arena;
    void *bytes;
    struct btf_file *btf; /* NULL: it is not open */
    struct type_writer writer;
};

static int open_btf(struct service *service)
{
    struct elf_file *file;
    struct elf_section section;
    size_t size;
    int error = elf_file_open_part(service->fd, service->base, service->size, &file);
    if (error)
        return error;
    error = elf_file_section_named(file, ".BTF", &section)
                ? elf_file_section_read(file, &section, &service->bytes, &size)
                : -ENOENT;
    if (!error)
        error = btf_file_open_memory(service->bytes, size, NULL, &service->arena, &service->btf);
    if (!error)
        btf_file_set_space(service->btf, SPACE_USER);
    elf_file_close(file);
    return error;
}

static int put_enum(void *state, const char *name, uint32_t id)
{
    struct text *answer = state;
    (void)id;
    wire_put_text(answer, name + strlen(enum_keyword));
    return answer->failed ? -ENOMEM : 0;
}

static int serve(void *state, struct apart_question *question, struct text *answer)
{
    struct service *service = state;
    const struct type *type;
    int64_t value = 0;
    jmp_buf nowhere;
    if (arena_guard(&service->arena, nowhere))
        return -ENOMEM;
    if (question->kind == ASK_OPEN)
        return open_btf(service);
    if (!service->btf)
        return -ENOENT;
    if (question->kind == ASK_FIELDS)
        return type_put_fields(&service->writer, answer, wire_take(&question->in));
    const char *name = wire_take_text(&question->in);
    if (!name)
        return -EINVAL;
    if (question->kind == ASK_ENUMS) {
        int error = btf_file_each_type(service->btf, name, put_enum, answer);
        wire_put_text(answer, NULL);
        return error;
    }
    type = question->kind == ASK_TYPE ? btf_file_type(service->btf, name)
                                      : btf_file_enumerator_type(service->btf, name, &value);
    wire_put(answer, (uint64_t)value);
    type_put(&service->writer, answer, type);
    return 0;
}

static void service_free(struct service *service)
{
    if (service->btf)
        btf_file_close(service->btf);
    type_writer_free(&service->writer);
    arena_free(&service->arena);
    free(service->bytes);
}

/* ---- in the process that asks ---- */

struct btf_program {
    struct service service;
    int keep[KEPT + 1];
    struct apart *child;
    struct type_hearer types;
    /* the last answer. It is kept here because an arena that runs out of memory jumps over the code that would free
     * it. */
    struct apart_answer answer;
};

static int ask(struct btf_program *program, enum kind kind, const struct text *question, struct cursor **in)
{
    apart_answer_free(&program->answer);
    program->types.depth = 0;
    *in = &program->answer.in;
    return apart_ask(program->child, kind, question, -1, &program->answer);
}

static void ask_fields(void *state, uint64_t number, struct type *type)
{
    struct btf_program *program = state;
    struct text question = {0};
    struct cursor *in;
    wire_put(&question, number);
    int error = ask(program, ASK_FIELDS, &question, &in);
    text_free(&question);
    if (!error)
        type_take_fields(&program->types, in, type);
}

int btf_program_open(const struct elf_file *file, struct arena *arena, struct btf_program **out)
{
    struct elf_section section;
    struct cursor *in;
    *out = NULL;
    if (!elf_file_section_named(file, ".BTF", &section))
        return -ENOENT;
    struct btf_program *program = calloc(1, sizeof *program);
    if (!program)
        return -ENOMEM;
    program->service = (struct service){.fd = file->fd, .base = file->base, .size = file->size};
    program->types = (struct type_hearer){.arena = arena, .ask = ask_fields, .state = program};
    program->keep[0] = file->fd;
    program->keep[1] = -1;
    const struct apart_options options = {.name = "spoor-btf",
                                          .serve = serve,
                                          .state = &program->service,
                                          .keep = program->keep,
                                          .memory = MEMORY,
                                          .patience_ms = PATIENCE_MS};
    int error = apart_start(&options, &program->child);
    if (!error)
        error = ask(program, ASK_OPEN, NULL, &in);
    if (error) {
        btf_program_close(program);
        return error;
    }
    *out = program;
    return 0;
}

void btf_program_close(struct btf_program *program)
{
    if (!program)
        return;
    type_hearer_end(&program->types);
    apart_end(program->child);
    apart_answer_free(&program->answer);
    service_free(&program->service);
    free(program);
}

static const struct type *ask_name(struct btf_program *program, enum kind kind, const char *name,
                                   int64_t *value)
{
    struct text question = {0};
    struct cursor *in;
    wire_put_text(&question, name);
    int error = ask(program, kind, &question, &in);
    text_free(&question);
    if (error)
        return NULL;
    *value = (int64_t)wire_take(in);
    return type_take(&program->types, in);
}

const struct type *btf_program_type(struct btf_program *program, const char *name)
{
    int64_t none;
    return ask_name(program, ASK_TYPE, name, &none);
}

const struct type *btf_program_enumerator(struct btf_program *program, const char *name, int64_t *value)
{
    return ask_name(program, ASK_ENUMERATOR, name, value);
}

int btf_program_each_enum(struct btf_program *program, const char *pattern,
                          int (*visit)(void *state, const char *name), void *state)
{
    struct text question = {0}, tagged = {0};
    struct cursor *in;
    text_printf(&tagged, "%s%s", enum_keyword, pattern);
    wire_put_text(&question, text_string(&tagged));
    int stop = tagged.failed || question.failed ? -ENOMEM : ask(program, ASK_ENUMS, &question, &in);
    text_free(&question);
    text_free(&tagged);
    for (const char *name; !stop && (name = wire_take_text(in));)
        stop = visit(state, name);
    return stop;
}
