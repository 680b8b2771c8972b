/* SPDX-License-Identifier: BSD-3-Clause */
/* A probe kind: one file in this folder, one line in the table of all.c.
 *
 *   parse+expand   attach point  →  sites (each a place that can fire, with its full name)
 *   plan           sites of one attach point list  →  variants (sites that one program can serve)
 *   attach         a loaded program to all sites of its variant at once
 *   list           what there is, for -l
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

/* PROBE_ITERATE: attaching prepares a walk, which the session runs once, and then the trace is over.
 * PROBE_AT_SIGNAL: the session runs it whenever SIGUSR1 comes. PROBE_TEST and PROBE_BENCH: only when asked
 * to. */
enum probe_time {
    PROBE_EVENT,
    PROBE_AT_BEGIN,
    PROBE_AT_END,
    PROBE_ITERATE,
    PROBE_AT_SIGNAL,
    PROBE_TEST,
    PROBE_BENCH
};

/* What becomes of an attach point that means nothing which exists. */
enum missing_policy { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE };

/* What probe kinds need of the world; opened when first asked for, closed by the session. */
struct probe_environment {
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct features features;
    pid_t pid; /* the one process that attaching may restrict itself to: of -p alone, or the child of -c; 0:
                  none */
    /* Traced processes (-p, or in the group of --cgroup): files are named as they see them, and what they
     * have mapped can be meant by * or by nothing. None: as we see them. */
    const pid_t *processes;
    size_t process_count;
    struct table
        *known;      /* files where a kind has looked for an attach point: each is looked at once; or NULL */
    bool has_filter; /* several processes, those they start, or a control group: programs filter */
    struct replay *replay; /* the recordings, when a script runs over them; else NULL */
    bool is_live_replay;   /* and has probes of the kernel besides */
    bool is_unsafe;
    bool asks_kernel; /* false: --check, which must not */
    enum missing_policy missing;
    enum probe_time runs;      /* PROBE_TEST, PROBE_BENCH: what --test and --bench run; else 0 */
    struct btf_file *btf;      /* use probe_btf() */
    struct tracefs *tracefs;   /* use probe_tracefs() */
    struct kallsyms *kallsyms; /* use probe_kallsyms() */
    bool btf_failed, tracefs_failed, kallsyms_failed;
    int tracefs_error;            /* why probe_tracefs() said no: -errno */
    struct probe_module *modules; /* use probe_module_btf() */
    size_t module_count, module_room;
    bool modules_read;
    struct probe_program *programs; /* program.h */
    struct table origins;           /* of user.h, by what they are */
    size_t program_count, program_room;
    void (*report)(void *state, const char *line, bool is_problem); /* what takes long; or NULL */
    void *report_state;
};
struct btf_file *probe_btf(struct probe_environment *environment);      /* NULL: the kernel has none */
struct tracefs *probe_tracefs(struct probe_environment *environment);   /* NULL: not reachable */
struct kallsyms *probe_kallsyms(struct probe_environment *environment); /* NULL: not readable */
/* The BTF of the n-th module that has one, and its name; NULL: there are no more. */
struct btf_file *probe_module_btf(struct probe_environment *environment, size_t n, const char **name);
/* program.c. Names of the programs that the script probes: first of the one that the context is in, last of
 * the libraries that they are linked with. NULL: none has it. context may be NULL. */
const struct type *probe_program_type(struct probe_environment *environment,
                                      const struct probe_context *context, const char *name);
const struct type *probe_program_enumerator(struct probe_environment *environment,
                                            const struct probe_context *context, const char *name,
                                            int64_t *value);
/* Names of enums that match a pattern (sym/glob.h), in the program that the context is in. As dwarf_file_each_enum. */
int probe_program_each_enum(struct probe_environment *environment, const struct probe_context *context,
                            const char *pattern, int (*visit)(void *state, const char *name), void *state);
void probe_environment_close(struct probe_environment *environment);

struct probe_site {
    const char *name;     /* "uprobe:/bin/x:main": what the builtin `probe` prints */
    const char *function; /* what `func` prints; NULL: none */
    struct span span;     /* of the attach point */
    bool is_found;        /* by a pattern: nobody named it */
    const void *detail;   /* of the kind */
};
struct probe_sites {
    struct probe_site *items;
    size_t count, room;
};

/* Sites that one compiled program serves. The first context.site_count of them have the names and functions
 * that the block can tell apart; those behind them share a name with one before (a USDT probe of several
 * places). context.site_function is set when every site has a function, so that `func` means something. */
