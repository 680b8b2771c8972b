/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions in which most was spent, as text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "profile/look.h"

enum { ROWS = 30 };

static const char *where(const struct profile_function *function)
{
    const char *slash = strrchr(function->module, '/');
    return slash && slash[1]     ? slash + 1
           : function->module[0] ? function->module
                                 : profile_language_names[function->language];
}

static void write_column(struct text *out, uint64_t part, uint64_t whole)
{
    struct text cell = {0};
    look_percent(&cell, part, whole);
    text_printf(out, "%8s", text_string(&cell));
    out->failed |= cell.failed;
    text_free(&cell);
}

static void write_row(struct text *out, const struct profile *profile, const struct look_function *row,
                      unsigned columns)
{
    const struct profile_function *function = &profile->functions[row->function];
    const size_t begin = out->length;
    write_column(out, row->self, profile->total);
    write_column(out, row->total, profile->total);
    if (profile->has_old) {
        write_column(out, row->old_self, profile->old_total);
        write_column(out, row->old_total, profile->old_total);
    }
    text_add(out, "  ");
    terminal_escape(out, function->name, strlen(function->name), TERMINAL_NAME);
    if (function->language != LANGUAGE_UNKNOWN) { /* that is called by its file already */
        text_add(out, "  [");
        terminal_escape(out, where(function), strlen(where(function)), TERMINAL_NAME);
        text_add(out, "]");
    }
    if (columns > 3 && out->length - begin > columns) {
        text_truncate(out, begin + columns - 2);
        while (out->length > begin && (out->bytes[out->length - 1] & 0xc0) == 0x80)
            text_truncate(out, out->length - 1);
        text_add(out, "..");
    }
    text_char(out, '\n');
}

static int write_text(const struct profile *profile, const struct profile_look *look, struct text *out)
{
    const unsigned rows = look->rows ? look->rows : ROWS;
    struct look_function *list = look_functions(profile);
    size_t left = 0, shown = 0;
    if (!list)
        return -ENOMEM;
    terminal_escape(out, profile->title, strlen(profile->title), TERMINAL_NAME);
    text_add(out, ": ");
    profile_amount(out, profile, profile->total);
    if (profile->lasted)
        text_printf(out, " in %.1f s", (double)profile->lasted / 1e9);
    text_printf(out, "\n\n%8s%8s%s  FUNCTION\n", "SELF", "TOTAL", profile->has_old ? "  BEFORE   TOTAL" : "");
    for (size_t i = 0; i < profile->function_count; i++) {
        /* What only stands above others, a process or a container, is in no function. */
        if (!list[i].self && !list[i].old_self)
            continue;
        if (shown < rows) {
            write_row(out, profile, &list[i], look->columns);
            shown++;
        } else
            left++;
    }
    if (left)
        text_printf(out, "%16s  %zu more functions\n", "", left);
    free(list);
    return 0;
}

const struct profile_format profile_text = {.name = "text", .endings = "", .write = write_text};
