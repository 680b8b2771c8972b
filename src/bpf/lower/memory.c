/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: temporaries, copies, comparisons, and reading traced memory.
 *
 * Temporaries are freed at the end of their statement. On the frame they are a pool of objects of their own (so
 * that the passes can distinguish them). Scratch memory is used like a stack, and callbacks continue where the
 * function around them has arrived.
 *
 * The invariant: bytes that a helper reads were written before, on every path. */
#include "bpf/lower/state.h"
#include "bpf/ir/edit.h"

#include <assert.h>
#include <string.h>

static uint32_t round8(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

/* ---- temporaries ---- */

/* Returns how many bytes of the frame temporaries may have in a function at each depth: a chain of functions has
 * 512 bytes in all, and needs some for spilled values. */
static uint32_t frame_budget(const struct lower_function *function)
{
    static const uint32_t budgets[] = {192, 96, 48};
    return function->depth < sizeof budgets / sizeof budgets[0] ? budgets[function->depth] : 0;
}

static struct ir *take_frame(struct lowering *l, uint32_t bytes, uint32_t budget)
{
    struct lower_function *function = l->state->current;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < function->object_count; i++) {
        const struct frame_object *object = &function->objects[i];
        if (!object->busy && object->bytes >= bytes &&
            (best == SIZE_MAX || object->bytes < function->objects[best].bytes))
            best = i;
    }
    if (best == SIZE_MAX) {
        /* Getting scratch memory needs temporaries, too: keys of 8 bytes are always on the frame. */
        if (bytes > 8 && function->frame_bytes + bytes > budget)
            return NULL;
        function->frame_bytes += bytes;
        *arena_push(l->state->temporary, function->objects, function->object_count, function->object_room) =
            (struct frame_object){.address = ir_frame(&l->b, bytes), .bytes = bytes};
        best = function->object_count - 1;
    }
    function->objects[best].busy = true;
    *arena_push(l->state->temporary, function->taken, function->taken_count, function->taken_room) = best;
    return function->objects[best].address;
}

struct memory lower_scratch(struct lowering *l, uint32_t bytes, bool permanent)
{
    struct lower_state *s = l->state;
    bytes = round8(bytes);
    struct memory memory = {.base = lower_shared_value(l, SHARED_SCRATCH), .offset = (int32_t)s->scratch_top};
    if (bytes > SCRATCH_MAX || s->scratch_top + bytes > SCRATCH_MAX) {
        if (!s->scratch_overflowed) {
            diagnose_error(l->diagnostics, l->b.span,
                           "the values of this statement need more than %d bytes of memory at once",
                           SCRATCH_MAX);
            diagnose_hint(
                l->diagnostics,
                "give strings a smaller limit: str(p, 64), or set a smaller max_strlen; read members "
                "of large structs instead of copying them");
        }
        s->scratch_overflowed = true;
        return memory;
    }
    s->scratch_top += bytes;
    if (s->scratch_top > s->scratch_peak)
        s->scratch_peak = s->scratch_top;
    if (permanent)
        s->scratch_permanent = s->scratch_top;
    return memory;
}

struct memory lower_temporary(struct lowering *l, uint32_t bytes, bool zeroed)
{
    bytes = bytes ? round8(bytes) : 8;
    uint32_t most = l->options->frame_most && l->options->frame_most < FRAME_TEMPORARY_MAX
                        ? l->options->frame_most
                        : FRAME_TEMPORARY_MAX;
    /* A word goes to scratch memory, too, but for that with which scratch memory is asked for. */
    if (l->state->avoid_stack)
        most = l->state->current->shared[SHARED_SCRATCH] ? 0 : 8;
    else if (most < 8)
        most = 8;
    struct ir *frame = bytes <= most ? take_frame(l, bytes, frame_budget(l->state->current)) : NULL;
    struct memory memory = frame ? (struct memory){.base = frame} : lower_scratch(l, bytes, false);
    if (zeroed)
        lower_zero(l, memory, bytes);
    return memory;
}

/* Takes memory on the frame for a record, which may be larger if no other function needs the rest of the stack.
 * False: it does not fit. */
bool lower_frame_record(struct lowering *l, uint32_t bytes, struct memory *record)
{
    struct lower_function *function = l->state->current;
    if (function->parent || l->state->has_callbacks || l->state->avoid_stack || bytes > FRAME_RECORD_MAX)
        return false;
    *record = (struct memory){.base = take_frame(l, bytes, frame_budget(function) + FRAME_RECORD_MAX)};
    return record->base;
}

