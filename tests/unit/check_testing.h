/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks scripts for the tests of the checker, with builtins and a probe of their own. */
#ifndef TESTS_CHECK_TESTING_H
#define TESTS_CHECK_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/aggregation.h"
#include "lang/check/check.h"

/* ---- a few builtins ---- */

static const struct type type_comm = {.kind = TYPE_STRING, .size = 16};
static const struct type type_probe = {.kind = TYPE_PROBE_NAME, .size = 8};

static const struct type *check_arg(struct checker *checker, struct node *node)
{
    const struct probe_context *context = checker->unit->context;
    if (node->name.number < context->argument_count)
        return context->arguments[node->name.number];
    check_error(checker, node->span, "%s has only %u arguments", checker->unit->probe,
                context->argument_count);
    return NULL;
}

static const struct type *check_args(struct checker *checker, struct node *node)
{
    if (!checker->unit->context->args)
        check_error(checker, node->span, "no args here");
    return checker->unit->context->args;
}

static const struct type *check_task(struct checker *checker, struct node *node)
{
    (void)node;
    return checker->provider->type(checker->provider->state, "struct task_struct *");
}

static const struct type *aggregation(struct checker *checker, struct node *node)
{
    struct type *type = arena_new(checker->arena, struct type);
    struct node *value = check_argument(node, 0);
    *type = *type_aggregation(checker->arena, node->call.builtin->aggregation, value ? value->type : NULL);
    int64_t *const literals[] = {&type->minimum, &type->maximum, &type->step};
    unsigned first = type->aggregation == &aggregation_kind_hist ? 2 : 0;
    for (unsigned i = first; i < 3 && check_argument(node, 1 + i - first); i++)
        *literals[i] = (int64_t)check_argument(node, 1 + i - first)->integer.value;
    return type;
}

static const struct type *check_str(struct checker *checker, struct node *node)
{
    struct node *text = check_argument(node, 0);
    return text->type->kind == TYPE_STRING ? text->type : type_string(checker->arena, checker->max_strlen);
}

static const struct type *check_has_key(struct checker *checker, struct node *node)
{
    struct node *map = check_argument(node, 0);
    return check_map_key(checker, map->map.symbol, check_argument(node, 1)) ? &type_bool : NULL;
}

