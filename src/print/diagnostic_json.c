/* SPDX-License-Identifier: BSD-3-Clause */
#include "print/diagnostic_json.h"

#include "print/json.h"

static void put_position(struct text *out, const char *name, struct position position)
{
    text_printf(out, "\"%s\": {\"line\": %u, \"column\": %u}", name, position.line, position.column);
}

/* Writes the members "file" and "range". The range ends in front of its end, as in text. */
static void put_place(struct text *out, struct span span, const struct source *script)
{
    if (!span.source)
        span = (struct span){script, 0, 0};
    text_add(out, "\"file\": ");
    json_string(out, span.source->name);
    text_add(out, ", \"range\": {");
    put_position(out, "start", source_position(span.source, span.begin));
    text_add(out, ", ");
    put_position(out, "end", source_position(span.source, span.end));
    text_char(out, '}');
}

void diagnostic_json(struct text *out, const struct diagnostic *diagnostic, const struct source *script)
{
    static const char *const severities[] = {"error", "warning"};
    text_printf(out, "{\"type\": \"diagnostic\", \"data\": {\"severity\": \"%s\", ",
                severities[diagnostic->severity]);
    put_place(out, diagnostic->span, script);
    text_add(out, ", \"message\": ");
    json_string(out, diagnostic->message);
    text_add(out, ", \"hints\": [");
    if (diagnostic->hint)
        json_string(out, diagnostic->hint);
    text_add(out, "], \"related\": [");
    for (const struct diagnostic_context *context = diagnostic->contexts; context; context = context->next) {
        text_char(out, '{');
        put_place(out, context->span, script);
        text_add(out, ", \"message\": ");
        json_string(out, context->message);
        text_add(out, context->next ? "}," : "}");
    }
    text_add(out, "], \"fixes\": [");
    if (diagnostic->fix) {
        text_char(out, '{');
        put_place(out, diagnostic->fix->span, script);
        text_add(out, ", \"text\": ");
        json_string(out, diagnostic->fix->text);
        text_char(out, '}');
    }
    text_add(out, "]}}\n");
}
