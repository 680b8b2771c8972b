/* SPDX-License-Identifier: BSD-3-Clause */
/* What others have loaded into the kernel and we attach to: BPF programs, by id, and modules' BTF, by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/state.h"
#include "kernel/syscalls.h"
#include "sym/kernel/btf.h"

enum { LARGEST_BTF = 64 << 20 };

/* A descriptor of the object with the id; or, for a command ..._GET_NEXT_ID, the id after it. */
static int object_by_id(enum bpf_cmd command, uint32_t id, uint32_t *next)
{
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.start_id = id; /* the same word as prog_id and btf_id */
    int answer = syscall_bpf(command, &attributes, sizeof attributes);
    if (next)
        *next = attributes.next_id;
    return answer;
}

int object_open_program(uint32_t id)
{
    return object_by_id(BPF_PROG_GET_FD_BY_ID, id, NULL);
}

int object_open_module(const char *module)
{
    for (uint32_t id = 0; !object_by_id(BPF_BTF_GET_NEXT_ID, id, &id);) {
        char name[64] = "";
        struct bpf_btf_info information;
        memset(&information, 0, sizeof information);
        information.name = (uintptr_t)name;
        information.name_len = sizeof name;
        int fd = object_by_id(BPF_BTF_GET_FD_BY_ID, id, NULL);
        if (fd < 0)
            continue;
        if (!syscall_object_info(fd, &information, sizeof information) && information.kernel_btf &&
            !strcmp(name, module))
            return fd;
        close(fd);
    }
    return -ENOENT;
}

/* The bytes of a program's BTF; NULL: it has none. */
static void *program_btf(uint32_t id, size_t *size)
{
    struct bpf_btf_info information;
    memset(&information, 0, sizeof information);
    int fd = id ? object_by_id(BPF_BTF_GET_FD_BY_ID, id, NULL) : -ENOENT;
    if (fd < 0)
        return NULL;
    void *bytes = NULL;
    if (!syscall_object_info(fd, &information, sizeof information) && information.btf_size &&
        information.btf_size <= LARGEST_BTF && (bytes = malloc(information.btf_size))) {
        *size = information.btf_size;
        memset(&information, 0, sizeof information);
        information.btf = (uintptr_t)bytes;
        information.btf_size = (uint32_t)*size;
        if (syscall_object_info(fd, &information, sizeof information) || information.btf_size < *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    close(fd);
    return bytes;
}

struct program_names {
    const char *first; /* the name of the function whose BTF id is `id`; NULL: not found yet */
    uint32_t id;
};

static int program_name(void *state, const char *name, uint32_t id)
{
    struct program_names *names = state;
    if (id != names->id)
        return 0;
    names->first = name;
    return 1;
}

struct program_bytes {
    uint32_t id;
    void *btf;
    size_t size;
};

static int program_report(const struct program_bytes *program, uint32_t function, struct arena *arena,
                          kernel_program_visitor *visit, void *state)
{
    struct btf_file *file;
    struct program_names names = {.id = function};
    if (btf_file_open_memory(program->btf, program->size, NULL, arena, &file))
        return 0;
    btf_file_each_function(file, NULL, program_name, &names);
    int result = names.first ? visit(state, &(struct kernel_bpf_program){program->id, names.first,
                                                                         program->btf, program->size})
                             : 0;
    btf_file_close(file);
    return result;
}

static int program_guarded(const struct program_bytes *program, uint32_t function,
                           kernel_program_visitor *visit, void *state)
{
    struct arena arena = {0};
    jmp_buf out_of_memory;
    if (arena_guard(&arena, out_of_memory)) {
        arena_free(&arena);
        return -ENOMEM;
    }
    int result = program_report(program, function, &arena, visit, state);
    arena_free(&arena);
    return result;
}

/* What a program is called is cut at 15 characters; its BTF has the whole name of its first function. */
static int program_visit(int fd, uint32_t id, kernel_program_visitor *visit, void *state)
{
    struct bpf_prog_info information;
    struct bpf_func_info function = {0};
    memset(&information, 0, sizeof information);
    information.func_info = (uintptr_t)&function;
    information.func_info_rec_size = sizeof function;
    information.nr_func_info = 1;
    if (syscall_object_info(fd, &information, sizeof information) || !information.nr_func_info)
        return 0;
    struct program_bytes program = {.id = id};
    program.btf = program_btf(information.btf_id, &program.size);
    int result = program.btf ? program_guarded(&program, function.type_id, visit, state) : 0;
    free(program.btf);
    return result;
}

int kernel_each_bpf_program(kernel_program_visitor *visit, void *state)
{
    int result = 0, answer = 0;
    for (uint32_t id = 0; !result && !(answer = object_by_id(BPF_PROG_GET_NEXT_ID, id, &id));) {
        int fd = object_open_program(id);
        if (fd < 0)
            continue; /* the program was unloaded meanwhile */
        result = program_visit(fd, id, visit, state);
        close(fd);
    }
    return result ? result : answer == -ENOENT ? 0 : answer;
}
