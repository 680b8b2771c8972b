/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a script in its usual layout, for --fmt. Comments stay, and one empty line where there were some. */
#ifndef SPOOR_LANG_PARSE_LAYOUT_H
#define SPOOR_LANG_PARSE_LAYOUT_H

#include "lang/parse/parse.h"

/* False after an error: a script that cannot be parsed is not changed. */
bool script_layout(struct text *out, struct arena *arena, struct diagnostics *diagnostics,
                   const struct source *source, const struct parameters *parameters);

#endif
