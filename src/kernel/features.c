/* SPDX-License-Identifier: BSD-3-Clause */
/* What this kernel can do, found by trying: small programs, small maps, requests that are wrong in a way
 * that only a kernel which knows them can complain about. Never by version: distributions add and remove
 * features without telling. One attempt costs about 20 µs, and looking for a function in the kernel's BTF a
 * millisecond or two, so nothing is remembered between runs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/kernel_error.h"
#include "base/number.h"
#include "base/text.h"
#include "base/whole.h"
#include "bpf/ir/ir.h"
#include "kernel/instructions.h"
#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/kernel/btf.h"

enum { SLEEPABLE = 1U << 4 };

/* Closes the descriptor and returns 0; an -errno is returned as it is. */
static int closed(int fd)
{
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : fd;
}

struct attempt {
    enum bpf_prog_type type;
    uint32_t expected_attach_type, flags, attach_btf_id;
    char *log;
    uint32_t log_size;
    int btf;
    const struct bpf_func_info *functions;
    uint32_t function_count; /* functions in its BTF; 0: it gets none */
};

/* A descriptor or -errno. */
static int feature_load(const struct attempt *attempt, const struct bpf_insn *instructions, uint32_t count)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = attempt->type;
    attributes.insns = (uintptr_t)instructions;
    attributes.insn_cnt = count;
    attributes.license = (uintptr_t) "GPL";
    attributes.expected_attach_type = attempt->expected_attach_type;
    attributes.prog_flags = attempt->flags;
    attributes.attach_btf_id = attempt->attach_btf_id;
    if (attempt->function_count) {
        attributes.prog_btf_fd = (uint32_t)attempt->btf;
        attributes.func_info_rec_size = sizeof *attempt->functions;
        attributes.func_info = (uintptr_t)attempt->functions;
        attributes.func_info_cnt = attempt->function_count;
    }
    if (attempt->log) {
        attributes.log_buf = (uintptr_t)attempt->log;
        attributes.log_size = attempt->log_size;
        attributes.log_level = 1;
    }
    return syscall_program_load(&attributes);
}

static int feature_loads(const struct attempt *attempt, const struct bpf_insn *instructions, uint32_t count)
{
    return closed(feature_load(attempt, instructions, count));
}

static const struct attempt kprobe_program = {.type = BPF_PROG_TYPE_KPROBE};
static const struct attempt sleepable_program = {.type = BPF_PROG_TYPE_KPROBE, .flags = SLEEPABLE};

/* A call without arguments. The verifier looks the helper up first (EINVAL) and misses the arguments after
 * (EACCES). */
static int feature_helper(const struct attempt *attempt, int helper)
{
    const struct bpf_insn instructions[] = {CALL(helper), MOVE_IMMEDIATE(BPF_REG_0, 0), EXIT()};
    int error = feature_loads(attempt, instructions, 3);
    return error == -EACCES ? 0 : error;
}

int features_try_helper(bool is_sleepable, int helper)
{
    return feature_helper(is_sleepable ? &sleepable_program : &kprobe_program, helper);
}

static int feature_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, int inner)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = type;
    attributes.key_size = key;
    attributes.value_size = value;
    attributes.max_entries = entries;
    attributes.inner_map_fd = inner >= 0 ? (uint32_t)inner : 0;
    return syscall_bpf(BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static int feature_alu32_jmp32(void)
{
    const struct bpf_insn instructions[] = {
        MOVE_IMMEDIATE(BPF_REG_0, 0),
        INSTRUCTION(BPF_JMP32 | BPF_JEQ | BPF_K, BPF_REG_0, 0, 0, 0),
        EXIT(),
    };
    return feature_loads(&kprobe_program, instructions, 3);
}

static int feature_atomic_fetch(void)
{
    const struct bpf_insn instructions[] = {
        INSTRUCTION(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0),
        MOVE_IMMEDIATE(BPF_REG_1, 1),
        INSTRUCTION(BPF_STX | BPF_DW | 0xc0, BPF_REG_10, BPF_REG_1, -8, 0x01), /* fetch and add */
        MOVE_IMMEDIATE(BPF_REG_0, 0),
        EXIT(),
    };
    return feature_loads(&kprobe_program, instructions, 5);
}

static int feature_signed_division(void)
{
    const struct bpf_insn instructions[] = {
        MOVE_IMMEDIATE(BPF_REG_0, -8),
        INSTRUCTION(BPF_ALU64 | BPF_DIV | BPF_K, BPF_REG_0, 0, 1, 2),          /* off 1: signed */
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_0, BPF_REG_0, 32, 0), /* off 32: sign-extending */
        EXIT(),
    };
    return feature_loads(&kprobe_program, instructions, 4);
}

