/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the scripts with what they import. The texts of import "file" and import "directory" become part of the script at
 * that point, so that what they define is known from there on; only their probes come after those of the script. A name is
 * relative to the text that imports it, and each file is read once. Imported texts cannot have settings. C headers are
 * included. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/open_foreign.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/whole.h"
#include "lang/c/definitions.h"
#include "session/compiler.h"

enum { LARGEST_FILE = 2 << 20, FILES_MAX = 1000 };

struct importing {
    struct importer importer; /* the first member: the parser knows only this */
    struct session *session;
    unsigned script;
    const char **done; /* real paths */
    size_t done_count, done_room;
    struct action_block *blocks, **last; /* blocks of imported files: the list, and its last link */
};

/* A text that a script imported. */
struct imported_text {
    const struct source *source;
    unsigned script;
    const char *path;
};

struct imports {
    struct imported_text *items;
    size_t count, room;
};

void imports_open(struct session *session)
{
    session->compiler->imports = arena_new(&session->arena, struct imports);
}

void imports_add(struct session *session, const struct source *source, unsigned script, const char *path)
{
    struct imports *imports = session->compiler->imports;
    *arena_push(&session->arena, imports->items, imports->count, imports->room) =
        (struct imported_text){source, script, path};
}

/* Returns the path of the imported file, whose name is relative to the file that imports it. */
static const char *relative_path(struct session *session, const struct import *import)
{
    const char *from = import->span.source->name, *slash = strrchr(from, '/');
    if (import->path[0] == '/' || !slash)
        return import->path;
    return arena_printf(&session->arena, "%.*s/%s", (int)(slash - from), from, import->path);
}

/* Reads a file to the source's text; of one that is too large more than may be parsed, which is an error there. */
static int read_file(struct session *session, int descriptor, struct source *source)
{
    struct text text = {0};
    int error = whole_read_text(descriptor, LARGEST_FILE, &text);
    if (error && error != -EFBIG) {
        text_free(&text);
        return error;
    }
    source->length = text.length;
    source->text = text_keep(&text, &session->arena);
    return 0;
}

static void cannot(struct session *session, const struct import *import, const char *path, int error)
{
    diagnose_error(&session->diagnostics, import->span, "cannot import '%s': %s", path, strerror(error));
}

/* Whether the path names a part of bpftrace's standard library, "stdlib/NAME" or "stdlib/NAME.bt". What it defines there
 * are builtins here. */
static bool is_built_in(const struct session *session, const char *path)
{
    static const char folder[] = "stdlib/";
    if (strncmp(path, folder, sizeof folder - 1) != 0)
        return !strcmp(path, "stdlib");
    path += sizeof folder - 1;
    const size_t length = strcspn(path, "/.");
    const char *rest = path + length;
    for (const char *const *part = session->options.builtins->parts; part && *part; part++)
        if (strlen(*part) == length && !memcmp(*part, path, length))
            return !*rest || !strcmp(rest, ".bt");
    return false;
}

/* Opens a file that only root or the caller can have put there. Returns a descriptor, or -1 with a diagnostic, which is left
 * out where the file may be missing. */
static int find(struct session *session, const struct import *import, const char *path)
{
    struct text why = {0};
    const int file = trusted_find(path, &why);
    if (file == -ENOENT && is_built_in(session, import->path))
        return -1;
    if (file < 0 && why.length) {
        diagnose_error(&session->diagnostics, import->span, "cannot import '%s': %s", path,
                       text_string(&why));
        diagnose_hint(&session->diagnostics,
                      "what it says is done with your privileges: it, its directory and those above must be "
                      "yours or root's, and nobody else may write there");
    } else if (file < 0) {
        cannot(session, import, path, -file);
    }
    text_free(&why);
    return file < 0 ? -1 : file;
}

/* Returns the resolved path, which identifies a file; or the path itself if it cannot be resolved: opening it will report
 * why. */
static const char *real_path(struct session *session, const char *path)
{
    char real[PATH_MAX];
    return arena_strdup(&session->arena, realpath(path, real) ? real : path);
}

