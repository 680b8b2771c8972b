/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter. Every step leads to the next by a jump of its own (threaded code).
 *
 * Each access to memory is one comparison with the piece of memory that programs have. The budget counts
 * steps back and calls: between two of them a program can only go forward, so it bounds the whole. */
#include <errno.h>
#include <string.h>

#include "vm/code.h"
#include "vm/state.h"

#ifndef BPF_FETCH
#define BPF_FETCH 1
#endif

struct frame { /* where a call returns to */
    const struct vm_step *step;
    uint64_t saved[5]; /* r6 to r10 */
};

static uint64_t swap(uint64_t value, unsigned bits)
{
    return bits == 16   ? __builtin_bswap16((uint16_t)value)
           : bits == 32 ? __builtin_bswap32((uint32_t)value)
                        : __builtin_bswap64(value);
}

/* An atomic operation; there is one thread, so nothing more is needed. *old is the value before. False: there is no
 * such operation. */
static bool atomic(uint64_t *value, int64_t operation, uint64_t operand, uint64_t compared, uint64_t old)
{
    switch (operation & ~(int64_t)BPF_FETCH) {
    case BPF_ADD: *value = old + operand; return true;
    case BPF_OR: *value = old | operand; return true;
    case BPF_AND: *value = old & operand; return true;
    case BPF_XOR: *value = old ^ operand; return true;
    case BPF_XCHG & ~BPF_FETCH: *value = operand; return (operation & BPF_FETCH) != 0;
    case BPF_CMPXCHG & ~BPF_FETCH:
        *value = old == compared ? operand : old;
        return (operation & BPF_FETCH) != 0;
    default: return false;
    }
}

