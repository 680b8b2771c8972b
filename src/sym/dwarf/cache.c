/* SPDX-License-Identifier: BSD-3-Clause */
/* Indexes of names on disk, one file for each program, in XDG_CACHE_HOME/spoor, for root /var/cache/spoor.
 *
 * The name of a file is made of the build id and of the files from which the names were read: a program with a
 * forged build id has another file, so that it cannot hide names of another program. The file is opened in the
 * process that asks and read by the service, which sends an index that it had to make. It is used only if directory
 * and file belong to this user and no other user can write them, and only if it is whole: size and checksum are
 * compared. It appears whole, by rename. When all files together grow beyond a bound, those that were made first
 * are removed. Whatever fails here costs only time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/whole.h"
#include "sym/apart.h"
#include "sym/dwarf/private.h"

#define CACHE_BYTES_MAX ((off_t)512 << 20)
enum {
    WORTH_ENTRIES = 5000, /* fewer entries are made again as fast as they are read */
    NAME_MAX_BYTES = 64
};
static const char cache_magic[] = "spoornx3"; /* 8 bytes, no NUL */
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

static uint64_t identify(uint64_t hash, int descriptor)
{
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status))
        return hash;
    const uint64_t words[] = {status.st_dev, status.st_ino, (uint64_t)status.st_size,
                              (uint64_t)status.st_ctim.tv_sec, (uint64_t)status.st_ctim.tv_nsec};
    return mix(hash, words, sizeof words);
}

/* Opens the directory, which is made if it is missing, and which only this user may write. -1: there is none that
 * can be used. */
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

static bool is_sorted(const struct dwarf_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (entries[i].hash < entries[i - 1].hash)
            return false;
    return true;
}

/* In the service: reads an index from the file that came with the questions. */
static bool read_index(int descriptor, uint64_t key, struct dwarf_index *index)
{
    struct stat status;
    struct header header;
    if (fstat(descriptor, &status) || status.st_size > CACHE_BYTES_MAX ||
        whole_read(descriptor, &header, sizeof header) ||
        memcmp(header.magic, cache_magic, sizeof header.magic) || header.key != key ||
        header.count != ((uint64_t)status.st_size - sizeof header) / sizeof *index->entries ||
        ((uint64_t)status.st_size - sizeof header) % sizeof *index->entries)
        return false;
    size_t bytes = header.count * sizeof *index->entries;
    struct dwarf_entry *entries = malloc(bytes ? bytes : 1);
    if (!entries)
        return false;
    if (whole_read(descriptor, entries, bytes) || table_hash(entries, bytes) != header.sum ||
        !is_sorted(entries, header.count)) {
        free(entries);
        return false;
    }
    *index = (struct dwarf_index){entries, header.count, header.count};
    return true;
}

bool dwarf_cache_read(const struct dwarf_source *source, struct dwarf_index *index)
{
    return source->index >= 0 && read_index(source->index, source->key, index);
}

/* Finds the index of a program. One without a build id has none in the cache, because nothing says that it is the
 * same program tomorrow. */
void dwarf_cache_find(struct dwarf_source *source, const uint8_t *build_id, size_t size)
{
    char name[NAME_MAX_BYTES];
    struct stat status;
    source->index = -1;
    source->key = 0;
    if (!build_id)
        return;
    source->key = identify(identify(identify(mix(0, build_id, size), source->program), source->debug),
                           source->alternative);
    int directory = cache_directory(false);
    if (directory < 0)
        return;
    cache_name(name, source->key);
    int descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    close(directory);
    if (descriptor >= 0 && !fstat(descriptor, &status) && S_ISREG(status.st_mode) &&
        status.st_uid == geteuid() && !(status.st_mode & 022))
        source->index = descriptor;
    else if (descriptor >= 0)
        close(descriptor);
}

/* ---- writing ---- */

/* Makes room for so many bytes by removing the oldest files. */
static void make_room(int directory, off_t wanted)
{
    enum { FILES_MAX = 4096 };
    for (unsigned iterations = 0; iterations < FILES_MAX; iterations++) {
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

/* In the service: sends an index that was made to the process that may write it. */
void dwarf_cache_send(const struct dwarf_source *source, const struct dwarf_index *index)
{
    struct text notice = {0};
    size_t bytes = index->count * sizeof *index->entries;
    if (!source->key || index->count < WORTH_ENTRIES || (off_t)bytes > CACHE_BYTES_MAX / 2)
        return;
    wire_put_bytes(&notice, index->entries, bytes);
    apart_notify(DWARF_NOTICE_INDEX, &notice);
    text_free(&notice);
}

/* Writes an index that the service sent. If a program took over its service, a wrong index misleads only users of
 * that program, because the key is of these very files. */
void dwarf_cache_write(const struct dwarf_source *source, const void *entries, size_t size)
{
    char name[NAME_MAX_BYTES], temporary[NAME_MAX_BYTES + 16];
    struct header header = {.key = source->key, .count = size / sizeof(struct dwarf_entry)};
    if (!source->key || (off_t)size > CACHE_BYTES_MAX / 2)
        return;
    int directory = cache_directory(true);
    if (directory < 0)
        return;
    header.sum = table_hash(entries, size);
    memcpy(header.magic, cache_magic, sizeof header.magic);
    cache_name(name, header.key);
    snprintf(temporary, sizeof temporary, "%s.%d", name, (int)getpid());
    make_room(directory, (off_t)(size + sizeof header));
    int descriptor = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor >= 0) {
        bool is_written = !whole_write(descriptor, &header, sizeof header, -1) &&
                          !whole_write(descriptor, entries, size, -1);
        is_written = close(descriptor) == 0 && is_written;
        if (!is_written || renameat(directory, temporary, directory, name))
            unlinkat(directory, temporary, 0);
    }
    close(directory);
}
