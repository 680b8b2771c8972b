/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of lowering: a small registry, a probe kind whose context is twelve words, and a minimal loader. A
 * script is compiled as by the real command, loaded, and run in the kernel by BPF_PROG_TEST_RUN: as a raw
 * tracepoint (not preemptible), or as a syscall program (which may sleep). */
#ifndef SPOOR_TESTS_LOWER_TESTING_H
#define SPOOR_TESTS_LOWER_TESTING_H

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "builtin/aggregation.h"
#include "bpf/emit/btf_write.h"
#include "bpf/lower/lower.h"
#include "lang/parse/parse.h"

enum { WORDS = 12, MAPS_MAX = 128, PROGRAMS_MAX = 8, RING_BYTES = 1 << 16 };

/* ---- the registry ---- */

static const struct type *argument_types[WORDS];

static inline struct ir *testing_argument(struct lowering *l, const struct probe_context *context,
                                          unsigned number)
{
    (void)context;
    struct ir *word = ir_load(&l->b, lower_ctx(l), (int32_t)number * 8, 8, false);
    const struct type *type = argument_types[number];
    return type->kind == TYPE_INTEGER ? ir_extend(&l->b, word, type->size, type->is_signed) : word;
}

static inline const struct type *check_arg(struct checker *checker, struct node *node)
{
    (void)checker;
    return node->name.number < WORDS ? argument_types[node->name.number] : NULL;
}

static inline struct ir *lower_arg(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    return l->context->lower_argument(l, l->context, node->name.number);
}

static inline const struct type *check_str(struct checker *checker, struct node *node)
{
    const struct node *limit = check_argument(node, 1);
    uint32_t capacity = checker->max_strlen;
    if (limit && limit->kind == NODE_INTEGER)
        capacity = (uint32_t)limit->integer.value;
    return type_string(checker->arena, capacity);
}

static inline struct ir *lower_str(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *limit = check_argument(node, 1);
    enum address_space space;
    struct ir *address = lower_pointer(l, check_argument(node, 0), &space);
    struct ir *most = limit && limit->kind != NODE_INTEGER ? lower_scalar(l, limit) : NULL;
    if (destination_is_memory(into))
        lower_read_string(l, into, node->type->size, most, address, space, true, node->span);
    return NULL;
}

static inline struct ir *lower_emit(struct lowering *l, struct node *node, struct destination *into)
{
    struct event_field fields[16] = {0};
    uint32_t count = 0;
    (void)into;
    for (struct node *argument = node->call.arguments.first; argument && count < 16;
         argument = argument->next)
        fields[count++].node = argument;
    lower_event(l, node, node->call.builtin, fields, count);
    return NULL;
}

/* Lowers texts(n): at most n texts of at most 16 bytes from testing_texts. */
static const char *const testing_texts[] = {"one", "",  "eight ..", "sixteen letters.", "seventeen letters",
                                            NULL,  "no"};

static inline struct ir *lower_texts(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    lower_event_texts(l, node, ir_constant(&l->b, (int64_t)(uintptr_t)testing_texts), SPACE_USER,
                      (uint32_t)check_argument(node, 0)->integer.value, 16);
    return NULL;
}

static inline struct ir *lower_exit(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    lower_event(l, node, node->call.builtin, NULL, 0);
    return lower_return(l, NULL);
}

static inline const struct type *check_comm(struct checker *checker, struct node *node)
{
    (void)node;
    return type_string(checker->arena, 16);
}

static inline struct ir *lower_comm(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node;
    if (destination_is_memory(into))
        ir_call(&l->b, BPF_FUNC_get_current_comm, 2, ir_offset(&l->b, into->memory.base, into->memory.offset),
                ir_constant(&l->b, 16));
    return NULL;
}

static inline struct ir *lower_tgid(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node, (void)into;
    return ir_binary_constant(&l->b, IR_LSHR, lower_pid_tgid(l), 32);
}

static inline struct ir *lower_clock(struct lowering *l, struct node *node, struct destination *into)
{
    (void)node, (void)into;
    return lower_time(l);
}

