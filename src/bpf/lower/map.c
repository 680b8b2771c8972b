/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps of the script: which kernel map each becomes, and the code that works on their elements.
 *
 * Aggregations have a value for each CPU; everything else is shared. A map without a key is the only element of an
 * array, whose memory a program accesses without a look-up unless it is per CPU. Rows of histograms with keys are
 * elements of their own, with the row at the end of the key. */
#include "bpf/lower/processes.h"
#include "bpf/lower/state.h"

#include <errno.h>
#include <string.h>

enum { PER_CPU_VALUE_MAX = 32768, KEY_WORD = 8 };

/* A program can name 64 maps. In a script with more than this number, each block names the first ones, and finds
 * the others in maps of maps, each of which has those of one shape. */
enum { MAPS_WITHOUT_GROUPS = 40 };

/* ---- maps of the image ---- */

static struct image_map describe_map(const struct map_symbol *symbol, const struct lower_options *options)
{
    bool is_per_cpu = type_is_per_cpu(symbol->value);
    struct image_map map = {
        .name = symbol->name,
        .key = symbol->key,
        .value = symbol->value,
        .value_size = type_storage(symbol->value),
    };
    if (!symbol->key) {
        map.type = is_per_cpu ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY;
        map.key_size = 4;
        map.max_entries = 1;
        if (type_has_shape(symbol->value, AGGREGATION_SERIES))
            map.max_entries = type_rows(symbol->value);
    } else {
        bool is_lru = symbol->declaration && strstr(symbol->declaration->kind, "lru");
        map.type = is_per_cpu ? is_lru ? BPF_MAP_TYPE_LRU_PERCPU_HASH : BPF_MAP_TYPE_PERCPU_HASH
                   : is_lru   ? BPF_MAP_TYPE_LRU_HASH
                              : BPF_MAP_TYPE_HASH;
        map.key_size = type_storage(symbol->key);
        map.max_entries = symbol->max_entries ? symbol->max_entries : options->max_map_keys;
        if (type_has_rows(symbol->value)) {
            map.key_size += KEY_WORD;
            if (!type_has_shape(symbol->value, AGGREGATION_SERIES))
                map.value_size = 8;
        }
    }
    if (!map.key_size)
        map.key_size = KEY_WORD;
    if (!map.value_size)
        map.value_size = 8;
    return map;
}

int lower_maps(const struct compilation *compilation)
{
    struct image *image = compilation->image;
    const struct checker *checker = compilation->checker;
    image->events = image->stacks = image->events_shared = image->events_own = -1;
    image->scratch_cpu = image->scratch_task = image->scratch_slots = -1;
    image->control = (int)image->map_count;
    *arena_push(compilation->arena, image->maps, image->map_count, image->map_room) = (struct image_map){
        .name = "control",
        .type = BPF_MAP_TYPE_ARRAY,
        .key_size = 4,
        .value_size = sizeof(struct image_control),
        .max_entries = 1,
        .flags = BPF_F_MMAPABLE,
    };
    lower_process_map(compilation);
    for (size_t i = 0; i < checker->map_count; i++)
        checker->maps[i]->index = -1;
    return lower_more_maps(compilation);
}

static bool is_same_shape(const struct image_map *a, const struct image_map *b)
{
    return a->type == b->type && a->key_size == b->key_size && a->value_size == b->value_size &&
           a->max_entries == b->max_entries && a->flags == b->flags;
}

/* Puts the maps from `first` on into groups, which are added behind them. */
static void group_maps(struct arena *arena, struct image *image, uint32_t first)
{
    uint32_t end = (uint32_t)image->map_count;
    for (uint32_t i = first; i < end; i++) {
        if (image->maps[i].group)
            continue;
        uint32_t *members = arena_array(arena, end - i, sizeof *members), count = 0;
        for (uint32_t k = i; k < end; k++)
            if (is_same_shape(&image->maps[i], &image->maps[k])) {
                image->maps[k].group = (uint32_t)image->map_count;
                image->maps[k].slot = count;
                members[count++] = k;
            }
        *arena_push(arena, image->maps, image->map_count, image->map_room) =
            (struct image_map){.name = "maps",
                               .type = BPF_MAP_TYPE_ARRAY_OF_MAPS,
                               .key_size = 4,
                               .value_size = 4,
                               .max_entries = count,
                               .members = members};
    }
}

