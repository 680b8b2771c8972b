/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote/binary.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/table.h"

enum { SIZE_LIMIT = 256 << 20 };

static const struct {
    unsigned number;
    const char *name;
} machines[REMOTE_MACHINES] = {{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}};

/* Whether no other file is needed to start it. */
static bool is_static(const struct cursor *file, const Elf64_Ehdr *header)
{
    struct cursor at = cursor_ahead(file, header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const void *bytes = cursor_take_bytes(&at, sizeof(Elf64_Phdr));
        Elf64_Phdr program;
        if (!bytes)
            return false;
        memcpy(&program, bytes, sizeof program);
        if (program.p_type == PT_INTERP)
            return false;
    }
    return true;
}

static int look(struct remote_binary *binary, struct text *why)
{
    const struct cursor file = cursor_over(binary->bytes, binary->size);
    struct cursor at = file;
    const void *bytes = cursor_take_bytes(&at, sizeof(Elf64_Ehdr));
    Elf64_Ehdr header = {0};
    if (bytes)
        memcpy(&header, bytes, sizeof header);
    for (size_t i = 0; i < REMOTE_MACHINES; i++)
        if (header.e_machine == machines[i].number)
            binary->machine = machines[i].name;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        !binary->machine || header.e_phentsize != sizeof(Elf64_Phdr))
        text_add(why, "it is no program for x86_64 or aarch64");
    else if (!is_static(&file, &header))
        text_add(why, "it needs libraries, which hosts may not have");
    else
        return 0;
    return -ENOEXEC;
}

static int map(struct remote_binary *binary, int file)
{
    struct stat status;
    if (fstat(file, &status))
        return -errno;
    if (!S_ISREG(status.st_mode) || !status.st_size || status.st_size > SIZE_LIMIT)
        return -ENOEXEC;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return -errno;
    binary->bytes = bytes;
    binary->size = (size_t)status.st_size;
    return 0;
}

static void unmap(struct remote_binary *binary)
{
    if (binary->bytes)
        munmap((void *)binary->bytes, binary->size);
    binary->bytes = NULL;
}

/* Returns 0 or -errno with the reason in *why. The architecture is known whenever the file is a program. */
static int open_one(const char *path, struct remote_binary *binary, struct text *why)
{
    *binary = (struct remote_binary){.bytes = NULL};
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error = file < 0 ? -errno : map(binary, file);
    if (file >= 0)
        close(file);
    if (error)
        text_add(why, error == -ENOEXEC ? "it is no program" : strerror(-error));
    else
        error = look(binary, why);
    if (error)
        unmap(binary);
    else
        binary->hash = table_hash(binary->bytes, binary->size);
    return error;
}

static int open_file(const char *path, struct remote_binaries *binaries, struct text *why)
{
    struct text reason = {0};
    struct remote_binary binary;
    int error = open_one(path, &binary, &reason);
    if (!error && remote_binary_for(binaries, binary.machine)) {
        text_printf(&reason, "another file is for %s, too", binary.machine);
        error = -EEXIST;
    }
    if (error) {
        text_printf(why, "'%s' cannot be copied to hosts: %s", path, text_string(&reason));
        unmap(&binary);
    } else {
        binaries->of[binaries->count++] = binary;
    }
    text_free(&reason);
    return error;
}

int remote_binaries_open(const char *const *paths, struct remote_binaries *binaries, struct text *why)
{
    struct remote_binary own;
    int error = 0;
    *binaries = (struct remote_binaries){.count = 0};
    for (size_t i = 0; paths && paths[i] && !error; i++)
        error = open_file(paths[i], binaries, why);
    if (error)
        return error;
    const int own_error = open_one("/proc/self/exe", &own, &binaries->no_own);
    binaries->own_machine = own.machine ? own.machine : "";
    if (remote_binary_for(binaries, binaries->own_machine)) {
        text_clear(&binaries->no_own);
        unmap(&own);
    } else if (!own_error) {
        binaries->of[binaries->count++] = own;
    }
    return 0;
}

void remote_binaries_close(struct remote_binaries *binaries)
{
    for (size_t i = 0; i < binaries->count; i++)
        unmap(&binaries->of[i]);
    text_free(&binaries->no_own);
}

const struct remote_binary *remote_binary_for(const struct remote_binaries *binaries, const char *machine)
{
    for (size_t i = 0; i < binaries->count; i++)
        if (!strcmp(binaries->of[i].machine, machine))
            return &binaries->of[i];
    return NULL;
}

bool remote_machine_is_known(const char *machine)
{
    for (size_t i = 0; i < REMOTE_MACHINES; i++)
        if (!strcmp(machines[i].name, machine))
            return true;
    return false;
}
