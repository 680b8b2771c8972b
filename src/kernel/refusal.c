/* SPDX-License-Identifier: BSD-3-Clause */
/* Says what the verifier refused in the script's terms: finds the instruction that it stopped at, the line of
 * the script that the instruction came from, the verifier's last sentence, and what can be done.
 *
 * The log is the kernel's and may be cut; nothing in it is relied on. */
#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "base/kernel_error.h"
#include "base/number.h"
#include "kernel/state.h"

static const char our_fault[] =
    "The script may be right: this looks like an error of spoor's compiler. Please report it with the script "
    "and the output of -v.";

/* Pieces of sentences, most telling first. */
static const struct {
    const char *piece, *hint;
} refusal_hints[] = {
    {"probe_write_user",
     "write_user() needs a kernel that lets programs be written to: one that is not locked down "
     "(lockdown=none), and CAP_SYS_ADMIN."},
    {"too large. Processed", "The verifier follows every way through the block, and gave up. Split the block "
                             "into several, or do less "
                             "in its loops."},
    {"jumps is too complex",
     "The verifier keeps in mind each condition that it has to come back to, and there is a limit. Split the "
     "block into several."},
    {"infinite loop", "The verifier cannot see that the loop ends: give it a constant bound."},
    {"back-edge", "This kernel allows no such loop: use unroll()."},
    {"func bpf_probe_read_kernel",
     "The kernel is locked down (confidentiality): its memory is read by nobody. That of programs is."},
    {"unknown func",
     "This kernel does not have that function for this kind of probe ('spoor --info' lists what it "
     "has)."},
    {"invalid func",
     "This kernel does not have that function for this kind of probe ('spoor --info' lists what "
     "it has)."},
    {"cannot use helper", "This kernel does not allow that function for this kind of probe."},
    {"combined stack size", "Use shorter strings, or fewer variables that hold them."},
    {"stack size", "Use shorter strings, or fewer variables that hold them."},
    {"Sleepable programs",
     "A kind of map that sleepable programs may not use: try --no-feature sleepable_uprobe."},
    {"invalid bpf_context access", "The probe's arguments end before this one."},
    {"program of this type", "This kernel does not allow it for this kind of probe."},
};

static bool line_starts(const char *line, size_t length, const char *prefix)
{
    size_t size = strlen(prefix);
    return length >= size && !memcmp(line, prefix, size);
}

/* "12: (85) call …" or "12: R1=…": the instruction's number; else -1. */
static long line_instruction(const char *line, size_t length)
{
    const char *at = line, *end = line + length;
    uint64_t number;
    return number_take(&at, end, 10, &number) && number <= INT32_MAX && end - at > 1 && at[0] == ':' &&
                   at[1] == ' '
               ? (long)number
               : -1;
}

/* "… insn 7 …": 7; else -1. */
static long sentence_instruction(const char *sentence)
{
    const char *at = strstr(sentence, "insn ");
    uint64_t number;
    at = at ? at + strlen("insn ") : "";
    return number_take(&at, NULL, 10, &number) && number <= INT32_MAX ? (long)number : -1;
}

struct refusal {
    long instruction;
    const char *sentence;
    size_t length;
};

static struct refusal refusal_find(const char *log)
{
    static const char *const not_sentences[] = {
        "processed ", "verification time ", "stack depth ", ";",        "Validating ", "Func#",  "from ",
        "max_states", "mark_precise",       "func#",        "last_idx", "regs=",       "parent "};
    struct refusal refusal = {.instruction = -1};
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        long number = line_instruction(line, length);
        bool is_sentence = length && number < 0;
        for (size_t i = 0; is_sentence && i < sizeof not_sentences / sizeof *not_sentences; i++)
            is_sentence = !line_starts(line, length, not_sentences[i]);
        if (number >= 0)
            refusal.instruction = number;
        if (is_sentence) {
            refusal.sentence = line;
            refusal.length = length;
        }
        line += length + (line[length] == '\n');
    }
    return refusal;
}

static struct span refusal_span(const struct image_program *program, long instruction)
{
    struct span span = {0};
    for (uint32_t i = 0; i < program->line_count; i++)
        if (!span.source || (instruction >= 0 && program->lines[i].instruction <= (uint32_t)instruction))
            span = program->lines[i].span;
    return span;
}

/* Reports what the error number alone means, where there is no log. */
static void refusal_without_log(struct diagnostics *diagnostics, const struct image_program *program,
                                struct span span, int error)
{
    bool is_tracing = program->type == BPF_PROG_TYPE_TRACING;
    switch (-error) {
    case EPERM:
        permission_explain(diagnostics, span,
                           is_tracing ? "Loading a program that is attached by BTF" : "Loading a program");
        break;
    case E2BIG:
        diagnose_error(diagnostics, span, "The program of %u instructions is too large for this kernel",
                       program->count);
        diagnose_hint(diagnostics, "Split the block into several, or unroll less.");
        break;
    case ENOMEM: diagnose_error(diagnostics, span, "There is not enough memory to load the program"); break;
    case EINVAL:
        diagnose_error(diagnostics, span, "The kernel does not know this kind of program");
        diagnose_hint(
            diagnostics, "Program type %d, attach type %u%s. 'spoor --info' says what this kernel can do.",
            (int)program->type, program->expected_attach_type, program->sleepable ? ", sleepable" : "");
        break;
    case EAGAIN:
        diagnose_error(diagnostics, span, "Loading the program was interrupted by signals again and again");
        break;
    default:
        diagnose_error(diagnostics, span, "The kernel does not load the program: %s", kernel_error(error));
        diagnose_hint(diagnostics, "%s", our_fault);
    }
}

int refusal_explain(struct diagnostics *diagnostics, const struct image_program *program, int error,
                    const char *log)
{
    struct refusal refusal = refusal_find(log);
    if (!refusal.sentence) {
        refusal_without_log(diagnostics, program, refusal_span(program, refusal.instruction), error);
        return error;
    }
    char sentence[256];
    size_t length = refusal.length < sizeof sentence ? refusal.length : sizeof sentence - 1;
    memcpy(sentence, refusal.sentence, length);
    sentence[length] = 0;
    long named = sentence_instruction(sentence);
    struct span span = refusal_span(program, named >= 0 ? named : refusal.instruction);
    const char *hint = our_fault;
    for (size_t i = sizeof refusal_hints / sizeof *refusal_hints; i-- > 0;)
        if (strstr(sentence, refusal_hints[i].piece))
            hint = refusal_hints[i].hint;
    diagnose_error(diagnostics, span, "The kernel's verifier refuses this: %s", sentence);
    diagnose_hint(diagnostics, "%s", hint);
    /* Not every kernel has one number for it. */
    return strstr(sentence, "too large. Processed") || strstr(sentence, "jumps is too complex") ? -E2BIG
                                                                                                : error;
}
