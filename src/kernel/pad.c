/* SPDX-License-Identifier: BSD-3-Clause */
/* See pad.h. The proof: a child calls the stub, with a probe at one pad after the other, and looks after each
 * hit whether everything around the call is as it was. A program counts the hits and adds up an argument. A
 * pad is good if every hit was counted, every argument seen, nothing changed, and the kernel has put
 * something else than a trap there. A kernel does that to one of the longer pads at most; the 5-byte one is
 * tried first, because refusing a probe, as many kernels do at the other, takes them 30 ms.
 *
 * Invariant: whatever a pad does to the child, we learn of it or stop waiting, and the first nop remains. */
#include "kernel/pad.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spoor/probe.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/machine/machine.h"

const struct pad_form pad_forms[PADS] = {
    [PAD_NOP1] = {"1-byte nop", 0, 1, {0x90}},
    [PAD_NOP5] = {"5-byte nop", 1, 5, {0x0f, 0x1f, 0x44}},
    [PAD_NOP10] = {"10-byte nop", 6, 10, {0x66, 0x2e, 0x0f, 0x1f, 0x84}},
};

bool pad_found(const uint8_t *code, size_t size)
{
    for (size_t i = 0; i < PADS; i++) {
        const struct pad_form *form = &pad_forms[i];
        if (size < (size_t)form->offset + form->size ||
            memcmp(code + form->offset, form->bytes, form->size) != 0)
            return false;
    }
    return true;
}

void pad_proof_close(struct pad_proof *proof)
{
    for (unsigned i = 0; i < proof->count; i++)
        close(proof->fds[i]);
    proof->count = 0;
}

#if defined(__x86_64__)

SPOOR_PROBE_DECLARE(spoor, pad, (uint64_t, number), (uint64_t, check));

enum { HITS = 16, PATIENCE = 1000 /* ms */, STUB_BYTES = 64, TRAP = 0xcc };

struct pad_stub {
    const char *path;
    const uint8_t *code; /* code of the first pad */
    uint64_t offset;     /* in the file */
};

struct pad_answer {
    bool is_intact;
    uint8_t found[PADS]; /* what each pad begins with now */
};

/* ---- where our own stub is ---- */

static int stub_locate(struct dl_phdr_info *object, size_t size, void *state)
{
    struct pad_stub *stub = state;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr, at = (uintptr_t)stub->code;
        if (segment->p_type != PT_LOAD || at < start || at - start >= segment->p_filesz)
            continue;
        stub->offset = at - start + segment->p_offset;
        stub->path = object->dlpi_name && object->dlpi_name[0] ? object->dlpi_name : "/proc/self/exe";
        return 1;
    }
    return 0;
}

static bool stub_find(struct pad_stub *stub)
{
    const uint8_t *code = (const uint8_t *)(uintptr_t)spoor_stub_spoor_pad;
    *stub = (struct pad_stub){0};
    for (size_t i = 0; i < STUB_BYTES && !stub->code; i++)
        if (pad_found(code + i, PADS_BYTES))
            stub->code = code + i;
    return stub->code && dl_iterate_phdr(stub_locate, stub) == 1;
}

/* ---- the child ---- */

static __attribute__((noinline)) bool pad_call(void)
{
    volatile uint64_t around[32];
    const size_t count = sizeof around / sizeof around[0];
    bool is_intact = true;
    for (uint64_t hit = 1; hit <= HITS; hit++) {
        for (size_t i = 0; i < count; i++)
            around[i] = hit << 32 | i;
        spoor_stub_spoor_pad(hit, ~hit);
        for (size_t i = 0; i < count; i++)
            is_intact &= around[i] == (hit << 32 | i);
    }
    return is_intact;
}

static void pad_child(const struct pad_stub *stub, int orders, int answers)
{
    char order;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(orders, &order, 1) == 1) {
        struct pad_answer answer = {.is_intact = pad_call()};
        for (size_t i = 0; i < PADS; i++)
            answer.found[i] = *(const volatile uint8_t *)(stub->code + pad_forms[i].offset);
        if (write(answers, &answer, sizeof answer) != sizeof answer)
            break;
    }
    _exit(0);
}

/* ---- a program for each pad, because all that were tried stay: counts hits, adds up the first argument ----
 */

struct pad_tally {
    uint64_t hits, sum;
};

static int pad_map(void)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = 4;
    attributes.value_size = PADS * sizeof(struct pad_tally);
    attributes.max_entries = 1;
    return syscall_bpf(BPF_MAP_CREATE, &attributes, sizeof attributes);
}

