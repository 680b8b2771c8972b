/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the passes. Each leaves a valid program, which ir_clean() then tidies. Rounds end when nothing
 * changes any more, or after a few, so that time stays nearly linear. */
#include "bpf/opt/passes.h"

enum { ROUNDS = 5 };

static const struct {
    const char *name;
    bool (*run)(struct ir_function *function);
} passes[] = {
    {"simplify", pass_simplify}, /* constants, copies, identities */
    {"common", pass_common},     /* common values, loads, look-ups; conditions known from above */
    {"range", pass_range},       /* masks, extensions and comparisons that ranges decide */
    {"stores", pass_stores},     /* bytes that are written again before they are read */
    {"dead", pass_dead},         /* values and stores that are never read */
    {"blocks", pass_blocks},     /* merging, threading */
};

void ir_optimise(struct ir_program *program)
{
    for (struct ir_function *function = program->functions; function; function = function->next) {
        ir_clean(function);
        bool changed = true;
        for (unsigned round = 0; changed && round < ROUNDS; round++) {
            changed = false;
            for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
                changed |= passes[i].run(function);
                changed |= ir_clean(function);
            }
        }
        for (unsigned round = 0; round < ROUNDS && pass_tails(function); round++) {
            ir_clean(function);
            if (pass_dead(function)) /* values that the removed blocks used */
                ir_clean(function);
            if (pass_blocks(function))
                ir_clean(function);
        }
    }
}
