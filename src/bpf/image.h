/* SPDX-License-Identifier: BSD-3-Clause */
/* What the compiler hands to a host: programs and maps, as data. No kernel calls, no IR.
 *
 * A program's instructions name maps by their index in the image; the host puts descriptors in when it
 * loads (struct image_relocation). Line numbers refer to the script, so that a host can say which line of
 * the script the verifier refused.
 */
#ifndef SPOOR_BPF_IMAGE_H
#define SPOOR_BPF_IMAGE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diagnostic.h"
#include "type/type.h"

struct image_map {
    const char *name;       /* "@reads" of the script, or an internal name: "events" */
    enum bpf_map_type type; /* BPF_MAP_TYPE_… */
    uint32_t key_size, value_size, max_entries, flags;
    /* One ring of value_size bytes per CPU. BPF_MAP_TYPE_ARRAY_OF_MAPS: found by the number of the CPU;
     * BPF_MAP_TYPE_RINGBUF: programs name the rings one by one (RELOCATION_RING). */
    bool is_ring_per_cpu;
    uint32_t
        inner_bytes; /* BPF_MAP_TYPE_ARRAY_OF_MAPS: of arrays of one value of so many bytes, put in later */
    /* BPF_MAP_TYPE_ARRAY_OF_MAPS: the maps in it, by index in the image, all of one type and size; or NULL. */
    const uint32_t *members;
    uint32_t group, slot; /* where else a program finds this map: in such an array; group 0: nowhere */
    /* Script maps only: the types behind the bytes, for printing and for JSON. */
    const struct type *key; /* NULL: keyless */
    const struct type *value;
    bool is_emptied;     /* keyless, and the script clears or deletes it: a value of zeros stands for none */
    const void *initial; /* array maps of one element: its bytes, frozen after; NULL: zeros, writable */
};

enum relocation_kind {
    RELOCATION_MAP,      /* ld_imm64: the map */
    RELOCATION_VALUE,    /* ld_imm64: address offset (in the second imm) of the only value of an array map */
    RELOCATION_RING,     /* ld_imm64: the ring of one CPU (in the second imm) of a map of rings */
    RELOCATION_FUNCTION, /* ld_imm64 or call: the function with this index, insn-relative; resolved by emit */
};

struct image_relocation {
    uint32_t instruction;
    enum relocation_kind kind;
    uint32_t map;
};

/* Functions of the kernel that are no helpers. A call says BPF_PSEUDO_KFUNC_CALL and the number; the host
 * knows the function by its name (ir_helper_name). */
enum image_kfunc {
    KFUNC_copy_from_user_str = 1 << 16, /* further than helpers will ever be counted */
};

struct image_function { /* first instruction of a function; the program's own first */
    uint32_t instruction;
    const char *name;
    uint8_t parameters; /* for its BTF prototype: 64-bit integers; returns a 64-bit integer */
    bool is_global;     /* verified on its own; the parameter, if it has one, is the context */
};

struct image_line { /* instruction and all after it, until the next entry, come from this place */
    uint32_t instruction;
    struct span span;
};

struct image_program {
    const char *name; /* shown by the kernel, 15 characters are kept */
    enum bpf_prog_type type;
    uint32_t expected_attach_type;
    bool sleepable;
    uint32_t attach_btf_id;    /* tp_btf, fentry, iter; else 0 */
    const char *attach_module; /* the module whose BTF has that id; NULL: the kernel, or */
    uint32_t attach_program;   /* the BPF program of this id; 0: none */
    struct bpf_insn *instructions;
    uint32_t count;
    struct image_relocation *relocations;
    uint32_t relocation_count;
    struct image_function *functions;
    uint32_t function_count;
    struct image_line *lines;
    uint32_t line_count;
    uint32_t stack_bytes; /* used by the deepest function, for -v */
    bool is_divisible; /* there is another way to compile it when the verifier gives it up for its length */
};

/* A thing that can go wrong while a program runs, counted in the counters map at its index. The reader
 * prints the difference whenever a counter has grown. */
enum runtime_error_kind {
    RUNTIME_ERROR_LOST,       /* what was sent: the ring was full */
    RUNTIME_ERROR_SCRATCH,    /* an event: no scratch memory was free, and nothing of the block was done */
    RUNTIME_ERROR_MAP_FULL,   /* update refused */
    RUNTIME_ERROR_MAP_DELETE, /* delete of a missing key, and nobody looks at what delete() answers */
    RUNTIME_ERROR_LOOKUP,     /* read of a missing key: reported only with -k */
    RUNTIME_ERROR_FAULT,      /* memory could not be read */
    RUNTIME_ERROR_TRUNCATED,  /* a string did not fit */
    RUNTIME_ERROR_DIVIDE,     /* division by zero */
    RUNTIME_ERROR_LOOP,       /* a loop reached its bound */
    RUNTIME_ERROR_STACK, /* the stack table is full, or the kernel has no memory at hand, as in an interrupt */
    RUNTIME_ERROR_UNKNOWN,   /* what was lost of a recording is asked for: reported only with -k */
    RUNTIME_ERROR_NO_CHILD,  /* the script asks for the command's process id, and there is no command */
    RUNTIME_ERROR_SIGNAL,    /* a signal could not be sent */
    RUNTIME_ERROR_WRITE,     /* memory of the program could not be written */
    RUNTIME_ERROR_PROCESSES, /* a process that should be followed found no room in the set */
};
struct runtime_error {
    enum runtime_error_kind kind;
    struct span span;
    const char *probe;  /* text of the probe whose block holds the place */
    int map;            /* RUNTIME_ERROR_MAP_FULL: index of the map; else -1 */
    const char *helper; /* "probe_read_user_str", "map_update_elem" …, or NULL */
};

