/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/notes.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/terminal.h"

enum { NOTES_BYTES_MAX = 1 << 20 };

struct note {
    struct note *next;
    struct text text;
    bool is_error;
    uint64_t added; /* ms */
    bool has[];     /* which hosts say it */
};

/* The note that a host's line belongs to: one behind all of the host's own, so that its lines stay in order. */
static struct note *find(const struct notes *notes, size_t host, bool is_error, const char *text,
                         size_t length)
{
    struct note *found = NULL;
    for (struct note *note = notes->first; note; note = note->next)
        if (note->has[host])
            found = NULL;
        else if (!found && note->is_error == is_error && note->text.length == length &&
                 !memcmp(text_string(&note->text), text, length))
            found = note;
    return found;
}

void notes_add(struct notes *notes, size_t host, bool is_error, const char *text, size_t length)
{
    struct note *note = find(notes, host, is_error, text, length);
    if (!note) {
        note = calloc(1, sizeof *note + notes->host_count * sizeof *note->has);
        if (!note)
            return;
        text_append(&note->text, text, length);
        note->is_error = is_error;
        note->added = clock_ms(CLOCK_MONOTONIC);
        *(notes->last ? &notes->last->next : &notes->first) = note;
        notes->last = note;
        notes->bytes += sizeof *note + length + notes->host_count;
    }
    note->has[host] = true;
    if (notes->bytes > NOTES_BYTES_MAX)
        notes_flush(notes, true);
}

static enum report_kind kind_of(const struct note *note)
{
    const char *text = text_string(&note->text);
    if (note->is_error || !strncmp(text, "ERROR", strlen("ERROR")))
        return REPORT_ERROR;
    return strncmp(text, "WARNING", strlen("WARNING")) ? REPORT_NOTE : REPORT_WARNING;
}

static void report(const struct notes *notes, const struct note *note)
{
    struct text line = {0};
    const char *between = note->is_error ? "ERROR: " : "";
    for (size_t i = 0; i < notes->host_count; i++)
        if (note->has[i]) {
            terminal_print(&line, "%s%s", between, notes->hosts[i]);
            between = ", ";
        }
    terminal_print(&line, ": %s\n", text_string(&note->text));
    notes->report(notes->state, kind_of(note),
                  line.failed ? "ERROR: there is not enough memory\n" : text_string(&line));
    text_free(&line);
}

static bool is_of_all(const struct notes *notes, const struct note *note)
{
    size_t count = 0;
    for (size_t i = 0; i < notes->host_count; i++)
        count += note->has[i];
    return count == notes->host_count;
}

static void drop_first(struct notes *notes)
{
    struct note *note = notes->first;
    notes->first = note->next;
    if (!notes->first)
        notes->last = NULL;
    notes->bytes -= sizeof *note + note->text.length + notes->host_count;
    text_free(&note->text);
    free(note);
}

void notes_flush(struct notes *notes, bool is_all)
{
    const uint64_t now = clock_ms(CLOCK_MONOTONIC);
    while (notes->first &&
           (is_all || now - notes->first->added >= NOTES_HOLD_MS || is_of_all(notes, notes->first))) {
        report(notes, notes->first);
        drop_first(notes);
    }
}

void notes_free(struct notes *notes)
{
    while (notes->first)
        drop_first(notes);
}
