/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: script text through lexer and parser; whatever tree comes out is copied, walked and
 * printed. A text that was parsed without an error must give a tree whose copy prints the same. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_node(struct node *node, void *state)
{
    assert(node);
    ++*(size_t *)state;
    return true;
}

static void exercise_node(struct arena *arena, struct node *node, bool is_good)
{
    struct text original = {0}, copy = {0};
    size_t nodes = 0, again = 0;
    struct node *clone = node_clone(arena, node);
    node_walk(node, count_node, &nodes);
    node_walk(clone, count_node, &again);
    assert(nodes == again);
    node_print(&original, node, 0);
    node_print(&copy, clone, 0);
    assert(!is_good || original.failed || !strcmp(text_string(&original), text_string(&copy)));
    text_free(&original);
    text_free(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const values[] = {"7", "a:b/c", ""};
    struct parameters parameters = {values, sizeof values / sizeof values[0]};
    struct arena arena = {0};
    struct diagnostics diagnostics = {.arena = &arena};
    jmp_buf nowhere;
    char *memory = malloc(size + 1); /* of exactly the text's size, so that every read too far is seen */
    if (!memory)
        return 0;
    memcpy(memory, data, size);
    memory[size] = 0;
    if (arena_guard(&arena, nowhere)) {
        arena_free(&arena);
        free(memory);
        return 0;
    }
    struct source source = {"fuzz", memory, size};
    struct script *script = script_parse(&arena, &diagnostics, &source, &parameters);
    bool is_good = diagnostics.errors == 0;
    assert(script->block_count || !is_good);
    for (struct action_block *block = script->blocks; block; block = block->next) {
        assert(block->body && (block->attach_points || !is_good));
        exercise_node(&arena, block->predicate, is_good);
        exercise_node(&arena, block->body, is_good);
    }
    struct text text = {0};
    script_print(&text, script);
    diagnostics_render(&text, &diagnostics, DIAGNOSTIC_ERROR, false);
    diagnostics_render(&text, &diagnostics, DIAGNOSTIC_WARNING, false);
    text_free(&text);
    attach_point_parse(&arena, &diagnostics, &source, &parameters);
    arena_free(&arena);
    free(memory);
    return 0;
}
