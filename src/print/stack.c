/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks: a line for each frame, or an array of such lines in JSON. */
#include <string.h>

#include "print/json.h"
#include "print/walk.h"

static void write_build_id(struct walk *walk, const struct print_symbol *symbol, uint64_t address)
{
    for (size_t i = 0; i < symbol->build_id_size; i++) {
        text_char(walk->out, "0123456789abcdef"[symbol->build_id[i] >> 4]);
        text_char(walk->out, "0123456789abcdef"[symbol->build_id[i] & 15]);
    }
    if (symbol->build_id_size)
        text_char(walk->out, ' ');
    walk_hex(walk, symbol->build_id_size ? symbol->file_offset : address);
}

static void write_line_begin(struct walk *walk, enum stack_mode mode, uint64_t address)
{
    if (mode == STACK_PERF) {
        text_char(walk->out, '\t');
        number_hex(walk->out, address);
        text_char(walk->out, ' ');
    } else {
        text_fill(walk->out, ' ', 8);
    }
}

static void write_source(struct walk *walk, const struct line_frame *line)
{
    if (!line->file[0] || !line->line)
        return;
    text_char(walk->out, '@');
    walk_foreign_string(walk, line->file);
    text_char(walk->out, ':');
    number_unsigned(walk->out, line->line);
}

static void write_module(struct walk *walk, enum stack_mode mode, bool user,
                         const struct print_symbol *symbol)
{
    if (mode != STACK_PERF || (!symbol->module && !user))
        return;
    text_append(walk->out, " (", 2);
    /* The kernel itself is called as perf calls it. */
    walk_foreign_string(walk, !symbol->module   ? "[unknown]"
                              : *symbol->module ? symbol->module
                                                : "[kernel.kallsyms]");
    if (symbol->module && !symbol->name && symbol->offset) {
        text_append(walk->out, "+", 1);
        walk_hex(walk, symbol->offset);
    }
    text_char(walk->out, ')');
}

/* Why there are no more frames, in the place of one. */
static void write_end(struct walk *walk, enum stack_mode mode, const char *why)
{
    if (mode == STACK_PERF)
        text_char(walk->out, '\t');
    else if (mode == STACK_BPFTRACE)
        text_fill(walk->out, ' ', 8);
    text_add(walk->out, why);
}

/* One frame, which is several lines where functions were inlined, with line_break between them. False: it is no frame, nor is what follows.
 */
static bool write_frame(struct walk *walk, const struct type *type, uint32_t pid, uint64_t address,
                        bool is_first, bool is_exact, char line_break)
{
    bool user = type->kind == TYPE_USTACK;
    enum stack_mode mode = type->stack_mode;
    struct print_symbol symbol;
    if (mode == STACK_RAW) {
        number_hex(walk->out, address);
        return true;
    }
    walk_symbol(walk, user, pid, address, user && !is_first, &symbol);
    if (mode == STACK_BUILD_ID) {
        write_build_id(walk, &symbol, address);
        return true;
    }
    if (symbol.is_not_code && !is_exact) {
        write_end(walk, mode, "[no frame pointer]");
        return false;
    }
    size_t line = 0;
    for (; line < symbol.line_count && symbol.lines[line].function; line++) {
        write_line_begin(walk, mode, address);
        text_add(walk->out, "[inlined] ");
        walk_foreign_string(walk, symbol.lines[line].function);
        write_source(walk, &symbol.lines[line]);
        write_module(walk, mode, user, &symbol);
        text_char(walk->out, line_break);
    }
    write_line_begin(walk, mode, address);
    if (symbol.name) {
        walk_foreign_string(walk, symbol.name);
        text_char(walk->out, '+');
        number_unsigned(walk->out, symbol.offset);
        if (line < symbol.line_count)
            write_source(walk, &symbol.lines[line]);
    } else {
        walk_hex(walk, address);
    }
    write_module(walk, mode, user, &symbol);
    return true;
}

/* One line of the text, or several where functions were inlined. False: nor is what follows a frame. */
static bool write_line(struct walk *walk, const struct type *type, uint32_t pid,
                       const struct print_stack *stack, size_t i, char line_break)
{
    if (i < stack->count)
        return write_frame(walk, type, pid, stack->frames[i], i == 0, stack->is_exact, line_break);
    write_end(walk, type->stack_mode, stack->end);
    return true;
}

/* Makes items of a JSON array of the lines that were written from `begin` on, each without what it is indented by. NUL
 * separates them: a name may hold a newline. */
static void make_items(struct walk *walk, size_t begin, bool is_first, struct text *lines)
{
    text_clear(lines);
    text_append(lines, text_string(walk->out) + begin, walk->out->length - begin);
    text_truncate(walk->out, begin);
    const char *line = text_string(lines), *end = line + lines->length;
    for (; line < end; line += strlen(line) + 1) {
        line += strspn(line, " \t");
        text_add(walk->out, is_first ? "\"" : ",\"");
        is_first = false;
        json_escape(walk->out, line, strlen(line));
        text_char(walk->out, '"');
    }
}

/* An array of the names of frames, the innermost first. */
static void write_array(struct walk *walk, const struct type *type, uint32_t pid,
                        const struct print_stack *stack, size_t count)
{
    struct text lines = {0};
    bool is_frame = true;
    text_char(walk->out, '[');
    for (size_t i = 0; i < count && is_frame; i++) {
        const size_t begin = walk->out->length;
        walk->json = false; /* lines are escaped as a whole */
        is_frame = write_line(walk, type, pid, stack, i, '\0');
        walk->json = true;
        make_items(walk, begin, i == 0, &lines);
    }
    text_char(walk->out, ']');
    text_free(&lines);
}

/* A newline, one line per frame. As bpftrace has it, JSON holds the same text in a string. */
static void write_text(struct walk *walk, const struct type *type, uint32_t pid,
                       const struct print_stack *stack, size_t count)
{
    const char *newline = walk->json ? "\\n" : "\n";
    walk_quote(walk);
    text_add(walk->out, newline);
    bool is_frame = true;
    for (size_t i = 0; i < count && is_frame; i++) {
        const size_t begin = walk->out->length;
        const bool json = walk->json;
        walk->json = false; /* perf's tab: the line is escaped as a whole */
        is_frame = write_line(walk, type, pid, stack, i, '\n');
        walk->json = json;
        if (json)
            json_escape_tail(walk->out, begin, &walk->printer->scratch);
        text_add(walk->out, newline);
    }
    /* A program that the kernel was not called from has no kernel stack: nothing went wrong. */
    if (!stack->count && type->kind == TYPE_USTACK) {
        text_fill(walk->out, ' ', type->stack_mode == STACK_BPFTRACE ? 8 : 0);
        text_add(walk->out, "<unwind failure>");
        text_add(walk->out, newline);
    }
    walk_quote(walk);
}

void walk_stack(struct walk *walk, const struct type *type, struct bytes bytes)
{
    const struct print_names *names = walk->printer->names;
    struct print_stack stack = {0};
    const uint64_t id = walk_word(bytes, 0);
    const uint32_t pid = type->kind == TYPE_USTACK ? (uint32_t)walk_word(bytes, 8) : 0;
    if (!id || !names || !names->stack || !names->stack(names->owner, type, id, &stack))
        stack = (struct print_stack){0};
    const size_t count = stack.count + (stack.count && stack.end);
    if (walk->json && !walk->printer->json_stack_text)
        write_array(walk, type, pid, &stack, count);
    else
        write_text(walk, type, pid, &stack, count);
}
