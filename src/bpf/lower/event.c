/* SPDX-License-Identifier: BSD-3-Clause */
/* Event records, which user space reads.
 *
 * A small record of constant size is reserved in the ring and filled there, but only after everything that can
 * fault, sleep or fail was evaluated: nothing is held reserved across that. A larger one has more values than can
 * wait in registers: it is made on the frame, which takes fewer instructions, and copied to the ring, which takes
 * some 40 ns more. So is a record of a program that runs once. One that is too large for the frame is reserved,
 * too. A record with long strings is built in scratch memory: first the fixed part, then the strings, each read
 * directly to its place behind the one before, and sent with its true length. */
#include "bpf/lower/state.h"

#include <stdlib.h>
#include <string.h>

enum {
    NO_WAKEUP = 1, /* BPF_RB_NO_WAKEUP */
    RECORD_HEADER = sizeof(struct image_record),
    NAMED_RINGS = 4,   /* with more CPUs than this the rings are looked up */
    RESERVED_MAX = 64, /* bytes; larger records are made on the frame */
};

static uint32_t round8(uint32_t bytes)
{
    return (bytes + 7) & ~7u;
}

/* ---- the action ---- */

static bool is_packed(const struct type *type)
{
    return type->kind == TYPE_STRING && type->size > PACKED_MIN;
}

static const struct type *type_of(const struct event_field *field)
{
    return field->node ? field->node->type : field->type;
}

/* Returns the bytes of a field that is the same in all records, and so is not in them; NULL: it is not constant. */
static const uint8_t *constant_of(struct lowering *l, const struct node *node)
{
    if (!node || (node->kind != NODE_STRING && node->kind != NODE_INTEGER))
        return NULL;
    uint8_t *bytes = arena_array(l->arena, type_storage(node->type) + 8, 1);
    if (node->kind == NODE_INTEGER)
        memcpy(bytes, &node->integer.value, sizeof node->integer.value);
    else
        memcpy(bytes, node->string.text,
               node->string.length < node->type->size ? node->string.length : node->type->size);
    return bytes;
}

static struct action describe(struct lowering *l, struct node *call, const struct builtin *builtin,
                              const struct event_field *fields, uint32_t count)
{
    struct action action = {
        .builtin = builtin,
        .call = call,
        .fields = arena_array(l->arena, count, sizeof *action.fields),
        .field_count = count,
        .size = RECORD_HEADER,
        .probe = l->probe,
    };
    for (uint32_t i = 0; i < count; i++) {
        const struct type *type = type_of(&fields[i]);
        const uint8_t *constant = constant_of(l, fields[i].node);
        action.fields[i] = (struct action_field){.type = type,
                                                 .offset = action.size,
                                                 .is_packed = !constant && is_packed(type),
                                                 .fault = -1,
                                                 .truncated = -1,
                                                 .constant = constant};
        if (constant)
            continue;
        action.size += is_packed(type) ? (uint32_t)sizeof(struct image_string) : type_storage(type);
    }
    return action;
}

/* Returns the number of an action. Unrolled code sends one action from several places. */
static uint32_t register_action(struct lowering *l, struct action action)
{
    struct action_table *table = l->actions;
    for (size_t i = table->count; i && table->items[i - 1].call == action.call; i--) {
        const struct action *known = &table->items[i - 1];
        if (known->builtin == action.builtin && known->field_count == action.field_count &&
            known->size == action.size && known->probe == action.probe)
            return (uint32_t)i - 1;
    }
    *arena_push(l->arena, table->items, table->count, table->room) = action;
    return (uint32_t)table->count - 1;
}

/* ---- rings ---- */

static void lost(struct lowering *l)
{
    lower_count_lost_event(l, RUNTIME_ERROR_LOST);
    ir_jump(&l->b, lower_statement_end(l));
}

static bool uses_shared_ring(const struct lowering *l)
{
    const struct features *features = l->options->features;
    return l->is_sleepable && !features->ring_array_sleepable && features->rings > NAMED_RINGS;
}

