/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the programs of an image: fills in the maps, gives the kernel function and line information, and
 * runs what can be run at once. First without a log, which is faster; a refused program is loaded again to
 * hear why. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/whole.h"
#include "bpf/emit/btf_write.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"

enum { SLEEPABLE = 1U << 4, LOG_DEFAULT = 1 << 20, LOG_MAX = 1 << 24, CONTEXT_WORDS = 12 };

static int load_relocate(const struct kernel *kernel, const struct image_program *program,
                         struct bpf_insn *instructions)
{
    static const uint8_t sources[] = {
        [RELOCATION_MAP] = BPF_PSEUDO_MAP_FD,
        [RELOCATION_VALUE] = BPF_PSEUDO_MAP_VALUE,
        [RELOCATION_RING] = BPF_PSEUDO_MAP_FD,
    };
    for (uint32_t i = 0; i < program->relocation_count; i++) {
        const struct image_relocation *relocation = &program->relocations[i];
        if (relocation->kind == RELOCATION_FUNCTION)
            continue;
        if (relocation->instruction + 1 >= program->count || relocation->map >= kernel->map_count)
            return -EINVAL;
        struct bpf_insn *instruction = &instructions[relocation->instruction];
        if (instruction->code != (BPF_LD | BPF_IMM | BPF_DW))
            return -EINVAL;
        instruction->src_reg = sources[relocation->kind] & 0xf;
        instruction->imm = kernel->maps[relocation->map].fd;
        if (relocation->kind != RELOCATION_RING)
            continue;
        uint32_t ring =
            kernel->maps[relocation->map].ring + ring_of_cpu(kernel, (uint32_t)instruction[1].imm);
        if (ring >= kernel->rings.count)
            return -EINVAL;
        instruction[0].imm = kernel->rings.items[ring].fd;
        instruction[1].imm = 0;
    }
    return 0;
}

/* Puts into each call of a kfunc the BTF id that this kernel knows it by. copy_from_user_str is the only one. */
static void load_functions(struct kernel *kernel, const struct image_program *program,
                           struct bpf_insn *instructions)
{
    for (uint32_t i = 0; i < program->count; i++) {
        if (instructions[i].code != (BPF_JMP | BPF_CALL) || instructions[i].src_reg != BPF_PSEUDO_KFUNC_CALL)
            continue;
        if (!kernel->copy_from_user_str)
            kernel->copy_from_user_str = features_kfunc(instructions[i].imm);
        instructions[i].imm = (int32_t)kernel->copy_from_user_str; /* 0: the verifier will refuse it */
    }
}

static void load_name(char out[BPF_OBJ_NAME_LEN], const char *name)
{
    size_t length = 0;
    for (; name && *name && length < BPF_OBJ_NAME_LEN - 1; name++) {
        bool is_plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                        (*name >= '0' && *name <= '9');
        out[length++] = is_plain ? *name : '_';
    }
    out[length] = 0;
}

/* The attach type is a promise about how the program will be attached: a kernel without the multi links
 * wants none, and one with them refuses other links to a program that promised them. */
static uint32_t load_attach_type(const struct features *features, const struct image_program *program)
{
    if (program->type != BPF_PROG_TYPE_KPROBE)
        return program->expected_attach_type;
    if (program->expected_attach_type == ATTACH_UPROBE_MULTI && !features->uprobe_multi)
        return 0;
    if (program->expected_attach_type == ATTACH_KPROBE_MULTI && !features->kprobe_multi)
        return 0;
    return program->expected_attach_type;
}

/* Loads BTF with names and lines of the program. A descriptor, or -ENOENT where there is none or the kernel takes
 * none. */
