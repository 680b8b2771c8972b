/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

static bool ends_in(const char *text, const char *ending)
{
    const size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && !strcmp(text + length - wanted, ending);
}

static int read_path(const char *path, struct metric_address *address, struct text *why)
{
    struct sockaddr_un *local = (struct sockaddr_un *)&address->socket;
    const size_t length = strlen(path);
    if (!length || length >= sizeof local->sun_path) {
        text_printf(why, "the name of a socket has 1 to %zu bytes, and '%s' has %zu",
                    sizeof local->sun_path - 1, path, length);
        return -EINVAL;
    }
    local->sun_family = AF_UNIX;
    memcpy(local->sun_path, path, length + 1);
    address->size = sizeof *local;
    address->path = path;
    return 0;
}

/* Reads an address of IPv4, one of IPv6 in brackets, or nothing or "localhost": this machine alone. */
static bool read_host(const char *host, size_t length, uint16_t port, struct metric_address *address)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&address->socket;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address->socket;
    char name[INET6_ADDRSTRLEN] = "127.0.0.1";
    const bool is_six = length >= 2 && host[0] == '[' && host[length - 1] == ']';
    if (is_six) {
        host++;
        length -= 2;
    }
    if (length >= sizeof name)
        return false;
    if (length && (length != strlen("localhost") || strncmp(host, "localhost", length) != 0)) {
        memcpy(name, host, length);
        name[length] = 0;
    }
    if (is_six) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        address->size = sizeof *six;
        return inet_pton(AF_INET6, name, &six->sin6_addr) == 1;
    }
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address->size = sizeof *four;
    return inet_pton(AF_INET, name, &four->sin_addr) == 1;
}

int metric_address_read(const char *place, struct metric_address *address, struct text *why)
{
    static const char local[] = "unix:";
    const char *colon = strrchr(place, ':');
    uint64_t port;
    *address = (struct metric_address){0};
    if (!strncmp(place, local, sizeof local - 1))
        return read_path(place + sizeof local - 1, address, why);
    if (strchr(place, '/') || ends_in(place, ".prom")) {
        address->path = place;
        return 0;
    }
    if (!colon || !decimal_parse(colon + 1, &port) || !port || port > UINT16_MAX) {
        text_printf(
            why,
            "'%s' is neither an address (:9435, HOST:9435, unix:PATH) nor a file (FILE.prom, or with a "
            "slash)",
            place);
        return -EINVAL;
    }
    if (read_host(place, (size_t)(colon - place), (uint16_t)port, address))
        return 0;
    text_printf(why, "'%.*s' is no number of a host, as 127.0.0.1, 0.0.0.0 or [::1]", (int)(colon - place),
                place);
    return -EINVAL;
}

/* Whether nobody listens at a socket in a file. */
static bool is_left_over(const struct metric_address *address)
{
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool is_refused = probe >= 0 &&
                            connect(probe, (const struct sockaddr *)&address->socket, address->size) &&
                            errno == ECONNREFUSED;
    if (probe >= 0)
        close(probe);
    return is_refused;
}

int metric_address_listen(const struct metric_address *address)
{
    enum { BACKLOG = 16 };
    const struct sockaddr *name = (const struct sockaddr *)&address->socket;
    const int listening = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening < 0)
        return -errno;
    /* Of addresses alone, where connections of the last trace may still linger. */
    if (!address->path)
        setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    int error = bind(listening, name, address->size) ? -errno : 0;
    if (error == -EADDRINUSE && address->path && is_left_over(address) && !unlink(address->path))
        error = bind(listening, name, address->size) ? -errno : 0;
    if (!error && listen(listening, BACKLOG))
        error = -errno;
    if (error)
        close(listening);
    return error ? error : listening;
}