int lower_more_maps(const struct compilation *compilation)
{
    const struct lower_options *options = &compilation->options;
    const struct checker *checker = compilation->checker;
    struct diagnostics *diagnostics = compilation->diagnostics;
    struct image *image = compilation->image;
    size_t errors = diagnostics->errors, first = image->map_count;
    for (size_t i = 0; i < checker->map_count; i++) {
        struct map_symbol *symbol = checker->maps[i];
        if (!symbol->value)
            continue; /* it never has a value */
        struct image_map map = describe_map(symbol, options);
        if (symbol->index >= 0) {
            const struct image_map *made = &image->maps[symbol->index];
            if (map.key_size != made->key_size || map.value_size != made->value_size)
                diagnose_error(diagnostics, symbol->first, "%s would have to hold larger values than it does",
                               symbol->name);
            continue;
        }
        if (type_is_per_cpu(symbol->value) && map.value_size > PER_CPU_VALUE_MAX) {
            diagnose_error(diagnostics, symbol->first,
                           "%s needs %u bytes per CPU; the kernel has room for %d", symbol->name,
                           map.value_size, PER_CPU_VALUE_MAX);
            diagnose_hint(diagnostics, "use fewer rows");
        }
        symbol->index = (int)image->map_count;
        *arena_push(compilation->arena, image->maps, image->map_count, image->map_room) = map;
    }
    if (options->is_for_kernel && checker->map_count > MAPS_WITHOUT_GROUPS)
        group_maps(compilation->arena, image, (uint32_t)first);
    return diagnostics->errors > errors ? -EINVAL : 0;
}

void lower_finish(struct image *image, uint32_t spare)
{
    if (image->control >= 0)
        image->maps[image->control].value_size =
            (uint32_t)(sizeof(struct image_control) +
                       sizeof(uint64_t) * (image->runtime_error_count + spare));
}

/* ---- keys and elements ---- */

/* Whether the program names the map itself: it does if the map is in no group, or one of those that the program
 * uses first. */
static bool is_named(struct lowering *l, const struct map_symbol *symbol)
{
    struct lower_state *s = l->state;
    if (!l->image->maps[symbol->index].group)
        return true;
    unsigned at = 0;
    while (at < s->named_count && s->named[at] != symbol)
        at++;
    if (at == sizeof s->named / sizeof s->named[0])
        return false;
    if (at == s->named_count)
        s->named[s->named_count++] = symbol;
    return true;
}

struct ir *lower_map_itself(struct lowering *l, const struct map_symbol *symbol)
{
    struct ir_builder *b = &l->b;
    if (is_named(l, symbol))
        return ir_map(b, (uint32_t)symbol->index);
    const struct image_map *map = &l->image->maps[symbol->index];
    struct memory key = lower_temporary(l, 8, false);
    ir_store_constant(b, key.base, key.offset, 8, map->slot);
    struct ir *found = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, map->group), lower_address(l, key));
    ir_jump_unless(b, found, lower_statement_end(l));
    return found;
}

static bool is_direct(struct lowering *l, const struct map_symbol *symbol)
{
    return !symbol->key && !type_is_per_cpu(symbol->value) && is_named(l, symbol);
}

