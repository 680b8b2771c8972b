/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads programs and attaches them, with a report of how far that is when it takes long, and of what was left out. */
#include <errno.h>
#include <stdlib.h>

#include "base/table.h"
#include "print/record.h"
#include "session/state.h"

enum { PROGRESS_NS = 300000000 /* nothing is shown of what takes less */ };

int session_load(struct session *session)
{
    const struct host_operations *host = session->host->operations;
    if (session->kernel && session->options.settings.ring_pages)
        kernel_rings_are_full(session->kernel); /* it was asked for */
    int error = host->create_maps(session->host, &session->image, &session->diagnostics);
    const size_t count = session->image.program_count; /* more may be added */
    for (size_t i = 0; !error && i < count; i++) {
        error = session_load_program(session, i);
        if (session->options.is_verbose && session->kernel && kernel_log(session->kernel, i)) {
            struct text log = {0};
            text_add(&log, kernel_log(session->kernel, i));
            text_char(&log, '\n');
            session_report_text(session, REPORT_NOTE, &log);
            text_free(&log);
        }
    }
    return error;
}

/* Shows the user how far attaching is. */
static int show_progress(void *state, size_t done, size_t total)
{
    struct attach_progress *progress = state;
    struct session *session = progress->session;
    uint64_t now = session->host->operations->clock(session->host);
    if (!progress->time)
        progress->time = now;
    if (session->options.progress && now - progress->time > PROGRESS_NS) {
        session->options.progress(session->options.state, done, total);
        progress->is_shown = true;
        progress->time = now;
    }
    return session_interrupted(session);
}

static void end_progress(const struct attach_progress *progress)
{
    if (progress->is_shown)
        progress->session->options.progress(progress->session->options.state, 0, 0);
}

int session_attach_unit(struct session *session, const struct session_unit *unit,
                        struct attach_progress *progress)
{
    const struct probe_variant *variant = unit->variant;
    struct attach_request request = {
        .program = unit->program,
        .name = variant->sites[0].name,
        .span = variant->sites[0].span,
        .diagnostics = &session->diagnostics,
        .progress = show_progress,
        .state = progress,
    };
    /* Reported before the kernel is asked, whose answer would say less. */
    for (const char *const *need = variant->kind->needs; session->kernel && need && *need; need++) {
        struct text why = {0};
        bool is_missing = kernel_lacks(session->kernel, *need, &why);
        if (is_missing)
            diagnose_error(&session->diagnostics, request.span, "%s cannot be attached: %s", request.name,
                           text_string(&why));
        text_free(&why);
        if (is_missing)
            return -ENOTSUP;
    }
    return variant->kind->attach(&session->environment, session->kernel, variant, &request);
}

/* Blocks at one event run in the order of the script: where the kernel runs the newest first, the last goes
 * first. */
static int attach_units(struct session *session, struct attach_progress *progress)
{
    for (size_t i = 0; i < 2 * session->units.count; i++) {
        bool reversed = i >= session->units.count;
        struct session_unit *unit = &session->units.items[reversed ? 2 * session->units.count - 1 - i : i];
        const struct probe_variant *variant = unit->variant;
        if (!variant->kind->attach || variant->kind->newest_first != reversed)
            continue;
        const struct diagnostics before = session->diagnostics;
        const size_t attached = session->kernel ? kernel_attached(session->kernel) : 0;
        int error = session_attach_unit(session, unit, progress);
        if (error == -EINTR || session_interrupted(session))
            return -EINTR;
        if (error && error != -EPERM && session->options.settings.missing_probes != MISSING_ERROR) {
            session_demote_missing_probe(session, &before);
            unit->is_left_out = true;
            if (session->kernel)
                kernel_detach_from(session->kernel, attached);
        } else if (error)
            return error;
    }
    return 0;
}

int session_attach(struct session *session)
{
    struct attach_progress progress = {.session = session};
    int error = attach_units(session, &progress);
    end_progress(&progress);
    return error;
}

/* Reports the warnings from the given diagnostic on, which are about what was left out while all was attached: before the
 * trace begins, and so not after it. With libspoortracer the program reads them itself. */
void session_report_left_out(struct session *session, size_t from)
{
    struct diagnostics *said = &session->diagnostics;
    struct text text = {0};
    size_t kept = from;
    if (session->options.is_embedded)
        return;
    for (size_t i = from; i < said->count; i++)
        if (said->items[i].severity == DIAGNOSTIC_WARNING)
            diagnostic_render(&text, &said->items[i], session->options.colour);
        else
            said->items[kept++] = said->items[i];
    said->count = kept;
    if (text.length && !session->options.no_warnings)
        session_report_text(session, REPORT_WARNING, &text);
    text_free(&text);
}

/* How many probes are attached: sites, but those of one USDT probe count once for each block. */
static size_t attached_probes(const struct session_units *units)
{
    struct table names = {0};
    size_t count = 0;
    for (size_t i = 0; i < units->count; i++) {
        const struct session_unit *unit = &units->items[i];
        const struct probe_variant *variant = unit->variant;
        if (i && unit->block != units->items[i - 1].block) {
            table_free(&names);
            names = (struct table){0};
        }
        for (size_t k = 0; !unit->is_left_out && k < variant->count; k++) {
            const char *name = variant->sites[k].name;
            count += !variant->kind->shares_names ||
                     (!table_find(&names, name) && !table_put(&names, name, (void *)name));
        }
    }
    table_free(&names);
    return count;
}

size_t session_attached(const struct session *session)
{
    return attached_probes(&session->units);
}

int session_count_time(struct session *session)
{
    if (session->options.counts_time && session->kernel)
        kernel_count_time(session->kernel);
    return 0;
}

bool session_has_time(const struct session *session)
{
    return session->kernel && kernel_has_time(session->kernel);
}

void session_each_program(const struct session *session, session_program_visitor *visit, void *state)
{
    for (size_t i = 0; i < session->units.count; i++) {
        const struct session_unit *unit = &session->units.items[i];
        const struct session_program program = {
            .probe = unit->variant->sites[0].name,
            .block = unit->block->span,
            .runs = session->host->operations->runs(session->host, unit->program),
        };
        if (!unit->is_left_out)
            visit(state, &program);
    }
}

/* The line that says how many probes are attached comes before what begin probes have printed. */
static void print_banner(struct session *session)
{
    const size_t count = session_attached(session);
    if (session->options.is_json && !session->options.is_quiet)
        record_attached_probes(&session->out, count);
    else if (!session->options.is_quiet && !session->options.is_json)
        session_report(session, "Attached %zu probe%s\n", count, count == 1 ? "" : "s");
    /* For test suites written for other tracers of this language. */
    if (!session->options.is_embedded && getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED"))
        text_add(&session->out, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
}

void session_report_attached(struct session *session)
{
    output_release_behind(session, print_banner);
    if (session->options.is_verbose && session->kernel) {
        struct text text = {0};
        kernel_describe_attachments(session->kernel, &text);
        session_report_text(session, REPORT_NOTE, &text);
        text_free(&text);
    }
}
