/* SPDX-License-Identifier: BSD-3-Clause */
/* A probe kind is one file in this folder and one line in the table of all.c.
 *
 *   expand   an attach point  →  its sites, each with its full name
 *   plan     the sites of a block  →  variants: sites that one program can serve
 *   attach   a loaded program  →  all sites of its variant
 *   list     what there is, for -l
 */
#ifndef SPOOR_PROBE_KIND_H
#define SPOOR_PROBE_KIND_H

#include "base/table.h"
#include "kernel/kernel.h"
#include "lang/ast.h"
#include "lang/context.h"

struct btf_file;
struct kallsyms;
struct symbolizer;
struct table;
struct replay;
struct tracefs;
struct probe_kind;

/* When a probe fires. */
enum probe_time {
    PROBE_EVENT,     /* when the event that it is attached to happens */
    PROBE_AT_BEGIN,  /* the session runs it before everything else */
    PROBE_AT_END,    /* the session runs it after everything else */
    PROBE_ITERATE,   /* attaching prepares a walk, which the session runs once; then the trace is over */
    PROBE_AT_SIGNAL, /* the session runs it whenever SIGUSR1 comes */
    PROBE_TEST,      /* the session runs it with --test only */
    PROBE_BENCH,     /* the session runs it with --bench only */
};

/* What to do about an attach point without any site. */
enum missing_policy { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE };

/* What probe kinds know of the machine, the options and the script. Sources of names are opened when they are first
 * asked for; the session closes them. */
struct probe_environment {
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct features features;
    /* The only process that is traced: that of a single -p, or the child of -c. Attaching may restrict itself to it.
     * 0: there is no such process. */
    pid_t pid;
    /* The processes of -p, or of the group of --cgroup. Names of files are looked up as these processes see them, and
     * `*` or an empty name stands for the files that they have mapped. Without any, names are looked up as spoor
     * sees them. */
    const pid_t *processes;
    size_t process_count;
    struct table *known;   /* files in which sites of an attach point were looked for already; or NULL */
    bool has_filter;       /* programs look up whether a process is traced */
    struct replay *replay; /* the recordings that the script runs over; else NULL */
    bool is_live_replay;   /* the script has probes of recordings and of the kernel */
    bool is_unsafe;        /* --unsafe */
    bool asks_kernel;      /* false with --check, where the kernel is not asked for anything */
    size_t unchecked;      /* attach points about which this user cannot know anything, with --check */
    enum missing_policy missing;
    enum probe_time runs;      /* PROBE_TEST with --test, PROBE_BENCH with --bench; else 0 */
    struct btf_file *btf;      /* use probe_btf() */
    struct tracefs *tracefs;   /* use probe_tracefs() */
    struct kallsyms *kallsyms; /* use probe_kallsyms() */
    bool btf_failed, tracefs_failed, kallsyms_failed;
    int tracefs_error;            /* why probe_tracefs() returned NULL: -errno */
    struct probe_module *modules; /* use probe_module_btf() */
    size_t module_count, module_room;
    bool modules_read;
    struct probe_program *programs; /* program.h */
    struct table origins;           /* origins of user.h, by what they are */
    size_t program_count, program_room;
    /* Called with a line about what takes long or has gone wrong; or NULL. */
    void (*report)(void *state, const char *line, bool is_problem);
    void *report_state;
};
struct btf_file *probe_btf(struct probe_environment *environment);      /* NULL: the kernel has none */
struct tracefs *probe_tracefs(struct probe_environment *environment);   /* NULL: not reachable */
struct kallsyms *probe_kallsyms(struct probe_environment *environment); /* NULL: not readable */
/* The BTF of the n-th module that has BTF, and its name; NULL if there are not so many. */
struct btf_file *probe_module_btf(struct probe_environment *environment, size_t n, const char **name);
/* program.c. A type, or an enumerator and its value, from the debug information of the probed programs: first of the
 * one that `context` belongs to, last of the libraries that they are linked with. NULL if none has it. `context` may
 * be NULL. */
const struct type *probe_program_type(struct probe_environment *environment,
                                      const struct probe_context *context, const char *name);
const struct type *probe_program_enumerator(struct probe_environment *environment,
                                            const struct probe_context *context, const char *name,
                                            int64_t *value);
/* Calls `visit` for the enums of the context's program whose names match a pattern (base/glob.h); see
 * dwarf_file_each_enum(). */
int probe_program_each_enum(struct probe_environment *environment, const struct probe_context *context,
                            const char *pattern, int (*visit)(void *state, const char *name), void *state);
void probe_environment_close(struct probe_environment *environment);

struct probe_site {
    const char *name;     /* "uprobe:/bin/x:main": what the builtin `probe` prints */
    const char *function; /* what the builtin `func` prints; NULL if there is no function */
    struct span span;     /* span of the attach point in the script */
    bool is_found;        /* it was found by a pattern, and not named by the script */
    const void *detail;   /* what the probe kind keeps about it */
};
struct probe_sites {
    struct probe_site *items;
    size_t count, room;
};

/* Sites that one compiled program serves. The first context.site_count of them have different names; each further one
 * has the name of one of these, as a USDT probe has that is in several places. context.site_function is set when every
 * site has a function, so that `func` has a meaning. */
