/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds files by the loader's cache, the standard directories, PATH and glob(3).
 *
 * The cache (glibc 2.2 and newer, alone or behind a table of the old form) is a header of 48 bytes with the number
 * of entries at 20, entries of 24 bytes (flags, key, value, …), and texts; key and value are offsets from the
 * header's beginning. */
#include "base/cursor.h"
#include "base/open_foreign.h"
#include "sym/process/library.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/table.h"
#include "base/glob.h"
#include "sym/process/proc.h"

enum { CACHE_HEADER = 48, CACHE_ENTRY = 24, CACHE_LARGEST = 64 << 20, OLD_HEADER = 16, OLD_ENTRY = 12 };
static const char cache_magic[] = "glibc-ld.so.cache1.1", old_magic[] = "ld.so-1.7.0";

#if defined(__x86_64__)
enum { CACHE_FLAGS = 0x0303 };
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
enum { CACHE_FLAGS = 0x0a03 };
#define TRIPLET "aarch64-linux-gnu"
#else
#error "libraries of this machine are unknown"
#endif

/* Whether a file is the library that the user names: "c", "libc", "libc.so" and "libc.so.6" mean libc.so.6. */
static bool library_is(const char *file, const char *name)
{
    static const char *const prefixes[] = {"", "lib"};
    size_t length = strlen(name);
    if (!strcmp(file, name))
        return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t skip = strlen(prefixes[i]);
        if (strncmp(file, prefixes[i], skip) || strncmp(file + skip, name, length))
            continue;
        const char *rest = file + skip + length;
        bool ends_in_so = glob_match("*.so", name);
        if (ends_in_so ? *rest == '.' : !strncmp(rest, ".so", 3) && (!rest[3] || rest[3] == '.'))
            return true;
    }
    return false;
}

/* Returns the text at an offset from the cursor; NULL if it does not end inside. */
static const char *text_at(const struct cursor *cursor, uint64_t offset)
{
    struct cursor there = cursor_ahead(cursor, offset);
    return cursor_take_text(&there, SIZE_MAX);
}

int library_find_in_cache(const void *bytes, size_t size, const char *name, struct text *out)
{
    struct cursor cache = cursor_over(bytes, size);
    if (size >= OLD_HEADER && !memcmp(bytes, old_magic, sizeof old_magic - 1))
        cursor_skip(&cache, (OLD_HEADER + cursor_peek(&cache, 12, 4) * OLD_ENTRY + 7) & ~7ull);
    struct cursor entries = cursor_ahead(&cache, CACHE_HEADER);
    if (entries.is_bad || memcmp(cache.at, cache_magic, sizeof cache_magic - 1))
        return -EBADMSG;
    uint64_t count = cursor_peek(&cache, 20, 4);
    if (count > cursor_left(&entries) / CACHE_ENTRY)
        return -EBADMSG;
    for (uint64_t i = 0; i < count; i++) {
        struct cursor entry = cursor_take_part(&entries, CACHE_ENTRY);
        const char *key = text_at(&cache, cursor_peek(&entry, 4, 4));
        if (cursor_peek(&entry, 0, 4) != CACHE_FLAGS || !key || !library_is(key, name))
            continue;
        const char *path = text_at(&cache, cursor_peek(&entry, 8, 4));
        if (!path || *path != '/')
            continue;
        text_add(out, path);
        return out->failed ? -ENOMEM : 0;
    }
    return -ENOENT;
}

