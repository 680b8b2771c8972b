/* SPDX-License-Identifier: BSD-3-Clause */
/* What the statements of a program share: functions and their frames, scratch memory, values that are computed once, counters
 * of runtime errors, and the ends. Statements, expressions, memory, maps and events have files of their own.
 *
 * The invariant: a value kept in struct lower_state or lower_function is defined where it dominates every later
 * use. */
#include "bpf/emit/btf_write.h"
#include "bpf/limits.h"
#include "bpf/lower/processes.h"
#include "bpf/lower/state.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* ---- functions ---- */

void lower_enter_function(struct lowering *l, struct lower_function *function, const char *name,
                          uint8_t parameters)
{
    struct lower_state *s = l->state;
    function->parent = s->current;
    function->saved = l->b;
    function->depth = s->current ? s->current->depth + 1 : 0;
    function->function = ir_function_new(l->b.program, name, parameters);
    for (unsigned i = 0; i < SHARED_COUNT; i++)
        function->shared_slot[i] = -1;
    s->current = function;
    l->b.function = function->function;
    ir_enter(&l->b, function->function->first);
    if (function->parent) {
        function->outer = ir_parameter(&l->b, parameters - 1u);
        function->setup = l->b.block;
        function->start = ir_label(&l->b);
        ir_enter(&l->b, function->start);
    }
}

enum { FRAMES_MAX = 8 };

bool lower_has_frame(const struct lowering *l)
{
    return l->state->current->depth + 1 < FRAMES_MAX;
}

bool lower_is_too_deep(struct lowering *l)
{
    struct lower_state *s = l->state;
    if (lower_has_frame(l))
        return false;
    if (s->is_too_deep)
        return true;
    s->is_too_deep = true;
    diagnose_error(l->diagnostics, l->b.span, "Calls and loops are nested too deeply: at most %d",
                   FRAMES_MAX - 1);
    diagnose_hint(l->diagnostics, "a search in a text is a loop, too; unroll() is none");
    return true;
}

void lower_finish_function(struct lowering *l, struct lower_function *function)
{
    ir_enter(&l->b, function->setup);
    ir_jump(&l->b, function->start);
    ir_seal(&l->b, function->start);
    if (function->parent) {
        l->b = function->saved;
        l->state->current = function->parent;
    }
}

/* Code for a function's setup block is built between setup_enter() and setup_leave(). */
static struct ir_builder setup_enter(struct lowering *l, struct lower_function *function)
{
    struct ir_builder saved = l->b;
    l->b.function = function->function;
    ir_enter(&l->b, function->setup);
    return saved;
}

static void setup_leave(struct lowering *l, struct lower_function *function, struct ir_builder saved)
{
    function->setup = l->b.block;
    l->b = saved;
}

static struct ir *own_area(struct lowering *l, struct lower_function *function)
{
    if (!function->area) {
        struct ir_builder saved = setup_enter(l, function);
        function->area = ir_frame(&l->b, 8);
        if (function->parent) {
            ir_store(&l->b, function->area, 0, 8, function->outer);
            function->area_bytes = 8;
        }
        setup_leave(l, function, saved);
    }
    return function->area;
}

struct ir *lower_unknown(struct lowering *l, struct ir *value)
{
    struct ir *zero = ir_load(&l->b, lower_control(l), offsetof(struct image_control, zeros), 8, false);
    zero->is_volatile = true;
    return ir_binary(&l->b, IR_ADD, value, zero);
}

struct ir *lower_captured(struct lowering *l, struct ir *value)
{
    return lower_kernel_loops(l) ? lower_unknown(l, value) : value;
}

int32_t lower_area_slot(struct lowering *l, struct lower_function *function)
{
    struct ir *area = own_area(l, function);
    int32_t slot = (int32_t)function->area_bytes;
    function->area_bytes += 8;
    area->immediate = function->area_bytes;
    struct ir_builder saved = setup_enter(l, function);
    ir_store(&l->b, area, slot, 8, lower_captured(l, ir_constant(&l->b, 0)));
    setup_leave(l, function, saved);
    return slot;
}

