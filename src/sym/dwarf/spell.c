/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a type as C does where no name follows: "const char *", "struct task *", "int[4]". For listings. */
#include "sym/dwarf/private.h"

static void spell_type(Dwarf_Die *die, struct text *out, unsigned depth)
{
    const char *name = dwarf_diename(die), *keyword = "";
    Dwarf_Die target;
    if (depth > DWARF_DEPTH_MAX) {
        text_add(out, "…");
        return;
    }
    switch (dwarf_tag(die)) {
    case DW_TAG_structure_type: keyword = "struct "; break;
    case DW_TAG_class_type: keyword = "class "; break;
    case DW_TAG_union_type: keyword = "union "; break;
    case DW_TAG_enumeration_type: keyword = "enum "; break;
    case DW_TAG_const_type:
    case DW_TAG_volatile_type: {
        const char *word = dwarf_tag(die) == DW_TAG_const_type ? "const" : "volatile";
        /* The qualifier of a pointer stands behind the star. */
        if (dwarf_type_die(die, &target) && dwarf_tag(&target) == DW_TAG_pointer_type) {
            dwarf_spell(die, out, depth + 1);
            text_printf(out, " %s", word);
        } else {
            text_printf(out, "%s ", word);
            dwarf_spell(die, out, depth + 1);
        }
        return;
    }
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type: dwarf_spell(die, out, depth + 1); return;
    case DW_TAG_pointer_type:
        if (dwarf_type_die(die, &target) && dwarf_tag(&target) == DW_TAG_subroutine_type) {
            dwarf_spell(&target, out, depth + 1);
            text_add(out, " (*)()");
            return;
        }
        dwarf_spell(die, out, depth + 1);
        text_add(out, dwarf_type_die(die, &target) && dwarf_tag(&target) == DW_TAG_pointer_type ? "*" : " *");
        return;
    case DW_TAG_reference_type:
        dwarf_spell(die, out, depth + 1);
        text_add(out, " &");
        return;
    case DW_TAG_rvalue_reference_type:
        dwarf_spell(die, out, depth + 1);
        text_add(out, " &&");
        return;
    case DW_TAG_array_type:
        dwarf_spell(die, out, depth + 1);
        text_add(out, "[]");
        return;
    default: break;
    }
    text_printf(out, "%s%s", keyword, name ? name : *keyword ? "{…}" : "?");
}

void dwarf_spell(Dwarf_Die *die, struct text *out, unsigned depth)
{
    Dwarf_Die type;
    if (dwarf_type_die(die, &type))
        spell_type(&type, out, depth);
    else
        text_add(out, "void");
}
