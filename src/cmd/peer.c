/* SPDX-License-Identifier: BSD-3-Clause */
/* What bpftrace says about itself, for programs that call spoor by that name: wrappers, editors and test suites
 * read it. The labels are bpftrace's; the answers are whether a script gets what a label stands for, however spoor
 * does it. */
#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>

#include "cmd/command.h"
#include "sym/instruction.h"

#define PEER_VERSION "v0.27.1" /* the version of bpftrace whose language and options are understood */

bool peer_is_called(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    return argc && !strcmp(slash ? slash + 1 : argv[0], "bpftrace");
}

void peer_version(void)
{
    fputs("bpftrace " PEER_VERSION " (spoor " SPOOR_VERSION ")\n", stdout);
}

void peer_usage(FILE *out)
{
    fputs("USAGE:\n"
          "    bpftrace [options] filename\n"
          "    bpftrace [options] - <stdin input>\n"
          "    bpftrace [options] -e 'program'\n"
          "    use -- after filename/-e 'program' for named script parameters\n\nOPTIONS:\n",
          out);
    command_line_list(&spoor_line, out, "    ");
    fputs("\nThis is spoor " SPOOR_VERSION
          "; `man spoor` has the language, the settings and what is different.\n",
          out);
}

/* ---- --info ---- */

enum { HEADING = -3, NEVER = -2, ALWAYS = -1 };
#define HAS(feature) offsetof(struct features, feature)
static const struct peer_line {
    const char *label;
    long answer; /* offset in struct features of the feature on which it depends */
} lines[] = {
    {"Kernel helpers", HEADING},
    {"probe_read", ALWAYS},
    {"probe_read_str", ALWAYS},
    {"probe_read_user", ALWAYS},
    {"probe_read_user_str", ALWAYS},
    {"probe_read_kernel", HAS(read_kernel)},
    {"probe_read_kernel_str", HAS(read_kernel)},
    {"get_current_cgroup_id", HAS(cgroup_id)},
    {"send_signal", ALWAYS},
    {"override_return", HAS(override_return)},
    {"get_boot_ns", HAS(boot_clock)},
    {"dpath", HAS(btf)},
    {"skboutput", HAS(btf)},
    {"get_tai_ns", HAS(tai_clock)},
    {"get_func_ip", HAS(func_ip)},
    {"jiffies64", HAS(jiffies)},
    {"for_each_map_elem", HAS(for_each_map)},
    {"get_ns_current_pid_tgid", ALWAYS},
    {"lookup_percpu_elem", HAS(lookup_percpu)},
    {"loop", HAS(loop)},
    {"Kernel features", HEADING},
    {"Loop support", ALWAYS},
    {"btf", HAS(btf)},
    {"module btf", HAS(btf)},
    {"map batch", ALWAYS},
    {"uprobe refcount (depends on Build:bcc bpf_attach_uprobe refcount)", HAS(uprobe)},
    {"Map types", HEADING},
    {"hash", ALWAYS},
    {"percpu hash", ALWAYS},
    {"array", ALWAYS},
    {"percpu array", ALWAYS},
    {"stack_trace", ALWAYS},
    {"perf_event_array", ALWAYS},
    {"ringbuf", HAS(ring_buffer)},
    {"Probe types", HEADING},
    {"kprobe", HAS(kprobe)},
    {"tracepoint", HAS(tracepoint)},
    {"perf_event", HAS(perf_events)},
    {"fentry", HAS(fentry)},
    {"kprobe_multi", HAS(kprobe_multi)},
    {"uprobe_multi", HAS(uprobe_multi)},
    {"kprobe_session", NEVER},
    {"raw_tp_special", ALWAYS},
    {"iter", HAS(iterator)},
};

static bool answer_to(const struct peer_line *line, const struct features *features)
{
    return line->answer == ALWAYS || (line->answer >= 0 && *((const bool *)features + line->answer));
}

void peer_info(struct kernel *kernel)
{
    const struct features features = kernel_host(kernel)->features;
    struct utsname system;
    uname(&system);
    command_print(stdout, "System\n  OS: %s %s %s\n  Arch: %s\n", system.sysname, system.release,
                  system.version, system.machine);
    command_print(stdout,
                  "\nBuild\n  version: " PEER_VERSION " (spoor " SPOOR_VERSION ")\n"
                  "  LLVM: none, spoor compiles by itself\n"
                  "  bfd: %s\n"
                  "  libdw (DWARF support): yes\n"
                  "  libsystemd (systemd notify support): no\n"
                  "  blazesym (advanced symbolization): yes\n"
                  "  dwunwind (DWARF stack unwinding): yes\n",
                  instruction_has_decoder(machine_here()) ? "yes" : "no");
    instruction_end();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].answer == HEADING)
            command_print(stdout, "\n%s\n%s", lines[i].label,
                          strcmp(lines[i].label, "Kernel features") ? "" : "  Instruction limit: 1000000\n");
        else
            command_print(stdout, "  %s: %s\n", lines[i].label,
                          answer_to(&lines[i], &features) ? "yes" : "no");
}