static int cache_read(pid_t pid, void **bytes, size_t *size)
{
    struct text path = {0};
    int fd = proc_path(pid, "/etc/ld.so.cache", &path) ? -1 : foreign_open(text_string(&path));
    text_free(&path);
    if (fd < 0)
        return -ENOENT;
    struct stat status;
    int error = fstat(fd, &status) ? -errno : 0;
    if (!error && (status.st_size <= 0 || status.st_size > CACHE_LARGEST))
        error = -EBADMSG;
    if (!error && !(*bytes = malloc((size_t)status.st_size)))
        error = -ENOMEM;
    *size = 0;
    while (!error && *size < (size_t)status.st_size) {
        ssize_t got = read(fd, (char *)*bytes + *size, (size_t)status.st_size - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            error = -errno;
        if (got <= 0)
            break;
        *size += (size_t)got;
    }
    close(fd);
    if (error) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

static void *directory_open(const char *path)
{
    const int fd = foreign_open_directory(path);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !directory)
        close(fd);
    else if (fd < 0)
        errno = -fd;
    return directory;
}

/* Whether a file is an ELF file: libc.so in a directory of development files is a text for the linker. */
static bool is_elf(const char *path)
{
    char magic[4] = "";
    int fd = foreign_open(path);
    if (fd < 0)
        return false;
    bool elf = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && !memcmp(magic, "\177ELF", 4);
    close(fd);
    return elf;
}

static int library_find_in_directory(pid_t pid, const char *path, const char *name, struct text *out)
{
    struct text opened = {0};
    DIR *directory = proc_path(pid, path, &opened) ? NULL : directory_open(text_string(&opened));
    if (!directory) {
        text_free(&opened);
        return -ENOENT;
    }
    char best[NAME_MAX + 1] = "", full[PATH_MAX];
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!library_is(entry->d_name, name) ||
            snprintf(full, sizeof full, "%s/%s", text_string(&opened), entry->d_name) >= (int)sizeof full)
            continue;
        if ((!*best || strcmp(entry->d_name, best) < 0) && is_elf(full))
            snprintf(best, sizeof best, "%s", entry->d_name);
    }
    closedir(directory);
    text_free(&opened);
    if (!*best)
        return -ENOENT;
    text_printf(out, "%s/%s", path, best);
    return out->failed ? -ENOMEM : 0;
}

int library_find(pid_t pid, const char *name, struct text *out)
{
    static const char *const directories[] = {
        "/lib/" TRIPLET, "/usr/lib/" TRIPLET, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
    };
    if (!*name || strchr(name, '/'))
        return -ENOENT;
    void *bytes = NULL;
    size_t size = 0;
    int error = cache_read(pid, &bytes, &size);
    if (!error)
        error = library_find_in_cache(bytes, size, name, out);
    free(bytes);
    for (size_t i = 0; error && error != -ENOMEM && i < sizeof directories / sizeof *directories; i++)
        error = library_find_in_directory(pid, directories[i], name, out);
    return error && error != -ENOMEM ? -ENOENT : error;
}

/* ---- commands ---- */

