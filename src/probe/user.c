/* SPDX-License-Identifier: BSD-3-Clause */
/* Sites in programs. A program can serve sites of many files; each file is attached on its own, all its sites
 * at once. Where a block asks which site it is at, the site's index + 1 travels as the attachment's cookie
 * (0: nobody asks, so the kernel host is free to take a rung without cookies). */
#include "probe/user.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "bpf/lower.h"
#include "probe/all.h"
#include "probe/call.h"
#include "probe/point.h"
#include "sym/library.h"
#include "sym/proc.h"

/* In headers from Linux 6.6 on. */
enum { ATTACH_UPROBE_MULTI = 48 };

struct walk {
    struct probe_environment *environment;
    const struct probe_kind *kind;
    const struct attach_point *point;
    size_t piece;
    bool is_pattern;
    struct table seen; /* paths */
    user_file_visitor *visit;
    void *state;
};

/* "/proc/12/root/usr/bin/x" is "/usr/bin/x" to its process. */
static const char *shown_path(const char *path)
{
    if (strncmp(path, "/proc/", 6) != 0)
        return path;
    const char *p = path + 6;
    while (*p >= '0' && *p <= '9')
        p++;
    return p > path + 6 && !strncmp(p, "/root/", 6) ? p + 5 : path;
}

static int unreadable(const struct walk *walk, const char *path, int error)
{
    struct diagnostics *diagnostics = walk->environment->diagnostics;
    struct place place = point_place(walk->point, walk->piece);
    switch (error) {
    case -ENOEXEC:
        diagnose_error(diagnostics, place, "'%s' is not a 64-bit ELF file that can be probed", path);
        diagnose_hint(diagnostics, "name the program itself, not a script that starts it");
        break;
    case -EBADMSG:
    case -EFBIG:
        diagnose_error(diagnostics, place, "'%s' is damaged: its ELF tables make no sense", path);
        break;
    default: diagnose_error(diagnostics, place, "cannot read '%s': %s", path, strerror(-error)); break;
    }
    return error;
}

static int walk_file(void *state, const char *path)
{
    struct walk *walk = state;
    struct elf_file *file;
    if (table_find(&walk->seen, path))
        return 0;
    int error = table_put(&walk->seen, path, walk);
    if (error)
        return error;
    error = elf_file_open(path, &file);
    if (!error && elf_file_machine(file) != machine_here()) {
        elf_file_close(file);
        error = -ENOEXEC;
    }
    if (error)
        return walk->is_pattern && error != -ENOMEM ? 0 : unreadable(walk, shown_path(path), error);
    const char *kept = arena_strdup(walk->environment->arena, path);
    error = walk->visit(walk->state, file, kept, shown_path(kept));
    elf_file_close(file);
    return error;
}

static int walk_mapped(void *state, pid_t pid, const char *path)
{
    (void)pid;
    return walk_file(state, path);
}

static int walk_executable(struct walk *walk)
{
    struct text seen = {0}, path = {0};
    pid_t pid = walk->environment->pid;
    int error = pid ? proc_executable(pid, &seen) : -ESRCH;
    if (!pid) {
        diagnose_error(walk->environment->diagnostics, walk->point->place,
                       "%s without a binary needs a process", walk->kind->name);
        diagnose_hint(walk->environment->diagnostics, "name a binary, as in %s, or use -p PID",
                      walk->kind->forms);
    } else if (error) {
        diagnose_error(walk->environment->diagnostics, walk->point->place, "process %d: %s", (int)pid,
                       strerror(-error));
    } else {
        error = proc_path(pid, text_string(&seen), &path);
        error = error ? unreadable(walk, text_string(&seen), error) : walk_file(walk, text_string(&path));
    }
    text_free(&seen);
    text_free(&path);
    return error;
}

static void no_such_file(const struct walk *walk, const char *word)
{
    struct diagnostics *diagnostics = walk->environment->diagnostics;
    diagnose_error(diagnostics, point_place(walk->point, walk->piece),
                   "%s target file '%s' does not exist or is not executable", walk->kind->name, word);
    if (!strchr(word, '/'))
        diagnose_hint(diagnostics, "it was sought in PATH and among the shared libraries; give its path");
    else if (walk->environment->pid)
        diagnose_hint(diagnostics, "paths are those that process %d sees", (int)walk->environment->pid);
}

int user_each_file(struct probe_environment *environment, const struct probe_kind *kind,
                   const struct attach_point *point, size_t n, bool quiet, user_file_visitor *visit,
                   void *state)
{
    const char *word = n ? point_piece(point, n) : NULL;
    struct walk walk = {environment, kind, point, n, n && point_is_pattern(point, n), {0}, visit, state};
    int error;
    if (!word) {
        error = walk_executable(&walk);
    } else if (walk.is_pattern && !strcmp(word, "*")) {
        error = proc_each_file(environment->pid ? environment->pid : -1, walk_mapped, &walk);
    } else {
        error = binary_each(word, environment->pid, walk_file, &walk);
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
    uint32_t *numbers; /* by site: what it answers */
};

/* Sites of one name are one to the block: the first of each name come first, in their order, and
 * site_count says how many there are. Only a probe with several places has them; functions differ. */
static void user_number_sites(struct probe_environment *environment, struct probe_variant *variant,
                              uint32_t *numbers)
{
    struct probe_site *sites = arena_array(environment->arena, variant->count, sizeof *sites);
    struct table names = {0};
    size_t distinct = 0, last = variant->count;
    for (size_t i = 0; i < variant->count; i++) {
        const struct probe_site *site = &variant->sites[i];
        const uint32_t *number = site->function ? NULL : table_find(&names, site->name);
        if (number) {
            sites[--last] = *site;
            numbers[last] = *number;
            continue;
        }
        numbers[distinct] = (uint32_t)distinct;
        sites[distinct] = *site;
        if (!site->function)
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
    context->filters_pid = environment->features.uprobe_multi;
    context->lower_site = user_site;
    if (uses->symbols && variant->kind != &probe_kind_uretprobe) {
        context->program = variant->sites[0].detail;
        context->find_symbol = user_find_symbol;
        context->lower_symbol = user_lower_symbol;
    }
    call_registers(environment, uses, context);
}

struct user_place { /* a site, sorted by file */
    const char *path;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct user_place *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

int user_attach(struct kernel *kernel, const struct probe_environment *environment,
                const struct probe_variant *variant, struct attach_request *request, bool is_return)
{
    const struct user_group *group = variant->detail;
    struct user_place *places = arena_array(environment->arena, variant->count, sizeof *places);
    struct uprobe_site *sites = arena_array(environment->arena, variant->count, sizeof *sites);
    for (size_t i = 0; i < variant->count; i++)
        places[i] = (struct user_place){((const struct user_site *)variant->sites[i].detail)->path, i};
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
        };
    }
    pid_t pid = variant->context.filters_pid ? environment->pid : 0;
    for (size_t i = 0, end; i < variant->count; i = end) {
        for (end = i + 1; end < variant->count && !strcmp(places[end].path, places[i].path); end++)
            ;
        request->name = sites[i].name;
        request->place = variant->sites[places[i].index].place;
        int error =
            kernel_attach_uprobes(kernel, request, places[i].path, sites + i, end - i, is_return, pid);
        if (error)
            return error;
    }
    return 0;
}
