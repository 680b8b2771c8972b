/* SPDX-License-Identifier: BSD-3-Clause */
/* Scratch variables and maps: which one a name means, and the types that assignments give them. */
#include <string.h>

#include "lang/check/state.h"

const char *check_where(struct checker *checker, struct span span)
{
    if (!span.source || !check_takes_hint(checker))
        return "another place";
    struct position position = source_position(span.source, span.begin);
    return arena_printf(checker->arena, "%s:%u:%u", span.source->name, position.line, position.column);
}

void check_put(struct checker *checker, struct table *table, const char *name, void *value)
{
    if (table_put(table, name, value))
        /* memory ran out: this leaves the work, as any allocation does */
        arena_array(checker->arena, SIZE_MAX, SIZE_MAX);
}

/* ---- growing types ---- */

static bool grow(struct checker *checker, struct slot slot, const struct type *type)
{
    if (!*slot.type || !type_equal(*slot.type, type)) {
        *slot.type = type;
        checker->changed = true;
    }
    return true;
}

/* Whether a type has an element that literals left open in the first phase: it is type_none there. Such a type
 * stays in its slot, and expressions that read the variable or map do not know their type yet. */
static bool has_open_element(const struct type *type)
{
    if (type->kind != TYPE_TUPLE)
        return type->kind == TYPE_NONE;
    for (uint32_t i = 0; i < type->count; i++)
        if (has_open_element(type->fields[i].type))
            return true;
    return false;
}

static bool holds_literal(const struct node *node)
{
    if (node->kind != NODE_TUPLE)
        return check_is_literal_number(node);
    for (const struct node *element = node->list.first; element; element = element->next)
        if (holds_literal(element))
            return true;
    return false;
}

/* Returns the type that a node gives to a slot that has none so far. */
static const struct type *first_type(struct checker *checker, const struct node *node)
{
    if (checker->state->phase != PHASE_OPEN || !holds_literal(node))
        return check_is_literal_number(node) ? fold_literal_type(node) : node->type;
    if (node->kind != NODE_TUPLE)
        return &type_none;
    const struct type **elements = arena_array(checker->arena, node->list.count, sizeof *elements);
    uint32_t i = 0;
    for (const struct node *element = node->list.first; element; element = element->next)
        elements[i++] = first_type(checker, element);
    return type_record(checker->arena, node->names, elements, i);
}

/* Returns the type that holds `old` and a literal: any integer that is wide enough can hold one without a sign. */
static const struct type *joined_literal(struct checker *checker, const struct type *old,
                                         const struct node *node)
{
    if (old->kind != TYPE_INTEGER || old->is_signed)
        return type_common(checker->arena, old, fold_literal_type(node));
    uint64_t value = node->integer.value;
    unsigned size = value <= UINT8_MAX ? 1 : value <= UINT16_MAX ? 2 : value <= UINT32_MAX ? 4 : 8;
    return size > old->size ? type_integer(size, false) : old;
}

/* Whether a pointer joins one of another address space in the same slot, or the number that came of such: only a
 * number can hold both, and a script that follows it must say where it points. */
static bool is_number_of_pointers(const struct type *old, const struct type *pointer)
{
    if (old->kind == TYPE_INTEGER)
        return old->size == 8 && !old->is_signed;
    return old->kind == TYPE_POINTER && old->space != pointer->space && old->space != SPACE_NONE &&
           pointer->space != SPACE_NONE;
}

/* Adds a hint about where a variable or map got the type that a value does not fit ("@m got its type"), and how the two
 * differ if both print alike. */
static void hint_mismatch(struct checker *checker, const char *name, const char *got, struct span span,
                          const struct type *type, const struct type *old)
{
    struct text difference = {0};
    type_difference(&difference, type, old);
    check_hint(checker, "%s %s at %s%s%s", name, got, check_where(checker, span),
               difference.length ? "; " : "", text_string(&difference));
    text_free(&difference);
}

/* Returns the type that holds a text and a symbol, or NULL. Symbols are numbers that are resolved when they are printed, and
 * constant texts beside them become such numbers. Whether all texts that were stored before are constants is not known
 * here; but when the type has settled everything is checked again. */
