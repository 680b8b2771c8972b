/* SPDX-License-Identifier: BSD-3-Clause */
/* The language server: reads requests and hands them to children. Everything is bounded: messages, documents, and
 * how many questions are being answered; while these are as many as may be, no other one is read. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/lsp.h"
#include "print/json.h"

enum { JOBS_MAX = 8, ID_MAX = 256 };

struct server {
    struct options *options;
    uint64_t patience_ms;
    struct lsp_input input;
    struct lsp_documents documents;
    struct lsp_job jobs[JOBS_MAX]; /* those with a child or an id come first */
    size_t job_count;
    enum { SERVER_BEGINS, SERVER_RUNS, SERVER_SHUTS_DOWN, SERVER_ENDS } state;
    bool was_shut_down, is_utf8;
    bool is_closed; /* no more requests come */
    bool is_deaf;   /* nobody reads what it sends */
};

static void heard(struct server *server, bool is_sent)
{
    server->is_deaf |= !is_sent;
}

static void fail(struct server *server, const char *id, enum lsp_error code, const char *message)
{
    heard(server, lsp_send_error(id, code, message));
}

/* ---- jobs ---- */

static void end_job(struct server *server, size_t index)
{
    lsp_job_end(&server->jobs[index]);
    server->jobs[index] = server->jobs[--server->job_count];
    server->jobs[server->job_count] = (struct lsp_job){0};
}

static void publish(struct server *server, const struct lsp_document *document, const char *message)
{
    struct text params = {0};
    lsp_diagnose_whole(document, message, &params);
    heard(server,
          !params.failed && lsp_send_notification("textDocument/publishDiagnostics", text_string(&params)));
    text_free(&params);
}

/* Ends a job without an answer, and says so. */
static void give_up(struct server *server, size_t index, enum lsp_error code, const char *why)
{
    const struct lsp_job *job = &server->jobs[index];
    if (job->id.length)
        fail(server, text_string(&job->id), code, why);
    else
        publish(server, job->document, why);
    end_job(server, index);
}

static void start(struct server *server, const char *id, lsp_answerer *answer, struct lsp_question *question)
{
    struct lsp_job *job = &server->jobs[server->job_count];
    question->options = server->options;
    question->is_utf8 = server->is_utf8;
    if (lsp_job_start(job, answer, question, server->patience_ms)) {
        if (id)
            fail(server, id, LSP_INTERNAL_ERROR, "cannot start a process");
        return;
    }
    text_add(&job->id, id ? id : "");
    job->document = id ? NULL : (struct lsp_document *)question->document;
    server->job_count++;
}

/* Ends making diagnostics of a text that is not the document's any more. */
static void forget(struct server *server, const struct lsp_document *document)
{
    for (size_t i = server->job_count; i-- > 0;)
        if (server->jobs[i].document == document)
            end_job(server, i);
}

static void diagnose(struct server *server, const struct lsp_document *document)
{
    struct lsp_question question = {.document = document};
    start(server, NULL, lsp_diagnose, &question);
}

static void hand_on(struct server *server, size_t index)
{
    const struct lsp_job *job = &server->jobs[index];
    const char *answer = text_string(&job->answer);
    heard(server, job->id.length ? lsp_send_result(text_string(&job->id), answer)
                                 : lsp_send_notification("textDocument/publishDiagnostics", answer));
    end_job(server, index);
}

/* Looks at all jobs; `ready` says of which there is something to read. */
static void look_at_jobs(struct server *server, const struct pollfd *ready)
{
    const uint64_t now = clock_ms(CLOCK_MONOTONIC);
    for (size_t i = server->job_count; i-- > 0;) {
        struct lsp_job *job = &server->jobs[i];
        const int state = ready[i].revents ? lsp_job_read(job) : 0;
        if (state > 0)
            hand_on(server, i);
        else if (state < 0)
            give_up(server, i, LSP_INTERNAL_ERROR, "the compiler gave up this script: please report it");
        else if (now >= job->deadline_ms)
            give_up(server, i, LSP_REQUEST_FAILED,
                    "compiling this takes too long here: see the option --limit of spoor lsp");
    }
}

