/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/http.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"

/* ---- libmicrohttpd: what is used of it, which has been the same since its library has the version 12. Its headers are not
 * needed. ---- */

struct mhd_daemon;
struct mhd_connection;
typedef int mhd_handler(void *state, struct mhd_connection *connection, const char *url, const char *method,
                        const char *version, const char *upload, size_t *upload_size, void **request);
enum {
    MHD_FAILED = 0,
    MHD_DONE = 1,
    MHD_USE_EPOLL = 512,
    MHD_HEADER = 1,
    MHD_FREES_BUFFER = 1,
    MHD_OPTION_END = 0,
    MHD_OPTION_MEMORY_LIMIT = 1,
    MHD_OPTION_CLIENTS_LIMIT = 2,
    MHD_OPTION_TIMEOUT = 3,
    MHD_OPTION_LISTENING = 12,
    MHD_INFO_EPOLL = 3,
};

static struct {
    struct mhd_daemon *(*start)(unsigned flags, uint16_t port, void *accept, void *accept_state,
                                mhd_handler *handler, void *state, ...);
    void (*stop)(struct mhd_daemon *daemon);
    int (*run)(struct mhd_daemon *daemon);
    int (*due)(struct mhd_daemon *daemon, unsigned long long *milliseconds);
    const int *(*info)(struct mhd_daemon *daemon, int kind, ...);
    const char *(*header)(struct mhd_connection *connection, int kind, const char *name);
    struct http_page *(*page)(size_t size, void *bytes, int mode);
    int (*add_header)(struct http_page *page, const char *name, const char *value);
    int (*queue)(struct mhd_connection *connection, unsigned status, struct http_page *page);
    void (*free_page)(struct http_page *page);
} mhd;

static const struct library_symbol symbols[] = {
    {"MHD_start_daemon", &mhd.start},
    {"MHD_stop_daemon", &mhd.stop},
    {"MHD_run", &mhd.run},
    {"MHD_get_timeout", &mhd.due},
    {"MHD_get_daemon_info", &mhd.info},
    {"MHD_lookup_connection_value", &mhd.header},
    {"MHD_create_response_from_buffer", &mhd.page},
    {"MHD_add_response_header", &mhd.add_header},
    {"MHD_queue_response", &mhd.queue},
    {"MHD_destroy_response", &mhd.free_page},
};

int http_load(struct text *why)
{
    return library_load("libmicrohttpd.so.12", symbols, sizeof symbols / sizeof *symbols, why);
}

/* ---- pages ---- */

struct http_page *http_page(struct text *body, const char *content_type, const char *encoding)
{
    if (body->failed || !text_reserve(body, 0))
        return NULL;
    struct http_page *page = mhd.page(body->length, body->bytes, MHD_FREES_BUFFER);
    if (!page)
        return NULL;
    *body = (struct text){0};
    if (mhd.add_header(page, "Content-Type", content_type) == MHD_DONE &&
        mhd.add_header(page, "Vary", "Accept, Accept-Encoding") == MHD_DONE &&
        (!encoding || mhd.add_header(page, "Content-Encoding", encoding) == MHD_DONE))
        return page;
    mhd.free_page(page);
    return NULL;
}

void http_page_free(struct http_page *page)
{
    if (page)
        mhd.free_page(page);
}

/* ---- the server ---- */

struct http_server {
    struct mhd_daemon *daemon;
    http_answer *answer;
    void *state;
};

static int refuse_method(struct mhd_connection *connection)
{
    struct text text = {0};
    text_add(&text, "There is only GET and HEAD.\n");
    struct http_page *page = http_page(&text, "text/plain", NULL);
    int queued = MHD_FAILED;
    if (page && mhd.add_header(page, "Allow", "GET, HEAD") == MHD_DONE)
        queued = mhd.queue(connection, 405, page);
    http_page_free(page);
    text_free(&text);
    return queued;
}

/* Called when the headers of a request have come, then for each part of what is behind them, then for the answer. A
 * connection for which this fails is closed. */
static int handle(void *state, struct mhd_connection *connection, const char *url, const char *method,
                  const char *version, const char *upload, size_t *upload_size, void **request)
{
    static char is_begun;
    struct http_server *server = state;
    (void)version, (void)upload;
    if (!*request) {
        *request = &is_begun;
        return MHD_DONE;
    }
    if (*upload_size) {
        *upload_size = 0;
        return MHD_DONE;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse_method(connection);
    const struct http_request asked = {url, mhd.header(connection, MHD_HEADER, "Accept"),
                                       mhd.header(connection, MHD_HEADER, "Accept-Encoding")};
    unsigned status = 200;
    struct http_page *page = server->answer(server->state, &asked, &status);
    return page ? mhd.queue(connection, status, page) : MHD_FAILED;
}

int http_open(int listening, http_answer *answer, void *state, struct http_server **out)
{
    enum { MEMORY_PER_CLIENT = 16 << 10 };
    struct http_server *server = *out = calloc(1, sizeof *server);
    if (server) {
        *server = (struct http_server){NULL, answer, state};
        server->daemon = mhd.start(MHD_USE_EPOLL, 0, NULL, NULL, handle, server, MHD_OPTION_LISTENING,
                                   listening, MHD_OPTION_MEMORY_LIMIT, (size_t)MEMORY_PER_CLIENT,
                                   MHD_OPTION_CLIENTS_LIMIT, (unsigned)HTTP_CLIENTS_MAX, MHD_OPTION_TIMEOUT,
                                   (unsigned)HTTP_PATIENCE_S, MHD_OPTION_END);
    }
    if (server && server->daemon)
        return 0;
    close(listening);
    free(server);
    *out = NULL;
    return -ENOMEM;
}

void http_run(struct http_server *server)
{
    mhd.run(server->daemon);
}

int http_descriptor(const struct http_server *server)
{
    const int *epoll = mhd.info(server->daemon, MHD_INFO_EPOLL);
    return epoll ? *epoll : -1;
}

int http_due_ms(const struct http_server *server, int most)
{
    unsigned long long due;
    return mhd.due(server->daemon, &due) == MHD_DONE && due < (unsigned long long)most ? (int)due : most;
}

void http_close(struct http_server *server)
{
    if (!server)
        return;
    mhd.stop(server->daemon);
    free(server);
}