/* Returns the map of rings. name: that of a single ring; NULL: there is one for each CPU. */
static uint32_t ring_map(struct lowering *l, int *index, const char *name)
{
    uint32_t rings = l->options->features->rings;
    if (*index < 0) {
        struct image_map map = {.name = "events",
                                .type =
                                    rings > NAMED_RINGS ? BPF_MAP_TYPE_ARRAY_OF_MAPS : BPF_MAP_TYPE_RINGBUF,
                                .key_size = 4,
                                .value_size = l->options->ring_bytes,
                                .max_entries = rings,
                                .is_ring_per_cpu = true};
        if (name)
            map = (struct image_map){
                .name = name, .type = BPF_MAP_TYPE_RINGBUF, .max_entries = l->options->ring_bytes};
        *index = (int)l->image->map_count;
        *arena_push(l->arena, l->image->maps, l->image->map_count, l->image->map_room) = map;
    }
    return (uint32_t)*index;
}

/* The ring's number of this CPU. */
static struct ir *ring_of_cpu(struct lowering *l, struct ir *cpu)
{
    struct ir_builder *b = &l->b;
    const struct features *features = l->options->features;
    if (features->rings >= features->cpus)
        return cpu;
    uint32_t number = ir_variable(b);
    ir_write(b, number, cpu);
    struct ir_if later = ir_if_unlikely(b, ir_binary_constant(b, IR_UGE, cpu, features->rings));
    ir_write(b, number, ir_constant(b, 0));
    ir_end_if(b, &later);
    return ir_read(b, number);
}

/* Looks up the ring of this CPU. If there is none, the event is lost. */
static struct ir *look_up_ring(struct lowering *l, struct ir *cpu)
{
    struct ir_builder *b = &l->b;
    struct memory key = lower_temporary(l, 8, false);
    cpu = ring_of_cpu(l, cpu);
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        ir_store(b, key.base, key.offset, 8, cpu); /* a whole word is still known at the next event */
    else
        ir_store(b, key.base, key.offset, 4, cpu);
    struct ir *ring = ir_call(b, BPF_FUNC_map_lookup_elem, 2, ir_map(b, ring_map(l, &l->image->events, NULL)),
                              lower_address(l, key));
    struct ir_if none = ir_if_unlikely(b, ir_binary_constant(b, IR_EQ, ring, 0));
    lost(l);
    ir_end_if(b, &none);
    return ring;
}

/* Chooses the ring of this CPU by comparisons, when there are few CPUs: that is shorter than a look-up, and always
 * finds one. */
static struct ir *choose_ring(struct lowering *l, struct ir *cpu)
{
    struct ir_builder *b = &l->b;
    uint32_t map = ring_map(l, &l->image->events, NULL), ring = ir_variable(b);
    struct ir_block *end = ir_label(b);
    for (unsigned i = l->options->features->rings - 1; i; i--) {
        struct ir_if is_this_cpu = ir_if(b, ir_binary_constant(b, IR_EQ, cpu, i));
        ir_write(b, ring, ir_ring(b, map, i));
        ir_jump(b, end);
        ir_end_if(b, &is_this_cpu);
    }
    ir_write(b, ring, ir_ring(b, map, 0));
    ir_place(b, end);
    return ir_read(b, ring);
}

static struct ir *ring(struct lowering *l)
{
    struct value_cache *known = &l->state->rings;
    unsigned rings = l->options->features->rings;
    if (l->context->record_in_control)
        return ir_map(&l->b, ring_map(l, &l->image->events_own, "events_own"));
    if (uses_shared_ring(l))
        return ir_map(&l->b, ring_map(l, &l->image->events_shared, "events_shared"));
    if (rings <= 1 || l->context->is_alone)
        return ir_ring(&l->b, ring_map(l, &l->image->events, NULL), 0);
    struct ir *cpu = ir_call(&l->b, BPF_FUNC_get_smp_processor_id, 0); /* the passes keep only one call */
    if (rings > NAMED_RINGS)
        return look_up_ring(l, cpu);
    struct ir *ring = value_cache_find(l, known);
    return ring ? ring : value_cache_add(known, choose_ring(l, cpu));
}

