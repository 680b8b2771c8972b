/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: config = { key = value } of the script, and SPOOR_KEY or BPFTRACE_KEY of the environment, which
 * wins over the script. One table has all keys. */
#ifndef SPOOR_SESSION_SETTINGS_H
#define SPOOR_SESSION_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diagnostic.h"
#include "type/type.h"

struct features;
struct script;

enum unstable_policy { UNSTABLE_ENABLE, UNSTABLE_WARN, UNSTABLE_ERROR };

struct settings {
    uint32_t max_strlen, max_map_keys, max_cat_bytes;
    uint32_t max_probes; /* counted while they are looked for */
    uint32_t max_bpf_progs;
    uint64_t max_memory; /* bytes; 0: as much as the command allows */
    uint32_t max_cpu;    /* percent of a CPU, with spoor serve; 0: as much as that allows */
    uint32_t log_size;
    uint32_t ring_pages; /* 0: the default */
    uint32_t on_stack_limit;
    uint32_t missing_probes;                                          /* enum missing_policy */
    uint32_t stack_mode;                                              /* enum stack_mode */
    uint32_t unstable_tseries, unstable_typeinfo, unstable_dw_ustack; /* enum unstable_policy */
    uint32_t histogram;   /* layout in text; 0: bpftrace's, 1: BCC's */
    uint32_t json_enums;  /* values of enums in JSON; 0: numbers, 1: names */
    uint32_t map_order;   /* of printed maps; 0: by value, 1: by key */
    uint32_t json_stacks; /* stacks in JSON; 0: arrays of frames, 1: one text */
    bool print_maps_on_exit, cpp_demangle, show_debug_info;
    const char *license, *str_trunc_trailer;
    const char *metric_prefix, *labels; /* of metrics (--openmetrics); "": chosen for the script */
    const char *metrics;                /* the maps that are metrics; "": chosen for the script */
    uint64_t given;                     /* by the environment: a bit per line of the table */
};

/* Sets the defaults, and then what the environment says. Returns false after an error. */
bool settings_from_environment(struct settings *settings, struct diagnostics *diagnostics);
/* Takes what the script says, except for keys that the environment has set. */
void settings_from_script(struct settings *settings, const struct script *script,
                          struct diagnostics *diagnostics);
void settings_defaults(struct settings *settings);
/* Makes strings shorter where the kernel takes short keys only, unless max_strlen was set. */
void settings_shorten_keys(struct settings *settings, const struct features *features);
/* Replaces config.max_strlen and the like in the script by their values. */
void settings_read(struct diagnostics *diagnostics, const struct settings *settings, struct script *script);
/* Warns of uses of what `unstable_… = warn` names, and reports those of `unstable_… = error` as errors. */
void settings_check_unstable(struct diagnostics *diagnostics, const struct settings *settings,
                             struct script *script);

#endif
