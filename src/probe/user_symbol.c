/* SPDX-License-Identifier: BSD-3-Clause */
/* uaddr(): where a symbol of the probed program is while it runs. At a probe the instruction pointer is the
 * site's address plus the load bias, so the distance of symbol and site in the file is all that is needed;
 * every site has to be a program of its own then. After a return the instruction pointer tells nothing: no
 * uaddr() there. The program's debug information gives the type, and knows symbols that were stripped. */
#include "bpf/lower/lower.h"
#include "probe/program.h"
#include "probe/user.h"
#include "sym/machine/machine.h"

/* What the debug information knows of a variable. */
static bool variable_find(const struct user_site *site, const char *name, uint64_t *address,
                          const struct type **type)
{
    struct dwarf_file *file =
        site->environment ? probe_dwarf(site->environment, site->path, site->origin) : NULL;
    return file && !dwarf_file_variable(file, name, site->address, address, type);
}

static bool symbol_find(const struct user_site *site, const char *name, struct elf_symbol *found,
                        int64_t *distance)
{
    struct elf_file *file;
    uint64_t here = 0;
    const struct type *type;
    if (elf_origin_open(site->origin, site->path, &file))
        return false;
    bool is_there = !elf_file_address(file, site->offset, &here);
    if (is_there && elf_file_symbol(file, name, found)) {
        is_there = variable_find(site, name, &found->address, &type);
        found->size = is_there ? type->size : 0;
    }
    *distance = (int64_t)(found->address - here);
    elf_file_close(file); /* found->name is freed with it, and is not read again */
    return is_there;
}

const struct type *user_symbol_type(const struct probe_context *context, const char *name)
{
    uint64_t address;
    const struct type *type;
    return variable_find(context->program, name, &address, &type) ? type : NULL;
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
        return ir_constant(&l->b, 0); /* the checker found the symbol; the file has changed since */
    struct machine_register ip = machine_register_instruction(machine_here());
    return ir_binary_constant(&l->b, IR_ADD, ir_load(&l->b, lower_ctx(l), ip.offset, 8, false), distance);
}
