/* SPDX-License-Identifier: BSD-3-Clause */
/* The script's format is rewritten as one for bpf_seq_printf, whose arguments are words: integers are cut and
 * extended before, text is given by its address. */
#include "builtin/sequence.h"

#include <string.h>

enum {
    ARGUMENTS_MAX = 12, /* that the kernel takes */
    LAST_WORD = 8       /* zeros behind a string that fills its room */
};

/* What the kernel prints the value as: 's' text, 'd' signed, 'u' unsigned, 'x', 'X', 'c', 'p'; 0: it cannot.
 */
static char sequence_conversion(const struct format_segment *segment, const struct type *type)
{
    if (type->kind == TYPE_STRING)
        return segment->conversion == 's' ? 's' : 0;
    if (type->kind == TYPE_POINTER && (segment->conversion == 's' || segment->conversion == 'p'))
        return 'p';
    if (!type_is_scalar(type) && !type_reads_as_integer(type))
        return 0;
    switch (segment->conversion) {
    case 'i':
    case 'd': return 'd';
    case 'u':
    case 'x':
    case 'X':
    case 'c':
    case 'p': return segment->conversion;
    case 's': return type->kind == TYPE_INTEGER ? type->is_signed ? 'd' : 'u' : 0;
    default: return 0;
    }
}

bool sequence_check(struct checker *checker, struct node *call, const struct format *format)
{
    if (format->arguments > ARGUMENTS_MAX) {
        check_error(checker, call->span, "printf in a pinned iterator takes at most %d values",
                    ARGUMENTS_MAX);
        check_hint(checker, "split it into several");
        return false;
    }
    for (unsigned i = 0; i < format->arguments; i++) {
        struct node *argument = check_argument(call, i + 1);
        if (!argument->type || argument->type->kind == TYPE_NONE)
            continue;
        if (!sequence_conversion(format_conversion(format, i), argument->type)) {
            check_error(checker, argument->span,
                        "printf in a pinned iterator cannot print type '%s' with %%%c",
                        type_text(checker->arena, argument->type), format_conversion(format, i)->conversion);
            check_hint(checker,
                       "the kernel makes the text there; it knows %%d %%u %%x %%c %%p, and %%s for strings");
            return false;
        }
    }
    return true;
}

static void sequence_literal(struct text *out, const struct format_segment *segment)
{
    for (uint32_t i = 0; i < segment->literal_length; i++) {
        text_char(out, segment->literal[i]);
        if (segment->literal[i] == '%')
            text_char(out, '%');
    }
}

static void sequence_segment(struct text *out, const struct format_segment *segment, const struct type *type)
{
    char conversion = sequence_conversion(segment, type);
    sequence_literal(out, segment);
    if (conversion == 'p' || (segment->alternate && (conversion == 'x' || conversion == 'X')))
        text_add(out, "0x");
    text_char(out, '%');
    if (segment->left)
        text_char(out, '-');
    if (segment->plus)
        text_char(out, '+');
    if (segment->space)
        text_char(out, ' ');
    if (segment->zero && !segment->left)
        text_char(out, '0');
    if (segment->width)
        text_printf(out, "%u", segment->width);
    if (conversion == 's' || conversion == 'c')
        text_char(out, conversion);
    else
        text_printf(out, "ll%c", conversion == 'p' ? 'x' : conversion);
}

/* Returns the address of the text in a map that programs cannot write. *size is the text's size with its NUL. */
static struct ir *sequence_text(struct lowering *l, const struct text *text, uint32_t *size)
{
    *size = (uint32_t)text->length + 1;
    char *bytes = arena_array(l->arena, (*size + 7) & ~7u, 1);
    memcpy(bytes, text_string(text), text->length);
    uint32_t map = (uint32_t)l->image->map_count;
    *arena_push(l->arena, l->image->maps, l->image->map_count, l->image->map_room) = (struct image_map){
        .name = "format",
        .type = BPF_MAP_TYPE_ARRAY,
        .key_size = 4,
        .value_size = (*size + 7) & ~7u,
        .max_entries = 1,
        .flags = BPF_F_RDONLY_PROG,
        .initial = bytes,
    };
    return ir_map_value(&l->b, map, 0);
}

static struct ir *sequence_value(struct lowering *l, const struct format_segment *segment,
                                 struct node *argument)
{
    char conversion = sequence_conversion(segment, argument->type);
    if (conversion == 's') {
        uint32_t room = type_storage(argument->type);
        struct memory text = lower_temporary(l, room + LAST_WORD, true);
        lower_into(l, argument, text);
        return ir_offset(&l->b, text.base, text.offset);
    }
    struct ir *value = lower_scalar(l, argument);
    unsigned bits = conversion == 'p' || segment->conversion == 's' ? 64 : segment->bits;
    return bits < 64 ? ir_extend(&l->b, value, bits / 8, conversion == 'd') : value;
}

void sequence_lower(struct lowering *l, struct node *call, const struct format *format)
{
    struct ir_builder *b = &l->b;
    struct text text = {0};
    uint32_t count = (uint32_t)format->arguments, size;
    struct memory words = lower_temporary(l, 8 * (count ? count : 1), false);
    for (size_t i = 0; i < format->count; i++) {
        const struct format_segment *segment = &format->segments[i];
        if (i < count) {
            struct node *argument = check_argument(call, (unsigned)i + 1);
            sequence_segment(&text, segment, argument->type);
            ir_store(b, words.base, words.offset + 8 * (int32_t)i, 8, sequence_value(l, segment, argument));
        } else {
            sequence_literal(&text, segment);
        }
    }
    struct ir *meta = ir_load(b, lower_ctx(l), 0, 8, false); /* struct bpf_iter_meta: the file comes first */
    struct ir *file = ir_load(b, meta, 0, 8, false);
    struct ir *format_text = sequence_text(l, &text, &size);
    text_free(&text);
    ir_call(b, BPF_FUNC_seq_printf, 5, file, format_text, ir_constant(b, size),
            count ? ir_offset(b, words.base, words.offset) : ir_constant(b, 0), ir_constant(b, 8 * count));
}
