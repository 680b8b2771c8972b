/* SPDX-License-Identifier: BSD-3-Clause */
/* See debug_file.h. liblzma is loaded when the first .gnu_debugdata is found, because few systems have such files. */
#include "sym/elf/debug_file.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lzma.h>

#include "base/open_foreign.h"
#include "sym/elf/private.h"
#include "sym/tables.h"

enum {
    COMPRESSED_MAX = 16 << 20,
    UNPACKED_MAX = 128 << 20,
    LINK_BYTES_MAX = 512, /* bytes of .gnu_debuglink */
};
#define CHECKSUM_MAX ((uint64_t)1 << 30)
#define LZMA_MEMORY ((uint64_t)64 << 20)

/* ---- a file of its own ---- */

static bool same_build_id(const struct elf_file *file, const struct elf_file *other)
{
    size_t size, other_size;
    const uint8_t *id = elf_file_build_id(file, &size), *other_id = elf_file_build_id(other, &other_size);
    return id && other_id && size == other_size && !memcmp(id, other_id, size);
}

static uint32_t checksum_table[256];

static void checksum_prepare(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (unsigned bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        checksum_table[i] = value;
    }
}

static bool has_checksum(const struct elf_file *file, uint32_t wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t size = elf_file_size(file);
    uint32_t value = UINT32_MAX;
    uint8_t chunk[16 << 10];
    if (size > CHECKSUM_MAX)
        return false;
    pthread_once(&once, checksum_prepare);
    for (uint64_t at = 0; at < size;) {
        size_t length = size - at < sizeof chunk ? size - at : sizeof chunk;
        if (elf_file_read(file, at, chunk, length))
            return false;
        for (size_t i = 0; i < length; i++)
            value = checksum_table[(value ^ chunk[i]) & 255] ^ value >> 8;
        at += length;
    }
    return ~value == wanted;
}

struct debug_link {
    char *name; /* NULL: the file has none */
    uint32_t checksum;
};

static void link_parse(const struct elf_file *file, struct debug_link *link)
{
    struct elf_section section;
    void *bytes;
    size_t size;
    *link = (struct debug_link){0};
    if (!elf_file_section_named(file, ".gnu_debuglink", &section) || section.size < 8 ||
        section.size > LINK_BYTES_MAX || elf_file_section_read(file, &section, &bytes, &size))
        return;
    memcpy(&link->checksum, (char *)bytes + size - 4, 4);
    link->name = bytes;
    if (strnlen(bytes, size - 4) >= size - 4) {
        free(link->name);
        link->name = NULL;
    }
}

/* Sends what .gnu_debugaltlink says: a name, then a build id. */
static void put_alternative(const struct elf_file *file, struct text *out)
{
    struct elf_section section;
    void *bytes = NULL;
    size_t size = 0;
    if (!elf_file_section_named(file, ".gnu_debugaltlink", &section) ||
        section.size > LINK_BYTES_MAX + PATH_MAX || elf_file_section_read(file, &section, &bytes, &size))
        size = 0;
    size_t length = size ? strnlen(bytes, size) : 0;
    if (length && length < size && size - length - 1 <= DEBUG_ID_MAX) {
        wire_put_text(out, bytes);
        wire_put_bytes(out, (char *)bytes + length + 1, size - length - 1);
    } else {
        wire_put_text(out, NULL);
        wire_put_bytes(out, "", 0);
    }
    free(bytes);
}

int debug_link_put(struct elf_file *file, struct text *answer)
{
    struct debug_link link;
    link_parse(file, &link);
    wire_put_text(answer, link.name);
    wire_put(answer, link.checksum);
    put_alternative(file, answer);
    free(link.name);
    return 0;
}