static bool is_command(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

int executable_find(const char *name, struct text *out)
{
    const char *path = getenv("PATH");
    char full[PATH_MAX];
    if (!path || !*path)
        path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
    if (!*name)
        return -ENOENT;
    if (strchr(name, '/')) {
        if (!is_command(name))
            return -ENOENT;
        text_add(out, name);
        return out->failed ? -ENOMEM : 0;
    }
    for (;;) {
        size_t length = strcspn(path, ":");
        /* An empty entry means the working directory. */
        int written =
            snprintf(full, sizeof full, "%.*s/%s", length ? (int)length : 1, length ? path : ".", name);
        if (written > 0 && written < (int)sizeof full && is_command(full)) {
            text_add(out, full);
            return out->failed ? -ENOMEM : 0;
        }
        if (!path[length])
            return -ENOENT;
        path += length + 1;
    }
}

/* ---- words ---- */

struct binary_walk {
    struct table seen; /* by device and inode, so that several links to one file count once */
    binary_visitor *visit;
    void *context;
    const char *word;   /* the name or path that is searched among a process's files */
    struct text real;   /* `word` as a path without links in its directories */
    size_t root_length; /* length of "/proc/PID/root" in front of what a pattern finds */
    size_t found;
};

static int walk_offer(struct binary_walk *walk, const char *path, const char *seen)
{
    struct stat status;
    if (foreign_status(path, &status) || !S_ISREG(status.st_mode))
        return 0;
    uint64_t key[2] = {status.st_dev, status.st_ino};
    if (table_get(&walk->seen, key, sizeof key))
        return 0;
    int result = table_set(&walk->seen, key, sizeof key, walk);
    if (!result) {
        walk->found++;
        result = walk->visit(walk->context, path, seen);
    }
    return result;
}

static struct dirent *directory_read(void *directory)
{
    return readdir(directory);
}

static void directory_close(void *directory)
{
    closedir(directory);
}

static int look(const char *path, struct stat *status)
{
    const int error = foreign_status(path, status);
    errno = -error;
    return error ? -1 : 0;
}

/* Visits what a pattern means. Paths that begin with a process's root are looked up in that root. */
static int walk_pattern(struct binary_walk *walk, const char *pattern)
{
    glob_t found = {.gl_opendir = directory_open,
                    .gl_readdir = directory_read,
                    .gl_closedir = directory_close,
                    .gl_stat = look,
                    .gl_lstat = look};
    int error = glob(pattern, GLOB_ALTDIRFUNC, NULL, &found), result = 0;
    if (error == GLOB_NOSPACE)
        result = -ENOMEM;
    for (size_t i = 0; !error && i < found.gl_pathc && !result; i++)
        result = walk_offer(walk, found.gl_pathv[i], found.gl_pathv[i] + walk->root_length);
    globfree(&found);
    return result;
}

/* Visits a mapped file, a library or the program, if it has the name that is searched. */
static int walk_named_file(void *context, pid_t pid, const char *path, const char *seen)
{
    (void)pid;
    struct binary_walk *walk = context;
    const char *slash = strrchr(seen, '/');
    const char *name = slash ? slash + 1 : seen;
    return !strcmp(name, walk->word) || library_is(name, walk->word) ? walk_offer(walk, path, seen) : 0;
}

/* Appends a path without links in its directories, which is how the kernel writes paths of mapped files. */
static void real_directory(const char *word, struct text *out)
{
    const char *slash = strrchr(word, '/');
    char *directory = strndup(word, slash == word ? 1 : (size_t)(slash - word)), real[PATH_MAX];
    if (directory && realpath(directory, real))
        text_printf(out, "%s%s", strcmp(real, "/") ? real : "", slash);
    else
        text_add(out, word);
    free(directory);
}

/* Visits what the process has mapped from the path, even if another file is there now. */
static int walk_mapped_file(void *context, pid_t pid, const char *path, const char *seen)
{
    (void)pid;
    struct binary_walk *walk = context;
    return !strcmp(seen, walk->word) || !strcmp(seen, text_string(&walk->real)) ? walk_offer(walk, path, seen)
                                                                                : 0;
}

static int walk_process(struct binary_walk *walk, pid_t pid, proc_file_visitor *visit)
{
    int result = pid > 0 ? proc_each_file(pid, visit, walk) : 0;
    return result == -ESRCH || result == -EACCES || result == -EPERM ? 0 : result;
}

/* Visits what a pattern of paths means that begins at the root of the process. */
static int walk_rooted_pattern(struct binary_walk *walk, pid_t pid)
{
    struct text pattern = {0};
    if (pid > 0 && *walk->word == '/')
        text_printf(&pattern, "/proc/%d/root", (int)pid);
    walk->root_length = pattern.length;
    text_add(&pattern, walk->word);
    int result = pattern.failed ? -ENOMEM : walk_pattern(walk, text_string(&pattern));
    text_free(&pattern);
    return result;
}

/* Returns the path by which this process opens a path of the user's. One in /proc is meant as the user sees it:
 * "self" is this process, and numbers of processes are those here. Paths that a process gives (its mappings) are
 * relative to its own root: proc_path(). */
static int named_path(pid_t pid, const char *word, struct text *out)
{
    if (strncmp(word, "/proc/", 6) != 0)
        return proc_path(pid, word, out);
    text_add(out, word);
    return out->failed ? -ENOMEM : 0;
}

int binary_each(const char *word, pid_t pid, binary_visitor *visit, void *context)
{
    struct binary_walk walk = {.visit = visit, .context = context, .word = word};
    struct text path = {0};
    int result = 0;
    if (strchr(word, '/')) {
        real_directory(word, &walk.real);
        result = walk_process(&walk, pid, walk_mapped_file);
        if (!result && !walk.found)
            result = named_path(pid, word, &path);
        /* A file may have the name [x]: the name is tried before the pattern. */
        if (!result && !walk.found)
            result = walk_offer(&walk, text_string(&path), word);
        if (!result && !walk.found && glob_has_wildcard(word))
            result = walk_rooted_pattern(&walk, pid);
    } else if (glob_has_wildcard(word)) {
        result = walk_pattern(&walk, word);
    } else if (*word) {
        result = walk_process(&walk, pid, walk_named_file);
        if (!result && !walk.found && !executable_find(word, &path))
            result = walk_offer(&walk, text_string(&path), text_string(&path));
        if (!result && !walk.found && !library_find(0, word, &path))
            result = walk_offer(&walk, text_string(&path), text_string(&path));
        if (!result && !walk.found)
            result = walk_offer(&walk, word, word);
    }
    if (!result && path.failed)
        result = -ENOMEM;
    text_free(&path);
    text_free(&walk.real);
    table_free(&walk.seen);
    return result ? result : walk.found ? 0 : -ENOENT;
}
