/* SPDX-License-Identifier: BSD-3-Clause */
/* A flame graph and the table of functions as one page, which loads nothing: its policy allows only the script and the
 * styles that are in it, by their hashes. */
#include <errno.h>
#include <stdlib.h>

#include "flame.inc"
#include "profile/look.h"

enum { ROWS = 100 };

static void write_cell(struct text *out, uint64_t part, uint64_t whole)
{
    text_add(out, "<td class=\"number\">");
    look_percent(out, part, whole);
    text_add(out, "</td>");
}

static void write_row(struct text *out, const struct profile *profile, const struct look_function *row)
{
    const struct profile_function *function = &profile->functions[row->function];
    text_add(out, "<tr>");
    write_cell(out, row->self, profile->total);
    write_cell(out, row->total, profile->total);
    if (profile->has_old) {
        write_cell(out, row->old_self, profile->old_total);
        write_cell(out, row->old_total, profile->old_total);
    }
    text_add(out, "<td>");
    xml_escape(out, function->name);
    text_add(out, "</td><td class=\"module\">");
    xml_escape(out, function->module[0] ? function->module : profile_language_names[function->language]);
    text_add(out, "</td></tr>\n");
}

static int write_table(struct text *out, const struct profile *profile, unsigned rows)
{
    struct look_function *list = look_functions(profile);
    if (!list)
        return -ENOMEM;
    text_add(out,
             "<h2>Functions</h2>\n<table>\n<tr><th class=\"number\">itself</th><th class=\"number\">with "
             "what it calls</th>");
    if (profile->has_old)
        text_add(out, "<th class=\"number\">before</th><th class=\"number\">before, with calls</th>");
    text_add(out, "<th>function</th><th>where</th></tr>\n");
    for (size_t i = 0; i < profile->function_count && i < rows; i++)
        if (list[i].total || list[i].old_total)
            write_row(out, profile, &list[i]);
    text_add(out, "</table>\n");
    free(list);
    return 0;
}

static int write_page(const struct profile *profile, const struct profile_look *look, struct text *out)
{
    text_printf(out,
                "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
                "'sha256-%s'; style-src 'sha256-%s' 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n"
                "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
                flame_script_sha256, flame_style_sha256, page_style_sha256);
    xml_escape(out, profile->title);
    /* A script that begins with a newline is hashed with it. */
    text_printf(out, "</title>\n<style>%s</style>\n<style>%s</style>\n</head>\n<body>\n", flame_style,
                page_style);
    int error = look_flame(profile, look, true, out);
    if (!error)
        error = write_table(out, profile, look->rows ? look->rows : ROWS);
    text_printf(out, "<script>%s</script>\n</body>\n</html>\n", flame_script);
    return error;
}

const struct profile_format profile_html = {
    .name = "html", .endings = ".html .htm", .opens = "any browser opens it", .write = write_page};
