/* SPDX-License-Identifier: BSD-3-Clause */
/* uaddr(): where a symbol of the probed program is while it runs. At a probe the instruction pointer is the
 * site's address plus the load bias, so the distance of symbol and site in the file is all that is needed;
 * every site has to be a program of its own then. After a return the instruction pointer tells nothing: no
 * uaddr() there. */
#include "bpf/lower.h"
#include "probe/user.h"
#include "sym/machine.h"

static bool symbol_find(const struct user_site *site, const char *name, struct elf_symbol *found,
                        int64_t *distance)
{
    struct elf_file *file;
    uint64_t here = 0;
    if (elf_file_open(site->path, &file))
        return false;
    bool is_there = !elf_file_symbol(file, name, found) && !elf_file_address(file, site->offset, &here);
    *distance = (int64_t)(found->address - here);
    elf_file_close(file); /* found->name goes with it; nobody reads it */
    return is_there;
}

bool user_find_symbol(const struct probe_context *context, const char *name, uint32_t *size)
{
    struct elf_symbol found = {0};
    int64_t distance;
    if (!symbol_find(context->program, name, &found, &distance))
        return false;
    *size = found.size <= UINT32_MAX ? (uint32_t)found.size : 0;
    return true;
}

struct ir *user_lower_symbol(struct lowering *l, const struct probe_context *context, const char *name)
{
    struct elf_symbol found = {0};
    int64_t distance = 0;
    if (!symbol_find(context->program, name, &found, &distance))
        return ir_constant(&l->b, 0); /* refused before; the file has changed since */
    struct machine_register ip = machine_register_instruction(machine_here());
    return ir_binary_constant(&l->b, IR_ADD, ir_load(&l->b, lower_ctx(l), ip.offset, 8, false), distance);
}