struct memory lower_map_key(struct lowering *l, struct node *map)
{
    const struct map_symbol *symbol = map->map.symbol;
    const struct type *type = symbol->key;
    struct node *key = map->map.key;
    struct memory memory;
    if (key && key == l->held.key)
        return l->held.memory;
    if (!type || !key) {
        return type_has_shape(symbol->value, AGGREGATION_SERIES) ? lower_temporary(l, KEY_WORD, true)
                                                                 : lower_zeros(l, KEY_WORD);
    }
    bool rows = type_has_rows(symbol->value);
    if (!rows && !type_is_scalar(type) && type_equal(key->type, type) && key->kind == NODE_VARIABLE)
        return lower_memory(l, key);
    uint32_t bytes = type_storage(type);
    memory = lower_temporary(l, (bytes ? bytes : KEY_WORD) + (rows ? KEY_WORD : 0), !bytes);
    if (bytes)
        lower_into_type(l, key, type, memory);
    return memory;
}

struct ir *lower_map_lookup(struct lowering *l, struct map_symbol *map, struct memory key)
{
    if (is_direct(l, map))
        return ir_map_value(&l->b, (uint32_t)map->index, 0);
    return ir_call(&l->b, BPF_FUNC_map_lookup_elem, 2, lower_map_itself(l, map), lower_address(l, key));
}

/* Whether a program is so short that a register can keep the stop flag, which is 0. */
static bool is_short(const struct lowering *l)
{
    const struct lower_state *s = l->state;
    const struct node *body = s->unit->body;
    return s->stop && !s->current->parent && !s->unit->predicate && !s->main->shared[SHARED_SCRATCH] &&
           body->kind == NODE_BLOCK && body->list.count == 1 && body->list.first->kind == NODE_EXPRESSION;
}

/* Returns an element, which is made if it is missing. The key's memory has all of the kernel's key. Iteration 0
 * looks the element up, iteration 1 makes it, iteration 2 looks it up again, all by the same code: what the calls
 * have in common, map and key, is made once. */
static struct ir *find_or_make(struct lowering *l, struct map_symbol *map, struct memory key,
                               struct span span)
{
    struct ir_builder *b = &l->b;
    if (is_direct(l, map))
        return lower_map_lookup(l, map, key);
    if (!map->key) {
        struct ir *found = lower_map_lookup(l, map, key);
        ir_jump_unless(b, found, lower_statement_end(l));
        return found;
    }
    enum { MAKE = 1, ITERATIONS_MAX = 3 };
    uint32_t iteration = ir_variable(b);
    struct ir_block *make = ir_label_unlikely(b), *next = ir_label_unlikely(b), *full = ir_label_unlikely(b);
    struct ir_block *present = ir_label(b);
    ir_write(b, iteration, is_short(l) ? l->state->stop : ir_constant(b, 0));
    struct ir_block *loop = ir_loop(b);
    ir_jump_if(b, ir_binary_constant(b, IR_EQ, ir_read(b, iteration), MAKE), make);
    struct ir *found = lower_map_lookup(l, map, key);
    ir_branch(b, found, present, next);
    ir_place(b, make);
    struct memory zeros = lower_zeros(l, l->image->maps[map->index].value_size);
    ir_call(b, BPF_FUNC_map_update_elem, 4, lower_map_itself(l, map), lower_address(l, key),
            lower_address(l, zeros), ir_constant(b, BPF_NOEXIST));
    ir_place(b, next);
    ir_write(b, iteration, ir_binary_constant(b, IR_ADD, ir_read(b, iteration), 1));
    ir_branch(b, ir_binary_constant(b, IR_NE, ir_read(b, iteration), ITERATIONS_MAX), loop, full);
    ir_loop_end(b, loop);
    ir_place(b, full);
    lower_runtime_error(l, RUNTIME_ERROR_MAP_FULL, span, map->index, "map_update_elem");
    ir_jump(b, lower_statement_end(l));
    ir_place(b, present);
    return found;
}

struct ir *lower_map_element(struct lowering *l, struct map_symbol *map, struct memory key, struct span span)
{
    return find_or_make(l, map, key, span);
}

