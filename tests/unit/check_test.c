/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker: what types maps, variables and nodes get, and what is refused with which words. The builtins
 * and the probe are the test's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/check.h"

/* ---- a small shelf of builtins ---- */

static const struct type type_comm = {.kind = TYPE_STRING, .size = 16};
static const struct type type_probe = {.kind = TYPE_NAME, .size = 8};

static const struct type *check_arg(struct checker *checker, struct node *node)
{
    const struct probe_context *context = checker->unit->context;
    if (node->name.number < context->argument_count)
        return context->arguments[node->name.number];
    check_error(checker, node->place, "%s has only %u arguments", checker->unit->probe,
                context->argument_count);
    return NULL;
}

static const struct type *check_args(struct checker *checker, struct node *node)
{
    if (!checker->unit->context->args)
        check_error(checker, node->place, "no args here");
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
    *type = *type_aggregation(checker->arena, (enum type_kind)node->call.builtin->data,
                              value ? value->type : NULL);
    int64_t *const literals[] = {&type->minimum, &type->maximum, &type->step};
    unsigned first = type->kind == TYPE_HIST ? 2 : 0;
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
        .most = many, .parameters = {__VA_ARGS__}, .check = aggregation, .data = kind_of                     \
    }
static const struct builtin aggregations[] = {
    AGGREGATION("count", TYPE_COUNT, 0, 0, PARAMETER_NONE),
    AGGREGATION("sum", TYPE_SUM, 1, 1, PARAMETER_INTEGER),
    AGGREGATION("max", TYPE_MAX, 1, 1, PARAMETER_INTEGER),
    AGGREGATION("stats", TYPE_STATS, 1, 1, PARAMETER_INTEGER),
    AGGREGATION("hist", TYPE_HIST, 1, 2, PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER),
    AGGREGATION("lhist", TYPE_LHIST, 4, 4, PARAMETER_INTEGER, PARAMETER_LITERAL_INTEGER,
                PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER),
    {0},
};
static const struct builtin *const families[] = {basics, calls, aggregations};
static const struct builtin_table builtins = {families, 3};

/* ---- a small world of types ---- */

static const struct enumerator states[] = {{"IDLE", 0}, {"BUSY", 7}};
static const struct type type_state = {
    .kind = TYPE_ENUM, .size = 4, .name = "state", .count = 2, .enumerators = states};
static const struct type char_array = {.kind = TYPE_ARRAY, .size = 16, .target = &type_i8, .count = 16};
static const struct type byte_array = {.kind = TYPE_ARRAY, .size = 6, .target = &type_u8, .count = 6};
static const struct type open_array = {.kind = TYPE_ARRAY, .target = &type_i8};
static struct type task;
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
static struct type task = {
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

static void check_script(struct checked *c, const char *text, bool is_unsafe)
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
        c->units[count++] = (struct check_unit){block->predicate, block->body, &context, "usdt:x:y"};
    c->is_right = check_units(&c->checker, c->units, count);
}

static void release(struct checked *c)
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

static const char *text_of(struct checked *c, const struct type *type)
{
    return type ? type_text(&c->arena, type) : "-";
}

/* ---- types ---- */

/* Lowering relies on it: everything has a type and is resolved. */
static bool is_complete(struct node *node, void *state)
{
    const char *text = state;
    bool resolved = node->kind != NODE_PARAMETER && (node->kind != NODE_NAME || node->name.builtin) &&
                    (node->kind != NODE_CALL || node->call.builtin) &&
                    (node->kind != NODE_VARIABLE || (node->variable.symbol && node->variable.symbol->type)) &&
                    (node->kind != NODE_MAP || (node->map.symbol && node->map.symbol->value));
    if (!node->type || !resolved)
        fail_msg("%s: a node of kind %d is not complete", text, node->kind);
    return true;
}