static int feature_loop(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_loop);
}

static int feature_for_each_map(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_for_each_map_elem);
}

static int feature_lookup_percpu(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_map_lookup_percpu_elem);
}

static int feature_ring_buffer(void)
{
    return closed(feature_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (uint32_t)sysconf(_SC_PAGESIZE), -1));
}

static int feature_ring_array_sleepable(void)
{
    int inner = feature_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (uint32_t)sysconf(_SC_PAGESIZE), -1);
    if (inner < 0)
        return inner;
    int outer = feature_map(BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 1, inner);
    close(inner);
    if (outer < 0)
        return outer;
    const struct bpf_insn instructions[] = {
        INSTRUCTION(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
        INSTRUCTION(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, outer),
        INSTRUCTION(0, 0, 0, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
        CALL(BPF_FUNC_map_lookup_elem),
        MOVE_IMMEDIATE(BPF_REG_0, 0),
        EXIT(),
    };
    int answer = feature_loads(&sleepable_program, instructions, 8);
    close(outer);
    return answer;
}

/* Some kernels know it and have no memory to give: from 7.0 on it takes a CPU that exchanges 16 bytes at
 * once. */
static int feature_task_storage(void)
{
    int error = feature_helper(&kprobe_program, BPF_FUNC_task_storage_get);
    int map = error ? -1 : create_task_storage("storage", 8);
    int task = map < 0 ? -1 : (int)syscall(SYS_pidfd_open, getpid(), 0);
    const uint64_t value = 0;
    if (task >= 0 && syscall_map_update(map, &task, &value, BPF_ANY) == -ENOMEM)
        error = -ENOMEM;
    closed(task);
    closed(map);
    return error;
}

static int feature_attach_cookie(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_get_attach_cookie);
}

static int feature_func_ip(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_get_func_ip);
}

static int feature_sleepable_uprobe(void)
{
    const struct bpf_insn instructions[] = {MOVE_IMMEDIATE(BPF_REG_0, 0), EXIT()};
    int error = feature_loads(&sleepable_program, instructions, 2);
    return error ? error : feature_helper(&sleepable_program, BPF_FUNC_copy_from_user);
}

/* Links to places that cannot be: a kernel that knows the kind of link complains about the place (`known`),
 * others about the request. */
static int feature_link(enum bpf_prog_type type, uint32_t expected_attach_type, struct link_create *link,
                        int known)
{
    const struct bpf_insn instructions[] = {MOVE_IMMEDIATE(BPF_REG_0, 0), EXIT()};
    const struct attempt attempt = {.type = type, .expected_attach_type = expected_attach_type};
    int program = feature_load(&attempt, instructions, 2);
    if (program < 0)
        return program;
    link->program = (uint32_t)program;
    int answer = syscall_link_create(link);
    close(program);
    return answer == known ? 0 : closed(answer);
}

static int feature_uprobe_multi(void)
{
    uint64_t offset = 0; /* offset for "/", which is no regular file: EBADF */
    struct link_create link = {.attach_type = ATTACH_UPROBE_MULTI};
    link.uprobe_multi.path = (uintptr_t) "/";
    link.uprobe_multi.offsets = (uintptr_t)&offset;
    link.uprobe_multi.count = 1;
    return feature_link(BPF_PROG_TYPE_KPROBE, ATTACH_UPROBE_MULTI, &link, -EBADF);
}

/* The names are at an address where nothing is: a name, even one that no function has, would be compared with
 * every symbol of the kernel, which takes a tenth of a second in some. */
