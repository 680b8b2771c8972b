/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/place.h"

#include <errno.h>
#include <string.h>

#include "base/terminal.h"

void metric_place_report(const struct metric_place *place, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&text, format, arguments);
    va_end(arguments);
    place->report(place->report_state,
                  text.failed ? "WARNING: there is not enough memory for metrics\n" : text_string(&text));
    text_free(&text);
}

void metric_place_note(struct metric_place *place, int error)
{
    if (error && error != place->failed)
        metric_place_report(place, "WARNING: the metrics at '%s' are not up to date: %s\n", place->name,
                            strerror(-error));
    if (!error && place->failed)
        metric_place_report(place, "NOTE: the metrics at '%s' are up to date again\n", place->name);
    place->failed = error;
}

int metric_place_open(struct metric_place *place, struct text *why, struct text *hint)
{
    int error = metric_address_read(place->name, &place->address, why);
    if (error)
        return error;
    if (place->address.size)
        return metric_server_open(&place->address, place->name, place->source, place->state, &place->server,
                                  why, hint);
    if ((error = textfile_open(&place->file, place->address.path)))
        text_printf(why, "the file '%s' cannot be made: %s", place->address.path, strerror(-error));
    return error;
}

void metric_place_close(struct metric_place *place)
{
    metric_server_close(place->server);
    textfile_close(&place->file);
}

bool metric_place_serve(struct metric_place *place)
{
    const int asked = metric_server_run(place->server);
    if (asked)
        metric_place_note(place, asked < 0 ? asked : 0);
    return asked;
}

static int replace_file(struct metric_place *place)
{
    struct text body = {0};
    struct metric_writer writer = {.format = &metric_text, .out = &body};
    int error = place->source(place->state, &writer);
    metric_finish(&writer);
    if (!error)
        error = body.failed ? -ENOMEM : textfile_replace(&place->file, &body);
    text_free(&body);
    return error;
}

void metric_place_write(struct metric_place *place)
{
    metric_place_note(place, replace_file(place));
}