int32_t lower_take_slot(struct lowering *l)
{
    struct lower_function *function = l->state->current;
    return function->free_count ? function->free_slots[--function->free_count] : lower_area_slot(l, function);
}

void lower_give_slot(struct lowering *l, int32_t slot)
{
    struct lower_function *function = l->state->current;
    *arena_push(l->state->temporary, function->free_slots, function->free_count, function->free_room) = slot;
}

struct ir *lower_area(struct lowering *l, struct lower_function *home)
{
    struct lower_function *at = l->state->current;
    if (at == home)
        return own_area(l, home);
    struct ir *area = at->outer;
    own_area(l, at->parent);
    for (at = at->parent; at != home; at = at->parent) {
        own_area(l, at->parent);
        area = ir_load(&l->b, area, 0, 8, false);
    }
    return area;
}

/* ---- shared values ---- */

static struct ir *read_clock(struct lowering *l)
{
    if (l->context->has_record)
        return lower_event_word(l, offsetof(struct image_event, time));
    return ir_call(&l->b, BPF_FUNC_ktime_get_boot_ns, 0);
}

struct ir_block *lower_unlikely(struct lowering *l, struct ir *condition)
{
    struct ir_block *rare = ir_label_unlikely(&l->b);
    ir_jump_if(&l->b, condition, rare);
    return rare;
}

/* Counts a lost event. These errors are reported for each probe, so that the program needs one counter of each
 * kind. */
void lower_count_lost_event(struct lowering *l, enum runtime_error_kind kind)
{
    lower_runtime_error(l, kind, l->state->unit->body->span, -1, NULL);
}

/* If there is no scratch memory, counts the event as lost and leaves the program before the script's statements. */
static void leave_without_scratch(struct lowering *l, struct ir *memory)
{
    struct ir_if none = ir_if_unlikely(&l->b, ir_binary_constant(&l->b, IR_EQ, memory, 0));
    lower_count_lost_event(l, RUNTIME_ERROR_SCRATCH);
    ir_jump(&l->b, l->state->leave_early);
    ir_end_if(&l->b, &none);
}

static int internal_map(struct lowering *l, int *index, struct image_map map)
{
    if (*index < 0) {
        *index = (int)l->image->map_count;
        *arena_push(l->arena, l->image->maps, l->image->map_count, l->image->map_room) = map;
    }
    return *index;
}

static struct ir *acquire_per_cpu(struct lowering *l)
{
    int map =
        internal_map(l, &l->image->scratch_cpu,
                     (struct image_map){.name = "scratch", .type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4});
    struct memory key = lower_temporary(l, 8, false);
    ir_store_constant(&l->b, key.base, key.offset, 8, l->state->program_index);
    struct ir *memory =
        ir_call(&l->b, BPF_FUNC_map_lookup_elem, 2, ir_map(&l->b, (uint32_t)map), lower_address(l, key));
    leave_without_scratch(l, memory);
    return memory;
}

static struct ir *acquire_of_task(struct lowering *l)
{
    int map = internal_map(l, &l->image->scratch_task,
                           (struct image_map){.name = "scratch_task",
                                              .type = BPF_MAP_TYPE_TASK_STORAGE,
                                              .key_size = 4,
                                              .flags = BPF_F_NO_PREALLOC});
    struct ir *task = ir_call(&l->b, BPF_FUNC_get_current_task_btf, 0);
    struct ir *memory = ir_call(&l->b, BPF_FUNC_task_storage_get, 4, ir_map(&l->b, (uint32_t)map), task,
                                ir_constant(&l->b, 0), ir_constant(&l->b, BPF_LOCAL_STORAGE_GET_F_CREATE));
    leave_without_scratch(l, memory);
    return memory;
}

/* Finds the slot that the program has taken. */
static struct ir *find_slot(struct lowering *l, uint32_t map)
{
    struct memory key = lower_temporary(l, 8, false);
    ir_store(&l->b, key.base, key.offset, 8, lower_section_slot(l));
    struct ir *memory =
        ir_call(&l->b, BPF_FUNC_map_lookup_elem, 2, ir_map(&l->b, map), lower_address(l, key));
    leave_without_scratch(l, memory);
    return memory;
}

