/* SPDX-License-Identifier: BSD-3-Clause */
/* What others chose to put into a string, on a terminal: it must not be able to command it (to move the
 * cursor, to hide lines, to type for the user). */
#ifndef SPOOR_PRINT_TERMINAL_H
#define SPOOR_PRINT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Appends the text. Newlines, tabs and valid UTF-8 stay; control characters, those of the upper half too, and
 * bytes that are no UTF-8 become \xNN. colours: sequences that only change the colour stay, for messages of
 * our own. */
void terminal_escape(struct text *out, const char *text, size_t length, bool colours);

#endif