static inline struct ir *lower_stack_id(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    return lower_stack(l, node->call.builtin->data, 0, node->span);
}

static inline struct ir *lower_delete(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *element = check_argument(node, 0);
    (void)into;
    struct memory key = lower_map_key(l, element);
    struct ir *result =
        ir_call(&l->b, BPF_FUNC_map_delete_elem, 2, ir_map(&l->b, (uint32_t)element->map.symbol->index),
                ir_offset(&l->b, key.base, key.offset));
    return ir_binary_constant(&l->b, IR_EQ, ir_extend(&l->b, result, 4, true), 0);
}

static inline const struct type *check_aggregation(struct checker *checker, struct node *node)
{
    struct node *value = check_argument(node, 0);
    const struct type *type = value && value->type && value->type->is_signed ? &type_i64 : &type_u64;
    return type_aggregation(checker->arena, node->call.builtin->aggregation, type);
}

static inline void update_sum(struct lowering *l, struct node *map, struct node *node)
{
    struct node *argument = check_argument(node, 0);
    struct ir *value = argument ? lower_scalar(l, argument) : ir_constant(&l->b, 1);
    struct ir *at = lower_map_element(l, map->map.symbol, lower_map_key(l, map), map->span);
    lower_add(l, at, 0, value);
    if (node->call.builtin->aggregation == &aggregation_kind_avg)
        lower_add(l, at, 8, ir_constant(&l->b, 1));
}

static inline void update_max(struct lowering *l, struct node *map, struct node *node)
{
    struct ir_builder *b = &l->b;
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct ir *at = lower_map_element(l, map->map.symbol, lower_map_key(l, map), map->span);
    struct ir_block *compare = ir_block_new(b), *store = ir_block_new(b), *end = ir_block_new(b);
    ir_branch(b, ir_load(b, at, 8, 8, false), compare, store);
    ir_seal(b, compare);
    ir_enter(b, compare);
    ir_branch(b, ir_binary(b, IR_SGT, value, ir_load(b, at, 0, 8, false)), store, end);
    ir_seal(b, store);
    ir_enter(b, store);
    ir_store(b, at, 0, 8, value);
    ir_store_constant(b, at, 8, 8, 1);
    ir_jump(b, end);
    ir_seal(b, end);
    ir_enter(b, end);
}

static inline void update_row(struct lowering *l, struct node *map, struct node *node)
{
    struct ir *value = lower_scalar(l, check_argument(node, 0));
    struct ir *row = ir_binary_constant(&l->b, IR_AND, value, 7);
    struct memory key = lower_map_key(l, map);
    lower_add(l, lower_map_row(l, map->map.symbol, key, row, map->span), 0, ir_constant(&l->b, 1));
}

