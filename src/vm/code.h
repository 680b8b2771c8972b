/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps that the interpreter knows, as lists: decode.c makes numbers of them, run.c code. */
#ifndef SPOOR_VM_CODE_H
#define SPOOR_VM_CODE_H

/* name, eBPF's operation, what it makes of a and b: of type T, signed S, with BITS bits. Each has four forms:
 * of 64 and 32 bits, with an immediate (K) or a register (X). */
#define VM_ARITHMETIC(X)                                                                                     \
    X(ADD, BPF_ADD, a + b)                                                                                   \
    X(SUB, BPF_SUB, a - b)                                                                                   \
    X(MUL, BPF_MUL, a *b)                                                                                    \
    X(DIV, BPF_DIV, b ? a / b : 0)                                                                           \
    X(MOD, BPF_MOD, b ? a % b : a)                                                                           \
    X(OR, BPF_OR, a | b)                                                                                     \
    X(AND, BPF_AND, a &b)                                                                                    \
    X(XOR, BPF_XOR, a ^ b)                                                                                   \
    X(LSH, BPF_LSH, a << (b & (BITS - 1)))                                                                   \
    X(RSH, BPF_RSH, a >> (b & (BITS - 1)))                                                                   \
    X(ARSH, BPF_ARSH, (T)((S)a >> (b & (BITS - 1))))                                                         \
    X(MOV, BPF_MOV, ((void)a, b))

/* Signed arithmetic: instructions whose offset is 1. -1 is treated separately, because INT_MIN / -1 traps. */
#define VM_SIGNED_ARITHMETIC(X)                                                                              \
    X(SDIV, BPF_DIV, !b ? 0 : (S)b == -1 ? (T)0 - a : (T)((S)a / (S)b))                                      \
    X(SMOD, BPF_MOD, !b ? a : (S)b == -1 ? 0 : (T)((S)a % (S)b))

/* name, eBPF's operation, condition. Four forms, as above. */
#define VM_JUMPS(X)                                                                                          \
    X(JEQ, BPF_JEQ, a == b)                                                                                  \
    X(JNE, BPF_JNE, a != b)                                                                                  \
    X(JGT, BPF_JGT, a > b)                                                                                   \
    X(JGE, BPF_JGE, a >= b)                                                                                  \
    X(JLT, BPF_JLT, a < b)                                                                                   \
    X(JLE, BPF_JLE, a <= b)                                                                                  \
    X(JSET, BPF_JSET, (a & b) != 0)                                                                          \
    X(JSGT, BPF_JSGT, (S)a > (S)b)                                                                           \
    X(JSGE, BPF_JSGE, (S)a >= (S)b)                                                                          \
    X(JSLT, BPF_JSLT, (S)a < (S)b)                                                                           \
    X(JSLE, BPF_JSLE, (S)a <= (S)b)

/* name, C type of the memory */
#define VM_LOADS(X)                                                                                          \
    X(LOAD8, uint8_t)                                                                                        \
    X(LOAD16, uint16_t)                                                                                      \
    X(LOAD32, uint32_t)                                                                                      \
    X(LOAD64, uint64_t)                                                                                      \
    X(LOADS8, int8_t)                                                                                        \
    X(LOADS16, int16_t)                                                                                      \
    X(LOADS32, int32_t)
#define VM_STORES(X)                                                                                         \
    X(STORE8, uint8_t)                                                                                       \
    X(STORE16, uint16_t)                                                                                     \
    X(STORE32, uint32_t)                                                                                     \
    X(STORE64, uint64_t)
/* Sign extension of a register: name, type; forms of 64 and 32 bits. */
#define VM_EXTENSIONS(X)                                                                                     \
    X(EXTEND8, int8_t)                                                                                       \
    X(EXTEND16, int16_t)                                                                                     \
    X(EXTEND32, int32_t)

/* BAD is 0, so that a step that was not decoded ends the program. */
#define VM_OTHERS(X)                                                                                         \
    X(BAD)                                                                                                   \
    X(EXIT)                                                                                                  \
    X(JUMP)                                                                                                  \
    X(WIDE)                                                                                                  \
    X(CALL)                                                                                                  \
    X(HELPER)                                                                                                \
    X(NEG64)                                                                                                 \
    X(NEG32)                                                                                                 \
    X(SWAP16)                                                                                                \
    X(SWAP32)                                                                                                \
    X(SWAP64)                                                                                                \
    X(LOW16)                                                                                                 \
    X(LOW32)                                                                                                 \
    X(LOW64)                                                                                                 \
    X(ATOMIC32)                                                                                              \
    X(ATOMIC64)

/* Sequences: join.c. */
#define VM_JOINED(X)                                                                                         \
    X(ADDRESS)                                                                                               \
    X(WIDE_ADDRESS)                                                                                          \
    X(COPY64)                                                                                                \
    X(ADD_MEMORY64)                                                                                          \
    X(LOOKUP)                                                                                                \
    X(RETURN)

enum vm_code {
#define X(name) VM_##name,
    VM_OTHERS(X) VM_JOINED(X)
#undef X
#define X(name, operation, result) VM_##name##64K, VM_##name##64X, VM_##name##32K, VM_##name##32X,
        VM_ARITHMETIC(X) VM_SIGNED_ARITHMETIC(X) VM_JUMPS(X)
#undef X
#define X(name, type) VM_##name,
            VM_LOADS(X)
#undef X
#define X(name, type) VM_##name##K, VM_##name##X,
                VM_STORES(X)
#undef X
#define X(name, type) VM_##name##_64, VM_##name##_32,
                    VM_EXTENSIONS(X)
#undef X
                        VM_CODES
};

#endif
