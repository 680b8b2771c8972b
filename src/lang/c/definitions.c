/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the C definitions of one script, adds texts to them, and finds what they define. */
#include "lang/c/definitions.h"

#include <string.h>

#include "lang/c/state.h"

static const struct {
    const char *name;
    enum c_word word;
} words[] = {
    {"void", C_WORD_VOID},
    {"char", C_WORD_CHAR},
    {"short", C_WORD_SHORT},
    {"int", C_WORD_INT},
    {"long", C_WORD_LONG},
    {"signed", C_WORD_SIGNED},
    {"__signed", C_WORD_SIGNED},
    {"__signed__", C_WORD_SIGNED},
    {"unsigned", C_WORD_UNSIGNED},
    {"_Bool", C_WORD_BOOL},
    {"bool", C_WORD_BOOL},
    {"float", C_WORD_FLOAT},
    {"double", C_WORD_DOUBLE},
    {"__int128", C_WORD_INT128},
    {"__int128_t", C_WORD_INT128},
    {"__uint128_t", C_WORD_INT128},
    {"_Float128", C_WORD_FLOAT128},
    {"__float128", C_WORD_FLOAT128},
    {"_Float64x", C_WORD_FLOAT128},
    {"_Float32", C_WORD_FLOAT},
    {"_Float64", C_WORD_DOUBLE},
    {"_Float32x", C_WORD_DOUBLE},
    {"_Complex", C_WORD_COMPLEX},
    {"__complex__", C_WORD_COMPLEX},
    {"__builtin_va_list", C_WORD_VA_LIST},
    {"struct", C_WORD_STRUCT},
    {"union", C_WORD_UNION},
    {"enum", C_WORD_ENUM},
    {"typedef", C_WORD_TYPEDEF},
    {"const", C_WORD_SKIP},
    {"__const", C_WORD_SKIP},
    {"volatile", C_WORD_SKIP},
    {"__volatile__", C_WORD_SKIP},
    {"__volatile", C_WORD_SKIP},
    {"restrict", C_WORD_SKIP},
    {"__restrict", C_WORD_SKIP},
    {"__restrict__", C_WORD_SKIP},
    {"static", C_WORD_SKIP},
    {"extern", C_WORD_SKIP},
    {"register", C_WORD_SKIP},
    {"auto", C_WORD_SKIP},
    {"inline", C_WORD_SKIP},
    {"__inline", C_WORD_SKIP},
    {"__inline__", C_WORD_SKIP},
    {"_Noreturn", C_WORD_SKIP},
    {"__extension__", C_WORD_SKIP},
    {"_Atomic", C_WORD_SKIP},
    {"__thread", C_WORD_SKIP},
    {"_Thread_local", C_WORD_SKIP},
    /* annotations of kernel code on pointers and members, for when the headers that define them are not included */
    {"__user", C_WORD_SKIP},
    {"__kernel", C_WORD_SKIP},
    {"__rcu", C_WORD_SKIP},
    {"__percpu", C_WORD_SKIP},
    {"__iomem", C_WORD_SKIP},
    {"__force", C_WORD_SKIP},
    {"__bitwise", C_WORD_SKIP},
    {"__must_check", C_WORD_SKIP},
    {"__always_inline", C_WORD_SKIP},
    {"__maybe_unused", C_WORD_SKIP},
    {"__randomize_layout", C_WORD_SKIP},
    {"__private", C_WORD_SKIP},
    {"__designated_init", C_WORD_SKIP},
    {"__read_mostly", C_WORD_SKIP},
    {"__counted_by", C_WORD_SKIP_ARGUMENTS},
    {"__guarded_by", C_WORD_SKIP_ARGUMENTS},
    {"__attribute__", C_WORD_ATTRIBUTE},
    {"__attribute", C_WORD_ATTRIBUTE},
    {"__packed", C_WORD_PACKED},
    {"__aligned", C_WORD_ALIGNED},
    {"_Alignas", C_WORD_ALIGNAS},
    {"typeof", C_WORD_TYPEOF},
    {"__typeof__", C_WORD_TYPEOF},
    {"__typeof", C_WORD_TYPEOF},
    {"_Static_assert", C_WORD_STATIC_ASSERT},
    {"static_assert", C_WORD_STATIC_ASSERT},
    {"asm", C_WORD_ASM},
    {"__asm__", C_WORD_ASM},
    {"__asm", C_WORD_ASM},
    {"sizeof", C_WORD_SIZEOF},
    {"_Alignof", C_WORD_ALIGNOF},
    {"__alignof__", C_WORD_ALIGNOF},
    {"__alignof", C_WORD_ALIGNOF},
    {"alignof", C_WORD_ALIGNOF},
    {"offsetof", C_WORD_OFFSETOF},
    {"__builtin_offsetof", C_WORD_OFFSETOF},
};

static void define_dynamic(struct c_definitions *c, const char *name, enum c_dynamic dynamic)
{
    struct c_macro *macro = arena_new(c->arena, struct c_macro);
    macro->dynamic = dynamic;
    c_symbol(c, name, strlen(name))->macro = macro;
}

