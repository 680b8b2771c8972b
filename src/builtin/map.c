/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole maps, and keys of maps. clear and zero happen when the reader gets to them: in order with printf. */
#include <stdlib.h>
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "builtin/all.h"

static struct ir *lower_map_action(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    lower_event(l, node, node->call.builtin, NULL, 0);
    return NULL;
}

/* A map without a key has its value always. The reader must know that it stands for none after this. */
static void mark_emptied(struct lowering *l, const struct map_symbol *map)
{
    l->image->maps[map->index].is_emptied |= !map->key;
}

static struct ir *lower_clear(struct lowering *l, struct node *node, struct destination *into)
{
    mark_emptied(l, check_argument(node, 0)->map.symbol);
    return lower_map_action(l, node, into);
}

static size_t map_of(const struct action *action)
{
    return (size_t)check_argument(action->call, 0)->map.symbol->index;
}

static void notify_watchers(const struct event_handler *handler, size_t map)
{
    const struct printer *printer = handler->printer;
    for (const struct map_watcher *watcher = printer->watcher; watcher; watcher = watcher->next)
        if (watcher->emptied)
            watcher->emptied(watcher->state, handler->image->maps[map].name, printer->moment);
}

static void handle_clear(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    (void)record;
    handler->zeroed[map_of(action)] = false;
    notify_watchers(handler, map_of(action));
    if (handler->host->operations->map_clear(handler->host, map_of(action)))
        handler->warn(handler, action->call->span, "the map could not be cleared");
}

static void handle_zero(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    (void)record;
    handler->zeroed[map_of(action)] = true;
    notify_watchers(handler, map_of(action));
    if (handler->host->operations->map_zero(handler->host, map_of(action)))
        handler->warn(handler, action->call->span, "the map could not be zeroed");
}

/* delete(@m, key), and the older delete(@m[key]); the same two forms for has_key. Both end as a NODE_MAP with
 * a key, kept in call.data. */
static const struct type *check_key(struct checker *checker, struct node *node)
{
    struct node *map = check_argument(node, 0), *key = check_argument(node, 1);
    if (map->kind != NODE_MAP) {
        check_error(checker, map->span, "%s() needs a map, found a value of type '%s'", node->call.name,
                    type_text(checker->arena, map->type));
        return NULL;
    }
    if (key && map->map.key) {
        check_error(checker, key->span, "%s() needs one key: either %s(@m[key]) or %s(@m, key)",
                    node->call.name, node->call.name, node->call.name);
        return NULL;
    }
    if (!key && check_is_whole_map(map)) {
        check_error(checker, map->span, "%s() needs a key: %s(%s, key)", node->call.name, node->call.name,
                    map->map.name);
        check_hint(checker, "clear(%s) removes all keys", map->map.name);
        return NULL;
    }
    if (key && !check_map_key(checker, map->map.symbol, key))
        return NULL;
    if (key) {
        struct node *element = node_new(checker->arena, NODE_MAP, map->span);
        element->map.name = map->map.name;
        element->map.symbol = map->map.symbol;
        element->map.key = key;
        element->type = map->type;
        node->call.data = element;
    } else
        node->call.data = map;
    return &type_bool;
}

static const struct type *check_delete(struct checker *checker, struct node *node)
{
    const struct type *type = check_key(checker, node);
    if (type)
        ((struct node *)node->call.data)->map.symbol->is_deleted = true;
    return type;
}

static bool has_rows(const struct map_symbol *map)
{
    return map->value && type_has_rows(map->value);
}

static struct ir *lower_delete(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *element = node->call.data;
    struct map_symbol *map = element->map.symbol;
    bool is_unused = into->kind == DESTINATION_NOTHING;
    mark_emptied(l, map);
    /* Maps with an element for each row or with values per CPU are changed by the reader. */
    if (map->key ? has_rows(map) : type_is_per_cpu(map->value)) {
        struct event_field field = {.type = map->key};
        if (map->key)
            field.memory = lower_map_key(l, element);
        lower_event(l, node, node->call.builtin, &field, map->key ? 1 : 0);
        return ir_constant(&l->b, 1);
    }
    if (!map->key) {
        struct ir *value = lower_map_element(l, map, lower_map_key(l, element), node->span);
        ir_zero(&l->b, value, 0, l->image->maps[map->index].value_size);
        return ir_constant(&l->b, 1);
    }
    struct memory key = lower_map_key(l, element);
    struct ir *result = ir_call(&l->b, BPF_FUNC_map_delete_elem, 2, lower_map_itself(l, map),
                                ir_offset(&l->b, key.base, key.offset));
    if (is_unused) { /* the script does not look at the result: count it as a runtime error */
        struct ir_if missing = ir_if_unlikely(&l->b, result);
        lower_runtime_error(l, RUNTIME_ERROR_MAP_DELETE, node->span, map->index, "map_delete_elem");
        ir_end_if(&l->b, &missing);
    }
    return ir_binary_constant(&l->b, IR_EQ, ir_extend(&l->b, result, 4, true), 0);
}

