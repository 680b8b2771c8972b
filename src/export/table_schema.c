/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a table, as JSON: the properties of a Table Schema (https://specs.frictionlessdata.io/table-schema),
 * and beside them units, names of values, types for DuckDB and ClickHouse, and what is missing in the recording. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/table.h"
#include "print/json.h"

static const struct {
    const char *schema, *duckdb, *clickhouse;
} kinds[COLUMN_KINDS] = {
    [COLUMN_UNSIGNED] = {"integer", "UBIGINT", "UInt64"}, [COLUMN_SIGNED] = {"integer", "BIGINT", "Int64"},
    [COLUMN_REAL] = {"number", "DOUBLE", "Float64"},      [COLUMN_BOOL] = {"boolean", "BOOLEAN", "UInt8"},
    [COLUMN_TEXT] = {"string", "VARCHAR", "String"},
};

static void put_string(struct text *out, const char *string)
{
    text_written(out, &table_ndjson, string);
}

/* Writes the names of an argument's values, by value. */
static void put_values(struct text *out, const struct recording_enumeration *values)
{
    text_add(out, ", \"values\": {");
    for (size_t i = 0; i < values->count; i++) {
        text_printf(out, "%s\"%" PRId64 "\": ", i ? ", " : "", values->values[i].value);
        put_string(out, values->values[i].name);
    }
    text_char(out, '}');
}

/* Writes to each column's text which arguments it has. */
static void put_arguments(struct text *columns, const struct export_table *table)
{
    const struct recording_model *model = table->model;
    for (size_t i = 0; i < model->tracepoint_room; i++) {
        const struct recording_tracepoint *tracepoint = model->tracepoints[i];
        const bool is_included = tracepoint && table->plans[i]->is_included;
        for (unsigned j = 0; is_included && j < tracepoint->argument_count; j++) {
            struct text *out = &columns[table->plans[i]->arguments[j].column];
            const struct recording_argument *argument =
                &tracepoint->arguments[table->plans[i]->arguments[j].argument];
            text_add(out, out->length ? ", {\"group\": " : "{\"group\": ");
            put_string(out, tracepoint->group->name);
            text_add(out, ", \"tracepoint\": ");
            put_string(out, tracepoint->name);
            text_add(out, ", \"ctype\": ");
            put_string(out, argument->type);
            text_printf(out, ", \"size\": %u", argument->size);
            if (argument->enumeration)
                put_values(out, argument->enumeration);
            text_char(out, '}');
        }
    }
}

static void put_field(struct text *out, const struct column *column, const struct text *arguments)
{
    text_add(out, "{\"name\": ");
    put_string(out, column->name);
    text_printf(out, ", \"type\": \"%s\"", kinds[column->about.kind].schema);
    if (column->about.unit[0])
        text_printf(out, ", \"unit\": \"%s\"", column->about.unit);
    text_add(out, ", \"description\": ");
    put_string(out, column->text);
    if (column->about.is_required)
        text_add(out, ", \"constraints\": {\"required\": true}");
    if (column->argument) {
        text_add(out, ", \"argument\": ");
        put_string(out, column->argument);
        text_add(out, ", \"of\": [");
        text_append(out, text_string(arguments), arguments->length);
        text_char(out, ']');
    }
    text_char(out, '}');
    out->failed |= arguments->failed;
}

static void put_fields(struct text *out, const struct export_table *table)
{
    struct text *arguments = calloc(table->column_count, sizeof *arguments);
    if (!arguments) {
        out->failed = true;
        return;
    }
    put_arguments(arguments, table);
    text_add(out, ",\n\"fields\": [");
    for (size_t i = 0; i < table->column_count; i++) {
        text_add(out, i ? ",\n" : "\n");
        put_field(out, &table->columns[i], &arguments[i]);
        text_free(&arguments[i]);
    }
    free(arguments);
    text_add(out, "],\n\"missingValues\": [\"\"]");
}

/* Writes the types of the columns as DuckDB's readers want them: an object. */
static void put_duckdb(struct text *out, const struct export_table *table)
{
    text_add(out, ",\n\"duckdb\": {");
    for (size_t i = 0; i < table->column_count; i++) {
        text_add(out, i ? ", " : "");
        put_string(out, table->columns[i].name);
        text_printf(out, ": \"%s\"", kinds[table->columns[i].about.kind].duckdb);
    }
    text_char(out, '}');
}

/* Writes the same as the list of columns in ClickHouse's CREATE TABLE. */
static void put_clickhouse(struct text *out, const struct export_table *table)
{
    struct text list = {0};
    for (size_t i = 0; i < table->column_count; i++) {
        text_add(&list, i ? ", `" : "`");
        for (const char *at = table->columns[i].name; *at; at++) {
            if (*at == '`' || *at == '\\')
                text_char(&list, '\\');
            text_char(&list, *at);
        }
        text_printf(&list, table->columns[i].about.is_required ? "` %s" : "` Nullable(%s)",
                    kinds[table->columns[i].about.kind].clickhouse);
    }
    text_add(out, ",\n\"clickhouse\": ");
    put_string(out, text_string(&list));
    out->failed |= list.failed;
    text_free(&list);
}

static void put_missing(struct text *out, const char *notes)
{
    text_add(out, ",\n\"missing\": [");
    for (const char *at = notes ? notes : ""; *at;) {
        const size_t length = strcspn(at, "\n");
        text_add(out, at == notes ? "\"" : ", \"");
        json_escape(out, at, length);
        text_char(out, '"');
        at += length + (at[length] == '\n');
    }
    text_add(out, "]");
}

void schema_write(const struct export_table *table, struct text *out)
{
    const struct recording_model *model = table->model;
    text_printf(out, "{\"format\": \"%s\", \"rows\": \"%s\", \"count\": %" PRIu64 ",\n\"recording\": ",
                table->writer->name, table->rows->name, table->row_count);
    put_string(out, recording_path(table->recording));
    text_add(out, ", \"program\": ");
    put_string(out, model->name);
    text_printf(out, ", \"pid\": %" PRIu32 ", \"start_ns\": %" PRIu64, model->pid,
                recording_start(table->recording));
    put_missing(out, table->export->notes);
    put_fields(out, table);
    put_duckdb(out, table);
    put_clickhouse(out, table);
    text_add(out, "}\n");
}