struct temporary_mark lower_mark(struct lowering *l)
{
    return (struct temporary_mark){.function = l->state->current,
                                   .taken = l->state->current->taken_count,
                                   .scratch = l->state->scratch_top};
}

void lower_release(struct lowering *l, struct temporary_mark mark)
{
    struct lower_state *s = l->state;
    assert(mark.function == s->current);
    while (s->current->taken_count > mark.taken)
        s->current->objects[s->current->taken[--s->current->taken_count]].busy = false;
    s->scratch_top = mark.scratch > s->scratch_permanent ? mark.scratch : s->scratch_permanent;
}

struct memory lower_zeros(struct lowering *l, uint32_t bytes)
{
    return bytes <= IMAGE_ZEROS ? (struct memory){.base = lower_control(l)} : lower_temporary(l, bytes, true);
}

/* ---- bytes ---- */

struct ir *lower_address(struct lowering *l, struct memory memory)
{
    return ir_offset(&l->b, memory.base, memory.offset);
}

void lower_copy(struct lowering *l, struct memory to, struct memory from, uint32_t bytes)
{
    bytes = round8(bytes);
    if (to.base == from.base && to.offset == from.offset)
        return;
    if (bytes <= COPY_INLINE_MAX || !l->options->features->read_kernel)
        ir_copy(&l->b, to.base, to.offset, from.base, from.offset, bytes);
    else
        ir_call(&l->b, BPF_FUNC_probe_read_kernel, 3, lower_address(l, to), ir_constant(&l->b, bytes),
                lower_address(l, from));
}

void lower_zero(struct lowering *l, struct memory at, uint32_t bytes)
{
    bytes = round8(bytes);
    if (bytes <= COPY_INLINE_MAX)
        ir_zero(&l->b, at.base, at.offset, bytes);
    else if (l->options->features->read_kernel)
        /* No helper fills memory; but one that cannot read, as at address 0, fills with zeros what it was given. */
        ir_call(&l->b, BPF_FUNC_probe_read_kernel, 3, lower_address(l, at), ir_constant(&l->b, bytes),
                ir_constant(&l->b, 0));
    else /* no program has memory at this address */
        ir_call(&l->b, BPF_FUNC_probe_read_user, 3, lower_address(l, at), ir_constant(&l->b, bytes),
                ir_constant(&l->b, -1));
}

struct ir *lower_load_scalar(struct lowering *l, struct memory at, const struct type *type)
{
    (void)type; /* values in storage are extended to 8 bytes */
    return ir_load(&l->b, at.base, at.offset, 8, false);
}

uint32_t lower_internal_map(struct lowering *l, const struct image_map *wanted)
{
    struct image *image = l->image;
    size_t map = 0;
    while (map < image->map_count && image->maps[map].name != wanted->name)
        map++;
    if (map == image->map_count)
        *arena_push(l->arena, image->maps, image->map_count, image->map_room) = *wanted;
    return (uint32_t)map;
}

struct ir *lower_constants(struct lowering *l, const char *name, const void *bytes, uint32_t size)
{
    uint32_t map = lower_internal_map(l, &(struct image_map){.name = name,
                                                             .type = BPF_MAP_TYPE_ARRAY,
                                                             .key_size = 4,
                                                             .value_size = size,
                                                             .max_entries = 1,
                                                             .flags = BPF_F_RDONLY_PROG,
                                                             .initial = bytes});
    return ir_map_value(&l->b, map, 0);
}

struct ir *lower_at_most(struct lowering *l, struct ir *value, uint32_t most)
{
    struct ir_builder *b = &l->b;
    uint32_t bounded = ir_variable(b);
    ir_write(b, bounded, ir_constant(b, most));
    struct ir_if smaller = ir_if(b, ir_binary_constant(b, IR_ULE, value, most));
    ir_write(b, bounded, value);
    ir_end_if(b, &smaller);
    return ir_read(b, bounded);
}

void lower_table_row(struct lowering *l, const char *name, const void *bytes, uint32_t rows, uint32_t width,
                     uint32_t size, struct ir *number, struct memory to)
{
    struct ir_builder *b = &l->b;
    struct ir *row = lower_at_most(l, number, rows);
    struct ir *table = lower_constants(l, name, bytes, (rows + 1) * width);
    ir_copy(b, to.base, to.offset, ir_binary(b, IR_ADD, table, ir_binary_constant(b, IR_MUL, row, width)), 0,
            size);
}