static const struct builtin basics[] = {
    {.name = "pid", .flags = BUILTIN_BARE | BUILTIN_CALL, .result = &type_u32},
    {.name = "nsecs", .flags = BUILTIN_BARE | BUILTIN_CALL, .result = &type_u64},
    {.name = "comm", .flags = BUILTIN_BARE, .result = &type_comm},
    {.name = "probe", .flags = BUILTIN_BARE | BUILTIN_USES_SITE, .result = &type_probe},
    {.name = "arg", .flags = BUILTIN_BARE | BUILTIN_NUMBERED | BUILTIN_USES_ARGUMENT, .check = check_arg},
    {.name = "args", .flags = BUILTIN_BARE | BUILTIN_USES_ARGS, .check = check_args},
    {.name = "retval", .flags = BUILTIN_BARE | BUILTIN_USES_RETVAL, .result = &type_i64},
    {.name = "ctx", .flags = BUILTIN_BARE | BUILTIN_USES_CTX, .result = &type_u64},
    {.name = "curtask", .flags = BUILTIN_BARE, .check = check_task},
    {0},
};
static const struct builtin calls[] = {
    {.name = "printf",
     .synopsis = "printf(format, ...)",
     .flags = BUILTIN_CALL | BUILTIN_VARIADIC,
     .least = 1,
     .parameters = {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .result = &type_none},
    {.name = "print",
     .flags = BUILTIN_CALL,
     .least = 1,
     .most = 3,
     .parameters = {PARAMETER_ANY, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER},
     .result = &type_none},
    {.name = "clear",
     .flags = BUILTIN_CALL,
     .least = 1,
     .most = 1,
     .parameters = {PARAMETER_MAP},
     .result = &type_none},
    {.name = "has_key",
     .flags = BUILTIN_CALL,
     .least = 2,
     .most = 2,
     .parameters = {PARAMETER_MAP, PARAMETER_ANY},
     .check = check_has_key},
    {.name = "str",
     .synopsis = "str(pointer [, length])",
     .flags = BUILTIN_CALL | BUILTIN_READS_MEMORY,
     .least = 1,
     .most = 2,
     .parameters = {PARAMETER_TEXT, PARAMETER_INTEGER},
     .check = check_str},
    {.name = "address",
     .flags = BUILTIN_CALL,
     .least = 1,
     .most = 1,
     .parameters = {PARAMETER_POINTER},
     .result = &type_u64},
    {.name = "reg",
     .flags = BUILTIN_CALL | BUILTIN_USES_REGISTERS,
     .least = 1,
     .most = 1,
     .parameters = {PARAMETER_LITERAL_STRING},
     .result = &type_u64},
    {.name = "strncmp",
     .flags = BUILTIN_CALL,
     .least = 3,
     .most = 3,
     .parameters = {PARAMETER_STRING, PARAMETER_STRING, PARAMETER_LITERAL_INTEGER},
     .result = &type_u64},
    {.name = "time",
     .flags = BUILTIN_CALL,
     .most = 1,
     .parameters = {PARAMETER_LITERAL_STRING},
     .result = &type_none},
    {.name = "system",
     .flags = BUILTIN_CALL | BUILTIN_UNSAFE | BUILTIN_VARIADIC,
     .least = 1,
     .parameters = {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .result = &type_none},
    {.name = "exit",
     .flags = BUILTIN_CALL | BUILTIN_NO_LOOP | BUILTIN_ENDS,
     .most = 1,
     .parameters = {PARAMETER_INTEGER},
     .result = &type_none},
    {.name = "delete",
     .flags = BUILTIN_CALL | BUILTIN_VALUE_UNUSED_OK,
     .least = 1,
     .most = 2,
     .parameters = {PARAMETER_ANY, PARAMETER_ANY},
     .result = &type_bool},
    {0},
};
#define AGGREGATION(text, kind_of, few, many, ...)                                                           \
    {                                                                                                        \
        .name = text, .synopsis = text "()", .flags = BUILTIN_CALL | BUILTIN_AGGREGATION, .least = few,      \
        .most = many, .parameters = {__VA_ARGS__}, .check = aggregation, .aggregation = kind_of              \
    }
static const struct builtin aggregations[] = {
    AGGREGATION("count", &aggregation_kind_count, 0, 0, PARAMETER_NONE),
    AGGREGATION("sum", &aggregation_kind_sum, 1, 1, PARAMETER_INTEGER),
    AGGREGATION("max", &aggregation_kind_max, 1, 1, PARAMETER_INTEGER),
    AGGREGATION("stats", &aggregation_kind_stats, 1, 1, PARAMETER_INTEGER),
    AGGREGATION("hist", &aggregation_kind_hist, 1, 2, PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER),
    AGGREGATION("lhist", &aggregation_kind_lhist, 4, 4, PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER,
                PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER),
    {0},
};
static const struct builtin *const families[] = {basics, calls, aggregations};
static const struct builtin_table builtins = {families, 3, NULL, NULL};

/* ---- a few types ---- */

static const struct enumerator states[] = {{"IDLE", 0}, {"BUSY", 7}};
static const struct type type_state = {
    .kind = TYPE_ENUM, .size = 4, .name = "state", .count = 2, .enumerators = states};
static const struct type char_array = {.kind = TYPE_ARRAY, .size = 16, .target = &type_i8, .count = 16};
static const struct type byte_array = {.kind = TYPE_ARRAY, .size = 6, .target = &type_u8, .count = 6};
static const struct type open_array = {.kind = TYPE_ARRAY, .target = &type_i8};
__attribute__((unused)) static struct type task;
static const struct type task_pointer = {
    .kind = TYPE_POINTER, .size = 8, .target = &task, .space = SPACE_KERNEL};
static const struct type plain_pointer = {.kind = TYPE_POINTER, .size = 8, .target = &task};
static const struct type user_pointer = {
    .kind = TYPE_POINTER, .size = 8, .target = &task, .space = SPACE_USER};
static const struct type void_pointer = {.kind = TYPE_POINTER, .size = 8, .target = &type_none};
static const struct field inner_fields[] = {{.name = "low", .type = &type_u16},
                                            {.name = "high", .type = &type_u16}};
static const struct type inner = {.kind = TYPE_STRUCT, .size = 4, .count = 2, .fields = inner_fields};
static const struct field task_fields[] = {
    {.name = "pid", .type = &type_i32},
    {.name = "comm", .type = &char_array, .offset = 16},
    {.name = "parent", .type = &plain_pointer, .offset = 32},
    {.name = "mac", .type = &byte_array, .offset = 40},
    {.name = "", .type = &inner, .offset = 48},
    {.name = "state", .type = &type_state, .offset = 52},
    {.name = "flag", .type = &type_u32, .offset = 56, .bit_offset = 3, .bit_size = 2},
    {.name = "user", .type = &user_pointer, .offset = 64},
};
__attribute__((unused)) static struct type task = {
    .kind = TYPE_STRUCT, .size = 72, .name = "task_struct", .count = 8, .fields = task_fields};
static const struct field args_fields[] = {
    {.name = "status", .type = &type_i32},
    {.name = "filename", .type = &open_array, .offset = 4, .data_loc = true},
    {.name = "task", .type = &plain_pointer, .offset = 8},
    {.name = "comm", .type = &char_array, .offset = 16},
};
static const struct type args_type = {
    .kind = TYPE_STRUCT, .size = 32, .name = "args", .count = 4, .fields = args_fields};
static const struct type *const arguments[] = {&type_u64, &type_i64, &user_pointer, &void_pointer, &type_i32};
static const struct probe_context context = {
    .kind = "usdt", .space = SPACE_USER, .args = &args_type, .arguments = arguments, .argument_count = 5};

static const struct type *provide_type(void *state, const char *name)
{
    (void)state;
    if (!strcmp(name, "struct task_struct"))
        return &task;
    if (!strcmp(name, "struct task_struct *"))
        return &task_pointer;
    if (!strcmp(name, "enum state"))
        return &type_state;
    return !strcmp(name, "pid_t") ? &type_i32 : NULL;
}

static const struct type *provide_enumerator(void *state, const char *name, int64_t *value)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++)
        if (!strcmp(name, states[i].name))
            return *value = states[i].value, &type_state;
    return NULL;
}

