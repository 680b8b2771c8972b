/* SPDX-License-Identifier: BSD-3-Clause */
#include "otlp/address.h"

#include <errno.h>
#include <string.h>

#include "base/terminal.h"

static const char *host_of(const char *url)
{
    return strstr(url, "://") + strlen("://");
}

bool address_is_url(const char *place)
{
    return strstr(place, "://") != NULL;
}

int address_make(const char *given, const char *path, struct text *url, struct text *why)
{
    const char *host = host_of(given), *own = strpbrk(host, "/?#");
    if ((strncasecmp(given, "http://", strlen("http://")) &&
         strncasecmp(given, "https://", strlen("https://"))) ||
        !*host || own == host) {
        terminal_print(why, "'%s' is no address: http://HOST:PORT, https://…, or a file", given);
        return -EINVAL;
    }
    for (const char *at = given; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f) {
            terminal_print(why, "'%s' is no address: it has blanks or control characters", given);
            return -EINVAL;
        }
    text_add(url, given);
    if (!own || !strcmp(own, "/"))
        text_add(url, path + (own ? 1 : 0));
    return url->failed ? -ENOMEM : 0;
}

bool address_of_logs(const char *metrics, struct text *url)
{
    const char *path = host_of(metrics) + strcspn(host_of(metrics), "/?#");
    const size_t length = strcspn(path, "?#"), last = strlen(ADDRESS_METRICS);
    if (length < last || strncmp(path + length - last, ADDRESS_METRICS, last) != 0)
        return false;
    text_append(url, metrics, (size_t)(path - metrics) + length - last);
    text_add(url, ADDRESS_LOGS);
    text_add(url, path + length);
    return true;
}