/* The value type (and key type) of @r after the script. */
static void maps_get_types(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key, *value;
    } cases[] = {
        {"BEGIN { @r = 1 }", "-", "int8"},
        {"BEGIN { @r = 300 }", "-", "int16"},
        {"BEGIN { @r = 1; @r = 70000 }", "-", "int32"},
        {"BEGIN { @r = -1; @r = 200 }", "-", "int16"},
        {"BEGIN { @r = 18446744073709551615 }", "-", "uint64"},
        {"BEGIN { @r = 0; @r = nsecs }", "-", "uint64"},
        {"BEGIN { @r = nsecs; @r = 0 }", "-", "uint64"},
        {"BEGIN { @r = pid; @r = 5000000000 }", "-", "uint64"},
        {"BEGIN { @r = nsecs; @r = -1 }", "-", "int64"},
        {"BEGIN { @r = pid; @r = retval }", "-", "int64"},
        {"BEGIN { @r = pid + 1 }", "-", "uint64"},
        {"BEGIN { @r = nsecs - 1 }", "-", "int64"},
        {"BEGIN { @r = -pid }", "-", "int64"},
        {"BEGIN { @r = ~pid }", "-", "uint64"},
        {"BEGIN { @r = pid & 0xff }", "-", "uint32"},
        {"BEGIN { @r = retval / 1000 }", "-", "int64"},
        {"BEGIN { @r = nsecs / 1000 }", "-", "uint64"},
        {"BEGIN { @r = pid == 1 }", "-", "bool"},
        {"BEGIN { @r = !pid }", "-", "bool"},
        {"BEGIN { @r = pid && nsecs }", "-", "bool"},
        {"BEGIN { @r = true }", "-", "bool"},
        {"BEGIN { @r++ }", "-", "int64"},
        {"BEGIN { @r = pid; @r++ }", "-", "uint64"},
        {"BEGIN { @r = pid; @r-- }", "-", "int64"},
        {"BEGIN { @r += 5 }", "-", "int64"},
        {"BEGIN { @r += nsecs }", "-", "uint64"},
        {"BEGIN { @r = @r + 1 }", "-", "int64"},
        {"BEGIN { @r = @r + arg0 }", "-", "uint64"},
        {"BEGIN { @r = \"ab\"; @r = \"abcd\" }", "-", "string[5]"},
        {"BEGIN { @r = comm }", "-", "string[16]"},
        {"BEGIN { @r = count() }", "-", "count_t"},
        {"BEGIN { @r = hist(pid) } END { @r = hist(nsecs) }", "-", "hist_t"},
        {"BEGIN { @c = count(); @r = @c }", "-", "int64"},
        {"BEGIN { @c = sum(pid); @r = @c }", "-", "uint64"},
        {"BEGIN { @c = sum(-1); @r = @c }", "-", "int64"},
        {"BEGIN { @r[1] = count() }", "int8", "count_t"},
        {"BEGIN { @r[pid] = 1; @r[nsecs] = 2 }", "uint64", "int8"},
        {"BEGIN { @r[1] = 1; @r[nsecs] = 2 }", "uint64", "int8"},
        {"BEGIN { @r[\"a\"] = 1; @r[comm] = 2 }", "string[16]", "int8"},
        {"BEGIN { @r[1, \"a\"] = 1; @r[nsecs, comm] = 2 }", "(uint64,string[16])", "int8"},
        {"BEGIN { @r[nsecs, comm] = 2; @r[(1, \"a\")] = 1 }", "(uint64,string[16])", "int8"},
        {"BEGIN { @r = (1, (\"x\", nsecs)) }", "-", "(int8,(string[2],uint64))"},
        {"BEGIN { @r = (1, 2); @r = (nsecs, 300) }", "-", "(uint64,int16)"},
        {"BEGIN { @r = (1, 2); @s = @r; @r = (nsecs, 300) }", "-", "(uint64,int16)"},
        {"BEGIN { @s = (1, (2, nsecs)); @r = @s.1 }", "-", "(int8,uint64)"},
        {"BEGIN { $t = (1, nsecs); @r = $t; $t = (nsecs, 2) }", "-", "(uint64,uint64)"},
        {"BEGIN { @r = (1, \"x\").1 }", "-", "string[2]"},
        {"BEGIN { @r = (1, \"x\")[0 + 1] }", "-", "string[2]"},
        {"BEGIN { $x = 0; $x = nsecs; @r = $x }", "-", "uint64"},
        {"BEGIN { $x = 1; $x = $x + 1; @r = $x }", "-", "int64"},
        {"BEGIN { $x = 1; $x++; @r = $x }", "-", "int64"},
        {"BEGIN { let $x; @r = $x }", "-", "int64"},
        {"BEGIN { let $x; $x = comm; @r = $x }", "-", "string[16]"},
        {"BEGIN { let $x : uint16 = 5; @r = $x }", "-", "uint16"},
        {"BEGIN { let $x : uint8 = 5; $x += 300; @r = $x }", "-", "uint8"},
        {"BEGIN { @r = @s } END { @s = comm }", "-", "string[16]"},
        {"BEGIN { @r = @a } END { @a = @b; @b = @c; @c = @d; @d = 5 }", "-", "int8"},
        {"BEGIN { @r = pid ? 1 : nsecs }", "-", "uint64"},
        {"BEGIN { @r = pid ? \"a\" : comm }", "-", "string[16]"},
        {"BEGIN { @r = pid ?: 7 }", "-", "uint32"},
        {"BEGIN { @r = str(arg0) }", "-", "string[64]"},
        {"BEGIN { @r = str(args.comm) }", "-", "string[16]"},
        {"BEGIN { @r = curtask.pid }", "-", "int32"},
        {"BEGIN { @r = curtask->comm }", "-", "string[16]"},
        {"BEGIN { @r = curtask->comm[0] }", "-", "int8"},
        {"BEGIN { @r = curtask.mac }", "-", "uint8[6]"},
        {"BEGIN { @r = curtask.mac[5] }", "-", "uint8"},
        {"BEGIN { @r = curtask.high }", "-", "uint16"},
        {"BEGIN { @r = curtask.state }", "-", "enum state"},
        {"BEGIN { @r = curtask.parent.parent->comm }", "-", "string[16]"},
        {"BEGIN { @r = *curtask }", "-", "struct task_struct"},
        {"BEGIN { @r = curtask[2].pid }", "-", "int32"},
        {"BEGIN { @r = curtask + 1 }", "-", "struct task_struct *"},
        {"BEGIN { @r = curtask - curtask }", "-", "int64"},
        {"BEGIN { @r = args.status }", "-", "int32"},
        {"BEGIN { @r = args.filename }", "-", "int8 *"},
        {"BEGIN { @r = str(args.filename) }", "-", "string[64]"},
        {"BEGIN { @r = args.task.pid }", "-", "int32"},
        {"BEGIN { @r = BUSY }", "-", "enum state"},
        {"BEGIN { @r = BUSY + 1 }", "-", "int8"},
        {"BEGIN { @r = (enum state)pid }", "-", "enum state"},
        {"BEGIN { @r = (struct task_struct *)arg0; @s = ((struct task_struct *)arg0)->pid }", "-",
         "struct task_struct *"},
        {"BEGIN { @r = (uint8)nsecs }", "-", "uint8"},
        {"BEGIN { @r = (pid_t)nsecs }", "-", "int32"},
        {"BEGIN { @r = (uint64)curtask }", "-", "uint64"},
        {"BEGIN { @r = (uint8[8])12345 }", "-", "uint8[8]"},
        {"BEGIN { @r = (uint64)(uint8[8])arg0 }", "-", "uint64"},
        {"BEGIN { @r = *(uint32 *)arg0 }", "-", "uint32"},
        {"BEGIN { @r = sizeof(struct task_struct) }", "-", "int8"},
        {"BEGIN { $x = 1; $x = nsecs; @r[sizeof($x)] = sizeof(comm) }", "uint64", "uint64"},
        {"BEGIN { for ($i : 0..10) { @r = $i } }", "-", "int64"},
        {"BEGIN { @m[pid, comm] = count(); for ($kv : @m) { @r[$kv.0.1] = $kv.1 } }", "string[16]", "int64"},
        {"BEGIN { @r[pid] = 1 } END { if (has_key(@r, nsecs)) { } }", "uint64", "int8"},
        {"BEGIN { @r[probe] = count() }", "string", "count_t"},
        /* Pointers of two address spaces are numbers. */
        {"BEGIN { @r = curtask; @r = arg2 }", "-", "uint64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right)
            fail_msg("%s", report(&c));
        const struct map_symbol *map = table_find(&c.checker.map_table, "@r");
        assert_non_null(map);
        if (strcmp(text_of(&c, map->key), cases[i].key) != 0 ||
            strcmp(text_of(&c, map->value), cases[i].value) != 0)
            fail_msg("%s: [%s] %s", cases[i].text, text_of(&c, map->key), text_of(&c, map->value));
        assert_true(map->is_written);
        node_walk(c.units[0].body, is_complete, (void *)cases[i].text);
        release(&c);
    }
}

