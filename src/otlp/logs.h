/* SPDX-License-Identifier: BSD-3-Clause */
/* Printed lines and messages as log records, in requests of bounded size (messages ExportLogsServiceRequest), which wait in a queue of
 * bounded length: when it is full, what comes is lost and counted. */
#ifndef SPOOR_OTLP_LOGS_H
#define SPOOR_OTLP_LOGS_H

#include "otlp/encode.h"
#include "otlp/otlp.h"

enum { LOGS_RECORDS_MAX = 512, LOGS_BYTES_MAX = 256 << 10, LOGS_REQUESTS_MAX = 32 };

#define LOGS_DELAY_NS 1000000000ull

enum log_severity { LOG_INFO = 9, LOG_WARN = 13, LOG_ERROR = 17 }; /* as the protocol numbers them */

struct log_request {
    struct text text;
    uint64_t records;
};

struct log_queue {
    struct encoder encoder;
    struct text resource; /* its attributes, encoded */
    struct log_request requests[LOGS_REQUESTS_MAX];
    size_t first, count; /* of requests; the last one may have room for more records */
    uint64_t since;      /* when the last one was begun: monotonic clock, ns */
    uint64_t lost;       /* records for which there was no room, or no memory */
};

void log_queue_init(struct log_queue *queue, const struct otlp_service *service, bool is_json);
void log_queue_free(struct log_queue *queue);
/* Adds a record. time: CLOCK_REALTIME, ns. Returns whether a request is full. */
bool log_queue_add(struct log_queue *queue, uint64_t time, enum log_severity severity, const char *line,
                   size_t length);
/* Takes the oldest request if it is full, or LOGS_DELAY_NS old, or if is_last: then nothing is added any more. False: there
 * is none. Otherwise the request is whole, and the caller's to free. */
bool log_queue_take(struct log_queue *queue, bool is_last, struct log_request *request);

#endif