static const struct type *joined_text(const struct type *old, const struct node *node)
{
    const struct type *type = node->type;
    if (node->kind == NODE_STRING && type_is_symbol(old))
        return old;
    return old->kind == TYPE_STRING && type_is_symbol(type) ? type : NULL;
}

/* Returns the type that holds what `old` holds and the node's value; NULL: there is none. */
static const struct type *joined(struct checker *checker, const struct type *old, const struct node *node)
{
    const struct type *type = node->type;
    if (old->kind == TYPE_NONE)
        return first_type(checker, node);
    if (check_is_literal_number(node))
        return joined_literal(checker, old, node);
    if (type->kind == TYPE_POINTER && is_number_of_pointers(old, type))
        return &type_u64;
    const struct type *text = joined_text(old, node);
    if (text)
        return text;
    if (node->kind != NODE_TUPLE || old->kind != TYPE_TUPLE || type->kind != TYPE_TUPLE ||
        old->count != type->count)
        return type_common(checker->arena, old, type);
    const struct type **elements = arena_array(checker->arena, old->count, sizeof *elements);
    bool is_old = true;
    uint32_t i = 0;
    for (const struct node *element = node->list.first; element; element = element->next, i++) {
        int place = type_element(old, type, i);
        if (place < 0 || !(elements[place] = joined(checker, old->fields[place].type, element)))
            return NULL;
        is_old &= type_equal(elements[place], old->fields[place].type);
    }
    return is_old ? old : type_tuple_like(checker->arena, old, elements);
}

/* Widens a slot by the value of a node. False: the value does not fit. */
static bool slot_join(struct checker *checker, struct slot slot, const struct node *node)
{
    const struct type *old = *slot.type;
    if (old && type_equal(old, node->type))
        return true;
    if (old) {
        const struct type *type = joined(checker, old, node);
        return type && grow(checker, slot, type);
    }
    if (checker->state->phase == PHASE_OPEN && check_is_literal_number(node)) {
        *slot.number_pending = true;
        return true;
    }
    if (*slot.number_pending && !type_is_number(node->type))
        return false;
    return grow(checker, slot, first_type(checker, node));
}

/* As slot_join(), for a type that no node has: the result of `+=` and `++`. */
static bool slot_join_type(struct checker *checker, struct slot slot, const struct type *type)
{
    struct node value = {.kind = NODE_CAST, .type = type};
    return slot_join(checker, slot, &value);
}

/* ---- scratch variables ---- */

static struct scratch *scratch_visible(struct checker *checker, const char *name)
{
    return table_find(&checker->variables, name);
}

/* Whether a name is long enough to be compared with others: a single letter behind the sigil is near to every other
 * one. */
static bool is_telling(const char *name)
{
    return strlen(name) > 2;
}

static void undefined_variable(struct checker *checker, const struct node *node)
{
    struct check_state *state = checker->state;
    check_error(checker, node->span, "Undefined or undeclared variable: %s", node->variable.name);
    if (!check_takes_hint(checker))
        return;
    struct nearest nearest = {.name = node->variable.name};
    for (size_t i = 0; i < state->visible_count && is_telling(node->variable.name); i++)
        nearest_offer(&nearest, state->visible[i]->variable.name);
    if (nearest.best)
        check_nearest(checker, &nearest, "");
    else
        check_hint(checker,
                   "a variable lives in the block that assigned it first: declare it outside with let %s;",
                   node->variable.name);
}

struct scratch *check_declare(struct checker *checker, struct node *node)
{
    struct check_state *state = checker->state;
    const char *name = node->variable.name;
    struct scratch *scratch = (struct scratch *)node->variable.symbol;
    const struct scratch *old = scratch_visible(checker, name);
    if (old) {
        check_error(checker, node->span,
                    "Variable %s was already declared. Variable shadowing is not allowed.", name);
        check_hint(checker, "%s was declared at %s", name, check_where(checker, old->variable.span));
    }
    if (!scratch) {
        scratch = arena_new(checker->arena, struct scratch);
        scratch->variable.name = name;
        scratch->variable.span = node->span;
        node->variable.symbol = &scratch->variable;
    }
    scratch->callbacks = state->callbacks;
    if (!old) { /* if there is one of this name already, the new one is never in scope */
        *arena_push(checker->arena, state->visible, state->visible_count, state->visible_room) = scratch;
        check_put(checker, &checker->variables, name, scratch);
    }
    return scratch;
}