static void pointers_keep_their_space(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum address_space space;
    } cases[] = {
        {"BEGIN { @r = curtask }", SPACE_KERNEL},
        {"BEGIN { @r = curtask.parent }", SPACE_KERNEL},
        {"BEGIN { @r = curtask.parent.parent }", SPACE_KERNEL},
        {"BEGIN { @r = (*curtask).parent }", SPACE_KERNEL},
        {"BEGIN { @r = curtask[1].parent }", SPACE_KERNEL},
        {"BEGIN { @r = curtask.user }", SPACE_USER},
        {"BEGIN { @r = curtask.user.parent }", SPACE_USER},
        {"BEGIN { @r = args.task }", SPACE_USER},
        {"BEGIN { @r = arg3 }", SPACE_USER},
        {"BEGIN { @r = args.filename }", SPACE_KERNEL},
        {"BEGIN { @r = (struct task_struct *)arg0 }", SPACE_USER},
        {"BEGIN { @r = (int8 *)curtask }", SPACE_KERNEL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right)
            fail_msg("%s", report(&c));
        const struct map_symbol *map = table_find(&c.checker.map_table, "@r");
        if (map->value->kind != TYPE_POINTER || map->value->space != cases[i].space)
            fail_msg("%s: space %d", cases[i].text, map->value->space);
        release(&c);
    }
}

/* ---- refusals ---- */

