/* SPDX-License-Identifier: BSD-3-Clause */
/* A script in its usual layout, for --fmt. Comments, and one empty line where there were some, stay. */
#ifndef SPOOR_LANG_PARSE_LAYOUT_H
#define SPOOR_LANG_PARSE_LAYOUT_H

#include "lang/parse/parse.h"

/* False after an error: what does not parse is not touched. */
bool script_layout(struct text *out, struct arena *arena, struct diagnostics *diagnostics,
                   const struct source *source, const struct parameters *parameters);

#endif
