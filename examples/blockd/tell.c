/* SPDX-License-Identifier: BSD-3-Clause */
#include "tell.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(const char *path)
{
    const int error = -errno;
    fprintf(stderr, "blockd: %s: %s\n", path, strerror(-error));
    return error;
}

static FILE *tell_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    strcpy(address.sun_path, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    FILE *stream = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? NULL : fdopen(fd, "r+");
    if (!stream) {
        const int error = errno;
        close(fd);
        errno = error;
    }
    return stream;
}

int tell(const char *path, char *const words[])
{
    char line[1024];
    int status = 0;
    bool answered = false;
    FILE *stream = tell_connect(path);
    if (!stream)
        return fail(path);
    for (; *words; words++)
        fprintf(stream, "%s%c", *words, words[1] ? ' ' : '\n');
    fflush(stream);
    while (!answered && fgets(line, sizeof line, stream)) {
        const bool error = strncmp(line, "error: ", 7) == 0;
        answered = error || strcmp(line, "ok\n") == 0;
        if (error)
            status = -EREMOTEIO;
        fputs(line, error ? stderr : stdout);
    }
    if (!answered) {
        errno = ECONNRESET;
        status = fail(path);
    }
    fclose(stream);
    return status;
}
