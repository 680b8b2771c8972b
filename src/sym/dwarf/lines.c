/* SPDX-License-Identifier: BSD-3-Clause */
/* See lines.h. This is the side that asks; lines_child.c is the service. Files take slots in it, and the one that
 * was not used for the longest time makes room for another. */
#include "sym/dwarf/lines.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/dwarf/lines_child.h"

enum {
    PATIENCE_MS = 5000, /* the first question about a file needs its units' ranges */
    CHILDREN_MAX = 8,   /* after so many services have failed, no other is started */
};

struct lines {
    struct apart *child; /* NULL: it was not started, or has ended */
    unsigned failures;
    apart_leaves *leaves; /* whether to give up; NULL: never */
    void *leaves_state;
    uint64_t keys[LINES_PLACES], used[LINES_PLACES], clock; /* key 0: the slot is free */
    struct apart_answer answer;                             /* memory into which `frames` points */
    struct line_frame frames[LINES_FRAMES_MAX];
};

struct lines *lines_open(void)
{
    return calloc(1, sizeof(struct lines));
}

static void child_end(struct lines *lines)
{
    apart_end(lines->child);
    lines->child = NULL;
    memset(lines->keys, 0, sizeof lines->keys);
}

void lines_close(struct lines *lines)
{
    if (!lines)
        return;
    child_end(lines);
    apart_answer_free(&lines->answer);
    free(lines);
}

void lines_may_leave(struct lines *lines, bool (*leaves)(void *state), void *state)
{
    lines->leaves = leaves;
    lines->leaves_state = state;
    if (lines->child)
        apart_may_leave(lines->child, leaves, state);
}

bool lines_in(const struct elf_file *file)
{
    struct elf_section section;
    return elf_file_descriptor(file) >= 0 && elf_file_section_named(file, ".debug_line", &section) &&
           section.type != SHT_NOBITS;
}

static int child_start(struct lines *lines)
{
    const struct apart_options options = {
        .name = "spoor-lines", .serve = lines_serve, .memory = LINES_MEMORY, .patience_ms = PATIENCE_MS};
    if (lines->child && !apart_is_gone(lines->child))
        return 0;
    child_end(lines);
    if (lines->failures >= CHILDREN_MAX)
        return -EIO;
    int error = apart_start(&options, &lines->child);
    if (error)
        lines->child = NULL;
    else
        apart_may_leave(lines->child, lines->leaves, lines->leaves_state);
    return error;
}

static unsigned place_of(struct lines *lines, uint64_t key, bool *is_new)
{
    unsigned place = 0;
    for (unsigned i = 0; i < LINES_PLACES; i++) {
        if (lines->keys[i] == key) {
            *is_new = false;
            lines->used[i] = ++lines->clock;
            return i;
        }
        if (lines->used[i] < lines->used[place])
            place = i;
    }
    *is_new = true;
    lines->keys[place] = key;
    lines->used[place] = ++lines->clock;
    return place;
}

static int take_frames(struct lines *lines)
{
    struct cursor *in = &lines->answer.in;
    int count = 0;
    for (; count < LINES_FRAMES_MAX && in->at < in->end; count++) {
        unsigned line = (unsigned)wire_take_within(in, UINT32_MAX);
        const char *function = wire_take_text(in), *file = wire_take_text(in);
        if (!function || !file)
            break;
        lines->frames[count] = (struct line_frame){*function ? function : NULL, file, line};
    }
    return count;
}

int lines_find(struct lines *lines, const struct elf_file *file, uint64_t key, uint64_t address,
               const struct line_frame **out)
{
    struct text question = {0};
    bool is_new;
    if (child_start(lines))
        return -EIO;
    wire_put(&question, place_of(lines, key, &is_new));
    wire_put(&question, address);
    apart_answer_free(&lines->answer);
    int error =
        apart_ask(lines->child, 0, &question, is_new ? elf_file_descriptor(file) : -1, &lines->answer);
    text_free(&question);
    if (error && error != -ENOENT) {
        lines->failures++;
        child_end(lines);
    }
    *out = lines->frames;
    return error ? -EIO : take_frames(lines);
}