static int load_btf(const struct kernel *kernel, const struct image_program *program, struct arena *arena,
                    union bpf_attr *attributes)
{
    struct btf_blob blob = {0};
    if (!kernel->host.features.program_btf || !program->function_count || btf_write(arena, program, &blob))
        return -ENOENT;
    union bpf_attr load;
    memset(&load, 0, sizeof load);
    load.btf = (uintptr_t)blob.bytes;
    load.btf_size = blob.size;
    int fd = syscall_bpf(BPF_BTF_LOAD, &load, sizeof load);
    if (fd < 0)
        return -ENOENT;
    attributes->prog_btf_fd = (uint32_t)fd;
    attributes->func_info_rec_size = sizeof(struct bpf_func_info);
    attributes->func_info = (uintptr_t)blob.functions;
    attributes->func_info_cnt = blob.function_count;
    attributes->line_info_rec_size = sizeof(struct bpf_line_info);
    attributes->line_info = (uintptr_t)blob.lines;
    attributes->line_info_cnt = blob.line_count;
    return fd;
}

/* What the program's BTF id belongs to, where that is not the kernel itself. The kernel's word for a
 * program's descriptor is the same as for a module's. */
static int load_attach_object(const struct image_program *program, union bpf_attr *attributes)
{
    int fd = program->attach_program  ? object_open_program(program->attach_program)
             : program->attach_module ? object_open_module(program->attach_module)
                                      : -ENOENT;
    if (fd >= 0)
        attributes->attach_prog_fd = (uint32_t)fd;
    return fd;
}

/* With a log, of a size that holds it. *log is the caller's to free, also after a failure; it may be NULL. */
static int load_with_log(union bpf_attr *attributes, uint32_t size, char **log)
{
    int answer = -ENOMEM;
    *log = NULL;
    for (uint64_t room = size; room <= LOG_MAX; room *= 4) {
        free(*log);
        *log = malloc(room);
        if (!*log)
            return -ENOMEM;
        (*log)[0] = 0;
        attributes->log_buf = (uintptr_t)*log;
        attributes->log_size = (uint32_t)room;
        attributes->log_level = 1;
        answer = syscall_program_load(attributes);
        (*log)[room - 1] = 0;
        if (answer != -ENOSPC)
            break;
    }
    return answer;
}

static int load_again(const struct kernel *kernel, union bpf_attr *attributes, int answer, char **log)
{
    if (answer < 0 && !*log) {
        int retried = load_with_log(attributes, kernel->log_size, log);
        answer = retried >= 0 || *log ? retried : answer;
    }
    return answer;
}

/* Asks the kernel to take the program: its descriptor, or -errno after a diagnostic. One that is too long is divided next, so
 * that nothing is said of it. *log is the caller's to free, also after a failure; it may be NULL. */
static int load_ask(const struct kernel *kernel, const struct image_program *program,
                    union bpf_attr *attributes, struct diagnostics *diagnostics, char **log)
{
    int fd =
        kernel->verbose ? load_with_log(attributes, kernel->log_size, log) : syscall_program_load(attributes);
    /* Asking for the log would take as long again. */
    if (fd >= 0 || (fd == -E2BIG && program->is_divisible && !*log))
        return fd;
    fd = load_again(kernel, attributes, fd, log);
    return fd < 0 ? refusal_explain(diagnostics, program, fd, *log ? *log : "") : fd;
}

/* Makes room for as many programs as the image has. */
static int load_room(struct kernel *kernel, const struct image *image)
{
    if (kernel->program_count >= image->program_count)
        return 0;
    struct kernel_program *programs =
        realloc(kernel->programs, image->program_count * sizeof *kernel->programs);
    if (!programs)
        return -ENOMEM;
    kernel->programs = programs;
    while (kernel->program_count < image->program_count)
        programs[kernel->program_count++] = (struct kernel_program){.fd = -1};
    return 0;
}