static int feature_kprobe_multi(void)
{
    struct link_create link = {.attach_type = ATTACH_KPROBE_MULTI};
    link.kprobe_multi.symbols = sizeof(uint64_t);
    link.kprobe_multi.count = 1;
    return feature_link(BPF_PROG_TYPE_KPROBE, ATTACH_KPROBE_MULTI, &link, -EFAULT);
}

static int feature_perf_link(void)
{
    struct link_create link = {.target = (uint32_t)-1, .attach_type = BPF_PERF_EVENT};
    return feature_link(BPF_PROG_TYPE_TRACEPOINT, 0, &link, -EBADF);
}

int features_event_source(const char *name)
{
    char path[128], text[32];
    snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/type", name);
    ssize_t length = whole_read_short(path, text, sizeof text);
    if (length == -EMFILE && syscall_more_descriptors()) /* it is asked for each of many sites */
        length = whole_read_short(path, text, sizeof text);
    if (length < 0)
        return (int)length;
    const char *at = text;
    uint64_t number;
    return number_take(&at, NULL, 10, &number) && number <= INT32_MAX ? (int)number : -EBADMSG;
}

/* Whether one of two files is there: the mount points of a file system. */
static int readable(const char *path, const char *other)
{
    return !access(path, F_OK) || !access(other, F_OK) ? 0 : -errno;
}

static int feature_probe_pmu(void)
{
    int type = features_event_source("uprobe");
    return type < 0 ? type : 0;
}

/* Locked down to confidentiality, the kernel shows no events and takes none. */
static int feature_tracepoint(void)
{
    if (permission_is_locked_down("confidentiality"))
        return -EPERM;
    /* Mounted or not, this directory exists wherever the kernel has tracefs. */
    return readable("/sys/kernel/tracing", "/sys/kernel/debug/tracing");
}

static int feature_trace_events(void)
{
    return feature_tracepoint();
}

static int feature_read_kernel(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_probe_read_kernel);
}

static int feature_kprobe(void)
{
    if (permission_is_locked_down("confidentiality"))
        return -EPERM;
    if (features_event_source("kprobe") >= 0)
        return 0;
    return readable("/sys/kernel/tracing/kprobe_events", "/sys/kernel/debug/tracing/kprobe_events");
}

static int feature_uprobe(void)
{
    if (features_event_source("uprobe") >= 0)
        return 0;
    return readable("/sys/kernel/tracing/uprobe_events", "/sys/kernel/debug/tracing/uprobe_events");
}

/* Type 1 is an integer in every kernel's BTF: what can be attached to by BTF complains about that, in words.
 */
static int feature_tracing(enum bpf_attach_type attach_type)
{
    char log[512] = "";
    const struct bpf_insn instructions[] = {MOVE_IMMEDIATE(BPF_REG_0, 0), EXIT()};
    const struct attempt attempt = {
        .type = BPF_PROG_TYPE_TRACING,
        .expected_attach_type = attach_type,
        .attach_btf_id = 1,
        .log = log,
        .log_size = sizeof log,
    };
    int error = feature_loads(&attempt, instructions, 2);
    return strstr(log, "is not a ") ? 0 : error;
}

/* The number of a function in the kernel's BTF; 0: there is none, or none can be read. */
static uint32_t features_function(const char *name)
{
    struct arena arena = {0};
    jmp_buf out_of_memory;
    struct btf_file *volatile btf = NULL;
    struct btf_file *opened;
    volatile uint32_t id = 0;
    if (!arena_guard(&arena, out_of_memory) && !btf_file_open(NULL, NULL, &arena, &opened)) {
        btf = opened;
        id = btf_file_find_function(opened, name);
    }
    if (btf)
        btf_file_close(btf);
    arena_free(&arena);
    return id;
}

static int feature_tp_btf(void)
{
    return feature_tracing(BPF_TRACE_RAW_TP);
}

static int feature_fentry(void)
{
    return feature_tracing(BPF_TRACE_FENTRY);
}

/* A machine may load such programs and have no way to call them from a function: only attaching shows that. It
 * costs a grace period, so it is left to --info; a trace that attaches one gets the error anyway. Only the kernel's
 * own tests call the function. */