static bool is_new(struct importing *importing, const char *path)
{
    const char *real = real_path(importing->session, path);
    for (size_t i = 0; i < importing->done_count; i++)
        if (!strcmp(importing->done[i], real))
            return false;
    *arena_push(&importing->session->arena, importing->done, importing->done_count, importing->done_room) =
        real;
    return true;
}

/* The blocks of the file, and of what it imports, go into a list of their own. */
static void parse_file(struct importing *importing, struct script *script, const struct source *source)
{
    struct session *session = importing->session;
    const struct setting *last = script->settings;
    while (last && last->next)
        last = last->next;
    struct action_block *own = script->blocks;
    script->blocks = NULL;
    script_parse_more(&session->arena, &session->diagnostics, script, source, &session->options.parameters);
    *importing->last = script->blocks;
    while (*importing->last)
        importing->last = &(*importing->last)->next;
    script->blocks = own;
    const struct setting *setting = last ? last->next : script->settings;
    if (setting)
        diagnose_error(&session->diagnostics, setting->span, "An imported file cannot have a config block");
}

static void import_file(struct importing *importing, struct script *script, const struct import *import,
                        const char *path, int file)
{
    struct session *session = importing->session;
    bool is_header = glob_match("*.h", path);
    if (!is_header && !glob_match("*.bt", path)) {
        diagnose_error(&session->diagnostics, import->span, "cannot import '%s': only .bt and .h files are",
                       path);
        diagnose_hint(&session->diagnostics, "there is no compiler of C here; write fn or macro instead");
        return;
    }
    if (!is_new(importing, path))
        return;
    if (importing->done_count > FILES_MAX) {
        diagnose_error(&session->diagnostics, import->span, "More than %d files are imported", FILES_MAX);
        return;
    }
    if (is_header) {
        c_include(definitions_c(session), path, import->span);
        return;
    }
    int descriptor = foreign_check(file, 0, NULL);
    if (!descriptor)
        descriptor = foreign_reopen(file, O_RDONLY);
    if (descriptor < 0) {
        cannot(session, import, path, -descriptor);
        return;
    }
    struct source *source = arena_new(&session->arena, struct source);
    source->name = path;
    imports_add(session, source, importing->script, real_path(session, path));
    int error = read_file(session, descriptor, source);
    close(descriptor);
    if (error) {
        cannot(session, import, path, -error);
        return;
    }
    parse_file(importing, script, source);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void import_directory(struct importing *importing, struct script *script, const struct import *import,
                             const char *path, int file)
{
    struct session *session = importing->session;
    const char **names = NULL;
    size_t count = 0, room = 0;
    const int list = foreign_reopen(file, O_RDONLY | O_DIRECTORY);
    DIR *directory = list < 0 ? NULL : fdopendir(list);
    if (!directory) {
        cannot(session, import, path, list < 0 ? -list : errno);
        if (list >= 0)
            close(list);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (glob_match("*.bt", entry->d_name) || glob_match("*.h", entry->d_name))
            *arena_push(&session->arena, names, count, room) = arena_strdup(&session->arena, entry->d_name);
    closedir(directory);
    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        const char *name = arena_printf(&session->arena, "%s/%s", path, names[i]);
        const int found = find(session, import, name);
        if (found < 0)
            continue;
        import_file(importing, script, import, name, found);
        close(found);
    }
}

static void import_path(const struct importer *importer, struct script *script, const struct import *import)
{
    struct importing *importing = (struct importing *)importer;
    struct session *session = importing->session;
    const char *path = relative_path(session, import);
    struct stat status;
    const int file = find(session, import, path);
    if (file < 0)
        return;
    if (fstat(file, &status)) {
        cannot(session, import, path, errno);
    } else if (!S_ISDIR(status.st_mode)) {
        import_file(importing, script, import, path, file);
    } else if (status.st_mode & S_IWOTH) {
        diagnose_error(&session->diagnostics, import->span,
                       "cannot import '%s': everybody may write to that directory", path);
        diagnose_hint(&session->diagnostics, "what is in it runs with your privileges: chmod o-w '%s'", path);
    } else {
        import_directory(importing, script, import, path, file);
    }
    close(file);
}

static struct script *parse_one(struct session *session, const struct source *source, unsigned number)
{
    struct importing importing = {.importer = {import_path}, .session = session, .script = number};
    importing.last = &importing.blocks;
    is_new(&importing, source->name); /* the script itself is there already */
    struct script *script =
        script_parse_importing(&session->arena, &session->diagnostics, source, &session->options.parameters,
                               definitions_c(session), &importing.importer);
    script->importer = NULL;
    struct action_block **last = &script->blocks;
    while (*last)
        last = &(*last)->next;
    *last = importing.blocks;
    if (!session->diagnostics.errors && script->imports)
        script_has_probes(&session->diagnostics, script);
    if (!session->diagnostics.errors)
        script_expand(&session->arena, &session->diagnostics, script, session->options.builtins);
    return script;
}

unsigned imports_script_of(void *state, const struct source *source)
{
    const struct session *session = state;
    for (size_t i = 0; i < session->options.more_count; i++)
        if (source == &session->options.more[i])
            return (unsigned)i + 1;
    for (size_t i = 0; i < session->compiler->imports->count; i++)
        if (source == session->compiler->imports->items[i].source)
            return session->compiler->imports->items[i].script;
    return 0;
}

/* Appends one list to another. */
#define JOIN(list, more)                                                                                     \
    do {                                                                                                     \
        __typeof__(list) *last = &(list);                                                                    \
        while (*last)                                                                                        \
            last = &(*last)->next;                                                                           \
        *last = (more);                                                                                      \
    } while (0)

/* Whether an earlier script has imported the text, too (--together). */
static bool is_again(const struct session *session, const struct source *source)
{
    for (size_t i = 0; i < session->compiler->imports->count; i++) {
        const struct imported_text *text = &session->compiler->imports->items[i];
        for (size_t k = 0; text->source == source && k < i; k++)
            if (session->compiler->imports->items[k].script < text->script &&
                !strcmp(session->compiler->imports->items[k].path, text->path))
                return true;
    }
    return false;
}

#define LEAVE_OUT_AGAIN(session, list)                                                                       \
    do {                                                                                                     \
        __typeof__(list) *at = &(list);                                                                      \
        while (*at)                                                                                          \
            if (is_again(session, (*at)->span.source))                                                       \
                *at = (*at)->next;                                                                           \
            else                                                                                             \
                at = &(*at)->next;                                                                           \
    } while (0)

/* Joins a script with the earlier ones, as --together wants it: names mean the same in all, so a function may be defined
 * only once, and what several import is kept once. */
static void share_names(struct session *session, struct script *more)
{
    LEAVE_OUT_AGAIN(session, more->blocks);
    LEAVE_OUT_AGAIN(session, more->subprograms);
    LEAVE_OUT_AGAIN(session, more->declarations);
    for (const struct subprogram *own = more->subprograms; own; own = own->next)
        for (const struct subprogram *known = session->compiler->script->subprograms; known;
             known = known->next)
            if (!strcmp(known->name, own->name))
                diagnose_error(&session->diagnostics, own->span, "Redefinition of function: %s", own->name);
}

/* Several scripts become one list of blocks when their macros have been expanded. From then on the source text of a name
 * tells which script the map or the function belongs to. */
void imports_parse(struct session *session)
{
    struct script *all = session->compiler->script = parse_one(session, session->options.source, 0);
    for (size_t i = 0; i < session->options.more_count; i++) {
        struct script *more = parse_one(session, &session->options.more[i], (unsigned)i + 1);
        if (session->options.shares_names)
            share_names(session, more);
        JOIN(all->blocks, more->blocks);
        JOIN(all->settings, more->settings);
        JOIN(all->subprograms, more->subprograms);
        JOIN(all->declarations, more->declarations);
        all->block_count += more->block_count;
    }
    for (struct action_block *block = all->blocks; block && session->options.shares_names;
         block = block->next)
        block->subprograms = all->subprograms;
}
