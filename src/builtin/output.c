/* SPDX-License-Identifier: BSD-3-Clause */
/* What a script prints: the arguments travel in an event record, and the reader makes the text. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "builtin/all.h"
#include "builtin/formatted.h"
#include "builtin/sequence.h"
#include "print/format.h"
#include "print/record.h"
#include "print/snapshot.h"

enum { JOIN_WORDS = 16 };

const uint8_t *event_handler_field(const struct event_handler *handler, const struct action *action,
                                   uint32_t field, const uint8_t *record)
{
    return action_field(action, field, record, handler->record_length);
}

/* ---- printf, cat: a format and its arguments ---- */

/* Whether a value is an address where a text may be: a pointer to characters, or an argument whose type is not known. */
static bool is_address_of_text(const struct node *node)
{
    const struct type *type = node->type;
    const char *name = node->kind == NODE_NAME ? node->name.name : "";
    if (type->kind == TYPE_POINTER)
        return type->target->kind == TYPE_INTEGER && type->target->size == 1;
    return type->kind == TYPE_INTEGER && !strncmp(name, "arg", 3) && name[3] >= '0' && name[3] <= '9';
}

/* Warns of %s for an address, of which the number is printed. */
static void warn_of_address(struct checker *checker, const struct node *argument)
{
    enum { MOST = 40 };
    const struct span *span = &argument->span;
    const size_t length = span->source ? span->end - span->begin : 0;
    if (checker->unit->context->writes_sequence || !is_address_of_text(argument))
        return;
    check_warning(checker, *span, "%%s prints this address as a number, and not the text that may be there");
    check_hint(checker, "str(%s) is the text; %%p prints the number without this warning",
               length && length <= MOST ? arena_copy(checker->arena, span->source->text + span->begin, length)
                                        : "…");
}

/* Warns of %d for a time since the machine or the trace started, which wraps around every four seconds there. */
static void warn_of_cut(struct checker *checker, const struct node *argument,
                        const struct format_segment *conversion)
{
    static const char *const times[] = {"nsecs", "elapsed"};
    const char *name = argument->kind == NODE_NAME   ? argument->name.name
                       : argument->kind == NODE_CALL ? argument->call.name
                                                     : "";
    if (conversion->bits > 32 || !strchr("dioxXu", conversion->conversion) ||
        (strcmp(name, times[0]) != 0 && strcmp(name, times[1]) != 0))
        return;
    check_warning(checker, argument->span, "%%%c prints only the lower %u bits of %s", conversion->conversion,
                  conversion->bits, name);
    check_hint(checker, "%%ll%c prints all of it", conversion->conversion);
}

/* Says what looks like a conversion and is none. */
static void hint_text(struct checker *checker, const char *text)
{
    for (const char *at = strchr(text, '%'); at; at = strchr(at, '%')) {
        const char *begin = at++;
        at += strspn(at, "-+ #0123456789.*hljztL");
        if (*at && !strchr("diuoxXcpsrg%", *at)) {
            check_hint(checker, "'%.*s' is no conversion: it is printed as it is", (int)(at + 1 - begin),
                       begin);
            return;
        }
        at += *at != 0;
    }
}

const struct type *formatted_check(struct checker *checker, struct node *node)
{
    struct node *text = check_argument(node, 0);
    const struct format *format = format_parse(checker->arena, text->string.text, text->string.length);
    uint32_t supplied = node->call.arguments.count - 1;
    const char *problem = format_count_problem(checker->arena, format, supplied);
    if (problem) {
        check_error(checker, node->span, "%s: %s", node->call.name, problem);
        hint_text(checker, text->string.text);
        return NULL;
    }
    if (supplied > FORMATTED_ARGUMENTS) {
        check_error(checker, node->span, "%s: at most %d arguments can be printed at once", node->call.name,
                    FORMATTED_ARGUMENTS);
        return NULL;
    }
    for (uint32_t i = 0; i < supplied; i++) {
        struct node *argument = check_argument(node, i + 1);
        if (!argument->type || argument->type->kind == TYPE_NONE)
            continue; /* its type is not known in this pass, or an error was reported */
        if (!format_accepts(format_conversion(format, i), argument->type)) {
            char conversion = format_conversion(format, i)->conversion;
            check_error(checker, argument->span, "%s: unsupported format specifier for type '%s': %c",
                        node->call.name, type_text(checker->arena, argument->type), conversion);
            check_hint(checker, "%%s prints any value");
        } else if (format_conversion(format, i)->conversion == 's') {
            warn_of_address(checker, argument);
        } else {
            warn_of_cut(checker, argument, format_conversion(format, i));
        }
    }
    node->call.data = (void *)format;
    if (checker->unit->context->writes_sequence && !sequence_check(checker, node, format))
        return NULL;
    return &type_none;
}