static void link_read(const struct elf_file *file, struct debug_link *link)
{
    struct apart_answer answer;
    struct elf_section section;
    *link = (struct debug_link){0};
    if (!elf_file_section_named(file, ".gnu_debuglink", &section))
        return;
    if (tables_are_apart(file)) {
        if (!tables_ask_elf(TABLES_LINK, file, &answer)) {
            const char *name = wire_take_text(&answer.in);
            link->name = name ? strdup(name) : NULL;
            link->checksum = (uint32_t)wire_take_within(&answer.in, UINT32_MAX);
        }
        apart_answer_free(&answer);
    } else {
        link_parse(file, link);
    }
    /* It must be a name alone, which does not lead to another directory. */
    if (link->name && (!link->name[0] || strchr(link->name, '/'))) {
        free(link->name);
        link->name = NULL;
    }
}

/* Opens a file if it has the debug information of `file`. is_linked: it was found by the name in .gnu_debuglink. */
static int try_path(const struct elf_file *file, const char *path, const struct debug_link *link,
                    bool is_linked, struct elf_file **out)
{
    struct elf_file *found;
    size_t size;
    if (elf_file_open(path, &found))
        return -ENOENT;
    bool has_id = elf_file_build_id(file, &size) != NULL;
    if (has_id ? same_build_id(file, found) : is_linked && has_checksum(found, link->checksum)) {
        *out = found;
        return 0;
    }
    elf_file_close(found);
    return -ENOENT;
}

/* Searches the .build-id of a directory. */
static int try_build_id(const struct elf_file *file, const char *directory, const struct debug_link *link,
                        struct elf_file **out)
{
    char name[PATH_MAX + 1024];
    size_t size;
    const uint8_t *id = elf_file_build_id(file, &size);
    if (!id || size < 2 || size > DEBUG_ID_MAX || strlen(directory) > PATH_MAX)
        return -ENOENT;
    int length = snprintf(name, sizeof name, "%s/.build-id/%02x/", directory, id[0]);
    for (size_t i = 1; i < size; i++)
        length += snprintf(name + length, sizeof name - (size_t)length, "%02x", id[i]);
    snprintf(name + length, sizeof name - (size_t)length, ".debug");
    return try_path(file, name, link, false, out);
}

static const char *const *given_directories;

void debug_file_directories(const char *const *directories)
{
    given_directories = directories;
}

/* Writes the path of a directory that was given, which may be relative to that of the file. False: it is too long. */
static bool given_path(const char *given, const char *path, char out[2 * PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const int beside = *given == '/' || !slash ? 0 : (int)(slash - path);
    return snprintf(out, 2 * PATH_MAX, "%.*s%s%s", beside, path, beside ? "/" : "", given) < PATH_MAX;
}

static const char *any_entry(struct arena *arena, const char *directory)
{
    const char *found = NULL;
    int descriptor = foreign_open_directory(directory);
    DIR *entries = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!entries && descriptor >= 0)
        close(descriptor);
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            found = arena_printf(arena, "%s/%s", directory, entry->d_name);
    if (entries)
        closedir(entries);
    return found;
}

size_t debug_file_in_directories(struct arena *arena, const char *path, const char **out, size_t room)
{
    char directory[2 * PATH_MAX];
    size_t count = 0;
    for (const char *const *given = given_directories; given && *given && count < room; given++)
        if (given_path(*given, path, directory) && (out[count] = any_entry(arena, directory)))
            count++;
    return count;
}

/* Searches the directories that were given. path: that of the file. */
static int search_given(const struct elf_file *file, const char *path, const struct debug_link *link,
                        struct elf_file **out)
{
    char directory[2 * PATH_MAX], name[3 * PATH_MAX];
    for (const char *const *given = given_directories; given && *given; given++) {
        if (!given_path(*given, path, directory))
            continue;
        if (!try_build_id(file, directory, link, out))
            return 0;
        if (!link->name)
            continue;
        snprintf(name, sizeof name, "%s/%s", directory, link->name);
        if (!try_path(file, name, link, true, out))
            return 0;
    }
    return -ENOENT;
}

