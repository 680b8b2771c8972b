/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a BTF blob for a program: one 64-bit integer type, a prototype for each number of parameters, an entry for
 * each function, the script's lines as strings.
 *
 * The kernel checks names (C identifiers) and order (lines ascending, one at each function's beginning), so that
 * names are corrected here and places without a line get an empty one. */
#include "bpf/emit/btf_write.h"

#include <ctype.h>
#include <errno.h>
#include <linux/btf.h>
#include <string.h>

enum { STRINGS_LIMIT = 8 << 20, LINE_LIMIT = 400, PARAMETERS_MAX = 5, NAME_LIMIT = 100, COLUMN_LIMIT = 1023 };

struct writer {
    struct arena *arena;
    uint32_t *words; /* types */
    size_t word_count, word_room;
    char *strings;
    size_t string_count, string_room;
    uint32_t type_count;
};

static void word(struct writer *w, uint32_t value)
{
    *arena_push(w->arena, w->words, w->word_count, w->word_room) = value;
}

static uint32_t string(struct writer *w, const char *bytes, size_t length)
{
    uint32_t offset = (uint32_t)w->string_count;
    for (size_t i = 0; i < length; i++)
        *arena_push(w->arena, w->strings, w->string_count, w->string_room) = bytes[i];
    *arena_push(w->arena, w->strings, w->string_count, w->string_room) = 0;
    return offset;
}

static uint32_t type(struct writer *w, uint32_t name, uint32_t kind, uint32_t count, uint32_t size_or_type)
{
    word(w, name);
    word(w, kind << 24 | count);
    word(w, size_or_type);
    return ++w->type_count;
}

/* Returns the offset of a name that was made an identifier: letters, digits and underscores, not beginning with a
 * digit. */
static uint32_t identifier(struct writer *w, const char *name)
{
    char text[NAME_LIMIT];
    size_t length = 0;
    if (!name || !*name)
        name = "program";
    if (isdigit((unsigned char)*name))
        text[length++] = '_';
    for (; *name && length < sizeof text; name++)
        text[length++] = (char)(isalnum((unsigned char)*name) ? *name : '_');
    return string(w, text, length);
}

struct line { /* where the text of a source's line is among the strings */
    const struct source *source;
    unsigned number;
    uint32_t text;
};

static uint32_t line_text(struct writer *w, struct span span)
{
    const struct source *source = span.source;
    size_t begin = span.begin, end = span.begin;
    while (begin && source->text[begin - 1] != '\n')
        begin--;
    while (end < source->length && source->text[end] != '\n')
        end++;
    while (begin < end && isspace((unsigned char)source->text[begin]))
        begin++;
    if (end - begin > LINE_LIMIT)
        end = begin + LINE_LIMIT;
    return string(w, source->text + begin, end - begin);
}

static void write_lines(struct writer *w, const struct image_program *program, struct btf_blob *out)
{
    out->lines =
        arena_array(w->arena, (size_t)program->line_count + program->function_count, sizeof *out->lines);
    struct line *lines = NULL;
    size_t line_count = 0, line_room = 0;
    enum { NEAR = 64 }; /* how many lines back a line with the same text is searched */
    const struct source *named = NULL;
    struct source_cursor cursor = {0};
    uint32_t file = 0, function = 0;
    for (uint32_t i = 0; i < program->line_count || function < program->function_count;) {
        /* A function whose first instruction has no line of its own gets an empty one. */
        uint32_t start =
            function < program->function_count ? program->functions[function].instruction : UINT32_MAX;
        uint32_t at = i < program->line_count ? program->lines[i].instruction : UINT32_MAX;
        struct bpf_line_info *line = &out->lines[out->line_count++];
        function += start <= at;
        if (start < at) {
            line->insn_off = start;
            continue;
        }
        struct span span = program->lines[i++].span;
        line->insn_off = at;
        if (!span.source || span.begin > span.source->length)
            continue;
        if (span.source != named) {
            named = span.source;
            file = string(w, named->name, strlen(named->name));
        }
        struct position position = source_position_from(&cursor, span.source, span.begin);
        const struct line *known = NULL;
        for (size_t k = line_count; k-- > 0 && line_count - k <= NEAR && !known;)
            if (lines[k].source == span.source && lines[k].number == position.line)
                known = &lines[k];
        if (!known) {
            struct line *added = arena_push(w->arena, lines, line_count, line_room);
            *added = (struct line){span.source, position.line, line_text(w, span)};
            known = added;
        }
        line->file_name_off = file;
        line->line_off = known->text;
        line->line_col =
            position.line << 10 | (position.column < COLUMN_LIMIT ? position.column : (unsigned)COLUMN_LIMIT);
    }
}

/* Returns the struct by whose name the kernel knows the context of programs of this type. NULL: there is none, and
 * a pointer to integers is one if it is tagged so. */
static const char *context_name(uint32_t program_type)
{
    switch (program_type) {
    case BPF_PROG_TYPE_KPROBE: return "bpf_user_pt_regs_t";
    case BPF_PROG_TYPE_RAW_TRACEPOINT: return "bpf_raw_tracepoint_args";
    case BPF_PROG_TYPE_PERF_EVENT: return "bpf_perf_event_data";
    default: return NULL;
    }
}

bool btf_can_pass_context(const struct features *features, uint32_t program_type,
                          uint32_t expected_attach_type)
{
    /* An iterator's context is a struct of its own for each kind. */
    bool is_iterator = program_type == BPF_PROG_TYPE_TRACING && expected_attach_type == BPF_TRACE_ITER;
    return context_name(program_type) || (features->tagged_context && !is_iterator);
}

/* Makes the prototype of a function that takes the context first and is verified on its own. */
static uint32_t context_prototype(struct writer *w, uint32_t program_type, const uint32_t *names,
                                  unsigned count, uint32_t integer)
{
    const char *context = context_name(program_type);
    uint32_t object = context ? type(w, identifier(w, context), BTF_KIND_STRUCT, 0, 0) : integer;
    uint32_t pointer = type(w, 0, BTF_KIND_PTR, 0, object);
    uint32_t prototype = type(w, 0, BTF_KIND_FUNC_PROTO, count, integer);
    for (unsigned i = 0; i < count; i++) {
        word(w, names[i]);
        word(w, i ? integer : pointer);
    }
    return prototype;
}

static void tag_context(struct writer *w, uint32_t function)
{
    static const char tag[] = "arg:ctx";
    type(w, string(w, tag, sizeof tag - 1), BTF_KIND_DECL_TAG, 0, function);
    word(w, 0); /* the first parameter */
}

int btf_write(struct arena *arena, const struct image_program *program, struct btf_blob *out)
{
    struct writer w = {.arena = arena};
    uint32_t prototypes[PARAMETERS_MAX + 1] = {0}, with_context[PARAMETERS_MAX + 1] = {0};
    *out = (struct btf_blob){0};
    string(&w, "", 0);
    uint32_t integer = type(&w, string(&w, "u64", 3), BTF_KIND_INT, 0, 8);
    word(&w, 64); /* 64 bits, without a sign, at offset 0 */
    uint32_t parameter_names[PARAMETERS_MAX];
    for (unsigned i = 0; i < PARAMETERS_MAX; i++) {
        const char name[2] = {'a', (char)('0' + i)};
        parameter_names[i] = string(&w, name, sizeof name);
    }
    out->functions = arena_array(arena, program->function_count, sizeof *out->functions);
    out->function_count = program->function_count;
    for (uint32_t i = 0; i < program->function_count; i++) {
        const struct image_function *function = &program->functions[i];
        unsigned count = function->parameters < PARAMETERS_MAX ? function->parameters : PARAMETERS_MAX;
        const bool takes_context = function->takes_context && count;
        if (takes_context && !with_context[count])
            with_context[count] = context_prototype(&w, program->type, parameter_names, count, integer);
        if (!takes_context && !prototypes[count]) {
            prototypes[count] = type(&w, 0, BTF_KIND_FUNC_PROTO, count, integer);
            for (unsigned k = 0; k < count; k++) {
                word(&w, parameter_names[k]);
                word(&w, integer);
            }
        }
        out->functions[i].insn_off = function->instruction;
        out->functions[i].type_id = type(&w, identifier(&w, function->name), BTF_KIND_FUNC,
                                         function->is_global ? BTF_FUNC_GLOBAL : BTF_FUNC_STATIC,
                                         takes_context ? with_context[count] : prototypes[count]);
        if (takes_context && !context_name(program->type))
            tag_context(&w, out->functions[i].type_id);
    }
    if (program->line_count)
        write_lines(&w, program, out);
    if (w.string_count > STRINGS_LIMIT || w.word_count > STRINGS_LIMIT / 4)
        return -E2BIG;
    struct btf_header header = {.magic = BTF_MAGIC,
                                .version = BTF_VERSION,
                                .hdr_len = sizeof header,
                                .type_len = (uint32_t)(w.word_count * sizeof *w.words),
                                .str_off = (uint32_t)(w.word_count * sizeof *w.words),
                                .str_len = (uint32_t)w.string_count};
    out->size = (uint32_t)sizeof header + header.type_len + header.str_len;
    out->bytes = arena_alloc(arena, out->size);
    memcpy(out->bytes, &header, sizeof header);
    memcpy((char *)out->bytes + sizeof header, w.words, header.type_len);
    memcpy((char *)out->bytes + sizeof header + header.type_len, w.strings, header.str_len);
    return 0;
}
