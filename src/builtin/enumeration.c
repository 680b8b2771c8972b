/* SPDX-License-Identifier: BSD-3-Clause */
/* enum_map(@names, x): fills a map with the names of an enum, without what they all begin with. It stands for
 * one assignment for each enumerator, so the map is an ordinary one, and full when the next statement runs.
 */
#include <string.h>

#include "bpf/lower/lower.h"
#include "builtin/all.h"

enum { ENUMERATORS_MAX = 512 };

struct filling {
    struct node **assignments;
    uint32_t count;
};

/* What all names begin with, up to and with an underscore; none may be left empty by it. */
static size_t common_prefix(const struct type *type)
{
    const char *first = type->enumerators[0].name;
    size_t length = type->count > 1 ? strlen(first) : 0;
    for (uint32_t i = 1; i < type->count; i++) {
        size_t same = 0;
        while (same < length && type->enumerators[i].name[same] == first[same])
            same++;
        length = same;
    }
    while (length && first[length - 1] != '_')
        length--;
    for (uint32_t i = 0; i < type->count; i++)
        if (!type->enumerators[i].name[length])
            return 0;
    return length;
}

/* The enum that the second argument means: that of a value, or one called by its name. */
static const struct type *find_enum(struct checker *checker, struct node *node)
{
    struct node *argument = check_argument(node, 1);
    const char *name = check_literal(argument);
    const struct type_provider *provider = checker->provider;
    const struct type *type = argument->type;
    if (name && provider) {
        bool is_tagged = !strncmp(name, "enum ", 5);
        type =
            provider->type(provider->state, is_tagged ? name : arena_printf(checker->arena, "enum %s", name));
        if (!type && !is_tagged)
            type = provider->type(provider->state, name);
    }
    if (type)
        type_complete(type);
    if (type && type->kind == TYPE_ENUM && type->count && type->count <= ENUMERATORS_MAX)
        return type;
    if (name && !type)
        check_error(checker, argument->span, "Unknown enum: %s", name);
    else if (type->kind != TYPE_ENUM)
        check_error(checker, argument->span, "enum_map() needs an enum, found '%s'",
                    type_text(checker->arena, type));
    else
        check_error(checker, argument->span, "enum_map() takes enums of 1 to %d values; this one has %u",
                    ENUMERATORS_MAX, type->count);
    check_hint(checker, "name the enum, as in \"pid_type\", or give one of its values");
    return NULL;
}

static struct node *make_assignment(struct checker *checker, const struct node *node,
                                    const struct enumerator *enumerator, size_t prefix)
{
    struct node *map = node_clone(checker->arena, check_argument(node, 0));
    struct node *key = node_new(checker->arena, NODE_INTEGER, node->span);
    struct node *name = node_new(checker->arena, NODE_STRING, node->span);
    struct node *assignment = node_new(checker->arena, NODE_ASSIGN, node->span);
    struct node *wide = node_new(checker->arena, NODE_CAST, node->span);
    key->integer.value = (uint64_t)enumerator->value;
    /* Any integer may be looked up. */
    wide->cast.name = (struct type_name){.name = "int64", .span = node->span};
    wide->cast.operand = key;
    name->string.text = enumerator->name + prefix;
    name->string.length = strlen(name->string.text);
    map->next = NULL;
    map->map.key = wide;
    assignment->assign.target = map;
    assignment->assign.value = name;
    return assignment;
}

static struct filling *make_filling(struct checker *checker, const struct node *node, const struct type *type)
{
    struct filling *filling = arena_new(checker->arena, struct filling);
    const struct node *given = check_argument(node, 2);
    const char *prefix = given ? check_literal(given) : NULL;
    size_t common = prefix ? 0 : common_prefix(type);
    filling->assignments = arena_array(checker->arena, type->count, sizeof *filling->assignments);
    for (uint32_t i = 0; i < type->count; i++) {
        const struct enumerator *enumerator = &type->enumerators[i];
        size_t skip = prefix && !strncmp(enumerator->name, prefix, strlen(prefix)) ? strlen(prefix) : common;
        /* Of two names for one value, the first is the one that is printed everywhere. */
        if (type_enumerator(type, enumerator->value) == enumerator->name)
            filling->assignments[filling->count++] =
                make_assignment(checker, node, enumerator, enumerator->name[skip] ? skip : 0);
    }
    return filling;
}

static const struct type *check_enum_map(struct checker *checker, struct node *node)
{
    struct filling *filling = node->call.data;
    if (!filling) {
        const struct type *type = find_enum(checker, node);
        if (!type)
            return NULL;
        filling = node->call.data = make_filling(checker, node, type);
    }
    size_t errors = checker->diagnostics->errors;
    for (uint32_t i = 0; i < filling->count && checker->diagnostics->errors == errors; i++)
        check_made(checker, filling->assignments[i]);
    return &type_none;
}

static struct ir *lower_enum_map(struct lowering *l, struct node *node, struct destination *into)
{
    const struct filling *filling = node->call.data;
    (void)into;
    for (uint32_t i = 0; i < filling->count; i++)
        lower_statement(l, filling->assignments[i]);
    return NULL;
}

const struct builtin builtins_enumeration[] = {
    {"enum_map",
     "enum_map(@map, enum [, \"PREFIX_\"])",
     BUILTIN_CALL,
     2,
     3,
     {PARAMETER_OUT_MAP, PARAMETER_ANY, PARAMETER_LITERAL_STRING},
     .check = check_enum_map,
     .lower = lower_enum_map},
    {0},
};
