/* SPDX-License-Identifier: BSD-3-Clause */
/* Builtins, with and without parentheses: names, flags, numbers and kinds of arguments. Other rules are checked by
 * the callbacks of a builtin's entry in the registry. */
#include <string.h>

#include "lang/check/state.h"

struct node *check_argument(const struct node *call, unsigned number)
{
    if (call->kind != NODE_CALL)
        return NULL;
    struct node *argument = call->call.arguments.first;
    while (argument && number--)
        argument = argument->next;
    return argument;
}

const char *check_literal(const struct node *node)
{
    return node && node->kind == NODE_STRING ? node->string.text : NULL;
}

const struct type *check_made(struct checker *checker, struct node *node)
{
    return check_value(checker, node);
}

/* ---- what every use of a builtin must obey ---- */

static bool builtin_allowed(struct checker *checker, const struct node *node, const struct builtin *builtin)
{
    const char *call = node->kind == NODE_CALL ? "()" : "";
    if ((builtin->flags & BUILTIN_UNSAFE) && !checker->is_unsafe) {
        check_error(checker, node->span, "%s%s is an unsafe function being used in safe mode", builtin->name,
                    call);
        check_hint(checker, "run with --unsafe to allow it");
        return false;
    }
    if (checker->unit && checker->unit->context->writes_sequence && builtin->handle &&
        !(builtin->flags & BUILTIN_WRITES_SEQUENCE)) {
        check_error(checker, node->span, "%s%s is not available in a pinned iterator", builtin->name, call);
        check_hint(checker, "it runs when nobody is here to act: only printf() reaches who reads it");
        return false;
    }
    if ((builtin->flags & BUILTIN_NO_LOOP) && checker->loop_depth) {
        check_error(checker, node->span, "%s%s is not allowed inside loops", builtin->name, call);
        check_hint(checker, "leave the loop with break or return");
        return false;
    }
    return true;
}

/* Returns the type of a builtin's result, which its own check decides. A pointer without an address space gets the
 * probe's. */
static const struct type *builtin_result(struct checker *checker, struct node *node,
                                         const struct builtin *builtin)
{
    const struct type *type = builtin->check ? builtin->check(checker, node) : builtin->result;
    const struct probe_context *context = checker->unit ? checker->unit->context : NULL;
    if (!type) {
        check_unresolved(checker, node->span);
        return NULL;
    }
    if (type->kind == TYPE_POINTER && type->space == SPACE_NONE && context && context->space != SPACE_NONE)
        return check_pointer_type(checker, node, type->target, context->space);
    return type;
}

/* ---- names ---- */

/* Offers what a name of another tracer is called here. */
static bool suggest_synonym(struct checker *checker, const char *name, unsigned flags)
{
    const struct builtin_synonym *synonym = checker->builtins->synonyms;
    while (synonym && synonym->name && strcmp(synonym->name, name) != 0)
        synonym++;
    if (!synonym || !synonym->name)
        return false;
    if (synonym->hint)
        check_hint(checker, "%s", synonym->hint);
    else
        check_nearest(checker, &(struct nearest){.name = name, .best = synonym->meant},
                      flags == BUILTIN_CALL ? "()" : "");
    return true;
}

/* Offers the argument of the probe that has the name. */
static bool suggest_argument(struct checker *checker, const struct node *node)
{
    const struct type *args = checker->unit ? checker->unit->context->args : NULL;
    for (uint32_t i = 0; args && i < args->count; i++) {
        if (!args->fields[i].name || strcmp(args->fields[i].name, node->name.name) != 0)
            continue;
        const char *best = arena_printf(checker->arena, "args.%s", node->name.name);
        check_nearest(checker, &(struct nearest){.name = node->name.name, .best = best}, "");
        return true;
    }
    return false;
}