void check_variable_grow(struct checker *checker, struct scratch *scratch, const struct type *type)
{
    grow(checker, (struct slot){&scratch->variable.type, &scratch->number_pending}, type);
}

/* Returns the variable that a node means; NULL after a diagnostic. */
static struct scratch *scratch_use(struct checker *checker, struct node *node)
{
    struct scratch *scratch = scratch_visible(checker, node->variable.name);
    if (!scratch) {
        undefined_variable(checker, node);
        return NULL;
    }
    node->variable.symbol = &scratch->variable;
    if (scratch->callbacks < checker->state->callbacks)
        scratch->variable.captured = true;
    return scratch;
}

const struct type *check_variable(struct checker *checker, struct node *node)
{
    struct scratch *scratch = scratch_use(checker, node);
    if (!scratch)
        return NULL;
    const struct type *type = scratch->variable.type;
    if (type && !has_open_element(type))
        return type;
    check_unresolved(checker, node->span);
    return NULL;
}

/* Whether a value may go to a variable whose type was declared. */
static bool fits_declared(struct checker *checker, const struct type *type, const struct node *node)
{
    const struct type *common = joined(checker, type, node);
    if (!common)
        return false;
    if (type->kind == TYPE_INTEGER && node->type->kind == TYPE_INTEGER && !check_is_literal_number(node) &&
        node->kind != NODE_INTEGER)
        return node->type->size <= type->size; /* a conversion between signs keeps the bits, as in C */
    if (type->kind == TYPE_INTEGER && !type->is_signed && node->kind == NODE_INTEGER &&
        (int64_t)node->integer.value < 0)
        return node->integer.is_unsigned && type->size == 8;
    if (type->kind == TYPE_POINTER)
        return true;
    return type_equal(common, type);
}

static void variable_store(struct checker *checker, struct node *node, struct scratch *scratch,
                           const struct node *value)
{
    struct variable *variable = &scratch->variable;
    struct slot slot = {&variable->type, &scratch->number_pending};
    if (variable->type_fixed ? fits_declared(checker, variable->type, value)
                             : slot_join(checker, slot, value))
        return;
    if (!variable->type)
        return; /* the variable's type is found later */
    check_error(
        checker, node->span,
        "Type mismatch for %s: trying to assign value of type '%s' when variable already has a type '%s'",
        variable->name, type_text(checker->arena, value->type), type_text(checker->arena, variable->type));
    hint_mismatch(checker, variable->name, "got its type", variable->span, value->type, variable->type);
}

void check_let(struct checker *checker, struct node *node)
{
    struct node *target = node->let.target, *value = node->let.value;
    const struct type *fixed = node->let.has_type ? check_type_name(checker, &node->let.type_name) : NULL;
    const struct type *type = value ? check_value(checker, value) : NULL;
    struct scratch *scratch = check_declare(checker, target);
    scratch->variable.is_declared = true;
    if (fixed && (fixed->kind == TYPE_NONE || !fixed->size)) {
        check_error(checker, node->let.type_name.span, "A variable cannot have the type '%s'",
                    type_text(checker->arena, fixed));
        fixed = NULL;
    }
    if (fixed && fixed->kind == TYPE_POINTER && fixed->space == SPACE_NONE && checker->unit->context)
        fixed = check_pointer_type(checker, target, fixed->target, checker->unit->context->space);
    if (fixed && fixed->kind == TYPE_PROBE_NAME) /* the type comes from typeof(probe) */
        fixed = type_string(checker->arena, fixed->count);
    /* A type that typeof gives may grow. */
    if (fixed && (!scratch->variable.type_fixed || !type_equal(fixed, scratch->variable.type))) {
        scratch->variable.type = fixed;
        scratch->variable.type_fixed = true;
        checker->changed = true;
    }
    if (type)
        variable_store(checker, node, scratch, value);
    else if (checker->state->phase == PHASE_DEFAULTS && !scratch->variable.type && !value)
        check_variable_grow(checker, scratch, &type_i64);
    target->type = scratch->variable.type;
}

