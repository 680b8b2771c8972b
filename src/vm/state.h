/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share. No other folder includes it.
 *
 *   host.c     the host's operations, the memory of programs, the ring
 *   map.c      maps
 *   decode.c   instructions to steps, once, with what can be checked then
 *   join.c     frequent sequences of steps as one
 *   run.c      the interpreter
 *   helper.c   what programs call */
#ifndef SPOOR_VM_STATE_H
#define SPOOR_VM_STATE_H

#include "vm/vm.h"

enum {
    VM_REGISTERS = 11,
    VM_FRAMES = 16,
    VM_FRAME_BYTES = 512,
    VM_ARGUMENTS = 5,
};

/* What a register holds in the place of a kernel's address of a map or of code: never an address of memory.
 */
#define VM_HANDLE_MASK 0xffffffff00000000u
#define VM_HANDLE_MAP 0x7e10000000000000u
#define VM_HANDLE_RING 0x7e20000000000000u
#define VM_HANDLE_CODE 0x7e30000000000000u

/* ---- maps ---- */

struct vm_slot {   /* one key of a hash map */
    uint32_t hash; /* the highest bit is set while the slot is used */
    /* Index + 1 of the next slot in the bucket, or in the list of free slots; 0: it is the last. */
    uint32_t next;
};

struct vm_map {
    enum bpf_map_type type;
    uint32_t key_size, value_size, max_entries;
    uint32_t key_room, element; /* bytes of a key, rounded up to 8, and of key and value together */
    uint8_t *elements;          /* in the memory of programs */
    bool is_array, is_hash, is_lru, is_ring;
    /* Hash maps: */
    uint32_t *buckets; /* index + 1 of the first slot of each; 0: the bucket is empty */
    uint32_t bucket_mask;
    struct vm_slot *slots;
    uint8_t *touched;     /* LRU: whether each slot was used since the hand passed it */
    uint32_t hand;        /* LRU: the slot that is looked at next when one is to be freed */
    uint32_t first_fresh; /* slots from here on were never used */
    uint32_t free, count;
};

/* Bytes of the memory of programs that the map needs; 0: it is no map that this host has. */
uint64_t vm_map_bytes(const struct image_map *image);
int vm_map_open(struct vm_map *map, const struct image_map *image, uint8_t *memory);
void vm_map_close(struct vm_map *map);
uint8_t *vm_map_find(struct vm_map *map, const void *key); /* the value, or NULL */
int vm_map_update(struct vm_map *map, const void *key, const void *value, uint64_t flags);
int vm_map_delete(struct vm_map *map, const void *key);
void vm_map_clear(struct vm_map *map);
void vm_map_zero(struct vm_map *map);
/* The element at or after *position, which moves behind it; false: there is no more. Elements may be added
 * and removed between two calls. */
bool vm_map_next(struct vm_map *map, uint32_t *position, uint8_t **key, uint8_t **value);

/* ---- programs ---- */

struct vm_step {
    uint16_t code; /* enum vm_code */
    uint8_t to, from;
    int32_t offset; /* offset of the memory access; for a jump: steps from here */
    int64_t immediate;
};

struct vm_program {
    struct vm_step *steps; /* NULL: not loaded */
    uint32_t count;        /* not counting the last step, which ends a program that runs past its end */
    const struct image_program *image;
};

struct vm {
    struct host host;
    uint64_t budget;
    const struct image *image;
    uint8_t *memory; /* all that programs can reach: context, indices, frames, ring, maps */
    uint64_t size;
    struct image_event *context;
    uint64_t *indices; /* one for each depth of calls: see for_each in helper.c */
    uint8_t *frames;
    uint8_t *ring;
    uint64_t ring_size, ring_begin, ring_end;
    uint64_t reserved; /* place in the ring of the record that a program fills; UINT64_MAX: none */
    struct vm_map *maps;
    size_t map_count;
    struct vm_program *programs;
    size_t program_count;
    struct image_control *control;
    struct vm_event event;
    bool has_event;
    uint64_t random;
    /* State of the current run: */
    const struct vm_program *program;
    uint64_t left; /* what is left of the budget */
    unsigned depth;
    int stopped;         /* 0, or the -errno for which the program was ended */
    uint32_t stopped_at; /* the instruction at which it was */
};

static inline struct vm *vm_of(struct host *host)
{
    return (struct vm *)host;
}

/* Where `size` bytes at an address of a program are in this process; NULL: the program may not touch all of them. */
static inline void *vm_at(struct vm *vm, uint64_t address, uint64_t size)
{
    uint64_t offset = address - (uint64_t)(uintptr_t)vm->memory;
    if (offset > vm->size || size > vm->size - offset)
        return NULL;
    return vm->memory + offset;
}

static inline struct vm_map *vm_map_of(struct vm *vm, uint64_t handle)
{
    uint32_t index = (uint32_t)handle;
    return (handle & VM_HANDLE_MASK) == VM_HANDLE_MAP && index < vm->map_count ? &vm->maps[index] : NULL;
}

/* decode.c: makes the steps of a program. 0, or -errno with a diagnostic. */
int vm_decode(struct vm *vm, const struct image *image, const struct image_program *program,
              struct vm_program *out, struct diagnostics *diagnostics);
/* join.c: joins frequent sequences among the steps of a program, which were decoded before. */
void vm_join(struct vm_step *steps, uint32_t count);
/* The span of the script that an instruction comes from. */
struct span vm_span(const struct image_program *program, uint32_t instruction);

/* run.c: runs a program from a step on, with the arguments in r1 to r5. Returns r0. */
uint64_t vm_execute(struct vm *vm, uint32_t first, const uint64_t arguments[VM_ARGUMENTS]);

/* helper.c */
typedef uint64_t vm_helper(struct vm *vm, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e);
vm_helper *vm_helper_find(int32_t number); /* NULL: there is none */
uint64_t vm_clock(struct vm *vm);

#endif