static int feature_fentry_attached(void)
{
    uint32_t function = features_function("bpf_fentry_test1");
    const struct bpf_insn instructions[] = {MOVE_IMMEDIATE(BPF_REG_0, 0), EXIT()};
    const struct attempt attempt = {
        .type = BPF_PROG_TYPE_TRACING,
        .expected_attach_type = BPF_TRACE_FENTRY,
        .attach_btf_id = function,
    };
    int program = function ? feature_load(&attempt, instructions, 2) : -ENOENT;
    if (program < 0)
        return 0; /* nothing speaks against it */
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.raw_tracepoint.prog_fd = (uint32_t)program;
    int error = closed(syscall_bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes, sizeof attributes));
    close(program);
    return error;
}

void features_probe_thoroughly(struct features *features, int errors[FEATURES])
{
    if (features->fentry) {
        errors[FEATURE_fentry] = feature_fentry_attached();
        features->fentry = !errors[FEATURE_fentry];
    }
}

static int feature_iterator(void)
{
    return feature_tracing(BPF_TRACE_ITER);
}

static int feature_btf(void)
{
    return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

static int feature_program_btf(void)
{
    struct { /* int main(void), linkage static */
        struct btf_header header;
        struct btf_type integer;
        uint32_t encoding;
        struct btf_type prototype, function;
        char names[10];
    } __attribute__((packed)) blob = {
        .integer = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
        .encoding = (BTF_INT_SIGNED << 24) | 32,
        .prototype = {.info = BTF_KIND_FUNC_PROTO << 24, .type = 1},
        .function = {.name_off = 5, .info = BTF_KIND_FUNC << 24, .type = 2},
        .names = "\0int\0main",
    };
    return closed(syscall_load_btf(&blob, sizeof blob, sizeof blob.names));
}

/* A function that is verified on its own and reads a context which only a tag makes one. */
static int feature_tagged_context(void)
{
    struct { /* u64 main(void), linkage static; u64 part(u64 *context), linkage global */
        struct btf_header header;
        struct btf_type integer;
        uint32_t encoding;
        struct btf_type pointer, prototype, function, with_context;
        struct btf_param context;
        struct btf_type part, tag;
        uint32_t argument;
        char names[27];
    } __attribute__((packed)) blob = {
        .integer = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 8},
        .encoding = 64,
        .pointer = {.info = BTF_KIND_PTR << 24, .type = 1},
        .prototype = {.info = BTF_KIND_FUNC_PROTO << 24, .type = 1},
        .function = {.name_off = 5, .info = BTF_KIND_FUNC << 24, .type = 3},
        .with_context = {.info = BTF_KIND_FUNC_PROTO << 24 | 1, .type = 1},
        .context = {.name_off = 10, .type = 2},
        .part = {.name_off = 14, .info = BTF_KIND_FUNC << 24 | BTF_FUNC_GLOBAL, .type = 5},
        .tag = {.name_off = 19, .info = (uint32_t)BTF_KIND_DECL_TAG << 24, .type = 6},
        .names = "\0u64\0main\0ctx\0part\0arg:ctx",
    };
    int btf = syscall_load_btf(&blob, sizeof blob, sizeof blob.names);
    if (btf < 0)
        return btf;
    const struct bpf_insn instructions[] = {
        INSTRUCTION(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1),
        EXIT(),
        INSTRUCTION(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_1, 8, 0),
        EXIT(),
    };
    const struct bpf_func_info functions[] = {{.insn_off = 0, .type_id = 4}, {.insn_off = 2, .type_id = 6}};
    const struct attempt attempt = {
        .type = BPF_PROG_TYPE_TRACEPOINT, .btf = btf, .functions = functions, .function_count = 2};
    int error = feature_loads(&attempt, instructions, 4);
    close(btf);
    return error;
}

static int feature_boot_clock(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_ktime_get_boot_ns);
}

static int feature_override_return(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_override_return);
}

static int feature_tai_clock(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_ktime_get_tai_ns);
}