/* Returns the time of a record. Several rings are merged by it; a single ring needs none, unless it is shown. */
static struct ir *record_time(struct lowering *l)
{
    bool is_one = l->options->features->rings <= 1 && !l->options->times_records;
    return is_one ? ir_constant(&l->b, 0) : lower_time(l);
}

/* Sends a record. If the ring is full, the event is lost. */
static void send(struct lowering *l, struct ir *ring, struct memory record, struct ir *length)
{
    struct ir_builder *b = &l->b;
    struct ir *result = ir_call(b, BPF_FUNC_ringbuf_output, 4, ring, lower_address(l, record), length,
                                ir_constant(b, NO_WAKEUP));
    /* This is in line, where the event's statement ends anyway: elsewhere it would need a jump back. */
    struct ir_if full = ir_if(b, ir_binary_constant(b, IR_SLT, result, 0));
    lost(l);
    ir_end_if(b, &full);
}

static void store_action(struct lowering *l, struct memory record, uint32_t number)
{
    ir_store_constant(&l->b, record.base, record.offset + (int32_t)offsetof(struct image_record, action), 8,
                      number);
}

/* Stores the time. Where several events end in the same way their code is shared, so that what differs is stored
 * first. */
static void store_time(struct lowering *l, struct memory record, struct ir *time)
{
    ir_store(&l->b, record.base, record.offset + (int32_t)offsetof(struct image_record, time), 8, time);
}

/* ---- records of constant size ---- */

/* Whether an expression can be written into reserved memory: it reads nothing that can fault, and ends. */
static bool is_harmless(const struct node *node)
{
    const struct builtin *builtin = lower_builtin(node);
    if (node->kind == NODE_STRING || node->kind == NODE_VARIABLE)
        return true;
    if (!builtin || builtin->flags & (BUILTIN_READS_MEMORY | BUILTIN_READS_KERNEL | BUILTIN_USES_ARGS))
        return false;
    if (node->kind == NODE_CALL && node->call.arguments.count)
        return false;
    return node->type->kind == TYPE_STRING || node->type->kind == TYPE_PROBE_NAME ||
           node->type->kind == TYPE_USERNAME;
}

/* Reads a string to its place in a record, with room behind it for a NUL. Returns its bytes with the NUL. */
static struct ir *read_packed(struct lowering *l, struct memory to, uint32_t capacity, struct ir *address,
                              enum address_space space, unsigned text, struct span span)
{
    struct destination record = {.kind = DESTINATION_RECORD, .memory = to};
    lower_read_string(l, &record, capacity, NULL, address, space, text, span);
    return record.bytes;
}

/* Makes a record on the frame, where each field is written when it has been evaluated and nothing is held
 * meanwhile, and sends it. */
static void send_from_frame(struct lowering *l, const struct action *action, uint32_t number,
                            const struct event_field *fields, struct memory record)
{
    struct ir_builder *b = &l->b;
    store_action(l, record, number);
    for (uint32_t i = 0; i < action->field_count; i++) {
        const struct action_field *field = &action->fields[i];
        struct memory to = {.base = record.base, .offset = record.offset + (int32_t)field->offset};
        struct node *node = fields[i].node;
        if (field->constant)
            continue;
        if (node && (type_is_scalar(field->type) || type_is_aggregation(field->type)))
            ir_store(b, to.base, to.offset, 8, lower_scalar(l, node));
        else if (node)
            lower_into_type(l, node, field->type, to);
        else if (fields[i].value)
            ir_store(b, to.base, to.offset, 8, fields[i].value);
        else
            lower_copy(l, to, fields[i].memory, type_storage(field->type));
    }
    store_time(l, record, record_time(l));
    send(l, ring(l), record, ir_constant(b, action->size));
}

