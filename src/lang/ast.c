/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, copying, walking and printing trees. One table says where the children of every kind of node are; the
 * other functions here distinguish kinds only by what they hold besides children. */
#include "lang/ast.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { CHILDREN_MAX = 4, NODE_KINDS = NODE_RETURN + 1 };

/* The children of each kind of node, in the order of evaluation: offsets of pointers in struct node, then the
 * offset of a list; 0: there is none. */
static const struct shape {
    const char *name;
    uint16_t children[CHILDREN_MAX];
    uint16_t list;
} shapes[NODE_KINDS] = {
#define CHILD(member) offsetof(struct node, member)
    [NODE_INTEGER] = {"integer", {0}, 0},
    [NODE_BOOL] = {"bool", {0}, 0},
    [NODE_STRING] = {"string", {0}, 0},
    [NODE_NAME] = {"name", {0}, 0},
    [NODE_VARIABLE] = {"variable", {0}, 0},
    [NODE_MAP] = {"map", {CHILD(map.key)}, 0},
    [NODE_PARAMETER] = {"parameter", {0}, 0},
    [NODE_CALL] = {"call", {0}, CHILD(call.arguments)},
    [NODE_UNARY] = {"unary", {CHILD(unary.operand)}, 0},
    [NODE_BINARY] = {"binary", {CHILD(binary.left), CHILD(binary.right)}, 0},
    [NODE_TERNARY] = {"ternary", {CHILD(ternary.condition), CHILD(ternary.yes), CHILD(ternary.no)}, 0},
    [NODE_ASSIGN] = {"assign", {CHILD(assign.target), CHILD(assign.value)}, 0},
    [NODE_STEP] = {"step", {CHILD(step.target)}, 0},
    [NODE_FIELD] = {"field", {CHILD(field.object)}, 0},
    [NODE_INDEX] = {"index", {CHILD(binary.left), CHILD(binary.right)}, 0},
    [NODE_CAST] = {"cast", {CHILD(cast.operand), CHILD(cast.name.of)}, 0},
    [NODE_TUPLE] = {"tuple", {0}, CHILD(list)},
    [NODE_SIZEOF] = {"sizeof", {CHILD(cast.operand), CHILD(cast.name.of)}, 0},
    [NODE_OFFSETOF] = {"offsetof", {CHILD(cast.operand), CHILD(cast.name.of)}, 0},
    [NODE_TYPEOF] = {"typeof", {CHILD(cast.operand), CHILD(cast.name.of)}, 0},
    [NODE_TYPEINFO] = {"typeinfo", {CHILD(cast.operand), CHILD(cast.name.of)}, 0},
    [NODE_COMPTIME] = {"comptime", {CHILD(unary.operand)}, 0},
    [NODE_BLOCK_VALUE] = {"block value", {0}, CHILD(list)},
    [NODE_EXPRESSION] = {"expression", {CHILD(unary.operand)}, 0},
    [NODE_LET] = {"let", {CHILD(let.target), CHILD(let.type_name.of), CHILD(let.value)}, 0},
    [NODE_BLOCK] = {"block", {0}, CHILD(list)},
    [NODE_IF] = {"if", {CHILD(ternary.condition), CHILD(ternary.yes), CHILD(ternary.no)}, 0},
    [NODE_WHILE] = {"while", {CHILD(loop.condition), CHILD(loop.body)}, 0},
    [NODE_FOR_RANGE] = {"for", {CHILD(loop.variable), CHILD(loop.from), CHILD(loop.to), CHILD(loop.body)}, 0},
    [NODE_FOR_MAP] = {"for", {CHILD(loop.variable), CHILD(loop.map), CHILD(loop.body)}, 0},
    [NODE_UNROLL] = {"unroll", {CHILD(loop.from), CHILD(loop.body)}, 0},
    [NODE_BREAK] = {"break", {0}, 0},
    [NODE_CONTINUE] = {"continue", {0}, 0},
    [NODE_RETURN] = {"return", {CHILD(unary.operand)}, 0},
#undef CHILD
};

static const char *const operator_texts[] = {
    [OPERATOR_NONE] = "",         [OPERATOR_ADD] = "+",         [OPERATOR_SUB] = "-",
    [OPERATOR_MUL] = "*",         [OPERATOR_DIV] = "/",         [OPERATOR_MOD] = "%",
    [OPERATOR_AND] = "&",         [OPERATOR_OR] = "|",          [OPERATOR_XOR] = "^",
    [OPERATOR_SHL] = "<<",        [OPERATOR_SHR] = ">>",        [OPERATOR_EQ] = "==",
    [OPERATOR_NE] = "!=",         [OPERATOR_LT] = "<",          [OPERATOR_LE] = "<=",
    [OPERATOR_GT] = ">",          [OPERATOR_GE] = ">=",         [OPERATOR_LOGICAL_AND] = "&&",
    [OPERATOR_LOGICAL_OR] = "||", [OPERATOR_NOT] = "!",         [OPERATOR_COMPLEMENT] = "~",
    [OPERATOR_NEGATE] = "-",      [OPERATOR_DEREFERENCE] = "*", [OPERATOR_ADDRESS] = "&",
};

