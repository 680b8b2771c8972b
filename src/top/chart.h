/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparklines and bars on a canvas: eighths of a block in UTF-8, else ASCII. */
#ifndef SPOOR_TOP_CHART_H
#define SPOOR_TOP_CHART_H

#include <stddef.h>

#include "top/canvas.h"

/* Draws one column for each value, the last values at the right end; the largest of those that are drawn is as high as can be,
 * and only what is not above 0 has no height. */
void chart_spark(struct canvas *canvas, unsigned row, unsigned column, unsigned width,
                 enum canvas_style style, const float *values, size_t count);
/* Appends a sparkline as text. */
void chart_spark_text(struct text *out, bool is_utf8, const float *values, size_t count);
/* Draws a graph of several rows, from `row` downwards. */
void chart_graph(struct canvas *canvas, unsigned row, unsigned column, unsigned height, unsigned width,
                 const float *values, size_t count);
/* Draws a bar for `part` of `whole`, of which `fresh` came last and is drawn in another style at its end. What is not 0 can be
 * seen. */
void chart_bar(struct canvas *canvas, unsigned row, unsigned column, unsigned width, double part,
               double fresh, double whole);

#endif
