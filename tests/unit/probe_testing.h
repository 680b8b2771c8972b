/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of src/probe: an environment where the host can do everything, and functions that expand and
 * plan attach points from their text. */
#ifndef SPOOR_TESTS_PROBE_TESTING_H
#define SPOOR_TESTS_PROBE_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lang/parse/parse.h"
#include "probe/kind.h"
#include "probe/perf_event.h"
#include "probe/tracepoint.h"
#include "probe/user.h"
#include "sym/kernel/kallsyms.h"
#include "sym/kernel/tracefs.h"

static const char *const postgres = "/usr/lib/postgresql/15/bin/postgres";
static const char *const bash = "/bin/bash";

enum { KINDS = 32 };

struct fixture {
    struct arena arena;
    jmp_buf out_of_memory;
    struct diagnostics diagnostics;
    struct probe_environment environment;
    struct probe_sites sites[KINDS];
    struct probe_variants variants;
    struct source source;
};

static inline void setup(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    if (arena_guard(&f->arena, f->out_of_memory))
        fail_msg("out of memory");
    f->diagnostics.arena = &f->arena;
    f->environment.arena = &f->arena;
    f->environment.diagnostics = &f->diagnostics;
    features_assume(&f->environment.features);
    f->environment.features.cpus = f->environment.features.rings = 2;
}

static inline void teardown(struct fixture *f)
{
    probe_environment_close(&f->environment);
    arena_free(&f->arena);
}

static inline const struct attach_point *point(struct fixture *f, const char *text)
{
    struct source *source = arena_new(&f->arena, struct source);
    *source = (struct source){.name = "stdin", .text = text, .length = strlen(text)};
    const struct attach_point *parsed = attach_point_parse(&f->arena, &f->diagnostics, source, NULL);
    assert_non_null(parsed);
    return parsed;
}

/* Expands an attach point's text and gathers the sites of all kinds that it found in one list. */
static inline int expand(struct fixture *f, const char *text, struct probe_sites *out,
                         const struct probe_kind **kind)
{
    memset(f->sites, 0, sizeof f->sites);
    int error = probe_expand(&f->environment, probe_kinds, point(f, text), f->sites);
    *out = (struct probe_sites){0};
    for (size_t i = 0; probe_kinds[i]; i++)
        for (size_t j = 0; j < f->sites[i].count; j++) {
            *arena_push(&f->arena, out->items, out->count, out->room) = f->sites[i].items[j];
            if (kind)
                *kind = probe_kinds[i];
        }
    return error;
}

static inline size_t count_sites(struct fixture *f, const char *text)
{
    struct probe_sites sites;
    return expand(f, text, &sites, NULL) ? 0 : sites.count;
}

/* Expands an attach point's text and plans its variants into f->variants, which is emptied first. */
static inline size_t plan(struct fixture *f, const char *text, const struct context_uses *uses)
{
    struct probe_sites sites;
    const struct probe_kind *kind = NULL;
    f->variants = (struct probe_variants){0};
    assert_int_equal(expand(f, text, &sites, &kind), 0);
    assert_int_equal(kind->plan(kind, &f->environment, uses, &sites, &f->variants), 0);
    size_t planned = 0;
    for (size_t i = 0; i < f->variants.count; i++) {
        const struct probe_variant *variant = &f->variants.items[i];
        assert_true(variant->context.site_count >= 1 && variant->context.site_count <= variant->count);
        assert_ptr_equal(variant->kind, kind);
        assert_true(variant->context.program_type != 0);
        planned += variant->count;
    }
    assert_true(planned <= sites.count);
    return f->variants.count;
}

/* Returns the message of the first error, which must exist; "" if its hint does not contain `hint`. */
static inline const char *error_of(struct fixture *f, const char *text, const char *hint)
{
    struct probe_sites sites;
    f->diagnostics.count = f->diagnostics.errors = 0;
    assert_int_not_equal(expand(f, text, &sites, NULL), 0);
    assert_int_equal(f->diagnostics.errors, 1);
    assert_non_null(f->diagnostics.items[0].span.source);
    if (hint) {
        assert_non_null(f->diagnostics.items[0].hint);
        if (!strstr(f->diagnostics.items[0].hint, hint))
            fail_msg("hint '%s' lacks '%s'", f->diagnostics.items[0].hint, hint);
    }
    return f->diagnostics.items[0].message;
}

static inline bool lacks(const char *path)
{
    if (!access(path, R_OK))
        return false;
    print_message("SKIP: no %s\n", path);
    return true;
}

static inline bool lacks_tracefs(struct fixture *f)
{
    if (probe_tracefs(&f->environment))
        return false;
    print_message("SKIP: tracefs is not readable\n");
    return true;
}

#endif
