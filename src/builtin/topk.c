/* SPDX-License-Identifier: BSD-3-Clause */
/* topk(key, k): the keys that came most often, in memory that does not grow, and how far each count may be off.
 *
 * A value is a table of slots, each with a key, a count and an error. A key belongs to one set of WAYS slots, by its hash.
 * A key that has a slot there is counted in it. Another one takes over the slot with the smallest count of the set, c: its
 * count begins with c + 1 and its error is c, as it may have come up to c times before without having had a slot. This is
 * the algorithm Space-Saving, applied to each set by itself. So for every slot
 *
 *     count - error <= how often the key came <= count,
 *
 * and a key without a slot came at most as often as the smallest count of its set. The slots of an empty table have the
 * count 0, which fits in. Tables of two CPUs merge set by set: for a key that only one of them has, the smallest count of
 * the other's set is added to count and error; of more than WAYS keys the largest stay.
 *
 *     word 0             how many keys were counted in all
 *     then for each slot count, error, the key's storage
 *
 * Where one program can interrupt another in the midst of this, one that takes over a slot may get one key too many. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "builtin/aggregation.h"
#include "print/json.h"
#include "print/value.h"

enum {
    WAYS = 8,
    WORDS_MAX = 4096,    /* words of a value: the kernel has 32 KiB for one per CPU */
    KEY_BYTES_MAX = 128, /* it is compared word by word with those of a set, without a loop */
    SLOTS_MIN = 64,
    SLOTS_FOR_EACH = 8, /* slots for each key that is wanted, if there is room; at least 2 */
    TOP_MAX = 1000,
    COUNT = 0,
    ERROR = 1,
    KEY = 2, /* words of a slot */
};

static uint32_t key_words(const struct type *type)
{
    return type_storage(type->target) / 8;
}

static uint32_t slot_words(const struct type *type)
{
    return KEY + key_words(type);
}

/* A power of two. */
static uint32_t slot_count(const struct type *type)
{
    uint32_t slots = SLOTS_MIN;
    while (slots < SLOTS_FOR_EACH * type->step)
        slots *= 2;
    while (slots > WAYS && 1 + slots * slot_words(type) > WORDS_MAX)
        slots /= 2;
    return slots;
}

static uint32_t topk_words(const struct type *type)
{
    return 1 + slot_count(type) * slot_words(type);
}

/* ---- in the program ---- */

/* The set of a key: the upper bits of a product that all words have gone into. */
static struct ir *find_set(struct lowering *l, const struct type *type, const struct memory *key)
{
    static const int64_t golden = (int64_t)0x9e3779b97f4a7c15; /* 2^64 divided by the golden ratio */
    struct ir_builder *b = &l->b;
    struct ir *hash = NULL;
    for (uint32_t i = 0; i < key_words(type); i++) {
        struct ir *word = ir_load(b, key->base, key->offset + 8 * (int32_t)i, 8, false);
        if (hash)
            word = ir_binary(b, IR_XOR, word,
                             ir_binary(b, IR_XOR, hash, ir_binary_constant(b, IR_LSHR, hash, 32)));
        hash = ir_binary(b, IR_MUL, word, ir_constant(b, golden));
    }
    return ir_binary_constant(b, IR_LSHR, hash, 64 - __builtin_ctz(slot_count(type) / WAYS));
}

static void compare_keys(struct lowering *l, const struct type *type, const struct memory *key,
                         struct ir *set, int32_t slot, struct ir_block *differs)
{
    struct ir_builder *b = &l->b;
    for (uint32_t i = 0; i < key_words(type); i++) {
        struct ir *theirs = ir_load(b, set, slot + 8 * (int32_t)(KEY + i), 8, false);
        struct ir *ours = ir_load(b, key->base, key->offset + 8 * (int32_t)i, 8, false);
        ir_jump_unless(b, ir_binary(b, IR_EQ, theirs, ours), differs);
    }
}

