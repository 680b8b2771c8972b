/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "chart/chart.h"
#include "print/xml.h"

void chart_part_free(struct text *part, struct text *out)
{
    out->failed |= part->failed;
    text_free(part);
}

void chart_number(struct text *out, double number)
{
    static const char *const units[] = {"", "K", "M", "G", "T", "P", "E"};
    size_t unit = 0;
    const double sign = number < 0 ? -1 : 1;
    number *= sign;
    const bool is_whole = number < 1000;
    for (; number >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        number /= 1000;
    text_printf(out, "%.*f%s",
                is_whole && number == (double)(uint64_t)number ? 0
                : number < 10                                  ? 2
                : number < 100                                 ? 1
                                                               : 0,
                sign * number, units[unit]);
}

/* Returns where the character begins that has so many before it. */
static const char *letter_at(const char *text, size_t letter)
{
    for (; *text; text++)
        if ((*text & 0xc0) != 0x80 && !letter--)
            break;
    return text;
}

static size_t count_letters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

void chart_text(struct text *out, double x, double y, const char *anchor, const char *style, const char *text,
                size_t letters)
{
    const size_t count = count_letters(text);
    const bool is_cut = count > letters, keeps_end = !strcmp(anchor, "end");
    struct text part = {0};
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, style);
    if (!is_cut)
        text_add(&part, text);
    else if (keeps_end)
        text_printf(&part, "…%s", letter_at(text, count - letters + 1));
    else {
        text_append(&part, text, (size_t)(letter_at(text, letters - 1) - text));
        text_add(&part, "…");
    }
    xml_escape(out, text_string(&part));
    chart_part_free(&part, out);
    if (is_cut) {
        text_add(out, "<title>");
        xml_escape(out, text);
        text_add(out, "</title>");
    }
    text_add(out, "</text>\n");
}

static double draw_map(const struct chart_map *map, double y, struct text *out)
{
    struct text missing = {0};
    y += 22;
    chart_text(out, CHART_MARGIN, y, "start", "name", map->name, 100);
    if (map->prints_left)
        text_printf(&missing, "the first %d of %zu printings. ", CHART_PRINTS_MAX,
                    CHART_PRINTS_MAX + map->prints_left);
    if (map->keys_left)
        text_printf(&missing, "%zu more keys with smaller values. ", map->keys_left);
    if (map->kind == CHART_NONE)
        text_add(&missing, "its values are no numbers. ");
    if (missing.length)
        chart_text(out, CHART_WIDTH - CHART_MARGIN, y, "end", "quiet", text_string(&missing), 100);
    chart_part_free(&missing, out);
    y += 8;
    if (!map->print_count) /* there was no memory */
        return y;
    switch (map->kind) {
    case CHART_SERIES: return chart_line(map, y, out);
    case CHART_NUMBERS:
    case CHART_ROWS: return map->print_count > 1 ? chart_heat(map, y, out) : chart_bars(map, y, out);
    case CHART_NONE: break;
    }
    return y;
}

static const char style[] =
    "<style>\n"
    "text { font: 11px ui-monospace, \"DejaVu Sans Mono\", Menlo, Consolas, monospace; fill: #1d1d1b; }\n"
    "text.title { font-size: 15px; font-weight: bold; }\n"
    "text.name { font-size: 13px; font-weight: bold; }\n"
    "text.quiet { fill: #6b6a64; }\n"
    "</style>\n";

int chart_draw(const struct chart *chart, const char *title, struct text *out)
{
    struct text body = {0};
    double y = 26;
    chart_text(&body, CHART_MARGIN, y, "start", "title", title, 95);
    for (const struct chart_map *map = chart->maps; map; map = map->next)
        y = draw_map(map, y, &body);
    if (!chart->maps)
        chart_text(&body, CHART_MARGIN, y += 22, "start", "quiet", "no map was printed", 100);
    if (chart->failed)
        chart_text(&body, CHART_MARGIN, y += 22, "start", "quiet",
                   "memory ran out: something is missing here", 100);
    y += CHART_MARGIN;
    text_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n%s"
        "<rect width=\"%d\" height=\"%.0f\" fill=\"#fdfcf8\"/>\n",
        CHART_WIDTH, y, CHART_WIDTH, y, style, CHART_WIDTH, y);
    text_append(out, text_string(&body), body.length);
    text_add(out, "</svg>\n");
    const int error = body.failed || out->failed ? -ENOMEM : 0;
    text_free(&body);
    return error;
}