/* Since the kernel has an allocator for them, programs that interrupt anything may use such maps, too. */
static int feature_growing_maps(void)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_HASH;
    attributes.key_size = attributes.value_size = 8;
    attributes.max_entries = 1;
    attributes.map_flags = BPF_F_NO_PREALLOC;
    int map = syscall_bpf(BPF_MAP_CREATE, &attributes, sizeof attributes);
    if (map < 0)
        return map;
    const struct bpf_insn instructions[] = {
        INSTRUCTION(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0),
        INSTRUCTION(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
        INSTRUCTION(0, 0, 0, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
        INSTRUCTION(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -8),
        CALL(BPF_FUNC_map_lookup_elem),
        MOVE_IMMEDIATE(BPF_REG_0, 0),
        EXIT(),
    };
    static const struct attempt interrupting = {.type = BPF_PROG_TYPE_PERF_EVENT};
    int error = feature_loads(&interrupting, instructions, 8);
    if (!error && !feature_sleepable_uprobe())
        error = feature_loads(&sleepable_program, instructions, 8);
    close(map);
    return error;
}

static int feature_jiffies(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_jiffies64);
}

static int feature_cgroup_ancestor(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_get_current_ancestor_cgroup_id);
}

static int feature_cgroup_id(void)
{
    return feature_helper(&kprobe_program, BPF_FUNC_get_current_cgroup_id);
}

static int feature_event(uint32_t type, uint64_t config)
{
    struct perf_event_attr attributes = {
        .type = type,
        .size = sizeof attributes,
        .config = config,
        .disabled = 1,
    };
    return closed(syscall_perf_event_open(&attributes, 0, -1));
}

static int feature_hardware_events(void)
{
    return feature_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

static int feature_perf_events(void)
{
    return feature_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

static int feature_watchpoint(void)
{
    static uint64_t watched;
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_BREAKPOINT,
        .size = sizeof attributes,
        .bp_type = 2, /* HW_BREAKPOINT_W: when it is written */
        .bp_addr = (uintptr_t)&watched,
        .bp_len = sizeof watched,
        .exclude_kernel = 1,
        .disabled = 1,
    };
    return closed(syscall_perf_event_open(&attributes, 0, -1));
}

static int feature_long_keys(void)
{
    return closed(feature_map(BPF_MAP_TYPE_HASH, 520, 8, 1, -1));
}

/* A call without arguments: it is the arguments that are missing, unless the function itself is refused. */
static bool function_allowed(struct attempt attempt, uint32_t function)
{
    char log[1024] = "";
    const struct bpf_insn instructions[] = {
        INSTRUCTION(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int32_t)function),
        MOVE_IMMEDIATE(BPF_REG_0, 0),
        EXIT(),
    };
    attempt.log = log;
    attempt.log_size = sizeof log;
    int fd = feature_load(&attempt, instructions, 3);
    if (fd >= 0)
        close(fd);
    /* What the verifier misses after the call is an argument, or the end of what the function began. */
    return fd >= 0 ||
           (strstr(log, "(85) call") && !strstr(log, "is not allowed") && !strstr(log, "must be sleepable"));
}

bool kernel_function_allowed(uint32_t program_type, uint32_t expected_attach_type, uint32_t attach_btf_id,
                             uint32_t function)
{
    return function_allowed((struct attempt){.type = program_type,
                                             .expected_attach_type = expected_attach_type,
                                             .attach_btf_id = attach_btf_id},
                            function);
}

uint32_t features_kfunc(int64_t number)
{
    char name[64];
    snprintf(name, sizeof name, "bpf_%s", ir_helper_name(number));
    return features_function(name);
}

static int feature_copy_text(void)
{
    int error = feature_sleepable_uprobe();
    if (error)
        return error;
    uint32_t function = features_kfunc(KFUNC_copy_from_user_str);
    return function && function_allowed(sleepable_program, function) ? 0 : -ENOENT;
}