/* ---- messages ---- */

struct request {
    struct server *server;
    const char *id; /* as it was written; NULL: it is a notification */
    struct json_value params;
};

static void initialize(const struct request *request)
{
    struct json_value item, offered = json_find(request->params, "capabilities.general.positionEncodings");
    struct server *server = request->server;
    struct text result = {0};
    for (size_t at = 0; json_next_item(offered, &at, &item);)
        server->is_utf8 |= json_is_string(item, "utf-8");
    server->state = SERVER_RUNS;
    text_printf(&result,
                "{\"capabilities\": {\"positionEncoding\": \"%s\", "
                "\"textDocumentSync\": {\"openClose\": true, \"change\": 1}, "
                "\"completionProvider\": {\"triggerCharacters\": [\":\", \".\", \">\", \"@\", \"$\"]}, "
                "\"hoverProvider\": true, \"codeActionProvider\": {\"codeActionKinds\": [\"quickfix\"]}}, "
                "\"serverInfo\": {\"name\": \"spoor\", \"version\": \"%s\"}}",
                server->is_utf8 ? "utf-8" : "utf-16", SPOOR_VERSION);
    heard(server, !result.failed && lsp_send_result(request->id, text_string(&result)));
    text_free(&result);
}

static void shut_down(const struct request *request)
{
    request->server->state = SERVER_SHUTS_DOWN;
    request->server->was_shut_down = true;
    heard(request->server, lsp_send_result(request->id, "null"));
}

static void leave(const struct request *request)
{
    request->server->state = SERVER_ENDS;
}

/* Finds the document that a request is about. NULL, after an answer: it is not open. */
static struct lsp_document *document_of(const struct request *request)
{
    struct lsp_document *document =
        lsp_document_find(&request->server->documents, json_find(request->params, "textDocument.uri"));
    if (!document && request->id)
        fail(request->server, request->id, LSP_INVALID_PARAMS, "there is no such open document");
    return document;
}

static void set_text(const struct request *request, struct json_value text)
{
    struct server *server = request->server;
    const struct json_value identifier = json_find(request->params, "textDocument");
    struct lsp_document *old = lsp_document_find(&server->documents, json_find(identifier, "uri"));
    if (old)
        forget(server, old);
    struct lsp_document *document = lsp_document_set(&server->documents, identifier, text);
    if (document)
        diagnose(server, document);
    else
        heard(server, lsp_send_notification(
                          "window/showMessage",
                          "{\"type\": 1, \"message\": \"spoor lsp: this document could not be taken: "
                          "its name or text is missing, or too much is open\"}"));
}

static void open_document(const struct request *request)
{
    set_text(request, json_find(request->params, "textDocument.text"));
}

static void change_document(const struct request *request)
{
    struct json_value change = {0}, changes = json_find(request->params, "contentChanges");
    if (!document_of(request))
        return;
    for (size_t at = 0; json_next_item(changes, &at, &change);)
        continue; /* each is the whole text: the last one counts */
    if (change.bytes)
        set_text(request, json_find(change, "text"));
}

static void close_document(const struct request *request)
{
    struct lsp_document *document = document_of(request);
    if (!document)
        return;
    forget(request->server, document);
    text_clear(&document->version);
    publish(request->server, document, NULL);
    lsp_document_close(&request->server->documents, document);
}

static bool read_position(struct json_value params, const char *path, struct lsp_position *position)
{
    const struct json_value value = json_find(params, path);
    const struct json_value line = json_find(value, "line"), character = json_find(value, "character");
    return json_read_unsigned(&line, &position->line) && json_read_unsigned(&character, &position->character);
}