enum { SCALAR_NAME = BUILTIN_BARE };
static const struct builtin testing_family[] = {
    {"arg", "argN", BUILTIN_BARE | BUILTIN_NUMBERED | BUILTIN_USES_ARGUMENT, .check = check_arg,
     .lower = lower_arg},
    {"pid", "pid", SCALAR_NAME, .result = &type_u32, .lower = lower_tgid},
    {"nsecs", "nsecs", SCALAR_NAME, .result = &type_u64, .lower = lower_clock},
    {"comm", "comm", SCALAR_NAME, .check = check_comm, .lower = lower_comm},
    {"str",
     "str(pointer [, length])",
     BUILTIN_CALL | BUILTIN_READS_MEMORY,
     1,
     2,
     {PARAMETER_TEXT, PARAMETER_INTEGER},
     .check = check_str,
     .lower = lower_str},
    {"emit",
     "emit(…)",
     BUILTIN_CALL | BUILTIN_VARIADIC,
     0,
     0,
     {PARAMETER_ANY},
     .result = &type_none,
     .lower = lower_emit},
    {"texts",
     "texts(n)",
     BUILTIN_CALL | BUILTIN_READS_MEMORY,
     1,
     1,
     {PARAMETER_LITERAL_INTEGER},
     .result = &type_none,
     .lower = lower_texts},
    {"exit", "exit()", BUILTIN_CALL | BUILTIN_ENDS | BUILTIN_NO_LOOP, .result = &type_none,
     .lower = lower_exit},
    {"delete",
     "delete(@m[key])",
     BUILTIN_CALL | BUILTIN_VALUE_UNUSED_OK,
     1,
     1,
     {PARAMETER_ANY},
     .result = &type_bool,
     .lower = lower_delete},
    {"kernel_stack", "kernel_stack()", BUILTIN_CALL, .result = &type_u64, .lower = lower_stack_id, .data = 0},
    {"user_stack", "user_stack()", BUILTIN_CALL, .result = &type_u64, .lower = lower_stack_id, .data = 1},
    {"count", "count()", BUILTIN_CALL | BUILTIN_AGGREGATION, .check = check_aggregation, .update = update_sum,
     .aggregation = &aggregation_kind_count},
    {"sum",
     "sum(n)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_aggregation,
     .update = update_sum,
     .aggregation = &aggregation_kind_sum},
    {"avg",
     "avg(n)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_aggregation,
     .update = update_sum,
     .aggregation = &aggregation_kind_avg},
    {"max",
     "max(n)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_aggregation,
     .update = update_max,
     .aggregation = &aggregation_kind_max},
    {"hist",
     "hist(n)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     1,
     1,
     {PARAMETER_INTEGER},
     .check = check_aggregation,
     .update = update_row,
     .aggregation = &aggregation_kind_hist},
    {0},
};
static const struct builtin *const testing_families[] = {testing_family};
static const struct builtin_table testing_builtins = {testing_families, 1, NULL, NULL};

/* ---- one compiled and loaded script ---- */

struct inner { /* what arg11 points to */
    int32_t number;
    uint32_t low : 3, middle : 7, high : 22;
    int16_t list[4];
    char text[16];
    struct inner *next;
    const char *string;
};

struct testing {
    struct arena arena;
    jmp_buf nowhere;
    struct diagnostics diagnostics;
    struct source source;
    struct checker checker;
    struct image image;
    struct action_table actions;
    struct features features;
    struct lower_options options;
    struct probe_context context;
    const struct check_unit *unit; /* the first unit */
    struct text dump;
    bool may_sleep, wants_dump;
    int maps[MAPS_MAX];
    int rings[64];
    unsigned ring_count;
    int programs[PROGRAMS_MAX];
    char log[1 << 16];
    union { /* the counters of the reader of records */
        struct image_control control;
        char room[65536];
    } read;
};

static inline struct features testing_features(void)
{
    return (struct features){.alu32_jmp32 = true,
                             .atomic_fetch = true,
                             .signed_division = true,
                             .loop = true,
                             .read_kernel = true,
                             .for_each_map = true,
                             .lookup_percpu = true,
                             .ring_buffer = true,
                             .ring_array_sleepable = true,
                             .task_storage = true,
                             .sleepable_uprobe = true,
                             .program_btf = true,
                             .boot_clock = true,
                             .cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF),
                             .rings = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
}

static inline const struct type *testing_struct(struct arena *arena)
{
    struct type *type = arena_new(arena, struct type);
    struct field *fields = arena_array(arena, 8, sizeof *fields);
    const struct type *pointer = type_pointer(arena, type, SPACE_USER);
    fields[0] = (struct field){.name = "number", .type = &type_i32, .offset = offsetof(struct inner, number)};
    fields[1] = (struct field){.name = "low", .type = &type_u32, .offset = 4, .bit_offset = 0, .bit_size = 3};
    fields[2] =
        (struct field){.name = "middle", .type = &type_i32, .offset = 4, .bit_offset = 3, .bit_size = 7};
    fields[3] =
        (struct field){.name = "high", .type = &type_u32, .offset = 5, .bit_offset = 2, .bit_size = 22};
    fields[4] = (struct field){
        .name = "list", .type = type_array(arena, &type_i16, 4), .offset = offsetof(struct inner, list)};
    fields[5] = (struct field){
        .name = "text", .type = type_array(arena, &type_i8, 16), .offset = offsetof(struct inner, text)};
    fields[6] = (struct field){.name = "next", .type = pointer, .offset = offsetof(struct inner, next)};
    fields[7] = (struct field){.name = "string",
                               .type = type_pointer(arena, &type_i8, SPACE_USER),
                               .offset = offsetof(struct inner, string)};
    *type = (struct type){
        .kind = TYPE_STRUCT, .size = sizeof(struct inner), .name = "inner", .count = 8, .fields = fields};
    return type;
}

