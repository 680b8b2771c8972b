/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: script text through the whole compiler, to eBPF: lexer, parser, checker with the real
 * builtins, lowering, passes, registers, emission. Only probe kinds that read no files; nothing reaches the
 * kernel. */
#include <stdlib.h>
#include <string.h>

#include "builtin/all.h"
#include "probe/all.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *state, const char *text)
{
    (void)state, (void)text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct probe_kind *const kinds[] = {&probe_kind_begin,    &probe_kind_end,
                                                     &probe_kind_interval, &probe_kind_profile,
                                                     &probe_kind_software, NULL};
    static const char *const values[] = {"12", "word", "-1", "--a=1", "--b"};
    enum { LENGTH_MAX = 4096 };
    if (size > LENGTH_MAX)
        return 0;
    char *text = malloc(size + 1); /* exactly the text's size, so that every read too far is found */
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    struct source source = {"fuzz", text, size};
    struct session_options options = {
        .source = &source,
        .parameters = {.values = values, .count = 3, .named = values + 3, .named_count = 2},
        .kinds = kinds,
        .builtins = &builtin_table,
        .is_unsafe = true,
        .check_only = true,
        .report = ignore,
    };
    struct session *session;
    if (!session_open(&options, &session)) {
        struct text out = {0};
        session_compile(session);
        diagnostics_render(&out, session_diagnostics(session), DIAGNOSTIC_ERROR, false);
        text_free(&out);
        session_close(session);
    }
    free(text);
    return 0;
}
