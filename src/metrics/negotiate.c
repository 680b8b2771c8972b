/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/negotiate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* One of the choices of a header: its name, its parameters, and how much it is wanted. */
struct choice {
    const char *at;
    size_t length; /* of all of it */
    size_t name;   /* of the name alone */
    double weight; /* 0: it is refused */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(const char **at, size_t *length)
{
    while (*length && is_blank(**at))
        ++*at, --*length;
    while (*length && is_blank((*at)[*length - 1]))
        --*length;
}

/* Finds a parameter, as in `text/plain; version=0.0.4`. Returns whether it is there; its value is without quotes. */
static bool find_parameter(const struct choice *choice, const char *name, const char **value, size_t *length)
{
    const char *end = choice->at + choice->length;
    for (const char *at = choice->at + choice->name; at < end;) {
        const char *begin = ++at;
        while (at < end && *at != ';')
            at++;
        size_t left = (size_t)(at - begin);
        trim(&begin, &left);
        const char *equals = memchr(begin, '=', left);
        if (!equals || (size_t)(equals - begin) != strlen(name) ||
            strncasecmp(begin, name, strlen(name)) != 0)
            continue;
        *value = equals + 1;
        *length = left - (size_t)(*value - begin);
        if (*length >= 2 && **value == '"' && (*value)[*length - 1] == '"') {
            ++*value;
            *length -= 2;
        }
        return true;
    }
    return false;
}

static bool has_parameter(const struct choice *choice, const char *name, const char *wanted)
{
    const char *value;
    size_t length;
    return find_parameter(choice, name, &value, &length) && length == strlen(wanted) &&
           !strncasecmp(value, wanted, length);
}

/* Takes the next choice of a header. Returns false at its end. */
static bool next_choice(const char **header, struct choice *choice)
{
    const char *value;
    size_t length;
    if (!**header)
        return false;
    *choice = (struct choice){.at = *header, .length = strcspn(*header, ","), .weight = 1};
    *header += choice->length;
    *header += **header == ',';
    trim(&choice->at, &choice->length);
    while (choice->name < choice->length && choice->at[choice->name] != ';')
        choice->name++;
    if (find_parameter(choice, "q", &value, &length)) {
        char digits[8] = "";
        memcpy(digits, value, length < sizeof digits ? length : sizeof digits - 1);
        choice->weight = strtod(digits, NULL);
    }
    return true;
}

static bool is_named(const struct choice *choice, const char *name)
{
    size_t length = choice->name;
    while (length && is_blank(choice->at[length - 1]))
        length--;
    return length == strlen(name) && !strncasecmp(choice->at, name, length);
}

static const struct metric_format *format_of(const struct choice *choice)
{
    const char *version;
    size_t length;
    if (is_named(choice, "application/openmetrics-text"))
        return find_parameter(choice, "version", &version, &length) &&
                       !has_parameter(choice, "version", "1.0.0")
                   ? NULL
                   : &metric_openmetrics;
    if (is_named(choice, "application/vnd.google.protobuf"))
        return has_parameter(choice, "proto", "io.prometheus.client.MetricFamily") &&
                       has_parameter(choice, "encoding", "delimited")
                   ? &metric_protobuf
                   : NULL;
    if (is_named(choice, "text/plain") || is_named(choice, "text/*") || is_named(choice, "*/*"))
        return &metric_text;
    return NULL;
}

const struct metric_format *metric_negotiate(const char *accept)
{
    const struct metric_format *best = &metric_text;
    struct choice choice;
    double weight = 0;
    while (accept && next_choice(&accept, &choice)) {
        const struct metric_format *format = format_of(&choice);
        if (!format || !(choice.weight > weight))
            continue;
        best = format;
        weight = choice.weight;
    }
    return best;
}

bool metric_allows_gzip(const char *accept_encoding)
{
    struct choice choice;
    bool allows_any = false;
    while (accept_encoding && next_choice(&accept_encoding, &choice)) {
        if (is_named(&choice, "gzip") || is_named(&choice, "x-gzip"))
            return choice.weight > 0;
        if (is_named(&choice, "*"))
            allows_any = choice.weight > 0;
    }
    return allows_any;
}