enum { EVENT_WORDS = 12, EVENT_COMM = 16, EVENT_LIFETIME = 1, EVENT_SINCE = 2 };

/* What a program of an event of a recording gets, in this layout for every format of recordings and on both
 * hosts. Texts are addresses that the host's helpers can read. */
struct image_event {
    uint64_t time;   /* boot clock, ns */
    uint64_t object; /* id as it was recorded */
    uint64_t owner, thread;
    uint64_t lifetime, since;    /* ns; only when image.reads_lifetime, reads_since */
    uint64_t unknown;            /* EVENT_LIFETIME, EVENT_SINCE: that one cannot be known */
    uint64_t related;            /* id of the first object that the event relates to its own */
    uint64_t site;               /* of the variant */
    uint64_t words[EVENT_WORDS]; /* arguments */
    uint64_t owner_name;         /* a text */
    uint64_t pid_tid;            /* of who recorded it: as the kernel's helper would have said */
    uint64_t cpu;
    uint64_t monotonic, tai; /* the time on these clocks */
    char comm[EVENT_COMM];   /* zeros behind the name */
};

/* The control page: the only value of the map "control", mapped by the host into user space. */
enum { IMAGE_ZEROS = 16 };
struct image_control {
    uint64_t zeros[IMAGE_ZEROS / 8];   /* never written: keys of keyless maps, new elements, an unknown 0 */
    uint32_t stop;                     /* not 0: programs return at once */
    uint64_t start;                    /* boot clock when tracing began: `elapsed` counts from it */
    uint64_t child;                    /* process id of the command of -c; 0: none */
    int64_t result;                    /* what a test's block returned */
    uint64_t pid_level, pid_namespace; /* the tracer's PID namespace: how deep it is, and its address */
    uint64_t process_ends;             /* how many of the set of processes have ended */
    uint64_t unwind_requests;          /* how often something was put into the map of that name */
    /* Where the kernel runs programs of recordings' events: the one at hand. Away from `stop`, at which all
     * look. */
    struct image_event event __attribute__((aligned(64)));
    uint64_t runtime_errors[]; /* one per runtime error */
};

struct image {
    struct image_map *maps;
    size_t map_count, map_room;
    struct image_program *programs;
    size_t program_count, program_room;
    struct runtime_error *runtime_errors;
    size_t runtime_error_count, runtime_error_room;
    int control, events, stacks; /* indices of the internal maps; -1: not used by any program */
    int events_shared;           /* one ring for programs that may not use an array of them; or -1 */
    int events_own;              /* a ring of the programs that the host runs for recordings' events; or -1 */
    int processes;               /* the set of those traced, by id (8 bytes); or -1 */
    bool unwinds;                /* there are the tables of unwind.h: */
    uint32_t unwind_blocks, unwind_rows, unwind_processes, unwind_requests;
    bool names_owners;    /* a program reads owner_name */
    bool follows_objects; /* a program asks about an object's history: the host must follow all events */
    bool reads_lifetime, reads_since; /* and it asks for this: each costs a time of the recording */
    int scratch_cpu, scratch_task, scratch_slots; /* memory of programs that run; or -1 (lower.h) */
};

/* Every event record begins with this; fields follow at the offsets of the action. */
struct image_record {
    uint64_t time;   /* boot clock, ns; 0 when nothing needs it and there is one ring */
    uint64_t action; /* index into the action table */
};

/* A string in a record, at the field's offset. The texts follow the record's fixed part in the order of their
 * fields, each but the last padded to a multiple of 8. */
struct image_string {
    int32_t bytes; /* of the text, NUL included; capacity + 1: truncated; negative: no text, it could not be
                      read */
    uint32_t unused;
};

/* The value of the map "stacks", keyed by u64 id. */
struct image_stack {
    uint32_t bytes; /* 8 * frames */
    /* IMAGE_STACK_CALLER: not 0: in front of the frames is the caller, and with it they are at most so many.
     * Above: see unwind.h. */
    uint32_t kind;
    uint64_t frames[];
};
enum { IMAGE_STACK_CALLER = 0xff };
/* The frames of a stack in a value of `size` bytes, the caller in its place: behind the first frame, unless
 * it is there. */
size_t image_stack_frames(struct image_stack *stack, size_t size, const uint64_t **frames);

/* Disassembles for -d bpf: one instruction a line. Knows helper names. */
void image_print(struct text *out, const struct image *image, const struct image_program *program);

#endif
