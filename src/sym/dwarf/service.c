/* SPDX-License-Identifier: BSD-3-Clause */
/* The service that reads the debug information of one program: its questions, and its answers. */
#include <errno.h>
#include <stdlib.h>

#include "sym/apart.h"
#include "sym/dwarf/private.h"
#include "sym/type_wire.h"

struct dwarf_service {
    const struct dwarf_source *source;
    struct arena arena;
    struct dwarf_reader *reader; /* NULL: it is not open */
    struct type_writer writer;
};

struct dwarf_service *dwarf_service_new(const struct dwarf_source *source)
{
    struct dwarf_service *service = calloc(1, sizeof *service);
    if (service)
        service->source = source;
    return service;
}

/* Frees what dwarf_service_new() made. In the process that asks nothing has been opened, except in tests of the
 * reading itself. */
void dwarf_service_free(struct dwarf_service *service)
{
    if (!service)
        return;
    dwarf_reader_close(service->reader);
    type_writer_free(&service->writer);
    arena_free(&service->arena);
    free(service);
}

/* ---- answers ---- */

static void put_register(struct text *out, const struct machine_register *from)
{
    wire_put(out, (uint64_t)from->offset | (uint64_t)from->width << 16);
}

static void put_location(struct text *out, const struct dwarf_location *location)
{
    wire_put(out, location->where);
    wire_put_text(out, location->why);
    wire_put(out, location->count);
    put_register(out, &location->registers[0]);
    put_register(out, &location->registers[1]);
    put_register(out, &location->base);
    wire_put(out, (uint64_t)location->offset);
    wire_put(out, (uint64_t)location->value);
}

static int answer_open(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    bool is_split;
    (void)in;
    int error = dwarf_reader_open(service->source, &service->arena, &service->reader, &is_split);
    wire_put(answer, is_split);
    return error;
}

static int answer_type(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    const char *name = wire_take_text(in);
    uint64_t near = wire_take(in);
    type_put(&service->writer, answer, name ? dwarf_reader_type(service->reader, name, near) : NULL);
    return 0;
}

static int answer_enumerator(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    const char *name = wire_take_text(in);
    uint64_t near = wire_take(in);
    int64_t value = 0;
    const struct type *type = name ? dwarf_reader_enumerator(service->reader, name, near, &value) : NULL;
    wire_put(answer, (uint64_t)value);
    type_put(&service->writer, answer, type);
    return 0;
}

static int put_enum(void *state, const char *name)
{
    struct text *answer = state;
    wire_put_text(answer, name);
    return answer->failed ? -ENOMEM : 0;
}

static int answer_enums(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    const char *pattern = wire_take_text(in);
    int error = pattern ? dwarf_reader_each_enum(service->reader, pattern, put_enum, answer) : -EINVAL;
    wire_put_text(answer, NULL);
    return error;
}

static int answer_variable(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    const char *name = wire_take_text(in);
    uint64_t near = wire_take(in), address;
    const struct type *type;
    int error = name ? dwarf_reader_variable(service->reader, name, near, &address, &type) : -EINVAL;
    if (error)
        return error;
    wire_put(answer, address);
    type_put(&service->writer, answer, type);
    return 0;
}

static int put_place(void *state, uint64_t address, bool is_inlined)
{
    struct text *places = state;
    const uint64_t words[] = {address, is_inlined};
    text_append(places, (const char *)words, sizeof words);
    return places->failed ? -ENOMEM : 0;
}

static int answer_functions(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    const char *name = wire_take_text(in);
    struct text places = {0};
    int error = name ? dwarf_reader_each_function(service->reader, name, put_place, &places) : -EINVAL;
    wire_put_bytes(answer, places.bytes, places.length);
    text_free(&places);
    return error;
}

static int answer_line(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    const char *source = wire_take_text(in);
    unsigned line = (unsigned)wire_take(in), column = (unsigned)wire_take(in), next = 0;
    struct text places = {0};
    int error = source
                    ? dwarf_reader_each_line(service->reader, source, line, column, put_place, &places, &next)
                    : -EINVAL;
    wire_put(answer, error == -ENOENT);
    wire_put(answer, next);
    wire_put_bytes(answer, places.bytes, places.length);
    text_free(&places);
    return error == -ENOENT ? 0 : error;
}

static int answer_function(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    struct dwarf_function function;
    uint64_t address = wire_take(in);
    int error = dwarf_reader_function(service->reader, address, wire_take_text(in), &function);
    if (error)
        return error;
    wire_put_text(answer, function.name);
    wire_put(answer, (function.is_inlined ? 1u : 0u) | (function.is_entry ? 2u : 0u));
    wire_put_text(answer, function.result_spelling);
    type_put(&service->writer, answer, function.result);
    put_location(answer, &function.result_at);
    wire_put(answer, function.count);
    for (uint32_t i = 0; i < function.count; i++) {
        wire_put_text(answer, function.parameters[i].name);
        wire_put_text(answer, function.parameters[i].spelling);
        type_put(&service->writer, answer, function.parameters[i].type);
        put_location(answer, &function.parameters[i].location);
    }
    return 0;
}

static int answer_operand(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    size_t size;
    struct dwarf_expression expression;
    uint64_t address = wire_take(in);
    const struct dwarf_operand *operand = wire_take_bytes(in, &size);
    int error = operand && size == sizeof *operand
                    ? dwarf_reader_operand(service->reader, address, operand, &expression)
                    : -EINVAL;
    if (error)
        return error;
    wire_put_text(answer, expression.text);
    wire_put_text(answer, expression.spelling);
    type_put(&service->writer, answer, expression.type);
    return 0;
}

static int answer_fields(struct dwarf_service *service, struct cursor *in, struct text *answer)
{
    return type_put_fields(&service->writer, answer, wire_take(in));
}

int dwarf_serve(void *state, struct apart_question *question, struct text *answer)
{
    static int (*const answers[DWARF_ASK_COUNT])(struct dwarf_service *, struct cursor *, struct text *) = {
        [DWARF_ASK_OPEN] = answer_open,
        [DWARF_ASK_TYPE] = answer_type,
        [DWARF_ASK_ENUMERATOR] = answer_enumerator,
        [DWARF_ASK_ENUMS] = answer_enums,
        [DWARF_ASK_VARIABLE] = answer_variable,
        [DWARF_ASK_FUNCTIONS] = answer_functions,
        [DWARF_ASK_LINE] = answer_line,
        [DWARF_ASK_FUNCTION] = answer_function,
        [DWARF_ASK_OPERAND] = answer_operand,
        [DWARF_ASK_FIELDS] = answer_fields,
    };
    struct dwarf_service *service = state;
    jmp_buf nowhere;
    if (question->kind >= DWARF_ASK_COUNT || (question->kind != DWARF_ASK_OPEN && !service->reader))
        return -ENOENT;
    if (arena_guard(&service->arena, nowhere))
        return -ENOMEM;
    return answers[question->kind](service, &question->in, answer);
}