/* Reads a text that belongs to no file of the user. */
static void read_text(struct c_definitions *c, const char *name, const char *text)
{
    const struct c_file *before = c->file;
    if (c_file_push(c, name, text, strlen(text)))
        c_read_files(c, before);
}

struct c_definitions *c_open(const struct c_options *options)
{
    struct c_definitions *c = arena_new(options->arena, struct c_definitions);
    c->options = *options;
    c->arena = options->arena;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        c_symbol(c, words[i].name, strlen(words[i].name))->word = words[i].word;
    c->defined = c_symbol(c, "defined", strlen("defined"));
    c->va_args = c_symbol(c, "__VA_ARGS__", strlen("__VA_ARGS__"));
    c->has_include = c_symbol(c, "__has_include", strlen("__has_include"));
    define_dynamic(c, "__LINE__", C_DYNAMIC_LINE);
    define_dynamic(c, "__FILE__", C_DYNAMIC_FILE);
    define_dynamic(c, "__COUNTER__", C_DYNAMIC_COUNTER);
    read_text(c, "<predefined>", c_predefined);
    if (options->have_btf)
        read_text(c, "<predefined>", "#define BPFTRACE_HAVE_BTF 1\n");
    return c;
}

void c_close(struct c_definitions *c)
{
    if (!c)
        return;
    table_free(&c->symbols);
    table_free(&c->headers);
}

/* ---- the script ---- */

bool c_begins(const struct source *source, uint32_t position)
{
    static const char *const always[] = {"struct", "union", "enum", "typedef"};
    static const char *const sometimes[] = {"static", "extern",   "const",          "volatile",     "inline",
                                            "int",    "unsigned", "_Static_assert", "__attribute__"};
    const char *text = source->text;
    uint32_t end = position;
    bool ignored;
    if (position < source->length && text[position] == '#')
        return true;
    while (end < source->length && lexer_is_word(text[end]))
        end++;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strlen(always[i]) == end - position && !memcmp(always[i], text + position, end - position))
            return true;
    for (size_t i = 0; i < sizeof sometimes / sizeof *sometimes; i++)
        if (strlen(sometimes[i]) == end - position &&
            !memcmp(sometimes[i], text + position, end - position)) {
            c_skip_blanks(text, source->length, &end, false, &ignored);
            return end < source->length && !strchr(":,/{=", text[end]);
        }
    return false;
}

static struct c_file *find_script(const struct c_definitions *c, const struct source *source)
{
    struct c_file *file = c->script;
    while (file && file->script != source)
        file = file->next_script;
    return file;
}

/* Opens the script as a file, or continues it: its conditions stay open between its parts, also while an import is
 * read. */
static void open_script(struct c_definitions *c, const struct source *source, uint32_t position)
{
    struct c_file *known = find_script(c, source);
    if (known && known != c->script) { /* move it to the front of the list */
        struct c_file *before = c->script;
        while (before->next_script != known)
            before = before->next_script;
        before->next_script = known->next_script;
        known->next_script = c->script;
        c->script = known;
    } else if (!known) {
        struct c_file *others = c->script;
        c->script = arena_new(c->arena, struct c_file);
        c->script->next_script = others;
        c->script->source = *source;
        c->script->script = source;
        const char *slash = strrchr(source->name, '/');
        c->script->directory = slash ? arena_copy(c->arena, source->name, (size_t)(slash - source->name))
                                     : c->options.script_directory;
    }
    c->script->position = position;
    c->script->at_line_start = true;
    c->script->includer = c->file;
    c->file = c->floor = c->script;
    c->span = (struct span){source, position, position};
}

uint32_t c_read(struct c_definitions *c, const struct source *source, uint32_t position)
{
    struct c_file *outer = c->file, *floor = c->floor;
    open_script(c, source, position);
    if (source->text[position] == '#') {
        c_directive(c);
        c_read_files(c, c->script); /* a header */
    } else
        c_declare_external(c);
    /* Tokens that were peeked at and not used are read again, also when a macro left them. */
    if (c->has_peeked && c->peeked.kind != C_END && !c->layer && c->file == c->script)
        c->script->position = (uint32_t)(c->span.begin > position ? c->span.begin : position);
    c->has_peeked = false;
    while (c->layer) {
        c->layer->next = c->layer->count;
        c->layer->is_barrier = false;
        struct c_layer *layer = c->layer;
        if (layer->macro)
            layer->macro->is_busy = false;
        c->layer = layer->below;
    }
    while (c->file != c->script) /* a declaration that began in the script ended inside of a header */
        c_file_pop(c);
    uint32_t end = c->script->position;
    c->file = outer;
    c->floor = floor;
    return c->is_exhausted ? (uint32_t)source->length : end > position ? end : position + 1;
}

