/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "sym/elf/private.h"

enum { SAME_FILE = FOREIGN_INODE | FOREIGN_SIZE | FOREIGN_CHANGE };

bool elf_file_origin(const struct elf_file *file, struct elf_origin *out)
{
    if (file->fd < 0)
        return false;
    memset(out, 0, sizeof *out);
    out->status.st_dev = file->status.st_dev;
    out->status.st_ino = file->status.st_ino;
    out->status.st_size = file->status.st_size;
    out->status.st_ctim = file->status.st_ctim;
    out->base = file->base;
    out->size = file->size;
    memcpy(out->build_id, file->build_id, file->build_id_size);
    out->build_id_size = file->build_id_size;
    return true;
}

/* The build id is compared too: not every file system keeps the time of a change. */
int elf_origin_check(const struct elf_origin *origin, int fd)
{
    struct elf_file *file;
    struct elf_origin now;
    int error = foreign_check(fd, SAME_FILE, &origin->status);
    if (error)
        return error;
    error = elf_file_open_part(fd, origin->base, origin->size, &file);
    if (error)
        return error == -ENOMEM ? error : -ESTALE;
    elf_file_origin(file, &now);
    elf_file_close(file);
    return !memcmp(origin, &now, sizeof now) ? 0 : -ESTALE;
}

int elf_origin_open(const struct elf_origin *origin, const char *path, struct elf_file **out)
{
    struct elf_origin now;
    if (!origin)
        return elf_file_open(path, out);
    const int fd = foreign_open(path);
    int error = fd < 0 ? fd : elf_file_open_part(fd, origin->base, origin->size, out);
    if (!error && elf_file_origin(*out, &now) && memcmp(origin, &now, sizeof now)) {
        elf_file_close(*out);
        error = -ESTALE;
    }
    if (fd >= 0)
        close(fd);
    return error;
}