static void mistakes_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        {"BEGIN { foo(); }", "Unknown function: 'foo'", NULL},
        {"BEGIN { prinf(\"x\"); }", "Unknown function: 'prinf'", "did you mean 'printf()'?"},
        {"BEGIN { @ = nsec }", "Unknown identifier: 'nsec'", "did you mean 'nsecs'?"},
        {"BEGIN { @ = BUZY }", "Unknown identifier: 'BUZY'", NULL},
        {"BEGIN { @ = count }", "Unknown identifier: 'count'", "count is a function"},
        {"BEGIN { comm(); }", "Unknown function: 'comm'", "comm is written without parentheses"},
        {"BEGIN { @ = $x }", "Undefined or undeclared variable: $x", "let $x;"},
        {"BEGIN { $abc = 1; @ = $abd }", "Undefined or undeclared variable: $abd", "did you mean '$abc'?"},
        {"BEGIN { if (pid) { $x = 1 } @ = $x }", "Undefined or undeclared variable: $x", NULL},
        {"BEGIN { let $x = $x }", "Undefined or undeclared variable: $x", NULL},
        {"BEGIN { $x = 1; let $x = 2 }",
         "Variable $x was already declared. Variable shadowing is not allowed.", "test:1:9"},
        {"BEGIN { $i = 1; for ($i : 0..3) { } }", "Variable $i was already declared.", NULL},
        {"BEGIN { $a = 1; $a = \"x\" }",
         "Type mismatch for $a: trying to assign value of type 'string[2]' when variable already has a type "
         "'int8'",
         "$a got its type at test:1:9"},
        {"BEGIN { $a = \"x\"; $a = 1 }",
         "Type mismatch for $a: trying to assign value of type 'int8' when variable already has a type "
         "'string[2]'",
         NULL},
        {"BEGIN { let $a : int8 = 300 }", "Type mismatch for $a", NULL},
        {"BEGIN { let $a : uint8 = -1 }", "Type mismatch for $a", NULL},
        {"BEGIN { let $a : uint8 = nsecs }", "Type mismatch for $a", NULL},
        {"BEGIN { let $a : nothing = 1 }", "Cannot resolve unknown type \"nothing\"", NULL},
        {"BEGIN { let $a : uint33 = 1 }", "Cannot resolve unknown type \"uint33\"", "did you mean 'uint32'?"},
        {"BEGIN { @x = 1 } END { @x = \"a\" }",
         "Type mismatch for @x: trying to assign value of type 'string[2]' when map already has a type "
         "'int8'",
         "@x got its type at test:1:9"},
        {"BEGIN { @x = count(); @x = sum(1) }",
         "Type mismatch for @x: trying to assign value of type 'sum_t' when map already has a type 'count_t'",
         NULL},
        {"BEGIN { @x = count(); @x = 5 }",
         "Type mismatch for @x: trying to assign value of type 'int8' when map already has a type 'count_t'",
         NULL},
        {"BEGIN { @x = 5; @x = count() }",
         "Type mismatch for @x: trying to assign value of type 'count_t' when map already has a type 'int8'",
         NULL},
        {"BEGIN { @x = count(); @x++ }", "The ++ operator can not be used on @x of type 'count_t'", NULL},
        {"BEGIN { @x = count(); @x += 1 }", "Type mismatch for @x", NULL},
        {"BEGIN { @x = hist(1); @x = hist(1, 2) }", "Different number of bits in a single hist unsupported",
         NULL},
        {"BEGIN { @x = lhist(1, 0, 10, 1); @x = lhist(1, 0, 20, 1) }",
         "Different lhist bounds in a single map unsupported", NULL},
        {"BEGIN { @x[1] = 1; @x = 2 }",
         "@x used as a map without an explicit key (scalar map), previously used with an explicit key "
         "(non-scalar map)",
         "at test:1:9"},
        {"BEGIN { @x = 1; @x[1] = 2 }",
         "@x used as a map with an explicit key (non-scalar map), previously used without an explicit key "
         "(scalar map)",
         NULL},
        {"BEGIN { @x[1] = 1; $y = @x }", "@x used as a map without an explicit key", NULL},
        {"BEGIN { @x[1] = 1; printf(\"%d\", @x) }", "@x used as a map without an explicit key", NULL},
        {"BEGIN { @x[1] = 1; @x[\"a\"] = 1 }",
         "Argument mismatch for @x: trying to access with arguments: 'string[2]' when map expects arguments: "
         "'int8'",
         NULL},
        {"BEGIN { @x[1, 2] = 1; @x[1] = 1 }", "Argument mismatch for @x", NULL},
        {"BEGIN { @x[()] = 1 }", "cannot be a map key", NULL},
        {"BEGIN { @x = () }", "cannot be stored in a map", NULL},
        {"BEGIN { @y = @x }", "Undefined map: @x", "nothing is ever assigned to @x"},
        {"BEGIN { @count = 1; print(@coun) }", "Undefined map: @coun", "did you mean '@count'?"},
        {"BEGIN { clear(@x) }", "Undefined map: @x", NULL},
        {"BEGIN { @a = @b; @b = @a }", "The type of this value cannot be found out", NULL},
        {"BEGIN { @a %= comm }", "The type of this value cannot be found out", NULL},
        {"BEGIN { @x = hist(1); $y = @x }", "The value of @x ('hist_t') cannot be read", "print(@x)"},
        {"BEGIN { @x = stats(1); $y = @x + 1 }", "The value of @x ('stats_t') cannot be read", NULL},
        {"BEGIN { @x[1] = hist(1); for ($kv : @x) { } }",
         "Loops over maps of type 'hist_t' are not supported", NULL},
        {"BEGIN { @x = 1; for ($kv : @x) { } }", "@x has no keys to loop over", NULL},
        {"BEGIN { $x = count() }", "count() must be assigned directly to a map", "@x = count()"},
        {"BEGIN { @x = count() + 1 }", "count() must be assigned directly to a map", NULL},
        {"BEGIN { $x = clear(@x); @x = 1 }", "clear() has no value", NULL},
        {"BEGIN { break }", "break must be inside a loop", NULL},
        {"BEGIN { unroll(3) { continue } }", "continue must be inside a loop", NULL},
        {"BEGIN { while (pid) { exit(); } }", "exit() is not allowed inside loops", "break or return"},
        {"BEGIN { unroll(0) { } }", "unroll minimum value is 1", NULL},
        {"BEGIN { unroll(101) { } }", "unroll maximum value is 100", NULL},
        {"BEGIN { unroll(pid) { } }", "unroll needs a constant", NULL},
        {"BEGIN { system(\"ls\") }", "system() is an unsafe function being used in safe mode", "--unsafe"},
        {"BEGIN { @ = str() }", "str() requires 1 or 2 arguments, found 0", "str(pointer [, length])"},
        {"BEGIN { clear() }", "clear() requires 1 argument, found 0", NULL},
        {"BEGIN { print(1, 2, 3, 4) }", "print() requires 1 to 3 arguments, found 4", NULL},
        {"BEGIN { printf() }", "printf() requires at least 1 argument, found 0", NULL},
        {"BEGIN { @ = count(1) }", "count() requires no arguments, found 1", NULL},
        {"BEGIN { printf(pid) }",
         "printf() expects a string literal as its first argument ('uint32' provided)", NULL},
        {"BEGIN { @ = str((1, 2)) }", "str() expects a pointer, an integer or a string as its first argument",
         NULL},
        {"BEGIN { @ = strncmp(comm, 1, 2) }",
         "strncmp() expects a string as its second argument ('int8' provided)", NULL},
        {"BEGIN { @ = strncmp(comm, comm, pid) }",
         "strncmp() expects an integer constant as its third argument", NULL},
        {"BEGIN { @ = hist(comm) }",
         "hist() expects an integer as its first argument ('string[16]' provided)", NULL},
        {"BEGIN { clear(1) }", "clear() expects a map as its first argument", NULL},
        {"BEGIN { @x[1] = 1; clear(@x[1]) }", "A whole map is expected here", "write @x"},
        {"BEGIN { if (comm) { } }", "Invalid condition in if(): 'string[16]'", NULL},
        {"BEGIN { while ((1, 2)) { } }", "Invalid condition in while(): '(int8,int8)'", NULL},
        {"BEGIN /comm/ { }", "Invalid type for predicate: 'string[16]'", "compare it"},
        {"BEGIN { @ = !comm }", "The ! operator can not be used on expressions of type 'string[16]'", NULL},
        {"BEGIN { @ = comm && pid }",
         "The && operator can not be used on expressions of types 'string[16]', 'uint32'", NULL},
        {"BEGIN { @ = comm + \"a\" }",
         "The + operator can not be used on expressions of types 'string[16]', 'string[2]'", NULL},
        {"BEGIN { @ = comm == 1 }", "Type mismatch for '==': comparing 'string[16]' with 'int8'", NULL},
        {"BEGIN { @ = comm < \"a\" }", "The < operator can not be used on", NULL},
        {"BEGIN { @ = (1, 2) == (1, \"a\") }", "Type mismatch for '=='", NULL},
        {"BEGIN { @ = probe == \"x\" }", "Type mismatch for '=='", "names of probes"},
        {"BEGIN { @ = curtask & 1 }", "The & operator can not be used on", "cast the pointer"},
        {"BEGIN { @ = curtask * 2 }", "The * operator can not be used on", NULL},
        {"BEGIN { @ = curtask + curtask }", "The + operator can not be used on", NULL},
        {"BEGIN { @ = pid / 0 }", "Division by zero", NULL},
        {"BEGIN { @ = 1 % 0 }", "Division by zero", NULL},
        {"BEGIN { @x = 1; @x /= 0 }", "Division by zero", NULL},
        {"BEGIN { @ = pid / (uint8)256 }", "Division by zero", NULL},
        {"BEGIN { @ = pid ? 1 : \"a\" }",
         "Ternary operator must return the same type: have 'int8' and 'string[2]'", NULL},
        {"BEGIN { @ = curtask.pidd }", "'struct task_struct' does not contain a field named 'pidd'",
         "did you mean 'pid'?"},
        {"BEGIN { @ = curtask.hihg }", "does not contain a field named 'hihg'", NULL},
        {"BEGIN { @ = args.statu }", "'args' does not contain a field named 'statu'",
         "did you mean 'status'?"},
        {"BEGIN { @ = args.zzzzzz }", "'args' does not contain a field named 'zzzzzz'",
         "it has: status, filename, task, comm"},
        {"BEGIN { @ = pid.x }", "Can not access field 'x' on expression of type 'uint32'", "cast it"},
        {"BEGIN { @ = (1, 2).2 }", "Invalid tuple index: 2. Found 2 elements in tuple.", NULL},
        {"BEGIN { @ = (1, 2)[pid] }", "The index of a tuple must be a constant", NULL},
        {"BEGIN { @ = pid.0 }", "it is not a tuple", NULL},
        {"BEGIN { @ = curtask.mac[6] }", "the index 6 is out of bounds for array of size 6", NULL},
        {"BEGIN { @ = curtask.mac[-1] }", "the index -1 is out of bounds for array of size 6", NULL},
        {"BEGIN { @ = curtask.mac[comm] }", "only accepts integer indices", NULL},
        {"BEGIN { @ = pid[0] }", "The array index operator [] can only be used on", NULL},
        {"BEGIN { @ = *arg3 }", "Can not dereference a pointer of type 'void *'", "cast it first"},
        {"BEGIN { @ = *comm }", "Can not dereference type 'string[16]'", NULL},
        {"BEGIN { $x = 1; @ = &$x }", "not supported yet", NULL},
        {"BEGIN { @ = (uint64)comm }", "Cannot cast from \"string[16]\" to \"uint64\"", NULL},
        {"BEGIN { @ = (struct task_struct)arg0 }", "Cannot cast from \"uint64\" to \"struct task_struct\"",
         "(struct task_struct *)"},
        {"BEGIN { @ = (struct nothing *)arg0 }", "Cannot resolve unknown type \"struct nothing\"", NULL},
        {"BEGIN { @ = arg9 }", "usdt:x:y has only 5 arguments", NULL},
        {"BEGIN { return comm }", "A probe can only return an integer", NULL},
        {"BEGIN { for ($i : 0..comm) { } }", "Loop range requires an integer for the end value", NULL},
        {"BEGIN { @r[pid] = 1; @ = has_key(@r, \"x\") }", "Argument mismatch for @r", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (c.is_right || c.diagnostics.errors != 1)
            fail_msg("%s: %zu errors\n%s", cases[i].text, c.diagnostics.errors, report(&c));
        const struct diagnostic *first = c.diagnostics.items;
        while (first->severity != DIAGNOSTIC_ERROR)
            first++;
        if (!strstr(first->message, cases[i].message))
            fail_msg("%s: %s", cases[i].text, first->message);
        if (cases[i].hint && (!first->hint || !strstr(first->hint, cases[i].hint)))
            fail_msg("%s: hint %s", cases[i].text, first->hint ? first->hint : "-");
        assert_ptr_equal(first->place.source, &c.source);
        release(&c);
    }
}

