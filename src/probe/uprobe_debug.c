/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe/uprobe_debug.h"

#include <string.h>

#include "base/terminal.h"
#include "bpf/lower/lower.h"

enum { WORD = 8 };

const struct dwarf_function *uprobe_function_of(struct probe_environment *environment,
                                                const struct uprobe_detail *site)
{
    static const struct dwarf_function none;
    if (!*site->function) {
        struct dwarf_file *file = probe_dwarf(environment, site->user.path, site->user.origin);
        struct dwarf_function *function = arena_new(environment->arena, struct dwarf_function);
        /* A function is meant where it begins, also when it begins with another that was inlined. */
        const char *scope = site->scope ? site->scope : site->user.is_entry ? "" : NULL;
        bool is_known = file && !dwarf_file_function(file, site->user.address, scope, function);
        *site->function = is_known ? function : &none;
    }
    return *site->function == &none ? NULL : *site->function;
}

static bool asks(const struct context_uses *uses, const struct uprobe_detail *site, bool is_return)
{
    return is_return ? uses->retval && !site->is_one_of_many : uses->args;
}

/* ---- grouping ---- */

static void location_key(const struct dwarf_location *location, const struct type *type, struct text *key)
{
    text_printf(key, "%p:%d:%u:%lld:%lld:", (const void *)type, (int)location->where, location->count,
                (long long)location->offset, (long long)location->value);
    text_printf(key, "%u:%u:%u", location->registers[0].offset, location->registers[1].offset,
                location->base.offset);
}

static bool is_read(const struct context_uses *uses, const char *name)
{
    if (uses->all_fields)
        return true;
    for (const char *const *field = uses->fields; field && *field; field++)
        if (!strcmp(*field, name))
            return true;
    return false;
}

void uprobe_debug_key(struct probe_environment *environment, const struct context_uses *uses,
                      const struct uprobe_detail *site, bool is_return, struct text *key)
{
    if (!asks(uses, site, is_return))
        return;
    const struct dwarf_function *function = uprobe_function_of(environment, site);
    if (!function)
        return;
    if (is_return)
        location_key(&function->result_at, function->result, key);
    for (uint32_t i = 0; !is_return && i < function->count; i++)
        if (is_read(uses, function->parameters[i].name)) {
            text_printf(key, "|%u:%s:", i, function->parameters[i].name);
            location_key(&function->parameters[i].location, function->parameters[i].type, key);
        }
}

/* ---- reading ---- */

static struct ir *register_value(struct lowering *l, const struct machine_register *from, int64_t offset)
{
    return ir_binary_constant(&l->b, IR_ADD, ir_load(&l->b, lower_ctx(l), from->offset, WORD, false), offset);
}

static struct ir *read_scalar(struct lowering *l, const struct dwarf_location *location,
                              const struct type *type)
{
    if (location->where == DWARF_MEMORY)
        return lower_read_scalar(l, register_value(l, &location->base, location->offset), type, SPACE_USER,
                                 l->b.span);
    struct ir *value = location->where == DWARF_CONSTANT
                           ? ir_constant(&l->b, location->value)
                           : register_value(l, &location->registers[0], location->offset);
    if (type->kind == TYPE_BOOL)
        return ir_binary_constant(&l->b, IR_NE, ir_binary_constant(&l->b, IR_AND, value, 0xff), 0);
    return type->size < WORD ? ir_extend(&l->b, value, type->size, type->is_signed) : value;
}

/* Reads the bytes of a struct into memory of the program. */
static struct ir *read_bytes(struct lowering *l, const struct dwarf_location *location,
                             const struct type *type)
{
    struct memory to = lower_temporary(l, type_storage(type), true);
    if (location->where == DWARF_MEMORY) {
        lower_read(l, to, type->size, register_value(l, &location->base, location->offset), SPACE_USER,
                   l->b.span);
        return ir_offset(&l->b, to.base, to.offset);
    }
    for (uint32_t i = 0; i < location->count && i * WORD < type->size; i++) {
        uint32_t bytes = type->size - i * WORD;
        struct ir *word = register_value(l, &location->registers[i], 0);
        if (bytes < WORD) /* bytes of the register behind the struct have no meaning */
            word =
                ir_binary(&l->b, IR_AND, word, ir_constant(&l->b, (int64_t)(((uint64_t)1 << 8 * bytes) - 1)));
        ir_store(&l->b, to.base, to.offset + (int32_t)(i * WORD), WORD, word);
    }
    return ir_offset(&l->b, to.base, to.offset);
}

