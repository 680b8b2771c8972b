/* SPDX-License-Identifier: BSD-3-Clause */
/* libcurl: what is used of it, which has been the same since its library has the version 4. Its headers are not needed. */
#ifndef SPOOR_OTLP_CURL_H
#define SPOOR_OTLP_CURL_H

#include "base/text.h"

enum { /* options and questions: the thousands say of which type the argument is */
       CURL_WRITE_STATE = 10001,
       CURL_URL = 10002,
       CURL_ERROR_TEXT = 10010,
       CURL_BODY = 10015,
       CURL_HEADERS = 10023,
       CURL_AUTHORITIES = 10065,
       CURL_PRIVATE = 10103,
       CURL_WRITE = 20011,
       CURL_POST = 47,
       CURL_NO_SIGNAL = 99,
       CURL_TIMEOUT_MS = 155,
       CURL_CONNECT_TIMEOUT_MS = 156,
       CURL_PROTOCOLS = 181,
       CURL_BODY_SIZE = 30120,
       CURL_STATUS = 0x200002,
       CURL_PRIVATE_OF = 0x100015,
       CURL_RETRY_AFTER = 0x600039,
};
enum { CURL_ALL = 3, CURL_ERROR_SIZE = 256, CURL_HTTP_AND_HTTPS = 3, CURL_DONE = 1 };
enum curl_error {
    CURL_OK = 0,
    CURL_NO_PROXY = 5,
    CURL_NO_HOST = 6,
    CURL_NO_CONNECTION = 7,
    CURL_PARTIAL = 18,
    CURL_TIMEOUT = 28,
    CURL_NOTHING = 52,
    CURL_NOT_SENT = 55,
    CURL_NOT_RECEIVED = 56,
};

struct curl_list;
struct curl_easy;
struct curl_multi;
struct curl_message {
    int kind;
    struct curl_easy *easy;
    union {
        void *any;
        int error; /* enum curl_error, and others */
    } data;
};

struct curl_functions {
    int (*global_init)(long flags);
    struct curl_easy *(*easy)(void);
    void (*easy_free)(struct curl_easy *easy);
    int (*set)(struct curl_easy *easy, int option, ...);
    int (*ask)(struct curl_easy *easy, int question, ...);
    const char *(*error_text)(int error);
    struct curl_multi *(*multi)(void);
    int (*multi_free)(struct curl_multi *multi);
    int (*add)(struct curl_multi *multi, struct curl_easy *easy);
    int (*take)(struct curl_multi *multi, struct curl_easy *easy);
    int (*run)(struct curl_multi *multi, int *running);
    int (*wait)(struct curl_multi *multi, void *files, unsigned count, int timeout_ms, int *ready);
    struct curl_message *(*message)(struct curl_multi *multi, int *left);
    struct curl_list *(*append)(struct curl_list *list, const char *line);
    void (*list_free)(struct curl_list *list);
};
extern struct curl_functions curl;

/* Loads the library. Returns 0, or -ENOENT with the reason. */
int curl_load(struct text *why);

#endif
