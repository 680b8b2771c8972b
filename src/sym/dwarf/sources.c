/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files describe a program: its own, a separate one, one of dwz for several programs, one from a server. In
 * this process only their tables are read; their descriptors go to the service that reads the rest. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "sym/elf/debug_file.h"
#include "sym/dwarf/private.h"

/* Opens a program, which must be a regular file of a sane size. Returns its descriptor, or -errno. */
static int open_program(const struct dwarf_options *options, const char *path)
{
    struct stat status;
    int descriptor = foreign_open(path);
    if (descriptor < 0)
        return foreign_is_not_regular(descriptor) ? -ENOEXEC : descriptor;
    int error = fstat(descriptor, &status) ? -errno : 0;
    if (!error && options->origin)
        error = elf_origin_check(options->origin, descriptor);
    if (!error && (uint64_t)status.st_size > DWARF_FILE_MAX)
        error = -EFBIG;
    if (error)
        close(descriptor);
    return error ? error : descriptor;
}

static bool has_information(const struct elf_file *file)
{
    struct elf_section section;
    return (elf_file_section_named(file, ".debug_info", &section) ||
            elf_file_section_named(file, ".zdebug_info", &section)) &&
           section.type != SHT_NOBITS;
}

static int keep_descriptor(int descriptor)
{
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size > DWARF_FILE_MAX)
        return -1;
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
}

/* ---- servers ---- */

static bool has_servers(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls && *urls;
}

/* Prepares asking servers, which must not take a minute and a half, as the library's default allows. */
static void prepare_servers(const struct dwarf_options *options, const char *path)
{
    setenv("DEBUGINFOD_TIMEOUT", "20", 0);
    setenv("DEBUGINFOD_MAXTIME", "120", 0);
    if (options->report)
        options->report(options->state,
                        arena_printf(options->arena, "Asking debuginfod for what describes %s", path), false);
}

static void *open_client(void)
{
    return dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
}

enum dwarf_servers dwarf_servers(void)
{
    if (!has_servers())
        return DWARF_SERVERS_NONE;
    return open_client() ? DWARF_SERVERS_ASKED : DWARF_SERVERS_UNREACHABLE;
}

/* Fetches debug information by elfutils' client, which keeps what it fetched. Servers are asked only if the user
 * names some. Returns a descriptor, or -1. */
static int fetch(const uint8_t *build_id, size_t size)
{
    void *library = build_id && has_servers() ? open_client() : NULL;
    if (!library)
        return -1;
    void *(*begin)(void) = (void *(*)(void))dlsym(library, "debuginfod_begin");
    int (*find)(void *, const unsigned char *, int, char **) =
        (int (*)(void *, const unsigned char *, int, char **))dlsym(library, "debuginfod_find_debuginfo");
    void (*end)(void *) = (void (*)(void *))dlsym(library, "debuginfod_end");
    void *client = begin && find && end ? begin() : NULL;
    int found = client ? find(client, build_id, (int)size, NULL) : -1;
    int kept = keep_descriptor(found);
    if (found >= 0)
        close(found);
    if (client)
        end(client);
    return kept; /* the library stays loaded, because it has threads of its own */
}

/* ---- all of them ---- */

static struct elf_file *find_debug(const struct elf_file *program, const char *path)
{
    struct elf_file *debug;
    char real[PATH_MAX];
    pid_t pid = 0;
    const char *seen = path + foreign_root_length(path, &pid);
    if (!pid && realpath(path, real))
        seen = real;
    return debug_file_open(program, seen, pid, NULL, &debug) ? NULL : debug;
}

enum dwarf_place dwarf_find_place(const struct elf_file *program, const char *path, struct text *found)
{
    char link[64], name[PATH_MAX];
    if (has_information(program))
        return DWARF_PLACE_PROGRAM;
    struct elf_file *debug = find_debug(program, path);
    if (!debug)
        return DWARF_PLACE_NONE;
    snprintf(link, sizeof link, "/proc/self/fd/%d", elf_file_descriptor(debug));
    const ssize_t length = readlink(link, name, sizeof name);
    const bool describes = has_information(debug);
    elf_file_close(debug);
    if (length > 0)
        text_append(found, name, (size_t)length);
    return describes ? DWARF_PLACE_FILE : DWARF_PLACE_NONE;
}

static void find_alternative(const struct elf_file *of, struct dwarf_source *out)
{
    struct elf_file *alternative;
    uint8_t build_id[DEBUG_ID_MAX];
    size_t size = 0;
    if (!debug_alternative_open(of, build_id, &size, &alternative)) {
        out->alternative = keep_descriptor(elf_file_descriptor(alternative));
        elf_file_close(alternative);
    } else if (size) {
        out->alternative = fetch(build_id, size);
    }
}

int dwarf_source_find(const struct dwarf_options *options, const char *path, struct dwarf_source *out)
{
    struct elf_file *program, *debug = NULL;
    *out = (struct dwarf_source){.path = path, .program = -1, .debug = -1, .alternative = -1, .index = -1};
    out->program = open_program(options, path);
    if (out->program < 0)
        return out->program;
    int error = elf_file_open_fd(out->program, &program);
    if (error) {
        dwarf_source_close(out);
        return error;
    }
    size_t size;
    const uint8_t *build_id = elf_file_build_id(program, &size);
    if (!has_information(program)) {
        debug = find_debug(program, path);
        if (!debug && build_id && has_servers()) {
            prepare_servers(options, path);
            out->debug = fetch(build_id, size);
            if (out->debug >= 0 && elf_file_open_fd(out->debug, &debug))
                debug = NULL;
        } else if (debug) {
            out->debug = keep_descriptor(elf_file_descriptor(debug));
        }
    }
    find_alternative(debug ? debug : program, out);
    out->place_count = debug_file_in_directories(options->arena, path, out->places, DWARF_PLACES_MAX);
    dwarf_cache_find(out, build_id, size);
    elf_file_close(debug);
    elf_file_close(program);
    return 0;
}

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

void dwarf_source_close(struct dwarf_source *source)
{
    close_one(&source->program);
    close_one(&source->debug);
    close_one(&source->alternative);
    close_one(&source->index);
}
