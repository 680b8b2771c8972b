/* SPDX-License-Identifier: BSD-3-Clause */
/* A small server of HTTP, by libmicrohttpd, which is loaded when it is asked for (Debian: libmicrohttpd12). It does nothing
 * but in http_run(), which never waits: there is no thread, and what is answered is made by the caller's own.
 *
 * A client that does not read or write costs nothing but one of the HTTP_CLIENTS_MAX connections, and that for
 * HTTP_PATIENCE_S seconds. */
#ifndef SPOOR_METRICS_HTTP_H
#define SPOOR_METRICS_HTTP_H

#include "base/text.h"

enum { HTTP_CLIENTS_MAX = 8, HTTP_PATIENCE_S = 10 };

struct http_server;
struct http_page; /* an answer, which clients may be reading while its owner has freed it already */

/* Makes a page of a text, which is empty then. encoding: "gzip" or NULL. Returns NULL without memory. */
struct http_page *http_page(struct text *body, const char *content_type, const char *encoding);
void http_page_free(struct http_page *page); /* NULL is allowed */

struct http_request {
    const char *path;
    const char *accept, *accept_encoding; /* NULL: there are no such headers */
};

/* Returns the page that a GET or HEAD asks for, which stays the callee's. *status: 200 before the call. NULL: there is no
 * memory. */
typedef struct http_page *http_answer(void *state, const struct http_request *request, unsigned *status);

/* Loads the library. Returns 0, or -ENOENT with the reason. */
int http_load(struct text *why);
/* Serves at a socket that listens, which is the server's from now on. Returns 0 or -ENOMEM. */
int http_open(int listening, http_answer *answer, void *state, struct http_server **out);
/* Goes on with what clients have sent or read meanwhile. */
void http_run(struct http_server *server);
/* Becomes readable when http_run() has something to do. */
int http_descriptor(const struct http_server *server);
/* After how many milliseconds, at most `most`, it has something to do all the same. */
int http_due_ms(const struct http_server *server, int most);
void http_close(struct http_server *server); /* NULL is allowed */

#endif
