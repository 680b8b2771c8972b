/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as what an editor sends to the language server: messages, documents, names and places. A place that
 * was made of an offset must lead back to it, or to the beginning of the character that it is in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lsp.h"

enum { MESSAGES = 1000, PLACES = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_places(const struct text *text, bool is_utf8)
{
    const char *bytes = text_string(text);
    for (size_t offset = 0; offset <= text->length && offset < PLACES; offset++) {
        const struct lsp_position place = lsp_position(bytes, text->length, offset, is_utf8);
        const size_t back = lsp_offset(bytes, text->length, place, is_utf8);
        const struct lsp_position again = lsp_position(bytes, text->length, back, is_utf8);
        if (back > offset || again.line != place.line || again.character != place.character)
            abort();
    }
}

static void fuzz_name(const char *uri)
{
    struct text again = {0};
    char *path = lsp_path(uri);
    if (!path)
        abort();
    lsp_uri(&again, path);
    char *same = lsp_path(text_string(&again));
    if (!same || (path[0] == '/' && strcmp(path, same) != 0))
        abort();
    text_free(&again);
    free(path);
    free(same);
}

static void fuzz_message(struct lsp_documents *documents, struct json_value message)
{
    struct json_wanted wanted[] = {{"params", {0}}};
    if (!json_read_object(message.bytes, message.length, wanted, 1))
        return;
    const struct json_value identifier = json_find(wanted[0].value, "textDocument");
    struct json_value text = json_find(identifier, "text"), change;
    const struct json_value changes = json_find(wanted[0].value, "contentChanges");
    for (size_t at = 0; changes.bytes && json_next_item(changes, &at, &change);)
        text = json_find(change, "text");
    struct lsp_document *document = lsp_document_set(documents, identifier, text);
    if (!document)
        return;
    fuzz_places(&document->text, false);
    fuzz_places(&document->text, true);
    fuzz_name(document->uri);
    if (lsp_document_find(documents, json_find(identifier, "uri")) != document)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lsp_input input = {0};
    struct lsp_documents documents = {0};
    struct json_value message;
    int got = 1;
    text_append(&input.bytes, (const char *)data, size);
    for (size_t i = 0; i < MESSAGES && (got == 1 || got == -EFBIG); i++)
        if ((got = lsp_next(&input, &message)) == 1)
            fuzz_message(&documents, message);
    while (documents.first)
        lsp_document_close(&documents, documents.first);
    if (documents.count || documents.bytes)
        abort();
    text_free(&input.bytes);
    return 0;
}