struct ir *lower_map_row(struct lowering *l, struct map_symbol *map, struct memory key, struct ir *row,
                         struct span span)
{
    struct ir_builder *b = &l->b;
    if (map->key) {
        uint32_t bytes = type_storage(map->key);
        ir_store(b, key.base, key.offset + (int32_t)(bytes ? bytes : KEY_WORD), 8, row);
        return find_or_make(l, map, key, span);
    }
    if (type_has_shape(map->value, AGGREGATION_SERIES)) { /* each interval is one element */
        ir_store(b, key.base, key.offset, 4, row);
        return find_or_make(l, map, key, span);
    }
    struct ir *rows = find_or_make(l, map, key, span);
    ir_jump_unless(b, ir_binary_constant(b, IR_ULT, row, type_rows(map->value)), lower_statement_end(l));
    return ir_binary(b, IR_ADD, rows, ir_binary_constant(b, IR_SHL, row, 3));
}

void lower_add(struct lowering *l, struct ir *base, int32_t offset, struct ir *value)
{
    struct ir_builder *b = &l->b;
    if (lower_is_preemptible(l))
        ir_atomic_add(b, base, offset, 8, value);
    else
        ir_store(b, base, offset, 8, ir_binary(b, IR_ADD, ir_load(b, base, offset, 8, false), value));
}

/* ---- reading ---- */

/* Code between find() and the end runs with the element; `missing` is reached if there is none. */
struct found {
    struct ir *element;
    struct ir_block *missing, *end;
};

static struct found find(struct lowering *l, struct node *map)
{
    struct ir_builder *b = &l->b;
    struct map_symbol *symbol = map->map.symbol;
    struct memory key = lower_map_key(l, map);
    struct found found = {lower_map_lookup(l, symbol, key), .missing = ir_label(b), .end = ir_label(b)};
    ir_jump_unless(b, found.element, found.missing);
    return found;
}

static void not_found(struct lowering *l, const struct found *found, struct span span)
{
    ir_jump(&l->b, found->end);
    ir_place(&l->b, found->missing);
    if (l->options->counts_lookups)
        lower_runtime_error(l, RUNTIME_ERROR_LOOKUP, span, -1, "map_lookup_elem");
}

static void find_end(struct lowering *l, const struct found *found)
{
    ir_place(&l->b, found->end);
}

struct ir *lower_map_read(struct lowering *l, struct node *map)
{
    struct ir_builder *b = &l->b;
    struct map_symbol *symbol = map->map.symbol;
    if (type_is_aggregation(symbol->value))
        return lower_map_sum(l, symbol, lower_address(l, lower_map_key(l, map)), map->span);
    if (is_direct(l, symbol))
        return ir_load(b, ir_map_value(b, (uint32_t)symbol->index, 0), 0, 8, false);
    uint32_t value = ir_variable(b);
    struct found found = find(l, map);
    ir_write(b, value, ir_load(b, found.element, 0, 8, false));
    not_found(l, &found, map->span);
    ir_write(b, value, ir_constant(b, 0));
    find_end(l, &found);
    return ir_read(b, value);
}

struct ir *lower_map_member(struct lowering *l, struct node *map, lower_member *read, struct node *member,
                            int32_t offset)
{
    struct ir_builder *b = &l->b;
    const struct map_symbol *symbol = map->map.symbol;
    struct location location = {.is_direct = true, .offset = offset, .space = SPACE_BPF};
    if (is_direct(l, symbol)) {
        location.base = ir_map_value(b, (uint32_t)symbol->index, 0);
        return read(l, member, location);
    }
    uint32_t value = ir_variable(b);
    struct found found = find(l, map);
    location.base = found.element;
    ir_write(b, value, read(l, member, location));
    not_found(l, &found, map->span);
    ir_write(b, value, ir_constant(b, 0));
    find_end(l, &found);
    return ir_read(b, value);
}