/* Takes a slot of scratch memory. Functions that are apart are told which one it is. */
static struct ir *acquire_slot(struct lowering *l)
{
    struct ir_builder *b = &l->b;
    int map = internal_map(l, &l->image->scratch_slots,
                           (struct image_map){.name = "scratch_slots",
                                              .type = BPF_MAP_TYPE_PERCPU_ARRAY,
                                              .key_size = 4,
                                              .max_entries = SCRATCH_SLOTS});
    if (l->state->section)
        return find_slot(l, (uint32_t)map);
    struct memory key = lower_temporary(l, 8, false);
    struct ir_block *found = ir_label(b);
    uint32_t slot = ir_variable(b), number = ir_variable(b);
    for (int i = 0; i < SCRATCH_SLOTS; i++) {
        struct ir_block *next = ir_label_unlikely(b);
        ir_store_constant(b, key.base, key.offset, 8, i);
        struct ir *memory =
            ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, (uint32_t)map), lower_address(l, key));
        ir_jump_unless(b, memory, next);
        struct ir *old = ir_atomic_compare(b, memory, SLOT_TAKEN, 8, ir_constant(b, 0), ir_constant(b, 1));
        ir_write(b, slot, memory);
        ir_write(b, number, ir_constant(b, i));
        ir_branch(b, old, next, found);
        ir_place(b, next);
    }
    lower_count_lost_event(l, RUNTIME_ERROR_SCRATCH);
    ir_jump(b, l->state->leave_early);
    ir_place(b, found);
    if (l->state->section_size)
        ir_store(b, ir_read(b, slot), SLOT_NUMBER, 8, ir_read(b, number));
    return ir_read(b, slot);
}

static struct ir *make_shared(struct lowering *l, enum lower_shared which)
{
    static struct ir *(*const acquire[])(struct lowering *) = {
        [SCRATCH_CPU] = acquire_per_cpu, [SCRATCH_TASK] = acquire_of_task, [SCRATCH_SLOT] = acquire_slot};
    switch (which) {
    case SHARED_CTX: return ir_context(&l->b);
    case SHARED_TIME: return read_clock(l);
    default: break;
    }
    l->state->scratch_phase = l->state->phase;
    l->state->has_scratch = true;
    return acquire[l->state->scratch_kind](l);
}

static struct ir *shared_in(struct lowering *l, struct lower_function *function, enum lower_shared which)
{
    if (function->shared[which])
        return function->shared[which];
    if (!function->parent) {
        /* The setup block belongs to the program itself, whichever function needs the value. */
        struct lower_function *asking = l->state->current;
        struct ir_builder saved = setup_enter(l, function);
        l->state->current = function;
        struct temporary_mark mark = lower_mark(l);
        struct ir *value = make_shared(l, which);
        lower_release(l, mark);
        l->state->current = asking;
        setup_leave(l, function, saved);
        return function->shared[which] = value;
    }
    struct lower_function *parent = function->parent;
    if (parent->shared_slot[which] < 0) {
        struct ir *value = shared_in(l, parent, which);
        int32_t slot = parent->shared_slot[which] = lower_area_slot(l, parent);
        struct ir_builder saved = setup_enter(l, parent);
        ir_store(&l->b, parent->area, slot, 8, value);
        setup_leave(l, parent, saved);
    }
    struct ir_builder saved = setup_enter(l, function);
    struct ir *value = ir_load(&l->b, function->outer, parent->shared_slot[which], 8, false);
    setup_leave(l, function, saved);
    return function->shared[which] = value;
}

struct ir *lower_shared_value(struct lowering *l, enum lower_shared which)
{
    return shared_in(l, l->state->current, which);
}

struct ir *lower_ctx(struct lowering *l)
{
    if (l->context->record_in_control)
        return ir_map_value(&l->b, (uint32_t)l->image->control, offsetof(struct image_control, event));
    return lower_shared_value(l, SHARED_CTX);
}