/* Counts the key in its slot and goes to `done`, or returns the offset of the slot with the smallest count, which is left
 * in the variable `least`. */
static struct ir *find_slot(struct lowering *l, const struct type *type, const struct memory *key,
                            struct ir *set, uint32_t least, struct ir_block *done)
{
    struct ir_builder *b = &l->b;
    const uint32_t where = ir_variable(b);
    for (int32_t way = 0; way < WAYS; way++) {
        const int32_t slot = way * 8 * (int32_t)slot_words(type);
        struct ir_block *differs = ir_label(b), *next = ir_label(b);
        compare_keys(l, type, key, set, slot, differs);
        lower_add(l, set, slot + 8 * COUNT, ir_constant(b, 1));
        ir_jump(b, done);
        ir_place(b, differs);
        struct ir *count = ir_load(b, set, slot + 8 * COUNT, 8, false);
        if (way)
            ir_jump_unless(b, ir_binary(b, IR_ULT, count, ir_read(b, least)), next);
        ir_write(b, least, count);
        ir_write(b, where, ir_constant(b, slot));
        ir_place(b, next);
    }
    return ir_read(b, where);
}

static void update_topk(struct lowering *l, struct node *map, struct node *node)
{
    struct ir_builder *b = &l->b;
    const struct type *type = map->map.symbol->value;
    const uint32_t bytes = type_storage(type->target);
    struct memory key = lower_temporary(l, bytes, false);
    lower_into_type(l, check_argument(node, 0), type->target, key);
    struct ir *value = aggregation_element(l, map);
    struct ir_block *done = ir_label(b);
    const uint32_t least = ir_variable(b);
    lower_add(l, value, 0, ir_constant(b, 1));
    struct ir *set =
        ir_binary_constant(b, IR_MUL, find_set(l, type, &key), WAYS * 8 * (int64_t)slot_words(type));
    set = ir_offset(b, ir_binary(b, IR_ADD, value, set), 8);
    struct ir *slot = ir_binary(b, IR_ADD, set, find_slot(l, type, &key, set, least, done));
    ir_store(b, slot, 8 * ERROR, 8, ir_read(b, least));
    ir_store(b, slot, 8 * COUNT, 8, ir_binary_constant(b, IR_ADD, ir_read(b, least), 1));
    for (int32_t at = 0; at < (int32_t)bytes; at += 8)
        ir_store(b, slot, 8 * KEY + at, 8, ir_load(b, key.base, key.offset + at, 8, false));
    ir_jump(b, done);
    ir_place(b, done);
}

/* ---- merging ---- */

static uint64_t least_of(const uint64_t *set, uint32_t words)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t way = 0; way < WAYS; way++)
        least = set[way * words + COUNT] < least ? set[way * words + COUNT] : least;
    return least;
}

static const uint64_t *find_key(const uint64_t *set, uint32_t words, const uint64_t *slot)
{
    for (uint32_t way = 0; way < WAYS; way++) {
        const uint64_t *other = &set[way * words];
        if (other[COUNT] && !memcmp(other + KEY, slot + KEY, (words - KEY) * sizeof *slot))
            return other;
    }
    return NULL;
}

/* Puts a slot into a set of which the slots from `used` on are free, or in the place of a smaller one. */
static void keep_larger(uint64_t *set, uint32_t words, uint32_t *used, const uint64_t *slot)
{
    uint32_t least = 0;
    if (*used < WAYS) {
        memcpy(&set[words * (*used)++], slot, words * sizeof *slot);
        return;
    }
    for (uint32_t way = 1; way < WAYS; way++)
        if (set[way * words + COUNT] < set[least * words + COUNT])
            least = way;
    if (set[least * words + COUNT] < slot[COUNT])
        memcpy(&set[least * words], slot, words * sizeof *slot);
}

