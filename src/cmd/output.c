/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/create.h"
#include "base/gzip.h"
#include "base/terminal.h"
#include "base/whole.h"
#include "cmd/command.h"
#include "cmd/stop.h"

static int fail_creating(const char *path, int error)
{
    command_print(stderr, "ERROR: cannot create %s: %s\n", path, strerror(-error));
    if (error == -EEXIST)
        fputs("HINT: the output needs a name that is not in use; what exists is not overwritten\n", stderr);
    return 1;
}

int output_open(struct output *output, const char *path, bool is_directory)
{
    *output = (struct output){.file = STDOUT_FILENO, .is_terminal = isatty(STDOUT_FILENO) == 1};
    if (!path || (!is_directory && !strcmp(path, "-")))
        return 0;
    output->is_terminal = false;
    output->file = is_directory ? create_new_directory(path) : create_new_file(AT_FDCWD, path);
    if (output->file >= 0) {
        output->path = path;
        output->is_directory = is_directory;
        return 0;
    }
    return fail_creating(path, output->file);
}

int output_open_beside(struct output *output, const char *end)
{
    const int length = asprintf(&output->beside_path, "%s%s", output->path, end);
    if (length < 0)
        output->beside_path = NULL;
    output->beside = length < 0 ? -ENOMEM : create_new_file(AT_FDCWD, output->beside_path);
    if (output->beside >= 0)
        return 0;
    fail_creating(length < 0 ? end : output->beside_path, output->beside);
    free(output->beside_path);
    output->beside_path = NULL;
    unlink(output->path);
    close(output->file);
    output->file = -1;
    return 1;
}

/* Writes everything. The reader may pause as long as it likes, until the end is asked for: then it has the time of
 * some alarms. */
static int write_or_stop(int file, const char *at, size_t left)
{
    enum { ALARMS = 3 };
    for (int alarms = 0; left;) {
        const ssize_t put = write(file, at, left);
        if (put >= 0) {
            at += put;
            left -= (size_t)put;
            alarms = 0;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){file, POLLOUT, 0}, 1, -1);
        } else if (errno != EINTR) {
            return -errno;
        }
        if (put < 0 && stop_is_asked() && ++alarms > ALARMS)
            return -ETIMEDOUT;
    }
    return 0;
}

/* Writes to a file of the directory. None is kept open, because there may be as many as threads. */
static int write_in_directory(const struct output *output, const char *name, const void *bytes, size_t length)
{
    int file = openat(output->file, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        file = errno == ENOENT ? create_new_file(output->file, name) : -errno;
    if (file < 0)
        return file;
    const int error = whole_write(file, bytes, length, -1);
    return close(file) && !error ? -errno : error;
}

/* Writes text to a terminal. Names in it are untrusted, and must not steer the terminal. */
static int write_to_terminal(int file, const char *bytes, size_t length)
{
    struct text text = {0};
    terminal_escape(&text, bytes, length, TERMINAL_LINES);
    const int error = text.failed ? -ENOMEM : write_or_stop(file, text_string(&text), text.length);
    text_free(&text);
    return error;
}

static int write_compressed(int file, const void *bytes, size_t length)
{
    enum { FAST = 1 };
    struct text member = {0};
    int error = gzip_append(&member, bytes, length, FAST);
    if (!error)
        error = write_or_stop(file, member.bytes, member.length);
    text_free(&member);
    return error;
}

static int write_to_file(const struct output *output, const char *name, const void *bytes, size_t length)
{
    if (output->is_directory)
        return write_in_directory(output, name, bytes, length);
    if (name)
        return write_or_stop(output->beside, bytes, length);
    return output->is_compressed ? write_compressed(output->file, bytes, length)
                                 : write_or_stop(output->file, bytes, length);
}

int output_write(struct output *output, const char *name, const void *bytes, size_t length)
{
    if (output->is_terminal && !output->error)
        output->error = write_to_terminal(output->file, bytes, length);
    else if (!output->error)
        output->error = write_to_file(output, name, bytes, length);
    return output->error;
}

static void remove_directory(const struct output *output)
{
    DIR *directory = fdopendir(dup(output->file));
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            unlinkat(output->file, entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(output->path);
}

int output_close(struct output *output, bool is_whole)
{
    if (output->file < 0)
        return 0;
    if (!output->path) {
        if (!output->error || output->error == -EPIPE)
            return 0;
        if (output->error == -ETIMEDOUT)
            fputs("ERROR: nobody reads the output: the rest of it is lost\n", stderr);
        else
            command_print(stderr, "ERROR: cannot write the output: %s\n", strerror(-output->error));
        return 1;
    }
    if (output->error || !is_whole) {
        if (output->error)
            command_print(stderr, "ERROR: cannot write %s: %s; it was removed\n", output->path,
                          strerror(-output->error));
        else
            command_print(stderr, "NOTE: %s is not whole and was removed\n", output->path);
        if (output->is_directory)
            remove_directory(output);
        else
            unlink(output->path);
        if (output->beside_path)
            unlink(output->beside_path);
    }
    if (output->beside_path)
        close(output->beside);
    free(output->beside_path);
    output->beside_path = NULL;
    const int error = output->error;
    close(output->file);
    output->file = -1;
    return error != 0;
}