static int search(const struct elf_file *file, const char *root, const char *path,
                  const struct debug_link *link, struct elf_file **out)
{
    char name[2 * PATH_MAX + 1024], directory[PATH_MAX];
    snprintf(name, sizeof name, "%s/usr/lib/debug", root);
    if (!try_build_id(file, name, link, out))
        return 0;
    const char *slash = strrchr(path, '/');
    if (!link->name || path[0] != '/' || (size_t)(slash - path) >= sizeof directory)
        return -ENOENT;
    memcpy(directory, path, (size_t)(slash - path));
    directory[slash - path] = '\0';
    static const char *const forms[] = {"%s%s/%s", "%s%s/.debug/%s", "%s/usr/lib/debug%s/%s"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name, sizeof name, forms[i], root, directory, link->name);
#pragma GCC diagnostic pop
        if (!try_path(file, name, link, true, out))
            return 0;
    }
    return -ENOENT;
}

int debug_file_open(const struct elf_file *file, const char *path, pid_t pid, const char *const *given,
                    struct elf_file **out)
{
    struct debug_link link;
    char root[64];
    int error = -ENOENT;
    link_read(file, &link);
    for (; error && given && *given; given++)
        error = try_path(file, *given, &link, link.name != NULL, out);
    if (error)
        error = search_given(file, path, &link, out);
    if (error)
        error = search(file, "", path, &link, out);
    if (error && pid > 0) {
        snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
        error = search(file, root, path, &link, out);
    }
    free(link.name);
    return error;
}

/* ---- .gnu_debugaltlink ---- */

static bool has_id(const struct elf_file *file, const uint8_t *id, size_t id_size)
{
    size_t size;
    const uint8_t *own = elf_file_build_id(file, &size);
    return own && size == id_size && !memcmp(own, id, size);
}

static int try_alternative(const char *path, const uint8_t *id, size_t id_size, struct elf_file **out)
{
    if (elf_file_open(path, out))
        return -ENOENT;
    if (has_id(*out, id, id_size))
        return 0;
    elf_file_close(*out);
    return -ENOENT;
}

/* Opens a file by a name that is relative to the place where `file` really is. */
static int try_beside(const struct elf_file *file, const char *name, const uint8_t *id, size_t id_size,
                      struct elf_file **out)
{
    char own[64], path[2 * PATH_MAX];
    snprintf(own, sizeof own, "/proc/self/fd/%d", elf_file_descriptor(file));
    ssize_t length = elf_file_descriptor(file) < 0 ? -1 : readlink(own, path, PATH_MAX);
    if (length <= 0)
        return -ENOENT;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + strlen(name) >= sizeof path)
        return -ENOENT;
    strcpy(slash + 1, name);
    return try_alternative(path, id, id_size, out);
}

static int try_by_id(const uint8_t *id, size_t size, struct elf_file **out)
{
    char path[64 + 2 * DEBUG_ID_MAX];
    int length = snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < size; i++)
        length += snprintf(path + length, sizeof path - (size_t)length, "%02x", id[i]);
    snprintf(path + length, sizeof path - (size_t)length, ".debug");
    return try_alternative(path, id, size, out);
}

static int find_alternative(const struct elf_file *file, struct cursor *in, uint8_t *id, size_t *id_size,
                            struct elf_file **out)
{
    wire_take_text(in);
    wire_take(in);
    const char *name = wire_take_text(in);
    const void *bytes = wire_take_bytes(in, id_size);
    if (!name || !bytes || *id_size < 2 || *id_size > DEBUG_ID_MAX) {
        *id_size = 0;
        return -ENOENT;
    }
    memcpy(id, bytes, *id_size);
    int error =
        *name == '/' ? try_alternative(name, id, *id_size, out) : try_beside(file, name, id, *id_size, out);
    return error ? try_by_id(id, *id_size, out) : 0;
}

