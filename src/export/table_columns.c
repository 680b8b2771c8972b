/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of a table: those that every recording has, those for the steps of objects, and one for each name that
 * arguments have. Arguments with one name and values of one kind share a column, so that tables of several recordings
 * fit together. Names are unique also for stores that do not tell upper and lower case apart. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/table.h"

static const char *const kind_words[COLUMN_KINDS] = {"unsigned", "signed", "real", "bool", "text"};

int word_make(const struct export_table *table, struct word *word, const char *bytes, size_t length)
{
    if (!(word->bytes = malloc(length * TEXT_GROWS + NUMBER_ROOM)))
        return -ENOMEM;
    word->length = (uint32_t)(table->writer->text(word->bytes, bytes, length) - word->bytes);
    return 0;
}

/* ---- names ---- */

/* Writes a name as valid UTF-8. */
static void repair(struct text *out, const char *name)
{
    const size_t length = strlen(name);
    for (size_t done = 0; done < length;) {
        char character[4];
        text_append(out, character, (size_t)(put_character(character, name, length, &done) - character));
    }
}

static void lower(struct text *key, const char *name)
{
    text_clear(key);
    for (; *name; name++)
        text_char(key, *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name);
}

/* Adds a column. If its name is taken, a number behind it makes it unique. Returns its index or -errno. */
static int add_column(struct export_table *table, const struct column_about *about, const char *argument)
{
    struct text name = {0}, key = {0};
    if (table->column_count == EXPORT_COLUMNS_MAX)
        return -E2BIG;
    struct column *column = &table->columns[table->column_count];
    *column = (struct column){.about = *about, .argument = argument};
    repair(&name, about->name);
    lower(&key, text_string(&name));
    const size_t length = name.length;
    for (unsigned number = 2; table_find(&table->names, text_string(&key)); number++) {
        text_truncate(&name, length);
        text_printf(&name, "_%u", number);
        lower(&key, text_string(&name));
    }
    int error = name.failed || key.failed ? -ENOMEM : table_put(&table->names, text_string(&key), column);
    text_free(&key);
    if (!error && !(column->text = strdup(about->text)))
        error = -ENOMEM;
    column->name = name.bytes ? name.bytes : strdup("");
    column->about.name = column->name;
    column->about.text = column->text;
    struct text lead = {0};
    if (!error && column->name)
        table->writer->lead(&lead, column, table->column_count == 0);
    column->lead = lead.bytes;
    column->lead_length = lead.length;
    table->row_room += lead.length + NUMBER_ROOM;
    table->column_count++;
    return error ? error : lead.failed || !column->name ? -ENOMEM : (int)table->column_count - 1;
}

/* ---- arguments ---- */

static enum column_kind kind_of(const struct recording_argument *argument)
{
    if (argument->enumeration)
        return COLUMN_TEXT;
    switch (argument->kind) {
    case RECORDING_SIGNED: return COLUMN_SIGNED;
    case RECORDING_STRING: return COLUMN_TEXT;
    case RECORDING_REAL: return COLUMN_REAL;
    case RECORDING_BOOL: return COLUMN_BOOL;
    default: return COLUMN_UNSIGNED;
    }
}

struct adding { /* the columns of arguments, while they are made */
    struct export_table *table;
    struct table
        by_argument; /* the columns by kind, how many of that name the tracepoint has before it, and name */
    struct text key, name;
};

/* Finds the column for an argument or adds it. A tracepoint may have several arguments of one name. */
static int argument_column(struct adding *adding, const struct recording_tracepoint *tracepoint,
                           unsigned index)
{
    struct export_table *table = adding->table;
    const struct recording_argument *argument = &tracepoint->arguments[index];
    const enum column_kind kind = kind_of(argument);
    unsigned before = 0, of_other_kind = 0;
    for (unsigned i = 0; i < index; i++)
        before += !strcmp(tracepoint->arguments[i].name, argument->name);
    text_clear(&adding->key);
    text_printf(&adding->key, "%d %u %s", kind, before, argument->name);
    const struct column *found = table_find(&adding->by_argument, text_string(&adding->key));
    if (found)
        return (int)(found - table->columns);
    for (int other = 0; other < COLUMN_KINDS; other++) {
        struct text key = {0};
        text_printf(&key, "%d %u %s", other, before, argument->name);
        of_other_kind += table_find(&adding->by_argument, text_string(&key)) != NULL;
        text_free(&key);
    }
    text_clear(&adding->name);
    text_printf(&adding->name, "arg_%s", argument->name);
    if (of_other_kind)
        text_printf(&adding->name, "_%s", kind_words[kind]);
    const int column = add_column(table,
                                  &(struct column_about){text_string(&adding->name), kind, "",
                                                         table->rows->has_steps
                                                             ? "as the object's newest event with it has it"
                                                             : "argument of the event",
                                                         false},
                                  argument->name);
    const int error =
        column < 0 ? column
                   : table_put(&adding->by_argument, text_string(&adding->key), &table->columns[column]);
    return error ? error : column;
}

