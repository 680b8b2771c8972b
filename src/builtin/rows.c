/* SPDX-License-Identifier: BSD-3-Clause */
/* Output in BCC's ways: print_rows() gives every entry of a map to a format, print_log2_hist() makes a table
 * of a histogram, printf_containing() prints only lines that have some text. All happen when the reader gets
 * to them, in order with printf. */
#include <string.h>

#include "base/number.h"
#include "bpf/lower/lower.h"
#include "builtin/event_handler.h"
#include "builtin/all.h"
#include "builtin/formatted.h"
#include "print/format.h"
#include "print/record.h"
#include "print/snapshot.h"

enum { COLUMNS = 32 };

/* A format whose conversions may say which column they take: "%2$-10d". All of them or none. */
struct row_format {
    const struct format *format;
    size_t count;
    uint32_t columns[COLUMNS]; /* column of each conversion, from 0: the parts of the key, then the value */
};

/* ---- print_rows ---- */

static bool is_known(const struct type *type)
{
    return type && type->kind != TYPE_NONE;
}

static uint32_t key_columns(const struct type *key)
{
    return !is_known(key) ? 0 : key->kind == TYPE_TUPLE ? key->count : 1;
}

static const struct type *column_type(const struct type *key, const struct type *value, uint32_t column)
{
    uint32_t keys = key_columns(key);
    if (column >= keys) /* an aggregation reads as an integer */
        return type_is_aggregation(value) ? type_integer(8, value->is_signed) : value;
    return key->kind == TYPE_TUPLE ? key->fields[column].type : key;
}

/* Takes N$ out of the conversions. NULL: not all conversions have it, or N is no column at all. */
static struct row_format *row_format_parse(struct arena *arena, const char *text, size_t length)
{
    struct row_format *rows = arena_new(arena, struct row_format);
    char *plain = arena_array(arena, length + 1, 1);
    size_t used = 0, numbered = 0;
    for (size_t i = 0; i < length; i++) {
        plain[used++] = text[i];
        if (text[i] != '%')
            continue;
        if (i + 1 < length && text[i + 1] == '%') {
            plain[used++] = text[++i];
            continue;
        }
        const char *at = text + i + 1;
        uint64_t number;
        number_take(&at, text + length, 10, &number);
        if (at == text + i + 1 || at == text + length || *at != '$')
            continue;
        if (!number || number > COLUMNS || numbered == COLUMNS)
            return NULL;
        rows->columns[numbered++] = (uint32_t)number - 1;
        i = (size_t)(at - text);
    }
    rows->format = format_parse(arena, plain, used);
    rows->count = rows->format->arguments;
    if (rows->count > COLUMNS || (numbered && numbered != rows->count))
        return NULL;
    for (uint32_t i = 0; !numbered && i < rows->count; i++)
        rows->columns[i] = i;
    return rows;
}

static const struct type *check_print_rows(struct checker *checker, struct node *node)
{
    const struct map_symbol *map = check_argument(node, 0)->map.symbol;
    const struct node *text = check_argument(node, 1), *top = check_argument(node, 2);
    const struct row_format *rows = row_format_parse(checker->arena, text->string.text, text->string.length);
    if (top && (int64_t)top->integer.value < 0) {
        check_error(checker, top->span, "print_rows: top must not be negative");
        return NULL;
    }
    if (!rows) {
        check_error(checker, text->span, "print_rows: this is no format of a row");
        check_hint(checker,
                   "%%d takes the next column, %%2$d the second one: all conversions one way; at "
                   "most %d",
                   COLUMNS);
        return NULL;
    }
    node->call.data = (void *)rows;
    if (!is_known(map->value)) /* its type is not known in this pass */
        return &type_none;
    if (type_has_rows(map->value)) {
        check_error(checker, node->span,
                    "print_rows: %s is a histogram or a series, whose rows are no columns", map->name);
        check_hint(checker, "print(%s)", map->name);
        return NULL;
    }
    const uint32_t most = key_columns(map->key) + 1;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->columns[i] >= most) {
            check_error(checker, text->span, "print_rows: %s has %u column%s, the format asks for number %u",
                        map->name, most, most == 1 ? "" : "s", rows->columns[i] + 1);
            check_hint(checker, "the parts of the key are columns, and then the value");
            return NULL;
        }
        const struct type *type = column_type(map->key, map->value, rows->columns[i]);
        const struct format_segment *segment = format_conversion(rows->format, i);
        if (is_known(type) && !format_accepts(segment, type)) {
            check_error(checker, text->span, "print_rows: unsupported format specifier for type '%s': %c",
                        type_text(checker->arena, type), segment->conversion);
            check_hint(checker, "%%s prints any value");
            return NULL;
        }
    }
    return &type_none;
}