static void ask(const struct request *request, lsp_answerer *answer, const char *start_path,
                const char *end_path)
{
    struct lsp_question question = {.document = document_of(request)};
    if (!question.document)
        return;
    if (read_position(request->params, start_path, &question.range.start) &&
        read_position(request->params, end_path, &question.range.end))
        start(request->server, request->id, answer, &question);
    else
        fail(request->server, request->id, LSP_INVALID_PARAMS, "the place in the document is missing");
}

static void complete(const struct request *request)
{
    ask(request, lsp_complete, "position", "position");
}

static void hover(const struct request *request)
{
    ask(request, lsp_hover, "position", "position");
}

static void fix(const struct request *request)
{
    ask(request, lsp_fix, "range.start", "range.end");
}

static void cancel(const struct request *request)
{
    struct server *server = request->server;
    const struct json_value id = json_find(request->params, "id");
    for (size_t i = server->job_count; id.bytes && i-- > 0;) {
        const struct text *known = &server->jobs[i].id;
        if (known->length == id.length && !memcmp(known->bytes, id.bytes, id.length))
            give_up(server, i, LSP_CANCELLED, "cancelled");
    }
}

static const struct method {
    const char *name;
    void (*run)(const struct request *request);
    bool is_request, at_any_time;
} methods[] = {
    {"initialize", initialize, true, true},
    {"shutdown", shut_down, true, false},
    {"exit", leave, false, true},
    {"textDocument/didOpen", open_document, false, false},
    {"textDocument/didChange", change_document, false, false},
    {"textDocument/didClose", close_document, false, false},
    {"textDocument/completion", complete, true, false},
    {"textDocument/hover", hover, true, false},
    {"textDocument/codeAction", fix, true, false},
    {"$/cancelRequest", cancel, false, false},
};

static void run_method(const struct request *request, struct json_value name)
{
    struct server *server = request->server;
    const struct method *method = NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (json_is_string(name, methods[i].name))
            method = &methods[i];
    if (method && method->is_request == (request->id != NULL) &&
        (method->at_any_time ? method->run != initialize || server->state == SERVER_BEGINS
                             : server->state == SERVER_RUNS))
        method->run(request);
    else if (!request->id)
        return; /* a notification has no answer */
    else if (server->state == SERVER_BEGINS)
        fail(server, request->id, LSP_NOT_INITIALIZED, "the first request is initialize");
    else if (method)
        fail(server, request->id, LSP_INVALID_REQUEST, "not now, or not as a request");
    else
        fail(server, request->id, LSP_METHOD_NOT_FOUND, "spoor has no such method");
}

static void handle(struct server *server, struct json_value message)
{
    struct text id = {0};
    struct request request = {.server = server};
    if (!json_read_object(message.bytes, message.length, NULL, 0)) {
        fail(server, NULL, LSP_PARSE_ERROR, "this is no object of JSON, or nested too deeply");
        return;
    }
    const struct json_value method = json_find(message, "method"), number = json_find(message, "id");
    const bool has_id = number.bytes && number.length <= ID_MAX && strchr("\"-0123456789", *number.bytes);
    if (number.bytes && !has_id) {
        fail(server, NULL, LSP_INVALID_REQUEST, "the id of a request is a number or a short string");
        return;
    }
    if (has_id)
        text_append(&id, number.bytes, number.length);
    request.id = has_id ? text_string(&id) : NULL;
    request.params = json_find(message, "params");
    if (method.bytes)
        run_method(&request, method);
    else if (!json_find(message, "result").bytes &&
             !json_find(message, "error").bytes) /* answers mean nothing */
        fail(server, request.id, LSP_INVALID_REQUEST, "a request has a method");
    text_free(&id);
}

/* Handles the messages that have come, as long as another question can be asked. Returns 0, or 1 after a message. */
static int handle_input(struct server *server)
{
    while (server->state != SERVER_ENDS && server->job_count < JOBS_MAX) {
        struct json_value message = {0};
        const int got = lsp_next(&server->input, &message);
        if (!got)
            return 0;
        if (got > 0)
            handle(server, message);
        else if (got == -EFBIG)
            fail(server, NULL, LSP_INVALID_REQUEST, "a message of more than 16 MiB was passed over");
        else {
            fail(server, NULL, LSP_PARSE_ERROR,
                 "a message begins with Content-Length: BYTES and an empty line");
            fputs("ERROR: the input is not the language server protocol\n"
                  "HINT: an editor starts spoor lsp; see spoor-lsp(1)\n",
                  stderr);
            return 1;
        }
    }
    return 0;
}