/* Puts the arguments of a plan in the order of their columns: the rows need it. */
static void sort_arguments(struct tracepoint_plan *plan, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j > 0 && plan->arguments[j - 1].column > plan->arguments[j].column; j--) {
            const unsigned column = plan->arguments[j].column;
            const uint8_t argument = plan->arguments[j].argument;
            plan->arguments[j].column = plan->arguments[j - 1].column;
            plan->arguments[j].argument = plan->arguments[j - 1].argument;
            plan->arguments[j - 1].column = column;
            plan->arguments[j - 1].argument = argument;
        }
}

static int add_arguments(struct export_table *table)
{
    struct adding adding = {.table = table};
    int got = 0;
    for (size_t i = 0; i < table->model->tracepoint_room && got >= 0; i++) {
        const struct recording_tracepoint *tracepoint = table->model->tracepoints[i];
        if (!tracepoint || !table->plans[i]->is_included)
            continue;
        for (unsigned j = 0; j < tracepoint->argument_count && got >= 0; j++) {
            got = argument_column(&adding, tracepoint, j);
            table->plans[i]->arguments[j].argument = (uint8_t)j;
            table->plans[i]->arguments[j].column = (unsigned)got;
        }
        sort_arguments(table->plans[i], tracepoint->argument_count);
    }
    if (adding.key.failed || adding.name.failed)
        got = -ENOMEM;
    table_free(&adding.by_argument);
    text_free(&adding.key);
    text_free(&adding.name);
    return got < 0 ? got : 0;
}

/* ---- the steps of objects ---- */

static int add_step(struct export_table *table, const char *front, const char *text, const char *name)
{
    struct text full = {0}, about = {0};
    text_printf(&full, "%s_%s_ns", front, name);
    text_printf(&about, "%s %s", text, name);
    const int got = full.failed || about.failed
                        ? -ENOMEM
                        : add_column(table,
                                     &(struct column_about){text_string(&full), COLUMN_UNSIGNED, "ns",
                                                            text_string(&about), false},
                                     NULL);
    text_free(&full);
    text_free(&about);
    return got;
}

/* Adds two columns for each tracepoint of objects, those of one type side by side. */
static int add_steps(struct export_table *table)
{
    const struct recording_model *model = table->model;
    int got = 0;
    for (size_t type = 0; type < model->object_count; type++) {
        struct type_plan *plan = &table->types[type];
        plan->step_column = (unsigned)table->column_count;
        for (size_t i = 0; i < model->tracepoint_room && got >= 0; i++) {
            const struct recording_tracepoint *tracepoint = model->tracepoints[i];
            if (!tracepoint || !table->plans[i]->is_included || tracepoint->object != (int16_t)type)
                continue;
            table->plans[i]->slot = plan->step_count++;
            got = add_step(table, "at", "from the object's beginning to its first event", tracepoint->name);
            if (got >= 0)
                got = add_step(table, "step", "to the object's next event, in all, from events",
                               tracepoint->name);
        }
    }
    return got < 0 ? got : 0;
}

/* Numbers the argument columns that objects of a type can have. */
static int number_arguments(struct export_table *table, int16_t type)
{
    const struct recording_model *model = table->model;
    struct type_plan *plan = &table->types[type];
    unsigned slots[EXPORT_COLUMNS_MAX] = {0}; /* 1: the column is one of the type's; then its number */
    if (!(plan->columns = calloc(table->column_count, sizeof *plan->columns)))
        return -ENOMEM;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < model->tracepoint_room; i++) {
            const struct recording_tracepoint *tracepoint = model->tracepoints[i];
            const bool is_of_type = tracepoint && table->plans[i]->is_included && tracepoint->object == type;
            for (unsigned j = 0; is_of_type && j < tracepoint->argument_count; j++) {
                unsigned *slot = &slots[table->plans[i]->arguments[j].column];
                if (pass == 0)
                    *slot = 1;
                else
                    table->plans[i]->arguments[j].slot = *slot;
            }
        }
        for (unsigned column = 0; column < table->column_count && pass == 0; column++)
            if (slots[column]) {
                slots[column] = (unsigned)plan->column_count;
                plan->columns[plan->column_count++] = column;
            }
    }
    return 0;
}

