/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes each value once: common pure operations and calls, loads of what is known to be in memory, look-ups of a
 * key that was just looked up, conditions that a branch above has decided.
 *
 * Values are known in the part of the dominator tree below them: a hash table with an undo list. Memory is a list
 * of facts that blocks extend and never change, newest first, searched back a bounded number of steps. A fact ends
 * the search for everything that it might overwrite. Where paths meet, what was known where they parted is still
 * true, except for what the blocks between have overwritten. */
#include "bpf/opt/passes.h"

#include <string.h>

enum { SEARCH_LIMIT = 64, KEY_WORDS = 16, BETWEEN_LIMIT = 16, CARRIED_LIMIT = 48 };

enum fact_kind {
    FACT_CONTENT,       /* `value` is the content of `size` bytes at root + offset */
    FACT_LOADED_SIGNED, /* as FACT_CONTENT, sign-extended */
    FACT_WRITTEN,       /* unknown bytes were written there; size 0: anywhere in the object */
    /* unknown bytes were written, to any memory except frames whose address is known nowhere else */
    FACT_OTHER_WRITTEN,
    FACT_LOOKUP,      /* `value` is the look-up of `key` in `map` */
    FACT_MAP_CHANGED, /* map -1: any map */
};

struct root { /* where an address points */
    struct ir *base;
    int64_t offset;
};

struct fact {
    struct fact *older;
    enum fact_kind kind;
    struct root where;
    unsigned size;
    bool stored;   /* content: it was stored, and not loaded */
    uint16_t part; /* content: the part of the program in which that was */
    int64_t map;
    struct ir *value;
    struct ir **key; /* words of a look-up's key; NULL: they are not known */
    unsigned key_words;
};

struct entry {
    struct ir *ir;
    int known; /* whether it is not 0 in the blocks that are being walked; -1: not known */
    uint64_t hash;
    struct entry *next, *undo;
};

struct common {
    struct ir_function *function;
    struct arena *arena;
    struct flow flow;
    bool *escapes; /* by value number: the frame object's address is known elsewhere */
    uint32_t numbers;
    struct entry **buckets;
    size_t bucket_count;
    struct entry *undo;
    struct truth {
        struct entry *entry;
        int before;
        struct truth *older;
    } * truths;
    struct fact **at_begin, **at_end; /* by the position of the block */
    struct fact *facts;
    bool changed;
};

/* Values */

static uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_value(struct ir *ir)
{
    uint64_t hash = hash_mix(ir->op, (uint64_t)ir->immediate);
    hash = hash_mix(hash, (uint64_t)(uint32_t)ir->offset << 16 | (uint64_t)ir->size << 8 | ir->is_signed);
    hash = hash_mix(hash, (uintptr_t)ir->callee);
    unsigned count = ir_operand_count(ir);
    for (unsigned k = 0; k < count; k++)
        hash = hash_mix(hash, (*ir_operand(ir, k))->number + 1u);
    return hash;
}

static bool same_value(struct ir *x, struct ir *y)
{
    if (x->op != y->op || x->immediate != y->immediate || x->offset != y->offset || x->size != y->size ||
        x->is_signed != y->is_signed || x->callee != y->callee || ir_operand_count(x) != ir_operand_count(y))
        return false;
    if (x->op == IR_CALL && x->part != y->part)
        return false;
    unsigned count = ir_operand_count(x);
    for (unsigned k = 0; k < count; k++)
        if (ir_resolve(*ir_operand(x, k)) != ir_resolve(*ir_operand(y, k)))
            return false;
    return true;
}

static struct entry *entry_find(struct common *common, struct ir *ir, uint64_t hash)
{
    for (struct entry *entry = common->buckets[hash & (common->bucket_count - 1)]; entry; entry = entry->next)
        if (entry->hash == hash && (entry->ir == ir || same_value(entry->ir, ir)))
            return entry;
    return NULL;
}