/* How long to wait: until the first deadline of a job. */
static int patience(const struct server *server)
{
    const uint64_t now = clock_ms(CLOCK_MONOTONIC);
    uint64_t least = INT32_MAX;
    for (size_t i = 0; i < server->job_count; i++) {
        const uint64_t deadline = server->jobs[i].deadline_ms;
        const uint64_t left = deadline > now ? deadline - now : 0;
        least = left < least ? left : least;
    }
    return server->job_count ? (int)least : -1;
}

/* Reads requests, if there are any. */
static void read_input(struct server *server)
{
    const ssize_t got = lsp_read(&server->input);
    if (got <= 0 && got != -EINTR && got != -EAGAIN)
        server->is_closed = true;
}

/* Serves until the end: without an exit, when all that was asked is answered. Returns the exit status. */
static int serve(struct server *server)
{
    while (server->state != SERVER_ENDS && !server->is_deaf && !(server->is_closed && !server->job_count)) {
        struct pollfd ready[JOBS_MAX + 1];
        const size_t count = server->job_count;
        const bool listens = count < JOBS_MAX && !server->is_closed;
        for (size_t i = 0; i < count; i++)
            ready[i] = (struct pollfd){server->jobs[i].pipe, POLLIN, 0};
        ready[count] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
        if (poll(ready, (nfds_t)(count + listens), patience(server)) < 0 && errno != EINTR)
            return 1;
        if (listens && ready[count].revents)
            read_input(server);
        look_at_jobs(server, ready);
        if (handle_input(server))
            return 1;
    }
    return !server->was_shut_down;
}

/* ---- the command ---- */

struct arguments {
    uint64_t limit_ns;
};

static const struct option_row rows[] = {
    {0, "limit", "TIME", "how long an answer may take (10s)",
     OPTION_STORES(DURATION, struct arguments, limit_ns)},
    OPTION_ROW_HELP,
};

static int command_lsp(int argc, char **argv)
{
    static struct options options; /* its lists live as long as the process */
    static struct server server;
    struct arguments arguments = {.limit_ns = (uint64_t)10 * NSEC_PER_SEC};
    struct command_arguments given;
    int status = 1;
    if (options_begin(&options) || !command_line_parse(&lsp_line, argc, argv, &arguments, &given, &status))
        return status;
    if (given.count)
        return command_line_fail(&lsp_line, "what is '%s'? scripts come from the editor", given.words[0]);
    if (isatty(STDIN_FILENO) == 1)
        fputs("NOTE: spoor lsp speaks with an editor, not with a terminal; see spoor-lsp(1)\n", stderr);
    signal(SIGPIPE, SIG_IGN);
    server.options = &options;
    server.patience_ms = arguments.limit_ns / NSEC_PER_MSEC;
    status = serve(&server);
    while (server.job_count)
        end_job(&server, 0);
    while (server.documents.first)
        lsp_document_close(&server.documents, server.documents.first);
    text_free(&server.input.bytes);
    return status;
}

const struct command_line lsp_line = {
    .name = "lsp",
    .summary = "a language server: what is wrong with a script while it is written",
    .run = command_lsp,
    .usage = "[options]",
    .about = "Speaks the language server protocol with an editor, on the standard input and output: errors "
             "and fixes,\n"
             "completion, and what a probe's arguments are. Attaches nothing, and needs no privilege.\n",
    COMMAND_ROWS(rows),
    .examples = "In Neovim:\n"
                "  vim.lsp.start({ name = 'spoor', cmd = { 'spoor', 'lsp' } })\n",
};
