/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports what the kernel would refuse in a program that is otherwise right, before it is loaded. */
#include <errno.h>

#include "bpf/limits.h"

enum { MAPS_MAX = 64 }; /* how many maps a program can use; rings are maps, too */

static struct span span_of(const struct image_program *program, uint32_t instruction)
{
    struct span span = {0};
    for (uint32_t i = 0; i < program->line_count; i++)
        if (!span.source || program->lines[i].instruction <= instruction)
            span = program->lines[i].span;
    return span;
}

/* Returns where a program names one map more than it can use; NULL: it does not. */
static const struct image_relocation *map_too_many(const struct image_program *program)
{
    uint64_t known[MAPS_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < program->relocation_count; i++) {
        const struct image_relocation *relocation = &program->relocations[i];
        if (relocation->kind == RELOCATION_FUNCTION)
            continue;
        bool is_ring = relocation->kind == RELOCATION_RING;
        uint32_t ring = is_ring ? (uint32_t)program->instructions[relocation->instruction + 1].imm : 0;
        uint64_t map = (uint64_t)ring << 32 | relocation->map;
        size_t at = 0;
        while (at < count && known[at] != map)
            at++;
        if (at == MAPS_MAX)
            return relocation;
        if (at == count)
            known[count++] = map;
    }
    return NULL;
}

int limits_check(struct diagnostics *diagnostics, const struct image_program *program)
{
    const struct image_relocation *map = map_too_many(program);
    if (!map)
        return 0;
    diagnose_error(diagnostics, span_of(program, map->instruction),
                   "This block uses more maps than the kernel lets a program use: %d with those of the "
                   "tracer itself",
                   MAPS_MAX);
    diagnose_hint(diagnostics, "Use one map with a key for several: @total[\"reads\"]. Or split the block.");
    return -EINVAL;
}
