/* SPDX-License-Identifier: BSD-3-Clause */
/* Sites in programs. A program can serve sites of many files; each file is attached on its own, all its sites at
 * once. Where a block needs to know at which site it is, the site's index + 1 is the attachment's cookie (0: no
 * block needs it, so that the kernel host need not use cookies). */
#include "probe/user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/open_foreign.h"
#include "base/table.h"
#include "bpf/lower/lower.h"
#include "probe/all.h"
#include "probe/call.h"
#include "probe/point.h"
#include "probe/program.h"
#include "sym/elf/archive.h"
#include "sym/process/library.h"
#include "sym/process/proc.h"

/* In headers from Linux 6.6 on. */
enum { ATTACH_UPROBE_MULTI = 48 };

struct walk {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t piece;
    bool is_pattern;
    struct table seen; /* files by identity, and paths that are no files, that were visited */
    user_file_visitor *visit;
    void *state;
};

static int unreadable(const struct walk *walk, const char *path, int error)
{
    struct diagnostics *diagnostics = walk->environment->diagnostics;
    struct span span = point_span(walk->point, walk->piece);
    switch (error) {
    case -ENOEXEC:
        diagnose_error(diagnostics, span, "'%s' is not a 64-bit ELF file that can be probed", path);
        diagnose_hint(diagnostics, "name the program itself, not a script that starts it");
        break;
    case -EBADMSG:
    case -EFBIG:
        diagnose_error(diagnostics, span, "'%s' is damaged: its ELF tables make no sense", path);
        break;
    default: diagnose_error(diagnostics, span, "cannot read '%s': %s", path, strerror(-error)); break;
    }
    return error;
}

const struct elf_origin *user_origin(struct probe_environment *environment, const struct elf_file *file)
{
    struct elf_origin found, *origin;
    if (!elf_file_origin(file, &found))
        return NULL;
    if (!(origin = table_get(&environment->origins, &found, sizeof found))) {
        origin = arena_new(environment->arena, struct elf_origin);
        *origin = found;
        /* If there is no memory for the entry, the file is described once more by the next site. */
        table_set(&environment->origins, &found, sizeof found, origin);
    }
    return origin;
}

static int walk_file(void *state, const char *path, const char *seen)
{
    struct walk *walk = state;
    struct elf_file *file;
    struct proc_identity identity;
    bool is_known = !proc_identify(path, &identity);
    const void *key = is_known ? (const void *)&identity : path;
    size_t length = is_known ? sizeof identity : strlen(path);
    if (table_get(&walk->seen, key, length))
        return 0;
    int error = table_set(&walk->seen, key, length, walk);
    if (!error && is_known && walk->environment->known) {
        const struct {
            const struct probe_kind *kind;
            const char *point;
            struct proc_identity identity;
        } look = {walk->kind, walk->point->text, identity};
        if (table_get(walk->environment->known, &look, sizeof look))
            return 0;
        error = table_set(walk->environment->known, &look, sizeof look, walk->environment);
    }
    if (error)
        return error;
    error = elf_file_open(path, &file);
    if (!error && elf_file_machine(file) != machine_here()) {
        elf_file_close(file);
        error = -ENOEXEC;
    }
    if (error)
        return walk->is_pattern && error != -ENOMEM ? 0 : unreadable(walk, seen, error);
    struct arena *arena = walk->environment->arena;
    error = walk->visit(walk->state, file, arena_strdup(arena, path), arena_strdup(arena, seen));
    elf_file_close(file);
    return error;
}

/* "archive!/member": its bytes are a file in the file. */
static int walk_member(struct walk *walk, const char *word, const char *mark)
{
    struct arena *arena = walk->environment->arena;
    struct diagnostics *diagnostics = walk->environment->diagnostics;
    const char *path = arena_copy(arena, word, (size_t)(mark - word)), *member = mark + 2;
    struct elf_file *file;
    uint64_t offset, size;
    int fd = foreign_open(path);
    if (fd < 0)
        return unreadable(walk, path, foreign_is_not_regular(fd) ? -ENOEXEC : fd);
    int error = archive_member(fd, member, &offset, &size);
    if (error == -ENOTSUP) {
        diagnose_error(diagnostics, point_span(walk->point, walk->piece),
                       "'%s' is compressed in '%s': there is no code in it that could run", member, path);
        diagnose_hint(diagnostics, "only members that are stored as they are can be probed");
    } else if (error) {
        diagnose_error(diagnostics, point_span(walk->point, walk->piece),
                       error == -ENOENT    ? "'%s' has no member '%s'"
                       : error == -ENOEXEC ? "'%s' is no ZIP archive with a member '%s'"
                                           : "'%s' is damaged: '%s' cannot be found in it",
                       path, member);
    } else if ((error = elf_file_open_part(fd, offset, size, &file))) {
        unreadable(walk, word, error);
    } else {
        error = elf_file_machine(file) == machine_here()
                    ? walk->visit(walk->state, file, path, arena_strdup(arena, word))
                    : unreadable(walk, word, -ENOEXEC);
        elf_file_close(file);
    }
    close(fd);
    return error;
}

