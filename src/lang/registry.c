/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding a builtin by its name. */
#include "lang/registry.h"

#include <string.h>

#include "base/number.h"

enum { NUMBER_MAX = 9999 }; /* far above any argument that a probe has */

/* Reads the digits behind a numbered builtin's name, as in arg12. False: they are no such number. */
static bool builtin_number(const char *digits, uint32_t *number)
{
    if (!digits[0] || (digits[0] == '0' && digits[1]))
        return false;
    uint64_t value;
    if (!decimal_parse(digits, &value) || value > NUMBER_MAX)
        return false;
    *number = (uint32_t)value;
    return true;
}

/* bpftrace's standard library wraps builtins and reaches them by these names; here they are the builtins. */
static const char raw_prefix[] = "__builtin_";

const struct builtin *builtin_find(const struct builtin_table *table, const char *name, uint32_t *number)
{
    if (!table || !name)
        return NULL;
    const struct builtin *numbered = NULL;
    if (!strncmp(name, raw_prefix, sizeof raw_prefix - 1))
        name += sizeof raw_prefix - 1;
    for (size_t i = 0; i < table->count; i++) {
        for (const struct builtin *builtin = table->families[i]; builtin->name; builtin++) {
            if (*builtin->name != *name)
                continue; /* Most builtins end here; every name of a script is looked up. */
            if (builtin->flags & BUILTIN_NUMBERED) {
                size_t length = strlen(builtin->name);
                uint32_t found;
                if (strncmp(name, builtin->name, length) == 0 && builtin_number(name + length, &found)) {
                    numbered = builtin;
                    if (number)
                        *number = found;
                }
            } else if (strcmp(name, builtin->name) == 0) {
                return builtin;
            }
        }
    }
    return numbered;
}

void builtin_suggest(const struct builtin_table *table, struct nearest *nearest, unsigned flags)
{
    for (size_t i = 0; table && i < table->count; i++)
        for (const struct builtin *builtin = table->families[i]; builtin->name; builtin++)
            if (builtin->flags & flags)
                nearest_offer(nearest, builtin->name);
}
