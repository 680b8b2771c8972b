/* SPDX-License-Identifier: BSD-3-Clause */
/* Indexes of names on disk, one file for each program, in XDG_CACHE_HOME/spoor, for root /var/cache/spoor.
 *
 * A file is named by the build id, by what the debug sections look like, and by the files that they were read
 * from: who forges the first two has another file, so nobody can hide names of somebody else's program. It is
 * taken only from a directory and a file that are ours and that nobody else can write, and only whole: size
 * and sum are compared. It appears whole, by rename. When all of them grow over a bound those that were made
 * first go. Whatever fails here costs time, no more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "sym/dwarf_private.h"

#define CACHE_BYTES_MAX ((off_t)512 << 20)
enum {
    WORTH_ENTRIES = 5000, /* fewer are made again as fast as they are read */
    SAMPLE = 65536,       /* bytes of a section that name the file */
    NAME_MAX_BYTES = 64
};
static const char cache_magic[8] = "spoornx2";
static const char cache_suffix[] = ".names";

struct header {
    char magic[8];
    uint64_t key, count, sum;
};

/* ---- which file ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    uint64_t both[2] = {hash, table_hash(bytes, size)};
    return table_hash(both, sizeof both);
}

void dwarf_identify(struct dwarf_file *file, const struct stat *status)
{
    const uint64_t words[] = {status->st_dev, status->st_ino, (uint64_t)status->st_size,
                              (uint64_t)status->st_ctim.tv_sec, (uint64_t)status->st_ctim.tv_nsec};
    file->identity = mix(file->identity, words, sizeof words);
}

/* False: the program has no build id, so nothing says that it is the same one tomorrow. */
static bool cache_key(struct dwarf_file *file, uint64_t *key)
{
    const void *id;
    GElf_Addr bias;
    Elf *program = dwfl_module_getelf(file->module, &bias), *debug = dwarf_getelf(file->dwarf);
    ssize_t size = program ? dwelf_elf_gnu_build_id(program, &id) : -1;
    if (size <= 0 || !debug)
        return false;
    uint64_t hash = mix(file->identity, id, (size_t)size);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(debug, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS || header.sh_flags & SHF_ALLOC)
            continue;
        hash = mix(hash, &header.sh_size, sizeof header.sh_size);
        Elf_Data *data = elf_rawdata(section, NULL);
        if (data && data->d_buf) {
            size_t part = data->d_size < SAMPLE ? data->d_size : SAMPLE;
            hash = mix(hash, data->d_buf, part);
            hash = mix(hash, (const char *)data->d_buf + data->d_size - part, part);
        }
    }
    *key = hash;
    return true;
}

/* Opens the directory, made when it is missing; it must be ours alone. -1: there is none to use. */
static int cache_directory(bool make)
{
    char path[4096];
    const char *home = getenv("XDG_CACHE_HOME");
    int length;
    if (home && *home == '/')
        length = snprintf(path, sizeof path, "%s/spoor", home);
    else if (geteuid() == 0)
        length = snprintf(path, sizeof path, "/var/cache/spoor");
    else if ((home = getenv("HOME")) && *home == '/')
        length = snprintf(path, sizeof path, "%s/.cache/spoor", home);
    else
        return -1;
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    if (make && mkdir(path, 0700) && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        *slash = 0;
        mkdir(path, 0700); /* ~/.cache */
        *slash = '/';
        mkdir(path, 0700);
    }
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (directory >= 0 && (fstat(directory, &status) || status.st_uid != geteuid() || status.st_mode & 022)) {
        close(directory);
        return -1;
    }
    return directory;
}

static void cache_name(char name[NAME_MAX_BYTES], uint64_t key)
{
    snprintf(name, NAME_MAX_BYTES, "%016llx%s", (unsigned long long)key, cache_suffix);
}

/* ---- reading ---- */

