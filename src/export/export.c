/* SPDX-License-Identifier: BSD-3-Clause */
#include "export/export.h"

#include <errno.h>
#include <string.h>

#include "print/event.h"

static const struct export_format *const formats[] = {&export_perfetto, &export_ctf, &export_folded,
                                                      &export_html,     &export_csv, &export_ndjson};

const struct export_format *export_format_at(size_t index)
{
    return index < sizeof formats / sizeof formats[0] ? formats[index] : NULL;
}

const struct export_format *export_format_find(const char *name)
{
    const struct export_format *format;
    for (size_t i = 0; (format = export_format_at(i)); i++)
        if (!strcmp(format->name, name))
            return format;
    return NULL;
}

static int flush(struct export *export, size_t much)
{
    if (export->out.failed)
        return -ENOMEM;
    if (export->out.length < much)
        return 0;
    const int error = export->sink.write(export->sink.context, NULL, export->out.bytes, export->out.length);
    text_clear(&export->out);
    return error;
}

int export_begin(struct export *export, const struct export_format *format, const struct recording *recording,
                 const struct export_choice *choice, const struct export_sink *sink)
{
    *export = (struct export){.format = format, .recording = recording, .choice = *choice, .sink = *sink};
    return format->begin(export);
}

int export_event(struct export *export, const struct recording_event *event, const struct object_step *step)
{
    enum { MUCH = 1 << 16 };
    const uint64_t time = recording_time(export->recording, event->stamp);
    if (time > export->last) /* an earlier time means that the recording is damaged */
        export->last = time;
    const int error = export->format->event(export, &(struct export_event){event, step, export->last});
    return error ? error : flush(export, MUCH);
}

int export_line(struct export *export, const struct json_line *line)
{
    const int error = export->format->line(export, line);
    return error ? error : flush(export, 1 << 16);
}

int export_end(struct export *export)
{
    const int error = export->format->end(export);
    return error ? error : flush(export, 1);
}

void export_free(struct export *export)
{
    if (export->format)
        export->format->free(export);
    text_free(&export->out);
    *export = (struct export){0};
}

/* ---- labels ---- */

void export_owner_label(struct text *out, const struct recording *recording,
                        const struct recording_event *event)
{
    struct recording_owner owner;
    event_print_owner(out, recording, event);
    if (recording_owner(recording, event, &owner) && owner.description_length) {
        text_char(out, ' ');
        text_append(out, owner.description, owner.description_length);
    }
}

void export_string(struct text *out, const struct recording_event *event, unsigned argument)
{
    const struct recording_text text = recording_string(event, argument);
    if (text.is_null)
        text_add(out, "(null)");
    text_append(out, text.bytes, text.length);
    if (text.is_cut)
        text_add(out, "..");
}

void export_type_label(struct text *out, const struct recording_type *type)
{
    if (type->name[0])
        text_add(out, type->name);
    else
        text_char(out, type->letter);
}
