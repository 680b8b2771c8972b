/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SPOOR_PRINT_XML_H
#define SPOOR_PRINT_XML_H

#include "base/text.h"

/* Appends foreign text for XML or HTML, as content or in quotes: what has a meaning there is escaped, and characters that
 * are invisible or that change the direction of text become \xNN. */
void xml_escape(struct text *out, const char *text);

#endif
