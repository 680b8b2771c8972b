/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out which instructions a piece of code executes, and interrupts it at one of them, as a signal does.
 *
 * On x86-64 the trap flag raises SIGTRAP after each instruction, which shows once what is executed. A breakpoint
 * then interrupts at one instruction, without a trap for each that comes before. An instruction is identified by
 * its address and by how many times it was executed.
 * On aarch64, where programs have no such flag, only the section steps_text is examined: a breakpoint at every
 * instruction of it raises SIGTRAP when it is executed for the first time. Later executions, of which there are
 * few, are not interrupted.
 * Only for one thread at a time. */
#ifndef TESTS_RECORDER_STEPS_H
#define TESTS_RECORDER_STEPS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STEPS_MAX = 20000 };

struct steps_trace {
    unsigned count;
    uintptr_t at[STEPS_MAX];
    unsigned times[STEPS_MAX]; /* executions of this instruction so far, this one included */
    void (*each)(void);        /* called before every instruction of the program itself, if not NULL: not of
                                   libraries; the kernel's code for clocks would never end. Only x86-64 */
};

struct steps {
    uintptr_t at;
    unsigned times;            /* before which execution of the instruction to interrupt */
    void (*interrupt)(void *); /* called once */
    void *context;
    bool done;          /* it was interrupted */
    bool stepping_over; /* an execution before the one at which to interrupt */
    uint32_t instruction;
};

static struct steps *volatile steps_now;

static void steps_interrupt(struct steps *steps)
{
    steps->done = true;
    steps_now = NULL;
    steps->interrupt(steps->context);
}

#if defined(__x86_64__)

enum { STEPS_TRAP_FLAG = 0x100, STEPS_BREAKPOINT = 0xcc };
#define STEPS_CODE

extern const char __executable_start[], etext[]; /* defined by the linker */

static struct steps_trace *volatile steps_traced;

static uint32_t steps_put(uintptr_t at, uint32_t instruction)
{
    const uint32_t before = *(volatile uint8_t *)at;
    *(volatile uint8_t *)at = (uint8_t)instruction;
    return before;
}

static void steps_on_trap(int number, siginfo_t *information, void *context)
{
    (void)number, (void)information;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct steps *steps = steps_now;
    struct steps_trace *trace = steps_traced;
    if (trace != NULL) {
        if (trace->count < STEPS_MAX)
            trace->at[trace->count++] = (uintptr_t)registers[REG_RIP];
        if (trace->each != NULL && registers[REG_RIP] >= (greg_t)__executable_start &&
            registers[REG_RIP] < (greg_t)etext)
            trace->each();
        return;
    }
    if (steps == NULL || steps->stepping_over) {
        registers[REG_EFL] &= ~STEPS_TRAP_FLAG;
        if (steps != NULL) {
            steps->stepping_over = false;
            steps_put(steps->at, STEPS_BREAKPOINT);
        }
        return;
    }
    steps_put(steps->at, steps->instruction);
    registers[REG_RIP] = (greg_t)steps->at;
    if (--steps->times > 0) {
        steps->stepping_over = true;
        registers[REG_EFL] |= STEPS_TRAP_FLAG;
        return;
    }
    steps_interrupt(steps);
}

static inline bool steps_matters(uintptr_t at)
{
    (void)at;
    return true;
}

static void steps_prepare(void)
{
}

/* Makes an instruction writable, before it is changed. False: that is not possible, because it is the kernel's own
 * code. */
static bool steps_may_change(uintptr_t at)
{
    return mprotect((void *)(at & ~(uintptr_t)4095), 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
}

/* Finds out what `run` executes. */
static __attribute__((noinline)) void steps_trace(struct steps_trace *trace, void (*run)(void *),
                                                  void *context)
{
    trace->count = 0;
    steps_traced = trace;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | STEPS_TRAP_FLAG);
    run(context);
    steps_traced = NULL; /* the next trap ends the tracing */
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(unsigned long long)STEPS_TRAP_FLAG);
    for (unsigned i = 0; i < trace->count; i++) {
        trace->times[i] = 1;
        for (unsigned before = i; before-- > 0 && trace->times[i] == 1;)
            if (trace->at[before] == trace->at[i])
                trace->times[i] = trace->times[before] + 1;
    }
}