static void send_reserved(struct lowering *l, const struct action *action, uint32_t number,
                          const struct event_field *fields)
{
    struct ir_builder *b = &l->b;
    uint32_t count = action->field_count;
    struct ir **values = arena_array(l->state->temporary, count, sizeof(struct ir *));
    struct memory *memories = arena_array(l->state->temporary, count, sizeof *memories);
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = fields[i].node;
        if (!node || action->fields[i].constant)
            continue;
        if (type_is_scalar(action->fields[i].type) || type_is_aggregation(action->fields[i].type))
            values[i] = lower_scalar(l, node);
        else if (!is_harmless(node))
            memories[i] = lower_memory(l, node);
    }
    struct ir *time = record_time(l);
    struct ir *here = ring(l);
    struct ir *record =
        ir_call(b, BPF_FUNC_ringbuf_reserve, 3, here, ir_constant(b, action->size), ir_constant(b, 0));
    struct ir_block *full = lower_unlikely(l, ir_binary_constant(b, IR_EQ, record, 0));
    struct memory header = {.base = record};
    store_time(l, header, time);
    store_action(l, header, number);
    for (uint32_t i = 0; i < count; i++) {
        const struct action_field *field = &action->fields[i];
        struct memory to = {.base = record, .offset = (int32_t)field->offset};
        if (field->constant)
            continue;
        if (values[i] || fields[i].value)
            ir_store(b, to.base, to.offset, 8, values[i] ? values[i] : fields[i].value);
        else if (memories[i].base || !fields[i].node)
            lower_copy(l, to, memories[i].base ? memories[i] : fields[i].memory, type_storage(field->type));
        else
            lower_into_type(l, fields[i].node, field->type, to);
    }
    ir_call(b, BPF_FUNC_ringbuf_submit, 2, record, ir_constant(b, NO_WAKEUP));
    struct ir_block *end = ir_label(b);
    ir_jump(b, end);
    ir_place(b, full);
    lost(l);
    ir_place(b, end);
}

static void send_constant(struct lowering *l, const struct action *action, uint32_t number,
                          const struct event_field *fields)
{
    struct memory record;
    bool is_large = action->size > RESERVED_MAX || l->context->is_alone;
    if (is_large && lower_frame_record(l, action->size, &record))
        send_from_frame(l, action, number, fields, record);
    else
        send_reserved(l, action, number, fields);
}

/* ---- records with packed strings ---- */

/* Writes the text of a string expression to `to`. Returns what struct image_string says about it. Builtins that
 * read text return it themselves. reader: a field whose faults may be left to the reader; or NULL. */
static struct ir *pack_string(struct lowering *l, struct node *node, struct memory to, uint32_t capacity,
                              struct action_field *reader)
{
    struct ir_builder *b = &l->b;
    const struct builtin *builtin = lower_builtin(node);
    if (node->kind == NODE_STRING) {
        uint32_t length = (uint32_t)(node->string.length < capacity ? node->string.length : capacity);
        lower_into(l, node, to);
        return ir_constant(b, length + 1);
    }
    if (node->kind == NODE_TERNARY) {
        uint32_t result = ir_variable(b);
        struct ir_block *yes = ir_label(b), *no = ir_label(b), *end = ir_label(b);
        lower_branch(l, node->ternary.condition, yes, no);
        ir_place(b, yes);
        ir_write(b, result, pack_string(l, node->ternary.yes, to, capacity, NULL));
        ir_jump(b, end);
        ir_place(b, no);
        ir_write(b, result, pack_string(l, node->ternary.no, to, capacity, NULL));
        ir_place(b, end);
        return ir_read(b, result);
    }
    if (builtin || lower_is_stored(node)) {
        struct destination record = {
            .kind = DESTINATION_RECORD, .memory = to, .reader = builtin ? reader : NULL};
        lower_to(l, node, node->type, &record);
        if (record.bytes && lower_dominates(l, record.block))
            return record.bytes;
        return read_packed(l, to, capacity, lower_address(l, to), SPACE_BPF, 0, node->span);
    }
    return read_packed(l, to, capacity, lower_address(l, lower_memory(l, node)), SPACE_BPF, 0, node->span);
}