/* Adds the keys of `set` to those of `merged`: each with what `other` has of it; those that it has, too, only if `shared`. */
static void merge_keys(uint64_t *merged, uint32_t words, uint32_t *used, const uint64_t *set,
                       const uint64_t *other, bool shared)
{
    const uint64_t least = least_of(other, words);
    uint64_t slot[KEY + KEY_BYTES_MAX / 8];
    for (uint32_t way = 0; way < WAYS; way++) {
        memcpy(slot, &set[way * words], words * sizeof *slot);
        const uint64_t *same = slot[COUNT] ? find_key(other, words, slot) : NULL;
        if (!slot[COUNT] || (same && !shared))
            continue;
        slot[COUNT] += same ? same[COUNT] : least;
        slot[ERROR] += same ? same[ERROR] : least;
        keep_larger(merged, words, used, slot);
    }
}

static void merge_set(uint64_t *into, const uint64_t *from, uint32_t words)
{
    uint64_t merged[WAYS * (KEY + KEY_BYTES_MAX / 8)] = {0};
    uint32_t used = 0;
    merge_keys(merged, words, &used, into, from, true);
    merge_keys(merged, words, &used, from, into, false);
    memcpy(into, merged, WAYS * words * sizeof *into);
}

static void topk_merge(const struct type *type, const void *per_cpu, unsigned cpus, void *out)
{
    const uint32_t words = slot_words(type), all = topk_words(type), slots = slot_count(type);
    uint64_t *sum = out;
    memcpy(sum, per_cpu, all * sizeof *sum);
    for (unsigned cpu = 1; cpu < cpus; cpu++) {
        const uint64_t *from = (const uint64_t *)per_cpu + (size_t)cpu * all;
        sum[0] += from[0];
        for (uint32_t slot = 0; slot < slots; slot += WAYS)
            merge_set(&sum[1 + slot * words], &from[1 + slot * words], words);
    }
}

/* ---- printing ---- */

struct top {
    const uint64_t **slots; /* those that are used, the largest first */
    size_t count, shown;
    uint64_t others; /* no key that is not shown came more often */
};