static int walk_mapped(void *state, pid_t pid, const char *path, const char *seen)
{
    (void)pid;
    return walk_file(state, path, seen);
}

static int walk_executable(struct walk *walk, pid_t pid)
{
    struct text seen = {0}, path = {0};
    int error = pid ? proc_executable(pid, &seen) : -ESRCH;
    if (!pid) {
        diagnose_error(walk->environment->diagnostics, walk->point->span,
                       "%s without a binary needs a process", walk->kind->name);
        diagnose_hint(walk->environment->diagnostics, "name a binary, as in %s, or use -p PID",
                      walk->kind->forms);
    } else if (error) {
        diagnose_error(walk->environment->diagnostics, walk->point->span, "process %d: %s", (int)pid,
                       strerror(-error));
    } else {
        error = proc_program(pid, &path);
        error = error ? unreadable(walk, text_string(&seen), error)
                      : walk_file(walk, text_string(&path), text_string(&seen));
    }
    text_free(&seen);
    text_free(&path);
    return error;
}

static void no_such_file(const struct walk *walk, const char *word)
{
    const struct probe_environment *environment = walk->environment;
    struct diagnostics *diagnostics = environment->diagnostics;
    diagnose_error(diagnostics, point_span(walk->point, walk->piece),
                   "%s target file '%s' does not exist or is not executable", walk->kind->name, word);
    if (!strchr(word, '/'))
        diagnose_hint(diagnostics, "it was sought in PATH and among the shared libraries; give its path");
    else if (environment->process_count)
        diagnose_hint(diagnostics, "paths are those that process %d%s sees", (int)environment->processes[0],
                      environment->process_count > 1 ? " or another one of those traced" : "");
}

/* Visits the files that the word means as one process sees them; 0: as spoor does. */
static int walk_word(struct walk *walk, const char *word, pid_t pid)
{
    if (!word)
        return walk_executable(walk, pid);
    if (walk->is_pattern && !strcmp(word, "*"))
        return proc_each_file(pid ? pid : -1, walk_mapped, walk);
    return binary_each(word, pid, walk_file, walk);
}

int user_each_file(struct probe_environment *environment, const struct probe_kind *kind,
                   const struct attach_point *point, size_t n, bool quiet, user_file_visitor *visit,
                   void *state)
{
    const char *word = n ? point_piece(point, n) : NULL;
    struct walk walk = {environment, kind, point, n, n && point_is_pattern(point, n), {0}, visit, state};
    const char *mark = word ? strstr(word, "!/") : NULL;
    size_t count = environment->process_count;
    int error = 0;
    if (mark && access(word, F_OK)) {
        error = walk_member(&walk, word, mark);
    } else {
        /* A file that one process does not have another one may have. */
        bool any = false;
        for (size_t i = 0; i < (count ? count : 1) && (!error || error == -ENOENT || error == -ESRCH); i++) {
            error = walk_word(&walk, word, count ? environment->processes[i] : 0);
            any |= !error;
        }
        if (any && (error == -ENOENT || error == -ESRCH))
            error = 0;
        if (error == -ENOENT && !walk.seen.count && !quiet)
            no_such_file(&walk, word);
    }
    table_free(&walk.seen);
    return error;
}

static bool cookies_work(const struct probe_environment *environment)
{
    return environment->features.attach_cookie &&
           (environment->features.uprobe_multi || environment->features.perf_link);
}

bool user_sites_apart(const struct probe_environment *environment, const struct context_uses *uses)
{
    return uses->site && !cookies_work(environment);
}

static struct ir *user_site(struct lowering *l, const struct probe_context *context)
{
    (void)context;
    struct ir *cookie = ir_call(&l->b, BPF_FUNC_get_attach_cookie, 1, lower_ctx(l));
    return ir_binary_constant(&l->b, IR_SUB, cookie, 1);
}

/* What a variant keeps for attaching. */
struct user_group {
    bool asks;         /* the block asks which site it is at */
    uint32_t *numbers; /* for each site: the number that the program finds it by */
};

/* Sites of one name are one to the block: the first of each name come first, in their order, and
 * site_count says how many there are. Probes of several places have them, functions that were inlined, and
 * what is named twice. */
static void user_number_sites(struct probe_environment *environment, struct probe_variant *variant,
                              uint32_t *numbers)
{
    struct probe_site *sites = arena_array(environment->arena, variant->count, sizeof *sites);
    struct table names = {0};
    size_t distinct = 0, last = variant->count;
    for (size_t i = 0; i < variant->count; i++) {
        const struct probe_site *site = &variant->sites[i];
        const uint32_t *number = table_find(&names, site->name);
        if (number) {
            sites[--last] = *site;
            numbers[last] = *number;
            continue;
        }
        numbers[distinct] = (uint32_t)distinct;
        sites[distinct] = *site;
        table_put(&names, site->name, &numbers[distinct]); /* without memory they stay apart */
        distinct++;
    }
    table_free(&names);
    variant->sites = sites;
    variant->context.site_count = (uint32_t)distinct;
}