static bool suggest_name(struct checker *checker, const char *name, unsigned flags)
{
    struct nearest nearest = {.name = name};
    if (!check_takes_hint(checker))
        return true; /* a hint would be dropped: no other one is needed either */
    if (suggest_synonym(checker, name, flags))
        return true;
    builtin_suggest(checker->builtins, &nearest, flags);
    /* A mistyped statement of one word looks like a name. */
    static const char *const statements[] = {"return", "break", "continue"};
    for (size_t i = 0; flags == BUILTIN_BARE && i < sizeof statements / sizeof *statements; i++)
        nearest_offer(&nearest, statements[i]);
    if (nearest.best)
        check_nearest(checker, &nearest, flags == BUILTIN_CALL ? "()" : "");
    return nearest.best;
}

static bool find_enumerator(struct checker *checker, struct node *node)
{
    const struct type_provider *provider = checker->provider;
    int64_t value;
    const struct type *type = provider && provider->enumerator
                                  ? provider->enumerator(provider->state, node->name.name, &value)
                                  : NULL;
    if (!type)
        return false;
    fold_to_integer(node, (uint64_t)value, type->size == 8 && !type->is_signed, type);
    return true;
}

/* Says what an unknown name that is like no other may have been meant as. */
static void hint_unknown(struct checker *checker, const char *name)
{
    if (checker->without_types)
        check_hint(checker, "%s", checker->without_types);
    else if (!name[strcspn(name, "abcdefghijklmnopqrstuvwxyz")])
        check_hint(checker,
                   "constants of C come from a header, #include <...>, or are defined: #define %s ...", name);
    else
        check_hint(checker, "a text is written \"%s\", a variable $%s, a map @%s", name, name, name);
}

const struct type *check_name(struct checker *checker, struct node *node)
{
    uint32_t number = 0;
    const struct builtin *builtin = builtin_find(checker->builtins, node->name.name, &number);
    if (builtin && (builtin->flags & BUILTIN_BARE)) {
        node->name.builtin = builtin;
        node->name.number = number;
        return builtin_allowed(checker, node, builtin) ? builtin_result(checker, node, builtin) : NULL;
    }
    if (find_enumerator(checker, node))
        return check_expression(checker, node);
    check_error(checker, node->span, "Unknown identifier: '%s'", node->name.name);
    const struct type_provider *provider = checker->provider;
    const char *missing =
        provider && provider->missing_header ? provider->missing_header(provider->state) : NULL;
    if (missing && !builtin)
        check_hint(
            checker,
            "<%s> is not on this machine, and kernel BTF has no constants of #define: write #define %s …",
            missing, node->name.name);
    else if (check_takes_hint(checker) && suggest_argument(checker, node))
        return NULL;
    else if (builtin)
        check_hint(checker, "%s is a function: %s", node->name.name,
                   builtin->synopsis ? builtin->synopsis : "()");
    else if (!suggest_name(checker, node->name.name, BUILTIN_BARE))
        hint_unknown(checker, node->name.name);
    return NULL;
}

/* ---- arguments ---- */

static bool check_argument_count(struct checker *checker, const struct node *node,
                                 const struct builtin *builtin)
{
    uint32_t found = node->call.arguments.count;
    unsigned least = builtin->least, most = builtin->most;
    bool is_variadic = builtin->flags & BUILTIN_VARIADIC;
    if (found >= least && (is_variadic || found <= most))
        return true;
    struct text wanted = {0};
    if (is_variadic)
        text_printf(&wanted, "at least %u argument%s", least, least == 1 ? "" : "s");
    else if (most == 0)
        text_add(&wanted, "no arguments");
    else if (least == most)
        text_printf(&wanted, "%u argument%s", least, least == 1 ? "" : "s");
    else
        text_printf(&wanted, most == least + 1 ? "%u or %u arguments" : "%u to %u arguments", least, most);
    check_error(checker, node->span, "%s() requires %s, found %u", builtin->name, text_string(&wanted),
                found);
    text_free(&wanted);
    if (builtin->synopsis)
        check_hint(checker, "%s", builtin->synopsis);
    return false;
}