static const struct type_provider provider = {.type = provide_type, .enumerator = provide_enumerator};

/* ---- running the checker ---- */

struct checked {
    struct arena arena;
    jmp_buf nowhere;
    struct diagnostics diagnostics;
    struct source source;
    struct checker checker;
    struct check_unit *units;
    struct script *script;
    bool is_right;
};

__attribute__((unused)) static void check_script(struct checked *c, const char *text, bool is_unsafe)
{
    *c = (struct checked){0};
    if (arena_guard(&c->arena, c->nowhere))
        abort();
    c->source = (struct source){"test", text, strlen(text)};
    c->diagnostics.arena = &c->arena;
    c->script = script_parse(&c->arena, &c->diagnostics, &c->source, NULL);
    if (c->diagnostics.errors)
        fail_msg("syntax: %s: %.99s", c->diagnostics.items[0].message, text);
    c->checker = (struct checker){.arena = &c->arena,
                                  .diagnostics = &c->diagnostics,
                                  .builtins = &builtins,
                                  .provider = &provider,
                                  .is_unsafe = is_unsafe,
                                  .max_strlen = 64};
    c->units = arena_array(&c->arena, c->script->block_count, sizeof *c->units);
    size_t count = 0;
    for (struct action_block *block = c->script->blocks; block; block = block->next)
        c->units[count++] = (struct check_unit){
            .predicate = block->predicate, .body = block->body, .context = &context, .probe = "usdt:x:y"};
    c->is_right = check_units(&c->checker, c->units, count);
}

__attribute__((unused)) static void release(struct checked *c)
{
    checker_free(&c->checker);
    arena_free(&c->arena);
}

static const char *report(struct checked *c)
{
    static struct text out;
    text_clear(&out);
    diagnostics_render(&out, &c->diagnostics, DIAGNOSTIC_ERROR, false);
    diagnostics_render(&out, &c->diagnostics, DIAGNOSTIC_WARNING, false);
    return text_string(&out);
}

__attribute__((unused)) static const char *text_of(struct checked *c, const struct type *type)
{
    return type ? type_text(&c->arena, type) : "-";
}

#endif
