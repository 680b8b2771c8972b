/* SPDX-License-Identifier: BSD-3-Clause */
/* See needed.h. */
#include "sym/process/needed.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/open_foreign.h"
#include "sym/elf/elf.h"
#include "sym/process/library.h"
#include "sym/process/proc.h"
#include "sym/tables.h"

enum { LIBRARIES_MAX = 256, DIRECTORIES_MAX = 64 };

#if defined(__x86_64__)
#define PLATFORM "x86_64"
#else
#define PLATFORM "aarch64"
#endif

struct dynamic {
    Elf64_Dyn *entries;
    char *names; /* ends with a NUL */
    size_t bytes, room;
};

static bool dynamic_read(const struct elf_file *file, struct dynamic *dynamic)
{
    struct elf_section entries, names;
    void *bytes = NULL, *text = NULL;
    bool is_read = elf_file_section_named(file, ".dynamic", &entries) &&
                   elf_file_section_named(file, ".dynstr", &names) &&
                   !elf_file_section_read(file, &entries, &bytes, &dynamic->bytes) &&
                   !elf_file_section_read(file, &names, &text, &dynamic->room);
    dynamic->entries = bytes;
    dynamic->names = text;
    return is_read;
}

static const char *dynamic_name(const struct dynamic *dynamic, size_t index, Elf64_Sxword tag)
{
    const Elf64_Dyn *entry = &dynamic->entries[index];
    return entry->d_tag == tag && entry->d_un.d_val < dynamic->room ? dynamic->names + entry->d_un.d_val
                                                                    : NULL;
}

static size_t dynamic_count(const struct dynamic *dynamic)
{
    return dynamic->bytes / sizeof *dynamic->entries;
}

/* Returns the name of the last entry with a tag, which counts for the loader, too; NULL: there is none. */
static const char *dynamic_only(const struct dynamic *dynamic, Elf64_Sxword tag)
{
    const char *found = NULL;
    for (size_t i = 0; i < dynamic_count(dynamic); i++) {
        const char *name = dynamic_name(dynamic, i, tag);
        found = name ? name : found;
    }
    return found;
}

/* Sends the directories to search, then the libraries to load. */
static void put_dynamic(const struct dynamic *dynamic, struct text *out)
{
    const char *search = dynamic_only(dynamic, DT_RUNPATH);
    unsigned libraries = 0;
    wire_put_text(out, search ? search : dynamic_only(dynamic, DT_RPATH));
    for (size_t i = 0; i < dynamic_count(dynamic) && libraries < LIBRARIES_MAX; i++) {
        const char *name = dynamic_name(dynamic, i, DT_NEEDED);
        libraries += name != NULL;
        if (name)
            wire_put_text(out, name);
    }
}

int needed_put(struct elf_file *file, struct text *answer)
{
    struct dynamic dynamic = {0};
    bool is_read = dynamic_read(file, &dynamic);
    if (is_read)
        put_dynamic(&dynamic, answer);
    free(dynamic.entries);
    free(dynamic.names);
    return is_read ? 0 : -ENOENT;
}

static int dynamic_ask(const char *path, struct apart_answer *out)
{
    struct elf_file *file;
    int error = elf_file_open(path, &file);
    *out = (struct apart_answer){.bytes = NULL};
    if (error)
        return error;
    error = tables_ask_elf(TABLES_DYNAMIC, file, out);
    elf_file_close(file);
    return error;
}

/* ---- where the loader looks ---- */

struct needed {
    pid_t pid;          /* the process whose root is meant; 0: this one */
    const char *origin; /* the program's directory, as the process sees it; without a '/' at its end */
    const char *search; /* DT_RUNPATH or DT_RPATH, or NULL */
    needed_visitor *visit;
    void *context;
};

/* Appends one directory of the list, with $ORIGIN, ${ORIGIN} and the like replaced. */
static void expand(const struct needed *needed, const char *directory, size_t length, struct text *out)
{
    const struct {
        const char *word, *value;
    } known[] = {{"ORIGIN", needed->origin}, {"LIB", "lib/" PLATFORM "-linux-gnu"}, {"PLATFORM", PLATFORM}};
    for (size_t i = 0; i < length;) {
        size_t taken = 0;
        for (size_t k = 0; directory[i] == '$' && !taken && k < sizeof known / sizeof *known; k++) {
            char braced[16];
            size_t plain = strlen(known[k].word);
            snprintf(braced, sizeof braced, "{%s}", known[k].word);
            if (length - i > plain + 2 && !strncmp(directory + i + 1, braced, plain + 2))
                taken = plain + 3;
            else if (length - i > plain && !strncmp(directory + i + 1, known[k].word, plain))
                taken = plain + 1;
            if (taken)
                text_add(out, known[k].value);
        }
        if (!taken)
            text_append(out, directory + i, taken = 1);
        i += taken;
    }
}

/* Whether there is an ELF file at a path of the process; `out` is then the path to open it. */
static bool is_there(const struct needed *needed, const char *seen, struct text *out)
{
    struct elf_file *file;
    text_clear(out);
    if (proc_path(needed->pid, seen, out) || elf_file_open(text_string(out), &file))
        return false;
    elf_file_close(file);
    return true;
}

static bool find_in_search(const struct needed *needed, const char *name, struct text *out)
{
    struct text seen = {0};
    bool is_found = false;
    const char *at = needed->search;
    for (unsigned n = 0; at && *at && !is_found && n < DIRECTORIES_MAX; n++) {
        size_t length = strcspn(at, ":");
        text_clear(&seen);
        expand(needed, at, length, &seen);
        text_printf(&seen, "/%s", name);
        /* A directory that is not absolute would depend on the working directory. */
        is_found = *text_string(&seen) == '/' && is_there(needed, text_string(&seen), out);
        at += length + (at[length] == ':');
    }
    text_free(&seen);
    return is_found;
}

static int offer(const struct needed *needed, const char *name)
{
    struct text path = {0}, seen = {0};
    bool is_found = *name == '/' ? is_there(needed, name, &path)
                                 : !strchr(name, '/') && (find_in_search(needed, name, &path) ||
                                                          (!library_find(needed->pid, name, &seen) &&
                                                           is_there(needed, text_string(&seen), &path)));
    int result = path.failed || seen.failed ? -ENOMEM
                 : is_found                 ? needed->visit(needed->context, text_string(&path))
                                            : 0;
    text_free(&path);
    text_free(&seen);
    return result;
}

int needed_each(const char *path, needed_visitor *visit, void *context)
{
    char origin[PATH_MAX];
    struct needed needed = {.origin = origin, .visit = visit, .context = context};
    struct apart_answer answer;
    int result = 0;
    const char *seen = path + foreign_root_length(path, &needed.pid);
    if (!needed.pid && realpath(path, origin))
        seen = origin;
    const char *slash = strrchr(seen, '/');
    size_t length = slash && slash - seen < PATH_MAX ? (size_t)(slash - seen) : 0;
    memmove(origin, seen, length);
    origin[length] = '\0';
    if (!dynamic_ask(path, &answer)) {
        needed.search = wire_take_text(&answer.in);
        for (unsigned i = 0; answer.in.at < answer.in.end && i < LIBRARIES_MAX && !result; i++) {
            const char *name = wire_take_text(&answer.in);
            result = name ? offer(&needed, name) : 0;
        }
    }
    apart_answer_free(&answer);
    return result;
}
