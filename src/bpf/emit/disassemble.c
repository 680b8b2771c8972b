/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a program as the kernel's verifier would, with names of maps, and the script's lines between. Reads only
 * the image, so that it shows what is loaded, and accepts any instruction. */
#include "bpf/image.h"

#include <inttypes.h>
#include <string.h>

#include "bpf/ir/ir.h"

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80
#endif

static const char *const operators[16] = {
    [BPF_ADD >> 4] = "+=", [BPF_SUB >> 4] = "-=", [BPF_MUL >> 4] = "*=",  [BPF_DIV >> 4] = "/=",
    [BPF_OR >> 4] = "|=",  [BPF_AND >> 4] = "&=", [BPF_LSH >> 4] = "<<=", [BPF_RSH >> 4] = ">>=",
    [BPF_MOD >> 4] = "%=", [BPF_XOR >> 4] = "^=", [BPF_MOV >> 4] = "=",   [BPF_ARSH >> 4] = "s>>=",
};
static const char *const conditions[16] = {
    [BPF_JEQ >> 4] = "==", [BPF_JGT >> 4] = ">",   [BPF_JGE >> 4] = ">=",   [BPF_JSET >> 4] = "&",
    [BPF_JNE >> 4] = "!=", [BPF_JSGT >> 4] = "s>", [BPF_JSGE >> 4] = "s>=", [BPF_JLT >> 4] = "<",
    [BPF_JLE >> 4] = "<=", [BPF_JSLT >> 4] = "s<", [BPF_JSLE >> 4] = "s<=",
};

static unsigned bits_of(uint8_t code)
{
    static const uint8_t bits[4] = {32, 16, 8, 64}; /* BPF_W, BPF_H, BPF_B, BPF_DW */
    return bits[code >> 3 & 3];
}

static void print_unknown(struct text *out, const struct bpf_insn *insn)
{
    text_printf(out, "unknown instruction %02x %x %x %d %#x", insn->code, insn->dst_reg, insn->src_reg,
                insn->off, (unsigned)insn->imm);
}

static void print_arithmetic(struct text *out, const struct bpf_insn *insn)
{
    char r = BPF_CLASS(insn->code) == BPF_ALU ? 'w' : 'r';
    unsigned operation = BPF_OP(insn->code);
    const char *sign = operators[operation >> 4];
    bool from_register = insn->code & BPF_X;
    if (operation == BPF_END)
        text_printf(out, "r%u = %s%d r%u", insn->dst_reg, insn->code & BPF_TO_BE ? "be" : "le", insn->imm,
                    insn->dst_reg);
    else if (operation == BPF_NEG)
        text_printf(out, "%c%u = -%c%u", r, insn->dst_reg, r, insn->dst_reg);
    else if (!sign)
        print_unknown(out, insn);
    else if (operation == BPF_MOV && from_register && insn->off)
        text_printf(out, "%c%u = (s%d)%c%u", r, insn->dst_reg, insn->off, r, insn->src_reg);
    else if (from_register)
        text_printf(out, "%c%u %s%s %c%u", r, insn->dst_reg, operation != BPF_MOV && insn->off ? "s" : "",
                    sign, r, insn->src_reg);
    else
        text_printf(out, "%c%u %s%s %d", r, insn->dst_reg, operation != BPF_MOV && insn->off ? "s" : "", sign,
                    insn->imm);
}

static void print_atomic(struct text *out, const struct bpf_insn *insn)
{
    unsigned bits = bits_of(insn->code);
    const char *suffix = bits == 64 ? "64" : "";
    switch (insn->imm) {
    case BPF_ADD:
        text_printf(out, "lock *(u%u *)(r%u %+d) += r%u", bits, insn->dst_reg, insn->off, insn->src_reg);
        break;
    case BPF_XCHG:
        text_printf(out, "r%u = atomic%s_xchg((u%u *)(r%u %+d), r%u)", insn->src_reg, suffix, bits,
                    insn->dst_reg, insn->off, insn->src_reg);
        break;
    case BPF_CMPXCHG:
        text_printf(out, "r0 = atomic%s_cmpxchg((u%u *)(r%u %+d), r0, r%u)", suffix, bits, insn->dst_reg,
                    insn->off, insn->src_reg);
        break;
    default: print_unknown(out, insn); break;
    }
}

static void print_memory(struct text *out, const struct bpf_insn *insn)
{
    unsigned class = BPF_CLASS(insn->code), mode = BPF_MODE(insn->code), bits = bits_of(insn->code);
    if (class == BPF_LDX && (mode == BPF_MEM || mode == BPF_MEMSX))
        text_printf(out, "r%u = *(%c%u *)(r%u %+d)", insn->dst_reg, mode == BPF_MEM ? 'u' : 's', bits,
                    insn->src_reg, insn->off);
    else if (class == BPF_STX && mode == BPF_ATOMIC)
        print_atomic(out, insn);
    else if (class == BPF_STX && mode == BPF_MEM)
        text_printf(out, "*(u%u *)(r%u %+d) = r%u", bits, insn->dst_reg, insn->off, insn->src_reg);
    else if (class == BPF_ST && mode == BPF_MEM)
        text_printf(out, "*(u%u *)(r%u %+d) = %d", bits, insn->dst_reg, insn->off, insn->imm);
    else
        print_unknown(out, insn);
}