static struct entry *entry_add(struct common *common, struct ir *ir, uint64_t hash)
{
    struct entry *entry = arena_new(common->arena, struct entry);
    struct entry **bucket = &common->buckets[hash & (common->bucket_count - 1)];
    *entry = (struct entry){.ir = ir, .known = -1, .hash = hash, .next = *bucket, .undo = common->undo};
    *bucket = common->undo = entry;
    return entry;
}

/* Values that are not pure have an entry only for what is known of them. */
static uint64_t identity_hash(const struct ir *ir)
{
    return hash_mix(~(uint64_t)0, ir->number);
}

static struct entry *truth_entry(struct common *common, struct ir *ir, bool add)
{
    bool pure = ir_is_pure(ir);
    uint64_t hash = pure ? hash_value(ir) : identity_hash(ir);
    for (struct entry *entry = common->buckets[hash & (common->bucket_count - 1)]; entry; entry = entry->next)
        if (entry->hash == hash &&
            (entry->ir == ir || (pure && ir_is_pure(entry->ir) && same_value(entry->ir, ir))))
            return entry;
    return add ? entry_add(common, ir, hash) : NULL;
}

static void learn(struct common *common, struct ir *ir, bool is_true)
{
    struct entry *entry = truth_entry(common, ir, true);
    struct truth *truth = arena_new(common->arena, struct truth);
    *truth = (struct truth){entry, entry->known, common->truths};
    common->truths = truth;
    entry->known = is_true;
}

/* Learns what the edge into a block says about the condition at its predecessor's end. */
static void learn_from_edge(struct common *common, const struct ir_block *from, const struct ir_block *to)
{
    if (from->last->op != IR_BRANCH)
        return;
    struct ir *condition = ir_resolve(from->last->a);
    bool is_true = from->last->to[0] == to;
    learn(common, condition, is_true);
    if (!ir_is_compare(condition->op))
        return;
    struct ir negated = *condition;
    negated.op = ir_compare_negated(condition->op);
    struct entry *entry = entry_find(common, &negated, hash_value(&negated));
    if (entry)
        learn(common, entry->ir, !is_true);
}

/* Memory */

static struct root root_of(struct ir *address, int64_t offset)
{
    while (address->op == IR_ADD && ir_resolve(address->b)->op == IR_CONSTANT) {
        offset += ir_resolve(address->b)->immediate;
        address = ir_resolve(address->a);
    }
    return (struct root){address, offset};
}

static bool is_private_frame(const struct common *common, const struct ir *base)
{
    return base->op == IR_FRAME && base->number < common->numbers && !common->escapes[base->number];
}

static bool is_zeros(const struct common *common, struct root where)
{
    const struct ir_program *program = common->function->program;
    int64_t offset = where.base->offset + where.offset;
    return where.base->op == IR_MAP_VALUE && where.base->immediate == program->zeros_map && offset >= 0 &&
           offset < program->zeros;
}

/* Whether a base is surely no memory of the stack. */
static bool is_no_stack(const struct ir *base)
{
    return base->op == IR_CONTEXT || base->op == IR_MAP_VALUE ||
           (base->op == IR_CALL &&
            (base->immediate == BPF_FUNC_map_lookup_elem ||
             base->immediate == BPF_FUNC_map_lookup_percpu_elem ||
             base->immediate == BPF_FUNC_ringbuf_reserve || base->immediate == BPF_FUNC_task_storage_get));
}

static bool may_overlap(const struct common *common, struct root x, unsigned x_size, struct root y,
                        unsigned y_size)
{
    if (x.base == y.base)
        return !x_size || !y_size || (x.offset < y.offset + y_size && y.offset < x.offset + x_size);
    if (x.base->op == IR_FRAME && y.base->op == IR_FRAME)
        return false;
    if (is_private_frame(common, x.base) || is_private_frame(common, y.base))
        return false;
    bool x_frame = x.base->op == IR_FRAME, y_frame = y.base->op == IR_FRAME;
    if ((x_frame && is_no_stack(y.base)) || (y_frame && is_no_stack(x.base)))
        return false;
    /* Nothing that a program does changes its context. */
    return x.base->op != IR_CONTEXT && y.base->op != IR_CONTEXT;
}

