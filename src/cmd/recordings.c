/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/recordings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

bool recordings_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10);
    return !errno && !*end && *number <= most;
}
