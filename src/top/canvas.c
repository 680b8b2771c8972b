/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/canvas.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/terminal.h"

int canvas_resize(struct canvas *canvas, unsigned rows, unsigned columns)
{
    rows = rows > CANVAS_ROWS_MAX ? CANVAS_ROWS_MAX : rows;
    columns = columns > CANVAS_COLUMNS_MAX ? CANVAS_COLUMNS_MAX : columns;
    struct canvas_cell *cells =
        reallocarray(canvas->cells, (size_t)rows * columns + 1, sizeof *canvas->cells);
    if (!cells)
        return -ENOMEM;
    canvas->cells = cells;
    canvas->rows = rows;
    canvas->columns = columns;
    canvas_clear(canvas);
    return 0;
}

void canvas_free(struct canvas *canvas)
{
    free(canvas->cells);
    canvas->cells = NULL;
    canvas->rows = canvas->columns = 0;
}

void canvas_clear(struct canvas *canvas)
{
    for (size_t i = 0; i < (size_t)canvas->rows * canvas->columns; i++)
        canvas->cells[i] = (struct canvas_cell){.bytes = " "};
}

struct canvas_cell *canvas_cell(const struct canvas *canvas, unsigned row, unsigned column)
{
    return row < canvas->rows && column < canvas->columns
               ? &canvas->cells[(size_t)row * canvas->columns + column]
               : NULL;
}

/* One character of a text, as it is shown. */
struct glyph {
    const char *bytes;
    size_t length; /* of `bytes`; 0: nothing is shown */
    unsigned width;
    size_t used; /* bytes of the text */
};

static struct glyph next_glyph(const struct canvas *canvas, const char *at, size_t left)
{
    uint32_t point;
    const unsigned char c = (unsigned char)*at;
    if (c == '\t')
        return (struct glyph){" ", 1, 1, 1};
    if (c >= ' ' && c < 0x7f)
        return (struct glyph){at, 1, 1, 1};
    const size_t length = utf8_character(at, left, &point);
    if (!length)
        return (struct glyph){"?", 1, 1, 1};
    if (!canvas->is_utf8)
        return (struct glyph){"?", 1, 1, length};
    const int width = c < ' ' || utf8_is_hidden(point) ? -1 : wcwidth((wchar_t)point);
    if (width < 0 || length >= CANVAS_BYTES)
        return (struct glyph){"?", 1, 1, length};
    return (struct glyph){at, width ? length : 0, (unsigned)width, length};
}

static void set_cell(struct canvas *canvas, unsigned row, unsigned column, enum canvas_style style,
                     const struct glyph *glyph)
{
    struct canvas_cell *cell = canvas_cell(canvas, row, column);
    if (!cell)
        return;
    memcpy(cell->bytes, glyph->bytes, glyph->length);
    cell->bytes[glyph->length] = '\0';
    cell->style = style;
    if (glyph->width == 2 && (cell = canvas_cell(canvas, row, column + 1))) {
        cell->bytes[0] = '\0';
        cell->style = style;
    }
}

unsigned canvas_put(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                    enum canvas_style style, const char *text)
{
    unsigned taken = 0;
    if (row >= canvas->rows || column >= canvas->columns)
        return 0;
    if (width > canvas->columns - column)
        width = canvas->columns - column;
    for (size_t left = strlen(text); left && *text != '\n';) {
        const struct glyph glyph = next_glyph(canvas, text, left);
        if (taken + glyph.width > width)
            break;
        if (glyph.length)
            set_cell(canvas, row, column + taken, style, &glyph);
        taken += glyph.width;
        text += glyph.used;
        left -= glyph.used;
    }
    return taken;
}

unsigned canvas_print(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                      enum canvas_style style, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    const unsigned taken = canvas_put(canvas, row, column, width, style, text_string(&text));
    text_free(&text);
    return taken;
}

unsigned canvas_width(const struct canvas *canvas, const char *text)
{
    unsigned width = 0;
    for (size_t left = strlen(text); left && *text != '\n';) {
        const struct glyph glyph = next_glyph(canvas, text, left);
        width += glyph.width;
        text += glyph.used;
        left -= glyph.used;
    }
    return width;
}

void canvas_put_right(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                      enum canvas_style style, const char *text)
{
    const unsigned needed = canvas_width(canvas, text);
    const unsigned skip = needed < width ? width - needed : 0;
    canvas_put(canvas, row, column + skip, width - skip, style, text);
}

void canvas_select(struct canvas *canvas, unsigned row)
{
    for (unsigned column = 0; row < canvas->rows && column < canvas->columns; column++)
        canvas_cell(canvas, row, column)->is_selected = 1;
}

void canvas_row_text(const struct canvas *canvas, unsigned row, struct text *out)
{
    const size_t begin = out->length;
    for (unsigned column = 0; row < canvas->rows && column < canvas->columns; column++)
        text_add(out, canvas_cell(canvas, row, column)->bytes);
    size_t length = out->length;
    while (length > begin && out->bytes[length - 1] == ' ')
        length--;
    text_truncate(out, length);
}