/* Returns a pointer as a number, by way of memory, where the verifier forgets what it knew. */
struct ir *lower_pointer_number(struct lowering *l, struct ir *pointer)
{
    struct memory memory = lower_scratch(l, 8, false);
    ir_store(&l->b, memory.base, memory.offset, 8, pointer);
    struct ir *number = ir_load(&l->b, memory.base, memory.offset, 8, false);
    number->is_volatile = true;
    return number;
}

/* ---- comparisons ---- */

static void jump_unless_equal(struct lowering *l, struct ir *x, struct ir *y, struct ir_block *no)
{
    ir_jump_unless(&l->b, ir_binary(&l->b, IR_EQ, x, y), no);
}

static int64_t literal_word(const struct node *literal, uint32_t offset)
{
    uint64_t word = 0;
    if (offset < literal->string.length) {
        size_t left = literal->string.length - offset;
        memcpy(&word, literal->string.text + offset, left < 8 ? left : 8);
    }
    return (int64_t)word;
}

/* Compares word by word in a real loop, which ends early where a text ends. */
static void compare_long(struct lowering *l, struct memory x, struct memory y, uint32_t bytes, bool is_text,
                         struct ir_block *no)
{
    struct ir_builder *b = &l->b;
    uint32_t position = ir_variable(b);
    struct ir_block *yes = ir_label(b);
    ir_write(b, position, ir_constant(b, 0));
    struct ir_block *loop = ir_loop(b);
    struct ir *at = ir_read(b, position);
    ir_jump_unless(b, ir_binary_constant(b, IR_ULT, at, bytes), yes);
    struct ir *x_word = ir_load(b, ir_binary(b, IR_ADD, x.base, at), x.offset, 8, false);
    jump_unless_equal(l, x_word, ir_load(b, ir_binary(b, IR_ADD, y.base, at), y.offset, 8, false), no);
    ir_write(b, position, ir_binary_constant(b, IR_ADD, at, 8));
    if (is_text)
        ir_branch(b, ir_binary_constant(b, IR_LSHR, x_word, 56), loop, yes);
    else
        ir_jump(b, loop);
    ir_loop_end(b, loop);
    ir_place(b, yes);
}

void lower_compare(struct lowering *l, struct memory x, const struct type *x_type, struct memory y,
                   const struct type *y_type, const struct node *x_literal, const struct node *y_literal,
                   struct ir_block *no)
{
    uint32_t x_bytes = type_storage(x_type), y_bytes = type_storage(y_type);
    uint32_t bytes = x_bytes < y_bytes ? x_bytes : y_bytes;
    bool is_text = x_type->kind == TYPE_STRING;
    const struct node *literal = x_literal ? x_literal : y_literal;
    if (literal) {
        /* Compares the literal's words up to the NUL; what follows that in storage is 0 on both sides. */
        struct memory other = x_literal ? y : x;
        uint32_t other_bytes = x_literal ? y_bytes : x_bytes;
        uint32_t end = round8((uint32_t)literal->string.length + 1);
        if (literal->string.length > other_bytes) {
            ir_jump(&l->b, no); /* the other one cannot be that long */
            return;
        }
        if (end > other_bytes)
            end = other_bytes;
        for (uint32_t i = 0; i < end; i += 8)
            jump_unless_equal(l, ir_load(&l->b, other.base, other.offset + (int32_t)i, 8, false),
                              ir_constant(&l->b, literal_word(literal, i)), no);
        return;
    }
    if (bytes > 8 * UNROLLED_WORDS)
        compare_long(l, x, y, bytes, is_text, no);
    else
        for (uint32_t i = 0; i < bytes; i += 8)
            jump_unless_equal(l, ir_load(&l->b, x.base, x.offset + (int32_t)i, 8, false),
                              ir_load(&l->b, y.base, y.offset + (int32_t)i, 8, false), no);
    if (x_bytes == y_bytes)
        return;
    /* If the shorter one is full, the longer one must end where it does. */
    struct memory longer = x_bytes > y_bytes ? x : y;
    jump_unless_equal(l, ir_load(&l->b, longer.base, longer.offset + (int32_t)bytes, 8, false),
                      ir_constant(&l->b, 0), no);
}

/* ---- reading what is traced ---- */

enum address_space lower_space(const struct lowering *l, const struct type *pointer)
{
    enum address_space space = pointer->kind == TYPE_POINTER ? pointer->space : SPACE_NONE;
    return space == SPACE_NONE ? l->context->space : space;
}