static bool atomic_step(struct vm *vm, const struct vm_step *step, uint64_t *r, unsigned size)
{
    void *at = vm_at(vm, r[step->to] + (uint64_t)(int64_t)step->offset, size);
    uint64_t old = 0, value = 0;
    if (!at)
        return false;
    memcpy(&old, at, size); /* little-endian, as every machine that we know */
    uint64_t mask = size == 4 ? UINT32_MAX : UINT64_MAX;
    if (!atomic(&value, step->immediate, r[step->from] & mask, r[0] & mask, old))
        return false;
    memcpy(at, &value, size);
    if (step->immediate == BPF_CMPXCHG)
        r[0] = old;
    else if (step->immediate & BPF_FETCH && step->from != BPF_REG_10)
        r[step->from] = old;
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): a label for each instruction */
uint64_t vm_execute(struct vm *vm, uint32_t first, const uint64_t arguments[VM_ARGUMENTS])
{
    static const void *const labels[VM_CODES] = {
#define X(name) [VM_##name] = &&do_##name,
        VM_OTHERS(X) VM_JOINED(X)
#undef X
#define X(name, operation, result)                                                                           \
    [VM_##name##64K] = &&do_##name##64K, [VM_##name##64X] = &&do_##name##64X,                                \
    [VM_##name##32K] = &&do_##name##32K, [VM_##name##32X] = &&do_##name##32X,
            VM_ARITHMETIC(X) VM_SIGNED_ARITHMETIC(X) VM_JUMPS(X)
#undef X
#define X(name, type) [VM_##name] = &&do_##name,
                VM_LOADS(X)
#undef X
#define X(name, type) [VM_##name##K] = &&do_##name##K, [VM_##name##X] = &&do_##name##X,
                    VM_STORES(X)
#undef X
#define X(name, type) [VM_##name##_64] = &&do_##name##_64, [VM_##name##_32] = &&do_##name##_32,
                        VM_EXTENSIONS(X)
#undef X
    };
    const struct vm_step *const steps = vm->program->steps, *step = steps + first;
    uint8_t *const memory = vm->memory;
    const uint64_t base = (uint64_t)(uintptr_t)memory, size = vm->size;
    struct frame frames[VM_FRAMES];
    const unsigned depth = vm->depth;
    uint64_t r[VM_REGISTERS], at;
    if (depth >= VM_FRAMES) {
        vm->stopped = -ELOOP;
        return 0;
    }
    /* One by one: an initializer becomes an instruction that takes as long as some steps. */
    r[BPF_REG_0] = r[BPF_REG_6] = r[BPF_REG_7] = r[BPF_REG_8] = r[BPF_REG_9] = 0;
    memcpy(r + BPF_REG_1, arguments, VM_ARGUMENTS * sizeof *r);
    r[BPF_REG_10] = (uint64_t)(uintptr_t)vm->frames + (uint64_t)(depth + 1) * VM_FRAME_BYTES;
    vm->depth++;

#define GO goto *labels[step->code]
#define NEXT                                                                                                 \
    do {                                                                                                     \
        step++;                                                                                              \
        GO;                                                                                                  \
    } while (0)
#define JUMP                                                                                                 \
    do {                                                                                                     \
        if (step->offset <= 0 && !--vm->left)                                                                \
            goto exhausted;                                                                                  \
        step += step->offset;                                                                                \
        GO;                                                                                                  \
    } while (0)
/* The size of memory is more than any access: no overflow. */
#define ACCESS(reg, bytes)                                                                                   \
    do {                                                                                                     \
        at = r[reg] + (uint64_t)(int64_t)step->offset - base;                                                \
        if (__builtin_expect(at > size - (bytes), 0))                                                        \
            goto fault;                                                                                      \
    } while (0)

    GO;

#define FORM(name, form, unsigned_type, signed_type, bits, operand, result)                                  \
    do_##name##form:                                                                                         \
    {                                                                                                        \
        typedef unsigned_type T;                                                                             \
        typedef signed_type S __attribute__((unused));                                                       \
        enum { BITS __attribute__((unused)) = bits };                                                        \
        const T a = (T)r[step->to], b = (T)(operand);                                                        \
        r[step->to] = (T)(result);                                                                           \
        NEXT;                                                                                                \
    }
#define X(name, operation, result)                                                                           \
    FORM(name, 64K, uint64_t, int64_t, 64, step->immediate, result)                                          \
    FORM(name, 64X, uint64_t, int64_t, 64, r[step->from], result)                                            \
    FORM(name, 32K, uint32_t, int32_t, 32, step->immediate, result)                                          \
    FORM(name, 32X, uint32_t, int32_t, 32, r[step->from], result)
    VM_ARITHMETIC(X)
    VM_SIGNED_ARITHMETIC(X)
#undef X
#undef FORM

#define FORM(name, form, unsigned_type, signed_type, operand, condition)                                     \
    do_##name##form:                                                                                         \
    {                                                                                                        \
        typedef signed_type S __attribute__((unused));                                                       \
        const unsigned_type a = (unsigned_type)r[step->to], b = (unsigned_type)(operand);                    \
        if (condition)                                                                                       \
            JUMP;                                                                                            \
        NEXT;                                                                                                \
    }
#define X(name, operation, condition)                                                                        \
    FORM(name, 64K, uint64_t, int64_t, step->immediate, condition)                                           \
    FORM(name, 64X, uint64_t, int64_t, r[step->from], condition)                                             \
    FORM(name, 32K, uint32_t, int32_t, step->immediate, condition)                                           \
    FORM(name, 32X, uint32_t, int32_t, r[step->from], condition)
    VM_JUMPS(X)
#undef X
#undef FORM

#define X(name, type)                                                                                        \
    do_##name:                                                                                               \
    {                                                                                                        \
        type value;                                                                                          \
        ACCESS(step->from, sizeof value);                                                                    \
        memcpy(&value, memory + at, sizeof value);                                                           \
        r[step->to] = (uint64_t)(int64_t)value;                                                              \
        NEXT;                                                                                                \
    }
    VM_LOADS(X)
#undef X

#define X(name, type)                                                                                        \
    do_##name##K:                                                                                            \
    {                                                                                                        \
        const type value = (type)step->immediate;                                                            \
        ACCESS(step->to, sizeof value);                                                                      \
        memcpy(memory + at, &value, sizeof value);                                                           \
        NEXT;                                                                                                \
    }                                                                                                        \
    do_##name##X:                                                                                            \
    {                                                                                                        \
        const type value = (type)r[step->from];                                                              \
        ACCESS(step->to, sizeof value);                                                                      \
        memcpy(memory + at, &value, sizeof value);                                                           \
        NEXT;                                                                                                \
    }
    VM_STORES(X)
#undef X

#define X(name, type)                                                                                        \
    do_##name##_64 : r[step->to] = (uint64_t)(int64_t)(type)r[step->from];                                   \
    NEXT;                                                                                                    \
    do_##name##_32 : r[step->to] = (uint32_t)(int32_t)(type)r[step->from];                                   \
    NEXT;
    VM_EXTENSIONS(X)
#undef X

do_WIDE:
    r[step->to] = (uint64_t)step->immediate;
    step += 2;
    GO;
do_WIDE_ADDRESS:
    r[step->to] = (uint64_t)step->immediate;
    r[step[2].to] = r[step->from] + (uint64_t)(int64_t)step->offset;
    step += 4;
    GO;
do_ADDRESS:
    r[step->to] = r[step->from] + (uint64_t)step->immediate;
    step += 2;
    GO;
do_COPY64 : {
    uint64_t value;
    ACCESS(step->from, sizeof value);
    memcpy(&value, memory + at, sizeof value);
    r[step->to] = value;
    at = r[step->immediate >> 32] + (uint64_t)(int64_t)(int32_t)step->immediate - base;
    if (__builtin_expect(at > size - sizeof value, 0))
        goto fault;
    memcpy(memory + at, &value, sizeof value);
    step += 2;
    GO;
}
do_ADD_MEMORY64 : {
    uint64_t value;
    ACCESS(step->from, sizeof value);
    memcpy(&value, memory + at, sizeof value);
    r[step->to] = value += (uint64_t)step->immediate;
    memcpy(memory + at, &value, sizeof value);
    step += 3;
    GO;
}
do_LOOKUP : {
    struct vm_map *map = vm_map_of(vm, r[BPF_REG_1]);
    const void *key = map ? vm_at(vm, r[BPF_REG_2], map->key_size) : NULL;
    if (!--vm->left)
        goto exhausted;
    if (__builtin_expect(!key, 0))
        goto fault;
    r[0] = map->is_ring ? VM_HANDLE_RING : (uint64_t)(uintptr_t)vm_map_find(map, key);
    NEXT;
}
do_RETURN:
    r[0] = (uint64_t)step->immediate;
    goto do_EXIT;
do_NEG64:
    r[step->to] = -r[step->to];
    NEXT;
do_NEG32:
    r[step->to] = (uint32_t)-r[step->to];
    NEXT;
do_SWAP16:
    r[step->to] = swap(r[step->to], 16);
    NEXT;
do_SWAP32:
    r[step->to] = swap(r[step->to], 32);
    NEXT;
do_SWAP64:
    r[step->to] = swap(r[step->to], 64);
    NEXT;
do_LOW16:
    r[step->to] = (uint16_t)r[step->to];
    NEXT;
do_LOW32:
    r[step->to] = (uint32_t)r[step->to];
    NEXT;
do_LOW64:
    NEXT;
do_ATOMIC32:
    if (!atomic_step(vm, step, r, 4))
        goto fault;
    NEXT;
do_ATOMIC64:
    if (__builtin_expect(step->immediate == BPF_ADD, 1)) { /* nearly always this is an addition */
        uint64_t value;
        ACCESS(step->to, sizeof value);
        memcpy(&value, memory + at, sizeof value);
        value += r[step->from];
        memcpy(memory + at, &value, sizeof value);
        NEXT;
    }
    if (!atomic_step(vm, step, r, 8))
        goto fault;
    NEXT;
do_JUMP:
    JUMP;
do_HELPER:
    if (!--vm->left)
        goto exhausted;
    r[0] = ((vm_helper *)(uintptr_t)step->immediate)(vm, r[1], r[2], r[3], r[4], r[5]);
    if (__builtin_expect(vm->stopped, 0))
        goto stopped;
    NEXT;
do_CALL:
    if (!--vm->left || vm->depth >= VM_FRAMES)
        goto exhausted;
    frames[vm->depth].step = step;
    memcpy(frames[vm->depth].saved, r + BPF_REG_6, sizeof frames[0].saved);
    vm->depth++;
    r[BPF_REG_10] += VM_FRAME_BYTES;
    step += step->offset;
    GO;
do_EXIT:
    vm->depth--;
    if (vm->depth == depth)
        return r[0];
    step = frames[vm->depth].step;
    memcpy(r + BPF_REG_6, frames[vm->depth].saved, sizeof frames[0].saved);
    NEXT;
do_BAD:
    vm->stopped = -EINVAL;
    goto stopped;
fault:
    vm->stopped = -EFAULT;
    goto stopped;
exhausted:
    vm->stopped = -ELOOP;
stopped:
    if (vm->stopped_at == UINT32_MAX)
        vm->stopped_at = (uint32_t)(step - steps);
    vm->depth = depth;
    return 0;
#undef GO
#undef NEXT
#undef JUMP
#undef ACCESS
}

int vm_run(struct vm *vm, size_t program, struct span *at)
{
    if (program >= vm->program_count || !vm->programs[program].steps)
        return -EINVAL;
    vm->program = &vm->programs[program];
    vm->left = vm->budget;
    vm->depth = 0;
    vm->stopped = 0;
    vm->stopped_at = UINT32_MAX;
    vm->reserved = UINT64_MAX;
    vm_execute(vm, 0, (const uint64_t[VM_ARGUMENTS]){(uint64_t)(uintptr_t)vm->context});
    if (vm->stopped && at)
        *at = vm_span(vm->program->image, vm->stopped_at);
    return vm->stopped;
}

const char *vm_error(int error)
{
    switch (-error) {
    case EFAULT: return "it touched memory that is not its own";
    case ELOOP: return "it did not come to its end";
    default: return "its instructions make no sense";
    }
}