static const struct {
    const char *text; /* what the builtin takes, for messages */
} parameter_facts[] = {
    [PARAMETER_NONE] = {"nothing"},
    [PARAMETER_INTEGER] = {"an integer"},
    [PARAMETER_POINTER] = {"a pointer or an integer"},
    [PARAMETER_STRING] = {"a string"},
    [PARAMETER_LITERAL_STRING] = {"a string literal"},
    [PARAMETER_LITERAL_INTEGER] = {"an integer constant"},
    [PARAMETER_MAP] = {"a map"},
    [PARAMETER_WORD] = {"a word or an integer constant"},
    [PARAMETER_ANY] = {"a value"},
    [PARAMETER_BYTES] = {"a pointer, an integer, a string, an array or a buffer"},
    [PARAMETER_OUT] = {"a scratch variable"},
    [PARAMETER_OUT_MAP] = {"a map"},
    [PARAMETER_TEXT] = {"a pointer, an integer or a string"},
};

static enum parameter_kind parameter_of(const struct builtin *builtin, unsigned number)
{
    if (number < BUILTIN_PARAMETERS && (!(builtin->flags & BUILTIN_VARIADIC) || builtin->parameters[number]))
        return builtin->parameters[number];
    for (unsigned i = BUILTIN_PARAMETERS; i > 0; i--)
        if (builtin->parameters[i - 1])
            return builtin->parameters[i - 1];
    return PARAMETER_ANY;
}

static bool is_address(const struct type *type)
{
    return type->kind == TYPE_POINTER || type->kind == TYPE_INTEGER || type->kind == TYPE_ARRAY;
}

/* Gives a char array in traced memory its type of an array, not of a string, because its address is wanted. */
static void text_to_array(struct node *node)
{
    if (node->kind == NODE_FIELD && node->type->kind == TYPE_STRING && node->field.found.type &&
        node->field.found.type->kind == TYPE_ARRAY)
        node->type = node->field.found.type;
}

bool check_name_as_text(struct checker *checker, struct node *node)
{
    if (!node->type || node->type->kind != TYPE_PROBE_NAME)
        return false;
    const struct type *text = type_string(checker->arena, node->type->count);
    struct node *name = arena_new(checker->arena, struct node);
    *name = *node;
    name->next = NULL;
    node->kind = NODE_CAST;
    memset(&node->cast, 0, sizeof node->cast);
    node->cast.operand = name;
    node->cast.is_of_name = true;
    node->cast.target = node->type = text;
    return true;
}

static bool argument_fits(struct checker *checker, struct node *argument, enum parameter_kind kind)
{
    const struct type *type = argument->type;
    int64_t value;
    switch (kind) {
    case PARAMETER_INTEGER: return type_is_number(type);
    case PARAMETER_POINTER: text_to_array(argument); return is_address(argument->type);
    case PARAMETER_BYTES:
        text_to_array(argument);
        return is_address(argument->type) || type->kind == TYPE_STRING || type->kind == TYPE_BUFFER ||
               type->kind == TYPE_STRUCT;
    case PARAMETER_TEXT:
        return is_address(type) || type->kind == TYPE_STRING || check_name_as_text(checker, argument);
    case PARAMETER_STRING: return type->kind == TYPE_STRING || check_name_as_text(checker, argument);
    case PARAMETER_OUT: return false;
    case PARAMETER_LITERAL_STRING: return argument->kind == NODE_STRING;
    case PARAMETER_WORD:
    case PARAMETER_LITERAL_INTEGER:
        if (!type_is_number(type) || !check_constant(checker, argument, &value))
            return false;
        /* The size of a value may still grow: it becomes a number in the last pass. */
        if (argument->kind != NODE_INTEGER && argument->kind != NODE_SIZEOF) {
            fold_to_integer(argument, (uint64_t)value, false, NULL);
            argument->type = fold_literal_type(argument);
        }
        return true;
    default: return true;
    }
}