struct probe_variant {
    const struct probe_kind *kind;
    struct probe_site *sites;
    size_t count;
    struct probe_context context; /* site_count <= count */
    void *detail;                 /* of the kind */
};
struct probe_variants {
    struct probe_variant *items;
    size_t count, room;
};

/* name: "uprobe:/bin/x:main". details: for -lv, lines that end in a newline ("    int dfd\n"); NULL: none.
 * Both live until the call returns. */
typedef int probe_visitor(void *state, const char *name, const char *details);

struct probe_kind {
    const char *name;
    const char *const *aliases; /* NULL-terminated, or NULL. Names compare without case. */
    const char *forms;          /* "uprobe:BINARY:FUNCTION[+OFFSET]": for messages and help */
    const char *what;           /* one line for help */
    const char *const *needs;   /* features without which there is no such probe, NULL-terminated; or NULL */
    enum probe_time time;
    bool is_alone;         /* must be the only probe of a script */
    bool is_in_files;      /* sites are in programs and libraries: more of them come while a process runs */
    bool replays;          /* works without a kernel: over recordings, and on the user-space host */
    bool reads_recordings; /* works over recordings only */
    bool newest_first;     /* the kernel runs the newest attachment first: the session attaches in reverse */
    /* The sites that the attach point means, wildcards expanded. 0 or -errno with a diagnostic. -ENOENT, with
     * the nearest name, and nothing else when what is meant does not exist: what then happens is the caller's
     * choice. */
    int (*expand)(const struct probe_kind *kind, struct probe_environment *environment,
                  const struct attach_point *point, struct probe_sites *sites);
    /* Groups the sites so that each group's context is alike as far as the block uses it. */
    int (*plan)(const struct probe_kind *kind, struct probe_environment *environment,
                const struct context_uses *uses, const struct probe_sites *sites,
                struct probe_variants *variants);
    /* NULL for begin, end and self: the session runs those. */
    int (*attach)(struct probe_environment *environment, struct kernel *kernel,
                  const struct probe_variant *variant, struct attach_request *request);
    /* Every name that matches the pattern (pieces may be wildcards or missing). Sorted. verbose: with
     * details. */
    int (*list)(const struct probe_kind *kind, struct probe_environment *environment,
                const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state);
};

/* Every kind, sorted by name, NULL-terminated. */
extern const struct probe_kind *const probe_kinds[];

/* Name or alias without case; kinds is NULL-terminated. */
const struct probe_kind *probe_kind_find(const struct probe_kind *const *kinds, const char *name);

/* Adds the sites of one attach point to sites[i] for kinds[i] (a parallel array, zeroed before the first
 * attach point). The kind's name may have wildcards: then every kind with a match. 0 or -errno with a
 * diagnostic. */
int probe_expand(struct probe_environment *environment, const struct probe_kind *const *kinds,
                 const struct attach_point *point, struct probe_sites *sites);

/* Every probe that matches, sorted by kind, then name. pattern NULL: all that the kernel has. The kind's name
 * may have wildcards; a pattern of one piece means *:pattern. */
int probe_list(struct probe_environment *environment, const struct probe_kind *const *kinds,
               const struct attach_point *pattern, bool verbose, probe_visitor *visit, void *state);

/* ---- shared by kinds ---- */
struct probe_site *probe_site_add(struct probe_environment *environment, struct probe_sites *sites,
                                  const struct attach_point *point, const char *name, const char *function,
                                  const void *detail);
/* One variant with all sites, context zeroed but for kind and site_count. */
struct probe_variant *probe_variant_add(struct probe_environment *environment,
                                        struct probe_variants *variants, const struct probe_kind *kind,
                                        const struct probe_site *sites, size_t count);
/* plan for kinds that cannot tell sites apart while the program runs: one variant, or, when the block asks
 * which site it is at (uses->site), one per site. fill completes each context. */
typedef void probe_fill(struct probe_environment *environment, const struct context_uses *uses,
                        struct probe_variant *variant);
int probe_plan_simple(const struct probe_kind *kind, struct probe_environment *environment,
                      const struct context_uses *uses, const struct probe_sites *sites,
                      struct probe_variants *variants, probe_fill *fill);
/* plan for kinds whose sites differ in what the block reads: one variant for each text that key gives.
 * separate: sites cannot be told apart at run time, so each is a variant of its own. */
typedef void probe_key(struct probe_environment *environment, const struct context_uses *uses,
                       const struct probe_site *site, struct text *key);
int probe_plan_grouped(const struct probe_kind *kind, struct probe_environment *environment,
                       const struct context_uses *uses, const struct probe_sites *sites,
                       struct probe_variants *variants, bool separate, probe_key *key, probe_fill *fill);

#endif