static enum address_space resolve(const struct lowering *l, enum address_space space)
{
    return space == SPACE_NONE ? lower_space(l, &type_none) : space;
}

/* Returns the helper that reads an address space. If only the address itself shows whose memory it is in, the
 * kernel decides. */
static enum bpf_func_id read_helper(enum address_space space)
{
    static const enum bpf_func_id helpers[] = {[SPACE_NONE] = BPF_FUNC_probe_read,
                                               [SPACE_KERNEL] = BPF_FUNC_probe_read_kernel,
                                               [SPACE_USER] = BPF_FUNC_probe_read_user,
                                               [SPACE_BPF] = BPF_FUNC_probe_read_kernel};
    return helpers[space];
}

static enum bpf_func_id read_text_helper(enum address_space space)
{
    static const enum bpf_func_id helpers[] = {[SPACE_NONE] = BPF_FUNC_probe_read_str,
                                               [SPACE_KERNEL] = BPF_FUNC_probe_read_kernel_str,
                                               [SPACE_USER] = BPF_FUNC_probe_read_user_str,
                                               [SPACE_BPF] = BPF_FUNC_probe_read_kernel_str};
    return helpers[space];
}

static const char *helper_text(enum bpf_func_id helper)
{
    return ir_helper_name(helper);
}

/* Returns the helper's name for runtime errors, whichever one really reads. */
static const char *text_helper_name(enum address_space space)
{
    return helper_text(read_text_helper(space));
}

static struct ir *failed(struct lowering *l, struct ir *result)
{
    return ir_binary_constant(&l->b, IR_SLT, result, 0);
}

static void read_bytes(struct lowering *l, struct memory to, struct ir *size, struct ir *address,
                       enum address_space space, struct span span)
{
    struct ir_builder *b = &l->b;
    bool is_user = resolve(l, space) == SPACE_USER;
    enum bpf_func_id helper = read_helper(resolve(l, space));
    struct ir *at = lower_address(l, to);
    struct ir *result = ir_call(b, helper, 3, at, size, address);
    struct ir_if is_fault = ir_if_unlikely(b, failed(l, result));
    if (l->is_sleepable && is_user) {
        result = ir_call(b, BPF_FUNC_copy_from_user, 3, at, size, address);
        struct ir_if is_gone = ir_if_unlikely(b, failed(l, result));
        lower_runtime_error(l, RUNTIME_ERROR_FAULT, span, -1, helper_text(helper));
        ir_end_if(b, &is_gone);
    } else
        lower_runtime_error(l, RUNTIME_ERROR_FAULT, span, -1, helper_text(helper));
    ir_end_if(b, &is_fault);
}

/* Returns the offset of an address in the record of a tracepoint, which can always be read; -1: it is elsewhere. */
static int32_t in_record(const struct lowering *l, const struct ir *address)
{
    address = ir_resolve(address);
    if (l->context->program_type != BPF_PROG_TYPE_TRACEPOINT || address->op != IR_ADD ||
        address->a->op != IR_CONTEXT || address->b->op != IR_CONSTANT)
        return -1;
    return (int32_t)address->b->immediate;
}

/* Reads from the record of a tracepoint directly, each part with its alignment. False: the address is elsewhere. */
static bool read_record(struct lowering *l, struct memory to, uint32_t size, struct ir *address)
{
    enum { MOST = 32 };
    int32_t from = in_record(l, address);
    if (from < 0 || size > MOST)
        return false;
    for (uint32_t i = 0, part; i < size; i += part) {
        for (part = 8; ((uint32_t)from + i) % part || i % part || i + part > size; part /= 2) {
        }
        struct ir *value = ir_load(&l->b, ir_resolve(address)->a, from + (int32_t)i, part, false);
        ir_store(&l->b, to.base, to.offset + (int32_t)i, part, value);
    }
    return true;
}

void lower_read(struct lowering *l, struct memory to, uint32_t size, struct ir *address,
                enum address_space space, struct span span)
{
    if (!size) /* an empty struct, or an array without elements */
        return;
    if (size % 8)
        ir_store_constant(&l->b, to.base, to.offset + (int32_t)(size & ~7u), 8, 0);
    if (!read_record(l, to, size, address))
        read_bytes(l, to, ir_constant(&l->b, size), address, space, span);
}

void lower_read_bounded(struct lowering *l, struct memory to, struct ir *size, struct ir *address,
                        enum address_space space, struct span span)
{
    read_bytes(l, to, size, address, space, span);
}