static struct fact *fact_add(struct common *common, enum fact_kind kind, struct root where, unsigned size)
{
    struct fact *fact = arena_new(common->arena, struct fact);
    fact->older = common->facts;
    fact->kind = kind;
    fact->where = where;
    fact->size = size;
    common->facts = fact;
    return fact;
}

static bool overwrites(const struct common *common, const struct fact *fact, struct root where, unsigned size)
{
    if (is_zeros(common, where))
        return false;
    switch (fact->kind) {
    case FACT_CONTENT:
    case FACT_LOADED_SIGNED:
    case FACT_WRITTEN: return may_overlap(common, fact->where, fact->size, where, size);
    case FACT_OTHER_WRITTEN: return where.base->op != IR_CONTEXT && !is_private_frame(common, where.base);
    default: return false;
    }
}

/* Returns the fact about the content of memory, or NULL. A load is a fact that overwrites nothing; that the search
 * ends at it nevertheless does no harm, because the fact that it repeats would be older. `wider`: a wider content
 * at the same address is also a result. */
static struct fact *content_find(const struct common *common, struct root where, unsigned size,
                                 bool is_signed, bool wider)
{
    unsigned steps = 0;
    for (struct fact *fact = common->facts; fact && steps++ < SEARCH_LIMIT; fact = fact->older) {
        bool fits = fact->size == size || (wider && fact->kind == FACT_CONTENT && fact->size > size);
        bool exact = (fact->kind == FACT_CONTENT || (fact->kind == FACT_LOADED_SIGNED && is_signed)) &&
                     fact->where.base == where.base && fact->where.offset == where.offset && fits;
        if (exact)
            return fact;
        if (overwrites(common, fact, where, size))
            return NULL;
    }
    return NULL;
}

static void visit_load(struct common *common, struct ir *load)
{
    struct root where = root_of(load->a, load->offset);
    if (load->is_volatile)
        return;
    /* A wider content helps only if its low bytes come first, and so are at the same address. */
    bool little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    struct fact *fact = content_find(common, where, load->size, load->is_signed, little_endian);
    bool is_parted = fact && fact->part != load->part && !is_private_frame(common, where.base);
    if (!fact || is_parted) {
        fact = fact_add(common, load->is_signed ? FACT_LOADED_SIGNED : FACT_CONTENT, where, load->size);
        fact->value = load;
        fact->part = load->part;
        return;
    }
    struct ir *value = ir_resolve(fact->value);
    bool extended =
        load->size == 8 || fact->kind == FACT_LOADED_SIGNED ||
        (!load->is_signed && value->op == IR_LOAD && value->size == load->size && !value->is_signed);
    if (!extended) {
        struct ir *extend = ir_new(common->function, IR_EXTEND, load->span);
        extend->comment = load->comment;
        extend->a = value;
        extend->size = load->size;
        extend->is_signed = load->is_signed;
        ir_insert_before(load, extend);
        value = extend;
    }
    ir_replace(load, value);
    common->changed = true;
}

/* Turns a store of the low bytes of a word that is 0 into a store of the whole word, whose content is then known. */
static void widen_store(struct common *common, struct ir *store, struct root where)
{
    if (store->size == 8 || where.offset % 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||
        !is_private_frame(common, where.base))
        return;
    struct fact *fact = content_find(common, where, 8, false, false);
    if (!fact || fact->kind != FACT_CONTENT || !ir_is_constant(ir_resolve(fact->value), 0))
        return;
    if (store->b->op != IR_LOAD || store->b->is_signed || store->b->size != store->size) {
        struct ir *extend = ir_new(common->function, IR_EXTEND, store->span);
        extend->comment = store->comment;
        extend->a = store->b;
        extend->size = store->size;
        ir_insert_before(store, extend);
        store->b = extend;
    }
    store->size = 8;
    common->changed = true;
}