static void several_mistakes_are_reported(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { @a = foo(); $x = $y; @b = @c } END { bar(zip) }", false);
    assert_false(c.is_right);
    assert_int_equal(c.diagnostics.errors, 4);
    release(&c);
}

static void copies_report_once(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { }", false);
    release(&c);
    /* Two variants of one block: copies with the same places. */
    c = (struct checked){0};
    if (arena_guard(&c.arena, c.nowhere))
        abort();
    const char *text = "BEGIN { foo(); @x = nsec }";
    c.source = (struct source){"test", text, strlen(text)};
    c.diagnostics.arena = &c.arena;
    struct script *script = script_parse(&c.arena, &c.diagnostics, &c.source, NULL);
    c.checker = (struct checker){.arena = &c.arena, .diagnostics = &c.diagnostics, .builtins = &builtins};
    struct check_unit units[2] = {
        {NULL, script->blocks->body, &context, "a"},
        {NULL, node_clone(&c.arena, script->blocks->body), &context, "b"},
    };
    assert_false(check_units(&c.checker, units, 2));
    assert_int_equal(c.diagnostics.count, 2);
    assert_null(c.diagnostics.items[0].hint);
    assert_string_equal(c.diagnostics.items[1].hint, "did you mean 'nsecs'?");
    release(&c);
}