static void print_jump(struct text *out, const struct bpf_insn *insn)
{
    unsigned operation = BPF_OP(insn->code);
    bool narrow = BPF_CLASS(insn->code) == BPF_JMP32;
    char r = narrow ? 'w' : 'r';
    const char *condition = conditions[operation >> 4];
    if (operation == BPF_CALL && insn->src_reg == BPF_PSEUDO_CALL) {
        text_printf(out, "call pc%+d", insn->imm);
    } else if (operation == BPF_CALL) {
        const char *name = ir_helper_name(insn->imm);
        text_printf(out, "call %s#%d", name ? name : "unknown", insn->imm);
    } else if (operation == BPF_EXIT) {
        text_add(out, "exit");
    } else if (operation == BPF_JA) {
        text_printf(out, "goto%s %+d", narrow ? "l" : "", narrow ? insn->imm : insn->off);
    } else if (!condition) {
        print_unknown(out, insn);
    } else if (insn->code & BPF_X) {
        text_printf(out, "if %c%u %s %c%u goto %+d", r, insn->dst_reg, condition, r, insn->src_reg,
                    insn->off);
    } else {
        text_printf(out, "if %c%u %s 0x%x goto %+d", r, insn->dst_reg, condition, (unsigned)insn->imm,
                    insn->off);
    }
}

static void print_wide(struct text *out, const struct image *image, const struct image_program *program,
                       uint32_t at)
{
    const struct bpf_insn *insn = &program->instructions[at];
    uint64_t value = (uint32_t)insn->imm;
    if (at + 1 < program->count)
        value |= (uint64_t)(uint32_t)insn[1].imm << 32;
    text_printf(out, "r%u = ", insn->dst_reg);
    for (uint32_t i = 0; i < program->relocation_count; i++) {
        const struct image_relocation *relocation = &program->relocations[i];
        if (relocation->instruction != at || relocation->kind == RELOCATION_FUNCTION)
            continue;
        if (image && relocation->map < image->map_count)
            text_printf(out, "map[%s]", image->maps[relocation->map].name);
        else
            text_printf(out, "map[#%" PRIu32 "]", relocation->map);
        if (relocation->kind == RELOCATION_VALUE)
            text_printf(out, "[0]%+" PRId64, (int64_t)(value >> 32));
        else if (relocation->kind == RELOCATION_RING)
            text_printf(out, "[ring %" PRIu64 "]", value >> 32);
        text_add(out, " ll");
        return;
    }
    if (insn->src_reg == BPF_PSEUDO_FUNC)
        text_printf(out, "func[%+d]", insn->imm);
    else
        text_printf(out, "%#" PRIx64 " ll", value);
}

static void print_instruction(struct text *out, const struct image *image,
                              const struct image_program *program, uint32_t at)
{
    const struct bpf_insn *insn = &program->instructions[at];
    switch (BPF_CLASS(insn->code)) {
    case BPF_ALU:
    case BPF_ALU64: print_arithmetic(out, insn); break;
    case BPF_JMP:
    case BPF_JMP32: print_jump(out, insn); break;
    case BPF_LD:
        if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
            print_wide(out, image, program, at);
        else
            print_unknown(out, insn);
        break;
    default: print_memory(out, insn); break;
    }
}

/* Prints the line on which a span begins, without leading blanks. */
static void print_line(struct text *out, struct span span, unsigned line)
{
    const struct source *source = span.source;
    if (!source || span.begin > source->length)
        return;
    size_t begin = span.begin, end = span.begin;
    while (begin && source->text[begin - 1] != '\n')
        begin--;
    while (end < source->length && source->text[end] != '\n')
        end++;
    while (begin < end && (source->text[begin] == ' ' || source->text[begin] == '\t'))
        begin++;
    text_printf(out, "; %s:%u: %.*s\n", source->name, line, (int)(end - begin), source->text + begin);
}

void image_print(struct text *out, const struct image *image, const struct image_program *program)
{
    uint32_t line = 0, function = 0;
    struct source_cursor cursor = {0};
    const struct source *shown = NULL;
    unsigned shown_line = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        for (; function < program->function_count && program->functions[function].instruction <= i;
             function++)
            text_printf(out, "%s:\n", program->functions[function].name);
        for (; line < program->line_count && program->lines[line].instruction <= i; line++) {
            struct span span = program->lines[line].span;
            if (!span.source)
                continue;
            unsigned number = source_position_from(&cursor, span.source, span.begin).line;
            if (span.source != shown || number != shown_line)
                print_line(out, span, number);
            shown = span.source;
            shown_line = number;
        }
        text_printf(out, "%4" PRIu32 ": ", i);
        print_instruction(out, image, program, i);
        text_char(out, '\n');
        if (program->instructions[i].code == (BPF_LD | BPF_IMM | BPF_DW))
            i++;
    }
}