static void visit_store(struct common *common, struct ir *store)
{
    struct root where = root_of(store->a, store->offset);
    widen_store(common, store, where);
    struct fact *fact = content_find(common, where, store->size, false, false);
    struct ir *value = store->b;
    if (fact && is_private_frame(common, where.base)) {
        struct ir *old = ir_resolve(fact->value);
        if (old == value ||
            (old->op == IR_CONSTANT && value->op == IR_CONSTANT && old->immediate == value->immediate)) {
            ir_remove(store);
            common->changed = true;
            return;
        }
    }
    fact = fact_add(common, FACT_CONTENT, where, store->size);
    fact->value = value;
    fact->part = store->part;
    fact->stored = true;
}

/* Look-ups */

static bool same_key(const struct fact *fact, struct ir *const *key, unsigned words)
{
    if (!fact->key || fact->key_words != words)
        return false;
    for (unsigned i = 0; i < words; i++) {
        const struct ir *x = ir_resolve(fact->key[i]), *y = ir_resolve(key[i]);
        if (x != y && !(x->op == IR_CONSTANT && y->op == IR_CONSTANT && x->immediate == y->immediate))
            return false;
    }
    return true;
}

/* Returns the words of a key, from its address to the end of its object, which is as much as the map reads; or
 * NULL. */
static struct ir **key_content(struct common *common, struct root key, unsigned *words)
{
    int64_t bytes = key.base->immediate - key.offset;
    if (key.offset < 0 || bytes <= 0 || bytes % 8 || bytes / 8 > KEY_WORDS)
        return NULL;
    *words = (unsigned)bytes / 8;
    struct ir **content = arena_array(common->arena, *words, sizeof(struct ir *));
    for (unsigned i = 0; i < *words; i++) {
        struct fact *fact =
            content_find(common, (struct root){key.base, key.offset + 8 * (int64_t)i}, 8, false, false);
        if (!fact)
            return NULL;
        content[i] = fact->value;
    }
    return content;
}

/* Replaces a look-up whose result is known. True: it was replaced. */
static bool visit_lookup(struct common *common, struct ir *call)
{
    if (call->argument_count < 2 || call->arguments[0]->op != IR_MAP)
        return false;
    int64_t map = call->arguments[0]->immediate;
    struct root key = root_of(call->arguments[1], 0);
    bool zeros = is_zeros(common, key);
    if (!zeros && !is_private_frame(common, key.base))
        return false;
    unsigned words = 0, steps = 0;
    struct ir **content = zeros ? NULL : key_content(common, key, &words);
    bool untouched = true; /* the key's object was not changed since the fact in hand */
    for (struct fact *fact = common->facts; fact && steps++ < SEARCH_LIMIT; fact = fact->older) {
        if (fact->kind == FACT_MAP_CHANGED && (fact->map < 0 || fact->map == map))
            break;
        if (fact->kind == FACT_LOOKUP && fact->map == map && fact->value->part == call->part &&
            ((untouched && fact->where.base == key.base && fact->where.offset == key.offset) ||
             (content && same_key(fact, content, words)))) {
            ir_replace(call, fact->value);
            common->changed = true;
            return true;
        }
        untouched &= !overwrites(common, fact, key, 0);
    }
    struct fact *fact = fact_add(common, FACT_LOOKUP, key, 0);
    fact->map = map;
    fact->value = call;
    fact->key = content;
    fact->key_words = words;
    return false;
}

static void call_writes(struct common *common, struct ir *call)
{
    unsigned effects = call->op == IR_CALL ? helper_effects(call->immediate) : 0;
    for (uint32_t i = 0; i < call->argument_count && !(effects & HELPER_READS_ONLY); i++) {
        struct root where = root_of(ir_resolve(call->arguments[i]), 0);
        if (where.base->op == IR_FRAME)
            fact_add(common, FACT_WRITTEN, (struct root){where.base, 0}, 0);
    }
    if (!(effects & HELPER_READS_ONLY) || !(effects & HELPER_NO_MAPS))
        fact_add(common, FACT_OTHER_WRITTEN, (struct root){call, 0}, 0);
    if (!(effects & HELPER_NO_MAPS)) {
        bool one = call->op == IR_CALL && call->argument_count && call->arguments[0]->op == IR_MAP && effects;
        fact_add(common, FACT_MAP_CHANGED, (struct root){call, 0}, 0)->map =
            one ? call->arguments[0]->immediate : -1;
    }
}

