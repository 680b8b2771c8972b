/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints --help, which is made of a command's table. */
#include <string.h>

#include "base/text.h"
#include "cmd/command.h"
#include "cmd/command_line.h"

enum { HEAD_COLUMNS_MIN = 26, LINE_COLUMNS = 110 };

/* Returns how many columns a text in UTF-8 takes, one for each character. */
static size_t columns(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

/* Writes a head, and behind it its explanation in a column of its own, whose lines end between words. */
static void write_entry(struct text *out, const char *indentation, const char *head, size_t width,
                        const char *help)
{
    const size_t margin = strlen(indentation) + width + 1;
    text_printf(out, "%s%s", indentation, head);
    text_fill(out, ' ', width - columns(head, strlen(head)));
    size_t at = margin - 1;
    while (*help) {
        const size_t length = strcspn(help, " "), width = columns(help, length);
        if (at + 1 + width > LINE_COLUMNS && at > margin) {
            text_char(out, '\n');
            text_fill(out, ' ', margin);
            at = margin;
        } else {
            text_char(out, ' ');
            at++;
        }
        text_append(out, help, length);
        at += width;
        help += length + (help[length] == ' ');
    }
    text_char(out, '\n');
}

/* Writes "-p, --pid PID"; the names are in one column. */
static void write_head(struct text *head, const struct option_row *row)
{
    text_clear(head);
    if (row->letter)
        text_printf(head, "-%c", row->letter);
    else
        text_add(head, "    ");
    if (row->name)
        text_printf(head, "%s--%s", row->letter ? ", " : "", row->name);
    if (row->argument)
        text_printf(head, " %s", row->argument);
}

static size_t widest_head(const struct command_line *line)
{
    struct text head = {0};
    size_t widest = HEAD_COLUMNS_MIN;
    for (size_t i = 0; i < line->row_count; i++) {
        write_head(&head, &line->rows[i]);
        if (line->rows[i].help && columns(text_string(&head), head.length) > widest)
            widest = columns(text_string(&head), head.length);
    }
    text_free(&head);
    return widest;
}

void command_line_list(const struct command_line *line, FILE *out, const char *indentation)
{
    const size_t width = widest_head(line);
    struct text text = {0}, head = {0};
    for (size_t i = 0; i < line->row_count; i++) {
        const struct option_row *row = &line->rows[i];
        if (row->kind == OPTION_HEADING)
            text_printf(&text, "%s%s\n", i ? "\n" : "", row->help);
        if (row->kind == OPTION_HEADING || !row->help)
            continue;
        write_head(&head, row);
        write_entry(&text, indentation, text_string(&head), width, row->help);
    }
    command_write(out, text_string(&text));
    text_free(&text);
    text_free(&head);
}

static void list_words(const struct command_line *line, FILE *out)
{
    struct text text = {0}, head = {0};
    text_add(&text, "Commands:\n");
    for (size_t i = 0; line->words[i]; i++) {
        const struct command_word *word = line->words[i];
        text_clear(&head);
        text_printf(&head, "%s%s%s", word->name, *word->arguments ? " " : "", word->arguments);
        write_entry(&text, "  ", text_string(&head), HEAD_COLUMNS_MIN, word->help);
    }
    text_char(&text, '\n');
    command_write(out, text_string(&text));
    text_free(&text);
    text_free(&head);
}

void command_line_help(const struct command_line *line, FILE *out)
{
    command_print(out, "Usage: spoor %s %s\n", line->name, line->usage);
    command_write(out, line->about);
    command_write(out, "\n");
    if (line->words)
        list_words(line, out);
    if (line->rows[0].kind != OPTION_HEADING)
        command_write(out, "Options:\n");
    command_line_list(line, out, "  ");
    if (line->examples) {
        command_write(out, "\n");
        command_write(out, line->examples);
    }
}
