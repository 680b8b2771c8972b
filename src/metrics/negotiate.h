/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scraper wants, by the headers of its request. */
#ifndef SPOOR_METRICS_NEGOTIATE_H
#define SPOOR_METRICS_NEGOTIATE_H

#include "metrics/family.h"

/* Returns the format that a header Accept prefers. Without a header (NULL), or if it names nothing that there is, that is the
 * text format of Prometheus, which every scraper understands. */
const struct metric_format *metric_negotiate(const char *accept);
/* Whether a header Accept-Encoding (NULL: there is none) allows gzip. */
bool metric_allows_gzip(const char *accept_encoding);

#endif