static struct ir *read_value(struct lowering *l, const struct dwarf_location *location,
                             const struct type *type)
{
    return type_is_scalar(type) ? read_scalar(l, location, type) : read_bytes(l, location, type);
}

static struct ir *debug_field(struct lowering *l, const struct probe_context *context,
                              const struct field *field)
{
    const struct dwarf_function *function = context->data;
    const struct dwarf_parameter *parameter = &function->parameters[field->offset];
    return read_value(l, &parameter->location, parameter->type);
}

static struct ir *debug_retval(struct lowering *l, const struct probe_context *context)
{
    const struct dwarf_function *function = context->data;
    return read_value(l, &function->result_at, function->result);
}

/* ---- what there is ---- */

/* Why a location cannot be read; NULL: it can. */
static const char *unreadable(const struct dwarf_location *location, const struct type *type)
{
    if (type->kind == TYPE_NONE || (!type_is_scalar(type) && !type->size))
        return "its type is not described";
    if (location->where == DWARF_NOWHERE)
        return location->why;
    if (location->where == DWARF_CONSTANT && !type_is_scalar(type))
        return "it is a constant without a place";
    if (location->where == DWARF_REGISTERS && type->size > WORD * location->count)
        return "only a part of it is in registers";
    return NULL;
}

static const char *debug_absent(const struct probe_context *context, const char *name)
{
    const struct dwarf_function *function = context->data;
    for (uint32_t i = 0; i < function->count; i++)
        if (!strcmp(function->parameters[i].name, name))
            return unreadable(&function->parameters[i].location, function->parameters[i].type);
    return NULL;
}

/* A field's offset is the number of its parameter: they lie where they lie. */
static const struct type *debug_args(struct arena *arena, const struct dwarf_function *function)
{
    struct type *args = arena_new(arena, struct type);
    struct field *fields = arena_array(arena, function->count + 1, sizeof *fields);
    *args = (struct type){.kind = TYPE_STRUCT, .name = function->name, .fields = fields};
    for (uint32_t i = 0; i < function->count; i++) {
        const struct dwarf_parameter *parameter = &function->parameters[i];
        type_complete(parameter->type);
        if (*parameter->name && !unreadable(&parameter->location, parameter->type))
            fields[args->count++] =
                (struct field){.name = parameter->name, .type = parameter->type, .offset = i};
    }
    return args;
}

void uprobe_debug_fill(struct probe_environment *environment, const struct context_uses *uses,
                       const struct uprobe_detail *site, bool is_return, struct probe_context *context)
{
    if (!asks(uses, site, is_return))
        return;
    const struct dwarf_function *function = uprobe_function_of(environment, site);
    if (!function) {
        if (!is_return)
            context->args_missing = probe_dwarf(environment, site->user.path, site->user.origin)
                                        ? "the program's debug information does not describe this function"
                                        : "the program has no debug information";
        return;
    }
    context->data = function;
    if (!is_return) {
        context->args = debug_args(environment->arena, function);
        context->lower_args_field = debug_field;
        context->args_absent = debug_absent;
        for (uint32_t i = 0; i < function->count; i++)
            context->reads_memory |= function->parameters[i].location.where == DWARF_MEMORY;
        return;
    }
    if (function->result->kind == TYPE_NONE)
        return; /* void: the register, as without debug information */
    type_complete(function->result);
    /* What cannot be looked into through it stays the number that it is without debug information: scripts
     * keep what malloc() returns beside what free() is given. */
    const struct type *target = function->result->kind == TYPE_POINTER ? function->result->target : NULL;
    if (function->result->kind == TYPE_POINTER && (!target || target->kind != TYPE_STRUCT))
        return;
    const char *why = unreadable(&function->result_at, function->result);
    context->retval = why ? NULL : function->result;
    context->retval_missing = why;
    context->lower_retval = why ? NULL : debug_retval;
    context->reads_memory |= function->result_at.where == DWARF_MEMORY;
}

void uprobe_debug_list(struct dwarf_file *file, uint64_t address, bool is_return, struct text *details)
{
    struct dwarf_function function;
    text_clear(details);
    if (dwarf_file_function(file, address, "", &function))
        return;
    if (is_return && function.result->kind != TYPE_NONE)
        terminal_print(details, "    %s retval\n", function.result_spelling);
    for (uint32_t i = 0; !is_return && i < function.count; i++)
        terminal_print(details, "    %s %s\n", function.parameters[i].spelling, function.parameters[i].name);
}