/* ---- warnings ---- */

static void warnings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message; /* NULL: none */
    } cases[] = {
        {"BEGIN { exit(); @x = 1 }", "Unreachable statement"},
        {"BEGIN { return; @x = 1; @x = 2 }", "Unreachable statement"},
        {"BEGIN { while (pid) { break; @x = 1 } }", "Unreachable statement"},
        {"BEGIN { if (pid) { return } @x = 1 }", NULL},
        {"BEGIN { pid }", "Return value discarded."},
        {"BEGIN { @x = 1; @x }", "Return value discarded."},
        {"BEGIN { _ = pid }", NULL},
        {"BEGIN { @x[1] = 1; delete(@x, 1); delete(@x[1]) }", NULL},
        {"BEGIN { $x = 1; $x++; @y = $x; @y++ }", NULL},
        {"BEGIN { @x = nsecs * retval }", "arithmetic of integers of different signs"},
        {"BEGIN { @x = nsecs - retval }", NULL},
        {"BEGIN { @x = nsecs > retval }", "comparison of integers of different signs"},
        {"BEGIN { @x = nsecs > 5 }", NULL},
        {"BEGIN { @x = 5 * nsecs }", NULL},
        {"BEGIN { @x = pid * retval }", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right || c.diagnostics.count != (cases[i].message ? 1u : 0u))
            fail_msg("%s: %s", cases[i].text, report(&c));
        if (cases[i].message && !strstr(c.diagnostics.items[0].message, cases[i].message))
            fail_msg("%s: %s", cases[i].text, report(&c));
        release(&c);
    }
}

/* ---- resolutions ---- */

static struct node *statement(struct checked *c, unsigned number)
{
    struct node *node = c->script->blocks->body->list.first;
    while (number--)
        node = node->next;
    return node;
}

static void names_are_resolved(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { _ = arg1; _ = BUSY; printf(\"%d %s\", pid, comm) }", false);
    assert_true(c.is_right);
    struct node *argument = statement(&c, 0)->unary.operand;
    assert_int_equal(argument->kind, NODE_NAME);
    assert_string_equal(argument->name.builtin->name, "arg");
    assert_int_equal(argument->name.number, 1);
    assert_ptr_equal(argument->type, &type_i64);
    struct node *busy = statement(&c, 1)->unary.operand;
    assert_int_equal(busy->kind, NODE_INTEGER);
    assert_int_equal(busy->integer.value, 7);
    assert_ptr_equal(busy->type, &type_state);
    struct node *call = statement(&c, 2)->unary.operand;
    assert_string_equal(call->call.builtin->name, "printf");
    assert_ptr_equal(check_argument(call, 1)->type, &type_u32);
    assert_null(check_argument(call, 3));
    assert_string_equal(check_literal(check_argument(call, 0)), "%d %s");
    assert_ptr_equal(statement(&c, 2)->type, &type_none);
    release(&c);
}

static void fields_are_found(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c,
                 "BEGIN { _ = curtask.high; _ = curtask.flag; _ = curtask.comm; _ = address(curtask.comm) }",
                 false);
    assert_true(c.is_right);
    assert_int_equal(statement(&c, 0)->unary.operand->field.found.offset, 48 + inner_fields[1].offset);
    assert_int_equal(statement(&c, 1)->unary.operand->field.found.bit_size, 2);
    assert_int_equal(statement(&c, 2)->unary.operand->type->kind, TYPE_STRING);
    assert_int_equal(statement(&c, 2)->unary.operand->field.found.type->kind, TYPE_ARRAY);
    /* Where its address is wanted it stays an array. */
    assert_int_equal(check_argument(statement(&c, 3)->unary.operand, 0)->type->kind, TYPE_ARRAY);
    release(&c);
}