static bool read_all(int descriptor, void *bytes, size_t size)
{
    char *at = bytes;
    while (size) {
        ssize_t got = read(descriptor, at, size);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
    return true;
}

static bool is_sorted(const struct dwarf_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (entries[i].hash < entries[i - 1].hash)
            return false;
    return true;
}

static bool read_index(int descriptor, uint64_t key, struct dwarf_index *index)
{
    struct stat status;
    struct header header;
    if (fstat(descriptor, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_mode & 022 || status.st_size > CACHE_BYTES_MAX ||
        !read_all(descriptor, &header, sizeof header) ||
        memcmp(header.magic, cache_magic, sizeof header.magic) || header.key != key ||
        header.count != ((uint64_t)status.st_size - sizeof header) / sizeof *index->entries ||
        ((uint64_t)status.st_size - sizeof header) % sizeof *index->entries)
        return false;
    size_t bytes = header.count * sizeof *index->entries;
    struct dwarf_entry *entries = malloc(bytes ? bytes : 1);
    if (!entries)
        return false;
    if (!read_all(descriptor, entries, bytes) || table_hash(entries, bytes) != header.sum ||
        !is_sorted(entries, header.count)) {
        free(entries);
        return false;
    }
    *index = (struct dwarf_index){entries, header.count, header.count};
    return true;
}

bool dwarf_cache_read(struct dwarf_file *file, struct dwarf_index *index)
{
    char name[NAME_MAX_BYTES];
    uint64_t key;
    int directory = cache_directory(false);
    if (directory < 0)
        return false;
    bool is_read = false;
    if (cache_key(file, &key)) {
        cache_name(name, key);
        int descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        is_read = descriptor >= 0 && read_index(descriptor, key, index);
        if (descriptor >= 0)
            close(descriptor);
    }
    close(directory);
    return is_read;
}

/* ---- writing ---- */

/* Makes room for so many bytes: the oldest files go. */
static void make_room(int directory, off_t wanted)
{
    enum { FILES_MAX = 4096 };
    for (unsigned turns = 0; turns < FILES_MAX; turns++) {
        int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
        char oldest[NAME_MAX_BYTES] = "";
        struct timespec when = {0};
        off_t all = wanted;
        struct stat status;
        if (!list) {
            if (copy >= 0)
                close(copy);
            return;
        }
        for (struct dirent *item; (item = readdir(list));) {
            if (item->d_name[0] == '.' || strlen(item->d_name) >= sizeof oldest ||
                fstatat(directory, item->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
                continue;
            all += status.st_size;
            if (!*oldest || status.st_mtim.tv_sec < when.tv_sec ||
                (status.st_mtim.tv_sec == when.tv_sec && status.st_mtim.tv_nsec < when.tv_nsec)) {
                memcpy(oldest, item->d_name, strlen(item->d_name) + 1);
                when = status.st_mtim;
            }
        }
        closedir(list);
        if (all <= CACHE_BYTES_MAX || !*oldest || unlinkat(directory, oldest, 0))
            return;
    }
}

static bool write_all(int descriptor, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t put = write(descriptor, at, size);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            at += put;
            size -= (size_t)put;
        }
    }
    return true;
}

void dwarf_cache_write(struct dwarf_file *file, const struct dwarf_index *index)
{
    char name[NAME_MAX_BYTES], temporary[NAME_MAX_BYTES + 16];
    size_t bytes = index->count * sizeof *index->entries;
    struct header header = {.count = index->count, .sum = table_hash(index->entries, bytes)};
    if (index->count < WORTH_ENTRIES || (off_t)(bytes + sizeof header) > CACHE_BYTES_MAX / 2 ||
        !cache_key(file, &header.key))
        return;
    int directory = cache_directory(true);
    if (directory < 0)
        return;
    memcpy(header.magic, cache_magic, sizeof header.magic);
    cache_name(name, header.key);
    snprintf(temporary, sizeof temporary, "%s.%d", name, (int)getpid());
    make_room(directory, (off_t)(bytes + sizeof header));
    int descriptor = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor >= 0) {
        bool is_written =
            write_all(descriptor, &header, sizeof header) && write_all(descriptor, index->entries, bytes);
        is_written = close(descriptor) == 0 && is_written;
        if (!is_written || renameat(directory, temporary, directory, name))
            unlinkat(directory, temporary, 0);
    }
    close(directory);
}
