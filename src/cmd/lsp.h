/* SPDX-License-Identifier: BSD-3-Clause */
/* The language server, `spoor lsp`.
 *
 *   lsp.c            the loop: requests in, answers out
 *   lsp_wire.c       messages on standard input and output
 *   lsp_documents.c  the scripts that the editor has open
 *   lsp_job.c        children, in which scripts are compiled: they may take long, or crash
 *   lsp_answer.c     what such a child computes: diagnostics, completion, hover, fixes
 *   lsp_text.c       places as the protocol counts them
 */
#ifndef SPOOR_CMD_LSP_H
#define SPOOR_CMD_LSP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "cmd/options.h"
#include "reader/json_read.h"

/* ---- lsp_text.c ---- */

/* A place as the protocol has it: both count from 0. A line ends with \n, \r\n or \r; characters are UTF-16's code units,
 * or bytes where the client has chosen UTF-8. */
struct lsp_position {
    uint64_t line, character;
};
struct lsp_range {
    struct lsp_position start, end;
};

/* What is behind the end of a line, or of the text, means that end; what is within a character, its beginning. */
size_t lsp_offset(const char *text, size_t length, struct lsp_position position, bool is_utf8);
struct lsp_position lsp_position(const char *text, size_t length, size_t offset, bool is_utf8);
/* Returns the path of a file: URI, or "stdin" for any other document. The caller frees it; NULL: no memory. */
char *lsp_path(const char *uri);
/* Writes the file: URI of a path. */
void lsp_uri(struct text *out, const char *path);

/* ---- lsp_wire.c ---- */

enum lsp_error { /* codes of JSON-RPC, and of the protocol */
                 LSP_PARSE_ERROR = -32700,
                 LSP_INVALID_REQUEST = -32600,
                 LSP_METHOD_NOT_FOUND = -32601,
                 LSP_INVALID_PARAMS = -32602,
                 LSP_INTERNAL_ERROR = -32603,
                 LSP_NOT_INITIALIZED = -32002,
                 LSP_CANCELLED = -32800,
                 LSP_REQUEST_FAILED = -32803,
};

struct lsp_input {
    struct text bytes; /* what was read and not used */
    size_t used;       /* bytes of it that belong to messages that are over */
    uint64_t skips;    /* bytes that are still to be passed over, of a message that is too long */
};
/* Reads what there is. Returns how many bytes came, 0 at the end, or -errno. */
ssize_t lsp_read(struct lsp_input *input);
/* Finds the next whole message. Its text stays as it is until the next lsp_read(). Returns 1; 0: it has not come yet;
 * -EFBIG: it is too long, and is passed over; -EPROTO: this is not the protocol. */
int lsp_next(struct lsp_input *input, struct json_value *message);
/* These write a whole message. False: nobody reads. `id`: as the request wrote it; NULL: it could not be read. */
bool lsp_send_result(const char *id, const char *result);
bool lsp_send_error(const char *id, enum lsp_error code, const char *message);
bool lsp_send_notification(const char *method, const char *params);

/* ---- lsp_documents.c ---- */

struct lsp_document {
    char *uri, *name; /* name: its path, or "stdin" */
    struct text text;
    struct text version; /* a number, as the client wrote it, or empty */
    struct lsp_document *next;
};
struct lsp_documents {
    struct lsp_document *first;
    size_t count, bytes;
};
struct lsp_document *lsp_document_find(const struct lsp_documents *documents, struct json_value uri);
/* Opens a document, or gives one that is open a new text. NULL: the parameters are wrong, or it is too much. */
struct lsp_document *lsp_document_set(struct lsp_documents *documents, struct json_value identifier,
                                      struct json_value text);
void lsp_document_close(struct lsp_documents *documents, struct lsp_document *document);

/* ---- lsp_answer.c: in a child ---- */

struct lsp_question {
    struct options *options;
    const struct lsp_document *document;
    struct lsp_range range; /* of fixes; of others its start is the place */
    bool is_utf8;
};
typedef void lsp_answerer(const struct lsp_question *question, struct text *out);
lsp_answerer lsp_diagnose, lsp_complete, lsp_hover, lsp_fix;
/* Writes the parameters of a notification that has one message about the whole document, or (NULL) none. */
void lsp_diagnose_whole(const struct lsp_document *document, const char *message, struct text *out);

/* ---- lsp_job.c ---- */

struct lsp_job {
    pid_t child;
    int pipe;
    uint64_t deadline_ms;
    struct text id;                /* of the request; empty: it makes diagnostics */
    struct lsp_document *document; /* of diagnostics */
    struct text answer;
};
/* Asks a child. Returns 0 or -errno. */
int lsp_job_start(struct lsp_job *job, lsp_answerer *answer, const struct lsp_question *question,
                  uint64_t patience_ms);
/* Reads what has come. Returns 1: the answer is there; 0: it is not yet; -errno: there will be none. */
int lsp_job_read(struct lsp_job *job);
/* Ends the child, if it still runs, and frees what belongs to the job. */
void lsp_job_end(struct lsp_job *job);

#endif