/* Lowers a map's value as a condition, if a missing element can go directly to `no`. False: it is no such value. */
bool lower_map_branch(struct lowering *l, struct node *map, struct ir_block *yes, struct ir_block *no)
{
    const struct map_symbol *symbol = map->map.symbol;
    if (is_direct(l, symbol) || type_is_aggregation(symbol->value) || !type_is_scalar(symbol->value))
        return false;
    struct temporary_mark mark = lower_mark(l);
    struct found found = find(l, map);
    ir_branch(&l->b, ir_load(&l->b, found.element, 0, 8, false), yes, no);
    ir_place(&l->b, found.missing);
    if (l->options->counts_lookups)
        lower_runtime_error(l, RUNTIME_ERROR_LOOKUP, map->span, -1, "map_lookup_elem");
    ir_jump(&l->b, no);
    lower_release(l, mark);
    return true;
}

void lower_map_read_into(struct lowering *l, struct node *map, struct memory to)
{
    struct map_symbol *symbol = map->map.symbol;
    const struct type *type = map->type;
    if (is_direct(l, symbol)) {
        struct memory value = {.base = ir_map_value(&l->b, (uint32_t)symbol->index, 0)};
        lower_convert_memory(l, value, symbol->value, to, type);
        return;
    }
    struct found found = find(l, map);
    lower_convert_memory(l, (struct memory){.base = found.element}, symbol->value, to, type);
    not_found(l, &found, map->span);
    lower_zero(l, to, type_storage(type));
    find_end(l, &found);
}

/* ---- sums over CPUs ---- */

struct sum {
    const struct type *type;
    uint32_t total, second; /* variables: the sum or extreme; how many values, or whether there is one */
};

static void add_value(struct lowering *l, const struct sum *sum, struct ir *element)
{
    struct ir_builder *b = &l->b;
    const struct aggregation *kind = sum->type->aggregation;
    bool is_signed = sum->type->target && sum->type->target->is_signed;
    struct ir *value = ir_load(b, element, 0, 8, false), *total = ir_read(b, sum->total);
    if (kind->merge == MERGE_ADD) {
        ir_write(b, sum->total, ir_binary(b, IR_ADD, total, value));
        if (kind->is_average)
            ir_write(b, sum->second,
                     ir_binary(b, IR_ADD, ir_read(b, sum->second), ir_load(b, element, 8, 8, false)));
        return;
    }
    static const enum ir_op better[2][2] = {{IR_ULT, IR_UGT}, {IR_SLT, IR_SGT}};
    enum ir_op op = better[is_signed][kind->merge == MERGE_MAX];
    struct ir_block *take = ir_label(b);
    struct ir_block *end = ir_label(b);
    ir_jump_unless(b, ir_load(b, element, 8, 8, false), end);
    ir_jump_unless(b, ir_read(b, sum->second), take);
    ir_branch(b, ir_binary(b, op, value, total), take, end);
    ir_place(b, take);
    ir_write(b, sum->total, value);
    ir_write(b, sum->second, ir_constant(b, 1));
    ir_place(b, end);
}

static void add_cpu(struct lowering *l, const struct sum *sum, struct map_symbol *map, struct ir *key,
                    struct ir *cpu)
{
    struct ir_builder *b = &l->b;
    struct ir *element =
        cpu ? ir_call(b, BPF_FUNC_map_lookup_percpu_elem, 3, lower_map_itself(l, map), key, cpu)
            : ir_call(b, BPF_FUNC_map_lookup_elem, 2, lower_map_itself(l, map), key);
    struct ir_if present = ir_if(b, element);
    add_value(l, sum, element);
    ir_end_if(b, &present);
}

static void add_cpus_in_loop(struct lowering *l, const struct sum *sum, struct map_symbol *map,
                             struct ir *key, unsigned cpus)
{
    struct ir_builder *b = &l->b;
    uint32_t cpu = ir_variable(b);
    struct ir_block *end = ir_label(b);
    ir_write(b, cpu, ir_constant(b, 0));
    struct ir_block *loop = ir_loop(b);
    struct ir *at = ir_read(b, cpu);
    ir_jump_unless(b, ir_binary_constant(b, IR_ULT, at, cpus), end);
    add_cpu(l, sum, map, key, at);
    ir_write(b, cpu, ir_binary_constant(b, IR_ADD, ir_read(b, cpu), 1));
    ir_repeat(b, loop);
    ir_place(b, end);
}