struct probe_variant {
    const struct probe_kind *kind;
    struct probe_site *sites;
    size_t count;
    struct probe_context context; /* site_count <= count */
    void *detail;                 /* what the probe kind keeps about it */
};
struct probe_variants {
    struct probe_variant *items;
    size_t count, room;
};

/* Called for each probe of a listing. `name` is such as "uprobe:/bin/x:main"; `details`, for -lv, are lines such as
 * "    int dfd\n", or NULL. Both live until the call returns. A value that is not 0 ends the listing. */
typedef int probe_visitor(void *state, const char *name, const char *details);

struct probe_kind {
    const char *name;
    const char *const *aliases; /* NULL-terminated, or NULL. Names compare without case. */
    const char *forms;          /* "uprobe:BINARY:FUNCTION[+OFFSET]": shown in messages and in help */
    const char *what;           /* one line for help */
    const char *const *needs;   /* names of features that such a probe needs, NULL-terminated; or NULL */
    enum probe_time time;
    bool is_alone;    /* it must be the only probe of a script */
    bool is_in_files; /* sites are in programs and libraries, so that more may appear while a process runs */
    bool replays;     /* it works on the user-space host, without a kernel and over recordings */
    bool reads_recordings; /* it works over recordings only */
    bool shares_names;     /* a probe has several sites: those of one name are counted as one */
    bool newest_first; /* the kernel runs the newest attachment first, so the session attaches in reverse */
    /* Adds the sites that the attach point stands for, with wildcards expanded. Returns 0, or -errno with a
     * diagnostic. If there are none: -ENOENT with a diagnostic that names the nearest probe, and no other error; the
     * caller decides what follows. */
    int (*expand)(const struct probe_kind *kind, struct probe_environment *environment,
                  const struct attach_point *point, struct probe_sites *sites);
    /* Divides the sites into variants, so that all sites of one have the same context, as far as the block uses it. */
    int (*plan)(const struct probe_kind *kind, struct probe_environment *environment,
                const struct context_uses *uses, const struct probe_sites *sites,
                struct probe_variants *variants);
    /* Attaches a program to the sites of its variant. NULL for kinds that the session runs itself. */
    int (*attach)(struct probe_environment *environment, struct kernel *kernel,
                  const struct probe_variant *variant, struct attach_request *request);
    /* Visits every probe that matches the pattern, sorted by name. Parts of the pattern may be missing or have
     * wildcards. `verbose`: with details. */
    int (*list)(const struct probe_kind *kind, struct probe_environment *environment,
                const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state);
};

/* All probe kinds, sorted by name, NULL-terminated. */
extern const struct probe_kind *const probe_kinds[];

/* Returns the kind of probes, "software" or "hardware", that has a counter of this name; *count: of how many events it
 * fires at one when nothing else is said. NULL: there is none. */
const char *counter_kind(const char *name, uint32_t *count);

/* Finds a kind by its name or alias, ignoring case. `kinds` is NULL-terminated. NULL if there is none. */
const struct probe_kind *probe_kind_find(const struct probe_kind *const *kinds, const char *name);

/* Adds the sites of one attach point to sites[i] for kinds[i] (a parallel array, zeroed before the first
 * attach point). The kind's name may have wildcards: then every kind with a match. 0 or -errno with a
 * diagnostic. */
int probe_expand(struct probe_environment *environment, const struct probe_kind *const *kinds,
                 const struct attach_point *point, struct probe_sites *sites);

/* Visits every probe that matches the pattern, sorted by kind and name. A pattern of NULL means all probes of the
 * kernel, one of a single part means *:PART. The name of the kind may have wildcards. */
int probe_list(struct probe_environment *environment, const struct probe_kind *const *kinds,
               const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state);

/* ---- helpers for probe kinds ---- */

/* Adds a site, for the attach point that it was found by. */
struct probe_site *probe_site_add(struct probe_environment *environment, struct probe_sites *sites,
                                  const struct attach_point *point, const char *name, const char *function,
                                  const void *detail);
/* Adds a variant with all of the given sites. Its context is zero, but for `kind` and `site_count`. */
struct probe_variant *probe_variant_add(struct probe_environment *environment,
                                        struct probe_variants *variants, const struct probe_kind *kind,
                                        const struct probe_site *sites, size_t count);
/* Completes the context of a program that nothing attaches: a process of spoor has the kernel run it, and it is no event of
 * the traced process. `args_missing`: why it has no arguments. */
void probe_runs_in_spoor(struct probe_variant *variant, const char *args_missing);

/* A `plan` for kinds whose programs cannot find out at which site they run: one variant, or one for each site if the
 * block asks for the site (uses->site). `fill` completes each context. */
typedef void probe_fill(struct probe_environment *environment, const struct context_uses *uses,
                        struct probe_variant *variant);
int probe_plan_simple(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct context_uses *uses, const struct probe_sites *sites,
                      struct probe_variants *variants, probe_fill *fill);
/* A `plan` for kinds whose sites differ in what the block reads: one variant for each different text that `key` writes.
 * With `separate` each site is a variant of its own, since its program cannot find out at which site it runs. */
typedef void probe_key(struct probe_environment *environment, const struct context_uses *uses,
                       const struct probe_site *site, struct text *key);
int probe_plan_grouped(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct context_uses *uses, const struct probe_sites *sites,
                       struct probe_variants *variants, bool separate, probe_key *key, probe_fill *fill);

#endif
