/* SPDX-License-Identifier: BSD-3-Clause */
/* What a script says about itself, with the place where it says so: while it runs (errorf, warnf, assert, and
 * debugf to the kernel's trace) and while it is compiled (fail, static_assert). */
#include <string.h>

#include "builtin/all.h"
#include "builtin/formatted.h"
#include "print/record.h"

/* ---- while it runs ---- */

static void report(struct event_handler *handler, const struct action *action, enum severity severity,
                   const struct text *said)
{
    const char *text = said->failed ? "there is not enough memory for a message" : text_string(said);
    struct span span = action->call->span;
    if (severity == DIAGNOSTIC_WARNING && handler->no_warnings)
        return;
    if (!handler->is_json || handler->is_broken) {
        handler->report(handler, severity, span, text);
        return;
    }
    struct position at = {0, 0};
    if (span.source)
        at = source_position(span.source, span.begin);
    struct record_problem problem = {.kind = severity == DIAGNOSTIC_ERROR ? "errorf" : "warnf",
                                     .message = text,
                                     .file = span.source ? span.source->name : "",
                                     .line = at.line,
                                     .column = at.column};
    record_problem(handler->out, &problem);
}

/* data: enum severity */
static void handle_message(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    struct text text = {0};
    formatted_text(handler, action, record, handler->is_json ? FORMATTED_BYTES : FORMATTED_MESSAGE, &text);
    report(handler, action, (enum severity)action->builtin->data, &text);
    text_free(&text);
}

static const struct type *check_assert(struct checker *checker, struct node *node)
{
    const struct node *condition = check_argument(node, 0);
    const struct type *type = condition->type;
    if (!type || type->kind == TYPE_NONE || type_is_scalar(type))
        return &type_none;
    check_error(checker, condition->span, "assert(): the condition must be a number or a pointer, found '%s'",
                type_text(checker->arena, type));
    return NULL;
}

static struct ir *lower_assert(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    struct event_field message = {.node = check_argument(node, 1)};
    struct ir_block *holds = ir_label(b);
    (void)into;
    ir_jump_if(b, lower_condition(l, check_argument(node, 0)), holds);
    lower_event(l, node, node->call.builtin, &message, 1);
    lower_return(l, NULL);
    ir_place(b, holds);
    return NULL;
}

static void handle_assert(struct event_handler *handler, const struct action *action, const uint8_t *record)
{
    struct text text = {0};
    struct printer printer = *handler->printer;
    printer.out = &text;
    printer.scratch = (struct text){0};
    printer.is_terminal = !handler->is_json; /* a message */
    printer.keeps_lines = formatted_is_own(check_argument(action->call, 1));
    text_add(&text, "assert failed: ");
    print_text(&printer, action->fields[0].type, event_handler_field(handler, action, 0, record));
    report(handler, action, DIAGNOSTIC_ERROR, &text);
    printer_free(&printer);
    text_free(&text);
    handler->exit_requested = true;
    handler->exit_code = 1;
}

/* ---- debugf: the kernel prints it ---- */

enum { DEBUG_ARGUMENTS = 3, DEBUG_BYTES = 256 };

static const struct type *check_debugf(struct checker *checker, struct node *node)
{
    if (!formatted_check(checker, node))
        return NULL;
    const struct format *format = node->call.data;
    const struct node *text = check_argument(node, 0);
    if (format->arguments > DEBUG_ARGUMENTS) {
        check_error(checker, node->span, "debugf: at most %d values can be printed at once", DEBUG_ARGUMENTS);
        return NULL;
    }
    if (text->string.length >= DEBUG_BYTES || strlen(text->string.text) != text->string.length) {
        check_error(checker, text->span, "debugf: the format must be a text of at most %d bytes",
                    DEBUG_BYTES - 1);
        return NULL;
    }
    for (uint32_t i = 0; i < format->arguments; i++) {
        struct node *argument = check_argument(node, i + 1);
        char conversion = format_conversion(format, i)->conversion;
        if (conversion == 's')
            check_name_as_text(checker, argument);
        bool is_text = argument->type && argument->type->kind == TYPE_STRING;
        if (strchr("orXg", conversion) || (conversion == 's' && argument->type && !is_text)) {
            check_error(checker, argument->span,
                        "debugf: the kernel cannot print a value of type '%s' as %%%c",
                        type_text(checker->arena, argument->type), conversion);
            check_hint(checker, "printf prints any value");
            return NULL;
        }
    }
    return &type_none;
}

/* The format as the kernel wants it: every number with its width in letters that it knows. */
static struct node *kernel_format(struct lowering *l, const struct node *call)
{
    const struct format *format = call->call.data;
    struct text text = {0};
    for (size_t i = 0; i < format->count; i++) {
        const struct format_segment *segment = &format->segments[i];
        for (uint32_t k = 0; k < segment->literal_length; k++)
            text_printf(&text, segment->literal[k] == '%' ? "%%%%" : "%c", segment->literal[k]);
        if (!segment->conversion)
            continue;
        if (segment->conversion == 'p')
            text_add(&text, "0x");
        text_printf(&text, "%%%s%s", segment->left ? "-" : "", segment->zero && !segment->left ? "0" : "");
        if (segment->width)
            text_printf(&text, "%u", segment->width);
        bool is_plain = strchr("csp", segment->conversion);
        if (segment->conversion == 'p')
            text_add(&text, "llx");
        else
            text_printf(&text, "%s%c", !is_plain && segment->bits == 64 ? "ll" : "", segment->conversion);
    }
    if (text.length && text.bytes[text.length - 1] == '\n')
        text_truncate(&text, text.length - 1); /* the kernel adds one */
    struct node *node = node_new(l->arena, NODE_STRING, call->span);
    node->string.length = text.length;
    node->string.text = text_keep(&text, l->arena);
    node->type = type_string(l->arena, (uint32_t)node->string.length + 1);
    return node;
}