const char *operator_text(enum operator op)
{
    return (size_t)op < sizeof operator_texts / sizeof operator_texts[0] ? operator_texts[op] : "?";
}

struct node *node_new(struct arena *arena, enum node_kind kind, struct span span)
{
    struct node *node = arena_new(arena, struct node);
    node->kind = kind;
    node->span = span;
    return node;
}

bool node_is_expression(const struct node *node)
{
    return node->kind < NODE_EXPRESSION;
}

void node_append(struct node_list *list, struct node *node)
{
    assert(!node->next);
    if (list->last)
        list->last->next = node;
    else
        list->first = node;
    list->last = node;
    list->count++;
}

/* Returns the address of child number i, or NULL if the kind has fewer children. */
static struct node **node_child(struct node *node, unsigned i)
{
    unsigned offset = i < CHILDREN_MAX ? shapes[node->kind].children[i] : 0;
    return offset ? (struct node **)((char *)node + offset) : NULL;
}

static struct node_list *node_list_of(struct node *node)
{
    unsigned offset = shapes[node->kind].list;
    return offset ? (struct node_list *)((char *)node + offset) : NULL;
}

/* Whether child number i is the same node as the first one, as in `a ?: b`. */
static bool node_child_is_shared(const struct node *node, unsigned i)
{
    return node->kind == NODE_TERNARY && i == 1 && node->ternary.yes == node->ternary.condition;
}

/* Removes what the checker and lowering put into a node. */
static void node_forget(struct node *node)
{
    node->type = NULL;
    node->next = NULL;
    switch (node->kind) {
    case NODE_NAME:
        node->name.builtin = NULL;
        node->name.number = 0;
        break;
    case NODE_VARIABLE: node->variable.symbol = NULL; break;
    case NODE_MAP: node->map.symbol = NULL; break;
    case NODE_CALL:
        node->call.builtin = NULL;
        node->call.subprogram = NULL;
        node->call.data = NULL;
        break;
    case NODE_FIELD: node->field.found = (struct field){0}; break;
    case NODE_CAST:
    case NODE_SIZEOF:
    case NODE_OFFSETOF:
    case NODE_TYPEOF:
    case NODE_TYPEINFO: node->cast.target = NULL; break;
    default: break;
    }
}

struct node *node_clone(struct arena *arena, const struct node *node)
{
    if (!node)
        return NULL;
    struct node *clone = arena_new(arena, struct node);
    *clone = *node;
    node_forget(clone);
    for (unsigned i = 0; node_child(clone, i); i++) {
        struct node **child = node_child(clone, i);
        *child = node_child_is_shared(node, i) ? clone->ternary.condition : node_clone(arena, *child);
    }
    struct node_list *list = node_list_of(clone);
    if (list) {
        const struct node *item = list->first;
        *list = (struct node_list){0};
        for (; item; item = item->next)
            node_append(list, node_clone(arena, item));
    }
    return clone;
}

void node_walk(struct node *node, bool (*visit)(struct node *node, void *state), void *state)
{
    if (!node || !visit(node, state))
        return;
    for (unsigned i = 0; node_child(node, i); i++)
        if (!node_child_is_shared(node, i))
            node_walk(*node_child(node, i), visit, state);
    struct node_list *list = node_list_of(node);
    for (struct node *item = list ? list->first : NULL; item; item = item->next)
        node_walk(item, visit, state);
}

bool node_is_deeper(const struct node *node, unsigned levels)
{
    if (!node)
        return false;
    if (!levels)
        return true;
    struct node *readable = (struct node *)node; /* node_child serves writers too */
    for (unsigned i = 0; node_child(readable, i); i++)
        if (!node_child_is_shared(node, i) && node_is_deeper(*node_child(readable, i), levels - 1))
            return true;
    const struct node_list *list = node_list_of(readable);
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (node_is_deeper(item, levels - 1))
            return true;
    return false;
}

static void print_string(struct text *out, const char *string, size_t length)
{
    static const char escapes[] = "\nn\tt\rr\"\"\\\\";
    text_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        const char *pair = escapes;
        while (*pair && *pair != string[i])
            pair += 2;
        if (*pair)
            text_printf(out, "\\%c", pair[1]);
        else if ((unsigned char)string[i] < ' ' || string[i] == 0x7f)
            text_printf(out, "\\x%02x", (unsigned char)string[i]);
        else
            text_char(out, string[i]);
    }
    text_char(out, '"');
}

bool type_name_is_given(const struct type_name *name)
{
    return name->name || name->of;
}

bool type_name_is_open(const struct type_name *name)
{
    return name->suffix_count && name->suffixes[name->suffix_count - 1] == TYPE_NAME_OPEN;
}

