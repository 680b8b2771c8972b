/* SPDX-License-Identifier: BSD-3-Clause */
/* What the compiler hands to a host: programs and maps, as data.
 *
 * Instructions name maps by their index in the image; the host puts descriptors in when it loads the program (struct
 * image_relocation). Each instruction has a span of the script, so that a host can say what the verifier refused.
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
    const char *name; /* "@reads" for one of the script, "events" for an internal one */
    enum bpf_map_type type;
    uint32_t key_size, value_size, max_entries, flags;
    /* There is one ring of value_size bytes for each CPU. In a map of BPF_MAP_TYPE_ARRAY_OF_MAPS programs find it by the
     * number of the CPU; with BPF_MAP_TYPE_RINGBUF they name each ring (RELOCATION_RING). */
    bool is_ring_per_cpu;
    /* For BPF_MAP_TYPE_ARRAY_OF_MAPS: the bytes of the one value in each of the arrays that are put into it later. */
    uint32_t inner_bytes;
    /* For BPF_MAP_TYPE_ARRAY_OF_MAPS: indexes of the maps in it, which all have one type and size; or NULL. */
    const uint32_t *members;
    uint32_t group, slot; /* the group of maps in which programs find it, and where in it; group 0: none */
    /* For maps of the script: the types of key and value, for printing. */
    const struct type *key; /* NULL: it has no key */
    const struct type *value;
    bool is_emptied; /* it has no key, and the script clears or deletes it: a value of zeros means no value */
    const void
        *initial; /* the value of an array of one element, which is then read-only; NULL: zeros, writable */
};

enum relocation_kind {
    RELOCATION_MAP,   /* ld_imm64 of the map */
    RELOCATION_VALUE, /* ld_imm64 of an address in the only value of an array; the second imm is the offset */
    RELOCATION_RING,  /* ld_imm64 of one ring of a map of rings; the second imm is the CPU */
    /* ld_imm64 or call of the function with this index, relative to the instruction; emit resolves it. */
    RELOCATION_FUNCTION,
};

struct image_relocation {
    uint32_t instruction;
    enum relocation_kind kind;
    uint32_t map;
};

/* Functions of the kernel that are no helpers. Their call has BPF_PSEUDO_KFUNC_CALL and this number, and the host looks
 * the function up by its name (ir_helper_name). */
enum image_kfunc {
    KFUNC_copy_from_user_str = 1 << 16, /* above every number of a helper */
};

struct image_function {   /* the first one is the program itself */
    uint32_t instruction; /* index of its first instruction */
    const char *name;
    uint8_t parameters; /* how many; they and the result are 64-bit integers */
    bool is_global;     /* the verifier takes it on its own */
    bool takes_context; /* and its first parameter is the context */
};

struct image_line { /* the span of this instruction and of all that follow, until the next entry */
    uint32_t instruction;
    struct span span;
};