struct ir *lower_read_scalar(struct lowering *l, struct ir *address, const struct type *type,
                             enum address_space space, struct span span)
{
    unsigned size = type->size == 1 || type->size == 2 || type->size == 4 ? type->size : 8;
    struct memory word = lower_temporary(l, 8, false);
    read_bytes(l, word, ir_constant(&l->b, size), address, space, span);
    struct ir *value = ir_load(&l->b, word.base, word.offset, size, type->is_signed);
    return type->kind == TYPE_BOOL ? ir_binary_constant(&l->b, IR_NE, value, 0) : value;
}

/* ---- strings ---- */

static void store_fault_text(struct lowering *l, struct memory to, uint32_t capacity)
{
    char text[8] = "<fault>";
    uint64_t word;
    if (capacity < sizeof text)
        memset(text + capacity, 0, sizeof text - capacity);
    memcpy(&word, text, 8);
    ir_store_constant(&l->b, to.base, to.offset, 8, (int64_t)word);
}

struct string_read {
    struct memory to;
    struct ir *size, *address;
    enum address_space space;
    int64_t helper;
    bool is_padded; /* the helper pads the text */
    bool brings_in; /* pages are brought in before the helper is called again */
    uint32_t capacity;
    bool is_bounded; /* TEXT_BOUNDED */
    struct ir *got;  /* the result of the helper */
};

static struct ir *ask(struct lowering *l, const struct string_read *read)
{
    struct ir_builder *b = &l->b;
    struct ir *to = lower_address(l, read->to);
    if (read->helper != KFUNC_copy_from_user_str)
        return ir_call(b, read->helper, 3, to, read->size, read->address);
    return ir_extend(
        b, ir_call(b, read->helper, 4, to, read->size, read->address, ir_constant(b, read->is_padded)), 4,
        true);
}

/* Reads the text. Jumps to `good` if that was possible, and falls through if not; false: it always is. If the
 * program can sleep and the helper cannot, pages are brought in by reading one byte in a way that may sleep: first
 * the text's first page, then the one behind it, in case the text crosses into it; and the text is read again. */
static bool attempt(struct lowering *l, struct string_read *read, struct ir_block *good)
{
    struct ir_builder *b = &l->b;
    if (in_record(l, read->address) >= 0) {
        read->got = ask(l, read);
        ir_jump(b, good);
        return false;
    }
    enum { PAGE = 4096 }; /* the smallest page size */
    uint32_t step = ir_variable(b);
    struct ir_block *bad = ir_label_unlikely(b);
    ir_write(b, step, ir_constant(b, 0));
    struct ir_block *loop = ir_loop(b);
    read->got = ask(l, read);
    ir_branch(b, failed(l, read->got), bad, good);
    ir_place(b, bad);
    if (read->brings_in) {
        struct memory byte = lower_temporary(l, 8, false);
        struct ir_block *load = ir_label_unlikely(b), *cannot = ir_label_unlikely(b);
        struct ir *now = ir_read(b, step);
        ir_branch(b, ir_binary_constant(b, IR_EQ, now, 2 * PAGE), cannot, load);
        ir_place(b, load);
        ir_call(b, BPF_FUNC_copy_from_user, 3, lower_address(l, byte), ir_constant(b, 1),
                ir_binary(b, IR_ADD, read->address, now));
        ir_write(b, step, ir_binary_constant(b, IR_ADD, now, PAGE));
        ir_jump(b, loop);
        ir_place(b, cannot);
    }
    ir_loop_end(b, loop);
    return true;
}

/* Marks a text that was cut. All of the room was used, so that it either fits exactly or goes on. The helper put a
 * NUL over the last byte; the byte that belongs there decides. */
static void check_truncated(struct lowering *l, struct string_read *read, uint32_t bytes, struct span span)
{
    struct ir_builder *b = &l->b;
    int32_t last = (int32_t)read->capacity - 1, here = in_record(l, read->address);
    struct ir *missing;
    if (here >= 0)
        missing = ir_load(b, ir_resolve(read->address)->a, here + last, 1, false);
    else {
        struct memory byte = lower_temporary(l, 8, false);
        ir_store_constant(b, byte.base, byte.offset, 8, 0);
        ir_call(b, read_helper(read->space), 3, lower_address(l, byte), ir_constant(b, 1),
                ir_binary_constant(b, IR_ADD, read->address, last));
        missing = ir_load(b, byte.base, byte.offset, 1, false);
    }
    struct ir_if cut = ir_if(b, missing);
    ir_store(b, read->to.base, read->to.offset + (int32_t)read->capacity - 1, 1, missing);
    if (read->is_bounded)
        ir_store_constant(b, read->to.base, read->to.offset + (int32_t)read->capacity, 1, 0);
    else
        lower_runtime_error(l, RUNTIME_ERROR_TRUNCATED, span, -1, text_helper_name(read->space));
    ir_write(b, bytes, ir_constant(b, (int64_t)read->capacity + 1));
    ir_end_if(b, &cut);
}