struct ir *formatted_lower(struct lowering *l, struct node *node, struct destination *into)
{
    struct event_field fields[FORMATTED_ARGUMENTS] = {0};
    uint32_t count = 0;
    (void)into;
    if (l->context->writes_sequence) {
        sequence_lower(l, node, node->call.data);
        return NULL;
    }
    for (struct node *argument = node->call.arguments.first->next; argument; argument = argument->next)
        fields[count++].node = argument;
    lower_event(l, node, node->call.builtin, fields, count);
    return NULL;
}

bool formatted_is_own(const struct node *node)
{
    if (node->kind == NODE_TERNARY)
        return formatted_is_own(node->ternary.yes) && formatted_is_own(node->ternary.no);
    return node->kind == NODE_STRING || node->kind == NODE_INTEGER;
}

static void format_arguments(struct event_handler *handler, const struct action *action,
                             const uint8_t *record, bool is_terminal, struct format_argument *arguments)
{
    const uint32_t before = action->call->call.arguments.count - action->field_count;
    for (uint32_t i = 0; i < action->field_count; i++)
        arguments[i] = (struct format_argument){
            action->fields[i].type, event_handler_field(handler, action, i, record),
            is_terminal && formatted_is_own(check_argument(action->call, before + i))};
}

static void handle_printf(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    struct format_argument arguments[FORMATTED_ARGUMENTS];
    format_arguments(handler, action, record, handler->printer->is_terminal, arguments);
    record_format(handler->printer, "printf", action->call->call.data, arguments, action->field_count);
}

void formatted_text(struct event_handler *handler, const struct action *action, const uint8_t *record,
                    enum formatted_for purpose, struct text *text)
{
    struct format_argument arguments[FORMATTED_ARGUMENTS];
    struct printer printer = *handler->printer;
    printer.out = text;
    printer.json = false;
    printer.is_terminal =
        purpose == FORMATTED_MESSAGE || (purpose == FORMATTED_OUTPUT && printer.is_terminal);
    printer.scratch = (struct text){0};
    format_arguments(handler, action, record, printer.is_terminal, arguments);
    format_print(&printer, action->call->call.data, arguments, action->field_count);
    printer_free(&printer);
}