/* Returns the room for a string in a record, which has a NUL behind it even if it fills its capacity. */
static uint32_t packed_room(uint32_t capacity)
{
    return round8(capacity + 1);
}

/* Returns the number of bytes that the program has stored about a string: 0 if it could not be read. It is loaded
 * from memory, so that the verifier forgets how each string ended and need not walk the rest of the program for
 * every combination. It is used at once and never kept, because old verifiers forget what was found out about a
 * value that is in memory, too. */
static struct ir *said_bytes(struct lowering *l, struct memory string, uint32_t capacity)
{
    struct ir_builder *b = &l->b;
    uint32_t result = ir_variable(b);
    struct ir *bytes =
        ir_load(b, string.base, string.offset + (int32_t)offsetof(struct image_string, bytes), 4, false);
    bytes->is_volatile = true;
    ir_write(b, result, bytes);
    struct ir_if none = ir_if(b, ir_binary_constant(b, IR_UGT, bytes, capacity + 1));
    ir_write(b, result, ir_constant(b, 0));
    ir_end_if(b, &none);
    return ir_read(b, result);
}

/* Returns how far the texts of a record reach, where there are several. It is kept in memory for the same reasons
 * as in said_bytes(). */
static struct ir *reached(struct lowering *l, struct memory cursor)
{
    struct ir *reached = ir_load(&l->b, cursor.base, cursor.offset, 8, false);
    reached->is_volatile = true;
    return reached;
}

/* Returns what reached() does, as a number that is at most `most`. */
static struct ir *reached_at_most(struct lowering *l, struct memory cursor, uint32_t most)
{
    struct ir_builder *b = &l->b;
    struct ir *end = reached(l, cursor);
    struct ir_if beyond = ir_if_unlikely(b, ir_binary_constant(b, IR_UGT, end, most));
    lost(l); /* this cannot happen */
    ir_end_if(b, &beyond);
    return end;
}

static void advance(struct lowering *l, struct memory cursor, struct ir *from, struct ir *bytes)
{
    struct ir_builder *b = &l->b;
    struct ir *rounded = ir_binary_constant(b, IR_AND, ir_binary_constant(b, IR_ADD, bytes, 7), -8);
    ir_store(b, cursor.base, cursor.offset, 8, ir_binary(b, IR_ADD, from, rounded));
}

/* Writes everything but the length. Returns the ring to which the record goes. */
static struct ir *finish_scratch(struct lowering *l, struct memory record, uint32_t number)
{
    store_time(l, record, record_time(l));
    store_action(l, record, number);
    return ring(l);
}

/* Sends a record from scratch memory, of at most `most` bytes, as far as the cursor says. */
static void send_scratch(struct lowering *l, struct memory record, uint32_t number, struct memory cursor,
                         uint32_t most)
{
    struct ir *here = finish_scratch(l, record, number);
    send(l, here, record, reached_at_most(l, cursor, most));
}