#else

enum { STEPS_BREAKPOINT = (int)0xd4200000 };
#define STEPS_CODE __attribute__((section("steps_text")))

extern uint32_t __start_steps_text[], __stop_steps_text[]; /* defined by the linker */

static struct steps_trace *volatile steps_traced;
static uint32_t steps_originals[STEPS_MAX]; /* the instructions of the whole section, while it is traced */

static uint32_t steps_put(uintptr_t at, uint32_t instruction)
{
    const uint32_t before = *(volatile uint32_t *)at;
    *(volatile uint32_t *)at = instruction;
    __builtin___clear_cache((char *)at, (char *)at + 4);
    return before;
}

static void steps_on_trap(int number, siginfo_t *information, void *context)
{
    (void)number, (void)information;
    struct steps *steps = steps_now;
    struct steps_trace *trace = steps_traced;
    if (trace != NULL) {
        uint32_t *const at = (uint32_t *)((ucontext_t *)context)->uc_mcontext.pc;
        steps_put((uintptr_t)at, steps_originals[at - __start_steps_text]);
        trace->times[trace->count] = 1;
        trace->at[trace->count++] = (uintptr_t)at;
        return;
    }
    steps_put(steps->at, steps->instruction);
    steps_interrupt(steps);
}

/* Whether a handler before this instruction may have another effect than before the next one: if it reads or writes
 * memory that others see, which is all but the function's own frame, or the counter. */
static inline bool steps_matters(uintptr_t at)
{
    const uint32_t instruction = *(const uint32_t *)at;
    const bool is_memory = (instruction & 0x0a000000) == 0x08000000, is_frame = (instruction >> 5 & 31) == 31;
    const bool is_system = instruction >> 22 == 0xd5000000 >> 22;
    const bool is_call = instruction >> 26 == 0x94000000 >> 26 || (instruction & 0xfffffc1f) == 0xd63f0000;
    return (is_memory && !is_frame) || is_system || is_call;
}

static void steps_prepare(void)
{
    const uintptr_t begin = (uintptr_t)__start_steps_text & ~(uintptr_t)4095;
    mprotect((void *)begin, (uintptr_t)__stop_steps_text - begin, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static bool steps_may_change(uintptr_t at)
{
    return at >= (uintptr_t)__start_steps_text && at < (uintptr_t)__stop_steps_text;
}

static void steps_trace(struct steps_trace *trace, void (*run)(void *), void *context)
{
    size_t count = (size_t)(__stop_steps_text - __start_steps_text);
    if (count > STEPS_MAX)
        count = STEPS_MAX;
    for (size_t i = 0; i < count; i++) {
        steps_originals[i] = __start_steps_text[i];
        __start_steps_text[i] = (uint32_t)STEPS_BREAKPOINT;
    }
    __builtin___clear_cache((char *)__start_steps_text, (char *)(__start_steps_text + count));
    trace->count = 0;
    steps_traced = trace;
    run(context);
    steps_traced = NULL;
    for (size_t i = 0; i < count; i++)
        __start_steps_text[i] = steps_originals[i];
    __builtin___clear_cache((char *)__start_steps_text, (char *)(__start_steps_text + count));
}

#endif

/* To be called once, before the other functions. The code of a handler is traced and interrupted, too: hence
 * SA_NODEFER. */
static void steps_begin(void)
{
    struct sigaction action = {.sa_sigaction = steps_on_trap,
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTRAP, &action, NULL);
    steps_prepare();
}

/* Calls `run`, and interrupts it at steps->at, if it gets there. */
static __attribute__((noinline)) void steps_run(struct steps *steps, void (*run)(void *), void *context)
{
    steps->done = steps->stepping_over = false;
    if (!steps_may_change(steps->at)) {
        run(context);
        return;
    }
    steps_now = steps;
    steps->instruction = steps_put(steps->at, STEPS_BREAKPOINT);
    run(context);
    steps_now = NULL;
    if (!steps->done)
        steps_put(steps->at, steps->instruction);
}

#endif