/* Fills what the helper will not write, where the text is to end in NULs or the verifier wants it. */
static void prepare_string(struct lowering *l, const struct string_read *read, bool is_padded, bool has_limit)
{
    const struct memory to = read->to;
    const uint32_t room = read->capacity + (read->is_bounded ? 1 : 0);
    /* The verifier demands that the frame was written before a helper writes there with a variable length. */
    if ((is_padded && !read->is_padded) || (has_limit && to.base->op == IR_FRAME))
        lower_zero(l, to, room);
    /* the word that the helper does not fill wholly */
    else if (is_padded && (room > read->capacity || read->capacity % 8))
        ir_store_constant(&l->b, to.base, to.offset + (int32_t)(read->capacity & ~7u), 8, 0);
}

void lower_read_string(struct lowering *l, struct destination *destination, uint32_t capacity,
                       struct ir *limit, struct ir *address, enum address_space space, unsigned text,
                       struct span span)
{
    struct ir_builder *b = &l->b;
    const struct memory to = destination->memory;
    struct destination *sink = destination->kind == DESTINATION_RECORD ? destination : NULL;
    space = resolve(l, space);
    /* bpf_copy_from_user_str() has the kernel look for the object that it copies to. On Linux 6.18 this takes 30 ns, half of
     * what a count takes in all, if that is a frame of 64 bytes or more, which is then not on the kernel's stack. */
    bool sleeps = l->is_sleepable && space == SPACE_USER;
    bool copies = sleeps && l->options->features->copy_text && to.base->op != IR_FRAME;
    bool is_padded = text & TEXT_PADDED && !sink;
    /* In a record there is room for a NUL: that the helper writes it there instead of reading on shows that the
     * text ended. */
    uint32_t one_more = sink && text & TEXT_ENDLESS;
    /* Then the helper's result says everything, and the reader finds it in the record. */
    struct action_field *reader = sink && (one_more || limit) ? sink->reader : NULL;
    struct string_read read = {
        .to = to,
        .size = limit ? lower_at_most(l, limit, capacity) : ir_constant(b, capacity + one_more),
        .address = address,
        .space = space,
        .helper = copies ? KFUNC_copy_from_user_str : (int64_t)read_text_helper(space),
        .is_padded = copies && is_padded && !limit,
        .brings_in = sleeps && !copies,
        .capacity = capacity,
        .is_bounded = text & TEXT_BOUNDED,
    };
    prepare_string(l, &read, is_padded, limit);
    uint32_t bytes = ir_variable(b);
    struct ir_block *good = ir_label(b), *end = ir_label(b);
    if (attempt(l, &read, good)) {
        ir_write(b, bytes, reader ? read.got : ir_constant(b, (capacity < 7 ? capacity : 7) + 1));
        if (!reader) {
            lower_runtime_error(l, RUNTIME_ERROR_FAULT, span, -1, text_helper_name(space));
            store_fault_text(l, to, capacity);
        }
        ir_jump(b, end);
    }
    ir_place(b, good);
    ir_write(b, bytes, read.got);
    if (!limit && !reader) {
        struct ir_block *full =
            lower_unlikely(l, ir_binary_constant(b, IR_EQ, read.got, capacity + one_more));
        ir_jump(b, end);
        ir_place(b, full);
        if (one_more)
            lower_runtime_error(l, RUNTIME_ERROR_TRUNCATED, span, -1, text_helper_name(space));
        else
            check_truncated(l, &read, bytes, span);
    }
    ir_place(b, end);
    if (reader) {
        reader->fault = lower_runtime_error_index(l, RUNTIME_ERROR_FAULT, span, -1, text_helper_name(space));
        reader->truncated =
            limit ? -1
                  : lower_runtime_error_index(l, RUNTIME_ERROR_TRUNCATED, span, -1, text_helper_name(space));
    }
    if (sink) {
        sink->bytes = ir_read(b, bytes);
        sink->block = b->block;
    }
}
