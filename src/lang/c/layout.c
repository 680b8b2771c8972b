/* SPDX-License-Identifier: BSD-3-Clause */
/* Where members of structs and unions lie: as the psABIs of x86-64 and aarch64 say, and as GCC does where they say
 * nothing.
 *
 * A bit-field goes into the next bits, unless it would cross a boundary of its type, which a packed one may. */
#include "lang/c/state.h"

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return to > 1 ? (value + to - 1) / to * to : value;
}

uint32_t c_align_of(const struct type *type)
{
    if (type->kind == TYPE_ARRAY && type->target)
        return c_align_of(type->target);
    if (type->kind != TYPE_STRUCT)
        return type->size > 16 || (type->size & (type->size - 1)) || !type->size ? 1 : type->size;
    uint32_t align = 1;
    type_complete(type);
    for (uint32_t i = 0; i < type->count; i++) {
        const struct field *field = &type->fields[i];
        uint32_t one = field->type ? c_align_of(field->type) : 1;
        if (one > align && field->offset % one == 0 && type->size % one == 0)
            align = one;
    }
    return align;
}

static void add_field(struct arena *arena, struct c_layout *layout, const struct c_member *member,
                      uint64_t bit)
{
    bool is_anonymous = !member->name;
    if (is_anonymous && (member->is_bit_field || member->typed.type->kind != TYPE_STRUCT))
        return;
    struct field *field = arena_push(arena, layout->fields, layout->count, layout->room);
    *field = (struct field){
        .name = is_anonymous ? "" : member->name, .type = member->typed.type, .offset = (uint32_t)(bit / 8)};
    if (member->is_bit_field) {
        field->bit_offset = (uint8_t)(bit % 8);
        field->bit_size = (uint8_t)member->width;
    }
}

/* Returns the alignment that a member asks for. A packed bit-field asks for none. */
static uint32_t member_align(const struct c_layout *layout, const struct c_member *member)
{
    bool is_packed = layout->attributes.is_packed || member->attributes.is_packed;
    uint32_t align = is_packed ? 1 : member->typed.align;
    if (member->attributes.align > align)
        align = member->attributes.align;
    /* #pragma pack is stronger than the member's own alignment. */
    return layout->pack && align > layout->pack ? layout->pack : align;
}

static void add_bit_field(struct arena *arena, struct c_layout *layout, const struct c_member *member)
{
    uint64_t unit = (uint64_t)member->typed.type->size * 8, begin = layout->is_union ? 0 : layout->bits;
    bool is_packed = layout->attributes.is_packed || member->attributes.is_packed;
    uint32_t align = member_align(layout, member);
    if (!member->width) {
        if (!layout->is_union)
            layout->bits = round_up(begin, (uint64_t)member->typed.align * 8);
#ifdef __aarch64__
        if (align > layout->align)
            layout->align = align;
#endif
        return;
    }
    uint64_t boundary =
        (uint64_t)(layout->pack && layout->pack < member->typed.align ? layout->pack : member->typed.align) *
        8;
    if (member->attributes.align)
        begin = round_up(begin, (uint64_t)align * 8);
    /* Compares how many boundaries of its type it would touch with how many the type itself needs. */
    if (!is_packed && !layout->pack && boundary &&
        (begin % boundary + member->width + boundary - 1) / boundary > unit / boundary)
        begin = round_up(begin, boundary);
    uint64_t end = begin + member->width;
    layout->bits = !layout->is_union || end > layout->bits ? end : layout->bits;
#ifdef __x86_64__
    if (!member->name)
        return; /* an unnamed one does not align its struct */
#endif
    /* Under #pragma pack the type of a bit-field aligns the struct, even if the attribute packs it. */
    uint32_t of_type = member->typed.align < layout->pack ? member->typed.align : layout->pack;
    if (of_type > align)
        align = of_type;
    if (align > layout->align)
        layout->align = align;
    add_field(arena, layout, member, begin);
}

void c_layout_add(struct arena *arena, struct c_layout *layout, const struct c_member *member)
{
    if (layout->bits / 8 > C_SIZE_MAX)
        return;
    if (member->is_bit_field) {
        add_bit_field(arena, layout, member);
        return;
    }
    uint32_t align = member_align(layout, member);
    uint64_t begin = layout->is_union ? 0 : round_up(layout->bits, (uint64_t)align * 8);
    uint64_t end = begin + (uint64_t)member->typed.type->size * 8;
    layout->bits = !layout->is_union || end > layout->bits ? end : layout->bits;
    if (align > layout->align)
        layout->align = align;
    if (begin / 8 <= C_SIZE_MAX)
        add_field(arena, layout, member, begin);
}

bool c_layout_end(struct c_layout *layout, uint32_t *size)
{
    if (layout->attributes.align > layout->align)
        layout->align = layout->attributes.align;
    uint64_t bytes = round_up((layout->bits + 7) / 8, layout->align);
    *size = bytes > C_SIZE_MAX ? 0 : (uint32_t)bytes;
    return bytes <= C_SIZE_MAX;
}