/* ---- all of it ---- */

static int type_words(struct export_table *table)
{
    const struct recording_model *model = table->model;
    struct text label = {0};
    int error = 0;
    for (size_t i = 0; i < model->object_count + model->owner_count && !error; i++) {
        const bool is_object = i < model->object_count;
        text_clear(&label);
        export_type_label(&label, is_object ? &model->objects[i] : &model->owners[i - model->object_count]);
        error = label.failed ? -ENOMEM
                             : word_make(table,
                                         is_object ? &table->types[i].name
                                                   : &table->owner_types[i - model->object_count],
                                         text_string(&label), label.length);
    }
    text_free(&label);
    return error;
}

static int plan_tracepoints(struct export_table *table)
{
    const struct filter *filter = table->export->choice.filter;
    for (size_t i = 0; i < table->model->tracepoint_room; i++) {
        const struct recording_tracepoint *tracepoint = table->model->tracepoints[i];
        if (!tracepoint)
            continue;
        struct tracepoint_plan *plan = table->plans[i] = calloc(1, sizeof *plan);
        if (!plan || word_make(table, &plan->name, tracepoint->name, strlen(tracepoint->name)) ||
            word_make(table, &plan->group, tracepoint->group->name, strlen(tracepoint->group->name)))
            return -ENOMEM;
        plan->is_included = (!table->rows->has_steps || tracepoint->object >= 0) &&
                            (!filter || filter_passes_tracepoint(filter, tracepoint));
    }
    return 0;
}

static int make_words(struct export_table *table)
{
    const struct recording_model *model = table->model;
    const char *path = recording_path(table->recording), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    table->columns = calloc(EXPORT_COLUMNS_MAX, sizeof *table->columns);
    table->plans = calloc(model->tracepoint_room + 1, sizeof *table->plans);
    table->types = calloc(model->object_count + 1, sizeof *table->types);
    table->owner_types = calloc(model->owner_count + 1, sizeof *table->owner_types);
    table->cells = calloc(EXPORT_COLUMNS_MAX, sizeof *table->cells);
    if (!table->columns || !table->plans || !table->types || !table->owner_types || !table->cells)
        return -ENOMEM;
    int error = word_make(table, &table->recording_name, name, strlen(name));
    if (!error)
        error = word_make(table, &table->host, model->host, strlen(model->host));
    if (!error)
        error = type_words(table);
    return error ? error : plan_tracepoints(table);
}

int columns_make(struct export_table *table)
{
    int error = make_words(table), got = 0;
    for (size_t i = 0; i < table->rows->column_count && !error && got >= 0; i++)
        got = add_column(table, &table->rows->columns[i], NULL);
    if (!error && got < 0)
        error = got;
    if (!error && table->rows->has_steps)
        error = add_steps(table);
    if (!error)
        error = add_arguments(table);
    for (size_t i = 0; i < table->model->object_count && table->rows->has_steps && !error; i++)
        error = number_arguments(table, (int16_t)i);
    return error;
}

void columns_free(struct export_table *table)
{
    const struct recording_model *model = table->model;
    for (size_t i = 0; i < table->column_count; i++) {
        free(table->columns[i].name);
        free(table->columns[i].text);
        free(table->columns[i].lead);
    }
    for (size_t i = 0; table->plans && i < model->tracepoint_room; i++)
        if (table->plans[i]) {
            free(table->plans[i]->name.bytes);
            free(table->plans[i]->group.bytes);
            free(table->plans[i]);
        }
    for (size_t i = 0; table->types && i < model->object_count; i++) {
        free(table->types[i].name.bytes);
        free(table->types[i].columns);
    }
    for (size_t i = 0; table->owner_types && i < model->owner_count; i++)
        free(table->owner_types[i].bytes);
    free(table->recording_name.bytes);
    free(table->host.bytes);
    free(table->columns);
    free(table->plans);
    free(table->types);
    free(table->owner_types);
    free(table->cells);
    table_free(&table->names);
}