static const struct feature_entry {
    const char *name, *what, *lacks, *instead;
    size_t offset;
    int (*probe)(void);
} feature_table[FEATURES] = {
#define X(feature, what, lacks, instead)                                                                     \
    {#feature, what, lacks, instead, offsetof(struct features, feature), feature_##feature},
    BPF_FEATURES(X)
#undef X
};

static bool *feature_flag(const struct features *features, size_t index)
{
    return (bool *)((char *)features + feature_table[index].offset);
}

/* The number after the last '-' or ',' of "0-3,8-11", plus one. */
static unsigned feature_possible_cpus(void)
{
    char text[4096];
    if (whole_read_short("/sys/devices/system/cpu/possible", text, sizeof text) > 0) {
        const char *last = text;
        for (const char *at = text; *at; at++)
            if (*at == '-' || *at == ',')
                last = at + 1;
        uint64_t number;
        if (number_take(&last, NULL, 10, &number) && number < 1U << 20)
            return (unsigned)number + 1;
    }
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    return configured > 0 ? (unsigned)configured : 1;
}

int features_probe(struct features *features, int errors[FEATURES])
{
    memset(features, 0, sizeof *features);
    features->cpus = features->rings = feature_possible_cpus();
    const struct bpf_insn instructions[] = {MOVE_IMMEDIATE(BPF_REG_0, 0), EXIT()};
    int fd = feature_load(&kprobe_program, instructions, 2);
    if (fd < 0)
        return fd;
    close(fd);
    for (size_t i = 0; i < FEATURES; i++) {
        errors[i] = feature_table[i].probe();
        *feature_flag(features, i) = !errors[i];
    }
    return 0;
}

int features_without(struct features *features, const char *names, struct diagnostics *diagnostics)
{
    const char *at = names ? names : "";
    while (*at) {
        size_t length = strcspn(at, ", ");
        if (length) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1,
                     at);
            struct nearest nearest = {.name = name};
            size_t i = 0;
            for (; i < FEATURES && strcmp(feature_table[i].name, name); i++)
                nearest_offer(&nearest, feature_table[i].name);
            if (i == FEATURES) {
                diagnose_error(diagnostics, (struct span){0}, "Unknown feature '%s'", name);
                if (nearest.best)
                    diagnose_hint(diagnostics, "Did you mean '%s'?", nearest.best);
                else
                    diagnose_hint(diagnostics, "'spoor --info' lists the features.");
                return -EINVAL;
            }
            *feature_flag(features, i) = false;
        }
        at += length;
        at += *at != 0;
    }
    return 0;
}

/* Why there is no such feature: what forbids it, or what it takes. */
static void feature_reason(size_t index, int error, struct text *out)
{
    if (error == -EPERM || error == -EACCES)
        permission_reason(out);
    else if (error == -ENOMEM || error == -EMFILE || error == -ENFILE)
        text_printf(out, "the kernel says: %s", kernel_error(error));
    else
        text_printf(out, "the kernel lacks %s", feature_table[index].lacks);
}

void features_describe(const struct features *used, const int errors[FEATURES], struct text *out)
{
    for (size_t i = 0; i < FEATURES; i++) {
        const struct feature_entry *entry = &feature_table[i];
        text_printf(out, "  %-20s %-3s  %s", entry->name, errors[i] ? "no" : "yes", entry->what);
        if (errors[i]) {
            text_add(out, ": ");
            feature_reason(i, errors[i], out);
        } else if (!*feature_flag(used, i)) {
            text_add(out, " (left out on request)");
        }
        if (!*feature_flag(used, i))
            text_printf(out, "; %s", entry->instead);
        text_char(out, '\n');
    }
}

void features_each_missing(const struct features *used, const int errors[FEATURES],
                           kernel_feature_visitor *visit, void *state)
{
    for (size_t i = 0; i < FEATURES; i++) {
        const struct feature_entry *entry = &feature_table[i];
        struct text why = {0};
        if (*feature_flag(used, i))
            continue;
        feature_reason(i, errors[i], &why);
        visit(state, entry->name, entry->what, text_string(&why), entry->instead);
        text_free(&why);
    }
}

bool features_lacks(const struct features *used, const int errors[FEATURES], const char *name,
                    struct text *out)
{
    for (size_t i = 0; i < FEATURES; i++) {
        if (strcmp(feature_table[i].name, name) != 0 || *feature_flag(used, i))
            continue;
        text_printf(out, "it needs %s; ", feature_table[i].what);
        if (errors[i])
            feature_reason(i, errors[i], out);
        else
            text_add(out, "left out on request");
        return true;
    }
    return false;
}
