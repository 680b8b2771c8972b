/* SPDX-License-Identifier: BSD-3-Clause */
/* --info: prints what this kernel offers. */
#include <errno.h>
#include <sys/utsname.h>

#include "cmd/command.h"
#include "probe/kind.h"
#include "sym/instruction.h"

static void describe_kinds(struct kernel *kernel, struct text *out)
{
    text_add(out, "\nprobes\n");
    for (size_t i = 0; probe_kinds[i]; i++) {
        const struct probe_kind *kind = probe_kinds[i];
        struct text why = {0};
        bool is_missing = false;
        for (size_t need = 0; kind->needs && kind->needs[need] && !is_missing; need++)
            is_missing = kernel_lacks(kernel, kind->needs[need], &why);
        text_printf(out, "  %-20s %-3s  %s%s%s\n", kind->name, is_missing ? "no" : "yes", kind->what,
                    is_missing ? ": " : "", is_missing ? text_string(&why) : "");
        text_free(&why);
    }
}

/* Libraries that are loaded where a script needs them. */
static void describe_libraries(struct text *out)
{
    const bool has = instruction_has_decoder(machine_here());
    if (machine_here() == MACHINE_X86_64)
        text_printf(out, "\nlibraries\n  %-20s %-3s  uprobes at offsets and addresses without --unsafe%s\n",
                    "capstone", has ? "yes" : "no", has ? "" : ": libcapstone is not installed");
    instruction_end();
}

/* Prints what can be known by who may not load programs. */
static void describe_without_rights(void)
{
    struct text text = {0};
    kernel_describe_rights(&text);
    text_add(&text, "\nfeatures and helpers\n  unknown: they are found by trying, which takes CAP_BPF and "
                    "CAP_PERFMON; spoor "
                    "doctor says what helps\n\nprobes\n");
    for (size_t i = 0; probe_kinds[i]; i++)
        text_printf(&text, "  %-20s ?    %s\n", probe_kinds[i]->name, probe_kinds[i]->what);
    command_write(stdout, text_string(&text));
    text_free(&text);
}

int command_info(struct options *options)
{
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    struct kernel_options kernel_options = {.without = options->session.without};
    struct kernel *kernel = NULL;
    struct utsname system;
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory)) {
        fputs("ERROR: out of memory\n", stderr);
        return 1;
    }
    uname(&system);
    if (!options->is_peer)
        command_print(stdout, "spoor %s\n%s %s %s\n\n", SPOOR_VERSION, system.sysname, system.release,
                      system.machine);
    int error = kernel_open(&kernel_options, &diagnostics, &kernel);
    if (!error && options->is_peer) {
        peer_info(kernel);
        kernel_host(kernel)->operations->close(kernel_host(kernel));
    } else if (!error) {
        struct text text = {0};
        kernel_describe(kernel, &text);
        describe_kinds(kernel, &text);
        describe_libraries(&text);
        command_write(stdout, text_string(&text));
        text_free(&text);
        kernel_host(kernel)->operations->close(kernel_host(kernel));
    }
    const bool is_refused = error == -EPERM || error == -EACCES;
    if (is_refused && !options->is_peer)
        describe_without_rights();
    else
        command_diagnose(options, &diagnostics);
    arena_free(&arena);
    return error && !is_refused;
}
