/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/create.h"
#include "base/whole.h"

enum { READABLE = 0644 };

/* Makes the new file beside the old one. A process that was killed may have left one of this name. */
static int create(const struct textfile *file)
{
    const char *name = text_string(&file->unfinished);
    int created = create_new_file(AT_FDCWD, name);
    if (created == -EEXIST && !unlink(name))
        created = create_new_file(AT_FDCWD, name);
    return created;
}

int textfile_open(struct textfile *file, const char *path)
{
    const char *slash = strrchr(path, '/');
    const int directory = slash ? (int)(slash - path) + 1 : 0;
    struct stat status;
    *file = (struct textfile){0};
    text_add(&file->path, path);
    /* A name that the collector does not read. */
    text_printf(&file->unfinished, "%.*s.%s.%d", directory, path, path + directory, (int)getpid());
    if (file->path.failed || file->unfinished.failed)
        return -ENOMEM;
    if (!path[directory])
        return -EISDIR;
    if (!lstat(path, &status) && !S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -EEXIST;
    const int created = create(file);
    if (created < 0)
        return created;
    close(created);
    unlink(text_string(&file->unfinished));
    return 0;
}

int textfile_replace(const struct textfile *file, const struct text *content)
{
    const char *unfinished = text_string(&file->unfinished);
    const int created = create(file);
    if (created < 0)
        return created;
    int error = whole_write(created, text_string(content), content->length, -1);
    if (!error && fchmod(created, READABLE))
        error = -errno;
    if (close(created) && !error)
        error = -errno;
    if (!error && rename(unfinished, text_string(&file->path)))
        error = -errno;
    if (error)
        unlink(unfinished);
    return error;
}

void textfile_close(struct textfile *file)
{
    text_free(&file->path);
    text_free(&file->unfinished);
}
