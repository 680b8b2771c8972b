/* SPDX-License-Identifier: BSD-3-Clause */
#include "builtin/all.h"

static const struct builtin *const families[] = {
    builtins_process,     builtins_task,        builtins_time,   builtins_context,       builtins_text,
    builtins_string,      builtins_name,        builtins_output, builtins_message,       builtins_map,
    builtins_aggregation, builtins_series,      builtins_symbol, builtins_kernel_symbol, builtins_network,
    builtins_path,        builtins_unsafe,      builtins_skb,    builtins_cgroup,        builtins_control,
    builtins_type,        builtins_enumeration, builtins_rows,   builtins_recording,     builtins_command,
};

static const char *const parts[] = {"base", "kfunc", "map", "meta", "process", "strings", "usdt", NULL};

const struct builtin_table builtin_table = {families, sizeof families / sizeof families[0], parts};