struct image_program {
    const char *name; /* the kernel keeps and shows 15 characters of it */
    enum bpf_prog_type type;
    uint32_t expected_attach_type;
    bool sleepable;
    uint32_t attach_btf_id; /* what tp_btf, fentry and iter attach to; else 0 */
    /* Names the BTF that has that id: this module's, or that of the BPF program with this id; NULL and 0: the
     * kernel's. */
    const char *attach_module;
    uint32_t attach_program;
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

/* What can go wrong while a program runs. Each runtime error has a counter in the control page; the session reports it
 * when the counter has grown. */
enum runtime_error_kind {
    RUNTIME_ERROR_LOST,       /* an event record found no room in the ring */
    RUNTIME_ERROR_SCRATCH,    /* no scratch memory was free, so that nothing was done for an event */
    RUNTIME_ERROR_MAP_FULL,   /* an update of a map was refused */
    RUNTIME_ERROR_MAP_DELETE, /* a missing key was deleted, and the result of delete() is not used */
    RUNTIME_ERROR_LOOKUP,     /* a missing key was read; reported only with -k */
    RUNTIME_ERROR_FAULT,      /* memory could not be read */
    RUNTIME_ERROR_TRUNCATED,  /* a string did not fit */
    RUNTIME_ERROR_DIVIDE,     /* division by zero */
    RUNTIME_ERROR_LOOP,       /* a loop reached its bound */
    RUNTIME_ERROR_STACK, /* the stack table is full, or the kernel has no memory at hand, as in an interrupt */
    RUNTIME_ERROR_UNKNOWN, /* the script asks for something that the recording has lost; reported only with -k */
    RUNTIME_ERROR_NO_CHILD,  /* the script asks for the command's process id, and there is no command */
    RUNTIME_ERROR_SIGNAL,    /* a signal could not be sent */
    RUNTIME_ERROR_WRITE,     /* memory of the program could not be written */
    RUNTIME_ERROR_PROCESSES, /* a process that should be followed found no room in the set */
};
struct runtime_error {
    enum runtime_error_kind kind;
    struct span span;
    const char *probe;  /* the probe whose block holds the span, as the script writes it */
    int map;            /* index of the map for RUNTIME_ERROR_MAP_FULL; else -1 */
    const char *helper; /* "probe_read_user_str", "map_update_elem" …, or NULL */
};

enum { EVENT_WORDS = 12, EVENT_COMM = 16, EVENT_LIFETIME = 1, EVENT_SINCE = 2 };

/* The event of a recording, as its program reads it: the same for every format of recordings and on both hosts. Texts
 * are addresses that the host's helpers can read. */
struct image_event {
    uint64_t time;   /* boot clock, ns */
    uint64_t object; /* id as it was recorded */
    uint64_t owner, thread;
    uint64_t lifetime, since;    /* ns; only when image.reads_lifetime, reads_since */
    uint64_t unknown;            /* bits EVENT_LIFETIME and EVENT_SINCE: that value cannot be known */
    uint64_t related;            /* id of the first object that the event relates to its own */
    uint64_t site;               /* index of the site in its variant */
    uint64_t words[EVENT_WORDS]; /* the arguments */
    uint64_t owner_name;         /* a text */
    uint64_t pid_tid;            /* the thread that recorded it, as bpf_get_current_pid_tgid() packs it */
    uint64_t cpu;
    uint64_t monotonic, tai; /* the time on these clocks */
    char comm[EVENT_COMM];   /* zeros behind the name */
};

/* The control page: the only value of the map "control", mapped by the host into user space. */
enum { IMAGE_ZEROS = 16 };
struct image_control {
    /* Never written. It is the key of maps without keys, the first value of new elements, and a 0 that the verifier does
     * not know. */
    uint64_t zeros[IMAGE_ZEROS / 8];
    uint32_t stop;                     /* if it is not 0, programs return at once */
    uint64_t start;                    /* boot clock when tracing began: `elapsed` counts from it */
    uint64_t child;                    /* process id of the command of -c; 0: none */
    int64_t result;                    /* what a test's block returned */
    uint64_t pid_level, pid_namespace; /* the tracer's PID namespace: how deep it is, and its address */
    uint64_t process_ends;             /* how many of the set of processes have ended */
    uint64_t unwind_requests;          /* how often a program has added to the map of that name */
    /* The event of a recording that the kernel runs a program for. It has a cache line of its own, apart from `stop`,
     * which all programs read. */
    struct image_event event __attribute__((aligned(64)));
    uint64_t runtime_errors[]; /* a counter for each of image.runtime_errors */
};

struct image {
    struct image_map *maps;
    size_t map_count, map_room;
    struct image_program *programs;
    size_t program_count, program_room;
    struct runtime_error *runtime_errors;
    size_t runtime_error_count, runtime_error_room;
    /* Indexes of internal maps; -1 if no program uses the map. */
    int control, events, stacks;
    int events_shared; /* one ring for programs that cannot use an array of rings */
    int events_own;    /* one ring for programs that the host itself runs */
    int processes;     /* the set of traced processes; keys are their ids, of 8 bytes */
    bool unwinds;      /* the following maps exist; see unwind.h */
    uint32_t unwind_blocks, unwind_rows, unwind_requests;
    bool names_owners; /* a program reads owner_name */
    bool
        follows_objects; /* a program asks for the history of an object, so that the host follows all events */
    bool reads_lifetime,
        reads_since; /* a program reads this member of the event, which takes time to compute */
    int scratch_cpu, scratch_task, scratch_slots; /* maps with scratch memory (lower.h); or -1 */
};

/* Every event record begins with this; fields follow at the offsets of the action. */
struct image_record {
    uint64_t time;   /* boot clock, ns; 0 if there is one ring and nothing else needs the time */
    uint64_t action; /* index into the action table */
};

/* A string in a record, at the field's offset. The texts follow the record's fixed part in the order of their
 * fields, each but the last padded to a multiple of 8. */
struct image_string {
    /* Length of the text with its NUL; capacity + 1 if it was cut; negative if it could not be read. */
    int32_t bytes;
    uint32_t unused;
};

/* The value of the map "stacks", keyed by u64 id. */
struct image_stack {
    uint32_t bytes; /* 8 for each frame */
    /* If the bits IMAGE_STACK_CALLER are not 0, the caller stands before the frames, and with it they are at most so many.
     * The other bits: see unwind.h. */
    uint32_t kind;
    uint64_t frames[];
};
enum { IMAGE_STACK_CALLER = 0xff };
/* Returns how many frames a stack in a value of `size` bytes has, and points *frames to them. The caller is moved behind
 * the first frame, unless it stands there already. */
size_t image_stack_frames(struct image_stack *stack, size_t size, const uint64_t **frames);

/* Writes the instructions for -d bpf, one a line, with names of helpers. */
void image_print(struct text *out, const struct image *image, const struct image_program *program);

#endif
