/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cmd/lsp.h"

/* How much an editor may have open: more than anyone has, and little enough for every machine. */
enum { DOCUMENTS_MAX = 1000, BYTES_MAX = 64 << 20, URI_MAX = 8192 };

static struct lsp_document *find(const struct lsp_documents *documents, const char *uri)
{
    struct lsp_document *document = documents->first;
    while (document && strcmp(document->uri, uri) != 0)
        document = document->next;
    return document;
}

struct lsp_document *lsp_document_find(const struct lsp_documents *documents, struct json_value uri)
{
    struct text name = {0};
    struct lsp_document *found = json_read_string(&uri, &name) ? find(documents, text_string(&name)) : NULL;
    text_free(&name);
    return found;
}

static struct lsp_document *add(struct lsp_documents *documents, const char *uri)
{
    struct lsp_document *document = calloc(1, sizeof *document);
    if (!document)
        return NULL;
    document->uri = strdup(uri);
    document->name = lsp_path(uri);
    document->next = documents->first;
    documents->first = document;
    documents->count++;
    return document;
}

/* Finds the document, or makes one without a text. */
static struct lsp_document *find_or_add(struct lsp_documents *documents, struct json_value uri)
{
    struct text name = {0};
    struct lsp_document *document = NULL;
    if (uri.length <= URI_MAX && json_read_string(&uri, &name) && name.length && !name.failed) {
        document = find(documents, text_string(&name));
        if (!document && documents->count < DOCUMENTS_MAX)
            document = add(documents, text_string(&name));
    }
    text_free(&name);
    return document;
}

struct lsp_document *lsp_document_set(struct lsp_documents *documents, struct json_value identifier,
                                      struct json_value text)
{
    uint64_t number;
    const struct json_value version = json_find(identifier, "version");
    if (!text.bytes || *text.bytes != '"')
        return NULL;
    struct lsp_document *document = find_or_add(documents, json_find(identifier, "uri"));
    if (!document)
        return NULL;
    documents->bytes -= document->text.length;
    text_free(&document->text);
    document->text = (struct text){0};
    text_clear(&document->version);
    if (documents->bytes + text.length <= BYTES_MAX)
        json_read_string(&text, &document->text);
    else
        document->text.failed = true;
    if (json_read_unsigned(&version, &number) && version.length < 20)
        text_append(&document->version, version.bytes, version.length);
    documents->bytes += document->text.length;
    if (document->uri && document->name && !document->text.failed)
        return document;
    lsp_document_close(documents, document);
    return NULL;
}

void lsp_document_close(struct lsp_documents *documents, struct lsp_document *document)
{
    struct lsp_document **link = &documents->first;
    while (*link && *link != document)
        link = &(*link)->next;
    if (*link)
        *link = document->next;
    documents->count--;
    documents->bytes -= document->text.length;
    text_free(&document->text);
    text_free(&document->version);
    free(document->uri);
    free(document->name);
    free(document);
}
