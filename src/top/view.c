/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"

int top_view_begin(struct top_view *view, struct top_table *tables, size_t count, size_t room,
                   struct top_lines *lines)
{
    view->tables = tables;
    view->table_count = count;
    view->lines = lines;
    free(view->positions);
    view->positions = calloc(room + 1, sizeof *view->positions);
    return view->positions ? 0 : -ENOMEM;
}

void top_view_free(struct top_view *view)
{
    canvas_free(&view->canvas);
    free(view->positions);
    view->positions = NULL;
    text_free(&view->status);
}

struct top_table *top_view_table(const struct top_view *view)
{
    return view->current < view->table_count ? &view->tables[view->current] : NULL;
}

void top_view_status(struct top_view *view, bool is_warning, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_clear(&view->status);
    text_vprintf(&view->status, format, arguments);
    va_end(arguments);
    view->is_warning = is_warning;
    view->is_stale = true;
}

/* ---- the selection ---- */

static void select_row(struct top_view *view, size_t row)
{
    struct view_position *position = &view->positions[view->current];
    const struct top_table *table = top_view_table(view);
    if (!table->shown_count)
        return;
    position->selected = row < table->shown_count ? row : table->shown_count - 1;
    position->follows = position->selected > 0; /* the first place is held whoever is there */
    position->hash = table->shown[position->selected]->hash;
    view->scroll = 0;
}

static void move(struct top_view *view, long step)
{
    const size_t at = view->positions[view->current].selected;
    select_row(view, step < 0 && (size_t)-step > at ? 0 : at + (size_t)step);
}

void top_view_arranged(struct top_view *view)
{
    struct view_position *position = &view->positions[view->current];
    const struct top_table *table = top_view_table(view);
    if (!table)
        return;
    for (size_t i = 0; position->follows && i < table->shown_count; i++)
        if (table->shown[i]->hash == position->hash) {
            position->selected = i;
            return;
        }
    if (position->selected >= table->shown_count)
        position->selected = table->shown_count ? table->shown_count - 1 : 0;
}

static void show_table(struct top_view *view, size_t table)
{
    if (table >= view->table_count)
        return;
    view->current = table;
    view->mode = VIEW_TABLE;
    view->scroll = 0;
}

/* ---- keys ---- */

static enum view_request edit_filter(struct top_view *view, uint32_t key)
{
    struct text *filter = &top_view_table(view)->filter;
    if (key == VIEW_ENTER || key == VIEW_ESCAPE) {
        view->edits_filter = false;
        if (key == VIEW_ESCAPE)
            text_clear(filter);
    } else if (key == VIEW_BACKSPACE) {
        size_t length = filter->length;
        while (length && (filter->bytes[length - 1] & 0xc0) == 0x80) /* the rest of a character */
            length--;
        text_truncate(filter, length ? length - 1 : 0);
    } else if (key >= ' ' && key < 0x80) {
        text_char(filter, (char)key);
    } else if (key >= 0x80 && key < 0x100) { /* bytes of a character come one by one */
        text_char(filter, (char)key);
        uint32_t point;
        size_t begin = filter->length;
        while (begin && ((unsigned char)filter->bytes[--begin] & 0xc0) == 0x80)
            ;
        if (filter->length - begin < 4 &&
            !utf8_character(filter->bytes + begin, filter->length - begin, &point))
            return VIEW_NOTHING;
    } else {
        return VIEW_NOTHING;
    }
    return VIEW_ARRANGE;
}

static void leave(struct top_view *view)
{
    if (view->mode != VIEW_TABLE)
        view->mode = VIEW_TABLE;
    else
        text_clear(&view->status);
}

static void scroll(struct top_view *view, long lines)
{
    view->scroll = lines < 0 && (size_t)-lines > view->scroll ? 0 : view->scroll + (size_t)lines;
}

static void go(struct top_view *view, long lines)
{
    if (view->mode == VIEW_WHOLE_ROW)
        scroll(view, lines);
    else
        move(view, lines);
}

static enum view_request press_arrow(struct top_view *view, uint32_t key)
{
    enum { SHIFT = 8 };
    struct view_position *position = &view->positions[view->current];
    const long page = view->page > 1 ? (long)view->page - 1 : 1;
    switch (key) {
    case VIEW_UP: go(view, -1); break;
    case VIEW_DOWN: go(view, 1); break;
    case VIEW_PAGE_UP: go(view, -page); break;
    case VIEW_PAGE_DOWN: go(view, page); break;
    case VIEW_HOME: go(view, -TOP_ROWS_MAX); break;
    case VIEW_END: go(view, TOP_ROWS_MAX); break;
    case VIEW_LEFT: position->shift -= position->shift < SHIFT ? position->shift : SHIFT; break;
    case VIEW_RIGHT: position->shift += position->shift < CANVAS_COLUMNS_MAX ? SHIFT : 0; break;
    default: break;
    }
    return VIEW_NOTHING;
}

static enum view_request press_letter(struct top_view *view, uint32_t key)
{
    struct top_table *table = top_view_table(view);
    switch (key) {
    case ' ':
        view->is_paused = !view->is_paused;
        view->lines_shown = view->lines->count;
        break;
    case 's': top_table_sort_next(table, 1); return VIEW_ARRANGE;
    case 'S': table->is_reversed = !table->is_reversed; return VIEW_ARRANGE;
    case 'd': table->span = table->span == TOP_TOTAL ? TOP_LAST : TOP_TOTAL; return VIEW_ARRANGE;
    case '/':
        view->mode = VIEW_TABLE;
        view->edits_filter = true;
        break;
    case 'w': return VIEW_SAVE;
    case '?':
    case 'h': view->mode = VIEW_HELP; break;
    case VIEW_ENTER: view->mode = view->mode == VIEW_TABLE ? VIEW_WHOLE_ROW : VIEW_TABLE; break;
    case VIEW_ESCAPE:
    case VIEW_BACKSPACE: leave(view); break;
    case VIEW_TAB: show_table(view, (view->current + 1) % view->table_count); return VIEW_ARRANGE;
    case VIEW_BACK_TAB:
        show_table(view, (view->current + view->table_count - 1) % view->table_count);
        return VIEW_ARRANGE;
    default:
        if (key < '1' || key > '9')
            return press_arrow(view, key);
        show_table(view, key - '1');
        return VIEW_ARRANGE;
    }
    view->scroll = 0;
    return VIEW_NOTHING;
}

enum view_request top_view_key(struct top_view *view, uint32_t key)
{
    if (view->edits_filter)
        return edit_filter(view, key);
    if (key == 'q' || key == 'Q')
        return VIEW_QUIT;
    if (view->mode == VIEW_HELP) {
        view->mode = VIEW_TABLE;
        return VIEW_NOTHING;
    }
    return top_view_table(view) ? press_letter(view, key) : VIEW_NOTHING;
}