static void send_packed(struct lowering *l, struct node *call, const struct action *action, uint32_t number,
                        const struct event_field *fields)
{
    struct ir_builder *b = &l->b;
    uint32_t most = action->size, strings = 0;
    for (uint32_t i = 0; i < action->field_count; i++)
        if (action->fields[i].is_packed) {
            most += packed_room(action->fields[i].type->size);
            strings++;
        }
    struct memory record = lower_scratch(l, most, false);
    struct memory cursor = strings > 1 ? lower_scratch(l, 8, false) : record, string = record;
    for (uint32_t i = 0; i < action->field_count; i++) {
        const struct action_field *field = &action->fields[i];
        struct memory to = {.base = record.base, .offset = record.offset + (int32_t)field->offset};
        if (field->is_packed || field->constant)
            continue;
        if (fields[i].node)
            lower_into_type(l, fields[i].node, field->type, to);
        else if (fields[i].value)
            ir_store(b, to.base, to.offset, 8, fields[i].value);
        else
            lower_copy(l, to, fields[i].memory, type_storage(field->type));
    }
    uint32_t end = action->size, capacity = 0;
    for (uint32_t i = 0; i < action->field_count; i++) {
        struct action_field *field = &action->fields[i];
        if (!field->is_packed)
            continue;
        capacity = field->type->size;
        bool is_first = end == action->size;
        string.offset = record.offset + (int32_t)field->offset;
        struct memory to = {.base = record.base, .offset = record.offset + (int32_t)end};
        if (!is_first)
            to = (struct memory){.base = ir_binary(b, IR_ADD, record.base, reached_at_most(l, cursor, end)),
                                 .offset = record.offset};
        struct ir *bytes = fields[i].node ? pack_string(l, fields[i].node, to, capacity, field)
                                          : read_packed(l, to, capacity, lower_address(l, fields[i].memory),
                                                        SPACE_BPF, 0, call->span);
        ir_store(b, string.base, string.offset + (int32_t)offsetof(struct image_string, bytes), 4, bytes);
        if (strings > 1)
            advance(l, cursor, is_first ? ir_constant(b, end) : reached(l, cursor),
                    said_bytes(l, string, capacity));
        end += packed_room(capacity);
    }
    if (strings > 1)
        send_scratch(l, record, number, cursor, end);
    else {
        struct ir *here = finish_scratch(l, record, number);
        send(l, here, record, ir_binary_constant(b, IR_ADD, said_bytes(l, string, capacity), action->size));
    }
}

void lower_event(struct lowering *l, struct node *call, const struct builtin *builtin,
                 const struct event_field *fields, uint32_t count)
{
    struct action action = describe(l, call, builtin, fields, count);
    uint32_t number = register_action(l, action);
    bool has_packed = false;
    for (uint32_t i = 0; i < count; i++)
        has_packed |= action.fields[i].is_packed;
    if (has_packed)
        send_packed(l, call, &action, number, fields);
    else
        send_constant(l, &action, number, fields);
}

/* Sends an array of texts. They are read in a real loop, which the verifier can walk because it forgets how each
 * text ended. */
void lower_event_texts(struct lowering *l, struct node *call, struct ir *array, enum address_space space,
                       uint32_t most, uint32_t capacity)
{
    struct ir_builder *b = &l->b;
    const struct type *pointer = type_pointer(l->arena, &type_i8, space);
    uint32_t number = register_action(l, describe(l, call, call->call.builtin, NULL, 0));
    uint32_t room = packed_room(capacity), bytes = RECORD_HEADER + most * room, position = ir_variable(b);
    struct memory record = lower_scratch(l, bytes, false);
    struct memory cursor = lower_scratch(l, 8, false);
    struct ir_block *end = ir_label(b);
    ir_store_constant(b, cursor.base, cursor.offset, 8, RECORD_HEADER);
    ir_write(b, position, ir_constant(b, 0));
    struct ir_block *loop = ir_loop(b);
    struct ir *at = ir_read(b, position);
    struct ir *address = lower_read_scalar(l, ir_binary(b, IR_ADD, array, at), pointer, space, call->span);
    ir_jump_unless(b, address, end);
    struct memory to = {.base = ir_binary(b, IR_ADD, record.base, reached_at_most(l, cursor, bytes - room)),
                        .offset = record.offset};
    struct ir *text = read_packed(l, to, capacity, address, space, TEXT_ENDLESS, call->span);
    advance(l, cursor, reached(l, cursor), text);
    struct ir *after = ir_binary_constant(b, IR_ADD, at, 8);
    ir_write(b, position, after);
    ir_branch(b, ir_binary_constant(b, IR_ULT, after, 8 * most), loop, end);
    ir_loop_end(b, loop);
    ir_place(b, end);
    send_scratch(l, record, number, cursor, bytes);
}
