/* SPDX-License-Identifier: BSD-3-Clause */
/* Folded stacks: a line for each, the names from the outermost on separated by ';', a space, and how much it is. A
 * kernel's function has _[k] behind it, one that was inlined _[i], one of generated code _[j], as other writers of such lines mark them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "profile/tree.h"

static const struct mark {
    const char *text;
    enum profile_language language;
    bool is_inlined;
} marks[] = {
    {"_[k]", LANGUAGE_KERNEL, false},
    {"_[i]", LANGUAGE_C, true},
    {"_[j]", LANGUAGE_GENERATED, false},
};

static const char *mark_of(enum profile_language language, bool is_inlined)
{
    switch (language) {
    case LANGUAGE_KERNEL:
    case LANGUAGE_MODULE: return "_[k]";
    case LANGUAGE_PYTHON:
    case LANGUAGE_JAVASCRIPT:
    case LANGUAGE_JAVA:
    case LANGUAGE_GENERATED: return "_[j]";
    default: return is_inlined ? "_[i]" : "";
    }
}

/* Appends a name without what ends names and lines. */
static void write_name(struct text *out, const char *name)
{
    for (; *name; name++)
        text_char(out, *name == ';' ? ':' : (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name);
}

static void write_path(struct text *out, const struct profile_tree *tree, uint32_t node, uint32_t *path)
{
    size_t count = 0;
    for (; node != TREE_ROOT; node = tree->nodes[node].parent)
        path[count++] = node;
    while (count--) {
        const struct profile_function *function =
            &tree->profile->functions[tree->nodes[path[count]].function];
        write_name(out, function->name);
        text_add(out, mark_of(function->language, tree->nodes[path[count]].is_inlined));
        if (count)
            text_char(out, ';');
    }
}

static int write_folded(const struct profile *profile, const struct profile_look *look, struct text *out)
{
    struct profile_tree tree;
    uint32_t *path = NULL;
    (void)look;
    int error = tree_build(&tree, profile);
    if (!error && !(path = calloc(tree.depth + 1u, sizeof *path)))
        error = -ENOMEM;
    for (uint32_t node = TREE_ROOT; !error && node != TREE_NONE; node = tree_next(&tree, node))
        if (tree.nodes[node].self && node != TREE_ROOT) {
            write_path(out, &tree, node, path);
            text_printf(out, " %" PRIu64 "\n", tree.nodes[node].self);
        }
    free(path);
    tree_free(&tree);
    return error;
}

/* ---- read ---- */

static int read_name(struct profile *profile, const char *name, size_t length, bool is_first,
                     struct text *buffer)
{
    struct profile_call call = {.language = is_first ? LANGUAGE_PROCESS : LANGUAGE_C};
    const struct mark *mark = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t size = strlen(marks[i].text);
        if (length > size && !memcmp(name + length - size, marks[i].text, size))
            mark = &marks[i];
    }
    text_clear(buffer);
    text_append(buffer, name, mark ? length - strlen(mark->text) : length);
    call.name = text_string(buffer);
    if (mark) {
        call.language = mark->language;
        call.is_inlined = mark->is_inlined;
    } else if (!is_first)
        call.language = profile_language_of(call.name, "", false);
    if (!is_first && *call.name == '[')
        call.language = LANGUAGE_UNKNOWN; /* it is called by its file */
    if (mark && mark->language == LANGUAGE_GENERATED)
        call.language = profile_language_of(call.name, "/tmp/perf-", false);
    return buffer->failed ? -ENOMEM : profile_push(profile, &call);
}

static int read_line(struct profile *profile, const char *line, size_t length, bool is_old,
                     struct text *buffer)
{
    const char *space = memrchr(line, ' ', length);
    const char *digits = space ? space + 1 : NULL, *end = line + length;
    uint64_t weight;
    if (!space || space == line || !number_take(&digits, end, 10, &weight) || digits != end)
        return -EINVAL;
    for (const char *name = line; name <= space;) {
        const char *semicolon = memchr(name, ';', (size_t)(space - name));
        const char *stop = semicolon ? semicolon : space;
        const int error = read_name(profile, name, (size_t)(stop - name), name == line, buffer);
        if (error)
            return error;
        name = stop + 1;
    }
    return profile_add(profile, weight, is_old);
}

int profile_read_folded(struct profile *profile, const char *text, size_t length, bool is_old)
{
    struct text buffer = {0};
    int number = 0, error = 0;
    for (const char *line = text, *end = text + length; !error && line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        const size_t size = (size_t)(stop - line);
        number++;
        if (size && *line != '#')
            error = read_line(profile, line, size, is_old, &buffer);
        line = stop + 1;
    }
    text_free(&buffer);
    profile->building_count = 0;
    return error == -EINVAL ? number : error;
}

const struct profile_format profile_folded = {
    .name = "folded", .endings = ".folded .txt", .write = write_folded};