/* Checks an argument of a builtin. Returns its type, or NULL if that is unknown or wrong. */
static const struct type *check_call_argument(struct checker *checker, const struct builtin *builtin,
                                              struct node *argument, unsigned number)
{
    static const char *const ordinals[] = {"first", "second", "third", "fourth", "fifth", "sixth"};
    enum parameter_kind kind = parameter_of(builtin, number);
    const char *ordinal = number < 6 ? ordinals[number] : "last";
    if (argument->kind == NODE_MAP && kind == PARAMETER_MAP)
        return argument->type = check_map_argument(checker, argument, true);
    if (argument->kind == NODE_MAP && kind == PARAMETER_ANY && !(builtin->flags & BUILTIN_VARIADIC))
        return argument->type = check_map_argument(checker, argument, false);
    if (kind == PARAMETER_MAP) {
        check_error(checker, argument->span, "%s() expects a map as its %s argument", builtin->name, ordinal);
        if (builtin->synopsis)
            check_hint(checker, "%s", builtin->synopsis);
        return NULL;
    }
    if (kind == PARAMETER_WORD && argument->kind == NODE_NAME)
        return argument->type = &type_none; /* the builtin itself checks the word */
    if ((kind == PARAMETER_OUT && argument->kind == NODE_VARIABLE) ||
        (kind == PARAMETER_OUT_MAP && argument->kind == NODE_MAP && !argument->map.key))
        return argument->type = &type_none;
    if (kind == PARAMETER_OUT_MAP) {
        check_error(checker, argument->span, "%s() fills a whole map: %s", builtin->name, builtin->synopsis);
        return NULL;
    }
    const struct type *type = check_value(checker, argument);
    if (!type || argument_fits(checker, argument, kind))
        return argument->type;
    check_error(checker, argument->span, "%s() expects %s as its %s argument ('%s' provided)", builtin->name,
                parameter_facts[kind].text, ordinal, type_text(checker->arena, type));
    return NULL;
}

/* ---- calls ---- */

static const struct type *check_call_of(struct checker *checker, struct node *node,
                                        const struct builtin *builtin)
{
    bool is_allowed = builtin_allowed(checker, node, builtin) && check_argument_count(checker, node, builtin);
    bool is_known = is_allowed;
    unsigned number = 0;
    for (struct node *argument = node->call.arguments.first; argument; argument = argument->next, number++)
        if (is_allowed)
            is_known &= check_call_argument(checker, builtin, argument, number) != NULL;
        else if (argument->kind != NODE_MAP) /* reports the argument's own mistakes, too */
            check_expression(checker, argument);
    /* If something is wrong or not known yet, the result is the type that the builtin has in any case, so that one
     * mistake makes one message. */
    return is_known ? builtin_result(checker, node, builtin) : builtin->result;
}

bool check_is_aggregation_call(struct checker *checker, const struct node *node)
{
    if (node->kind != NODE_CALL)
        return false;
    const struct builtin *builtin = builtin_find(checker->builtins, node->call.name, NULL);
    return builtin && (builtin->flags & BUILTIN_AGGREGATION);
}

const struct type *check_aggregation_call(struct checker *checker, struct node *node)
{
    node->call.builtin = builtin_find(checker->builtins, node->call.name, NULL);
    return node->type = check_call_of(checker, node, node->call.builtin);
}

const struct type *check_call(struct checker *checker, struct node *node)
{
    const struct builtin *builtin = builtin_find(checker->builtins, node->call.name, NULL);
    struct subprogram *subprogram = builtin ? NULL : check_find_subprogram(checker, node);
    if (subprogram)
        return check_subprogram_call(checker, node, subprogram);
    if (!builtin || !(builtin->flags & BUILTIN_CALL)) {
        check_error(checker, node->span, "Unknown function: '%s'", node->call.name);
        if (builtin)
            check_hint(checker, "%s is written without parentheses", node->call.name);
        else
            suggest_name(checker, node->call.name, BUILTIN_CALL);
        return NULL;
    }
    node->call.builtin = builtin;
    if (builtin->flags & BUILTIN_AGGREGATION) {
        check_error(checker, node->span, "%s() must be assigned directly to a map", builtin->name);
        check_hint(checker, "for instance: @x = %s", builtin->synopsis ? builtin->synopsis : builtin->name);
        return NULL;
    }
    return check_call_of(checker, node, builtin);
}