/* ---- maps ---- */

static const struct map_declaration *declaration_of(const struct checker *checker, const char *name,
                                                    struct span span)
{
    const struct map_declaration *declaration = checker->declarations;
    while (declaration && (strcmp(declaration->name, name) != 0 ||
                           check_script_of(checker, declaration->span) != check_script_of(checker, span)))
        declaration = declaration->next;
    return declaration;
}

const char *check_identity(struct checker *checker, const char *name, struct span span)
{
    unsigned script = check_script_of(checker, span);
    return script ? arena_printf(checker->arena, "%u%s", script, name) : name;
}

/* hash: one value for all CPUs; percpuhash: an aggregation, which has a value for each CPU; lru: when the map is
 * full, the element that was not used for the longest time is removed. */
static const char *const declared_kinds[] = {"hash", "lruhash", "percpuhash", "percpulruhash"};

static bool declaration_is_sound(struct checker *checker, const struct map_declaration *declaration)
{
    bool is_known = false;
    for (size_t i = 0; i < sizeof declared_kinds / sizeof declared_kinds[0]; i++)
        is_known |= !strcmp(declaration->kind, declared_kinds[i]);
    if (!is_known) {
        check_error(checker, declaration->span, "Invalid bpf map type: %s", declaration->kind);
        check_hint(checker, "Valid map types: hash, lruhash, percpuhash, percpulruhash");
    } else if (!declaration->entries || declaration->entries > MAP_ENTRIES_MAX) {
        check_error(checker, declaration->span, "A map has from 1 to %d entries, found %llu", MAP_ENTRIES_MAX,
                    (unsigned long long)declaration->entries);
        is_known = false;
    }
    return is_known;
}

/* Checks declarations of maps. To be called in the last pass, when the types of values are known. */
void check_declarations(struct checker *checker)
{
    for (const struct map_declaration *declaration = checker->declarations; declaration;
         declaration = declaration->next) {
        const struct map_state *map =
            table_find(&checker->map_table, check_identity(checker, declaration->name, declaration->span));
        bool is_per_cpu = !strncmp(declaration->kind, "percpu", 6);
        if (!declaration_is_sound(checker, declaration))
            continue;
        if (!map)
            check_warning(checker, declaration->span, "Unused map: %s", declaration->name);
        else if (map->symbol.value && type_is_per_cpu(map->symbol.value) != is_per_cpu)
            check_error(checker, map->symbol.first,
                        "Incompatible map types. Type from declaration: %s. Type from value/key type: %s",
                        declaration->kind, is_per_cpu ? "hash" : "percpuhash");
    }
}

/* Returns the symbol of a map, which is made at its first use. */
static struct map_state *map_symbol(struct checker *checker, struct node *node)
{
    const char *identity = check_identity(checker, node->map.name, node->span);
    struct map_state *map = table_find(&checker->map_table, identity);
    if (!map) {
        map = arena_new(checker->arena, struct map_state);
        map->symbol.name = node->map.name;
        map->symbol.first = node->span;
        map->symbol.index = -1;
        map->symbol.declaration = declaration_of(checker, node->map.name, node->span);
        if (map->symbol.declaration && map->symbol.declaration->entries <= MAP_ENTRIES_MAX)
            map->symbol.max_entries = (uint32_t)map->symbol.declaration->entries;
        check_put(checker, &checker->map_table, identity, map);
        *arena_push(checker->arena, checker->maps, checker->map_count, checker->map_room) = &map->symbol;
    }
    node->map.symbol = &map->symbol;
    return map;
}

