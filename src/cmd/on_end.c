/* SPDX-License-Identifier: BSD-3-Clause */
/* `spoor --remote-end`: what --on runs on a host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/on.h"
#include "remote/end.h"

/* A process has one of them. */
static struct remote_end end;
static struct remote_request request;

static void report(void *state, const char *text)
{
    remote_end_report(state, text);
}

static int run(struct options *options, const struct source *sources)
{
    struct session *session;
    int status = 0;
    options->session.state = &end;
    options->session.is_terminal = request.is_terminal;
    options->session.report = report;
    remote_end_watch(&end, &options->session);
    const int error = command_compile(options, sources, &session);
    if (!session) {
        fputs("ERROR: there is not enough memory\n", stderr);
        return 1;
    }
    struct diagnostics warnings = *session_diagnostics(session);
    command_diagnose(options, &warnings);
    if (remote_end_compiled(&end, !error)) {
        const int failed = session_run(session, &status);
        struct diagnostics later = *session_diagnostics(session);
        later.items += warnings.count;
        later.count -= warnings.count;
        command_diagnose(options, &later);
        if (failed && !later.errors)
            command_print(stderr, "ERROR: the trace ended early: %s\n", strerror(-failed));
        status = failed ? 1 : status;
    } else {
        status = 1;
    }
    session_close(session);
    return status;
}

int command_remote_end(void)
{
    static struct options options; /* its lists live as long as the process */
    if (remote_end_open(&end, &request))
        return 1;
    char **words = calloc(request.word_count + 2, sizeof *words);
    int status = 1;
    if (words) {
        words[0] = (char *)"spoor";
        for (size_t i = 0; i < request.word_count; i++)
            words[1 + i] = (char *)request.words[i];
        status = options_parse(&options, (int)request.word_count + 1, words);
    }
    if (!status) {
        for (size_t i = 0; i < options.script_count && i < request.name_count; i++)
            options.scripts[i].file = request.names[i];
        options.output = NULL; /* an environment may name one */
        options.run = run;
        status = command_script(&options);
    }
    remote_end_close(&end, status);
    return status;
}
