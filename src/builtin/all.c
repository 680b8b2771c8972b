/* SPDX-License-Identifier: BSD-3-Clause */
#include "builtin/all.h"

static const struct builtin *const families[] = {
    builtins_process, builtins_time,        builtins_context, builtins_text,    builtins_output,
    builtins_map,     builtins_aggregation, builtins_symbol,  builtins_control,
};

const struct builtin_table builtin_table = {families, sizeof families / sizeof families[0]};
