/* SPDX-License-Identifier: BSD-3-Clause */
/* What every probe kind needs: the environment's readers, opened on demand, and the ways to make sites and
 * group them into variants. Knows no kind by name. */
#include "probe/kind.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/table.h"
#include "probe/point.h"
#include "probe/program.h"
#include "sym/kernel/btf.h"
#include "sym/kernel/kallsyms.h"
#include "sym/kernel/tracefs.h"

struct probe_module {
    const char *name;
    struct btf_file *btf; /* NULL: not opened yet, or not readable */
    bool tried;
};

struct btf_file *probe_btf(struct probe_environment *environment)
{
    if (!environment->btf && !environment->btf_failed && environment->features.btf &&
        btf_file_open(NULL, NULL, environment->arena, &environment->btf)) {
        environment->btf = NULL;
        environment->btf_failed = true;
    }
    return environment->btf;
}

struct tracefs *probe_tracefs(struct probe_environment *environment)
{
    if (!environment->tracefs && !environment->tracefs_failed) {
        environment->tracefs_error = tracefs_open(&environment->tracefs);
        if (environment->tracefs_error) {
            environment->tracefs = NULL;
            environment->tracefs_failed = true;
        }
    }
    return environment->tracefs;
}

struct kallsyms *probe_kallsyms(struct probe_environment *environment)
{
    if (!environment->kallsyms && !environment->kallsyms_failed &&
        kallsyms_open(NULL, &environment->kallsyms)) {
        environment->kallsyms = NULL;
        environment->kallsyms_failed = true;
    }
    return environment->kallsyms;
}

static const char modules_directory[] = "/sys/kernel/btf";

static void modules_read(struct probe_environment *environment)
{
    environment->modules_read = true;
    DIR *directory = opendir(modules_directory);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") != 0)
            arena_push(environment->arena, environment->modules, environment->module_count,
                       environment->module_room)
                ->name = arena_strdup(environment->arena, entry->d_name);
    closedir(directory);
}

struct btf_file *probe_module_btf(struct probe_environment *environment, size_t n, const char **name)
{
    struct btf_file *kernel = probe_btf(environment);
    if (!kernel)
        return NULL;
    if (!environment->modules_read)
        modules_read(environment);
    /* A module whose BTF cannot be read is passed over, and those behind it move up. */
    for (size_t i = 0, readable = 0; i < environment->module_count; i++) {
        struct probe_module *module = &environment->modules[i];
        if (!module->tried) {
            module->tried = true;
            const char *path = arena_printf(environment->arena, "%s/%s", modules_directory, module->name);
            if (btf_file_open(path, kernel, environment->arena, &module->btf))
                module->btf = NULL;
        }
        if (!module->btf || readable++ != n)
            continue;
        *name = module->name;
        return module->btf;
    }
    return NULL;
}

void probe_environment_close(struct probe_environment *environment)
{
    for (size_t i = 0; i < environment->module_count; i++)
        if (environment->modules[i].btf)
            btf_file_close(environment->modules[i].btf);
    probe_programs_close(environment);
    if (environment->btf)
        btf_file_close(environment->btf);
    if (environment->tracefs)
        tracefs_close(environment->tracefs);
    if (environment->kallsyms)
        kallsyms_close(environment->kallsyms);
    environment->module_count = 0;
    environment->btf = NULL;
    environment->tracefs = NULL;
    environment->kallsyms = NULL;
}

struct probe_site *probe_site_add(struct probe_environment *environment, struct probe_sites *sites,
                                  const struct attach_point *point, const char *name, const char *function,
                                  const void *detail)
{
    struct probe_site *site = arena_push(environment->arena, sites->items, sites->count, sites->room);
    *site = (struct probe_site){.name = name, .function = function, .span = point->span, .detail = detail};
    for (size_t i = 0; i < point->piece_count; i++)
        site->is_found |= point_is_pattern(point, i);
    return site;
}

struct probe_variant *probe_variant_add(struct probe_environment *environment,
                                        struct probe_variants *variants, const struct probe_kind *kind,
                                        const struct probe_site *sites, size_t count)
{
    struct probe_site *copy = arena_array(environment->arena, count ? count : 1, sizeof *copy);
    if (count)
        memcpy(copy, sites, count * sizeof *copy);
    struct probe_variant *variant =
        arena_push(environment->arena, variants->items, variants->count, variants->room);
    *variant = (struct probe_variant){.kind = kind, .sites = copy, .count = count};
    variant->context.kind = kind->name;
    variant->context.site_count = (uint32_t)count;
    variant->context.site_function = count ? copy[0].function : NULL;
    for (size_t i = 0; i < count; i++)
        if (!copy[i].function)
            variant->context.site_function = NULL;
    return variant;
}

void probe_runs_in_spoor(struct probe_variant *variant, const char *args_missing)
{
    variant->context.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    variant->context.space = SPACE_KERNEL;
    variant->context.runs_in_spoor = variant->context.ignores_pid_filter = true;
    variant->context.args_missing = args_missing;
}

int probe_plan_simple(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct context_uses *uses, const struct probe_sites *sites,
                      struct probe_variants *variants, probe_fill *fill)
{
    size_t step = uses->site ? 1 : sites->count;
    for (size_t i = 0; i < sites->count; i += step)
        fill(environment, uses, probe_variant_add(environment, variants, kind, sites->items + i, step));
    return 0;
}

struct group { /* indices of the sites that share a key */
    size_t *items;
    size_t count, room;
};

int probe_plan_grouped(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct context_uses *uses, const struct probe_sites *sites,
                       struct probe_variants *variants, bool separate, probe_key *key, probe_fill *fill)
{
    struct table table = {0};
    struct text text = {0};
    struct group **groups = arena_array(environment->arena, sites->count + 1, sizeof *groups);
    size_t count = 0;
    int error = 0;
    for (size_t i = 0; i < sites->count; i++) {
        text_clear(&text);
        if (separate)
            text_printf(&text, "%zu", i);
        else
            key(environment, uses, &sites->items[i], &text);
        struct group *group = table_get(&table, text_string(&text), text.length);
        if (!group) {
            groups[count++] = group = arena_new(environment->arena, struct group);
            if (text.failed || (error = table_set(&table, text_string(&text), text.length, group))) {
                error = -ENOMEM;
                break;
            }
        }
        *arena_push(environment->arena, group->items, group->count, group->room) = i;
    }
    table_free(&table);
    text_free(&text);
    for (size_t i = 0; i < count && !error; i++) {
        struct probe_site *members = arena_array(environment->arena, groups[i]->count, sizeof *members);
        for (size_t j = 0; j < groups[i]->count; j++)
            members[j] = sites->items[groups[i]->items[j]];
        fill(environment, uses, probe_variant_add(environment, variants, kind, members, groups[i]->count));
    }
    return error;
}
