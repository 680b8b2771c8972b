/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe/uprobe_place.h"

#include <errno.h>
#include <stdlib.h>

#include "sym/dwarf/cfi.h"
#include "sym/instruction.h"

/* Finds where decoding can begin if no symbol says it: call frame information has places between instructions, one in
 * each function at least. */
static int begin_without_symbol(const struct uprobe_place *place, uint64_t *begin)
{
    struct cfi_rows rows;
    int error = place->offset > UINT32_MAX ? -EFBIG : cfi_read(place->file, &rows);
    if (error)
        return error;
    const struct cfi_row *row = cfi_find(&rows, (uint32_t)place->offset);
    if (row && (row->rule & ((1u << CFI_KIND_BITS) - 1)) != CFI_UNKNOWN)
        *begin = row->place;
    else
        error = -ENOENT;
    cfi_free(&rows);
    return error;
}

/* Finds the instruction of a place. Sets *bounds, as offsets in the file. */
static int find_instruction(const struct uprobe_place *place, struct instruction_bounds *bounds)
{
    const enum machine machine = elf_file_machine(place->file);
    const uint64_t file_size = elf_file_size(place->file), left = file_size - place->offset;
    uint64_t begin = place->function ? place->function->offset : 0, size = 0;
    int error = !place->function && machine == MACHINE_X86_64 ? begin_without_symbol(place, &begin) : 0;
    if (error || place->offset < begin || place->offset >= file_size)
        return error == -ENOMEM ? error : -ENOENT;
    if (machine == MACHINE_X86_64) /* elsewhere the code is not looked at */
        size = place->offset - begin + (left < INSTRUCTION_BYTES_MAX ? left : INSTRUCTION_BYTES_MAX);
    if (size > INSTRUCTION_CODE_MAX)
        return -EFBIG;
    uint8_t *code = malloc(size + 1);
    error = code ? elf_file_read(place->file, begin, code, size) : -ENOMEM;
    if (!error)
        error = instruction_around(machine, code, size, place->offset - begin, bounds);
    free(code);
    if (!error)
        *bounds = (struct instruction_bounds){begin + bounds->below, begin + bounds->above};
    return error;
}

/* "function+4", or an address. */
static const char *spell(struct arena *arena, const struct uprobe_place *place, uint64_t offset)
{
    uint64_t address = 0;
    if (place->function)
        return arena_printf(arena, "%s+%llu", place->function->name,
                            (unsigned long long)(offset - place->function->offset));
    elf_file_address(place->file, offset, &address);
    return arena_printf(arena, "0x%llx", (unsigned long long)address);
}

static const char *describe_bounds(struct arena *arena, const struct uprobe_place *place,
                                   const struct instruction_bounds *bounds)
{
    const char *below = spell(arena, place, bounds->below);
    bool is_last = place->function && place->function->size &&
                   bounds->above - place->function->offset >= place->function->size;
    return is_last ? arena_printf(arena, "it begins at %s", below)
                   : arena_printf(arena, "it begins at %s, the next one at %s", below,
                                  spell(arena, place, bounds->above));
}

static const char *why_untold(struct arena *arena, const struct uprobe_place *place, int error)
{
    switch (error) {
    case -ENOTSUP: return "that takes a disassembler, and there is no libcapstone";
    case -ENOENT: return "neither a symbol nor call frame information says where its function begins";
    case -EILSEQ:
        return place->function ? arena_printf(arena, "the code of %s up to there cannot be decoded",
                                              place->function->name)
                               : "the code up to there cannot be decoded";
    case -EFBIG: return "its function begins too far away";
    default: return "its code cannot be read";
    }
}

int uprobe_place_check(struct probe_environment *environment, const struct uprobe_place *place)
{
    struct diagnostics *diagnostics = environment->diagnostics;
    struct arena *arena = environment->arena;
    struct instruction_bounds bounds;
    if (place->function && place->offset == place->function->offset)
        return 0;
    int error = find_instruction(place, &bounds);
    if (error == -ENOMEM || (error && environment->is_unsafe) || (!error && bounds.below == place->offset))
        return error == -ENOMEM ? error : 0;
    if (error) {
        diagnose_error(diagnostics, place->span,
                       "%s is unsafe: nothing tells whether it is the start of an instruction: %s",
                       place->name, why_untold(arena, place, error));
        diagnose_hint(diagnostics, error == -ENOTSUP ? "install libcapstone; or, if it is one, use --unsafe"
                                                     : "if it is one, use --unsafe");
        return -EPERM;
    }
    const char *hint = describe_bounds(arena, place, &bounds);
    if (environment->is_unsafe) {
        diagnose_warning(diagnostics, place->span,
                         "%s is inside an instruction: the program that is traced may crash", place->name);
        diagnose_hint(diagnostics, "%s", hint);
        return 0;
    }
    diagnose_error(diagnostics, place->span, "%s cannot be attached: it is inside an instruction",
                   place->name);
    diagnose_hint(diagnostics, "%s; --unsafe puts the probe where it is, and the program may crash", hint);
    return -EINVAL;
}