static inline int testing_bpf(int command, union bpf_attr *attr)
{
    int result;
    do
        result = (int)syscall(SYS_bpf, command, attr, sizeof *attr);
    while (result < 0 && errno == EAGAIN);
    return result < 0 ? -errno : result;
}

static inline bool testing_available(void)
{
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};
    int fd = testing_bpf(BPF_MAP_CREATE, &attr);
    if (fd < 0) {
        printf("skipped: the kernel refuses a map (%s); needs root\n", strerror(-fd));
        return false;
    }
    close(fd);
    return true;
}

static inline void testing_init(struct testing *t)
{
    memset(t, 0, sizeof *t);
    if (arena_guard(&t->arena, t->nowhere))
        abort();
    t->diagnostics.arena = &t->arena;
    t->features = testing_features();
    t->options = (struct lower_options){.max_strlen = 64, .max_map_keys = 64, .ring_bytes = RING_BYTES};
    for (unsigned i = 0; i < MAPS_MAX; i++)
        t->maps[i] = -1;
    for (unsigned i = 0; i < PROGRAMS_MAX; i++)
        t->programs[i] = -1;
    const struct type *types[WORDS] = {&type_i64, &type_i64, &type_u64, &type_u64, &type_i32,
                                       &type_u32, &type_i16, &type_u16, &type_i8,  &type_u8};
    memcpy(argument_types, types, sizeof types);
    argument_types[10] = type_pointer(&t->arena, &type_i8, SPACE_USER);
    argument_types[11] = type_pointer(&t->arena, testing_struct(&t->arena), SPACE_USER);
}

/* Compiles the script into t->image. Returns whether that worked. */
static inline bool testing_compile(struct testing *t, const char *text)
{
    t->source = (struct source){"test", arena_strdup(&t->arena, text), strlen(text)};
    struct script *script = script_parse(&t->arena, &t->diagnostics, &t->source, NULL);
    if (t->diagnostics.errors)
        return false;
    t->options.features = &t->features;
    t->context = (struct probe_context){
        .kind = "test",
        .program_type = t->may_sleep ? BPF_PROG_TYPE_SYSCALL : BPF_PROG_TYPE_RAW_TRACEPOINT,
        .space = SPACE_USER,
        .is_preemptible = t->may_sleep,
        .may_sleep = t->may_sleep,
        .arguments = argument_types,
        .argument_count = WORDS,
        .site_count = 1,
        .lower_argument = testing_argument,
    };
    struct check_unit *units = arena_array(&t->arena, script->block_count, sizeof *units);
    size_t count = 0;
    t->unit = units;
    for (struct action_block *block = script->blocks; block; block = block->next)
        units[count++] = (struct check_unit){
            .predicate = block->predicate, .body = block->body, .context = &t->context, .probe = "test"};
    t->checker = (struct checker){.arena = &t->arena,
                                  .diagnostics = &t->diagnostics,
                                  .builtins = &testing_builtins,
                                  .max_strlen = t->options.max_strlen};
    struct compilation compilation = {.arena = &t->arena,
                                      .diagnostics = &t->diagnostics,
                                      .checker = &t->checker,
                                      .options = t->options,
                                      .image = &t->image,
                                      .actions = &t->actions};
    if (!check_units(&t->checker, units, count) || lower_maps(&compilation))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct unit_request request = {
            .unit = &units[i], .program_name = "test", .dump_ir = t->wants_dump ? &t->dump : NULL};
        if (lower_unit(&compilation, &request))
            return false;
    }
    lower_finish(&t->image, 0);
    return true;
}

