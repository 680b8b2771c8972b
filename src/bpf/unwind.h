/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables that programs unwind user stacks with: written by the session (session/unwind.c), read by what
 * lower/unwind.c makes.
 *
 * A file's code is cut into blocks of 32 KB. The hash "unwind_blocks" says where the rows of a block are
 * (sym/dwarf/cfi.h): in one chunk of the array "unwind_rows", one after another, the first of them the one that
 * holds where the block begins. Blocks of a file are found by its inode, so that a file's rows serve every
 * process. What code a process has where is read from the tree that the kernel keeps, without its lock, so that it
 * can be done in interrupts, and while the process maps something. Rows that are missing are asked for in "unwind_requests". */
#ifndef SPOOR_BPF_UNWIND_H
#define SPOOR_BPF_UNWIND_H

#include <stdint.h>

enum {
    UNWIND_BLOCK_SHIFT = 15,
    UNWIND_STEPS = 13, /* steps of a search in a block, which has fewer rows than 1 << UNWIND_STEPS */
    UNWIND_BLOCK_ROWS = (1 << UNWIND_STEPS) - 1,
    UNWIND_BLOCKS = 1 << 16,
    UNWIND_CHUNK_SHIFT = 16,
    UNWIND_CHUNK_ROWS = 1 << UNWIND_CHUNK_SHIFT,
    UNWIND_CHUNK_BYTES = UNWIND_CHUNK_ROWS * 8,
    UNWIND_CHUNKS = 128,
    UNWIND_WISHES = 1024,
};

struct unwind_key {
    uint64_t inode;
    uint32_t device; /* as the kernel keeps it: major << 20 | minor */
    uint32_t block;  /* offset in the file >> UNWIND_BLOCK_SHIFT; of a request: 0 */
};

struct unwind_block {
    uint32_t chunk, first, count, unused;
};

struct unwind_request { /* who stumbled, and over which address */
    uint64_t pid, address;
};

/* Values in `kind` of struct image_stack: why there are no more frames, and whether all frames were found by rules,
 * so that no return address is one by chance. */
enum unwind_end { UNWIND_WHOLE, UNWIND_NO_RULE, UNWIND_NO_MEMORY };
enum { UNWIND_END_SHIFT = 8, UNWIND_END_MASK = 0xff, UNWIND_BY_RULES = 1 << 16 };

/* Where members of the kernel's structs are. */
struct unwind_offsets {
    uint32_t task_mm, tree_root;                         /* task_struct.mm; mm_struct.mm_mt.ma_root */
    uint32_t pivots, range_slots, inner_slots;           /* offsets in maple_range_64 and maple_arange_64 */
    uint32_t vm_start, vm_end, vm_mm, vm_pgoff, vm_file; /* offsets in vm_area_struct */
    uint32_t file_inode, inode_number, inode_super, super_device;
    uint32_t vma_bytes,
        inode_bytes; /* with how many bytes these structs begin up to the last of the members above */
};
enum { UNWIND_STRUCT_BYTES = 256 }; /* of a node of the tree, and the most of vma_bytes and inode_bytes */

#endif
