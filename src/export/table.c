/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/table.h"

#include <errno.h>
#include <stdlib.h>

static int begin(struct export *export, const struct table_writer *writer)
{
    struct export_table *table = calloc(1, sizeof *table);
    if (!table)
        return -ENOMEM;
    export->state = table;
    table->export = export;
    table->writer = writer;
    table->rows = export->choice.rows == EXPORT_OBJECTS ? &table_objects : &table_events;
    table->recording = export->recording;
    table->model = recording_model(export->recording);
    table->realtime = recording_realtime(export->recording);
    const int error = columns_make(table);
    if (!error)
        writer->head(table, &export->out);
    return error;
}

static int begin_csv(struct export *export)
{
    return begin(export, &table_csv);
}

static int begin_ndjson(struct export *export)
{
    return begin(export, &table_ndjson);
}

static int event(struct export *export, const struct export_event *at)
{
    struct export_table *table = export->state;
    return table->rows->event(table, at, &export->out);
}

static int end(struct export *export)
{
    struct export_table *table = export->state;
    struct text schema = {0};
    int error = table->rows->end ? table->rows->end(table, &export->out) : 0;
    if (error)
        return error;
    schema_write(table, &schema);
    error = schema.failed ? -ENOMEM
                          : export->sink.write(export->sink.context, export->format->beside,
                                               text_string(&schema), schema.length);
    text_free(&schema);
    return error;
}

static void release(struct export *export)
{
    struct export_table *table = export->state;
    if (!table)
        return;
    if (table->rows->free)
        table->rows->free(table);
    columns_free(table);
    free(table);
}

#define OPENS "its columns are described in %s.schema.json; docs/fleet.md has statements for column stores"
const struct export_format export_csv = {"csv", OPENS, false,   true,           begin_csv, event,
                                         NULL,  end,   release, ".schema.json", true};
const struct export_format export_ndjson = {"ndjson", OPENS, false,   false,          begin_ndjson, event,
                                            NULL,     end,   release, ".schema.json", true};