/* Task storage needs types: creates BTF of an int and of an array of words, and returns its descriptor. */
static inline int testing_btf(uint32_t bytes)
{
    struct {
        struct btf_header header;
        uint32_t types[4 + 4 + 3 + 3];
        char names[12];
    } blob = {
        .header = {.magic = BTF_MAGIC,
                   .version = 1,
                   .hdr_len = sizeof blob.header,
                   .type_len = sizeof blob.types,
                   .str_off = sizeof blob.types,
                   .str_len = sizeof blob.names},
        .types = {1, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32, 5, BTF_KIND_INT << 24, 8, 64, 0,
                  BTF_KIND_ARRAY << 24, 0, 2, 1, bytes / 8},
        .names = "\0int\0word",
    };
    union bpf_attr attr = {.btf = (uintptr_t)&blob, .btf_size = sizeof blob};
    return testing_bpf(BPF_BTF_LOAD, &attr);
}

static inline int testing_create(struct testing *t, const struct image_map *map)
{
    union bpf_attr attr = {.map_type = map->type,
                           .key_size = map->key_size,
                           .value_size = map->value_size,
                           .max_entries = map->max_entries,
                           .map_flags = map->flags};
    if (map->type == BPF_MAP_TYPE_RINGBUF && !map->is_ring_per_cpu) {
        attr.key_size = attr.value_size = 0;
        int fd = testing_bpf(BPF_MAP_CREATE, &attr);
        t->rings[t->ring_count++] = fd;
        return fd;
    }
    if (map->type == BPF_MAP_TYPE_TASK_STORAGE) {
        attr.btf_fd = (uint32_t)testing_btf(map->value_size);
        attr.btf_key_type_id = 1;
        attr.btf_value_type_id = 3;
    }
    if (map->is_ring_per_cpu) {
        for (unsigned cpu = 0; cpu < map->max_entries; cpu++) {
            union bpf_attr ring = {.map_type = BPF_MAP_TYPE_RINGBUF, .max_entries = map->value_size};
            t->rings[t->ring_count++] = testing_bpf(BPF_MAP_CREATE, &ring);
        }
        if (map->type == BPF_MAP_TYPE_RINGBUF)
            return t->rings[t->ring_count - map->max_entries];
        attr.value_size = 4;
        attr.inner_map_fd = (uint32_t)t->rings[t->ring_count - 1];
    }
    int fd = testing_bpf(BPF_MAP_CREATE, &attr);
    for (unsigned cpu = 0; map->is_ring_per_cpu && cpu < map->max_entries; cpu++) {
        uint32_t ring = (uint32_t)t->rings[t->ring_count - map->max_entries + cpu];
        union bpf_attr update = {.map_fd = (uint32_t)fd, .key = (uintptr_t)&cpu, .value = (uintptr_t)&ring};
        testing_bpf(BPF_MAP_UPDATE_ELEM, &update);
    }
    return fd;
}

