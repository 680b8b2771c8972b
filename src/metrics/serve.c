/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "metrics/http.h"
#include "metrics/negotiate.h"

enum { HTTP_NOT_FOUND = 404, HTTP_UNAVAILABLE = 503, GZIP_MIN = 1024, FASTEST = 1 };

enum message { MESSAGE_INDEX, MESSAGE_NOT_FOUND, MESSAGE_FAILED, MESSAGES };
static const struct {
    unsigned status;
    const char *text;
} messages[MESSAGES] = {
    [MESSAGE_INDEX] = {200, "spoor: metrics of a script are at /metrics\n"},
    [MESSAGE_NOT_FOUND] = {HTTP_NOT_FOUND, "There is only /metrics.\n"},
    [MESSAGE_FAILED] = {HTTP_UNAVAILABLE, "Metrics could not be read.\n"},
};

/* Metrics as they were read last in one of the forms that scrapers may want: formats, with gzip or without. */
struct form {
    const struct metric_format *format; /* NULL: the form is not in use */
    bool is_gzip;
    struct http_page *page; /* NULL: they could not be read */
    uint64_t fresh_until;   /* until then they are not read again: monotonic clock, ns */
};
enum { FORMS = 6 };

struct metric_server {
    struct http_server *http;
    metric_source *source;
    void *state;
    const char *path; /* of the socket; NULL: it is no file */
    struct http_page *messages[MESSAGES];
    struct form forms[FORMS];
    int asked; /* what metric_server_run() returns */
};

/* ---- answers ---- */

static struct http_page *answer_message(struct metric_server *server, enum message message, unsigned *status)
{
    *status = messages[message].status;
    return server->messages[message];
}

/* Makes the page of all metrics. Returns 0 or -errno. */
static int make_page(struct metric_server *server, struct form *form)
{
    struct text body = {0}, compressed = {0};
    struct metric_writer writer = {.format = form->format, .out = &body};
    int error = server->source(server->state, &writer);
    metric_finish(&writer);
    const bool is_gzip = form->is_gzip && body.length >= GZIP_MIN;
    if (!error && !body.failed && is_gzip)
        error = gzip_append(&compressed, text_string(&body), body.length, FASTEST);
    if (!error) {
        form->page =
            http_page(is_gzip ? &compressed : &body, form->format->content_type, is_gzip ? "gzip" : NULL);
        error = form->page ? 0 : -ENOMEM;
    }
    text_free(&body);
    text_free(&compressed);
    return error;
}

/* Returns the form, which is fresh or has no page. Pages that are not fresh any more are freed. */
static struct form *find_form(struct metric_server *server, const struct metric_format *format, bool is_gzip,
                              uint64_t now)
{
    struct form *found = NULL, *unused = NULL;
    for (size_t i = 0; i < FORMS; i++) {
        struct form *form = &server->forms[i];
        if (form->format && now >= form->fresh_until) {
            http_page_free(form->page);
            *form = (struct form){0};
        }
        if (form->format == format && form->is_gzip == is_gzip)
            found = form;
        else if (!form->format)
            unused = form;
    }
    return found ? found : unused;
}

static struct http_page *answer_metrics(struct metric_server *server, const struct http_request *request,
                                        unsigned *status)
{
    const struct metric_format *format = metric_negotiate(request->accept);
    const bool is_gzip = metric_allows_gzip(request->accept_encoding);
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    struct form *form = find_form(server, format, is_gzip, now);
    if (!form->format) {
        *form = (struct form){.format = format, .is_gzip = is_gzip};
        const uint64_t taken = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        const int error = make_page(server, form);
        form->fresh_until = now + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - taken) * METRIC_COST_SHARE;
        if (error || !server->asked)
            server->asked = error ? error : 1;
    }
    return form->page ? form->page : answer_message(server, MESSAGE_FAILED, status);
}

static struct http_page *answer(void *state, const struct http_request *request, unsigned *status)
{
    struct metric_server *server = state;
    if (!strcmp(request->path, "/metrics"))
        return answer_metrics(server, request, status);
    return answer_message(server, strcmp(request->path, "/") ? MESSAGE_NOT_FOUND : MESSAGE_INDEX, status);
}

int metric_server_run(struct metric_server *server)
{
    server->asked = 0;
    http_run(server->http);
    return server->asked;
}

void metric_server_wait(const struct metric_server *server, int other, int milliseconds)
{
    struct pollfd ready[] = {{http_descriptor(server->http), POLLIN, 0}, {other, POLLIN, 0}};
    poll(ready, sizeof ready / sizeof *ready, http_due_ms(server->http, milliseconds));
}

/* ---- opening ---- */

static int load(struct text *why, struct text *hint)
{
    struct text reason = {0};
    const int error = http_load(&reason);
    if (error) {
        text_printf(why, "metrics over HTTP need libmicrohttpd.so.12: %s", text_string(&reason));
        text_add(
            hint,
            "install Debian's package libmicrohttpd12, or Fedora's libmicrohttpd; a FILE.prom does without");
    }
    text_free(&reason);
    return error;
}

static int make_messages(struct metric_server *server)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        struct text text = {0};
        text_add(&text, messages[i].text);
        server->messages[i] = http_page(&text, "text/plain; charset=utf-8", NULL);
        text_free(&text);
        if (!server->messages[i])
            return -ENOMEM;
    }
    return 0;
}

int metric_server_open(const struct metric_address *address, const char *place, metric_source *source,
                       void *state, struct metric_server **out, struct text *why, struct text *hint)
{
    struct metric_server *server = NULL;
    *out = NULL;
    int error = load(why, hint);
    if (error)
        return error;
    const int listening = metric_address_listen(address);
    if (listening < 0) {
        text_printf(why, "nobody can be served at '%s': %s", place, strerror(-listening));
        if (listening == -EADDRINUSE)
            text_add(hint, "another program listens there: choose another address, or end it");
        return listening;
    }
    server = *out = calloc(1, sizeof *server);
    if (!server) {
        close(listening);
        return -ENOMEM;
    }
    *server = (struct metric_server){.source = source, .state = state, .path = address->path};
    error = http_open(listening, answer, server, &server->http);
    return error ? error : make_messages(server);
}

void metric_server_close(struct metric_server *server)
{
    if (!server)
        return;
    http_close(server->http);
    for (size_t i = 0; i < MESSAGES; i++)
        http_page_free(server->messages[i]);
    for (size_t i = 0; i < FORMS; i++)
        http_page_free(server->forms[i].page);
    if (server->path)
        unlink(server->path);
    free(server);
}
