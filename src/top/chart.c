/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/chart.h"

enum { EIGHTHS = 8 };

/* Parts of a block that grow upwards, and to the right. */
static const char *const upward[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const rightward[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
static const char *const upward_ascii[] = {" ", "_", ".", "-", "=", "+", "o", "%", "#"};

static float largest_of(const float *values, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i] > largest)
            largest = values[i];
    return largest;
}

/* How many of `steps` a value reaches, at least 1 if it is above 0. */
static unsigned height_of(float value, float largest, unsigned steps)
{
    if (!(value > 0) || !(largest > 0))
        return 0;
    const unsigned height = (unsigned)(value / largest * (float)steps + 0.5F);
    return height < 1 ? 1 : height > steps ? steps : height;
}

static const char *spark_glyph(bool is_utf8, float value, float largest)
{
    const unsigned height = height_of(value, largest, EIGHTHS);
    return is_utf8 ? upward[height] : upward_ascii[height];
}

void chart_spark(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                 enum canvas_style style, const float *values, size_t count)
{
    const size_t shown = count < width ? count : width;
    const float largest = largest_of(values + count - shown, shown);
    for (size_t i = 0; i < shown; i++)
        canvas_put(canvas, row, column + width - (unsigned)(shown - i), 1, style,
                   spark_glyph(canvas->is_utf8, values[count - shown + i], largest));
}

void chart_spark_text(struct text *out, bool is_utf8, const float *values, size_t count)
{
    const float largest = largest_of(values, count);
    for (size_t i = 0; i < count; i++)
        text_add(out, spark_glyph(is_utf8, values[i], largest));
}

void chart_graph(struct canvas *canvas, unsigned row, unsigned column, unsigned height, unsigned width,
                 const float *values, size_t count)
{
    const size_t shown = count < width ? count : width;
    const float largest = largest_of(values + count - shown, shown);
    const unsigned steps = canvas->is_utf8 ? EIGHTHS : 1;
    for (size_t i = 0; i < shown; i++) {
        const unsigned reached = height_of(values[count - shown + i], largest, height * steps);
        for (unsigned y = 0; y < height; y++) {
            const unsigned below = (height - 1 - y) * steps;
            const unsigned here = reached > below ? reached - below : 0;
            if (here)
                canvas_put(canvas, row + y, column + width - (unsigned)(shown - i), 1, STYLE_BAR,
                           canvas->is_utf8 ? upward[here < EIGHTHS ? here : EIGHTHS] : "#");
        }
    }
}

void chart_bar(struct canvas *canvas, unsigned row, unsigned column, unsigned width, double part,
               double fresh, double whole)
{
    const unsigned steps = canvas->is_utf8 ? EIGHTHS : 1;
    if (!(part > 0) || !(whole > 0) || !width)
        return;
    unsigned all = (unsigned)(part / whole * width * steps + 0.5);
    unsigned old = (unsigned)((part - (fresh < part ? fresh : part)) / whole * width + 0.5) * steps;
    all = all < 1 ? 1 : all > width * steps ? width * steps : all;
    if (fresh > 0 && old >= all) /* at least the last cell is new */
        old = (all - 1) / steps * steps;
    for (unsigned x = 0; x * steps < all; x++) {
        const unsigned here = all - x * steps < steps ? all - x * steps : steps;
        const bool is_new = fresh > 0 && x * steps >= old;
        canvas_put(canvas, row, column + x, 1, is_new ? STYLE_NEW : STYLE_BAR,
                   canvas->is_utf8 ? rightward[here]
                   : is_new        ? "+"
                                   : "#");
    }
}
