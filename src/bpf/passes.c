/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the passes. Each leaves a valid program; ir_clean between them. */
#include "bpf/passes.h"

void ir_optimise(struct ir_program *program)
{
    for (struct ir_function *function = program->functions; function; function = function->next) {
        ir_clean(function);
    }
}