static void literals_take_the_other_sign(void **state)
{
    (void)state;
    struct checked c;
    check_script(
        &c, "BEGIN { _ = nsecs > 5; _ = retval > 5; _ = pid + -1; _ = nsecs >> 3; _ = (nsecs, 1) == (5, 1) }",
        false);
    assert_true(c.is_right);
    assert_false(check_is_signed(statement(&c, 0)->unary.operand));
    assert_true(check_is_signed(statement(&c, 1)->unary.operand));
    assert_true(check_is_signed(statement(&c, 2)->unary.operand));
    assert_false(check_is_signed(statement(&c, 3)->unary.operand));
    const struct node *tuples = statement(&c, 4)->unary.operand;
    assert_int_equal(tuples->binary.right->type->fields[0].type->is_signed, false);
    release(&c);
}

static void whole_maps_are_told_apart(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c,
                 "BEGIN { print(@k); print(@s); print(@k[1]); print(@h[1]); clear(@s); }"
                 "END { @k[1] = count(); @s = 5; @h[1] = hist(5) }",
                 false);
    if (!c.is_right)
        fail_msg("%s", report(&c));
    struct node *keyed = check_argument(statement(&c, 0)->unary.operand, 0);
    assert_true(check_is_whole_map(keyed));
    assert_ptr_equal(keyed->type, &type_none);
    struct node *scalar = check_argument(statement(&c, 1)->unary.operand, 0);
    assert_false(check_is_whole_map(scalar));
    assert_ptr_equal(scalar->type, &type_i8);
    struct node *element = check_argument(statement(&c, 2)->unary.operand, 0);
    assert_false(check_is_whole_map(element));
    assert_ptr_equal(element->type, &type_i64);
    assert_int_equal(check_argument(statement(&c, 3)->unary.operand, 0)->type->kind, TYPE_HIST);
    release(&c);
}

static void captures_are_marked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool captured; /* $x */
    } cases[] = {
        {"BEGIN { $x = 1; @r = $x }", false},
        {"BEGIN { $x = 1; if (pid) { $x = 2 } }", false},
        {"BEGIN { $x = 1; unroll(3) { $x++ } }", false},
        {"BEGIN { $x = 1; while (pid) { $x++ } }", true},
        {"BEGIN { $x = 1; while ($x < 5) { } }", true},
        {"BEGIN { $x = 1; for ($i : 0..$x) { } }", false},
        {"BEGIN { $x = 1; for ($i : 0..5) { @r = $x } }", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checked c;
        check_script(&c, cases[i].text, false);
        if (!c.is_right)
            fail_msg("%s", report(&c));
        struct node *assign = statement(&c, 0)->unary.operand;
        if (assign->assign.target->variable.symbol->captured != cases[i].captured)
            fail_msg("%s", cases[i].text);
        release(&c);
    }
    struct checked c;
    check_script(&c, "BEGIN { for ($i : 0..5) { $x = 1; @r = $x + $i } }", false);
    struct node *loop = statement(&c, 0);
    assert_false(loop->loop.variable->variable.symbol->captured);
    assert_false(loop->loop.body->list.first->unary.operand->assign.target->variable.symbol->captured);
    release(&c);
    check_script(&c, "BEGIN { for ($i : 0..5) { for ($j : 0..5) { @r = $i } } }", false);
    assert_true(statement(&c, 0)->loop.variable->variable.symbol->captured);
    release(&c);
}

static void unsafe_is_allowed_when_asked(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "BEGIN { system(\"ls %d\", pid) }", true);
    assert_true(c.is_right);
    release(&c);
}

static void uses_are_found(void **state)
{
    (void)state;
    struct checked c;
    check_script(&c, "usdt:x:y /arg1 > 2/ { @ = args.status + args.status; @[args.comm] = 1; _ = arg40; }",
                 false);
    struct context_uses uses = check_uses(&c.arena, &builtins, c.script->blocks);
    assert_int_equal(uses.arguments, 1u << 1 | 1u << 31);
    assert_true(uses.args);
    assert_false(uses.all_fields);
    assert_string_equal(uses.fields[0], "status");
    assert_string_equal(uses.fields[1], "comm");
    assert_null(uses.fields[2]);
    assert_false(uses.retval || uses.ctx || uses.site || uses.registers || uses.user_memory);
    release(&c);
    check_script(&c, "BEGIN { print(args); @[probe, str(arg0), retval, ctx] = reg(\"sp\"); }", false);
    uses = check_uses(&c.arena, &builtins, c.script->blocks);
    assert_true(uses.args && uses.all_fields && uses.retval && uses.ctx && uses.site && uses.registers);
    assert_true(uses.user_memory);
    assert_int_equal(uses.arguments, 1);
    release(&c);
    check_script(&c, "BEGIN { @ = args.task->pid }", false);
    uses = check_uses(&c.arena, &builtins, c.script->blocks);
    assert_true(uses.user_memory && !uses.all_fields);
    release(&c);
}