static void handle_cat(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    struct text path = {0}, content = {0};
    formatted_text(handler, action, record, FORMATTED_BYTES, &path);
    int descriptor = -1;
    errno = ENOMEM;
    if (!path.failed) /* out of memory: a part of the path would name another file */
        descriptor = open(text_string(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        handler->warn(handler, action->call->span, "failed to open file '%s' (%s)", text_string(&path),
                      strerror(errno));
    else {
        char part[4096];
        ssize_t got = 1;
        bool is_cut = false; /* because the trace is to end */
        while (content.length < handler->max_cat_bytes && !content.failed && got &&
               !(is_cut = handler->hurries(handler))) {
            size_t room = handler->max_cat_bytes - content.length;
            got = read(descriptor, part, room < sizeof part ? room : sizeof part);
            if (got > 0)
                text_append(&content, part, (size_t)got);
            else if (got < 0 && errno != EINTR)
                break;
        }
        if (content.failed || is_cut || (got < 0 && errno != EAGAIN)) /* again: there is no more now */
            handler->warn(handler, action->call->span, "failed to read file '%s' (%s)", text_string(&path),
                          strerror(content.failed ? ENOMEM
                                   : is_cut       ? EINTR
                                                  : errno));
        close(descriptor);
        record_foreign_text(handler->printer, "cat", &content);
    }
    text_free(&path);
    text_free(&content);
}

/* ---- print: a whole map, or a value ---- */

static bool is_whole_map(const struct node *node)
{
    return node->kind == NODE_MAP && !node->map.key && node->map.symbol &&
           (node->map.symbol->key ||
            (node->map.symbol->value && type_is_aggregation(node->map.symbol->value)));
}

/* top and div: constants, 0 when not given. */
static uint64_t print_number(const struct node *call, unsigned argument)
{
    const struct node *number = check_argument(call, argument);
    return number && number->kind == NODE_INTEGER ? number->integer.value : 0;
}

static const struct type *check_print(struct checker *checker, struct node *node)
{
    struct node *what = check_argument(node, 0);
    for (unsigned i = 1; i < node->call.arguments.count; i++) {
        struct node *number = check_argument(node, i);
        if (number->kind == NODE_INTEGER && (int64_t)number->integer.value < 0) {
            check_error(checker, number->span, "print: top and div must not be negative");
            return NULL;
        }
    }
    if (!is_whole_map(what) && node->call.arguments.count > 1 && what->kind != NODE_MAP) {
        check_error(checker, what->span, "print: top and div are for maps");
        return NULL;
    }
    const struct type *value = what->kind == NODE_MAP && what->map.key ? what->type : NULL;
    if (value && type_is_aggregation(value) && value->aggregation->shape != AGGREGATION_NUMBER) {
        check_error(checker, what->span,
                    "Map type %s cannot print the value of individual keys. You must print the whole map.",
                    type_text(checker->arena, value));
        check_hint(checker, "print(%s)", what->map.name);
        return NULL;
    }
    return &type_none;
}

static struct ir *lower_print(struct lowering *l, struct node *node, struct destination *into)
{
    struct node *what = check_argument(node, 0);
    struct event_field field = {.node = what};
    (void)into;
    bool whole = is_whole_map(what) || (what->kind == NODE_MAP && !what->map.key);
    lower_event(l, node, node->call.builtin, &field, whole ? 0 : 1);
    return NULL;
}

static void handle_print(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    const struct node *what = check_argument(action->call, 0);
    uint64_t top = print_number(action->call, 1), divisor = print_number(action->call, 2);
    if (action->field_count) {
        handler->printer->keeps_lines = formatted_is_own(what);
        record_value(handler->printer, action->fields[0].type,
                     event_handler_field(handler, action, 0, record), divisor);
        handler->printer->keeps_lines = false;
    } else if (snapshot_print(handler->printer, handler->host, handler->image,
                              (size_t)what->map.symbol->index, top, divisor, false))
        handler->warn(handler, action->call->span, "the map %s could not be read", what->map.name);
}

/* ---- join: an array of strings ---- */

static struct ir *lower_join(struct lowering *l, struct node *node, struct destination *into)
{
    enum address_space space;
    struct ir *array = lower_pointer(l, check_argument(node, 0), &space);
    (void)into;
    lower_event_texts(l, node, array, space, JOIN_WORDS, l->options->max_strlen);
    return NULL;
}

static void handle_join(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    const struct node *separator = check_argument(action->call, 1);
    struct text text = {0};
    size_t length;
    for (size_t at = action->size; at < handler->record_length; at += length / 8 * 8 + 8) {
        const char *word = (const char *)record + at;
        length = strnlen(word, handler->record_length - at);
        if (!length)
            break;
        if (at > action->size)
            text_add(&text, separator ? check_literal(separator) : " ");
        record_foreign_name(handler->printer, &text, word, length);
    }
    text_char(&text, '\n');
    record_text(handler->printer, "join", &text);
    text_free(&text);
}

enum { FORMAT = BUILTIN_CALL | BUILTIN_VARIADIC };

const struct builtin builtins_output[] = {
    {"printf",
     "printf(format, ...)",
     FORMAT | BUILTIN_WRITES_SEQUENCE,
     1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = formatted_check,
     .lower = formatted_lower,
     .handle = handle_printf},
    {"cat",
     "cat(format, ...)",
     FORMAT,
     1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = formatted_check,
     .lower = formatted_lower,
     .handle = handle_cat},
    {"print",
     "print(value | @map [, top [, div]])",
     BUILTIN_CALL,
     1,
     3,
     {PARAMETER_ANY, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER},
     .check = check_print,
     .lower = lower_print,
     .handle = handle_print},
    {"join",
     "join(array [, separator])",
     BUILTIN_CALL | BUILTIN_READS_MEMORY,
     1,
     2,
     {PARAMETER_POINTER, PARAMETER_LITERAL_STRING},
     .result = &type_none,
     .lower = lower_join,
     .handle = handle_join},
    {0},
};