static struct ir *lower_map_action(struct lowering *l, struct node *node, struct destination *into)
{
    (void)into;
    lower_event(l, node, node->call.builtin, NULL, 0);
    return NULL;
}

struct row_output {
    struct printer printer;
    const struct row_format *rows;
};

/* Probes by their short names: an event with its category, everything else by its last word. */
static const char *short_name(const struct print_names *names, uint64_t index)
{
    static const char *const categories[] = {"tracepoint:", "rawtracepoint:"};
    const char *name = names && names->name ? names->name(names->owner, index) : NULL;
    if (!name)
        return "?";
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (!strncmp(name, categories[i], strlen(categories[i])))
            return name + strlen(categories[i]);
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static void print_row(void *state, const struct map_snapshot *map, const struct map_entry *entry)
{
    struct row_output *output = state;
    struct format_argument arguments[COLUMNS];
    struct type names[COLUMNS];
    const uint32_t keys = key_columns(map->key);
    uint64_t number;
    for (size_t i = 0; i < output->rows->count; i++) {
        const uint32_t column = output->rows->columns[i];
        const uint8_t *bytes = entry->key;
        if (column >= keys) {
            bytes = entry->value;
            if (type_is_aggregation(map->value)) {
                number = aggregation_integer(map->value, entry->value);
                bytes = (const uint8_t *)&number;
            }
        } else if (map->key->kind == TYPE_TUPLE)
            bytes += map->key->fields[column].offset;
        arguments[i] = (struct format_argument){column_type(map->key, map->value, column), bytes, false};
        if (arguments[i].type->kind != TYPE_PROBE_NAME)
            continue;
        const char *name = short_name(output->printer.names, value_integer(arguments[i].type, bytes));
        names[i] = (struct type){.kind = TYPE_STRING, .size = (uint32_t)strlen(name) + 1};
        arguments[i] = (struct format_argument){&names[i], name, false};
    }
    format_print(&output->printer, output->rows->format, arguments, output->rows->count);
}

static size_t map_of(const struct action *action)
{
    return (size_t)check_argument(action->call, 0)->map.symbol->index;
}

static void handle_print_rows(struct event_handler *handler, const struct action *action,
                              const uint8_t *record)
{
    (void)record;
    const struct node *top = check_argument(action->call, 2);
    struct text text = {0};
    struct row_output output = {.printer = *handler->printer, .rows = action->call->call.data};
    output.printer.out = &text;
    output.printer.json = false;
    output.printer.scratch = (struct text){0};
    if (snapshot_each(handler->host, handler->image, map_of(action), top ? top->integer.value : 0, print_row,
                      &output))
        handler->warn(handler, action->call->span, "the map could not be read");
    record_text(handler->printer, "printf", &text);
    printer_free(&output.printer);
    text_free(&text);
}

/* ---- print_log2_hist ---- */

static const struct type *check_print_log2_hist(struct checker *checker, struct node *node)
{
    const struct map_symbol *map = check_argument(node, 0)->map.symbol;
    if (is_known(map->value) && !type_has_shape(map->value, AGGREGATION_ROWS)) {
        check_error(checker, node->span, "print_log2_hist: %s is no histogram", map->name);
        check_hint(checker, "%s = hist(value) makes one; print(%s) prints any map", map->name, map->name);
        return NULL;
    }
    return &type_none;
}

static void handle_print_log2_hist(struct event_handler *handler, const struct action *action,
                                   const uint8_t *record)
{
    (void)record;
    const struct node *title = check_argument(action->call, 1);
    const struct printer before = *handler->printer;
    struct text *out = handler->printer->out;
    handler->printer->bcc_histograms = true;
    handler->printer->histogram_title = title ? check_literal(title) : NULL;
    if (snapshot_print(handler->printer, handler->host, handler->image, map_of(action), 0, 0, false))
        handler->warn(handler, action->call->span, "the map could not be read");
    if (!handler->is_json && out->length && out->bytes[out->length - 1] == '\n')
        text_truncate(out, out->length - 1); /* as in BCC, there is no empty line after it */
    handler->printer->bcc_histograms = before.bcc_histograms;
    handler->printer->histogram_title = before.histogram_title;
}

/* ---- printf_containing ---- */

/* The record is that of a printf with the rest of the arguments. */
enum { BEFORE_FORMAT = 3 };

struct containing {
    const char *text;
    uint64_t from, most; /* most 0: no end */
    void *format;
};

static const struct type *check_containing(struct checker *checker, struct node *node)
{
    const struct node *from = check_argument(node, 1), *most = check_argument(node, 2);
    struct node call = *node; /* the printf in it */
    for (unsigned i = 0; i < BEFORE_FORMAT; i++) {
        call.call.arguments.first = call.call.arguments.first->next;
        call.call.arguments.count--;
    }
    if ((int64_t)from->integer.value < 0 || (int64_t)most->integer.value < 0) {
        check_error(checker, node->span, "printf_containing: from and most must not be negative");
        return NULL;
    }
    if (!formatted_check(checker, &call))
        return NULL;
    struct containing *containing = arena_new(checker->arena, struct containing);
    *containing = (struct containing){check_literal(check_argument(node, 0)), from->integer.value,
                                      most->integer.value, call.call.data};
    node->call.data = containing;
    return &type_none;
}

static struct ir *lower_containing(struct lowering *l, struct node *node, struct destination *into)
{
    struct event_field fields[FORMATTED_ARGUMENTS] = {0};
    uint32_t count = 0, number = 0;
    (void)into;
    for (struct node *argument = node->call.arguments.first; argument; argument = argument->next)
        if (number++ > BEFORE_FORMAT)
            fields[count++].node = argument;
    lower_event(l, node, node->call.builtin, fields, count);
    return NULL;
}

static void handle_containing(struct event_handler *handler, const struct action *action,
                              const uint8_t *record)
{
    const struct containing *containing = action->call->call.data;
    struct node call = *action->call;
    struct action printing = *action;
    struct text text = {0};
    call.call.data = containing->format;
    printing.call = &call;
    formatted_text(handler, &printing, record, FORMATTED_OUTPUT, &text);
    const char *line = text_string(&text);
    if (text.failed ||
        (text.length >= containing->from && strstr(line + containing->from, containing->text))) {
        record_text(handler->printer, "printf", &text);
        handler->exit_requested |= ++handler->contained == containing->most;
    }
    text_free(&text);
}

const struct builtin builtins_rows[] = {
    {"printf_containing",
     "printf_containing(text, from, most, format, ...)",
     BUILTIN_CALL | BUILTIN_VARIADIC,
     BEFORE_FORMAT + 1,
     0,
     {PARAMETER_LITERAL_STRING, PARAMETER_LITERAL_INTEGER, PARAMETER_LITERAL_INTEGER,
      PARAMETER_LITERAL_STRING, PARAMETER_ANY},
     .check = check_containing,
     .lower = lower_containing,
     .handle = handle_containing},
    {"print_rows",
     "print_rows(@map, format [, top])",
     BUILTIN_CALL,
     2,
     3,
     {PARAMETER_MAP, PARAMETER_LITERAL_STRING, PARAMETER_LITERAL_INTEGER},
     .check = check_print_rows,
     .lower = lower_map_action,
     .handle = handle_print_rows},
    {"print_log2_hist",
     "print_log2_hist(@map [, title])",
     BUILTIN_CALL,
     1,
     2,
     {PARAMETER_MAP, PARAMETER_LITERAL_STRING},
     .check = check_print_log2_hist,
     .lower = lower_map_action,
     .handle = handle_print_log2_hist},
    {0},
};