static int pad_program(int map, enum pad pad)
{
    struct machine_register argument;
    if (!machine_register_named(machine_here(), "di", &argument))
        return -ENOTSUP;
    const struct bpf_insn instructions[] = {
        {.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 2, .src_reg = 1, .off = (int16_t)argument.offset},
        {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map},
        {.imm = (int32_t)(pad * sizeof(struct pad_tally))},
        {.code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 1, .src_reg = 2, .off = 8, .imm = BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 1},
        {.code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 1, .src_reg = 2, .imm = BPF_ADD},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = BPF_PROG_TYPE_KPROBE;
    attributes.expected_attach_type = ATTACH_UPROBE_MULTI;
    attributes.insns = (uintptr_t)instructions;
    attributes.insn_cnt = sizeof instructions / sizeof instructions[0];
    attributes.license = (uintptr_t) "GPL";
    return syscall_program_load(&attributes);
}

/* ---- the proof ---- */

struct pad_trial {
    struct pad_stub stub;
    int map, orders, answers; /* `orders` and `answers`: this process's ends of the sockets to the child */
    pid_t child;
};

static int pad_attach(const struct pad_trial *trial, int program, enum pad pad)
{
    uint64_t offset = trial->stub.offset + pad_forms[pad].offset;
    struct link_create link = {.program = (uint32_t)program, .attach_type = ATTACH_UPROBE_MULTI};
    link.uprobe_multi.path = (uintptr_t)trial->stub.path;
    link.uprobe_multi.offsets = (uintptr_t)&offset;
    link.uprobe_multi.count = 1;
    link.uprobe_multi.pid = (uint32_t)trial->child;
    return syscall_link_create(&link);
}

/* Lets the child call the stub. False: it did not come back. */
static bool pad_ask(const struct pad_trial *trial, struct pad_answer *answer)
{
    struct pollfd wait = {.fd = trial->answers, .events = POLLIN};
    int ready;
    if (send(trial->orders, "", 1, MSG_NOSIGNAL) != 1) /* the child may be gone */
        return false;
    do
        ready = poll(&wait, 1, PATIENCE);
    while (ready < 0 && errno == EINTR);
    return ready == 1 && read(trial->answers, answer, sizeof *answer) == sizeof *answer;
}

/* Tries one pad. Returns NULL when it is good, else why it is not. */
static const char *pad_try(struct pad_trial *trial, enum pad pad, struct pad_proof *proof)
{
    static const uint32_t key;
    struct pad_tally tallies[PADS];
    struct pad_answer answer;
    int program = pad_program(trial->map, pad);
    if (program < 0)
        return "hits cannot be counted";
    proof->fds[proof->count++] = program;
    int link = pad_attach(trial, program, pad);
    if (link < 0)
        return "the kernel refuses it";
    proof->fds[proof->count++] = link;
    if (!pad_ask(trial, &answer)) {
        kill(trial->child, SIGKILL); /* the child did something unexpected, and is not asked again */
        return "it harms the program";
    }
    if (syscall_map_lookup(trial->map, &key, tallies))
        return "hits cannot be counted";
    if (!answer.is_intact)
        return "it harms the program";
    if (tallies[pad].hits != HITS)
        return "hits are missing";
    if (tallies[pad].sum != (uint64_t)HITS * (HITS + 1) / 2)
        return "arguments are wrong there";
    return answer.found[pad] == TRAP ? "it costs a trap too" : NULL;
}

static bool pad_start(struct pad_trial *trial, struct pad_proof *proof)
{
    int orders[2], answers[2];
    trial->map = pad_map();
    if (trial->map < 0)
        return false;
    proof->fds[proof->count++] = trial->map;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders))
        return false;
    if (pipe2(answers, O_CLOEXEC)) {
        close(orders[0]), close(orders[1]);
        return false;
    }
    trial->child = fork();
    if (trial->child == 0) {
        close(orders[1]), close(answers[0]);
        pad_child(&trial->stub, orders[0], answers[1]);
    }
    close(orders[0]), close(answers[1]);
    trial->orders = orders[1];
    trial->answers = answers[0];
    if (trial->child > 0)
        return true;
    close(trial->orders), close(trial->answers);
    return false;
}

void pad_prove(struct pad_proof *proof)
{
    struct pad_trial trial = {0};
    *proof = (struct pad_proof){.pad = PAD_NOP1};
    proof->why[PAD_NOP10] = proof->why[PAD_NOP5] = "it could not be tried";
    if (stub_find(&trial.stub) && pad_start(&trial, proof)) {
        for (enum pad pad = PAD_NOP5; pad < PADS && proof->pad == PAD_NOP1; pad++) {
            proof->why[pad] = pad_try(&trial, pad, proof);
            if (!proof->why[pad])
                proof->pad = pad;
        }
        close(trial.orders), close(trial.answers);
        if (proof->pad == PAD_NOP1)
            kill(trial.child, SIGKILL);
        while (waitpid(trial.child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (proof->pad == PAD_NOP5)
        proof->why[PAD_NOP10] = NULL;
}

#else

void pad_prove(struct pad_proof *proof)
{
    *proof = (struct pad_proof){.pad = PAD_NOP1};
}

#endif

enum pad kernel_pad(struct kernel *kernel)
{
    if (kernel->pad_is_known || !kernel->host.features.uprobe_multi)
        return kernel->pad;
    struct pad_proof proof;
    pad_prove(&proof);
    kernel->pad = proof.pad;
    kernel->pad_is_known = true;
    struct attachment *attachment = attachment_new(kernel);
    if (!attachment) {
        pad_proof_close(&proof);
        return kernel->pad;
    }
    for (unsigned i = 0; i < proof.count; i++)
        attachment_add(attachment, proof.fds[i]);
    struct text text = {0};
    text_printf(&text, "declared USDT probes stand at the %s", pad_forms[proof.pad].name);
    for (enum pad pad = PADS; pad-- > PAD_NOP1;)
        if (proof.why[pad])
            text_printf(&text, "; %s: %s", pad_forms[pad].name, proof.why[pad]);
    attachment_describe(attachment, "%s", text_string(&text));
    text_free(&text);
    return kernel->pad;
}