/* Returns total / count, or 0 if there is no value. */
static struct ir *average(struct lowering *l, const struct sum *sum)
{
    struct ir_builder *b = &l->b;
    bool is_signed = sum->type->target && sum->type->target->is_signed;
    struct ir *total = ir_read(b, sum->total), *count = ir_read(b, sum->second);
    return ir_binary(b, is_signed ? IR_SDIV : IR_UDIV, total, count); /* x / 0 is 0 in eBPF */
}

/* Counts a look-up without a result. A key exists on all CPUs or on none. */
static void count_missing(struct lowering *l, struct map_symbol *map, struct ir *key, struct span span)
{
    struct ir_builder *b = &l->b;
    struct ir_block *end = ir_label(b);
    ir_jump_if(b, ir_call(b, BPF_FUNC_map_lookup_elem, 2, lower_map_itself(l, map), key), end);
    lower_runtime_error(l, RUNTIME_ERROR_LOOKUP, span, -1, "map_lookup_elem");
    ir_place(b, end);
}

struct ir *lower_map_sum(struct lowering *l, struct map_symbol *map, struct ir *key, struct span span)
{
    struct ir_builder *b = &l->b;
    const struct features *features = l->options->features;
    struct sum sum = {.type = map->value, .total = ir_variable(b), .second = ir_variable(b)};
    ir_write(b, sum.total, ir_constant(b, 0));
    ir_write(b, sum.second, ir_constant(b, 0));
    if (l->options->counts_lookups && map->key)
        count_missing(l, map, key, span);
    if (!features->lookup_percpu) {
        diagnose_warning(l->diagnostics, span, "%s is read on this CPU only, not summed over all", map->name);
        diagnose_hint(l->diagnostics,
                      "reading an aggregation in a program needs Linux 5.19; print() has all CPUs");
        add_cpu(l, &sum, map, key, NULL);
    } else if (features->cpus <= UNROLLED_CPUS)
        for (unsigned cpu = 0; cpu < features->cpus; cpu++)
            add_cpu(l, &sum, map, key, ir_constant(b, cpu));
    else
        add_cpus_in_loop(l, &sum, map, key, features->cpus);
    if (sum.type->aggregation->is_average)
        return average(l, &sum);
    return ir_read(b, sum.total);
}

/* ---- writing ---- */

void lower_map_write(struct lowering *l, struct node *map, struct ir *value, struct memory memory,
                     const struct memory *made)
{
    struct ir_builder *b = &l->b;
    struct map_symbol *symbol = map->map.symbol;
    if (is_direct(l, symbol)) {
        struct ir *at = ir_map_value(b, (uint32_t)symbol->index, 0);
        if (value)
            ir_store(b, at, 0, 8, value);
        else
            lower_copy(l, (struct memory){.base = at}, memory, type_storage(symbol->value));
        return;
    }
    struct memory key = made ? *made : lower_map_key(l, map);
    if (value) {
        memory = lower_temporary(l, 8, false);
        ir_store(b, memory.base, memory.offset, 8, value);
    }
    struct ir *result = ir_call(b, BPF_FUNC_map_update_elem, 4, lower_map_itself(l, symbol),
                                lower_address(l, key), lower_address(l, memory), ir_constant(b, BPF_ANY));
    struct ir_block *end = ir_label(b);
    /* Before Linux 6.4 the result is an int in the lower half, which is never below 0. */
    struct ir_block *full = lower_unlikely(l, ir_binary_constant(b, IR_NE, result, 0));
    ir_jump(b, end);
    ir_place(b, full);
    lower_runtime_error(l, RUNTIME_ERROR_MAP_FULL, map->span, symbol->index, "map_update_elem");
    ir_place(b, end);
}
