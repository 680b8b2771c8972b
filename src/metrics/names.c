/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static void add_prefix(const struct metric_naming *naming, struct text *out)
{
    if (naming->prefix[0]) {
        metric_add_name(out, naming->prefix, strlen(naming->prefix));
        return;
    }
    text_add(out, "spoor");
    if (!naming->script)
        return;
    const char *base = strrchr(naming->script, '/') ? strrchr(naming->script, '/') + 1 : naming->script;
    const char *dot = strrchr(base, '.');
    text_char(out, '_');
    metric_add_name(out, base, dot > base ? (size_t)(dot - base) : strlen(base));
}

int metric_name_family(const struct metric_naming *naming, const char *map, struct text *out)
{
    struct text base = {0};
    int error = 0;
    map += *map == '@';
    add_prefix(naming, &base);
    if (isdigit((unsigned char)text_string(&base)[0])) {
        struct text word = {0};
        text_printf(&word, "_%s", text_string(&base));
        text_free(&base);
        base = word;
    }
    if (*map)
        text_char(&base, '_');
    metric_add_name(&base, map, strlen(map));
    for (unsigned i = 1; !error; i++) {
        text_clear(out);
        text_add(out, text_string(&base));
        if (i > 1)
            text_printf(out, "_%u", i);
        if (base.failed || out->failed)
            error = -ENOMEM;
        else if (!table_find(naming->taken, text_string(out))) {
            error = table_put(naming->taken, text_string(out), naming->taken);
            break;
        }
    }
    text_free(&base);
    return error;
}

/* ---- labels ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Returns the list of the setting that is meant for a map: the one behind its name, as in "@reads: comm, dev; @sizes: cpu",
 * or one without a name, which is meant for all other maps. *length: of it. */
static const char *list_of(const char *setting, const char *map, size_t *length)
{
    const char *common = "";
    size_t common_length = 0;
    while (*setting) {
        const size_t whole = strcspn(setting, ";"), name = strcspn(setting, ":;");
        const char *at = setting;
        while (is_blank(*at))
            at++;
        size_t trimmed = (size_t)(setting + name - at);
        while (setting[name] == ':' && trimmed && is_blank(at[trimmed - 1]))
            trimmed--;
        if (setting[name] != ':') {
            common = setting;
            common_length = whole;
        } else if (trimmed == strlen(map) && !strncmp(at, map, trimmed)) {
            *length = whole - name - 1;
            return setting + name + 1;
        }
        setting += whole + (setting[whole] == ';');
    }
    *length = common_length;
    return common;
}

/* Stores where the word of this number begins in a list with commas, and returns its length; 0: there is none. */
static size_t word_of(const char *list, size_t length, size_t number, const char **word)
{
    const char *end = list + length;
    for (; number && list < end; list++)
        number -= *list == ',';
    while (list < end && is_blank(*list))
        list++;
    *word = list;
    size_t found = 0;
    while (list + found < end && list[found] != ',')
        found++;
    while (found && is_blank(list[found - 1]))
        found--;
    return number ? 0 : found;
}

size_t metric_named(const char *setting, size_t number, const char **map)
{
    return word_of(setting, strlen(setting), number, map);
}

/* Names that mean something in a format, begin with two underscores or are there already get a number behind them. */
static bool may_be_label(const char *name, const char *others, size_t length)
{
    if (!strcmp(name, "le") || !strcmp(name, "quantile") || !strncmp(name, "__", 2) || !*name ||
        isdigit((unsigned char)*name))
        return false;
    for (size_t at = 0; at < length; at += strlen(others + at) + 1)
        if (!strcmp(others + at, name))
            return false;
    return true;
}

size_t metric_name_labels(const struct metric_naming *naming, const struct image_map *map, struct text *out)
{
    const struct type *key = map->key;
    if (!key || key->kind == TYPE_NONE)
        return 0;
    const size_t count = key->kind == TYPE_TUPLE ? key->count : 1;
    size_t length;
    const char *list = list_of(naming->labels, map->name, &length), *word;
    for (size_t i = 0; i < count; i++) {
        struct text name = {0};
        const size_t given = word_of(list, length, i, &word);
        const char *field = key->kind == TYPE_TUPLE ? key->fields[i].name : "";
        metric_add_name(&name, given ? word : field, given ? given : strlen(field));
        if (!may_be_label(text_string(&name), text_string(out), out->length)) {
            text_clear(&name);
            text_printf(&name, "key%zu", i);
        }
        while (!may_be_label(text_string(&name), text_string(out), out->length) && !name.failed)
            text_char(&name, '_');
        text_append(out, text_string(&name), name.length);
        text_char(out, 0);
        out->failed |= name.failed;
        text_free(&name);
    }
    return count;
}

/* ---- units ---- */

const char *metric_unit(const char *family)
{
    static const char *const units[] = {"seconds",     "secs",    "ms",           "msecs", "milliseconds",
                                        "us",          "usecs",   "microseconds", "ns",    "nsecs",
                                        "nanoseconds", "bytes",   "kb",           "mb",    "pages",
                                        "sectors",     "percent", "ratio"};
    const char *last = strrchr(family, '_');
    for (size_t i = 0; last && i < sizeof units / sizeof *units; i++)
        if (!strcmp(last + 1, units[i]))
            return last + 1;
    return NULL;
}
