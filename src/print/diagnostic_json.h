/* SPDX-License-Identifier: BSD-3-Clause */
/* A diagnostic as a line of JSON, for editors and other programs. */
#ifndef SPOOR_PRINT_DIAGNOSTIC_JSON_H
#define SPOOR_PRINT_DIAGNOSTIC_JSON_H

#include "base/diagnostic.h"

/* Writes one line. What is nowhere in particular is said to be where `script` begins. */
void diagnostic_json(struct text *out, const struct diagnostic *diagnostic, const struct source *script);

#endif