/* Returns 0, or the kernel's error; then t->log says why. */
static inline int testing_load(struct testing *t)
{
    for (size_t i = 0; i < t->image.map_count; i++) {
        t->maps[i] = testing_create(t, &t->image.maps[i]);
        if (t->maps[i] < 0) {
            snprintf(t->log, sizeof t->log, "map %s", t->image.maps[i].name);
            return t->maps[i];
        }
    }
    for (size_t i = 0; i < t->image.program_count; i++) {
        struct image_program *program = &t->image.programs[i];
        struct btf_blob blob = {0};
        for (uint32_t r = 0; r < program->relocation_count; r++) {
            const struct image_relocation *relocation = &program->relocations[r];
            if (relocation->kind == RELOCATION_FUNCTION)
                continue;
            struct bpf_insn *insn = &program->instructions[relocation->instruction];
            insn->src_reg = relocation->kind == RELOCATION_VALUE ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
            insn->imm = t->maps[relocation->map];
            if (relocation->kind == RELOCATION_RING) {
                insn->imm = t->rings[insn[1].imm];
                insn[1].imm = 0;
            }
        }
        union bpf_attr attr = {.prog_type = program->type,
                               .insns = (uintptr_t)program->instructions,
                               .insn_cnt = program->count,
                               .license = (uintptr_t) "GPL",
                               .prog_flags = t->may_sleep ? BPF_F_SLEEPABLE : 0,
                               /* the log has only the costs; the whole log is written after a refusal */
                               .log_level = 4,
                               .log_buf = (uintptr_t)t->log,
                               .log_size = sizeof t->log};
        if (!btf_write(&t->arena, program, &blob)) {
            union bpf_attr btf = {.btf = (uintptr_t)blob.bytes, .btf_size = blob.size};
            int fd = testing_bpf(BPF_BTF_LOAD, &btf);
            if (fd < 0)
                return fd;
            attr.prog_btf_fd = (uint32_t)fd;
            attr.func_info = (uintptr_t)blob.functions;
            attr.func_info_cnt = blob.function_count;
            attr.func_info_rec_size = sizeof(struct bpf_func_info);
            attr.line_info = (uintptr_t)blob.lines;
            attr.line_info_cnt = blob.line_count;
            attr.line_info_rec_size = sizeof(struct bpf_line_info);
        }
        t->programs[i] = testing_bpf(BPF_PROG_LOAD, &attr);
        if (t->programs[i] < 0) {
            attr.log_level = 1;
            t->programs[i] = testing_bpf(BPF_PROG_LOAD, &attr);
        }
        if (attr.prog_btf_fd)
            close((int)attr.prog_btf_fd);
        if (t->programs[i] < 0)
            return t->programs[i];
    }
    return 0;
}

static inline int testing_run(struct testing *t, size_t program, const uint64_t words[WORDS])
{
    union bpf_attr attr = {.test = {.prog_fd = (uint32_t)t->programs[program],
                                    .ctx_in = (uintptr_t)words,
                                    .ctx_size_in = WORDS * 8}};
    return testing_bpf(BPF_PROG_TEST_RUN, &attr);
}

static inline int testing_map(struct testing *t, const char *name)
{
    for (size_t i = 0; i < t->image.map_count; i++)
        if (!strcmp(t->image.maps[i].name, name))
            return (int)i;
    return -1;
}

static inline int testing_lookup(struct testing *t, const char *name, const void *key, void *value)
{
    int index = testing_map(t, name);
    static const uint64_t zero[64];
    if (index < 0)
        return -ENOENT;
    union bpf_attr attr = {
        .map_fd = (uint32_t)t->maps[index], .key = (uintptr_t)(key ? key : zero), .value = (uintptr_t)value};
    return testing_bpf(BPF_MAP_LOOKUP_ELEM, &attr);
}

/* Returns the first word of an element, summed over the CPUs if the map is per CPU; 0 if there is no such element. */
static inline int64_t testing_word(struct testing *t, const char *name, const void *key)
{
    int index = testing_map(t, name);
    static uint64_t values[16384];
    memset(values, 0, sizeof values);
    if (index < 0 || testing_lookup(t, name, key, values))
        return 0;
    const struct image_map *map = &t->image.maps[index];
    if (map->type != BPF_MAP_TYPE_PERCPU_ARRAY && map->type != BPF_MAP_TYPE_PERCPU_HASH)
        return (int64_t)values[0];
    uint64_t sum = 0;
    for (unsigned cpu = 0; cpu < t->features.cpus; cpu++)
        sum += values[cpu * ((map->value_size + 7) / 8)];
    return (int64_t)sum;
}

static inline uint64_t testing_runtime_errors(struct testing *t, enum runtime_error_kind kind)
{
    uint64_t sum = 0;
    _Alignas(struct image_control) char value[65536];
    if (testing_lookup(t, "control", NULL, value))
        return 0;
    const struct image_control *control = (const void *)value;
    for (size_t i = 0; i < t->image.runtime_error_count; i++)
        if (t->image.runtime_errors[i].kind == kind)
            sum += control->runtime_errors[i] + t->read.control.runtime_errors[i];
    return sum;
}