/* Whether sections get the context: the kernel gives it to functions that it verifies on their own, as which this kind
 * of program may have it. */
static bool gives_context(const struct lowering *l)
{
    return btf_can_pass_context(l->options->features, l->context->program_type,
                                l->context->expected_attach_type);
}

void lower_keep_context(struct lowering *l)
{
    if (gives_context(l) || l->context->record_in_control)
        return;
    struct memory memory = lower_scratch(l, 8, true);
    l->state->context_slot = memory.offset;
    ir_store(&l->b, memory.base, memory.offset, 8, lower_ctx(l));
}

struct ir *lower_ctx_address(struct lowering *l)
{
    const struct lower_state *s = l->state;
    if (!s->section || s->context_slot < 0)
        return lower_ctx(l);
    return ir_load(&l->b, lower_shared_value(l, SHARED_SCRATCH), s->context_slot, 8, false);
}

struct ir *lower_ctx_word(struct lowering *l, int32_t offset, const struct type *type)
{
    struct ir *context = lower_ctx_address(l);
    if (l->state->section && l->state->context_slot >= 0)
        return lower_read_scalar(l, ir_offset(&l->b, context, offset), type, SPACE_KERNEL, l->b.span);
    return ir_load(&l->b, context, offset, type->size, type->is_signed);
}

enum address_space lower_args_space(const struct lowering *l)
{
    /* a text of a record is in memory of user space */
    if (l->context->has_record)
        return SPACE_USER;
    return l->state->section && l->state->context_slot >= 0 ? SPACE_KERNEL : SPACE_BPF;
}

struct ir *lower_event_word(struct lowering *l, size_t offset)
{
    return ir_load(&l->b, lower_ctx(l), (int32_t)offset, 8, false);
}

struct ir *lower_control(struct lowering *l)
{
    return ir_map_value(&l->b, (uint32_t)l->image->control, 0);
}

struct ir *lower_pid_tgid(struct lowering *l)
{
    struct ir_builder *b = &l->b;
    if (l->context->has_record)
        return lower_event_word(l, offsetof(struct image_event, pid_tid));
    if (!l->options->filter.namespace)
        return ir_call(b, BPF_FUNC_get_current_pid_tgid, 0); /* the passes keep only one call */
    /* struct bpf_pidns_info is pid, tgid: zeros for a task of another namespace. */
    struct memory ids = lower_temporary(l, 8, true);
    ir_call(b, BPF_FUNC_get_ns_current_pid_tgid, 4,
            ir_constant(b, (int64_t)l->options->filter.namespace_device),
            ir_constant(b, (int64_t)l->options->filter.namespace), lower_address(l, ids), ir_constant(b, 8));
    return ir_load(b, ids.base, ids.offset, 8, false);
}

bool lower_is_preemptible(const struct lowering *l)
{
    return l->context->is_preemptible || l->is_sleepable;
}

/* Whether every path to the current block leads through `above`, as far as a search back over some blocks shows it:
 * a script may be as long as it likes. The body of the program is reached from the setup block, even while that has
 * no jump yet. */
bool lower_dominates(struct lowering *l, const struct ir_block *above)
{
    enum { FARTHEST = 64 };
    struct ir_block *seen[FARTHEST];
    size_t count = 0;
    if (above->function != l->b.function)
        return false;
    seen[count++] = l->b.block;
    for (size_t at = 0; at < count; at++) {
        struct ir_block *block = seen[at];
        if (block == above)
            continue;
        struct ir_block *open = block == l->state->main->start ? l->state->main->setup : NULL;
        if (!block->predecessor_count && !open)
            return false;
        for (size_t i = 0; i < block->predecessor_count + (open != NULL); i++) {
            struct ir_block *before = i < block->predecessor_count ? block->predecessors[i] : open;
            size_t known = 0;
            while (known < count && seen[known] != before)
                known++;
            if (known < count)
                continue;
            if (count == FARTHEST)
                return false;
            seen[count++] = before;
        }
    }
    return true;
}