static void print_type_name(struct text *out, const struct type_name *name)
{
    text_printf(out, " %s", name->name ? name->name : "typeof()");
    for (uint32_t i = 0; i < name->suffix_count; i++) {
        uint32_t suffix = name->suffixes[i];
        if (!suffix)
            text_add(out, i && !name->suffixes[i - 1] ? "*" : " *");
        else if (suffix == TYPE_NAME_OPEN)
            text_add(out, "[]");
        else
            text_printf(out, "[%" PRIu32 "]", suffix);
    }
}

static void print_members(struct text *out, const struct member_path *members)
{
    for (const struct member_path *member = members; member; member = member->next)
        if (member->name)
            text_printf(out, " .%s", member->name);
        else
            text_printf(out, " [%" PRIu32 "]", member->element);
}

/* Prints what a node holds besides its children: name, value, operator. */
/* NOLINTNEXTLINE(readability-function-size): a case for each kind of node */
static void print_details(struct text *out, const struct node *node)
{
    switch (node->kind) {
    case NODE_INTEGER:
        if (node->integer.is_unsigned)
            text_printf(out, " %" PRIu64, node->integer.value);
        else
            text_printf(out, " %" PRId64, (int64_t)node->integer.value);
        break;
    case NODE_BOOL: text_add(out, node->integer.value ? " true" : " false"); break;
    case NODE_STRING:
        text_char(out, ' ');
        print_string(out, node->string.text, node->string.length);
        break;
    case NODE_NAME: text_printf(out, " %s", node->name.name); break;
    case NODE_VARIABLE: text_printf(out, " %s", node->variable.name); break;
    case NODE_MAP: text_printf(out, " %s", node->map.name); break;
    case NODE_PARAMETER:
        if (node->integer.value)
            text_printf(out, " $%" PRIu64, node->integer.value);
        else
            text_add(out, " $#");
        break;
    case NODE_CALL: text_printf(out, " %s", node->call.name); break;
    case NODE_UNARY: text_printf(out, " %s", operator_text(node->unary.op)); break;
    case NODE_BINARY: text_printf(out, " %s", operator_text(node->binary.op)); break;
    case NODE_TERNARY:
        if (node_child_is_shared(node, 1))
            text_add(out, " ?:");
        break;
    case NODE_ASSIGN: text_printf(out, " %s=", operator_text(node->assign.op)); break;
    case NODE_STEP: {
        const char *op = operator_text(node->step.op);
        text_printf(out, " %s%s %s", op, op, node->step.is_prefix ? "before" : "after");
        break;
    }
    case NODE_FIELD:
        if (node->field.name)
            text_printf(out, " .%s", node->field.name);
        else
            text_printf(out, " .%" PRIu32, node->field.element);
        break;
    case NODE_CAST: print_type_name(out, &node->cast.name); break;
    case NODE_SIZEOF:
    case NODE_OFFSETOF:
    case NODE_TYPEOF:
    case NODE_TYPEINFO:
        if (!node->cast.operand)
            print_type_name(out, &node->cast.name);
        print_members(out, node->cast.members);
        break;
    case NODE_TUPLE:
        for (uint32_t i = 0; node->names && i < node->list.count; i++)
            text_printf(out, "%s%s", i ? "," : " ", node->names[i]);
        break;
    case NODE_EXPRESSION: text_add(out, node->unary.is_silent ? " _ =" : ""); break;
    case NODE_LET:
        if (node->let.has_type)
            print_type_name(out, &node->let.type_name);
        break;
    default: break;
    }
}

void node_print(struct text *out, const struct node *node, unsigned indent)
{
    if (!node)
        return;
    text_fill(out, ' ', indent);
    text_add(out, shapes[node->kind].name);
    print_details(out, node);
    if (node->type && node->type->kind != TYPE_NONE) {
        text_add(out, " :: ");
        type_describe(out, node->type);
    }
    text_char(out, '\n');
    struct node *readable = (struct node *)node; /* node_child serves writers too */
    for (unsigned i = 0; node_child(readable, i); i++)
        if (!node_child_is_shared(node, i))
            node_print(out, *node_child(readable, i), indent + 2);
    struct node_list *list = node_list_of(readable);
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        node_print(out, item, indent + 2);
}

void script_print(struct text *out, const struct script *script)
{
    for (const struct subprogram *subprogram = script->subprograms; subprogram;
         subprogram = subprogram->next) {
        text_printf(out, "fn %s\n", subprogram->name);
        for (const struct node *node = subprogram->parameters.first; node; node = node->next)
            node_print(out, node, 4);
        node_print(out, subprogram->body, 2);
    }
    for (const struct action_block *block = script->blocks; block; block = block->next) {
        for (const struct attach_point *point = block->attach_points; point; point = point->next) {
            text_add(out, "probe ");
            for (size_t i = 0; i < point->piece_count; i++)
                text_printf(out, "%s%s", i ? ":" : "", point->pieces[i].text);
            text_char(out, '\n');
        }
        if (block->predicate) {
            text_add(out, "  predicate\n");
            node_print(out, block->predicate, 4);
        }
        node_print(out, block->body, 2);
    }
}
