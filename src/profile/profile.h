/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: how much of something (samples, nanoseconds, bytes) belongs to which stack.
 *
 *   profile.c     the profile itself: functions, frames and stacks, each kept once
 *   collect.c     made of the map of a trace
 *   language.c    what a function is written in, as its name and its file tell
 *   container.c   the container that a control group is of
 *   tree.c        stacks by their beginnings, as flame graphs show them
 *   folded.c      read and written as lines, "a;b;c 12"
 *   flame.c       an SVG flame graph; flame.js and flame.css work in it
 *   page.c        the flame graph and a table as a page
 *   pprof.c       Go's protocol buffers
 *   speedscope.c  Speedscope's JSON
 *   table.c       the functions in which most was spent, as text
 *
 * Names are those of traced programs: whoever writes them escapes what the format needs. */
#ifndef SPOOR_PROFILE_PROFILE_H
#define SPOOR_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "base/text.h"

enum profile_language {
    LANGUAGE_UNKNOWN, /* an address without a name */
    LANGUAGE_PROCESS, /* no function: the name of a process */
    LANGUAGE_CONTAINER,
    LANGUAGE_C, /* and all that cannot be told from it */
    LANGUAGE_CPP,
    LANGUAGE_RUST,
    LANGUAGE_GO,
    LANGUAGE_PYTHON,
    LANGUAGE_JAVASCRIPT,
    LANGUAGE_JAVA,
    LANGUAGE_GENERATED, /* code that a program made while it ran */
    LANGUAGE_KERNEL,
    LANGUAGE_MODULE, /* a module of the kernel */
    LANGUAGES,
};

struct profile_function {
    const char *name;   /* never NULL */
    const char *module; /* path of a file, name of a kernel module, "" */
    enum profile_language language;
};

struct profile_frame {
    uint32_t function;
    const char *file; /* of the source, "": unknown */
    uint32_t line;
    bool is_inlined;
};

struct profile_stack {
    size_t first; /* of `frames`, the outermost */
    uint32_t count;
    uint64_t weight, old; /* old: in the profile that this one is compared with */
};

struct profile {
    /* What is counted: "samples", "nanoseconds", "bytes", or a name of events. */
    const char *unit;
    const char *title; /* what was measured, for people */
    uint64_t period;   /* how much of the unit one sample stands for; 0: unknown */
    uint64_t wall_ns;  /* when it began, since 1970; 0: unknown */
    uint64_t lasted;   /* nanoseconds; 0: unknown */
    uint64_t total, old_total;
    bool has_old; /* it is compared with another one */

    struct profile_function *functions;
    size_t function_count, function_room;
    struct profile_frame *frames;
    size_t frame_count, frame_room;
    uint32_t *path; /* frames of the stacks, one stack after the other */
    size_t path_length, path_room;
    struct profile_stack *stacks;
    size_t stack_count, stack_room;
    struct table strings, function_table, frame_table, stack_table; /* what was kept already */
    uint32_t *building;                                             /* the stack that is being put together */
    size_t building_count, building_room;
};

/* What is to be added as the next frame of a stack. Strings are copied. */
struct profile_call {
    const char *name, *module; /* module NULL: "" */
    enum profile_language language;
    const char *file; /* NULL: unknown */
    uint32_t line;
    bool is_inlined;
};

/* Adds a frame below those that the stack has. 0 or -ENOMEM. */
int profile_push(struct profile *profile, const struct profile_call *call);
/* Ends the stack and adds its weight, which is the old one if is_old. 0 or -ENOMEM; the next stack begins either way. */
int profile_add(struct profile *profile, uint64_t weight, bool is_old);
void profile_free(struct profile *profile);

/* ---- made of, written as ---- */

enum profile_language profile_language_of(const char *name, const char *module, bool is_kernel);
extern const char *const profile_language_names[LANGUAGES];

/* Adds what a map of a trace has, whose keys are tuples of any of: a number, which is a process's; a control group's; a text, the
 * process's name; stacks. The map's values are counts or sums, each worth `scale`. Returns 0 or -errno. */
struct session;
int profile_collect(struct profile *profile, struct session *session, const char *map, uint64_t scale);

/* Adds the lines of a text: names separated by ';', a space, a number. 0, -ENOMEM, or the number of the line that is none. */
int profile_read_folded(struct profile *profile, const char *text, size_t length, bool is_old);

struct profile_look { /* what can be chosen about a picture or a table */
    unsigned width;   /* of a flame graph, in pixels; 0: the default */
    bool is_icicle;   /* it grows downwards */
    unsigned rows;    /* of a table; 0: the default */
    unsigned columns; /* of a table, how long its lines may be; 0: any length */
};

struct profile_format {
    const char *name; /* "svg" */
    const char
        *endings; /* of files that are written so when nothing else is said, with spaces between them */
    bool is_binary;
    const char *opens; /* what opens it, a part of a sentence; NULL: that is clear */
    /* Appends the profile. 0, -ENOMEM, or another -errno. */
    int (*write)(const struct profile *profile, const struct profile_look *look, struct text *out);
};
extern const struct profile_format profile_svg, profile_html, profile_folded, profile_pprof,
    profile_speedscope, profile_text;

/* Finds the format of a name, or the one that a file of this name is written in. NULL: there is none. */
const struct profile_format *profile_format_find(const char *name);
const struct profile_format *profile_format_of_file(const char *path);
const struct profile_format *profile_format_at(size_t index); /* NULL: there are no more */
/* Writes an amount of the profile's unit for people: "1,234 samples", "12.3 ms", "4.5 MB". */
void profile_amount(struct text *out, const struct profile *profile, uint64_t amount);

#endif
