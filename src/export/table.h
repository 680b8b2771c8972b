/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables: a recording as rows for column stores, as CSV or as lines of JSON.
 *
 *   table.c          both formats, from the first row to the last
 *   table_columns.c  which columns there are, and of which kinds
 *   table_events.c   a row for each event; table_objects.c: a row for each object
 *   table_row.c      a row while it is made, its numbers and texts
 *   table_csv.c      how a row is written; table_ndjson.c: the same as JSON
 *   table_schema.c   the description of the columns, for a file beside the table
 *
 * A row is a list of cells in the order of their columns. A column without a cell is NULL in that row, so that a row
 * costs what it has, and not what all tracepoints of the recording could have. */
#ifndef SPOOR_EXPORT_TABLE_H
#define SPOOR_EXPORT_TABLE_H

#include "base/table.h"
#include "export/export.h"
#include "export/living.h"

enum {
    EXPORT_COLUMNS_MAX = 4096,
    NUMBER_ROOM = 40, /* bytes of any number, and of what is around a text */
    TEXT_GROWS = 6,   /* so many bytes stand for one of a text at most */
};

enum column_kind { COLUMN_UNSIGNED, COLUMN_SIGNED, COLUMN_REAL, COLUMN_BOOL, COLUMN_TEXT, COLUMN_KINDS };

struct column_about { /* a column that every recording has */
    const char *name;
    enum column_kind kind;
    const char *unit; /* "" */
    const char *text; /* what it means, in a sentence without a full stop */
    bool is_required; /* it is never NULL */
};

struct column {
    struct column_about about;
    char *name, *text;    /* what `about` points to, where it is the column's own; or NULL */
    const char *argument; /* the argument that it has, NULL: it is no argument's */
    char *lead;           /* what a writer puts before its value */
    size_t lead_length;
};

struct cell {
    unsigned column;
    bool is_written;           /* the text is as the writer writes it */
    bool is_cut;               /* the text was longer */
    bool is_number, is_signed; /* the text is the digits of a number, which has no name */
    uint32_t length;
    union {
        uint64_t number; /* of a COLUMN_REAL its bits */
        const char *bytes;
    };
};

struct word { /* a text that comes in many rows, as the writer writes it */
    char *bytes;
    uint32_t length;
};

struct tracepoint_plan { /* how the events of a tracepoint become cells */
    struct word name, group;
    bool is_included; /* its events can be in the table */
    unsigned slot;    /* its number among the tracepoints of its type of objects */
    struct {
        uint8_t argument;
        unsigned column, slot; /* slot: its number among the argument columns of its type of objects */
    } arguments[RECORDING_ARGUMENTS_MAX]; /* in the order of their columns */
};

struct type_plan { /* of a type of objects: where its columns are */
    struct word name;
    unsigned step_column, step_count; /* two columns for each of its tracepoints */
    unsigned *columns;                /* of arguments of its tracepoints, in ascending order */
    size_t column_count;
};

struct export_table {
    const struct export *export;
    const struct table_writer *writer;
    const struct table_rows *rows;
    const struct recording *recording;
    const struct recording_model *model;
    struct column *columns;
    size_t column_count;
    struct table names;             /* the columns by their names in lower case */
    struct tracepoint_plan **plans; /* by the tracepoint's id; as long as the model's list */
    struct type_plan *types;
    struct word *owner_types;
    struct word recording_name, host;
    struct cell *cells; /* of the row that is being made */
    size_t cell_count;
    size_t row_room,
        text_room; /* bytes that a row needs at most: without its texts; for the texts of this one */
    uint64_t realtime, row_count;
    struct living_table living; /* of table_objects.c; and how much memory its lives take */
    size_t living_bytes;
};

struct table_writer { /* a way to write rows */
    const char *name;
    /* Sets the lead of a column. */
    void (*lead)(struct text *out, const struct column *column, bool is_first);
    void (*head)(const struct export_table *table, struct text *out);
    /* Write at a place with room for it, and return its end. */
    char *(*row)(const struct export_table *table, char *at);
    char *(*text)(char *at, const char *bytes, size_t length);
};
extern const struct table_writer table_csv, table_ndjson;

struct table_rows { /* what a row is about */
    const char *name;
    const struct column_about *columns;
    size_t column_count;
    bool has_steps; /* has columns for the steps of objects, and only arguments of events about objects */
    int (*event)(struct export_table *table, const struct export_event *at, struct text *out);
    int (*end)(struct export_table *table, struct text *out);
    void (*free)(struct export_table *table);
};
extern const struct table_rows table_events, table_objects;

/* ---- table_columns.c: return 0 or -errno ---- */

int columns_make(struct export_table *table);
void columns_free(struct export_table *table);
int word_make(const struct export_table *table, struct word *word, const char *bytes, size_t length);

/* ---- table_row.c ---- */

void row_begin(struct export_table *table); /* the first cell says which recording it is */
void row_number(struct export_table *table, unsigned column, uint64_t number);
void row_word(struct export_table *table, unsigned column, const struct word *word);
void row_text(struct export_table *table, unsigned column, const char *bytes, size_t length);
void row_thread(struct export_table *table, unsigned column, uint32_t id, const char *name); /* two columns */
/* The type, id and description of an event's owner, in three columns. */
void row_owner(struct export_table *table, unsigned column, const struct recording_event *event);
/* An argument: a number, the name of a number, a text. Of a null pointer nothing. */
struct argument_value {
    uint64_t word;
    const char *bytes; /* NULL: it is a number */
    uint32_t length;
    bool is_null, is_cut, is_signed;
};
void argument_value(const struct recording_event *event, unsigned argument, struct argument_value *value);
void row_argument(struct export_table *table, unsigned column, const struct argument_value *value);
int row_end(struct export_table *table, struct text *out); /* writes it; 0 or -ENOMEM */

/* ---- for the writers ---- */

/* Copies the character at bytes[*done], at least one byte, and U+FFFD in the place of what is no UTF-8 and of NUL. */
char *put_character(char *at, const char *bytes, size_t length, size_t *done);
char *put_number(char *at, enum column_kind kind, uint64_t number);
/* Writes the text of a cell, in quotes and escaped as the writer does; marks one that was cut. */
char *put_cell_text(const struct table_writer *writer, char *at, const struct cell *cell);

/* Appends a text as a writer writes it. */
void text_written(struct text *out, const struct table_writer *writer, const char *string);

/* ---- table_schema.c ---- */

void schema_write(const struct export_table *table, struct text *out);

#endif