static struct ir *lower_debugf(struct lowering *l, struct node *node, struct destination *into)
{
    struct ir_builder *b = &l->b;
    const struct format *format = node->call.data;
    struct ir *values[DEBUG_ARGUMENTS];
    (void)into;
    for (uint32_t i = 0; i < DEBUG_ARGUMENTS; i++) {
        struct node *argument = check_argument(node, i + 1);
        if (!argument)
            values[i] = ir_constant(b, 0);
        else if (argument->type->kind == TYPE_STRING) {
            struct memory string = lower_memory(l, argument);
            values[i] = ir_offset(b, string.base, string.offset);
        } else {
            uint8_t bits = format_conversion(format, i)->bits;
            values[i] = lower_scalar(l, argument);
            if (bits < 32) /* the kernel knows no h */
                values[i] = ir_extend(b, values[i], bits / 8,
                                      !!strchr("di", format_conversion(format, i)->conversion));
        }
    }
    struct node *text = kernel_format(l, node);
    struct memory memory = lower_memory(l, text);
    ir_call(b, BPF_FUNC_trace_printk, 5, ir_offset(b, memory.base, memory.offset),
            ir_constant(b, (int64_t)text->string.length + 1), values[0], values[1], values[2]);
    return NULL;
}

/* ---- while it is compiled ---- */

/* A constant's storage form; NULL: it is none. */
static const void *constant_bytes(struct checker *checker, const struct node *node)
{
    int64_t value;
    if (node->kind == NODE_STRING) {
        char *bytes = arena_alloc(checker->arena, type_storage(node->type));
        memset(bytes, 0, type_storage(node->type));
        memcpy(bytes, node->string.text,
               node->string.length < node->type->size ? node->string.length : node->type->size);
        return bytes;
    }
    if (!check_constant(checker, node, &value))
        return NULL;
    int64_t *bytes = arena_new(checker->arena, int64_t);
    *bytes = value;
    return bytes;
}

static const struct type *check_fail(struct checker *checker, struct node *node)
{
    struct format_argument arguments[FORMATTED_ARGUMENTS];
    if (!formatted_check(checker, node))
        return NULL;
    if (!checker->is_reporting || checker->dead_branches)
        return &type_none;
    const struct format *format = node->call.data;
    for (uint32_t i = 0; i < format->arguments; i++) {
        const struct node *argument = check_argument(node, i + 1);
        arguments[i] = (struct format_argument){argument->type, constant_bytes(checker, argument), true};
        if (!arguments[i].bytes) {
            check_error(checker, argument->span,
                        "fail(): the values must be constants: it speaks when the script is "
                        "compiled");
            check_hint(checker, "errorf() speaks while it runs");
            return NULL;
        }
    }
    struct text text = {0};
    struct printer printer = {.out = &text};
    format_print(&printer, format, arguments, format->arguments);
    check_error(checker, node->span, "%s", text_string(&text));
    printer_free(&printer);
    text_free(&text);
    return &type_none;
}

static const struct type *check_static_assert(struct checker *checker, struct node *node)
{
    int64_t value;
    if (checker->is_reporting && !checker->dead_branches &&
        check_constant(checker, check_argument(node, 0), &value) && !value)
        check_error(checker, node->span, "%s", check_literal(check_argument(node, 1)));
    return &type_none;
}

enum { FORMAT = BUILTIN_CALL | BUILTIN_VARIADIC };

const struct builtin builtins_message[] = {
    {"errorf",
     "errorf(format, ...)",
     FORMAT,
     1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = formatted_check,
     .lower = formatted_lower,
     .handle = handle_message,
     .data = DIAGNOSTIC_ERROR},
    {"warnf",
     "warnf(format, ...)",
     FORMAT,
     1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = formatted_check,
     .lower = formatted_lower,
     .handle = handle_message,
     .data = DIAGNOSTIC_WARNING},
    {"debugf",
     "debugf(format, ...)",
     FORMAT,
     1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = check_debugf,
     .lower = lower_debugf},
    {"assert",
     "assert(condition, message)",
     BUILTIN_CALL,
     2,
     2,
     {PARAMETER_ANY, PARAMETER_STRING},
     .check = check_assert,
     .lower = lower_assert,
     .handle = handle_assert},
    {"fail",
     "fail(format, ...)",
     FORMAT,
     1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = check_fail},
    {"static_assert",
     "static_assert(condition, message)",
     BUILTIN_CALL,
     2,
     2,
     {PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_STRING},
     .check = check_static_assert},
    {0},
};
