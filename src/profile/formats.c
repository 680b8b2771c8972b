/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "profile/profile.h"

static const struct profile_format *const formats[] = {&profile_text,   &profile_svg,   &profile_html,
                                                       &profile_folded, &profile_pprof, &profile_speedscope};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct profile_format *profile_format_at(size_t index)
{
    return index < FORMATS ? formats[index] : NULL;
}

const struct profile_format *profile_format_find(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (!strcmp(name, formats[i]->name))
            return formats[i];
    return NULL;
}

/* Whether a path ends with one of the words. */
static bool ends_with(const char *path, const char *words)
{
    const size_t length = strlen(path);
    while (*words) {
        const size_t size = strcspn(words, " ");
        if (length > size && !memcmp(path + length - size, words, size))
            return true;
        words += size + (words[size] == ' ');
    }
    return false;
}

const struct profile_format *profile_format_of_file(const char *path)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (ends_with(path, formats[i]->endings))
            return formats[i];
    return NULL;
}