/* Copies the first record of any ring to `record` and returns its length, 0 if there is none. */
static inline uint32_t testing_record(struct testing *t, uint8_t *record, uint32_t room)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t length = 0;
    for (unsigned i = 0; i < t->ring_count && !length; i++) {
        uint64_t *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, t->rings[i], 0);
        uint8_t *producer =
            mmap(NULL, page + 2 * RING_BYTES, PROT_READ, MAP_SHARED, t->rings[i], (off_t)page);
        if (consumer == MAP_FAILED || producer == MAP_FAILED)
            return 0;
        uint64_t at = *consumer;
        if (at < *(volatile uint64_t *)producer) {
            const uint8_t *entry = producer + page + (at & (RING_BYTES - 1));
            length = *(const uint32_t *)entry & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
            memcpy(record, entry + 8, length < room ? length : room);
            *consumer = at + ((length + 8 + 7) & ~7u);
        }
        munmap(consumer, page);
        munmap(producer, page + 2 * RING_BYTES);
    }
    return length;
}

static inline void testing_end(struct testing *t)
{
    for (unsigned i = 0; i < PROGRAMS_MAX; i++)
        if (t->programs[i] >= 0)
            close(t->programs[i]);
    for (unsigned i = 0; i < t->ring_count; i++)
        close(t->rings[i]);
    for (unsigned i = 0; i < MAPS_MAX; i++)
        if (t->maps[i] >= 0 && t->image.maps[i].type != BPF_MAP_TYPE_RINGBUF)
            close(t->maps[i]);
    text_free(&t->dump);
    checker_free(&t->checker);
    arena_free(&t->arena);
}

static const char *const long_text = "a string far away, longer than thirty-two bytes";
static struct inner second = {.number = 77, .text = "second"};
static struct inner first = {.number = -5,
                             .low = 5,
                             .middle = 0x55,
                             .high = 0x2abcde,
                             .list = {1, -2, 3, -4},
                             .text = "hello inner",
                             .next = &second};

static inline void words_fill(uint64_t words[WORDS])
{
    first.string = long_text;
    const uint64_t values[WORDS] = {
        (uint64_t)-7,   3,     UINT64_MAX,   5,   (uint64_t)-100000,          4000000000u,
        (uint64_t)-300, 60000, (uint64_t)-9, 250, (uintptr_t) "argument ten", (uintptr_t)&first};
    memcpy(words, values, sizeof values);
}

/* ---- running a script ---- */

enum mode { PLAIN, SLEEPING, SLEEPING_WITH_SLOTS, OLD, MODES };

static inline void mode_set(struct testing *t, enum mode mode)
{
    t->may_sleep = mode == SLEEPING || mode == SLEEPING_WITH_SLOTS;
    t->features.task_storage = mode != SLEEPING_WITH_SLOTS;
    t->features.ring_array_sleepable = mode != SLEEPING_WITH_SLOTS;
    if (mode == OLD)
        t->features = (struct features){.for_each_map = true,
                                        .program_btf = true,
                                        .ring_buffer = true,
                                        .read_kernel = true,
                                        .cpus = t->features.cpus,
                                        .rings = t->features.rings};
}

static inline void explain(struct testing *t, const char *text)
{
    struct text out = {0};
    diagnostics_render(&out, &t->diagnostics, DIAGNOSTIC_ERROR, false);
    print_message("%s\n%s%s\n", text, text_string(&out), t->log);
    text_free(&out);
}

static inline void compile_and_load(struct testing *t, enum mode mode, const char *text)
{
    mode_set(t, mode);
    bool ok = testing_compile(t, text);
    if (!ok || testing_load(t)) {
        explain(t, text);
        fail_msg("mode %d: %s", (int)mode, ok ? "not loaded" : "not compiled");
    }
}

static bool testing_has_kernel;

static inline void testing_find_kernel(void)
{
    testing_has_kernel = testing_available();
}

/* Stands first in a test: skips it where programs cannot be loaded. */
#define NEED_KERNEL()                                                                                        \
    do {                                                                                                     \
        (void)state;                                                                                         \
        if (!testing_has_kernel)                                                                             \
            skip();                                                                                          \
    } while (0)

#endif