int load_program(struct host *host, const struct image *image, size_t index, struct diagnostics *diagnostics)
{
    struct kernel *kernel = kernel_of(host);
    if (index >= image->program_count)
        return -EINVAL;
    if (load_room(kernel, image))
        return -ENOMEM;
    const struct image_program *program = &image->programs[index];
    struct kernel_program *loaded = &kernel->programs[index];
    if (loaded->fd >= 0)
        return -EALREADY;

    struct arena arena = {0};
    jmp_buf nowhere;
    if (arena_guard(&arena, nowhere)) {
        arena_free(&arena);
        return -ENOMEM;
    }
    struct bpf_insn *instructions = arena_array(&arena, program->count, sizeof *instructions);
    memcpy(instructions, program->instructions, program->count * sizeof *instructions);
    load_functions(kernel, program, instructions);
    int error = load_relocate(kernel, program, instructions);
    if (error) {
        diagnose_error(diagnostics, (struct span){0}, "The program '%s' names a map that there is not",
                       program->name);
        diagnose_hint(diagnostics, "This is an error of spoor's compiler: please report it with the script.");
        arena_free(&arena);
        return error;
    }
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = program->type;
    attributes.insn_cnt = program->count;
    attributes.insns = (uintptr_t)instructions;
    attributes.license = (uintptr_t)kernel->license;
    attributes.prog_flags = program->sleepable ? SLEEPABLE : 0;
    attributes.expected_attach_type = load_attach_type(&host->features, program);
    attributes.attach_btf_id = program->attach_btf_id;
    load_name(attributes.prog_name, program->name);
    int object = load_attach_object(program, &attributes);
    int btf = load_btf(kernel, program, &arena, &attributes);
    free(loaded->log);
    loaded->log = NULL;
    int fd = load_ask(kernel, program, &attributes, diagnostics, &loaded->log);
    if (btf >= 0)
        close(btf);
    if (object >= 0)
        close(object);
    arena_free(&arena);
    if (!kernel->verbose) {
        free(loaded->log);
        loaded->log = NULL;
    }
    if (fd < 0)
        return fd;
    loaded->fd = fd;
    loaded->type = program->type;
    loaded->expected_attach_type = attributes.expected_attach_type;
    return 0;
}

int load_run(struct host *host, size_t index)
{
    struct kernel *kernel = kernel_of(host);
    if (index >= kernel->program_count || kernel->programs[index].fd < 0)
        return -EINVAL;
    uint64_t context[CONTEXT_WORDS] = {0};
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.test.prog_fd = (uint32_t)kernel->programs[index].fd;
    attributes.test.ctx_in = (uintptr_t)context;
    attributes.test.ctx_size_in = sizeof context;
    int error;
    do
        error = syscall_bpf(BPF_PROG_TEST_RUN, &attributes, sizeof attributes);
    while (error == -EINTR || error == -EAGAIN);
    return error;
}

struct host_runs load_runs(struct host *host, size_t index)
{
    struct kernel *kernel = kernel_of(host);
    struct bpf_prog_info info;
    memset(&info, 0, sizeof info); /* older kernels fill in less */
    if (index >= kernel->program_count || kernel->programs[index].fd < 0 ||
        syscall_object_info(kernel->programs[index].fd, &info, sizeof info))
        return (struct host_runs){0};
    return (struct host_runs){info.run_cnt, info.run_time_ns, info.recursion_misses,
                              sites_missed(kernel, index)};
}

bool kernel_has_time(const struct kernel *kernel)
{
    char text[8];
    return kernel->counts_time ||
           (whole_read_short("/proc/sys/kernel/bpf_stats_enabled", text, sizeof text) > 0 && *text == '1');
}

int kernel_count_time(struct kernel *kernel)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.enable_stats.type = BPF_STATS_RUN_TIME;
    int fd = syscall_bpf(BPF_ENABLE_STATS, &attributes, sizeof attributes);
    struct attachment *attachment = fd >= 0 ? attachment_new(kernel) : NULL;
    if (!attachment && fd >= 0)
        close(fd);
    if (!attachment)
        return fd < 0 ? fd : -ENOMEM;
    const int error = attachment_add(attachment, fd);
    kernel->counts_time = !error;
    return error;
}