/* Whether a use with or without a key fits the map; the first use that shows it decides whether the map has a key. */
static bool map_is_keyed(struct checker *checker, struct map_state *map, struct span span, bool is_keyed)
{
    if (!map->symbol.key_known) {
        map->symbol.key_known = true;
        map->is_keyed = is_keyed;
        map->symbol.key_span = span;
    }
    if (map->is_keyed == is_keyed)
        return true;
    static const char *const forms[] = {"without an explicit key (scalar map)",
                                        "with an explicit key (non-scalar map)"};
    check_error(checker, span, "%s used as a map %s, previously used %s", map->symbol.name, forms[is_keyed],
                forms[!is_keyed]);
    check_hint(checker, "%s was first used %s at %s", map->symbol.name, forms[!is_keyed],
               check_where(checker, map->symbol.key_span));
    return false;
}

static bool key_is_storable(struct checker *checker, const struct node *key)
{
    const struct type *type = key->type;
    if (type_storage(type))
        return true;
    check_error(checker, key->span, "A value of type '%s' cannot be a map key",
                type_text(checker->arena, type));
    return false;
}

static bool map_key_join(struct checker *checker, struct map_state *map, struct node *key)
{
    if (!check_value(checker, key))
        return true; /* the key's own error is enough */
    if (!key_is_storable(checker, key))
        return false;
    if (slot_join(checker, (struct slot){&map->symbol.key, &map->key_pending}, key))
        return true;
    if (!map->symbol.key)
        return true;
    check_error(
        checker, key->span,
        "Argument mismatch for %s: trying to access with arguments: '%s' when map expects arguments: '%s'",
        map->symbol.name, type_text(checker->arena, key->type), type_text(checker->arena, map->symbol.key));
    hint_mismatch(checker, map->symbol.name, "was first used", map->symbol.key_span, key->type,
                  map->symbol.key);
    return false;
}

/* Returns the symbol of a map, after its key was determined or widened by this use. */
struct map_state *check_map_symbol(struct checker *checker, struct node *node)
{
    struct map_state *map = map_symbol(checker, node);
    if (map_is_keyed(checker, map, node->span, node->map.key != NULL) && node->map.key)
        map_key_join(checker, map, node->map.key);
    else if (node->map.key)
        check_value(checker, node->map.key);
    return map;
}

bool check_map_key(struct checker *checker, struct map_symbol *symbol, struct node *key)
{
    struct map_state *map = (struct map_state *)symbol;
    return map_is_keyed(checker, map, key->span, true) && map_key_join(checker, map, key);
}

bool check_is_settled(const struct type *type)
{
    return type && !has_open_element(type);
}

bool check_is_whole_map(const struct node *node)
{
    const struct map_state *map = node->kind == NODE_MAP ? (const struct map_state *)node->map.symbol : NULL;
    return map && !node->map.key && map->symbol.key_known && map->is_keyed;
}

static void undefined_map(struct checker *checker, const struct node *node)
{
    check_error(checker, node->span, "Undefined map: %s", node->map.name);
    if (!check_takes_hint(checker))
        return;
    struct nearest nearest = {.name = node->map.name};
    const unsigned script = check_script_of(checker, node->span);
    for (size_t i = 0; i < checker->map_count; i++) {
        const struct map_symbol *map = checker->maps[i];
        if (!map->is_written)
            continue;
        if (check_script_of(checker, map->first) == script && is_telling(node->map.name))
            nearest_offer(&nearest, map->name);
        if (check_script_of(checker, map->first) != script && !strcmp(map->name, node->map.name)) {
            check_hint(checker, "%s of another script is a map of its own: with --together it is one map",
                       map->name);
            return;
        }
    }
    if (checker->left_out && table_find(checker->left_out, node->map.name))
        check_hint(checker, "the block that assigns to %s is left out: none of its probes is there",
                   node->map.name);
    else if (nearest.best)
        check_nearest(checker, &nearest, "");
    else if (node->map.key && node->map.key->kind != NODE_TUPLE)
        check_hint(checker,
                   "nothing is ever assigned to %s; --enum %s=NAME would fill it with the names of an enum",
                   node->map.name, node->map.name);
    else
        check_hint(checker, "nothing is ever assigned to %s", node->map.name);
}