static void visit_call(struct common *common, struct ir *call)
{
    if (call->op != IR_CALL || call->immediate != BPF_FUNC_map_lookup_elem || !visit_lookup(common, call))
        call_writes(common, call);
}

/* Adds facts about what a block may overwrite that was not visited yet, because it comes later in the loop. */
static void block_writes(struct common *common, const struct ir_block *block)
{
    for (struct ir *ir = block->first; ir; ir = ir->next) {
        if (ir->op == IR_CALL || ir->op == IR_CALL_LOCAL)
            call_writes(common, ir);
        else if (ir->op >= IR_STORE && ir->op <= IR_ATOMIC_COMPARE)
            fact_add(common, FACT_WRITTEN, root_of(ir_resolve(ir->a), ir->offset), ir->size);
    }
}

/* The walk */

static void visit_branch(struct common *common, struct ir *branch)
{
    struct entry *entry = truth_entry(common, branch->a, false);
    if (!entry || entry->known < 0 || branch->a->op == IR_CONSTANT)
        return;
    branch->a = ir_constant_before(branch, entry->known);
    common->changed = true;
}

static void visit(struct common *common, struct ir *ir)
{
    unsigned count = ir_operand_count(ir);
    for (unsigned k = 0; k < count; k++)
        *ir_operand(ir, k) = ir_resolve(*ir_operand(ir, k));
    if (ir_is_pure(ir)) {
        uint64_t hash = hash_value(ir);
        struct entry *entry = entry_find(common, ir, hash);
        if (!entry) {
            entry_add(common, ir, hash);
        } else if (entry->ir != ir) {
            ir_replace(ir, entry->ir);
            common->changed = true;
        }
        return;
    }
    switch (ir->op) {
    case IR_LOAD: visit_load(common, ir); break;
    case IR_STORE: visit_store(common, ir); break;
    case IR_ATOMIC_ADD:
    case IR_ATOMIC_EXCHANGE:
    case IR_ATOMIC_COMPARE: fact_add(common, FACT_WRITTEN, root_of(ir->a, ir->offset), ir->size); break;
    case IR_CALL:
    case IR_CALL_LOCAL: visit_call(common, ir); break;
    case IR_BRANCH: visit_branch(common, ir); break;
    default: break;
    }
}

static void find_escapes(struct common *common)
{
    for (struct ir_block *block = common->function->first; block; block = block->next)
        for (struct ir *ir = block->first; ir; ir = ir->next) {
            unsigned count = ir_operand_count(ir);
            for (unsigned k = 0; k < count; k++) {
                struct ir *base = root_of(*ir_operand(ir, k), 0).base;
                bool address = (k == 0 && ir->op >= IR_LOAD && ir->op <= IR_ATOMIC_COMPARE) ||
                               ir->op == IR_CALL || (k == 0 && ir->op == IR_ADD && ir->b->op == IR_CONSTANT);
                if (base->op == IR_FRAME && !address)
                    common->escapes[base->number] = true;
            }
        }
}

/* Finds the blocks on the paths from the immediate dominator to a block, and those of the loop whose head it may
 * be. False: they are too many, or there is a path of another kind. */
static bool blocks_between(const struct common *common, uint32_t position, uint32_t between[BETWEEN_LIMIT],
                           unsigned *count)
{
    const struct flow *flow = &common->flow;
    uint32_t above = flow->dominator[position], at = position;
    *count = 0;
    for (unsigned next = 0;; at = between[next++]) {
        const struct ir_block *block = flow->order[at];
        for (size_t i = 0; i < block->predecessor_count; i++) {
            uint32_t from = flow->position[block->predecessors[i]->number];
            bool known = from == above || from == BLOCK_NONE || (at != position && from == position);
            for (unsigned k = 0; k < *count; k++)
                known |= between[k] == from;
            if (known)
                continue;
            if ((from >= position && !flow_dominates(flow, position, from)) || *count == BETWEEN_LIMIT)
                return false;
            between[(*count)++] = from;
        }
        if (next == *count)
            return true;
    }
}

