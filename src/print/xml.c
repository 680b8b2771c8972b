/* SPDX-License-Identifier: BSD-3-Clause */
#include "print/xml.h"

#include <string.h>

#include "base/terminal.h"

void xml_escape(struct text *out, const char *text)
{
    struct text visible = {0};
    terminal_escape(&visible, text, strlen(text), TERMINAL_NAME);
    for (const char *at = text_string(&visible); *at; at++)
        switch (*at) {
        case '&': text_add(out, "&amp;"); break;
        case '<': text_add(out, "&lt;"); break;
        case '>': text_add(out, "&gt;"); break;
        case '"': text_add(out, "&quot;"); break;
        case '\'': text_add(out, "&#39;"); break;
        default: text_char(out, *at);
        }
    out->failed |= visible.failed;
    text_free(&visible);
}
