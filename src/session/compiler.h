/* SPDX-License-Identifier: BSD-3-Clause */
/* What compiling a script is about: shared by the files that compile it, and by grow.c, which compiles more of it while
 * the trace runs. */
#ifndef SPOOR_SESSION_COMPILER_H
#define SPOOR_SESSION_COMPILER_H

#include <regex.h>

#include "base/table.h"
#include "bpf/lower/lower.h"
#include "lang/check/check.h"
#include "session/state.h"

struct compiler {
    struct script *script; /* all scripts together */
    struct imports *imports;
    struct definitions *definitions;
    struct enum_maps *enum_maps;
    struct check_unit *checks; /* of session.units, by the same indexes */
    struct checker checker;
    struct type_provider provider;
    struct name_list names; /* of probes, and texts that are stored where names are */
    struct table left_out;  /* names of maps that only blocks without a probe assign to */
    regex_t probe_filter;   /* of options.probe_filter, if there is one */
    bool unwinds;           /* the script wants stacks by call frame information */
    struct text dump;       /* what -d prints */
};

/* ---- compile.c ---- */

void compiler_open(struct session *session);
void compiler_close(struct session *session);
/* Plans units for a block: for one of its attach points, or all (only NULL). */
void compile_plan(struct session *session, struct action_block *block, const struct attach_point *only);
/* Compiles the units from `first` on. 0, or -errno with a diagnostic. */
int compile_more(struct session *session, size_t first);

/* ---- import.c ---- */

void imports_open(struct session *session);
/* Parses the scripts and what they import, and expands macros. Errors are in the diagnostics. */
void imports_parse(struct session *session);
/* A text belongs to the script of this number (see imports_script_of()). path: where it is, resolved and without links; ""
 * for a text that spoor made. */
void imports_add(struct session *session, const struct source *source, unsigned script, const char *path);
/* Which script a text belongs to: 0 is options.source, others are those of options.more. State: the session. */
unsigned imports_script_of(void *state, const struct source *source);

/* ---- definitions.c: C definitions, and names from outside of the script ---- */

/* Reads the C definitions. To be called before the script is parsed. */
void definitions_open(struct session *session);
void definitions_close(struct session *session);
/* For the parser: what the script includes is read into them. */
struct c_definitions *definitions_c(const struct session *session);
/* With -v, reports what was passed over in headers. */
void definitions_report(struct session *session);
/* Sets compiler.provider. */
void definitions_provide(struct session *session);
/* The type that a probe of this context knows by this name (context NULL: a probe in no program); NULL: there is
 * none. */
const struct type *definitions_type(struct session *session, const struct probe_context *context,
                                    const char *name);

/* ---- enum_maps.c ---- */

void enum_maps_open(struct session *session);
/* Fills maps that the script only reads with the names of the enums that fit, by blocks of its own. 0, or -errno with a
 * diagnostic. */
int enum_maps_fill(struct session *session);
/* The enum that these blocks call by this name, which no script can write; NULL: it is not one of their names. */
const struct type *enum_maps_type(const struct session *session, const char *name);

#endif
