/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that generate code and write long lists of its names: generated PROCESSES LINES. That many processes
 * call generated_reached() through such code, each with a list of that many lines, and then wait until this one is
 * told to end. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* void code(void (*call)(void)), with a frame. */
extern const char code_begin[], code_end[];
__asm__(".pushsection .rodata\n"
        "code_begin:\n"
#ifdef __x86_64__
        "push %rbp\n"
        "mov %rsp, %rbp\n"
        "call *%rdi\n"
        "pop %rbp\n"
        "ret\n"
#elif defined __aarch64__
        "stp x29, x30, [sp, #-16]!\n"
        "mov x29, sp\n"
        "blr x0\n"
        "ldp x29, x30, [sp], #16\n"
        "ret\n"
#endif
        "code_end:\n"
        ".popsection\n");

__attribute__((noinline, used)) void generated_reached(void)
{
    __asm__ volatile("" ::: "memory");
}

static void name_of(pid_t pid, char *name, size_t size)
{
    snprintf(name, size, "/tmp/perf-%d.map", (int)pid);
}

static int write_names(const char *name, const char *code, long lines)
{
    FILE *file = fopen(name, "w");
    if (!file)
        return -1;
    for (long i = 1; i < lines; i++)
        fprintf(file, "%lx 10 function_%ld\n", 0x1000 + i * 16, i);
    fprintf(file, "%lx %lx the_generated_one\n", (unsigned long)code, (unsigned long)(code_end - code_begin));
    return fclose(file);
}

int main(int argc, char **argv)
{
    int processes = argc > 1 ? atoi(argv[1]) : 1, signal = 0;
    char name[64], other[64];
    size_t size = (size_t)(code_end - code_begin);
    char *code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigset_t set;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (code == MAP_FAILED)
        return 1;
    memcpy(code, code_begin, size);
    mprotect(code, size, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(code, code + size);
    name_of(getpid(), name, sizeof name);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (write_names(name, code, argc > 2 ? atol(argv[2]) : 1))
        return 1;
    pid_t *children = calloc((size_t)processes, sizeof *children);
    for (int i = 0; children && i < processes; i++)
        if ((children[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            name_of(getpid(), other, sizeof other);
            if (link(name, other))
                return 1;
            ((void (*)(void (*)(void)))code)(generated_reached);
            for (;;)
                pause();
        }
    sigwait(&set, &signal);
    for (int i = 0; children && i < processes; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
        name_of(children[i], other, sizeof other);
        unlink(other);
    }
    unlink(name);
    return 0;
}