static void builtins_are_found(void **state)
{
    (void)state;
    uint32_t number = 0;
    assert_string_equal(builtin_find(&builtins, "arg12", &number)->name, "arg");
    assert_int_equal(number, 12);
    assert_string_equal(builtin_find(&builtins, "args", &number)->name, "args");
    static const char *const unknown[] = {"arg", "arg01", "arg1x", "arg99999999999", "", "pidd", "arg-1"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_null(builtin_find(&builtins, unknown[i], &number));
}

/* ---- hostile scripts ---- */

/* Types that double with each line must end in a message, soon. */
static void doubling_tuples_end(void **state)
{
    (void)state;
    static const char *const seeds[] = {"1", "()", "\"x\""};
    for (unsigned s = 0; s < 3; s++) {
        struct text text = {0};
        text_printf(&text, "BEGIN { $a0 = (%s, %s); ", seeds[s], seeds[s]);
        for (int i = 1; i < 60; i++)
            text_printf(&text, "$a%d = ($a%d, $a%d); ", i, i - 1, i - 1);
        text_add(&text, "}");
        struct checked c;
        check_script(&c, text_string(&text), false);
        assert_false(c.is_right);
        assert_non_null(strstr(report(&c), "This tuple is too large"));
        release(&c);
        text_free(&text);
    }
}

static void long_chains_end(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "BEGIN { ");
    for (int i = 0; i < 400; i++)
        text_printf(&text, "@m%d = @m%d; ", i, i + 1);
    text_add(&text, "@m400 = 1 }");
    struct checked c;
    check_script(&c, text_string(&text), false);
    assert_false(c.is_right);
    assert_int_equal(c.diagnostics.errors, 1);
    release(&c);
    /* In order of dependence the same script is quick and right. */
    text_clear(&text);
    text_add(&text, "BEGIN { @m0 = 1; ");
    for (int i = 0; i < 4000; i++)
        text_printf(&text, "@m%d = @m%d; ", i + 1, i);
    text_add(&text, "}");
    check_script(&c, text_string(&text), false);
    assert_true(c.is_right);
    release(&c);
    text_free(&text);
}

static void deep_expressions_end(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "BEGIN { @ = pid");
    for (int i = 0; i < 900; i++)
        text_add(&text, " + pid");
    text_add(&text, "; @n = ");
    for (int i = 0; i < 90; i++)
        text_add(&text, "!(");
    text_add(&text, "pid");
    for (int i = 0; i < 90; i++)
        text_add(&text, ")");
    text_add(&text, "; @t = pid ");
    for (int i = 0; i < 100; i++)
        text_add(&text, "?: pid ");
    text_add(&text, "}");
    struct checked c;
    check_script(&c, text_string(&text), false);
    if (!c.is_right)
        fail_msg("%s", report(&c));
    release(&c);
    text_free(&text);
}

/* Maps whose types feed each other must settle. */
static void cycles_settle(void **state)
{
    (void)state;
    static const char *const right[] = {
        "BEGIN { @a = @b; @b = @a; @a = 1; @b = nsecs }",
        "BEGIN { @a[@b] = 1; @b = @a[2] }",
        "BEGIN { $x = 0; while ($x < 10) { $y = $x; $x = $y + 1 } }",
        "BEGIN { @p = curtask; @p = arg2; @q = @p; @p = @q }",
        "BEGIN { @k[curtask] = 1; @k[arg2] = 1; for ($kv : @k) { @j[$kv.0] = $kv.1 } }",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct checked c;
        check_script(&c, right[i], false);
        if (!c.is_right)
            fail_msg("%s: %s", right[i], report(&c));
        release(&c);
    }
    static const char *const wrong[] = {
        "BEGIN { @a = (1, @b); @b = @a.1 + @a.0 }",
        "BEGIN { @a = (1, @a) }",
        "BEGIN { @a = 1; @a = (@a, 1) }",
        "BEGIN { $x = \"a\"; $x = ($x, $x) }",
        "BEGIN { @a[@a] = @a }",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct checked c;
        check_script(&c, wrong[i], false);
        if (c.is_right)
            fail_msg("%s", wrong[i]);
        release(&c);
    }
}

/* The thread of a first session. */
static void a_whole_script(void **state)
{
    (void)state;
    static const char text[] =
        "BEGIN { printf(\"start %d\\n\", pid); }\n"
        "uprobe:/bin/x:f { @start[pid] = nsecs; @who[comm, arg4] = count(); }\n"
        "uretprobe:/bin/x:f /@start[pid]/ {\n"
        "    $took = nsecs - @start[pid];\n"
        "    @ns = hist($took); @max = max($took); @all[retval < 0 ? \"bad\" : \"good\"] = sum($took / "
        "1000);\n"
        "    delete(@start, pid);\n"
        "    if (@max > 1000000 && $took != 0) { printf(\"%s %d %d\\n\", str(arg2), $took, @max); }\n"
        "}\n"
        "usdt:./blockd:request_done /args.status/ { @[args.status, str(args.filename)] = lhist(arg0, 0, 100, "
        "10); }\n"
        "interval:s:1 { print(@ns); clear(@who); exit(); }\n";
    struct checked c;
    check_script(&c, text, false);
    if (!c.is_right || c.diagnostics.count)
        fail_msg("%s", report(&c));
    assert_int_equal(c.checker.map_count, 6);
    assert_string_equal(c.checker.maps[0]->name, "@start");
    assert_string_equal(text_of(&c, c.checker.maps[0]->value), "uint64");
    assert_string_equal(text_of(&c, c.checker.maps[1]->key), "(string[16],int32)");
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_get_types),
        cmocka_unit_test(pointers_keep_their_space),
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(several_mistakes_are_reported),
        cmocka_unit_test(copies_report_once),
        cmocka_unit_test(warnings),
        cmocka_unit_test(names_are_resolved),
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(literals_take_the_other_sign),
        cmocka_unit_test(whole_maps_are_told_apart),
        cmocka_unit_test(captures_are_marked),
        cmocka_unit_test(unsafe_is_allowed_when_asked),
        cmocka_unit_test(uses_are_found),
        cmocka_unit_test(builtins_are_found),
        cmocka_unit_test(doubling_tuples_end),
        cmocka_unit_test(long_chains_end),
        cmocka_unit_test(deep_expressions_end),
        cmocka_unit_test(cycles_settle),
        cmocka_unit_test(a_whole_script),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