void c_finish(struct c_definitions *c, const struct source *source)
{
    struct c_file *file = find_script(c, source);
    if (!file)
        return;
    /* the innermost one that is open is enough for a message */
    struct c_condition *condition = file->conditions;
    if (condition) {
        struct span span = {source, condition->begin, condition->begin + 1};
        while (span.end < span.source->length && lexer_is_word(span.source->text[span.end]))
            span.end++;
        diagnose_error(c->options.diagnostics, span, "Unterminated #if");
        diagnose_hint(c->options.diagnostics, "it ends with a line #endif");
    }
    file->conditions = NULL;
}

/* ---- questions ---- */

static const struct type *tag_type(const struct c_tag *tag)
{
    if (!tag || !tag->is_defined)
        return NULL;
    return tag->type;
}

const struct type *c_type(struct c_definitions *c, const char *name)
{
    static const struct {
        const char *prefix;
        enum c_word word;
    } prefixes[] = {{"struct ", C_WORD_STRUCT}, {"union ", C_WORD_UNION}, {"enum ", C_WORD_ENUM}};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i].prefix);
        if (strncmp(name, prefixes[i].prefix, length))
            continue;
        const struct c_symbol *symbol = table_find(&c->symbols, name + length);
        return symbol && symbol->tag && symbol->tag->word == prefixes[i].word ? tag_type(symbol->tag) : NULL;
    }
    const struct c_symbol *symbol = table_find(&c->symbols, name);
    if (!symbol)
        return NULL;
    return symbol->type ? symbol->type->typed.type : tag_type(symbol->tag);
}

const struct type *c_enumerator(struct c_definitions *c, const char *name, int64_t *value)
{
    const struct c_symbol *symbol = table_find(&c->symbols, name);
    if (!symbol || !symbol->constant)
        return NULL;
    *value = symbol->constant->value;
    return symbol->constant->type;
}

bool c_names_type(const struct c_definitions *c, const char *name, size_t length)
{
    const struct c_symbol *symbol = table_get(&c->symbols, name, length);
    return symbol && symbol->type;
}

const struct type *c_common_type(const char *name)
{
    static const struct {
        const char *name;
        const struct type *type;
    } common[] = {
        {"u8", &type_u8},           {"u16", &type_u16},         {"u32", &type_u32},
        {"u64", &type_u64},         {"s8", &type_i8},           {"s16", &type_i16},
        {"s32", &type_i32},         {"s64", &type_i64},         {"__u8", &type_u8},
        {"__u16", &type_u16},       {"__u32", &type_u32},       {"__u64", &type_u64},
        {"__s8", &type_i8},         {"__s16", &type_i16},       {"__s32", &type_i32},
        {"__s64", &type_i64},       {"__be16", &type_u16},      {"__be32", &type_u32},
        {"__be64", &type_u64},      {"__le16", &type_u16},      {"__le32", &type_u32},
        {"__le64", &type_u64},      {"__sum16", &type_u16},     {"__wsum", &type_u32},
        {"uint8_t", &type_u8},      {"uint16_t", &type_u16},    {"uint32_t", &type_u32},
        {"uint64_t", &type_u64},    {"int8_t", &type_i8},       {"int16_t", &type_i16},
        {"int32_t", &type_i32},     {"int64_t", &type_i64},     {"u_int8_t", &type_u8},
        {"u_int16_t", &type_u16},   {"u_int32_t", &type_u32},   {"u_int64_t", &type_u64},
        {"u_char", &type_u8},       {"u_short", &type_u16},     {"u_int", &type_u32},
        {"u_long", &type_u64},      {"uint", &type_u32},        {"ushort", &type_u16},
        {"ulong", &type_u64},       {"unchar", &type_u8},       {"size_t", &type_u64},
        {"ssize_t", &type_i64},     {"ptrdiff_t", &type_i64},   {"uintptr_t", &type_u64},
        {"intptr_t", &type_i64},    {"off_t", &type_i64},       {"loff_t", &type_i64},
        {"off64_t", &type_i64},     {"pid_t", &type_i32},       {"uid_t", &type_u32},
        {"gid_t", &type_u32},       {"mode_t", &type_u32},      {"time_t", &type_i64},
        {"clock_t", &type_i64},     {"ino_t", &type_u64},       {"socklen_t", &type_u32},
        {"umode_t", &type_u16},     {"gfp_t", &type_u32},       {"sector_t", &type_u64},
        {"dma_addr_t", &type_u64},  {"phys_addr_t", &type_u64}, {"pgoff_t", &type_u64},
        {"sa_family_t", &type_u16}, {"in_addr_t", &type_u32},   {"in_port_t", &type_u16},
        {"intmax_t", &type_i64},    {"uintmax_t", &type_u64},   {"wchar_t", &type_i32},
        {"key_t", &type_i32},       {"useconds_t", &type_u32},  {"suseconds_t", &type_i64},
        {"blkcnt_t", &type_i64},
    };
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!strcmp(common[i].name, name))
            return common[i].type;
    return NULL;
}

const char *c_missing_header(const struct c_definitions *c)
{
    return c->missing;
}

const char *c_note(const struct c_definitions *c, size_t n)
{
    return n < c->note_count ? c->notes[n] : NULL;
}
