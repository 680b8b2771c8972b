/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/terminal.h"
#include "cmd/command.h"
#include "otlp/address.h"

static void report(void *state, const char *text)
{
    (void)state;
    struct text line = {0};
    text_printf(&line, "%s\n", text);
    command_write(stderr, text_string(&line));
    text_free(&line);
}

void otlp_report_in_time(void *state, const char *text)
{
    enum { PATIENCE_MS = 100 };
    (void)state;
    struct text line = {0};
    text_printf(&line, "%s\n", text);
    command_write_in_time(text_string(&line), PATIENCE_MS);
    text_free(&line);
}

int otlp_open(struct otlp_target *target, const struct otlp_options *options, const struct otlp_use *use)
{
    *target = (struct otlp_target){.place = options->place,
                                   .report = use->report ? use->report : report,
                                   .report_state = use->report_state};
    const struct sender_options wanted = {
        .url = options->place,
        .headers = options->headers,
        .patience_ns = options->patience_ns,
        .path = use->path,
        .goes_on = use->goes_on,
        .refusable = use->refusable,
        .stop = use->stop,
        .report = target->report,
        .report_state = target->report_state,
    };
    struct text why = {0}, hint = {0};
    if (!address_is_url(options->place))
        return output_open(&target->file, options->place, false);
    const int error = sender_open(&wanted, &target->sender, &why, &hint);
    if (error) {
        command_print(stderr, "ERROR: --otlp: %s\n", why.length ? text_string(&why) : strerror(-error));
        if (hint.length)
            command_print(stderr, "HINT: %s\n", text_string(&hint));
        sender_close(target->sender);
        target->sender = NULL;
    }
    text_free(&why);
    text_free(&hint);
    return error != 0;
}

int otlp_send(struct otlp_target *target, struct text *request, uint64_t items)
{
    if (target->sender)
        return sender_send(target->sender, request, items);
    text_char(request, '\n');
    target->written += items;
    return request->failed ? -ENOMEM : output_write(&target->file, NULL, request->bytes, request->length);
}

void otlp_say(const struct otlp_target *target, const char *format, ...)
{
    struct text line = {0};
    va_list arguments;
    va_start(arguments, format);
    terminal_vprint(&line, format, arguments);
    va_end(arguments);
    target->report(target->report_state,
                   line.failed ? "ERROR: there is not enough memory" : text_string(&line));
    text_free(&line);
}

void otlp_report_missing(const struct otlp_target *target, const char *items, uint64_t missing, uint64_t all,
                         bool is_late)
{
    const char *reason = target->sender ? sender_reason(target->sender) : "there is not enough memory";
    otlp_say(target, "%s: %" PRIu64 " of %" PRIu64 " %s did not arrive at %s%s: %s",
             is_late ? "ERROR" : "WARNING", missing, all, items, target->place,
             is_late ? ", the last ones among them" : "", *reason ? reason : "it is too slow");
}

static int close_sender(struct otlp_target *target, const char *items)
{
    sender_finish(target->sender);
    const struct sender_counts counts = sender_counts(target->sender);
    const uint64_t missing = counts.lost + counts.rejected;
    if (missing)
        command_print(stderr, "ERROR: %" PRIu64 " of %" PRIu64 " %s did not arrive at %s: %s\n", missing,
                      counts.sent + missing, items, target->place, sender_reason(target->sender));
    else
        command_print(stderr, "NOTE: %" PRIu64 " %s arrived at %s\n", counts.sent, items, target->place);
    sender_close(target->sender);
    target->sender = NULL;
    return missing != 0;
}

int otlp_close(struct otlp_target *target, const char *items, bool is_whole)
{
    if (target->sender)
        return close_sender(target, items);
    if (output_close(&target->file, is_whole))
        return 1;
    if (is_whole && target->file.path)
        command_print(stderr, "NOTE: %s has %" PRIu64 " %s\n", target->place, target->written, items);
    return 0;
}

void otlp_abandon(struct otlp_target *target)
{
    if (target->sender)
        sender_close(target->sender);
    else
        output_close(&target->file, false);
    target->sender = NULL;
}