/* Returns the facts that are true where several paths meet. */
static struct fact *facts_at_meeting(struct common *common, uint32_t position)
{
    uint32_t between[BETWEEN_LIMIT];
    unsigned count, carried = 0;
    bool is_loop = false;
    if (!position || !blocks_between(common, position, between, &count))
        return NULL;
    common->facts = common->at_end[common->flow.dominator[position]];
    for (unsigned i = 0; i < count; i++) {
        if (between[i] >= position) {
            is_loop = true;
            if (between[i] > position)
                block_writes(common, common->flow.order[between[i]]);
            continue;
        }
        for (struct fact *fact = common->at_end[between[i]]; fact && fact != common->at_begin[between[i]];
             fact = fact->older) {
            if (fact->kind == FACT_LOOKUP || fact->kind == FACT_LOADED_SIGNED ||
                (fact->kind == FACT_CONTENT && !fact->stored))
                continue;
            if (carried++ == CARRIED_LIMIT)
                return NULL;
            enum fact_kind kind = fact->kind == FACT_CONTENT ? FACT_WRITTEN : fact->kind;
            fact_add(common, kind, fact->where, fact->size)->map = fact->map;
        }
    }
    if (is_loop)
        block_writes(common, common->flow.order[position]);
    return common->facts;
}

static void enter_block(struct common *common, uint32_t position)
{
    struct ir_block *block = common->flow.order[position];
    common->facts = block->predecessor_count > 1 ? facts_at_meeting(common, position) : NULL;
    if (block->predecessor_count == 1) {
        uint32_t from = common->flow.position[block->predecessors[0]->number];
        common->facts = common->at_end[from];
        learn_from_edge(common, block->predecessors[0], block);
    }
    common->at_begin[position] = common->facts;
    for (struct ir *next, *ir = block->first; ir; ir = next) {
        next = ir->next;
        visit(common, ir);
    }
    common->at_end[position] = common->facts;
}

bool pass_common(struct ir_function *function)
{
    struct arena *arena = function->program->arena;
    struct common common = {.function = function, .arena = arena, .numbers = function->value_count};
    flow_compute(arena, function, &common.flow);
    uint32_t count = common.flow.count;
    for (common.bucket_count = 64; common.bucket_count < function->value_count; common.bucket_count *= 2) {
    }
    common.buckets = arena_array(arena, common.bucket_count, sizeof(struct entry *));
    common.escapes = arena_array(arena, common.numbers, sizeof *common.escapes);
    common.at_begin = arena_array(arena, count, sizeof(struct fact *));
    common.at_end = arena_array(arena, count, sizeof(struct fact *));
    find_escapes(&common);

    /* The children of each block in the dominator tree, and the walk over the tree. */
    uint32_t *first = arena_array(arena, count, sizeof *first),
             *sibling = arena_array(arena, count, sizeof *sibling);
    for (uint32_t i = count; i-- > 1;) {
        sibling[i] = first[common.flow.dominator[i]];
        first[common.flow.dominator[i]] = i;
    }
    struct level {
        uint32_t position, child;
        struct entry *undo;
        struct truth *truths;
    } *stack = arena_array(arena, (size_t)count + 1, sizeof *stack);
    size_t depth = 0;
    stack[depth++] = (struct level){.position = 0, .child = first[0]};
    enter_block(&common, 0);
    while (depth) {
        struct level *top = &stack[depth - 1];
        if (top->child) {
            uint32_t child = top->child;
            top->child = sibling[child];
            stack[depth++] = (struct level){child, first[child], common.undo, common.truths};
            enter_block(&common, child);
            continue;
        }
        for (; common.truths != top->truths; common.truths = common.truths->older)
            common.truths->entry->known = common.truths->before;
        for (; common.undo != top->undo; common.undo = common.undo->undo)
            common.buckets[common.undo->hash & (common.bucket_count - 1)] = common.undo->next;
        depth--;
    }
    return common.changed;
}