static bool map_is_defined(struct checker *checker, const struct map_state *map, const struct node *node)
{
    if (map->symbol.value)
        return true;
    if (!map->symbol.is_written)
        undefined_map(checker, node);
    else
        check_unresolved(checker, node->span);
    return false;
}

const struct type *check_map(struct checker *checker, struct node *node)
{
    struct map_state *map = check_map_symbol(checker, node);
    map->symbol.is_used = true;
    if (!map_is_defined(checker, map, node))
        return NULL;
    const struct type *type = check_readable(map->symbol.value);
    if (type && has_open_element(type))
        return NULL;
    if (!type) {
        check_error(checker, node->span, "The value of %s ('%s') cannot be read in an expression",
                    node->map.name, type_text(checker->arena, map->symbol.value));
        check_hint(checker, "print(%s) shows it", node->map.name);
    }
    return type;
}

const struct type *check_map_argument(struct checker *checker, struct node *node, bool whole_only)
{
    if (node->map.key && whole_only) {
        check_error(checker, node->span, "A whole map is expected here, not one of its elements");
        check_hint(checker, "write %s", node->map.name);
        check_map_symbol(checker, node);
        return NULL;
    }
    struct map_state *map = node->map.key ? check_map_symbol(checker, node) : map_symbol(checker, node);
    if (!map_is_defined(checker, map, node))
        return NULL;
    if (whole_only || check_is_whole_map(node))
        return &type_none;
    const struct type *type = check_readable(map->symbol.value);
    if (type && has_open_element(type))
        return NULL;
    return type ? type : map->symbol.value;
}

static bool is_histogram_clash(const struct type *a, const struct type *b)
{
    return a && type_is_aggregation(a) && a->aggregation == b->aggregation && a->aggregation->clash;
}

static void map_store(struct checker *checker, struct node *node, struct map_state *map,
                      const struct node *value)
{
    struct map_symbol *symbol = &map->symbol;
    struct slot slot = {&symbol->value, &map->value_pending};
    if (!map->has_value_span) {
        map->has_value_span = true;
        symbol->value_span = node->span;
    }
    if (!type_is_aggregation(value->type) && !type_storage(value->type)) {
        check_error(checker, node->span, "A value of type '%s' cannot be stored in a map",
                    type_text(checker->arena, value->type));
        return;
    }
    if (type_is_aggregation(value->type) && value->type->aggregation->is_keyless && map->is_keyed) {
        check_error(checker, node->span, "%s has a key, and a map of %s has none", symbol->name,
                    type_text(checker->arena, value->type));
        check_hint(checker, "a tuple makes it a part of what is aggregated: (a, b)");
        return;
    }
    if (slot_join(checker, slot, value) || !symbol->value)
        return;
    if (is_histogram_clash(symbol->value, value->type))
        check_error(checker, node->span, "%s: %s", symbol->value->aggregation->clash, symbol->name);
    else
        check_error(
            checker, node->span,
            "Type mismatch for %s: trying to assign value of type '%s' when map already has a type '%s'",
            symbol->name, type_text(checker->arena, value->type), type_text(checker->arena, symbol->value));
    hint_mismatch(checker, symbol->name, "got its type", symbol->value_span, value->type, symbol->value);
}

/* ---- assignments ---- */

static const struct type *assign_map(struct checker *checker, struct node *node)
{
    struct node *target = node->assign.target, *value = node->assign.value;
    bool is_aggregation = node->assign.op == OPERATOR_NONE && check_is_aggregation_call(checker, value);
    const struct type *type =
        is_aggregation ? check_aggregation_call(checker, value) : check_value(checker, value);
    struct map_state *map = check_map_symbol(checker, target);
    map->symbol.is_written = true;
    if (node->assign.op != OPERATOR_NONE) {
        target->type = map->symbol.value ? check_readable(map->symbol.value) : NULL;
        if (map->symbol.value && !target->type)
            target->type = map->symbol.value; /* no operator takes an aggregation: the message names it */
        type = check_operation(checker, node, node->assign.op, target, value);
        if (type)
            map_store(checker, node, map, &(struct node){.kind = NODE_CAST, .type = type});
    } else if (type) {
        map_store(checker, node, map, value);
    }
    target->type = map->symbol.value;
    if (is_aggregation)
        return &type_none;
    if (!map->symbol.value || has_open_element(map->symbol.value))
        return NULL;
    return check_readable(map->symbol.value);
}

