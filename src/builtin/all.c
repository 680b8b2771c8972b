/* SPDX-License-Identifier: BSD-3-Clause */
#include "builtin/all.h"

#define BUILTIN_FAMILY(name) builtins_##name,
static const struct builtin *const families[] = {BUILTIN_FAMILIES(BUILTIN_FAMILY)};

static const char *const parts[] = {"base", "kfunc", "map", "meta", "process", "strings", "usdt", NULL};

const struct builtin_table builtin_table = {families, sizeof families / sizeof families[0], parts,
                                            builtin_synonyms};
