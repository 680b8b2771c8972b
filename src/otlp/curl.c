/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/curl.h"

#include <errno.h>

#include "base/library.h"

struct curl_functions curl;

static const struct library_symbol symbols[] = {
    {"curl_global_init", &curl.global_init},  {"curl_easy_init", &curl.easy},
    {"curl_easy_cleanup", &curl.easy_free},   {"curl_easy_setopt", &curl.set},
    {"curl_easy_getinfo", &curl.ask},         {"curl_easy_strerror", &curl.error_text},
    {"curl_multi_init", &curl.multi},         {"curl_multi_cleanup", &curl.multi_free},
    {"curl_multi_add_handle", &curl.add},     {"curl_multi_remove_handle", &curl.take},
    {"curl_multi_perform", &curl.run},        {"curl_multi_poll", &curl.wait},
    {"curl_multi_info_read", &curl.message},  {"curl_slist_append", &curl.append},
    {"curl_slist_free_all", &curl.list_free},
};

int curl_load(struct text *why)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    struct text reasons = {0};
    int error = -ENOENT;
    for (size_t i = 0; error && i < sizeof names / sizeof *names; i++) {
        if (i)
            text_add(&reasons, "; ");
        error = library_load(names[i], symbols, sizeof symbols / sizeof *symbols, &reasons);
    }
    if (error)
        text_add(why, text_string(&reasons));
    else if (curl.global_init(CURL_ALL) != CURL_OK)
        error = -ENOMEM;
    text_free(&reasons);
    return error;
}