void user_context(struct probe_environment *environment, const struct context_uses *uses,
                  struct probe_variant *variant)
{
    struct probe_context *context = &variant->context;
    struct user_group *group = arena_new(environment->arena, struct user_group);
    group->asks = uses->site;
    group->numbers = arena_array(environment->arena, variant->count, sizeof *group->numbers);
    user_number_sites(environment, variant, group->numbers);
    variant->detail = group;
    context->program_type = BPF_PROG_TYPE_KPROBE;
    context->expected_attach_type = environment->features.uprobe_multi ? ATTACH_UPROBE_MULTI : 0;
    context->space = SPACE_USER;
    context->is_preemptible = true;
    context->may_sleep = true;
    /* A multi link filters whole processes; a perf event follows one thread, so there the attachment is
     * system-wide and the program filters. */
    context->filters_pid = environment->features.uprobe_multi && !environment->has_filter;
    context->is_of_command = true;
    context->lower_site = user_site;
    const struct user_site *first = variant->sites[0].detail;
    context->program_path = first->path;
    context->program_address = first->address;
    for (size_t i = 0; i < variant->count; i++)
        if (!i || strcmp(((const struct user_site *)variant->sites[i].detail)->path, first->path) != 0) {
            const struct user_site *site = variant->sites[i].detail;
            probe_program_add(environment, site->path, site->origin);
        }
    struct user_site *named = arena_new(environment->arena, struct user_site);
    *named = *first;
    named->environment = environment;
    if (uses->symbols && variant->kind != &probe_kind_uretprobe) {
        context->program = named;
        context->find_symbol = user_find_symbol;
        context->symbol_type = user_symbol_type;
        context->lower_symbol = user_lower_symbol;
    }
    call_registers(environment, uses, context);
}

struct user_place { /* a site, sorted by file */
    const char *path;
    const struct elf_origin *origin;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct user_place *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    if (!order && x->origin != y->origin) /* what had the name when one was read, and another one */
        order = (uintptr_t)x->origin < (uintptr_t)y->origin ? -1 : 1;
    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static int compare_offsets(const void *a, const void *b)
{
    uint64_t x = ((const struct uprobe_site *)a)->offset, y = ((const struct uprobe_site *)b)->offset;
    return x < y ? -1 : x > y;
}

/* The sites of one file, which are sorted here. One attachment has a place only once: what is named twice is
 * attached again, as often as it is named. */
static int attach_file(struct kernel *kernel, struct arena *arena, struct attach_request *request,
                       const char *path, struct uprobe_site *sites, size_t count, bool is_return, pid_t pid)
{
    struct uprobe_site *once = arena_array(arena, count, sizeof *once);
    qsort(sites, count, sizeof *sites, compare_offsets);
    int error = 0;
    while (count && !error) {
        size_t taken = 0, left = 0;
        for (size_t i = 0; i < count; i++) {
            if (taken && once[taken - 1].offset == sites[i].offset)
                sites[left++] = sites[i];
            else
                once[taken++] = sites[i];
        }
        error = kernel_attach_uprobes(kernel, request, path, once, taken, is_return, pid);
        count = left;
    }
    return error;
}

int user_attach(struct kernel *kernel, const struct probe_environment *environment,
                const struct probe_variant *variant, struct attach_request *request, bool is_return)
{
    const struct user_group *group = variant->detail;
    struct user_place *places = arena_array(environment->arena, variant->count, sizeof *places);
    struct uprobe_site *sites = arena_array(environment->arena, variant->count, sizeof *sites);
    for (size_t i = 0; i < variant->count; i++) {
        const struct user_site *at = variant->sites[i].detail;
        places[i] = (struct user_place){at->path, at->origin, i};
    }
    qsort(places, variant->count, sizeof *places, compare_places);
    bool asks = group->asks && variant->context.site_count > 1;
    for (size_t i = 0; i < variant->count; i++) {
        const struct probe_site *site = &variant->sites[places[i].index];
        const struct user_site *at = site->detail;
        sites[i] = (struct uprobe_site){
            .offset = at->offset,
            .semaphore = at->semaphore,
            .cookie = asks ? (uint64_t)group->numbers[places[i].index] + 1 : 0,
            .name = site->name,
            .is_found = site->is_found,
        };
    }
    pid_t pid = variant->context.filters_pid ? environment->pid : 0;
    for (size_t i = 0, end; i < variant->count; i = end) {
        for (end = i + 1; end < variant->count && !strcmp(places[end].path, places[i].path) &&
                          places[end].origin == places[i].origin;
             end++)
            ;
        request->name = sites[i].name;
        request->origin = places[i].origin;
        request->span = variant->sites[places[i].index].span;
        int error = attach_file(kernel, environment->arena, request, places[i].path, sites + i, end - i,
                                is_return, pid);
        if (error)
            return error;
    }
    return 0;
}