static const struct type *assign_variable(struct checker *checker, struct node *node)
{
    struct node *target = node->assign.target, *value = node->assign.value;
    const struct type *type = check_value(checker, value);
    if (node->assign.op != OPERATOR_NONE) {
        struct scratch *scratch = scratch_use(checker, target);
        if (!scratch)
            return NULL;
        target->type = scratch->variable.type;
        type = check_operation(checker, node, node->assign.op, target, value);
        if (type && scratch->variable.type_fixed && type_is_number(type) &&
            type_is_number(scratch->variable.type))
            type = scratch->variable.type; /* the result wraps at the declared width */
        if (type)
            variable_store(checker, node, scratch, &(struct node){.kind = NODE_CAST, .type = type});
        return target->type = scratch->variable.type;
    }
    struct scratch *scratch = scratch_visible(checker, target->variable.name)
                                  ? scratch_use(checker, target)
                                  : check_declare(checker, target);
    if (type)
        variable_store(checker, node, scratch, value);
    type = scratch->variable.type;
    return target->type = type && has_open_element(type) ? NULL : type;
}

const struct type *check_assign(struct checker *checker, struct node *node)
{
    switch (node->assign.target->kind) {
    case NODE_MAP: return assign_map(checker, node);
    case NODE_VARIABLE: return assign_variable(checker, node);
    default:
        check_error(checker, node->assign.target->span, "Only variables and maps can be assigned to");
        return NULL;
    }
}

/* ---- steps ---- */

/* Returns the type of a value of `type` after `++` or `--`; NULL: it cannot be stepped. */
static const struct type *stepped(const struct type *type, enum operator op)
{
    if (type->kind == TYPE_POINTER)
        return type;
    if (!type_is_number(type))
        return NULL;
    return op == OPERATOR_SUB || type->is_signed || type->kind == TYPE_BOOL ? &type_i64 : &type_u64;
}

const struct type *check_step(struct checker *checker, struct node *node)
{
    struct node *target = node->step.target;
    struct map_state *map = NULL;
    struct scratch *scratch = NULL;
    const struct type *type;
    if (target->kind == NODE_MAP) {
        map = check_map_symbol(checker, target);
        map->symbol.is_written = true;
        type = map->symbol.value;
        if (!map->has_value_span) {
            map->has_value_span = true;
            map->symbol.value_span = node->span;
        }
    } else if (target->kind == NODE_VARIABLE) {
        scratch = scratch_use(checker, target);
        if (!scratch)
            return NULL;
        type = scratch->variable.type;
        if (scratch->variable.type_fixed && type_is_scalar(type))
            return target->type = type;
    } else {
        check_error(checker, target->span, "Only variables and maps can be counted up and down");
        return NULL;
    }
    struct slot slot = map ? (struct slot){&map->symbol.value, &map->value_pending}
                           : (struct slot){&scratch->variable.type, &scratch->number_pending};
    if (!type) {
        *slot.number_pending = true;
        if (checker->state->phase != PHASE_OPEN)
            grow(checker, slot, &type_i64);
        else
            return NULL;
    } else if (!stepped(type, node->step.op)) {
        check_error(checker, node->span, "The %s operator can not be used on %s of type '%s'",
                    node->step.op == OPERATOR_ADD ? "++" : "--",
                    map ? target->map.name : target->variable.name, type_text(checker->arena, type));
        if (type_is_aggregation(type))
            check_hint(checker, "an aggregation is added to by its own function: %s = %.*s(...)",
                       target->map.name, (int)strcspn(type_text(checker->arena, type), "_"),
                       type_text(checker->arena, type));
        return NULL;
    } else {
        slot_join_type(checker, slot, stepped(type, node->step.op));
    }
    return target->type = *slot.type;
}
