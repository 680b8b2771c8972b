/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes as the answer of a receiver of OTLP, and as a traceparent. */
#include <stdlib.h>
#include <string.h>

#include "otlp/answer.h"
#include "otlp/traceparent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct traceparent parent;
    struct answer answer;
    for (int is_success = 0; is_success < 2; is_success++) {
        const bool is_read = answer_read(data, size, is_success, &answer);
        if (strlen(answer.text) >= sizeof answer.text || (!is_read && answer.rejected))
            abort();
    }
    if (traceparent_read((const char *)data, size, &parent) && !parent.span)
        abort();
    return 0;
}