static void handle_delete(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    const struct node *element = action->call->call.data;
    size_t index = (size_t)element->map.symbol->index;
    const struct image_map *map = &handler->image->maps[index];
    size_t key_bytes = map->key_size;
    if (!map->key) {
        handler->host->operations->map_zero(handler->host, index);
        return;
    }
    uint8_t *key = calloc(1, key_bytes);
    if (!key)
        return;
    memcpy(key, event_handler_field(handler, action, 0, record), key_bytes - 8);
    for (uint64_t row = 0, rows = type_rows(map->value); row < rows; row++) {
        memcpy(key + key_bytes - 8, &row, 8);
        handler->host->operations->map_delete(handler->host, index, key);
    }
    free(key);
}

static struct ir *lower_has_key(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *element = node->call.data;
    (void)into;
    return ir_binary_constant(&l->b, IR_NE,
                              lower_map_lookup(l, element->map.symbol, lower_map_key(l, element)), 0);
}

/* find(@map, key, $out): $out = @map[key] where there is such a key. */
static const struct type *check_find(struct checker *checker, struct node *node)
{
    const struct node *map = check_argument(node, 0);
    struct node *assignment = node->call.data;
    if (!check_key(checker, node))
        return NULL;
    if (map->map.symbol && has_rows(map->map.symbol)) {
        check_error(checker, map->span, "find() cannot look into a histogram");
        return NULL;
    }
    if (!assignment) {
        struct node *value = node_new(checker->arena, NODE_MAP, map->span);
        value->map.name = map->map.name;
        value->map.key = check_argument(node, 1);
        assignment = node_new(checker->arena, NODE_ASSIGN, node->span);
        assignment->assign.target = node_clone(checker->arena, check_argument(node, 2));
        assignment->assign.value = value;
    }
    node->call.data = assignment;
    check_made(checker, assignment);
    return &type_bool;
}

static struct ir *lower_find_key(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    struct node *assignment = node->call.data, *element = assignment->assign.value;
    const struct cached_key outer = l->held;
    uint32_t result = ir_variable(b);
    (void)into;
    ir_write(b, result, ir_constant(b, 0));
    struct memory key = lower_map_key(l, element);
    struct ir_if found = ir_if(b, lower_map_lookup(l, element->map.symbol, key));
    /* The key may have side effects, and is not evaluated again. */
    l->held = (struct cached_key){element->map.key, key};
    if (type_is_scalar(assignment->type))
        lower_scalar(l, assignment);
    else
        lower_memory(l, assignment);
    l->held = outer;
    ir_write(b, result, ir_constant(b, 1));
    ir_end_if(b, &found);
    return ir_read(b, result);
}

static const struct type *check_has_key(struct checker *checker, struct node *node)
{
    const struct type *type = check_key(checker, node);
    const struct node *map = check_argument(node, 0);
    if (type && map->map.symbol && has_rows(map->map.symbol)) {
        check_error(checker, map->span, "has_key() cannot look into a map of histograms or time series");
        return NULL;
    }
    return type;
}

static const struct type *check_len(struct checker *checker, struct node *node)
{
    struct node *what = check_argument(node, 0);
    if (what->kind == NODE_MAP && !what->map.key && what->map.symbol) {
        if (what->map.symbol->key_known && !what->map.symbol->key)
            check_error(checker, what->span, "len() needs a map with keys: %s has none", what->map.name);
        else if (has_rows(what->map.symbol))
            check_error(checker, what->span,
                        "len() cannot count the keys of a map of histograms or time series");
        else
            return &type_u64;
        return NULL;
    }
    if (what->type->kind == TYPE_KSTACK || what->type->kind == TYPE_USTACK)
        return &type_u64;
    check_error(checker, what->span, "len() needs a map or a stack, found a value of type '%s'",
                type_text(checker->arena, what->type));
    return NULL;
}

static struct ir *lower_len(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *what = check_argument(node, 0);
    (void)into;
    if (what->kind == NODE_MAP && !what->map.key)
        return lower_map_length(l, what->map.symbol, node->span);
    struct memory stack = lower_memory(l, what);
    return lower_stack_length(l, ir_load(&l->b, stack.base, stack.offset, 8, false));
}

const struct builtin builtins_map[] = {
    {"clear",
     "clear(@map)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_MAP},
     .result = &type_none,
     .lower = lower_clear,
     .handle = handle_clear},
    {"zero",
     "zero(@map)",
     BUILTIN_CALL,
     1,
     1,
     {PARAMETER_MAP},
     .result = &type_none,
     .lower = lower_map_action,
     .handle = handle_zero},
    {"delete",
     "delete(@map, key)",
     BUILTIN_CALL | BUILTIN_VALUE_UNUSED_OK,
     1,
     2,
     {PARAMETER_ANY, PARAMETER_ANY},
     .check = check_delete,
     .lower = lower_delete,
     .handle = handle_delete},
    {"has_key",
     "has_key(@map, key)",
     BUILTIN_CALL,
     1,
     2,
     {PARAMETER_ANY, PARAMETER_ANY},
     .check = check_has_key,
     .lower = lower_has_key},
    {"find",
     "find(@map, key, $variable)",
     BUILTIN_CALL | BUILTIN_VALUE_UNUSED_OK,
     3,
     3,
     {PARAMETER_ANY, PARAMETER_ANY, PARAMETER_OUT},
     .check = check_find,
     .lower = lower_find_key},
    {"len", "len(@map | stack)", BUILTIN_CALL, 1, 1, {PARAMETER_ANY}, .check = check_len, .lower = lower_len},
    {0},
};