struct ir *value_cache_find(struct lowering *l, const struct value_cache *known)
{
    for (unsigned i = 0; i < known->count; i++)
        if (lower_dominates(l, known->values[i]->block))
            return known->values[i];
    return NULL;
}

/* Adds a value. If there is no room, it replaces the last one, since the newest value must be in the cache: a clock
 * that was read at the program's beginning would make records look older than those before them. */
struct ir *value_cache_add(struct value_cache *known, struct ir *value)
{
    if (known->count == sizeof known->values / sizeof known->values[0])
        known->count--;
    return known->values[known->count++] = value;
}

struct ir *lower_time(struct lowering *l)
{
    struct lower_state *s = l->state;
    if (s->current->parent || s->main->shared[SHARED_TIME] || s->has_callbacks)
        return lower_shared_value(l, SHARED_TIME);
    struct ir *known = value_cache_find(l, &s->times);
    return known ? known : value_cache_add(&s->times, read_clock(l));
}

/* ---- runtime errors and ends ---- */

/* The key of errors that are counted together. The same bytes of two files are two spans. */
struct runtime_error_key {
    uint64_t kind, map;
    uint64_t begin, end;
    const struct source *source;
    const char *helper;
};

static size_t runtime_error_index(struct lowering *l, const struct runtime_error *runtime_error)
{
    struct image *image = l->image;
    const struct runtime_error_key key = {.kind = runtime_error->kind,
                                          .map = (uint64_t)runtime_error->map,
                                          .begin = runtime_error->span.begin,
                                          .end = runtime_error->span.end,
                                          .source = runtime_error->span.source,
                                          .helper = runtime_error->helper};
    uintptr_t known = (uintptr_t)table_get(&l->state->runtime_errors, &key, sizeof key); /* index + 1 */
    if (known)
        return known - 1;
    *arena_push(l->arena, image->runtime_errors, image->runtime_error_count, image->runtime_error_room) =
        *runtime_error;
    /* If memory runs out, one error has two counters. */
    table_set(&l->state->runtime_errors, &key, sizeof key, (void *)(uintptr_t)image->runtime_error_count);
    return image->runtime_error_count - 1;
}

int lower_runtime_error_index(struct lowering *l, enum runtime_error_kind kind, struct span span, int map,
                              const char *helper)
{
    struct runtime_error runtime_error = {
        .kind = kind, .span = span, .probe = l->probe, .map = map, .helper = helper};
    return (int)runtime_error_index(l, &runtime_error);
}

void lower_runtime_error(struct lowering *l, enum runtime_error_kind kind, struct span span, int map,
                         const char *helper)
{
    size_t index = (size_t)lower_runtime_error_index(l, kind, span, map, helper);
    size_t offset = offsetof(struct image_control, runtime_errors) + 8 * index;
    ir_atomic_add(&l->b, lower_control(l), (int32_t)offset, 8, ir_constant(&l->b, 1));
}

void lower_leave(struct lowering *l)
{
    struct lower_state *s = l->state;
    if (!s->current->parent) {
        ir_jump(&l->b, s->leave[s->phase]);
        return;
    }
    if (s->return_slot < 0)
        s->return_slot = lower_area_slot(l, s->main);
    ir_store_constant(&l->b, lower_area(l, s->main), s->return_slot, 8, 1);
    s->current->may_return = true;
    ir_return(&l->b, ir_constant(&l->b, 1));
}

struct ir *lower_return(struct lowering *l, struct node *value)
{
    if (lower_return_from_subprogram(l, value))
        return NULL;
    if (value && l->context->keeps_result && type_is_scalar(value->type))
        ir_store(&l->b, lower_control(l), offsetof(struct image_control, result), 8, lower_scalar(l, value));
    else if (value)
        lower_discard(l, value);
    if (!ir_ended(&l->b))
        lower_leave(l);
    return NULL;
}

struct ir_block *lower_statement_end(struct lowering *l)
{
    struct lower_statement *statement = l->state->statement;
    if (!statement->end)
        statement->end = ir_label(&l->b);
    return statement->end;
}