int debug_alternative_open(const struct elf_file *file, uint8_t *id, size_t *id_size, struct elf_file **out)
{
    struct apart_answer answer;
    struct elf_section section;
    *id_size = 0;
    if (!elf_file_section_named(file, ".gnu_debugaltlink", &section))
        return -ENOENT;
    int error = tables_ask_elf(TABLES_LINK, file, &answer);
    if (!error)
        error = find_alternative(file, &answer.in, id, id_size, out);
    apart_answer_free(&answer);
    return error;
}

/* ---- .gnu_debugdata ---- */

typedef lzma_ret unpacker(uint64_t *memory, uint32_t flags, const lzma_allocator *allocator,
                          const uint8_t *in, size_t *in_at, size_t in_size, uint8_t *out, size_t *out_at,
                          size_t out_size);
static unpacker *unpack_with;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_unpacker(void)
{
    void *library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
    if (library)
        unpack_with = (unpacker *)dlsym(library, "lzma_stream_buffer_decode");
}

void debug_data_prepare(void)
{
    pthread_once(&once, find_unpacker);
}

bool debug_data_is_readable(void)
{
    debug_data_prepare();
    return unpack_with != NULL;
}

/* Unpacks .gnu_debugdata. The unpacked size is not known, so the buffer is doubled until it is large enough. */
static int unpack(const uint8_t *packed, size_t packed_size, void **out, size_t *out_size)
{
    debug_data_prepare();
    if (!unpack_with)
        return -ENOTSUP;
    size_t room = packed_size < (64 << 10) ? 256 << 10 : packed_size * 4;
    for (; room <= UNPACKED_MAX; room *= 2) {
        uint64_t memory = LZMA_MEMORY;
        size_t in_at = 0, out_at = 0;
        uint8_t *bytes = malloc(room);
        if (!bytes)
            return -ENOMEM;
        lzma_ret result = unpack_with(&memory, 0, NULL, packed, &in_at, packed_size, bytes, &out_at, room);
        if (result == LZMA_OK) {
            *out = bytes;
            *out_size = out_at;
            return 0;
        }
        free(bytes);
        if (result != LZMA_BUF_ERROR)
            return result == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
    }
    return -EFBIG;
}

static int data_unpack(const struct elf_file *file, void **bytes, struct elf_file **out)
{
    struct elf_section section;
    void *packed;
    size_t packed_size, size;
    *bytes = NULL;
    if (!elf_file_section_named(file, ".gnu_debugdata", &section))
        return -ENOENT;
    if (section.size > COMPRESSED_MAX)
        return -EFBIG;
    int error = elf_file_section_read(file, &section, &packed, &packed_size);
    if (error)
        return error;
    error = unpack(packed, packed_size, bytes, &size);
    free(packed);
    if (!error)
        error = elf_file_open_memory(*bytes, size, out);
    if (error) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

int debug_data_put(struct elf_file *file, struct text *answer)
{
    struct elf_file *data;
    void *bytes;
    int error = data_unpack(file, &bytes, &data);
    if (error)
        return error;
    elf_put_tables(data, answer);
    error = elf_put_symbols(data, answer);
    elf_file_close(data);
    free(bytes);
    return error;
}

int debug_data_open(const struct elf_file *file, void **bytes, struct elf_file **out)
{
    struct apart_answer answer;
    struct elf_section section;
    *bytes = NULL;
    if (!tables_are_apart(file))
        return data_unpack(file, bytes, out);
    if (!elf_file_section_named(file, ".gnu_debugdata", &section))
        return -ENOENT;
    int error = tables_ask_elf(TABLES_DATA, file, &answer);
    struct elf_file *data = error ? NULL : elf_file_without_bytes();
    if (!error)
        error = data ? elf_take_tables(data, &answer.in) : -ENOMEM;
    if (!error)
        error = elf_take_symbols(data, &answer.in);
    apart_answer_free(&answer);
    if (error) {
        elf_file_close(data);
        return error;
    }
    data->symbols.state = 1;
    *out = data;
    return 0;
}