static int compare_slots(const void *a, const void *b)
{
    const uint64_t *x = *(const uint64_t *const *)a, *y = *(const uint64_t *const *)b;
    if (x[COUNT] != y[COUNT])
        return x[COUNT] < y[COUNT] ? 1 : -1;
    if (x[ERROR] != y[ERROR])
        return x[ERROR] < y[ERROR] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* False: there is no memory. The caller frees top->slots. */
static bool top_make(const struct type *type, const uint64_t *value, struct top *top)
{
    const uint32_t words = slot_words(type), slots = slot_count(type);
    *top = (struct top){.slots = calloc(slots, sizeof *top->slots)};
    if (!top->slots)
        return false;
    for (uint32_t i = 0; i < slots; i++) {
        const uint64_t *slot = &value[1 + i * words];
        const uint64_t least = i % WAYS ? 0 : least_of(slot, words);
        top->others = least > top->others ? least : top->others;
        if (slot[COUNT])
            top->slots[top->count++] = slot;
    }
    qsort(top->slots, top->count, sizeof *top->slots, compare_slots);
    top->shown = top->count < (size_t)type->step ? top->count : (size_t)type->step;
    if (top->shown < top->count && top->slots[top->shown][COUNT] > top->others)
        top->others = top->slots[top->shown][COUNT];
    return true;
}

static void print_text_of(struct printer *printer, const struct type *type, const uint64_t *value,
                          const struct top *top)
{
    struct text *out = printer->out;
    for (size_t i = 0; i < top->shown; i++) {
        const uint64_t *slot = top->slots[i];
        const uint64_t tenths = value[0] ? (uint64_t)((unsigned __int128)slot[COUNT] * 1000 / value[0]) : 0;
        text_printf(out, "%12" PRIu64 " %3" PRIu64 ".%" PRIu64 "%%  ", slot[COUNT], tenths / 10, tenths % 10);
        print_key(printer, type->target, slot + KEY);
        if (slot[ERROR])
            text_printf(out, " (at least %" PRIu64 ")", slot[COUNT] - slot[ERROR]);
        text_char(out, '\n');
    }
    if (top->others)
        text_printf(out, "%12" PRIu64 " at most of each other key\n", top->others);
    text_printf(out, "%12" PRIu64 " in all\n", value[0]);
}

static void print_json_of(struct printer *printer, const struct type *type, const uint64_t *value,
                          const struct top *top)
{
    struct text *out = printer->out;
    text_add(out, "{\"count\": ");
    json_unsigned(out, value[0]);
    text_add(out, ", \"others_max\": ");
    json_unsigned(out, top->others);
    text_add(out, ", \"keys\": [");
    for (size_t i = 0; i < top->shown; i++) {
        text_add(out, i ? ", {\"key\": " : "{\"key\": ");
        print_value(printer, type->target, top->slots[i] + KEY);
        text_add(out, ", \"count\": ");
        json_unsigned(out, top->slots[i][COUNT]);
        text_add(out, ", \"error\": ");
        json_unsigned(out, top->slots[i][ERROR]);
        text_char(out, '}');
    }
    text_add(out, "]}");
}

static void print_topk(struct printer *printer, const struct type *type, const uint64_t *value,
                       uint64_t divisor)
{
    struct top top;
    (void)divisor;
    if (!top_make(type, value, &top)) {
        printer->out->failed = true;
        return;
    }
    if (printer->json)
        print_json_of(printer, type, value, &top);
    else
        print_text_of(printer, type, value, &top);
    free(top.slots);
}

/* ---- the language ---- */

static const struct type *check_topk(struct checker *checker, struct node *node)
{
    const struct node *key = check_argument(node, 0), *number = check_argument(node, 1);
    if (type_is_aggregation(key->type) || !type_storage(key->type) ||
        type_storage(key->type) > KEY_BYTES_MAX) {
        check_error(checker, key->span, "topk(): a key has 1 to %d bytes, and this is '%s'", KEY_BYTES_MAX,
                    type_text(checker->arena, key->type));
        check_hint(checker, "str(text, %d) makes a text shorter", KEY_BYTES_MAX);
        return NULL;
    }
    struct type *type = arena_new(checker->arena, struct type);
    *type = *type_aggregation(checker->arena, node->call.builtin->aggregation, key->type);
    type->step = 1;
    if (number->kind != NODE_INTEGER)
        return type; /* the checker has not made it a constant yet */
    if (number->integer.value < 1 || number->integer.value > TOP_MAX) {
        check_error(checker, number->span, "topk(): the number of keys must be 1 to %d, found %lld", TOP_MAX,
                    (long long)number->integer.value);
        return NULL;
    }
    type->step = (int64_t)number->integer.value;
    const uint32_t slots = slot_count(type);
    if (slots < 2 * (uint32_t)type->step) {
        check_error(checker, number->span, "topk(): there is room for %u keys of this type, found %lld",
                    slots / 2, (long long)type->step);
        return NULL;
    }
    return type;
}

static const struct aggregation kind_topk = {
    .name = "topk_t",
    .shape = AGGREGATION_TEXT,
    .is_keyless = true,
    .compares_target = true,
    .clash = "Different topk() in a single map unsupported",
    .record = "topk",
    .words_of = topk_words,
    .merge_cpus = topk_merge,
    .print = print_topk,
};

const struct builtin builtins_topk[] = {
    {"topk",
     "topk(key, k)",
     BUILTIN_CALL | BUILTIN_AGGREGATION,
     2,
     2,
     {PARAMETER_ANY, PARAMETER_LITERAL_INTEGER},
     .check = check_topk,
     .update = update_topk,
     .aggregation = &kind_topk},
    {0},
};
